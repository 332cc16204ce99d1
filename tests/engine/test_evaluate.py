"""evaluate: arguments, conventions, missing data, warnings, the score table."""

import math

import pandas as pd
import pytest
from helpers.builders import preferences_of, run_of

import pgcjax
from pgcjax.errors import DataError, DataWarning, UsageError, VerificationError
from pgcjax.files import read_preferences
from pgcjax.io.check import fingerprint
from pgcjax.measures.catalogue import parse

PREFS = pd.concat(
    [preferences_of([("A", "B"), ("B", "C")], q) for q in ("q1", "q2", "q3")]
)
QRELS = {"q1": {"A": 2, "B": 1}, "q2": {"A": 1}, "q4": {"A": 1}}
RUNS = {
    "good": {q: {"A": 3.0, "B": 2.0, "C": 1.0} for q in ("q1", "q2", "q3", "q9")},
    "bad": {q: {"C": 3.0, "B": 2.0, "A": 1.0} for q in ("q1", "q2")},
}


def test_the_table_is_sorted_and_has_every_pair():
    with pytest.warns(DataWarning):
        scores = pgcjax.evaluate(
            RUNS, preferences=PREFS, qrels=QRELS, measures=["PGC", "Compat"]
        )
    table = scores.table
    assert list(table.columns) == ["run_id", "query_id", "measure", "value"]
    assert table["value"].dtype == "float64"
    assert len(table) == 2 * 3 + 2 * 3  # PGC has q1 q2 q3, Compat q1 q2 q4
    keys = list(zip(table.run_id, table.query_id, strict=True))
    assert keys == sorted(keys)
    assert scores.measures == ["PGC", "Compat"]
    assert scores.runs == ["bad", "good"]


def test_missing_queries():
    zero = "judged queries are missing in 1 run .bad., 1 score in all: scored 0"
    with pytest.warns(DataWarning, match=zero):
        scores = pgcjax.evaluate(RUNS, preferences=PREFS)
    assert scores.matrix("PGC").loc["bad", "q3"] == 0.0
    with pytest.warns(DataWarning, match="left out of the run's mean"):
        skipped = pgcjax.evaluate(RUNS, preferences=PREFS, missing="skip")
    assert math.isnan(skipped.matrix("PGC").loc["bad", "q3"])
    both = [s.mean().loc["bad", "PGC"] for s in (scores, skipped)]
    assert both[0] == pytest.approx(both[1] * 2 / 3)
    with pytest.raises(DataError, match="run 'bad' lacks query 'q3'"):
        pgcjax.evaluate(RUNS, preferences=PREFS, missing="error")


def test_spellings_of_one_measure_are_named():
    scores = pgcjax.evaluate(
        RUNS["good"], preferences=PREFS, measures=["PGC(p=0.95)", "rpref", "PGC"]
    )
    assert scores.measures == ["PGC(p=0.95)", "rpref"]
    said = "PGC(p=0.95) and PGC are one measure: it is computed once, as PGC(p=0.95)"
    assert scores.notes[0] == said
    twice = pgcjax.evaluate(RUNS["good"], preferences=PREFS, measures=["PGC", "PGC"])
    assert not any("one measure" in note for note in twice.notes)


def test_notes_count_what_is_ignored():
    scores = pgcjax.evaluate(RUNS["good"], preferences=PREFS)
    assert scores.notes == ("PGC: 1 run, 3 judged queries; 1 unjudged query ignored",)


def test_default_measures_follow_the_judgments():
    run = RUNS["good"]
    grades = {q: {"A": 1} for q in ("q1", "q2", "q3")}
    for given, measures in (
        ({"preferences": PREFS}, ["PGC"]),
        ({"qrels": grades}, ["PGC(graph=derived)", "Compat"]),
        ({"preferences": PREFS, "qrels": grades}, ["PGC", "Compat"]),
    ):
        assert pgcjax.evaluate(run, **given).measures == measures


def test_order_decides_ties():
    run = {"q": {"A": 1.0, "B": 1.0}}
    prefs = preferences_of([("A", "B")])
    # Under trec B comes first: the ideal A B is met at depth 2 only.
    trec = pgcjax.evaluate(run, preferences=prefs).mean().iloc[0, 0]
    clarke = pgcjax.evaluate(run, preferences=prefs, order="clarke").mean().iloc[0, 0]
    assert clarke > trec
    by_rank = pd.DataFrame(
        {"query_id": "q", "doc_id": ["A", "B"], "score": 1.0, "rank": [0, 1]}
    )
    ranked = pgcjax.evaluate(by_rank, preferences=prefs, order="rank")
    assert ranked.mean().iloc[0, 0] == clarke


def test_metadata_says_version_parameters_and_conventions():
    scores = pgcjax.evaluate(RUNS["good"], preferences=PREFS, measures="PGC(p=0.8)")
    assert scores.metadata == {
        "version": pgcjax.__version__,
        "order": "trec",
        "missing": "zero",
        "measures": [
            "PGC(p=0.8,depth=1000,graph=real,normalization=weights,ties=doc_id,n=100,"
            "seed=0,soft=margin,ideal=greedy)"
        ],
        "judgments": {"preferences": fingerprint(read_preferences(PREFS))},
    }
    shuffled = read_preferences(PREFS.sample(frac=1, random_state=0))
    assert fingerprint(shuffled) == fingerprint(read_preferences(PREFS))
    assert fingerprint(shuffled[1:]) != fingerprint(shuffled)


def test_look_ups_compare_parsed_measures():
    scores = pgcjax.evaluate(RUNS["good"], preferences=PREFS, measures="PGC(p=0.95)")
    assert scores.measures == ["PGC(p=0.95)"]
    pd.testing.assert_frame_equal(scores.matrix("PGC"), scores.matrix("PGC(p=0.95)"))
    with pytest.raises(UsageError, match="no scores of 'PGC.p=0.8.'; there are PGC"):
        scores.matrix("PGC(p=0.8)")


def test_nothing_judged_was_retrieved():
    run = {q: {"Z": 1.0} for q in ("q1", "q2", "q3")}
    with pytest.warns(DataWarning, match="every score is 0: do runs and"):
        scores = pgcjax.evaluate(run, preferences=PREFS)
    assert scores.mean().iloc[0, 0] == 0.0


def test_queries_without_an_ideal_are_counted():
    qrels = {"q1": {"A": 0}, "q2": {"A": 1}}
    with pytest.warns(
        DataWarning, match="nothing to find .* 1 judged query, such as 'q1'"
    ):
        pgcjax.evaluate(run_of("A", "q1") | run_of("A", "q2"), qrels=qrels)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "no judgments: give preferences=…, qrels=… or both; --prefs FILE"),
        (
            {"measures": ["PGC"]},
            "PGC needs preferences: give preferences=…, or --prefs FILE",
        ),
        (
            {"preferences": PREFS, "measures": "Compat"},
            "Compat needs qrels: give qrels=…, or --qrels FILE",
        ),
        (
            {"preferences": PREFS, "measures": "PGC(graph=combined)"},
            "needs qrels: give qrels=…, or --qrels",
        ),
        ({"preferences": PREFS, "measures": []}, "no measure was asked for"),
        ({"preferences": PREFS, "order": "luo"}, "order is one of trec, clarke, rank"),
        ({"preferences": PREFS, "missing": "nan"}, "missing is one of zero, skip"),
        ({"preferences": PREFS, "verify": 2}, "verify=2: expected a share from 0 to 1"),
    ],
)
def test_wrong_arguments(options, message):
    with pytest.raises(UsageError, match=message):
        pgcjax.evaluate(RUNS["good"], **options)


def test_no_common_query():
    with pytest.raises(
        DataError,
        match="no query in common: judged are 'q1', 'q2', 'q3'; runs have 'p1', 'p2'",
    ):
        pgcjax.evaluate(run_of("A", "p1") | run_of("A", "p2"), preferences=PREFS)


def test_progress_reaches_its_end():
    seen = []
    pgcjax.evaluate(
        RUNS["good"],
        preferences=PREFS,
        job=pgcjax.Job(progress=lambda *step: seen.append(step)),
    )
    assert seen[-1] == ("scoring", 3, 3)


def test_verify_recomputes_with_the_twins(monkeypatch):
    scores = pgcjax.evaluate(RUNS["good"], preferences=PREFS, verify=1.0)
    assert scores.notes[-1] == "3 of 3 scores recomputed: equal"
    few = pgcjax.evaluate(RUNS["good"], preferences=PREFS, verify=0.01)
    assert few.notes[-1] == "1 of 3 scores recomputed: equal"
    monkeypatch.setattr(type(parse("PGC")), "twin", lambda measure, case: 0.123)
    with pytest.raises(VerificationError, match="run 'run', query 'q1': PGC is 0.*123"):
        pgcjax.evaluate(RUNS["good"], preferences=PREFS, verify=1.0)


def test_the_sample_is_never_empty_and_knows_no_order():
    """However small the share, and whatever queries nobody judged come first."""
    from pgcjax.engine.verify import Sample
    from pgcjax.io.runs import RunTable, read_runs

    runs = {
        f"r{r}": {f"{kind}{q}": {"A": 1.0} for kind in ("a", "q") for q in range(5)}
        for r in range(4)
    }
    judged = {f"q{q}" for q in range(5)}
    for share in (1e-9, 0.3, 1.0):
        kept = []
        for names in (sorted(runs), sorted(runs, reverse=True)):
            sample = Sample(share)
            for name in names:
                (table,) = read_runs({name: runs[name]}).tables()
                sample.take(RunTable(table), judged)
            kept.append(sample.chosen)
        assert kept[0] == kept[1]
        assert {query for _, query in kept[0]} <= judged
        assert len(kept[0]) == {1e-9: 1, 1.0: 20}.get(share, len(kept[0])) > 0


def test_verify_covers_every_measure_and_graph():
    prefs = PREFS.assign(weight=[1, 2] * 3)
    measures = [
        f"PGC(graph={graph},normalization={how})"
        for graph in ("real", "derived", "combined")
        for how in ("weights", "one-minus-p", "ideal")
    ] + ["Compat", "Compat(normalize=false)"]
    grades = {q: {"A": 2, "B": 0, "E": 1} for q in ("q1", "q2", "q3")}
    for order in ("trec", "clarke"):
        scores = pgcjax.evaluate(
            RUNS["good"],
            preferences=prefs,
            qrels=grades,
            measures=measures,
            order=order,
            verify=1.0,
        )
        assert scores.notes[-1] == "33 of 33 scores recomputed: equal"
