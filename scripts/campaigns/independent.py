"""PGC, Compat and RBO, written a second time from the papers; imports no pgcjax.

Millions of scores are compared with these. A run and query is a list of rows `(doc,
score, rank)`; a preference is `(query, doc, other, sign, weight)`, where other is None
for a document judged bad.

Sources: Luo 2021, Algorithms 2-4 and equation 2.8; Clarke, Vtyurina and Smucker 2021;
Webber, Moffat and Zobel 2010, with the ties of Corsi and Urbano 2024.
"""

import math
from collections import Counter
from functools import lru_cache
from itertools import accumulate, groupby

Row = tuple[str, float, float]
Edges = Counter[tuple[str, str]]


def ranked(rows: list[Row], order: str) -> list[str]:
    """Order a run: `trec`, `clarke` or `rank`."""
    if order == "rank":
        return [doc for doc, _, _ in sorted(rows, key=lambda row: row[2])]
    rows = sorted(rows, reverse=order == "trec")  # by document
    return [doc for doc, _, _ in sorted(rows, key=lambda row: -row[1])]


def tied(rows: list[Row], order: str) -> list[list[str]]:
    """Order a run as tie groups: equal scores or, by `rank`, equal ranks."""
    keyed = [(rank if order == "rank" else -score, doc) for doc, score, rank in rows]
    groups = groupby(sorted(keyed), key=lambda pair: pair[0])
    return [[doc for _, doc in group] for _, group in groups]


def judged_graphs(preferences) -> dict[str, Edges]:
    """Make the graph of each query: an edge from winner to loser per judgment."""
    graphs: dict[str, Edges] = {}
    for query, doc, other, sign, weight in preferences:
        graph = graphs.setdefault(query, Counter())
        if other is not None and sign:
            graph[(doc, other) if sign > 0 else (other, doc)] += weight
    return graphs


def graded_edges(grades: dict[str, float]) -> Edges:
    """Make an edge for each two documents of different grades."""
    return Counter(
        {(a, b): 1 for a, x in grades.items() for b, y in grades.items() if x > y}
    )


def peeled(edges: Edges, vertices: set[str], run: list[str]) -> list[str]:
    """Peel a graph to its ideal ranking; the run decides among those that qualify."""
    place = {doc: i for i, doc in enumerate(run)}
    left = sorted(vertices, key=lambda doc: (place.get(doc, math.inf), doc))
    wins, losses = dict.fromkeys(left, 0), dict.fromkeys(left, 0)
    around: dict[str, list[tuple[str, str, int]]] = {doc: [] for doc in left}
    for (a, b), count in edges.items():
        wins[a] += count
        losses[b] += count
        around[a].append((a, b, count))
        around[b].append((a, b, count))
    head, tail, gone = [], [], set()
    while left:
        sinks = [doc for doc in left if wins[doc] == 0]
        if sinks:
            doc = sinks[-1]
            tail.append(doc)
        else:
            sources = [doc for doc in left if losses[doc] == 0]
            most = max(wins[doc] - losses[doc] for doc in left)
            best = [doc for doc in left if wins[doc] - losses[doc] == most]
            doc = (sources or best)[0]
            head.append(doc)
        left.remove(doc)
        gone.add(doc)
        for a, b, count in around[doc]:
            if a not in gone:
                wins[a] -= count
            if b not in gone:
                losses[b] -= count
    return head + tail[::-1]


@lru_cache(64)
def _weights(p: float, depth: int) -> tuple[list[float], list[float], float]:
    """Give p^(d-1)/d, what follows after each depth, and the sum of p^(d-1)."""
    each = [p ** (d - 1) / d for d in range(1, depth + 1)]
    after = [*accumulate(reversed(each), initial=0.0)][::-1]
    return each, after, math.fsum(p ** (d - 1) for d in range(1, depth + 1))


def overlap(a: list[str], b: list[str], p: float, depth: int) -> float:
    """Add p^(d-1) |A[1..d] & B[1..d]| / d; a list that ends stays as it is."""
    each, after, _ = _weights(p, depth)
    in_a: set[str] = set()
    in_b: set[str] = set()
    last = min(depth, max(len(a), len(b)))
    shared, terms = 0, []
    for d in range(last):
        if d < len(a):
            in_a.add(a[d])
            shared += a[d] in in_b
        if d < len(b):
            in_b.add(b[d])
            shared += b[d] in in_a
        if shared:
            terms.append(each[d] * shared)
    return math.fsum([*terms, after[last] * shared])


def compared(run: list[str], ideal: list[str], p: float, depth: int, how: str) -> float:
    """Score a run beside an ideal ranking: by `weights`, `one-minus-p` or `ideal`."""
    if not ideal:
        return 0.0
    value = overlap(run, ideal, p, depth)
    if how == "one-minus-p":
        return value * (1 - p)
    if how == "ideal":
        return value / overlap(ideal, ideal, p, depth)
    return value / _weights(p, depth)[2]


def compat(grades: dict[str, float], run: list[str], p, depth, normalize) -> float:
    """Score one run of one query by compatibility."""
    place = {doc: i for i, doc in enumerate(run)}
    ideal = sorted(
        (doc for doc in grades if grades[doc] > 0),
        key=lambda doc: (-grades[doc], place.get(doc, math.inf), doc),
    )
    return compared(run, ideal, p, depth, "ideal" if normalize else "weights")


def rbo(a: list[list[str]], b: list[list[str]], p: float, variant: str, ties: str):
    """Compare two rankings of tie groups by RBO; beyond their ends see docs/rbo.md."""
    short, long = sorted((a, b), key=lambda groups: sum(map(len, groups)))
    s, n = (sum(map(len, groups)) for groups in (short, long))
    of_short, of_long = _spans(short), _spans(long)
    common, others = of_short.keys() & of_long.keys(), of_long.keys() - of_short.keys()
    assumed = "min" if variant == "res" else variant
    terms, agreement, at_s = [], 0.0, 0.0
    for d in range(1, n + 1):
        shown = {doc: _shown(span, d, ties) for doc, span in of_long.items()}
        mine = {doc: _shown(span, d, ties) for doc, span in of_short.items()}
        x = math.fsum(mine[doc] * shown[doc] for doc in common)
        unseen = max(0, d - s)
        if unseen and assumed == "max":
            x += math.fsum(sorted((shown[o] for o in others), reverse=True)[:unseen])
        elif unseen and assumed == "ext":
            visible = [shown[doc] for doc in others if shown[doc] > 0]
            if visible:
                x += unseen * at_s * math.fsum(visible) / len(visible)
        agreement = _agreement(x, d, mine.values(), shown.values(), unseen, ties)
        if d == s:
            at_s = agreement
        terms.append(agreement * p**d)
    seen = math.fsum(terms) * (1 - p) / p
    if variant == "ext":
        return seen + agreement * p**n
    whole, f = len(common), n + s - len(common)
    rest = -math.log1p(-p) - math.fsum(p**d / d for d in range(1, n + 1))
    least = seen + whole * rest * (1 - p) / p
    if variant == "min":
        return least
    if variant == "res":
        return rbo(a, b, p, "max", ties) - least
    grows = ((whole + 2 * d - s - n) / d * p**d for d in range(n + 1, f + 1))
    return seen + math.fsum(grows) * (1 - p) / p + p ** max(f, n)


def _spans(groups: list[list[str]]) -> dict[str, tuple[int, int]]:
    """Give the first and last rank of each document's tie group, from 1."""
    spans, top = {}, 1
    for group in groups:
        for doc in group:
            spans[doc] = top, top + len(group) - 1
        top += len(group)
    return spans


def _shown(span: tuple[int, int], d: int, ties: str) -> float:
    first, last = span
    if d < first:
        return 0.0
    if d >= last or ties == "w":
        return 1.0
    return (d - first + 1) / (last - first + 1)


def _agreement(x: float, d: int, mine, shown, unseen: int, ties: str) -> float:
    if ties == "w":
        return 2 * x / (math.fsum(mine) + unseen + math.fsum(shown))
    if ties == "b":
        squares = (math.fsum(c * c for c in side) for side in (mine, shown))
        of_mine, of_shown = squares
        return x / math.sqrt((of_mine + unseen) * of_shown)
    return x / d
