"""The engine: one result by every way of mapping a kernel, for every platform."""

import subprocess
import sys

import jax
import numpy as np
import pytest
from helpers.builders import graph_of, rankings_of
from helpers.kernel_weights import telling_weights

from pgcjax.engine import plan, tiles
from pgcjax.engine.peel_batch import PeelGraphs, PeelTiles
from pgcjax.tensors.adjacency import Form
from pgcjax.tensors.graphs import Graph
from pgcjax.tensors.padding import at_least


def job(seed: int = 0, runs: int = 5):
    """Graphs of all forms, and runs over them."""
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
    every = {
        f"r{r}": {
            q: {f"d{i:02}": float(rng.random()) for i in rng.permutation(50)[:30]}
            for q in graphs
        }
        for r in range(runs)
    }
    judged = {q: graph.doc_ids for q, graph in graphs.items()}
    return graphs, rankings_of(every, judged), telling_weights(seed)


def calls_of(graphs, rankings, weights):
    """The calls of all tiles, and the forms of their graphs."""
    batch = PeelTiles(PeelGraphs(graphs), rankings, weights)
    return [(call.program[1].name, call) for call in tiles.calls(batch)]


def test_all_forms_occur():
    with plan.using(levels=1):
        forms = {form for form, _ in calls_of(*job())}
    assert forms == {"levels", "packed", "wide"}


def test_queries_at_once_or_one_by_one(monkeypatch):
    """Devices other than a CPU compute all queries at once, in steps that all need."""
    graphs, rankings, weights = job()
    one_by_one = PeelGraphs(graphs).overlaps(rankings, weights)
    assert one_by_one.shape == (5, 9) and one_by_one[:, :7].all()
    assert not one_by_one[:, 8].any()
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    at_once = PeelGraphs(graphs).overlaps(rankings, weights)
    assert (at_once == one_by_one).all()


@pytest.mark.parametrize("votes", [1, 255, 256, 1000])
def test_counts_of_any_size_reach_a_gpu(monkeypatch, votes):
    """In bytes, or in 16 bits where a pair has more votes."""
    _, rankings, weights = job(5)
    cycle = np.roll(np.eye(9, dtype=int), 1, axis=1)
    graphs = {"q0": graph_of(cycle + (votes - 1) * np.diag(np.ones(8, int), 1))}
    whole = PeelGraphs(graphs).overlaps(rankings, weights)
    assert whole.all()
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    (edges, _), _ = PeelGraphs(graphs).packed([0], Form("packed", 16))
    assert edges.max() == votes and edges.itemsize == (1 if votes < 256 else 2)
    assert (PeelGraphs(graphs).overlaps(rankings, weights) == whole).all()


def test_compiling_is_said_once_for_a_shape(caplog):
    graphs, rankings, _ = job(7)
    weights = telling_weights(7, depth=41)  # a length that no other test has
    said = []
    with caplog.at_level("DEBUG", logger="pgcjax.runtime.loop"):
        for _ in range(2):
            PeelGraphs(graphs).overlaps(
                rankings, weights, progress=lambda *step: said.append(step)
            )
    new = [line for line in caplog.messages if line.startswith("compile ")]
    assert len(new) == len(set(new)) > 1
    assert len(caplog.messages) == 2 * len(calls_of(graphs, rankings, weights))
    compiled = [step for step in said if step[0] == "compiling"]
    assert len(compiled) == 2 * len(new)
    assert compiled[-1][1] == compiled[-1][2]


@pytest.mark.parametrize("levels", [1, 2**30])
def test_weak_orders_are_levels_or_peeled(levels):
    graphs, rankings, weights = job(6)
    whole = PeelGraphs(graphs).overlaps(rankings, weights)
    with plan.using(levels=levels):
        [(form, _)] = calls_of({"levels": graphs["levels"]}, rankings, weights)
        assert form == ("levels" if levels == 1 else "packed")
        assert (PeelGraphs(graphs).overlaps(rankings, weights) == whole).all()


def test_no_graphs():
    graphs, rankings, weights = job()
    sums = PeelGraphs({"empty": graphs["empty"]}).overlaps(rankings, weights)
    assert sums.shape == (5, 1) and not sums.any()


@pytest.mark.parametrize(
    "settings", [{"tile": 1}, {"queries": 2, "runs": 4}, {"words": 1, "together": 1}]
)
def test_tiles_and_steps_of_any_size(settings):
    graphs, rankings, weights = job(1)
    whole = PeelGraphs(graphs).overlaps(rankings, weights)
    with plan.using(**settings):
        assert (PeelGraphs(graphs).overlaps(rankings, weights) == whole).all()


@pytest.mark.parametrize(
    ("budget", "documents"), [(1, 1), (20_000, 1), (2**28, 48), (2**28, 200)]
)
def test_memory_and_padding_of_any_size(budget, documents):
    graphs, rankings, weights = job(1)
    whole = PeelGraphs(graphs).overlaps(rankings, weights)
    with at_least(documents=documents):
        ready = PeelGraphs(graphs, budget=budget)
        assert (ready.overlaps(rankings, weights) == whole).all()


@pytest.mark.parametrize("platform", ["cuda", "tpu"])
@pytest.mark.parametrize("form", ["levels", "packed", "wide"])
def test_lowers_for_accelerators(platform, form, monkeypatch):
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    with plan.using(levels=1):
        call = dict(calls_of(*job()))[form]
    with jax.enable_x64(True):
        traced = call.make.func.trace(*call.make.args)
        lowered = traced.lower(lowering_platforms=(platform,))
    assert "stablehlo" in lowered.as_text()


def test_the_engine_needs_no_tables():
    """It runs where tables are read elsewhere, or not at all."""
    code = (
        "import sys, pgcjax.engine.peel_batch; "
        "assert not {'pandas', 'polars', 'pyarrow'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("keep", [0, 5000, 2**28])
def test_graphs_laid_out_once_for_many_calls(keep):
    """Runs may come in chunks, of any number of runs; the second finds what is kept."""
    graphs, rankings, weights = job(2)
    ready = PeelGraphs(graphs, keep=keep)
    whole = PeelGraphs(graphs).overlaps(rankings, weights)
    for _ in range(2):
        assert (ready.overlaps(rankings, weights) == whole).all()


@pytest.mark.parametrize("keep", [0, 2**28])
def test_devices_get_graphs_once_and_documents_in_short(monkeypatch, keep):
    """Of the second chunk, a byte each for its vertex and its rank, both below 256."""
    graphs, rankings, weights = job(2)
    whole, put, sent = (
        PeelGraphs(graphs).overlaps(rankings, weights),
        jax.device_put,
        [],
    )

    def counted(arrays, where=None):
        here = [x for x in jax.tree.leaves(arrays) if isinstance(x, np.ndarray)]
        sent.append(sum(x.nbytes for x in here))
        return put(arrays, where)

    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    monkeypatch.setattr(jax, "device_put", counted)
    ready, chunks = PeelGraphs(graphs, keep=keep), []
    for _ in range(2):
        assert (ready.overlaps(rankings, weights) == whole).all()
        chunks.append(sum(sent))
        sent.clear()
    of_runs = 2 * ready.room + weights.nbytes
    assert chunks[0] > of_runs
    assert chunks[1] == (of_runs if keep else chunks[0])


@pytest.mark.parametrize("form", ["levels", "packed"])
def test_a_cpu_calls_one_function(form):
    """Not one for each operation of each step, which would take most of the time."""
    call = dict(calls_of(*job()))[form]
    with jax.enable_x64(True):
        text = call.make.func.lower(*call.make.args).compile().as_text()
    whole = text[text.index("ENTRY") :]
    assert " call(" in whole and " while(" not in whole and " while(" in text


def test_fewer_runs_than_before_need_no_other_program(caplog):
    """The last chunk of a job has few runs: it takes the shapes of those before."""
    graphs, rankings, weights = job(4)
    _, few, _ = job(4, runs=1)
    ready = PeelGraphs(graphs)
    whole = ready.overlaps(rankings, weights)
    with caplog.at_level("DEBUG", logger="pgcjax.runtime.loop"):
        assert (ready.overlaps(few, weights) == whole[:1]).all()
    assert caplog.messages
    assert not [line for line in caplog.messages if line.startswith("compile ")]
