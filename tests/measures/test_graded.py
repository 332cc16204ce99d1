"""Graded measures by hand: values of the papers, parameters, names, what is refused."""

from math import log2

import numpy as np
import pytest
from helpers.builders import run_of

import pgcjax
from pgcjax.errors import DataError, UsageError
from pgcjax.measures.binary import RBP
from pgcjax.measures.catalogue import parse
from pgcjax.measures.gains import mapped
from pgcjax.measures.graded import ERR
from pgcjax.reference import graded as twins

EXACT = 1e-12
pytestmark = [
    pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning"),
]


def value(measure, run, grades) -> float:
    return values([measure], run, grades)[measure]


def values(measures, run, grades) -> dict[str, float]:
    """Score by several measures at once: they share a program."""
    scores = pgcjax.evaluate(
        run_of(run), qrels={"q": grades}, measures=measures, verify=1.0
    )
    found = scores.table.set_index("measure")["value"]
    return {measure: found[str(parse(measure))] for measure in measures}


def test_ndcg_of_luo_2_1(golden):
    case = golden("worked_examples")["ndcg_2_1"]
    names = ["nDCG", "DCG", "nDCG(gain=exp)", "MSnDCG"]
    found = values(names, case["ranking"], case["grades"])
    assert found["nDCG"] == pytest.approx(case["ndcg"], abs=EXACT)
    assert round(found["nDCG"], 3) == case["printed"]["ndcg"] == 0.949
    assert found["DCG"] == pytest.approx(case["dcg"], abs=EXACT)
    exponential = found["nDCG(gain=exp)"]
    assert exponential == pytest.approx(case["ndcg_exponential_gain"], abs=EXACT)
    assert found["MSnDCG"] == exponential


def test_sakai_figure_1():
    """Grades 1 to 3 gain 1, 3, 7: gain=exp; five documents, two intents, l = 5."""
    names = ["Q(gain=exp)@5", "P+(gain=exp)@5", "O(gain=exp)@5", "MSnDCG@5"]
    intents = {"1": 1, "2": 3, "5": 1}, {"2": 1, "4": 3}
    i, j = (values(names, "12345", grades) for grades in intents)
    assert round(i["Q(gain=exp)@5"], 7) == 0.7023810
    assert round(j["Q(gain=exp)@5"], 7) == 0.5166667
    assert round(j["P+(gain=exp)@5"], 7) == 0.5166667
    assert i["O(gain=exp)@5"] == pytest.approx(2 / 8, abs=EXACT)
    expected = (1 + 7 / log2(3) + 1 / log2(6)) / (7 + 1 / log2(3) + 1 / log2(4))
    assert i["MSnDCG@5"] == pytest.approx(expected, abs=EXACT)


def test_expected_reciprocal_rank_by_highest_grade():
    run, qrels = run_of("ab"), {"q": {"a": 1, "b": 2}, "other": {"z": 4}}
    measures = ["ERR", "ERR(gmax=topic)", "ERR(gmax=5)", "ERR(stop=linear,gmax=topic)"]
    scores = pgcjax.evaluate(run, qrels=qrels, measures=measures, verify=1.0)
    ours = [scores.matrix(m).loc["run", "q"] for m in measures]
    assert ours == pytest.approx(
        [
            1 / 16 + 15 / 16 * 3 / 16 / 2,
            1 / 4 + 3 / 4 * 3 / 4 / 2,
            1 / 32 + 31 / 32 * 3 / 32 / 2,
            1 / 3 + 2 / 3 * 2 / 3 / 2,
        ],
        abs=EXACT,
    )


@pytest.mark.parametrize("how", ["linear", "exp"])
def test_gains_of_grades_are_those_of_the_twins(how):
    grades = np.array([0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0])
    gains = mapped(grades, how)
    assert gains == pytest.approx([twins.gain(g, how) for g in grades], abs=EXACT)
    chances = ERR(stop=how).gains(grades, 5.0)
    expected = [twins.stop(g, 5.0, how) for g in grades]
    assert chances == pytest.approx(expected, abs=EXACT)
    assert (ERR(stop=how, gmax="5").gains(grades, 9.0) == chances).all()
    shares = RBP(gain=how).gains(grades, 4.0)
    assert shares == pytest.approx(gains / gains[-1], abs=EXACT)


def test_which_grades_are_relevant():
    grades = {"a": 1, "b": 2, "c": 0.5, "d": 0, "e": -2}
    names, levels = ["P", "AP", "RR", "R", "RBP"], (2, 1, 0.5)
    every = [f"{name}(rel={rel})" for name in names for rel in levels]
    found = values(every, "eadcb", grades)
    strict = values(names, "eadcb", {"b": 1})
    loose = values(names, "eadcb", {"a": 1, "c": 1, "b": 1})
    for name in names:
        assert found[f"{name}(rel=2)"] == strict[name]
        assert found[f"{name}(rel=0.5)"] == loose[name]
    assert [found[f"P(rel={rel})"] for rel in levels] == [1 / 5, 2 / 5, 3 / 5]


def test_grades_below_zero_are_not_relevant_but_judged():
    grades = {"spam": -2, "a": 1, "b": 0}
    names = ["nDCG", "DCG", "ERR", "Q", "O", "P+", "AP", "RBP"]
    every = [*names, "Judged@2", "RBP(p=0.5,value=residual)"]
    spam, not_judged = values(every, ["spam", "a"], grades), ["x", "a"]
    alone = values(every, not_judged, {"a": 1})
    assert all(spam[name] == alone[name] for name in names)
    assert spam["Judged@2"] == 1.0 and spam["RBP(p=0.5,value=residual)"] == 0.25
    assert values(every, not_judged, grades)["Judged@2"] == 0.5


def test_shorter_than_the_cutoff_and_deeper_than_everything():
    grades = {"a": 2, "b": 1, "c": 1}
    reachable = "AP(relevant=reachable)"
    names = ["P@10", "P", "AP@2", f"{reachable}@2", reachable, "AP"]
    found = values(names, "ab", grades)
    assert found["P@10"] == 0.2 and found["P"] == 1.0
    assert found["AP@2"] == pytest.approx(2 / 3, abs=EXACT)
    assert found[f"{reachable}@2"] == 1.0 and found[reachable] == found["AP"]
    names = ["nDCG", "AP", "R", "ERR", "Q", "O", "P+", "RR", "RBP", "CG", "DCG"]
    deep = [f"{name}@9999999" for name in names]
    found = values(["Judged@10", "Judged", *names, *deep], "axb", grades)
    assert found["Judged@10"] == found["Judged"] == 2 / 3
    assert all(found[f"{name}@9999999"] == found[name] for name in names)


def test_queries_without_relevant_documents_score_zero():
    run = {"q": {"a": 1.0}, "r": {"a": 1.0}}
    qrels = {"q": {"a": 0, "b": -2}, "r": {"a": 1}}
    names = ["nDCG", "MSnDCG@3", "ERR", "nERR", "Q", "O", "P+", "AP", "RR", "R@3", "P"]
    scores = pgcjax.evaluate(run, qrels=qrels, measures=names, verify=1.0)
    for name in names:
        assert scores.matrix(name).loc["run", "q"] == 0.0
        assert scores.matrix(name).loc["run", "r"] > 0.0


def test_a_query_without_documents_of_a_grade_is_told():
    with pytest.warns(pgcjax.errors.DataWarning, match=r"AP\(rel=3.*1 judged query"):
        assert value("AP(rel=3)", "a", {"a": 2}) == 0.0


def test_what_is_judged_says_nothing_of_relevance():
    """No warning of queries without relevant documents: they have a score."""
    run, qrels = {"q": {"a": 2.0, "b": 1.0}}, {"q": {"a": 0}}
    measures = ["Judged", "RBP(p=0.5,value=residual)"]
    scores = pgcjax.evaluate(run, qrels=qrels, measures=measures)
    assert scores.table["value"].tolist() == [0.5, 0.5]


def test_residual_of_rbp_is_what_unjudged_documents_may_add():
    grades = {"a": 1, "b": 0, "c": 1}
    names = ["RBP(p=0.8)", "RBP(p=0.8,value=residual)"]
    base, residual = values(names, "axb", grades).values()
    rest = {f"r{i:03}": 1 for i in range(300)}
    best = value("RBP(p=0.8)", ["a", "x", "b", *rest], {**grades, "x": 1, **rest})
    assert best == pytest.approx(base + residual, abs=EXACT)


def test_a_run_shorter_than_others_keeps_its_length():
    runs = {"long": {"q": {"a": 3, "b": 2, "x": 1}}, "short": {"q": {"a": 1}}}
    scores = pgcjax.evaluate(
        runs, qrels={"q": {"a": 1, "b": 1}}, measures=["Judged@3", "P"], verify=1.0
    )
    for name in ("Judged@3", "P"):
        assert scores.matrix(name)["q"].to_dict() == {"long": 2 / 3, "short": 1.0}


@pytest.mark.parametrize(
    "text",
    [
        *("nDCG(gain=log)", "Q(beta=-1)", "AP(rel=0)", "AP(rel=nan)", "P(rel=inf)"),
        *("ERR(gmax=0)", "ERR(gmax=query)", "ERR(gmax=nan)", "RBP(p=1)", "nDCG@0"),
        *("Q(beta=nan)", "ERR(stop=half)", "RBP(value=both)", "AP(relevant=k)@3"),
    ],
)
def test_parameters_out_of_range(text):
    with pytest.raises(UsageError, match="expected"):
        parse(text)


def test_a_grade_above_the_highest():
    with pytest.raises(DataError) as caught:
        value("ERR(gmax=2)", "ab", {"a": 3, "b": 1})
    assert str(caught.value) == (
        "qrels: grade 3 is above gmax=2. Give the highest grade there is, or "
        "gmax=collection."
    )
    with pytest.raises(DataError, match="above gmax=2"):
        value("RBP(gain=linear,gmax=2)", "ab", {"a": 3, "b": 1})
    assert value("RBP(gmax=2)", "ab", {"a": 3}) > 0  # binary: it has no part


def test_gains_beyond_all_numbers():
    for measure in ("nDCG(gain=exp)", "CG(gain=exp)", "RBP(gain=exp)"):
        with pytest.raises(DataError) as caught:
            value(measure, "a", {"a": 2000})
        assert str(caught.value) == (
            "qrels: grade 2000 gains more than can be added up. Choose gain=linear, or "
            "smaller grades."
        )
    with pytest.raises(DataError, match="more than can be added up. Choose smaller"):
        value("Q", "a", {"a": 1e305})
    assert value("ERR", "a", {"a": 2000}) == pytest.approx(1.0, abs=EXACT)
    assert value("nDCG(gain=exp)", "a", {"a": 900}) == 1.0
