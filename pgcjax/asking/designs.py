"""Designs of asking, each simulated with judges of one or several queries."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Bool, Float64, Int

from pgcjax.asking.bounds import (
    NOISE,
    ComparedRuns,
    implied_gain,
    share_bounds,
    stakes,
)
from pgcjax.asking.pools import settle
from pgcjax.asking.rounds import Draw, Round, Rules, advance, begin, count_wins
from pgcjax.errors import UsageError

Settled = tuple[np.ndarray, np.ndarray, np.ndarray]
Points = Float64[np.ndarray, " n"]
"""Value of each document of a query: the more, the better."""
Signs = Int[np.ndarray, " comparisons"]
"""Result of each comparison of two means: 1, -1, or 0 where it is open or equal."""


Judge = Callable[[int, int], tuple[int, list[int]] | None]
"""Function of two documents of a query that returns the sign of the answer (1 if the
one shown first is better, -1 if the other is, 0 for a tie) and the bad ones among the
two; or None if nobody answers."""


@dataclass(frozen=True)
class Errors:
    """Errors of a simulated judge: shares of the answers, each from 0 to 1.

    Attributes:
        bias: Share of all answers that name the document shown first.
        ties: Share of the remaining answers that are ties.
        error: Share of the remaining answers that name the worse document.
    """

    error: float = 0.0
    ties: float = 0.0
    bias: float = 0.0

    def __post_init__(self) -> None:
        for name, share in vars(self).items():
            if not 0 <= share <= 1:
                raise UsageError(f"{name}={share!r}: expected a share, 0 to 1")


def simulated_judge(
    utility: Points, bad: Collection[int], errors: Errors, random: np.random.Generator
) -> Judge:
    """Make a judge who has a true utility of each document in mind, and may err."""

    def ask(first: int, second: int) -> tuple[int, list[int]]:
        swayed, tied, wrong = random.random(3)
        sign = int(np.sign(utility[first] - utility[second]))
        if swayed < errors.bias:
            sign = 1
        elif tied < errors.ties:
            sign = 0
        elif wrong < errors.error:
            sign = -sign
        return sign, [doc for doc in (first, second) if doc in bad]

    return ask


def replayed_judge(
    votes: Mapping[tuple[int, int], Sequence[int]],
    bad: Collection[int],
    random: np.random.Generator,
) -> Judge:
    """Make a judge that replays votes, each once before any is repeated.

    Args:
        votes: Votes on each pair, ids ascending: 1 for the first document, -1 for the
            second, 0 for a tie.
        bad: Documents that were called bad.
        random: Random generator, for the order of the votes on a pair.
    """
    left: dict[tuple[int, int], list[int]] = {}

    def ask(first: int, second: int) -> tuple[int, list[int]] | None:
        pair = (first, second) if first < second else (second, first)
        shown_bad = [doc for doc in (first, second) if doc in bad]
        if not votes.get(pair):
            return (0, shown_bad) if shown_bad else None
        if not left.get(pair):
            left[pair] = random.permutation(np.array(votes[pair])).tolist()
        sign = left[pair].pop()
        return (sign if pair == (first, second) else -sign), shown_bad

    return ask


@dataclass
class Asking:
    """The answers of a judge to questions about a query.

    Attributes:
        docs: Documents of the query.
        judge: Judge who answers.
        random: Random generator of the document shown first and the order of questions.
        compared: Runs that the answers are to separate.
        may_tie: Whether bounds allow for answers that are ties, or never come.
        heeds_bad: Whether a document that is called bad is worse than all others, and
            no longer asked for.
        judgments: Number of answers so far.
    """

    docs: Sequence[str]
    judge: Judge
    random: np.random.Generator
    compared: ComparedRuns
    may_tie: bool = False
    heeds_bad: bool = False
    judgments: int = 0
    wins: Float64[np.ndarray, "n n"] = field(init=False)
    tied: Bool[np.ndarray, "n n"] = field(init=False)
    askable: Bool[np.ndarray, "n n"] = field(init=False)
    bad: Int[np.ndarray, " n"] = field(init=False)

    def __post_init__(self) -> None:
        n = len(self.docs)
        self.wins, self.bad = np.zeros((n, n)), np.zeros(n, np.int64)
        self.tied, self.askable = np.zeros((n, n), bool), ~np.eye(n, dtype=bool)

    def ask(self, i: int, j: int) -> int:
        """Ask for a pair, in one order or the other: 1 if i is better, -1, or 0."""
        turned = self.random.random() < 0.5
        first, second = (j, i) if turned else (i, j)
        answer = self.judge(first, second)
        if answer is None:  # nobody will answer it
            self.askable[i, j] = self.askable[j, i] = False
            return 0
        self.judgments += 1
        sign, bad = answer
        if self.heeds_bad and bad:
            self.bad[bad] = 1
        elif sign:
            self.wins[(first, second) if sign > 0 else (second, first)] += 1
        else:
            self.tied[i, j] = self.tied[j, i] = True
        return -sign if turned else sign

    def settled(self, infer: bool = False) -> Settled:
        """Infer clear outcomes: counts, open pairs, chains, as `pools.settle` does."""
        return settle(self.wins, self.tied, self.bad, self.askable, infer)

    def outcome(self, i: int, j: int) -> int:
        """Find which of two documents is better, 1, -1 or 0; ask if that is open."""
        if self.settled()[1][i, j]:
            self.ask(i, j)
        counts = self.settled()[0]
        return int(np.sign(counts[i, j] - counts[j, i]))

    def bounds(self, settled: Settled) -> Float64[np.ndarray, "comparisons 2"]:
        """Bound the differences of the compared runs."""
        counts, unsettled, _ = settled
        return share_bounds(self.compared, counts, unsettled, may_tie=self.may_tie)


def play(design: str, asking: Sequence[Asking], k: int) -> tuple[list[Points], Signs]:
    """Ask by a design of `choices.DESIGNS`.

    Args:
        design: Name of the design.
        asking: Judge and answers of each query; the answers are added.
        k: Number of documents that a tournament is to find.

    Returns:
        Points of the documents of each query, and signs of comparisons.
    """
    order, *rules = design.split(", ")
    infer = order == "inference" or "inference" in rules
    points = []
    for one in asking:
        one.heeds_bad = "bad" in rules
    if order in ("merge sort", "quick sort"):
        for one in asking:
            docs = one.random.permutation(len(one.docs)).tolist()
            _merge_sort(docs, one) if order == "merge sort" else _quick_sort(docs, one)
        infer = True  # sorting assumes that answers are transitive
    elif order == "tournament":
        points = [_tournament(one, k) for one in asking]
    else:
        _ask_in_order(asking, order == "utility", infer, stop="stop" in rules)
    settled = [one.settled(infer) for one in asking]
    if not points:
        points = [np.sign(counts - counts.T).sum(1) for counts, _, _ in settled]
    if "stop" in rules:
        both = zip(asking, settled, strict=True)
        bounds = np.mean([one.bounds(clear) for one, clear in both], axis=0)
        return points, (bounds[:, 0] > NOISE).astype(int) - (bounds[:, 1] < -NOISE)
    return points, leading(asking, [counts for counts, _, _ in settled])


def leading(
    asking: Sequence[Asking], counts: Sequence[Float64[np.ndarray, "n n"]]
) -> Signs:
    """Find which run of each comparison is better by these preferences."""
    both = zip(asking, counts, strict=True)
    gaps = [one.compared.leads(one.compared.scores(given)[0]) for one, given in both]
    mean = np.mean(gaps, axis=0)
    return (mean > NOISE).astype(int) - (mean < -NOISE)


def _ask_in_order(
    asking: Sequence[Asking], by_utility: bool, infer: bool, *, stop: bool
) -> None:
    """Ask for open pairs, one after the other, until none is left or all is clear."""
    chance = []
    for one in asking:
        drawn = np.triu(one.random.random(one.askable.shape), 1)
        chance.append(drawn + drawn.T)
    vague = np.ones(len(asking[0].compared.pairs), bool)
    settled = [one.settled(infer) for one in asking]
    bounds = [one.bounds(clear) for one, clear in zip(asking, settled, strict=True)]
    best = [(-1.0, 0, 0)] * len(asking)
    changed = range(len(asking))
    while True:
        if stop:
            low, high = np.mean(bounds, axis=0).T
            still = (low <= NOISE) & (high >= -NOISE) & (high - low > NOISE)
            if not still.any():
                return
            if (still != vague).any():  # decided comparisons no longer count
                vague, changed = still, range(len(asking))
        for q in changed:
            wanted = chance[q]
            if by_utility:
                compared = asking[q].compared.only(vague)
                wanted = _expected_gain(compared, settled[q]) + NOISE * wanted
            wanted = np.where(settled[q][1], wanted, -1.0)
            i, j = np.unravel_index(int(wanted.argmax()), wanted.shape)
            best[q] = float(wanted[i, j]), int(i), int(j)
        q = max(range(len(best)), key=lambda q: best[q][0])
        value, i, j = best[q]
        if value < 0:
            return
        asking[q].ask(i, j)
        settled[q], changed = asking[q].settled(infer), [q]
        if stop:
            bounds[q] = asking[q].bounds(settled[q])


def _expected_gain(compared: ComparedRuns, settled: Settled) -> np.ndarray:
    counts, unsettled, above = settled
    differ = stakes(compared, counts, unsettled)
    gain = implied_gain(differ, above.astype(np.float64))
    return gain + gain.T


def _merge_sort(docs: list[int], asking: Asking) -> list[int]:
    """Sort halves, and merge them."""
    if len(docs) < 2:
        return docs
    half = len(docs) // 2
    left, right = _merge_sort(docs[:half], asking), _merge_sort(docs[half:], asking)
    merged = []
    while left and right:
        first = asking.outcome(left[0], right[0]) >= 0
        merged.append(left.pop(0) if first else right.pop(0))
    return merged + left + right


def _quick_sort(docs: list[int], asking: Asking) -> None:
    """Partition documents by a pivot, and sort each part likewise."""
    parts = [docs]
    while parts:
        pivot, *rest = parts.pop()
        better = [doc for doc in rest if asking.outcome(doc, pivot) > 0]
        worse = [doc for doc in rest if doc not in better]
        parts += [part for part in (better, worse) if len(part) > 1]


def _tournament(asking: Asking, k: int) -> Points:
    """Play a tournament of all documents; points are rounds, then wins of the last.

    A pair that is drawn again is asked again, as published.
    """
    rules, draw = Rules.of(k), Draw(int(asking.random.integers(2**31)), "")
    place = {doc: i for i, doc in enumerate(asking.docs)}
    points = np.zeros(len(place))
    played = begin(dict.fromkeys(asking.docs, 1.0), rules, draw)
    while isinstance(played, Round):
        pairs = played.pairs
        outcomes = {(a, b): float(asking.ask(place[a], place[b])) for a, b in pairs}
        wins = count_wins(played.documents, outcomes)
        for doc in played.documents:
            points[place[doc]] = played.number + wins[doc] / (1 + len(place))
        played = advance(played, wins, rules, draw)
    for doc, won in played.items():
        points[place[doc]] = len(place) + won
    return points
