"""Statistics of judges, in plain Python."""

import math
from collections.abc import Iterable, Mapping
from itertools import combinations

Z = 1.959963984540054


def wilson(share: float, n: float) -> tuple[float, float]:
    """Give the interval of a share."""
    middle = share + Z * Z / 2 / n
    half = Z * math.sqrt(share * (1 - share) / n + Z * Z / 4 / n / n)
    return (middle - half) / (1 + Z * Z / n), (middle + half) / (1 + Z * Z / n)


def place_odds(
    votes: Iterable[tuple[int, float, int]],
) -> tuple[float, float, float, int]:
    """Give the odds of preferring the first, their interval, and the pairs.

    Args:
        votes: the pair; 1 if its low document is first, -1 if not; 1 if it is
            preferred, -1 if the other is, 0 for a tie.

    Source: Mantel and Haenszel 1959; Robins, Breslow and Greenland 1986.
    """
    tables: dict[int, dict[tuple[bool, bool], int]] = {}
    for pair, first, sign in votes:
        if sign and first == first:
            cell = tables.setdefault(pair, {})
            key = first > 0, sign > 0
            cell[key] = cell.get(key, 0) + 1
    r = s = pr = ps_qr = qs = 0.0
    pairs = 0
    for cell in tables.values():
        a, b = cell.get((True, True), 0), cell.get((True, False), 0)
        c, d = cell.get((False, True), 0), cell.get((False, False), 0)
        if not (a + b and c + d):
            continue
        n, pairs = a + b + c + d, pairs + 1
        r, s = r + a * d / n, s + b * c / n
        pr += (a + d) / n * a * d / n
        ps_qr += (a + d) / n * b * c / n + (b + c) / n * a * d / n
        qs += (b + c) / n * b * c / n
    variance = pr / 2 / r**2 + ps_qr / 2 / r / s + qs / 2 / s**2
    share = r / (r + s)
    low, high = wilson(share, 1 / (variance * share * (1 - share)))
    odds = (math.sqrt(x / (1 - x)) for x in (share, low, high))
    return (*odds, pairs)


def share_of_cycles(
    wins: Mapping[str, set[tuple[str, str]]], *, by_query: bool
) -> tuple[float, float, int]:
    """Give the share of triples that are cycles, and the size of its sample.

    Args:
        wins: of each query, who is preferred to whom.
        by_query: whether queries are left out one by one, or else documents.

    Returns:
        The share, as how many independent triples it varies, and the units left out.

    Source: the jackknife; Arvesen 1969.
    """
    triples = []
    for query, won in wins.items():
        for three in combinations(sorted({d for pair in won for d in pair}), 3):
            met = [p for p in won if p[0] in three and p[1] in three]
            if len(met) == 3:
                cycle = len({a for a, _ in met}) == 3
                triples.append((query, three, cycle))
    share = sum(cycle for *_, cycle in triples) / len(triples)
    of_query = {q: sum(t[0] == q for t in triples) for q in wins}
    if by_query:
        units = [(q, None) for q in wins if of_query[q]]
    else:
        units = sorted({(q, d) for q, three, _ in triples for d in three})
    total = 0.0
    for query, doc in units:
        out = [c for q, three, c in triples if q == query and doc in (None, *three)]
        moved = sum(out) - share * len(out)
        if doc is not None:
            moved *= of_query[query] / max(of_query[query] - len(out), 1)
        total += (moved / len(triples)) ** 2
    variance = total * len(units) / (len(units) - 1)
    size = min(share * (1 - share) / variance, len(triples))
    return share, size, len(units)
