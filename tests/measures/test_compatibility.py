"""PGC and Compat: bounds, normalizations, identities and twins."""

import numpy as np
import pandas as pd
import pytest
from helpers.builders import preferences_of, run_of
from helpers.queries import by_query, runs_of, scores_of, several, tables
from helpers.strategies import Case, cases, depths, persistences
from hypothesis import given, settings
from hypothesis import strategies as st

import pgcjax
from pgcjax.engine import plan
from pgcjax.reference.compatibility import compat
from pgcjax.reference.pgc import derived_edges, greedy_ideal, greedy_pgc

pytestmark = [
    pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning"),
    pytest.mark.usefixtures("query_by_query"),
]
EXACT = 1e-12
some = settings(max_examples=4)  # … of ten queries each, and three measures
normalizations = st.sampled_from(["weights", "one-minus-p", "ideal"])
grades = st.sampled_from([0.0, 0.0, 1.0, 1.5, 2.0, 3.0])
DOCS = [f"d{i:02}" for i in range(9)]
LONGEST = Case(np.eye(9, k=1, dtype=np.int32), [*(f"x{i}" for i in range(4)), *DOCS])
LONGEST_GRADES = {doc: i % 3 + 1.0 for i, doc in enumerate(DOCS)}
all_cases = cases()
judged_cases = cases(min_docs=2).filter(lambda case: bool(case.edges))


@pytest.fixture(scope="module")
def query_by_query():
    """Let tiles of any number of queries share programs: one query each."""
    with plan.using(queries=1):
        yield


@st.composite
def graded(draw, drawn=all_cases) -> tuple[Case, dict[str, float]]:
    """A case, and a grade of each of its documents."""
    case = draw(drawn)
    return case, {doc: draw(grades) for doc in case.docs}


def three(*parameters):
    """Three choices of the parameters of a measure."""
    chosen = st.tuples(*parameters)
    return st.lists(chosen, min_size=3, max_size=3, unique=True)


def scores(measures, runs, **judgments) -> pd.DataFrame:
    """Score a list of documents for each query."""
    return scores_of(measures, runs_of(run=runs), **judgments)


def edges_of(cases) -> pd.DataFrame:
    return tables(preferences_of(case.edges) for case in cases)


def value(measure, run, **judgments) -> float:
    scores = pgcjax.evaluate(run_of(run), measures=measure, **judgments)
    return scores.table["value"].item()


@some
@given(several(judged_cases, LONGEST), three(persistences, depths, normalizations))
def test_pgc_equals_its_twin_and_stays_within_bounds(cases, chosen):
    names = [f"PGC(p={p},depth={n},normalization={how})" for p, n, how in chosen]
    ours = scores(names, [case.run for case in cases], preferences=edges_of(cases))
    twin = [[greedy_pgc(case.edges, case.run, *q) for q in chosen] for case in cases]
    np.testing.assert_allclose(ours, twin, rtol=0, atol=EXACT)
    assert ours.min(axis=None) >= 0 and ours.max(axis=None) <= 1


@some
@given(
    several(graded(judged_cases), (LONGEST, LONGEST_GRADES)),
    three(persistences, normalizations),
)
def test_derived_and_combined_pgc_equal_their_twins(cases, chosen):
    names = [
        f"PGC(p={p},graph={graph},normalization={how})"
        for graph in ("derived", "combined")
        for p, how in chosen
    ]
    drawn, levels = zip(*cases, strict=True)
    ours = scores(
        names,
        [case.run for case in drawn],
        preferences=edges_of(drawn),
        qrels=by_query(levels),
    )
    twin = [
        [
            greedy_pgc(edges + derived_edges(own), case.run, p, 1000, how, tuple(own))
            for edges in ([], case.edges)
            for p, how in chosen
        ]
        for case, own in cases
    ]
    np.testing.assert_allclose(ours, twin, rtol=0, atol=EXACT)
    assert ours.min(axis=None) >= 0 and ours.max(axis=None) <= 1


graded_cases = several(graded(), (LONGEST, LONGEST_GRADES))


@some
@given(graded_cases, three(persistences, depths, st.booleans()))
def test_compat_equals_its_twin(cases, chosen):
    names = [
        f"Compat(p={p},depth={n},normalize={str(x).lower()})" for p, n, x in chosen
    ]
    drawn, levels = zip(*cases, strict=True)
    ours = scores(names, [case.run for case in drawn], qrels=by_query(levels))
    twin = [[compat(own, case.run, *q) for q in chosen] for case, own in cases]
    np.testing.assert_allclose(ours, twin, rtol=0, atol=EXACT)
    assert ours.min(axis=None) >= 0 and ours.max(axis=None) <= 1


@some
@given(graded_cases, three(persistences))
def test_pgc_of_a_derived_graph_is_compat_bit_for_bit(cases, chosen):
    """With grade 0 as a level of both: Compat drops what is not above 0."""
    qrels = by_query({d: g + 1 for d, g in own.items()} for _, own in cases)
    pgc = [f"PGC(p={p},graph=derived)" for (p,) in chosen]
    names = [f"Compat(p={p},normalize=false)" for (p,) in chosen]
    found = scores([*pgc, *names], [case.run for case, _ in cases], qrels=qrels)
    assert (found[pgc].to_numpy() == found[names].to_numpy()).all()


@st.composite
def relabelled(draw):
    """A case, and two sets of grades of which the order is the same."""
    case, own = draw(graded())
    levels = sorted(set(own.values()))
    steps = [draw(st.floats(0.125, 50)) for _ in levels]
    low = draw(st.sampled_from([-3.0, 0.0]))
    other = {g: low if g == 0 else sum(steps[: i + 1]) for i, g in enumerate(levels)}
    return case, own, {doc: other[grade] for doc, grade in own.items()}


@some
@given(several(relabelled(), (LONGEST, LONGEST_GRADES, LONGEST_GRADES)))
def test_grades_are_labels_of_which_the_order_counts(cases):
    """Any grades in the same order, bit for bit; Compat asks which are above 0, too."""
    measures = ["PGC(graph=derived)", "Compat", "Compat(p=0.5,normalize=false)"]
    measures += [f"{m}(graph=derived)" for m in ("ppref", "rpref", "wpref", "APpref")]
    drawn, *labels = zip(*cases, strict=True)
    runs = [case.run for case in drawn]
    before, after = (scores(measures, runs, qrels=by_query(each)) for each in labels)
    assert before.equals(after)


def fixed(case: Case) -> Case | None:
    """The case with a run that is its own ideal: none in rare cycles."""
    ideal = greedy_ideal(case.edges, greedy_ideal(case.edges, case.run))
    again = greedy_ideal(case.edges, ideal)
    return Case(case.counts, ideal) if again == ideal else None


@some
@given(
    several(judged_cases.map(fixed).filter(bool), Case(LONGEST.counts, DOCS)),
    three(persistences, depths),
)
def test_a_run_equal_to_its_ideal_scores_one(cases, chosen):
    names = [f"PGC(p={p},depth={n},normalization=ideal)" for p, n in chosen]
    ours = scores(names, [case.run for case in cases], preferences=edges_of(cases))
    assert (ours == 1).all(axis=None)


@some
@given(
    several(
        graded().filter(lambda case: any(case[1].values())), (LONGEST, LONGEST_GRADES)
    ),
    three(persistences),
)
def test_the_ideal_ranking_of_grades_scores_one(cases, chosen):
    levels = [own for _, own in cases]
    runs = [sorted(own, key=lambda doc: -own[doc]) for own in levels]
    names = [f"Compat(p={p})" for (p,) in chosen]
    names += [f"PGC(p={p},graph=derived,normalization=ideal)" for (p,) in chosen]
    assert (scores(names, runs, qrels=by_query(levels)) == 1).all(axis=None)


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


def test_grades_below_0_rank_below_0_in_derived_graphs():
    """Compat has neither of them in its ideal ranking."""
    runs = {run: {"q": {d: -i for i, d in enumerate(run)}} for run in ("ABC", "ACB")}
    measures = ["PGC(graph=derived,normalization=ideal)", "Compat"]
    scores = pgcjax.evaluate(
        runs, qrels={"q": {"A": 1, "B": 0, "C": -2}}, measures=measures, verify=1.0
    )
    best, other = scores.matrix(measures[0])["q"]
    assert best == 1 and other < 0.95
    assert scores.matrix("Compat")["q"].tolist() == [1.0, 1.0]


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
