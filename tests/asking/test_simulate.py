"""Designs of asking, played with judges who know the truth, err, or replay votes."""

from itertools import combinations
from math import ceil, log2

import numpy as np
import pandas as pd
import pytest

import pgcjax
from pgcjax.asking.choices import DESIGNS
from pgcjax.asking.designs import Errors, replayed_judge, simulated_judge
from pgcjax.errors import DataError, UsageError

STOPPING = [design for design in DESIGNS if design.endswith("stop")]


def test_a_judge_without_errors_is_read_right():
    """All designs that ask for all find the truth; those that stop, the better run."""
    found = pgcjax.ask.simulate(documents=[4, 9], queries=5, systems=3, bad=0.0)
    table = found.table.set_index(["documents", "design"])
    assert [*table.index] == [(n, design) for n in (4, 9) for design in DESIGNS]
    assert (table["queries"] == 5).all()
    assert (table["wrong"] == 0).all()
    whole = table.drop(index=["tournament", *STOPPING], level="design")
    assert (whole[["top", "tau", "right"]] == 1).all(axis=None)
    assert (table.loc[[(9, d) for d in STOPPING], "right"] == 1).all()
    for n in (4, 9):
        cost = table.loc[n, "judgments"]
        every = n * (n - 1) / 2
        assert cost["all pairs"] == cost["all pairs, bad"] == every
        sort = sum(ceil(log2(i)) for i in range(2, n + 1))  # merge sort's worst case
        assert log2(np.prod(np.arange(1.0, n + 1))) <= cost["merge sort"] <= sort
        assert cost["utility, stop"] < cost["random, stop"] < every
        assert cost["utility, inference, stop"] <= cost["utility, stop"]
        assert cost["inference"] < every
    assert table.loc[(4, "tournament"), "judgments"] == 6  # all pairs at once
    again = pgcjax.ask.simulate(
        documents=9, queries=5, systems=3, bad=0.0, designs=["utility, stop"]
    )
    alone = table.loc[[(9, "utility, stop")]].reset_index()
    pd.testing.assert_frame_equal(again.table, alone[again.table.columns])
    assert found.metadata["seed"] == 0 and found.metadata["systems"] == 3


def test_means_are_told_apart_with_fewer_answers_than_queries_are():
    """One after the other over all queries; the sign of the means is never wrong."""
    chosen = ["all pairs", "merge sort", *STOPPING[:2]]
    how = {"documents": 8, "queries": 6, "systems": 3, "designs": chosen}
    for seed in range(3):
        table = pgcjax.ask.simulate(over="mean", seed=seed, **how).table
        rows = table.set_index("design")
        assert (rows["queries"] == 6).all() and (rows["wrong"] == 0).all()
        assert (rows["right"] == 1).all() and rows.loc["all pairs", "judgments"] == 28
        cost = rows["judgments"]
        assert cost["utility, stop"] < cost["random, stop"] < 28
    whole = pgcjax.ask.simulate(seed=2, **how).table.set_index("design")
    for column in ("judgments", "top", "tau"):  # where it does not matter what is told
        told = rows.loc["all pairs", column]
        assert told == pytest.approx(whole.loc["all pairs", column])


def test_bad_documents_and_errors():
    bad = pgcjax.ask.simulate(documents=10, queries=6, bad=0.5).table
    cost = bad.set_index("design")["judgments"]
    for design in ("all pairs", "merge sort", "inference"):
        assert cost[f"{design}, bad"] < cost[design]
    # Ten pairs of bad documents, and of each at most one more is ever asked for.
    assert cost["all pairs, bad"] <= 45 - 10 - 5 * 4 + 5
    how = {"documents": 8, "queries": 12, "designs": ["all pairs", "utility, stop"]}
    for errors, low, high in (({"error": 0.5}, 0, 0.7), ({"bias": 1.0}, 0, 0.7)):
        rows = pgcjax.ask.simulate(**how, **errors).table.set_index("design")
        assert low <= rows.loc["all pairs", "top"] <= high + 0.2
        assert abs(rows.loc["all pairs", "tau"]) < 0.4
    ties = pgcjax.ask.simulate(**how, ties=1.0).table.set_index("design")
    assert (ties["right"] == 0).all() and (ties["wrong"] == 0).all()
    assert (ties["tau"] == 0).all() and (ties["judgments"] <= 28).all()
    assert pgcjax.ask.simulate(**how, error=1.0).table["tau"].iloc[0] < -0.999


def test_judges():
    random = np.random.default_rng(0)
    a, b, c, d, utility = 0, 1, 2, 3, np.array([2.0, 1.0, 1.0])
    judge = simulated_judge(utility, [c], Errors(), random)
    assert judge(a, b) == (1, []) and judge(b, a) == (-1, [])
    assert judge(b, c) == (0, [c])
    often = simulated_judge(utility, [], Errors(0.2, 0.3, 0.4), random)
    signs = [often(b, a)[0] for _ in range(4000)]
    shares = [signs.count(sign) / 4000 for sign in (1, 0, -1)]
    assert shares == pytest.approx(
        [0.4 + 0.6 * 0.7 * 0.2, 0.18, 0.6 * 0.7 * 0.8], abs=0.03
    )
    replayed = replayed_judge({(a, b): [1, 1, -1]}, [d], random)
    signs = [replayed(b, a)[0] for _ in range(6)]
    assert sorted(signs[:3]) == sorted(signs[3:]) == [-1, -1, 1]
    assert replayed(a, c) is None and replayed(a, d) == (0, [d])


def data() -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Runs of two queries, grades, and votes on all pairs that follow the grades."""
    random, runs, grades, votes = np.random.default_rng(2), [], [], []
    for query in ("p", "q"):
        docs = [f"{query}{i}" for i in range(8)]
        for run in "xy":
            order = random.permutation(docs)
            runs += [(run, query, doc, 9.0 - i) for i, doc in enumerate(order)]
        grades += [(query, doc, float(i // 2)) for i, doc in enumerate(docs)]
        for i, j in combinations(range(8), 2):
            sign = -1.0 if i // 2 < j // 2 else 0.0
            votes += [(query, docs[i], docs[j], sign)] * 2
    return (
        pd.DataFrame(runs, columns=["run_id", "query_id", "doc_id", "score"]),
        pd.DataFrame(grades, columns=["query_id", "doc_id", "relevance"]),
        pd.DataFrame(
            votes, columns=["query_id", "doc_id", "other_doc_id", "preference"]
        ),
    )


def test_grades_and_votes_of_real_runs():
    runs, grades, votes = data()
    chosen = ["all pairs", "merge sort", "tournament", "random, stop", "utility, stop"]
    for source in ({"qrels": grades}, {"votes": votes}):
        found = pgcjax.ask.simulate(
            runs, **source, documents=[6, 30], designs=chosen, measure="wpref", k=2
        )
        table = found.table.set_index(["documents", "design"])
        assert (table["queries"] == 2).all() and "systems" not in found.metadata
        assert table.loc[(30, "all pairs"), "judgments"] == 28  # there are 8 documents
        assert table.loc[(6, "all pairs"), "judgments"] == 15
        assert (table.loc[[(n, "all pairs") for n in (6, 30)], "top"] == 1).all()
        sure = ["all pairs", "random, stop", "utility, stop"]  # whatever ties there are
        assert (table.loc[pd.IndexSlice[:, sure], "wrong"].fillna(0) == 0).all()
        cost = table.loc[30, "judgments"]
        assert cost["utility, stop"] <= cost["random, stop"] <= 28
    half = votes[votes.index % 4 < 2]
    part = pgcjax.ask.simulate(runs, votes=half, documents=30, designs=chosen).table
    assert part["judgments"].iloc[0] == 14  # nobody voted on the others


@pytest.mark.parametrize(
    "changes, said",
    [
        ({"error": 1.5}, "error=1.5: expected a share, 0 to 1"),
        ({"bad": -0.1}, "bad=-0.1: expected a share, 0 to 1"),
        ({"documents": 1}, "documents=1: expected a whole number, 2 or more"),
        ({"documents": []}, "documents=0: expected a whole number, 2 or more"),
        ({"systems": 1}, "systems=1: expected a whole number, 2 or more"),
        ({"queries": 0}, "queries=0: expected a whole number, 1 or more"),
        ({"over": "runs"}, "over is one of query, mean, not 'runs'"),
        ({"designs": ["luck"]}, f"design is one of {', '.join(DESIGNS)}, not 'luck'"),
        ({"measure": "AP"}, "AP: expected ppref, rpref, fpref or wpref"),
        (
            {"measure": "ppref(closure=true)"},
            "ppref(closure=true): expected closure=false, the default",
        ),
        (
            {"votes": []},
            "expected runs with votes or with qrels, or none of the three",
        ),
        (
            {"k": 0},
            "expected 1 <= k < pairings < final, found k=0, pairings=7, final=9",
        ),
    ],
)
def test_what_is_refused(changes, said):
    with pytest.raises(UsageError) as error:
        pgcjax.ask.simulate(**changes)
    assert str(error.value) == said


def test_no_query_in_common():
    runs, grades, _ = data()
    with pytest.raises(DataError, match="^runs and judgments have no query in common$"):
        pgcjax.ask.simulate(runs, qrels=grades.assign(query_id="z"))
