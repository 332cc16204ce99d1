"""`plot` draws the numbers of findings, and refuses what it cannot draw."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import pgcjax
from pgcjax.io.result import Result
from pgcjax.reporting.bar_plots import dots
from pgcjax.stats.run_means import run_means

RUNS = ["x", "a", "m"]


@pytest.fixture(scope="module")
def scores() -> pgcjax.Scores:
    random = np.random.default_rng(0)
    rows = [
        (run, f"q{q}", measure, random.random())
        for run in RUNS
        for q in range(9)
        for measure in ("first", "second")
    ]
    columns = ["run_id", "query_id", "measure", "value"]
    return pgcjax.files.read_scores(pd.DataFrame(rows, columns=columns))


def drawn(figure) -> dict[str, tuple[float, float, float]]:
    """Low end, number and high end of each row of dots, from the top."""
    axes = figure.axes[0]
    names = [text.get_text() for text in axes.get_yticklabels()]
    ends = [path.vertices[:, 0] for path in axes.collections[0].get_paths()]
    values = axes.lines[0].get_xdata()
    return {
        name: (low, value, high)
        for name, (low, high), value in zip(names, ends, values, strict=True)
    }


@pytest.mark.parametrize("measure", ["first", "second"])
def test_scores_are_means_with_intervals_the_best_first(scores, measure):
    expected = run_means([scores.table]).xs(measure, level="measure")
    expected = expected.sort_values("mean", ascending=False)
    rows = drawn(scores.plot(measure))
    assert list(rows) == expected.index.tolist()
    for run, row in rows.items():
        assert row == pytest.approx(tuple(expected.loc[run, ["low", "mean", "high"]]))
    if measure == "first":
        assert drawn(scores.plot()) == rows


def test_a_plain_result_is_dots_by_its_names():
    table = pd.DataFrame(
        {
            "kind": "all",
            "judge": ["j1", "j2"],
            "count": [3, 4],
            "share": [0.25, np.nan],
            "low": [0.1, np.nan],
            "high": [0.5, np.inf],
        }
    )
    figure = Result(table).plot()
    assert figure.axes[0].get_xlabel() == "share"
    rows = drawn(figure)
    assert list(rows) == ["j1", "j2"] and rows["j1"] == (0.1, 0.25, 0.5)
    assert np.isnan(rows["j2"]).all()


def test_of_many_rows_the_first_are_drawn():
    table = pd.DataFrame({"name": [f"n{i}" for i in range(99)], "value": np.arange(99)})
    figure = dots(table, ["name"], "value", "value")
    assert len(figure.axes[0].get_yticks()) == 60
    assert figure.axes[0].get_title("left") == "the first 60 of 99 rows"
    none = dots(table[:0], ["name"], "value", "value")
    assert len(none.axes[0].get_yticks()) == 0


@pytest.mark.filterwarnings("error")
def test_a_finding_of_nothing_is_an_empty_figure():
    votes = pd.DataFrame(
        {"query_id": "q", "doc_id": ["a", "b"], "other_doc_id": ["b", "a"]}
    ).assign(preference=[1.0, -1.0], judge="j", first=["a", "b"])
    runs = {"r": {"q": {"a": 2, "b": 1}}, "s": {"q": {"b": 2, "a": 1}}}
    found = pgcjax.judgments.compare_orders(runs, preferences=votes)
    assert len(found.table) == 0
    assert "tau" in found.plot().axes[0].get_xlabel()


def test_measures_are_those_that_there_are(scores):
    with pytest.raises(pgcjax.errors.UsageError, match="no scores of 'third'"):
        scores.plot("third")
    with pytest.raises(pgcjax.errors.UsageError) as error:
        pgcjax.compare(scores, measure="first").plot("second")
    assert str(error.value) == (
        "measure='second': a figure of Comparison has no measure to choose"
    )


def test_nothing_is_loaded_before_a_plot():
    code = (
        "import sys, pgcjax.io.result, pgcjax.stats.scores\n"
        "assert not {m for m in sys.modules if m.startswith(('pgcjax.reporting',"
        " 'pgcjax.engine', 'matplotlib', 'jax.'))}"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
