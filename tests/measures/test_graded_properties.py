"""What holds of graded measures for every run: their twins, bounds, better runs."""

from itertools import product

import numpy as np
import pytest
from helpers.builders import run_of
from helpers.collections import collection
from hypothesis import given, settings
from hypothesis import strategies as st

import pgcjax
from pgcjax.measures.catalogue import catalogue, parse

pytestmark = [
    pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning"),
    pytest.mark.usefixtures("few_shapes"),
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
cutoffs = st.sampled_from(["", "@1", "@2", "@3", "@7"])
some = settings(max_examples=40)


def combinations(name: str) -> list[str]:
    """A measure with all its parameters but context, and with cutoffs."""
    parameters = [
        p for p in catalogue()[name].parameters if p.name not in ("context", "missing")
    ]
    choices = [p.allowed or CHOICES[p.name] for p in parameters]
    names = [p.name for p in parameters]
    return [
        f"{name}({','.join(map('='.join, zip(names, chosen, strict=True)))}){k}"
        for chosen in product(*choices)
        for k in ("", "@3", "@40")
    ]


def scores(measures, run, grades) -> dict[str, float]:
    table = pgcjax.evaluate(run_of(run), qrels={"q": grades}, measures=measures).table
    by_name = dict(zip(table["measure"], table["value"], strict=True))
    return {m: by_name[str(parse(m))] for m in measures}


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_as_the_twin(name):
    """On collections with many ties; negative grades and decimals among them."""
    measures = combinations(name)
    for seed in (1, 2):
        _, qrels, runs = collection(seed, queries=4, runs=3, most_docs=50)
        rng = np.random.default_rng(seed)
        qrels["relevance"] = rng.choice([-2.0, 0, 0.5, 1, 1, 2.5, 4], len(qrels))
        # Nothing of one query is relevant; one run of it has a single document.
        qrels.loc[qrels.query_id == "q1", "relevance"] = -1.0
        for low in range(0, len(measures), 40):
            some = measures[low : low + 40]
            kept = pgcjax.evaluate(runs, qrels=qrels, measures=some, verify=1.0)
            count = 3 * 4 * len({parse(m) for m in some})
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


@some
@given(runs(), cutoffs)
def test_bounds(case, k):
    found = scores([m + k for m in SHARES], *case)
    assert all(0 <= value <= 1 + TINY for value in found.values())
    assert all(value >= 0 for value in scores([m + k for m in SUMS], *case).values())


@some
@given(runs(), cutoffs)
def test_a_best_list_scores_one_to_the_last_bit(case, k):
    grades = {**case[1], "best": 3.0, "d": 0.3, "e": 0.1}
    run = sorted(grades, key=lambda doc: -grades[doc])
    measures = [m + k for m in BEST if not m.startswith(("AP", "R"))]
    reachable = ["AP(rel=0.1,relevant=reachable)" + k, "R(rel=0.1)", "RR" + k]
    found = scores([*measures, *reachable], run, grades)
    assert set(found.values()) == {1.0}


RISE = ["nDCG", "MSnDCG", "ERR", "nERR", "Q", "AP(rel=0.5)", "RBP(rel=0.5)", "P"]
RISE += ["RBP(gain=linear,p=0.5)", "RR", "R", "CG", "DCG(gain=exp)", "ERR(stop=linear)"]


@some
@given(runs(), st.integers(0, 8), cutoffs)
def test_a_relevant_document_for_one_that_is_not_never_lowers(case, place, k):
    run, grades = [*case[0], "x9"], {**case[1], "new": 1.0}
    others = [i for i, doc in enumerate(run) if grades.get(doc, 0.0) <= 0]
    place = others[place % len(others)]
    better = [*run[:place], "new", *run[place + 1 :]]
    measures = [m + k for m in RISE]
    before, after = scores(measures, run, grades), scores(measures, better, grades)
    assert all(after[m] >= before[m] - TINY for m in before)


@some
@given(runs(), st.integers(0, 11), cutoffs)
def test_a_better_document_before_its_neighbour_never_lowers(case, place, k):
    run, grades = [*case[0], "x8", "x9"], case[1]
    place %= len(run) - 1
    worth = [grades.get(doc, 0.0) for doc in run]
    if worth[place] > worth[place + 1]:
        worse = [*run]
        worse[place], worse[place + 1] = run[place + 1], run[place]
        run, better = worse, run
    else:
        better = [*run]
        better[place], better[place + 1] = run[place + 1], run[place]
    measures = [m + k for m in RISE]
    before, after = scores(measures, run, grades), scores(measures, better, grades)
    assert all(after[m] >= before[m] - TINY for m in before)


@some
@given(runs(), st.integers(0, 11), st.integers(0, 11), cutoffs)
def test_two_documents_in_the_better_order_never_lower(case, i, j, k):
    """Wherever they stand. Of Q this does not hold: see below."""
    run, grades = [*case[0], "x8", "x9"], case[1]
    i, j = sorted((i % len(run), j % len(run)))
    swapped = [*run]
    swapped[i], swapped[j] = run[j], run[i]
    worse, better = run, swapped
    if grades.get(run[i], 0.0) > grades.get(run[j], 0.0):
        worse, better = swapped, run
    measures = [m + k for m in RISE if not m.startswith("Q")]
    before, after = scores(measures, worse, grades), scores(measures, better, grades)
    assert all(after[m] >= before[m] - TINY for m in before)


def test_q_may_fall_when_a_relevant_document_rises_past_a_better_one():
    """BR at rank 1 of gain 1, where 7 was possible, is less than it was at rank 3."""
    grades = {"a": 7, "b": 7, "c": 7, "d": 1}
    early = scores(["Q"], ["d", "a", "x"], grades)["Q"]
    late = scores(["Q"], ["x", "a", "d"], grades)["Q"]
    assert late == pytest.approx((8 / 16 + 10 / 24) / 4, abs=TINY)
    assert early == pytest.approx((2 / 8 + 10 / 16) / 4, abs=TINY)
    assert early < late


def test_p_plus_and_o_may_fall_with_one_more_relevant_document():
    """They stop at the first document of the highest gain, or of any."""
    grades = {"a": 7, "b": 1}
    before = scores(["P+", "O"], ["x", "a"], grades)
    after = scores(["P+", "O"], ["b", "a"], grades)
    assert before == pytest.approx({"P+": 0.8, "O": 0.8}, abs=TINY)
    assert after == pytest.approx({"P+": (2 / 8 + 1) / 2, "O": 2 / 8}, abs=TINY)


@some
@given(runs())
def test_identities(case):
    """Q without gains is AP, of all grades that are relevant; and so on."""
    names = ["Q(beta=0)", "AP(rel=0.1)", "MSnDCG@3", "nDCG(gain=exp)@3", "CG@3"]
    names += ["O(beta=0)", "RR(rel=0.1)", "R(rel=0.1)@1", "P+@1", "O@1", "DCG@1"]
    names += [
        "DCG(discount=original)@2",
        "CG@2",
        "RBP(p=0.5,rel=0.1)@1",
        "P(rel=0.1)@1",
    ]
    found = scores(names, *case)
    for a, b in (("Q(beta=0)", "AP(rel=0.1)"), ("O(beta=0)", "RR(rel=0.1)")):
        assert found[a] == pytest.approx(found[b], abs=TINY)
    assert found["MSnDCG@3"] == found["nDCG(gain=exp)@3"]
    assert found["DCG(discount=original)@2"] == found["CG@2"]
    assert found["P+@1"] == found["O@1"]
    assert found["RBP(p=0.5,rel=0.1)@1"] == found["P(rel=0.1)@1"] / 2
