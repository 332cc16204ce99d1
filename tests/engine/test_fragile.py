"""The true fewest changes, by trying all in plain Python, are between the bounds."""

from collections import Counter
from functools import cache
from itertools import combinations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import stdtr

import pgcjax
from pgcjax.engine.changed_scores import ChangedScores, Relaxation
from pgcjax.engine.explainer import Explainer
from pgcjax.engine.fragile import (
    ChangedJudgments,
    Search,
    asked_order,
    asked_significance,
)
from pgcjax.engine.request import runs_of
from pgcjax.errors import UsageError
from pgcjax.io.runs import Options
from pgcjax.judging.bradley_terry import compared_votes, fit_strengths
from pgcjax.reference import preference as twins
from pgcjax.reference.pgc import greedy_pgc

QUERIES, DOCS = 14, 5
MEASURE = "PGC(p=0.8)"
PLAIN = {
    MEASURE: lambda edges, run: greedy_pgc(edges, run, 0.8) if edges else 0.0,
    "ppref": lambda edges, run: twins.ppref(Counter(edges), run),
    "rpref@3": lambda edges, run: twins.rpref(Counter(edges), run, 3),
    "fpref": lambda edges, run: twins.fpref(Counter(edges), run),
    "wpref": lambda edges, run: twins.wpref(Counter(edges), run),
    "wpref(weight=upper,normalize=false)@4": lambda edges, run: twins.wpref(
        Counter(edges), run, 4, "upper", False
    ),
    "prefs_simp_ret": lambda edges, run: twins.prefs_share(
        Counter(edges), run, ["ret"]
    ),
    "prefs_num_prefs_ful(mean=arithmetic)": lambda edges, run: float(
        sum(twins.prefs_counts(Counter(edges), run)[f"ful_{x}"] for x in ("ret", "imp"))
    ),
}


@cache
def collection() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Make up two runs, and four to six judgments of each query: some repeat."""
    rng = np.random.default_rng(5)
    votes, rows = [], []
    for i in range(QUERIES):
        for _ in range(rng.integers(4, 7)):
            a, b = rng.choice(DOCS, 2, replace=False)
            votes.append((f"q{i:02}", f"d{a}", f"d{b}", 1.0))
        for run in "ab":
            order = rng.permutation(DOCS)[: rng.integers(2, DOCS + 1)]
            rows += [(run, f"q{i:02}", f"d{d}", -r) for r, d in enumerate(order)]
    columns = ["query_id", "doc_id", "other_doc_id", "preference"]
    runs = pd.DataFrame(rows, columns=["run_id", "query_id", "doc_id", "score"])
    return pd.DataFrame(votes, columns=columns), runs


@cache
def changed(change: str, measure: str = MEASURE) -> ChangedJudgments:
    votes, runs = collection()
    explainer = Explainer(judgments={"preferences": votes}, measure=measure)
    explainer.read(runs_of(runs, "trec", Options()))
    return ChangedJudgments(explainer, change)


@cache
def data(query: str) -> tuple[list[tuple], list[list[str]]]:
    """Return the judged pairs of a query, and both rankings."""
    votes, runs = (table[table.query_id == query] for table in collection())
    pairs = [*zip(votes.doc_id, votes.other_doc_id, strict=True)]
    return pairs, [[*runs[runs.run_id == run].doc_id] for run in "ab"]


@cache
def tables(query: str, change: str, measure: str = MEASURE) -> list[list[float]]:
    """Differences by all sets of 0, 1, … changed judgments, in plain Python."""
    (edges, lists), out = data(query), []
    for number in range(len(edges) + 1):
        found = set()
        for some in combinations(range(len(edges)), number):
            left = [edge for i, edge in enumerate(edges) if i not in some]
            left += [edges[i][::-1] for i in some] if change == "reverse" else []
            a, b = (PLAIN[measure](left, run) for run in lists)
            found.add(round(a - b, 14))
        out.append(sorted(found))
    return out


def true_fewest(queries, change, overturned, most, measure=MEASURE) -> int | None:
    """Fewest changes, by all sets: sums of differences and squares that they make."""
    states = {(0, 0.0, 0.0)}
    for query in queries:
        by = tables(query, change, measure)
        states = {
            (used + k, round(s1 + d, 11), round(s2 + d * d, 11))
            for used, s1, s2 in states
            for k, of in enumerate(by[: most - used + 1])
            for d in of
        }
    return min((used for used, *sums in states if overturned(*sums)), default=None)


def p_of(s1: float, s2: float, n: int) -> float:
    """p of a paired t test, by sums; 1 where nothing differs."""
    deviation = np.sqrt(max(0.0, s2 - s1 * s1 / n) / (n - 1))
    if deviation < 1e-6:
        return float(abs(s1) < 1e-6)
    return float(2 * stdtr(n - 1, -abs(s1) / np.sqrt(n) / deviation))


@pytest.mark.parametrize("change", ["remove", "reverse"])
@pytest.mark.parametrize(
    ("measure", "work"), [(MEASURE, 0), *((name, 1e7) for name in PLAIN)]
)
def test_the_true_minimum_of_an_order_is_between_the_bounds(change, work, measure):
    names, seen = changed(change, measure).explainer.query_ids, []
    for runs, side in (("a", "b"), 1), (("b", "a"), -1):
        queries = changed(change, measure).searched(runs)
        for i in range(QUERIES - 2):
            some = queries[i : i + 3]
            d = np.array([of.query.difference for of in some])
            if d.sum() <= 1e-9:
                continue
            search = Search(some, asked_order(d), 9)
            search.run(work)
            true = true_fewest(
                names[i : i + 3], change, lambda s, _, x=side: x * s < -1e-9, 9, measure
            )
            seen.append((true, search.count, search.lower))
            assert search.lower <= (10 if true is None else true)
            assert search.count is None or true is not None
            if search.count is not None and true is not None:
                assert search.lower <= true <= search.count
    assert len(seen) > 8
    if not work:  # nothing but single changes is scored: bounds hold all the same
        return
    assert np.mean([count == true for true, count, _ in seen]) > 0.9
    assert np.mean([low == true for true, _, low in seen if true]) > 0.9


@pytest.mark.parametrize("change", ["remove", "reverse"])
@pytest.mark.parametrize(
    ("measure", "alpha"), [*((MEASURE, x) for x in (0.1, 0.4, 0.7)), ("ppref", 0.4)]
)
def test_the_true_minimum_of_significance_is_between_the_bounds(change, measure, alpha):
    names, seen = changed(change, measure).explainer.query_ids, []
    queries = changed(change, measure).searched(["a", "b"], 1)
    for i in range(0, QUERIES - 3, 2):
        some = queries[i : i + 4]
        d = np.array([of.query.difference for of in some])
        now = p_of(float(d.sum()), float(d @ d), 4) <= alpha
        search = Search(some, asked_significance(d, alpha), 3)
        search.run(1e7)
        # No query loses all of its judgments, which are 4 at least.
        true = true_fewest(
            names[i : i + 4],
            change,
            lambda s1, s2, now=now: (p_of(s1, s2, 4) <= alpha) != now,
            3,
            measure,
        )
        seen.append((now, true, search.count))
        assert search.lower <= (4 if true is None else true)
        assert search.count is None or true is not None and search.count >= true
    assert any(true == count is not None for _, true, count in seen)


def test_sums_that_bend_down_are_bounded_between_the_extremes():
    query: Any = SimpleNamespace(difference=-1.0, times=np.ones(3, int), size=1)
    query.differences = lambda sets: np.array([1.0, 3.0, -1.0])
    scores = ChangedScores(query)
    scores.enumerate()
    # d - d²/2 is -1.5 at -1 and at 3, and 0.5 at 1.
    assert scores.gains(Relaxation(1.0, -0.5, 0.0), 1, proven=True)[1] >= 2


@pytest.mark.parametrize("change", ["remove", "reverse"])
@pytest.mark.parametrize("measure", [MEASURE, "ppref", "wpref"])
def test_what_is_listed_replays_by_evaluate(change, measure):
    votes, runs = collection()
    found = pgcjax.fragile(runs, preferences=votes, measure=measure, change=change)
    assert found.count == len(found.table) >= found.lower >= 1
    left = votes.copy()
    columns = ["query_id", "doc_id", "other_doc_id"]
    for row in found.table[columns].itertuples(index=False):
        same = (left[columns] == list(row)).all(axis=1) & (left["preference"] > 0)
        if change == "remove":
            left = left.drop(index=same.idxmax())
        else:
            left.loc[same.idxmax(), "preference"] = -1.0
    before, after = (
        pgcjax.evaluate(runs, preferences=x, measures=measure).mean()[measure]
        for x in (votes, left)
    )
    assert before[found.run_id] > before[found.other]
    assert after[found.run_id] < after[found.other]


def test_queries_that_decide_are_the_fewest():
    votes, runs = collection()
    found = pgcjax.fragile(runs, preferences=votes, measure=MEASURE, change="queries")
    d = pgcjax.evaluate(runs, preferences=votes, measures=MEASURE).matrix(MEASURE)
    d = np.sort((d.loc[found.run_id] - d.loc[found.other]).to_numpy())[::-1]
    fewest = next(k for k in range(len(d)) if d[k:].sum() < 0)
    assert (found.count, found.lower) == (fewest, fewest) == (len(found.table),) * 2


@pytest.mark.parametrize("change", ["remove", "reverse"])
@pytest.mark.parametrize("seed", range(4))
def test_the_true_minimum_of_systems_is_between_the_bounds(change, seed):
    rng = np.random.default_rng(seed)
    size = [12, 60][seed % 2]
    a = rng.integers(0, 3, size)
    b = (a + rng.integers(1, 3, size)) % 3
    won = rng.random(size) < 1 / (1 + np.exp((b - a) * 0.3))
    votes = pd.DataFrame({"query_id": "q", "doc_id": a, "other_doc_id": b})
    votes = votes.astype(str).assign(preference=np.where(won, 1.0, -1.0))
    found = pgcjax.fragile(preferences=votes, run_id="0", other="1", change=change)
    assert 1 <= found.lower and (found.count is None or found.lower <= found.count)
    sign = {}  # of the difference, by how many votes of each kind are changed
    kinds = votes.groupby([*votes]).size()

    def ahead(taken: tuple[int, ...]) -> bool:
        if taken not in sign:
            rows = [*kinds.index]
            table = pd.DataFrame(rows, columns=[*votes])
            weight = kinds.to_numpy() - np.array(taken)
            parts = [table.assign(weight=weight)]
            if change == "reverse":
                turned = -table["preference"]
                parts.append(table.assign(weight=taken, preference=turned))
            fit = compared_votes(pd.concat(parts, ignore_index=True))
            s = fit_strengths(fit, 2.5, errors=False).strength
            first, other = (fit.names.index(x) for x in (found.run_id, found.other))
            sign[taken] = s[first] > s[other] - 1e-9
        return sign[taken]

    states, none, number = {tuple([0] * len(kinds))}, True, 1
    for number in range(1, min(found.count or 3, 3)):
        states = {
            tuple(np.add(state, np.eye(len(kinds), dtype=int)[i]).tolist())
            for state in states
            for i in range(len(kinds))
            if state[i] < kinds.iloc[i]
        }
        if not all(map(ahead, states)):
            assert found.lower <= number
            none = False
            break
    assert found.count is None or none or found.count >= number


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"change": "turn"}, "change"),
        ({"alpha": 2}, "alpha"),
        ({"run_id": "c"}, "no run 'c'"),
        ({"run_id": "a", "other": "a"}, "two different"),
        ({"change": "queries", "overturn": "significance"}, "significance"),
        ({"runs": None, "change": "queries"}, "runs"),
        ({"runs": None, "run_id": "x"}, "no vote"),
        ({"measure": "APpref"}, "or of ppref"),
        ({"measure": "ppref(closure=true)"}, "closure=false"),
    ],
)
def test_what_is_wrong_is_refused(settings, message):
    votes, runs = collection()
    given = {"runs": runs, "preferences": votes} | settings
    with pytest.raises(UsageError, match=message):
        pgcjax.fragile(given.pop("runs"), **given)
