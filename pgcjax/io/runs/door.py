"""Any source of runs as `Runs`: units that know their source."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any

import polars as pl

from pgcjax.errors import refuse_forked
from pgcjax.io import files
from pgcjax.io.folders import is_no_run
from pgcjax.io.grids import is_grids, read_grids
from pgcjax.io.in_memory import in_hand, is_frame
from pgcjax.io.remote import each, is_remote
from pgcjax.io.runs.collection import Runs
from pgcjax.io.runs.contract import Options, RunTable, Unit
from pgcjax.io.runs.files import FileRuns
from pgcjax.io.runs.memory import TableRuns, of_pandas, read_table
from pgcjax.io.runs.packed import PackedRuns, is_packed
from pgcjax.io.schema import Origin
from pgcjax.later import pd


def read_runs(
    source: files.Sources,
    *,
    format: str = "auto",
    name_by: str = "tag",
    float32: bool = False,
) -> Runs:
    """List one run or many, to be read when they are needed.

    Every function that takes runs takes the result, and reads the parts that it needs.
    Files are not all in memory at once.

    Args:
        source: Files, folders and globs of TREC runs (6 columns), of 3 columns `query
            doc score`, of named columns (CSV, TSV, JSONL, Parquet), plain or
            compressed, or of packed runs; or a table in memory, from pandas, polars,
            Arrow, HuggingFace datasets, dicts or named tuples; or Runs of ranx; or
            `{query: {doc: score}}` for one run, `{run: …}` for several of any form.
        format: `auto`, or one of `columns`, `csv`, `tsv`, `jsonl`, `parquet`.
        name_by: Name of a run: its `tag` (else the file's name), the name of its
            `file`, or the `filename`, which includes the suffix.
        float32: Round scores to float32, which makes ties, as trec_eval up to 9 does.

    Returns:
        The runs; `.table` is a DataFrame of all of them.

    Raises:
        DataError: there is no such file; and, when the runs are read: a row is
            malformed, a document is twice in a query of a run, or two files have one
            run.
        UsageError: packed runs have no scores to round.
    """
    return open_runs(source, Options(format, name_by, float32))


def open_runs(
    source: Any,
    options: Options | None = None,
    *,
    in_order: Callable[[pd.DataFrame], pd.DataFrame] | None = None,
) -> Runs:
    """Inspect a source of runs once, and list the units to read.

    Args:
        source: Input or result of `read_runs`.
        options: Settings of reading; Runs keep their own, except for `float32`.
        in_order: Makes runs of canonical image grids; without it, a table of grids is
            read as runs. Each system is a unit, and has the grids of all systems.

    Raises:
        UsageError, DataError: an option is wrong, or there is nothing to read.
    """
    refuse_forked()
    options = options or Options()
    if isinstance(source, Runs):
        return source.rounded() if options.float32 else source
    if isinstance(source, pl.LazyFrame):
        source = source.collect()
    if not isinstance(source, pl.DataFrame):
        source = in_hand(source, "runs")
    if in_order and is_grids(source):
        grids = read_grids(source)
        table = of_pandas(in_order(grids), Origin("grids"))
        systems = table.partition_by("run_id", maintain_order=True)
        return Runs(TableRuns(systems).units(), options, grids)
    if isinstance(source, Mapping):  # some values may be Runs already
        source = {
            key: _whole(value) if isinstance(value, Runs) else value
            for key, value in source.items()
        }
    if isinstance(source, (Mapping, pl.DataFrame)) or is_frame(source):
        return Runs(TableRuns([read_table(source)]).units(), options)
    runs = Runs(_in_files(source, options), options)
    return runs.rounded() if options.float32 else runs


def _whole(runs: Runs) -> RunTable:
    return RunTable(pl.concat(runs.tables()))


def _in_files(source: Any, options: Options) -> list[Unit]:
    """List the units of files, local or remote."""
    foreign = partial(is_no_run, format=options.format)
    paths = files.expand(source, foreign, "run")
    # Remote stores answer slowly: inspect several files at the same time.
    elsewhere = any(map(is_remote, paths))
    packed = (each if elsewhere else map)(is_packed, paths)
    units: list[Unit] = []
    for sealed, group in groupby(zip(packed, paths, strict=True), itemgetter(0)):
        here = [path for _, path in group]
        if not sealed:
            units += FileRuns(here, options, together=not elsewhere).units()
        for path in here if sealed else ():
            units += PackedRuns(path, options).units()
    return units
