"""The names of ir_measures, each row of their table computed by ir_measures itself."""

import shutil
import warnings

import numpy as np
import pandas as pd
import pytest

import pgcjax
from pgcjax.errors import DataWarning, UsageError
from pgcjax.measures import ir_names
from pgcjax.measures.catalogue import parse

ir_measures = pytest.importorskip("ir_measures", reason="pip install ir-measures")
ROWS = list(ir_names.table())
NEAREST = {"Compat": "Compat", "alpha_DCG@10": "alpha_DCG@10"}
NEAREST |= {"nERR_IA@10": "nERR-IA@10"}
OURS = [row.ours or NEAREST[row.theirs] for row in ROWS]
# All that is scored here, together, so that tests share a program.
MEASURES = [*OURS, "Compat(depth=20)", "ERR@10", "RBP(rel=1)"]
ROUNDED = {"ERR@10", "nDCG(dcg='exp-log2')@10"}  # by gdeval, which is in Perl
LENGTH = 20  # of each run: more documents than any ideal ranking has
KEYS = ["run_id", "query_id"]
LISTS = "`pgcjax measures ir_measures` lists all"


def made_up() -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Grades by intent and without, and runs without ties, as all of its tools take."""
    rng = np.random.default_rng(0)
    judged, runs = [], []
    for query in map(str, range(101, 107)):
        for intent in "123":
            docs = [f"d{doc}" for doc in rng.permutation(25)[:5]]
            grades = [1 + int(intent) % 3, *rng.integers(0, 4, 4).tolist()]
            judged += zip([query] * 5, [intent] * 5, docs, grades, strict=True)
        for run in "ab":
            docs = rng.permutation(40)[:LENGTH]
            runs += [(run, query, f"d{d}", LENGTH - r) for r, d in enumerate(docs)]
    by_intent = pd.DataFrame(
        judged, columns=["query_id", "intent_id", "doc_id", "relevance"]
    )
    plain = by_intent.groupby(["query_id", "doc_id"], as_index=False)["relevance"].max()
    frame = pd.DataFrame(runs, columns=[*KEYS, "doc_id", "score"])
    return by_intent, plain, frame.astype({"score": float})


def test_each_row_is_what_ir_measures_computes():
    """Equal to 1e-9, gdeval to the 5 decimals that it prints; or really another one."""
    by_intent, plain, runs = made_up()
    scores = pgcjax.evaluate(
        runs, qrels=plain, intent_qrels=by_intent, measures=MEASURES
    )
    wide = scores.table.pivot(index=KEYS, columns="measure", values="value")
    other = set()
    for row, mine in zip(ROWS, OURS, strict=True):
        measure = ir_measures.parse_measure(row.theirs)
        if row.theirs in ROUNDED and not shutil.which("perl"):
            continue
        assert not row.ours or ir_names.here(measure.NAME, measure.params) == row.ours
        asked = parse(mine)
        intents = "intent_qrels" in asked.needs
        qrels = by_intent.rename(columns={"intent_id": "iteration"})
        theirs = pd.Series(
            {
                (run, metric.query_id): metric.value
                for run, table in runs.groupby("run_id")
                for metric in ir_measures.iter_calc(
                    [measure], qrels if intents else plain, table
                )
            }
        )
        if lacking := set(wide.index) - set(theirs.index):
            assert (
                row.theirs == "Accuracy@10" and (wide.loc[[*lacking], mine] == 0).all()
            )
        assert len(theirs) > 10
        assert theirs.nunique() > 1 or row.theirs in ("NumQ", "NumRet")
        # What is written as there is warned of if, and only if, it is another number.
        there = row.theirs
        for spelling in {mine, there} & set(wide):
            gap = (wide[spelling] - theirs.rename_axis(KEYS)).abs().max()
            equal = 5.001e-6 if row.theirs in ROUNDED else 1e-9
            same = spelling == row.ours or (
                spelling == there and not ir_names.other_number(spelling)
            )
            assert gap < equal if same else gap > 1e-4, (spelling, row, gap)
            other |= {spelling} - {row.ours} if gap > 1e-4 else set()
    assert other == {*NEAREST.values(), "ERR@10", "RBP(rel=1)"}
    theirs = pd.Series(
        {
            (run, metric.query_id): metric.value
            for run, table in runs.groupby("run_id")
            for metric in ir_measures.iter_calc([ir_measures.Compat], plain, table)
        }
    )
    assert (wide["Compat(depth=20)"] - theirs).abs().max() < 1e-12


def test_ties_are_as_the_remark_says():
    """Ranks follow the lines, which stable sorts by score leave as they are."""
    by_intent, plain, runs = made_up()
    runs["score"] = np.random.default_rng(1).integers(0, 4, len(runs)).astype(float)
    runs = runs.sort_values([*KEYS, "score"], ascending=[True, True, False])
    runs["rank"] = runs.groupby(KEYS).cumcount() + 1.0
    rows = [row for row in ROWS if row.ours and row.theirs not in ROUNDED]
    wide = {
        order: pgcjax.evaluate(
            runs,
            qrels=plain,
            intent_qrels=by_intent,
            measures=MEASURES,
            order=order,
        ).table.pivot(index=KEYS, columns="measure", values="value")
        for order in ("trec", "clarke", "rank")
    }
    qrels = by_intent.rename(columns={"intent_id": "iteration"})
    for row in rows:
        asked = parse(row.ours)
        intents = "intent_qrels" in asked.needs
        measure = ir_measures.parse_measure(row.theirs)
        theirs = {
            (run, metric.query_id): metric.value
            for run, table in runs.drop(columns="rank").groupby("run_id")
            for metric in ir_measures.iter_calc(
                [measure], qrels if intents else plain, table
            )
        }
        gap = {
            order: (table[row.ours] - pd.Series(theirs)).abs().max()
            for order, table in wide.items()
        }
        words = [o for o in ("clarke", "rank") if f"--order {o}" in row.remark]
        (order,) = words or ["trec"]
        assert gap[order] < 1e-9, (row, gap)
        if words:
            assert gap["trec"] > 1e-4, (row, gap)


def test_every_measure_of_ir_measures_has_its_place():
    named = [n for row in ir_names.NAMES for n in (row.theirs, *row.aliases)]
    assert sorted(named) == sorted(ir_measures.measures.registry)


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("New", {"rel": 2}, "New(rel=2) of ir_measures is not here"),
        (
            "NERR8",
            {"cutoff": 5},
            "NERR8@5 of ir_measures is computed by no tool without max_rel=…",
        ),
        (
            "AP",
            {"judged_only": True, "cutoff": 5},
            "AP(judged_only=True)@5 of ir_measures: judged_only=True is not here",
        ),
        ("ERR_IA", {"cutoff": 1}, "ERR_IA@1 of ir_measures: cutoff=1 is not here"),
        (
            "RBP",
            {"p": 0.9},
            "RBP(p=0.9) of ir_measures is computed by no tool without rel=…",
        ),
        ("P", {}, "P of ir_measures is computed by no tool without cutoff=…"),
        (
            "Compat",
            {"p": 0.8},
            "Compat(p=0.8) of ir_measures looks as deep as the longer of run and ideal "
            "ranking: Compat(depth=N) here for runs of N documents",
        ),
    ],
)
def test_what_is_not_here_is_refused(name, parameters, message):
    with pytest.raises(UsageError) as refused:
        ir_names.here(name, parameters)
    assert str(refused.value) == f"{message}; {LISTS}"


def test_a_name_that_means_another_number_elsewhere_says_so_once():
    run, qrels = {"q": {"a": 2.0, "b": 1.0}}, {"q": {"a": 1, "b": 2}}

    def warned(*measures: str) -> list[str]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            pgcjax.evaluate(run, qrels=qrels, measures=iter(measures))
        assert {w.category for w in caught} <= {DataWarning}
        assert {w.filename for w in caught} <= {__file__}
        return [str(w.message) for w in caught]

    assert warned("ERR@20", "rbp", "nDCG@10", "map") == [
        "ERR@20 of ir_measures is ERR(gmax=4)@20 here; rbp of trec_eval is "
        f"RBP(p=0.9,gain=linear,gmax=topic) here. {LISTS}"
    ]
    # What was said, what says which number it means, what nobody else has, and what is
    # the number of its authors here.
    assert warned("ERR@20", "ERR(gmax=2)@20", "RBP", "ERR", "Compat(p=0.8)") == []
    assert ir_names.other_number("Compat(p=0.8)").startswith("Compat(p=0.8) of ir_")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pgcjax.evaluate(run, qrels=qrels).measures[1] == "Compat"
