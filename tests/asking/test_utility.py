"""Pairs in order of utility, and what they bound, beside the scores of `evaluate`."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from helpers.twins import asking as twins

import pgcjax
from pgcjax.asking.bounds import implied_gain
from pgcjax.asking.utility import next_by_utility
from pgcjax.judging.models import strengths
from pgcjax.kernels import peel_packed
from pgcjax.reference.pgc import greedy_pgc

pytestmark = [
    pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning"),
]
MEASURES = (
    *("ppref@4", "rpref", "fpref@3", "wpref", "wpref(weight=upper)@4"),
    *("wpref(weight=tool)", "wpref(normalize=false)", "PGC(p=0.7)"),
    "PGC(p=0.7,normalization=ideal)",
)
DOCS = 5


def two_runs(seed: int, names=("x", "y")) -> pd.DataFrame:
    """Runs of three queries: partly other documents, and one that a run lacks."""
    random = np.random.default_rng(seed)
    rows = []
    for query in ("p", "q", "r"):
        for run in names:
            docs = random.permutation(list("abcdefg"))[:6]
            if (run, query) != (names[0], "r"):
                rows += [(run, query, d, 9.0 - i) for i, d in enumerate(docs)]
    return pd.DataFrame(rows, columns=["run_id", "query_id", "doc_id", "score"])


def vote(query: str, a: str, b: str, sign: int) -> dict:
    return dict(query_id=query, doc_id=a, other_doc_id=b, preference=float(sign))


def test_gain_is_what_chains_add():
    random = np.random.default_rng(0)
    n, docs = 6, range(6)
    for case in range(60):
        stakes = random.integers(1, 9, (n, n)).astype(float)
        stakes += stakes.T
        answers, asked = set(), {(i, i) for i in docs}
        for i, j in random.permutation(list(combinations(docs, 2)))[: case % 11]:
            answers.add((int(i), int(j)) if random.random() < 0.5 else (int(j), int(i)))
        asked |= {pair for pair in twins.implied(answers, docs)}
        asked |= {(j, i) for i, j in asked}
        unsettled = np.array([[(i, j) not in asked for j in docs] for i in docs])
        chains = twins.chains(answers) | {(i, i) for i in docs}
        above = np.array([[float((i, j) in chains) for j in docs] for i in docs])
        found = np.asarray(implied_gain(stakes * unsettled, above))
        for i, j in zip(*np.nonzero(unsettled), strict=True):
            expected = twins.gain(answers, asked, stakes, docs, (int(i), int(j)))
            assert found[i, j] == expected, (case, i, j)


@pytest.mark.parametrize("infer", [False, True])
def test_bounds_narrow_down_to_the_difference_of_scores(infer):
    """By the gain, answer by answer, in any order; the first measure leads."""
    random, runs = np.random.default_rng(3), two_runs(3)
    how = {"documents": DOCS, "infer": infer}
    measures = [m for m in MEASURES if not (infer and m.startswith("PGC"))]
    worth = {q: dict(zip("abcdefg", random.permutation(7), strict=True)) for q in "pqr"}
    votes = [vote("s", "a", "b", 1)]  # of a query that no run has
    seen = {measure: [] for measure in measures}
    for step in range(40):
        table = pd.DataFrame(votes)
        for measure in measures:
            if step % 13 and measure != measures[0]:
                continue  # the others now and then
            found = next_by_utility(runs, preferences=table, measure=measure, **how)
            row = found.comparisons.iloc[0]
            seen[measure].append((row.low, row.high))
            if measure == measures[0]:
                asked = found.table
        if not len(asked):
            break
        pick = asked.iloc[int(random.integers(len(asked)))]
        sign = int(np.sign(random.random() - 0.5))
        if infer:
            sign = (
                1
                if worth[pick.query_id][pick.doc_a] > worth[pick.query_id][pick.doc_b]
                else -1
            )
        votes.append(vote(pick.query_id, pick.doc_a, pick.doc_b, sign))
    for pair in combinations("abcdefg", 2):  # what no measure asks for, to complete
        for query in "pqr":
            pool = _pool(runs, query, DOCS)
            both = {(query, *pair), (query, *pair[::-1])}
            asked = {(v["query_id"], v["doc_id"], v["other_doc_id"]) for v in votes}
            if set(pair) <= pool and not both & asked:
                order = worth[query][pair[0]] > worth[query][pair[1]]
                votes.append(vote(query, *pair, 1 if order else -1))
    whole = pd.DataFrame(votes)
    means = pgcjax.evaluate(runs, preferences=whole, measures=measures).mean()
    for measure in measures:
        found = next_by_utility(runs, preferences=whole, measure=measure, **how)
        row = found.comparisons.iloc[0]
        truth = means.loc["x", measure] - means.loc["y", measure]
        assert row.low == pytest.approx(truth, abs=1e-12)
        assert row.high == pytest.approx(truth, abs=1e-12)
        assert not len(found.table)
        low, high = np.array([*seen[measure], (row.low, row.high)]).T
        assert (np.diff(low) >= -1e-12).all() and (np.diff(high) <= 1e-12).all()


def _pool(runs: pd.DataFrame, query: str, size: int) -> set[str]:
    """The documents that runs rank highest, plainly."""
    own, high = runs[runs.query_id == query], {}
    for _, of_run in own.groupby("run_id"):
        for place, doc in enumerate(of_run.doc_id):
            high[doc] = high.get(doc, 0.0) + 1 / (1 + place)
    return set(sorted(high, key=lambda d: (-high[d], d))[:size])


@pytest.mark.parametrize(
    "measure, infer, expect",
    [
        ("wpref", True, "bt"),
        ("PGC(p=0.8)", True, "even"),
        ("PGC(p=0.8)", False, "bt"),
    ],
)
def test_utilities_are_those_of_plain_python(measure, infer, expect, monkeypatch):
    """Of shares of preferences and of PGC, with chains and without; all pairs of runs.

    Judged documents beyond the pool, repeats, a conflict, a tie and a bad document.
    """
    runs, names = two_runs(5, ("x", "y", "z")), ("x", "y", "z")
    votes = [
        *(vote("p", "a", "b", 1), vote("p", "a", "b", 1), vote("p", "b", "a", 1)),
        *(vote("p", "c", "b", -1), vote("p", "b", "e", 1), vote("p", "d", "f", 0)),
        *(vote("p", "new", "a", 1), vote("q", "c", "d", 1)),
        *(vote("p", "e", "g", 1), vote("p", "g", "a", 1)),  # a > b > e > g > a
        {"query_id": "q", "doc_id": "b", "other_doc_id": None, "preference": -1.0},
    ]
    table = pd.DataFrame(votes)
    how = {"measure": measure, "infer": infer, "documents": 6, "queries": ["p"]}
    how |= {"expect": expect}
    strong = strengths(table).query("query_id == 'p'")
    strong = dict(zip(strong.doc_id, strong.strength, strict=True))

    def chance(a, b):
        """How likely the answer is a > b."""
        ahead = strong.get(a, 0.0) - strong.get(b, 0.0)
        return 1 / (1 + np.exp(-ahead)) if expect == "bt" else 0.5

    found = next_by_utility(runs, preferences=table, **how)
    assert list(found.table) == ["query_id", "doc_a", "doc_b", "utility"]
    docs = sorted({*"abcdefg", "new"} & {*_pool(runs, "p", 6), *"abcdefg", "new"})
    n, place = len(docs), {d: i for i, d in enumerate(docs)}
    links = {(place["a"], place["b"]), (place["b"], place["c"])}
    links |= {(place["b"], place["e"]), (place["new"], place["a"])}
    links |= {(place["e"], place["g"]), (place["g"], place["a"])}
    counts = {("a", "b"): 2, ("b", "a"): 1, ("b", "c"): 1, ("b", "e"): 1}
    counts |= {("new", "a"): 1, ("e", "g"): 1, ("g", "a"): 1}
    clear = {(docs[i], docs[j]) for i, j in twins.implied(links, range(n))}
    pool = _pool(runs, "p", 6)
    pairs = {frozenset(pair) for pair in combinations(sorted(pool), 2)}
    pairs -= {frozenset("df"), *(frozenset(pair) for pair in counts)}
    if infer:
        for pair in clear:
            if frozenset(pair) in pairs:
                counts[pair] = 1
        pairs -= {frozenset(pair) for pair in clear}
    own = runs[runs.query_id == "p"].groupby("run_id")["doc_id"]
    lists = {name: list(docs) for name, docs in own}

    def settled(a, b):
        """What the answer a > b makes clear of open pairs."""
        more = {(place[a], place[b])}
        after = twins.implied(links | more if infer else more, range(n))
        new = {(docs[i], docs[j]) for i, j in after}
        return [pair for pair in new if frozenset(pair) in pairs]

    def scored(more, run):
        edges = counts | dict.fromkeys(more, 1)
        return greedy_pgc(edges, lists[run], 0.8, vertices=tuple(pool))

    every = counts | {tuple(pair): 1 for pair in pairs}
    total = {
        r: sum(_wpref(lists[r], *pair, 1.0) * c for pair, c in every.items())
        for r in names
    }

    def moved(more, one, other):
        if measure == "wpref":
            parts = [
                [_wpref(lists[r], *p, 0.0) / total[r] for p in more]
                for r in (one, other)
            ]
            return sum(abs(a - b) for a, b in zip(*parts, strict=True))
        change = [scored(more, run) - scored([], run) for run in (one, other)]
        return abs(change[0] - change[1])

    utility = [
        *zip(*(found.table[c] for c in ("doc_a", "doc_b", "utility")), strict=True)
    ]
    rows = {frozenset((a, b)): value for a, b, value in utility}
    for pair in pairs:
        expected = sum(
            chance(a, b) * moved(settled(a, b), one, other) / 3
            for a, b in (sorted(pair), sorted(pair)[::-1])
            for one, other in combinations(names, 2)
        )
        assert rows.get(pair, 0.0) == pytest.approx(expected, abs=1e-11)
    order = [(-value, a, b) for a, b, value in utility]
    assert order == sorted(order) and len(order) > 4
    if measure != "wpref" and infer:
        monkeypatch.setattr(peel_packed, "MOST_DEGREE", 0)  # no degrees fit words
        wide = next_by_utility(runs, preferences=table, **how)
        pd.testing.assert_frame_equal(found.table, wide.table, check_exact=True)


def _wpref(ranking, a: str, b: str, absent: float) -> float:
    """1 / log2(1 + lower rank), signed by the order; its size if `absent` is 1."""
    if a not in ranking or b not in ranking:
        return 0.0
    i, j = ranking.index(a), ranking.index(b)
    weight = 1 / np.log2(2 + max(i, j))
    return weight if absent or i < j else -weight
