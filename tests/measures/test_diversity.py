"""Measures of diversity: published values, values by hand, and what they need."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from helpers.diverse import FIGURE, FIGURE_INTENTS, FIGURE_RUN

import pgcjax
from pgcjax.errors import DataError, UsageError
from pgcjax.measures.catalogue import parse

pytestmark = [
    pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning"),
    pytest.mark.usefixtures("shapes_of_users"),
]


def scored(
    measures, run=FIGURE_RUN, qrels=FIGURE, intents=FIGURE_INTENTS
) -> dict[str, dict[str, float]]:
    """Scores of each run by each measure, all recomputed by the twins."""
    scores = pgcjax.evaluate(
        run,
        intent_qrels=qrels,
        intents=intents,
        measures=[*dict.fromkeys(measures)],
        verify=1.0,
    )
    return {
        str(run): {m: row[str(parse(m))] for m in measures}
        for run, row in scores.mean().iterrows()
    }


def score(measure, run=FIGURE_RUN, qrels=FIGURE, intents=FIGURE_INTENTS) -> float:
    return scored([measure], run, qrels, intents)["run"][measure]


def judged(*rows) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["intent_id", "doc_id", "relevance"]).assign(
        query_id="q"
    )


def ranked(docs) -> dict:
    return {"q": {doc: -float(i) for i, doc in enumerate(docs)}}


def of_kind(*kinds, **probabilities) -> pd.DataFrame:
    """Intents a, b, … with their kinds and, maybe, probabilities."""
    names = list("abcdef"[: len(kinds)])
    frame = pd.DataFrame({"query_id": "q", "intent_id": names, "kind": kinds})
    if probabilities:
        frame["probability"] = [probabilities[name] for name in names]
    return frame


Q_I = ((1 + 1) / (1 + 7) + (2 + 8) / (2 + 8) + (3 + 9) / (5 + 9)) / 3
P_J = ((1 + 1) / (2 + 8) + (2 + 8) / (4 + 8)) / 2


def test_hand_values_of_the_figure_are_what_they_were_said_to_be():
    assert Q_I == pytest.approx(0.7023810, abs=1e-7)
    assert P_J == pytest.approx(0.5166667, abs=1e-7)


FIGURE_VALUES = [
    ("P+Q@5", 0.6095238),
    ("P+Q@5", (Q_I + P_J) / 2),
    ("Q-IA@5", 0.6095238),  # "in this particular example", says the paper
    ("D-nDCG@5", 0.7079416),
    ("DIN-nDCG@5", 0.4820710),
    ("D-Q@5", 0.6975341),
    ("DIN-Q@5", 0.3942008),
    ("I-rec@5", 1.0),
    ("EfP@5", 0.6),  # the paper prints 3/5 = 0.8
    ("D#-nDCG@5", (1 + 0.7079416) / 2),
    ("D#-Q@5", (1 + 0.6975341) / 2),
    ("DIN#-nDCG@5", (1 + 0.4820710) / 2),
    ("DIN#-Q(gamma=0.2)@5", 0.2 + 0.8 * 0.3942008),
    ("P+Q#@5", (1 + 0.6095238) / 2),
]


@cache
def figure() -> dict[str, float]:
    """The figure scored by all measures, each recomputed by its twin."""
    return scored([name for name, _ in FIGURE_VALUES])["run"]


@pytest.mark.parametrize(("measure", "value"), FIGURE_VALUES)
def test_figure_1_of_sakai_2012(measure, value):
    assert figure()[measure] == pytest.approx(value, abs=1e-7, rel=0)


@pytest.mark.parametrize("intent", ["i", "j"])
@pytest.mark.parametrize(("measure", "value"), [("Q@5", (Q_I, P_J))])
def test_each_intent_of_the_figure(intent, measure, value):
    """Of j, P+ is equal to Q: the first document of L3 is the last that is relevant."""
    mine = FIGURE[FIGURE.intent_id == intent].drop(columns="intent_id")
    scores = pgcjax.evaluate(FIGURE_RUN, qrels=mine, measures=[measure, "P+@5"])
    q, p_plus = scores.table["value"]
    assert q == pytest.approx(value["ij".index(intent)], rel=1e-12)
    if intent == "j":
        assert p_plus == q


def test_p_plus_stops_at_the_first_of_the_highest_grade():
    """Section 3.2: if doc 2 were L3 relevant for j, doc 4 would be ignored."""
    changed = FIGURE.copy()
    changed.loc[2, "relevance"] = 7.0
    found = scored(["P+Q@5", "Q-IA@5"], qrels=changed)["run"]
    assert found["P+Q@5"] < found["Q-IA@5"]


LOG = np.log2
SOME = judged(("a", "x", 1), ("b", "x", 1), ("a", "y", 2), ("b", "z", 1), ("c", "w", 1))


BY_HAND = [
    ("alpha_DCG@4", "xyuz", 2 + 0.5 / LOG(3) + 0.5 / LOG(5)),
    ("alpha_DCG(alpha=0.2)", "xyuz", 2 + 0.8 / LOG(3) + 0.8 / LOG(5)),
    ("alpha_DCG(alpha=1)", "xyzw", 2 + 1 / LOG(5)),
    ("alpha_DCG(alpha=0)@2", "xy", 2 + 1 / LOG(3)),
    # The greedy ideal: x serves two intents, then w a new one.
    ("alpha_nDCG@2", "xy", (2 + 0.5 / LOG(3)) / (2 + 1 / LOG(3))),
    ("alpha_nDCG@2", "xw", 1.0),
    ("alpha_nDCG", "xwzy", 1.0),
    ("alpha_nDCG", "u", 0.0),
    ("NRBP", "xyz", 0.75 / 3 * (2 + 0.5 * 0.5 + 0.25 * 0.5)),
    ("NRBP(alpha=0.2,beta=0.1)", "xy", 0.92 / 3 * (2 + 0.1 * 0.8)),
    ("NRBP(beta=0)", "xy", 2 / 3),
    ("I-rec@1", "xw", 2 / 3),
    ("I-rec@2", "xw", 1.0),
    ("I-rec", "uv", 0.0),
    ("ERR-IA(form=ndeval)@1", "x", 2 / 3),
    (
        "ERR-IA(form=ndeval)@3",
        "uxy",
        (1 / 4 + 1 / 12 + 1 / 4) / 3 / (1 / 2 + 1 / 8 + 1 / 24),
    ),
    ("ERR-IA(form=ndeval)", "x", 2 / 3 / 2 / np.log(2)),
    ("ERR-IA(stop=linear)@2", "xy", (1 / 3 + 2 / 3 * 2 / 3 / 2 + 1 / 3) / 3),
    ("P-IA@2", "xy", (2 / 2 + 1 / 2) / 3),
    ("R-IA@2", "xy", (2 / 2 + 1 / 2) / 3),
    ("RR-IA@5", "uxw", (1 / 2 + 1 / 2 + 1 / 3) / 3),
    ("AP-IA", "xuyz", ((1 + 2 / 3) / 2 + (1 + 2 / 4) / 2) / 3),
    ("MAP-IA", "xuyz", ((1 + 2 / 3) / 2 + (1 + 2 / 4) / 2) / 3),
    ("CG-IA@3", "xyz", (1 + 2 + 1 + 1) / 3),
    ("D-CG@3", "xyz", (1 + 2 + 1 + 1) / 3),
]


@cache
def by_hand() -> dict[str, dict[str, float]]:
    """All runs scored by all measures, each recomputed by its twin."""
    runs = {docs: ranked(docs) for _, docs, _ in BY_HAND}
    names = [measure for measure, _, _ in BY_HAND]
    return scored(names, runs, SOME, of_kind("inf", "inf", "inf"))


@pytest.mark.parametrize(("measure", "docs", "value"), BY_HAND)
def test_values_by_hand(measure, docs, value):
    assert by_hand()[docs][measure] == pytest.approx(value, abs=1e-12)


def test_ties_of_the_ideal_list_are_broken_as_by_ndeval():
    """Of a and c, which serve as much, c comes first: that leaves b for rank 2."""
    rows = [("a", "a", 1), ("b", "a", 1), ("b", "b", 1), ("c", "b", 1), ("a", "c", 1),
            ("d", "c", 1)]  # fmt: skip
    qrels = judged(*rows)
    intents = of_kind("inf", "inf", "inf", "inf")
    best = 2 + 2 / LOG(3) + 1 / LOG(4)
    assert score("alpha_nDCG@3", ranked("cba"), qrels, intents) == 1.0
    worst = 2 + 1.5 / LOG(3) + 1.5 / LOG(4)
    assert score("alpha_nDCG@3", ranked("acb"), qrels, intents) == (
        pytest.approx(worst / best, rel=1e-12)
    )


NAVIGATIONAL = judged(
    ("a", "x", 1), ("a", "y", 3), ("b", "y", 1), ("a", "z", 2), ("b", "z", 1)
)


GAIN_ONCE = [
    ("EfP@3", ("inf", "inf"), 1.0),
    ("EfP@3", ("nav", "inf"), 1.0),
    ("EfP@3", ("inf", "nav"), 1.0),
    ("EfP@3", ("nav", "nav"), 2 / 3),
    ("EfP@6", ("nav", "nav"), 2 / 6),
    ("DIN-CG@3", ("inf", "inf"), (1 + 3 + 2 + 1 + 1) / 2),
    ("DIN-CG@3", ("nav", "inf"), (1 + 1 + 1) / 2),
    ("DIN-CG@3", ("inf", "nav"), (1 + 3 + 2 + 1) / 2),
    ("DIN-CG@3", ("nav", "nav"), (1 + 1) / 2),
    ("DIN-CG(probabilities=decreasing)@3", ("nav", "inf"), (1 * 2 + 1 + 1) / 3),
    ("D-CG(probabilities=decreasing)@3", ("nav", "inf"), (6 * 2 + 2) / 3),
]


@cache
def gaining_once(kinds: tuple[str, str]) -> dict[str, float]:
    """A run scored by all measures, each recomputed by its twin."""
    names, runs = [measure for measure, _, _ in GAIN_ONCE], {"run": ranked("xyz")}
    return scored(names, runs, NAVIGATIONAL, of_kind(*kinds))["run"]


@pytest.mark.parametrize(("measure", "kinds", "value"), GAIN_ONCE)
def test_navigational_intents_gain_once(measure, kinds, value):
    assert gaining_once(kinds)[measure] == pytest.approx(value, abs=1e-12, rel=0)


def test_a_further_document_of_a_navigational_intent_is_not_relevant():
    """By the letter of equations 10 and 11 DIN-Q were (1 + (2 + 1) / (2 + 2)) / 2."""
    qrels = judged(("a", "x", 1), ("a", "y", 1))
    assert score("DIN-Q", ranked("xy"), qrels, of_kind("nav")) == 0.5
    assert "counts as relevant; here" in parse("DIN-Q").differs


@pytest.mark.parametrize("lost", [0.0, 1.0])
def test_all_probability_on_intents_without_relevant_documents(lost):
    qrels = judged(("a", "x", 1), ("b", "y", 0))
    intents = of_kind("inf", "inf", a=1 - lost, b=lost)
    names = ["Q-IA", "D-Q", "DIN-Q", "D#-Q(gamma=0.3)", "DIN#-Q(gamma=0.3)", "I-rec"]
    found = scored(names, {"run": ranked("x")}, qrels, intents)["run"]
    own = 1 - lost
    mixed = 0.3 + 0.7 * own
    assert [*found.values()] == [own, own, own, mixed, mixed, 1.0]
    assert "DIN-Q is 0, and this gamma I-rec" in parse("DIN#-Q").differs


OWN = {"P-IA": 1.0, "D-RBP": 0.05, "P+Q": 1.0, "nDCG-IA": 1.0}


def test_decreasing_probabilities_number_the_intents_that_count():
    """Nothing is relevant to intent a: b is the first of two."""
    qrels = judged(("a", "x", 0), ("b", "x", 1), ("c", "y", 1))
    runs = {doc: ranked(doc) for doc in "xy"}
    found = scored(["P-IA(probabilities=decreasing)@1"], runs, qrels, None)
    assert [*found["x"].values()] == pytest.approx([2 / 3])
    assert [*found["y"].values()] == pytest.approx([1 / 3])


@pytest.mark.parametrize(
    ("probabilities", "given", "expected"),
    [
        ("given", {"a": 0.5, "b": 0.3, "c": 0.2}, (5, 3)),
        ("given", {"a": 0.0, "b": 0.6, "c": 0.4}, (0, 1)),
        ("given", {"a": 0.0, "b": 0.0, "c": 1.0}, (0, 0)),
        ("given", {}, (1, 1)),
        ("uniform", {"a": 0.5, "b": 0.3, "c": 0.2}, (1, 1)),
        ("decreasing", {"a": 0.2, "b": 0.3, "c": 0.5}, (2, 1)),
    ],
)
def test_probabilities_of_intents_without_relevant_documents_go_to_others(
    probabilities, given, expected
):
    """Of intents a, b and c, nothing is relevant to c."""
    qrels = judged(("a", "x", 1), ("b", "y", 1), ("c", "y", 0))
    intents = of_kind("inf", "nav", "inf", **given)
    names = [f"{n}(probabilities={probabilities})@1" for n in OWN]
    runs = {doc: ranked(doc) for doc in "xy"}
    found = scored(names, runs, qrels, intents)
    for doc, weight in zip("xy", expected, strict=True):
        for name, own in zip(names, OWN.values(), strict=True):
            value = own * weight / max(1, sum(expected))
            assert found[doc][name] == pytest.approx(value, abs=1e-12, rel=0)


def test_without_a_table_of_intents_they_are_uniform():
    names = ["P-IA@1", "D-CG@1", "I-rec@1", "alpha_nDCG@3"]
    runs = {"run": ranked("xyz")}
    with_table = scored(names, runs, SOME, of_kind("inf", "nav", "inf"))["run"]
    scores = pgcjax.evaluate(runs, intent_qrels=SOME, measures=names)
    assert scores.table["value"].tolist() == [*with_table.values()]


@pytest.mark.parametrize("measure", ["DIN-nDCG@5", "DIN#-Q", "P+Q", "P+Q#", "EfP@5"])
def test_kinds_of_intents_are_asked_for(measure):
    with pytest.raises(
        UsageError, match="needs intents: give .*a table of them as --intent-qrels"
    ):
        pgcjax.evaluate(FIGURE_RUN, intent_qrels=FIGURE, measures=measure)


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        ("EfP", "EfP needs a cutoff: such as EfP@10"),
        ("NRBP@5", "NRBP has no cutoff"),
        ("alpha_nDCG(alpha=1.5)", "alpha=1.5: expected .* a number from 0 to 1"),
        ("NRBP(beta=1)", "beta=1: expected persistence, a number from 0 up, below 1"),
        ("D#-nDCG(gamma=-1)", "gamma=-1: expected .* a number from 0 to 1"),
        ("nDCG-IA(probabilities=mine)", "mine: expected one of given .*uniform.*"),
        ("D-nDCG(gamma=0.5)", "D-nDCG has no parameter 'gamma'"),
        ("D#-CG", "no measure is called 'D#-CG'"),
    ],
)
def test_wrong_parameters(measure, message):
    with pytest.raises(UsageError, match=message):
        score(measure)


def test_an_intent_that_the_table_lacks():
    with pytest.raises(DataError, match="relevant to intent 'j', .*: the query has i"):
        score("D-nDCG", intents=FIGURE_INTENTS[:1])


def test_a_query_with_nothing_relevant_scores_0():
    qrels = judged(("a", "x", 0), ("b", "x", -2))
    names = ["alpha_nDCG@5", "I-rec", "nDCG-IA", "D-Q", "DIN#-Q", "P+Q", "EfP@5"]
    found = scored(names, {"run": ranked("x")}, qrels, of_kind("inf", "nav"))
    assert found["run"] == dict.fromkeys(names, 0)
