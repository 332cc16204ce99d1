"""RBO of a pair as whole sums: published values, its twin, and no effect of padding."""

from fractions import Fraction
from functools import cache, partial

import jax
import numpy as np
import pytest
from helpers.tied import TIES, VARIANTS, apart, flat, laid_out, published, rankings
from hypothesis import given
from hypothesis import strategies as st

from pgcjax.kernels import rbo_ties as kernel
from pgcjax.kernels.rbo import UNIT
from pgcjax.reference.rbo import rbo_of_ties

TOGETHER = 16
weights_of = cache(kernel.weights_of)  # each published pair has a p of its own
persistences = st.sampled_from([1e-9, 0.05, 0.5, 0.8, 0.9, 0.98, 0.999])


@cache
def program(ties: str):
    """The kernel of ties, or of none, over pairs and their weights."""

    def of_ties(top, bottom, length, others, lowest, last, place, at):
        norm = partial(kernel.norm, ties=ties)
        a = kernel.Ranking(top, bottom, norm(top, bottom), length)
        b = kernel.Ranking(others, lowest, norm(others, lowest), last)
        return kernel.of_ties(a, b, place, at, ties=ties)

    def untied(_, __, length, ___, ____, last, place, below, left):
        return kernel.untied(length, last, place, below, left)

    return jax.jit(jax.vmap(of_ties if ties else untied))


def values(pairs, p: list[float], ties: str, n: int) -> dict[str, np.ndarray]:
    """All variants of all pairs, padded to n."""
    return of_laid([laid_out(x, y, n) for x, y in pairs], p, ties, n)


def of_laid(laid, p: list[float], ties: str, n: int) -> dict[str, np.ndarray]:
    """The same of pairs that are laid out, in calls of `TOGETHER` pairs."""
    calls = [
        _values(laid[i : i + TOGETHER], p[i : i + TOGETHER], ties, n)
        for i in range(0, len(laid), TOGETHER)
    ]
    return {name: np.concatenate([c[name] for c in calls]) for name in VARIANTS}


def _values(laid, p: list[float], ties: str, n: int) -> dict[str, np.ndarray]:
    known = {each: weights_of(each, n) for each in p}
    weights = [known[each] for each in p]
    fill = TOGETHER - len(laid)  # so that all calls have one program
    tables = [[w.at for w in weights]]
    if not ties:
        tables = [[w.below for w in weights], [w.left for w in weights]]
    arrays, tables = (
        [np.array([*x, *[x[-1]] * fill]) for x in columns]
        for columns in (zip(*laid, strict=True), tables)
    )
    with jax.enable_x64(True):
        sums = kernel.Sums(*map(np.asarray, program(ties)(*arrays, *tables)))
    out = {name: np.zeros(len(laid)) for name in VARIANTS}
    for each, of_p in known.items():
        at = np.flatnonzero(np.array(p) == each)
        lengths = arrays[2][at], arrays[5][at]
        found = kernel.bounds(kernel.Sums(*(x[at] for x in sums)), *lengths, of_p)
        for name in VARIANTS:
            out[name][at] = found[name]
    return out


def one(x, y, p: float, ties: str, n: int = 16) -> dict[str, float]:
    found = values([(x, y)], [p], ties, n)
    return {name: float(value[0]) for name, value in found.items()}


@pytest.fixture(scope="module")
def all_published(data) -> tuple[list[dict], list[tuple]]:
    """Published pairs, and each laid out."""
    rows = published(data)
    return rows, [laid_out(row["x"], row["y"], 16) for row in rows]


@pytest.mark.slow
@pytest.mark.parametrize("ties", TIES)
def test_all_published_values(all_published, ties):
    rows, laid = all_published
    found = of_laid(laid, [row["p"] for row in rows], ties, 16)
    for variant in VARIANTS:
        expected = np.array([row[f"{ties}.{variant}"] for row in rows])
        assert np.abs(found[variant] - expected).max() < 1e-12


@given(rankings(), rankings(), persistences, st.sampled_from(TIES))
def test_equals_the_twin(x, y, p, ties):
    found = one(x, y, p, ties)
    assert found == pytest.approx(rbo_of_ties(x, y, p, ties), abs=1e-12)
    assert found["min"] <= found["ext"] + 1e-15 <= found["max"] + 2e-15 <= 1 + 2e-15
    assert found["res"] == found["max"] - found["min"]


@given(rankings(), rankings(), persistences)
def test_without_ties_equals_the_twin_and_all_ways_with_them(x, y, p):
    x, y = apart(flat(x)), apart(flat(y))
    found = one(x, y, p, "")
    assert found == pytest.approx(rbo_of_ties(x, y, p), abs=1e-12)
    for ties in TIES:
        assert one(x, y, p, ties) == pytest.approx(found, abs=1e-14)


@given(rankings(), rankings(), persistences, st.sampled_from(["", *TIES]))
def test_sides_and_padding_change_no_bit(x, y, p, ties):
    if not ties:
        x, y = apart(flat(x)), apart(flat(y))
    found = one(x, y, p, ties)
    assert one(y, x, p, ties) == found
    assert one(x, y, p, ties, 64) == found
    assert values([(y, x), (x, y), (x, x)], [p] * 3, ties, 16)["ext"][1] == found["ext"]


@given(rankings(), rankings(), persistences, st.sampled_from(TIES), st.randoms())
def test_the_order_within_ties_changes_no_bit(x, y, p, ties, random):
    shuffled = [random.sample(group, len(group)) for group in x]
    assert one(shuffled, y, p, ties) == one(x, y, p, ties)


@given(rankings(), persistences)
def test_a_ranking_beside_itself(x, p):
    for ties in ("w", "b"):
        assert one(x, x, p, ties)["ext"] == pytest.approx(1, abs=1e-15)
    assert one(apart(flat(x)), apart(flat(x)), p, "")["ext"] == 1


@pytest.mark.parametrize("p", [0.05, 0.5, 0.9, 0.999])
def test_weights_are_the_nearest_to_exact_arithmetic(p):
    ranks, exact = 40, Fraction(p)
    weights = kernel.weights_of(p, ranks)
    # What is beyond d = 40,000 weighs less than 1e-17 of p = .999.
    tails = np.cumsum([float((1 - p) * p ** (d - 1) / d) for d in range(40_000, 0, -1)])
    for d in range(2 * ranks + 1):
        left = Fraction(int(weights.left[d])) * Fraction(UNIT)
        assert abs(left - exact**d) <= Fraction(UNIT) / 2
        assert weights.below[d] * UNIT == pytest.approx(tails[-1 - d], rel=1e-12)
        if d:
            at = (1 - exact) * exact ** (d - 1)
            assert weights.at[d - 1] * UNIT == pytest.approx(float(at), rel=1e-15)
            step = Fraction(int(weights.below[d - 1] - weights.below[d])) * Fraction(
                UNIT
            )
            assert abs(step - at / d) <= Fraction(UNIT)


@pytest.mark.parametrize("p", [5e-324, 1e-30, 0.3, 1 - 2**-53])
def test_weights_of_any_p_and_of_more_ranks(p):
    few, more = kernel.weights_of(p, 5), kernel.weights_of(p, 50)
    for name in ("at", "below", "left"):
        table = getattr(more, name)
        assert (np.diff(table) <= 0).all() and table[0] <= 2**62 and table[-1] >= 0
        assert (table[: len(getattr(few, name))] == getattr(few, name)).all()
        assert not table.flags.writeable


@pytest.mark.slow
def test_the_longest_ranking_is_exact():
    """A tie of all ranks beside none: the largest products that can be."""
    n = kernel.LONGEST + 1
    length = np.int32(kernel.LONGEST)
    rank = np.arange(1, n + 1, dtype=np.int32)
    top = np.where(rank <= length, 1, length + 1).astype(np.int32)
    place = np.where(rank <= length, rank - 1, n).astype(np.int32)
    weights = kernel.weights_of(0.9, n)
    one, many = np.minimum(rank, length + 1), np.full(n, length)
    arrays = top, many, length, one, np.minimum(rank, length), length, place
    with jax.enable_x64(True):
        sums = program("a")(*(x[None] for x in (*arrays, weights.at)))
    sums = kernel.Sums(*(x[0] for x in sums))
    assert sums.shared == length
    # At depth d, d documents are shown in d of n parts each: an agreement of d / n.
    expected = sum(0.1 * 0.9 ** (d - 1) * d / int(length) for d in range(1, 2000))
    assert int(sums.seen) * UNIT == pytest.approx(expected, abs=1e-15)
