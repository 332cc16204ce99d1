"""Image measures over whole tables: the kernels, mapped over queries, systems, orders.

Only what tests need: it stands where the engine will stand.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd

from helpers.builders import as_form
from pgcjax.judging.majority import majority
from pgcjax.kernels import ABSENT, image
from pgcjax.kernels.rbo import rank_weights
from pgcjax.tensors import grids as g
from pgcjax.tensors.graphs import preference_graphs
from pgcjax.tensors.padding import padded_size, stack


def _packed(fixed, moving, weights):
    (rows, start, where), (place, inverse, first) = fixed, moving
    by_place = first[inverse]
    return image.packed_overlap(
        rows, start, place, inverse, by_place, place.shape[-1], weights, where=where
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
    fixed = tuple(as_form(form, [*graphs.values()], n).arrays)
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


def image_pgc(grids, votes, orders, *, p=0.95, depth=1000, **options) -> pd.DataFrame:
    """Scores of image PGC: run_id, query_id, measure (the order), value."""
    weights = rank_weights(p, depth)
    sums, runs, queries = overlaps(grids, votes, orders, weights, **options)
    return _table(dict(zip(orders, sums / weights.sum(), strict=True)), runs, queries)


def _table(values, runs, queries) -> pd.DataFrame:
    index = pd.MultiIndex.from_product([values, runs, queries])
    frame = index.to_frame(index=False, name=["measure", "run_id", "query_id"])
    frame["value"] = np.concatenate([np.ravel(v) for v in values.values()])
    return frame


@jax.jit
@jax.vmap
def _counts(wins, judged, where, read, middle, row, column, images):
    """Everything that PMR, WR and PB of two systems are made of."""
    far = 2**20

    def inside(first, reach):
        def one(first, row, column):
            known = {"where": where}
            return image.matched(wins, judged, first, row, column, reach, **known)

        return jax.vmap(one)(first, row, column)

    def between(first, other, images):
        return image.duel(wins, judged, first, other, images, where=where)

    reversed_ = read[::-1], images[::-1]
    return {
        "D": inside(read, far),
        "M": inside(middle, far),
        "N": inside(read, 2),
        "duel": jax.vmap(between)(read, *reversed_),
    }


def xie_measures(grids, votes, *, split="tie", weight=0.7, gamma=0.1, first_rank=0):
    """PMR, WR, PB and PWP of two systems: run_id, query_id, measure, value."""
    pairs = g.pairs(majority(votes, split=split))
    docs = {query: p.doc_ids for query, p in pairs.items()}
    shown = g.Shown(grids, docs)
    runs, read, middle = shown.run_ids, shown.placed(), shown.placed("middle-rows")
    q, n = len(docs), padded_size(max(map(len, docs.values())))
    size = [len(d) for d in docs.values()]
    where = np.arange(n) < np.array(size)[:, None]
    wins, judged = (
        stack([getattr(p, name) for p in pairs.values()], (q, n, n), False)
        for name in ("wins", "judged")
    )
    shape = q, len(runs), n
    arrays = [stack([read[name].first for name in docs], shape, ABSENT)]
    arrays += [stack([middle[name].first for name in docs], shape, ABSENT)]
    for axis in ("row", "column"):
        arrays.append(stack([getattr(read[name], axis) for name in docs], shape, 0))
    images = np.stack([read[name].images for name in docs])
    with jax.enable_x64(True):
        found = jax.tree.map(np.asarray, _counts(wins, judged, where, *arrays, images))
    values = {}
    for name in "DMN":
        agree, total = (part.sum(2) for part in found[name])
        values[f"PMR_{name}"] = _ratio(agree, total)
    by_rank = 1 / np.log2(first_rank + np.arange(1, images.max() + 1) + 1)
    by_rank = np.append(0.0, by_rank)  # nothing is before the first image
    weights = by_rank[np.where(arrays[0] == ABSENT, 0, arrays[0])]
    values["PMR_W"] = _ratio(*((part * weights).sum(2) for part in found["D"]))
    won, met, values["bad"] = found["duel"]
    values["WR"] = _ratio(won, met)
    values["PB"] = gamma ** values["bad"]
    inside = weight * values["PMR_N"] + (1 - weight) * values["WR"]
    values["PWP"] = inside * values["PB"]
    return _table({k: v.T for k, v in values.items()}, runs, list(docs))


def _ratio(over, under):
    return np.where(under > 0, over / np.where(under > 0, under, 1), 0.0)


def list_ranks(first, ideal) -> list[int]:
    """Ranks of one list by the kernel."""
    where = jnp.ones(len(first), bool)
    ranks = image.list_ranks(jnp.asarray(first), jnp.asarray(ideal), where=where)
    return np.asarray(ranks).tolist()
