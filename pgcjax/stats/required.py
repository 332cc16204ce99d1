"""The difference between two means that a test needs to be significant."""

import math
from typing import Any

import numpy as np
from jaxtyping import Float64

from pgcjax.errors import UsageError, check_choice
from pgcjax.stats import procedures, resample, tests
from pgcjax.stats.matrix import read
from pgcjax.stats.rounding import NOISE, exact
from pgcjax.stats.tests import OfPairs, RunPairs, Values

_BYTES = 2**24  # of a block of pairs × resamples


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
        scores: Scores of all runs, as in `stats.compare.compare`.
        measure: Name of the measure; needed if scores have several.
        test: `bootstrap` [Sakai Fig. 3] or `tukey` [Fig. 5].
        resamples: Number of resamples; None takes that of `stats.choices.RESAMPLES`.
        seed: Seed of the random numbers, which are those of the test itself.
        alpha: Level of the test.
        missing: Treatment of missing queries, as in `stats.matrix.read`.

    Returns:
        For `tukey`, the smallest significant difference; None if there is none. For
        `bootstrap` with B resamples, `borderline` at place ⌊B·α⌋ gives a difference for
        each pair, and the largest is returned; None if all runs are identical.

    Raises:
        UsageError: an argument is wrong. DataError: the scores cannot be compared.

    Source: Sakai and Song 2012; for the bootstrap Sakai 2006.
    """
    check_choice("test", test, ("bootstrap", "tukey"))
    values = read(scores, measure=measure, missing=missing).values
    count = procedures.RESAMPLES[test] if resamples is None else resamples
    tests.check_alpha(alpha)
    place = math.floor(count * exact(alpha))
    if place < 1:
        raise UsageError(
            f"alpha={alpha}, resamples={count}: expected at least one resample beyond "
            "the level"
        )
    pairs = tests.all_pairs(len(values))
    if test == "tukey":
        p = procedures.run(values, pairs, test, resamples=count, seed=seed).p_value
        mean, _ = tests.moments(values, pairs)
        significant = np.abs(mean)[p < alpha]
        return float(significant.min()) if len(significant) else None
    weights = resample.bootstrap_weights(seed, count, values.shape[1])
    borders = borderline(values, pairs, weights, place)
    different = ~tests.identical(values, pairs)
    return float(borders[different].max()) if different.any() else None


def borderline(
    values: Values,
    pairs: RunPairs,
    weights: Float64[np.ndarray, "queries resamples"],
    place: int,
) -> OfPairs:
    """Return the mean difference of the resample whose |t| is the place-th largest.

    Places start from 1. Weights are the counts of each query in each resample.

    Returns:
        Absolute differences; the largest one of resamples with the same |t|.
    """
    queries, resamples = weights.shape
    borders = np.zeros(len(pairs[0]))
    scale = np.abs(values).max(initial=0.0) or 1.0
    for block, z in tests.differences(values, pairs, max(1, _BYTES // (8 * resamples))):
        w = (z - z.mean(1, keepdims=True)) / scale
        w[np.abs(w) <= NOISE] = 0.0
        means = np.abs(w @ weights) / queries
        squares = (w * w) @ weights / queries
        # The ratio grows with |t|, and is 1 where a resample has no variance.
        ratio = means**2 / np.where(squares > 0, squares, 1.0)
        border = np.partition(ratio, -place, axis=1)[:, -place, None]
        tied = np.abs(ratio - border) <= NOISE * border
        borders[block] = np.where(tied, means, 0.0).max(1) * scale
    return borders
