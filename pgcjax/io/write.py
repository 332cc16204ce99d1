"""Write tables of scores and findings to files that appear whole or not at all."""

from __future__ import annotations

import errno
import json
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pgcjax.errors import DataError, UsageError
from pgcjax.io.choices import SCORE_SUFFIXES, TABLE_SUFFIXES
from pgcjax.io.nest import nest
from pgcjax.io.remote import check_target as check_remote
from pgcjax.io.remote import is_remote, local_folder, path_of, sent, unwritable
from pgcjax.io.seal import UNSEALED, seal
from pgcjax.later import pa, pd, pq

_FORMULA = ("=", "+", "-", "@")
HEADER_MARK = "# pgcjax "
"""Beginning of the first line of a text file, before metadata in JSON."""


@contextmanager
def written_beside(
    target: str | os.PathLike, *, sealed: bool = False
) -> Iterator[Path]:
    """Yield a temporary path that takes the place of `target` if the body succeeds.

    The body creates a file or a folder there; a `sealed` file gets its checksum. A file
    replaces `target`, or the file that `target` is a link to; a folder is refused if
    `target` exists, so that no files are mixed or lost.

    Raises:
        DataError: the folder of `target` is missing or cannot be written, or a folder
            was to replace an existing target.
    """
    if is_remote(target):
        with sent(os.fspath(target)) as beside:
            yield beside
            if sealed:
                seal(beside)
        return
    with _room(target) as (beside, real):
        yield beside
        if beside.is_dir() and real.exists():
            raise DataError(
                "exists already", where=str(target), mend="Name a new folder."
            )
        if sealed:
            seal(beside)
        os.replace(beside, real)


@contextmanager
def _room(target: str | os.PathLike) -> Iterator[tuple[Path, Path]]:
    """Yield a temporary path beside a target, and the target behind links."""
    real = Path(os.path.realpath(target))
    mend = "Name a file in a folder that exists and that you may write to."
    try:
        if real.is_symlink():
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        with nest(real) as folder:
            mend = "An existing file there is unchanged."
            yield folder / real.name, real
    except OSError as error:
        raise unwritable(target, error, mend) from None


def write_text(text: str, target: str | os.PathLike) -> Path:
    """Write text, whose header is unsealed, as UTF-8 with Unix line ends.

    Raises:
        DataError: the file cannot be written.
    """
    with written_beside(target, sealed=True) as beside:
        beside.write_text(text, encoding="utf-8", newline="\n")
    return path_of(target)


def write_table(
    frame: pd.DataFrame,
    target: str | os.PathLike,
    metadata: dict[str, Any],
    *,
    spreadsheet: bool = False,
) -> Path:
    """Write a table at full precision; the suffix decides the format.

    With `spreadsheet`, text in .csv and .tsv that begins like a formula gets an
    apostrophe before it.

    Metadata, which begin with a checksum, go into a first line `# pgcjax {…}` (.tsv,
    .csv), a first record (.jsonl) or the schema (.parquet). A number that is not finite
    is null in JSON.

    Raises:
        UsageError: the suffix is none of `TABLE_SUFFIXES`.
        DataError: the file cannot be written.
    """
    suffix = check_suffix(path_of(target), TABLE_SUFFIXES)
    metadata = unsealed(metadata)
    if suffix == ".parquet":
        return _write_parquet(frame, path_of(target), header(metadata))
    if suffix == ".jsonl":
        records = [{"pgcjax": metadata}, *frame.to_dict("records")]
        return write_text("".join(f"{_json(record)}\n" for record in records), target)
    separator = "," if suffix == ".csv" else "\t"
    frame = _harmless(frame) if spreadsheet else frame
    rows = frame.to_csv(index=False, sep=separator, lineterminator="\n")
    return write_text(f"{header(metadata)}\n{rows}", target)


def _harmless(frame: pd.DataFrame) -> pd.DataFrame:
    """Put an apostrophe before text that a spreadsheet would compute."""

    def harmless(cell: Any) -> Any:
        formula = isinstance(cell, str) and cell[:1] in _FORMULA
        return f"'{cell}" if formula else cell

    text = frame.select_dtypes(exclude=["number", "bool"])
    return frame.assign(**{str(name): text[name].map(harmless) for name in text})


def _write_parquet(frame: pd.DataFrame, target: Path, head: str) -> Path:
    table = pa.Table.from_pandas(frame, preserve_index=False)
    metadata = {**(table.schema.metadata or {}), b"pgcjax": head.encode()}
    with written_beside(target, sealed=True) as beside:
        pq.write_table(table.replace_schema_metadata(metadata), beside)
    return target


def _json(record: dict) -> str:
    finite = {
        k: None if isinstance(v, float) and not math.isfinite(v) else v
        for k, v in record.items()
    }
    return json.dumps(finite, ensure_ascii=False, allow_nan=False)


def unsealed(metadata: dict[str, Any]) -> dict[str, Any]:
    """Return metadata of a file that will be sealed."""
    return {**UNSEALED, **metadata, **UNSEALED}


def header(metadata: dict[str, Any]) -> str:
    """Write version, parameters and conventions as one comment line."""
    return HEADER_MARK + json.dumps(metadata, ensure_ascii=False)


def check_target(
    path: str | os.PathLike, suffixes: tuple[str, ...] | None = SCORE_SUFFIXES
) -> None:
    """Refuse an output file that could not be written, before work is spent on it.

    If `suffixes` is None, any suffix is allowed.

    Raises:
        UsageError: the suffix is not allowed, or the file is a folder. DataError: it
            cannot be written.
    """
    if suffixes is not None:
        check_suffix(path_of(path), suffixes)
    if is_remote(path):
        check_remote(os.fspath(path))
        return
    check_room(path)
    if os.path.isdir(path):
        raise UsageError(f"{path}: is a folder; name a file")


def check_room(path: str | os.PathLike) -> None:
    """Refuse a file or folder that could not be written.

    Raises:
        UsageError: it is a remote folder. DataError: it cannot be written.
    """
    local_folder(path)
    with _room(path):
        pass


def check_folder(path: str | os.PathLike) -> None:
    """Refuse a folder of files that is no folder or cannot be written; it may be new.

    Raises:
        UsageError: it is no folder. DataError: nothing can be written there.
    """
    there = local_folder(path)
    while not os.path.lexists(there):
        there = there.parent  # its writer makes missing folders
    if not os.path.isdir(there):
        raise UsageError(f"{path}: is no folder")
    check_room(there / "file")


def check_suffix(path: Path, suffixes: tuple[str, ...] = SCORE_SUFFIXES) -> str:
    """Return the suffix of an output file, in lower case.

    Raises:
        UsageError: the suffix is none of these.
    """
    if path.suffix.lower() not in suffixes:
        raise UsageError(
            f"{path}: the suffix of an output file is one of {', '.join(suffixes)}"
        )
    return path.suffix.lower()
