"""Files in folders that are no data: documents and, among runs, other tables.

A damaged run is not left out: it is read, and its error reported. So a file is left out
only if it has a name that no run has, or if no line of its first 16 KiB has the form of
a run's line.
"""

import math
import re
from collections.abc import Iterable
from pathlib import Path

from pgcjax.errors import DataError
from pgcjax.io.bytes import text_pieces
from pgcjax.io.containers import container_of, unpacked_name
from pgcjax.io.json_text import NoJson, read_json
from pgcjax.io.remote import arrow_file
from pgcjax.io.schema import find_columns, known_column, lenient_number
from pgcjax.later import pa, pq

_HEAD = 2**14  # bytes that are inspected
_NAME = re.compile(r"(readme|licen[cs]e|copying|changelog|makefile)(?![a-z0-9])")
_OF_RUNS = (".run", ".res")
_SUFFIXES = (
    *(".md", ".rst", ".html", ".htm", ".pdf", ".tex", ".bib", ".doc", ".docx"),
    *(".png", ".jpg", ".jpeg", ".gif", ".svg", ".xls", ".xlsx", ".ppt", ".pptx"),
    *(".py", ".pyc", ".ipynb", ".sh", ".yml", ".yaml", ".toml", ".cfg", ".ini"),
    *(".zip", ".tar", ".tgz", ".7z", ".md5", ".sha256"),
)
_NO_RUN = (".eval", ".xml")
# Columns that only tables of judgments, grids and scores have.
_MARKS = ("relevance", "other_doc_id", "preference", "previous_doc_id", "probability")
_MARKS += ("row", "measure", "value")
_OWN = ("score", "rank")


def is_document(path: Path) -> bool:
    """Return whether a file's name shows no data: README, *.md, *.pdf, _SUCCESS."""
    name = unpacked_name(path)
    named = _NAME.match(name) and not name.endswith(_OF_RUNS)
    return bool(named) or name.startswith("_") or name.endswith(_SUFFIXES)


def is_no_run(path: Path, format: str = "auto") -> bool:
    """Return whether a file is clearly no run: a document, judgments, scores, notes.

    Files that cannot be read, are empty, have only comments or no whole line may be
    damaged runs, and so may all files *.run and *.res: for these the answer is False.

    Args:
        path: Path of the file.
        format: Format of runs, as for `read_runs`.
    """
    name = unpacked_name(path)
    if is_document(path) or name.endswith(_NO_RUN):
        return True
    if name.endswith(_OF_RUNS):
        return False
    try:
        head = next(text_pieces(path, _HEAD), (b"", 0))[0][: 4 * _HEAD]
        container = container_of(path, head) if format == "auto" else format
        if container == "parquet":
            return _of_others(_columns(path))
        return b"\0" not in head and _no_run(path, head, container)
    except (DataError, NoJson):
        return False


def _no_run(path: Path, head: bytes, container: str) -> bool:
    """Return whether text that begins with `head` is no run."""
    head = head[: 1 + max(head.rfind(b"\n"), head.rfind(b"\r"))]
    lines = head.decode("utf-8", "replace").splitlines()
    if lines and lines[0].startswith("# pgcjax {"):  # scores or results by pgcjax
        return True
    lines = [line for line in lines if line.strip() and not line.startswith("#")]
    if not lines:
        return False
    if container == "jsonl":
        if lines[0].strip() == "{":  # one object of many lines, such as settings
            return True
        record = read_json(lines[0], str(path))
        return isinstance(record, dict) and _of_others(record)
    separator = {"csv": ",", "tsv": "\t"}.get(container)
    first = lines[0].split(separator)
    if separator and any(map(known_column, first)):
        return _of_others(first)
    if len(first) == 6 and _like_a_run(first):
        return False  # the usual case
    rows = [line.split(separator) for line in lines]
    if any(row[:2] == ["runid", "all"] for row in rows):  # scores by trec_eval
        return True
    if "qrel" in path.name.lower():
        rows = [row for row in rows if len(row) != 4]
    return not any(map(_like_a_run, rows))


def _columns(path: Path) -> list[str]:
    """List the columns of a Parquet file; none if it is damaged."""
    try:
        with arrow_file(path) as file:
            return pq.read_schema(file).names
    except (pa.ArrowException, OSError, ValueError):
        return []


def _of_others(columns: Iterable[str]) -> bool:
    """Return whether columns are those of a table that has no runs."""
    columns = list(columns)
    return bool(find_columns(columns, _MARKS)) and not find_columns(columns, _OWN)


def _like_a_run(fields: list[str]) -> bool:
    """Return whether a line may be a line of a run, whole or damaged.

    Four fields are qrels if the last is a small whole number, and preferences if it
    repeats another field.
    """
    if len(fields) == 3 and _is_number(fields[2]):
        return True
    if len(fields) == 4:
        last = fields[3]
        judged = re.fullmatch("[-+]?[0-9]", last) or last in fields[1:3]
        return not judged and _is_number(last)
    if len(fields) > 1 and fields[1].upper() == "Q0":
        return True
    return 5 <= len(fields) <= 7 and any(map(_is_number, fields[3:5]))


def _is_number(text: str) -> bool:
    return text.lower() == "nan" or not math.isnan(lenient_number(text))
