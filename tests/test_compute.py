"""The engine: one result by every way of mapping a kernel, for every platform."""

import subprocess
import sys

import jax
import numpy as np
import pytest
from builders import graph_of, rankings_of
from kernel_weights import telling_weights

from pgcjax import compute
from pgcjax.tensors.graphs import Graph


def job(seed: int = 0):
    """Graphs of all three forms, and five runs over them."""
    rng = np.random.default_rng(seed)
    graphs: dict[str, Graph] = {}
    for q, n in enumerate((6, 14, 20, 40, 16)):
        counts = rng.integers(0, 3, (n, n))
        np.fill_diagonal(counts, 0)
        graphs[f"q{q}"] = graph_of(counts)
    graphs["levels"] = graph_of(np.triu(np.ones((9, 9), int), 1))
    graphs["wide"] = graph_of(5000 * np.roll(np.eye(5, dtype=int), 1, axis=1))
    graphs["empty"] = graph_of(np.zeros((0, 0), int))
    runs = {
        f"r{r}": {
            q: {f"d{i:02}": float(rng.random()) for i in rng.permutation(50)[:30]}
            for q in graphs
        }
        for r in range(5)
    }
    judged = {q: graph.doc_ids for q, graph in graphs.items()}
    return graphs, rankings_of(runs, judged), telling_weights(seed)


def tiles_of(graphs, rankings):
    return [
        tile
        for block in compute._blocks(graphs)
        for tile in compute._tiles(block, graphs, rankings, compute.plan.BUDGET)
    ]


def test_all_forms_occur():
    graphs, rankings, _ = job()
    tiles = tiles_of(graphs, rankings)
    forms = {ready.form for tile in tiles for _, ready, _ in tile.members}
    assert forms == {"levels", "words", "wide"}


def test_queries_at_once_or_one_by_one(monkeypatch):
    """Devices other than a CPU compute all queries at once, in steps that all need."""
    graphs, rankings, weights = job()
    one_by_one = compute.overlap_sums(graphs, rankings, weights)
    assert one_by_one.shape == (5, 8) and one_by_one[:, :6].all()
    assert not one_by_one[:, 7].any()
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    at_once = compute.overlap_sums(graphs, rankings, weights)
    assert (at_once == one_by_one).all()


def test_blocks_of_queries(monkeypatch):
    graphs, rankings, weights = job(1)
    whole = compute.overlap_sums(graphs, rankings, weights)
    for block in (1, 20_000):
        monkeypatch.setattr(compute, "_BLOCK", block)
        assert (compute.overlap_sums(graphs, rankings, weights) == whole).all()


@pytest.mark.parametrize("platform", ["cuda", "tpu"])
@pytest.mark.parametrize("form", ["levels", "words", "wide"])
def test_lowers_for_accelerators(platform, form):
    graphs, rankings, weights = job()
    tiles = tiles_of(graphs, rankings)
    tile = next(t for t in tiles if t.members[0][1].form == form)
    seen = {}

    def record(form, fixed, moving, steps, weights):
        seen["args"] = fixed, moving, steps, weights
        return np.zeros(tile.shape, np.int64)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compute, "_run", record)
        compute._tile_sums(tile, weights)
    with jax.enable_x64(True):
        batched = compute._batched(form, 1, "gpu")
        lowered = batched.trace(*seen["args"]).lower(lowering_platforms=(platform,))
    assert "stablehlo" in lowered.as_text()


def test_the_engine_needs_no_tables():
    """It runs where tables are read elsewhere, or not at all."""
    code = (
        "import sys, pgcjax.compute; "
        "assert not {'pandas', 'polars', 'pyarrow'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
