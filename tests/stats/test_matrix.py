"""Scores of any tool become one complete matrix, or one line says why not."""

import warnings

import numpy as np
import pandas as pd
import pytest

from pgcjax.errors import DataError, DataWarning, UsageError
from pgcjax.stats.matrix import read
from pgcjax.stats.scores import Scores


def written(table: pd.DataFrame, path) -> str:
    if path.suffix == ".jsonl":
        table.to_json(path, orient="records", lines=True, double_precision=15)
    elif path.suffix == ".parquet":
        table.to_parquet(path, index=False)
    else:
        table.to_csv(path, index=False, sep="," if path.suffix == ".csv" else "\t")
    return str(path)


SUFFIXES = [".csv", ".tsv", ".jsonl", ".parquet"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_tables_of_other_tools(frame, tmp_path, suffix):
    table = frame(3, 4)
    expected = table.pivot(index="run_id", columns="query_id", values="value")
    shuffled = table.sample(frac=1, random_state=0).drop(columns="measure")
    for names in (["run_id", "query_id", "value"], ["system", "topic", "score"]):
        renamed = shuffled.set_axis(names, axis=1)
        for source in (renamed, written(renamed, tmp_path / f"scores{suffix}")):
            found = read(source)
            assert found.run_ids == ["r0", "r1", "r2"]
            assert found.query_ids == ["q00", "q01", "q02", "q03"]
            assert found.values == pytest.approx(expected.to_numpy(), abs=1e-12)
            assert found.values.dtype == np.float64 and not found.notes


@pytest.mark.parametrize("suffix", [*SUFFIXES, ".trec"])
def test_tables_of_our_own(frame, tmp_path, suffix):
    scores = Scores(frame(3, 4), {"version": "1"})
    path = scores.save(tmp_path / f"scores{suffix}")
    assert read(path).measure == "nDCG"
    assert (read(path).values == read(scores).values).all()


def test_columns_of_any_name(frame, tmp_path):
    table = frame(2, 3).set_axis(["tool", "no", "what", "ndcg"], axis=1)
    names = {"run_id": "tool", "query_id": "no", "measure": "what", "value": "ndcg"}
    for source in (table, written(table, tmp_path / "scores.csv")):
        found = read(source, columns=names)
        assert found.values.shape == (2, 3) and found.measure == "nDCG"
    with pytest.raises(DataError, match=r"has no column 'tol' \(found \['tool',"):
        read(table, columns={**names, "run_id": "tol"})
    with pytest.raises(UsageError, match="columns: 'run' is none of run_id, query_id"):
        read(table, columns={"run": "tool"})
    with pytest.raises(DataError, match=r"missing columns \['query_id', 'value'\]"):
        read(table, columns={"run_id": "tool"})


def test_wide_tables(frame, tmp_path):
    long = frame(3, 4)
    runs = long.pivot(index="run_id", columns="query_id", values="value")
    expected = runs.to_numpy()
    sources = [
        runs,
        runs.T,
        runs.reset_index(),
        runs.T.reset_index().rename(columns={"query_id": "topic"}),
    ]
    sources += [
        written(source, tmp_path / f"{i}{suffix}")
        for i, source in enumerate(sources[2:])
        for suffix in (".csv", ".tsv")
    ]
    for source in sources:
        found = read(source)
        assert found.run_ids == ["r0", "r1", "r2"] and found.query_ids[0] == "q00"
        assert found.values == pytest.approx(expected, abs=1e-12)
    plain = written(runs.T, tmp_path / "plain.csv")
    found = read(plain)
    assert found.query_ids == ["1", "2", "3", "4"]
    assert found.notes == ("no column names the queries: 4 rows, numbered",)
    assert found.values == pytest.approx(expected, abs=1e-12)


def test_one_of_several_measures(frame):
    table = pd.concat([frame(2, 3), frame(2, 3, 1).assign(measure="PGC(p=0.95)")])
    with pytest.raises(UsageError, match=r"of 2 measures: choose one of nDCG, PGC\("):
        read(table)
    assert (read(table, measure="nDCG").values == read(frame(2, 3)).values).all()
    assert (read(table, measure="PGC").values == read(frame(2, 3, 1)).values).all()
    with pytest.raises(UsageError, match="no scores of 'Compat'"):
        read(table, measure="Compat")


@pytest.mark.parametrize("wide", [False, True])
def test_a_query_that_a_run_lacks(frame, wide):
    table = frame(3, 4).drop(index=[5])  # r1, q01
    expected = read(frame(3, 4)).values
    if wide:
        table = table.pivot(index="run_id", columns="query_id", values="value")
    with pytest.raises(DataError) as error:
        read(table)
    assert str(error.value) == (
        "scores: run 'r1' has no score for query 'q01' (missing in all: 1). Complete "
        "them, or choose missing drop or zero."
    )
    with pytest.warns(DataWarning, match="1 query left out that some run lacks"):
        found = read(table, missing="drop")
    assert found.query_ids == ["q00", "q02", "q03"]
    assert (found.values == expected[:, [0, 2, 3]]).all()
    found = read(table, missing="zero")
    assert found.values[1, 1] == 0 and found.notes == ("1 missing score counted as 0",)
    with pytest.raises(
        UsageError, match="missing is one of error, drop, zero, not 'skip'"
    ):
        read(table, missing="skip")


def test_what_is_no_finite_score_is_refused(frame, tmp_path):
    for wrong in (np.nan, np.inf, -np.inf):
        table = frame(2, 3)
        table.loc[4, "value"] = wrong
        with pytest.raises(DataError, match="expected a finite number as value"):
            read(table)
    table = frame(2, 3).astype({"value": "str"})
    table.loc[4, "value"] = "nan"
    path = written(table, tmp_path / "scores.csv")
    with pytest.raises(DataError, match="scores.csv:6: expected a finite number"):
        read(path)
    (tmp_path / "wide.csv").write_text("topic,a,b\nq1,0.1,0.2\nq2,0.1,x\n")
    with pytest.raises(DataError, match="wide.csv:3: .* as score, run_id 'b', found"):
        read(tmp_path / "wide.csv")
    (tmp_path / "wide.csv").write_text("topic,a,b\nq1,0.1,0.2\nq2,0.1\n")
    with pytest.raises(DataError, match="wide.csv:3: expected 3 fields as in the head"):
        read(tmp_path / "wide.csv")


def test_a_score_given_twice_is_refused(frame, tmp_path):
    table = pd.concat([frame(2, 3), frame(2, 3)[:1]])
    path = written(table, tmp_path / "scores.csv")
    message = "scores.csv:8: scores run 'r0', query 'q00' twice, first in line 2"
    with pytest.raises(DataError, match=message):
        read(path)
    (tmp_path / "wide.csv").write_text("topic,a,b\nq1,0.1,0.2\nq1,0.1,0\n")
    with pytest.raises(DataError, match="wide.csv:3: has query_id 'q1' twice"):
        read(tmp_path / "wide.csv")
    (tmp_path / "wide.csv").write_text("topic,a,a\nq1,0.1,0.2\nq2,0.1,0\n")
    with pytest.raises(DataError, match="has more than one column 'a'"):
        read(tmp_path / "wide.csv")


def test_means_of_a_tool_are_no_queries(frame):
    table = frame(2, 3)
    mean = table[:1].assign(query_id="all", value=0.3)
    found = read(pd.concat([table, mean], ignore_index=True))
    assert found.query_ids == ["q00", "q01", "q02"]


def test_too_little_to_compare(frame, tmp_path):
    with pytest.raises(DataError, match="holds 1 run to compare. At least 2 runs"):
        read(frame(1, 3))
    with pytest.raises(DataError, match="holds 1 query to compare"):
        read(frame(2, 1))
    apart = pd.concat([frame(1, 2), frame(2, 4)[6:]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        with pytest.raises(DataError, match="holds 0 queries to compare"):
            read(apart, missing="drop")
    (tmp_path / "empty.csv").write_text("run_id,query_id,value\n")
    with pytest.raises(DataError, match="holds a header only"):
        read(tmp_path / "empty.csv")
    with pytest.raises(DataError, match="cannot read it"):
        read(tmp_path / "absent.csv")
    with pytest.raises(UsageError, match="expected scores, a DataFrame or a file"):
        read({"r": 1})


def test_public_matrices(data):
    for path in sorted((data / "score-matrices").glob("*/*.csv.gz")):
        found = read(path)
        assert found.values.min() >= 0 and found.values.max() <= 1
        assert len(found.run_ids) > 20 and len(found.query_ids) > 40
