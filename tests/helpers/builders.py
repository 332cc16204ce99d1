"""Small inputs in the forms that the package takes, and kernels called on them."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import polars as pl

from pgcjax.engine import list_batch, plan
from pgcjax.engine.batch import BatchSetting, Member
from pgcjax.engine.peel_batch import PeelGraphs, peel_program
from pgcjax.engine.tiles import Pace, compiled
from pgcjax.files import read_preferences
from pgcjax.io.judged import JudgedDocuments
from pgcjax.io.runs import RunTable, read_runs
from pgcjax.kernels import ABSENT, peel
from pgcjax.tensors import adjacency
from pgcjax.tensors.adjacency import Form
from pgcjax.tensors.flat_runs import Documents, FlatRuns, Retrieved, Where
from pgcjax.tensors.graphs import Graph, preference_graphs
from pgcjax.tensors.padding import lengthened, padded_size
from pgcjax.tensors.rankings import Rankings, find

peel_jit = jax.jit(
    lambda edges, ranks, where: peel.ideal_ranks(edges, ranks, where=where)
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
    """Ideal ranks by the peel kernel, padded to `size`; padding cut off again.

    Without a size, to one of the few that scoring pads to.
    """
    n = len(ranks)
    size = size or padded_size(n)
    out = peel_jit(
        padded(np.asarray(edges, np.int32).reshape(n, n), (size, size), 0),
        padded(np.asarray(ranks, np.int32), (size,), ABSENT),
        padded(np.ones(n, bool), (size,), False),
    )
    assert (np.asarray(out)[n:] == size).all()
    return np.asarray(out)[:n]


def run_table(source, **options) -> pd.DataFrame:
    """All runs of what read_runs takes, as a DataFrame."""
    return read_runs(source, **options).table


def rankings_of(runs, judged, order="trec") -> Rankings:
    """Rankings of what read_runs takes, in a table per run."""
    table = pl.from_pandas(run_table(runs))
    known = JudgedDocuments(judged)
    tables = (RunTable(run) for run in table.partition_by("run_id"))
    return Rankings(known, [find(run, known, order) for run in tables])


def list_scores(measures, tensors, rankings, *, budget=plan.BUDGET, progress=None):
    """Scores [runs, queries] of each measure of ranked lists, by its batch alone."""
    members = map(Member, range(len(measures)), measures, tensors)
    out: dict[int, np.ndarray] = {}
    for batch in list_batch.batches(list(members), BatchSetting(budget)):
        parts = batch.score(rankings, progress)
        out.update(zip((m.place for m in batch.members), parts, strict=True))
    return [out[i] for i in range(len(measures))]


def flat_of(ranks) -> FlatRuns:
    """What runs retrieved, end to end, of the rank of each vertex: `[…, runs, n]`."""
    ranks = np.asarray(ranks)
    count = np.array(ranks < ABSENT).sum(-1).astype(np.int32)
    by_rank = np.argsort(ranks, axis=-1, kind="stable").astype(np.int32)
    own = np.arange(ranks.shape[-1]) < count[..., None]
    rank = np.take_along_axis(ranks, by_rank, -1)[own].astype(np.int32)
    first = np.cumsum(count, dtype=np.int32).reshape(count.shape) - count
    edges = np.array([0, count.shape[-1]])
    return FlatRuns(Documents(by_rank[own], rank), first, count, edges)


def form_of(graph: Graph) -> str:
    """The form that scoring chooses for a graph."""
    [formed] = adjacency.forms([graph])
    assert formed
    return formed.form.name


def form_sum(graph: Graph, ranks, weights, form: str | None = None) -> int:
    """The sum of weights by the form that suits the graph, or a given one.

    `listed` is `packed`, with the run laid out as a CPU does it.
    """
    size, flat = padded_size(len(graph)), flat_of(np.array([[ranks]]))
    value, rank = flat.documents
    if form is None:
        with plan.using(levels=1):
            graphs = PeelGraphs({"q": graph})
            [formed] = graphs.forms
        assert formed
        name, arrays = formed.form, graphs.packed([0], formed.form)
        value = graphs.values[value]
    else:
        name = Form("packed" if form == "listed" else form, size)
        arrays = as_form(name.name, [graph], size), np.array([len(graph)], np.int32)
    documents = Documents(*(lengthened(x, 2048) for x in (value, rank)))
    program = peel_program(name, size if form == "packed" else 0)
    cut = arrays, Where(flat.first, flat.count)
    sums = compiled(program, Pace(in_turn=True), 1)(cut, (documents, weights))
    return int(np.asarray(sums)[0, 0])


def as_form(form: str, graphs: Sequence[Graph], size: int):
    """Graphs as matrices of a given form, whichever suits them."""
    lay_out = {"packed": adjacency.packed, "wide": adjacency.wide}[form]
    return lay_out(graphs, size)


def graph_of(counts) -> Graph:
    """A graph over d00, d01, … from a matrix of counts."""
    counts = np.asarray(counts)
    pairs = np.argwhere(counts)
    wins = np.column_stack([pairs, counts[pairs[:, 0], pairs[:, 1]]]).astype(np.int64)
    docs = np.array([f"d{i:02}" for i in range(len(counts))], object)
    return Graph("q", docs, wins)


def ideals_of(cases) -> list[list[str]]:
    """The kernel's ideal rankings of `(edges, docs)`, as document ids.

    All cases are read as queries of one table, and padded to few shapes.
    """
    names = [f"q{i:03}" for i in range(len(cases))]
    tables, runs = [], {}
    for name, (edges, docs) in zip(names, cases, strict=True):
        tables.append(preferences_of(edges, name))
        runs |= run_of(docs, name)
    graphs = preference_graphs(read_preferences(pd.concat(tables)))
    judged = {name: graph.doc_ids for name, graph in graphs.items()}
    retrieved = rankings_of(runs, judged).retrieved(judged)
    return [_ideal(graphs[name], retrieved[name]) for name in names]


def _ideal(graph: Graph, found: Retrieved) -> list[str]:
    ranks = np.full(len(graph), ABSENT, np.int32)
    ranks[found.vertex] = found.rank
    place = peel_ranks(graph.edges(), ranks)
    return [str(d) for d in graph.doc_ids[np.argsort(place)]]


def ideal_of(edges, docs) -> list[str]:
    """The kernel's ideal ranking of one query and run, as document ids."""
    return ideals_of([(edges, docs)])[0]
