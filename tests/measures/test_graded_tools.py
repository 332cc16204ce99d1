"""Graded measures beside public tools, on real collections.

All runs and topics by trec_eval; some runs and all topics by tools that take long.

pip install pytrec_eval-terrier ir_measures cwl-eval pyNTCIREVAL ranx; and perl.
"""

import shutil
from functools import cache

import numpy as np
import pandas as pd
import pytest
from helpers.tool_values import kept

import pgcjax
from pgcjax.engine import plan
from pgcjax.measures.catalogue import parse
from pgcjax.tensors.padding import at_least

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning"),
]
KEYS = ["run_id", "query_id", "measure"]
COLLECTIONS = ["web2009-2012", "web2013-2014", "cast2019", "dl21"]
QRELS = {
    "web2009-2012": "web-diversity/qrels/20*.diversity.qrels.gz",
    "web2013-2014": "web-diversity/qrels/qrels.web.*.gz",
    "cast2019": "cast2019/qrels/*.gz",
    "dl21": "dl21/qrels.dl21-passage.txt.gz",
}
RUNS = {"web2009-2012": "web-diversity", "cast2019": "cast2019", "dl21": "dl21"}


@pytest.fixture(scope="module", autouse=True)
def same_shapes():
    """Lay all collections out in the same shapes, so that they share programs."""
    with plan.using(runs=4, queries=16), at_least(axis=512, width=256, ranks=1023):
        yield


def read(path, columns: list[str], value: str) -> pd.DataFrame:
    """Read query, document and a value: the columns that count."""
    kept, ids = ["query_id", "doc_id", value], {"query_id": str, "doc_id": str}
    how = {"header": None, "names": columns, "usecols": kept, "dtype": ids}
    return pd.read_csv(path, sep=r"\s+", **how)


@cache
def collection(data, name: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Give qrels, the highest grade of all intents each, and runs of judged topics.

    Scores are as trec_eval up to version 9 reads them: float32. There are no runs of
    2013 and 2014: some are made up there, with many ties.
    """
    columns = ["query_id", "intent", "doc_id", "relevance"]
    paths = sorted(data.glob(QRELS[name]))
    qrels = pd.concat(read(path, columns, columns[-1]) for path in paths)
    qrels = qrels.groupby(["query_id", "doc_id"], as_index=False)["relevance"].max()
    if name not in RUNS:
        return qrels, _made_up(qrels)
    columns = ["query_id", "q0", "doc_id", "rank", "score", "tag"]
    runs = [
        read(path, columns, "score").assign(run_id=path.name)
        for path in sorted((data / RUNS[name] / "runs").iterdir())
    ]
    frame = pd.concat(runs, ignore_index=True)
    frame = frame[frame["query_id"].isin(qrels["query_id"])]
    return qrels, frame[["run_id", "query_id", "doc_id", "score"]]


def _made_up(qrels: pd.DataFrame) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows = []
    for query, judged in qrels.groupby("query_id"):
        pool = [*judged["doc_id"], *(f"unjudged-{i:03}" for i in range(100))]
        for run in ("short", "long", "longest"):
            size = min({"short": 7, "long": 150, "longest": 900}[run], len(pool))
            for doc in rng.choice(pool, size, replace=False):
                rows.append((run, query, doc, float(rng.integers(0, 40))))
    return pd.DataFrame(rows, columns=["run_id", "query_id", "doc_id", "score"])


def rounded(runs: pd.DataFrame) -> pd.DataFrame:
    scores = runs["score"].astype(np.float32).astype(np.float64)
    return runs.assign(score=scores)


def sorted_as_trec(runs: pd.DataFrame) -> pd.DataFrame:
    """Sort, and let scores differ: for tools that order ties in ways of their own."""
    runs = runs.sort_values(
        ["run_id", "query_id", "score", "doc_id"], ascending=[True, True, False, False]
    )
    place = runs.groupby(["run_id", "query_id"]).cumcount()
    return runs.assign(score=-place.astype(float))


def some_of(runs: pd.DataFrame, least: int = 4) -> pd.DataFrame:
    """Choose a few runs, from the first name to the last: for tools that take long."""
    names = sorted(runs["run_id"].unique())
    return runs[runs["run_id"].isin(names[:: max(1, len(names) // least)])]


def few_of(name: str, runs: pd.DataFrame) -> pd.DataFrame:
    """Choose a few runs of a collection: two have all the 173 questions of CAsT."""
    return some_of(runs, least=2 if name == "cast2019" else 4)


def compare(ours: dict[str, str], theirs, qrels, runs, tolerance, **options) -> int:
    """Compare our measures with values `(run, query, their name, value)`.

    Returns:
        How many were compared: all that either has.
    """
    both = beside(ours, theirs, qrels, runs, **options)
    worst = both.loc[both["gap"].idxmax()]
    assert both["gap"].max() <= tolerance, worst.to_dict()
    return len(both)


def beside(ours: dict[str, str], theirs, qrels, runs, **options) -> pd.DataFrame:
    """Put our values beside theirs, of all that either has; column gap."""
    names = {theirs_: str(parse(mine)) for theirs_, mine in ours.items()}
    scores = pgcjax.evaluate(
        runs, qrels=qrels, measures=[*ours.values()], missing="skip", **options
    )
    other = pd.DataFrame(theirs, columns=[*KEYS, "theirs"])
    other["measure"] = other["measure"].map(names)
    both = scores.table.merge(other, on=KEYS, how="outer", indicator=True)
    assert (both["_merge"] == "both").all()
    return both.assign(gap=(both["value"] - both["theirs"]).abs())


def as_dicts(frame: pd.DataFrame, column: str) -> dict:
    """Values of documents, by query; lists, as Arrow's strings come one by one."""
    columns = (frame[c].to_numpy(object) for c in ("query_id", "doc_id", column))
    found: dict[str, dict] = {}
    for query, doc, value in zip(*(c.tolist() for c in columns), strict=True):
        found.setdefault(query, {})[doc] = value
    return found


KINDS = {"ndcg", "map", "recip_rank", "set_P", "set_recall"}
KINDS |= {"ndcg_cut", "map_cut", "P", "recall"}


@kept("pytrec_eval-terrier")
def by_pytrec_eval(names, qrels, runs, levels=(1,), kinds=KINDS) -> list[tuple]:
    """Score by trec_eval; names of levels other than 1 end with the level."""
    tool = pytest.importorskip("pytrec_eval")
    judged = as_dicts(qrels, "relevance")
    evaluators = {
        "" if level == 1 else f"-l{level}": tool.RelevanceEvaluator(
            judged, kinds, relevance_level=level
        )
        for level in levels
    }
    return [
        (run, query, name + end, value)
        for run, rows in runs.groupby("run_id")
        for ranked in [as_dicts(rows, "score")]
        for end, evaluator in evaluators.items()
        for query, values in evaluator.evaluate(ranked).items()
        for name, value in values.items()
        if name + end in names
    ]


def names_of(end: str, rel: str) -> dict[str, str]:
    names = {"map": f"AP{rel}", "recip_rank": f"RR{rel}", "set_P": f"P{rel}"}
    names |= {"set_recall": f"R{rel}"}
    for k in (5, 10, 100, 1000):
        names |= {f"map_cut_{k}": f"AP{rel}@{k}", f"P_{k}": f"P{rel}@{k}"}
        names |= {f"recall_{k}": f"R{rel}@{k}"}
    return {name + end: ours for name, ours in names.items()}


COUNTS = {"web2009-2012": 598, "web2013-2014": 300, "cast2019": 4497, "dl21": 3339}


@pytest.mark.parametrize("name", COLLECTIONS)
def test_trec_eval(data, name):
    """Of relevance from 1 on, and from 2 on."""
    qrels, runs = collection(data, name)
    runs = rounded(runs)
    names = names_of("", "") | names_of("-l2", "(rel=2)")
    names |= {"ndcg": "nDCG", "ndcg_cut_10": "nDCG@10", "ndcg_cut_100": "nDCG@100"}
    theirs = by_pytrec_eval(names, qrels, runs, (1, 2))
    count = compare(names, theirs, qrels, runs, 1e-12)
    assert count == len(names) * COUNTS[name]


def test_trec_eval_up_to_version_9_ties_what_is_equal_in_float32(data):
    qrels, runs = collection(data, "dl21")
    per_topic = rounded(runs).groupby(["run_id", "query_id"])["score"].nunique()
    tied = runs.groupby(["run_id", "query_id"])["score"].nunique() > per_topic
    more_ties = set(tied[tied].index.get_level_values("run_id"))
    names = {"ndcg": "nDCG"}
    theirs = by_pytrec_eval(names, qrels, runs, kinds={"ndcg"})
    both = beside(names, theirs, qrels, runs)
    tied = both["run_id"].isin(more_ties)
    assert both["gap"][tied].max() > 1e-12 >= both["gap"][~tied].max()
    assert (~tied).sum() > 50 * 50
    both = beside(names, theirs, qrels, runs, float32=True)
    assert len(both) == COUNTS["dl21"] and both["gap"].max() <= 1e-12


@pytest.mark.parametrize("name", COLLECTIONS)
def test_gdeval(data, name):
    """ERR with gmax 4 and exponential nDCG; it prints five decimals."""
    if not shutil.which("perl"):
        pytest.skip("needs perl")
    measures = pytest.importorskip("ir_measures")
    qrels, runs = collection(data, name)
    runs = some_of(runs, least=5)
    top = sorted_as_trec(runs).groupby(["run_id", "query_id"]).head(20).index
    runs = runs.loc[top]  # with its ties: it has trec_eval's order
    number = {q: str(i + 1) for i, q in enumerate(sorted(set(qrels["query_id"])))}
    qrels = qrels.assign(query_id=qrels["query_id"].map(number))
    runs = runs.assign(query_id=runs["query_id"].map(number))
    relevant = set(qrels.loc[qrels["relevance"] > 0, "query_id"])
    qrels = qrels[qrels["query_id"].isin(relevant)]
    runs = runs[runs["query_id"].isin(relevant)]
    chosen = [measures.ERR @ 20, measures.nDCG(dcg="exp-log2") @ 20]
    theirs = by_ir_measures(measures, "gdeval", chosen, qrels, runs)
    ours = dict(
        zip(map(str, chosen), ["ERR(gmax=4)@20", "nDCG(gain=exp)@20"], strict=True)
    )
    assert compare(ours, theirs, qrels, runs, 5.001e-6) == len(theirs) > 2 * 90


@pytest.mark.parametrize("name", COLLECTIONS)
def test_ir_measures(data, name):
    """Its own names; RBP of 1000 documents at most; Judged, ties in Clarke's order."""
    measures = pytest.importorskip("ir_measures")
    pytest.importorskip("cwl")
    qrels, runs = collection(data, name)
    runs = few_of(name, runs)
    ordered = sorted_as_trec(runs)
    ours = {"RBP(rel=1)": "RBP(p=0.8)", "RBP(rel=2,p=0.95)": "RBP(p=0.95,rel=2)"}
    chosen = [measures.RBP(rel=1), measures.RBP(rel=2, p=0.95)]
    theirs = by_ir_measures(measures, "cwl_eval", chosen, qrels, ordered)
    assert len(theirs) > 2 * 150
    chosen = [measures.AP, measures.RR, measures.P @ 10, measures.nDCG @ 10]
    chosen += [measures.AP(rel=2) @ 100, measures.R(rel=2) @ 20]
    theirs += by_ir_measures(measures, "pytrec_eval", chosen, qrels, ordered)
    ours |= {name: name for name in map(str, chosen)}  # they are ours, too
    both = beside(ours, theirs, qrels, ordered)
    cwl = both["measure"].str.startswith("RBP")
    assert both["gap"][cwl].max() <= 1e-6 and both["gap"][~cwl].max() <= 1e-12
    assert len(both) == len(theirs) > 8 * 150
    chosen = [measures.Judged @ 10, measures.Judged @ 500, measures.Judged]
    ours = {"Judged@10": "Judged@10", "Judged@500": "Judged@500", "Judged": "Judged"}
    theirs = by_ir_measures(measures, "judged", chosen, qrels, runs)
    count = compare(ours, theirs, qrels, runs, 1e-12, order="clarke")
    assert count == len(theirs) > 3 * 150


@kept("ir-measures", "cwl-eval", "pytrec_eval-terrier")
def by_ir_measures(measures, provider: str, chosen, qrels, runs) -> list[tuple]:
    """Score by a tool of ir_measures, without zeros for queries that a run lacks."""
    provider = measures.providers.registry[provider]
    # Python's own strings: the tools ask for them one by one.
    qrels = qrels.astype({"query_id": object, "doc_id": object})
    runs = runs.astype({"query_id": object, "doc_id": object})
    return [
        (run, row.query_id, str(row.measure), row.value)
        for run, rows in runs.groupby("run_id")
        for has in [set(rows["query_id"])]
        for own in [qrels[qrels["query_id"].isin(has)]]  # all that the tool needs
        for row in provider.iter_calc(chosen, own, rows)
        if row.query_id in has
    ]


@pytest.mark.parametrize("name", ["web2013-2014", "cast2019", "dl21"])
def test_ntcireval(data, name):
    """Grades as gains; the first hundred documents, as it takes its time."""
    pytest.importorskip("pyNTCIREVAL.metrics")
    qrels, runs = collection(data, name)
    qrels = qrels.assign(relevance=qrels["relevance"].clip(lower=0))
    runs = sorted_as_trec(few_of(name, runs)).groupby(["run_id", "query_id"]).head(100)
    relevant = qrels[qrels["relevance"] > 0]["query_id"].unique()
    most = int(qrels["relevance"].max())
    qrels, runs = (t[t["query_id"].isin(relevant)] for t in (qrels, runs))
    theirs = by_ntcireval(most, qrels, runs)
    ours = {name: name for _, _, name, _ in theirs[:11]}
    assert compare(ours, theirs, qrels, runs, 1e-12) == len(theirs) > 11 * 100


@kept("pyNTCIREVAL")
def by_ntcireval(most: int, qrels, runs) -> list[tuple]:
    """Score by NTCIREVAL in Python; `most` is the highest grade of the collection."""
    ntcir = pytest.importorskip("pyNTCIREVAL.metrics")
    grades = list(range(1, most + 1))
    theirs, known = [], as_dicts(qrels, "relevance")
    for (run, query), rows in runs.groupby(["run_id", "query_id"], sort=False):
        level = known[query]
        numbers = np.bincount([*level.values()], minlength=most + 1).tolist()
        made = numbers, grades
        metrics = {
            "O": ntcir.OMeasure(*made, 1.0),
            "P+": ntcir.PPlusMeasure(*made, 1.0),
            "P+(beta=0.5)": ntcir.PPlusMeasure(*made, 0.5),
            "Q": ntcir.QMeasure(*made, 1.0),
            "Q@10": ntcir.QMeasure(*made, 1.0, 10),
            "AP(relevant=reachable)@10": ntcir.AP(*made, 10),
            "nDCG(discount=original)@20": ntcir.nDCG(*made, 2, 20),
            "MSnDCG(gain=linear)@20": ntcir.MSnDCG(*made, 20),
            "nERR(stop=linear)@20": ntcir.nERR(*made, 20),
            "ERR(stop=linear)": ntcir.ERR(*made),
            "RBP(p=0.9,gain=linear)": ntcir.RBP(*made, 0.9),
        }
        ranked = [(doc, level.get(doc)) for doc in rows["doc_id"]]
        theirs += [(run, query, n, m.compute(ranked)) for n, m in metrics.items()]
    return theirs


# ranx 0.3.21, whose loops numba compiles, until a release without such sums.
@pytest.mark.filterwarnings("ignore:.*unsafe cast from uint64 to int64")
@pytest.mark.parametrize("name", COLLECTIONS)
def test_ranx(data, name):
    """Some runs. Its rbp takes grades as they are: ours, times the highest grade.

    Its own objects, scored here, give the bits that our tables give.
    """
    ranx = pytest.importorskip("ranx")
    qrels, runs = collection(data, name)
    runs = sorted_as_trec(few_of(name, runs))
    relevant = set(qrels.loc[qrels["relevance"] > 0, "query_id"])
    qrels, runs = (t[t["query_id"].isin(relevant)] for t in (qrels, runs))
    judged = ranx.Qrels(as_dicts(qrels.astype({"relevance": int}), "relevance"))
    names = {
        "ndcg": "nDCG",
        "ndcg@10": "nDCG@10",
        "ndcg_burges@10": "nDCG(gain=exp)@10",
    }
    names |= {"dcg@10": "DCG@10", "dcg_burges": "DCG(gain=exp)", "map": "AP"}
    names |= {"map@100": "AP@100", "mrr": "RR", "precision@10": "P@10"}
    names |= {"precision": "P", "recall@100": "R@100", "recall": "R"}
    names |= {"map@10-l2": "AP(rel=2)@10", "mrr-l2": "RR(rel=2)"}
    theirs, held = [], []
    for run, rows in runs.groupby("run_id"):
        mine = judged.keys() & set(rows["query_id"])
        part = ranx.Qrels({q: judged.qrels[q] for q in sorted(mine)})
        ranked = ranx.Run(as_dicts(rows, "score"), name=run)
        held.append(ranked)
        asked = [*names, "rbp.80"]
        values = ranx.evaluate(part, ranked, asked, return_mean=False)
        for metric in asked:
            each = zip(sorted(mine), values[metric], strict=True)
            theirs += [(run, query, metric, value) for query, value in each]
    most = qrels["relevance"].max()
    raw = [(*r[:3], r[3] / most) for r in theirs if r[2] == "rbp.80"]
    theirs = [row for row in theirs if row[2] in names]
    assert compare(names, theirs, qrels, runs, 1e-12) == len(theirs)
    linear = {"rbp.80": "RBP(p=0.8,gain=linear)"}
    assert compare(linear, raw, qrels, runs, 1e-12) == len(raw) > 150
    asked = {"measures": list(names.values()), "missing": "skip"}
    table = pgcjax.evaluate(held, qrels=judged, **asked).table
    assert table.equals(pgcjax.evaluate(runs, qrels=qrels, **asked).table)
