"""Files of scores, of pgcjax and of other tools, as tables."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pgcjax.errors import DataError
from pgcjax.io import files
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
    content = files.load(path, "tabs" if trec else "auto")
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


def read_any_scores(path: Path) -> tuple[pd.DataFrame, Origin]:
    """Read a file of scores as rows of text, whatever its columns are called.

    Raises:
        DataError: it cannot be read as a table.
    """
    if path.suffix.lower() == ".trec":
        return read_score_table(path)[0], Origin(str(path))
    data = read_bytes(path)
    container = container_of(path, data)
    if container == "columns":
        container = "tsv" if b"\t" in data else "csv"
    content = split(path, data, container, any_header=True)
    assert isinstance(content, Named)
    if container != "jsonl":
        return content.frame, content.origin
    return _without_metadata(content)[:2]


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
