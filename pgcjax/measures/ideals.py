"""Ideal rankings of PGC: peeled, optimal, or ordered by strengths."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from jaxtyping import Float64, Int32

from pgcjax.later import pd
from pgcjax.tensors import graphs as g

EQUAL = 2e-9
"""Largest difference of strengths within a level, because they are rounded to 1e-9."""

_GRAPHS = {"real": g.preference_graphs, "combined": g.combined_graphs}


def ordered_graphs(
    *tables: pd.DataFrame, graph: str, soft: str, ideal: str
) -> dict[str, g.Graph]:
    """Order the documents of each query weakly, by strengths from its graph.

    Args:
        tables: Tables of judgments for the graphs.
        graph: `real` or `combined`.
        soft: As in `tensors.graphs.preference_graphs`.
        ideal: One of `judging.choices.STRENGTHS`.
    """
    graphs = _GRAPHS[graph](*tables, soft=soft)
    # A document without an edge is neutral: a share of one half, or strength 0.
    unknown = 0.5 if ideal == "borda" else 0.0
    strength = {
        query: np.full(len(query_graph), unknown)
        for query, query_graph in graphs.items()
    }
    votes = _votes(graphs.values())
    if len(votes):
        from pgcjax.judging.models import strengths  # loads JAX, not needed for lists

        for name, rows in strengths(votes, ideal).groupby("query_id"):
            docs = pd.Index(graphs[str(name)].doc_ids)
            place = docs.get_indexer(rows["doc_id"].to_numpy())
            strength[str(name)][place] = rows["strength"]
    none = np.empty((0, 3), np.int64)
    return {
        query: g.Graph(query, query_graph.doc_ids, none, levels(strength[query]))
        for query, query_graph in graphs.items()
    }


def _votes(graphs: Iterable[g.Graph]) -> pd.DataFrame:
    """List the edges of graphs as judgments."""
    rows = []
    for graph in graphs:
        counts, docs = graph.edges(), graph.doc_ids
        better, worse = np.nonzero(counts)
        query = np.full(len(better), graph.query_id, object)
        weight = counts[better, worse] / graph.unit
        rows.append((query, docs[better], docs[worse], weight))
    names = "query_id", "doc_id", "other_doc_id", "weight"
    columns = map(np.concatenate, zip(*rows, strict=True))
    table = pd.DataFrame(dict(zip(names, columns, strict=True)))
    return table.assign(preference=1.0)


def levels(strength: Float64[np.ndarray, " n"]) -> Int32[np.ndarray, " n"]:
    """Number the levels of strengths from 0, ascending; see `EQUAL`."""
    order = np.argsort(strength, kind="stable")
    steps = np.diff(strength[order], prepend=strength[order][:1])
    level = np.empty(len(strength), np.int32)
    level[order] = np.cumsum(steps > EQUAL)
    return level
