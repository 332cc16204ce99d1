"""The judged documents of all queries, and the integer code of each."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain, count, repeat
from operator import is_
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from jaxtyping import Int, UInt64

Docs = Mapping[str, Sequence[str] | np.ndarray]
"""Documents of each query, none twice."""

_ODD = np.array([0x9E3779B97F4A7C15], np.uint64)
_ENDS = 8  # for each document: then most documents that are not judged meet no end


class JudgedDocuments:
    """The judged documents of every query, and their codes.

    Attributes:
        docs: Document ids of each query, by ascending codes; queries ascend.
        number: Place of each query in `docs`.
        end: Upper bound of all codes; some smaller numbers are no codes.
    """

    def __init__(self, *sources: Docs):
        """Number all documents of all sources."""
        self._code_of: dict[str, dict[str, int]] = {}
        codes: list[dict[str, list[int]]] = [{} for _ in sources]
        self.end = 0
        for query in sorted(set().union(*sources)):
            code_of = self._code_of[query] = {}
            for source, of_source in zip(sources, codes, strict=True):
                if query in source:
                    ids = _ids(source[query])
                    # A document of an earlier source leaves its number unused.
                    of_source[query] = [*map(code_of.setdefault, ids, count(self.end))]
                    self.end += len(ids)
        self.docs = {query: list(code_of) for query, code_of in self._code_of.items()}
        self.number = {query: i for i, query in enumerate(self.docs)}
        self._codes: list[tuple[Docs | pl.DataFrame, np.ndarray]] = [
            (source, _laid(of_source[query] for query in source))
            for source, of_source in zip(sources, codes, strict=True)
        ]

    def __len__(self) -> int:
        return len(self.docs)

    @cached_property
    def every_code(self) -> np.ndarray:
        """All codes, ascending: one array for all runs."""
        return np.arange(self.end)

    @cached_property
    def table(self) -> pl.DataFrame:
        """All documents: query (its number), doc_id, code."""
        each = self._code_of.values()
        query = np.arange(len(self), dtype=np.int32)
        return pl.DataFrame(
            {
                "query": np.repeat(query, [len(code_of) for code_of in each]),
                "doc_id": pl.Series([*chain.from_iterable(each)], dtype=pl.String),
                "code": np.array([*chain.from_iterable(map(dict.values, each))], "i4"),
            }
        )

    @cached_property
    def ids(self) -> pl.Series:
        """The ids of all documents, none twice."""
        return self.table["doc_id"].unique()

    @cached_property
    def _by_end(self) -> "_ByEnd":
        """All documents by the ends of their keys."""
        query, hash_ = self.table["query"].to_numpy(), self.table["doc_id"].hash()
        key = _keys(query, hash_.to_numpy())
        ends = 1 << (_ENDS * len(key)).bit_length()
        end = _end(key, ends)
        by, count = np.argsort(end), np.bincount(end, minlength=ends)
        return _ByEnd(self.table[by], key[by], np.cumsum(count) - count, count)

    def find(
        self,
        query: Int[np.ndarray, " rankings"],
        length: Int[np.ndarray, " rankings"],
        doc_id: pl.Series,
        hash_: UInt64[np.ndarray, " documents"],
    ) -> tuple[Int[np.ndarray, " judged"], Int[np.ndarray, " judged"]]:
        """Find which documents of rankings are judged.

        Args:
            query: Number of the query of each ranking; -1 if it has no judgments.
            length: Number of documents of each ranking.
            doc_id: The documents, ranking after ranking.
            hash_: Hash of each document, from `Series.hash`.

        Returns:
            The places of judged documents, ascending, and their codes.
        """
        of_doc = np.repeat(query, length)
        key, (table, keys, first, count) = _keys(of_doc, hash_), self._by_end
        end = _end(key, len(count))
        # Most documents are not judged, and no judged one has such an end.
        row = np.flatnonzero(count.take(end) > 0)
        at, key, width = first[end[row]], key[row], count[end[row]]
        match = np.full(len(row), -1)
        for nth in range(int(width.max(initial=0))):
            same_key = keys.take(at + nth, mode="clip") == key
            near = np.flatnonzero((nth < width) & same_key)
            # Keys only find candidates to compare.
            place, same = row[near], at[near] + nth
            equal = (doc_id[place] == table["doc_id"][same]).to_numpy()
            equal &= of_doc[place] == table["query"].to_numpy()[same]
            match[near[equal]] = same[equal]
        judged = match >= 0
        return row[judged], table["code"].to_numpy()[match[judged]]

    def codes(self, docs: Docs | pl.DataFrame) -> np.ndarray:
        """Look up the codes of documents: int32, in their order; -1 if not judged.

        A table has query_id and doc_id. The result is kept for the next call with the
        same objects.
        """
        for documents, codes in self._codes:
            if _same(documents, docs):
                return codes
        if isinstance(docs, pl.DataFrame):
            codes = self._of_table(docs)
        else:
            codes = _laid(
                map(self._code_of.get(query, {}).get, _ids(ids), repeat(-1))
                for query, ids in docs.items()
            )
        self._codes.append((docs, codes))
        return codes

    def _of_table(self, docs: pl.DataFrame) -> np.ndarray:
        number = pl.DataFrame(
            {
                "query_id": pl.Series(list(self.number), dtype=pl.String),
                "query": np.arange(len(self), dtype=np.int32),
            }
        )
        settings: dict[str, Any] = {"how": "left", "maintain_order": "left"}
        rows = docs.join(number, on="query_id", **settings)
        rows = rows.join(self.table, on=["query", "doc_id"], **settings)
        return rows["code"].fill_null(-1).to_numpy()

    def spread(self, docs: Docs, values: np.ndarray) -> np.ndarray:
        """Invert `codes`: return for each code its document's int32 value, else -1."""
        codes = self.codes(docs)
        judged = codes >= 0
        out = np.full(self.end, -1, np.int32)
        out[codes[judged]] = values[judged]
        return out


def _same(one: Docs | pl.DataFrame, docs: Docs | pl.DataFrame) -> bool:
    """Return whether these are the same objects, without comparing their content."""
    if one is docs:
        return True
    if isinstance(one, pl.DataFrame) or isinstance(docs, pl.DataFrame):
        return False
    return list(one) == list(docs) and all(map(is_, one.values(), docs.values()))


class _ByEnd(NamedTuple):
    """Documents sorted by the ends of their keys.

    Attributes:
        table: As `JudgedDocuments.table`.
        key: Key of each document.
        first: Row of the first document whose key has each end.
        size: Number of documents whose keys have each end.
    """

    table: pl.DataFrame
    key: UInt64[np.ndarray, " documents"]
    first: Int[np.ndarray, " ends"]
    size: Int[np.ndarray, " ends"]


def _keys(query: np.ndarray, hash_: np.ndarray) -> np.ndarray:
    return hash_ ^ query.astype(np.uint64) * _ODD


def _end(key: np.ndarray, ends: int) -> np.ndarray:
    """Return the last bits of keys; `ends` is a power of 2."""
    return key.view(np.int64) & (ends - 1)


def _laid(codes: Iterable[Iterable[int]]) -> np.ndarray:
    return np.array([*chain.from_iterable(codes)], np.int32)


def _ids(docs: Sequence[str] | np.ndarray) -> Sequence[str]:
    return docs.tolist() if isinstance(docs, np.ndarray) else docs
