"""Comparisons of documents → how strong each is, query by query, by several models."""

from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float64, Int

from pgcjax.errors import DataError, Progress, UsageError, check_choice
from pgcjax.judging.choices import STRENGTHS
from pgcjax.judging.comparisons import Comparisons, compared
from pgcjax.kernels.strengths import MOST_STEPS, bradley_terry, rank_centrality
from pgcjax.later import jax, jnp
from pgcjax.runtime.devices import default_backend, local_device_count, place
from pgcjax.runtime.loop import Call, results
from pgcjax.runtime.programs import Program

PRIOR = 2.5
"""Standard deviation of the normal prior of strengths, in log-odds, as it is usual for
coefficients of logistic models [Gelman et al. 2008]."""

ADDED = 0.5
"""Votes that rank centrality adds for either side of each pair that was compared."""

DIGITS = 9
"""Tolerance of strengths: smaller differences are rounding."""

_LEAST = 8  # items that a set has room for
_SETS = 1  # that a call has room for, per device
_CELLS = 2**18  # of the tables of a call: several calls keep all cores busy


def strengths(
    preferences: Any,
    method: str = "bt",
    *,
    prior: float = PRIOR,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Compute how strong the documents of each query are, from comparisons in pairs.

    A tie is half a win for each document, a probability p is p of one. Strengths in a
    query depend on its comparisons alone.

    Args:
        preferences: Judgments, as in `read_preferences`.
        method: `bt`: Bradley and Terry's log-odds, with mean 0 over documents that
            comparisons link; `copeland`: number of documents it beats minus those that
            beat it, by most votes on the pair; `borda`: share of its votes that it
            wins; `rank-centrality`: the log of how often a walk to winners is there,
            with mean 0.
        prior: Standard deviation of the normal prior of `bt`, in log-odds; with
            infinity, `bt` and `rank-centrality` add nothing to the votes.
        progress: Called with `("fitting", done, total)` sets of documents.

    Returns:
        query_id, doc_id and strength, ascending by ids.

    Raises:
        UsageError: an unknown method, or an invalid prior.
        DataError: a row is malformed; or, without a prior, documents of a query are not
            linked by wins both ways.
    """
    check_choice("method", method, STRENGTHS)
    data = compared(preferences)
    return data.items.assign(strength=fitted(data, method, prior, progress)[0])


def fitted(
    data: Comparisons, method: str, prior: float, progress: Progress | None = None
) -> tuple[Float64[np.ndarray, " items"], Float64[np.ndarray, " items"]]:
    """Fit strengths of all sets of items, as `strengths` says.

    Returns:
        Strengths, and their standard errors, NaN where a method has none.
    """
    check_prior(prior)
    none = np.full(len(data.items), np.nan)
    if method in _COUNTED:
        return _COUNTED[method](data), none
    if np.isinf(prior):
        refuse_one_way(data)
    value = 1 / prior**2 if method == "bt" else ADDED * np.isfinite(prior)
    strength, error = np.zeros(len(none)), np.zeros(len(none))
    done, total = 0, int(data.linked.max()) + 1
    for (items, where), parts in results(
        _calls(data, method, value), progress=progress
    ):
        s, e, steps = (np.asarray(x)[: len(items)] for x in parts)
        if (steps >= MOST_STEPS).any():
            at = data.items.iloc[items[(steps >= MOST_STEPS).argmax()][0]]
            raise DataError(
                f"query {at['query_id']}: strengths do not converge within "
                f"{MOST_STEPS} steps",
                where="preferences",
                mend="Give a smaller prior.",
            )
        strength[items[where]], error[items[where]] = s[where], e[where]
        done += len(items)
        if progress:
            progress("fitting", done, total)
    strength = np.round(strength, DIGITS) + 0.0
    return strength, np.round(error, DIGITS) if method == "bt" else none


def check_prior(prior: float) -> None:
    """Refuse what is no standard deviation, by a UsageError."""
    if not prior > 0:
        raise UsageError(f"prior is a standard deviation above 0, not {prior!r}")


def refuse_one_way(data: Comparisons) -> None:
    """Refuse documents that did not both win and lose, itself or by way of others."""
    of_query = pd.factorize(data.items["query_id"])[0]
    new = np.r_[False, (np.diff(of_query) == 0) & (np.diff(data.both_ways) != 0)]
    if new.any():
        at, before = data.items.iloc[new.argmax()], data.items.iloc[new.argmax() - 1]
        raise DataError(
            f"query {at['query_id']}: wins do not lead both ways between documents "
            f"{before['doc_id']} and {at['doc_id']}: only a prior compares them",
            where="preferences",
            mend=f"Give a finite prior, such as {PRIOR}.",
        )


class Sets:
    """Sets of items that comparisons link, to be laid out in tables.

    Attributes:
        sizes: items of each set.
        position: of each item in its set.
    """

    def __init__(self, linked: Int[np.ndarray, " items"]):
        """Take the number of the set of each item."""
        self._items = np.argsort(linked, kind="stable")
        self.sizes = np.bincount(linked)
        self._start = np.cumsum(self.sizes) - self.sizes
        self.position = np.empty(len(linked), np.int64)
        self.position[self._items] = np.arange(len(linked)) - np.repeat(
            self._start, self.sizes
        )

    def items(
        self, sets: Int[np.ndarray, " sets"], size: int
    ) -> tuple[Int[np.ndarray, "sets n"], Bool[np.ndarray, "sets n"]]:
        """List the items of sets, with room for `size`, and where there are any."""
        where = np.arange(size) < self.sizes[sets][:, None]
        start = self._start[sets][:, None]
        return self._items[start + np.arange(size) * where], where


def padded(n: int) -> int:
    """Round a number of items up to one of few sizes, each compiled once."""
    return max(_LEAST, 1 << (n - 1).bit_length()) if n <= 64 else -(-n // 64) * 64


def batches(
    sets: Int[np.ndarray, " sets"], most: int
) -> Iterator[tuple[Int[np.ndarray, " sets"], int]]:
    """Cut sets into calls, with the room of each, which all devices share alike.

    Args:
        sets: of one shape.
        most: sets that a device has room for.
    """
    devices = local_device_count()
    each = max(_SETS, -(-len(sets) // devices))
    each = 1 << max(0, each - 1).bit_length()
    room = min(max(1, most), each) * devices
    for low in range(0, len(sets), room):
        yield sets[low : low + room], room


def _calls(data: Comparisons, method: str, value: float) -> Iterator[Call]:
    """Lay out sets of like size together."""
    sets = Sets(data.linked)
    of_row, position = data.linked[data.first], sets.position
    size_of = np.array([padded(n) for n in sets.sizes.tolist()])
    first, second = data.wins()
    fit, devices = _FITTED[method], local_device_count()
    program = mapped(fit, devices)
    for size in np.unique(size_of).tolist():
        for batch, room in batches(np.flatnonzero(size_of == size), _CELLS // size**2):
            items, where = sets.items(batch, size)
            number = np.full(len(sets.sizes), -1)
            number[batch] = np.arange(len(batch))
            rows = np.flatnonzero(number[of_row] >= 0)
            at = number[of_row[rows]]
            a, b = position[data.first[rows]], position[data.second[rows]]
            won, there = np.zeros((room, size, size)), np.zeros((room, size), bool)
            won[at, a, b], won[at, b, a] = first[rows], second[rows]
            there[: len(batch)] = where
            make = partial(called, program, (won, there), (np.float64(value),))
            key = "strengths", method, won.shape, devices
            yield Call((items, where), make, key)


def called(program: Callable, sets: Any, shared: Any) -> Any:
    """Call a program of `mapped`, on all devices."""
    return program(place(sets), shared)


@cache
def mapped(fit: Callable, devices: int, **fixed: Any) -> Callable:
    """Map what is fitted to one set over sets, whose last array says where items are.

    On a CPU one set after the other: each stays in a core's cache, and ends by itself.
    """

    def program(sets, shared):
        def one(of_set):
            *given, where = of_set
            return fit(*given, *shared, where=where, **fixed)

        if default_backend() == "cpu":
            return jax.lax.map(one, sets)
        return jax.vmap(one)(sets)

    return Program(program, devices)


def _centrality(won, added, *, where):
    logs = rank_centrality(won, added, where=where)
    return logs, jnp.zeros_like(logs), jnp.array(0)


def _copeland(data: Comparisons) -> Float64[np.ndarray, " items"]:
    lead = np.sign(data.won - data.lost)
    n = len(data.items)
    return np.bincount(data.first, lead, n) - np.bincount(data.second, lead, n)


def _borda(data: Comparisons) -> Float64[np.ndarray, " items"]:
    n, sides = len(data.items), (data.first, data.second)
    won = sum(np.bincount(i, x, n) for i, x in zip(sides, data.wins(), strict=True))
    all_votes = (data.won + data.lost + data.tied) / data.unit
    met = sum(np.bincount(i, all_votes, n) for i in sides)
    return np.round(won / met, DIGITS)


_COUNTED = {"copeland": _copeland, "borda": _borda}
_FITTED = {"bt": bradley_terry, "rank-centrality": _centrality}
