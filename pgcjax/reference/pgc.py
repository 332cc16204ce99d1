"""Greedy PGC, in plain Python."""

from pgcjax.reference import case as rows
from pgcjax.reference.case import Case
from pgcjax.reference.rbo import rbo


def greedy_ideal(
    edges: list[tuple[str, str]], run: list[str], vertices: tuple[str, ...] = ()
) -> list[str]:
    """Peel a preference multigraph into the ideal ranking nearest to a run.

    Args:
        edges: `(u, v)` for each judgment that u is preferred to v; repeats count.
        run: the documents that the system returned, best first.
        vertices: further vertices, which no edge need touch.

    Source: Luo 2021, Algorithms 2-4. Ties among documents that the run did not
    retrieve, arbitrary there, are decided by ascending document id.
    """
    left = {v for edge in edges for v in edge} | set(vertices)
    edges = list(edges)
    rank = {doc: r for r, doc in enumerate(run)}

    def place(v: str) -> tuple[float, str]:
        return (rank.get(v, float("inf")), v)

    def remove(u: str) -> None:
        left.remove(u)
        edges[:] = [(a, b) for a, b in edges if u not in (a, b)]

    def sinks() -> set[str]:
        return left - {a for a, _ in edges}

    def sources() -> set[str]:
        return left - {b for _, b in edges}

    s1, s2 = [], []
    while left:
        while sinks():
            u = max(sinks(), key=place)
            s2.insert(0, u)
            remove(u)
        while sources():
            u = min(sources(), key=place)
            s1.append(u)
            remove(u)
        if left:
            delta = dict.fromkeys(left, 0)
            for a, b in edges:
                delta[a] += 1
                delta[b] -= 1
            most = max(delta.values())
            u = min((v for v in left if delta[v] == most), key=place)
            s1.append(u)
            remove(u)
    return s1 + s2


def derived_edges(grades: dict[str, float]) -> list[tuple[str, str]]:
    """List an edge for each pair of documents with different grades [Luo 2021, 4.1]."""
    return [(a, b) for a in grades for b in grades if grades[a] > grades[b]]


def greedy_pgc(
    edges: list[tuple[str, str]],
    run: list[str],
    p: float = 0.95,
    depth: int = 1000,
    normalization: str = "weights",
    vertices: tuple[str, ...] = (),
) -> float:
    """Score a run by RBO with its nearest ideal ranking [Luo 2021, Algorithm 2]."""
    return rbo(run, greedy_ideal(edges, run, vertices), p, depth, normalization)


def pgc_of(case: Case) -> float:
    """Score a case by greedy PGC; `graph` says of which judgments."""
    q = case.parameters
    edges = [] if q["graph"] == "derived" else rows.edges(case)
    grades = {} if q["graph"] == "real" else rows.grades(case)
    edges += derived_edges(grades)
    how = q["p"], q["depth"], q["normalization"]
    return greedy_pgc(edges, case.run, *how, tuple(grades))
