"""Image measures over whole tables: by evaluate, and sums by either kernel."""

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd

import pgcjax
from helpers.builders import as_form
from pgcjax.kernels import ABSENT, image
from pgcjax.tensors import grids as g
from pgcjax.tensors.graphs import preference_graphs
from pgcjax.tensors.padding import padded_size, stack


def _packed(fixed, moving, weights):
    (rows, start, where), (place, inverse, first) = fixed, moving
    by_place = first[inverse]
    return image.packed_overlap(
        rows, start, place, inverse, by_place, weights, where=where
    )


def _wide(fixed, moving, weights):
    (edges, where), (place, _, first) = fixed, moving
    return image.peeled_overlap(edges, place, first, weights, where=where)


def _mapped(kernel):
    over_grids = jax.vmap(kernel, in_axes=(None, 0, None))
    return jax.jit(jax.vmap(over_grids, in_axes=(0, 0, None)))


PGC = {"packed": _mapped(_packed), "wide": _mapped(_wide)}


def overlaps(grids, votes, orders, weights, *, shared=False, form="packed", size=0):
    """Sums of weights: int64 [orders, runs, queries], with the runs and queries."""
    graphs = preference_graphs(votes)
    docs = {query: graph.doc_ids for query, graph in graphs.items()}
    n = max(size, padded_size(max(map(len, graphs.values()))))
    fixed = tuple(as_form(form, [*graphs.values()], n))
    parts, shown = [], g.Shown(grids, docs)
    run_ids = shown.run_ids
    for order in orders:
        placed = shown.placed(order, shared=shared)
        shape = len(graphs), len(run_ids), n
        place = stack([placed[q].place for q in graphs], shape, -1)
        number = np.arange(n, dtype=np.int32)
        place = np.where(place < 0, number, place)  # padding comes last
        first = stack([placed[q].first for q in graphs], shape, ABSENT)
        parts.append((place, np.argsort(place, axis=2).astype(np.int32), first))
    moving = tuple(np.concatenate(part, axis=1) for part in zip(*parts, strict=True))
    with jax.enable_x64(True):
        sums = np.asarray(PGC[form](fixed, moving, weights))
    sums = sums.reshape(len(graphs), len(orders), len(run_ids))
    return np.moveaxis(sums, 0, 2), run_ids, list(graphs)


def image_pgc(grids, votes, orders, *, p=0.95, depth=1000, shared=False):
    """Scores of image PGC: run_id, query_id, measure (the order), value."""
    ideal = "shared" if shared else "own"
    names = {
        f"ImagePGC(p={p},depth={depth},order={order},ideal={ideal})": order
        for order in orders
    }
    scores = pgcjax.evaluate(grids, preferences=votes, measures=names)
    return scores.table.replace({"measure": names})


def xie_measures(grids, votes, *, split="tie", first_rank=0):
    """Scores of PMR, WR, PB and PWP: run_id, query_id, measure, value."""
    how = f"first_rank={first_rank},split={split}"
    names = {f"PMR(variant={v},{how})": f"PMR_{v}" for v in "DWMN"}
    names |= {f"{name}(split={split})": name for name in ("WR", "PB", "PWP")}
    half = f"PB(gamma=0.5,split={split})"
    scores = pgcjax.evaluate(grids, preferences=votes, measures=[*names, half])
    table = scores.table.replace({"measure": names})
    bad = table[table.measure == half]
    bad = bad.assign(measure="bad", value=-np.log2(bad["value"].replace(0, 1)))
    return pd.concat([table[table.measure != half], bad], ignore_index=True)


def list_ranks(first, ideal) -> list[int]:
    """Ranks of one list by the kernel."""
    where = jnp.ones(len(first), bool)
    ranks = image.list_ranks(jnp.asarray(first), jnp.asarray(ideal), where=where)
    return np.asarray(ranks).tolist()
