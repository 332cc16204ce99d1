"""The fewest votes whose change reverses the order of two systems, by Bradley-Terry.

*Upper bound*: votes are changed in the order of their influence on the difference of
strengths (AMIP), and the model is fitted anew. *Lower bound*: let the weight of votes R
fall to 0. Strengths then move by H⁻¹ g, with the curvature H of the penalised
likelihood, and the gradient g of the votes R. (1) While no difference of two strengths
has moved by more than ρ, the variance p (1 - p) of each vote has changed by a factor of
at most e^±ρ. So m H(0) <= H <= e^ρ H(0), with m = e^-ρ - e^ρ θ and the leverage θ of R.
(2) Let A = H(0)⁻¹, and let μ be the middle and ν half the width of [e^-ρ, 1 / m]. Then
x' H⁻¹ y is within ν sqrt(x'Ax y'Ay) of μ x'Ay for all x and y. (3) This bounds how far
a vote moves a difference; k votes move it at most by the sum of the k largest bounds.
(4) ρ is large enough if, by (3), no difference moves by more than ρ. (5) If the k
largest bounds add up to less than the difference, no k votes reverse it. For reversed
votes θ = 0, as their weight stays, and g is constant.
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

_MOST_REFITS = 400  # fits, each with another vote changed
_ROUNDS = 60  # iterations of the search for ρ
_FAR = 5.0  # ρ above which nothing is proven
_NOISE = 1e-9  # rounding error of differences of strengths


class _VoteGroups(NamedTuple):
    """Groups of equal votes.

    Attributes:
        votes: One vote of each group.
        times: Number of votes in each group.
        rows: Rows of the table that are the votes of each group.
    """

    votes: ComparedVotes
    times: Int[np.ndarray, " groups"]
    rows: list[np.ndarray]

    def strengths(
        self, prior: float, change: str, taken: np.ndarray
    ) -> Float64[np.ndarray, " n"]:
        """Fit strengths after changes of votes.

        Args:
            prior: Standard deviation of the normal prior of strengths.
            change: One of `CHANGES`.
            taken: Number of changed votes in each group.
        """
        v = self.votes
        weight = v.weight * (self.times - taken)
        if change == CHANGES[0]:
            return fit_strengths(
                v._replace(weight=weight), prior, errors=False
            ).strength
        first, second, query = (np.append(x, x) for x in (v.first, v.second, v.query))
        won, weight = np.append(v.won, 1 - v.won), np.append(weight, v.weight * taken)
        changed = ComparedVotes(v.names, first, second, won, weight, query)
        return fit_strengths(changed, prior, errors=False).strength


def fragile_strengths(
    preferences: Any,
    run_id: str | None,
    other: str | None,
    change: str,
    prior: float | None = None,
) -> Fragility:
    """Bound the fewest votes whose change puts another system above `run_id`.

    The arguments are those of `engine.fragile.fragile`.
    """
    prior = PRIOR if prior is None else prior
    check_prior(prior)
    table = read_judgments(preferences)
    table = table[table["other_doc_id"].notna()].reset_index(drop=True)
    groups = _grouped(table)
    names = groups.votes.names
    for name in (run_id, other):
        if name is not None and name not in names:
            raise UsageError(f"no vote is on {name!r}; there are {listed(names, 8)}")
    if len(names) < 2 or (other is not None and run_id == other):
        raise UsageError("expected two different systems")
    taken = np.zeros(len(groups.times), int)
    strength = groups.strengths(prior, change, taken)
    order = np.argsort(-strength, kind="stable")
    ahead = run_id or next(names[x] for x in order if names[x] != other)
    first = names.index(ahead)
    if other is not None and strength[names.index(other)] > strength[first]:
        other, first = ahead, names.index(other)
    rest = [names.index(other)] if other else order
    rest = [int(x) for x in rest if strength[x] <= strength[first] and x != first]
    if not rest or strength[first] - strength[rest[0]] <= _NOISE:
        raise UsageError(f"nothing is behind {names[first]!r}: no order to overturn")
    total = int(groups.times.sum())
    best, lower = None, total + 1
    for second in rest:
        search = _StrengthSearch(groups, prior, change, first, second, strength)
        most = total + 1 if best is None else int(best[1].sum())
        bound = search.lower(most)
        if bound < most and (fewer := search.fewest(most - 1)) is not None:
            best = second, fewer
        if bound < 2:
            bound = max(bound, search.single())
        lower = min(lower, bound)
    return _fragility(table, groups, names, first, rest[0], best, lower, change)


def _grouped(table: pd.DataFrame) -> _VoteGroups:
    """Group equal votes. A vote of weight w is w votes, or the next whole number."""
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

    Let x be 1 and -1 for the two systems, y the same for the systems of a vote, and A
    the inverse of the curvature. A vote of each group adds `_slope` to the gradient of
    the likelihood and `_curved` to its curvature; `_influence` is x' A y, `_leverage`
    y' A y. `_between` is x' A x, and `_largest` the largest y' A y of any two systems.
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
        leverage = diagonal[:, None] + diagonal - 2 * inverse
        of_systems = inverse[first] - inverse[second]
        self._slope = v.weight * (v.won - p if removed else 2 * v.won - 1)
        self._curved = v.weight * p * (1 - p) * removed
        self._influence = of_systems[v.first] - of_systems[v.second]
        self._leverage = leverage[v.first, v.second]
        self._largest = float(leverage.max())
        self._between = float(leverage[first, second])
        # How far the change of a vote moves the difference, to first order.
        self._gain = self._slope * self._influence

    def lower(self, most: int) -> int:
        """Return a proven bound: fewer votes cannot reverse the order."""
        low, high = 0, most
        while low < high:  # the movement by more votes has a larger bound
            middle = (low + high + 1) // 2
            if self._movement(middle) < self._gap - _NOISE:
                low = middle
            else:
                high = middle - 1
        return low + 1

    def _top(self, values: np.ndarray, number: int) -> float:
        """Add up the largest positive values of `number` votes, given one per group."""
        order = np.argsort(-values)
        times = self._groups.times[order]
        times = np.minimum(times, np.maximum(0, number - np.cumsum(times) + times))
        return float(np.maximum(values[order], 0) @ times)

    def _movement(self, number: int) -> float:
        """Bound how far `number` votes move the difference; infinite if unbounded."""
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
        """Fit the difference of the two systems; see `_VoteGroups.strengths`."""
        strength = self._groups.strengths(self._prior, self._change, taken)
        return float(strength[self._first] - strength[self._second])

    def single(self) -> int:
        """Return 2 if no single vote reverses the order; 1 if one does or may."""
        if len(self._groups.times) > _MOST_REFITS:
            return 1
        votes = np.eye(len(self._groups.times), dtype=int)
        return 1 if any(self._gap_of(taken) <= _NOISE for taken in votes) else 2

    def fewest(self, most: int) -> np.ndarray | None:
        """Find the fewest of the votes with the largest gains that reverse the order.

        Returns:
            Number of votes of each group; None if `most` votes do not suffice.
        """
        gain = self._gain
        order = np.argsort(-gain, kind="stable")
        order = order[gain[order] > 0]
        votes = np.repeat(order, self._groups.times[order])[:most]

        def taken(number: int) -> np.ndarray:
            return np.bincount(votes[:number], minlength=len(gain))

        number = int(np.searchsorted(np.cumsum(gain[votes]), self._gap) + 1)
        while number <= len(votes) and self._gap_of(taken(number)) >= -_NOISE:
            number += 1 + number // 50
        if number > len(votes):
            return None
        while number > 1 and self._gap_of(taken(number - 1)) < -_NOISE:
            number -= 1
        return taken(number)


def _fragility(
    table: pd.DataFrame,
    groups: _VoteGroups,
    names: list[str],
    first: int,
    nearest: int,
    best: tuple[int, np.ndarray] | None,
    lower: int,
    change: str,
) -> Fragility:
    """Return both bounds, with the table of the votes to change.

    Args:
        table: Votes.
        groups: Groups of these votes.
        names: Names of the systems.
        first: Number of the system that is ahead.
        nearest: Number of the system behind it, named if no votes suffice.
        best: Number of the system that overtakes, and changed votes of each group.
        lower: Proven bound.
        change: One of `CHANGES`.
    """
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
