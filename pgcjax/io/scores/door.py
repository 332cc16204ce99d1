"""Files of scores, of pgcjax and of other tools, as tables."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pgcjax.errors import DataError
from pgcjax.io import files, seal
from pgcjax.io.bytes import MARK, PARQUET, read_bytes
from pgcjax.io.containers import Columns, Named, container_of, split
from pgcjax.io.json_text import NoJson, read_json
from pgcjax.io.reading import chosen
from pgcjax.io.remote import is_remote, path_of
from pgcjax.io.schema import (
    SCORES,
    Origin,
    canonical,
    find_columns,
    ids,
    keyed,
    known_column,
    numbers,
    numbers_or_nan,
)
from pgcjax.io.scores import text
from pgcjax.io.scores.text import MEAN
from pgcjax.io.write import HEADER_MARK, written_beside
from pgcjax.later import pd

REPLICATES = ("measure", "run_id", "replicate", "mean")


class ScoreRows(NamedTuple):
    """A file of scores as rows, with any names of columns.

    Attributes:
        frame: Text or numbers, as in the file.
        origin: Origin of the rows.
        metadata: Metadata by pgcjax, for each file from which this one was made.
        means: Whether the topic `all` is a mean.
    """

    frame: pd.DataFrame
    origin: Origin
    metadata: list[dict[str, Any]]
    means: bool

    @property
    def canonical(self) -> bool:
        """Whether the file has all columns of scores."""
        return len(find_columns(self.frame, SCORES)) == len(SCORES)


def read_files(path: str | os.PathLike) -> list[ScoreRows]:
    """Read a file of scores, or the files of a folder or pattern.

    Raises:
        DataError: a file cannot be read as a table.
    """
    return [_parsed(one, _intact(one)) for one in score_paths(path)]


def score_table(files: Sequence[ScoreRows]) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Put files together as a table of run_id, query_id, measure and value.

    Returns:
        The table, without means; and the metadata that pgcjax wrote into the file, {}
        if there are none or several files.

    Raises:
        DataError: a file is no score table.
    """
    for file in files:
        if len(file.metadata) > 1:
            raise DataError(
                "holds the scores of several files",
                where=file.origin.name,
                mend="Name the files one by one.",
            )
    tables = [checked(file.frame, file.origin, file.means) for file in files]
    if len(files) == 1:
        return tables[0], (files[0].metadata or [{}])[0]
    return pd.concat(tables, ignore_index=True), {}


def checked(frame: pd.DataFrame, origin: Origin, means: bool = False) -> pd.DataFrame:
    """Select the columns of scores, and check ids and numbers.

    Args:
        frame: A row for each score.
        origin: Origin of the rows.
        means: Whether the topic `all` is a mean, and left out.

    Raises:
        DataError: a column is missing, or a row is malformed.
    """
    table = canonical(frame, origin, SCORES)
    if means:
        keep = (table["query_id"] != MEAN).to_numpy()
        check_queries(keep, origin.name)
        origin = origin.of_rows(np.flatnonzero(keep))
        table = table[keep].reset_index(drop=True)
    for name in SCORES[:3]:
        table[name] = ids(table[name], origin)
    table["value"] = numbers(table["value"], "value", origin)
    if means:  # a ranking's file is sorted by topic
        order = ["run_id", "query_id"]
        table = table.sort_values(order, kind="stable", ignore_index=True)
    return table


def read_any_scores(path: str | os.PathLike) -> tuple[pd.DataFrame, Origin]:
    """Read a file of scores as rows of text, with any names of columns.

    Means, which other tools write as topic `all`, are among the rows.

    Raises:
        DataError: the file cannot be read as a table.
    """
    files = read_files(path)
    if len(files) == 1:
        return files[0].frame, files[0].origin
    tables = [canonical(file.frame, file.origin, SCORES) for file in files]
    return pd.concat(tables, ignore_index=True), Origin(str(path))


def read_replicate_means(
    path: str | os.PathLike,
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Read the means of runs in replicates, as `Uncertainty.save` writes them.

    Returns:
        A table with measure, run_id, replicate (-1: the original judgments) and mean,
        which may be NaN; and the metadata.

    Raises:
        DataError: the file is no such table, or lacks its metadata.
    """
    mend = "Restore what uncertainty --replicates-output wrote."
    needs = ("replicates", "resample", "seed")
    table, origin, metadata = read_own_table(path, REPLICATES, 2, needs, mend)
    table["replicate"] = numbers(table["replicate"], "replicate", origin)
    table["mean"] = numbers_or_nan(table["mean"], "a mean", origin, mend)
    return table, metadata


def read_own_table(
    path: str | os.PathLike,
    columns: Sequence[str],
    names: int,
    needs: Sequence[str],
    mend: str,
) -> tuple[pd.DataFrame, Origin, dict[str, Any]]:
    """Read a table that pgcjax wrote, to continue from it.

    Args:
        path: Path of the file.
        columns: Columns of the table.
        names: Number of columns, the first ones, that hold names.
        needs: Keys that its metadata must have.
        mend: Advice if the file is no such table.

    Raises:
        DataError: the file is no such table, or lacks its metadata.
    """
    path = files.expand(path)[0] if is_remote(path) else Path(path)
    frame, origin, metadata, _ = _parsed(path, _intact(path))
    table = keyed(frame, origin, columns[:names], columns[names:])
    if len(metadata) != 1 or not {*needs} <= {*metadata[0]}:
        listed = f"{', '.join(needs[:-1])} and {needs[-1]}"
        raise DataError(
            f"does not state its dependencies: {listed}", where=origin.name, mend=mend
        )
    return table, origin, metadata[0]


def score_paths(path: str | os.PathLike) -> list[Path]:
    """List the files of a folder or pattern, or the one file of that name."""
    pattern = glob.has_magic(str(path)) and not os.path.exists(path)
    # Paths that cannot be inspected fail with a message when they are read.
    if is_remote(path) or pattern or os.path.isdir(path):
        return files.expand(path)
    return [Path(path)]


def _parsed(path: Path, data: bytes, form: str | None = None) -> ScoreRows:
    """Name the columns of a file, and separate its metadata.

    Args:
        path: Path of the file; its suffix counts.
        data: Bytes of the file.
        form: Format of lines without a header; by default that of `reading`.

    Raises:
        DataError: the file cannot be read, or its format cannot be recognised.
    """
    form = chosen().score_format if form is None else form
    trec = path.suffix.lower() == ".trec"
    container = "tabs" if trec else container_of(path, data)
    if form == "jsonl":  # the reader of JSON reports other content
        container, form = "jsonl" if container == "columns" else container, "auto"
    content, means = None, True
    if container in ("tabs", "columns", "tsv"):
        content = _lines(path, data, form, trec)
        if content is None and container == "columns":
            container = "tsv" if b"\t" in data else "csv"
    if content is None:
        content = split(path, data, container, any_header=True)
        assert isinstance(content, Named)
        content, means = (
            _of_one_run(path, content) if container == "jsonl" else (content, False)
        )
    return ScoreRows(*_without_metadata(content), means)


def _lines(path: Path, data: bytes, form: str, trec: bool) -> Named | None:
    """Read lines of scores without a header; None if the file is something else."""
    if not trec and _has_header(data):
        return None
    content = split(path, data, "tabs")
    assert isinstance(content, Columns)
    if not (trec or form in text.LAYOUTS or text.is_scores(content)):
        return None
    return text.named(content, form, fallback=trec)


def _has_header(data: bytes) -> bool:
    """Return whether the first line, and no other, begins with the name of a column."""
    lines = BytesIO(data.removeprefix(MARK))
    rows = (line.split() for line in lines if not line.startswith(b"#"))
    first, *others = next(filter(None, rows), [b""])
    if first == b"runid" and others[:1] == [MEAN.encode()]:
        return False  # trec_eval names the run in this line
    lines_of = re.compile(rb"^" + re.escape(first) + rb"[ \t]", re.MULTILINE)
    is_column = known_column(first.decode("utf-8", "replace"))
    return is_column and len(lines_of.findall(data)) < 2


def _of_one_run(path: Path, content: Named) -> tuple[Named, bool]:
    """Add the run to JSON records of one run, as ir_measures writes them.

    A tool that writes `topic_id` also writes means, as topic `all`.
    """
    frame = content.frame
    there = find_columns(frame, ("run_id", "query_id", "measure", "value"))
    if {"measure", "value"} <= set(frame) and "run_id" not in there:
        more = {"run_id": text.run_of(path)}
        more |= {} if "query_id" in there else {"query_id": MEAN}
        return replace(content, frame=frame.assign(**more)), True
    return content, "topic_id" in frame


def check_queries(keep: Sequence[bool] | np.ndarray, where: str) -> None:
    """Refuse scores that are means alone.

    Raises:
        DataError: no row belongs to a query.
    """
    if not np.any(keep):
        raise DataError(
            f"holds means alone (topic {MEAN!r}), no scores of queries",
            where=where,
            mend="Let the tool write queries, too (trec_eval -q); correlate --truth "
            "takes means.",
        )


def check_readable(
    table: pd.DataFrame, where: str, suffix: str, means: bool = False
) -> None:
    """Refuse scores, or means alone, that a file with this suffix would not preserve.

    Raises:
        DataError: there are such scores.
    """
    checked(table, Origin(where))
    if suffix != ".trec":
        return
    form = "tot" if table["run_id"].nunique() > 1 else "trec_eval"
    named = table.assign(query_id="") if means else table
    if lost := text.lost(named, form, tabbed=True):
        raise DataError(
            f"a .trec file would make {lost}",
            where=where,
            mend="Name a .tsv, .csv, .jsonl or .parquet file.",
        )


def write_lines(
    table: pd.DataFrame, means: pd.DataFrame, path: str | os.PathLike, form: str
) -> Path:
    """Write scores and means in another tool's format, at full precision.

    The file is written whole or not at all.

    Args:
        table: run_id, query_id, measure, value; empty if there are means alone.
        means: run_id, measure, value.
        path: Path of the file.
        form: One of `SCORE_FORMATS`. They cannot hold metadata.

    Raises:
        UsageError: the suffix is of another format, or the format cannot hold the runs.
        DataError: the file cannot be written, or could not be read again.
    """
    path = path_of(path)
    text.check_suffix(path, form)
    if len(table):
        check_readable(table, str(path), "")
    named = table if len(table) else means.assign(query_id="")
    text.check_writable(named, form, str(path))
    rows = text.in_order(table, means.assign(query_id=MEAN), form)
    data = "".join(f"{line}\n" for line in text.lines(rows, form)).encode()
    if not _reads_back(path, data, rows):
        raise DataError(
            f"lines of {form} with these names would read as something else",
            where=str(path),
            mend=text.MEND,
        )
    with written_beside(path) as beside:
        beside.write_bytes(data)
    return path


def _reads_back(path: Path, data: bytes, rows: pd.DataFrame) -> bool:
    """Return whether names are read unchanged; a name may be that of a column."""
    try:
        read = canonical(_parsed(path, data, "auto").frame, Origin(""), SCORES)
    except DataError:
        return False
    return all(read[name].tolist() == rows[name].tolist() for name in SCORES[:3])


def _intact(path: Path) -> bytes:
    """Read a file, and refuse it if it changed since pgcjax wrote it.

    Raises:
        DataError: the file changed, or cannot be read.
    """
    data = read_bytes(path)
    mend = "Make or copy it again; if it was changed on purpose, "
    if data.startswith(PARQUET):
        mend += "leave 'pgcjax' out of its metadata."
    else:
        mend += """write "crc32": "" in its first line."""
    seal.check(data, str(path), mend)
    return data


def _without_metadata(
    content: Named,
) -> tuple[pd.DataFrame, Origin, list[dict[str, Any]]]:
    """Separate the metadata: those above a header, and in records of JSON."""
    frame, origin = content.frame, content.origin
    metadata = []
    for line in content.head:
        if line.startswith(HEADER_MARK):
            try:
                about = read_json(line.removeprefix(HEADER_MARK), origin.name)
            except NoJson:
                about = None
            if not isinstance(about, dict):
                raise DataError(
                    "expected an object of JSON after '# pgcjax'",
                    where=f"{origin.name}:1",
                    mend="Restore or remove the line.",
                )
            metadata.append(about)
    if "pgcjax" in frame:
        about = [isinstance(cell, dict) for cell in frame["pgcjax"]]
        metadata += frame["pgcjax"][about].tolist()
        rest = ~np.array(about)
        origin = origin.of_rows(np.flatnonzero(rest))
        frame = frame[rest].drop(columns="pgcjax").reset_index(drop=True)
    for about in metadata:
        about.pop(seal.KEY, None)
    return frame, origin, metadata
