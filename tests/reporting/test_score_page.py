"""The page about scores: its numbers are those of the functions that it calls."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.drawn import check_legible
from scipy.stats import kendalltau

from pgcjax.errors import DataError, DataWarning, UsageError
from pgcjax.io.text_tables import cell_of
from pgcjax.reporting.introduction import introduction
from pgcjax.reporting.page import Table
from pgcjax.reporting.score_findings import find
from pgcjax.reporting.score_page import page_of, summary
from pgcjax.stats.compare import compare
from pgcjax.stats.correlation import correlate
from pgcjax.stats.discrimination import discriminate
from pgcjax.stats.scores import Scores

MEASURES = ["PGC", "Compat", "nDCG@10"]
PER_MEASURE = ["leaderboard", "differences"]
TOGETHER = ["curves", "overlaps", "correlations", "scatter"]


def made(runs=7, queries=12, measures=MEASURES):
    rng = np.random.default_rng(0)
    quality = np.linspace(0.8, 0.2, runs)
    rows = [
        (f"run{r}", f"q{q:02}", m, quality[r] + rng.normal(0, 0.2))
        for m in measures
        for r in range(runs)
        for q in range(queries)
    ]
    return pd.DataFrame(rows, columns=["run_id", "query_id", "measure", "value"])


def tables(page) -> dict[str, Table]:
    """Tables of a page by the title of their section and the start of their caption."""
    return {
        f"{section.title}: {part.caption.split()[0]}": part
        for section in page.sections
        for part in section.parts
        if isinstance(part, Table)
    }


def records(table: Table) -> list[dict[str, str]]:
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def test_every_measure_has_a_section_and_all_are_compared():
    seen = []
    page = summary(made(), test="t", progress=lambda *step: seen.append(step))
    titles = [section.title for section in page.sections]
    assert titles == [*(f"Runs by {m}" for m in MEASURES), "Measures compared"]
    expected = [f"{name}-{i + 1}" for i in range(3) for name in PER_MEASURE]
    assert list(page.pictures) == expected + TOGETHER
    assert seen == [("measures", i, 3) for i in (1, 2, 3)]
    for picture in page.pictures.values():
        check_legible(picture.figure)


def test_levels_of_recall_are_drawn_as_curves():
    page = summary(made(3, 5, ["IPrec@0.0", "IPrec@1.0"]), test="t")
    drawn = page.pictures["recall-precision"].figure
    check_legible(drawn)
    assert [line.get_xdata().tolist() for line in drawn.axes[0].lines] == 3 * [[0, 1]]


def test_the_numbers_are_those_of_compare_and_correlate():
    scores = made()
    page = summary(scores, test="t", alpha=0.01)
    shown = tables(page)
    for measure in MEASURES:
        found = compare(scores, measure=measure, test="t", alpha=0.01)
        order = found.runs.sort_values("rank")
        rows = records(shown[f"Runs by {measure}: Runs"])
        assert [row["run_id"] for row in rows] == order["run_id"].tolist()
        for row, (_, true) in zip(rows, order.iterrows(), strict=True):
            for name in ("rank", "mean", "low", "high", "groups"):
                assert row[name] == cell_of(true[name])
        first = next(s for s in page.sections if s.title == f"Runs by {measure}")
        count = int(found.table["significant"].sum())
        assert f"{count} of 21 pairs differ significantly (t, Holm, 21 comp" in str(
            first.parts[0]
        )
        assert "99 % intervals" in first.parts[1].caption
    power = discriminate(scores, test="t", alpha=0.01).table
    rows = records(shown["Measures compared: Pairs"])
    for row, (_, true) in zip(rows, power.iterrows(), strict=True):
        for name in ("measure", "significant", "pairs", "power"):
            assert row[name] == cell_of(true[name])
    rows = records(shown["Measures compared: Rank"])
    for row, (_, true) in zip(rows, correlate(scores).iterrows(), strict=True):
        for name in ("measure_a", "measure_b", "coefficient", "value", "runs"):
            assert row[name] == cell_of(true[name])
    means = scores.groupby(["run_id", "measure"])["value"].mean().unstack()
    for row in records(shown["Measures compared: Means"]):
        for measure in MEASURES:
            assert row[measure] == cell_of(float(means.loc[row["run_id"], measure]))


@pytest.mark.parametrize("test", ["max-t", "tukey", "bootstrap", "anova"])
def test_nothing_is_tested_twice_and_all_is_as_discriminate_finds_it(test):
    scores, how = made(4, 6), {"test": test, "resamples": 150, "seed": 3}
    page = summary(scores, **how)
    rows = records(tables(page)["Measures compared: Pairs"])
    power = discriminate(scores, **how).table
    assert [row["significant"] for row in rows] == [str(n) for n in power.significant]
    curves = page.pictures["curves"].figure.axes[0].lines
    for line, (_, mine) in zip(
        curves[:-1],
        discriminate(scores, **how).curves().groupby("measure", sort=False),
        strict=True,
    ):
        np.testing.assert_array_equal(line.get_ydata(), mine["p_adjusted"])


def test_queries_by_all_runs_and_by_the_best():
    scores = made(measures=["PGC"])
    page = summary(scores, top=2, test="t")
    wide = scores.pivot(index="query_id", columns="run_id", values="value")
    best = wide.mean().sort_values(ascending=False).index[:2].tolist()
    (table,) = (t for t in tables(page).values() if t.caption.startswith("Queries"))
    assert table.columns == ["query", "mean", "deviation", "best run", *best]
    assert table.caption.endswith("and the best 2 runs")
    for row in records(table):
        mine = wide.loc[row["query"]]
        assert row["mean"] == cell_of(float(mine.mean()))
        assert row["deviation"] == cell_of(float(mine.std()))
        assert row["best run"] == mine.idxmax()
        assert all(row[run] == cell_of(float(mine[run])) for run in best)


def test_one_measure_is_compared_with_none():
    page = summary(made(), ["Compat"], test="t")
    assert [section.title for section in page.sections] == ["Runs by Compat"]
    assert list(page.pictures) == ["leaderboard-1", "differences-1"]
    table = made(measures=["PGC"]).drop(columns="measure")
    page = summary({"mine": table}, test="t")
    assert [section.title for section in page.sections] == ["Runs by mine"]


def test_of_many_measures_some_pairs_are_drawn_and_it_says_so():
    five = [f"m{i}" for i in range(5)]
    scatter = summary(made(4, 5, five), test="t").pictures["scatter"]
    assert "the first 6 of 10 pairs of measures" in scatter.caption
    assert len([axes for axes in scatter.figure.axes if axes.axison]) == 6
    scatter = summary(made(4, 5, five[:2]), test="t").pictures["scatter"]
    assert "first" not in scatter.caption
    (axes,) = scatter.figure.axes
    assert axes.get_title(loc="left").startswith("τ = ")


def test_it_says_what_it_depends_on():
    metadata = {"version": "1.2", "order": "trec", "measures": ["PGC", "a"], "none": {}}
    page = summary(Scores(made(), metadata), title="mine", seed=5, resamples=200)
    assert page.title == "mine"
    expected = {"runs": "7", "queries": "12", "test": "max-t", "seed": "5"}
    expected |= {"resamples": "200", "scores, version": "1.2", "missing": "own"}
    expected |= {"scores, measures": "PGC; a"}
    assert expected.items() <= page.used.items()
    page = summary(made(4, 5, ["PGC"]), test="tukey")
    assert page.used["resamples"] == "5000"  # the default, in force
    assert "resamples" not in summary(made(4, 5, ["PGC"]), test="t").used


def test_undefined_correlations_are_dashes():
    scores = made(4, 5, ["PGC", "flat"])
    scores.loc[scores["measure"] == "flat", "value"] = 0.5
    page = summary(scores, test="t")
    rows = records(tables(page)["Measures compared: Rank"])
    assert [row["value"] for row in rows] == ["—", "—"]
    for picture in page.pictures.values():
        check_legible(picture.figure)


def test_what_is_refused():
    scores = made()
    with pytest.raises(UsageError, match="no scores of 'map'; there are PGC, Compat"):
        summary(scores, ["map"])
    with pytest.raises(UsageError, match="1 run or more, not 0"):
        summary(scores, top=0)
    with pytest.raises(UsageError, match="test is one of .*, not 'sign'"):
        summary(scores, test="sign")
    with pytest.raises(DataError, match="holds 1 run to compare"):
        summary(scores[scores["run_id"] == "run0"])
    with pytest.raises(DataError, match="holds 1 query to compare"):
        summary(scores[scores["query_id"] == "q00"])
    with pytest.raises(DataError, match="has no score for query 'q00'"):
        summary(scores.iloc[1:])
    note = "1 missing score counted as 0: run0 lacks 1 query by PGC"
    with pytest.warns(DataWarning, match=note):
        page = summary(scores.iloc[1:], missing="zero", test="t")
    assert page.used["lacking"] == note
    assert page.used["missing"] == "zero"


@pytest.mark.parametrize(
    ("structure", "runs", "text"),
    [
        ({"cluster": {f"q{q:02}": q // 4 for q in range(12)}}, 7, "come in 3 clusters"),
        (
            {"system": {f"run{r}": "abbbccc"[r] for r in range(7)}},
            3,
            "Each row is a sys",
        ),
        (
            {"collections": {f"q{q:02}": f"c{q // 9}" for q in range(12)}},
            7,
            "2 test col",
        ),
    ],
)
def test_a_page_of_clusters_systems_and_collections(structure, runs, text):
    given = made(measures=MEASURES[:2])
    found = find(given, **structure)
    assert text in introduction(found)[2]
    for measure in MEASURES[:2]:
        of_one = given[given["measure"] == measure]
        expected = compare(of_one, **structure)
        pd.testing.assert_frame_equal(found.compared[measure].runs, expected.runs)
        assert found.means(measure) == pytest.approx(expected.runs["mean"])
        assert len(found.scores[measure].run_ids) == runs
    page = page_of(found, "Scores", 2)
    means = tables(page)["Measures compared: Means"]
    best = found.compared["PGC"].runs.sort_values("rank").iloc[0]
    assert means.rows[0][:2] == [best["run_id"], cell_of(best["mean"])]
    value = found.correlations.query("coefficient == 'tau'")["value"].iloc[0]
    order = (found.compared[m].runs["mean"] for m in MEASURES[:2])
    assert value == pytest.approx(kendalltau(*order).statistic)


def test_what_a_page_cannot_show_of_systems_and_collections():
    given, structure = made(measures=["PGC", "AP"]), {"q00": "a", "q01": "a"}
    with pytest.raises(
        UsageError, match="collections: measures have different queries"
    ):
        lacking = (given["measure"] == "AP") & (given["query_id"] == "q05")
        find(given[~lacking], collections=structure)
    drawn: Any = object()
    with pytest.raises(UsageError, match="system: replicates hold means of runs"):
        find(given, system="u", uncertainty=drawn)
