"""Files of scores of any tool, as tables with the columns that they have."""

import csv
import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from pgcjax.errors import DataError
from pgcjax.io import files
from pgcjax.io.content import decode, read_bytes
from pgcjax.io.schema import Origin
from pgcjax.stats.scores import read_scores


def load(path: Path) -> tuple[pd.DataFrame, Origin]:
    """Read a file of scores as rows of text, whatever its columns are called.

    Raises:
        DataError: it cannot be read as a table.
    """
    if path.suffix.lower() == ".trec":
        return read_scores(path).table, Origin(str(path))
    data = read_bytes(path)
    container = files.container_of(path, data)
    if container in ("jsonl", "parquet"):
        content = files.split(path, data, container)
        assert isinstance(content, files.Named)
        frame, origin = content.frame, content.origin
        if "pgcjax" in frame:  # the first record of a file of ours
            rest = frame["pgcjax"].isna().to_numpy()
            places = np.asarray(origin.places)[rest] if len(origin.places) else ()
            frame = frame[rest].drop(columns="pgcjax").reset_index(drop=True)
            origin = replace(origin, places=places)
        return frame, origin
    text = decode(path, data)
    tabs = container == "tsv" or (container != "csv" and "\t" in text)
    return _delimited(str(path), text, "\t" if tabs else ",")


def _delimited(name: str, text: str, separator: str) -> tuple[pd.DataFrame, Origin]:
    """Read a table with a header of any names; comments may stand above it."""
    rows, places = [], []
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        for row in reader:
            if not "".join(row).strip() or (not rows and row[0].startswith("#")):
                continue
            if rows and len(row) != len(rows[0]):
                raise DataError(
                    f"expected {len(rows[0])} fields as in the header, found "
                    f"{len(row)}",
                    where=f"{name}:{reader.line_num}",
                    mend="Quote fields that hold the separator.",
                )
            rows.append(row)
            places.append(reader.line_num)
    except csv.Error as error:
        raise DataError(str(error), where=f"{name}:{reader.line_num}") from None
    if len(rows) < 2:
        raise DataError("expected a header and rows of scores", where=name)
    frame = pd.DataFrame(rows[1:], columns=[c.strip() for c in rows[0]], dtype="str")
    return frame, Origin(name, "line", np.array(places[1:]))
