"""A run that serves more intents scores no less; where the definitions imply it."""

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pgcjax

pytestmark = [
    pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning"),
    pytest.mark.usefixtures("few_shapes"),
]
TINY = 1e-12
INTENTS = pd.DataFrame(
    {
        "query_id": "q",
        "intent_id": ["1", "2", "3"],
        "probability": [0.5, 0.3, 0.2],
        "kind": ["inf", "nav", "inf"],
    }
)
RISE = ["alpha_DCG@5", "alpha_nDCG@5", "alpha_nDCG(alpha=0.9)", "NRBP", "I-rec@3"]
RISE += ["nDCG-IA@5", "ERR-IA", "ERR-IA(form=ndeval)@5", "Q-IA", "AP-IA", "RR-IA@4"]
RISE += ["P-IA@5", "R-IA", "RBP-IA", "D-nDCG@5", "D-MSnDCG", "D-ERR@5", "D-Q@5"]
RISE += ["D#-nDCG@5", "D#-Q", "D-RBP(gain=linear)", "nDCG-IA(probabilities=decreasing)"]


def scores(measures, run, qrels) -> pd.Series:
    ranked = {"q": {doc: -float(rank) for rank, doc in enumerate(run)}}
    table = pgcjax.evaluate(
        ranked, intent_qrels=qrels, intents=INTENTS, measures=measures
    ).table
    return table.set_index("measure")["value"]


@st.composite
def cases(draw):
    """Judgments for three intents, a run, and where a document comes in."""
    levels = st.sampled_from([-2.0, 0.0, 0.0, 1.0, 2.0, 3.0])
    docs = [f"d{i}" for i in range(draw(st.integers(1, 6)))]
    rows = [("q", d, i, draw(levels)) for d in docs for i in ("1", "2", "3")]
    served = draw(st.lists(st.sampled_from("123"), min_size=1, unique=True))
    rows += [("q", "new", i, float(draw(st.integers(1, 3)))) for i in served]
    qrels = pd.DataFrame(rows, columns=["query_id", "doc_id", "intent_id", "relevance"])
    pool = [*docs, "x1", "x2"]
    run = draw(st.lists(st.sampled_from(pool), unique=True, max_size=len(pool)))
    place = draw(st.integers(0, len(run)))
    return qrels, [*run[:place], "x9", *run[place:]], place


@settings(max_examples=40)
@given(cases())
def test_a_document_that_serves_an_intent_for_one_that_does_not_never_lowers(case):
    qrels, run, place = case
    better = [*run[:place], "new", *run[place + 1 :]]
    before, after = scores(RISE, run, qrels), scores(RISE, better, qrels)
    assert (after >= before - TINY).all(), (after - before).idxmin()


@settings(max_examples=40)
@given(cases())
def test_a_better_document_before_its_neighbour_never_lowers(case):
    """Better: relevant, beside one that is not. The best rank is the first."""
    qrels, run, place = case
    low = [*run[:place], "x9", "new", *run[place + 1 :]]
    high = [*run[:place], "new", "x9", *run[place + 1 :]]
    worse, better = scores(RISE, low, qrels), scores(RISE, high, qrels)
    assert (better >= worse - TINY).all(), (better - worse).idxmin()


def test_effective_precision_may_fall_with_a_document_for_two_navigational_intents():
    """One document is enough for both: those that served one each count no more."""
    rows = [("a", "1"), ("b", "2"), ("new", "1"), ("new", "2")]
    qrels = pd.DataFrame(rows, columns=["doc_id", "intent_id"])
    qrels = qrels.assign(query_id="q", relevance=1.0)
    intents = INTENTS[:2].assign(probability=0.5, kind="nav")
    found = [
        pgcjax.evaluate(
            {"q": {doc: -float(rank) for rank, doc in enumerate(run)}},
            intent_qrels=qrels,
            intents=intents,
            measures="EfP@3",
        )
        .table["value"]
        .item()
        for run in (["x", "a", "b"], ["new", "a", "b"])
    ]
    assert found == pytest.approx([2 / 3, 1 / 3], abs=TINY)
