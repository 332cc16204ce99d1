"""Graded measures, in plain Python: lists of gains in, a score out.

`run` holds the gains of a run's documents, best first, 0 if a document is not relevant
or not judged; `pool` holds the gains of all judged documents; `k` is the last rank that
counts, or None.
"""

from math import log, log2, prod


def gain(grade: float, form: str) -> float:
    """Map a grade g to a gain: g, or 2^g - 1; 0 for grades up to 0."""
    if grade <= 0:
        return 0.0
    return grade if form == "linear" else 2.0**grade - 1


def stop(grade: float, highest: float, form: str) -> float:
    """Return the probability to stop at a document, by its grade and the highest grade.

    `exp` is from Chapelle et al. 2009, `linear` from NTCIREVAL.
    """
    if grade <= 0:
        return 0.0
    if form == "exp":
        # (2^g - 1) / 2^gmax, without overflow for any finite gmax.
        return 2.0 ** (grade - highest) - 2.0**-highest
    return grade / (highest + 1)


def cg(run: list[float], k: int | None) -> float:
    """Add up gains [Järvelin and Kekäläinen 2002]."""
    return sum(run[:k])


def dcg(run: list[float], k: int | None, discount: str = "standard") -> float:
    """Discount gains by rank and add them up.

    `original` is Järvelin and Kekäläinen 2002 with logarithms to base 2.
    """
    score = 0.0
    for r, g in enumerate(run[:k], start=1):
        if discount == "original":
            score += g if r < 2 else g / log2(r)
        else:
            score += g / log2(1 + r)
    return score


def ndcg(
    run: list[float], pool: list[float], k: int | None, discount: str = "standard"
) -> float:
    """Divide the run's DCG by that of the best list of all judged documents."""
    best = dcg(sorted(pool, reverse=True), k, discount)
    return dcg(run, k, discount) / best if best else 0.0


def msndcg(run: list[float], pool: list[float], k: int | None) -> float:
    """Discount by the natural logarithm of 1 + r, and divide by the best [Burges 2005].

    Source: Sakai and Song 2011, equation 1.
    """

    def score(gains: list[float]) -> float:
        return sum(g / log(r + 1) for r, g in enumerate(gains[:k], start=1))

    best = score(sorted(pool, reverse=True))
    return score(run) / best if best else 0.0


def err(run: list[float], k: int | None) -> float:
    """Expect 1 / r of the rank where a user stops; gains are chances to stop.

    Source: Chapelle et al. 2009, equation 4.
    """
    return sum(
        stop / r * prod(1 - before for before in run[: r - 1])
        for r, stop in enumerate(run[:k], start=1)
    )


def nerr(run: list[float], pool: list[float], k: int | None) -> float:
    """Divide ERR by that of the best list."""
    best = err(sorted(pool, reverse=True), k)
    return err(run, k) / best if best else 0.0


def blended_ratio(run: list[float], pool: list[float], r: int, beta: float) -> float:
    """Blend precision with gains: BR(r) of Sakai and Song 2011, equation 2."""
    ideal = sorted(pool, reverse=True)
    count = sum(g > 0 for g in run[:r])
    return (count + beta * sum(run[:r])) / (r + beta * sum(ideal[:r]))


def q_measure(
    run: list[float], pool: list[float], k: int | None, beta: float = 1.0
) -> float:
    """Average BR over relevant documents [Sakai and Song 2011, equation 3]."""
    relevant = sum(g > 0 for g in pool)
    most = relevant if k is None else min(k, relevant)
    ranks = [r for r, g in enumerate(run[:k], start=1) if g > 0]
    ratios = [blended_ratio(run, pool, r, beta) for r in ranks]
    return sum(ratios) / most if most else 0.0


def p_plus(
    run: list[float], pool: list[float], k: int | None, beta: float = 1.0
) -> float:
    """Average BR down to the preferred rank [Sakai and Song 2011, equation 4]."""
    top = run[:k]
    if not top or max(top) <= 0:
        return 0.0
    preferred = top.index(max(top)) + 1
    ranks = [r for r in range(1, preferred + 1) if top[r - 1] > 0]
    return sum(blended_ratio(run, pool, r, beta) for r in ranks) / len(ranks)


def o_measure(
    run: list[float], pool: list[float], k: int | None, beta: float = 1.0
) -> float:
    """Return BR at the first relevant document [Sakai 2007]."""
    first = next((r for r, g in enumerate(run[:k], start=1) if g > 0), None)
    return blended_ratio(run, pool, first, beta) if first else 0.0


def g_measure(run: list[float], pool: list[float]) -> float:
    """Discount gains by how far the run is behind the ideal list [trec_eval]."""
    ideal = sorted((g for g in pool if g > 0), reverse=True)
    score = gained = cost = 0.0
    for r, g in enumerate(run):
        gained += g
        cost += max(1.0, ideal[r]) if r < len(ideal) else 1.0
        score += g / log2(2 + cost - gained)
    return score / sum(ideal) if ideal else 0.0


def ndcg_at_relevant(run: list[float], pool: list[float]) -> float:
    """Average nDCG over relevant documents, at their ranks or the end [trec_eval]."""
    count = sum(g > 0 for g in pool)
    ranks = [r for r, g in enumerate(run, start=1) if g > 0]
    scores = [ndcg(run, pool, r) for r in ranks]
    scores += [ndcg(run, pool, None)] * (count - len(ranks))
    return sum(scores) / count if count else 0.0


def ndcg_at_levels(run: list[float], pool: list[float]) -> float:
    """Average nDCG over the ranks where the ideal list's gain changes [trec_eval]."""
    ideal = sorted((g for g in pool if g > 0), reverse=True)
    ends = [r for r in range(1, len(ideal) + 1) if ideal[r - 1 : r] != ideal[r : r + 1]]
    if not ends:
        return 0.0
    scores = [ndcg(run, pool, r) for r in ends]
    if len(run) > len(ideal) + 1:
        scores.append(ndcg(run, pool, None))
    return sum(scores) / len(scores)


def rbp(run: list[float], p: float, k: int | None) -> float:
    """Expect the gain of a user who goes on with probability p [Moffat, Zobel 2008]."""
    return (1 - p) * sum(g * p**r for r, g in enumerate(run[:k]))


def rbp_residual(judged: list[bool], p: float, k: int | None) -> float:
    """Return the growth of RBP if all unjudged documents, listed or not, gained 1."""
    is_judged = sum(p**r for r, is_judged in enumerate(judged[:k]) if is_judged)
    return 1 - (1 - p) * is_judged


def average_precision(
    run: list[float], pool: list[float], k: int | None, relevant: str = "all"
) -> float:
    """Average precision over the ranks of all relevant documents.

    trec_eval divides by all of them, NTCIREVAL by at most k (`reachable`).
    """
    count = sum(g > 0 for g in pool)
    if relevant == "reachable" and k is not None:
        count = min(count, k)
    score = 0.0
    for r, g in enumerate(run[:k], start=1):
        if g > 0:
            score += sum(before > 0 for before in run[:r]) / r
    return score / count if count else 0.0


def reciprocal_rank(run: list[float], k: int | None) -> float:
    """Return 1 / r of the first relevant document."""
    return next((1 / r for r, g in enumerate(run[:k], start=1) if g > 0), 0.0)


def precision(run: list[float], k: int | None) -> float:
    """Return the share of relevant documents among k, or among all retrieved ones."""
    of = len(run) if k is None else k
    return sum(g > 0 for g in run[:k]) / of if of else 0.0


def recall(run: list[float], pool: list[float], k: int | None) -> float:
    """Return the share of the relevant documents that was retrieved."""
    count = sum(g > 0 for g in pool)
    return sum(g > 0 for g in run[:k]) / count if count else 0.0


def judged(is_judged: list[bool], k: int | None) -> float:
    """Return the share of judged documents among the first k retrieved."""
    top = is_judged[:k]
    return sum(top) / len(top) if top else 0.0
