"""A run that serves more intents scores no less; where the definitions imply it."""

import pandas as pd
import pytest
from helpers.queries import assert_no_less, runs_of, scores_of, several, tables
from hypothesis import given, settings
from hypothesis import strategies as st

pytestmark = [
    pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning"),
]
TINY = 1e-12
some = settings(max_examples=4)  # … of ten queries each
COLUMNS = ["doc_id", "intent_id", "relevance"]
INTENTS = pd.DataFrame(
    {
        "query_id": "q00",
        "intent_id": ["1", "2", "3"],
        "probability": [0.5, 0.3, 0.2],
        "kind": ["inf", "nav", "inf"],
    }
)
RISE = ["alpha_DCG@5", "alpha_nDCG@5", "alpha_nDCG(alpha=0.9)", "NRBP", "I-rec@3"]
RISE += ["nDCG-IA@5", "ERR-IA", "ERR-IA(form=ndeval)@5", "Q-IA", "AP-IA", "RR-IA@4"]
RISE += ["P-IA@5", "R-IA", "RBP-IA", "D-nDCG@5", "D-MSnDCG", "D-ERR@5", "D-Q@5"]
RISE += ["D#-nDCG@5", "D#-Q", "D-RBP(gain=linear)", "nDCG-IA(probabilities=decreasing)"]


def assert_better(worse, better, qrels) -> None:
    """No measure of RISE scores the better lists less."""
    intents = tables([INTENTS] * len(qrels))
    runs = runs_of(worse=worse, better=better)
    found = scores_of(RISE, runs, intent_qrels=tables(qrels), intents=intents)
    assert_no_less(found.loc["better"], found.loc["worse"], TINY)


@st.composite
def cases(draw):
    """Judgments for three intents, a run, and where a document comes in."""
    levels = st.sampled_from([-2.0, 0.0, 0.0, 1.0, 2.0, 3.0])
    docs = [f"d{i}" for i in range(draw(st.integers(1, 6)))]
    rows = [(d, i, draw(levels)) for d in docs for i in ("1", "2", "3")]
    served = draw(st.lists(st.sampled_from("123"), min_size=1, unique=True))
    rows += [("new", i, float(draw(st.integers(1, 3)))) for i in served]
    qrels = pd.DataFrame(rows, columns=COLUMNS)
    pool = [*docs, "x1", "x2"]
    run = draw(st.lists(st.sampled_from(pool), unique=True, max_size=len(pool)))
    place = draw(st.integers(0, len(run)))
    return qrels, [*run[:place], "x9", *run[place:]], place


LONGEST_RUN = ["x1", "x2", *(f"d{i}" for i in range(6))]
LONGEST = (
    pd.DataFrame([(d, "1", 1.0) for d in ("new", *LONGEST_RUN[2:])], columns=COLUMNS),
    [*LONGEST_RUN[:5], "x9", *LONGEST_RUN[5:]],
    5,
)


@some
@given(several(cases(), LONGEST))
def test_a_document_that_serves_an_intent_for_one_that_does_not_never_lowers(cases):
    qrels, runs, places = zip(*cases, strict=True)
    better = [[*r[:i], "new", *r[i + 1 :]] for r, i in zip(runs, places, strict=True)]
    assert_better(runs, better, qrels)


@some
@given(several(cases(), LONGEST))
def test_a_better_document_before_its_neighbour_never_lowers(cases):
    """Better: relevant, beside one that is not. The best rank is the first."""
    qrels = [judged for judged, _, _ in cases]
    low, high = (
        [[*run[:place], *two, *run[place + 1 :]] for _, run, place in cases]
        for two in (["x9", "new"], ["new", "x9"])
    )
    assert_better(low, high, qrels)


def test_effective_precision_may_fall_with_a_document_for_two_navigational_intents():
    """One document is enough for both: those that served one each count no more."""
    rows = [("a", "1"), ("b", "2"), ("new", "1"), ("new", "2")]
    qrels = pd.DataFrame(rows, columns=["doc_id", "intent_id"])
    qrels = qrels.assign(query_id="q00", relevance=1.0)
    intents = INTENTS[:2].assign(probability=0.5, kind="nav")
    runs = runs_of(one=["xab"], two=[["new", "a", "b"]])
    found = scores_of(["EfP@3"], runs, intent_qrels=qrels, intents=intents)["EfP@3"]
    assert found.tolist() == pytest.approx([2 / 3, 1 / 3], abs=TINY)
