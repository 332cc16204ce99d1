"""Measures of image grids: PGC with ties in the list, and agreement with pairs.

The list that a grid becomes has ties, which the ideal ranking breaks. `first` is, for
each image, the number of images that are strictly nearer: equal for tied images, and
`ABSENT` for images that the grid lacks. `judged[u, v]` is True if u and v were
compared, `wins[u, v]` if most votes prefer u to v. `weights` of depths are from
`rbo.rank_weights`.
"""

from jaxtyping import Bool, Int, Int32, Int64

from pgcjax.kernels import ABSENT
from pgcjax.kernels.peel import ideal_ranks
from pgcjax.kernels.peel_packed import next_place, placed_keys, removing
from pgcjax.kernels.rbo import overlap
from pgcjax.later import Array, jnp


def list_ranks(
    first: Int[Array, " n"], ideal: Int[Array, " n"], *, where: Bool[Array, " n"]
) -> Int[Array, " n"]:
    """Rank documents by distance, equal distances in the order of the ideal ranking.

    Returns:
        Ranks in the list that the grid becomes; `ABSENT` or more for documents that it
        lacks.

    Source: Luo 2021, 5.3, before step 1 of the example.
    """
    tied = (first[:, None] == first[None, :]) & where[None, :]
    before = tied & (ideal[None, :] < ideal[:, None])
    return first + jnp.sum(before, axis=1, dtype=first.dtype)


def peeled_overlap(
    edges: Int[Array, "n n"],
    place: Int[Array, " n"],
    first: Int[Array, " n"],
    weights: Int64[Array, " depth_plus_1"],
    *,
    where: Bool[Array, " n"],
) -> Int64[Array, ""]:
    """Add up RBO weights of a grid and the ideal ranking nearest to it.

    It takes graphs of any size and degree; `packed_overlap` is faster, and takes those
    of limited ones. `edges[u, v]` votes prefer u to v. `place` numbers the vertices by
    distance, without equal numbers; vertices that the grid lacks come last.

    Source: Luo 2021, Algorithms 5-7.
    """
    ideal = ideal_ranks(edges, place, where=where)
    ranks = list_ranks(first, ideal, where=where)
    return overlap(ranks, ideal, weights, where=where)


def packed_overlap(
    rows: Int32[Array, "n n"],
    words: Int32[Array, " n"],
    place: Int32[Array, " n"],
    inverse: Int32[Array, " n"],
    first: Int32[Array, " n"],
    weights: Int64[Array, " depth_plus_1"],
    *,
    where: Bool[Array, " n"],
) -> Int64[Array, ""]:
    """Compute `peeled_overlap` with the words of `peel_packed.peeled_overlap`.

    A list with ties needs the whole ideal ranking.

    Args:
        rows: `rows[u]` is subtracted from the other words when u is removed.
        words: degrees of every vertex; place 0.
        place: Place of each vertex by distance, without equal places.
        inverse: the vertex at each place.
        first: `first` of the vertex at each place.
        weights: Weights of depths.
        where: True for vertices, False for padding, which has the last places.
    """
    n = words.shape[-1]
    last = jnp.sum(where, dtype=jnp.int32) - 1
    rows = removing(rows, where=where)

    keys = placed_keys(jnp.where(where, words + place, -1), rows, inverse, n)
    at, is_sink = next_place(keys, n)  # the last place is padding, which no grid has
    behind = jnp.cumsum(is_sink, dtype=jnp.int32)
    i = jnp.arange(n, dtype=jnp.int32)
    ideals = jnp.where(is_sink, last - behind + 1, i - behind)
    firsts = jnp.where(i <= last, first[at], ABSENT)
    shown = firsts < ABSENT
    ranks = list_ranks(firsts, ideals, where=shown)
    return overlap(ranks, ideals, weights, where=shown)


def matched(
    wins: Bool[Array, "n n"],
    judged: Bool[Array, "n n"],
    first: Int[Array, " n"],
    row: Int[Array, " n"],
    column: Int[Array, " n"],
    reach: Int[Array, ""] | int,
    *,
    where: Bool[Array, " n"],
) -> tuple[Int[Array, " n"], Int[Array, " n"]]:
    """Count pairs of a grid whose order agrees with people, by the later image.

    A pair counts if it was judged, its images have different distances and are at most
    `reach` rows and columns apart; it agrees unless the later image is preferred.

    Returns:
        For each document, the numbers of pairs that agree and of all pairs, among the
        pairs whose later image it is.

    Source: Xie et al. 2020, equations 2 and 3.
    """
    inside = where & (first < ABSENT)
    near_row, near_column = (
        abs(x[:, None] - x[None, :]) <= reach for x in (row, column)
    )
    later = first[:, None] < first[None, :]
    shown = inside[:, None] & inside[None, :]
    count = judged & near_row & near_column & later & shown
    agree = count & ~wins.T
    return jnp.sum(agree, axis=0), jnp.sum(count, axis=0)


def duel(
    wins: Bool[Array, "n n"],
    judged: Bool[Array, "n n"],
    first: Int[Array, " n"],
    other: Int[Array, " n"],
    images: Int[Array, ""],
    *,
    where: Bool[Array, " n"],
) -> tuple[Int[Array, ""], Int[Array, ""], Int[Array, ""]]:
    """Count the judged pairs that the images of one system win against another's.

    `first` describes the grid of the one system, `other` that of the other system, and
    `images` is the number of the other's images, judged or not.

    Returns:
        Numbers of judged pairs that the one system wins, of all judged pairs, and of
        its bad cases: images to which every image of the other system is preferred.

    Source: Xie et al. 2020, equations 4 and 5.
    """
    ours, theirs = where & (first < ABSENT), where & (other < ABSENT)
    between = ours[:, None] & theirs[None, :]
    won, met = jnp.sum(between & wins), jnp.sum(between & judged)
    lost = jnp.sum(between & wins.T, axis=1)
    return won, met, jnp.sum(ours & (lost == images) & (images > 0))
