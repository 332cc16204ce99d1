"""What replicates say of means, differences, ranks and order: equal to plain twins."""

from typing import Any

import numpy as np
import pytest
from helpers.twins import replicates as twin
from hypothesis import given, settings
from hypothesis import strategies as st

from pgcjax.errors import DataError, UsageError
from pgcjax.stats import uncertainty
from pgcjax.stats.choices import REPLICATED, REPLICATED_SINGLY
from pgcjax.stats.score_intervals import Percentiles, ScoreIntervals
from pgcjax.stats.uncertainty import (
    Uncertainty,
    query_means,
    read_uncertainty,
    weighted_means,
)

USED = {"replicates": 60, "resample": "judgments", "seed": 0}


def drawn(seed: int, runs: int = 5, steps: int = 0) -> Uncertainty:
    """Replicates that pull scores down; of few values, if there are steps."""
    random = np.random.default_rng(seed)
    mean = random.random(runs)
    means = mean - 0.05 + 0.2 * random.standard_normal((60, runs))
    if steps:
        mean, means = (np.round(x * steps) / steps for x in (mean, means))
    names = [f"r{i}" for i in range(runs)]
    return Uncertainty(
        USED, run_ids=names, mean={"PGC": mean}, replicates={"PGC": means}
    )


@settings(max_examples=12)
@given(st.integers(0, 10**6), st.sampled_from(REPLICATED), st.sampled_from([0, 3]))
def test_all_tables_are_those_of_the_twins(seed, interval, steps):
    found = drawn(seed, steps=steps)
    mean, rows = found.mean["PGC"].tolist(), found.replicates["PGC"].tolist()
    how = {"interval": interval, "alpha": 0.1}
    table = found.means(**how)
    for i, row in table.iterrows():
        values = [each[i] for each in rows]
        ends = twin.interval(mean[i], values, interval, 0.1)
        assert (row["low"], row["high"]) == pytest.approx(ends, abs=1e-12)
        assert row["mean_replicate"] == pytest.approx(np.mean(values))
        assert row["deviation"] == pytest.approx(np.std(values, ddof=1))
    pairs = found.differences(**how)
    assert len(pairs) == 10
    for _, row in pairs.iterrows():
        a, b = found.run_ids.index(row["run_a"]), found.run_ids.index(row["run_b"])
        values = [each[a] - each[b] for each in rows]
        ends = twin.interval(mean[a] - mean[b], values, interval, 0.1)
        assert (row["low"], row["high"]) == pytest.approx(ends, abs=1e-12)
        above = twin.share_above(mean[a] - mean[b], values, interval)
        assert row["probability"] == pytest.approx(above, abs=1e-9)
        # The interval and the probability say the same, but for one replicate.
        surely = max(above, 1 - above)
        if row["low"] > 0 or row["high"] < 0:
            assert surely >= 0.95 - 1.5 / len(values)
        if surely > 0.95 + 1.5 / len(values):
            assert row["low"] >= 0 or row["high"] <= 0
    ranks = found.ranks(alpha=0.1)
    middle = [sum(values) / len(values) for values in zip(*rows, strict=True)]

    def distance(row: list[float], centre: list[float]) -> Any:
        return lambda i, j: abs(row[i] - centre[i] - row[j] + centre[j])

    order = sorted(range(5), key=lambda i: -mean[i])
    moved = [distance(row, middle) for row in rows]
    apart = twin.significant_pairs(distance(mean, [1e-12] * 5), order, moved, 0.1)
    expected = twin.places([[(j, i) in apart for j in range(5)] for i in range(5)])
    assert ranks["mean"].is_monotonic_decreasing
    for _, row in ranks.iterrows():
        i = found.run_ids.index(row["run_id"])
        assert (row["low"], row["high"], row["tier"]) == expected[i]
        assert row["rank"] == twin.rank(mean, i)
    tau = found.tau(alpha=0.1)
    if len(set(mean)) > 1 and all(len(set(values)) > 1 for values in rows):
        taus = [twin.tau_b(mean, values) for values in rows]
        assert tau.mean == pytest.approx(np.mean(taus))
        assert tau.low == pytest.approx(twin.quantile(taus, 0.05))


def test_ranks_and_tiers_of_equal_runs_hold_together():
    """Of equal runs, no more than α may be in several tiers; were 57 of 100."""
    random = np.random.default_rng(0)
    several = 0
    for _ in range(100):
        noise = 0.02 * random.standard_normal((1, 10))
        means = 0.02 * random.standard_normal((199, 10)) + noise
        found = Uncertainty(
            USED,
            run_ids=[*"abcdefghij"],
            mean={"": 0.5 + noise[0]},
            replicates={"": means},
        )
        ranks = found.ranks()
        several += ranks["tier"].max() > 1
        assert ((ranks["low"] > 1) | (ranks["high"] < 10)).any() == (
            ranks["tier"].max() > 1
        )
    assert several <= 12
    few = {"": means[:19]}
    few = Uncertainty(
        USED, run_ids=[*"abcdefghij"], mean={"": np.arange(10.0)}, replicates=few
    ).ranks()
    assert (few["tier"] == 1).all() and (few["high"] == 10).all()


def test_parts_of_any_size_give_the_same(monkeypatch):
    found = drawn(3, runs=7)
    whole = found.differences(), found.tau()
    monkeypatch.setattr(uncertainty, "_NEAR", 1)
    assert found.differences().equals(whole[0]) and found.tau() == whole[1]


def test_means_over_queries_as_often_as_they_are_there():
    scores = np.array([[[0.5, 0.25, 1.0], [0.0, 0.5, 0.75]]])
    has = np.array([[True, True, True], [False, True, True]])
    weight = np.array([[2, 0, 1]])
    zero = weighted_means(scores, has, weight, "zero")
    assert zero.tolist() == [[2 / 3, 0.25]]
    skip = weighted_means(scores, has, weight, "skip")
    assert skip.tolist() == [[2 / 3, 0.75]]
    only = query_means(scores[0], has, np.array([[3, 0, 0]]), "skip")
    assert only[0, 0] == 0.5 and np.isnan(only[0, 1])


def test_what_is_told_and_refused():
    mean = np.array([0.5, 0.25, 0.125])
    rows = np.array([[0.5, 0.25, 0.0], [0.25, 0.5, 0.125]])
    used = {**USED, "replicates": 2}
    found = Uncertainty(
        used, run_ids=["a", "b", "c"], mean={"PGC": mean}, replicates={"PGC": rows}
    )
    assert found.notes == (
        "PGC: 2 replicates (judgments): τ of their order of the runs with that of the "
        "scores is 0.667 on average, from 0.350 to 0.983 in 95 %; their means are "
        "0.0208 lower on average",
    )
    one = Uncertainty(
        used, run_ids=["a"], mean={"PGC": mean[:1]}, replicates={"PGC": rows[:, :1]}
    )
    assert one.notes == (
        "PGC: 2 replicates (judgments): their means are 0.1250 lower on average",
    )
    assert one.ranks().iloc[0].tolist() == ["a", 0.5, 1, 1, 1, 1]
    with pytest.raises(UsageError) as error:
        found.means("AP")
    assert str(error.value) == "no replicates of 'AP'; there are PGC"
    with pytest.raises(UsageError) as error:
        found.differences(interval="t")
    assert str(error.value) == (
        "interval is one of centred, basic, percentile, bc, not 't'"
    )


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.sampled_from([2, 41, 60, 300]))
def test_percentiles_of_blocks_are_those_of_all(seed, count):
    """As if all were kept; of a query, those replicates alone in which it is judged."""
    random = np.random.default_rng(seed)
    scores = random.integers(0, 9, (count, 2, 3)) / 9
    present = random.random((count, 3)) < [1, 0.5, 0]
    kept = Percentiles(count, 2, 3)
    cuts = np.sort(random.integers(0, count + 1, 2))
    for block in np.split(np.arange(count), cuts):
        kept.add(scores[block], present[block])
    low, high, mean = kept.percentiles_and_mean
    for query in (0, 1):
        own = scores[present[:, query], :, query]
        for run in range(2):
            values = own[:, run].tolist()
            if not values:
                assert np.isnan(low[run, query])
                continue
            assert mean[run, query] == pytest.approx(np.mean(values))
            if len(values) > 1:
                ends = (twin.quantile(values, level) for level in (0.025, 0.975))
                assert (low[run, query], high[run, query]) == pytest.approx((*ends,))
    assert np.isnan(kept.percentiles_and_mean[:, :, 2]).all()
    observed = random.random((2, 3))
    has = np.array([[True, True, False], [False, True, False]])
    for interval in REPLICATED_SINGLY:
        found = ScoreIntervals(
            ["p", "q", "r"], observed, has, kept.percentiles_and_mean
        )
        table = found.rows(["a", "b"], interval)
        rows = [*zip(table.run_id, table.query_id, strict=True)]
        assert rows == [("a", "p"), ("a", "q"), ("b", "q")]
        values = scores[present[:, 0], 0, 0].tolist()
        row = table.iloc[0]
        ends = twin.interval(observed[0, 0], values, interval, 0.05)
        assert (row.score, row.mean_replicate) == (observed[0, 0], mean[0, 0])
        assert (row.low, row.high) == pytest.approx(ends)


def test_a_file_of_replicates_gives_them_back(tmp_path):
    found = drawn(5, runs=3)
    found.replicates["PGC(p=0.5)"] = found.replicates["PGC"] * 0.3
    found.mean["PGC(p=0.5)"] = np.array([0.1, np.nan, 0.7])
    for suffix in ("csv", "tsv", "jsonl", "parquet"):
        read = read_uncertainty(found.save(tmp_path / f"all.{suffix}"))
        assert (read.run_ids, read.metadata) == (found.run_ids, USED)
        for ours, theirs in (
            (read.mean, found.mean),
            (read.replicates, found.replicates),
        ):
            assert list(ours) == list(theirs)
            for name, values in theirs.items():
                np.testing.assert_array_equal(ours[name], values)
    path = tmp_path / "all.csv"
    head, columns, *rows = path.read_text().splitlines()
    head = head.replace(head.split('"crc32": ')[1].split(",")[0], '""')
    mend = "Restore what uncertainty --replicates-output wrote."
    complete = (
        "expected the mean of each run by PGC once for each of the replicates -1 to 59"
    )
    for lines, message in (
        ([head, columns, *rows[1:]], f"{path}: {complete}. {mend}"),
        ([head, columns, rows[0], *rows], f"{path}: {complete}. {mend}"),
        (
            [columns, *rows],
            f"{path}: does not state its dependencies: replicates, resample and seed. "
            f"{mend}",
        ),
        (
            [head, columns, rows[0] + "x", *rows[1:]],
            f"{path}:3: expected a mean, found '{rows[0].split(',')[-1]}x'. {mend}",
        ),
        (
            [head, "measure,run_id,replicate,value", *rows],
            f"{path}: missing columns ['mean'] (found ['measure', 'run_id', "
            "'replicate', 'value']). Needed: measure, run_id, replicate, mean.",
        ),
    ):
        path.write_text("\n".join(lines) + "\n")
        with pytest.raises(DataError) as error:
            read_uncertainty(path)
        assert str(error.value) == message


def test_single_scores_that_were_not_asked_for():
    with pytest.raises(UsageError) as error:
        drawn(0).scores()
    assert str(error.value) == (
        "no intervals of single scores by PGC: uncertainty(…, score_intervals=True), "
        "--score-intervals on the command line"
    )
    found = drawn(0)
    one = np.zeros((1, 1))
    found.single["PGC"] = ScoreIntervals(["q"], one, one == 0, np.zeros((3, 1, 1)))
    with pytest.raises(UsageError) as error:
        found.scores(interval="bc")
    assert str(error.value) == (
        "interval is one of centred, basic, percentile, not 'bc'"
    )
