"""Rankings → preferences between all pairs of them: what is computed at once."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache, partial
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float64, Int

from pgcjax.engine import plan
from pgcjax.errors import Progress
from pgcjax.kernels import ABSENT
from pgcjax.kernels.ranking_preferences import differences
from pgcjax.later import jax, jnp
from pgcjax.measures.between_rankings import PairTensors
from pgcjax.runtime.devices import default_backend, local_device_count, place
from pgcjax.runtime.loop import Call, results
from pgcjax.runtime.programs import Program
from pgcjax.tensors.flat_runs import Retrieved
from pgcjax.tensors.positions import Level, Levels, padded, whole_weights
from pgcjax.tensors.rankings import Rankings

_SIDE = 32  # rankings on a side of a tile: its arrays stay in a core's first cache
_REMEMBERED = 2048  # tiles whose pairs are cached for all queries
_TILES = (4, 16, 64)  # of a call, on each device: few numbers, so few programs


class Preferred(NamedTuple):
    """Preferences of one query.

    Attributes:
        query: Name of the query.
        measure: Number of the measure.
        values: Preference of the first run of each pair over the second.
    """

    query: str
    measure: int
    values: Float64[np.ndarray, " pairs"]


class _Task(NamedTuple):
    """Measures with the same levels, which are computed together.

    Attributes:
        levels: Levels of all queries.
        weighed: Numbers of the measures that are sums of weights, and their weights.
        others: Numbers of the other measures, and their kernels.
    """

    levels: Levels
    weighed: list[tuple[int, Callable[[int], np.ndarray]]]
    others: list[tuple[int, Callable[..., Any]]]


class _LaidOutQuery(NamedTuple):
    """A query that is laid out.

    Attributes:
        name: the query.
        positions: Positions of each level, `[runs, width]`, both padded.
        weights: Weights of each level, `[weighed measures, width]`.
        factor: Factor of the preferences of a level, by measure.
        total: Divisor of the sum over levels, by measure.
    """

    name: str
    positions: list[np.ndarray]
    weights: list[np.ndarray]
    factor: Float64[np.ndarray, "levels measures"]
    total: Float64[np.ndarray, " measures"]


class _Tiles(NamedTuple):
    """Tiles of a query that a call computes.

    Attributes:
        level: number of the level of each.
        first: first run of its rows.
        second: first run of its columns.
    """

    level: Int[np.ndarray, " tiles"]
    first: Int[np.ndarray, " tiles"]
    second: Int[np.ndarray, " tiles"]


def compare(
    measures: Sequence[PairTensors],
    rankings: Rankings,
    runs: np.ndarray,
    *,
    budget: int = plan.BUDGET,
    progress: Progress | None = None,
) -> Iterator[Preferred]:
    """Compare all pairs of runs, query by query.

    The value of a pair depends only on its two rankings, to the bit.

    Args:
        measures: Measures of two rankings.
        rankings: Rankings of judged documents, including those of the levels.
        runs: Runs, in order; pairs are those of `np.triu_indices(len(runs), 1)`.
        budget: Bytes that the arrays of a call may take.
        progress: called with `("comparing", done, total)`.

    Yields:
        Preferences by each measure on each query with relevant documents; for a
        measure, queries ascend.
    """
    tasks = _tasks(measures)
    done, total = 0, sum(sum(map(bool, t.levels.of_query.values())) for t in tasks)
    for task in tasks:
        numbers = [number for number, _ in (*task.weighed, *task.others)]
        for query, sums in _summed(task, rankings, runs, budget, progress):
            for number, of_measure, over in zip(
                numbers, sums, query.total, strict=True
            ):
                yield Preferred(query.name, number, of_measure / over)
            done += 1
            if progress:
                progress("comparing", done, total)


def _tasks(measures: Sequence[PairTensors]) -> list[_Task]:
    tasks: dict[int, _Task] = {}
    for number, tensors in enumerate(measures):
        task = tasks.setdefault(id(tensors.levels), _Task(tensors.levels, [], []))
        if tensors.weigh:
            task.weighed.append((number, tensors.weigh))
        if tensors.kernel:
            task.others.append((number, tensors.kernel))
    return list(tasks.values())


def _summed(
    task: _Task,
    rankings: Rankings,
    runs: np.ndarray,
    budget: int,
    progress: Progress | None,
) -> Iterator[tuple[_LaidOutQuery, Float64[np.ndarray, "measures pairs"]]]:
    """Add up the levels of each query, in their order."""
    count = len(runs)
    query: _LaidOutQuery | None = None
    sums = np.zeros((0, 0))
    calls = _calls(task, rankings, runs, budget)
    pairs_of = lru_cache(_REMEMBERED)(partial(_pairs_of, count))
    for (of, tiles), part in results(calls, progress=progress):
        if of is not query:
            if query:
                yield query, sums
            query, sums = of, np.zeros((len(of.total), count * (count - 1) // 2))
        part = np.asarray(part)  # of JAX, if the program is new
        for level, first, second, values in zip(*tiles, part, strict=False):
            cell, pair = pairs_of(int(first), int(second), values.shape[1])
            values = values.reshape(len(values), -1)[:, cell]
            sums[:, pair] += values * of.factor[level][:, None]
    if query:
        yield query, sums


def _pairs_of(
    count: int, first: int, second: int, side: int
) -> tuple[np.ndarray, np.ndarray]:
    """List the cells of a tile that are pairs of runs, and the numbers of these."""
    i, j = np.divmod(np.arange(side * side), side)
    i, j = i + first, j + second
    cell = np.flatnonzero((i < j) & (j < count))
    pair = i * count - i * (i + 1) // 2 + j - i - 1
    return cell, pair[cell]


def _calls(
    task: _Task, rankings: Rankings, runs: np.ndarray, budget: int
) -> Iterator[Call]:
    """Lay out the queries of a task, in order."""
    retrieved = rankings.retrieved(task.levels.docs)
    side = min(_SIDE, plan.settings.lists, 1 << (len(runs) - 1).bit_length())
    devices, kernels = local_device_count(), tuple(k for _, k in task.others)
    for name, levels in task.levels.of_query.items():
        if not levels:
            continue
        query = _laid_out(name, levels, task, retrieved[name], runs, side)
        measures = len(query.total)
        # An empty call keeps a query in which no run finds anything.
        none = np.zeros(0, np.int64)
        yield Call((query, _Tiles(none, none, none)), tuple, apart=False)
        for width, tiles in _tiles_of(query, side):
            most = _at_once(len(tiles.level), side, width, measures, budget)
            for low in range(0, len(tiles.level), most * devices):
                part = _Tiles(*(x[low : low + most * devices] for x in tiles))
                cut = _cut(query, part, side, most * devices)
                steps = np.clip(len(part.level) - most * np.arange(devices), 0, most)
                make = partial(_preferences, kernels, (*cut, steps.astype(np.int32)))
                program = kernels, side, width, most, measures, devices
                yield Call((query, part), make, program)


def _laid_out(
    name: str,
    levels: Sequence[Level],
    task: _Task,
    retrieved: Retrieved,
    runs: np.ndarray,
    side: int,
) -> _LaidOutQuery:
    positions = [padded(level.positions(retrieved, runs), side) for level in levels]
    weights = [np.zeros((len(task.weighed), x.shape[1])) for x in positions]
    of_level = np.array([level.weight for level in levels])
    factor = np.ones((len(levels), len(task.weighed) + len(task.others)))
    factor[:, len(task.weighed) :] = of_level[:, None]
    total = factor.sum(axis=0)
    for k, (_, weigh) in enumerate(task.weighed):
        each = [weigh(level.size) for level in levels]
        whole, total[k] = whole_weights(levels, each)
        for row, weight in zip((x[k] for x in weights), whole, strict=True):
            row[: len(weight)] = weight[: len(row)]
    return _LaidOutQuery(name, positions, weights, factor, total)


def _tiles_of(query: _LaidOutQuery, side: int) -> Iterator[tuple[int, _Tiles]]:
    """List the tiles of levels in which a run finds anything, with their width.

    Levels stay in order: consecutive levels of one width are together.
    """
    starts = np.arange(0, len(query.positions[0]), side)
    a, b = np.triu_indices(len(starts))
    widths = [x.shape[1] for x in query.positions]
    judged = [i for i, x in enumerate(query.positions) if x.min() < ABSENT]
    for width, group in groupby(judged, widths.__getitem__):
        levels = np.array([*group])
        first, second = (np.tile(starts[x], len(levels)) for x in (a, b))
        yield width, _Tiles(np.repeat(levels, len(a)), first, second)


def _at_once(tiles: int, side: int, width: int, measures: int, budget: int) -> int:
    """Choose how many tiles a device has in a call."""
    each = -(-tiles // local_device_count())
    most = next((n for n in _TILES if n >= each), _TILES[-1])
    per_tile = side * (8 * side * (measures + 4) + 8 * width) + 8 * measures * width
    while most > 1 and most * per_tile > budget // 8:
        most //= 2
    return most


def _cut(
    query: _LaidOutQuery, tiles: _Tiles, side: int, room: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, columns and weights of tiles, with room for `room` of them."""
    measures, width = query.weights[tiles.level[0]].shape
    rows, columns = np.full((2, room, side, width), ABSENT, np.int32)
    weights = np.zeros((room, measures, width))
    for i, (level, first, second) in enumerate(zip(*tiles, strict=True)):
        positions = query.positions[level]
        rows[i], columns[i] = (positions[x : x + side] for x in (first, second))
        weights[i] = query.weights[level]
    return rows, columns, weights


def _preferences(kernels: tuple[Callable[..., Any], ...], cut: Any) -> Any:
    return preference_program(kernels, local_device_count())(place(cut), ())


@cache
def preference_program(
    kernels: tuple[Callable[..., Any], ...], devices: int
) -> Callable:
    """Map the kernels of a pair over the rows and columns of tiles."""

    def of_pair(x, y, weights):
        where = differences(x, y, tuple(weights))
        return (*where.sums, *(kernel(x, y, where) for kernel in kernels))

    def of_tile(rows, columns, weights):
        over_columns = jax.vmap(of_pair, (None, 0, None))
        over_rows = jax.vmap(over_columns, (0, None, None))
        return jnp.stack(over_rows(rows, columns, weights))

    def of_tiles(cut, _):
        rows, columns, weights, steps = cut
        if default_backend() != "cpu":
            return jax.vmap(of_tile)(rows, columns, weights)

        def step(i, out):
            return out.at[i].set(of_tile(rows[i], columns[i], weights[i]))

        shape = jax.eval_shape(of_tile, rows[0], columns[0], weights[0]).shape
        out = jnp.zeros((len(rows), *shape), weights.dtype)
        return jax.lax.fori_loop(0, steps[0], step, out)

    return Program(of_tiles, devices)
