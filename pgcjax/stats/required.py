"""The difference between two means that a test needs to be significant."""

import math
from typing import Any

import numpy as np

from pgcjax.errors import UsageError
from pgcjax.stats import procedures, tests
from pgcjax.stats.matrix import read
from pgcjax.stats.tests import Pairs

_BYTES = 2**24  # of the statistics of some pairs in all resamples


def required_difference(
    scores: Any,
    *,
    measure: str | None = None,
    test: str = "bootstrap",
    resamples: int | None = None,
    seed: int = 0,
    alpha: float = 0.05,
    missing: str = "error",
) -> float | None:
    """Estimate the difference required for significance at alpha.

    Args:
        scores: of all runs, as `stats.compare.compare` takes them.
        measure: which one, if there are several.
        test: `bootstrap` [Sakai Fig. 3] or `tukey` [Fig. 5].
        resamples: as in `stats.procedures.RESAMPLES` by default.
        seed: of the random numbers; those of the test itself.
        alpha: level.
        missing: as `stats.matrix.read` takes it.

    Returns:
        Of `bootstrap`, the largest, over pairs, of the mean difference of that resample
        whose |t| is the ⌊B·α⌋-th largest; of `tukey`, the smallest difference that is
        significant. None if there is none.

    Raises:
        UsageError: an argument is wrong. DataError: the scores cannot be compared.

    Source: Sakai and Song 2012; for the bootstrap Sakai 2006.
    """
    if test not in ("bootstrap", "tukey"):
        raise UsageError(f"test {test!r}: choose bootstrap or tukey")
    values = read(scores, measure=measure, missing=missing).values
    count = procedures.RESAMPLES[test] if resamples is None else resamples
    if not 0 < alpha < 1 or count * alpha < 1:
        raise UsageError(
            f"alpha={alpha}, resamples={count}: expected a level between 0 and 1, and "
            "at least one resample beyond it"
        )
    pairs = tests.all_pairs(len(values))
    if test == "tukey":
        p = procedures.run(values, pairs, test, resamples=count, seed=seed).p_value
        mean, _ = tests.moments(values, pairs)
        found = np.abs(mean)[p < alpha]
        return float(found.min()) if len(found) else None
    from pgcjax.stats import resample

    weights = np.concatenate(
        [
            resample.multiplicities(
                resample.indices(
                    seed,
                    low // resample.BLOCK,
                    min(resample.BLOCK, count - low),
                    values.shape[1],
                )
            )
            for low in range(0, count, resample.BLOCK)
        ],
        axis=1,
    )
    borders = borderline(values, pairs, weights, max(1, math.floor(count * alpha)))
    different = ~tests.identical(values, pairs)
    return float(borders[different].max()) if different.any() else None


def borderline(
    values: np.ndarray, pairs: Pairs, weights: np.ndarray, place: int
) -> np.ndarray:
    """Give the mean difference of the resample whose |t| is the place-th largest.

    Args:
        values: float64 `[runs, queries]`.
        pairs: two int arrays `[pairs]`.
        weights: `[queries, resamples]`, how often a resample holds a query.
        place: from 1.

    Returns:
        `[pairs]`, absolute; the largest of those whose |t| is the same.
    """
    queries, resamples = weights.shape
    found = np.zeros(len(pairs[0]))
    scale = np.abs(values).max(initial=0.0) or 1.0
    for some, z in tests.differences(values, pairs, max(1, _BYTES // (8 * resamples))):
        w = (z - z.mean(1, keepdims=True)) / scale
        w[np.abs(w) <= 1e-12] = 0.0
        means = np.abs(w @ weights) / queries
        squares = (w * w) @ weights / queries
        # Grows with |t|, and is 1 where a resample has no variance.
        size = means**2 / np.where(squares > 0, squares, 1.0)
        least = np.partition(size, -place, axis=1)[:, -place, None]
        same = np.abs(size - least) <= 1e-12 * least
        found[some] = np.where(same, means, 0.0).max(1) * scale
    return found
