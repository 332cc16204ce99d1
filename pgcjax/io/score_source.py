"""Scores that are no table in memory: some runs at a time, or one measure."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float64

from pgcjax.io.schema import SCORES
from pgcjax.io.score_text import MEAN
from pgcjax.later import pa, pd

ROWS = 2**18
"""Scores that are laid out, written and read at once, if a run has no more."""


@cache
def schema() -> pa.Schema:
    """Return the columns of scores in Parquet: dictionaries of ids, and values."""
    id_, number = pa.dictionary(pa.int32(), pa.string()), pa.float64()
    types = {name: number if name == "value" else id_ for name in SCORES}
    return pa.schema([pa.field(n, kind, nullable=False) for n, kind in types.items()])


@cache
def _text() -> pa.Schema:
    number, text = pa.float64(), pa.string()
    return pa.schema({n: number if n == "value" else text for n in SCORES})


class ScoreBlock(NamedTuple):
    """Scores of some runs by all measures.

    Attributes:
        run_ids: ascending.
        values: of each run, query and measure.
        keep: which of them there are; all of them if None.
    """

    run_ids: Sequence[str]
    values: Float64[np.ndarray, "runs queries measures"]
    keep: Bool[np.ndarray, "runs queries measures"] | None


class ScoreSource(ABC):
    """Scores in blocks of whole runs, ascending: memory holds one block at a time.

    Attributes:
        run_ids: ascending; each has a score.
        query_ids: ascending; `all` alone where there are means of runs alone.
        measures: in the order in which they were asked for; each has a score.
        count: how many scores there are.
    """

    run_ids: list[str]
    query_ids: list[str]
    measures: list[str]
    count: int

    @abstractmethod
    def blocks(self) -> Iterator[ScoreBlock]:
        """Return the scores; each block, but the last one, has `step` runs."""

    @abstractmethod
    def of(self, measure: int) -> Float64[np.ndarray, "runs queries"]:
        """Return the scores by one measure, by its number; NaN where there is none."""

    @property
    def step(self) -> int:
        """How many runs a block has."""
        return max(1, ROWS // max(1, len(self.query_ids) * len(self.measures)))

    @property
    def means_alone(self) -> bool:
        """Whether there are no scores of queries."""
        return self.query_ids == [MEAN]

    @cached_property
    def in_rows(self) -> list[str]:
        """The measures in the order in which rows have them first."""
        first: dict[int, tuple[int, int]] = {}  # the row of a block with the score
        for number, block in enumerate(self.blocks()):
            keep = block.keep
            if keep is None:
                keep = np.ones((1, 1, len(self.measures)), bool)
            cells = keep.reshape(-1, len(self.measures))
            there = [i for i in np.flatnonzero(cells.any(0)) if i not in first]
            first |= {int(i): (number, int(cells[:, i].argmax())) for i in there}
            if len(first) == len(self.measures):
                break
        return [self.measures[i] for i in sorted(first, key=lambda i: (first[i], i))]

    def tables(self) -> Iterator[pa.Table]:
        """Return the rows of each block, by run, query and measure."""
        codes = None
        for block in self.blocks():
            if codes is None or len(codes[0]) < block.values.size:
                codes = _codes(block.values.shape)
            yield self._rows(block, codes)

    def frame(self) -> pd.DataFrame:
        """Lay all rows out as a table."""
        tables = [table.cast(_text()) for table in self.tables()]
        return pa.concat_tables([_text().empty_table(), *tables]).to_pandas()

    def rows_of(self, run_ids: Collection[str]) -> pd.DataFrame:
        """Lay the rows of some runs out as a table."""
        tables = []
        for block in self.blocks():
            here = [i for i, run in enumerate(block.run_ids) if run in run_ids]
            if here:
                runs = [block.run_ids[i] for i in here]
                keep = None if block.keep is None else block.keep[here]
                part = ScoreBlock(runs, block.values[here], keep)
                tables.append(self._rows(part, _codes(part.values.shape)).cast(_text()))
        return pa.concat_tables([_text().empty_table(), *tables]).to_pandas()

    def wide(self, measure: int) -> pd.DataFrame:
        """Lay one measure out: a row per run, a column per query; NaN where missing."""
        values = self.of(measure)
        here = ~np.isnan(values)
        runs, queries = (np.flatnonzero(here.any(axis)) for axis in (1, 0))
        if not here.all():
            values = values[runs][:, queries]
        index, columns = self._index
        axes = index.take(runs), columns.take(queries)
        return pd.DataFrame(values, *axes, copy=False)

    @cached_property
    def _index(self) -> tuple[pd.Index, pd.Index]:
        names = ("run_id", self.run_ids), ("query_id", self.query_ids)
        runs, queries = (pd.Index(n, dtype="str").rename(name) for name, n in names)
        return runs, queries

    def _rows(self, block: ScoreBlock, codes: Sequence[np.ndarray]) -> pa.Table:
        values, codes = (
            block.values.reshape(-1),
            [c[: block.values.size] for c in codes],
        )
        if block.keep is not None:
            kept = np.flatnonzero(block.keep)
            values, codes = values[kept], [c[kept] for c in codes]
        ids = block.run_ids, self.query_ids, self.measures
        columns: list[Any] = [
            pa.DictionaryArray.from_arrays(
                pa.array(c, pa.int32()), pa.array(names, pa.string()), safe=False
            )
            for c, names in zip(codes, ids, strict=True)
        ]
        return pa.table([*columns, pa.array(values)], schema=schema())


class TableScores(ScoreSource):
    """Scores of a table in memory, in the order of `ScoreSource.frame`."""

    def __init__(self, starts: np.ndarray, flat: np.ndarray, values: np.ndarray):
        """Take what `of_table` found."""
        self._starts, self._flat, self._values = starts, flat, values
        self.count = len(values)

    @classmethod
    def of_table(
        cls, table: pd.DataFrame, measures: Sequence[str]
    ) -> TableScores | None:
        """Take a table with these measures; None if its rows are in another order."""
        found = [pd.factorize(table[name]) for name in ("run_id", "query_id")]
        (runs, run_ids), (queries, query_ids) = found
        ascending = np.argsort(query_ids.to_numpy(object), kind="stable")
        numbers = np.empty(len(ascending), np.int64)
        numbers[ascending] = np.arange(len(ascending))
        places = pd.Index(measures).get_indexer(pd.Index(table["measure"]))
        width = len(query_ids) * len(measures)
        flat = runs * width + numbers[queries] * len(measures) + places
        if not (run_ids.is_monotonic_increasing and (np.diff(flat) > 0).all()):
            return None
        starts = np.searchsorted(runs, np.arange(len(run_ids) + 1))
        source = cls(starts, flat, table["value"].to_numpy(np.float64))
        source.run_ids, source.measures = run_ids.tolist(), list(measures)
        source.query_ids = query_ids[ascending].tolist()
        return source

    def blocks(self) -> Iterator[ScoreBlock]:
        """Return the scores of `step` runs at a time."""
        shape = len(self.query_ids), len(self.measures)
        for first in range(0, len(self.run_ids), self.step):
            runs = self.run_ids[first : first + self.step]
            rows = slice(*self._starts[[first, first + len(runs)]])
            values = np.zeros((len(runs), *shape))
            keep = np.zeros(values.shape, bool)
            here = self._flat[rows] - first * shape[0] * shape[1]
            values.reshape(-1)[here] = self._values[rows]
            keep.reshape(-1)[here] = True
            yield ScoreBlock(runs, values, None if keep.all() else keep)

    def of(self, measure: int) -> np.ndarray:
        """Return the scores by one measure."""
        parts = [np.zeros((0, len(self.query_ids)))]
        for block in self.blocks():
            values = block.values[..., measure]
            if block.keep is not None:
                values = np.where(block.keep[..., measure], values, np.nan)
            parts.append(values)
        return np.concatenate(parts)


def _codes(shape: tuple[int, int, int]) -> list[np.ndarray]:
    """Number run, query and measure of each score of a block."""
    axes = np.ogrid[tuple(map(slice, shape))]
    flat = (np.broadcast_to(axis.astype(np.int32), shape).reshape(-1) for axis in axes)
    return list(flat)
