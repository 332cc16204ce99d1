"""Measures of pgcjax in ir_measures and PyTerrier, by these packages themselves."""

import re
import socket
import sys
import warnings
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pytest

import pgcjax
from pgcjax.datasets.files import demo_folder
from pgcjax.errors import DataError, DataWarning, UsageError
from pgcjax.measures import ir_names

ir_measures = pytest.importorskip("ir_measures", reason="pip install ir-measures")
from pgcjax.plugins import ir_measures as plugin  # noqa: E402
from pgcjax.plugins.ir_measures import AP, ERR, PGC, Compat, measure  # noqa: E402

nDCG = ir_measures.nDCG
GUIDE = Path(pgcjax.__file__).parents[1] / "docs/pyterrier.md"


class Demo(NamedTuple):
    """Judgments and some runs of the embedded collection; grades are whole."""

    prefs: pd.DataFrame
    qrels: pd.DataFrame
    intent_qrels: pd.DataFrame
    intents: pd.DataFrame
    runs: dict[str, pd.DataFrame]


@pytest.fixture(scope="module")
def demo() -> Demo:
    folder = demo_folder()
    runs = pgcjax.files.read_runs(
        [folder / "runs/oak.txt", folder / "runs/rose.txt"]
    ).table
    return Demo(
        pgcjax.files.read_preferences(folder / "preferences.csv"),
        pgcjax.files.read_qrels(folder / "qrels.txt").astype({"relevance": int}),
        pgcjax.files.read_intent_qrels(folder / "diversity.qrels.txt"),
        pgcjax.files.read_intents(folder / "intents.csv"),
        {str(run): rows.drop(columns="rank") for run, rows in runs.groupby("run_id")},
    )


def values(metrics, asked) -> dict[str, float]:
    return {m.query_id: m.value for m in metrics if m.measure == asked}


def expected(run, asked, **judgments) -> dict[str, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # oak lacks a query
        scores = pgcjax.evaluate(run, measures=str(asked), **judgments)
    return dict(zip(scores.table["query_id"], scores.table["value"], strict=True))


def test_scores_are_those_of_evaluate_to_the_last_bit(demo):
    """Runs and qrels of each form, beside measures of ir_measures' own."""
    bound = PGC.bind(demo.prefs)
    names = ["Compat", "ERR@20", "AP(rel=2)", "Judged@5", "nDCG", "PGC(graph=derived)"]
    asked = [bound, bound(p=0.8, graph="combined"), *map(measure, names)]
    asked += [measure("APpref").bind(demo.prefs, qrels=demo.qrels)]
    dicts = {
        query: dict(zip(rows["doc_id"], rows["relevance"].tolist(), strict=True))
        for query, rows in demo.qrels.groupby("query_id")
    }
    evaluator = ir_measures.evaluator([nDCG @ 10, *asked], dicts)
    for run in demo.runs.values():
        docs = run[["query_id", "doc_id", "score"]].itertuples(index=False)
        found = list(evaluator.iter_calc(ir_measures.ScoredDoc(*doc) for doc in docs))
        assert len(found) == (1 + len(asked)) * 20
        means = ir_measures.calc_aggregate([nDCG @ 10, *asked], demo.qrels, run)
        judgments = {"preferences": demo.prefs, "qrels": demo.qrels}
        for one in asked:
            alone = expected(run, one, **judgments)
            assert values(found, one) == alone
            assert means[one] == pytest.approx(sum(alone.values()) / 20, abs=1e-15)
        alone = expected(run, "nDCG@10", **judgments)
        assert values(found, nDCG @ 10) == pytest.approx(alone, abs=1e-12)


def test_the_iteration_of_qrels_names_intents(demo):
    run = demo.runs["oak"]
    qrels = demo.intent_qrels.rename(columns={"intent_id": "iteration"})
    judgments = {"intent_qrels": demo.intent_qrels, "intents": demo.intents}
    asked = [measure("ERR-IA@10"), measure("D#-nDCG@10").bind(intents=demo.intents)]
    found = list(ir_measures.iter_calc(asked, qrels, run))
    assert values(found, asked[1]) == expected(run, "D#-nDCG@10", **judgments)
    del judgments["intents"]
    assert values(found, asked[0]) == expected(run, "ERR-IA@10", **judgments)
    with pytest.raises(UsageError) as refused:
        ir_measures.iter_calc([plugin.ERR_IA @ 10], demo.qrels, run)
    assert str(refused.value) == (
        "ERR-IA@10 needs intent_qrels: ERR-IA@10.bind(intent_qrels=…)"
    )


def test_the_queries_of_the_qrels_count(demo):
    """0 where the run lacks a query, NaN where nobody judged it for the measure."""
    queries = demo.qrels["query_id"].unique().tolist()
    run, (unjudged, lacking, *_) = demo.runs["rose"], queries
    bound = PGC.bind(demo.prefs[demo.prefs["query_id"] != unjudged])
    assert bound.queries == queries[1:]
    scores = expected(run, "PGC", preferences=demo.prefs)
    short = run[run["query_id"] != lacking]
    with pytest.warns(DataWarning) as said:
        evaluator = ir_measures.evaluator([nDCG @ 10, bound], demo.qrels)
        ir_measures.evaluator([bound], demo.qrels)
    assert [str(w.message) for w in said] == [
        "PGC: 1 query of the qrels, such as 'q101', have no judgments for it and "
        "score NaN, which ir_measures leaves out of the mean, but PyTerrier does "
        "not: keep the queries that PGC.bind(…).queries lists"
    ]
    found = values(evaluator.iter_calc(short), bound)
    assert found.keys() == scores.keys() and found[unjudged] != found[unjudged]
    assert {**found, unjudged: 0} == {**scores, unjudged: 0, lacking: 0}
    mean = sum(scores[query] for query in queries[2:]) / 19
    assert evaluator.calc_aggregate(short)[bound] == pytest.approx(mean, abs=1e-15)
    assert bound.calc_aggregate(demo.qrels, short) == pytest.approx(mean, abs=1e-15)
    few = demo.qrels[demo.qrels["query_id"].isin(queries[3:5])]
    for some, of in ((few, queries[3:5]), (None, queries[1:])):
        found = values(ir_measures.iter_calc([bound], some, run), bound)
        assert found == {query: scores[query] for query in of}
    nothing = run[run["query_id"] == "none"]
    assert ir_measures.calc_aggregate([bound], few, nothing) == {bound: 0}


def test_measures_compare_and_print_as_what_they_are(demo):
    """Bound to judgments of the same content they are equal; no name means two."""
    bound = PGC(p=0.8).bind(demo.prefs)
    again = PGC.bind(demo.prefs.iloc[::-1])(p=0.8)
    assert {bound: 1}[again] == 1
    assert bound == again != PGC(p=0.8) == measure("PGC(p=.8)")
    assert bound != PGC(p=0.8).bind(demo.prefs[:99])
    assert PGC == PGC(p=0.95) and isinstance(PGC, ir_measures.Measure)
    named = PGC.bind(demo.prefs, name="PGC of assessors")
    printed = [bound, named(depth=9), AP(rel=2) @ 5, Compat, ERR @ 20, nDCG @ 10]
    printed += [
        plugin.RBP(rel=1),
        plugin.alpha_DCG(alpha=0.3) @ 10,
        measure("D#-nDCG@10"),
    ]
    assert list(map(str, printed)) == [
        "PGC(p=0.8)",
        "PGC of assessors",
        "AP(rel=2)@5",
        "Compat(depth=1000)",
        "ERR(gmax=collection)@20",
        "nDCG@10",
        "RBP(p=0.95,rel=1)",
        "pgcjax alpha_DCG(alpha=0.3)@10",
        "D#-nDCG@10",
    ]
    theirs = [ir_measures.ERR @ 20, ir_measures.Compat, ir_measures.RBP(rel=1)]
    assert not {*theirs, ir_measures.alpha_DCG(alpha=0.3) @ 10} & set(printed)
    assert {"PGC", "ERR_IA", "Delta_nDCG", "measure"} <= set(dir(plugin))
    assert (PGC(p=0.8)["p"], (AP @ 5)["cutoff"], AP["rel"]) == (0.8, 5, 1.0)


ONE = {"q": {"a": 1}}


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (
            lambda: ir_measures.iter_calc([PGC], ONE, ONE),
            UsageError,
            "PGC needs preferences: PGC.bind(preferences=…)",
        ),
        (
            lambda: PGC @ 10,
            UsageError,
            "PGC@10: PGC has no cutoff: write it without @10",
        ),
        (
            lambda: PGC(q=1),
            UsageError,
            "PGC has no parameter 'q'; it has p, depth, graph, normalization, ties, n, "
            "seed, soft, ideal, mean",
        ),
        (
            lambda: PGC.bind(judges=1),
            UsageError,
            "judges is none of preferences, qrels, intent_qrels, intents, context",
        ),
        (
            lambda: PGC.bind("no-such-file"),
            DataError,
            "no-such-file: no such file or folder. Check the path.",
        ),
        (
            lambda: PGC.queries,
            UsageError,
            "PGC lacks the judgments that it needs",
        ),
        (
            lambda: plugin.ImagePGC,
            UsageError,
            "ImagePGC scores image grids, which ir_measures does not have",
        ),
        (
            lambda: plugin.nope,
            AttributeError,
            "module 'pgcjax.plugins.ir_measures' has no attribute 'nope'",
        ),
    ],
)
def test_what_is_wrong_is_said_in_one_line(make, kind, message):
    with pytest.raises(kind) as refused:
        make()
    assert str(refused.value) == message


def test_ties_are_ordered_as_trec_eval_does():
    run = {"q": {"a": 1.0, "b": 1.0}}
    first = plugin.P @ 1
    assert ir_measures.calc_aggregate([first], ONE, run) == {first: 0}


def experiment(runs, qrels, asked) -> dict[str, dict[tuple[str, str], float]]:
    """Let PyTerrier score runs, without Java and network; by measure, run and query."""
    pt = pytest.importorskip("pyterrier", reason="pip install pyterrier")
    qrels = pt.model.from_ir_measures(qrels)
    systems = {name: pt.model.from_ir_measures(run) for name, run in runs.items()}
    topics = qrels[["qid"]].drop_duplicates().assign(query="")
    means, each = pt.Experiment(systems, topics, qrels, asked, perquery="both")
    assert not pt.java.started() and "jnius" not in sys.modules
    assert means["name"].tolist() == list(systems)
    by_run = each.groupby(["measure", "name"])["value"].mean()
    for name in map(str, asked):
        own = means.set_index("name")[name].to_dict()
        assert own == pytest.approx(by_run[name].to_dict(), abs=1e-15)
    each = each.set_index(["name", "qid"])
    return {name: rows["value"].to_dict() for name, rows in each.groupby("measure")}


@pytest.fixture
def offline(monkeypatch):
    def refuse(*args):
        raise AssertionError(f"asked for {args[1:]}")

    monkeypatch.setattr(socket.socket, "connect", refuse)


def test_pyterrier_shows_preferences_beside_its_own(demo, offline):
    few = demo.prefs[demo.prefs["judge"] == "j1"]
    asked = [PGC.bind(demo.prefs), PGC.bind(few, name="PGC of j1"), ERR @ 20]
    found = experiment(demo.runs, demo.qrels, [nDCG @ 10, "map", *asked])
    for run, rows in demo.runs.items():
        for name, prefs in (("PGC", demo.prefs), ("PGC of j1", few)):
            alone = expected(rows, "PGC", preferences=prefs)
            assert {q: v for (r, q), v in found[name].items() if r == run} == alone
        alone = expected(rows, "ERR@20", qrels=demo.qrels)
        own = found["ERR(gmax=collection)@20"]
        assert {query: own[run, query] for query in alone} == alone
    assert found["PGC"] != found["PGC of j1"] and len(found["map"]) == 40


def test_the_guide_says_what_is_equal():
    if not GUIDE.exists():
        pytest.skip("not in a checkout")
    said = re.findall(r"^\| `(.+?)` \| (?:`(.+?)`|none)", GUIDE.read_text(), re.M)
    assert len(said) == 5
    for theirs, equal in said[:-1]:  # nERR_IA is the name of nothing here
        there = ir_names.other_number(theirs)
        assert (equal or "nothing here is")[:-1] in there, theirs


@pytest.mark.slow
def test_public_runs_score_alike_in_all_three(data, offline):
    """Deep Learning 2021: the same bits in ir_measures, PyTerrier and evaluate."""
    folder = data / "dl21"
    paths = sorted((folder / "runs").iterdir())[::30]
    runs = pgcjax.files.read_runs(paths, name_by="file").table.drop(columns="rank")
    prefs = pgcjax.files.read_preferences(folder / "judgments.txt.gz")
    qrels = pgcjax.files.read_qrels(folder / "qrels.dl21-passage.txt.gz")
    bound = PGC.bind(prefs)
    qrels = qrels[qrels["query_id"].isin(bound.queries)].astype({"relevance": int})
    asked = [bound, bound(p=0.8), Compat, ERR @ 20, plugin.nDCG @ 10]
    by_run = {str(run): rows for run, rows in runs.groupby("run_id")}
    found = experiment(by_run, qrels, asked)
    scores = pgcjax.evaluate(
        runs, preferences=prefs, qrels=qrels, measures=list(map(str, asked))
    )
    table = scores.table[scores.table["query_id"].isin(qrels["query_id"])]
    assert len(by_run) == 3 and len(table) == 3 * 5 * 46
    for one in asked:
        own = table[table["measure"] == str(one)].set_index(["run_id", "query_id"])
        assert found[str(one)] == own["value"].to_dict()
        for run, rows in by_run.items():
            alone = values(ir_measures.iter_calc([one], qrels, rows), one)
            assert alone == own["value"][run].to_dict()
