"""RBO of two rankings that may have ties and go on unseen: min, ext, max and res.

At each depth, a ranking shows a share of each document: none above its tie group,
rise / size within the group, all below it. Shares are linear within groups, so the
overlap is bilinear between numbers of documents of both rankings whose groups are
complete or begun. Four integer counts by depth determine the overlap at every depth.

All sums add whole `UNIT`s, as in `overlap`; only single quotients are rounded. So no
result depends on padding, batch or device.
"""

from dataclasses import dataclass
from decimal import Context, Decimal
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float64, Int, Int32, Int64

from pgcjax.kernels.rbo import _ONE, UNIT, _powers
from pgcjax.later import Array, jax, jnp

LONGEST = 2**16 - 1
"""Most ranks of a ranking: counts fit 16 bits, products of three float64's 53."""


@dataclass(frozen=True)
class Weights:
    """Weights of depths, to twice as many ranks as a ranking has.

    Attributes:
        at: (1 - p) p^(d-1) of depth d = 1, 2, …, in `UNIT`s.
        below: sums of (1 - p) p^(e-1) / e over depths e > d, for d = 0, 1, …, in whole
            `UNIT`s: the weight of a document that is shared from depth d + 1 on.
        left: p^d for d = 0, 1, …, in whole `UNIT`s: the weight of all depths beyond d.
    """

    at: Float64[np.ndarray, " n2"]
    below: Int64[np.ndarray, " n2_plus_1"]
    left: Int64[np.ndarray, " n2_plus_1"]


@cache
def weights_of(p: float, ranks: int) -> Weights:
    """Compute weights in integers, so that they depend on no machine's `pow` and `log`.

    Args:
        p: persistence, 0 < p < 1.
        ranks: largest number of ranks of a ranking.
    """
    # A small p takes digits of 1 - p: more are computed, so 100 remain for the log.
    exact = Context(prec=100 + max(0, -Decimal(p).adjusted()))
    log = exact.ln(exact.subtract(Decimal(1), Decimal(p)))
    # The sum of p^(d-1) / d over all depths d is -ln(1 - p) / p.
    series = exact.divide(exact.minus(log), Decimal(p))
    total = int(exact.multiply(series, Decimal(_ONE)))
    powers = _powers(p, 2 * ranks)
    beyond = [total]
    for depth, power in enumerate(powers[:-1], 1):
        beyond.append(beyond[-1] - power // depth)
    numerator, denominator = p.as_integer_ratio()
    at, below = (
        [x * (denominator - numerator) // denominator for x in sums]
        for sums in (powers[:-1], beyond)
    )
    arrays = (
        np.array([float(x >> 64) * 2.0**-130 for x in at]),
        # Rounded from multiples of 1 / _ONE to the nearest of `UNIT`.
        *(np.array([((x >> 193) + 1) >> 1 for x in sums]) for sums in (below, powers)),
    )
    for array in arrays:
        array.flags.writeable = False
    return Weights(*arrays)


class Ranking(NamedTuple):
    """A ranking, by rank from 1 on.

    Attributes:
        top: `[n]` first rank of the tie group at each rank; length + 1 if none.
        bottom: `[n]` last rank of this group; length if none.
        norm: `[n]` from `norm`.
        length: `[]` number of its documents.
    """

    top: Int32[Array, " n"]
    bottom: Int32[Array, " n"]
    norm: Float64[Array, " n"]
    length: Int[Array, ""]


class Sums(NamedTuple):
    """Data of a pair of rankings of s and n >= s documents, for `bounds`.

    Attributes:
        seen: sum over depths to n of weight times seen agreement, in `UNIT`s.
        likely: sum over depths from s + 1 to n of weight times the average agreement
            that unseen documents add if they are in both rankings, in `UNIT`s.
        most: the same sum with the largest agreement that they add, in `UNIT`s.
        agreement: agreement at depth s: the chance that an unseen document is in both.
        shared: number of documents that both rankings have.
    """

    seen: Any
    likely: Any
    most: Any
    agreement: Any
    shared: Any


def norm(
    top: Int32[Array, " n"], bottom: Int32[Array, " n"], *, ties: str
) -> Float64[Array, " n"]:
    """Return the divisors that a ranking's ties need for its overlaps, by depth.

    Args:
        top: see `Ranking`.
        bottom: see `Ranking`.
        ties: `w`: number of documents in begun groups; `a`: size of the group; `b`: the
            root of its size times (size times the sum of squared shares, an integer).
    """
    depth = jnp.arange(1, top.shape[-1] + 1, dtype=jnp.int32)
    if ties == "w":
        return jnp.maximum(bottom, depth).astype(jnp.float64)
    rise, size = _rise(top, bottom, depth)
    if ties == "a":
        return size
    before = (jnp.where(bottom < depth, depth, top) - 1).astype(size.dtype)
    return jnp.sqrt(size * (before * size + rise * rise))


def _rise(
    top: Int32[Array, " n"], bottom: Int32[Array, " n"], depth: Int32[Array, " n"]
) -> tuple[Float64[Array, " n"], Float64[Array, " n"]]:
    """Return the rise into the group at each depth and its size; 1 and 1 if none."""
    valid = bottom >= top
    rise = jnp.where(valid, depth - top + 1, 1)
    size = jnp.where(valid, bottom - top + 1, 1)
    return rise.astype(jnp.float64), size.astype(jnp.float64)


def of_ties(
    a: Ranking,
    b: Ranking,
    place: Int[Array, " n"],
    at: Float64[Array, " n2"],
    *,
    ties: str,
) -> Sums:
    """Compare two rankings by the shares that they show of their documents.

    Args:
        a: one ranking.
        b: the other.
        place: 0-based place in `b` of the document at each place of `a`; n or more
            where `b` lacks it, or `a` has none.
        at: see `Weights`.
        ties: `w` (a group is complete as soon as it begins), `a` (shares; overlap
            divided by depth) or `b` (shares; overlap divided by the roots of their sums
            of squares).

    Source: Corsi and Urbano 2024; `reference.rbo.rbo_of_ties` has the definition.
    """
    n, place = place.shape[-1], place.astype(jnp.int32)
    depth = jnp.arange(1, n + 1, dtype=jnp.int32)
    both, there = place < n, jnp.minimum(place, n - 1)
    groups = a.top, a.bottom, b.top[there], b.bottom[there]
    begun, complete_a, complete_b, complete = _counts(*groups, where=both)
    s, last = jnp.minimum(a.length, b.length), jnp.maximum(a.length, b.length)
    beyond = (depth > s) & (depth <= last)
    unseen = depth - s
    # Beyond the end of the shorter ranking, only the longer one has groups.
    end = jnp.maximum(a.bottom, b.bottom)
    free = jnp.where(beyond, end - begun, 1)
    numbers = begun, complete_a, complete_b, complete, unseen, free, depth
    of_begun, of_a, of_b, of_both, new, room, deep = (
        x.astype(jnp.float64) for x in numbers
    )
    if ties == "w":
        under = (a.norm + b.norm) / 2
        overlap = of_begun
        likely, most = new / under, new / under
    else:
        (rise_a, size_a), (rise_b, size_b) = (_rise(*x[:2], depth) for x in (a, b))
        rise, size = rise_a * rise_b, size_a * size_b
        under = a.norm * b.norm * (deep if ties == "a" else 1)
        overlap = (
            (size_a - rise_a) * (size_b - rise_b) * of_both
            + rise_a * (size_b - rise_b) * of_b
            + (size_a - rise_a) * rise_b * of_a
            + rise * of_begun
        )
        likely = new * (deep * size - overlap) / (under * room)
        before = jnp.where(depth <= a.length, a.top, b.top) - 1
        sure = jnp.minimum(unseen, before - complete)
        left = (unseen - sure).astype(jnp.float64)
        most = (sure.astype(jnp.float64) * size + left * rise) / under
    agreement = overlap / under
    return Sums(
        _weighed(agreement, at, depth <= last),
        _weighed(likely, at, beyond),
        _weighed(most, at, beyond),
        agreement[s - 1],
        begun[last - 1],
    )


def _counts(
    top_a: Int[Array, " n"],
    bottom_a: Int[Array, " n"],
    top_b: Int[Array, " n"],
    bottom_b: Int[Array, " n"],
    *,
    where: Bool[Array, " n"],
) -> tuple[Int32[Array, " n"], ...]:
    """Count, by depth, documents whose groups have begun or ended in two rankings.

    A group of the ranks `top` to `bottom` has begun at depth `top`, and is complete at
    depth `bottom` + 1.

    Returns:
        Numbers of documents whose groups have begun in both rankings; and of those
        among them whose group is complete in a; in b; in both.
    """
    n = top_a.shape[-1]
    # A word holds the four counts, 16 bits each, so one sum adds them up. A document is
    # complete in both rankings at the later of the two depths.
    in_a, in_b = jnp.maximum(bottom_a + 1, top_b), jnp.maximum(top_a, bottom_b + 1)
    one_a, one_b = (jnp.uint64(1 << bits) for bits in (16, 32))
    second_a = bottom_a >= bottom_b
    words = jnp.zeros(n, jnp.uint64)
    for depth, word in (
        (jnp.maximum(top_a, top_b), jnp.uint64(1)),
        (jnp.minimum(in_a, in_b), jnp.where(second_a, one_b, one_a)),
        (
            jnp.maximum(in_a, in_b),
            jnp.where(second_a, one_a, one_b) + jnp.uint64(1 << 48),
        ),
    ):
        words = words.at[jnp.where(where, depth - 1, n)].add(word, mode="drop")
    words = jax.lax.associative_scan(jnp.add, words)
    begun, complete_a, complete_b, complete = (
        (words >> jnp.uint64(bits) & jnp.uint64(0xFFFF)).astype(jnp.int32)
        for bits in (0, 16, 32, 48)
    )
    return begun, complete_a, complete_b, complete


def _weighed(
    agreement: Float64[Array, " n"], at: Float64[Array, " n2"], where: Bool[Array, " n"]
) -> Int64[Array, ""]:
    terms = jnp.rint(agreement * at[: agreement.shape[-1]]).astype(jnp.int64)
    return jnp.sum(jnp.where(where, terms, 0))


def untied(
    length_a: Int[Array, ""],
    length_b: Int[Array, ""],
    place: Int[Array, " n"],
    below: Int64[Array, " n2_plus_1"],
    left: Int64[Array, " n2_plus_1"],
) -> Sums:
    """Compare two rankings without ties: a sum of weights over shared documents.

    Args:
        length_a: number of documents of one ranking.
        length_b: number of documents of the other ranking.
        place: see `of_ties`.
        below: see `Weights`.
        left: see `Weights`.

    Source: Webber, Moffat and Zobel 2010, equations 11, 30 and 32.
    """
    n, place = place.shape[-1], place.astype(jnp.int32)
    both = place < n
    lower = jnp.maximum(place, jnp.arange(n, dtype=place.dtype))
    weight = jnp.sum(jnp.where(both, below[jnp.minimum(lower, n)], 0))
    shared = jnp.sum(both, dtype=jnp.int32)
    s, last = jnp.minimum(length_a, length_b), jnp.maximum(length_a, length_b)
    at_s = jnp.sum(both & (lower < s), dtype=jnp.int32)
    # At depth d, the shorter ranking has s seen documents and d - s unseen ones.
    most = left[s] - left[last] - s.astype(left.dtype) * (below[s] - below[last])
    agreement = at_s.astype(jnp.float64) / s.astype(jnp.float64)
    beyond = shared.astype(below.dtype) * below[last]
    return Sums(weight - beyond, most, most, agreement, shared)


def bounds(
    sums: Sums,
    length_a: Int[np.ndarray, " pairs"],
    length_b: Int[np.ndarray, " pairs"],
    weights: Weights,
) -> dict[str, Float64[np.ndarray, " pairs"]]:
    """Return `min`, `ext`, `max` and `res` of pairs, on the host.

    Beyond n, the longer length, `min` keeps the overlap and `ext` the agreement. With
    `max`, each ranking adds a document of the other at each depth, until they share all
    documents at depth s + n - shared.

    Args:
        sums: Data of the pairs, in arrays `[pairs]`.
        length_a: number of documents of one ranking.
        length_b: number of documents of the other ranking.
        weights: Weights of depths.
    """
    s, n = np.minimum(length_a, length_b), np.maximum(length_a, length_b)
    shared, seen = np.asarray(sums.shared), np.asarray(sums.seen) * UNIT
    left = weights.left[n] * UNIT
    all_in_common = s + n - shared
    full = np.maximum(all_in_common - 1, n)
    rest = weights.left[full] * UNIT
    between = (weights.below[n] - weights.below[full]) * UNIT
    chance = np.asarray(sums.agreement)
    values = {
        "min": seen + shared * (weights.below[n] * UNIT),
        "ext": seen
        + chance * (np.asarray(sums.likely) * UNIT)
        + left * ((shared + chance * (n - s)) / n),
        "max": seen
        + np.asarray(sums.most) * UNIT
        + (2 * (left - rest) - all_in_common * between + rest),
    }
    values = {name: np.clip(value, 0, 1) for name, value in values.items()}
    return values | {"res": values["max"] - values["min"]}
