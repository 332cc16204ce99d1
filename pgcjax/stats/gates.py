"""Tests of a claim that compares a new run with another: it holds, fails or is open."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float64

from pgcjax._version import __version__
from pgcjax.errors import UsageError, check_choice, counted
from pgcjax.io.result import Result
from pgcjax.later import stats
from pgcjax.stats.aligned import by_measure
from pgcjax.stats.choices import CLAIMS
from pgcjax.stats.matrix import Matrix
from pgcjax.stats.structure import clustered
from pgcjax.stats.tests import check_alpha

MOST_QUERIES = 1_000_000
"""Largest estimate of the number of further queries."""

Levels = tuple[float, float]
"""Levels of the test of a claim, and of the test of its contrary."""

_POWER = 0.8  # of the test with the further queries of `more_queries`
_BORDERS: dict[str, tuple[float, ...]] = {"better": (0.0,)}  # as multiples of margins
_BORDERS |= {"not-worse": (-1.0,), "equivalent": (-1.0, 1.0)}
_HOLDS = {
    "not-worse": "is not worse than {against} by {margin:g} or more",
    "better": "is better than {against}",
    "equivalent": "is within {margin:g} of {against}",
}
_FAILS = {
    "not-worse": "is worse than {against} by more than {margin:g}",
    "better": "is worse than {against}",
    "equivalent": "differs from {against} by more than {margin:g}",
}


@dataclass(frozen=True, kw_only=True)
class GateDecision(Result):
    """Outcome of the test of a claim that compares a new run with another.

    Attributes:
        table: A row per measure: measure, difference (mean of the new run less that of
            the other), low and high (one-sided bounds at 1 - alpha each), p_value (of
            the claim), p_against (of its contrary), outcome, queries, more_queries
            (number of further queries with which the claim or its contrary is shown
            with power 0.8 if the observed difference is the true one; 0 if the outcome
            is not `open`; at most `MOST_QUERIES`).
        outcome: `holds` if the claim is shown by all measures, `fails` if its contrary
            is shown by one measure, else `open`.
        why: Reason of the outcome, in one line.
        queries: Columns measure, query_id, score, other_score and difference; for each
            measure, queries with the least difference come first.
    """

    outcome: str
    why: str
    queries: pd.DataFrame

    @property
    def borders(self) -> list[float]:
        """Differences between which, or above which, the claim is true."""
        about = self.metadata
        return [border * about["margin"] for border in _BORDERS[about["claim"]]]


def gate(
    scores: Any,
    new: str,
    against: str,
    *,
    margin: float,
    measures: Sequence[str] | None = None,
    claim: str = CLAIMS[0],
    alpha: float = 0.05,
    missing: str = "own",
    cluster: Any = None,
) -> GateDecision:
    """Test whether a new run is not worse than another, better, or equivalent.

    Args:
        scores: A score table, or a dict with a table for each measure.
        new: Name of the new run.
        against: Name of the run that it is compared with.
        margin: Smallest difference that matters, above 0.
        measures: Names of measures; None takes all. The claim has to hold by each.
        claim: `not-worse`: worse by less than the margin, if at all; `better`: by more
            than 0; `equivalent`: better or worse by less than the margin.
        alpha: Level of `holds`, and of `fails`, for all measures together.
        missing: Treatment of a query that a measure or one of the two runs lacks, as in
            `discriminate`.
        cluster: Groups of dependent queries, as in `compare`; `queries` and
            `more_queries` then count clusters.

    Raises:
        UsageError: an argument is wrong. DataError: a score is missing.

    Source: one-sided t with squared standard error (s² + 4 margin²) / n for n numbers
    of variance s², as few equal ones prove little; docs/how-sure-evidence.md.
    """
    check_choice("claim", claim, CLAIMS)
    check_alpha(alpha)
    if not (0 < margin < math.inf) or new == against:
        given = f"margin={margin}, new={new!r}, against={against!r}"
        raise UsageError(f"{given}: expected a margin above 0 and two runs")
    matrices, notes = by_measure(scores, measures, missing, runs=(new, against))
    rows, queries, levels, largest = [], [], (alpha, alpha / len(matrices)), 0.0
    for measure, matrix in matrices.items():
        largest = max(largest, float(np.abs(matrix.values).max()))
        first, second = (matrix.run_ids.index(run) for run in (new, against))
        queries.append(_by_query(matrix, first, second))
        values = (matrix if cluster is None else clustered(matrix, cluster)).values
        d = values[first] - values[second]
        rows.append({"measure": measure, **_row(d, margin, claim, levels)})
    table = pd.DataFrame(rows)
    outcomes = {*table["outcome"]}
    outcome = next(o for o in ("fails", "open", "holds") if o in outcomes)
    about = {"new": new, "against": against, "margin": margin, "claim": claim}
    about["drawn"] = noun = "query" if cluster is None else "cluster"
    why = _why(table[table["outcome"] == outcome], outcome, about)
    if outcome == "holds" and claim != "better":
        few = int(table["queries"].min())
        notes = *notes, *_rare_drops(margin, largest, few, alpha, noun)
    about |= {"alpha": alpha, "outcome": outcome, "why": why, "version": __version__}
    fields = {"outcome": outcome, "why": why, "queries": pd.concat(queries)}
    return GateDecision(table, about, notes, **fields)


def _by_query(matrix: Matrix, first: int, second: int) -> pd.DataFrame:
    """List the scores of two runs by query, the least difference first."""
    score, other = matrix.values[first], matrix.values[second]
    columns = {"measure": matrix.measure, "query_id": matrix.query_ids, "score": score}
    table = pd.DataFrame(columns | {"other_score": other, "difference": score - other})
    return table.sort_values(["difference", "query_id"], ignore_index=True)


def _rare_drops(
    margin: float, largest: float, queries: int, alpha: float, noun: str
) -> list[str]:
    """Note that drops may amount to the margin but be too rare for these queries."""
    unseen = max(0.0, 1 - margin / largest) ** queries if largest else 0.0
    if unseen <= alpha:
        return []
    rare = f"a drop of {largest:.3g} on 1 {noun} in {largest / margin:.0f}"
    rare += f" amounts to the margin: {counted(queries, noun)} have no such drop"
    return [f"{rare} with probability {unseen:.2f}"]


def _row(
    d: Float64[np.ndarray, " queries"], margin: float, claim: str, levels: Levels
) -> dict[str, Any]:
    """Test the claim with the differences of one measure."""
    n, mean, deviation = len(d), float(d.mean()), float(d.std(ddof=1))
    p, against, error = evidence(mean, deviation, n, margin, claim)
    half = float(stats.t.isf(levels[0], n - 1) * error)
    outcome = "fails" if against <= levels[1] else "open"
    outcome = "holds" if p <= levels[0] else outcome
    power = partial(settled, mean, deviation, margin, claim, levels)
    return {
        "difference": mean,
        "low": mean - half,
        "high": mean + half,
        "p_value": float(p),
        "p_against": float(against),
        "outcome": outcome,
        "queries": n,
        "more_queries": more_queries(power, n) if outcome == "open" else 0,
    }


def evidence(
    mean: Any, deviation: Any, queries: int, margin: float, claim: str
) -> tuple[Any, Any, Any]:
    """Compute p of a claim, p of its contrary, and the moderated standard error.

    Mean and deviation (ddof 1) of the differences are numbers or arrays.
    """
    error = np.sqrt((np.square(deviation) + 4 * margin**2) / queries)
    low, *others = (border * margin for border in _BORDERS[claim])
    cdf = partial(stats.t.cdf, df=queries - 1)
    p, against = cdf((low - mean) / error), cdf((mean - low) / error)
    for high in others:
        p = np.maximum(p, cdf((mean - high) / error))
        against = 2 * np.minimum(against, cdf((high - mean) / error))
    return p, against, error


def settled(
    mean: float, deviation: float, margin: float, claim: str, levels: Levels, n: int
) -> float:
    """Approximate the power to show a claim, or its contrary, with n queries."""
    spread = max(deviation, 1e-12) / math.sqrt(n)
    error = math.sqrt((deviation**2 + 4 * margin**2) / n)
    borders = [border * margin for border in _BORDERS[claim]]
    # Distances from a border beyond which a mean is significant
    inside = stats.t.isf(levels[0], n - 1) * error
    outside = stats.t.isf(levels[1] / len(borders), n - 1) * error
    cdf = partial(stats.norm.cdf, loc=mean, scale=spread)
    low, high = borders[0], borders[-1] if borders[1:] else math.inf
    holds = max(0.0, cdf(high - inside) - cdf(low + inside))
    return float(holds + cdf(low - outside) + 1 - cdf(high + outside))


def more_queries(power: Any, queries: int) -> int:
    """Find how many more queries give power 0.8, a function of the number of all."""
    least, most = queries, 2 * queries
    while most < MOST_QUERIES and power(most) < _POWER:
        least, most = most, 2 * most
    if most >= MOST_QUERIES:
        return MOST_QUERIES
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (middle, most) if power(middle) < _POWER else (least, middle)
    return most - queries


def _why(rows: pd.DataFrame, outcome: str, about: dict[str, Any]) -> str:
    """Write the decision, and the measures behind it, in one line."""
    claim = (_FAILS if outcome == "fails" else _HOLDS)[about["claim"]].format(**about)
    parts = [
        f"{r['measure'] or 'scores'} {r['difference']:+.4f} (from {r['low']:+.4f} to "
        f"{r['high']:+.4f}, {counted(r['queries'], about['drawn'])})"
        for r in rows.to_dict("records")
    ]
    text = f"{about['new']} {claim}: {', '.join(parts)}"
    if outcome != "open":
        return f"{outcome}: {text}"
    most = rows["more_queries"].max()
    number = f"{most:,}" if most < MOST_QUERIES else f"more than {MOST_QUERIES:,}"
    units = "clusters" if about["drawn"] == "cluster" else "queries"
    text += f"; about {number} more {units} would decide it with probability {_POWER:g}"
    return f"open: undecided whether {text}, an estimate from the observed difference"
