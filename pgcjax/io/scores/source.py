"""Scores of runs by queries and measures, some runs at a time: the one interface.

Every owner of scores makes groups of them: from the chunks of a job, the row groups of
a file, or a table in memory. `ScoreSource` lays groups out, runs ascending, as blocks,
as rows, or as a matrix of one measure.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache, lru_cache, partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Bool, Float64, Int64

from pgcjax.errors import DataError
from pgcjax.io.schema import SCORES
from pgcjax.io.scores.text import MEAN
from pgcjax.later import pa, pd

ROWS = 2**18
"""Most scores that are laid out, written and read at once; a run may have more."""
_OPEN = 32  # groups that stay open for the next block

Places: TypeAlias = slice | Int64[np.ndarray, " places"]
Values: TypeAlias = Float64[np.ndarray, "runs queries measures"]
Present: TypeAlias = Bool[np.ndarray, "runs queries measures"] | None
"""Mask of existing scores; None if all exist."""
ReadGroup: TypeAlias = Callable[[Places, list[int]], tuple[Values, Present]]
"""Returns the scores of some runs of a group, by their rows, and by some measures."""


class ScoreAxes(NamedTuple):
    """The queries, ascending, and the measures of a group of scores."""

    query_ids: list[str]
    measures: list[str]


class ScoreGroup(NamedTuple):
    """Scores of some runs, which are read when they are needed.

    Attributes:
        run_ids: Runs in the order of rows.
        axes: Queries and measures; groups with equal ones share the object.
        open: Returns the function that reads the scores.
    """

    run_ids: Sequence[str]
    axes: ScoreAxes
    open: Callable[[], ReadGroup]


class ScoreBlock(NamedTuple):
    """Scores of some runs, ascending, by all or some measures of a source."""

    run_ids: list[str]
    values: Values
    present: Present


@cache
def schema(ids: str = "numbered") -> pa.Schema:
    """Return the columns of scores, with ids `numbered` by dictionaries, or as text."""
    text = pa.string()
    id_ = pa.dictionary(pa.int32(), text) if ids == "numbered" else text
    types = {name: pa.float64() if name == "value" else id_ for name in SCORES}
    return pa.schema([pa.field(n, kind, nullable=False) for n, kind in types.items()])


class ScoreSource:
    """Scores in groups: memory holds a block of whole runs at a time.

    Attributes:
        groups: Groups with different runs.
        run_ids: Runs, ascending.
        query_ids: Queries, ascending; only `all` if there are means alone.
        measures: Measures, in the order in which they were requested.
        count: Number of scores.
        without: Runs of the groups that are left out.
        ordered: Whether the input has the rows in the order of `tables`.
    """

    def __init__(
        self,
        groups: Iterable[ScoreGroup],
        count: int,
        without: Collection[str] = (),
        ordered: bool = True,
    ):
        """Take groups of different runs."""
        self.groups, self.count, self.ordered = list(groups), count, ordered
        self.without = without
        places = sorted(
            (run, number, row)
            for number, group in enumerate(self.groups)
            for row, run in enumerate(group.run_ids)
            if run not in without
        )
        self.run_ids = [run for run, *_ in places]
        self._places = np.array([place for _, *place in places], int).reshape(-1, 2)
        self._last = np.zeros(len(self.groups), int)  # run of each group
        np.maximum.at(self._last, self._places[:, 0], np.arange(len(places)))
        every = list({id(group.axes): group.axes for group in self.groups}.values())
        self.query_ids = sorted({query for axes in every for query in axes.query_ids})
        self.measures = merged_order([axes.measures for axes in every])
        place = {query: i for i, query in enumerate(self.query_ids)}
        self._query_places = {
            id(axes): span(np.array([place[query] for query in axes.query_ids], int))
            for axes in every
        }

    @classmethod
    def joined(cls, sources: Sequence[ScoreSource]) -> ScoreSource:
        """Put sources of different runs together."""
        groups = (group for source in sources for group in source.groups)
        without = {run for source in sources for run in source.without}
        return cls(groups, sum(source.count for source in sources), without)

    @property
    def step(self) -> int:
        """Number of runs in a block."""
        return max(1, ROWS // max(1, len(self.query_ids) * len(self.measures)))

    @property
    def means_alone(self) -> bool:
        """Whether there are no scores of queries."""
        return self.query_ids == [MEAN]

    def blocks(self, run_ids: Collection[str] | None = None) -> Iterator[ScoreBlock]:
        """Yield blocks of the scores of all or some runs, of at most `step` runs."""
        places = np.arange(len(self.run_ids))
        if run_ids is not None:
            places = places[[run in run_ids for run in self.run_ids]]
        measures, opened = list(range(len(self.measures))), {}
        for first in range(0, len(places), self.step):
            yield self._read(places[first : first + self.step], measures, opened)

    def of(self, measure: int) -> Float64[np.ndarray, "runs queries"]:
        """Return the scores by the measure of a number; NaN where one is missing."""
        _, values, present = self._read(np.arange(len(self.run_ids)), [measure], {})
        if present is not None:
            values[~present] = np.nan
        return values[..., 0]

    def _read(
        self,
        runs: Int64[np.ndarray, " runs"],
        measures: list[int],
        opened: dict[int, ReadGroup],
    ) -> ScoreBlock:
        """Lay the scores of some runs out; `opened` groups stay for the next block."""
        shape = len(runs), len(self.query_ids), len(measures)
        # Filled at once: twice as fast as zeros, whose pages are allocated one by one.
        values, present = np.full(shape, 0.0), None  # until a score is missing
        places = self._places[runs]
        order = np.argsort(places[:, 0], kind="stable")
        numbers, starts = np.unique(places[order, 0], return_index=True)
        each = zip(numbers.tolist(), np.split(order, starts)[1:], strict=True)
        for number, here in each:
            group = self.groups[number]
            read = opened.pop(number, None) or group.open()
            if self._last[number] > runs[-1] and len(opened) < _OPEN:
                opened[number] = read
            place = {name: i for i, name in enumerate(group.axes.measures)}
            of_group = [place.get(self.measures[measure], -1) for measure in measures]
            columns = np.flatnonzero(np.array(of_group, int) >= 0)
            chosen = [of_group[i] for i in columns.tolist()]
            cells, there = read(span(places[here, 1]), chosen)
            queries = self._query_places[id(group.axes)]
            spots = _cells(shape, span(here), queries, span(columns))
            values[spots] = cells
            if present is None and (there is not None or cells.shape[1:] != shape[1:]):
                present = np.ones(shape, bool)
            if present is not None:
                present[here] = False
                present[spots] = True if there is None else there
        run_ids = [self.run_ids[i] for i in runs.tolist()]
        complete = present is None or present.all()
        return ScoreBlock(run_ids, values, None if complete else present)

    def tables(self, run_ids: Collection[str] | None = None) -> Iterator[pa.Table]:
        """Return the rows of each block, by run, query and measure."""
        return map(self._rows, self.blocks(run_ids))

    def _rows(self, block: ScoreBlock) -> pa.Table:
        columns = [block.values.reshape(-1), *_codes(block.values.shape)]
        if block.present is not None:
            rows = np.flatnonzero(block.present)
            columns = [column[rows] for column in columns]
        numbers, *codes = columns
        axes = block.run_ids, self.query_ids, self.measures
        ids: list[Any] = [
            pa.DictionaryArray.from_arrays(
                pa.array(code, pa.int32()), pa.array(axis, pa.string()), safe=False
            )
            for code, axis in zip(codes, axes, strict=True)
        ]
        return pa.table([*ids, pa.array(numbers)], schema=schema())

    def frame(self, run_ids: Collection[str] | None = None) -> pd.DataFrame:
        """Lay the rows of all runs, or some, out as a table."""
        tables = [table.cast(schema("text")) for table in self.tables(run_ids)]
        return pa.concat_tables([schema("text").empty_table(), *tables]).to_pandas()

    def wide(self, measure: int) -> pd.DataFrame:
        """Lay one measure out: a row per run, a column per query; NaN where missing."""
        values = self.of(measure)
        here = ~np.isnan(values)
        runs, queries = (np.flatnonzero(here.any(axis)) for axis in (1, 0))
        if not here.all():
            values = values[runs][:, queries]
        index = pd.Index(self.run_ids, dtype="str").rename("run_id").take(runs)
        columns = pd.Index(self.query_ids, dtype="str").rename("query_id")
        return pd.DataFrame(values, index, columns.take(queries), copy=False)


def of_table(table: pd.DataFrame, measures: Sequence[str]) -> ScoreSource:
    """Take a table in memory, in any order of rows, with these measures.

    Raises:
        DataError: a score occurs twice.
    """
    ids = [pd.factorize(table[name]) for name in SCORES[:3]]
    run_ids, query_ids = (sorted(names.tolist()) for _, names in ids[:2])
    cells = cells_of(ids, (run_ids, query_ids, measures))
    scores, width = table["value"].to_numpy(np.float64), len(query_ids) * len(measures)
    ordered = bool((cells[1:] > cells[:-1]).all())
    if not ordered:
        order = np.argsort(cells, kind="stable")
        cells, scores = cells[order], scores[order]
        if (repeats := cells[1:] == cells[:-1]).any():
            run, query, measure = table.iloc[order[repeats.argmax()]][[*SCORES[:3]]]
            raise DataError(
                f"scores run {run!r}, query {query!r} by {measure} twice",
                where="scores",
                mend="Keep one.",
            )
    axes, groups = ScoreAxes(query_ids, list(measures)), []
    step = max(1, ROWS // max(1, width))
    for first in range(0, len(run_ids), step):
        names = run_ids[first : first + step]
        ends = np.array([first, first + len(names)]) * width
        here = slice(*np.searchsorted(cells, ends))
        shape = len(names), len(query_ids), len(measures)
        read = partial(laid_out, cells[here] - first * width, scores[here], shape)
        groups.append(ScoreGroup(names, axes, read))
    return ScoreSource(groups, len(table), ordered=ordered)


def cells_of(
    ids: Iterable[tuple[np.ndarray, Iterable[str]]], axes: Iterable[Sequence[str]]
) -> Int64[np.ndarray, " scores"]:
    """Number scores by run, query and measure, which are given as codes and names.

    Raises:
        KeyError: a name is on no axis.
    """
    cells: Any = 0
    for (codes, names), axis in zip(ids, axes, strict=True):
        place = {name: i for i, name in enumerate(axis)}
        places = np.array([place[name] for name in names], np.int64)
        cells = cells * len(axis) + places[codes]
    return cells


def laid_out(
    cells: Int64[np.ndarray, " scores"],
    scores: Float64[np.ndarray, " scores"],
    shape: tuple[int, int, int],
) -> ReadGroup:
    """Lay scores out by their cells among runs, queries and measures.

    Raises:
        ValueError: two scores have the same cell. IndexError: a score has none.
    """
    if np.array_equal(cells, np.arange(np.prod(shape))):
        return dense(scores.reshape(shape))
    values, present = np.zeros(shape), np.zeros(shape, bool)
    values.reshape(-1)[cells], present.reshape(-1)[cells] = scores, True
    if present.sum() < len(scores):
        raise ValueError("a score is there twice")
    return dense(values, present)


def dense(values: Values, present: Present = None) -> ReadGroup:
    """Return the function that reads a group from arrays in memory."""

    def read(rows: Places, measures: list[int]) -> tuple[Values, Present]:
        columns = span(np.array(measures, int))
        there = None if present is None else present[rows][..., columns]
        return values[rows][..., columns], there

    return read


def merged_order(lists: Sequence[Sequence[str]]) -> list[str]:
    """Merge lists of names; each name stays behind the one before it in its list."""
    every: list[str] = []
    for names in lists:
        place = 0
        for name in names:
            if name not in every:
                every.insert(place, name)
            place = every.index(name) + 1
    return every


def span(places: np.ndarray) -> Places:
    """Convert adjacent places to a slice, which copies nothing."""
    if len(places) and (np.diff(places) == 1).all():
        return slice(int(places[0]), int(places[-1]) + 1)
    return places


def _cells(shape: tuple[int, ...], *places: Places) -> tuple:
    if all(isinstance(place, slice) for place in places):
        return places
    each = zip(shape, places, strict=True)
    return np.ix_(*(np.arange(size)[place] for size, place in each))


@lru_cache(1)
def _codes(shape: tuple[int, int, int]) -> list[np.ndarray]:
    """Number run, query and measure of each score of a block."""
    axes = np.ogrid[tuple(map(slice, shape))]
    flat = (np.broadcast_to(axis.astype(np.int32), shape).reshape(-1) for axis in axes)
    return list(flat)
