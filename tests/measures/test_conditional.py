"""Measures of conditional grades: by hand, as the twins, and what they must satisfy."""

import re
from functools import cache
from math import log2

import numpy as np
import pandas as pd
import pytest
from helpers.builders import run_of
from helpers.contextual import CONTEXT, QRELS, collection, scored
from helpers.queries import joined

import pgcjax
from pgcjax.errors import DataError, UsageError
from pgcjax.io.graded import read_qrels
from pgcjax.measures.catalogue import parse
from pgcjax.reference.context import ccg, ccg_single, interpolated

ALL = [
    "CG(context=0.5)@5",
    "CG(context=1)",
    "DCG(context=0.5)@10",
    "DCG(gain=exp,context=0.3)",
    "DCG(context=0.5,missing=first)@1",
    "ERR(context=0.5)@5",
    "ERR(gmax=topic,context=0.7,missing=first)",
    "ERR(stop=linear,gmax=topic,context=1)@3",
    "CCG@5",
    "CCG(context=0.3)@40",
    "CCG(form=single,context=1)@7",
    "CCG(missing=first)@10",
]
PREDICTED = [
    "CG(context=0.5,missing=predicted)@5",
    "DCG(gain=exp,context=1,missing=predicted)",
    "ERR(gmax=topic,context=0.5,missing=predicted)@10",
    "CCG(missing=predicted)@10",
]
SAME = (
    ("CG@5", "CG(context=0.3)@5", "CG(context=1,missing=first)@5"),
    ("DCG(gain=exp)", "DCG(gain=exp,context=0.3)", "DCG(gain=exp,context=1)"),
    ("ERR", "ERR(context=0.3)", "ERR(context=1,missing=first)"),
    ("CCG(context=0)@20", "CCG(context=0.3)@20", "CCG(context=1)@20"),
)
MEANS = {
    (name, a): str(parse(f"{name}context={a}{last}"))
    for name, last in (("CG(", ")@7"), ("DCG(missing=first,", ")"), ("CCG(", ")@7"))
    for a in (0, 0.1, 0.5, 0.9, 1)
}
STOPS = [*(f"CG(context=0.4)@{i}" for i in range(1, 7)), "CCG(context=0.4)@6"]
NAMED = [*ALL, *(name for group in SAME for name in group), *MEANS.values(), *STOPS]
EVERY = [*dict.fromkeys(str(parse(name)) for name in NAMED)]
EXACT = 1e-12
pytestmark = [
    pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning"),
]


def values(tables, measures, **options) -> pd.Series:
    runs, qrels, context = tables
    scores = pgcjax.evaluate(
        runs, qrels=qrels, context=context, measures=measures, **options
    )
    keys = ["run_id", "query_id", "measure"]
    return scores.table.set_index(keys)["value"].sort_index()


def several(measures, run, own, after) -> list[float]:
    """Scores of a run, from {doc: grade} and {(doc, previous): grade}."""
    context = pd.DataFrame([("q", *pair, g) for pair, g in after.items()])
    tables = run_of(run), {"q": own}, context.set_axis(CONTEXT, axis=1)
    found = values(tables, measures, verify=1.0)["run", "q"]
    return [found[str(parse(measure))] for measure in measures]


def one(measure, run, own, after) -> float:
    return several([measure], run, own, after)[0]


def test_equations_6_and_7_differ():
    own, after = {"a": 1, "b": 0}, {("b", "a"): 0}
    names = ["CCG@5", "CCG(form=single)@5", "CCG@1", "CCG(form=single)@1"]
    six, seven, *first = several(names, "abcde", own, after)
    assert round(six, 6) == 2.948459 == round(sum(1 / log2(i) for i in range(2, 7)), 6)
    assert seven == 5
    assert (ccg([1, 0, 0, 0, 0], 5), ccg_single([1, 0, 0, 0, 0], 5)) == (six, seven)
    # Both are the same only where they must be: at rank 1.
    assert first[0] == first[1]


def test_by_hand():
    """u = 2, (3 + 1)/2, 1 (nobody judged c after b), (0 + 3)/2."""
    own = {"a": 2, "b": 3, "c": 1, "d": 0}
    after = {("b", "a"): 1, ("d", "c"): 3, ("c", "a"): 0, ("a", "b"): 3}
    u = [2, 2, 1, 1.5]
    exp = [2**g - 1 for g in u]
    stop = [gain / 2**3 for gain in exp]
    expected = {
        "CG(context=0.5)": sum(u),
        "DCG(context=0.5)": sum(g / log2(i + 2) for i, g in enumerate(u)),
        "DCG(gain=exp,context=0.5)": sum(g / log2(i + 2) for i, g in enumerate(exp)),
        "ERR(context=0.5)": sum(
            s * np.prod([1 - x for x in stop[:i]]) / (i + 1) for i, s in enumerate(stop)
        ),
        "CCG@3": sum(s / log2(i + 2) for i, s in enumerate(np.cumsum(u)[:3])),
    }
    found = several([*expected], "abcd", own, after)
    assert found == pytest.approx([*expected.values()], abs=EXACT)
    assert found[0] == sum(u)


def test_a_run_that_ends_before_k_is_stopped_at_all_the_same():
    own, after = {"a": 2, "b": 3}, {("b", "a"): 1}
    longer = one("CCG@6", ["a", "b", *"wxyz"], own, after)
    assert one("CCG@6", "ab", own, after) == longer


@pytest.mark.parametrize(
    ("missing", "u"),
    [
        ("isolation", [1, 2, 3, 2]),
        ("first", [1, 2, 0, 2]),
        ("predicted", [1, 9, 0, 2]),
    ],
)
def test_what_is_taken_for_a_grade_that_nobody_judged(missing, u):
    """Twin: b after a and c after b are not judged; d is not, and has no grade."""
    own = {"a": 1, "b": 2, "c": 3}
    after = {("c", "a"): 0, ("d", "c"): 2, ("b", "c"): 7}
    table = {(before, g): 9 if g == 2 else 0 for before in (1, 2, 3) for g in own}
    table |= {(before, g): {2: 9}.get(g, 0) for before in (1, 2, 3) for g in (1, 2, 3)}
    assert interpolated(list("abcd"), own, after, 1, missing, table) == u


def test_the_previous_document_is_that_of_the_run():
    """A document between the two, judged or not, is what comes before."""
    own, after = {"a": 1, "b": 1, "c": 0}, {("b", "a"): 3, ("x", "c"): 0}
    assert one("CG(context=1)", "ab", own, after) == 4
    assert one("CG(context=1)", ["a", "unjudged", "b"], own, after) == 2
    assert one("CG(context=1)", "acb", own, after) == 2
    assert one("CG(context=1)", "ba", own, after) == 2  # g(b|a) is not g(a|b)
    assert one("CG(context=1)", "xab", own, after) == 4


def test_a_previous_document_may_have_no_grade_above_0():
    for grade in (0, -2):
        assert one("CG(context=1)", "ab", {"a": grade, "b": 1}, {("b", "a"): 3}) == 3
    # Nor any of its own: it is in the conditional grades only.
    assert one("CG(context=1)", "ab", {"b": 1}, {("b", "a"): 3}) == 3
    assert one("CG(context=1)", "ba", {"b": 1}, {("a", "b"): 3, ("b", "a"): 0}) == 4


def test_negative_grades_are_0():
    own, after = {"a": -1, "b": 2, "c": -3}, {("b", "a"): -5, ("c", "b"): 2}
    assert one("CG(context=0.5)", "abc", own, after) == 0 + 1 + 1


def test_the_first_document_has_no_context():
    own, after = {"a": 1, "b": 2}, {("a", "b"): 3}
    names = [f"CG(context=1,missing={how})@1" for how in ("isolation", "first")]
    assert several(names, "ab", own, after) == [1, 1]


@cache
def drawn(queries: int = 4) -> list[pd.DataFrame]:
    """Runs, qrels and conditional grades of four made-up collections."""
    return joined(collection, range(4), queries=queries)


def every(tables, **options) -> pd.Series:
    """Score by all measures of these tests: they share programs."""
    return values(tables, EVERY, **options)


@cache
def every_drawn() -> pd.Series:
    """The scores of the made-up collections, each recomputed by its twin."""
    runs, qrels, context = drawn()
    scores = pgcjax.evaluate(
        runs, qrels=qrels, context=context, measures=EVERY, verify=1.0
    )
    count = len(EVERY) * 4 * 12
    assert scores.notes[-1] == f"{count} of {count} scores recomputed: equal"
    keys = ["run_id", "query_id", "measure"]
    return scores.table.set_index(keys)["value"].sort_index()


def test_equals_the_twins():
    assert set(every_drawn().index.unique(2)) == set(EVERY)


def test_predicted_equals_the_twins():
    pytest.importorskip("sklearn")
    runs, qrels, context = drawn(queries=6)
    scores = pgcjax.evaluate(
        runs, qrels=qrels, context=context, measures=PREDICTED, verify=1.0
    )
    assert re.fullmatch(r"(\d+) of \1 scores recomputed: equal", scores.notes[-1])


def test_without_weight_it_is_the_plain_measure():
    names = ["CG", "DCG", "DCG(gain=exp", "ERR", "ERR(gmax=topic"]
    plain, weighed = [], []
    for name in names:
        for cutoff in ("", "@5"):
            plain.append(name + (")" if "(" in name else "") + cutoff)
            weighed.append(name + (",context=0)" if "(" in name else "(context=0)"))
            weighed[-1] += cutoff
    tables = drawn()
    expected = pgcjax.evaluate(tables[0], qrels=tables[1], measures=plain)
    ours = values(tables, weighed).unstack()
    for name, other in zip(plain, weighed, strict=True):
        other = ours[str(parse(other))].unstack()
        assert (other.to_numpy() == expected.matrix(name).to_numpy()).all()


def test_conditional_grades_that_are_those_in_isolation_change_nothing():
    runs, qrels, context = drawn()
    own = qrels.set_index(["query_id", "doc_id"])["relevance"]
    keys = pd.MultiIndex.from_frame(context[["query_id", "doc_id"]])
    context = context.assign(relevance=own.reindex(keys).fillna(0).to_numpy())
    found = every((runs, qrels, context))
    for plain, *weighed in SAME:
        for measure in weighed:
            gap = found.xs(measure, level=2) - found.xs(plain, level=2)
            assert (gap.abs() < EXACT).all()


def test_a_mean_of_grades_gives_a_mean_of_scores():
    """Where gains are grades, as a sum of them is linear."""
    found = every_drawn().unstack()
    for name in ("CG(", "DCG(missing=first,", "CCG("):
        apart, after = (found[MEANS[name, a]] for a in (0, 1))
        for alpha in (0.1, 0.5, 0.9):
            mean = (1 - alpha) * apart + alpha * after
            assert (found[MEANS[name, alpha]] - mean).abs().max() <= 1e-10


def test_contextual_gain_is_the_cumulative_gain_where_a_user_stops():
    """Equation 6: CCG@k is the sum over i of CG@i / log2(1 + i)."""
    *names, ours = STOPS
    found = every_drawn()
    cumulative = [
        found.xs(m, level=2) / log2(1 + i) for i, m in enumerate(names, start=1)
    ]
    assert ((found.xs(ours, level=2) - sum(cumulative)).abs() < 1e-11).all()


def test_within_bounds_and_no_less_for_a_higher_grade():
    runs, qrels, context = drawn()
    higher = context.assign(relevance=context["relevance"].clip(upper=2) + 1)
    less, more = every_drawn(), every((runs, qrels, higher))
    less, more = (
        x[x.index.isin(map(str, map(parse, ALL)), level=2)] for x in (less, more)
    )
    # ERR is no such measure: one good document hides those after it.
    err = less.index.get_level_values(2).str.startswith("ERR")
    assert (less[~err] >= 0).all() and (more[~err] >= less[~err] - EXACT).all()
    assert ((more[err] >= 0) & (more[err] < 1)).all()


def test_predictions_that_were_given_count():
    """A table that nobody would learn from these grades."""
    own, after = {"a": 1, "b": 2, "c": 2}, [("q", "c", "a", 0)]
    tables = (
        run_of("abc"),
        {"q": own},
        pd.DataFrame(after, columns=CONTEXT),
    )
    rules = pd.DataFrame(
        [(1, 1, 0), (1, 2, 5), (2, 1, 0), (2, 2, 7)],
        columns=["previous_relevance", "relevance", "predicted"],
        dtype=float,
    )
    (score,) = scored(tables, ["CG(context=1,missing=predicted)"], rules)
    assert score.item() == 1 + 5 + 7
    # The highest grade of ERR is then a predicted one.
    (score,) = scored(tables, ["ERR(context=1,missing=predicted)"], rules)
    stop = [(2**g - 1) / 2**7 for g in (1, 5, 7)]
    expected = stop[0] + (1 - stop[0]) * (stop[1] / 2 + (1 - stop[1]) * stop[2] / 3)
    assert score.item() == pytest.approx(expected, abs=EXACT)
    with pytest.raises(
        DataError, match="there are no predictions for documents of grade 1"
    ):
        scored(tables, ["CCG(missing=predicted)@5"], rules[rules.relevance == 2])


def test_what_a_measure_needs():
    runs, qrels, _ = collection(1)
    with pytest.raises(UsageError, match=r"CCG@5 needs context: give .*--context FILE"):
        pgcjax.evaluate(runs, qrels=qrels, measures="CCG@5")
    with pytest.raises(UsageError, match="CCG needs a cutoff: such as CCG@10"):
        pgcjax.evaluate(runs, qrels=qrels, measures="CCG")
    with pytest.raises(UsageError, match=r"context=1\.1: expected weight α"):
        pgcjax.evaluate(runs, qrels=qrels, measures="DCG(context=1.1)")
    assert len(pgcjax.evaluate(runs, qrels=qrels, measures="CCG(context=0)@5").table)


def test_judgments_that_do_not_meet():
    other = pd.DataFrame([("q0", "z", "y", 1)], columns=CONTEXT)
    with pytest.raises(DataError, match="^context: the qrels grade no docum"):
        values((*collection(1)[:2], other), "CCG@5")


def test_notes_of_what_is_left_out():
    from pgcjax.tensors.context import conditional

    qrels = pd.DataFrame([("q", "a", 1), ("p", "a", 2)], columns=QRELS)
    rows = [("q", "a", "b", 1), ("q", "b", "a", 4), ("r", "a", "b", 9)]
    known = conditional(
        read_qrels(qrels),
        pd.DataFrame(rows, columns=CONTEXT).astype({"relevance": float}),
    )
    assert known.notes == (
        "conditional grades of 1 query without qrels: ignored",
        "1 conditional grade for a document without a grade in the qrels, which "
        "counts as 0",
    )
    assert list(known.docs) == ["p", "q"] and known.docs["q"].tolist() == ["a", "b"]
    assert known.pairs["q"].tolist() == [1, 2] and known.grades["q"].tolist() == [1, 4]
    assert len(known.pairs["p"]) == 0


def test_people_who_judge_in_context_agree_with_measures_that_do():
    """Preferences made from u = (g(d) + g(d|d'))/2 are those of CCG at α = 0.5."""
    runs, qrels, context = collection(4, queries=40, runs=2, most_docs=12)
    names = ["CCG@5", "CCG(context=0)@5", "CCG(context=1)@5"]
    scores = pgcjax.evaluate(runs, qrels=qrels, context=context, measures=names)
    own = {(q, d): g for q, d, g in qrels.itertuples(index=False)}
    after = {(q, d, p): g for q, d, p, g in context.itertuples(index=False)}
    rows = []
    for query in qrels["query_id"].unique():
        side = []
        for run in ("r0", "r1"):
            mine = runs[(runs["run_id"] == run) & (runs["query_id"] == query)]
            ranked = mine.sort_values(["score", "doc_id"], ascending=False)["doc_id"]
            ranked = ranked.tolist()
            u = interpolated(
                ranked,
                {d: g for (q, d), g in own.items() if q == query},
                {(d, p): g for (q, d, p), g in after.items() if q == query},
                0.5,
            )
            side.append(ccg(u, 5))
        gap = side[0] - side[1]
        rows.append((query, "r0", "r1", 0 if abs(gap) < 1e-9 else np.sign(gap)))
    people = pd.DataFrame(rows, columns=["query_id", "run_a", "run_b", "preference"])
    assert {-1, 1} <= set(people["preference"])
    found = pgcjax.meta.agree(scores, people, tie_share="preferences").table
    found = found.set_index("measure")
    assert found.loc[names[0], ["kappa", "jaccard"]].tolist() == [1, 1]
    assert (found.loc[names[1:], "kappa"] < 1).all()
