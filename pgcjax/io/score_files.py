"""Files of scores, of pgcjax and of other tools, as tables."""

from __future__ import annotations

import glob
import json
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from pgcjax.errors import DataError
from pgcjax.io import files, score_text, seal
from pgcjax.io.bytes import read_bytes
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
    known_column,
    numbers,
    numbers_or_nan,
)
from pgcjax.io.score_text import MEAN
from pgcjax.io.write import HEADER_MARK, written_beside
from pgcjax.later import pd

REPLICATES = ("measure", "run_id", "replicate", "mean")


def read_score_table(path: str | os.PathLike) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Read a table with the columns run_id, query_id, measure and value.

    Args:
        path: of a file; or a folder or pattern, whose files are put together.

    Returns:
        The table, and the metadata that pgcjax wrote into the file; {} without, and of
        several files.

    Raises:
        DataError: a file is no score table.
    """
    paths = score_paths(path)
    read = [_scores(one, *_parsed(one, _intact(one))) for one in paths]
    if len(read) == 1:
        return read[0]
    return pd.concat([table for table, _ in read], ignore_index=True), {}


def read_any_scores(path: str | os.PathLike) -> tuple[pd.DataFrame, Origin]:
    """Read a file of scores as rows of text, whatever its columns are called.

    Means, which other tools write as topic `all`, are among the rows.

    Raises:
        DataError: it cannot be read as a table.
    """
    paths = score_paths(path)
    read = [_parsed(one, _intact(one))[0] for one in paths]
    if len(read) == 1:
        frame, origin, _ = _without_metadata(read[0])
        return frame, origin
    tables = [canonical(*_without_metadata(content)[:2], SCORES) for content in read]
    return pd.concat(tables, ignore_index=True), Origin(str(path))


def read_known_scores(
    path: str | os.PathLike,
) -> tuple[pd.DataFrame, dict[str, Any] | None]:
    """Read a file as `read_score_table`, or, if it has other columns, as rows of text.

    Returns:
        The table, and its metadata; None with rows of text.

    Raises:
        DataError: a file cannot be read as a table.
    """
    read = [(one, *_parsed(one, _intact(one))) for one in score_paths(path)]
    if len(read) == 1 and len(find_columns(read[0][1].frame, SCORES)) < len(SCORES):
        return _without_metadata(read[0][1])[0], None
    tables = [_scores(*one) for one in read]
    if len(tables) == 1:
        return tables[0]
    return pd.concat([table for table, _ in tables], ignore_index=True), {}


def read_replicate_means(
    path: str | os.PathLike,
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Read the means of runs by replicates, as `Uncertainty.save` writes them.

    Returns:
        measure, run_id, replicate (-1: by the judgments as they are) and mean, which
        may be NaN; and the metadata.

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
    """Read a table that pgcjax wrote, to go on with it.

    Args:
        path: of the file.
        columns: that it has.
        names: how many of these, the first ones, hold names.
        needs: keys of its metadata.
        mend: what to do where it is no such table.

    Raises:
        DataError: the file is no such table, or lacks its metadata.
    """
    path = files.expand(path)[0] if is_remote(path) else Path(path)
    frame, origin, metadata = _without_metadata(_parsed(path, _intact(path))[0])
    table = canonical(frame, origin, columns)
    for name in columns[:names]:
        table[name] = ids(table[name], origin)
    if len(metadata) != 1 or not {*needs} <= {*metadata[0]}:
        listed = f"{', '.join(needs[:-1])} and {needs[-1]}"
        raise DataError(
            f"does not say what it depends on: {listed}", where=origin.name, mend=mend
        )
    return table, origin, metadata[0]


def score_paths(path: str | os.PathLike) -> list[Path]:
    """List the files of a folder or pattern, or the one file that is named."""
    pattern = glob.has_magic(str(path)) and not os.path.exists(path)
    # What cannot be looked at, reading tells.
    if is_remote(path) or pattern or os.path.isdir(path):
        return files.expand(path)
    return [Path(path)]


def _parsed(path: Path, data: bytes, form: str | None = None) -> tuple[Named, bool]:
    """Name the columns of a file, and say whether its topic `all` is a mean.

    Args:
        path: of the file, whose suffix counts.
        data: its bytes.
        form: of lines without a header; by default what `reading` says.

    Raises:
        DataError: it cannot be read, or its format cannot be told.
    """
    form = chosen().score_format if form is None else form
    trec = path.suffix.lower() == ".trec"
    container = "tabs" if trec else container_of(path, data)
    if form == "jsonl":  # what is no JSON is said by its reader
        container, form = "jsonl" if container == "columns" else container, "auto"
    if container in ("tabs", "columns", "tsv"):
        content = _lines(path, data, form, trec)
        if content:
            return content, True
        if container == "columns":
            container = "tsv" if b"\t" in data else "csv"
    content = split(path, data, container, any_header=True)
    assert isinstance(content, Named)
    return _of_one_run(path, content) if container == "jsonl" else (content, False)


def _lines(path: Path, data: bytes, form: str, trec: bool) -> Named | None:
    """Read lines of scores without a header; None if the file is something else."""
    if not trec and _has_header(data):
        return None
    content = split(path, data, "tabs")
    assert isinstance(content, Columns)
    said = trec or form in score_text.LAYOUTS
    if not (said or score_text.is_scores(content)):
        return None
    return score_text.named(content, form, fallback=trec)


def _has_header(data: bytes) -> bool:
    """Return whether the first line, and no other, begins with the name of a column."""
    lines = BytesIO(data.removeprefix(b"\xef\xbb\xbf"))
    rows = (line.split() for line in lines if not line.startswith(b"#"))
    first, *others = next(filter(None, rows), [b""])
    if first == b"runid" and others[:1] == [MEAN.encode()]:
        return False  # so trec_eval names the run
    again = re.compile(rb"^" + re.escape(first) + rb"[ \t]", re.MULTILINE)
    known = known_column(first.decode("utf-8", "replace"))
    return known and len(again.findall(data)) < 2


def _of_one_run(path: Path, content: Named) -> tuple[Named, bool]:
    """Complete records of JSON of one run, as ir_measures writes them.

    A record with `topic_id` is of a tool that writes means as topic `all`, too.
    """
    frame = content.frame
    there = find_columns(frame, ("run_id", "query_id", "measure", "value"))
    if {"measure", "value"} <= set(frame) and "run_id" not in there:
        more = {"run_id": score_text.run_of(path)}
        more |= {} if "query_id" in there else {"query_id": MEAN}
        return replace(content, frame=frame.assign(**more)), True
    return content, "topic_id" in frame


def _scores(
    path: Path, content: Named, means: bool
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Check a table of scores, and leave means out."""
    frame, origin, metadata = _without_metadata(content)
    if len(metadata) > 1:
        raise DataError(
            "holds the scores of several files",
            where=str(path),
            mend="Name the files one by one.",
        )
    table = canonical(frame, origin, SCORES)
    if means:
        keep = (table["query_id"] != MEAN).to_numpy()
        check_queries(keep, origin.name)
        origin = replace(origin, places=np.asarray(origin.places)[keep])
        table = table[keep].reset_index(drop=True)
    for name in SCORES[:3]:
        table[name] = ids(table[name], origin)
    table["value"] = numbers(table["value"], "value", origin)
    if means:  # a ranking has its topics first
        table = table.sort_values(
            ["run_id", "query_id"], kind="stable", ignore_index=True
        )
    return table, metadata[0] if metadata else {}


def check_queries(keep: Sequence[bool] | np.ndarray, where: str) -> None:
    """Refuse scores that are means alone.

    Raises:
        DataError: no row is of a query.
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
    """Refuse scores, or means alone, that a file with this suffix would not give back.

    Raises:
        DataError: there are such scores.
    """
    origin = Origin(where)
    canonical(table, origin, SCORES)
    for name in SCORES[:3]:
        ids(table[name], origin)
    numbers(table["value"], "value", origin)
    if suffix != ".trec":
        return
    runs = table["run_id"].unique()
    first = "run" if len(runs) > 1 else "measure"  # of what each line has
    names = runs if first == "run" else table["measure"].unique()
    lost = [f"a comment of {first} {name!r}" for name in names if str(name)[0] == "#"]
    if not means and (table["query_id"] == MEAN).any():
        lost.append(f"a mean of query {MEAN!r}")
    if lost:
        raise DataError(
            f"a .trec file would make {lost[0]}",
            where=where,
            mend="Name a .tsv, .csv, .jsonl or .parquet file.",
        )


def write_lines(
    table: pd.DataFrame, means: pd.DataFrame, path: str | os.PathLike, form: str
) -> Path:
    """Write scores and means as another tool would, at full precision, whole or not.

    Args:
        table: run_id, query_id, measure, value; empty if there are means alone.
        means: run_id, measure, value.
        path: of the file.
        form: one of `SCORE_FORMATS`. There is no place for metadata in it.

    Raises:
        UsageError: the suffix says something else, or the format has no place for the
            runs. DataError: the file cannot be written, or not so that it could be
            read.
    """
    path = path_of(path)
    score_text.check_suffix(path, form)
    if len(table):
        check_readable(table, str(path), "")
    named = table if len(table) else means.assign(query_id="")
    score_text.check_writable(named, form, str(path))
    rows = score_text.in_order(table, means.assign(query_id=MEAN), form)
    text = "".join(f"{line}\n" for line in _formatted(rows, form))
    data = text.encode()
    if not _reads_back(path, data, rows):
        raise DataError(
            f"lines of {form} with these names would read as something else",
            where=str(path),
            mend=score_text.MEND,
        )
    with written_beside(path) as beside:
        beside.write_bytes(data)
    return path


def _reads_back(path: Path, data: bytes, rows: pd.DataFrame) -> bool:
    """Return whether names are read as they were; one may be that of a column."""
    try:
        read = canonical(_parsed(path, data, "auto")[0].frame, Origin(""), SCORES)
    except DataError:
        return False
    return all(read[name].tolist() == rows[name].tolist() for name in SCORES[:3])


def _formatted(rows: pd.DataFrame, form: str) -> list[str]:
    if form != "jsonl":
        return score_text.lines(rows, form)
    names = {"run_id": "run_id", "query_id": "topic_id"}
    records = rows[[*SCORES]].rename(columns=names).to_dict("records")
    return [json.dumps(record, ensure_ascii=False) for record in records]


def _intact(path: Path) -> bytes:
    """Read a file, and refuse what changed since pgcjax wrote it.

    Raises:
        DataError: it changed, or cannot be read.
    """
    data = read_bytes(path)
    mend = "Make or copy it again; if it was changed on purpose, "
    if data.startswith(b"PAR1"):
        mend += "leave 'pgcjax' out of its metadata."
    else:
        mend += """write "crc32": "" in its first line."""
    seal.check(data, str(path), mend)
    return data


def _without_metadata(
    content: Named,
) -> tuple[pd.DataFrame, Origin, list[dict[str, Any]]]:
    """Take the metadata apart: those above a header, and in records of JSON."""
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
        places = np.asarray(origin.places)[rest] if len(origin.places) else ()
        origin = replace(origin, places=places)
        frame = frame[rest].drop(columns="pgcjax").reset_index(drop=True)
    for about in metadata:
        about.pop(seal.KEY, None)
    return frame, origin, metadata
