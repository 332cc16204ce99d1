"""The contract of runs: whatever comes in by the door answers alike."""

import os
from collections.abc import Callable

import pandas as pd
import polars as pl
import pytest

import pgcjax
from pgcjax.datasets.files import demo_folder
from pgcjax.errors import UsageError
from pgcjax.io.judged import JudgedDocuments
from pgcjax.io.runs import Need, Options, PackedBlock, open_runs

RUNS = sorted((demo_folder() / "runs").iterdir())
TABLE = pgcjax.files.read_runs(RUNS).table
_RANKING = ["run_id", "query_id"]
NEED = Need(2**30, JudgedDocuments({"q101": ["x"]}))


def packed(folder):
    pgcjax.files.pack(RUNS, folder / "packed.parquet")
    return folder / "packed.parquet"


def one_csv(folder):
    TABLE.to_csv(folder / "all.csv", index=False)
    return folder / "all.csv"


SOURCES: dict[str, Callable] = {
    "files": lambda _: RUNS,
    "a table with a header": one_csv,
    "packed": packed,
    "pandas": lambda _: TABLE,
    "polars": lambda _: pl.from_pandas(TABLE),
    "a polars query": lambda _: pl.from_pandas(TABLE).lazy(),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_every_source_answers_alike(kind, tmp_path):
    source, rankings = SOURCES[kind](tmp_path), 0
    runs = open_runs(source)
    for unit in runs.units:
        tables = [*unit.source.read([unit], NEED)]
        assert tables[-1].last and all(len(table.by_unit) == 1 for table in tables)
        for table in tables:
            blocks = isinstance(table, PackedBlock)
            rankings += len(table.run) if blocks else table.frame.n_unique(_RANKING)
    assert rankings == len(TABLE.drop_duplicates(_RANKING))
    assert runs.identities() == open_runs(source).identities()


def test_identities_change_with_files_and_with_how_they_are_read(put):
    path = put("a.run", "q Q0 d 1 2 t\n")
    (before,) = open_runs(path).identities()
    os.utime(path, ns=(0, 0))
    changed = [open_runs(path).identities()]
    for options in (
        Options("columns"),
        Options(name_by="file"),
        Options(encoding="l1"),
    ):
        changed.append(open_runs(path, options).identities())
    assert len({before, *(name for (name,) in changed)}) == 5


def test_runs_that_were_opened_are_as_they_were():
    runs = open_runs(RUNS, Options(name_by="file"))
    assert open_runs(runs) is runs
    rounded = open_runs(runs, Options(float32=True))
    assert rounded.options == Options(name_by="file", float32=True)
    assert not runs.options.float32


def test_packed_runs_have_no_scores_to_round(tmp_path):
    path = packed(tmp_path)
    for source in (path, open_runs(path), [*RUNS, path]):
        with pytest.raises(UsageError, match=r"packed\.parquet holds packed runs"):
            open_runs(source, Options(float32=True))


def test_gaps_in_ranks_of_polars():
    ranks = pl.DataFrame(
        {"qid": "q", "docno": ["a", "b"], "score": 1, "rank": [1, None]}
    )
    expected = pd.DataFrame({"rank": [1.0, float("nan")]})
    pd.testing.assert_frame_equal(open_runs(ranks).table[["rank"]], expected)
