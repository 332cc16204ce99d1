"""Numbers of queries: those of the noncentral t, and of draws, are kept by tests."""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

import pgcjax
from pgcjax.errors import UsageError
from pgcjax.stats import procedures, tests
from pgcjax.stats.matrix import Matrix

PILOT = np.random.default_rng(0).normal(0.5, 0.1, (6, 30))
PILOT[0] += np.random.default_rng(1).normal(0, 0.1, 30)


def pilot(values: np.ndarray = PILOT) -> Matrix:
    runs, queries = (
        [f"{x}{i:03}" for i in range(n)]
        for x, n in zip("rq", values.shape, strict=True)
    )
    return Matrix(runs, queries, values)


def test_t_needs_the_fewest_queries_of_the_noncentral_t():
    found = pgcjax.power(pilot(), 0.06, resamples=50).table
    row = found[(found["test"] == "t") & (found["pair"] == "median")].iloc[0]
    a, b = (PILOT[int(row[name][1:])] for name in ("run_a", "run_b"))
    deviation = np.std(a - b, ddof=1)
    of_all = [np.std(x - y, ddof=1) for x, y in combinations(PILOT, 2)]
    assert row["deviation"] == pytest.approx(deviation)
    assert row["deviation"] == pytest.approx(np.sort(of_all)[7])  # of 15 pairs

    def reached(queries: int, difference: float) -> float:
        critical = stats.t.isf(0.025, queries - 1)
        shift = difference / deviation * np.sqrt(queries)
        return float(stats.nct.sf(critical, queries - 1, shift))

    assert reached(30, row["least_difference"]) == pytest.approx(0.8)
    assert reached(row["queries"], 0.06) >= 0.8 > reached(row["queries"] - 1, 0.06)


def test_max_t_finds_the_difference_with_the_power():
    """Queries of a population of scores without end, drawn and tested as they are."""
    random = np.random.default_rng(2)
    large = random.normal(0, 0.1, (5, 400))
    large -= large.mean(1, keepdims=True)
    found = pgcjax.power(pilot(large), 0.08, resamples=1000).table
    row = found[(found["test"] == "max-t") & (found["pair"] == "median")].iloc[0]
    runs = [int(row[name][1:]) for name in ("run_a", "run_b")]
    large[runs[0]] += 0.08
    pairs, hits = tests.all_pairs(5), 0
    place = int(np.flatnonzero((pairs[0] == runs[0]) & (pairs[1] == runs[1]))[0])
    for seed in range(150):
        x = large[:, random.integers(0, 400, row["queries"])]
        p = procedures.p_values(x, "max-t", resamples=399, seed=seed)
        hits += p[place] < 0.05
    assert abs(hits / 150 - 0.8) < 0.1  # three standard errors
    t = found[found["test"] == "t"]
    assert (t["queries"].to_numpy() < found["queries"][1::2].to_numpy()).all()


def test_without_a_difference_the_least_is_computed():
    found = pgcjax.power(pilot(), resamples=200)
    assert "queries" not in found.table and (found.table["least_difference"] > 0).all()
    assert found.table["pair"].tolist() == ["median", "median", "widest", "widest"]
    assert found.table["deviation"].max() == found.table["deviation"].iloc[-1]
    more = pgcjax.power(pilot(), resamples=200, power=0.95).table
    assert (more["least_difference"] > found.table["least_difference"]).all()
    tiny = pgcjax.power(pilot(), 1e-6, resamples=20).table
    assert tiny["queries"].isna().all()
    assert (pgcjax.power(pilot(), 50.0, resamples=20).table["queries"] == 5).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"power": 1.0}, "power=1.0: expected a number between alpha and 1"),
        ({"difference": 0.0}, "difference=0.0: expected a number above 0"),
        ({"resamples": 19}, "no p can be below 0.05; at least 20 are needed"),
    ],
)
def test_what_cannot_be_planned_is_refused(options, message):
    with pytest.raises(UsageError, match=message):
        pgcjax.power(pilot(), **options)
    same = np.repeat(PILOT[:1], 3, axis=0)
    with pytest.raises(UsageError, match="differences vary over queries"):
        pgcjax.power(pilot(same))
