"""Results that are valid at any time, so that judging may stop early.

A bettor against a claim begins with a capital of 1, which never falls below 0. If the
claim is true, the expected capital after each bet is at most the capital before it, so
the chance that it *ever* reaches 1 / alpha is at most alpha [Ville 1939].
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from math import log
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from jaxtyping import Float64

from pgcjax.errors import DataError, UsageError, counted, listed
from pgcjax.io.result import Result
from pgcjax.stats.tests import check_alpha

if TYPE_CHECKING:
    from pgcjax.stats.scores import Scores

ANSWERS = np.array([0.0, 0.5, 1.0])  # for the second document, a tie, for the first
NOISE = 1e-9  # sums of differences within this distance of a bound decide nothing

_MIXED = (np.arange(100) + 0.5) / 100  # probabilities of equal bets
_HALVINGS = 50  # bisections of an interval of width 1
_BOLD = 0.99  # largest share of the capital that a bet may lose
_BEFORE = 5.0  # imagined queries before the first bet; in shares of the ceiling:
_LEAD, _SQUARE = 0.05, 0.01  # their mean difference, and mean squared difference


def log_capital(
    counts: Float64[np.ndarray, "*looks 3"], mean: float | np.ndarray
) -> Float64[np.ndarray, "*looks"]:
    """Compute the log of the capital against answers of this mean, a beta mixture.

    Each of 100 probabilities p has a capital, which each answer x multiplies by x p /
    mean + (1 - x) (1 - p) / (1 - mean). The mean of these capitals belongs to a uniform
    (beta) prior of p.

    Args:
        counts: Numbers of answers 0, 1/2 and 1 (`ANSWERS`) at each look.
        mean: Claimed mean, 0 to 1, of each look or of all looks.

    Source: Robbins 1970, mixtures of likelihood ratios; ties as bounded observations of
    Waudby-Smith and Ramdas 2024, of which each p is a bet.
    """
    mean = np.clip(np.asarray(mean, np.float64), 1e-300, 1 - 1e-16)[..., None, None]
    x, p = ANSWERS[:, None], _MIXED
    growth = np.log(x * (p / mean) + (1 - x) * ((1 - p) / (1 - mean)))
    capitals = (counts[..., None, :] @ growth)[..., 0, :]
    top = capitals.max(axis=-1, keepdims=True)  # so that nothing overflows
    return top[..., 0] + np.log(np.exp(capitals - top).mean(axis=-1))


def confidence_interval(
    x: Float64[np.ndarray, " t"], alpha: float = 0.05
) -> tuple[float, float]:
    """Bound the mean of answers of 0, 1/2 or 1, whenever judging stops.

    After each answer, the capital against some means is below 1 / alpha. It is convex
    in the mean, so these means are an interval. The result is the intersection of these
    intervals; 0 and 1 if there are no answers.
    """
    if not len(x):
        return 0.0, 1.0
    counts = np.cumsum(x[:, None] == ANSWERS, axis=0, dtype=np.float64)
    seen = counts @ ANSWERS / counts.sum(1)
    ends = []
    for end in (0.0, 1.0):
        refused, accepted = np.full_like(seen, end), seen
        for _ in range(_HALVINGS):
            middle = (refused + accepted) / 2
            inside = log_capital(counts, middle) < -log(alpha)
            accepted = np.where(inside, middle, accepted)
            refused = np.where(inside, refused, middle)
        ends.append(refused)
    return float(ends[0].max()), float(ends[1].min())


def judging_order(queries: Collection[str], seed: int) -> list[str]:
    """Draw the order in which queries are to be judged."""
    source = np.random.Generator(np.random.Philox(np.random.SeedSequence(seed)))
    ids = sorted(queries)
    return [ids[place] for place in np.argsort(source.random(len(ids)))]


def log_evidence(
    x: Float64[np.ndarray, "*replays runs judged"],
    queries: int,
    *,
    best: int = 1,
    ceiling: float = 1.0,
) -> Float64[np.ndarray, "judged *replays runs"]:
    """Compute the log of 1 / p against each run's being among the best, at each look.

    For each pair of runs, a bet on each next query claims that one is better than the
    other over all queries. If both were equal, the remaining queries would cancel the
    differences so far; the bet is on a difference above this. A run is not *the* best
    if bets against it, on the other run that led before each query, pay off. It is not
    among the k best of R if k others are each better, at alpha / (k (R - k)).

    Args:
        x: Scores from 0 to `ceiling`, of queries in their random order.
        queries: Number of all queries, judged or not.
        best: Number of best runs, k, below the number of runs.
        ceiling: Highest possible score.

    Source: Waudby-Smith and Ramdas 2020; 2024, 5.1, with bets like their aGRAPA.
    """
    runs, judged = x.shape[-2:]
    penalty = log(best * (runs - best)) if best > 1 else 0.0
    lead, square = np.zeros((2, *x.shape[:-1], runs))
    capital = np.zeros(x.shape[:-1] if best == 1 else lead.shape)
    total, evidence = np.zeros(x.shape[:-1]), np.full(x.shape[:-1], -np.inf)
    looks = np.zeros((judged, *x.shape[:-1]))
    for t in range(judged):
        now = x[..., t]
        d = now[..., :, None] - now[..., None, :]
        seen = d, lead, square
        if best == 1:
            first = total.argmax(axis=-1)[..., None]
            others = np.where(np.arange(runs) == first, -np.inf, total)
            second = others.argmax(axis=-1)[..., None]
            row = np.where(np.arange(runs) == first, second, first)[..., None, :]
            seen = (np.take_along_axis(of, row, -2)[..., 0, :] for of in seen)
        capital = capital + _growth(*seen, t, queries - t, ceiling)
        strongest = capital - penalty
        if best > 1:  # the k-th largest against each run
            strongest = np.partition(strongest, -best, axis=-2)[..., -best, :]
        total, lead, square = total + now, lead + d, square + d * d
        beyond = ceiling * (queries - t - 1) + NOISE  # most that other queries add
        certain = (lead > beyond).sum(axis=-2) >= best
        evidence = np.maximum(evidence, np.where(certain, np.inf, strongest))
        looks[t] = evidence
    return looks


def _growth(
    d: np.ndarray,
    lead: np.ndarray,
    square: np.ndarray,
    judged: int,
    left: int,
    ceiling: float,
) -> np.ndarray:
    """Compute the log growth of each capital from the next query's differences d.

    The `judged` differences before have the sum `lead` and the sum of squares `square`;
    `left` queries remain, with the next one.
    """
    even = -lead / left  # mean of remaining differences if both runs are equal over all
    room = even + ceiling
    possible = room > NOISE  # else the runs cannot be equal
    room = np.where(possible, room, 1.0)
    seen = judged + _BEFORE
    mean = (lead + _BEFORE * _LEAD * ceiling) / seen
    spread = (square + _BEFORE * _SQUARE * ceiling**2) / seen - mean**2
    edge = mean - even
    share = np.clip(edge * room / (spread + edge**2), 0.0, _BOLD)
    return np.where(possible, np.log1p(share * (d - even) / room), np.inf)


@dataclass(frozen=True, kw_only=True)
class StoppingDecision(Result):
    """Whether the queries judged so far settle a question about all queries.

    Attributes:
        table: A row for each run of the question, the best first: run_id, mean (over
            the judged queries that count), p_value (anytime-valid, of the claim that
            the run is an answer), ruled_out (p_value is at most alpha).
        queries: Columns query_id, in the order drawn, and judged.
        settled: Whether judging may stop.
        answer: The runs that answer the question, by present scores, the best first.
        observed: Scores by the judgments so far.
    """

    queries: pd.DataFrame
    settled: bool
    answer: tuple[str, ...]
    observed: "Scores | None" = None


def decide(
    scores: pd.DataFrame,
    queries: Collection[str],
    *,
    question: str = "best",
    seed: int = 0,
    alpha: float = 0.05,
    ceiling: float = 1.0,
) -> StoppingDecision:
    """Decide whether the queries judged so far settle a question about all queries.

    Args:
        scores: A row for each run, a column for each judged query; 0 to `ceiling`.
        queries: All queries of the collection, judged or not.
        question: `best`, `topK`, or `RUN,RUN` for the better of two.
        seed: Seed of the order in which queries are judged.
        alpha: Largest chance of ever settling for a wrong answer.
        ceiling: Highest possible score.

    Raises:
        UsageError: an argument is wrong. DataError: a score is out of range, or queries
            were not judged in the order drawn.
    """
    check_alpha(alpha)
    chosen, best = _asked(question, list(scores.index))
    order = judging_order(queries, seed)
    judged = [query in scores.columns for query in order]
    count = [*judged, False].index(False)
    if any(judged) and not count:
        raise DataError(
            f"query {order[0]!r}, the first in the order drawn by seed {seed}, has no "
            "judgments, but others have",
            mend="Judge queries in the order that was drawn first; is --seed the same?",
        )
    taken = scores.loc[chosen, order[:count]]
    _check_range(taken, ceiling)
    values = taken.to_numpy(np.float64)
    looks = log_evidence(values, len(order), best=best, ceiling=ceiling)
    evidence = looks[-1] if count else np.zeros(len(chosen))
    p = np.exp(-np.maximum(evidence, 0.0))
    if count == len(order):  # the answer is certain
        total = values.sum(1)
        p = np.where(total >= np.sort(total)[-best] - NOISE, 1.0, 0.0)
    mean = values.mean(1) if count else np.full(len(chosen), np.nan)
    columns = {"run_id": chosen, "mean": mean, "p_value": p, "ruled_out": p <= alpha}
    by = {"ruled_out": True, "mean": False, "run_id": True}
    table = pd.DataFrame(columns).sort_values([*by], ascending=[*by.values()])
    table = table.reset_index(drop=True)
    settled = bool(count == len(order) or (p <= alpha).sum() >= len(chosen) - best)
    about = {"question": question, "seed": seed, "alpha": alpha, "ceiling": ceiling}
    decision = StoppingDecision(
        table,
        about | {"queries": len(order), "judged": count},
        queries=pd.DataFrame({"query_id": order, "judged": judged}),
        settled=settled,
        answer=tuple(table["run_id"][:best]),
    )
    return replace(decision, notes=_notes(decision, sum(judged) - count))


def _asked(question: str, run_ids: Sequence[str]) -> tuple[list[str], int]:
    """Parse a question into its runs and the number of runs in the answer."""
    if "," in question:
        chosen, best = [name.strip() for name in question.split(",")], 1
        if len(chosen) != 2 or len({*chosen} & {*run_ids}) != 2:
            raise UsageError(f"{question!r}: expected two of the runs, as RUN,RUN")
    else:
        chosen, number = [*run_ids], question.removeprefix("top")
        best = 1 if question == "best" else int(number) if number.isdecimal() else 0
    if not 0 < best < len(chosen):
        raise UsageError(
            f"{question!r}: expected best, topK with a K below the number of runs "
            f"({len(chosen)}), or RUN,RUN"
        )
    return chosen, best


def _check_range(scores: pd.DataFrame, ceiling: float) -> None:
    """Refuse scores below 0 or above the ceiling, by a DataError."""
    if not ceiling > 0:
        raise UsageError(f"ceiling={ceiling!r}: expected a number above 0")
    values = scores.to_numpy(np.float64)
    for run, query in np.argwhere(~((values >= 0) & (values <= ceiling)))[:1]:
        raise DataError(
            f"run {scores.index[run]!r}, query {scores.columns[query]!r}: expected a "
            f"score of 0 to {ceiling:g}, found {values[run, query]:g}",
            mend="Give the highest score that the measure can have: --ceiling.",
        )


def _notes(decision: StoppingDecision, unused: int) -> tuple[str, ...]:
    """Write the answer, or the queries to judge next, and the conditions."""
    about, table = decision.metadata, decision.table
    after = f"after {about['judged']} of {counted(about['queries'], 'query')}"
    if decision.settled:
        names = listed(decision.answer, 10)
        verb = "is the best run" if len(decision.answer) == 1 else "are the best runs"
        if len(table) == 2:
            verb = f"is better than {table['run_id'][1]}"
        lines = [f"settled {after}: {names} {verb} by the mean over all of them"]
    else:
        left = counted(int((~table["ruled_out"]).sum()), "run")
        rest = listed([*decision.queries["query_id"][about["judged"] :]], 5)
        asked = len(decision.answer)
        place = "the best" if asked == 1 else f"among the {asked} best"
        lines = [f"open {after}: {left} may be {place}; judge next: {rest}"]
    lines.append(
        f"wrong with a probability of at most {about['alpha']:g}, however often this "
        "is inspected, if queries are judged in the order drawn by seed "
        f"{about['seed']}, each completely before it counts, and no score can be "
        f"below 0 or above {about['ceiling']:g}"
    )
    if unused:
        lines.append(f"{counted(unused, 'query')} judged out of turn: not used")
    return tuple(lines)
