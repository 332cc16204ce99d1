"""Values that NTCIREVAL (version 190111) prints in its own description of diversity.

Its sample is topic 1 and 2 of the TREC 2009 Web Track, binary, with probabilities and
kinds of its own. A topic is told here by which intents each document serves.
"""

from functools import cache

import pandas as pd
import pytest

import pgcjax
from pgcjax.measures.catalogue import parse

pytestmark = pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning")
POOL = {"13": 2, "2": 13, "23": 68, "3": 10}  # documents that serve such intents
RUN = ["", "", "23", "2", "23", "", "", "", "", ""]
INTENTS = pd.DataFrame(
    {
        "query_id": "0001",
        "intent_id": ["1", "2", "3"],
        "probability": [0.5714, 0.2857, 0.1429],
        "kind": ["nav", "nav", "inf"],
    }
)


def topic() -> tuple[pd.DataFrame, dict]:
    """Judgments and run of topic 0001."""
    rows = [
        (f"{served}-{i}", intent, 1.0)
        for served, count in POOL.items()
        for i in range(count)
        for intent in served
    ]
    qrels = pd.DataFrame(rows, columns=["doc_id", "intent_id", "relevance"])
    docs = [f"{served}-{r}" if served else f"x{r}" for r, served in enumerate(RUN)]
    run = {"0001": {doc: -float(rank) for rank, doc in enumerate(docs)}}
    return qrels.assign(query_id="0001"), run


# Section 3.1 (D-NTCIR-eval) and 3.2 (DIN-NTCIR-eval): its name, ours, both values.
PRINTED = [
    ("I-rec@0010", "I-rec@10", 0.6667),
    ("Q@0010", "D-Q@10", 0.1263),
    ("Q-measure", "D-Q", 0.0136),
    ("O-measure", "D-O@10", 0.2941),
    ("P-plus", "D-P+@10", 0.2941),
    ("MSnDCG@0010", "D-nDCG@10", 0.2085),
    ("MSnDCG@0010", "D-MSnDCG(gain=linear)@10", 0.2085),
    ("nDCG@0010", "D-nDCG(discount=original)@10", 0.2117),
    ("D#-Q@0010", "D#-Q@10", 0.3965),
    ("D#-nDCG@0010", "D#-nDCG@10", 0.4376),
    ("Q@0010", "DIN-Q@10", 0.0627),
    ("Q-measure", "DIN-Q", 0.0067),
    ("O-measure", "DIN-O@10", 0.2941),
    ("P-plus", "DIN-P+@10", 0.2941),
    ("MSnDCG@0010", "DIN-nDCG@10", 0.1117),
    ("nDCG@0010", "DIN-nDCG(discount=original)@10", 0.1176),
    ("DIN#-Q@0010", "DIN#-Q@10", 0.3647),
    ("DIN#-nDCG@0010", "DIN#-nDCG@10", 0.3892),
]


BY_HIGHEST = ["D-RBP(gain=linear)@10", "D-ERR(stop=linear)@10"]


@cache
def scores() -> pd.Series:
    """Score topic 0001 by all measures of this file, each recomputed by its twin."""
    qrels, run = topic()
    names = [*dict.fromkeys(ours for _, ours, _ in PRINTED), *BY_HIGHEST]
    table = pgcjax.evaluate(
        run, intent_qrels=qrels, intents=INTENTS, measures=names, verify=1.0
    ).table
    return pd.Series(table["value"].to_numpy(), [str(parse(name)) for name in names])


def score(measure: str) -> float:
    return scores()[str(parse(measure))]


@pytest.mark.parametrize(("theirs", "ours", "value"), PRINTED)
def test_values_of_topic_1(theirs, ours, value):
    assert score(ours) == pytest.approx(value, abs=5e-5, rel=0)


@pytest.mark.parametrize(
    ("measure", "value", "theirs"),
    [("ERR", 0.1458, "g / (most + 1)"), ("RBP", 0.0687, "g / most")],
)
def test_err_and_rbp_of_global_gains_divide_by_the_highest_of_them(
    measure, value, theirs
):
    """Ours by the highest grade, before gains are added up."""
    most = 0.5714 + 0.1429
    gains = [0.4286, 0.2857, 0.4286]  # at ranks 3 to 5
    if measure == "RBP":
        ours = score(BY_HIGHEST[0])
        assert ours / most == pytest.approx(value, abs=5e-5, rel=0)
        return

    def err(stops):
        left, sum_ = 1.0, 0.0
        for rank, stop in enumerate(stops, start=3):
            sum_ += left * stop / rank
            left *= 1 - stop
        return sum_

    assert err(g / (most + 1) for g in gains) == pytest.approx(value, abs=5e-5, rel=0)
    assert score(BY_HIGHEST[1]) == pytest.approx(err(g / 2 for g in gains), rel=1e-12)


def test_probabilities_without_relevant_documents():
    """Section 5, topic 0002: nothing is relevant to intents 1 and 2.

    Theirs are lost (`SUMp= 0.2000`), ours go to intents 3 and 4.
    """
    qrels = pd.DataFrame(
        {
            "query_id": "0002",
            "doc_id": [*(f"c{i}" for i in range(3)), *(f"d{i}" for i in range(7))],
            "intent_id": ["3"] * 3 + ["4"] * 7,
            "relevance": 1,
        }
    )
    intents = pd.DataFrame(
        {
            "query_id": "0002",
            "intent_id": ["1", "2", "3", "4"],
            "probability": [0.5333, 0.2667, 0.1333, 0.0667],
        }
    )
    run = {"0002": {"x": 3.0, "d0": 2.0, "y": 1.0}}
    names = ["nDCG-IA@10", "nERR-IA(stop=linear)@10"]
    scores = pgcjax.evaluate(
        run, intent_qrels=qrels, intents=intents, measures=names, verify=1.0
    )
    lost = scores.table["value"] * (0.1333 + 0.0667)
    # IA-MSnDCG@0010 and IA-nERR@0010.
    assert lost.tolist() == pytest.approx([0.0116, 0.0241], abs=5e-5, rel=0)
