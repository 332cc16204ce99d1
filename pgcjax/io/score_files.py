"""Files of scores, of pgcjax and of other tools, as tables."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pgcjax.errors import DataError
from pgcjax.io import files, seal
from pgcjax.io.containers import Columns, Named, container_of, split
from pgcjax.io.content import read_bytes
from pgcjax.io.json_text import NoJson, read_json
from pgcjax.io.schema import SCORES, Origin, canonical, ids, numbers
from pgcjax.io.write import HEADER_MARK


def read_score_table(path: str | os.PathLike) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Read a table with the columns run_id, query_id, measure and value.

    Returns:
        The table, and the metadata that pgcjax wrote into the file; {} without.

    Raises:
        DataError: the file is no score table.
    """
    path = Path(path)
    trec = path.suffix.lower() == ".trec"
    data = _intact(path)
    content = split(path, data, "tabs" if trec else container_of(path, data))
    if isinstance(content, Columns):
        content = _from_trec(content)
    frame, origin, metadata = _without_metadata(content)
    if len(metadata) > 1:
        raise DataError(
            "holds the scores of several files",
            where=str(path),
            mend="Name the files one by one.",
        )
    table = canonical(frame, origin, SCORES)
    for name in SCORES[:3]:
        table[name] = ids(table[name], origin)
    table["value"] = numbers(table["value"], "value", origin)
    return table, metadata[0] if metadata else {}


def check_readable(table: pd.DataFrame, where: str, suffix: str) -> None:
    """Refuse scores that a file with this suffix would not give back.

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
    if (table["query_id"] == "all").any():
        lost.append("a mean of query 'all'")
    if lost:
        raise DataError(
            f"a .trec file would make {lost[0]}",
            where=where,
            mend="Name a .tsv, .csv, .jsonl or .parquet file.",
        )


def read_any_scores(path: Path) -> tuple[pd.DataFrame, Origin]:
    """Read a file of scores as rows of text, whatever its columns are called.

    Raises:
        DataError: it cannot be read as a table.
    """
    if path.suffix.lower() == ".trec":
        return read_score_table(path)[0], Origin(str(path))
    data = _intact(path)
    container = container_of(path, data)
    if container == "columns":
        container = "tsv" if b"\t" in data else "csv"
    content = split(path, data, container, any_header=True)
    assert isinstance(content, Named)
    if container != "jsonl":
        return content.frame, content.origin
    return _without_metadata(content)[:2]


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


def _from_trec(content: Columns) -> Named:
    """Name the columns of trec_eval's output, and leave averages out."""
    rows, places = [], []
    names = [row[2] for row in content.rows if row[:2] == ["runid", "all"]]
    name = names[0] if names else files.stem(content.origin.name)
    for i, row in enumerate(content.rows):
        if len(row) not in (3, 4):
            raise DataError(
                f"expected '[run] measure query value', found {content.text(i)}",
                where=content.origin.at(i),
            )
        if row[-2] != "all":
            rows.append([name, *row] if len(row) == 3 else row)
            places.append(content.origin.places[i])
    frame = pd.DataFrame(rows, columns=["run_id", "measure", "query_id", "value"])
    origin = replace(content.origin, places=np.array(places))
    return Named(frame, origin, content.head)
