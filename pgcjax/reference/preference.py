"""Preference measures, in plain Python: pairs with counts and a run in, a score out.

`Prefs` counts the judgments that prefer the first document of a pair to the second.
"""

from collections import Counter
from itertools import permutations, product
from math import fsum, inf, log2

from pgcjax.reference import case as rows
from pgcjax.reference.case import Case, Judgment
from pgcjax.reference.gains import Gain, Score, gains_of
from pgcjax.reference.pgc import derived_edges

Prefs = Counter[tuple[str, str]]


def counted(judgments: list[Judgment], bad: bool, closure: bool) -> Prefs:
    """Count the preferences of one judge, explicit and implied.

    Args:
        judgments: (doc, other, preference, times): above 0 prefers doc, below 0 other,
            0 is a tie; without other, doc was found bad.
        bad: Whether a bad document is worse than each judged document that is not bad
            and was not compared with it [Carterette et al. 2008, 5.2].
        closure: Whether a chain of preferences, without one back, implies a preference
            [Carterette et al. 2008, 5.1].
    """
    prefs, ties, found_bad = Counter(), set(), Counter()
    for doc, other, preference, times in judgments:
        if other is None:
            found_bad[doc] += times
        elif preference == 0:
            ties |= {(doc, other), (other, doc)}
        else:
            pair = (doc, other) if preference > 0 else (other, doc)
            prefs[pair] += times
    if bad:
        compared = ties | set(prefs) | {(t, f) for f, t in prefs}
        docs = {d for doc, other, *_ in judgments for d in (doc, other) if d}
        for other, worse in product(docs - set(found_bad), found_bad):
            if (other, worse) not in compared:
                prefs[other, worse] = found_bad[worse]
    if closure:
        after: dict[str, set[str]] = {}
        for a, b in ties | set(prefs):
            after.setdefault(a, set()).add(b)
            after.setdefault(b, set())
        below = {doc: _reached(doc, after) for doc in after}
        for a, b in permutations(below, 2):
            if b in below[a] and a not in below[b] and (a, b) not in prefs:
                prefs[a, b] = 1
    return prefs


def by_judge(case: Case) -> list[Prefs]:
    """Count the preferences of each judge, explicit and implied."""
    q, votes = case.parameters, rows.judgments(case).values()
    return [counted(each, q["bad"], q["closure"]) for each in votes]


def pooled(case: Case) -> Prefs:
    """Add up the preferences of all judges, and those from grades, as `graph` says."""
    graph, prefs = case.parameters.get("graph", "real"), Prefs()
    if graph != "derived":
        for each in by_judge(case):
            prefs += each
    if graph != "real":
        prefs += Prefs(derived_edges(rows.grades(case)))
    return prefs


def cutoff(case: Case) -> float:
    """Return the last rank that counts."""
    return case.parameters["k"] or inf


def _reached(start: str, after: dict[str, set[str]]) -> set[str]:
    """List the documents to which a chain leads from one; `after` has the links."""
    reached: set[str] = set()
    ends = {start}
    while ends:
        ends = set().union(*(after[doc] for doc in ends)) - reached
        reached |= ends
    return reached


def ranks_of(run: list[str]) -> dict[str, int]:
    """Return the rank of each document from 1."""
    return {doc: rank for rank, doc in enumerate(run, start=1)}


def correct(prefs: Prefs, run: list[str], k: float = inf) -> int:
    """Count the preferences in the order of the run, the preferred one at <= k."""
    rank = ranks_of(run)
    return sum(
        times
        for (f, t), times in prefs.items()
        if rank.get(f, inf) < rank.get(t, inf) and rank[f] <= k
    )


def ppref(prefs: Prefs, run: list[str], k: float = inf) -> float:
    """Precision of preferences [Carterette et al. 2008, 4]."""
    top = {doc for doc, rank in ranks_of(run).items() if rank <= k}
    ranked = sum(n for (f, t), n in prefs.items() if f in top or t in top)
    return correct(prefs, run, k) / ranked if ranked else 0.0


def rpref(prefs: Prefs, run: list[str], k: float = inf) -> float:
    """Recall of preferences."""
    return correct(prefs, run, k) / prefs.total() if prefs else 0.0


def fpref(prefs: Prefs, run: list[str], k: float = inf) -> float:
    """Harmonic mean of ppref and rpref."""
    p, r = ppref(prefs, run, k), rpref(prefs, run, k)
    return 2 * p * r / (p + r) if p + r else 0.0


def ap_pref(prefs: Prefs, run: list[str], k: float = inf) -> float:
    """Average ppref at the ranks of all documents that are preferred to any.

    For documents below rank k, or not retrieved, rpref takes the place of ppref.
    """
    preferred = {f for f, _ in prefs}
    rank = {doc: r for doc, r in ranks_of(run).items() if r <= k}
    values = [
        ppref(prefs, run, rank[doc]) if doc in rank else rpref(prefs, run, k)
        for doc in sorted(preferred)
    ]
    return sum(values) / len(values) if values else 0.0


def wpref(
    prefs: Prefs, run: list[str], k: float = inf, weight: str = "lower", norm=True
) -> float:
    """Weighted ppref: see `measures.preference` for the three published weights."""
    rank = {doc: r for doc, r in ranks_of(run).items() if r <= k}
    over, under = [], []
    for (f, t), times in prefs.items():
        i, j = sorted((rank.get(f, inf), rank.get(t, inf)))
        if i == inf or (weight == "lower" and j == inf):
            continue
        w = {
            "lower": lambda i, j: 1 / log2(1 + j),
            "upper": lambda i, j: 1 / log2(1 + i),
            "tool": lambda i, j: 1 / (1 + log2(i)),
        }[weight](i, j)
        under.append(w * times)
        if rank.get(f, inf) == i:
            over.append(w * times)
    best = fsum(under) if norm else 1.0
    return fsum(over) / best if best else 0.0


def prefs_counts(prefs: Prefs, run: list[str]) -> Counter[str]:
    """Count as trec_eval's `form_prefs_counts`: fulfilled, possible; ret, imp, not."""
    rank, counts = ranks_of(run), Counter()
    for (f, t), times in prefs.items():
        kind = ["not", "imp", "ret"][(f in rank) + (t in rank)]
        counts["poss_" + kind] += times
        if rank.get(f, inf) < rank.get(t, inf):
            counts["ful_" + kind] += times
    return counts


def prefs_share(prefs: Prefs, run: list[str], kinds: list[str]) -> float:
    """Divide fulfilled by possible preferences of some kinds: `prefs_simp`."""
    counts = prefs_counts(prefs, run)
    possible = sum(counts["poss_" + kind] for kind in kinds)
    return sum(counts["ful_" + kind] for kind in kinds) / possible if possible else 0.0


def prefs_pair(prefs: Prefs, run: list[str], kinds: list[str]) -> float:
    """Average the share over pairs of documents: `prefs_pair`."""
    shares, rank = [], ranks_of(run)
    for a, b in sorted({(min(pair), max(pair)) for pair in prefs}):
        pair = Counter({p: prefs[p] for p in ((a, b), (b, a)) if prefs[p]})
        order = sorted(rank.keys() & {a, b}, key=rank.__getitem__)  # no others count
        if sum(prefs_counts(pair, order)["poss_" + kind] for kind in kinds):
            shares.append(prefs_share(pair, order, kinds))
    return sum(shares) / len(shares) if shares else 0.0


def prefs_avgjg(judges: list[Prefs], run: list[str], kinds: list[str]) -> float:
    """Average the share over judges, 0 for a judge without counts: `prefs_avgjg`."""
    return sum(prefs_share(prefs, run, kinds) for prefs in judges) / len(judges)


def balanced(retrieved: bool, case: Case) -> float:
    """Average as trec_eval's `prefs_avgjg_Rnonrel`, or `_ret`, with its mistakes.

    Source: trec_eval 9, m_prefs_avgjg_Rnonrel.c and m_prefs_avgjg_Rnonrel_ret.c.
    """
    shares, by_name = [], {}
    for row in case.judged["preferences"]:
        judge = row.get("judge")
        by_name.setdefault(judge if isinstance(judge, str) else "", []).append(row)
    for votes in by_name.values():
        level = {row["doc_id"]: row["doc_level"] for row in votes}
        level |= {row["other_doc_id"]: row["other_doc_level"] for row in votes}
        there = [doc for doc in case.run if doc in level]
        order = there + sorted(level.keys() - set(there))
        seen = there if retrieved else order
        good = [doc for doc in seen if level[doc] > 0]
        other = [doc for doc in seen if level[doc] == 0]
        lack, every = len(good) - len(other), [d for d in order if level[d] > 0]
        pairs = []
        for row in votes:
            pair = row["doc_id"], row["other_doc_id"]
            pair = pair if row["preference"] > 0 else pair[::-1]
            pairs += [pair] * int(row.get("weight", 1)) * (row["preference"] != 0)
        if lack < 0:
            one = votes[0]["subgroups"] == 1
            sample = other[: len(good if one else every)]
            use = {*every, *sample}
            pairs = [pair for pair in pairs if use.issuperset(pair)]
            pairs += [*product(other, sample)] * one
        use, place = {*seen}, {doc: i for i, doc in enumerate(order)}
        pairs = [pair for pair in pairs if use.issuperset(pair)]
        ahead = [place[a] < min(place[b], len(there)) for a, b in pairs]
        ordered = sum(ahead) + max(lack, 0) * len({*every} & {*there})
        possible = len(pairs) + max(lack, 0) * len(every)
        if not possible:
            return 0.0  # trec_eval has NaN here, and so in the sum
        shares.append(ordered / possible)
    return sum(shares) / len(shares)


def delta_gains(prefs: Prefs) -> dict[str, int]:
    """Return wins - losses of each document, less the lowest of all."""
    delta: Counter[str] = Counter()
    for (f, t), times in prefs.items():
        delta[f] += times
        delta[t] -= times
    return {doc: delta[doc] - min(delta.values()) for doc in delta}


def delta(gain: Gain, score: Score, case: Case) -> float:
    """Score a run by a graded measure of delta gains [Luo 2021, section 4.1]."""
    q, gains = case.parameters, delta_gains(pooled(case))
    worth = gains_of(gain, gains, q, max(gains.values(), default=0))
    return score([worth.get(doc, 0.0) for doc in case.run], [*worth.values()])
