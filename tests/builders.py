"""Small inputs in the forms that the package takes, and kernels called on them."""

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd

from pgcjax.kernels import ABSENT, levels, peel
from pgcjax.tables.preferences import read_preferences
from pgcjax.tables.runs import read_runs
from pgcjax.tensors.graphs import preference_graphs
from pgcjax.tensors.rankings import Rankings

peel_jit = jax.jit(
    lambda edges, ranks, where: peel.ideal_ranks(edges, ranks, where=where)
)
levels_jit = jax.jit(
    lambda level, ranks, where: levels.ideal_ranks(level, ranks, where=where)
)


def preferences_of(edges, query="q") -> pd.DataFrame:
    """Judgments as a table with the columns winner and loser."""
    winner, loser = zip(*edges, strict=True)
    return pd.DataFrame({"query_id": query, "winner": winner, "loser": loser})


def run_of(docs, query="q") -> dict:
    """A run of one query with the documents in the given order.

    A run cannot be without rows, so a document that nobody judged stands for none.
    """
    docs = list(docs) or ["nothing-judged"]
    return {query: {doc: -float(rank) for rank, doc in enumerate(docs)}}


def padded(array, shape, fill):
    """Pad at the end of every axis."""
    array = np.asarray(array)
    widths = [(0, n - m) for n, m in zip(shape, array.shape, strict=True)]
    return jnp.asarray(np.pad(array, widths, constant_values=fill))


def peel_ranks(edges, ranks, size=None) -> np.ndarray:
    """Ideal ranks by the peel kernel, padded to `size`; padding cut off again."""
    n = len(ranks)
    size = size or n
    out = peel_jit(
        padded(np.asarray(edges, np.int32).reshape(n, n), (size, size), 0),
        padded(np.asarray(ranks, np.int32), (size,), ABSENT),
        padded(np.ones(n, bool), (size,), False),
    )
    assert (np.asarray(out)[n:] == size).all()
    return np.asarray(out)[:n]


def level_ranks(level, ranks, size=None) -> np.ndarray:
    """Ideal ranks by the level kernel, padded to `size`; padding cut off again."""
    n = len(ranks)
    size = size or n
    out = levels_jit(
        padded(np.asarray(level, np.int32), (size,), 0),
        padded(np.asarray(ranks, np.int32), (size,), ABSENT),
        padded(np.ones(n, bool), (size,), False),
    )
    assert (np.asarray(out)[n:] == size).all()
    return np.asarray(out)[:n]


def ideal_of(edges, docs) -> list[str]:
    """The kernel's ideal ranking of one query and run, as document ids."""
    graph = preference_graphs(read_preferences(preferences_of(edges)))["q"]
    rankings = Rankings(read_runs(run_of(docs)), "trec")
    place = peel_ranks(graph.edges(), rankings.ranks("q", graph.doc_ids)[0])
    return [str(d) for d in graph.doc_ids[np.argsort(place)]]
