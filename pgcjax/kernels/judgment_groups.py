"""trec_eval's prefs_avgjg_Rnonrel: a mean over judgment groups, with its mistakes."""

from typing import Any, NamedTuple

from jaxtyping import Float, Int, Int64

from pgcjax.kernels import ABSENT
from pgcjax.kernels.ranked_list import RankedList, by_vertex, ratio, total
from pgcjax.later import Array, jnp

NONRELEVANT, RELEVANT = 1, 2  # 0 is padding
ONE_SUBGROUP, SUBGROUPS = 1, 2


class GroupCounts(NamedTuple):
    """Judgment groups of a query: a row for each document of each group.

    Attributes:
        vertex: Document of each row; rows of a group follow one another, with documents
            ascending.
        group: Group of each row.
        kind: Whether the document of each row is `RELEVANT` in its group.
        better: Preferred row of each pair.
        worse: Other row of each pair, of the same group.
        times: Number of judgments that prefer `better` to `worse`.
        form: Whether each group has `ONE_SUBGROUP` or `SUBGROUPS`.
    """

    vertex: Int[Any, " rows"]
    group: Int[Any, " rows"]
    kind: Int[Any, " rows"]
    better: Int[Any, " pairs"]
    worse: Int[Any, " pairs"]
    times: Int64[Any, " pairs"]
    form: Int[Any, " groups"]


def mean_of_groups(
    ranked: RankedList, counts: GroupCounts, *, retrieved: bool
) -> Float[Array, ""]:
    """Average the share of preferences that a run fulfils over groups.

    With `retrieved`, only retrieved documents count. A group in which nothing counts
    makes the score 0: its share is not a number in trec_eval.
    """
    ranks = by_vertex(ranked, counts.vertex.shape[-1], ABSENT)[counts.vertex]
    has = ranks < ABSENT
    good, other = counts.kind == RELEVANT, counts.kind == NONRELEVANT
    every_good, every_other = _of_groups(counts, good), _of_groups(counts, other)
    good_there, other_there = (_of_groups(counts, k & has) for k in (good, other))
    many, few = (other_there, good_there) if retrieved else (every_other, every_good)
    one, enough = counts.form == ONE_SUBGROUP, few >= many
    # In one of the two forms, trec_eval counts all relevant documents.
    most = jnp.where(enough, many, jnp.where(one, few, every_good))
    counted = good | (_places(counts, other, ranks) < most[counts.group])
    pairs = counted[counts.better] & counted[counts.worse]
    above = ranks[counts.better] < ranks[counts.worse]
    if retrieved:
        pairs &= has[counts.better] & has[counts.worse]
    of_pair = counts.group[counts.better]
    possible = _added(counts, of_pair, jnp.where(pairs, counts.times, 0))
    fulfilled = _added(counts, of_pair, jnp.where(pairs & above, counts.times, 0))
    # Each missing document adds a pair, which retrieved relevant documents fulfil.
    lack = jnp.where(enough, few - many, 0)
    possible, fulfilled = possible + every_good * lack, fulfilled + good_there * lack
    # With one subgroup, chosen documents are also compared with those of their kind.
    alike = one & ~enough
    possible += jnp.where(alike, many * few, 0)
    fulfilled += jnp.where(alike, _ordered(few, other_there), 0)
    there = counts.form > 0
    shares = ratio(fulfilled.astype(jnp.float64), possible.astype(jnp.float64))
    mean = ratio(total(shares, where=there), jnp.sum(there).astype(jnp.float64))
    return jnp.where((there & (possible == 0)).any(), 0.0, mean)


def _of_groups(counts: GroupCounts, where: Array) -> Int64[Array, " groups"]:
    """Count rows of each group."""
    return _added(counts, counts.group, where.astype(jnp.int64))


def _added(counts: GroupCounts, group: Array, values: Array) -> Int64[Array, " groups"]:
    return jnp.zeros(counts.form.shape, jnp.int64).at[group].add(values)


def _places(counts: GroupCounts, where: Array, ranks: Array) -> Int64[Array, " rows"]:
    """Number the rows of each group by rank; those not retrieved last, by document."""
    groups = counts.form.shape[-1]
    group = jnp.where(where, counts.group, groups).astype(jnp.int64)
    key = group * (2 * ABSENT) + ranks.astype(jnp.int64)
    order = jnp.argsort(key, stable=True)
    place = jnp.zeros(key.shape, jnp.int64).at[order].set(jnp.arange(key.shape[-1]))
    size = _of_groups(counts, where)
    return place - (jnp.cumsum(size) - size)[counts.group]


def _ordered(chosen: Array, there: Array) -> Array:
    """Count pairs of a chosen document and a retrieved one above it.

    With `chosen` documents, of which the first `there` were retrieved, this is the sum
    of min(i, there) over i < chosen.
    """
    near = jnp.minimum(chosen, there + 1)
    return near * (near - 1) // 2 + (chosen - near) * there
