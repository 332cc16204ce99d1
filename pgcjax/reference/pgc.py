"""Greedy PGC, in plain Python."""

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import permutations
from math import factorial, fsum
from zlib import crc32

import numpy as np

from pgcjax.reference import case as rows
from pgcjax.reference.case import Case
from pgcjax.reference.rbo import rbo

Edges = list[tuple[str, str]] | Mapping[tuple[str, str], int]


def counted(edges: Edges) -> Counter[tuple[str, str]]:
    """Count how often each edge is listed, or give what each counts."""
    return Counter(edges if isinstance(edges, Mapping) else [(u, v) for u, v in edges])


def greedy_ideal(
    edges: Edges, run: list[str], vertices: tuple[str, ...] = ()
) -> list[str]:
    """Peel a preference multigraph into the ideal ranking nearest to a run.

    Args:
        edges: `(u, v)` for each judgment that u is preferred to v; repeats count. Or
            how much each of them counts.
        run: the documents that the system returned, best first.
        vertices: further vertices, which no edge need touch.

    Source: Luo 2021, Algorithms 2-4. Ties among documents that the run did not
    retrieve, arbitrary there, are decided by ascending document id.
    """
    steps = greedy_steps(edges, run, vertices)
    first = [doc for doc, rule, _ in steps if rule != "beats nobody"]
    last = [doc for doc, rule, _ in steps if rule == "beats nobody"]
    return first + last[::-1]


def greedy_steps(
    edges: Edges, run: list[str], vertices: tuple[str, ...] = ()
) -> list[tuple[str, str, set[str]]]:
    """List the steps of the peel: the document, the rule, and who else fits it.

    Arguments are as of `greedy_ideal`. A document that beats nobody is placed last of
    what is left, any other one first.
    """
    left = {v for edge in edges for v in edge} | set(vertices)
    counts = counted(edges)
    rank = {doc: r for r, doc in enumerate(run)}
    steps: list[tuple[str, str, set[str]]] = []

    def place(v: str) -> tuple[float, str]:
        return (rank.get(v, float("inf")), v)

    def remove(u: str, rule: str, candidates: set[str]) -> None:
        steps.append((u, rule, candidates))
        left.remove(u)
        for edge in [edge for edge in counts if u in edge]:
            del counts[edge]

    def sinks() -> set[str]:
        return left - {a for a, _ in counts}

    def sources() -> set[str]:
        return left - {b for _, b in counts}

    while left:
        while candidates := sinks():
            remove(max(candidates, key=place), "beats nobody", candidates)
        while candidates := sources():
            remove(min(candidates, key=place), "nobody beats it", candidates)
        if left:
            delta = dict.fromkeys(left, 0)
            for (a, b), count in counts.items():
                delta[a] += count
                delta[b] -= count
            most = max(delta.values())
            candidates = {v for v in left if delta[v] == most}
            remove(min(candidates, key=place), "most wins over losses", candidates)
    return steps


def derived_edges(grades: dict[str, float]) -> list[tuple[str, str]]:
    """List an edge for each pair of documents with different grades [Luo 2021, 4.1]."""
    return [(a, b) for a in grades for b in grades if grades[a] > grades[b]]


def greedy_pgc(
    edges: Edges,
    run: list[str],
    p: float = 0.95,
    depth: int = 1000,
    normalization: str = "weights",
    vertices: tuple[str, ...] = (),
) -> float:
    """Score a run by RBO with its nearest ideal ranking [Luo 2021, Algorithm 2]."""
    return rbo(run, greedy_ideal(edges, run, vertices), p, depth, normalization)


def drawn_orders(docs: list[str], n: int, seed: int, query: str) -> list[list[str]]:
    """Draw n orders of all documents of a query, by numpy's Philox.

    Args:
        docs: ascending.
        n: how many orders, drawn 128 at a time.
        seed: of the random numbers, as are the query's name and the number of the 128.
        query: its name.
    """
    orders = []
    for block in range(-(-n // 128)):
        key = 20, block, crc32(query.encode()), len(query)
        source = np.random.Philox(np.random.SeedSequence(seed, spawn_key=key))
        for row in np.random.Generator(source).random((128, len(docs))).tolist():
            orders.append([doc for _, doc in sorted(zip(row, docs, strict=True))])
    return orders[:n]


def tied_pgc(
    edges: Edges,
    run: list[str],
    ties: str,
    n: int,
    seed: int,
    query: str,
    p: float = 0.95,
    depth: int = 1000,
    normalization: str = "weights",
    vertices: tuple[str, ...] = (),
) -> float:
    """Score a run by several orders of the documents that it did not retrieve.

    All of their orders if there are n at most, else n that are drawn: the mean of the
    scores, the least (`ties` is min) or the greatest (max).
    """
    docs = sorted({v for edge in edges for v in edge} | set(vertices))
    lacks = [doc for doc in docs if doc not in run]
    orders: Iterable[Iterable[str]] = permutations(lacks)
    if factorial(len(lacks)) > n:
        orders = drawn_orders(docs, n, seed, query)
    scores = []
    for order in orders:
        extended = run + [doc for doc in order if doc in lacks]
        ideal = greedy_ideal(edges, extended, vertices)
        scores.append(rbo(run, ideal, p, depth, normalization))
    if ties == "mean":
        return fsum(scores) / len(scores)
    return min(scores) if ties == "min" else max(scores)


def judged(case: Case) -> tuple[Counter[tuple[str, str]], int, tuple[str, ...]]:
    """Count edges by `graph`, say what one judgment counts, and list graded documents.

    The counts are whole numbers.
    """
    q = case.parameters
    edges, unit = (Counter(), 1) if q["graph"] == "derived" else rows.edges(case)
    grades = {} if q["graph"] == "real" else rows.grades(case)
    edges.update(dict.fromkeys(derived_edges(grades), unit))
    return edges, unit, tuple(grades)


def pgc_of(case: Case) -> float:
    """Score a case by greedy PGC; `graph` says of which judgments."""
    q = case.parameters
    edges, _, graded = judged(case)
    parameters = q["p"], q["depth"], q["normalization"]
    ties = q.get("ties", "doc_id")  # exact PGC falls back to the peel, and has none
    if ties != "doc_id":
        orders = ties, q["n"], q["seed"], case.query_id
        return tied_pgc(edges, case.run, *orders, *parameters, graded)
    return greedy_pgc(edges, case.run, *parameters, graded)
