"""Ranked lists × what is known of their documents → scores, by any kernel of lists."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from pgcjax import plan
from pgcjax.calls import THREADS, Progress, over_devices, place, start
from pgcjax.kernels import ABSENT
from pgcjax.kernels.seen import Seen
from pgcjax.measures.spec import Measure
from pgcjax.tensors.judgments import Lists
from pgcjax.tensors.layout import padded_size, stack
from pgcjax.tensors.retrieved import listed

if TYPE_CHECKING:
    from pgcjax.tensors.rankings import Rankings

_REACHES = (32, 128, 512)  # ranks; deeper measures are computed apart from shallow ones
_Shapes = tuple[tuple[str, tuple[int, ...]], ...]  # of arrays, by name


class Kernel(NamedTuple):
    """The kernel of a measure, and what it is compiled for.

    Attributes:
        score: see `tensors.judgments.Lists`.
        parameters: name and value of each.
        depth: last rank that counts; None if all do.
    """

    score: Callable[..., Any]
    parameters: tuple[tuple[str, Any], ...]
    depth: int | None


class Group(NamedTuple):
    """Measures that look at the same documents, about as deep: computed in one call.

    Attributes:
        places: of each measure among all.
        kernels: of each.
        tensors: of each.
        depth: last rank that counts for any; None if all do.
    """

    places: list[int]
    kernels: tuple[Kernel, ...]
    tensors: list[Lists]
    depth: int | None


def groups(measures: Sequence[Measure], tensors: Sequence[Any]) -> list[Group]:
    """Put measures of lists together that are computed in one call."""
    found: dict[tuple[int, int | None], list[int]] = {}
    for i, tensor in enumerate(tensors):
        if isinstance(tensor, Lists):
            reach = next((d for d in _REACHES if (tensor.depth or 1e9) <= d), None)
            found.setdefault((id(tensor.docs), reach), []).append(i)

    def kernel(i: int) -> Kernel:
        parameters = tuple(measures[i].parameters.items())
        return Kernel(tensors[i].kernel, parameters, tensors[i].depth)

    return [
        Group(some, tuple(map(kernel, some)), [tensors[i] for i in some], depth)
        for (_, depth), some in found.items()
    ]


def scores(
    group: Group,
    rankings: "Rankings",
    *,
    most_runs: int = 0,
    budget: int = plan.BUDGET,
    progress: Progress | None = None,
) -> list[np.ndarray]:
    """Score every run for every query.

    Args:
        group: the measures.
        rankings: the runs.
        most_runs: of other calls, whose shapes, and so programs, this one has.
        budget: bytes of a tile.
        progress: called with `("scoring", done, total)`.

    Returns:
        For each measure float64 `[runs, queries]`, queries in the order of its `docs`.
    """
    docs = group.tensors[0].docs
    runs = len(rankings.run_ids)
    out = np.zeros((len(group.kernels), len(docs), runs))
    done = 0

    def collect(columns: list[int], some: slice, part: Callable) -> None:
        nonlocal done
        for values, mine in zip(out, part(), strict=True):
            values[columns, some] = mine[: len(columns), : some.stop - some.start]
        done += len(columns) * (some.stop - some.start)
        if progress:
            progress("scoring", done, len(docs) * runs)

    # This thread lays tiles out, while others compute those before.
    pending: deque[tuple[list[int], slice, Callable]] = deque()
    for columns, some, key, arguments in _tiles(group, rankings, most_runs, budget):
        part = start(key, partial(_call, *key[:2], *arguments), progress)
        pending.append((columns, some, part))
        if len(pending) > 2 * THREADS:
            collect(*pending.popleft())
    while pending:
        collect(*pending.popleft())
    return [np.ascontiguousarray(values.T) for values in out]


def _tiles(
    group: Group, rankings: "Rankings", most_runs: int, budget: int
) -> Iterator[tuple[list[int], slice, tuple, tuple]]:
    """Lay out tiles: which queries and runs, what is compiled, what `_call` takes."""
    docs = group.tensors[0].docs
    names, runs = list(docs), len(rankings.run_ids)
    found = list(rankings.retrieved(docs).values())
    last = rankings.last
    which, weights = _weights(group.tensors, group.depth or 1 << last.bit_length())
    widths = [_width(f.most(group.depth)) for f in found]
    for width in sorted(set(widths), reverse=True):
        columns = [i for i, w in enumerate(widths) if w == width]
        # One shape for all of a width, so that they have one program.
        shapes = [_shapes(t, [names[i] for i in columns]) for t in group.tensors]
        axes = [axis for each in shapes for _, shape in each for axis in shape]
        queries, some = plan.tile(
            len(columns),
            max(runs, most_runs),
            per_query=8 * sum(int(np.prod(x)) for each in shapes for _, x in each),
            per_pair=64 * max(width, *axes, 0),
            devices=jax.local_device_count(),
            budget=budget,
        )
        key = group.kernels, which, (queries, some, width), tuple(shapes)
        key = *key, tuple(map(len, weights)), jax.local_device_count()
        for low in range(0, len(columns), queries):
            mine = columns[low : low + queries]
            fixed = place(
                _stacked(group.tensors, [names[i] for i in mine], shapes, queries)
            )
            length = np.array([rankings.lengths(names[i]) for i in mine])
            for first in range(0, runs, some):
                part = slice(first, min(first + some, runs))
                lists = listed(
                    [found[i] for i in mine], part, (queries, some), width, group.depth
                )
                lengths = stack([*length[:, part]], (queries, some), 0)
                yield mine, part, key, (fixed, place((*lists, lengths)), weights)


def _width(n: int) -> int:
    """Round the length of a list up to one of few."""
    width = 16
    while width < n:
        width *= 4
    return width


def _axis(n: int) -> int:
    """Round the length of an axis up: documents, but intents, too."""
    return padded_size(n) if n > 8 else 1 << max(0, n - 1).bit_length()


def _shapes(tensor: Lists, names: Sequence[str]) -> _Shapes:
    """Give the padded shapes that hold the arrays of some queries."""
    shapes = {
        key: [np.shape(tensor.arrays[name][key]) for name in names]
        for key in tensor.arrays[names[0]]
    }
    return tuple(
        (key, tuple(_axis(max(axis)) for axis in zip(*each, strict=True)))
        for key, each in shapes.items()
    )


def _stacked(
    tensors: Sequence[Lists], names: Sequence[str], shapes: Sequence[_Shapes], tile: int
) -> list[dict[str, np.ndarray]]:
    """Stack the arrays of some queries, padded with zeros, by name."""
    return [
        {
            key: stack(
                [np.asarray(tensor.arrays[name][key]) for name in names],
                (tile, *shape),
                0,
            )
            for key, shape in each
        }
        for tensor, each in zip(tensors, shapes, strict=True)
    ]


def _weights(
    tensors: Sequence[Lists], depth: int
) -> tuple[tuple[int, ...], list[np.ndarray]]:
    """Give tables of the weights of ranks 0..depth, and which is each measure's."""
    tables: dict[bytes, np.ndarray] = {}
    which = []
    for tensor in tensors:
        table = tensor.by_rank(depth) if tensor.by_rank else np.zeros(1)
        tables.setdefault(table.tobytes(), table)
        which.append(list(tables).index(table.tobytes()))
    return tuple(which), list(tables.values())


def _call(kernels: tuple["Kernel", ...], which: tuple[int, ...], *arguments) -> tuple:
    with jax.enable_x64(True):
        return _program(kernels, which, jax.local_device_count())(*arguments)


@cache
def _program(
    kernels: tuple["Kernel", ...], which: tuple[int, ...], devices: int
) -> Callable:
    """Map the kernels of some measures over queries, and runs inside."""

    def scores_of_one(fixed, lists, weights):
        vertex, rank, length = lists
        out = []
        for kernel, arrays, i in zip(kernels, fixed, which, strict=True):
            where = (rank > 0) & (rank <= (kernel.depth or ABSENT))
            last = weights[i].shape[0] - 1
            weight = weights[i][jnp.minimum(rank, last)]
            seen = Seen(vertex, rank, where, weight, length)
            out.append(kernel.score(seen, arrays, dict(kernel.parameters)))
        return tuple(out)

    over_runs = jax.vmap(scores_of_one, in_axes=(None, 0, None))

    def over_queries(fixed, lists, weights):
        return jax.vmap(over_runs, in_axes=(0, 0, None))(fixed, lists, weights)

    return over_devices(over_queries, devices)
