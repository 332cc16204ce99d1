"""What is measured: graphs and runs made up here, or real ones read by plain Python."""

import gzip
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import ours

RETRIEVED = 0.7  # share of the judged documents that a made-up run retrieves
DENSITY = 0.5  # share of the pairs of a made-up graph that somebody judged
Edges = list[tuple[str, str]]


@dataclass(frozen=True)
class Case:
    """Graphs and runs, once as pgcjax takes them and once as plain Python would.

    Attributes:
        title: what they are.
        graphs: of each query, ours.
        rankings: ours, or what looks like it.
        edges: gives the pairs (preferred, other) of a query, for plain Python.
        run: gives the documents of a run for a query, best first; the same.
        p: persistence.
        depth: last rank that counts.
    """

    title: str
    graphs: Mapping[str, ours.Graph]
    rankings: Any
    edges: Callable[[str], Edges]
    run: Callable[[str, str], list[str]]
    p: float = 0.95
    depth: int = 1000

    @property
    def shape(self) -> tuple[int, int]:
        """Number of runs and of queries."""
        return len(self.rankings.run_ids), len(self.graphs)

    @property
    def pairs(self) -> int:
        """Number of pairs of a run and a query."""
        return self.shape[0] * self.shape[1]

    def ranks(self, query: str) -> np.ndarray:
        """Ranks of the documents of a query's graph: int32 `[runs, n]`."""
        return ours.dense_ranks(self.rankings, query, self.graphs[query].doc_ids)


class Drawn:
    """Made-up rankings: every run retrieves most judged documents, at random ranks.

    Queries share one draw and name its documents differently: so thousands of runs can
    take memory for one query only.
    """

    def __init__(self, runs: int, n: int, *, seed: int = 0, keep: bool = True):
        """Draw for runs and graphs of n documents, with ranks below 1000 (or n).

        Args:
            runs: how many.
            n: number of documents.
            seed: of everything.
            keep: whether to keep what was asked for, which no call then waits for.
        """
        self.run_ids = [f"r{i:05}" for i in range(runs)]
        rng = np.random.default_rng([seed, runs, n])
        vertex = rng.random((runs, n)).argsort(1).astype(np.int32)
        room = max(1000, n) // n
        rank = np.arange(n, dtype=np.int32) * room + rng.integers(room, size=(runs, n))
        drawn = rng.random((runs, n)) < RETRIEVED
        self._run = np.nonzero(drawn)[0].astype(np.int32)
        self._vertex, self._rank = vertex[drawn], rank[drawn].astype(np.int32)
        self._n, self._seed = n, seed
        self._starts = np.searchsorted(self._run, np.arange(runs + 1))
        self._keep, self._kept = keep, dict[str, ours.Retrieved]()
        self._flat: dict[tuple[bool | str, ...], tuple[np.ndarray, ours.FlatRuns]] = {}

    def _names(self, query_id: str) -> np.ndarray:
        rng = np.random.default_rng([self._seed, int(query_id[1:])])
        return rng.permutation(self._n).astype(np.int32)

    def retrieved(self, docs: Mapping[str, np.ndarray]) -> "Drawn":
        """Give what pgcjax asks of rankings: itself, by query."""
        return self

    def __getitem__(self, query_id: str) -> ours.Retrieved:
        """Give the documents that were drawn for a query."""
        if query_id in self._kept:
            return self._kept[query_id]
        vertex = self._names(query_id)[self._vertex]
        retrieved = ours.Retrieved(self._starts, vertex, self._rank)
        if self._keep:
            self._kept[query_id] = retrieved
        return retrieved

    def flat(
        self,
        docs: Mapping[str, np.ndarray],
        values: np.ndarray | None = None,
        room: int = 0,
        *,
        narrow: bool = False,
    ) -> ours.FlatRuns:
        """Give the documents of queries end to end, each with its value."""
        key = narrow, *docs
        if values is None:
            values = np.tile(np.arange(self._n, dtype=np.int32), len(docs))
        if key not in self._flat or not np.array_equal(self._flat[key][0], values):
            by_query = values.reshape(len(docs), self._n)
            pairs = zip(by_query, docs, strict=True)
            value = np.concatenate([each[self[q].vertex] for each, q in pairs])
            count = np.tile(np.diff(self._starts), (len(docs), 1))
            rank = np.tile(self._rank, len(docs))  # below 1000 or n
            flat = ours.flat_runs(value, rank, count, self._n, room, narrow)
            self._flat = {key: (values, flat)}
        return self._flat[key][1]

    def ranking(self, run_id: str, query_id: str, doc_ids: np.ndarray) -> list[str]:
        """Give a run as a list, with documents that nobody judged in between."""
        here = self._run == self.run_ids.index(run_id)
        rank, vertex = self._rank[here], self._names(query_id)[self._vertex[here]]
        docs = [f"x{i}" for i in range(max(1000, self._n))]
        for r, v in zip(rank, vertex, strict=True):
            docs[r] = str(doc_ids[v])
        return docs


def cyclic(queries: int, runs: int, n: int, seed: int = 0) -> Case:
    """Make up graphs of n documents with cycles, as judgments with errors have."""
    graphs = {}
    for q in range(queries):
        rng = np.random.default_rng([seed, n, q])
        first, second = np.triu_indices(n, 1)
        judged = rng.random(len(first)) < DENSITY
        judged[: n - 1] = True  # every document is a vertex
        first, second = first[judged], second[judged]
        utility = rng.random(n)
        noise = 0.3 * rng.standard_normal(len(first))
        better = utility[first] - utility[second] + noise > 0
        counts = 1 + (rng.random(len(first)) < 0.1)
        winner = np.where(better, first, second)
        wins = np.column_stack([winner, first + second - winner, counts])
        graphs[f"q{q}"] = ours.Graph(f"q{q}", _ids(n), wins)
    title = f"made-up cyclic graphs, N = {n}: {queries} queries × {runs} runs"
    return _made_up(title, graphs, Drawn(runs, n, seed=seed))


def graded(queries: int, runs: int, n: int, seed: int = 0) -> Case:
    """Make up graphs derived from grades 0-4 of n documents."""
    graphs = {}
    for q in range(queries):
        rng = np.random.default_rng([seed, n, q])
        grades = rng.choice(5, size=n, p=[0.5, 0.2, 0.15, 0.1, 0.05])
        levels = np.unique(grades, return_inverse=True)[1].astype(np.int32)
        none = np.zeros((0, 3), np.int64)
        graphs[f"q{q}"] = ours.Graph(f"q{q}", _ids(n), none, levels)
    title = f"made-up grades, N = {n}: {queries} queries × {runs} runs"
    return _made_up(title, graphs, Drawn(runs, n, seed=seed))


def _ids(n: int) -> np.ndarray:
    return np.array([f"d{i:06}" for i in range(n)], object)


def _made_up(title: str, graphs: dict[str, ours.Graph], rankings: Drawn) -> Case:
    def edges(query: str) -> Edges:
        graph = graphs[query]
        docs = graph.doc_ids.tolist()
        if graph.levels is not None:
            return derived(dict(zip(docs, graph.levels.tolist(), strict=True)))
        return [(docs[u], docs[v]) for u, v, n in graph.wins.tolist() for _ in range(n)]

    def run(run_id: str, query: str) -> list[str]:
        return rankings.ranking(run_id, query, graphs[query].doc_ids)

    return Case(title, graphs, rankings, edges, run)


def derived(grades: Mapping[str, float]) -> Edges:
    """List an edge for each pair of documents with different grades."""
    return [
        (a, b) if grades[a] > grades[b] else (b, a)
        for a, b in combinations(grades, 2)
        if grades[a] != grades[b]
    ]


@dataclass(frozen=True)
class Source:
    """A public collection: what it is called, the measure, and files below a folder."""

    title: str
    measure: str
    runs: str
    prefs: str | None = None
    qrels: str | None = None


_CAST_RUNS = "cast2019/runs"
_CAST_PREFS = "cast2019/clarke-prefs/TREC-CAsT-2019.pref.gz"
_CAST_QRELS = "cast2019/qrels/2019qrels.txt.gz"
CAST = Source("CAsT 2019, preferences", "PGC", _CAST_RUNS, _CAST_PREFS)
CAST_COMBINED = Source(
    "CAsT 2019, combined", "PGC(graph=combined)", _CAST_RUNS, _CAST_PREFS, _CAST_QRELS
)
CAST_DERIVED = Source(
    "CAsT 2019, derived", "PGC(graph=derived)", _CAST_RUNS, None, _CAST_QRELS
)
DL21 = Source("DL 2021, human", "PGC", "dl21/runs", "dl21/judgments.txt.gz")


def real(data: Path | None, sources: Iterable[Source]) -> Iterator[Case]:
    """Read public collections, those that are in the folder.

    Plain Python reads them here a second time, so that all of pgcjax's way from files
    to scores is checked by what the benchmarks compare.
    """
    for source in sources:
        if data and (data / source.runs).is_dir():
            yield _real(data, source)


def _real(data: Path, source: Source) -> Case:
    runs = sorted((data / source.runs).iterdir())
    judgments, pairs, grades = {}, {}, {}
    if source.prefs:
        judgments["preferences"] = data / source.prefs
        pairs = plain_edges(data / source.prefs)
    if source.qrels:
        judgments["qrels"] = data / source.qrels
        grades = plain_grades(data / source.qrels)
    graphs = ours.graphs_of(source.measure, **judgments)
    judged = {query: graph.doc_ids for query, graph in graphs.items()}
    plain = {path.name.split(".")[0]: plain_run(path) for path in runs}

    def edges(query: str) -> Edges:
        return pairs.get(query, []) + derived(grades.get(query, {}))

    def run(run_id: str, query: str) -> list[str]:
        return plain[run_id.split(".")[0]].get(query, [])

    n = np.mean([len(g) for g in graphs.values()])
    shape = f"{len(graphs)} queries × {len(runs)} runs"
    title = f"{source.title}, N = {n:.1f} on average: {shape}"
    return Case(title, graphs, ours.rankings_of(runs, judged), edges, run)


def lines_of(path: Path) -> list[str]:
    """Read the lines of a file, compressed or not."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt") as file:
        return file.read().splitlines()


def plain_edges(path: Path) -> dict[str, Edges]:
    """Read preferences `query a b best`."""
    edges: dict[str, Edges] = defaultdict(list)
    for line in lines_of(path):
        query, a, b, best = line.split()
        edges[query].append((a, b) if best == a else (b, a))
    return edges


def plain_grades(path: Path) -> dict[str, dict[str, float]]:
    """Read qrels `query 0 doc grade`."""
    grades: dict[str, dict[str, float]] = defaultdict(dict)
    for line in lines_of(path):
        query, _, doc, grade = line.split()
        grades[query][doc] = float(grade)
    return grades


def plain_run(path: Path) -> dict[str, list[str]]:
    """Read a run, best first: score and then document id, both descending."""
    scored: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for line in lines_of(path):
        query, _, doc, _, score, _ = line.split()
        scored[query].append((float(score), doc))
    return {q: [doc for _, doc in sorted(x, reverse=True)] for q, x in scored.items()}
