"""Comparisons: tables of pairs and runs, decisions, files."""

import json
from unittest.mock import ANY

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from pgcjax.errors import DataError, UsageError
from pgcjax.stats import procedures
from pgcjax.stats.compare import compare
from pgcjax.stats.matrix import read
from pgcjax.stats.scores import Scores

PAIR = ["run_a", "run_b"]


@pytest.mark.parametrize("test", procedures.TESTS)
def test_every_test_gives_the_same_tables(frame, test):
    table = frame(5, 20)
    found = compare(table, test=test, resamples=400)
    pairs = found.table
    assert pairs[PAIR].to_numpy().tolist() == [
        [f"r{i}", f"r{j}"] for i in range(5) for j in range(i + 1, 5)
    ]
    means = table.groupby("run_id")["value"].mean()
    difference = means[pairs.run_a].to_numpy() - means[pairs.run_b].to_numpy()
    assert pairs.difference.to_numpy() == pytest.approx(difference)
    assert (pairs.low < pairs.high).all()
    if test != "wilcoxon":  # its interval is of the pseudo-median
        assert (pairs.low < difference).all() and (pairs.high > difference).all()
    assert not pairs.drop(columns=PAIR).isna().any().any()
    assert (pairs.significant == (pairs.p_adjusted < 0.05)).all()
    assert 0 < pairs.significant.sum() < 10
    assert (np.sign(pairs.effect_size) == np.sign(pairs.difference)).all()
    assert (pairs.p_error > 0).any() == (test in procedures.RESAMPLES)
    runs = found.runs.set_index("run_id")
    assert runs["rank"].tolist() == [5, 4, 3, 2, 1]
    for row in pairs.itertuples():
        shared = set(runs.groups[row.run_a]) & set(runs.groups[row.run_b])
        assert bool(shared) != row.significant
    assert found.metadata["measure"] == "nDCG" and found.metadata["test"] == test
    corrected = "" if test in procedures.FAMILY else ", Holm"
    assert found.notes[0] == (
        f"5 runs: {pairs.significant.sum()} of 10 pairs differ significantly "
        f"({test}{corrected}, 10 comparisons, 20 queries, α = 0.05)"
    )


@pytest.mark.parametrize("test", ["max-t", "tukey", "anova"])
def test_simultaneous_intervals_decide_as_the_test(frame, test):
    found = compare(frame(6, 25), test=test, resamples=2000).table
    apart = (found.low > 0) | (found.high < 0)
    assert (apart == found.significant).all()


def test_ranks_and_tiers_follow_from_the_significant_pairs(frame):
    table = frame(6, 25)
    for how in ({"test": "max-t"}, {"test": "t", "correction": "holm"}):
        found = compare(table, **how)
        runs = found.runs.set_index("run_id")
        pairs = found.table[found.table.significant]
        assert 0 < len(pairs) < 15
        up = pairs.run_a.where(pairs.difference > 0, pairs.run_b).value_counts()
        down = pairs.run_b.where(pairs.difference > 0, pairs.run_a).value_counts()
        for run, row in runs.iterrows():
            assert row.rank_low == 1 + down.get(run, 0)
            assert row.rank_high == 6 - up.get(run, 0)
            assert row.rank_low <= row["rank"] <= row.rank_high
        for row in pairs.itertuples():
            better, worse = (row.run_a, row.run_b)[:: 1 if row.difference > 0 else -1]
            assert runs.tier[better] < runs.tier[worse]
    places = ["rank_low", "rank_high", "tier"]
    for how in (
        {"test": "t", "correction": "none"},
        {"test": "t", "correction": "bh"},
        {"test": "max-t", "baselines": "r0"},
    ):  # these promise nothing of all pairs
        assert compare(table, **how).runs[places].isna().all(axis=None)
    two = compare(frame(2, 25), test="t", correction="none").runs
    assert not two[places].isna().any(axis=None)


def test_notes_say_what_a_p_depends_on_and_what_was_not_simulated(frame):
    def said(runs, queries, **how):
        return "; ".join(compare(frame(runs, queries), **how).notes)

    together = "p is for all pairs together: it depends on the runs that are compared"
    assert together in said(3, 20, test="max-t") and together in said(3, 20)
    assert together in said(3, 20, test="t", correction="holm")
    assert together not in said(3, 20, test="t", correction="none")
    assert together not in said(2, 20, test="max-t")
    assert "fewer than 15 queries" in said(3, 14, test="max-t")
    assert "fewer than 15" not in said(3, 15, test="max-t")
    many = said(201, 15, test="max-t", resamples=40)
    assert "more than 200 runs: levels of max-t were not simulated" in many


def test_effect_size_and_interval_are_paired(frame):
    found = compare(frame(2, 9), test="t", alpha=0.1)
    row, z = found.table.iloc[0], -np.diff(read(frame(2, 9)).values, axis=0)[0]
    expected = stats.ttest_1samp(z, 0)
    assert row.effect_size == pytest.approx(z.mean() / z.std(ddof=1))
    assert row.p_value == pytest.approx(expected.pvalue)
    assert (row.low, row.high) == pytest.approx(
        tuple(expected.confidence_interval(0.9))
    )


def test_identical_runs_are_flagged(frame):
    table = frame(2, 6)
    table = pd.concat([table, table[:6].assign(run_id="again")])
    for test in procedures.TESTS:
        found = compare(table, test=test, resamples=99)
        row = found.table.iloc[0]
        assert (row.run_a, row.run_b) == ("again", "r0")
        assert row.identical and row.p_value == row.p_adjusted == 1
        assert row.effect_size == row.difference == row.p_error == 0
        assert row.low <= 0 <= row.high and not row.significant
        assert "1 pair identical: p = 1" in found.notes
        assert found.runs["rank"].tolist() == [2, 2, 1]


def test_baselines(frame):
    table = frame(4, 20)
    everything = compare(table, test="bootstrap").table.set_index(PAIR)
    found = compare(table, test="bootstrap", baselines="r2")
    assert found.table[PAIR].to_numpy().tolist() == [
        ["r0", "r2"],
        ["r1", "r2"],
        ["r3", "r2"],
    ]
    for row in found.table.itertuples():
        pair = tuple(sorted([row.run_a, row.run_b]))
        assert row.p_value == everything.p_value[pair]
    assert (found.runs.groups == "").all()
    found = compare(table, baselines=["r2", "r0"], test="tukey")
    assert found.table[PAIR].to_numpy().tolist() == [
        *(["r0", "r2"], ["r1", "r2"], ["r3", "r2"]),
        *(["r1", "r0"], ["r3", "r0"]),
    ]
    assert found.metadata["comparisons"] == 6  # all pairs, whatever is shown
    everything = compare(table, test="tukey").table.set_index(PAIR)
    for row in found.table.itertuples():  # of the same family: all runs
        pair = tuple(sorted([row.run_a, row.run_b]))
        assert row.p_value == everything.p_value[pair]


@pytest.mark.parametrize("test", procedures.TESTS)
def test_order_of_rows_and_names_of_runs(frame, test):
    table = frame(4, 20)
    first = compare(table, test=test, resamples=300).table.set_index(PAIR)
    shuffled = table.sample(frac=1, random_state=1)
    second = compare(shuffled, test=test, resamples=300).table.set_index(PAIR)
    pd.testing.assert_frame_equal(first, second)
    renamed = table.assign(run_id=table.run_id.map(lambda r: f"x{9 - int(r[1])}"))
    third = compare(renamed, test=test, resamples=300).table.p_value
    assert sorted(third) == pytest.approx(sorted(first.p_value), abs=1e-14)


def test_arguments_of_other_kinds(frame):
    table = frame(3, 8)
    by_name = compare(table, test="t", baselines=["r1", "r2"]).table
    of_series = compare(table, test="t", baselines=pd.Series(["r1", "r2"]))
    pd.testing.assert_frame_equal(of_series.table, by_name)
    assert of_series.metadata["baselines"] == ["r1", "r2"]
    with pytest.raises(
        UsageError, match="^expected scores, a DataFrame or a file, found (list|tuple)"
    ):
        compare((1, 2))


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_files(frame, tmp_path, suffix):
    table = frame(2, 6)
    table = pd.concat([table, table[:6].assign(run_id="up", value=table.value[:6] + 1)])
    found = compare(table, test="t")
    assert np.isinf(found.table.effect_size).any()
    path = found.save(tmp_path / f"pairs{suffix}")
    found.save(tmp_path / f"runs{suffix}", runs=True)
    if suffix == ".parquet":
        pairs = pd.read_parquet(path)
        runs = pd.read_parquet(tmp_path / f"runs{suffix}")
    elif suffix == ".jsonl":
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        assert lines[0] == {"pgcjax": {"crc32": ANY, **found.metadata}}
        pairs = pd.DataFrame(lines[1:])
        runs = pd.read_json(tmp_path / f"runs{suffix}", lines=True)[1:]
        runs = runs.drop(columns="pgcjax").reset_index(drop=True)
    else:
        separator = "," if suffix == ".csv" else "\t"
        pairs = pd.read_csv(path, comment="#", sep=separator)
        runs = pd.read_csv(tmp_path / f"runs{suffix}", comment="#", sep=separator)
        assert path.read_text().startswith("# pgcjax {")
    assert pairs.p_value.tolist() == found.table.p_value.tolist()
    assert pairs.columns.tolist() == found.table.columns.tolist()
    assert runs.groups.tolist() == found.runs.groups.tolist()
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        f"pairs{suffix}",
        f"runs{suffix}",
    ]
    with pytest.raises(UsageError, match="the suffix of an output file is one of .csv"):
        found.save(tmp_path / "pairs.txt")


def test_wrong_arguments(frame):
    table = frame(3, 5)
    for wrong, message in (
        (
            {"test": "z"},
            "test is one of max-t, tukey, bootstrap, permutation, t, .* not 'z'",
        ),
        ({"correction": "bonf"}, "correction is one of none, holm, bh, not 'b"),
        (
            {"interval": "bca"},
            r"compare takes no interval=…: intervals are those of the test",
        ),
        ({"baseline": "r1"}, r"compare takes no baseline=…: give baselines=…"),
        ({"measure": ["AP", "RR"]}, "compare takes one measure. For several, call it"),
        ({"baselines": 7}, "baselines: expected names of runs, found 7"),
        ({"alpha": 5}, "alpha=5: expected a level between 0 and 1"),
        ({"correction": "holm"}, "test 'max-t' covers all pairs at once"),
        ({"resamples": 0}, "expected at least 1 resample, a seed from 0"),
        ({"seed": -1}, "expected at least 1 resample, a seed from 0"),
        ({"resamples": 19}, "no p can be below 0.05; at least 20 are needed"),
        ({"baselines": ["r9"]}, "baseline 'r9' is no run; there are r0, r1, r2"),
        ({"memory": "much"}, "expected a size such as 2GB"),
    ):
        with pytest.raises(UsageError, match=message):
            compare(table, **wrong)
    with pytest.raises(DataError, match="no score for query"):
        compare(table[1:])


def test_metadata_says_what_the_findings_depend_on(frame):
    found = compare(Scores(frame(3, 20)), test="bootstrap", seed=3, precision=0.02)
    assert found.metadata["resamples"] >= 1000 and not found.metadata["exact"]
    assert found.table.p_error.max() <= 0.02 and found.metadata["seed"] == 3
    json.dumps(found.metadata, allow_nan=False)
