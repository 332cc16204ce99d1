"""Write runs to a file of packed runs, whose form `packed` describes."""

import json
import os
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from pgcjax.errors import DataError, Progress, UsageError
from pgcjax.io.judgments import read_judgments
from pgcjax.io.order import gathered, in_order
from pgcjax.io.remote import path_of
from pgcjax.io.runs.collection import Runs
from pgcjax.io.runs.door import open_runs
from pgcjax.io.runs.packed import MARK, VERSION
from pgcjax.io.seal import seal_columns, unfilled
from pgcjax.io.targets import keep_apart
from pgcjax.io.write import unsealed, written_beside

ROWS = 2**22  # approximate number in a block, which is in memory as a whole
SEARCHED = (
    2**20
)  # rows of a group: a search for an id has all names of a group in memory
_NAMES = ("run_id", "query_id", "doc_id")
_NUMBERS = ("judged", "position", "clarke", "rank", "length", "judged_length")
SCHEMA = pa.schema(
    [
        *(pa.field(name, pa.dictionary(pa.int32(), pa.string())) for name in _NAMES),
        *(pa.field(name, pa.int32()) for name in _NUMBERS),
    ]
)
FORMAT: dict[str, Any] = {
    "compression": "lz4",  # a third larger than zstd, read in a third of the time
    "use_dictionary": list(_NAMES),
    # The smallest and fastest encoding of ranks and of numbers in lists.
    "column_encoding": dict.fromkeys(("judged", "position"), "BYTE_STREAM_SPLIT"),
    "dictionary_pagesize_limit": 2**30,
    "write_statistics": False,
}


def pack(
    runs: Any,
    target: str | os.PathLike,
    *,
    only_judged: bool = False,
    progress: Progress | None = None,
    **judgments: Any,
) -> int:
    """Write runs as a file of packed runs, from which `evaluate` reads them fast.

    The file keeps each ranking in its order by each convention, but no scores. For the
    judgments that it was packed for, or a part of them, only a part of it is read.

    Args:
        runs: Input or result of `read_runs`.
        target: File to write, `.parquet`.
        only_judged: Leave out documents without judgments. The file is smaller, and
            fits no other judgments.
        progress: Called with `(stage, done, total)`.
        judgments: Judgments to pack for, as in `evaluate`: `preferences=`, `qrels=`, …

    Returns:
        Number of runs.

    Raises:
        DataError: the data cannot be read, a run occurs twice, or the file cannot be
            written. UsageError: `only_judged` has no judgments, a kind of judgments is
            unknown, or the file is one of the runs or judgments.
    """
    if Path(target).suffix.lower() != ".parquet":
        raise UsageError(f"{target}: packed runs are a .parquet file")
    files = runs.paths if isinstance(runs, Runs) else runs
    keep_apart([(str(target), ())], [files, *judgments.values()])
    tables = read_judgments(judgments)
    if only_judged and not tables:
        raise UsageError("only_judged needs judgments: give preferences or qrels")
    judged = _judged(tables.values())
    with closing(open_runs(runs).tables(progress=progress)) as frames:
        return _write(frames, path_of(target), judged, whole=not only_judged)


def _judged(tables: Iterable[pd.DataFrame]) -> pl.DataFrame:
    """Number judged documents, query by query: query_id, doc_id, judged."""
    sides = [pl.DataFrame(schema={"query_id": pl.String, "doc_id": pl.String})]
    for table in tables:
        for column in ("doc_id", "other_doc_id", "previous_doc_id"):
            if column in table:
                side = pl.from_pandas(table[["query_id", column]].dropna())
                sides.append(side.select("query_id", pl.col(column).alias("doc_id")))
    docs = pl.concat(sides).unique().sort("query_id", "doc_id")
    return docs.with_columns(judged=pl.int_range(pl.len(), dtype=pl.Int32))


def _write(
    tables: Iterable[pl.DataFrame],
    target: Path,
    judged: pl.DataFrame,
    *,
    whole: bool,
    rows: int = ROWS,
) -> int:
    runs: list[int] = []
    groups: list[list[int]] = []
    seen: set[str] = set()
    with written_beside(target) as beside:
        with pq.ParquetWriter(beside, SCHEMA, **FORMAT) as writer:
            writer.write_table(_table(judged), row_group_size=max(1, len(judged)))
            for ordered in gathered(map(in_order, tables), rows - 1):
                assert isinstance(ordered, list)  # `tables` gives whole ones
                block = pl.concat(ordered)
                names = block["run_id"].unique().to_list()
                if not seen.isdisjoint(names):
                    run = min(seen.intersection(names))
                    raise DataError(f"run {run!r} comes twice", mend="Give it once.")
                seen.update(names)
                runs.append(len(names))
                parts = _parts(block, judged, whole)
                done = 1 + sum(map(len, groups))
                groups.append(list(range(done, done + len(parts))))
                for part in parts:
                    writer.write_table(part, row_group_size=max(1, len(part)))
            writer.add_key_value_metadata(metadata(whole, runs, groups))
        seal_columns(beside)
    return len(seen)


def metadata(whole: bool, runs: list[int], groups: list[list[int]]) -> dict[str, str]:
    """Describe packed runs, as `packed` says; `seal_columns` adds checksums."""
    about = {"version": VERSION, "whole": whole, "runs": runs, "groups": groups}
    columns = len(SCHEMA) * (1 + sum(map(len, groups)))
    return {MARK: json.dumps(unsealed({**about, "crcs": unfilled(columns)}))}


def _parts(block: pl.DataFrame, docs: pl.DataFrame, whole: bool) -> list[pa.Table]:
    """Cut a block into rankings, the documents that are read fast, and all others."""
    block = block.join(
        docs, on=["query_id", "doc_id"], how="left", maintain_order="left"
    ).sort("query_id", "run_id", maintain_order=True)
    judged = pl.col("judged").is_not_null()
    rankings = block.group_by("query_id", "run_id", maintain_order=True).agg(
        length=pl.len(),
        judged_length=judged.sum(),
        rank=pl.when((pl.col("rank") < 0).any()).then(-1),
    )
    parts = [rankings, block.filter(judged)]
    if whole:
        others = block.filter(~judged)
        cuts = range(0, max(1, len(others)), SEARCHED)
        parts += [others.slice(cut, SEARCHED) for cut in cuts]
    return [_table(part) for part in parts]


def _table(rows: pl.DataFrame) -> pa.Table:
    return pa.table([_column(rows, field) for field in SCHEMA], schema=SCHEMA)


def _column(rows: pl.DataFrame, field: pa.Field) -> pa.Array:
    if field.name not in rows:
        return pa.nulls(len(rows), field.type)
    array = rows[field.name].to_arrow()
    if pa.types.is_dictionary(field.type):
        array = array.cast(pa.string()).dictionary_encode()
    return array.cast(field.type)
