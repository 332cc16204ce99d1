"""Cycles in a judge's votes, beside those that a Bradley-Terry judge would make."""

import numpy as np
import pandas as pd
from jaxtyping import Float64
from scipy import sparse

from pgcjax.judging.audit_shares import FEWEST, Finding, clustered, none
from pgcjax.judging.logistic import PairedItems, drawn_strengths

FEWEST_QUERIES = 10
"""From so many on, queries are taken as drawn; of fewer, their documents are."""

DRAWS = 400
"""Of the votes of a Bradley-Terry judge."""

_PAIRS = 1000  # by which strengths are drawn: those of the largest sets
_ENDS = 0.025, 0.975  # of draws, outside of which a judge is unlike them


class Triples:
    """Triples of documents whose pairs a judge decided, and their cycles."""

    def __init__(self, votes: pd.DataFrame, judge: np.ndarray):
        """Take votes as of `Answers`; several on one pair are their sum.

        Args:
            votes: likewise.
            judge: number of the judge of each.
        """
        of_pair = votes["sign"].groupby([judge, votes["item"].to_numpy()]).sum()
        of_pair = of_pair[of_pair != 0]
        who, item = (of_pair.index.get_level_values(i).to_numpy() for i in (0, 1))
        items = votes.drop_duplicates("item").set_index("item")
        self._docs = items.loc[item, ["low", "high"]]
        # Pairs ascend by judge, query and aspect: so do sets, which are these.
        at = items.groupby(["query_id", "aspect"], sort=True).ngroup().loc[item]
        at = at.to_numpy()
        begins = (np.diff(who, prepend=-1) != 0) | (np.diff(at, prepend=-1) != 0)
        self._set, self._sign = np.cumsum(begins) - 1, np.sign(of_pair.to_numpy())
        self._judge_of_set = who[begins]
        self._query_of_set = items["query_id"].loc[item].to_numpy(object)[begins]
        self._sizes = np.bincount(self._set, minlength=len(self._judge_of_set))
        self._of_documents = _of_documents(self._docs, self._set, self._sign)

    def cycles(self, judge: int | None) -> Finding:
        """Compare the share of triples that are cycles with a Bradley-Terry judge's."""
        chosen = np.arange(len(self._sizes))
        chosen = chosen if judge is None else chosen[self._judge_of_set == judge]
        of_documents = self._of_documents
        if judge is not None:
            of_documents = of_documents[of_documents["set"].isin(chosen)]
        # Each triple is one of each of its three documents.
        triples = int(of_documents["triples"].sum()) // 3
        if triples < FEWEST:
            why = f"{triples} triples with all pairs decided, of which {FEWEST} are "
            return none("cycles", "", triples, f"{why}needed")
        query = self._query_of_set[of_documents["set"].to_numpy()]
        share, low, high = share_of_cycles(of_documents.assign(query=query))
        most = chosen[np.argsort(-self._sizes[chosen], kind="stable")]
        before = np.cumsum(self._sizes[most]) - self._sizes[most]
        most = most[before < _PAIRS]
        sets = [self._compared(number) for number in np.sort(most).tolist()]
        observed, drawn = cycles_like(sets)
        (least, top), usual = np.quantile(drawn, _ENDS), drawn.mean()
        words = (
            "more than"
            if observed > top
            else "fewer than"
            if observed < least
            else "as"
        )
        verdict = f"{words} a Bradley-Terry judge, {usual:.3f}"
        return Finding("cycles", "", share, low, high, triples, verdict)

    def _compared(self, number: int) -> PairedItems:
        place = slice(*np.searchsorted(self._set, [number, number + 1]))
        docs = self._docs.iloc[place].to_numpy(object)
        first, second = pd.factorize(docs.T.ravel())[0].reshape(2, -1)
        return PairedItems(first, second, self._sign[place] > 0)


def _of_documents(
    docs: pd.DataFrame, number: np.ndarray, sign: np.ndarray
) -> pd.DataFrame:
    """Count the triples of each document of each set, and the cycles among them.

    Args:
        docs: low and high, of each pair.
        number: of the set of each pair.
        sign: 1 if the low one is preferred, -1 if the other is.
    """
    ends = [pd.DataFrame({"set": number, "doc": docs[c].to_numpy()}) for c in docs]
    both = pd.concat(ends, ignore_index=True)
    vertex, rows = pd.factorize(pd.MultiIndex.from_frame(both))
    n, count = len(rows), len(number)
    a, b = vertex[:count], vertex[count:]
    won, lost = np.where(sign > 0, a, b), np.where(sign > 0, b, a)
    over = sparse.csr_array((np.ones(count), (won, lost)), shape=(n, n))
    met = over + over.T
    # A cycle i > j > k > i is a walk of two steps, and one back.
    cycles = (over @ over).multiply(over.T).sum(axis=1)
    triples = (met @ met).multiply(met).sum(axis=1) / 2
    table = pd.DataFrame(list(rows), columns=["set", "doc"])
    return table.assign(
        cycles=np.asarray(cycles).reshape(-1), triples=np.asarray(triples).reshape(-1)
    )


def share_of_cycles(of_documents: pd.DataFrame) -> tuple[float, float, float]:
    """Return the share of triples that are cycles, and its 95 % interval.

    Triples have documents in common: documents are taken as drawn, one left out after
    the other; or, of ten queries and more, queries.

    Args:
        of_documents: query, doc, triples and cycles, a row for each document of a set.

    Source: Arvesen 1969, of jackknifing a mean over triples; Dean and Pagano 2015, of
    Wilson's interval with the number of triples that are as good as independent.
    """
    of_documents = of_documents[of_documents["triples"] > 0]
    keys = ["query"]
    if of_documents["query"].nunique() < FEWEST_QUERIES:
        keys.append("doc")
    units = of_documents.groupby(keys, sort=True)[["cycles", "triples"]].sum()
    cycles, triples = units.to_numpy(np.float64).T
    if len(keys) == 1:
        return clustered(cycles / 3, triples / 3)
    # Who leaves out a document leaves out its triples, three times what is its own.
    query = units.index.get_level_values("query")
    whole = units["triples"].groupby(query).transform("sum").to_numpy() / 3
    rest = np.maximum(whole - triples, 1.0) / whole
    return clustered(cycles / 3, triples / 3, scale=3 / rest)


def cycles_like(sets: list[PairedItems]) -> tuple[float, Float64[np.ndarray, " draws"]]:
    """Count cycles as they are, and as a Bradley-Terry judge makes them.

    Strengths are drawn as the votes have them, by a normal prior of a spread that is
    drawn, too, and votes on the same pairs by these.

    Returns:
        The share of triples that are cycles, and that of each draw.
    """
    strengths = drawn_strengths(sets, DRAWS)
    made = np.random.Generator(np.random.Philox(key=0))
    cycles, triples, observed = np.zeros(DRAWS), 0, 0
    for (a, b, won), strength in zip(sets, strengths, strict=True):
        n = strength.shape[1]
        chance = 1 / (1 + np.exp(strength[:, b] - strength[:, a]))
        drawn = np.concatenate([[won], made.random(chance.shape) < chance])
        for low in range(0, len(drawn), _at_once(n)):
            part = drawn[low : low + _at_once(n)]
            over = np.zeros((len(part), n, n), np.float32)
            over[:, a, b], over[:, b, a] = part, ~part
            there = np.einsum("sij,sji->s", over @ over, over) / 3
            if low == 0:
                observed += there[0]
                there = there[1:]
            cycles[max(0, low - 1) : max(0, low - 1) + len(there)] += there
        met = np.zeros((n, n))
        met[a, b] = met[b, a] = 1
        triples += float(np.einsum("ij,ji->", met @ met, met)) / 6
    triples = max(triples, 1)
    return float(observed / triples), cycles / triples


def _at_once(n: int) -> int:
    return max(2, 2**22 // n**2)
