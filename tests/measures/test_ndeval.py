"""Diversity measures of four years of the TREC Web Track, beside ndeval's own code.

pyndeval is the C program of the track as a package. Every run of the public data counts
(12), with every topic that is judged.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from helpers.builders import run_table
from helpers.diverse import collection
from helpers.queries import joined

import pgcjax
from pgcjax.engine import plan
from pgcjax.io.graded import read_intent_qrels
from pgcjax.tensors.padding import at_least

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
    "nNRBP": "nNRBP",
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
    runs = runs.astype({"query_id": object, "doc_id": object})  # it asks one by one
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
    """Score by both, and give the scores by our names."""
    a = theirs(qrels, runs, list(pairs))
    return beside(a, ours(qrels, runs, list(pairs.values()), missing="skip"), pairs)


def beside(a: pd.Series, b: pd.Series, pairs: dict[str, str]) -> pd.DataFrame:
    """Put theirs beside ours, by our names."""
    a = a[a.index.isin([*pairs], level=2)].rename(index=pairs, level=2)
    b = b[b.index.isin([*pairs.values()], level=2)]
    assert set(a.index) == set(b.index)
    return pd.DataFrame({"theirs": a, "ours": b})


def at(cutoffs, names=OURS) -> dict[str, str]:
    """Name their measures and ours at some cutoffs."""
    return {
        name if "{k}" not in our else f"{name}@{k}": our.format(k=k)
        for name, our in names.items()
        for k in cutoffs
    }


@pytest.fixture(scope="module", autouse=True)
def same_shapes():
    """Lay all years and all made-up cases out in shapes of few programs."""
    with plan.using(runs=4, queries=16), at_least(axis=16, width=64, ranks=2047):
        yield


class Year(NamedTuple):
    """Judgments and runs of a year, and the scores of all measures of these tests.

    Attributes:
        qrels: of intents.
        runs: of the year.
        theirs: scores of ndeval, which has no grades but 0 and 1.
        scores: ours.
        binary: ours of judgments without other grades, by ERR.
    """

    qrels: pd.DataFrame
    runs: pd.DataFrame
    theirs: pd.Series
    scores: pd.Series
    binary: pd.Series

    @property
    def two(self) -> pd.DataFrame:
        """The first two runs, or the only one."""
        names = sorted(self.runs["run_id"].unique())[:2]
        return self.runs[self.runs["run_id"].isin(names)]

    def difference(self, pairs: dict[str, str]) -> pd.DataFrame:
        """Put their scores beside ours, by our names."""
        return beside(self.theirs, self.scores, pairs)


NERR = {"nERR-IA@20": "nERR-IA@20"}
ERR = {"ERR-IA@20": "ERR-IA@20"}


@pytest.fixture(scope="module")
def tables(data) -> dict[int, tuple[pd.DataFrame, pd.DataFrame]]:
    """Judgments of each year, and its runs by number: no two years share a topic.

    So the first runs of all years are one run, as the second ones are.
    """
    folder, read = data / "web-diversity", {}
    for year in YEARS:
        qrels = read_intent_qrels(folder / f"qrels/{year}.diversity.qrels.gz")
        paths = sorted((folder / "runs").glob(f"*{year}*"))
        runs = [run_table(p).assign(run_id=f"run{i}") for i, p in enumerate(paths)]
        read[year] = qrels, pd.concat(runs, ignore_index=True)
    return read


@pytest.fixture(scope="module")
def scores(tables) -> list[pd.Series]:
    """Our scores of all years: of grades by all measures, of relevance by one."""
    qrels, runs = (pd.concat(each) for each in zip(*tables.values(), strict=True))
    names = [our for names in (at((5, 10, 20)), NERR, ERR) for our in names.values()]
    graded = ours(qrels, runs, names)
    return [graded, ours(binary(qrels), runs, [*ERR.values()])]


@pytest.fixture(scope="module", params=YEARS)
def year(request, tables, scores) -> Year:
    qrels, runs = tables[request.param]
    mine = scores
    for level, ids in (("run_id", runs["run_id"]), ("query_id", qrels["query_id"])):
        mine = [s[s.index.isin(set(ids.unique()), level=level)] for s in mine]
    return Year(qrels, runs, theirs(qrels, runs, [*at((5, 10, 20)), *NERR]), *mine)


def binary(qrels: pd.DataFrame) -> pd.DataFrame:
    """Leave the grades 0 and 1."""
    return qrels.assign(relevance=(qrels["relevance"] > 0).astype(float))


def test_every_run_and_topic(year):
    names = {key: our for key, our in OURS.items() if key != "alpha-DCG"}
    both = year.difference(at((5, 10, 20), names))
    topics = year.qrels["query_id"].nunique()
    assert len(both) == 15 * topics * year.runs["run_id"].nunique()
    assert (both["theirs"] - both["ours"]).abs().max() < 1e-14
    # Nothing here is equal for being 0.
    assert (both.groupby(level=2)["ours"].mean() > 0.02).all()


def test_alpha_dcg_is_theirs_without_its_normalization(year):
    """Theirs is divided by that of documents which all serve every intent."""
    names = at((5, 10, 20), {"alpha-DCG": "alpha_DCG@{k}"})
    both = year.difference(names)
    relevant = year.qrels[year.qrels["relevance"] > 0]
    intents = relevant.groupby("query_id")["intent_id"].nunique()
    for (_, query, measure), row in both.iterrows():
        k = int(measure.partition("@")[2])
        best = sum(0.5 ** (r - 1) / np.log2(r + 1) for r in range(1, k + 1))
        assert row["ours"] / best / intents[query] == pytest.approx(
            row["theirs"], abs=1e-14, rel=0
        )


def test_nerr_ia_is_another_measure(year):
    """Ours is the mean of nERR over intents; theirs has one list for all of them."""
    both = year.difference(NERR)
    gap = (both["theirs"] - both["ours"]).abs()
    assert gap.max() > 0.1 and (gap > 1e-6).mean() > 0.5


def test_err_ia_of_grades_is_not_that_of_ndeval(year):
    """Equation 5 has grades, and no division by what a run can reach at best."""
    both = year.difference(ERR)
    assert (both["theirs"] - both["ours"]).abs().max() > 0.1
    # With grades 0 and 1 only the constant is left.
    both = beside(year.theirs, year.binary, ERR)
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


ALPHAS, BETAS = (0.0, 0.1, 0.3, 0.5, 0.9, 1.0), (0.0, 0.4, 0.8)


def test_other_parameters_on_made_up_runs():
    """Heavy in ties; negative grades, intents and topics without relevant documents."""
    qrels, _, runs = joined(collection, (2, 3), queries=9, runs=6)
    names = {
        (alpha, beta): at(
            (5, 10, 20), {"alpha-nDCG": f"alpha_nDCG(alpha={alpha:g})@{{k}}"}
        )
        | {n: f"{n}(alpha={alpha:g},beta={beta:g})" for n in ("NRBP", "nNRBP")}
        for alpha in ALPHAS
        for beta in BETAS
    }
    every = dict.fromkeys(our for pairs in names.values() for our in pairs.values())
    b = ours(qrels, runs, list(every), missing="skip")
    for (alpha, beta), pairs in names.items():
        a = theirs(qrels, runs, list(pairs), alpha=alpha, beta=beta)
        a = a.rename(index=pairs, level=2)
        nothing = a[a.isna()].index.get_level_values(2).unique()  # … is relevant: 0 / 0
        assert set(nothing) == {pairs["nNRBP"]}
        a = a.fillna(0.0)
        gap = (a - b[b.index.isin(list(pairs.values()), level="measure")]).abs()
        assert len(gap) == len(a) and gap.notna().all() and gap.max() < 1e-12


def test_every_measure_on_made_up_runs():
    names = {key: our for key, our in OURS.items() if key != "alpha-DCG"}
    sizes = {"queries": 12, "runs": 8, "most_docs": 40}
    qrels, _, runs = joined(collection, range(4, 8), **sizes)
    both = difference(qrels, runs, at((2, 5, 10, 20), names))
    assert (both["theirs"] - both["ours"]).abs().max() < 1e-14


def test_topics_that_a_run_lacks(year):
    """Theirs are left out; ours score 0 unless --missing skip says otherwise."""
    topics = year.qrels["query_id"].nunique()
    some = year.two[year.two["query_id"] != year.two["query_id"].iloc[0]]
    both = difference(year.qrels, some, {"alpha-nDCG@10": "alpha_nDCG@10"})
    scores = ours(year.qrels, some, ["alpha_nDCG@10"])
    names = some["run_id"].nunique()
    assert len(scores) == topics * names
    assert len(both) == (topics - 1) * names
