"""Probabilities and fractional weights: exact in fixed point, as the twins count."""

import numpy as np
import pandas as pd
import pytest
from helpers.builders import run_of

import pgcjax
from pgcjax.errors import DataError
from pgcjax.files import read_preferences
from pgcjax.io.reading import reading
from pgcjax.io.weights import SOFT, UNIT, by_sides, whole_weights
from pgcjax.reference.rbo import rbo
from pgcjax.tensors.graphs import combined_graphs, preference_graphs

NAMES = ["query_id", "doc_id", "other_doc_id", "probability"]
MEASURES = [f"PGC(soft={soft})" for soft in SOFT]
MEASURES += ["PGC(graph=combined)", "PGC(graph=combined,soft=both)"]
MEASURES += ["PGC(ideal=borda)", "PGC(graph=combined,soft=both,ideal=bt)"]
MEASURES += ["ExactPGC(graph=combined)", "ExactPGC(graph=combined,soft=both)"]


def drawn(queries: int, rows: int, seed: int = 0) -> pd.DataFrame:
    """Random soft judgments with weights of queries of seven documents."""
    made = np.random.default_rng(seed)
    docs = np.array([made.permutation(7)[:2] for _ in range(queries * rows)])
    names = np.char.add("d", docs.astype(str))
    return pd.DataFrame(
        {
            "query_id": np.repeat([f"q{i}" for i in range(queries)], rows),
            "doc_id": names[:, 0],
            "other_doc_id": names[:, 1],
            "probability": made.choice([0, 0.3, 0.5, 0.7, 1, 0.123456], len(docs)),
            "weight": made.choice([1, 2, 0.5, 1 / 3], len(docs)),
        }
    )


def turned(table: pd.DataFrame) -> pd.DataFrame:
    """The same judgments, in another order of rows and of documents."""
    swapped = {"doc_id": "other_doc_id", "other_doc_id": "doc_id"}
    other = table.rename(columns=swapped).assign(probability=1 - table["probability"])
    rows = pd.concat([table.iloc[::2], other.iloc[1::2]])
    return rows.sample(frac=1, random_state=1)


def score(preferences, measures=MEASURES, **more) -> np.ndarray:
    queries = [f"q{i}" for i in range(6)]
    docs = ["d3", "d0", "d5", "x", "d1"]
    runs = {"one": {}, "two": {}}
    for i, query in enumerate(queries):
        runs["one"] |= run_of(docs[i % 3 :], query)
        runs["two"] |= run_of(docs[::-1], query)
    qrels = {query: {"d0": 2, "d1": 1, "d5": 0} for query in queries}
    how = {"measures": measures, "qrels": qrels, **more}
    return (
        pgcjax.evaluate(runs, preferences=preferences, **how).table["value"].to_numpy()
    )


def test_scores_are_the_twins_and_depend_on_no_order():
    table = drawn(6, 15)
    scores = score(table, verify=1.0)  # all by the plain twins
    np.testing.assert_array_equal(score(turned(table)), scores)
    parts = dict(zip(MEASURES, scores.reshape(-1, len(MEASURES)).T, strict=True))
    assert (parts["PGC(soft=margin)"] != parts["PGC(soft=both)"]).any()
    assert (parts["PGC(soft=margin)"] != parts["PGC(soft=sign)"]).any()
    # What both sides count adds the same to every order: the best ones stay.
    margin, both = (parts[name] for name in MEASURES[-2:])
    np.testing.assert_array_equal(margin, both)


def test_certain_probabilities_are_hard_votes_and_ties():
    """0, 1/2 and 1, and any whole weights, give the bits of votes without them."""
    table = drawn(6, 15, seed=1)
    table["probability"] = table["probability"].round()
    table.loc[::5, "probability"] = 0.5
    table["weight"] = np.ceil(table["weight"])
    hard = table.drop(columns="probability")
    hard["preference"] = np.sign(table["probability"] - 0.5)
    expected = score(hard)
    np.testing.assert_array_equal(score(table), expected)
    graphs = preference_graphs(read_preferences(hard))
    for soft in SOFT:
        for query, graph in preference_graphs(
            read_preferences(table), soft=soft
        ).items():
            assert graph.unit == 1
            np.testing.assert_array_equal(graph.wins, graphs[query].wins)
    # A fraction that all have changes nothing either, but for grades beside them.
    measures = MEASURES[:3]
    halved = hard.assign(weight=hard["weight"] / 4)
    np.testing.assert_array_equal(score(halved, measures), score(hard, measures))


def test_a_cycle_by_hand():
    """a > b .9, b > c .9, c > a .6: the lead of a is .6, and of c -.6."""
    cycle = [("q", "a", "b", 0.9), ("q", "b", "c", 0.9), ("q", "a", "c", 0.4)]
    table = pd.DataFrame(cycle, columns=NAMES)
    abc, cab = ["a", "b", "c"], ["c", "a", "b"]
    runs = {"abc": run_of(abc), "cab": run_of(cab)}
    scores = pgcjax.evaluate(runs, preferences=table, measures=MEASURES[:3])
    best, other = rbo(abc, abc), rbo(cab, abc)
    # By sign it is a cycle, of which each run has a part; else c is no match for a.
    for soft, expected in (("sign", best), ("margin", other), ("both", other)):
        of = scores.matrix(f"PGC(soft={soft})")["q"]
        assert of.tolist() == pytest.approx([best, expected], abs=1e-12)


def test_counts_in_fixed_point():
    one = np.ones(6)
    p = np.array([1, 0.7, 0.5, 0.3, 0, np.nan])
    sign = np.array([1, 1, 0, -1, -1, -1.0])
    margin, both = (by_sides(sign, one, p, soft) for soft in ("margin", "both"))
    assert margin.unit == both.unit == UNIT == 65536
    assert margin.doc.tolist() == [65536, 26214, 0, 0, 0, 0]
    assert margin.other.tolist() == [0, 0, 0, 26214, 65536, 65536]
    assert both.doc.tolist() == [65536, 45875, 0, 19661, 0, 0]
    assert both.other.tolist() == [0, 19661, 0, 45875, 65536, 65536]
    hard = by_sides(sign, 2 * one, p, "sign")
    assert hard.unit == 1 and hard.doc.tolist() == [2, 2, 0, 0, 0, 0]
    table = pd.DataFrame([("q", "a", "b", 0.75), ("q", "b", "c", 1)], columns=NAMES)
    prefs = read_preferences(table)
    graph = preference_graphs(prefs)["q"]  # 1/2 and 1 are 1 and 2, which peels faster
    assert graph.unit == 2 and graph.wins[:, 2].tolist() == [1, 2]
    grades = pd.DataFrame([("q", "a", 1.0), ("q", "c", 0.0)])
    grades.columns = ["query_id", "doc_id", "relevance"]
    edges = combined_graphs(prefs, grades)["q"].edges()
    assert edges.tolist() == [[0, 1, 2], [0, 0, 2], [0, 0, 0]]
    many = prefs.assign(weight=[2.0**14 - 1, 0.3])
    with pytest.raises(DataError) as refused:
        preference_graphs(many.assign(weight=[2.0**15, 0.3]))["q"].edges()
    assert str(refused.value) == (
        "query 'q' has a document in 16384 judgments or more. Lower the weights."
    )
    assert preference_graphs(many)["q"].edges().max() == round((2**14 - 1) * UNIT / 2)


def test_measures_of_whole_judgments_refuse_fractions():
    table = read_preferences(drawn(6, 15).drop(columns="probability").assign(pref=1))
    for refusing in (
        lambda: score(table, "ppref"),
        lambda: pgcjax.judgments.contradictions(table),
        lambda: pgcjax.judgments.majority(table),
        lambda: pgcjax.judgments.judge_agreement(table),
    ):
        with pytest.raises(DataError, match="^preferences: expected whole numbers as "):
            refusing()
    with pytest.raises(DataError) as refused:
        whole_weights(table.assign(weight=0.5), "a test")
    assert str(refused.value) == (
        "preferences: expected whole numbers as weights, found 0.5: a test counts "
        "judgments. Fractions are for PGC and ExactPGC: round them (and let --flips be "
        "keep, tie or drop)."
    )


def test_half_a_vote_in_each_order():
    """A flipped double vote is half an edge each way: a cycle of one pair."""
    columns = ["query_id", "first", "second", "winner"]
    rows = [("q", "x", "y", "x"), ("q", "y", "x", "y"), ("q", "x", "z", "x")]
    with reading(flips="half"):
        prefs = read_preferences(pd.DataFrame(rows, columns=columns))
        scores = pgcjax.evaluate(run_of(["y", "x"]), preferences=prefs, measures="PGC")
    assert scores.metadata["flips"] == "half"
    graph = preference_graphs(prefs)["q"]
    assert graph.unit == 2
    assert graph.edges().tolist() == [[0, 1, 2], [1, 0, 0], [0, 0, 0]]


def test_measures_of_grids_take_the_side_alone():
    cells = [
        ("q", run, doc, i // 2, i % 2) for run in "st" for i, doc in enumerate("abc")
    ]
    grids = pd.DataFrame(
        cells, columns=["query_id", "run_id", "doc_id", "row", "column"]
    )
    rows = [("q", "a", "b", 0.9), ("q", "b", "c", 0.6), ("q", "c", "a", 0.7)]
    soft = pd.DataFrame(rows, columns=NAMES)
    hard = soft.drop(columns="probability").assign(preference=1.0)
    names = ["ImagePGC", "ImagePGC(order=middle)"]
    one, other = (
        pgcjax.evaluate(grids, preferences=table, measures=names, verify=True)
        for table in (soft, hard)
    )
    pd.testing.assert_frame_equal(one.table, other.table)
