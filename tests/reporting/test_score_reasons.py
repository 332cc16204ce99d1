"""Which scores a page explains, and what is said of the others."""

from functools import partial

import numpy as np
import pandas as pd
import pytest

import pgcjax
from pgcjax.datasets.files import demo_folder
from pgcjax.errors import UsageError
from pgcjax.io.runs import Options, open_runs
from pgcjax.reporting import judged_queries, score_reasons
from pgcjax.reporting.judged_queries import JudgedQueries
from pgcjax.reporting.score_findings import find
from pgcjax.reporting.score_reasons import columns_of, explain_scores
from pgcjax.tensors.graphs import Graph

pytestmark = pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning")
DEMO = demo_folder()
RUNS = partial(open_runs, DEMO / "runs", Options())


def explainers(judgments):
    """Open an explainer of judgments by a measure."""
    explainer = partial(pgcjax.rankings.Explainer, judgments=judgments)
    return lambda measure: explainer(measure=measure)


@pytest.fixture(scope="module")
def demo():
    preferences = pgcjax.files.read_preferences(DEMO / "preferences.csv")
    scores = pgcjax.evaluate(RUNS(), preferences=preferences, measures="PGC")
    return {"preferences": preferences}, scores


def test_the_best_runs_and_the_queries_that_decide(demo):
    judgments, scores = demo
    findings, steps = find(scores, test="t"), []
    why = explain_scores(
        findings,
        explainers(judgments),
        RUNS,
        cells=7,
        progress=lambda *at: steps.append(at),
    )
    assert [at for at in steps if at[0] == "explaining"] == [
        ("explaining", i, 6) for i in range(1, 7)
    ]
    wide = scores.matrix("PGC")
    best = wide.mean(axis=1).sort_values(ascending=False).index[:3]
    spread = wide.loc[best].std(axis=0, ddof=0).sort_values(ascending=False)
    chosen = [("PGC", run, query) for run in best for query in spread.index[:2]]
    assert list(why.cells) == chosen and not why.notes
    columns = columns_of(why, findings)
    numbers = columns["cells"].tolist()
    assert [findings.runs[run] for _, run, _, _ in numbers] == [
        run for _, run, _ in chosen
    ]
    assert [findings.queries[q] for _, _, q, _ in numbers] == [q for *_, q in chosen]
    first = 0
    for (_, run, query), (*_, rows), score, best in zip(
        chosen, numbers, columns["score"], columns["best"], strict=True
    ):
        of_cell = slice(first, first + rows)
        first += rows
        explained = why.cells["PGC", run, query]
        adds, ideal_adds = (
            columns["values"][columns[name][of_cell]] for name in ("adds", "ideal_adds")
        )
        assert score == wide.loc[run, query] and adds.sum() == pytest.approx(
            score, abs=1e-12
        )
        assert ideal_adds.sum() == pytest.approx(best, abs=1e-12)
        ideal = columns["ideal"][of_cell]
        docs = [columns["docs"][i] for i in columns["doc"][of_cell]]
        ranked = sorted((i, doc) for i, doc in zip(ideal, docs, strict=True) if i)
        assert [doc for _, doc in ranked] == explained.ideal
        step = explained.steps.set_index("doc_id")
        for doc, rule, by, among in zip(
            docs,
            columns["rule"][of_cell],
            columns["by"][of_cell],
            columns["candidates"][of_cell],
            strict=True,
        ):
            assert columns["rules"][rule] == step.loc[doc, "rule"]
            assert columns["deciders"][by] == step.loc[doc, "decided_by"]
            assert among == len(step.loc[doc, "candidates"])
    first = 0
    pairs = columns["pairs"].tolist()
    assert len(pairs) == len(why.differences) == 4  # of the best run to two, twice
    explainer = explainers(judgments)("PGC")
    explainer.read(RUNS(), only=best_runs(chosen))
    for (_, run, other, query, rows), gap in zip(pairs, columns["gap"], strict=True):
        names = findings.runs[run], findings.runs[other], findings.queries[query]
        table = explainer.difference(*names).table
        table = table[table["difference"] != 0]
        shares = columns["values"][columns["pair_difference"][first : first + rows]]
        docs = [columns["docs"][i] for i in columns["pair_doc"][first : first + rows]]
        first += rows
        assert names[0] == chosen[0][1] and docs == table["doc_id"].tolist()
        assert shares.tolist() == table["difference"].tolist()
        assert gap == wide.loc[names[0], names[2]] - wide.loc[names[1], names[2]]


def best_runs(chosen):
    return {run for _, run, _ in chosen}


def test_what_is_not_explained_is_said(demo, monkeypatch):
    judgments, scores = demo
    table = scores.table
    other = table.assign(value=table["value"] + 0.1, measure="Compat(p=0.95)")
    unknown = table.assign(measure="of mine")
    table = pd.concat([table, other, unknown])
    findings = find(table, test="t")
    qrels = pgcjax.files.read_qrels(DEMO / "qrels.txt")
    why = explain_scores(
        findings, explainers(judgments | {"qrels": qrels}), RUNS, cells=4
    )
    assert {measure for measure, *_ in why.cells} == {"PGC"} and len(why.cells) == 4
    assert (
        "they were made with other judgments, runs or parameters"
        in why.notes["Compat(p=0.95)"]
    )
    assert "of mine" in why.notes["of mine"] and set(why.notes) == {
        *findings.scores
    } - {"PGC"}
    monkeypatch.setattr(score_reasons, "_ROWS", 45)
    why = explain_scores(findings, explainers(judgments), RUNS, cells=4)
    assert len(why.cells) == 2
    assert why.notes["PGC"] == "2 scores explained: the page has no room for more"
    none = explain_scores(findings, explainers(judgments), RUNS, cells=0)
    assert not none.cells and columns_of(none, findings)["cells"].shape == (0, 4)
    with pytest.raises(UsageError, match="-1 scores to explain: expected 0 or more"):
        explain_scores(findings, explainers(judgments), RUNS, cells=-1)


def test_edges_that_follow_from_chains_are_found():
    """In a chain each edge to the next one; those of cycles all count."""
    chain = [(a, b, 1) for a in range(5) for b in range(a + 1, 5)]
    cycle = [(0, 1, 1), (1, 2, 2), (2, 0, 1), (0, 3, 1), (1, 3, 1)]
    graphs = [
        Graph(name, np.array(list("abcde"), object)[:size], np.array(wins))
        for name, size, wins in (("q1", 5, chain), ("q2", 4, cycle))
    ]
    judged = JudgedQueries(graphs, np.full(9, np.nan))
    edges = judged.edges
    direct = {tuple(edge[:2]) for edge in edges[judged.direct()].tolist()}
    assert direct == {
        (0, 1),
        (1, 2),
        (2, 3),
        (3, 4),
        (5, 6),
        (6, 7),
        (7, 5),
        (5, 8),
        (6, 8),
    }
    assert judged.ideal_ranks().tolist()[:5] == [1, 2, 3, 4, 5]
    levels = Graph(
        "q", np.array(["a", "b", "c"]), np.zeros((0, 3), int), np.array([0, 2, 0])
    )
    graded = JudgedQueries([levels], np.full(3, np.nan))
    assert graded.ideal_ranks().tolist() == [2, 1, 3]


def test_ideal_rankings_near_no_run_are_those_of_empty_runs(demo):
    judgments, scores = demo
    wide = scores.matrix("PGC")
    names = list(wide.columns), list(wide.index)
    read = judged_queries.read(*names, judgments["preferences"])
    ranks, first = read.ideal_ranks(), 0
    explainer = pgcjax.rankings.Explainer(judgments=judgments)
    explainer.read(open_runs({"empty": {"q0": {"x": 1}}}, Options()))
    for graph in read.graphs[:4]:
        order = graph.doc_ids[np.argsort(ranks[first : first + len(graph)])]
        first += len(graph)
        assert order.tolist() == explainer.explain("empty", graph.query_id).ideal
