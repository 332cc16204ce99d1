"""Stability of the order of runs with fewer judgments."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float64

from pgcjax.io.result import Result
from pgcjax.stats.orders import tau_b

LEVEL = 0.95
"""Share of the subsamples in which the best run must be the same."""

Means = Float64[np.ndarray, " runs"]
Drawn = Float64[np.ndarray, "replicates runs"]


@dataclass(frozen=True, kw_only=True)
class Stability(Result):
    """Orders of runs by shares of the judgments, compared with that by all judgments.

    Attributes:
        table: A row for each measure and share, ascending: measure, share, judgments
            (their number), tau (mean over subsamples of Kendall's τ-b with the order by
            all judgments; 0 if a subsample ties all runs), tau_low and tau_high (95 %
            of the subsamples lie between), same_best (share of the subsamples with the
            same best run) and overlap (share of the subsamples' best runs that are
            among the best by all judgments).
        enough: A row for each measure: measure, best (best run by all judgments), share
            (the smallest one such that, at it and at all larger ones, the best run is
            the same in 95 % of the subsamples; 1 if no share below 1 is enough) and
            judgments (their number at this share).
    """

    enough: pd.DataFrame


def stability(
    run_ids: Sequence[str],
    means: Mapping[str, Means],
    drawn: Mapping[str, Sequence[Drawn]],
    shares: Sequence[float],
    judgments: Sequence[int],
    top: int,
    metadata: dict[str, Any],
) -> Stability:
    """Compare the order of each subsample with that by all judgments.

    Args:
        run_ids: Names of the runs, ascending.
        means: Means of each measure by all judgments.
        drawn: Means of each measure by the subsamples, for each share.
        shares: Shares of the judgments, ascending, below 1.
        judgments: Number of judgments of each share; the last is that of all.
        top: Number of best runs that the overlap counts.
        metadata: Settings on which the means depend.
    """
    rows, enough_rows, notes = [], [], []
    for measure, observed in means.items():
        best = _best(observed[None], len(run_ids))[0]
        means_by_share = [*drawn[measure], observed[None]]
        levels = zip([*shares, 1.0], judgments, means_by_share, strict=True)
        of_measure = [
            {
                "measure": measure,
                "share": share,
                "judgments": count,
                **_statistics(observed, subsampled, min(top, len(run_ids))),
            }
            for share, count, subsampled in levels
        ]
        stable = [row["same_best"] >= LEVEL for row in of_measure]
        # All shares from this one on are stable.
        first = max((i + 1 for i, same in enumerate(stable) if not same), default=0)
        first_stable = of_measure[min(first, len(stable) - 1)]
        name = run_ids[int(best[0])] if len(best) else ""
        least = {key: first_stable[key] for key in ("share", "judgments")}
        enough_rows.append({"measure": measure, "best": name, **least})
        notes.append(_note(measure, name, least, judgments[-1]))
        rows += of_measure
    table, enough = pd.DataFrame(rows), pd.DataFrame(enough_rows)
    return Stability(table, metadata, tuple(notes), enough=enough)


def _note(measure: str, best: str, enough: Mapping[str, Any], count: int) -> str:
    """State how many of `count` judgments are enough to find the best run."""
    if enough["share"] == 1:
        return (
            f"{measure}: no share that was tried keeps {best} the best run in 95 % of "
            f"the subsamples: even the {count} judgments may be too few"
        )
    return (
        f"{measure}: from {enough['judgments']} of the {count} judgments on "
        f"({100 * enough['share']:g} %), {best} is the best run in 95 % of the "
        "subsamples"
    )


def _statistics(observed: Means, drawn: Drawn, top: int) -> dict[str, float]:
    """Compare the orders by the subsamples of one share with that by all judgments."""
    taus = np.nan_to_num(tau_b(observed[None], drawn)) if len(observed) > 1 else 1.0
    taus = np.broadcast_to(taus, len(drawn))
    low, high = np.quantile(taus, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    same = (_leading(drawn) == _leading(observed[None])).all(1)
    best, best_drawn = _best(observed[None], top)[0], _best(drawn, top)
    return {
        "tau": float(taus.mean()),
        "tau_low": float(low),
        "tau_high": float(high),
        "same_best": float(same.mean()),
        "overlap": float(np.isin(best_drawn, best).mean()),
    }


def _leading(means: Drawn) -> Bool[np.ndarray, "replicates runs"]:
    """Mark the runs with the largest mean."""
    return means == means.max(1, keepdims=True)


def _best(means: Drawn, count: int) -> np.ndarray:
    """Return the places of the best runs of each replicate, ties in order of name."""
    return np.argsort(-means, axis=1, kind="stable")[:, :count]
