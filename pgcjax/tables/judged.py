"""The judged documents of all queries, numbered once: a code stands for each."""

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
import polars as pl

Docs = Mapping[str, Sequence[str] | np.ndarray]
"""Documents of each query, none twice."""


class Judged:
    """The judged documents of every query, and their codes: 0, 1, 2, ...

    Attributes:
        docs: document ids of each query, ascending; queries ascending, too.
        number: place of each query in `docs`.
        starts: int64 `[queries + 1]`: the first code of each query, and their number.
    """

    def __init__(self, docs: Mapping[str, np.ndarray]):
        self.docs = docs = {query: docs[query] for query in sorted(docs)}
        self.number = {query: i for i, query in enumerate(docs)}
        self.starts = np.cumsum([0, *map(len, docs.values())])
        # With what they are of, so that no other object takes over its id.
        self._codes: dict[int, tuple[Docs, np.ndarray]] = {}

    def __len__(self) -> int:
        return len(self.docs)

    @cached_property
    def table(self) -> pl.DataFrame:
        """All documents: query (its number), doc_id, code."""
        ids = [doc for some in self.docs.values() for doc in some.tolist()]
        return pl.DataFrame(
            {
                "query": np.repeat(
                    np.arange(len(self), dtype=np.int32), np.diff(self.starts)
                ),
                "doc_id": pl.Series(ids, dtype=pl.String),
                "code": np.arange(len(ids), dtype=np.int32),
            }
        )

    @cached_property
    def _known(self) -> dict[str, dict[str, int]]:
        starts = self.starts.tolist()
        return {
            query: dict(
                zip(some.tolist(), range(start, start + len(some)), strict=True)
            )
            for (query, some), start in zip(self.docs.items(), starts, strict=False)
        }

    def codes(self, docs: Docs) -> np.ndarray:
        """Look documents up: int32, query after query as they stand; -1 is unknown.

        What was found is kept, for the next call with the same object.
        """
        if id(docs) not in self._codes:
            found: list[int] = []
            for query, some in docs.items():
                code = self._known.get(query, {}).get
                ids = some.tolist() if isinstance(some, np.ndarray) else some
                found += [code(doc, -1) for doc in ids]
            self._codes[id(docs)] = docs, np.array(found, np.int32)
        return self._codes[id(docs)][1]

    def places(self, docs: Docs) -> np.ndarray:
        """Turn `codes` round: the place of each code in `docs` of its query, or -1."""
        codes = self.codes(docs)
        counts = [len(some) for some in docs.values()]
        place = np.concatenate([np.arange(n, dtype=np.int32) for n in [0, *counts]])
        known = codes >= 0
        out = np.full(int(self.starts[-1]), -1, np.int32)
        out[codes[known]] = place[known]
        return out
