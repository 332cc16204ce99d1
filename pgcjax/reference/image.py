"""Measures of image grids, in plain Python."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import log2, sqrt

from pgcjax.reference import case as rows
from pgcjax.reference.case import Case
from pgcjax.reference.pgc import Edges, greedy_ideal
from pgcjax.reference.rbo import rbo

Grid = dict[str, tuple[int, int]]  # row and column of each image, from 0
Order = str | Callable[["GridPlaces"], list[float]]  # a name, or a user's own distances
Won = dict[tuple[str, str], int]  # by pair: 1 if the first wins, 0 tie, -1


@dataclass(frozen=True)
class GridPlaces:
    """The places of the images of a grid, in reading order.

    Attributes:
        row: Row of each image, from 0.
        column: Column of each image, from 0.
        index: Place of each image in reading order.
        width: Number of columns in the row of each image.
        rows: Number of rows of the grid.
        columns: Number of columns of the longest row.
    """

    row: list[int]
    column: list[int]
    index: list[int]
    width: list[int]
    rows: list[int]
    columns: list[int]


def places(grid: Grid) -> GridPlaces:
    """Return the places of the images of a grid, in reading order."""
    cells = [grid[image] for image in reading_order(grid)]
    row, column = ([cell[i] for cell in cells] for i in (0, 1))
    width = [1 + max(c for r, c in cells if r == place) for place in row]
    n, index = len(cells), list(range(len(cells)))
    rows, columns = ([max(axis) + 1] * n if n else [] for axis in (row, column))
    return GridPlaces(row, column, index, width, rows, columns)


def reading_order(grid: Grid) -> list[str]:
    """List images from left to right, top to bottom."""
    return sorted(grid, key=lambda image: grid[image])


def distances(grid: Grid, order: Order) -> dict[str, float]:
    """Return the distance of each image by an examination order.

    Source: Luo 2021, 5.4.4; for `middle-rows` Xie et al. 2020, 4.1.
    """
    at, images = places(grid), reading_order(grid)
    if callable(order):
        return dict(zip(images, order(at), strict=True))
    out = {}
    cells = zip(images, at.row, at.column, at.index, at.width, strict=True)
    for image, r, c, i, n in cells:
        out[image] = {
            "default": i,
            "reverse": -i,
            "weighted": log2(i + 2),
            "weight-as-distance": 1 / log2(i + 2),
            "middle": r + abs(n // 2 - c),
            "middle-rows": r * 2**21 + abs(c - (n - 1) / 2),  # no row is so wide
            "manhattan": r + c,
            "euclidean": sqrt(r * r + c * c),
        }[order]
    return out


def visits(grids: dict[str, Grid], order: Order) -> list[str]:
    """List images by distance; ties by system, then in reading order.

    An image of several systems counts where it comes first.
    """
    keys = []
    for system in sorted(grids):
        distance = distances(grids[system], order)
        for i, image in enumerate(reading_order(grids[system])):
            keys.append((distance[image], system, i, image))
    return list(dict.fromkeys(image for *_, image in sorted(keys)))


def image_list(grid: Grid, order: Order, ideal: list[str]) -> list[str]:
    """List a grid by distance; the ideal orders equal distances [Luo 2021, 5.3].

    Unjudged images, which are not in the ideal, come last.
    """
    distance, place = distances(grid, order), {d: i for i, d in enumerate(ideal)}
    return sorted(grid, key=lambda d: (distance[d], place.get(d, len(ideal))))


def image_pgc(
    edges: Edges,
    grid: Grid,
    order: Order = "default",
    p: float = 0.95,
    depth: int = 1000,
    normalization: str = "weights",
    others: dict[str, Grid] | None = None,
) -> float:
    """Score a grid by RBO with the ideal ranking nearest to it.

    Args:
        edges: `(u, v)` for each vote that prefers u to v; repeats count.
        grid: Grid of the system.
        order: Order of examination; see `distances`.
        p: Persistence.
        depth: Last depth that counts.
        normalization: See `rbo`.
        others: Grids of all systems, by name, if all share one ideal.

    Source: Luo 2021, Algorithms 5-7. Ties of distance, arbitrary there, are broken by
    reading order, and for images outside of the grid by ascending document id.
    """
    ideal = greedy_ideal(edges, visits(others or {"": grid}, order))
    return rbo(image_list(grid, order, ideal), ideal, p, depth, normalization)


def image_pgc_of(case: Case, order: Order) -> float:
    """Score the grid of a case by image PGC, with an order of examination."""
    q, grids = case.parameters, rows.grids(case)
    parameters = order, q["p"], q["depth"], q["normalization"]
    others = grids if q["ideal"] == "shared" else None
    return image_pgc(rows.edges(case)[0], grids[case.run_id], *parameters, others)


def most_frequent(votes: Iterable[int], split: str = "tie") -> int | None:
    """Return the majority of votes 1 (left), 0 (tie) and -1 (right).

    Args:
        votes: Votes on one pair; or a Counter of them.
        split: Result if several are equally frequent: `tie`, 0; `drop`, None; or
            `left`, the first of left, tie, right [the numbers of Xie et al. 2020].
    """
    counts = Counter(votes)
    first = [v for v in (1, 0, -1) if counts[v] == max(counts.values())]
    if split == "left" or len(first) == 1:
        return first[0]
    return 0 if split == "tie" else None


def majorities(case: Case) -> Won:
    """Return the majority on each pair, in both directions.

    The first vote on a pair determines its left image for all its votes.
    """
    votes: dict[tuple[str, str], Counter[int]] = {}
    for row in case.judged["preferences"]:
        a, b, sign = row["doc_id"], row["other_doc_id"], row["preference"]
        if not isinstance(b, str):
            continue  # a bad image, no pair
        sign = (sign > 0) - (sign < 0)
        if (b, a) in votes:
            a, b, sign = b, a, -sign
        votes.setdefault((a, b), Counter())[sign] += int(row.get("weight", 1))
    won: Won = {}
    for (a, b), counts in votes.items():
        sign = most_frequent(counts, case.parameters["split"])
        if sign is not None:
            won[a, b], won[b, a] = sign, -sign
    return won


def of_pairs(score: Callable[..., float], case: Case) -> float:
    """Score a grid by its images, those of all other systems, and majorities."""
    grids, other = rows.grids(case), {}
    for system, grid in grids.items():
        if system != case.run_id:
            other |= grid
    return score(grids[case.run_id], other, majorities(case))


def matching_rate(
    grid: Grid, won: Won, variant: str = "D", first_rank: int = 0
) -> float:
    """Share of pairs whose order agrees with people (PMR); ties always do.

    Args:
        grid: Grid of the system.
        won: Majority on each judged pair, in both directions.
        variant: D (reading order), W (weighted 1 / log2(j + 1) by the rank j of the
            later image), M (from the middle of each row outwards; equal places are
            left out) or N (images at most 2 rows and 2 columns apart).
        first_rank: Rank of the first image: 0 as in the published code, 1 as in the
            paper.

    Source: Xie et al. 2020, equations 2 and 3.
    """
    key = distances(grid, "middle-rows" if variant == "M" else "default")
    images = reading_order(grid)
    agreed = total = 0.0
    for j, b in enumerate(images):
        for a in images[:j]:
            apart = max(abs(grid[a][i] - grid[b][i]) for i in (0, 1))
            if (a, b) not in won or key[a] == key[b] or variant == "N" and apart > 2:
                continue
            weight = 1 / log2(first_rank + j + 1) if variant == "W" else 1
            above, below = (a, b) if key[a] < key[b] else (b, a)
            total += weight
            agreed += weight * (won[above, below] >= 0)
    return agreed / total if total else 0.0


def winning_rate(grid: Grid, other: Grid, won: Won) -> float:
    """Share of pairs with the other system's images that are won [Xie 2020, eq. 4].

    Unjudged pairs are left out; Xie's data have none.
    """
    judged = [won[a, b] for a in grid for b in other if (a, b) in won]
    return sum(w > 0 for w in judged) / len(judged) if judged else 0.0


def bad_cases(grid: Grid, other: Grid, won: Won) -> int:
    """Count images to which every image of the other system is preferred."""
    return sum(bool(other) and all(won.get((b, a), 0) > 0 for b in other) for a in grid)


def penalty(grid: Grid, other: Grid, won: Won, gamma: float = 0.1) -> float:
    """Return gamma to the power of bad cases, PB [Xie et al. 2020, equation 5]."""
    return gamma ** bad_cases(grid, other, won)


def pwp(
    grid: Grid,
    other: Grid,
    won: Won,
    weight: float = 0.7,
    gamma: float = 0.1,
    variant: str = "N",
    first_rank: int = 0,
) -> float:
    """Preference-Winning-Penalty: (λ PMR + (1 - λ) WR) PB [Xie 2020, equation 6]."""
    inside = matching_rate(grid, won, variant, first_rank)
    between = winning_rate(grid, other, won)
    return (weight * inside + (1 - weight) * between) * penalty(grid, other, won, gamma)
