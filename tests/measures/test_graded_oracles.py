"""Graded measures beside the outputs that other tools publish with their tests."""

import re
from pathlib import Path

import pandas as pd
import pytest

import pgcjax
from pgcjax.measures.catalogue import parse
from pgcjax.tensors.padding import at_least

pytestmark = pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning")

# Whose trec_eval names we have; what is left out of its output is no measure of ours.
KNOWN = "map(_cut_.*)?|ndcg(_cut_.*)?|recip_rank|P_.*|recall_.*|set_P|set_recall"
KNOWN += "|iprec_at_recall_.*|11pt_avg"
BINARY = ("map", "recip_rank", "P_", "recall_", "set_", "iprec", "11pt")


@pytest.fixture(scope="module", autouse=True)
def same_shapes():
    """Lay all queries out in the same shapes, so that they share programs."""
    with at_least(axis=512, width=256, ranks=511):
        yield


def lines(path: Path) -> dict[tuple[str, str], str]:
    """Read `measure query value` of trec_eval, each value as it is printed."""
    rows = [line.split() for line in path.read_text(encoding="utf-8").splitlines()]
    return {(row[0], row[1]): row[2] for row in rows}


def table(path: Path, columns: list[str]) -> pd.DataFrame:
    """Read fields by name; some runs there have words after their six fields."""
    rows = [
        line.split()[: len(columns)]
        for line in path.read_text(encoding="utf-8").splitlines()
        if not line.startswith("#")
    ]
    frame = pd.DataFrame(rows, columns=columns)
    numbers = {c: float for c in ("score", "relevance") if c in frame}
    return frame.astype(numbers)


def qrels_of(folder: Path, name: str = "qrels.test") -> pd.DataFrame:
    return table(folder / name, ["query_id", "iteration", "doc_id", "relevance"])


def run_of(folder: Path, name: str = "results.test") -> pd.DataFrame:
    columns = ["query_id", "q0", "doc_id", "rank", "score", "tag"]
    return table(folder / name, columns)[["query_id", "doc_id", "score"]]


def printed(run, qrels, measures: dict[str, str], **options) -> dict:
    """Score by our measures, printed under trec_eval's names, with their means."""
    scores = pgcjax.evaluate(run, qrels=qrels, measures=[*measures.values()], **options)
    out = {}
    for theirs, ours in measures.items():
        column = scores.matrix(str(parse(ours))).loc["run"]
        for query, value in [*column.items(), ("all", column.mean())]:
            out[theirs, str(query)] = f"{value:.4f}"
    return out


def known(expected: dict) -> dict[str, str]:
    """Choose the measures of an output that we have: by name they are ours."""
    names = dict.fromkeys(name for name, _ in expected)
    return {name: spelled(name) for name in names if re.fullmatch(KNOWN, name)}


def spelled(name: str) -> str:
    """Spell a measure of trec_eval 10, whose outputs these are."""
    measure = str(parse(name))
    if not measure.startswith(("IPrec", "11pt")):
        return measure
    base, at, level = measure.partition("@")
    return f"{base}(rounding=nearest){at}{level}"


def strict(name: str) -> str:
    """Spell a measure with -l 2, as trec_eval's option changes it."""
    measure = spelled(name)
    if not name.startswith(BINARY):
        return measure
    base, at, k = measure.replace(")", "").partition("@")
    inside = f"{base}," if "(" in base else f"{base}("
    return f"{inside}rel=2){at}{k}"


@pytest.fixture
def trec(data) -> Path:
    return data / "oracles" / "trec_eval"


def assert_equal(ours: dict, theirs: dict, count: int) -> None:
    """Compare what both have; `count` says how much that is."""
    common = {key: value for key, value in theirs.items() if key in ours}
    assert len(common) == count
    assert {key: ours[key] for key in common} == common


def test_trec_eval(trec):
    """All queries: the default measures, and all measures (-m all_trec)."""
    run, qrels = run_of(trec), qrels_of(trec)
    ours = printed(run, qrels, known(lines(trec / "out.test.aq")))
    for name, count in (("out.test", 22), ("out.test.a", 53), ("out.test.aq", 212)):
        assert_equal(ours, lines(trec / name), count)


def test_trec_eval_of_a_relevance_level(trec):
    """-l 2, on grades -1 to 4: ndcg takes all of them, the others those from 2 on."""
    theirs = lines(trec / "out.test.aql")
    measures = {name: strict(name) for name in known(theirs)}
    ours = printed(run_of(trec), qrels_of(trec, "qrels.rel_level"), measures)
    assert_equal(ours, theirs, 212)


def test_trec_eval_of_missing_queries_and_short_runs(trec):
    """-c takes a query that the run lacks as 0; -M 100 cuts runs."""
    run, qrels = run_of(trec, "results.trunc"), qrels_of(trec)
    assert set(run["query_id"]) < set(qrels["query_id"])
    theirs = lines(trec / "out.test.aqc")
    assert_equal(printed(run, qrels, known(theirs)), theirs, 212)
    ranked = run.sort_values(["score", "doc_id"], ascending=False)
    theirs = lines(trec / "out.test.aqcM")
    ours = printed(ranked.groupby("query_id").head(100), qrels, known(theirs))
    assert_equal(ours, theirs, 212)


def test_trec_eval_in_standard_deviations(trec):
    """-Z: (score - mean) / deviation of each query, by the means of some systems."""
    theirs = {
        key: (float(row[2]), float(row[3]))
        for row in map(str.split, (trec / "zscores_file").read_text().splitlines())
        for key in [(row[1], row[0])]
    }
    expected = lines(trec / "out.test.aqZ")
    measures = known({(n[1:], q): v for (n, q), v in expected.items()})
    names = [*measures.values()]
    table = pgcjax.evaluate(run_of(trec), qrels=qrels_of(trec), measures=names).table
    ours = {measure: name for name, measure in measures.items()}
    compared = 0
    for query, measure, value in table[["query_id", "measure", "value"]].to_numpy():
        mean, deviation = theirs.get((ours[measure], query), (0.0, 0.0))
        if deviation:
            z = expected["Z" + ours[measure], query]
            # Means, deviations and z are printed with four decimals.
            near = (1 + abs(float(z))) * 1e-4 / deviation
            assert (value - mean) / deviation == pytest.approx(float(z), abs=near)
            compared += 1
    assert compared == 3 * len(names) - 3  # where nothing deviates


def test_trec_eval_of_given_cutoffs_and_gains(trec):
    """Gains are grades: -m ndcg.1=3,2=9,4=4.5 is nDCG of such grades."""
    theirs = lines(trec / "out.test.meas_params")
    measures = {n: m for n, m in known(theirs).items() if not n.startswith("ndcg_1")}
    run, qrels = run_of(trec), qrels_of(trec)
    assert_equal(printed(run, qrels, measures), theirs, 52)
    gains = qrels["relevance"].replace({1: 3, 2: 9, 4: 4.5})
    ours = printed(run, qrels.assign(relevance=gains), {"ndcg_1=3,2=9,4=4.5": "nDCG"})
    assert_equal(ours, theirs, 4)


@pytest.mark.parametrize(
    ("output", "qrels"),
    [("out.test.aq", "qrels.test"), ("out.test.aql", "qrels.rel_level")],
)
def test_trec_eval_of_rank_biased_precision_and_unjudged(trec, output, qrels):
    """Its rbp takes the highest grade of the query as 1; grades < 0 are unjudged."""
    theirs, run = lines(trec / output), run_of(trec)
    judged = qrels_of(trec, qrels).query("relevance >= 0")
    names = {"rbp": "RBP(p=0.9,gain=linear,gmax=topic)", "rbp_resid": "rbp_resid"}
    assert_equal(printed(run, judged, names), theirs, 8)
    cutoffs = {f"unj_{k}": f"Judged@{k}" for k in (5, 10, 20)}
    scores = pgcjax.evaluate(run, qrels=judged, measures=[*cutoffs.values()])
    for name, ours in cutoffs.items():
        for query, share in scores.matrix(ours).loc["run"].items():
            assert theirs[name, str(query)] == f"{1 - share:.4f}"


# What each line of pyNTCIREVAL is. Not ours: P-measure, the four NCU*, Hit.
NTCIREVAL = {
    "RR": "RR",
    "O-measure": "O",
    "P-plus": "P+",
    "AP": "AP",
    "Q-measure": "Q",
    "RBP": "RBP(p=0.95,gain=linear)",
    "ERR": "ERR(stop=linear)",
    "AP@": "AP(relevant=reachable)@",
    "Q@": "Q@",
    "nDCG@": "nDCG(discount=original)@",
    "MSnDCG@": "MSnDCG(gain=linear)@",
    "P@": "P@",
    "nERR@": "nERR(stop=linear)@",
}


@pytest.mark.parametrize(
    ("name", "gains", "condensed"),
    [
        ("compute", (1, 2, 3), False),
        ("compute_cutoff", (1, 2, 3), False),
        ("compute_grade", (1, 4, 9), False),
        ("compute_label_j", (1, 2, 3), True),
    ],
)
def test_ntcireval(data, name, gains, condensed):
    """Gains (its -g) are our grades; -j leaves unjudged documents out of the run."""
    folder = data / "oracles" / "pyntcireval"
    level = dict(map(str.split, (folder / "sample.rel").read_text().splitlines()))
    grades = {doc: (0, *gains)[int(lev[1:])] for doc, lev in level.items()}
    run = (folder / "sample.res").read_text().split()
    if condensed:
        run = [doc for doc in run if doc in grades]
        labelled = (folder / "sample-j.lab").read_text().splitlines()
        assert [line.split()[0] for line in labelled] == run
    ranked = {"q": {doc: -float(rank) for rank, doc in enumerate(run)}}
    printed = {}
    for line in (folder / f"res_test_{name}.txt").read_text().splitlines():
        theirs, equals, value = line.partition("=")
        base, at, k = theirs.strip().partition("@")
        if "#" in line or not equals or base + at not in NTCIREVAL:
            continue
        measure = NTCIREVAL[base + at] + (str(int(k)) if k else "")
        printed[measure] = value.strip()
    scores = pgcjax.evaluate(ranked, qrels={"q": grades}, measures=[*printed]).table
    ours = [f"{value:.4f}" for value in scores["value"]]
    assert ours == list(printed.values()) and len(ours) == 13
