"""Graphs × rankings → sums of weights: the only place with jit, vmap and shardings."""

import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from pgcjax import plan
from pgcjax.kernels import levels, peel, words
from pgcjax.tensors import forms
from pgcjax.tensors.graphs import Graph
from pgcjax.tensors.layout import padded_size
from pgcjax.tensors.retrieved import Retrieved

if TYPE_CHECKING:
    from pgcjax.tensors.rankings import Rankings

Progress = Callable[[str, int, int], None]
_THREADS = min(4, os.cpu_count() or 1)
_BLOCK = 2**27  # bytes that matrices and their copies take while they are laid out


def overlap_sums(
    graphs: Mapping[str, Graph],
    rankings: "Rankings",
    weights: np.ndarray,
    *,
    budget: int = plan.BUDGET,
    progress: Progress | None = None,
) -> np.ndarray:
    """Add up RBO weights of every run with its nearest ideal ranking of every query.

    Queries are grouped by form and padded size, cut into tiles that fit `budget`
    bytes, and spread over all local devices. Sums are of integers: no cut changes them.

    Returns:
        int64 `[runs, queries]`, queries in the order of `graphs`; 0 for empty graphs.
    """
    runs = len(rankings.run_ids)
    sums = np.zeros((runs, len(graphs)), np.int64)
    done, total = 0, runs * sum(len(graph) > 0 for graph in graphs.values())
    # Threads, because laying out a tile and computing another use different things.
    with ThreadPoolExecutor(_THREADS) as pool:
        for block in _blocks(graphs):
            tiles = _tiles(block, graphs, rankings, budget)
            for some, part in pool.map(lambda tile: _tile_sums(tile, weights), tiles):
                sums[:, some] = part
                done += part.size
                if progress:
                    progress("scoring", done, total)
    return sums


_Member = tuple[int, forms.Prepared, Retrieved]


def _blocks(graphs: Mapping[str, Graph]) -> Iterator[list[tuple[int, str]]]:
    """Cut queries, by size, into blocks that are laid out at the same time."""
    sizes = sorted(
        (padded_size(len(graph)), column, name)
        for column, (name, graph) in enumerate(graphs.items())
        if len(graph)
    )
    block: list[tuple[int, str]] = []
    for i, (size, column, name) in enumerate(sizes):
        block.append((column, name))
        last = i + 1 == len(sizes) or sizes[i + 1][0] != size
        if last or len(block) * 32 * size * size > _BLOCK:
            yield block
            block = []


class _Tile(NamedTuple):
    """Some queries of one form and size, for all runs.

    Attributes:
        members: column, graph and rankings of each query.
        shape: numbers of queries and runs that are computed at once.
        width: padded number of documents in a ranking.
    """

    members: list[_Member]
    shape: tuple[int, int]
    width: int


def _tiles(
    queries: list[tuple[int, str]],
    graphs: Mapping[str, Graph],
    rankings: "Rankings",
    budget: int,
) -> Iterator[_Tile]:
    some = [graphs[name] for _, name in queries]
    prepared = forms.prepare(some, padded_size(max(map(len, some))))
    groups: dict[tuple[str, int], list[_Member]] = {}
    for (column, name), ready in zip(queries, prepared, strict=True):
        member = column, ready, rankings.retrieved(name, graphs[name].doc_ids)
        groups.setdefault((ready.form, ready.size), []).append(member)
    for (form, size), members in sorted(groups.items(), key=lambda item: item[0]):
        width = size
        if form == "levels":
            width = padded_size(max(found.most() for _, _, found in members))
        per_tile, runs = plan.tile(
            len(members),
            len(rankings.run_ids),
            per_query=4 * size * (1 if form == "levels" else size),
            per_pair=48 * width,  # three int32 arrays, and as much again on the way
            devices=jax.local_device_count(),
            budget=budget,
        )
        for i in range(0, len(members), per_tile):
            yield _Tile(members[i : i + per_tile], (per_tile, runs), width)


def _tile_sums(tile: _Tile, weights: np.ndarray) -> tuple[list[int], np.ndarray]:
    """Compute a tile: the columns of its queries, and sums `[runs, queries]`."""
    columns, graphs, found = (list(x) for x in zip(*tile.members, strict=True))
    fixed = _place(forms.batch_graphs(graphs, tile.shape[0]))
    parts = []
    for low in range(0, found[0].runs, tile.shape[1]):
        runs = slice(low, min(low + tile.shape[1], found[0].runs))
        moving, steps = forms.batch_rankings(
            graphs, found, runs, tile.shape, tile.width
        )
        out = _run(graphs[0].form, fixed, _place(moving), _place(steps), weights)
        parts.append(out[: len(columns), : runs.stop - low].T)
    return columns, np.concatenate(parts)


def _place(arrays):
    """Cut arrays along their first axis, the queries, over all devices."""
    if jax.local_device_count() == 1:
        return arrays  # the call brings them there, sooner
    mesh = Mesh(np.array(jax.local_devices()), ("query",))
    with jax.enable_x64(True):
        return jax.device_put(arrays, NamedSharding(mesh, PartitionSpec("query")))


def _run(form: str, fixed, moving, steps, weights: np.ndarray) -> np.ndarray:
    # int64 needs JAX's x64 mode: switched on around our calls alone, never for the
    # program that imports us.
    with jax.enable_x64(True):
        batched = _batched(form, jax.local_device_count(), jax.default_backend())
        return np.asarray(batched(fixed, moving, steps, weights))


def _levels(fixed, moving, steps, weights):
    (starts,), (level, ranks) = fixed, moving
    return levels.levelled_overlap(starts, level, ranks, steps, weights)


def _words(fixed, moving, steps, weights):
    (rows, start, where), (order, inverse, ranks) = fixed, moving
    return words.peeled_overlap(
        rows, start, order, inverse, ranks, steps, weights, where=where
    )


def _wide(fixed, moving, steps, weights):
    (edges, where), (ranks,) = fixed, moving
    return peel.peeled_overlap(edges, ranks, weights, where=where)


@cache
def _batched(form: str, devices: int, backend: str) -> Callable:
    """Map a kernel of one query and one run over queries, and runs inside.

    On CPU queries follow each other, each with as many steps as it needs; elsewhere
    all are computed at once, with as many steps as there are places.
    """
    kernel = {"levels": _levels, "words": _words, "wide": _wide}[form]
    over_runs = jax.vmap(kernel, in_axes=(None, 0, None, None))

    def over_queries(fixed, moving, steps, weights):
        if backend == "cpu":
            return jax.lax.map(
                lambda query: over_runs(query[0], query[1], query[2], weights),
                (fixed, moving, steps),
            )
        most = moving[0].shape[-1]
        return jax.vmap(lambda f, m: over_runs(f, m, most, weights))(fixed, moving)

    if devices == 1:
        return jax.jit(over_queries)
    query, everywhere = PartitionSpec("query"), PartitionSpec()
    return jax.jit(
        jax.shard_map(
            over_queries,
            mesh=Mesh(np.array(jax.local_devices()), ("query",)),
            in_specs=(query, query, query, everywhere),
            out_specs=query,
            check_vma=False,
        )
    )
