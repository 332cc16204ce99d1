"""What scores do beyond their table: means in order, and what is asked of them."""

import pickle
from inspect import signature
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import pgcjax
from pgcjax.datasets.files import demo_folder
from pgcjax.errors import DataError, UsageError

DEMO = demo_folder()
RUNS = [DEMO / "runs" / f"{name}.txt" for name in ("rose", "alder", "iris")]
JUDGED: dict[str, Any] = {
    "preferences": DEMO / "preferences.csv",
    "qrels": DEMO / "qrels.txt",
}
MEASURES = ["PGC", "nDCG@10"]
GIVEN: dict[str, Any] = {"run_id": "rose", "query": "q115"}


@pytest.fixture(scope="module")
def scores() -> pgcjax.Scores:
    return pgcjax.evaluate(RUNS, **JUDGED, measures=MEASURES)


@pytest.fixture(scope="module")
def expected():
    given: dict[str, Any] = {"run_id": "rose", "measure": "PGC"}
    return pgcjax.explain(RUNS, "q115", preferences=JUDGED["preferences"], **given)


@pytest.fixture
def stored(scores, tmp_path: Path) -> pgcjax.Scores:
    return pgcjax.files.read_scores(scores.save(tmp_path / "scores.parquet"))


def test_means_are_the_best_first_and_ties_by_run():
    values = {"d": (0.5, 0.1), "b": (0.5, 0.9), "a": (None, 0.3), "c": (0.7, 0.2)}
    rows = [
        (run, "q", measure, value)
        for run, both in values.items()
        for measure, value in zip("xy", both, strict=True)
        if value is not None
    ]
    columns = ["run_id", "query_id", "measure", "value"]
    scores = pgcjax.files.read_scores(pd.DataFrame(rows, columns=columns))
    means = scores.mean()
    assert means.index.tolist() == ["c", "b", "d", "a"] and means.index.name == "run_id"
    assert means["y"].tolist() == [0.2, 0.9, 0.1, 0.3]
    latex = scores.to_latex()
    assert [latex.index(f"    {run} & ") for run in "cbda"] == sorted(
        latex.index(f"    {run} & ") for run in "cbda"
    )
    empty = pgcjax.Scores(pd.DataFrame(rows, columns=columns)[:0])
    assert empty.mean().empty


def test_compare_and_correlate_are_the_functions(scores):
    by_function = pgcjax.compare(scores, measure="PGC", test="t", baselines="iris")
    by_method = scores.compare(measure="PGC", test="t", baselines="iris")
    pd.testing.assert_frame_equal(by_method.table, by_function.table)
    pd.testing.assert_frame_equal(
        scores.correlate(coefficients=["spearman"]),
        pgcjax.correlate(scores, coefficients=["spearman"]),
    )
    for name in ("compare", "correlate"):
        method, function = getattr(scores, name), getattr(pgcjax, name)
        arguments = [*signature(function).parameters][1:]
        assert [*signature(method).parameters] == arguments
        assert method.__doc__ == function.__doc__


def test_scores_of_this_process_explain_themselves(scores, expected):
    found = scores.explain(**GIVEN)
    pd.testing.assert_frame_equal(found.table, expected.table)
    assert found.score == scores.matrix("PGC").loc["rose", "q115"]
    both = scores.explain("rose", other="alder", measure="nDCG@10")
    means = scores.mean()["nDCG@10"]
    assert both.difference == pytest.approx(means["rose"] - means["alder"], abs=1e-12)
    everything = scores.explain("iris")
    assert everything.score == pytest.approx(scores.mean().loc["iris", "PGC"])


def test_scores_of_a_file_are_given_what_was_scored_once(stored, expected):
    with pytest.raises(UsageError) as error:
        stored.explain(**GIVEN)
    assert str(error.value) == (
        "the runs and judgments of these scores are not in this process: give them, "
        "explain(…, runs=…, preferences=…, qrels=…)"
    )
    found = stored.explain(**GIVEN, runs=RUNS, **JUDGED)
    pd.testing.assert_frame_equal(found.table, expected.table)
    assert (
        stored.explain("rose", "q101").score == stored.matrix("PGC").at["rose", "q101"]
    )
    with pytest.raises(UsageError, match="there is no run 'oak'; there are alder"):
        stored.explain("oak", "q115")
    with pytest.raises(UsageError, match="no scores of 'AP'"):
        stored.explain(**GIVEN, measure="AP")


def test_judgments_that_were_not_those_are_refused(stored):
    votes = pgcjax.files.read_preferences(JUDGED["preferences"])
    grades = pgcjax.files.read_qrels(JUDGED["qrels"])
    for name, given in (
        ("preferences", {"preferences": votes[1:], "qrels": grades}),
        ("qrels", {"preferences": votes, "qrels": grades[1:]}),
        ("preferences, qrels", {"preferences": votes[1:], "qrels": grades[1:]}),
    ):
        with pytest.raises(DataError) as error:
            stored.explain(**GIVEN, runs=RUNS, **given)
        assert str(error.value) == (
            f"{name}: they differ from those by which the scores were made. Give the "
            "runs "
            "and judgments that were scored."
        )
    mixed = {"preferences": votes.sample(frac=1, random_state=0), "qrels": grades}
    assert stored.explain(**GIVEN, runs=RUNS, **mixed).score > 0


def test_runs_that_were_not_those_are_refused(stored):
    runs = pgcjax.files.read_runs(RUNS).table.assign(score=lambda t: -t["score"])
    with pytest.raises(DataError) as error:
        stored.explain(**GIVEN, runs=runs, **JUDGED)
    assert str(error.value).startswith("run 'rose': the score of query 'q115' is 0.")
    with pytest.raises(DataError, match="the difference of query"):
        stored.explain("rose", other="iris", runs=runs, **JUDGED)


def test_tables_are_remembered_weakly_and_nothing_is_sent(scores):
    votes = pgcjax.files.read_preferences(JUDGED["preferences"])
    made = pgcjax.evaluate(RUNS, preferences=votes, measures="PGC")
    assert made.explain(**GIVEN).score > 0
    copy = pickle.loads(pickle.dumps(made))
    assert copy.remembered() == {} and set(made.remembered()) == {"runs", "preferences"}
    del votes
    assert set(made.remembered()) == {"runs"}
    once = pgcjax.evaluate(iter(RUNS), **JUDGED, measures="PGC")
    for gone in (copy, once):
        with pytest.raises(UsageError, match="are not in this process"):
            gone.explain(**GIVEN)


def test_what_is_chosen_of_preferences_is_chosen_again():
    votes = pgcjax.files.read_preferences(JUDGED["preferences"])
    other = votes.assign(preference=-votes["preference"], aspect="other")
    both = pd.concat([votes.assign(aspect="one"), other], ignore_index=True)
    with pgcjax.files.reading(aspects="one"):
        made = pgcjax.evaluate(RUNS, preferences=both, measures="PGC")
    alone = pgcjax.evaluate(RUNS, preferences=votes, measures="PGC")
    assert made.explain(**GIVEN).score == alone.explain(**GIVEN).score


def test_files_are_read_as_they_were(tmp_path):
    votes = pgcjax.files.read_preferences(JUDGED["preferences"])
    table = pd.DataFrame({"query_id": votes["query_id"], "fi": votes["doc_id"]})
    table["lo"], table["verdict"] = votes["other_doc_id"], "é"
    path = tmp_path / "votes.csv"
    table.to_csv(path, index=False, encoding="latin-1")
    options: dict[str, Any] = {"columns": "a=fi,b=lo,winner=verdict"}
    options |= {"answers": "a=é", "encoding": "latin-1", "unread": 0.5}
    with pgcjax.files.reading(**options):
        scores = pgcjax.evaluate(RUNS[0], preferences=path, measures="PGC")
    assert scores.metadata["reading"] == options
    stored = pgcjax.files.read_scores(scores.save(tmp_path / "scores.csv"))
    assert stored.metadata["reading"] == options
    again = stored.explain(**GIVEN, runs=RUNS[0], preferences=path)
    assert again.score == scores.explain(**GIVEN).score
    assert again.score == scores.matrix("PGC").at["rose", "q115"]
