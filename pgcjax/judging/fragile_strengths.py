"""The fewest votes whose change reverses the order of two systems, by Bradley-Terry.

*Found*: votes by their influence on the difference of strengths, all at once (AMIP),
the model fitted anew. *Proven*: let votes R go from
counting to not counting. Strengths s then move by H⁻¹ g, H the curvature of the
penalised likelihood and g the slope of R. (1) While no difference of two strengths has
moved by more than ρ, each p (1 - p) is within e^±ρ of what it was, so m H(0) <= H <=
e^ρ H(0), m = e^-ρ - e^ρ θ, θ the leverage of R. (2) So x' H⁻¹ y is within ν sqrt(x'Ax
y'Ay) of μ x'Ay, A = H(0)⁻¹, μ and ν the middle and half the width of [e^-ρ, 1 / m].
(3) This bounds what each vote moves, and k votes at most the k largest of these bounds.
(4) ρ holds if no difference can leave it by (3). (5) Where the k largest bounds add up
to less than the difference, no k votes reverse it. Reversed votes have no θ, and a
slope that is constant.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float64, Int
from scipy.special import expit

from pgcjax.errors import UsageError, listed
from pgcjax.io.weights import weights_of
from pgcjax.judging.bradley_terry import ComparedVotes, compared_votes, fit_strengths
from pgcjax.judging.choices import CHANGES
from pgcjax.judging.fragility import Fragility, in_words
from pgcjax.judging.models import PRIOR, check_prior
from pgcjax.judging.votes import read_judgments

_MOST_REFITS = 400  # of single votes
_ROUNDS = 60  # of the search for ρ
_FAR = 5.0  # log-odds beyond which nothing is proven
_NOISE = 1e-9


class _VoteGroups(NamedTuple):
    """Votes that say the same, and which rows they are."""

    votes: ComparedVotes
    times: Int[np.ndarray, " groups"]
    rows: list[np.ndarray]

    def strengths(
        self, prior: float, change: str, taken: np.ndarray
    ) -> Float64[np.ndarray, " n"]:
        """Fit strengths to what is left where so many of each group are changed."""
        v = self.votes
        weight = v.weight * (self.times - taken)
        if change == CHANGES[0]:
            return fit_strengths(
                v._replace(weight=weight), prior, errors=False
            ).strength
        first, second, query = (np.append(x, x) for x in (v.first, v.second, v.query))
        won, both = np.append(v.won, 1 - v.won), np.append(weight, v.weight * taken)
        turned = ComparedVotes(v.names, first, second, won, both, query)
        return fit_strengths(turned, prior, errors=False).strength


def fragile_strengths(
    preferences: Any,
    run_id: str | None,
    other: str | None,
    change: str,
    prior: float | None = None,
) -> Fragility:
    """Bound the fewest votes that put another system above one; see `fragile`."""
    prior = PRIOR if prior is None else prior
    check_prior(prior)
    table = read_judgments(preferences)
    table = table[table["other_doc_id"].notna()].reset_index(drop=True)
    groups = _grouped(table)
    names = groups.votes.names
    for name in (run_id, other):
        if name is not None and name not in names:
            raise UsageError(f"no vote is on {name!r}; there are {listed(names, 8)}")
    if len(names) < 2 or run_id == other is not None:
        raise UsageError("expected two different systems")
    taken = np.zeros(len(groups.times), int)
    strength = groups.strengths(prior, change, taken)
    order = np.argsort(-strength, kind="stable")
    first = names.index(run_id) if run_id else int(order[int(names[order[0]] == other)])
    if other is not None and strength[names.index(other)] > strength[first]:
        run_id, other, first = other, names[first], names.index(other)
    rest = [names.index(other)] if other else order
    rest = [int(x) for x in rest if strength[x] <= strength[first] and x != first]
    if not rest or strength[first] - strength[rest[0]] <= _NOISE:
        raise UsageError(f"nothing is behind {names[first]!r}: no order to overturn")
    best, lower = None, (total := int(groups.times.sum())) + 1
    for second in rest:
        search = _StrengthSearch(groups, prior, change, first, second, strength)
        most = total + 1 if best is None else int(best[1].sum())
        bound = search.lower(most)
        if bound < most and (fewer := search.fewest(most - 1)) is not None:
            best = second, fewer
        lower = min(lower, max(bound, search.single()) if bound < 2 else bound)
    return _found(table, groups, names, first, rest[0], best, lower, change)


def _grouped(table: pd.DataFrame) -> _VoteGroups:
    """Group votes that say the same; a vote of weight w is w votes."""
    votes, weight = compared_votes(table), weights_of(table)
    swap = votes.first > votes.second
    first, second = np.where(swap, (votes.second, votes.first), votes[1:3])
    won = np.where(swap, 1 - votes.won, votes.won)
    number = np.maximum(1, np.ceil(weight)).astype(int)
    key = np.column_stack([first, second, won, weight / number])
    _, start, group = np.unique(key, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(group.ravel(), kind="stable")
    ends = np.cumsum(np.bincount(group.ravel()))[:-1]
    rows = [np.repeat(x, number[x]) for x in np.split(order, ends)]
    columns = first[start], second[start], won[start], key[start, 3]
    grouped = ComparedVotes(votes.names, *columns, np.zeros(len(start), int))
    return _VoteGroups(grouped, np.array([*map(len, rows)]), rows)


class _StrengthSearch:
    """The search for the fewest votes that put one system above another.

    Each group of votes has a `slope` and a curvature (`curved`) of the likelihood, per
    vote; an `influence`, x' A y, x of the two systems, y of those of the vote; and a
    `leverage`, y' A y. `largest` is the largest leverage of any two systems; `between`
    is x' A x.
    """

    def __init__(
        self,
        groups: _VoteGroups,
        prior: float,
        change: str,
        first: int,
        second: int,
        strength: np.ndarray,
    ):
        self._groups, self._prior, self._change = groups, prior, change
        self._first, self._second = first, second
        self._gap = float(strength[first] - strength[second])
        v, n = groups.votes, len(groups.votes.names)
        p = expit(strength[v.first] - strength[v.second])
        removed = change == CHANGES[0]
        links = np.zeros((n, n))
        weight = v.weight * groups.times * p * (1 - p)
        np.add.at(links, (v.first, v.second), weight)
        links += links.T
        inverse = np.linalg.pinv(
            np.diag(links.sum(1) + prior**-2.0) - links, hermitian=True
        )
        diagonal = inverse.diagonal()
        every = diagonal[:, None] + diagonal - 2 * inverse
        side = inverse[first] - inverse[second]
        self._slope = v.weight * (v.won - p if removed else 2 * v.won - 1)
        self._curved = v.weight * p * (1 - p) * removed
        self._influence = side[v.first] - side[v.second]
        self._leverage = every[v.first, v.second]
        self._largest, self._between = float(every.max()), float(every[first, second])
        # How far a vote's change moves the difference, to first order.
        self._gain = self._slope * self._influence

    def lower(self, most: int) -> int:
        """Return a proven bound: fewer votes cannot reverse the order."""
        low, high = 0, most
        while low < high:  # bounds of more votes are larger
            middle = (low + high + 1) // 2
            if self._movement(middle) < self._gap - _NOISE:
                low = middle
            else:
                high = middle - 1
        return low + 1

    def _top(self, values: np.ndarray, number: int) -> float:
        order = np.argsort(-values)
        times = self._groups.times[order]
        times = np.minimum(times, np.maximum(0, number - np.cumsum(times) + times))
        return float(np.maximum(values[order], 0) @ times)

    def _movement(self, number: int) -> float:
        """Bound how far so many votes move the difference; infinite if unbounded."""
        rho, root, largest = 0.0, np.sqrt(self._leverage), np.sqrt(self._largest)
        theta = self._top(self._curved * self._leverage, number)
        for _ in range(_ROUNDS):
            least = np.exp(-rho) - np.exp(rho) * theta
            if least <= 0:
                return np.inf
            spread = self._curved * np.expm1(rho)
            size = np.abs(self._slope) + spread
            moved = largest / least * self._top(size * root, number)
            if moved <= rho:
                break
            rho = moved * 1.001
            if rho > _FAR:
                return np.inf
        else:
            return np.inf
        middle, width = (1 / least + np.exp(-rho)) / 2, (1 / least - np.exp(-rho)) / 2
        gain = self._gain + spread * np.abs(self._influence)
        bound = middle * gain + width * size * root * np.sqrt(self._between)
        return self._top(bound, number)

    def _gap_of(self, taken: np.ndarray) -> float:
        strength = self._groups.strengths(self._prior, self._change, taken)
        return float(strength[self._first] - strength[self._second])

    def single(self) -> int:
        """Return 2 if no single vote reverses the order, 1 if one does, or may."""
        if len(self._groups.times) > _MOST_REFITS:
            return 1
        each = np.eye(len(self._groups.times), dtype=int)
        return 1 if any(self._gap_of(taken) <= _NOISE for taken in each) else 2

    def fewest(self, most: int) -> np.ndarray | None:
        """Return how many votes of each group, by influence, reverse the order."""
        gain = self._gain
        order = np.argsort(-gain, kind="stable")
        order = order[gain[order] > 0]
        line = np.repeat(order, self._groups.times[order])[:most]

        def taken(number: int) -> np.ndarray:
            return np.bincount(line[:number], minlength=len(gain))

        number = int(np.searchsorted(np.cumsum(gain[line]), self._gap) + 1)
        while number <= len(line) and self._gap_of(taken(number)) >= -_NOISE:
            number += 1 + number // 50
        if number > len(line):
            return None
        while number > 1 and self._gap_of(taken(number - 1)) < -_NOISE:
            number -= 1
        return taken(number)


def _found(
    table: pd.DataFrame,
    groups: _VoteGroups,
    names: list[str],
    first: int,
    nearest: int,
    best: tuple[int, np.ndarray] | None,
    lower: int,
    change: str,
) -> Fragility:
    """Lay out what was found."""
    second, numbers = best or (nearest, np.zeros(len(groups.times), int))
    count = int(numbers.sum()) if best else None
    taken = [x[:k] for x, k in zip(groups.rows, numbers, strict=True) if k]
    rows = np.concatenate([np.zeros(0, int), *taken])
    columns = ["query_id", "doc_id", "other_doc_id", "preference"]
    columns += ["judge"] if "judge" in table else []
    lower = lower if count is None else min(lower, count)
    effect = f"puts {names[second]} above {names[first]}"
    about = {"model": "bt", "change": change, "count": count, "lower": lower}
    return Fragility(
        table.iloc[rows][columns].reset_index(drop=True),
        about,
        (in_words(change, count, lower, "", effect),),
        run_id=names[first],
        other=names[second],
        count=count,
        lower=lower,
    )
