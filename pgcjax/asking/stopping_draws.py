"""Pairs asked for by chance, so that noisy answers may be looked at at any time."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float64, Int64

from pgcjax.asking.bounds import ComparedRuns, effects
from pgcjax.asking.stopping import confidence_interval
from pgcjax.asking.utility import read_pools
from pgcjax.asking.utility_measures import SHARES, asked_measure, shares
from pgcjax.asking.utility_pools import Pool
from pgcjax.errors import UsageError, check_choice, counted
from pgcjax.io.choices import ORDERS
from pgcjax.io.reading import reading
from pgcjax.io.result import Result
from pgcjax.io.votes.read import read_preferences
from pgcjax.io.weights import whole_weights
from pgcjax.measures.measure import Measure

_COLUMNS = ("request_number", "query_id", "doc_a", "doc_b")


@dataclass(frozen=True, kw_only=True)
class DrawnAnswers(Result):
    """Pairs to ask for, drawn by chance, and what the answers so far say of two runs.

    Attributes:
        table: a row for each of the next draws that has no answer:
            request_number (from 1), query_id, doc_a (to be shown first), doc_b. A pair
            may be drawn again, as another question, for another judge if there is one.
        comparisons: one row: run_a, run_b, low and high (confidence interval of the
            difference of their means), better (the run that is better; none if that is
            open), answers (how many draws in a row have one).
    """

    comparisons: pd.DataFrame


class Stakes(NamedTuple):
    """What hangs on each pair of documents, of two runs.

    Attributes:
        query_id: of each pair on which anything hangs.
        docs: the two documents of each, int64 `[pairs, 2]`, places in `names`.
        names: documents of each query.
        gain: by how much the difference of means is greater if the first document is
            preferred, rather than the second.
        middle: the difference of means if all answers were ties that count half.
    """

    query_id: np.ndarray
    docs: Int64[np.ndarray, "pairs 2"]
    names: dict[str, tuple[str, ...]]
    gain: Float64[np.ndarray, " pairs"]
    middle: float

    @property
    def reach(self) -> float:
        """How far answers can move the difference from the middle, to either side."""
        return float(np.abs(self.gain).sum()) / 2

    def difference(self, mean: float) -> float:
        """Turn the mean of observations of 0 to 1 into the difference of means."""
        return self.middle + self.reach * (2 * mean - 1)


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
    """Draw pairs to ask noisy judges for, and say whether their answers decide.

    A pair is drawn, again and again, with a chance in proportion to what hangs on it.
    Then the sign of each answer has a mean that gives the difference of the runs'
    means, as if each pair were answered once, a tie as half an answer for each.

    Args:
        runs: what `read_runs` takes: two runs.
        preferences: the answers so far, of any judges; None at the beginning. The k-th
            answer to a pair belongs to its k-th draw.
        measure: ppref, rpref, fpref or wpref; its mean over queries.
        documents: of a query that are paired: those that the runs rank highest.
        requests: how many draws to list.
        alpha: chance that the interval ever misses the difference.
        seed: of the draws.
        queries: those that count; by default all of the runs.
        order: of documents in a run: `trec`, `clarke` or `rank`.
        memory: bytes that a file may take.

    Raises:
        DataError: the data cannot be read. UsageError: an argument is wrong.
    """
    parsed = asked_measure(measure, only=SHARES)
    check_choice("order", order, ORDERS)
    _check(alpha, requests, seed)
    with reading(memory=memory):
        names, pools = read_pools(runs, None, order, queries, documents)
        if len(names) != 2:
            raise UsageError(f"expected two runs to compare, found {len(names)}")
        table = None if preferences is None else read_preferences(preferences)
    stakes = stakes_of(parsed, pools)
    answers = {} if table is None else _answers(table)
    signs, rows = _matched(stakes, answers, requests, seed)
    low, high = map(stakes.difference, confidence_interval((1 + signs) / 2, alpha))
    first, second = names
    comparison = _Comparison(first, second, low, high, len(signs))
    unused = sum(map(len, answers.values())) - len(signs)
    settings = {"measure": parsed.in_full(), "documents": documents, "alpha": alpha}
    return DrawnAnswers(
        pd.DataFrame(rows, columns=[*_COLUMNS]),
        settings | {"seed": seed, "order": order},
        tuple(_notes(parsed, comparison, unused, stakes)),
        comparisons=comparison.table(),
    )


def _check(alpha: float, requests: int, seed: int) -> None:
    if not 0 < alpha < 1:
        raise UsageError(f"alpha={alpha!r}: expected a number above 0 and below 1")
    for name, number, least in (("requests", requests, 1), ("seed", seed, 0)):
        if type(number) is not int or number < least:
            raise UsageError(
                f"{name}={number!r}: expected a whole number, {least} or more"
            )


class _Comparison(NamedTuple):
    """What answers so far say of the difference of two runs' means."""

    run_a: str
    run_b: str
    low: float
    high: float
    answers: int

    @property
    def better(self) -> str:
        """The run that is better; none if that is open."""
        return self.run_a if self.low > 0 else self.run_b if self.high < 0 else ""

    def table(self) -> pd.DataFrame:
        """Lay it out as a row."""
        columns = ["run_a", "run_b", "low", "high", "better", "answers"]
        row = {name: getattr(self, name) for name in columns}
        return pd.DataFrame([row], columns=columns)


def _notes(
    measure: Measure, compared: _Comparison, unused: int, stakes: Stakes
) -> Iterator[str]:
    """Write what is decided, a line each."""
    run_a, run_b, low, high, answers = compared
    end = f"{compared.better} is better" if compared.better else "open"
    yield (
        f"{measure} of {run_a} - {run_b} is from {low:.4f} to {high:.4f} by "
        f"{counted(answers, 'answer')}: {end}"
    )
    if unused:
        yield (
            f"{counted(unused, 'answer')} not used: not drawn, or after a draw that "
            "has none yet"
        )
    if not len(stakes.gain):
        yield "nothing hangs on any pair: the runs rank these documents alike"


def stakes_of(measure: Measure, pools: Sequence[Pool]) -> Stakes:
    """Take the difference of two runs' means apart by pair."""
    queries, docs, gains, middle = [], [], [], 0.0
    for pool in pools:
        runs = ComparedRuns(shares(measure, pool), np.array([[0, 1]]))
        one, other = effects(runs, np.zeros_like(pool.counts), pool.unsettled)
        by_answer = (one - other) / len(pools)
        middle += float(by_answer[pool.unsettled].sum()) / 2
        gain = np.triu(by_answer - by_answer.T) * pool.unsettled
        pairs = np.argwhere(gain)
        docs.append(pairs)
        gains.append(gain[*pairs.T])
        queries.append(np.full(len(pairs), pool.query_id, object))
    names = {pool.query_id: pool.docs for pool in pools}
    parts = np.concatenate(queries), np.concatenate(docs), np.concatenate(gains)
    return Stakes(parts[0], parts[1], names, parts[2], middle)


def draws(stakes: Stakes, seed: int, block: int = 1024) -> Iterator[tuple[int, bool]]:
    """Draw pairs without end: the number of each, and whether to turn it round."""
    source = np.random.Generator(np.random.Philox(np.random.SeedSequence(seed)))
    ends = np.cumsum(np.abs(stakes.gain))
    while True:
        for chance, side in source.random((block, 2)).tolist():
            at = np.searchsorted(ends, chance * ends[-1], side="right")
            yield min(int(at), len(ends) - 1), side < 0.5


def _answers(table: pd.DataFrame) -> dict[tuple[str, str, str], list[int]]:
    """List the answers to each pair, in order: 1 for its lesser id, -1, or 0."""
    answers: dict[tuple[str, str, str], list[int]] = {}
    pairs = table[table["other_doc_id"].notna()]
    weights = whole_weights(pairs, "a confidence interval")
    columns = (pairs[c] for c in ("query_id", "doc_id", "other_doc_id", "preference"))
    for query, doc, other, preference, weight in zip(*columns, weights, strict=True):
        sign = int(np.sign(preference))
        key, sign = ((doc, other), sign) if doc < other else ((other, doc), -sign)
        answers.setdefault((query, *key), []).extend([sign] * int(weight))
    return answers


def _matched(
    stakes: Stakes,
    answers: dict[tuple[str, str, str], list[int]],
    requests: int,
    seed: int,
) -> tuple[Float64[np.ndarray, " t"], list[tuple]]:
    """Match answers with draws.

    Returns:
        Of the draws in a row that have an answer, whether it is for the run of the
        first: 1, for the other: -1, or 0; and rows of the next ones that have none.
    """
    signs: list[int] = []
    rows: list[tuple] = []
    taken: dict[tuple[str, str, str], int] = {}
    if not len(stakes.gain):
        return np.zeros(0), rows
    for number, (at, turned) in enumerate(draws(stakes, seed), 1):
        query = stakes.query_id[at]
        one, other = (stakes.names[query][i] for i in stakes.docs[at])
        key = query, one, other
        k = taken[key] = taken.get(key, -1) + 1
        if k < len(of_pair := answers.get(key, ())):
            if not rows:
                signs.append(of_pair[k] * int(np.sign(stakes.gain[at])))
            continue
        rows.append((number, query, *((other, one) if turned else (one, other))))
        if len(rows) == requests:
            break
    return np.array(signs, np.float64), rows
