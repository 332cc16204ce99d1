"""The effect of a vote more is that of plain Python with one edge more."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from helpers.judged import collection

import pgcjax
from pgcjax.errors import UsageError
from pgcjax.kernels import peel_packed
from pgcjax.reference.pgc import greedy_pgc

pytestmark = [
    pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning"),
]
SIZES = (40, 9, 3)  # of the first query, 31 documents are too many pairs for one call
COLUMNS = ["query_id", "doc_a", "doc_b", "votes_a", "votes_b", "effect", "moved"]


def edges_of(prefs) -> dict[str, list[tuple[str, str]]]:
    """(Preferred, other) of each vote, by query."""
    edges: dict = {}
    columns = "query_id", "doc_id", "other_doc_id", "preference", "weight"
    for query, a, b, sign, weight in zip(*map(prefs.get, columns), strict=True):
        if isinstance(b, str) and sign:
            pair = (a, b) if sign > 0 else (b, a)
            edges.setdefault(query, []).extend([pair] * int(weight))
    return edges


@pytest.mark.parametrize("missing", ["zero", "skip"])
def test_effects_are_those_of_plain_python(missing):
    prefs, _, runs = collection(6, SIZES)
    runs = runs[(runs.run_id != "r1") | (runs.query_id != "q1")]  # one lacks a query
    given = {"preferences": prefs, "missing": missing, "measure": "PGC(p=0.8)"}
    found = pgcjax.judgments.next(runs, **given, top=4, documents=31, replicates=9)
    assert list(found.table) == COLUMNS
    edges, docs = edges_of(prefs), {}
    ranked = {
        key: own.sort_values("score", ascending=False).doc_id.tolist()
        for key, own in runs.groupby(["run_id", "query_id"])
    }
    undecided = list(zip(found.undecided.run_a, found.undecided.run_b, strict=True))
    assert len(undecided) > 1
    assert ((found.undecided.low <= 0) & (found.undecided.high >= 0)).all()
    best = pgcjax.evaluate(
        runs, preferences=prefs, measures="PGC(p=0.8)", missing=missing
    ).mean()
    best = best.iloc[:, 0].sort_values(ascending=False, kind="stable").index[:4]
    assert {run for pair in undecided for run in pair} <= {*best}
    compared = {run for pair in undecided for run in pair}
    answered = {run: sum((run, q) in ranked for q in edges) for run in compared}

    def score(run, query, more):
        own = ranked.get((run, query))
        queries = answered[run] if missing == "skip" else len(edges)
        return greedy_pgc([*edges[query], *more], own, 0.8) / queries if own else 0.0

    for query, votes in edges.items():
        all_docs = {doc for pair in votes for doc in pair}
        reciprocal = dict.fromkeys(sorted(all_docs), 0.0)
        for run in sorted(compared):
            for rank, doc in enumerate(ranked.get((run, query), []), 1):
                if doc in reciprocal:
                    reciprocal[doc] += 1 / rank
        docs[query] = sorted(reciprocal, key=lambda d: -reciprocal[d])[:31]
    rows = found.table.set_index(COLUMNS[:3])
    every = {(q, *pair) for q in edges for pair in combinations(sorted(docs[q]), 2)}
    assert {*rows.index} == every and len(rows) == len(every)
    drawn = np.random.default_rng(0)
    tried = [sorted(every)[i] for i in drawn.permutation(len(every))[:25]]
    tried += [key for key in every if key[0] != "q0"]
    for query, a, b in tried:
        row, votes = rows.loc[(query, a, b)], edges[query]
        assert [row.votes_a, row.votes_b] == [votes.count((a, b)), votes.count((b, a))]
        chance = (row.votes_a + 0.5) / (row.votes_a + row.votes_b + 1)
        before = {run: score(run, query, []) for run in compared}
        change = [
            {run: score(run, query, [vote]) - before[run] for run in compared}
            for vote in ((a, b), (b, a))
        ]
        moves = [[abs(c[x] - c[y]) for x, y in undecided] for c in change]
        effect = chance * np.mean(moves[0]) + (1 - chance) * np.mean(moves[1])
        assert row.effect == pytest.approx(effect, abs=1e-14)
        assert row.moved == sum(max(pair) > 1e-12 for pair in zip(*moves, strict=True))
    order = [
        (-r.effect, r.query_id, r.doc_a, r.doc_b) for r in found.table.itertuples()
    ]
    assert order == sorted(order)
    assert found.table["effect"].iloc[0] > 0
    assert found.notes == (
        f"{len(undecided)} of 6 comparisons among the best 4 runs are undecided by "
        "PGC(p=0.8) (not a test: other judges may reverse decided ones)",
    )
    assert {"top": 4, "documents": 31}.items() <= found.metadata.items()


def test_both_forms_of_the_peel_and_grades(monkeypatch):
    """Grades are no votes, but edges they are: as `evaluate` says of one more vote."""
    prefs, qrels, runs = collection(9, SIZES)
    name = "PGC(graph=combined)"
    how = {"preferences": prefs, "qrels": qrels, "top": 5, "replicates": 9}
    found = pgcjax.judgments.next(runs, measure=name, **how)
    monkeypatch.setattr(peel_packed, "MOST_DEGREE", 0)  # no degrees fit words
    wide = pgcjax.judgments.next(runs, measure=name, **how)
    pd.testing.assert_frame_equal(found.table, wide.table, check_exact=True)
    first = found.table.iloc[0]
    undecided = list(zip(found.undecided.run_a, found.undecided.run_b, strict=True))
    given, means = {"qrels": qrels, "measures": name}, []
    for sign in (None, 1.0, -1.0):
        vote = dict(zip(COLUMNS[:3], first, strict=False)) | {"preference": sign}
        vote = pd.DataFrame([vote if sign else {}]).rename(
            columns={"doc_a": "doc_id", "doc_b": "other_doc_id"}
        )
        table = pd.concat([prefs, vote.dropna(how="all").assign(weight=1)])
        means.append(pgcjax.evaluate(runs, preferences=table, **given).mean()[name])
    total = first.votes_a + first.votes_b + 1
    expected = sum(
        (votes + 0.5)
        / total
        * np.mean(
            [abs((m[a] - m[b]) - (means[0][a] - means[0][b])) for a, b in undecided]
        )
        for votes, m in zip((first.votes_a, first.votes_b), means[1:], strict=True)
    )
    assert first.effect == pytest.approx(expected, abs=1e-14)


def test_nothing_is_undecided_or_can_be_asked():
    prefs, qrels, runs = collection(0, SIZES[2:])
    prefs = prefs.assign(preference=1.0)[prefs.other_doc_id.notna()].head(1)
    two = runs.groupby("run_id").head(1)
    two = two.assign(doc_id=["x", prefs.doc_id.iloc[0], "y", "z", "w"])
    found = pgcjax.judgments.next(two, preferences=prefs, top=2, replicates=2)
    assert found.notes == (
        "0 of 1 comparison among the best 2 runs are undecided by PGC (not a test: "
        "other judges may reverse decided ones)",
    )
    assert list(found.table) == COLUMNS and not len(found.table)
    for changes, message in (
        ({"top": 1}, "top=1: expected a whole number, 2 or more"),
        ({"documents": 1.5}, "documents=1.5: expected a whole number, 2 or more"),
        ({"replicates": 0}, "replicates=0: expected a whole number, 2 or more"),
        (
            {"interval": "t"},
            "interval is one of centred, basic, percentile, bc, not 't'",
        ),
        (
            {"measure": "Compat", "qrels": qrels},
            "Compat: expected PGC of preferences, whose judgments can be subsampled: "
            "graph=real or graph=combined, and ideal=greedy",
        ),
    ):
        with pytest.raises(UsageError) as error:
            pgcjax.judgments.next(two, preferences=prefs, **changes)
        assert str(error.value) == message
