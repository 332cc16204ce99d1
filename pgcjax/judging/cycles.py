"""Cycles of three documents in votes, compared with those of a Bradley-Terry judge."""

import numpy as np
import pandas as pd
from jaxtyping import Float64
from scipy import sparse

from pgcjax.judging.intervals import FEWEST, Finding, clustered, not_asked
from pgcjax.judging.logistic import PairedItems, drawn_strengths

FEWEST_QUERIES = 10
"""Fewest queries that are the sampled units; with fewer, documents are."""

DRAWS = 400
"""Number of simulations of a Bradley-Terry judge's votes."""

_PAIRS = 1000  # pairs that strengths are fitted to: those of the largest sets
_ENDS = 0.025, 0.975  # quantiles of draws; a judge outside of them differs
_CELLS = 2**22  # cells of the tables of draws in memory
_SET = ["judge", "query_id", "aspect"]


def cycles(votes: pd.DataFrame) -> Finding:
    """Compare the share of triples that are cycles with a Bradley-Terry judge's.

    Args:
        votes: judge, query_id, aspect, low and high (documents), item (the number of
            the pair, ascending) and sign; several votes of a judge on a pair are added.
    """
    pairs = votes.groupby([*_SET, "item"], as_index=False).agg(
        {"low": "first", "high": "first", "sign": "sum"}
    )
    pairs = pairs[pairs["sign"] != 0]
    pairs = pairs.assign(set=pairs.groupby(_SET).ngroup())
    of_documents = _of_documents(pairs)
    # Each triple counts for each of its three documents.
    triples = int(of_documents["triples"].sum()) // 3
    if triples < FEWEST:
        why = f"{triples} triples with all pairs decided, of which {FEWEST} are needed"
        return not_asked("cycles", triples, why)
    share, low, high = share_of_cycles(of_documents)
    sizes = np.bincount(pairs["set"])
    largest = np.argsort(-sizes, kind="stable")
    preceding = np.cumsum(sizes[largest]) - sizes[largest]
    of_largest = pairs[pairs["set"].isin(largest[preceding < _PAIRS])]
    sets = [_compared(of_set) for _, of_set in of_largest.groupby("set")]
    observed, drawn = cycles_like(sets)
    (least, top), usual = np.quantile(drawn, _ENDS), drawn.mean()
    more, fewer = observed > top, observed < least
    words = "more than" if more else "fewer than" if fewer else "as"
    verdict = f"{words} a Bradley-Terry judge, {usual:.3f}"
    return Finding("cycles", "", share, low, high, triples, verdict)


def _compared(pairs: pd.DataFrame) -> PairedItems:
    """Number the documents of the pairs of one set."""
    docs = pairs[["low", "high"]].to_numpy(object)
    first, second = pd.factorize(docs.T.ravel())[0].reshape(2, -1)
    return PairedItems(first, second, pairs["sign"].to_numpy() > 0)


def _of_documents(pairs: pd.DataFrame) -> pd.DataFrame:
    """Count the triples of each document of each set, and the cycles among them."""
    ends = [
        pairs[["set", "query_id", end]].set_axis(["set", "query", "doc"], axis=1)
        for end in ("low", "high")
    ]
    both = pd.concat(ends, ignore_index=True)
    vertex = both.groupby(["set", "doc"], sort=False).ngroup().to_numpy()
    n, a, b = int(vertex.max(initial=-1)) + 1, *vertex.reshape(2, -1)
    low_wins = pairs["sign"].to_numpy() > 0
    won, lost = np.where(low_wins, a, b), np.where(low_wins, b, a)
    over = sparse.csr_array((np.ones(len(won)), (won, lost)), shape=(n, n))
    met = over + over.T
    # A cycle i > j > k > i is a walk of two steps, and one back.
    walks = {"cycles": (over @ over).multiply(over.T), "triples": (met @ met * met) / 2}
    counts = {name: np.asarray(x.sum(axis=1)).reshape(-1) for name, x in walks.items()}
    return both.drop_duplicates(["set", "doc"]).assign(**counts)


def share_of_cycles(of_documents: pd.DataFrame) -> tuple[float, float, float]:
    """Return the share of triples that are cycles, and its 95 % interval.

    Triples share documents. So documents, or queries if there are ten or more, are the
    sampled units, which the jackknife leaves out in turn.

    Args:
        of_documents: query, doc, triples and cycles, a row for each document of a set.

    Source: Arvesen 1969 for the jackknife of a mean over triples; Dean and Pagano 2015
    for Wilson's interval with the effective number of independent triples.
    """
    of_documents = of_documents[of_documents["triples"] > 0]
    keys = ["query"]
    if of_documents["query"].nunique() < FEWEST_QUERIES:
        keys.append("doc")
    units = of_documents.groupby(keys, sort=True)[["cycles", "triples"]].sum()
    count, triples = units.to_numpy(np.float64).T
    if len(keys) == 1:
        return clustered(count / 3, triples / 3)
    # Each triple counts a third for each of its documents, but leaving out one document
    # leaves out its whole triples.
    query = units.index.get_level_values("query")
    whole = units["triples"].groupby(query).transform("sum").to_numpy() / 3
    rest = np.maximum(whole - triples, 1.0) / whole
    return clustered(count / 3, triples / 3, scale=3 / rest)


def cycles_like(sets: list[PairedItems]) -> tuple[float, Float64[np.ndarray, " draws"]]:
    """Count cycles in the votes, and in simulated votes of a Bradley-Terry judge.

    Strengths are drawn from their posterior under a normal prior with a random spread;
    votes on the same pairs are drawn from them.

    Returns:
        The share of triples that are cycles, and that of each draw.
    """
    random = np.random.Generator(np.random.Philox(key=0))
    cycles, triples = np.zeros(1 + DRAWS), 0.0  # the first are those of the votes
    for (a, b, won), strength in zip(sets, drawn_strengths(sets, DRAWS), strict=True):
        n = strength.shape[1]
        chance = 1 / (1 + np.exp(strength[:, b] - strength[:, a]))
        votes = np.concatenate([[won], random.random(chance.shape) < chance])
        at_once = max(2, _CELLS // n**2)
        for low in range(0, len(votes), at_once):
            part = votes[low : low + at_once]
            over = np.zeros((len(part), n, n), np.float32)
            over[:, a, b], over[:, b, a] = part, ~part
            count = np.einsum("sij,sji->s", over @ over, over) / 3
            cycles[low : low + at_once] += count
        met = np.zeros((n, n))
        met[a, b] = met[b, a] = 1
        triples += float(np.einsum("ij,ji->", met @ met, met)) / 6
    # Float32 is the precision of the tables; the verdict is a comparison in it.
    observed = np.float32(cycles[0]) / np.float32(max(triples, 1))
    return float(observed), cycles[1:] / max(triples, 1)
