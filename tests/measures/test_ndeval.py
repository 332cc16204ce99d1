"""Diversity measures of four years of the TREC Web Track, beside ndeval's own code.

pyndeval is the C program of the track as a package. Every run of the public data counts
(12), with every topic that is judged.
"""

import numpy as np
import pandas as pd
import pytest
from helpers.diverse import collection

import pgcjax
from pgcjax.io.intents import read_intent_qrels
from pgcjax.io.runs import read_runs

pyndeval = pytest.importorskip("pyndeval", reason="pip install pyndeval")
pytestmark = pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning")
YEARS = range(2009, 2013)
OURS = {
    "alpha-nDCG": "alpha_nDCG@{k}",
    "alpha-DCG": "alpha_DCG@{k}",
    "ERR-IA": "ERR-IA(form=ndeval)@{k}",
    "P-IA": "P-IA@{k}",
    "strec": "I-rec@{k}",
    "MAP-IA": "AP-IA",
    "NRBP": "NRBP",
}


def theirs(qrels, runs, measures, **options) -> pd.Series:
    """What ndeval gives each run and topic, of runs and judgments as our tables."""
    columns = ["query_id", "intent_id", "doc_id", "relevance"]
    rows = [
        (query, intent, doc, int(grade))
        for query, intent, doc, grade in qrels[columns].to_numpy(object).tolist()
    ]
    found = {}
    evaluator = pyndeval.RelevanceEvaluator(rows, measures, **options)
    for run, table in runs.groupby("run_id"):
        # It scores a topic each time its lines are interrupted by those of others.
        table = table.sort_values("query_id", kind="stable")
        scored = evaluator.evaluate(
            list(table[["query_id", "doc_id", "score"]].itertuples(False, None))
        )
        for query, values in scored.items():
            for measure, value in values.items():
                found[run, query, measure] = value
    return pd.Series(found)


def ours(qrels, runs, measures, **options) -> pd.Series:
    scores = pgcjax.evaluate(
        runs, intent_qrels=qrels, measures=measures, order="clarke", **options
    )
    return scores.table.set_index(["run_id", "query_id", "measure"])["value"]


def difference(qrels, runs, pairs: dict[str, str]) -> pd.DataFrame:
    """Give the scores of both, by our names."""
    a = theirs(qrels, runs, list(pairs)).rename(index=pairs, level=2)
    b = ours(qrels, runs, list(pairs.values()), missing="skip")
    assert set(a.index) == set(b.index)
    return pd.DataFrame({"theirs": a, "ours": b})


def at(cutoffs, names=OURS) -> dict[str, str]:
    """Name their measures and ours at some cutoffs."""
    return {
        name if "{k}" not in our else f"{name}@{k}": our.format(k=k)
        for name, our in names.items()
        for k in cutoffs
    }


@pytest.fixture(scope="module", params=YEARS)
def year(request, data):
    """Judgments and runs of a year."""
    folder = data / "web-diversity"
    qrels = read_intent_qrels(folder / f"qrels/{request.param}.diversity.qrels.gz")
    paths = sorted((folder / "runs").glob(f"*{request.param}*"))
    runs = pd.concat([read_runs(path).assign(run_id=path.name) for path in paths])
    return qrels, runs.reset_index(drop=True)


def test_every_run_and_topic(year):
    names = {key: our for key, our in OURS.items() if key != "alpha-DCG"}
    both = difference(*year, at((5, 10, 20), names))
    topics = year[0]["query_id"].nunique()
    assert len(both) == 14 * topics * year[1]["run_id"].nunique()
    assert (both["theirs"] - both["ours"]).abs().max() < 1e-14
    # Nothing here is equal for being 0.
    assert (both.groupby(level=2)["ours"].mean() > 0.02).all()


def test_alpha_dcg_is_theirs_without_its_normalization(year):
    """Theirs is divided by that of documents which all serve every intent."""
    qrels, runs = year
    both = difference(qrels, runs, at((5, 10, 20), {"alpha-DCG": "alpha_DCG@{k}"}))
    relevant = qrels[qrels["relevance"] > 0]
    intents = relevant.groupby("query_id")["intent_id"].nunique()
    for (_, query, measure), row in both.iterrows():
        k = int(measure.partition("@")[2])
        best = sum(0.5 ** (r - 1) / np.log2(r + 1) for r in range(1, k + 1))
        assert row["ours"] / best / intents[query] == pytest.approx(
            row["theirs"], abs=1e-14, rel=0
        )


def test_nerr_ia_is_another_measure(year):
    """Ours is the mean of nERR over intents; theirs has one list for all of them."""
    both = difference(*year, {"nERR-IA@20": "nERR-IA@20"})
    gap = (both["theirs"] - both["ours"]).abs()
    assert gap.max() > 0.1 and (gap > 1e-6).mean() > 0.5


def test_err_ia_of_grades_is_not_that_of_ndeval(year):
    """Equation 5 has grades, and no division by what a run can reach at best."""
    both = difference(*year, {"ERR-IA@20": "ERR-IA@20"})
    assert (both["theirs"] - both["ours"]).abs().max() > 0.1
    # With grades 0 and 1 only the constant is left.
    qrels, runs = year
    binary = qrels.assign(relevance=(qrels["relevance"] > 0).astype(float))
    both = difference(binary, runs, {"ERR-IA@20": "ERR-IA@20"})
    best = sum(0.5**r / r for r in range(1, 21))
    assert (both["ours"] / best - both["theirs"]).abs().max() < 1e-14


def test_cutoff_1_of_ndeval_is_not_normalized():
    """It leaves rank 1 out of its normalization; its output begins at rank 5."""
    qrels, _, runs = collection(1, queries=12, runs=5)
    both = difference(qrels, runs, at((1, 2), {"ERR-IA": OURS["ERR-IA"]}))
    intents = qrels[qrels.relevance > 0].groupby("query_id")["intent_id"].nunique()
    factor = intents.reindex(both.index.get_level_values(1)).fillna(1).to_numpy()
    first = both.index.get_level_values(2).str.endswith("@1")
    factor = np.where(first, factor, 1)
    assert (both["theirs"] / factor - both["ours"]).abs().max() < 1e-14
    assert (both["theirs"] > 1).any()


@pytest.mark.parametrize("alpha", [0.0, 0.1, 0.3, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("beta", [0.0, 0.4, 0.8])
def test_other_parameters_on_made_up_runs(alpha, beta):
    """Heavy in ties; negative grades, intents and topics without relevant documents."""
    names = {"alpha-nDCG": f"alpha_nDCG(alpha={alpha})@{{k}}"}
    names |= {"NRBP": f"NRBP(alpha={alpha},beta={beta})"}
    for seed in (2, 3):
        qrels, _, runs = collection(seed, queries=9, runs=6)
        pairs = at((5, 10, 20), names)
        a = theirs(qrels, runs, list(pairs), alpha=alpha, beta=beta)
        a = a.rename(index=pairs, level=2)
        b = ours(qrels, runs, list(pairs.values()), missing="skip")
        gap = (a - b).abs()
        assert len(gap) == len(a) == len(b) and gap.max() < 1e-12


def test_every_measure_on_made_up_runs():
    names = {key: our for key, our in OURS.items() if key != "alpha-DCG"}
    for seed in range(4, 8):
        qrels, _, runs = collection(seed, queries=12, runs=8, most_docs=40)
        both = difference(qrels, runs, at((2, 5, 10, 20), names))
        assert (both["theirs"] - both["ours"]).abs().max() < 1e-14


def test_topics_that_a_run_lacks(year):
    """Theirs are left out; ours score 0 unless --missing skip says otherwise."""
    qrels, runs = year
    some = runs[runs["query_id"] != runs["query_id"].iloc[0]]
    pairs = {"alpha-nDCG@10": "alpha_nDCG@10"}
    both = difference(qrels, some, pairs)
    scores = ours(qrels, some, ["alpha_nDCG@10"])
    topics, names = qrels["query_id"].nunique(), runs["run_id"].nunique()
    assert len(scores) == topics * names
    assert len(both) == (topics - 1) * names


NAMES = {
    "alpha_nDCG": "alpha_nDCG@{k}",
    "ERR_IA": "ERR-IA(form=ndeval)@{k}",
    "StRecall": "I-rec@{k}",
    "P_IA": "P-IA@{k}",
    "AP_IA": "AP-IA",
    "NRBP": "NRBP",
}


def test_ir_measures(year):
    """They call pyndeval, and so have its order of runs and of ties."""
    ir_measures = pytest.importorskip("ir_measures", reason="pip install ir-measures")
    qrels, runs = year
    names = {
        ir_measures.parse_measure(name if "{k}" not in our else f"{name}@{k}"): our
        for name, our in NAMES.items()
        for k in (5, 10, 20)
    }
    names = {measure: our.format(k=measure["cutoff"] if "{k}" in our else "")
             for measure, our in names.items()}  # fmt: skip
    frame = qrels.rename(columns={"intent_id": "iteration"})
    frame = frame.assign(relevance=frame["relevance"].astype(int))
    evaluator = ir_measures.evaluator(list(names), frame)
    mine = ours(frame, runs, list(names.values()))
    for run, table in runs.groupby("run_id"):
        table = table.sort_values("query_id", kind="stable")
        found = list(evaluator.iter_calc(table))
        assert len(found) == len(names) * qrels["query_id"].nunique()
        for metric in found:
            value = mine[run, metric.query_id, names[metric.measure]]
            assert value == pytest.approx(metric.value, abs=1e-14, rel=0)
