"""Regular runs, read fast; whatever is unusual is left to the exact reader."""

import re

import numpy as np
import polars as pl

_TEXT, _NUMBER = pl.String, pl.Float64
# The columns of a run by how many there are; nobody needs what stands for Q0.
_LAYOUTS = {
    6: {
        "query_id": _TEXT,
        "Q0": _TEXT,
        "doc_id": _TEXT,
        "rank": _NUMBER,
        "score": _NUMBER,
        "run_id": _TEXT,
    },
    3: {"query_id": _TEXT, "doc_id": _TEXT, "score": _NUMBER},
}
_MARK = b"\xef\xbb\xbf"
_CHUNK = 2**18  # bytes that stay in a core's cache


def read(data: bytes) -> tuple[pl.DataFrame, int] | None:
    """Read a run: its table, and how many comment lines it has; None as `parse`."""
    frame, comments = parse(data), 0
    if frame is None and _is_text(data):  # also in the comments, which go
        tidied, comments = tidy(data)
        frame = parse(tidied) if tidied != data else None
    return None if frame is None else (frame, comments)


def parse(data: bytes) -> pl.DataFrame | None:
    """Read a run of 6 or 3 columns with one blank or one tab between fields.

    Returns:
        Table of query_id, doc_id, score (finite) and, of 6 columns, rank and run_id:
        what the exact reader gives. None where anything is unusual: other separators,
        empty fields, lines of another width, comments, control characters, text that is
        not UTF-8, a score or a rank that is not a plain number, a document twice in a
        query of a run.

    Fields are counted by what ends them: `_blanks` finds none empty, polars gives each
    row all of its columns, and so their number leaves no row more. Polars reads fewer
    spellings of numbers than Python does, and those to the same bits.
    """
    end = data.find(b"\n")
    first = data if end < 0 else data[:end]
    separator = "\t" if b"\t" in first else " "
    layout = _LAYOUTS.get(first.count(separator.encode()) + 1)
    blanks = _blanks(data) if layout else 0
    if not layout or not blanks or data.startswith(_MARK):
        return None
    if not _is_text(data):
        return None
    try:
        frame = pl.read_csv(
            data,
            has_header=False,
            separator=separator,
            quote_char=None,
            schema=layout,
            columns=[i for i, name in enumerate(layout) if name != "Q0"],
        )
    except pl.exceptions.PolarsError:
        return None
    fields = blanks + (not data.endswith(b"\n"))
    if frame.height * len(layout) != fields or any(s.null_count() for s in frame):
        return None
    return frame if _sound(frame, data.isascii()) else None


def _is_text(data: bytes) -> bool:
    try:
        return b"\0" not in data and (data.isascii() or bool(data.decode()))
    except UnicodeDecodeError:
        return False


def _blanks(data: bytes) -> int | None:
    """Count blanks, line ends and other control characters; None if two are adjacent.

    Each then separates two fields, and none of the fields is empty.
    """
    cells, count = np.frombuffer(data, np.uint8), 0
    for start in range(0, len(cells), _CHUNK):
        blank = cells[start : start + _CHUNK + 1] <= 32  # and the next one's first
        if (blank[1:] & blank[:-1]).any():
            return None
        count += int(np.count_nonzero(blank[:_CHUNK]))
    return count


def _sound(frame: pl.DataFrame, ascii: bool) -> bool:
    """Check scores and ids, and that no document is twice."""
    ids = [name for name in ("run_id", "query_id", "doc_id") if name in frame.columns]
    checks = [
        pl.col("score").is_finite().all(),
        ~pl.col("query_id").str.starts_with("#").any(),
    ]
    if not ascii:  # of ASCII, all blanks are counted
        stripped = pl.col(ids).str.strip_chars() == pl.col(ids)
        checks.append(stripped.all().name.suffix(" stripped"))
    # Equal rows have equal hashes; the exact reader tells whether they are equal.
    hashes = frame.select(ids).hash_rows()
    return all(frame.select(checks).row(0)) and hashes.n_unique() == len(hashes)


def tidy(data: bytes) -> tuple[bytes, int]:
    """Make one blank of all between two fields, and drop comments and empty lines.

    Returns:
        What the exact reader reads the same rows from, and how many comments there
        were.
    """
    data = data.removeprefix(_MARK)
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    data = data.replace(b"\t", b" ")
    data = _single(data, b" ").replace(b" \n", b"\n").replace(b"\n ", b"\n")
    data = _single(data, b"\n").strip(b" \n")
    comments = 0
    if data.startswith(b"#") or b"\n#" in data:
        data, comments = re.subn(rb"(?m)^#.*\n?", b"", data)
    return data, comments


def _single(data: bytes, character: bytes) -> bytes:
    while 2 * character in data:
        data = data.replace(2 * character, character)
    return data
