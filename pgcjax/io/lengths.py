"""Lengths of documents: files, tables and DataFrames in, a table out."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float64

from pgcjax.io import files
from pgcjax.io.bytes import read_bytes
from pgcjax.io.containers import Named
from pgcjax.io.schema import (
    GENERAL,
    expect,
    find_columns,
    keyed,
    numbers,
    refuse,
)


def read_lengths(source: files.Sources) -> pd.DataFrame:
    """Read the lengths of documents, in any unit.

    Args:
        source: Files with columns doc_id, length and, optionally, query_id; or a table,
            as in `read_runs`.

    Returns:
        Table with doc_id, length (float64) and, where given, query_id.

    Raises:
        DataError: a row is malformed, or a document has two lengths.
    """
    return files.read_tables(source, "lengths", _load, _checked)[0]


def _load(path: Path) -> Named:
    return files.with_header(path, read_bytes(path), "doc_id, length")


def _checked(content: Named) -> pd.DataFrame:
    origin = content.origin
    keys = [*find_columns(content.frame.columns, ["query_id"]), "doc_id"]
    table = keyed(content.frame, origin, keys, ["length"])
    table["length"] = numbers(table["length"], "length", origin)
    length, expected = table["length"].to_numpy(), "a length, 0 or more"
    expect(length >= 0, expected, length, origin, "Mend the row.", GENERAL)
    refuse(
        table.duplicated(keys).to_numpy(),
        lambda i: f"document {table.doc_id[i]!r} has two lengths",
        origin,
        "Keep one, or give a column query_id.",
    )
    return table


def pair_lengths(
    preferences: pd.DataFrame, lengths: Any
) -> Float64[np.ndarray, "2 rows"]:
    """Return the lengths of both documents of each row; NaN if unknown.

    Args:
        preferences: Canonical preferences.
        lengths: Source for `read_lengths`; None takes the columns length and
            other_length.
    """
    if lengths is None:
        columns = preferences.reindex(columns=["length", "other_length"])
        return columns.to_numpy(np.float64).T
    of = read_lengths(lengths)
    keys = [c for c in ("query_id", "doc_id") if c in of]
    by_key = pd.Series(of["length"].to_numpy(float), pd.MultiIndex.from_frame(of[keys]))
    sides = (
        preferences.assign(doc_id=preferences[c])[keys]
        for c in ("doc_id", "other_doc_id")
    )
    return np.stack([by_key.reindex(pd.MultiIndex.from_frame(s)) for s in sides])


def doublings(preferences: pd.DataFrame, lengths: Any) -> Float64[np.ndarray, " rows"]:
    """Return log2 of the ratio of the document's length to the other document's.

    It is NaN where a length is unknown or 0.
    """
    length, other = pair_lengths(preferences, lengths)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.log2(length) - np.log2(other)
    return np.where(np.isfinite(ratio), ratio, np.nan)
