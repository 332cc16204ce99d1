"""Graphs × rankings → sums of weights: the only place with jit, vmap and shardings."""

from collections.abc import Callable, Mapping
from functools import cache

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from pgcjax import plan
from pgcjax.kernels import levels, peel, words
from pgcjax.tensors import forms
from pgcjax.tensors.graphs import Graph
from pgcjax.tensors.layout import padded_size
from pgcjax.tensors.rankings import Rankings

Progress = Callable[[str, int, int], None]


def overlap_sums(
    graphs: Mapping[str, Graph],
    rankings: Rankings,
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
    groups: dict[tuple[str, int], list[tuple[int, str, forms.Prepared]]] = {}
    for q, (name, graph) in enumerate(graphs.items()):
        if len(graph):
            ready = forms.prepare(graph)
            groups.setdefault((ready.form, ready.size), []).append((q, name, ready))
    done, total = 0, runs * sum(map(len, groups.values()))
    for (form, size), members in sorted(groups.items(), key=lambda item: item[0]):
        found = [
            rankings.retrieved(name, graphs[name].doc_ids) for _, name, _ in members
        ]
        width = size
        if form == "levels":
            width = padded_size(max(r.most() for r in found))
        q_tile, r_tile = plan.tile(
            len(members),
            runs,
            per_query=4 * size * (1 if form == "levels" else size),
            per_pair=48 * width,  # three int32 arrays, and as much again on the way
            devices=jax.local_device_count(),
            budget=budget,
        )
        for i in range(0, len(members), q_tile):
            some = [ready for _, _, ready in members[i : i + q_tile]]
            columns = [q for q, _, _ in members[i : i + q_tile]]
            fixed = _place(forms.batch_graphs(some, q_tile))
            for r in range(0, runs, r_tile):
                part = slice(r, min(r + r_tile, runs))
                moving, steps = forms.batch_rankings(
                    some, found[i : i + q_tile], part, (q_tile, r_tile), width
                )
                out = _run(form, fixed, _place(moving), _place(steps), weights)
                sums[part, columns] = out[: len(some), : part.stop - r].T
                done += len(some) * (part.stop - r)
                if progress:
                    progress("scoring", done, total)
    return sums


def _place(arrays):
    """Put arrays on the devices, cut along their first axis, the queries."""
    devices = Mesh(np.array(jax.local_devices()), ("query",))
    # int64 needs JAX's x64 mode: switched on around our calls alone, never for the
    # program that imports us.
    with jax.enable_x64(True):
        return jax.device_put(arrays, NamedSharding(devices, PartitionSpec("query")))


def _run(form: str, fixed, moving, steps, weights: np.ndarray) -> np.ndarray:
    with jax.enable_x64(True):
        batched = _batched(form, jax.local_device_count(), jax.default_backend())
        return np.asarray(batched(fixed, moving, steps, weights))


def _levels(fixed, moving, steps, weights):
    return levels.levelled_overlap(*fixed, *moving, steps, weights)


def _words(fixed, moving, steps, weights):
    rows, start, where = fixed
    return words.peeled_overlap(rows, start, *moving, steps, weights, where=where)


def _wide(fixed, moving, steps, weights):
    edges, where = fixed
    return peel.peeled_overlap(edges, *moving, weights, where=where)


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
                lambda query: over_runs(*query, weights), (fixed, moving, steps)
            )
        most = moving[0].shape[-1]
        return jax.vmap(lambda f, m: over_runs(f, m, most, weights))(fixed, moving)

    query, everywhere = PartitionSpec("query"), PartitionSpec()
    mesh = Mesh(np.array(jax.local_devices()), ("query",))
    return jax.jit(
        jax.shard_map(
            over_queries,
            mesh=mesh,
            in_specs=(query, query, query, everywhere),
            out_specs=query,
            check_vma=False,
        )
    )
