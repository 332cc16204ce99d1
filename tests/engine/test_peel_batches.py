"""The engine: one result by every way of mapping a kernel, for every platform."""

import subprocess
import sys
import time

import jax
import numpy as np
import pytest
from helpers.builders import graph_of, rankings_of
from helpers.kernel_weights import telling_weights

from pgcjax import runtime
from pgcjax.engine import autotune, peel_batches
from pgcjax.errors import UsageError
from pgcjax.io.judged import Judged
from pgcjax.tensors.graphs import Graph
from pgcjax.tensors.rankings import Rankings


def job(seed: int = 0):
    """Graphs of all forms, and five runs over them."""
    rng = np.random.default_rng(seed)
    graphs: dict[str, Graph] = {}
    for q, n in enumerate((6, 14, 20, 40, 16)):
        counts = rng.integers(0, 3, (n, n))
        np.fill_diagonal(counts, 0)
        graphs[f"q{q}"] = graph_of(counts)
    graphs["levels"] = graph_of(np.triu(np.ones((9, 9), int), 1))
    docs = graph_of(np.zeros((9, 9), int)).doc_ids
    grades = rng.integers(0, 3, 9).astype(np.int32)
    graphs["graded"] = Graph("graded", docs, np.zeros((0, 3), int), grades)
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
    batches = peel_batches.Batches(graphs)
    batches.sums(rankings, telling_weights(0))  # which says how large tiles may be
    return list(batches._tiles(rankings))


def test_all_forms_occur():
    graphs, rankings, _ = job()
    tiles = tiles_of(graphs, rankings)
    assert {tile.form for tile in tiles} == {"levels", "words", "wide"}


def test_queries_at_once_or_one_by_one(monkeypatch):
    """Devices other than a CPU compute all queries at once, in steps that all need."""
    graphs, rankings, weights = job()
    one_by_one = peel_batches.overlap_sums(graphs, rankings, weights)
    assert one_by_one.shape == (5, 9) and one_by_one[:, :7].all()
    assert not one_by_one[:, 8].any()
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    at_once = peel_batches.overlap_sums(graphs, rankings, weights)
    assert (at_once == one_by_one).all()


def test_one_launch_gives_the_same(monkeypatch):
    """The engine with the kernel for GPUs, interpreted."""
    graphs, rankings, weights = job()
    whole = peel_batches.overlap_sums(graphs, rankings, weights)
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    monkeypatch.setattr(peels, "choose", lambda shape, run: "launch")
    assert (peel_batches.overlap_sums(graphs, rankings, weights) == whole).all()


def test_the_faster_peel_is_chosen(monkeypatch):
    monkeypatch.delenv(autotune.VARIABLE, raising=False)
    assert autotune.choose("here", str) == "words"  # no GPU
    monkeypatch.setattr(peels, "can_launch", lambda: True)
    calls = []

    def run(form, slow="words"):
        runtime.append(form)
        time.sleep(0.05 * (form == slow))
        return np.zeros(1)

    def fails(form):
        if form == "launch":
            raise RuntimeError("no such GPU")
        return np.zeros(1)

    assert autotune.choose("a", run) == autotune.choose("a", run) == "launch"
    assert calls == ["words", "words", "launch", "launch"]  # the first to compile
    assert autotune.choose("b", lambda form: run(form, "launch")) == "words"
    assert autotune.choose("c", fails) == "words"
    for wanted, form in (("xla", "words"), ("pallas", "launch")):
        monkeypatch.setenv(autotune.VARIABLE, wanted)
        assert autotune.choose("a", run) == form
    monkeypatch.setattr(peels, "can_launch", lambda: False)
    with pytest.raises(UsageError, match="PGCJAX_PEEL=pallas needs an NVIDIA GPU of"):
        autotune.choose("a", run)
    monkeypatch.setenv(autotune.VARIABLE, "cuda")
    with pytest.raises(UsageError, match="PGCJAX_PEEL=cuda: expected one of auto, xla"):
        autotune.choose("a", run)


def test_compiling_is_said_once_for_a_shape(monkeypatch):
    graphs, rankings, weights = job(7)
    monkeypatch.setattr(calls, "_seen", set())
    said = []
    for _ in range(2):
        peel_batches.overlap_sums(
            graphs, rankings, weights, progress=lambda *step: said.append(step)
        )
    compiled = [step for step in said if step[0] == "compiling"]
    assert len(compiled) == 2 * len(runtime._seen) > 2
    assert compiled[-1][1:] == (len(runtime._seen),) * 2


def test_blocks_of_queries(monkeypatch):
    graphs, rankings, weights = job(1)
    whole = peel_batches.overlap_sums(graphs, rankings, weights)
    for block in (1, 20_000):
        monkeypatch.setattr(peel_batches.plan, "BLOCK", block)
        assert (peel_batches.overlap_sums(graphs, rankings, weights) == whole).all()


@pytest.mark.parametrize("platform", ["cuda", "tpu"])
@pytest.mark.parametrize("form", ["levels", "words", "wide"])
def test_lowers_for_accelerators(platform, form):
    graphs, rankings, weights = job()
    tiles = tiles_of(graphs, rankings)
    tile = next(t for t in tiles if t.form == form)
    arguments = tile.fixed, tile.moving, tile.steps, *tile.lists
    with jax.enable_x64(True):
        traced = peel_batches._batched(form, 1, "gpu", tile.width).trace(
            *arguments, weights
        )
        lowered = traced.lower(lowering_platforms=(platform,))
    assert "stablehlo" in lowered.as_text()


def test_the_engine_needs_no_tables():
    """It runs where tables are read elsewhere, or not at all."""
    code = (
        "import sys, pgcjax.engine.peel_batches; "
        "assert not {'pandas', 'polars', 'pyarrow'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("keep", [0, 5000, 2**28])
def test_graphs_laid_out_once_for_many_calls(keep):
    """Runs may come in chunks, of any number of runs; the second finds what is kept."""
    graphs, rankings, weights = job(2)
    batches = peel_batches.Batches(graphs, keep=keep)
    whole = peel_batches.overlap_sums(graphs, rankings, weights)
    for _ in range(2):
        assert (batches.sums(rankings, weights) == whole).all()


@pytest.mark.parametrize("words", [1, 100, 2**20])
def test_runs_and_queries_side_by_side(words, monkeypatch):
    """However many a CPU peels in one step."""
    graphs, rankings, weights = job(3)
    whole = peel_batches.overlap_sums(graphs, rankings, weights)
    monkeypatch.setattr(peel_batches.plan, "WORDS", words)
    monkeypatch.setattr(peel_batches.plan, "TOGETHER", 1)
    peel_batches._batched.cache_clear()
    assert (peel_batches.overlap_sums(graphs, rankings, weights) == whole).all()
    peel_batches._batched.cache_clear()


def test_fewer_runs_than_before_need_no_other_program(monkeypatch):
    """The last chunk of a job has few runs: it takes the shapes of those before."""
    graphs, rankings, weights = job(4)
    batches = peel_batches.Batches(graphs)
    whole = batches.sums(rankings, weights)
    monkeypatch.setattr(calls, "_seen", seen := set(runtime._seen))
    known = len(seen)
    judged = {q: graph.doc_ids for q, graph in graphs.items()}
    few = Rankings(Judged(judged), rankings._found[:1])
    assert (batches.sums(few, weights) == whole[:1]).all()
    assert len(seen) == known
