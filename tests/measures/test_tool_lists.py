"""All measures of trec_eval and of cwl_eval, query by query on real collections.

What all their measures have in common is tested on more data in test_graded_tools.py.
"""

import re
from math import exp, log, log2

import numpy as np
import pandas as pd
import pytest
from helpers.builders import run_of
from helpers.collections import collection as drawn
from test_graded_oracles import lines, qrels_of
from test_graded_oracles import run_of as trec_run
from test_graded_tools import (
    beside,
    by_ir_measures,
    by_pytrec_eval,
    collection,
    rounded,
    some_of,
    sorted_as_trec,
)

import pgcjax
from pgcjax.engine import plan
from pgcjax.errors import UsageError
from pgcjax.measures.between_rankings import parse as parse_between
from pgcjax.measures.catalogue import is_preset, parse
from pgcjax.measures.other_names import MEANINGS, explained
from pgcjax.tensors.padding import at_least

pytestmark = pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning")
WHOLE = {
    "11pt_avg": "11pt_avg",
    "Rprec": "Rprec",
    "bpref": "Bpref",
    "infAP": "infAP",
    "binG": "binG",
    "set_F": "SetF",
    "set_map": "SetAP",
    "set_relative_P": "RelP",
    "num_rel_ret": "NumRelRet",
    "num_nonrel_judged_ret": "NumNonRelRet",
    "utility": "utility",
}
GRADED = {"num_q": "NumQ", "num_ret": "NumRet", "num_rel": "NumRel"}
GRADED |= {"G": "G", "Rndcg": "Rndcg", "ndcg_rel": "ndcg_rel"}
KINDS = {*WHOLE, *GRADED, "iprec_at_recall", "Rprec_mult", "relative_P", "success"}


@pytest.fixture(scope="module", autouse=True)
def same_shapes():
    """Lay all collections out in the same shapes, so that they share programs."""
    lengths = {"documents": 64, "axis": 64, "width": 256, "ranks": 1023}
    with plan.using(runs=4, queries=8), at_least(**lengths):
        yield


def names_of(end: str, rel: str) -> dict[str, str]:
    """Names of trec_eval, and ours, from a level of relevance on."""
    inside = f"({rel})" if rel else ""
    names = {theirs: ours + inside for theirs, ours in WHOLE.items()}
    for x in (0.0, 0.1, 0.6):
        names[f"iprec_at_recall_{x:.2f}"] = f"IPrec{inside}@{x}"
    for x in (0.2, 0.6, 2.0):
        names[f"Rprec_mult_{x:.2f}"] = f"Rprec({rel}{',' * bool(rel)}mult={x})"
    for k in (5, 1000):
        names[f"relative_P_{k}"] = f"RelP{inside}@{k}"
    for k in (1, 10):
        names[f"success_{k}"] = f"Success{inside}@{k}"
    return {name + end: ours for name, ours in names.items()}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dl21", "web2009-2012"])
def test_trec_eval(data, name):
    """Of relevance from 1 on, and from 2 on; and its names are ours."""
    qrels, runs = collection(data, name)
    runs = rounded(some_of(runs))
    names = names_of("", "") | names_of("-l2", "rel=2") | GRADED
    assert all(parse(n) == parse(m) for n, m in names.items() if "-l2" not in n)
    theirs = by_pytrec_eval(names, qrels, runs, (1, 2), KINDS)
    both = beside(names, theirs, qrels, runs)
    assert both["gap"].max() <= 1e-12 and len(both) == len(theirs) > 40 * 150
    assert both.assign(size=both["value"].abs()).groupby("measure")["size"].max().min()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dl21", "web2009-2012"])
def test_cwl_eval_and_accuracy(data, name):
    """As ir_measures computes them; Accuracy where a run has a relevant document."""
    m = pytest.importorskip("ir_measures")
    pytest.importorskip("cwl")
    qrels, runs = collection(data, name)
    runs = sorted_as_trec(some_of(runs, least=2))
    few = runs.drop_duplicates(["run_id", "query_id"]).groupby("run_id").head(12)
    runs = runs[runs["query_id"].isin(few["query_id"])]  # it takes its time
    scale = {"max_rel": int(qrels["relevance"].max())}
    raised = scale | {"min_rel": 1}
    chosen = [m.BPM(**scale) @ 10, m.SDCG(**scale) @ 100, m.SDCG(**raised) @ 10]
    chosen += [m.INSQ(T=3.0, **raised), m.INST(**scale), m.INST(T=2.5, **raised)]
    chosen += [m.NERR8(**scale) @ 10, m.NERR9(**raised) @ 20, m.NERR8(**scale) @ 2000]
    chosen += [m.NERR10(**scale), m.NERR10(p=0.7, **raised), m.NERR11(T=2.0, **scale)]
    ours = {str(asked): str(parse(asked)) for asked in chosen}
    theirs = by_ir_measures(m, "cwl_eval", chosen, qrels, runs)
    both = beside(ours, theirs, qrels, runs)
    assert both["gap"].max() <= 1e-12 and len(both) == len(theirs) >= 12 * 24
    ours = {"Accuracy": "Accuracy", "Accuracy(rel=2)": "Accuracy(rel=2)"}
    theirs = by_ir_measures(m, "accuracy", [m.Accuracy, m.Accuracy(rel=2)], qrels, runs)
    keys = ["run_id", "query_id", "measure"]
    values = pgcjax.evaluate(runs, qrels=qrels, measures=[*ours.values()]).table
    known = pd.DataFrame(theirs, columns=[*keys, "theirs"]).replace({"measure": ours})
    both = values.merge(known, on=keys, how="left")
    assert (both["value"] - both["theirs"]).abs().max() <= 1e-12
    assert both["theirs"].notna().sum() == len(theirs) > 40
    assert (both.loc[both["theirs"].isna(), "value"] == 0).all()


def test_means_of_trec_eval(data):
    """gm_map, gm_bpref and counts over all queries; with -c, and missing queries."""
    folder = data / "oracles/trec_eval"
    measures = ["gm_map", "gm_bpref", "num_ret", "num_rel", "num_rel_ret", "num_q"]
    measures += ["num_nonrel_judged_ret"]
    for output, results in (("out.test.a", "results.test"), ("out.test.aqc", "")):
        run = trec_run(folder, results or "results.trunc")
        scores = pgcjax.evaluate(run, qrels=qrels_of(folder), measures=measures)
        means = scores.mean().loc["run"]
        theirs = lines(folder / output)
        for name in measures:
            if name in ("num_q", "num_rel") and not results:
                continue  # theirs are of all judged queries
            ours = means[str(parse(name))]
            assert f"{ours:.4f}" == f"{float(theirs[name, 'all']):.4f}", name
        printed = dict(line.split("\t")[::2] for line in [*scores.lines()][1:])
        assert printed["AP(mean=geometric)"] == theirs["gm_map", "all"]


GRADES = {"q": {"a": 2, "b": 0, "c": 1, "d": 1, "e": 0, "f": -1, "g": 0}}
RUN = ["b", "a", "x", "f", "c", "e", "y"]


BY_HAND = {
    # a stands below 1 of 3 other judged documents, c too, d was not retrieved.
    "Bpref": (2 / 3 + 2 / 3) / 3,
    "Bpref(rel=2)": 0.0,
    # a: 1 above, judged and not relevant; c: 3 of 4 above in the pool, 2 judged.
    "infAP": ((1 + 1e-5 / (1 + 2e-5)) / 2 + (1 + 3 * (1 + 1e-5) / (2 + 2e-5)) / 5) / 3,
    "NumNonRelRet": 2.0,
    "yaap": log((1 + 1 / 2 + 2 / 5) / (1 + 3 - 1 / 2 - 2 / 5)),
    "binG": (1 / log2(3) + 1 / log2(5)) / 3,
    # Down to ranks 2 and 5, the ideal list costs 2 + 1 and 2 + 1 + 1 + 1 + 1.
    "G": (2 / log2(2 + 3 - 2) + 1 / log2(2 + 6 - 3)) / 4,
    "utility(a=3,b=-2,c=-1,d=0.5,docs=100)": 3 * 2 - 2 * 5 - 1 + 0.5 * 92,
    "SetF(beta=3)": 4 * (2 / 7) * (2 / 3) / (3 * 2 / 7 + 2 / 3),
    "SetAP": 2 / 7 * 2 / 3,
    "RelP@2": 1 / 2,
    "RelP": 2 / 3,
    "Rprec(mult=2)": 2 / 6,
    "IPrec@0.5": 2 / 5,
    "IPrec@1": 0.0,
    "Accuracy": 1 - (1 + 3) / (2 * 5),
    "Accuracy@1": 0.0,
    "BPM(T=1.7)@5": (1 + 1 / 2) / 5,
    "BPM@5": 1 / 2,
    "NERR8@5": 1 / 2,
    "NERR10(p=0.5)": 0.5 / 1.5,
}


def test_by_hand():
    asked = [*BY_HAND]
    scores = pgcjax.evaluate(run_of(RUN), qrels=GRADES, measures=asked, verify=1.0)
    found = dict(zip(asked, scores.table["value"], strict=True))
    assert found == pytest.approx(BY_HAND, abs=1e-12)


PARAMETERS = {
    "{}": "11pt_avg Rprec IPrec@0.4 Bpref infAP NumNonRelRet binG yaap G "
    "Rndcg ndcg_rel",
    "{}(rel=2)": "11pt_avg Rprec IPrec@0 Bpref infAP NumNonRelRet NumRel NumRelRet "
    "SetAP RelP RelP@3 Success@2 Accuracy Accuracy@6 binG yaap",
    "{}(rel=0.5,rounding=nearest)": "11pt_avg IPrec@0.2",
    "{}(rel=0.5,mult=0.3)": "Rprec",
    "{}(rel=1.1,beta=0.25)": "SetF",
    "{}(a=0.3,b=0.1,c=-0.7,d=0.01,docs=1000)": "utility",
    "{}(gain=exp)": "G Rndcg ndcg_rel",
    "{}(gmax=topic)": "BPM@7 SDCG@7 INSQ INST NERR8@7 NERR9@7 NERR10 NERR11",
    "{}(gmin=0.5,gmax=4,depth=50)": "BPM@90 SDCG@90 INSQ INST NERR8@90 NERR10",
    "{}(T=2.5,gmin=1,depth=33)": "BPM@9 INSQ INST NERR11",
    "{}(p=0.3,depth=2)": "NERR10",
}


def test_every_parameter_as_the_twin():
    """On runs with many ties; grades below 0, decimals, and a query without any."""
    _, qrels, runs = drawn(3, queries=6, runs=4, most_docs=50)
    grades = np.random.default_rng(3).choice([-2.0, 0, 0.5, 1, 1, 2.5, 4], len(qrels))
    qrels = qrels.assign(relevance=grades)
    qrels.loc[qrels["query_id"] == "q1", "relevance"] = -1.0
    measures = [
        f"{form.format(name)}{at}{k}"
        for form, names in PARAMETERS.items()
        for name, at, k in (text.partition("@") for text in names.split())
    ]
    scores = pgcjax.evaluate(runs, qrels=qrels, measures=measures, verify=1.0)
    count = 4 * 6 * len(measures)
    assert scores.notes[-1] == f"{count} of {count} scores recomputed: equal"
    assert np.isfinite(scores.table["value"]).all()


def test_geometric_means_and_sums(capsys):
    runs = {"r": {"q": {"a": 2, "b": 1}, "s": {"c": 1}}, "t": {"q": {"b": 1}}}
    qrels = {"q": {"b": 1, "c": 1}, "s": {"c": 1}}
    asked = [
        "AP",
        "AP(mean=geometric)",
        "P(mean=sum)@2",
        "NumRet",
        "NumRet(mean=arithmetic)",
    ]
    scores = pgcjax.evaluate(runs, qrels=qrels, measures=asked)
    assert scores.measures == asked
    assert scores.mean().sort_index().to_numpy() == pytest.approx(
        np.array(
            [
                [(0.25 + 1) / 2, 0.5, 1.0, 3.0, 1.5],
                [0.25, exp((log(0.5) + log(1e-5)) / 2), 0.5, 1.0, 0.5],
            ]
        )
    )
    # One score for each query, whatever its mean: statistics of geometric means are
    # of logarithms.
    assert scores.matrix("AP").equals(scores.matrix("AP(mean=geometric)"))
    pairs = pgcjax.compare(scores, measure="AP(mean=geometric)", test="t")
    difference = (log(0.25) - log(0.5) + log(1) - log(1e-5)) / 2
    assert pairs.table["difference"].abs().item() == pytest.approx(difference)
    assert pairs.notes[0] == (
        "logarithms of scores, 0.00001 at least: the mean is geometric"
    )
    from pgcjax.reporting.leaderboard import leaderboard

    board = leaderboard(scores)
    assert board.mean["AP(mean=geometric)"].tolist() == pytest.approx(
        [0.5, 0.5**0.5 / 10**2.5]
    )
    assert board.mean["NumRet"].tolist() == [3.0, 1.0]
    with pytest.raises(UsageError) as refused:
        pgcjax.uncertainty(
            runs, qrels=qrels, measures="NumRet", replicates=9, resample="queries"
        )
    assert (
        str(refused.value)
        == "NumRet: replicates are of arithmetic means, not of mean=sum"
    )


TREC_EVAL = """
runid num_q num_ret num_rel num_rel_ret map gm_map Rprec bpref recip_rank
iprec_at_recall_0.10 P_5 relstring recall_5 infAP gm_bpref Rprec_mult_0.20 utility
11pt_avg binG G ideal_dcg dcg ndcg ndcg_rel Rndcg ndcg_cut_5 map_cut_5 relative_P_5
success_5 set_P set_relative_P set_recall set_map set_F num_nonrel_judged_ret
prefs_num_prefs_poss prefs_num_prefs_ful prefs_num_prefs_ful_ret prefs_simp prefs_pair
prefs_avgjg prefs_avgjg_Rnonrel prefs_simp_ret prefs_pair_ret prefs_avgjg_ret
prefs_avgjg_Rnonrel_ret prefs_simp_imp prefs_pair_imp prefs_avgjg_imp map_avgjg
P_avgjg_5 Rprec_mult_avgjg_0.20 yaap rbp rbp_resid
""".split()
"""All that trec_eval 10 lists in measures.c, with an example of what follows it."""
NOT_HERE = {"runid", "relstring", "ideal_dcg", "map_avgjg", "P_avgjg_5"}
NOT_HERE |= {"Rprec_mult_avgjg_0.20"}


def test_every_name_of_trec_eval_and_ir_measures_is_a_measure_or_explained():
    ir_measures = pytest.importorskip("ir_measures")
    for name in TREC_EVAL:
        assert (name in NOT_HERE) == bool(explained(name)), name
        if name not in NOT_HERE:
            assert parse(name, complete=False)
    others = {"ERR_IA", "nERR_IA", "α_DCG"}  # another number here, or none
    for name in ir_measures.measures.registry:
        assert (name in others) == bool(explained(name)), name
        if name not in others:
            assert parse(name, complete=False)
    for name, (_, nearest) in MEANINGS.items():
        with pytest.raises(UsageError, match="it is"):
            parse(name)
        if preset := re.fullmatch("the preset (.*)", nearest):
            assert is_preset(preset[1])
            continue
        for measure in re.split(", | and ", nearest.split(" with ")[0]):
            measure = measure.replace("@k", "@5").replace("@x", "@0.5") * bool(nearest)
            assert not measure or parse(measure, complete=False)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (
            "bpref_allnonrel",
            "no measure is called 'bpref_allnonrel': it is bpref of trec_eval up to "
            "version 8 with all judged documents that are not relevant, not as many as "
            "relevant ones; nearest here: Bpref. `pgcjax measures` lists them",
        ),
        (
            "P_avgjg_10",
            "no measure is called 'P_avgjg_10': it is P@k averaged over the judges of "
            "qrels of several, of trec_eval; nearest here: P@k with qrels of one judge "
            "at a time. `pgcjax measures` lists them",
        ),
        (
            "relstring",
            "no measure is called 'relstring': it is the grades of the first documents "
            "in trec_eval, no number. `pgcjax measures` lists them",
        ),
        (
            "AP(mean=median)",
            "mean=median: expected over queries, one of arithmetic, geometric (of "
            "scores raised to 0.00001), sum",
        ),
    ],
)
def test_what_is_not_here_is_explained(asked, message):
    with pytest.raises(UsageError) as refused:
        parse(asked)
    assert str(refused.value) == message
    with pytest.raises(UsageError) as refused:
        parse_between("RPP(mean=sum)")
    assert str(refused.value) == "RPP(mean=sum): the mean of preferences is arithmetic"


def test_float32_is_refused_where_there_are_no_scores(tmp_path):
    qrels, run = {"q": {"a": 1}}, {"q": {"a": 1.0}}
    with pytest.raises(UsageError) as refused:
        pgcjax.evaluate(run, qrels=qrels, measures="AP", order="rank", float32=True)
    message = "float32 rounds scores, and order=rank takes none: leave it out"
    assert str(refused.value) == message
    from pgcjax.io.runs.pack import pack

    path = tmp_path / "runs.parquet"
    pack(run, path)
    with pytest.raises(UsageError) as refused:
        pgcjax.evaluate(path, qrels=qrels, measures="AP", float32=True)
    assert str(refused.value) == (
        f"float32 rounds scores, and {path} holds packed runs, which have none: give "
        "the files that it was packed from"
    )


def test_float32_makes_ties():
    """Scores that differ in float64 alone tie, and the higher document id is first."""
    close = {"q": {"a": 1 + 1e-9, "b": 1.0, "c": 1e300, "d": 2e300}}
    asked = {"qrels": {"q": {"a": 1, "d": 1}}, "measures": ["P@1", "AP"]}
    scores = pgcjax.evaluate(close, **asked)
    assert scores.table["value"].tolist() == [1.0, (1 + 2 / 3) / 2]
    again = pgcjax.evaluate(close, float32=True, verify=1.0, **asked)
    assert again.table["value"].tolist() == [1.0, (1 + 2 / 4) / 2]
    assert again.metadata["float32"] and "float32" not in scores.metadata
    frame = pgcjax.files.read_runs(close, float32=True).table
    assert frame["score"].nunique() == 2
