"""Prediction-powered means, as PPI++ prints them, number by number."""

from itertools import combinations
from math import sqrt

from scipy import stats


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def _variance(values: list[float], lost: int) -> float:
    mean = _mean(values)
    return sum((x - mean) ** 2 for x in values) / (len(values) - lost)


def random_share(values: list[list[float]], chosen: list[int]) -> float:
    """Share the choices of as many queries whose largest difference is as large.

    Args:
        values: scores of each run, by query.
        chosen: queries.
    """

    def largest(queries: list[int]) -> float:
        far = []
        for row in values:
            other = [x for q, x in enumerate(row) if q not in queries]
            lead = _mean([row[q] for q in queries]) - _mean(other)
            far.append(abs(lead) / sqrt(_variance(row, 0)))
        return max(far)

    every = [*combinations(range(len(values[0])), len(chosen))]
    here = largest(chosen)
    return sum(largest(list(some)) >= here - 1e-12 for some in every) / len(every)


def rectified(
    human: list[float], model: list[float], others: list[float], alpha: float
) -> dict[str, float]:
    """Estimate the mean human score of one run, or of one difference.

    Args:
        human: scores by people.
        model: scores by a model of the same queries.
        others: scores by the model of the other queries.
        alpha: 1 less the level of the interval.

    Source: Angelopoulos, Duchi and Zrnic 2023, PPI++: θ̂ of a mean, its λ̂, clipped; the
    residuals lose two degrees of freedom, as those of a regression with one slope.
    """
    n, rest = len(human), len(others)
    y, f = _mean(human), _mean(model)
    covariance = sum((a - y) * (b - f) for a, b in zip(human, model, strict=True)) / n
    variance = _variance(model + others, 1)
    power = 0.0
    if variance > 0:
        power = min(1.0, max(0.0, covariance / ((1 + n / rest) * variance)))
    left = [a - power * b for a, b in zip(human, model, strict=True)]
    mean = power * _mean(others) + _mean(left)
    error = sqrt(power**2 * variance / rest + _variance(left, 2) / n)
    half = float(stats.t.ppf(1 - alpha / 2, n - 2)) * error
    alone = sqrt(_variance(human, 1) / n)
    width = float(stats.t.ppf(1 - alpha / 2, n - 1)) * alone
    return {
        "mean": mean,
        "low": mean - half,
        "high": mean + half,
        "p_value": 2 * float(stats.t.cdf(-abs(mean) / error, n - 2)),
        "effect_size": mean / (alone * sqrt(n)),
        "human": y,
        "model": _mean(model + others),
        "lambda": power,
        "effective_queries": n * (alone / error) ** 2,
        "width_ratio": half / width,
    }
