"""Graphs of replicates, built and peeled on devices: what is compiled."""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from pgcjax.engine import plan
from pgcjax.kernels import peel, peel_packed
from pgcjax.later import Array, jax, jnp
from pgcjax.runtime.programs import Program


class Redrawn(NamedTuple):
    """Graphs of replicates of a query, on the device.

    Attributes:
        edges: judgments that prefer one vertex to another.
        out: degrees.
        into: likewise.
        where: True for vertices; a document without edges is none, but by its grade.
    """

    edges: Array
    out: Array
    into: Array
    where: Array


def _redrawn(fixed, kept, cells, counts) -> Redrawn:
    """Build the graphs of several replicates."""
    n = fixed.shape[-1]
    start = jnp.broadcast_to(fixed.reshape(-1), (len(counts), n * n))
    edges = start.at[:, cells].add(counts, mode="drop").reshape(-1, n, n)
    out, into = edges.sum(2, dtype=jnp.int32), edges.sum(1, dtype=jnp.int32)
    return Redrawn(edges, out, into, (out + into > 0) | kept[None, :])


def _packed(graph, run, steps, weights):
    words = (graph.out << peel_packed.OUT) + (graph.into << peel_packed.IN)
    rows = (graph.edges.T << peel_packed.OUT) + (graph.edges << peel_packed.IN)
    runs = run.order, run.inverse, run.ranks
    return peel_packed.peeled_overlap(
        *(rows, words, *runs), *(steps, weights), where=graph.where
    )


def _wide(graph, run, steps, weights):
    del steps
    ranks = run.ranks[run.order]  # of each vertex
    return peel.peeled_overlap(graph.edges, ranks, weights, where=graph.where)


@cache
def replicate_program(form: str, devices: int, backend: str) -> Callable:
    """Map a kernel over queries, and for each over replicates and runs inside.

    Returns:
        A function of arrays cut along queries, and shared ones, that gives sums of
        weights, int64 `[queries, replicates, runs]`, and numbers of vertices.
    """
    kernel = {"packed": _packed, "wide": _wide}[form]

    def program(cut, shared):
        (weights,) = shared
        over_runs = jax.vmap(kernel, in_axes=(None, 0, None, None))

        def of_query(arrays):
            fixed, kept, cells, counts, runs = arrays
            count, (number, size) = len(counts), runs.order.shape
            together, at_once = count, number
            if backend == "cpu":
                together, at_once = plan.side_by_side(count, number, size)

            def few(counts):
                graphs = _redrawn(fixed, kept, cells, counts)
                sizes = graphs.where.sum(-1, dtype=jnp.int32)
                if at_once == number:
                    over = jax.vmap(over_runs, in_axes=(0, None, None, None))
                    # A number that depends on data a GPU would be asked at each step.
                    steps = sizes.max() if backend == "cpu" else size
                    return over(graphs, runs, steps, weights), sizes
                graph = jax.tree.map(lambda x: x[0], graphs)
                sums = jax.lax.map(
                    lambda run: kernel(graph, run, sizes[0], weights),
                    runs,
                    batch_size=at_once,
                )
                return sums[None], sizes

            parts = counts.reshape(-1, together, counts.shape[-1])
            sums, sizes = jax.lax.map(few, parts)
            return sums.reshape(count, number), sizes.reshape(count)

        return jax.lax.map(of_query, cut)

    return Program(program, devices)
