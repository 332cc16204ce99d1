"""Figures say what the data say, and can be read in a paper's column."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from helpers.drawn import check_legible, letters, words

from pgcjax.errors import UsageError
from pgcjax.reporting import bar_plots, canvas, plots
from pgcjax.stats.agreement import agree_measures
from pgcjax.stats.compare import compare
from pgcjax.stats.correlation import correlate, correlation
from pgcjax.stats.discrimination import Discrimination, discriminate
from pgcjax.stats.stability import stability

LONG = "PGC(p=0.8,graph=combined,normalization=one-minus-p)"
ODD = ["$5_off$", r"\frac{a}{b}^2", "<b>|*x*", "Ærø", "W" * 60]


def made(runs: int, measures=("PGC", "nDCG@10", LONG), odd: bool = False):
    """Scores of runs that differ, the first the best, by measures that nearly agree."""
    rng = np.random.default_rng(runs)
    names = [f"{'of_one_group_with_a_long_name_' * odd}run{i:02}" for i in range(runs)]
    names[: len(ODD)] = ODD[:runs] if odd else names[: len(ODD)]
    quality = np.linspace(0.7, 0.2, runs)[:, None]
    found = []
    for k, measure in enumerate(measures):
        noise = rng.normal(0, 0.1 + 0.1 * k, (runs, 20))
        values = np.clip(quality + noise, 0, 1)
        for run, scores in zip(names, values, strict=True):
            found += [(run, f"q{q:02}", measure, x) for q, x in enumerate(scores)]
    return pd.DataFrame(found, columns=["run_id", "query_id", "measure", "value"])


def means(scores, measure):
    mine = scores[scores["measure"] == measure]
    return mine.groupby("run_id")["value"].mean()


CURVES = pd.DataFrame(
    [(p, f"{LONG} {i}", np.sin(i + p)) for i in range(9) for p in (0.1, 0.5, 0.9)],
    columns=["p", "measure", "mean"],
)


def levelled(scores) -> pd.DataFrame:
    """The same scores as if they were precision at three levels of recall."""
    names = {"PGC": "IPrec@0.0", "nDCG@10": "IPrec@1", LONG: "IPrec@.5"}
    return scores.assign(measure=scores["measure"].map(names))


STABLE = stability(
    ["a", "b", "c"],
    {"PGC": np.array([0.3, 0.2, 0.1]), LONG: np.array([0.3, 0.2, 0.1])},
    {
        "PGC": [np.array([[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]])],
        LONG: [np.array([[0.3, 0.1, 0.2], [0.3, 0.2, 0.1]])],
    },
    (0.5,),
    (4000, 8000),
    2,
    {},
)


def by_two_tests(scores) -> Discrimination:
    """The t-test, and as if another test had found the squares of its p."""
    found = discriminate(scores, test="t")
    square = found.pairs["p_adjusted"] ** 2
    other = found.pairs.assign(test="anova", p_adjusted=square)
    other["significant"] = square < 0.05
    used = found.metadata | {"correction": {"t": "holm", "anova": "none"}}
    return Discrimination(used, pairs=pd.concat([found.pairs, other]))


KINDS = {
    "leaderboard": lambda s: plots.leaderboard(s, LONG),
    "with letters": lambda s: plots.leaderboard(compare(s, measure=LONG, test="t")),
    "differences": lambda s: plots.differences(compare(s, measure="PGC", test="t")),
    "scatter": lambda s: plots.scatter(s, "PGC", LONG),
    "duel": lambda s: plots.duel(s, s["run_id"].iloc[0], s["run_id"].iloc[-1], LONG),
    "curves": lambda s: plots.significance_curves(by_two_tests(s)),
    "overlaps": lambda s: plots.overlaps(discriminate(s, test="t")),
    "correlations": lambda s: plots.correlations(correlate(s)),
    "agreement": lambda s: plots.agreement(agree_measures(s)),
    "recall_precision": lambda s: plots.recall_precision(levelled(s)),
    "lines": lambda s: plots.lines(CURVES, "p", "mean", "measure"),
    "grid": lambda s: canvas.grid(
        {
            "(a) agreement with people": partial(plots.scatter, s, "PGC", LONG),
            "(b)": partial(plots.scatter, s, LONG, "nDCG@10", coefficient="tau_ap_b"),
            "(c)": partial(plots.duel, s, *sorted(set(s["run_id"]))[:2], "PGC"),
        }
    ),
}


@pytest.mark.parametrize(
    ("runs", "odd", "kind"),
    [
        (*runs, kind)
        for runs in ((2, False), (20, True), (63, True))
        for kind in KINDS
        if kind != "lines" or runs == (2, False)  # lines are not of these runs
    ],
)
def test_all_can_be_read_in_a_column(kind, runs, odd):
    check_legible(KINDS[kind](made(runs, odd=odd)))


@pytest.mark.parametrize("count", [1, 2, 10, 11, 40])
def test_any_square_can_be_read(count):
    rng = np.random.default_rng(count)
    square = rng.uniform(-1, 1, (count, count))
    square[0, -1] = np.nan
    names = [f"{LONG} {i}" for i in range(count)]
    figure = plots.matrix(square, names, title="pairs in common, permutation")
    check_legible(figure)
    axes, *bar = figure.axes
    drawn = np.ma.filled(axes.images[0].get_array(), np.nan)
    np.testing.assert_array_equal(drawn, square)
    numbers = [text.get_text() for text in axes.texts]
    # Either each cell has its number, or a bar tells what colours mean.
    assert len(numbers) == (0 if bar else np.isfinite(square).sum())
    assert bool(bar) == (count > 10)
    found = [float(text) for text in numbers]
    np.testing.assert_allclose(
        found, square[np.isfinite(square)][: len(found)], atol=0.0051
    )


def test_equal_data_give_equal_bytes():
    scores = made(6)
    texts = {}
    for kind, draw in KINDS.items():
        texts[kind] = canvas.svg(draw(scores.copy()))
        figure = draw(scores)
        if kind in ("leaderboard", "correlations", "grid"):  # one of each layout
            canvas.rendered(figure, ".png")  # changes nothing in the next file
        assert canvas.svg(figure) == texts[kind], kind
    other = scores.assign(value=scores["value"] * 0.9)
    assert canvas.svg(KINDS["leaderboard"](other)) != texts["leaderboard"]


def test_a_curve_of_recall_and_precision_draws_the_means_of_the_best_runs():
    scores = levelled(made(9))
    (axes,) = plots.recall_precision(scores, most=4).axes
    mean = scores.groupby(["run_id", "measure"])["value"].mean().unstack()
    best = mean.mean(axis=1).sort_values(ascending=False).index[:4]
    assert [line.get_label() for line in axes.lines] == best.tolist()
    for line, run in zip(axes.lines, best, strict=True):
        assert line.get_xdata().tolist() == [0.0, 0.5, 1.0]
        levels = mean.loc[run, ["IPrec@0.0", "IPrec@.5", "IPrec@1"]]
        np.testing.assert_allclose(line.get_ydata(), levels, rtol=1e-14)
    assert axes.get_title(loc="left") == "4 of 9 runs"
    chosen = sorted(mean.index)[:2]
    (axes,) = plots.recall_precision(scores, chosen).axes
    assert [line.get_label() for line in axes.lines] == chosen
    with pytest.raises(UsageError, match="no scores of run 'nobody'"):
        plots.recall_precision(scores, ["nobody"])
    with pytest.raises(UsageError, match="two levels of recall or more, such as IPrec"):
        plots.recall_precision(made(3))
    other = scores.replace({"measure": {"IPrec@1": "IPrec(rel=2.0)@1.0"}})
    with pytest.raises(
        UsageError, match=r"^scores of IPrec and IPrec\(rel=2.0\): draw"
    ):
        plots.recall_precision(other)


def test_a_leaderboard_draws_means_intervals_and_letters():
    scores = made(6)
    found = compare(scores, measure="PGC", test="t")
    order = found.runs.sort_values("mean", ascending=False)
    figure = plots.leaderboard(found)
    (axes,) = figure.axes
    x, y = axes.lines[0].get_data()
    np.testing.assert_array_equal(x, order["mean"])
    ends = np.array([s[:, 0] for s in axes.collections[0].get_segments()])
    np.testing.assert_array_equal(ends, order[["low", "high"]])
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == order["run_id"].tolist() and y.tolist() == list(range(6))
    assert [text.get_text() for text in axes.texts] == order["groups"].tolist()
    assert axes.yaxis_inverted() and "95 % interval" in axes.get_xlabel()


def test_a_leaderboard_draws_intervals_by_judgments_below():
    scores = made(3)
    judged = pd.DataFrame({"run_id": sorted(set(scores["run_id"]))})
    judged = judged.assign(low=[0.1, 0.2, 0.3], high=[0.4, 0.5, 0.6])
    (axes,) = plots.leaderboard(scores, "PGC", judged=judged).axes
    over, below = (part.get_segments() for part in axes.collections)
    order = means(scores, "PGC").sort_values(ascending=False, kind="stable").index
    expected = judged.set_index("run_id").loc[order]
    for place, (segment, row) in enumerate(
        zip(below, expected.itertuples(), strict=True)
    ):
        assert segment.tolist() == [[row.low, place + 0.28], [row.high, place + 0.28]]
    assert [segment[0][1] for segment in over] == [0, 1, 2]
    figure = plots.leaderboard(made(63), "PGC", judged=None)
    assert len(figure.axes[0].collections) == 1


def test_a_leaderboard_of_scores_has_the_same_intervals_and_no_letters():
    scores = made(70)
    figure = plots.leaderboard(scores, "PGC", most=10)
    (axes,) = figure.axes
    order = means(scores, "PGC").sort_values(ascending=False)
    np.testing.assert_allclose(axes.lines[0].get_xdata(), order.iloc[:10], rtol=1e-15)
    runs = compare(scores, measure="PGC", test="t").runs
    expected = runs.sort_values("mean", ascending=False)[["low", "high"]].head(10)
    ends = np.array([s[:, 0] for s in axes.collections[0].get_segments()])
    np.testing.assert_allclose(ends, expected, rtol=1e-14)
    assert not "".join(text.get_text() for text in axes.texts)
    assert axes.get_title(loc="left") == "the first 10 of 70 runs"
    with pytest.raises(UsageError, match="level is between 0 and 1, not 95"):
        plots.leaderboard(scores, "PGC", level=95)


@pytest.mark.parametrize(
    ("groups", "text"),
    [
        ("", ""),
        ("b", "b"),
        ("abc", "abc"),
        ("abcd", "a-d"),
        ("acdefx", "ac-fx"),
        ("b z aa ab ac", "b z-ac"),
        ("aab aad", "aab aad"),
    ],
)
def test_many_letters_in_little_room(groups, text):
    assert bar_plots._ranges(groups) == text


def test_a_scatter_draws_means_and_says_how_alike_they_are():
    scores = made(9)
    for coefficient, sign in (("tau", "τ"), ("pearson", "r"), ("tau_ap_b", "tau_ap_b")):
        figure = plots.scatter(scores, "PGC", "nDCG@10", coefficient=coefficient)
        (axes,) = figure.axes
        x, y = means(scores, "PGC"), means(scores, "nDCG@10")
        drawn = axes.collections[0].get_offsets()
        np.testing.assert_allclose(drawn, np.transpose([x, y]), rtol=1e-15)
        value = correlation(x, y, coefficient)
        assert axes.get_title(loc="left") == f"{sign} = {value:.4f}"
        assert (axes.get_xlabel(), axes.get_ylabel()) == ("PGC", "nDCG@10")
    scores.loc[scores["measure"] == "PGC", "value"] = 0.5
    (axes,) = plots.scatter(scores, "PGC", "nDCG@10").axes
    assert axes.get_title(loc="left") == "τ is undefined"


def test_a_duel_draws_queries_on_equal_axes():
    scores = made(5)
    figure = plots.duel(scores, "run04", "run01", "PGC", coefficient="spearman")
    (axes,) = figure.axes
    table = scores[scores["measure"] == "PGC"].pivot(
        index="query_id", columns="run_id", values="value"
    )
    expected = table[["run04", "run01"]]
    drawn = axes.collections[0].get_offsets()
    np.testing.assert_array_equal(drawn, expected)
    value = correlation(expected["run04"], expected["run01"], "spearman")
    assert axes.get_title(loc="left") == f"PGC\nρ = {value:.4f}"
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("run04", "run01")
    assert axes.get_xlim() == axes.get_ylim() and axes.get_aspect() == 1
    x, y = axes.lines[0].get_data()
    np.testing.assert_array_equal(x, y)
    with pytest.raises(UsageError, match="no scores of run 'run99'"):
        plots.duel(scores, "run99", "run01", "PGC")


def test_points_that_are_not_there_are_not_drawn():
    nan = np.nan
    figure = plots.points([1, 2, nan, 4], [1, nan, 3, 5], diagonal=True)
    check_legible(figure)
    (axes,) = figure.axes
    drawn = np.ma.compress_rows(np.ma.masked_invalid(axes.collections[0].get_offsets()))
    assert drawn.tolist() == [[1, 1], [4, 5]]
    assert axes.get_xlim()[0] < 1 and axes.get_xlim()[1] > 5
    check_legible(plots.points([], [], diagonal=True))
    with pytest.raises(UsageError, match="as many x as y"):
        plots.points([1, 2], [1])


def test_lines_draw_what_the_table_holds():
    table = pd.DataFrame(
        {
            "p": [0.1, 0.5, 0.9, 0.1, 0.5, 0.9],
            "of": ["a"] * 3 + ["b"] * 3,
            "y": [1, 2, np.nan, 3, 4, 5],
        }
    )
    figure = plots.lines(table, "p", "y", "of", ylabel="mean of all")
    (axes,) = figure.axes
    for line, (name, mine) in zip(axes.lines, table.groupby("of"), strict=True):
        np.testing.assert_array_equal(line.get_xydata(), mine[["p", "y"]])
        assert line.get_label() == name
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("p", "mean of all")
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["a", "b"]
    with pytest.raises(UsageError, match="no column 'q' to draw; there are"):
        plots.lines(table, "q", "y", "of")


def test_stability_draws_its_curve():
    check_legible(plots.stability(STABLE, LONG))
    (axes,) = plots.stability(STABLE).axes
    lines = {line.get_label(): line.get_ydata().tolist() for line in axes.lines}
    assert lines == {
        "τ with the order by all, 95 %": [0.0, 1.0],
        "the same best run": [0.5, 1.0],
        "best runs kept": [0.75, 1.0],
    }
    assert axes.lines[0].get_xdata().tolist() == [4000, 8000]
    (band,) = axes.collections
    ends = band.get_paths()[0].vertices[:, 1]
    assert (ends.min(), ends.max()) == pytest.approx((-0.95, 1.0))
    assert (axes.get_title(loc="left"), axes.get_xlabel()) == ("PGC", "judgments")
    with pytest.raises(UsageError) as error:
        plots.stability(STABLE, "AP")
    assert str(error.value) == f"no curve of 'AP'; there are PGC, {LONG}"


def test_no_two_of_many_lines_look_alike():
    looks = [style for style, _ in zip(canvas.styles(), range(28), strict=False)]
    assert len({(s.colour, s.line) for s in looks}) == 28
    assert len({(s.line, s.mark) for s in looks[:7]}) == 7  # in grey, too


def test_curves_of_significance_are_those_found():
    found = discriminate(made(8), test=["t", "wilcoxon"])
    figure = plots.significance_curves(found, test="t")
    (axes,) = figure.axes
    curves = found.curves()
    curves = curves[curves["test"] == "t"]
    *lines, level = axes.lines
    for line, (name, mine) in zip(
        lines, curves.groupby("measure", sort=False), strict=True
    ):
        assert line.get_label() == name
        np.testing.assert_array_equal(
            line.get_xydata(), mine[["position", "p_adjusted"]].to_numpy(float)
        )
        assert (np.diff(line.get_ydata()) <= 0).all()
    assert set(level.get_ydata()) == {0.05}
    assert axes.get_ylim() == (0, 0.1) and axes.get_xlim()[1] == 28.5
    both = plots.significance_curves(found)
    assert "PGC, wilcoxon" in words(both)
    with pytest.raises(UsageError, match="no test 'tukey'; there are t, wilcoxon"):
        plots.significance_curves(found, test="tukey")


def test_overlaps_are_shares_of_sets():
    found = discriminate(made(8), test=["t", "wilcoxon"])
    figure = plots.overlaps(found, "wilcoxon")
    square = figure.axes[0].images[0].get_array()
    pairs = found.pairs[found.pairs["test"] == "wilcoxon"]
    sets = [
        {(row.run_a, row.run_b) for row in mine.itertuples() if row.significant}
        for _, mine in pairs.groupby("measure", sort=False)
    ]
    for i, one in enumerate(sets):
        for j, other in enumerate(sets):
            assert square[i, j] == len(one & other) / len(one | other)
    with pytest.raises(UsageError, match="choose a test of t, wilcoxon"):
        plots.overlaps(found)


def test_correlations_both_ways():
    scores = made(8)
    table = correlate(scores, coefficients=["tau", "tau_ap"])
    names = ["PGC", "nDCG@10", LONG]
    for coefficient in ("tau", "tau_ap"):
        figure = plots.correlations(table, coefficient)
        square = figure.axes[0].images[0].get_array()
        for i, a in enumerate(names):
            for j, b in enumerate(names):
                x, y = means(scores, a), means(scores, b)
                assert square[i, j] == pytest.approx(correlation(x, y, coefficient))
    with pytest.raises(UsageError, match="no 'pearson' in the table; there are tau, t"):
        plots.correlations(table, "pearson")


def test_differences_say_which_of_two_is_better():
    found = compare(made(9), measure="PGC", test="t")
    figure = plots.differences(found, most=7)
    (axes,) = figure.axes
    best = found.runs.sort_values("mean", ascending=False)["run_id"].tolist()[:7]
    square = axes.images[0].get_array()
    sign = {}
    for row in found.table.itertuples():
        sign[row.run_a, row.run_b] = row.significant * np.sign(row.difference)
        sign[row.run_b, row.run_a] = -sign[row.run_a, row.run_b]
    expected = [[sign.get((a, b), 0) for b in best] for a in best]
    np.testing.assert_array_equal(square, expected)
    assert square[0, 6] == 1  # so that the test has something to say
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == [f"{run}  {i + 1}" for i, run in enumerate(best)]
    assert "the first 7 of 9 runs" in axes.get_title(loc="left")


@pytest.mark.parametrize("named", ["measure", "measure_a"])
def test_agreement_draws_shares_of_pairs(named):
    table = pd.DataFrame(
        {
            named: ["PGC", "Compat", "none"],
            "measure_b": ["x", "y", "z"],
            "agree": [30, 2, 0],
            "disagree": [6, 10, 0],
            "pairs": [40, 20, 0],
        }
    )
    figure = plots.agreement(table)
    check_legible(figure)
    (axes,) = figure.axes
    bars = [[bar.get_width() for bar in bars] for bars in axes.containers]
    expected = [[0.75, 0.1, np.nan], [0.1, 0.4, np.nan], [0.15, 0.5, np.nan]]
    np.testing.assert_allclose(bars, expected, atol=1e-15)
    lefts = [bar.get_x() for bar in axes.containers[2]][:2]
    np.testing.assert_allclose(lefts, [0.85, 0.5])
    assert [text.get_text() for text in axes.texts] == ["0.750", "0.100"]
    first = axes.get_yticklabels()[0].get_text()
    assert first == ("PGC" if named == "measure" else "PGC, x")


def test_plots_draw_on_the_axes_that_they_are_given():
    from matplotlib.figure import Figure

    figure = Figure((6, 4))
    axes = figure.subplots()
    assert plots.lines(CURVES, "p", "mean", "measure", axes=axes) is figure
    assert figure.get_size_inches().tolist() == [6, 4]  # theirs stays as it was
    assert len(axes.lines) == 9 and axes.get_legend() and not figure.legends
    assert all(text.get_fontsize() >= 7 for text in letters(figure))
