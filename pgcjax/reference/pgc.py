"""Greedy PGC, in plain Python."""

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from math import fsum, sqrt
from statistics import fmean, stdev
from zlib import crc32

import numpy as np

from pgcjax.reference import case as rows
from pgcjax.reference.case import Case
from pgcjax.reference.rbo import rbo

Edges = list[tuple[str, str]] | Mapping[tuple[str, str], int]


def counted(edges: Edges) -> Counter[tuple[str, str]]:
    """Count how often each edge is listed; return weights that are given unchanged."""
    return Counter(edges if isinstance(edges, Mapping) else [(u, v) for u, v in edges])


def greedy_ideal(
    edges: Edges, run: list[str], vertices: tuple[str, ...] = ()
) -> list[str]:
    """Peel a preference multigraph into the ideal ranking nearest to a run.

    Args:
        edges: `(u, v)` for each judgment that prefers u to v; repeats count. Or a
            mapping of edges to weights.
        run: Retrieved documents, best first.
        vertices: More vertices, with or without edges.

    Source: Luo 2021, Algorithms 2-4. Ties among documents that the run did not
    retrieve, arbitrary there, are broken by ascending document id.
    """
    steps = greedy_steps(edges, run, vertices)
    first = [doc for doc, rule, _ in steps if rule != "beats nobody"]
    last = [doc for doc, rule, _ in steps if rule == "beats nobody"]
    return first + last[::-1]


def greedy_steps(
    edges: Edges, run: list[str], vertices: tuple[str, ...] = ()
) -> list[tuple[str, str, set[str]]]:
    """List the steps of the peel: the document, the rule, and all candidates for it.

    Arguments are those of `greedy_ideal`. A document that beats no other is placed
    last among the remaining ones, any other document first.
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
        docs: Documents, ascending.
        n: Number of orders, drawn in blocks of 128.
        seed: Seed; the query's name and the block's number also enter the generator.
        query: Name of the query.
    """
    orders = []
    for block in range(-(-n // 128)):
        key = 20, block, crc32(query.encode()), len(query)
        source = np.random.Philox(np.random.SeedSequence(seed, spawn_key=key))
        for row in np.random.Generator(source).random((128, len(docs))).tolist():
            orders.append([doc for _, doc in sorted(zip(row, docs, strict=True))])
    return orders[:n]


def drawn_pgc(
    edges: Edges,
    run: list[str],
    orders: Iterable[Iterable[str]],
    p: float = 0.95,
    depth: int = 1000,
    normalization: str = "weights",
    vertices: tuple[str, ...] = (),
) -> list[float]:
    """Score a run by each of several orders of the documents that it lacks."""
    scores = []
    for order in orders:
        extended = run + [doc for doc in order if doc not in run]
        ideal = greedy_ideal(edges, extended, vertices)
        scores.append(rbo(run, ideal, p, depth, normalization))
    return scores


Constraints = frozenset[tuple[str, frozenset[str]]]


def chance(constraints: Constraints) -> float:
    """Return the probability that a random order satisfies all constraints.

    Among the documents of the remaining constraints, the next one in the order must be
    the first of some constraint and follow no other; all other documents are free.

    Args:
        constraints: Pairs of a document and the set of documents that must follow it.
    """

    @cache
    def from_here(placed: frozenset[str]) -> float:
        left = {u: behind for u, behind in constraints if u not in placed}
        waiting = frozenset[str]().union(*left.values())
        ways = [from_here(placed | {u}) for u in left if u not in waiting]
        return sum(ways) / len(waiting | {*left}) if left else 1.0

    return from_here(frozenset())


def _bearing(constraints: Constraints, left: frozenset[str]) -> Constraints:
    """Choose the constraints that affect remaining documents, directly or not."""
    reached, chosen = left, Constraints()
    while more := {c for c in constraints - chosen if reached & (c[1] | {c[0]})}:
        chosen |= more
        reached = reached.union(*(behind | {u} for u, behind in more))
    return chosen


def _next(
    edges: Counter[tuple[str, str]], left: frozenset[str], rank: dict[str, int]
) -> tuple[bool, frozenset[str]]:
    """Return whether a sink is next, and the tied candidates for the next document."""
    delta, beats, beaten = dict.fromkeys(left, 0), set(), set()
    for (a, b), count in edges.items():
        if a in left and b in left:
            delta[a] += count
            delta[b] -= count
            beats.add(a)
            beaten.add(b)
    if sinks := left - beats:  # all of them are removed, in any order
        return True, frozenset([max(sinks, key=lambda v: rank.get(v, len(rank)))])
    most = max(delta.values())
    firsts = left - beaten or {v for v in left if delta[v] == most}
    if ranked := firsts & {*rank}:
        return False, frozenset([min(ranked, key=rank.__getitem__)])
    return False, frozenset(firsts)


def tied_pgc(
    edges: Edges,
    run: list[str],
    p: float = 0.95,
    depth: int = 1000,
    normalization: str = "weights",
    vertices: tuple[str, ...] = (),
) -> tuple[float, float, float]:
    """Return mean, least and greatest score over all orders of unretrieved documents.

    The peel of `greedy_ideal` branches over the tied documents, each of which may come
    first. Branches are merged if they have the same remaining documents, the same
    number in front, and the same constraints on the order of the remaining ones.
    """
    docs = frozenset(v for edge in edges for v in edge) | {*vertices}
    if not docs:
        return 0.0, 0.0, 0.0
    counts, rank = counted(edges), {doc: r for r, doc in enumerate(run)}
    weight = [0.0] * (depth + len(run) + len(docs) + 1)
    for r in range(depth - 1, -1, -1):
        weight[r] = weight[r + 1] + p**r / (r + 1)
    itself = rbo(sorted(docs), sorted(docs), p, depth, normalization)
    unit = itself / fsum(weight[: len(docs)])
    branches = {(docs, 0, Constraints()): (1.0, 0.0, 0.0, 0.0)}
    for n in range(len(docs), 0, -1):
        before, branches = branches, {}
        for (left, front, known), (share, total, least, most) in before.items():
            sink, tied = _next(counts, left, rank)
            place = front + n - 1 if sink else front
            for u in tied:
                then, q = known, 1.0
                if len(tied) > 1:
                    then = known | {(u, tied - {u})}
                    q = chance(then) / chance(known)
                gain = unit * weight[max(rank[u], place)] if u in rank else 0.0
                rest = left - {u}
                key = rest, front + (not sink), _bearing(then, rest)
                mine = share * q, q * (total + share * gain), least + gain, most + gain
                old = branches.get(key, (0.0, 0.0, float("inf"), 0.0))
                branches[key] = (
                    old[0] + mine[0],
                    old[1] + mine[1],
                    min(old[2], mine[2]),
                    max(old[3], mine[3]),
                )
    _, totals, leasts, mosts = zip(*branches.values(), strict=True)
    return fsum(totals), min(leasts), max(mosts)


def tied_pgc_of(case: Case, *, drawn: bool = False) -> float:
    """Score a case over all orders of unretrieved documents, or over n drawn ones."""
    q = case.parameters
    edges, _, graded = judged(case)
    parameters = q["p"], q["depth"], q["normalization"], graded
    if not drawn:
        ends = tied_pgc(edges, case.run, *parameters)
        return dict(zip(("mean", "min", "max", "error"), (*ends, 0.0), strict=True))[
            q["ties"]
        ]
    docs = sorted({v for edge in edges for v in edge} | {*graded})
    orders = drawn_orders(docs, q["n"], q["seed"], case.query_id)
    scores = drawn_pgc(edges, case.run, orders, *parameters)
    if q["ties"] == "error":
        return stdev(scores) / sqrt(len(scores))
    return {"mean": fmean, "min": min, "max": max}[q["ties"]](scores)


def judged(case: Case) -> tuple[Counter[tuple[str, str]], int, tuple[str, ...]]:
    """Return edges by `graph`, the weight of one judgment, and graded documents.

    The weights are whole numbers.
    """
    q = case.parameters
    edges, unit = (Counter(), 1) if q["graph"] == "derived" else rows.edges(case)
    grades = {} if q["graph"] == "real" else rows.grades(case)
    edges.update(dict.fromkeys(derived_edges(grades), unit))
    return edges, unit, tuple(grades)


def pgc_of(case: Case) -> float:
    """Score a case by greedy PGC of the judgments that `graph` names."""
    q = case.parameters
    edges, _, graded = judged(case)
    parameters = q["p"], q["depth"], q["normalization"]
    if q.get("ties", "doc_id") != "doc_id":  # exact PGC has none
        return tied_pgc_of(case)
    return greedy_pgc(edges, case.run, *parameters, graded)
