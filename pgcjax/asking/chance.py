"""Random pairs to ask for, with intervals that are valid at any time.

The intervals form a confidence sequence, so they may be read after every answer: the
chance that any of them misses the mean is at most `alpha`; see `stats.anytime`.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float64

from pgcjax.asking.bounds import SHARES, ComparedRuns, asked_measure
from pgcjax.asking.pools import Pool, read_pools, votes_by_pair
from pgcjax.errors import UsageError, check_choice, check_whole, counted
from pgcjax.io.choices import ORDERS
from pgcjax.io.reading import reading
from pgcjax.io.result import Result
from pgcjax.io.votes.read import read_preferences
from pgcjax.io.weights import whole_weights
from pgcjax.measures.measure import Measure
from pgcjax.stats.anytime import confidence_interval

_COLUMNS = ["request_number", "query_id", "doc_a", "doc_b"]
_COMPARISON = ["run_a", "run_b", "low", "high", "better", "answers"]
_DRAWN = 1024  # draws at a time


@dataclass(frozen=True, kw_only=True)
class DrawnAnswers(Result):
    """Random pairs to ask for, and the difference of two runs by the answers so far.

    Attributes:
        table: One row for each of the next draws without an answer:
            request_number (from 1), query_id, doc_a (to be shown first), doc_b. A pair
            that is drawn again is a new question, for another judge if possible.
        comparisons: One row: run_a, run_b, low and high (confidence interval of the
            difference of their means), better (the better run; empty while that is
            open), answers (number of draws, from the first on, that have an answer).
    """

    comparisons: pd.DataFrame


class Stakes(NamedTuple):
    """Effect of each pair of documents on the difference of two runs.

    Attributes:
        pairs: Query and two documents, ids ascending, of each pair that has an effect.
        gain: Difference of means if the first document is preferred, less that if the
            second is.
        middle: Difference of means if all answers were ties that count half.
    """

    pairs: list[tuple[str, str, str]]
    gain: Float64[np.ndarray, " pairs"]
    middle: float

    def difference(self, mean: float) -> float:
        """Convert a mean of observations from 0 to 1 to a difference of means."""
        reach = float(np.abs(self.gain).sum()) / 2
        return self.middle + reach * (2 * mean - 1)


def next_by_chance(
    runs: Any,
    *,
    preferences: Any = None,
    measure: str = "ppref",
    documents: int = 32,
    requests: int = 100,
    alpha: float = 0.05,
    seed: int = 0,
    queries: Collection[str] | None = None,
    order: str = ORDERS[0],
    memory: str | int | None = None,
) -> DrawnAnswers:
    """Draw pairs to ask noisy judges for, and test whether their answers decide.

    Each draw chooses a pair with a probability in proportion to its effect on the
    difference of the runs' means, with replacement. The expected sign of an answer
    then determines that difference, where a tie counts half for each document.

    Args:
        runs: Two runs, in any form that `read_runs` takes.
        preferences: Answers so far, of any judges; None at the beginning. The k-th
            answer to a pair belongs to its k-th draw.
        measure: ppref, rpref, fpref or wpref; its mean over queries is compared.
        documents: Number of documents per query to pair: those the runs rank highest.
        requests: Number of draws to list.
        alpha: Chance that the interval ever misses the difference.
        seed: Seed of the draws.
        queries: Queries that count; by default all of the runs.
        order: Order of documents in a run: `trec`, `clarke` or `rank`.
        memory: Bytes that a file may take.

    Raises:
        DataError: the data cannot be read. UsageError: an argument is wrong.
    """
    parsed = asked_measure(measure, only=SHARES)
    check_choice("order", order, ORDERS)
    if not 0 < alpha < 1:
        raise UsageError(f"alpha={alpha!r}: expected a number above 0 and below 1")
    check_whole("requests", requests, 1)
    check_whole("seed", seed, 0)
    with reading(memory=memory):
        names, pools = read_pools(runs, None, order, queries, documents)
        if len(names) != 2:
            raise UsageError(f"expected two runs to compare, found {len(names)}")
        answers = _read_answers(preferences)
    stakes = stakes_of(parsed, pools)
    signs, rows = _match(stakes, answers, requests, seed)
    low, high = map(stakes.difference, confidence_interval((1 + signs) / 2, alpha))
    given = sum(len(votes) for of in answers.values() for votes in of.values())
    better = names[0] if low > 0 else names[1] if high < 0 else ""
    values = (*names, low, high, better, len(signs))
    comparison = dict(zip(_COMPARISON, values, strict=True))
    settings = {"measure": parsed.in_full(), "documents": documents, "alpha": alpha}
    return DrawnAnswers(
        pd.DataFrame(rows, columns=_COLUMNS),
        settings | {"seed": seed, "order": order},
        tuple(_notes(parsed, comparison, given - len(signs), stakes)),
        comparisons=pd.DataFrame([comparison]),
    )


def _read_answers(preferences: Any) -> dict[str, dict[tuple[str, str], list[int]]]:
    """Read the votes on each pair of documents of each query."""
    if preferences is None:
        return {}
    table = read_preferences(preferences)
    table = table[table["other_doc_id"].notna()]
    return votes_by_pair(table, whole_weights(table, "a confidence interval"))


def _notes(
    measure: Measure, comparison: dict[str, Any], unused: int, stakes: Stakes
) -> Iterator[str]:
    """Yield lines that state which run is better, or that this is open."""
    run_a, run_b, low, high, better, answers = comparison.values()
    yield (
        f"{measure} of {run_a} - {run_b} is from {low:.4f} to {high:.4f} by "
        f"{counted(answers, 'answer')}: {f'{better} is better' if better else 'open'}"
    )
    if unused:
        yield (
            f"{counted(unused, 'answer')} not used: the pair was not drawn, or an "
            "earlier draw has no answer yet"
        )
    if not stakes.pairs:
        yield "no pair can change the result: the runs rank these documents alike"


def stakes_of(measure: Measure, pools: Sequence[Pool]) -> Stakes:
    """Split the difference of two runs' means into effects of pairs."""
    pairs, gains, middle = [], [np.zeros(0)], 0.0
    for pool in pools:
        runs = ComparedRuns.of(measure, pool, np.array([[0, 1]]))
        one, other = runs.effects(np.zeros_like(pool.counts), pool.unsettled)
        by_answer = (one - other) / len(pools)
        middle += float(by_answer[pool.unsettled].sum()) / 2
        gain = np.triu(by_answer - by_answer.T) * pool.unsettled
        places = np.argwhere(gain)
        pairs += [(pool.query_id, pool.docs[i], pool.docs[j]) for i, j in places]
        gains.append(gain[*places.T])
    return Stakes(pairs, np.concatenate(gains), middle)


def _match(
    stakes: Stakes,
    answers: dict[str, dict[tuple[str, str], list[int]]],
    requests: int,
    seed: int,
) -> tuple[Float64[np.ndarray, " t"], list[tuple]]:
    """Match answers with draws.

    Returns:
        Signs of the answered draws before the first open one: 1 for the first run, -1
        for the second, 0 for a tie; and rows of the next draws without an answer.
    """
    signs: list[int] = []
    rows: list[tuple] = []
    drawn = np.zeros(len(stakes.pairs), np.int64)
    for number, (at, turned) in enumerate(_draws(stakes, seed), 1):
        query, *pair = stakes.pairs[at]
        votes = answers.get(query, {}).get((pair[0], pair[1]), [])
        turn = int(drawn[at])
        drawn[at] += 1
        if turn >= len(votes):
            rows.append((number, query, *(pair[::-1] if turned else pair)))
            if len(rows) == requests:
                break
        elif not rows:
            signs.append(votes[turn] * int(np.sign(stakes.gain[at])))
    return np.array(signs, np.float64), rows


def _draws(stakes: Stakes, seed: int) -> Iterator[tuple[int, bool]]:
    """Draw pairs without end: the number of each, and whether to swap it."""
    if not stakes.pairs:
        return
    source = np.random.Generator(np.random.Philox(np.random.SeedSequence(seed)))
    ends = np.cumsum(np.abs(stakes.gain))
    while True:
        for chance, side in source.random((_DRAWN, 2)).tolist():
            at = np.searchsorted(ends, chance * ends[-1], side="right")
            yield min(int(at), len(ends) - 1), side < 0.5
