"""A hash index of judged documents, for the documents of whole runs."""

import numpy as np
import polars as pl
from jaxtyping import Int, UInt64

# Odd, and of random bits: each bit of a hash and a query moves the upper bits of a key.
_QUERY, _KEY = (
    np.array([factor], np.uint64) for factor in (0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93)
)
_SPACE = 8  # buckets for each document: most others come upon an empty one


class JudgedIndex:
    """Judged documents in buckets by the upper bits of a hash.

    Most documents of a run are not judged: one look at a small table tells so. Hashes
    only choose whom to compare: no two different documents are taken for each other.
    """

    def __init__(self, table: pl.DataFrame):
        """Lay documents out: query (its number, int32), doc_id, code (int32)."""
        self._table = table
        query, codes = (table[name].to_numpy() for name in ("query", "code"))
        key = (
            table["doc_id"].hash().to_numpy() ^ query.astype(np.uint64) * _QUERY
        ) * _KEY
        by = np.argsort(key)
        self._key, self._query, self._code = key[by], query[by], codes[by]
        self._doc = table["doc_id"].gather(by)
        self._doubtful = bool((self._key[1:] == self._key[:-1]).any())
        bits = max(1, (_SPACE * len(by)).bit_length())
        self._shift = np.array([64 - bits], np.uint64)
        bucket = self._key >> self._shift
        self._last = np.append(bucket[1:] != bucket[:-1], True)
        self._first = np.full(2**bits, -1, np.int32)
        self._first[bucket[::-1]] = np.arange(len(by), dtype=np.int32)[::-1]

    def find(
        self,
        query: Int[np.ndarray, " rankings"],
        length: Int[np.ndarray, " rankings"],
        doc_id: pl.Series,
        hash_: UInt64[np.ndarray, " documents"],
    ) -> tuple[Int[np.ndarray, " judged"], Int[np.ndarray, " judged"]]:
        """Find which documents are judged.

        Args:
            query: number of the query of each ranking; -1 if it has no judgments.
            length: how many of the documents are of each ranking, one after the other.
            doc_id: the documents.
            hash_: of each, as `Series.hash` gives it.

        Returns:
            The places of those that are judged, ascending, and their codes.
        """
        key = np.repeat(query.astype(np.uint64) * _QUERY, length)
        key ^= hash_
        key *= _KEY
        at = self._first.take((key >> self._shift).view(np.int64))
        rows = np.flatnonzero(at >= 0)
        key, at = key[rows], at[rows]
        equal = self._key[at] == key
        rest = np.flatnonzero(~(equal | self._last[at]))
        while len(rest):
            at[rest] += 1
            equal[rest] = self._key[at[rest]] == key[rest]
            rest = rest[~(equal[rest] | self._last[at[rest]])]
        equal = np.flatnonzero(equal)  # a mask takes six times as long
        rows, at = rows.take(equal), at.take(equal)
        # To drop all others takes a fraction of the time of looking these up.
        hit = np.zeros(len(doc_id), bool)
        hit[rows] = True
        same = (doc_id.filter(pl.Series(hit)) == self._doc[at]).all()
        of_query = np.repeat(query, length)[rows]
        if self._doubtful or not same or (of_query != self._query[at]).any():
            return self._compared(np.repeat(query, length), doc_id)
        return rows, self._code[at]

    def _compared(
        self, query: np.ndarray, doc_id: pl.Series
    ) -> tuple[np.ndarray, np.ndarray]:
        """Find the same without hashes: two documents have an equal one."""
        rows = pl.DataFrame({"query": query.astype(np.int32), "doc_id": doc_id})
        joined = rows.with_row_index("row").join(self._table, on=["query", "doc_id"])
        joined = joined.sort("row")
        return joined["row"].to_numpy().astype(np.int64), joined["code"].to_numpy()
