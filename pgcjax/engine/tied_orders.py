"""Orders of documents that were not retrieved: exact chances, and drawn orders.

A random order is that of independent clocks, which ring after Exp(1): the first of some
tied documents is the one whose clock rings first. Earlier choices imply only that the
clocks of the other documents rang later, and exponential clocks have no memory. So for
each tied document it is enough to know the last moment at which its clock had not rung.
These moments are a chain: the gaps between them are independent and exponential, with
known rates.
"""

from collections.abc import Collection, Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Int32

from pgcjax.judging.variants import BLOCK, generator


class Clocks(NamedTuple):
    """Documents that were tied before, whose clocks had not rung at known moments.

    Attributes:
        rates: Rate of the gap before each moment; moments are numbered from 1.
        silent: Last moment at which each document's clock had not rung; 0 is the
            beginning.
    """

    rates: tuple[int, ...]
    silent: tuple[tuple[int, int], ...]


Known = tuple[Clocks, ...]
"""Independent sets of documents that were tied before."""


def first_rung(
    known: Known, tied: Collection[int], kinds: list[int]
) -> dict[tuple[int, Known], float]:
    """Return which of several tied documents may be first, and how probably.

    Args:
        known: Knowledge of documents that were tied before, from `still_known`.
        tied: Tied documents.
        kinds: Kind of each document; documents of one kind are interchangeable.

    Returns:
        Probabilities, which add up to 1, by document and the knowledge after it. The
        first of several interchangeable documents represents all of them.
    """
    chosen = {*tied}
    apart = tuple(c for c in known if chosen.isdisjoint(doc for doc, _ in c.silent))
    fresh = Clocks((), ())
    joint = {fresh: 1.0}
    for clocks in known:
        if clocks not in apart:
            both = [(x, p, _together(x, clocks)) for x, p in joint.items()]
            joint = {}
            for _, p, merged in both:
                for each, q in merged:
                    joint[each] = joint.get(each, 0.0) + p * q
    result: dict[tuple[int, Known], float] = {}
    for clocks, p in joint.items():
        for doc, after, q in _ring(clocks, chosen, kinds):
            key = doc, (*apart, after)
            result[key] = result.get(key, 0.0) + p * q
    return result


def _together(a: Clocks, b: Clocks) -> Iterator[tuple[Clocks, float]]:
    """Put two independent chains of moments into each possible order, with chances."""

    def orders(i: int, j: int, p: float, steps: tuple) -> Iterator[tuple[tuple, float]]:
        if i == len(a.rates) and j == len(b.rates):
            yield steps, p
            return
        of_a = a.rates[i] if i < len(a.rates) else 0
        of_b = b.rates[j] if j < len(b.rates) else 0
        rate = of_a + of_b
        if of_a:
            yield from orders(i + 1, j, p * of_a / rate, (*steps, (rate, i + 1, j)))
        if of_b:
            yield from orders(i, j + 1, p * of_b / rate, (*steps, (rate, i, j + 1)))

    for steps, p in orders(0, 0, 1.0, ()):
        at_a, at_b = {0: 0}, {0: 0}
        for moment, (_, i, j) in enumerate(steps, 1):
            at_a.setdefault(i, moment)
            at_b.setdefault(j, moment)
        silent = [(doc, at_a[at]) for doc, at in a.silent]
        silent += [(doc, at_b[at]) for doc, at in b.silent]
        yield Clocks(tuple(rate for rate, _, _ in steps), tuple(sorted(silent))), p


def _ring(
    clocks: Clocks, tied: Collection[int], kinds: list[int]
) -> Iterator[tuple[int, Clocks, float]]:
    """Let the first clock of tied documents ring, in each gap between moments."""
    silent, rates = dict(clocks.silent), clocks.rates
    before: tuple[int, ...] = ()
    p = 1.0
    for gap in range(len(rates) + 1):
        running = sorted(doc for doc in tied if silent.get(doc, 0) <= gap)
        rate = rates[gap] if gap < len(rates) else 0
        both = rate + len(running)
        alike: dict[tuple[int, int], list[int]] = {}
        for doc in running:
            alike.setdefault((kinds[doc], silent.get(doc, 0)), []).append(doc)
        for docs in alike.values():
            then = {d: at + (at > gap) for d, at in silent.items()}
            then |= dict.fromkeys(running, gap + 1)
            del then[docs[0]]
            chain = *before, both, *rates[gap:]
            yield (
                docs[0],
                Clocks(chain, tuple(sorted(then.items()))),
                (p * len(docs) / both),
            )
        before += (both,)
        p *= rate / both if both else 1.0


def still_known(known: Known, alive: np.ndarray) -> Known:
    """Forget documents that are placed, and moments at which nothing is known."""
    left = []
    for rates, silent in known:
        silent = tuple((doc, at) for doc, at in silent if at and alive[doc])
        if not silent:
            continue
        ends = sorted({at for _, at in silent})
        parts = zip([0, *ends], ends, strict=False)
        # In which order gaps of the same stretch follow each other does not matter.
        chain = [rate for a, b in parts for rate in sorted(rates[a:b])]
        left.append(Clocks(tuple(chain), silent))
    return tuple(sorted(left))


def drawn(query: str, documents: int, n: int, *, seed: int) -> Int32[np.ndarray, "n d"]:
    """Draw n orders of all documents of a query: the place of each.

    Random numbers are numpy's Philox by seed, block of `BLOCK` orders and query. So an
    order depends only on the documents of its query, and a larger n begins with the
    orders of a smaller one. All runs share orders, for the documents that each lacks.

    Args:
        query: Name of the query.
        documents: Number of documents of the query.
        n: Number of orders.
        seed: Seed of the random numbers.
    """
    blocks = [
        generator(seed, "orders", block, query).random((BLOCK, documents))
        for block in range(-(-n // BLOCK))
    ]
    order = np.concatenate(blocks)[:n].argsort(axis=1, kind="stable")
    return order.argsort(axis=1).astype(np.int32)
