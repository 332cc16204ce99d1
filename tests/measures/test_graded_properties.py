"""What holds of graded measures for every run: their twins, bounds, better runs."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from helpers.collections import collection
from helpers.queries import assert_no_less, by_query, runs_of, scores_of, several
from hypothesis import given, settings
from hypothesis import strategies as st

import pgcjax
from pgcjax.measures.catalogue import catalogue, parse

pytestmark = [
    pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning"),
]
TINY = 1e-12
NAMES = "CG DCG nDCG MSnDCG ERR nERR Q O P+ RBP AP RR P R Judged".split()
CHOICES = {
    "beta": ["0", "0.3", "1", "10"],
    "rel": ["0.5", "1", "2"],
    "gmax": ["collection", "topic", "4.5"],
    "p": ["0.5", "0.95"],
}
BEST = ["nDCG", "nDCG(gain=exp,discount=original)", "MSnDCG", "nERR", "Q", "O", "P+"]
BEST += ["nERR(stop=linear,gmax=topic)", "Q(gain=exp,beta=0.3)", "AP", "RR", "R"]
SHARES = [*BEST, "ERR", "ERR(gmax=topic)", "ERR(stop=linear)", "P", "Judged", "RBP"]
SHARES += ["RBP(gain=exp,p=0.5)", "RBP(value=residual)", "AP(relevant=reachable)"]
SUMS = ["CG", "CG(gain=exp)", "DCG", "DCG(discount=original,gain=exp)"]
RISE = ["nDCG", "MSnDCG", "ERR", "nERR", "Q", "AP(rel=0.5)", "RBP(rel=0.5)", "P"]
RISE += ["RBP(gain=linear,p=0.5)", "RR", "R", "CG", "DCG(gain=exp)", "ERR(stop=linear)"]
IDENTITIES = ["Q(beta=0)", "AP(rel=0.1)", "O(beta=0)", "RR(rel=0.1)", "R(rel=0.1)"]
IDENTITIES += ["DCG(discount=original)", "RBP(p=0.5,rel=0.1)", "P(rel=0.1)"]
IDENTITIES += ["nDCG(gain=exp)", "MSnDCG", "CG", "DCG", "P+", "O"]
REACHED = "AP(rel=0.1,relevant=reachable)"
CUTOFFS = ["", "@1", "@2", "@3", "@7"]
some = settings(max_examples=2)  # … of 30 queries each


def combinations(name: str) -> list[str]:
    """A measure with its parameters but context, and with cutoffs."""
    parameters = [
        p
        for p, _ in catalogue()[name].described().values()
        if p.name not in ("context", "missing")
    ]
    choices = [p.allowed or CHOICES[p.name] for p in parameters]
    names = [p.name for p in parameters]
    every = [*product(*choices)]
    # Of the 108 of RBP, every fifth has every pair of values of two parameters.
    every = every[:: 5 if len(every) > 100 else 1]
    return [
        f"{name}({','.join(map('='.join, zip(names, chosen, strict=True)))}){k}"
        for k in ("", "@3", "@40")  # together: a program has one reach
        for chosen in every
    ]


def scores(measures, grades, **ranked) -> pd.DataFrame:
    """Score lists of documents, one for each query, with every cutoff.

    By all measures of these tests, which so share their programs; given are those that
    are asked for.
    """
    every = dict.fromkeys([*SHARES, *SUMS, *BEST, *RISE, REACHED, *IDENTITIES])
    every = [m + k for m in every for k in CUTOFFS]
    found = scores_of(every, runs_of(**ranked), qrels=by_query(grades))
    return found[[m + k for m in measures for k in CUTOFFS]]


def test_every_parameter_as_the_twin():
    """On collections with many ties; negative grades and decimals among them.

    All measures are of one call, as one large program is compiled sooner than many.
    """
    measures = [m for name in NAMES for m in combinations(name)]
    both = []
    for seed in (1, 2):
        _, qrels, runs = collection(seed, queries=4, runs=3, most_docs=50)
        rng = np.random.default_rng(seed)
        qrels["relevance"] = rng.choice([-2.0, 0, 0.5, 1, 1, 2.5, 4], len(qrels))
        # Nothing of one query is relevant; one run of it has a single document.
        qrels.loc[qrels.query_id == "q1", "relevance"] = -1.0
        both.append(
            [t.assign(query_id=f"{seed}" + t["query_id"]) for t in (runs, qrels)]
        )
    runs, qrels = (pd.concat(tables) for tables in zip(*both, strict=True))
    kept = pgcjax.evaluate(runs, qrels=qrels, measures=measures, verify=1.0)
    count = 3 * 8 * len({parse(m) for m in measures})
    assert kept.notes[-1] == f"{count} of {count} scores recomputed: equal"
    assert np.isfinite(kept.table["value"]).all()


@st.composite
def runs(draw) -> tuple[list[str], dict[str, float]]:
    """A run and grades; some judged documents are missing, some retrieved unjudged."""
    n = draw(st.integers(1, 9))
    levels = st.sampled_from([-2.0, 0.0, 0.0, 0.5, 1.0, 1.0, 2.0, 3.0])
    grades = {f"d{i}": draw(levels) for i in range(n)}
    pool = [*grades, *(f"x{i}" for i in range(4))]
    run = draw(st.lists(st.sampled_from(pool), unique=True, max_size=len(pool)))
    return run, grades


LONGEST = (
    [*(f"x{i}" for i in range(4)), *(f"d{i}" for i in range(9))],
    dict.fromkeys([f"d{i}" for i in range(9)], 1.0),
)


def with_places(size: int):
    """Cases, each with two ranks, to be taken modulo a length."""
    place = st.integers(0, size)
    return several(st.tuples(runs(), place, place), (LONGEST, 3, 7), 30)


@some
@given(several(runs(), LONGEST, 30))
def test_bounds(cases):
    run, grades = zip(*cases, strict=True)
    found = scores([*SHARES, *SUMS], grades, run=run)
    shares = found[[m + k for m in SHARES for k in CUTOFFS]]
    assert found.min(axis=None) >= 0 and shares.max(axis=None) <= 1 + TINY


@some
@given(several(runs(), LONGEST, 30))
def test_a_best_list_scores_one_to_the_last_bit(cases):
    grades = [{**judged, "best": 3.0, "d": 0.3, "e": 0.1} for _, judged in cases]
    run = [sorted(judged, key=lambda doc: -judged[doc]) for judged in grades]
    measures = [m for m in BEST if not m.startswith(("AP", "R"))]
    found = scores([*measures, REACHED, "RR", "R(rel=0.1)"], grades, run=run)
    found = found.drop(columns=[f"R(rel=0.1){k}" for k in CUTOFFS[1:]])
    assert (found == 1).all(axis=None)


def assert_better(worse, better, grades, but: str | None = None) -> None:
    """No measure of RISE scores the better lists less, but maybe one measure."""
    found = scores(RISE, grades, worse=worse, better=better)
    found = found[[m for m in found if m.partition("@")[0] != but]]
    assert_no_less(found.loc["better"], found.loc["worse"], TINY)


@some
@given(with_places(8))
def test_a_relevant_document_for_one_that_is_not_never_lowers(cases):
    worse, better, grades = [], [], []
    for (run, judged), place, _ in cases:
        run = [*run, "x9"]
        others = [i for i, doc in enumerate(run) if judged.get(doc, 0.0) <= 0]
        place = others[place % len(others)]
        worse.append(run)
        better.append([*run[:place], "new", *run[place + 1 :]])
        grades.append({**judged, "new": 1.0})
    assert_better(worse, better, grades)


def in_order(run, judged, i: int, j: int) -> tuple[list[str], list[str]]:
    """The run with the documents at two ranks in the worse order, and the better."""
    i, j = sorted((i, j))
    swapped = [*run]
    swapped[i], swapped[j] = run[j], run[i]
    falls = judged.get(run[i], 0.0) > judged.get(run[j], 0.0)
    return (swapped, run) if falls else (run, swapped)


@some
@given(with_places(11))
def test_a_better_document_before_its_neighbour_never_lowers(cases):
    pairs = []
    for (run, judged), place, _ in cases:
        run = [*run, "x8", "x9"]
        place %= len(run) - 1
        pairs.append(in_order(run, judged, place, place + 1))
    assert_better(*zip(*pairs, strict=True), [judged for (_, judged), _, _ in cases])


@some
@given(with_places(11))
def test_two_documents_in_the_better_order_never_lower(cases):
    """Wherever they stand. Of Q this does not hold: see below."""
    pairs = []
    for (run, judged), i, j in cases:
        run = [*run, "x8", "x9"]
        pairs.append(in_order(run, judged, i % len(run), j % len(run)))
    grades = [judged for (_, judged), _, _ in cases]
    assert_better(*zip(*pairs, strict=True), grades, but="Q")


def test_q_may_fall_when_a_relevant_document_rises_past_a_better_one():
    """BR at rank 1 of gain 1, where 7 was possible, is less than it was at rank 3."""
    grades = {"a": 7, "b": 7, "c": 7, "d": 1}
    runs = runs_of(early=["dax"], late=["xad"])
    found = scores_of(["Q"], runs, qrels=by_query([grades]))["Q"]
    early, late = found["early"].item(), found["late"].item()
    assert late == pytest.approx((8 / 16 + 10 / 24) / 4, abs=TINY)
    assert early == pytest.approx((2 / 8 + 10 / 16) / 4, abs=TINY)
    assert early < late


def test_p_plus_and_o_may_fall_with_one_more_relevant_document():
    """They stop at the first document of the highest gain, or of any."""
    runs = runs_of(before=["xa"], after=["ba"])
    found = scores_of(["P+", "O"], runs, qrels=by_query([{"a": 7, "b": 1}]))
    assert found.loc["before"].to_numpy() == pytest.approx(np.array([[0.8, 0.8]]))
    after = found.loc["after"].to_numpy().ravel()
    assert after == pytest.approx([(2 / 8 + 1) / 2, 2 / 8], abs=TINY)


@some
@given(several(runs(), LONGEST, 30))
def test_identities(cases):
    """Q without gains is AP, of all grades that are relevant; and so on."""
    run, grades = zip(*cases, strict=True)
    found = scores(IDENTITIES, grades, run=run)
    for a, b in (("Q(beta=0)", "AP(rel=0.1)"), ("O(beta=0)", "RR(rel=0.1)")):
        assert (found[a] - found[b]).abs().max() <= TINY
    assert found["MSnDCG@3"].equals(found["nDCG(gain=exp)@3"])
    assert found["DCG(discount=original)@2"].equals(found["CG@2"])
    assert found["P+@1"].equals(found["O@1"])
    half = found["P(rel=0.1)@1"] / 2
    assert found["RBP(p=0.5,rel=0.1)@1"].equals(half)
