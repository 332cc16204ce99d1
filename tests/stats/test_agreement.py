"""Agreement of measures with people and with each other."""

from math import isnan

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pgcjax.errors import DataError, DataWarning, UsageError
from pgcjax.judging.contingency import contingency
from pgcjax.stats.agreement import (
    agree,
    agree_measures,
    findings,
    preferred,
    tie_threshold,
)
from pgcjax.stats.correlation import correlate
from pgcjax.stats.discrimination import discriminate

LABELS = st.lists(st.tuples(*[st.sampled_from([-1, 0, 1])] * 2), min_size=1)


def scores_of(**measures) -> pd.DataFrame:
    """Score table from measure={run: {query: value}}."""
    rows = [
        (run, query, measure, value)
        for measure, runs in measures.items()
        for run, queries in runs.items()
        for query, value in queries.items()
    ]
    return pd.DataFrame(rows, columns=["run_id", "query_id", "measure", "value"])


def judged(*rows) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["query_id", "run_a", "run_b", "preference"])


TWO = scores_of(
    M={
        "a": {"1": 0.9, "2": 0.5, "3": 0.1, "4": 0.7},
        "b": {"1": 0.5, "2": 0.6, "3": 0.1, "4": 0.1},
    }
)
FOUR = judged(("1", "a", "b", 2), ("2", "b", "a", -1), ("3", "a", "b", 1))
FOUR = pd.concat([FOUR, judged(("4", "b", "a", 0))], ignore_index=True)


def image_scores(golden) -> dict[str, pd.DataFrame]:
    """Scores of each query and image search engine, by measure."""
    xie, pgc = golden("xie"), golden("image_pgc")
    named = {**xie["per_query"]}
    named |= {f"PGC_{order}": values for order, values in pgc["scores"].items()}
    out = {}
    for measure, values in named.items():
        table = pd.DataFrame(values, columns=xie["columns"])
        table.insert(0, "query_id", [str(i) for i in range(len(table))])
        out[measure] = table
    return out


def image_preferences(golden) -> pd.DataFrame:
    signs = golden("xie")["serp(-1 sogou,0 tie,1 baidu)"]
    rows = [(str(i), "sogou", "baidu", -sign) for i, sign in enumerate(signs)]
    return judged(*rows)


def test_published_tables_from_the_scores_of_each_query(golden):
    scores, summary = image_scores(golden), golden("image_summary")["summary"]
    found = agree(scores, image_preferences(golden))
    shared = set(summary) & set(scores)
    assert {"PMR_D", "PMR_N", "WR", "PGC_default", "PGC_euclidean"} <= shared
    for measure in shared:
        assert found.contingency[measure].tolist() == summary[measure]["table"], measure


def test_luo_figure_5_6():
    printed = {
        "WR": ([[9, 3, 3], [19, 25, 42], [0, 0, 1]], 3.8182, 0.0507, 0.000017),
        "PB": ([[8, 0, 4], [3, 15, 9], [17, 13, 33]], 15.7576, 0.00007, 0.038778),
        "PMR_N": ([[18, 12, 25], [10, 16, 21], [0, 0, 0]], 2.5846, 0.1079, 0.34425),
        "PWP": ([[17, 3, 10], [11, 25, 36], [0, 0, 0]], 15.2444, 0.00009, 0.02251),
    }
    for table, chi2, chi2_p, side in printed.values():
        found = findings(np.array(table))
        assert found["chi2"] == pytest.approx(chi2, abs=5e-5)
        assert found["chi2_p"] == pytest.approx(chi2_p, abs=5e-5)
        assert found["side_p_normal"] == pytest.approx(side, abs=5e-6)


def test_every_pair_is_counted_once():
    found = agree(TWO, FOUR)
    row = found.table.iloc[0]
    # 1: both a. 2: both b, said the other way round. 3: the measure ties. 4: people.
    counts = "agree", "disagree", "ties_measure", "ties_preference", "ties_both"
    assert row[list(counts)].tolist() == [1, 1, 1, 1, 0]
    assert row["pairs"] == 4


@given(LABELS)
def test_findings_count_every_pair_once(labels):
    first, second = np.array(labels).T
    found = findings(contingency(first, second))
    total = ["agree", "disagree", "ties_measure", "ties_preference", "ties_both"]
    assert sum(found[name] for name in total) == found["pairs"] == len(labels)
    alike = len({*first, *second}) == 1
    assert ("kappa: both always say the same" in found["undefined"]) == alike


@given(st.lists(st.integers(0, 30), min_size=9, max_size=9))
def test_the_tests_are_those_of_scipy(counts):
    table = np.array(counts).reshape(3, 3)
    found, corner = findings(table), table[:2, :2]
    if corner.sum(axis=0).all() and corner.sum(axis=1).all():
        expected = stats.chi2_contingency(corner, correction=False)
        assert found["chi2"] == pytest.approx(expected.statistic, rel=1e-12)
        assert found["chi2_p"] == pytest.approx(expected.pvalue, rel=1e-12)
    else:
        assert "chi2: a side is never preferred" in found["undefined"]
    n, k = int(corner.sum()), int(np.trace(corner))
    if n:
        exact = stats.binomtest(k, n, alternative="greater").pvalue
        assert found["agree_p_exact"] == pytest.approx(exact, rel=1e-12)
        approximate = stats.norm.sf(k - 0.5, n / 2, np.sqrt(n) / 2)
        assert found["agree_p_normal"] == pytest.approx(approximate, rel=1e-9)
    else:
        assert "agree_p_exact: all pairs have ties" in found["undefined"]


def test_a_threshold_is_a_tie_itself():
    threshold = 0.7 - 0.6  # the difference on query 2, but for rounding
    counts = agree(TWO, FOUR, threshold=threshold).contingency["M"]
    assert counts.sum() == 4
    assert counts[2].sum() == 2


@pytest.mark.parametrize(
    ("share", "threshold", "ties"),
    [(0, 0, 1), (0.25, 0, 1), (0.5, 0.1, 2), (0.7, 0.4, 3), (1, 0.6, 4)],
)
def test_the_threshold_for_a_share_of_ties(share, threshold, ties):
    found = agree(TWO, FOUR, tie_share=share)
    assert found.table["threshold"][0] == pytest.approx(threshold)
    assert found.contingency["M"][2].sum() == ties


def test_as_many_ties_as_people_have():
    found = agree(TWO, FOUR, tie_share="preferences")
    assert found.contingency["M"][2].sum() == found.contingency["M"][:, 2].sum() == 1


@given(
    st.lists(st.tuples(*[st.integers(0, 9)] * 2), min_size=1, max_size=30),
    st.floats(0, 1),
)
def test_no_threshold_is_nearer_to_the_share(scores, share):
    a, b = np.array(scores, float).T / 9
    chosen = tie_threshold(a, b, share)

    def off(threshold):
        ties = np.mean(preferred(a, b, threshold) == 0)
        return abs(ties - share)

    for other in [0, *np.abs(a - b)]:
        assert off(chosen) <= off(other) + 1e-12


def test_no_measure_agrees_better_with_itself():
    rng = np.random.default_rng(0)
    tables = {name: rng.integers(0, 5, (6, 9)) / 4 for name in "abc"}
    tables["d"] = tables["a"]
    found = agree_measures(wide(tables)).set_index(["measure_a", "measure_b"])
    assert found.loc[("a", "d"), ["kappa", "jaccard"]].tolist() == [1, 1]
    assert found.loc[("a", "b"), "kappa"] < 1
    assert (found["pairs"] == 9 * 15).all()
    # The runs in another order, and so most pairs the other way round.
    turned = {name: values[::-1] for name, values in tables.items()}
    again = agree_measures(wide(turned)).set_index(["measure_a", "measure_b"])
    pd.testing.assert_frame_equal(found, again)


def test_measures_that_say_nothing_have_no_kappa():
    same = np.ones((3, 4))
    found = agree_measures(wide({"a": same, "b": same}))
    assert found["undefined"][0] == "kappa: both always say the same"
    assert isnan(found["kappa"][0])
    assert found["jaccard"][0] == 1


def wide(tables) -> dict[str, pd.DataFrame]:
    """A row per query and a column per run, for each measure."""
    out = {}
    for name, values in tables.items():
        table = pd.DataFrame(values.T, columns=[f"r{i}" for i in range(len(values))])
        table.insert(0, "query_id", [f"q{i}" for i in range(len(table))])
        out[name] = table
    return out


PROBLEMS = [
    (
        judged(("1", "a", "a", 1)),
        {},
        "preferences, row 1: compares a run with itself",
    ),
    (
        judged(("1", "a", "b", 1), ("1", "b", "a", 1)),
        {},
        "preferences, row 2: judges a pair of runs that was judged before. Give one "
        "preference for each query and pair, such as the majority's.",
    ),
    (
        judged(("1", "a", "b", None)),
        {},
        "preferences, row 1: expected a finite number as preference, found nothing. "
        "Every row needs one.",
    ),
    (
        judged(("1", "a", "c", 1)),
        {},
        "preferences, row 1: there are no scores of run_b 'c'. missing='drop' leaves "
        "such pairs out.",
    ),
    (
        judged(("9", "a", "b", 1)),
        {"missing": "drop"},
        "preferences: no judged pair of runs has scores",
    ),
    (
        FOUR.drop(columns="run_b"),
        {},
        "preferences: missing columns ['run_b'] (found ['query_id', 'run_a', "
        "'preference']). Needed: query_id, run_a, run_b, preference.",
    ),
    (
        FOUR,
        {"threshold": -1},
        "a tie threshold is a difference from 0 up, not -1",
    ),
    (FOUR, {"tie_share": 2}, "a share of ties is from 0 to 1, not 2"),
    (FOUR, {"tie_share": "some"}, "a share of ties is from 0 to 1, not 'some'"),
    (
        FOUR,
        {"tie_share": 0.5, "threshold": 0.1},
        "give a tie threshold or a share of ties, not both",
    ),
]


@pytest.mark.parametrize(("preferences", "options", "message"), PROBLEMS)
def test_what_cannot_be_compared(preferences, options, message):
    with pytest.raises((DataError, UsageError)) as error:
        agree(TWO, preferences, **options)
    assert str(error.value) == message


def test_one_measure_or_run_is_not_compared():
    with pytest.raises(UsageError) as usage:
        agree_measures(TWO)
    assert str(usage.value) == "compare two measures or more, not 1"
    with pytest.raises(DataError) as data:
        agree_measures(TWO[TWO["run_id"] == "a"])
    assert str(data.value).startswith("scores: holds 1 run to compare.")


def test_measures_that_do_not_fit_together():
    one, other = np.ones((2, 3)), np.ones((3, 3))
    with pytest.raises(DataError) as error:
        agree_measures(wide({"a": one, "b": other}))
    assert str(error.value) == (
        "only one of a and b has scores of run 'r2'. Complete the other, or drop it."
    )
    with pytest.raises(UsageError) as unknown:
        agree_measures(wide({"a": one, "b": one}), measures=["a", "c"])
    assert str(unknown.value) == "no scores of 'c'; there are a, b"
    with pytest.raises(UsageError) as twice:
        agree_measures(wide({"a": one, "b": one}), measures=["a", "a"])
    assert str(twice.value) == "a measure is named twice"


def test_queries_that_only_one_measure_has():
    rng = np.random.default_rng(0)
    tables = wide({"a": rng.random((3, 4)), "b": rng.random((3, 4))})
    tables["b"] = tables["b"].iloc[1:]
    with pytest.raises(DataError) as error:
        agree_measures(tables, missing="error")
    assert str(error.value) == (
        "only one of a and b has scores of query 'q0'. Complete the other, or choose "
        "missing shared, drop or zero."
    )
    with pytest.warns(DataWarning) as said:
        shared, dropped, padded = (
            agree_measures(tables, **how)
            for how in ({}, {"missing": "drop"}, {"missing": "zero"})
        )
    left_out = "1 of 4 queries left out: there are no scores of 1 query by b"
    assert [str(warning.message) for warning in said] == [
        left_out,
        left_out,
        "3 missing scores counted as 0: there are no scores of 1 query by b",
    ]
    assert [t.attrs["notes"][0] for t in (shared, dropped, padded)] == [
        str(warning.message) for warning in said
    ]
    pd.testing.assert_frame_equal(shared, dropped)
    assert dropped["pairs"][0] == 3 * 3
    assert padded["pairs"][0] == 3 * 4
    assert padded["ties_b"][0] == 3
    tables["b"] = tables["b"].iloc[1:]
    tables["a"] = tables["a"].iloc[:2]
    with pytest.raises(DataError) as few:
        agree_measures(tables, missing="drop")
    assert str(few.value) == "all measures have 0 queries in common, fewer than 1"


def test_a_query_that_one_run_lacks_is_no_query_that_a_measure_lacks():
    """By default the first is an error; nothing of a wide table's row is the second."""
    rng = np.random.default_rng(0)
    tables = wide({"a": rng.random((3, 4)), "b": rng.random((3, 4))})
    runs = [name for name in tables["b"] if name != "query_id"]
    tables["b"].loc[0, runs[1:]] = np.nan
    with pytest.raises(DataError) as error:
        agree_measures(tables)
    assert str(error.value) == (
        "scores: run 'r1' has no score for query 'q0' (missing in all: 2). Complete "
        "them, or choose missing drop or zero."
    )
    tables["b"].loc[0, runs] = np.nan
    with pytest.warns(DataWarning) as said:
        found = agree_measures(tables)
        padded = agree_measures(tables, missing="zero")
    assert [str(warning.message) for warning in said] == [
        "1 of 4 queries left out: there are no scores of 1 query by b",
        "3 missing scores counted as 0: there are no scores of 1 query by b",
    ]
    assert (found["pairs"][0], padded["pairs"][0]) == (3 * 3, 3 * 4)
    with pytest.raises(UsageError) as usage:
        agree_measures(tables, missing="skip")
    assert str(usage.value) == (
        "missing is one of shared, error, drop, zero, not 'skip'"
    )


def test_judged_pairs_of_queries_that_a_measure_lacks():
    """They are left out as the query is; a pair of an unknown run is an error."""
    table = pd.concat([TWO, TWO.assign(measure="N")])
    table = table[(table["query_id"] != "4") | (table["measure"] != "N")]
    with pytest.warns(DataWarning):
        found = agree(table, FOUR)
    assert found.notes == (
        "1 of 4 queries left out: there are no scores of 1 query by N",
        "1 of 4 judged pairs left out: there are no scores of a run, or of the query",
    )
    with pytest.raises(DataError, match=r"row 1: there are no scores of run_b 'c'\. "):
        agree(TWO, judged(("1", "a", "c", 1)))


def test_one_query_can_be_counted():
    """What needs no variance over queries: each of its pairs is in a cell."""
    one = TWO[TWO["query_id"] == "1"]
    found = agree(one, FOUR[:1])
    assert found.table["pairs"][0] == found.table["agree"][0] == 1
    assert found.notes == ()
    both = pd.concat([one, one.assign(measure="N", value=1 - one["value"])])
    row = agree_measures(both).iloc[0]
    assert (row["pairs"], row["disagree"]) == (1, 1)


def test_what_is_left_out_is_said():
    """Of runs, of measures, and of pairs that people judged."""
    table = pd.concat([TWO, TWO.assign(measure="N"), TWO.assign(measure="O")])
    lacks = (table["query_id"] == "2") & (table["run_id"] == "b")
    table = table[~(lacks & table["measure"].isin(["M", "N"]))]
    table = table[(table["query_id"] != "4") | (table["measure"] != "O")]
    with pytest.warns(DataWarning) as said:
        found = agree(table, FOUR, missing="drop")
    assert found.notes == (
        "2 of 4 queries left out: b lacks 1 query by M, N; there are no scores of 1 "
        "query by O",
        "2 of 4 judged pairs left out: there are no scores of a run, or of the query",
    )
    assert tuple(str(warning.message) for warning in said) == found.notes
    with pytest.warns(DataWarning):
        curves = discriminate(table, test="t", missing="drop")
    assert curves.notes == found.notes[:1] and curves.pairs["p_value"].notna().all()
    with pytest.warns(DataWarning, match="4 missing scores counted as 0: b lacks 1 q"):
        assert correlate(table, missing="zero").attrs["notes"][0][:4] == "4 mi"
