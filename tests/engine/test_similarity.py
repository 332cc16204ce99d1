"""RBO of runs, as users ask for it: pairs, means, matrices, missing queries, lists."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from helpers.tied import TIES, VARIANTS, collection

import pgcjax
from pgcjax.engine import plan
from pgcjax.errors import DataError, DataWarning, UsageError
from pgcjax.reference.rbo import rbo_of_ties

silent = pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning")


@pytest.fixture(scope="module", autouse=True)
def small_tiles():
    """Cut pairs into tiles of one shape, so that more tests share programs."""
    with plan.using(lists=4):
        yield


def ranking(runs: pd.DataFrame, run: str, query: str, ties: str, order: str = "trec"):
    """One ranking as tie groups, by pandas."""
    mine = runs[(runs.run_id == run) & (runs.query_id == query)]
    if order == "rank":
        mine = mine.assign(score=-mine["rank"])
    if ties == "broken":
        falling = [False, order == "clarke"]
        mine = mine.sort_values(["score", "doc_id"], ascending=falling)
        return [[doc] for doc in mine.doc_id]
    groups = mine.groupby("score", sort=True).doc_id.apply(list)
    return groups.tolist()[::-1]


@silent
@pytest.mark.parametrize("ties", [*TIES, "broken"])
@pytest.mark.parametrize("order", ["trec", "clarke", "rank"])
def test_every_value_is_the_twins(ties, order):
    runs = collection()
    ranked = {
        (run, query): ranking(runs, run, query, ties, order)
        for run, query in set(zip(runs.run_id, runs.query_id, strict=True))
    }
    kind = "a" if ties == "broken" else ties
    expected = {
        (a, b, query): rbo_of_ties(ranked[a, query], ranked[b, query], 0.8, kind)
        for (a, query), (b, other) in combinations(sorted(ranked), 2)
        if query == other and a != b
    }
    options = {"p": 0.8, "ties": ties, "order": order, "missing": "skip"}
    for variant in VARIANTS:
        found = pgcjax.rankings.rbo(runs, variant=variant, **options)
        name = f"RBO(p=0.8,variant={variant},ties={ties})"
        assert found.measure == name and (found.table.measure == name).all()
        assert list(found.table) == ["run_a", "run_b", "query_id", "measure", "value"]
        assert len(found.table) == len(expected)
        for row in found.table.itertuples():
            twin = expected[row.run_a, row.run_b, row.query_id][variant]
            assert row.value == pytest.approx(twin, abs=1e-12)


@silent
def test_means_and_matrix():
    runs = collection(1)
    found = pgcjax.rankings.rbo(runs)
    means = found.table.groupby(["run_a", "run_b"])["value"].mean()
    mean = found.mean().set_index(["run_a", "run_b"])["mean"]
    assert mean.to_numpy() == pytest.approx(means.to_numpy()) and len(mean) == 10
    square = found.matrix()
    assert list(square) == list(square.index) == [f"r{i}" for i in range(5)]
    assert (square == square.T).all(axis=None)
    for (a, b), value in mean.items():
        assert square.loc[a, b] == value
    own = (
        pgcjax.rankings.rbo(runs[runs.run_id == "r1"], runs)
        .mean()
        .set_index("run_b")["mean"]
    )
    assert square.loc["r1", "r1"] == own["r1"]
    assert own.index.tolist() == [f"r{i}" for i in range(5)]


@silent
def test_runs_against_others():
    runs = collection(2, runs=6)
    few, rest = runs[runs.run_id < "r2"], runs[runs.run_id >= "r2"]
    found = pgcjax.rankings.rbo(few, rest, variant="min", ties="b")
    assert found.matrix().shape == (2, 4) and not len(found.own)
    every = pgcjax.rankings.rbo(runs, variant="min", ties="b").table
    keys = ["run_a", "run_b", "query_id"]
    every = every.set_index(keys)["value"]
    mine = found.table.set_index(keys)["value"]
    assert (every.loc[mine.index] == mine).all()  # the same bits
    turned = pgcjax.rankings.rbo(rest, few, variant="min", ties="b").table
    turned = turned.set_index(["run_b", "run_a", "query_id"])["value"]
    assert (turned.loc[mine.index] == mine).all()


def missing() -> dict:
    docs = {"a": 2, "b": 1}
    return {"x": {"1": docs, "2": docs}, "y": {"1": docs}, "z": {"1": docs, "2": docs}}


def test_a_query_that_one_run_lacks():
    said = "in 2 pairs of runs, only one has a query: 2 values in all"
    with pytest.warns(DataWarning, match=said):
        found = pgcjax.rankings.rbo(missing())
    values = found.mean()["mean"]
    assert values.tolist() == pytest.approx([0.5, 1.0, 0.5])
    assert len(found.table) == 6
    with pytest.warns(DataWarning, match=r"in all are left out$"):
        found = pgcjax.rankings.rbo(missing(), missing="skip")
    assert found.mean()["mean"].tolist() == pytest.approx([1, 1, 1])
    assert len(found.table) == 4
    with pytest.raises(DataError, match=r"^run 'y' lacks query '2', which another"):
        pgcjax.rankings.rbo(missing(), missing="error")


def test_pairs_without_a_common_query_have_no_mean():
    runs = {"x": {"1": {"a": 1}}, "y": {"2": {"a": 1}}, "z": {"1": {"b": 1}}}
    with pytest.warns(DataWarning):
        found = pgcjax.rankings.rbo(runs, missing="skip")
    assert np.isnan(found.mean()["mean"]).tolist() == [True, False, True]
    assert np.isnan(found.matrix().loc["x", "y"])


def test_depth_cuts_but_no_tie():
    tied = {"a": 3, "b": 2, "c": 2, "d": 1}
    other = {"b": 4, "a": 3, "d": 2, "c": 1}
    found = pgcjax.rankings.rbo({"x": {"1": tied}, "y": {"1": other}}, depth=2)
    assert found.measure == "RBO(p=0.9,variant=ext,ties=a,depth=2)"
    expected = rbo_of_ties([["a"], ["b", "c"]], [["b"], ["a"]], 0.9)["ext"]
    assert found.mean()["mean"][0] == pytest.approx(expected)
    broken = pgcjax.rankings.rbo(
        {"x": {"1": tied}, "y": {"1": other}}, depth=2, ties="broken"
    )
    expected = rbo_of_ties([["a"], ["c"]], [["b"], ["a"]], 0.9)["ext"]
    assert broken.mean()["mean"][0] == pytest.approx(expected)
    lists = pgcjax.rankings.rbo(["a", ["b", "c"], "d"], ["b", "a", "d", "c"], depth=2)
    assert lists == found.mean()["mean"][0]


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("variant", VARIANTS)
def test_two_lists(ties, variant):
    a, b = ["x", ("y", "z"), "u"], ["y", {"x"}, "v", ["w", "z"]]
    found = pgcjax.rankings.rbo(a, b, p=0.7, ties=ties, variant=variant)
    groups = [["x"], ["y", "z"], ["u"]], [["y"], ["x"], ["v"], ["w", "z"]]
    expected = rbo_of_ties(*groups, 0.7, ties)[variant]
    assert isinstance(found, float) and found == pytest.approx(expected, abs=1e-14)
    assert pgcjax.rankings.rbo([1, 2], (2, 1), p=0.5, ties="broken") == 0.5


def test_lists_that_are_none(tmp_path):
    for bad, said in (
        ([], "list a is empty. Give"),
        (["a", []], "list a has an empty tie group. Leave"),
        (["a", ["b", "a"]], "list a has document 'a' twice. Keep one."),
        ([{"a": 1}], "list a: expected document ids, or lists of those that tie"),
    ):
        with pytest.raises(DataError) as error:
            pgcjax.rankings.rbo(bad, ["a"])
        assert str(error.value).startswith(said)
    with pytest.raises(UsageError, match="ties=broken: a list has no order within"):
        pgcjax.rankings.rbo(["a", ["b", "c"]], ["a"], ties="broken")
    path = tmp_path / "run.txt"
    path.write_text("1 Q0 a 1 1 x\n")
    with pytest.raises(UsageError, match=r"give their runs as read_runs\(\[\.\.\.\]\)"):
        pgcjax.rankings.rbo([path], [str(path)])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"p": 1.0}, "p=1.0: expected a number above 0 and below 1"),
        ({"p": float("nan")}, "p=nan: expected"),
        ({"p": "0.9"}, "p=0.9: expected"),
        ({"variant": "EXT"}, "variant is one of ext, min, max, res, not 'EXT'"),
        ({"ties": "c"}, "ties is one of w, a, b, broken, not 'c'"),
        ({"order": "x"}, "order is one of trec, clarke, rank, not 'x'"),
        ({"missing": "drop"}, "missing is one of zero, skip, error, not 'drop'"),
        ({"depth": 0}, "depth=0: expected a whole number from 1 up"),
        ({"memory": "lots"}, "memory 'lots': expected a size"),
    ],
)
def test_wrong_arguments(options, said):
    with pytest.raises(UsageError) as error:
        pgcjax.rankings.rbo(missing(), **options)
    assert str(error.value).startswith(said)


def test_nothing_to_compare():
    with pytest.raises(DataError, match="run 'run' is the only one. Give another"):
        pgcjax.rankings.rbo({"1": {"a": 1}})
    with pytest.raises(DataError, match="no two runs have the same query"):
        pgcjax.rankings.rbo({"1": {"a": 1}}, {"2": {"a": 1}})
    frame = pd.DataFrame({"query_id": ["1"], "doc_id": ["a"], "score": [1.0]})
    with pytest.raises(DataError, match="run 'run' has no usable rank for document"):
        pgcjax.rankings.rbo(frame, frame, order="rank")


@silent
def test_files_progress_and_metadata(tmp_path):
    runs = collection(3)
    for name, mine in runs.groupby("run_id"):
        mine.insert(2, "Q0", "Q0")
        columns = ["query_id", "Q0", "doc_id", "rank", "score", "run_id"]
        path = tmp_path / f"{name}.txt"
        mine[columns].to_csv(path, sep=" ", header=False, index=False)
    seen = []
    found = pgcjax.rankings.rbo(tmp_path, progress=lambda *step: seen.append(step))
    pd.testing.assert_frame_equal(found.table, pgcjax.rankings.rbo(runs).table)
    assert ("reading", 5, 5) in seen
    comparing = [step for step in seen if step[0] == "comparing"]
    assert comparing[-1][1] == comparing[-1][2] > 0
    assert found.metadata == {
        "version": pgcjax.__version__,
        "measure": "RBO(p=0.9,variant=ext,ties=a)",
        "order": "trec",
        "missing": "zero",
    }
    assert found.notes == (
        "RBO(p=0.9,variant=ext,ties=a): 10 pairs of runs, 4 queries",
    )
    path = found.save(tmp_path / "pairs.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(path), found.table)
