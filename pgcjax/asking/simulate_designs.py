"""Designs of asking, each played with a judge of one query, or of several at once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float64, Int

from pgcjax.asking.bounds import NOISE, ComparedRuns, leads, share_bounds, stakes
from pgcjax.asking.simulated_judges import Judge
from pgcjax.asking.tournament import Draw, Round, Rules, advance, begin, count_wins
from pgcjax.asking.utility_pools import settle
from pgcjax.kernels.utility import implied_gain

Pair = tuple[int, int]
Settled = tuple[np.ndarray, np.ndarray, np.ndarray]


class Played(NamedTuple):
    """What a design brought to light of some queries.

    Attributes:
        points: of each document of each query: the more, the better.
        signs: of each comparison of two runs' means: 1, -1, or 0 where it is open or
            equal.
    """

    points: list[Float64[np.ndarray, " n"]]
    signs: Int[np.ndarray, " comparisons"]


@dataclass
class Asking:
    """The answers of a judge to questions about a query.

    Attributes:
        docs: of the query.
        judge: who answers.
        random: decides what is shown first, and in what order is asked.
        may_tie: answers may be ties, or never come: bounds take that into account.
        heeds_bad: a document that is called bad is worse than all that are not, and is
            not asked for again.
        judgments: how many answers there were.
    """

    docs: Sequence[str]
    judge: Judge
    random: np.random.Generator
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
        if self.random.random() < 0.5:
            return -self._shown(j, i)
        return self._shown(i, j)

    def _shown(self, i: int, j: int) -> int:
        answer = self.judge.ask(self.docs[i], self.docs[j])
        if answer is None:  # nobody will answer it
            self.askable[i, j] = self.askable[j, i] = False
            return 0
        self.judgments += 1
        bad = [k for k in (i, j) if self.docs[k] in answer.bad]
        if self.heeds_bad and bad:
            self.bad[bad] = 1
        elif answer.sign:
            self.wins[(i, j) if answer.sign > 0 else (j, i)] += 1
        else:
            self.tied[i, j] = self.tied[j, i] = True
        return answer.sign

    def settled(self, infer: bool = False) -> Settled:
        """Infer what is clear: counts, open pairs, chains, as `utility_pools`."""
        return settle(self.wins, self.tied, self.bad, self.askable, infer)

    def outcome(self, i: int, j: int) -> int:
        """Find which of two documents is better, 1, -1 or 0; ask if that is open."""
        if self.settled()[1][i, j]:
            self.ask(i, j)
        counts = self.settled()[0]
        return int(np.sign(counts[i, j] - counts[j, i]))


def play(
    design: str, asking: Sequence[Asking], compared: Sequence[ComparedRuns], k: int
) -> Played:
    """Ask by a design of `utility_choices.DESIGNS`.

    Args:
        design: its name.
        asking: of each query, which has the judge and takes the answers.
        compared: of each query.
        k: documents that a tournament is to find.
    """
    order, *rules = design.split(", ")
    infer = order == "inference" or "inference" in rules
    points = []
    for one in asking:
        one.heeds_bad = "bad" in rules
    if order in _SORTED:
        for one in asking:
            _SORTED[order](one)
        infer = True  # who sorts takes answers for transitive
    elif order == "tournament":
        points = [_tournament(one, k) for one in asking]
    else:
        chosen = _most_useful if order == "utility" else _any
        _in_order(asking, chosen, compared, infer, stop="stop" in rules)
    settled = [one.settled(infer) for one in asking]
    if not points:
        points = [np.sign(counts - counts.T).sum(1) for counts, _, _ in settled]
    if "stop" in rules:
        both = zip(asking, compared, settled, strict=True)
        bounds = np.mean([_bounds(*query) for query in both], axis=0)
        signs = (bounds[:, 0] > NOISE).astype(int) - (bounds[:, 1] < -NOISE)
    else:
        signs = leading(compared, [counts for counts, _, _ in settled])
    return Played(points, signs)


def leading(
    compared: Sequence[ComparedRuns], counts: Sequence[Float64[np.ndarray, "n n"]]
) -> Int[np.ndarray, " comparisons"]:
    """Find which run of each comparison is better by these preferences: 1, -1 or 0."""
    gaps = []
    for runs, of_query in zip(compared, counts, strict=True):
        scores = np.array([[run.so_far(of_query)[0]] for run in runs.shares])
        gaps.append(leads(runs, scores)[:, 0])
    mean = np.mean(gaps, axis=0)
    return (mean > NOISE).astype(int) - (mean < -NOISE)


def _bounds(
    asking: Asking, compared: ComparedRuns, settled: Settled
) -> Float64[np.ndarray, "comparisons 2"]:
    return share_bounds(compared, *settled[:2], may_tie=asking.may_tie)


Chosen = Callable[[ComparedRuns, Settled, np.ndarray], np.ndarray]


def _in_order(
    asking: Sequence[Asking],
    chosen: Chosen,
    compared: Sequence[ComparedRuns],
    infer: bool,
    *,
    stop: bool,
) -> None:
    """Ask for open pairs, one after the other, until none is left or all is clear."""
    chance = []
    for one in asking:
        drawn = np.triu(one.random.random(one.askable.shape), 1)
        chance.append(drawn + drawn.T)
    vague = np.ones(len(compared[0].pairs), bool)
    settled = [one.settled(infer) for one in asking]
    bounds = [_bounds(*q) for q in zip(asking, compared, settled, strict=True)]
    best = [(-1.0, 0, 0)] * len(asking)
    changed = range(len(asking))
    while True:
        if stop:
            low, high = np.mean(bounds, axis=0).T
            still = (low <= NOISE) & (high >= -NOISE) & (high - low > NOISE)
            if not still.any():
                return
            if (still != vague).any():  # what is clear need not be heeded any more
                vague, changed = still, range(len(asking))
        for q in changed:
            wanted = chosen(compared[q].only(vague), settled[q], chance[q])
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
            bounds[q] = _bounds(asking[q], compared[q], settled[q])


def _any(compared: ComparedRuns, settled: Settled, chance: np.ndarray) -> np.ndarray:
    return chance


def _most_useful(
    compared: ComparedRuns, settled: Settled, chance: np.ndarray
) -> np.ndarray:
    """Return the expected utility of each pair, and chance where it is equal."""
    counts, unsettled, above = settled
    differ = stakes(compared, counts, unsettled)
    gain = implied_gain(differ, above.astype(np.float64))
    return gain + gain.T + NOISE * chance


def _merge_sort(asking: Asking) -> None:
    """Sort halves, and merge them."""
    order = asking.random.permutation(len(asking.docs)).tolist()
    _merged(order, asking)


def _merged(docs: list[int], asking: Asking) -> list[int]:
    if len(docs) < 2:
        return docs
    half = len(docs) // 2
    left, right = _merged(docs[:half], asking), _merged(docs[half:], asking)
    out = []
    while left and right:
        first = asking.outcome(left[0], right[0]) >= 0
        out.append(left.pop(0) if first else right.pop(0))
    return out + left + right


def _quick_sort(asking: Asking) -> None:
    """Part documents by one of them, and each part again."""
    parts = [asking.random.permutation(len(asking.docs)).tolist()]
    while parts:
        pivot, *rest = parts.pop()
        better = [doc for doc in rest if asking.outcome(doc, pivot) > 0]
        worse = [doc for doc in rest if doc not in better]
        parts += [part for part in (better, worse) if len(part) > 1]


_SORTED = {"merge sort": _merge_sort, "quick sort": _quick_sort}


def _tournament(asking: Asking, k: int) -> Float64[np.ndarray, " n"]:
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
