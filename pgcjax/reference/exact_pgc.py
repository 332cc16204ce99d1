"""Exact PGC, in plain Python."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import combinations

from pgcjax.reference.case import Case
from pgcjax.reference.pgc import Edges, counted, judged
from pgcjax.reference.rbo import rbo


def exact_ideal(
    edges: Edges,
    run: list[str],
    p: float = 0.95,
    depth: int = 1000,
    vertices: tuple[str, ...] = (),
    sets: Iterable[Iterable[str]] | None = None,
    farthest: bool = False,
) -> tuple[int, list[str]]:
    """Find the order nearest to a run among those that contradict fewest judgments.

    Dynamic programming over the sets of first documents: for each set, keep the order
    that contradicts the fewest judgments of its documents and, among such orders, has
    the largest overlap with the run so far. A best order of all documents extends it.

    Args:
        edges: `(u, v)` for each judgment that prefers u to v; repeats count. Or a
            mapping of edges to weights.
        run: Retrieved documents, best first.
        p: Persistence, 0 < p < 1.
        depth: Last depth that counts.
        vertices: More vertices, with or without edges.
        sets: Sets to search, where there are too many to search them all.
        farthest: Whether to find the order of least overlap with the run instead.

    Returns:
        The number of judgments that the order contradicts, and the order.

    Source: the definition in Luo 2021, 3.1; Lawler 1964.
    """
    docs = sorted({v for edge in edges for v in edge} | set(vertices))
    preferred_to: dict[str, Counter[str]] = defaultdict(Counter)
    for (better, worse), count in counted(edges).items():
        preferred_to[better][worse] += count
    by_size: dict[int, list[Iterable[str]]] = defaultdict(list)
    for chosen in sets or ():
        by_size[len(chosen := set(chosen))].append(chosen)
    best: dict[frozenset[str], tuple[int, float, list[str]]] = {}
    best[frozenset()] = 0, 0.0, []
    for d in range(1, len(docs) + 1):
        top, weight = set(run[:d]), p ** (d - 1) / d if d <= depth else 0.0
        for chosen in combinations(docs, d) if sets is None else by_size[d]:
            here, ways = frozenset(chosen), []
            for last in sorted(here):  # ids decide between equally good orders
                if (before := here - {last}) in best:
                    contradicted, overlap, order = best[before]
                    for worse, times in preferred_to[last].items():
                        contradicted += times * (worse in before)
                    ways.append((contradicted, overlap, [*order, last]))
            if ways:
                fewest, overlap, order = min(
                    ways, key=lambda way: (way[0], way[1] if farthest else -way[1])
                )
                best[here] = fewest, overlap + weight * len(here & top), order
    fewest, _, order = best[frozenset(docs)]
    return fewest, order


def exact_pgc(
    edges: Edges,
    run: list[str],
    p: float = 0.95,
    depth: int = 1000,
    normalization: str = "weights",
    vertices: tuple[str, ...] = (),
    sets: Iterable[Iterable[str]] | None = None,
    farthest: bool = False,
) -> float:
    """Score a run by RBO with the nearest order that contradicts fewest judgments."""
    _, ideal = exact_ideal(edges, run, p, depth, vertices, sets, farthest)
    return rbo(run, ideal, p, depth, normalization)


def exact_pgc_of(case: Case, sets: Iterable[Iterable[str]] | None = None) -> float:
    """Score a case by exact PGC of the judgments that `graph` names."""
    q = case.parameters
    edges, _, graded = judged(case)
    parameters = q["p"], q["depth"], q["normalization"]
    farthest = q["ideal"] == "farthest"
    return exact_pgc(edges, case.run, *parameters, graded, sets, farthest)
