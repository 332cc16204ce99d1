"""PGC and Compat: bounds, normalizations, identities and twins."""

import numpy as np
import pandas as pd
import pytest
from helpers.builders import preferences_of, run_of
from helpers.strategies import cases, depths, persistences
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import pgcjax
from pgcjax.reference.compatibility import compat
from pgcjax.reference.pgc import derived_edges, greedy_ideal, greedy_pgc

pytestmark = [
    pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning"),
    pytest.mark.usefixtures("few_shapes"),
]
EXACT = 1e-12
some = settings(max_examples=40)
normalizations = st.sampled_from(["weights", "one-minus-p", "ideal"])


def value(measure, run, **judgments) -> float:
    scores = pgcjax.evaluate(run_of(run), measures=measure, **judgments)
    return scores.table["value"].item()


def grades_for(case, draw) -> dict[str, float]:
    grade = st.sampled_from([0.0, 0.0, 1.0, 1.5, 2.0, 3.0])
    return {doc: draw(grade) for doc in case.docs}


@some
@given(cases(min_docs=2), persistences, depths, normalizations)
def test_pgc_equals_its_twin_and_stays_within_bounds(case, p, depth, how):
    assume(case.edges)
    measure = f"PGC(p={p},depth={depth},normalization={how})"
    ours = value(measure, case.run, preferences=preferences_of(case.edges))
    twin = greedy_pgc(case.edges, case.run, p, depth, how)
    assert ours == pytest.approx(twin, abs=EXACT)
    assert 0 <= ours <= 1


@some
@given(cases(min_docs=2), st.data(), persistences, normalizations)
def test_derived_and_combined_pgc_equal_their_twins(case, data, p, how):
    assume(case.edges)
    grades = grades_for(case, data.draw)
    given_ = {
        "preferences": preferences_of(case.edges),
        "qrels": {"q": grades},
    }
    for graph, edges in (
        ("derived", derived_edges(grades)),
        ("combined", case.edges + derived_edges(grades)),
    ):
        ours = value(
            f"PGC(p={p},graph={graph},normalization={how})", case.run, **given_
        )
        twin = greedy_pgc(edges, case.run, p, 1000, how, tuple(grades))
        assert ours == pytest.approx(twin, abs=EXACT)
        assert 0 <= ours <= 1


@some
@given(cases(), st.data(), persistences, depths, st.booleans())
def test_compat_equals_its_twin(case, data, p, depth, normalize):
    grades = grades_for(case, data.draw)
    measure = f"Compat(p={p},depth={depth},normalize={str(normalize).lower()})"
    ours = value(measure, case.run, qrels={"q": grades})
    assert ours == pytest.approx(
        compat(grades, case.run, p, depth, normalize), abs=EXACT
    )
    assert 0 <= ours <= 1


@some
@given(cases(), st.data(), persistences)
def test_pgc_of_a_derived_graph_is_compat_bit_for_bit(case, data, p):
    """With grade 0 as a level of both: Compat drops what is not above 0."""
    grades = {d: g + 1 for d, g in grades_for(case, data.draw).items()}
    pgc = value(f"PGC(p={p},graph=derived)", case.run, qrels={"q": grades})
    ours = value(f"Compat(p={p},normalize=false)", case.run, qrels={"q": grades})
    assert pgc == ours


@some
@given(cases(), st.data())
def test_grades_are_labels_of_which_the_order_counts(case, data):
    """Any grades in the same order, bit for bit; Compat asks which are above 0, too."""
    grades = grades_for(case, data.draw)
    levels = sorted(set(grades.values()))
    steps = [data.draw(st.floats(0.125, 50)) for _ in levels]
    low = data.draw(st.sampled_from([-3.0, 0.0]))
    other = {g: low if g == 0 else sum(steps[: i + 1]) for i, g in enumerate(levels)}
    relabelled = {doc: other[grade] for doc, grade in grades.items()}
    measures = ["PGC(graph=derived)", "Compat", "Compat(p=0.5,normalize=false)"]
    measures += [f"{m}(graph=derived)" for m in ("ppref", "rpref", "wpref", "APpref")]
    before, after = (
        pgcjax.evaluate(run_of(case.run), measures=measures, qrels={"q": some}).table
        for some in (grades, relabelled)
    )
    assert before.equals(after)


@some
@given(cases(min_docs=2), persistences, depths)
def test_a_run_equal_to_its_ideal_scores_one(case, p, depth):
    assume(case.edges)
    ideal = greedy_ideal(case.edges, case.run)
    ideal = greedy_ideal(case.edges, ideal)
    again = greedy_ideal(case.edges, ideal)
    assume(again == ideal)  # true but for rare cycles, where no run is its own ideal
    measure = f"PGC(p={p},depth={depth},normalization=ideal)"
    assert value(measure, ideal, preferences=preferences_of(case.edges)) == 1.0


@some
@given(cases(), st.data(), persistences)
def test_the_ideal_ranking_of_grades_scores_one(case, data, p):
    grades = grades_for(case, data.draw)
    assume(any(grades.values()))
    run = sorted(grades, key=lambda doc: -grades[doc])
    assert value(f"Compat(p={p})", run, qrels={"q": grades}) == 1.0
    measure = f"PGC(p={p},graph=derived,normalization=ideal)"
    assert value(measure, run, qrels={"q": grades}) == 1.0


def test_normalizations_differ_as_the_papers_do():
    """Seven ranks: 1 - p differs from the sum of weights by 1 - p^7."""
    edges = [("A", "B"), ("B", "C")]
    prefs = preferences_of(edges)
    by = {
        how: value(f"PGC(p=0.9,depth=7,normalization={how})", "ABC", preferences=prefs)
        for how in ("weights", "one-minus-p", "ideal")
    }
    assert by["ideal"] == 1.0
    assert by["one-minus-p"] / by["weights"] == pytest.approx(1 - 0.9**7, abs=EXACT)
    assert by["one-minus-p"] == pytest.approx(
        0.1 * (1 + 0.9 + 0.81 + sum(0.9**d * 3 / (d + 1) for d in range(3, 7))),
        abs=EXACT,
    )


def test_ties_and_bad_documents_add_no_edge():
    prefs = pd.DataFrame(
        {
            "query_id": "q",
            "doc_id": ["A", "A", "E"],
            "other_doc_id": ["B", "C", None],
            "preference": [1, 0, -1],
        }
    )
    with_ties = value("PGC", "EACB", preferences=prefs)
    assert with_ties == value("PGC", "EACB", preferences=prefs.iloc[:1])


def test_queries_without_an_ideal_ranking_score_zero():
    prefs = pd.DataFrame(
        {
            "query_id": ["q", "r"],
            "doc_id": "A",
            "other_doc_id": "B",
            "preference": [0, 1],
        }
    )
    run = {"q": {"A": 1.0}, "r": {"A": 1.0}}
    measures = ["PGC", "PGC(normalization=ideal)"]
    scores = pgcjax.evaluate(run, preferences=prefs, measures=measures)
    assert scores.matrix("PGC").loc["run", "q"] == 0.0
    assert scores.matrix("PGC(normalization=ideal)").loc["run", "q"] == 0.0
    assert scores.matrix("PGC").loc["run", "r"] > 0
    grades = {"q": {"A": 0}, "r": {"A": 1}}
    compat_scores = pgcjax.evaluate(run, qrels=grades, measures="Compat")
    assert compat_scores.matrix("Compat").loc["run"].tolist() == [0.0, 1.0]


def test_ranks_count_documents_that_nobody_judged():
    prefs = preferences_of([("A", "B")])
    alone = value("PGC(p=0.5)", ["A", "B"], preferences=prefs)
    late = value("PGC(p=0.5)", ["x1", "x2", "A", "B"], preferences=prefs)
    assert alone > late
    assert late == pytest.approx(
        sum(0.5**d * min(d - 1, 2) / (d + 1) for d in range(2, 1000)) * 0.5, abs=EXACT
    )


@pytest.mark.parametrize("n", [15, 16, 17, 300, 1030])
def test_queries_of_any_size_in_one_job(n):
    """Two documents and n in one call: two padded sizes, equal to the twin."""
    rng = np.random.default_rng(n)
    docs = [f"d{i:04}" for i in range(n)]
    edges = [
        (docs[a], docs[b]) for a, b in (rng.permutation(n)[:2] for _ in range(2 * n))
    ]
    run = [docs[i] for i in rng.permutation(n)]
    small = preferences_of([("A", "B")], "small")
    scores = pgcjax.evaluate(
        {**run_of(run), **run_of(["B", "A"], "small")},
        preferences=pd.concat([small, preferences_of(edges)]),
    )
    ours = scores.matrix("PGC").loc["run"]
    assert ours["q"] == pytest.approx(greedy_pgc(edges, run), abs=EXACT)
    assert ours["small"] == pytest.approx(
        greedy_pgc([("A", "B")], ["B", "A"]), abs=EXACT
    )
