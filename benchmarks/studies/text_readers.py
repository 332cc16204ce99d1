"""Polars and pyarrow on the text of a run: why the package needs both libraries.

`python -m benchmarks.studies.text_readers` races what reading asks of a library: parse
columns, and look for a document that a run has twice. pyarrow stays for Parquet files
by row groups, and for the strings of pandas.
"""

import io
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv as pc

from benchmarks import texts
from benchmarks.harness import Contender, Report

COLUMNS = ("query_id", "Q0", "doc_id", "rank", "score", "run_id")
IDS = ["run_id", "query_id", "doc_id"]
KEPT = [*IDS, "score"]


def by_polars(data: bytes) -> tuple[np.ndarray, int]:
    """Give the scores of a run, and how many distinct documents it has."""
    types = {name: pl.Float64 if name == "score" else pl.String for name in COLUMNS}
    table = pl.read_csv(
        data,
        has_header=False,
        separator=" ",
        quote_char=None,
        schema=types,
        columns=[COLUMNS.index(name) for name in COLUMNS if name in KEPT],
    )
    return table["score"].to_numpy(), table.select(IDS).hash_rows().n_unique()


def by_pyarrow(data: bytes) -> tuple[np.ndarray, int]:
    """Do the same."""
    types = {name: pa.float64() if name == "score" else pa.string() for name in KEPT}
    table = pc.read_csv(
        io.BytesIO(data),
        read_options=pc.ReadOptions(column_names=list(COLUMNS)),
        parse_options=pc.ParseOptions(delimiter=" ", quote_char=False),
        convert_options=pc.ConvertOptions(include_columns=KEPT, column_types=types),
    )
    return table["score"].to_numpy(), table.group_by(IDS).aggregate([]).num_rows


def run(report: Report, queries: int = 200, depth: int = 1000) -> None:
    """Race on a made-up run."""
    with TemporaryDirectory(prefix="pgcjax-bench-") as name:
        data = texts.write(Path(name), 1, queries, depth).plain[0].read_bytes()

    thousands = queries * depth / 1000

    def contender(name: str, read: Callable, ours: bool = False) -> Contender:
        return Contender(name, partial(read, data), thousands, ours, _values)

    report.race(
        f"a run of {queries} queries × depth {depth}: parsed, and no document twice",
        [contender("pyarrow", by_pyarrow), contender("polars", by_polars, ours=True)],
        per="1000 lines",
        units=thousands,
    )


def _values(found: tuple[np.ndarray, int]) -> np.ndarray:
    return np.append(*found)


if __name__ == "__main__":
    run(Report(rounds=5))
