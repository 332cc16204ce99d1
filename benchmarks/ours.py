"""All that the benchmarks touch inside pgcjax: when it moves, only this file does."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from pgcjax.engine import tiles
from pgcjax.engine.peel_batch import PeelGraphs, PeelTiles
from pgcjax.engine.plan import BUDGET, settings
from pgcjax.kernels import ABSENT
from pgcjax.kernels.rbo import rank_weights
from pgcjax.runtime.loop import pool
from pgcjax.tensors.flat_runs import Documents, FlatRuns, Retrieved
from pgcjax.tensors.graphs import Graph
from pgcjax.tensors.padding import lengthened, list_room, sent_type

__all__ = [
    "ABSENT",
    "Documents",
    "FlatRuns",
    "Graph",
    "Retrieved",
    "lengthened",
    "list_room",
]


def overlap_sums(
    graphs: Mapping[str, Graph], rankings: Any, weights: np.ndarray
) -> np.ndarray:
    """Add up RBO weights of each run and query: int64 `[runs, queries]`."""
    return PeelGraphs(graphs).overlaps(rankings, weights)


def scores(
    graphs: Mapping[str, Graph], rankings: Any, p: float, depth: int
) -> np.ndarray:
    """Score runs from graphs and rankings in memory: float64 `[runs, queries]`."""
    weights = rank_weights(p, depth)
    return overlap_sums(graphs, rankings, weights) / weights.sum()


def device_calls(
    graphs: Mapping[str, Graph], rankings: Any, p: float, depth: int
) -> Callable[[], None]:
    """Give the calls on the device alone that `scores` makes, all being laid out."""
    return replay(graphs, rankings, rank_weights(p, depth))


def replay(
    graphs: Mapping[str, Graph], rankings: Any, weights: np.ndarray
) -> Callable[[], None]:
    """Do the same for any weights of ranks."""
    ready = list(tiles.calls(PeelTiles(PeelGraphs(graphs), rankings, weights)))

    def every() -> None:
        for _ in pool().map(lambda call: jax.block_until_ready(call.make()), ready):
            pass

    return every


def graphs_of(measure: str, **judgments: Any) -> dict[str, Graph]:
    """Build the graphs of a measure from judgments, as `evaluate` does."""
    from pgcjax.files import read_preferences
    from pgcjax.io.graded import read_qrels
    from pgcjax.measures.catalogue import parse
    from pgcjax.tensors.judgments import Judgments

    read = {"preferences": read_preferences, "qrels": read_qrels}
    tables = {name: read[name](source) for name, source in judgments.items()}
    parsed = parse(measure)
    return parsed.prepare(Judgments(tables)).graphs


def rankings_of(runs: Iterable[Path], judged: Mapping[str, np.ndarray]) -> Any:
    """Read run files and keep the ranks of judged documents, as `evaluate` does.

    Args:
        runs: files; each is named after its file.
        judged: documents of each query, ascending.
    """
    from pgcjax.io.judged import JudgedDocuments
    from pgcjax.io.runs import read_runs
    from pgcjax.tensors.rankings import read_rankings

    documents = JudgedDocuments(judged)
    files = read_runs(runs, name_by="file")
    return read_rankings(files, documents, "trec", documents=settings.rows)


def read(runs: Iterable[Path]) -> None:
    """Read run files, and drop them at once."""
    from pgcjax.io.runs import read_runs

    for _ in read_runs(runs, name_by="file").tables():
        pass


def dense_ranks(rankings: Any, query: str, docs: np.ndarray) -> np.ndarray:
    """Lay the ranks of a query's judged documents out: int32 `[runs, documents]`."""
    retrieved = rankings.retrieved({query: docs})[query]
    ranks = np.full((len(rankings.run_ids), len(docs)), ABSENT, np.int32)
    ranks[retrieved.run, retrieved.vertex] = retrieved.rank
    return ranks


def judged_documents(judgments: Mapping[str, Any]) -> Mapping[str, list[str]]:
    """Give the documents that evaluating PGC and Compat by some judgments asks for."""
    from pgcjax.engine.request import read_request

    return read_request(judgments, None, "trec").judged.docs


def judgments_of(prefs: Path, qrels: Path) -> None:
    """Do all that judgments ask for, before a run is read."""
    from pgcjax.engine.request import read_request
    from pgcjax.io.check import fingerprint

    sources = {"preferences": prefs, "qrels": qrels}
    for table in read_request(sources, None, "trec").tables.values():
        fingerprint(table)


def write_packed(
    path: Path, runs: int, docs: Mapping[str, list[str]], block: int
) -> None:
    """Write packed runs that retrieve all of `docs`, in one order per block."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from pgcjax.io.runs import pack
    from pgcjax.io.seal import seal_columns

    query_ids = sorted(docs)
    per_run = np.array([len(docs[query]) for query in query_ids])
    rng = np.random.default_rng(0)
    starts = np.cumsum([0, *per_run[:-1]])
    order = [rng.random((block, n)).argsort(1) for n in per_run]
    counts = [min(block, runs - low) for low in range(0, runs, block)]
    groups = [[2 * i + 1, 2 * i + 2] for i in range(len(counts))]
    names = {
        "query_id": pa.array(query_ids),
        "doc_id": pa.array([doc for query in query_ids for doc in docs[query]]),
    }

    def table(height: int, /, **columns: np.ndarray) -> pa.Table:
        def column(field: pa.Field) -> pa.Array:
            if field.name not in columns:
                return pa.nulls(height, field.type)
            array = pa.array(columns[field.name].astype(np.int32))
            if field.name in names:
                return pa.DictionaryArray.from_arrays(array, names[field.name])
            return array

        return pa.table([column(f) for f in pack.SCHEMA], schema=pack.SCHEMA)

    of_doc = np.repeat(np.arange(len(docs)), per_run)
    judged = table(len(of_doc), query_id=of_doc, doc_id=np.arange(len(of_doc)))
    with pq.ParquetWriter(path, pack.SCHEMA, **pack.FORMAT) as writer:
        writer.write_table(judged)
        for i, count in enumerate(counts):
            names["run_id"] = pa.array([f"r{i * block + j:06}" for j in range(count)])
            # By query, then by run, then by position.
            run = np.tile(np.arange(count), len(docs))
            query = np.repeat(np.arange(len(docs)), count)
            n = per_run[query]
            doc = np.concatenate([places[:count].ravel() for places in order])
            doc += np.repeat(starts[query], n)
            place = np.arange(len(doc)) - np.repeat(np.cumsum(n) - n, n)
            ids = {"run_id": run, "query_id": query}
            parts = [
                table(len(n), **ids, length=n, judged_length=n),
                table(
                    len(doc),
                    **{name: np.repeat(column, n) for name, column in ids.items()},
                    doc_id=doc,
                    judged=doc,
                    position=place,
                ),
            ]
            for part in parts:
                writer.write_table(part, row_group_size=len(part))
        writer.add_key_value_metadata(pack.metadata(False, counts, groups))
    seal_columns(path)


def names_of(*families: str) -> list[str]:
    """List the measures of some files of `measures/`, cut at 10 where they must be."""
    from importlib import import_module

    from pgcjax.measures.catalogue import catalogue

    definitions = [
        d
        for d in catalogue().values()
        if any(d in _all(import_module(f"pgcjax.measures.{f}")) for f in families)
        and "Rnonrel" not in d.name  # it takes levels, which the collections lack
    ]
    cutoffs = {"no": "", "level": "@0.5"}
    return [d.name + cutoffs.get(d.cutoff, "@10") for d in definitions]


def _all(module: Any) -> list[Any]:
    values = [v if type(v) is tuple else (v,) for v in vars(module).values()]
    return [x for value in values for x in value]


def frame_of(runs: Mapping[str, Mapping[str, list[str]]]) -> Any:
    """Lay runs out as one DataFrame: run_id, query_id, doc_id, score."""
    import pandas as pd

    rows = [
        (run, query, doc, float(-i))
        for run, ranked in sorted(runs.items())
        for query, docs in ranked.items()
        for i, doc in enumerate(docs)
    ]
    return pd.DataFrame(rows, columns=["run_id", "query_id", "doc_id", "score"])


def canonical_runs(runs: Mapping[str, Mapping[str, list[str]]]) -> list[Any]:
    """Lay runs out as `Runs` reads them: a table of each."""
    import polars as pl

    from pgcjax.io.runs import RunTable

    frame = pl.from_pandas(frame_of(runs)).with_columns(rank=-pl.col("score"))
    tables = frame.partition_by("run_id", maintain_order=True)
    return [RunTable(table) for table in tables]


class MeasuresJob:
    """Some measures and judgments, to score tables of runs."""

    def __init__(self, names: list[str], judgments: Mapping[str, Any]):
        """Lay the judgments out."""
        from pgcjax.engine.request import read_request

        request = read_request(judgments, names, "trec")
        self._judged = request.judged
        self._batches = request.batches(budget=BUDGET, keep=BUDGET)

    def look_up(self, tables: list[Any]) -> Any:
        """Find the judged documents of runs, and their ranks."""
        from pgcjax.tensors.rankings import Rankings, find, merged

        found = ((find(table, self._judged, "trec"), 1) for table in tables)
        parts = [part for part, _ in merged(found, settings.rows)]
        return Rankings(self._judged, parts)

    def score(self, rankings: Any) -> list[np.ndarray]:
        """Compute every measure: float64 `[runs, queries]` of each."""
        scores: dict[int, np.ndarray] = {}
        for batch in self._batches:
            places = [member.place for member in batch.members]
            scores.update(zip(places, batch.score(rankings), strict=True))
        return [scores[i] for i in range(len(scores))]

    def __call__(self, tables: list[Any]) -> np.ndarray:
        """Do both: `[runs, queries, measures]`, flat, if they share their queries."""
        return np.stack(self.score(self.look_up(tables)), axis=-1).ravel()


def evaluated(runs: Any, judgments: Mapping[str, Any], names: list[str]) -> Any:
    """Score a DataFrame of runs by the public function."""
    import pgcjax

    return pgcjax.evaluate(runs, **judgments, measures=names)


class Replicated:
    """PGC of replicates of the judgments: on the device, or by one after the other."""

    def __init__(self, preferences: Path, runs: Iterable[Path], replicates: int):
        """Read judgments and runs, and lay the judgments out."""
        from pgcjax.engine.request import read_request
        from pgcjax.engine.variant_batch import VariantGraphs, VariantMeans
        from pgcjax.judging.variants import QueryVotes, drawn_votes

        self._request = read_request({"preferences": preferences}, ["PGC"], "trec")
        self.judged = self._request.judged.docs
        self.rankings = rankings_of(runs, self.judged)
        votes = QueryVotes(self._request.tables["preferences"])
        graphs = VariantGraphs(self._request.members[0], votes)
        self._batch = VariantMeans(graphs, drawn_votes(votes, replicates), "zero")

    def means(self) -> np.ndarray:
        """Average the scores of all runs by each replicate: `[replicates, runs]`."""
        return self._batch.score(self.rankings)[:, 0, :, 0]

    def one_by_one(self, replicates: int) -> np.ndarray:
        """Do the same for the first few: draw a table, build graphs, peel them."""
        from pgcjax.judging.variants import resample_judgments
        from pgcjax.tensors.graphs import preference_graphs

        table, tensors = self._request.tables["preferences"], self._batch.members[0]
        weights, means = tensors.tensors.weights, []
        for i in range(replicates):
            graphs = preference_graphs(resample_judgments(table, replicate=i))
            sums = overlap_sums(graphs, self.rankings, weights)
            means.append((sums / weights.sum()).mean(1))
        return np.array(means)


def exact_batch(
    graphs: Mapping[str, Graph], p: float, depth: int, *, farthest: bool = False
) -> tuple[Any, float, list[str]]:
    """Look for the optimal orders of graphs.

    Returns:
        What scores runs along them; seconds of CPU; queries that have too many.
    """
    from pgcjax.engine.batch import BatchSetting, Member
    from pgcjax.engine.exact_batch import ExactBatch
    from pgcjax.measures.catalogue import parse
    from pgcjax.measures.exact import ExactTensors

    weights = rank_weights(p, depth)
    tensors = ExactTensors(
        graphs, weights, lambda sums, _: sums / weights.sum(), farthest=farthest
    )
    start = time.process_time()
    unproven = tensors.unproven
    seconds = time.process_time() - start
    batch = ExactBatch(Member(0, parse("ExactPGC"), tensors), BatchSetting())
    return batch, seconds, unproven


class PreferenceJob:
    """Preferences between all pairs of runs, from ranks that were read.

    Attributes:
        run_ids: the runs, ascending.
    """

    def __init__(self, measures: Iterable[str], runs: Path, qrels: Path):
        """Read runs and judgments."""
        from pgcjax.engine.job import Job
        from pgcjax.engine.preferring import ComparedRankings
        from pgcjax.engine.verify_pairs import PairSample
        from pgcjax.io.runs import read_runs
        from pgcjax.measures.between_rankings import parse

        parsed, sample = (
            [parse(measure) for measure in measures],
            PairSample(0.0, "trec"),
        )
        settings: dict[str, Any] = {"order": "trec", "missing": "zero", "verify": 0.0}
        asked = read_runs(runs), parsed, {"qrels": qrels}, sample, Job()
        ranked = ComparedRankings.read(*asked, **settings)
        assert ranked
        self._ranked, self.run_ids = ranked, ranked.run_ids

    def compare(self) -> np.ndarray:
        """Give the mean preference of each pair: float64 `[measures, pairs]`."""
        from pgcjax.engine.preference_tally import PreferenceTally
        from pgcjax.stats.tests import all_pairs

        runs = len(self.run_ids)
        tallies = {
            name: PreferenceTally(all_pairs(runs), runs)
            for name in self._ranked.tensors
        }
        self._ranked.compare(tallies, "zero", BUDGET)
        return np.array([t.total / t.counted for t in tallies.values()])


TIES = ("min", "mean", "max", "error")


def tie_batch(graphs: Mapping[str, Graph], p: float, depth: int, n: int) -> Any:
    """Make what scores runs by n orders of what they lack: `TIES` of each score."""
    from pgcjax.engine.batch import BatchSetting, Member
    from pgcjax.engine.tie_batch import TieBatch
    from pgcjax.measures.catalogue import parse
    from pgcjax.tensors.measure_tensors import TiedTensors

    weights = rank_weights(p, depth)
    members = [
        Member(
            i,
            parse(f"PGC(ties={ties},n={n})"),
            TiedTensors(graphs, weights, lambda sums, _: sums / weights.sum(), ties, n),
        )
        for i, ties in enumerate(TIES)
    ]
    return TieBatch(members, BatchSetting())


def order_by_order(
    graphs: Mapping[str, Graph], rankings: Any, p: float, depth: int, n: int
) -> np.ndarray:
    """Do the same by n calls: `[3, runs, queries]`."""
    least, total, greatest = np.inf, 0.0, -np.inf
    for found in each_order(graphs, rankings, p, depth, n):
        least, total = np.minimum(least, found), total + found
        greatest = np.maximum(greatest, found)
    return np.array([least, total / n, greatest])


def each_order(
    graphs: Mapping[str, Graph], rankings: Any, p: float, depth: int, n: int
) -> Iterator[np.ndarray]:
    """Score runs by each drawn order of what they lack, by one call: `[runs, queries]`.

    Of graphs whose vertices stand in another order, ties are decided by that order.
    """
    from pgcjax.engine.tied_orders import drawn

    docs = {query: graph.doc_ids for query, graph in graphs.items()}
    own = rankings.retrieved(docs)
    orders = {q: drawn(q, len(graph), n, seed=0) for q, graph in graphs.items()}
    for turn in range(n):
        places, renamed = {}, {}
        for query, graph in graphs.items():
            place = orders[query][turn]
            wins = graph.wins.copy()
            wins[:, :2] = place[wins[:, :2]]
            places[query], renamed[query] = place, Graph(query, docs[query], wins)
        moved = _Moved(rankings.run_ids, own, places)
        yield scores(renamed, moved, p, depth)


def flat_runs(
    value: np.ndarray,
    rank: np.ndarray,
    count: np.ndarray,
    longest: int,
    room: int = 0,
    narrow: bool = False,
) -> FlatRuns:
    """Lay out documents that lie end to end, as `Rankings.flat` does.

    Args:
        value: of each document, query after query, run after run.
        rank: likewise.
        count: number of documents `[queries, runs]`.
        longest: number of documents of the largest query.
        room: least length of the lists.
        narrow: whether values and ranks are sent to a device.
    """
    count = count.astype(np.int32)
    first = np.cumsum(count, dtype=np.int32).reshape(count.shape) - count
    room = max(room, list_room(len(value), longest, sent=narrow))
    both = (
        lengthened(x.astype(sent_type(x.max(initial=0)) if narrow else np.int32), room)
        for x in (value, rank)
    )
    return FlatRuns(Documents(*both), first, count, np.array([0, count.shape[1]]))


class _Moved(NamedTuple):
    """Rankings of documents that have other places in the graphs of their queries."""

    run_ids: list[str]
    own: Mapping[str, Retrieved]
    places: Mapping[str, np.ndarray]

    def flat(
        self,
        docs: Mapping[str, np.ndarray],
        values: np.ndarray,
        room: int = 0,
        *,
        narrow: bool = False,
    ) -> FlatRuns:
        """Give the documents of queries end to end, each with its value."""
        own = [self.own[query] for query in docs]
        count = np.array([found.count for found in own])
        ends = np.cumsum([len(ids) for ids in docs.values()])[:-1]
        value = np.concatenate(
            [
                of_query[self.places[query][found.vertex]]
                for of_query, query, found in zip(
                    np.split(values, ends), docs, own, strict=True
                )
            ]
        )
        rank = np.concatenate([found.rank for found in own])
        longest = max(map(len, docs.values()), default=0)
        return flat_runs(value, rank, count, longest, room, narrow)
