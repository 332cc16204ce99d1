"""Preferences between all pairs of runs beside the plain algorithm, pair by pair.

`python -m benchmarks.prefer RUNS QRELS` compares all pairs of runs once, by all seven
measures, and prints seconds, those of the processor, pairs and peak memory in MB.
"""

import math
import random
import resource
import sys
import time
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import pandas as pd

import pgcjax
from benchmarks import ours, packed, rbo
from benchmarks.harness import Contender, Report, child

MEASURES = (
    "RPP(rel=2)",
    "RPP(weight=inverse,rel=2)",
    "RPP(weight=dcg,rel=2)",
    "RPP",
    "lexirecall(rel=2)",
    "lexiprecision(rel=2)",
    "rrlexiprecision(rel=2)",
)
PER = "pair, query and measure"
SAMPLED = 66  # pairs of runs that plain Python compares
ROUNDS = 9  # of which the fastest counts
EVERY = 10  # of the documents that runs retrieve from, one is judged


def run(
    report: Report,
    data: Path | None = None,
    runs: int = 12,
    queries: int = 4,
    depth: int = 100,
    large: tuple[int, int, int] | None = (1000, 50, 200),
) -> None:
    """Race on made-up runs and on Deep Learning 2021; then measure a large job alone.

    Args:
        report: of everything.
        data: public collections, if they are there.
        runs: made-up ones.
        queries: of these.
        depth: of these.
        large: runs, queries and judged documents of the large job, all retrieved.
    """
    with TemporaryDirectory(prefix="pgcjax-bench-") as name:
        title = f"{runs} runs × {queries} queries × depth {depth}"
        race(report, title, *_written(Path(name), runs, queries, depth))
    if data and (data / "dl21").is_dir():
        files = data / "dl21/runs", data / "dl21/qrels.dl21-passage.txt.gz"
        title = "Deep Learning 2021, 63 runs × 53 queries × depth 100"
        race(report, title, *files)
    if large:
        with TemporaryDirectory(prefix="pgcjax-bench-") as name:
            files = _packed(Path(name), *large)
            printed = child("-m", "benchmarks.prefer", *files).split()
        seconds, processor, pairs, peak = map(float, printed)
        report.table(
            f"pgcjax.rankings.prefer by seven measures, {large[0]} packed runs × "
            f"{large[1]} queries × {large[2]} judged documents, in its own process",
            ["pairs of runs", "seconds", "of the processor", "peak MB"],
            [[int(pairs), seconds, processor, peak]],
        )


def _written(folder: Path, runs: int, queries: int, depth: int) -> tuple[Path, Path]:
    """Make up runs as `rbo.write` does, and grades from 0 to 3 of some documents."""
    rbo.write(folder / "runs", runs, queries, depth)
    pool = rbo.POOL * depth
    numbers = np.add.outer(np.arange(queries), np.arange(0, pool, EVERY) * 7919) % pool
    judged = [
        (f"q{query:03d}", f"clueweb09-en{i % 133:04d}-{i:05d}")
        for query, of_query in enumerate(numbers.tolist())
        for i in of_query
    ]
    return folder / "runs", _judge(folder, judged)


def _packed(folder: Path, runs: int, queries: int, documents: int) -> tuple[Path, Path]:
    """Make up packed runs that retrieve all judged documents, and grades of these."""
    runs_file, prefs = packed.write(folder, runs, queries, documents)
    table = pd.read_parquet(prefs)
    sides = (table[["query_id", column]] for column in ("doc_id", "other_doc_id"))
    judged = {row for side in sides for row in side.itertuples(index=False, name=None)}
    return runs_file, _judge(folder, sorted(judged))


def _judge(folder: Path, documents: list[tuple[str, str]]) -> Path:
    """Make up grades from 0, that of half of the documents, to 3."""
    grades = np.random.default_rng(3).integers(-2, 4, len(documents)).clip(min=0)
    lines = (
        f"{query} 0 {doc} {grade}\n"
        for (query, doc), grade in zip(documents, grades, strict=True)
    )
    (folder / "qrels.txt").write_text("".join(lines))
    return folder / "qrels.txt"


def race(report: Report, title: str, runs: Path, qrels: Path) -> None:
    """Race for the mean preference of all pairs of runs, by seven measures."""
    job = ours.PreferenceJob(MEASURES, runs, qrels)
    queries = list(_found(runs, qrels))
    pairs = list(combinations(range(len(job.run_ids)), 2))
    units = len(MEASURES) * len(pairs) * len(queries)
    chosen = sorted(
        random.Random(1).sample(range(len(pairs)), min(SAMPLED, len(pairs)))
    )
    of = np.add.outer(len(pairs) * np.arange(len(MEASURES)), chosen).ravel()
    rows = [
        Contender(
            "Python, pair by pair",
            partial(_plain, queries, [pairs[i] for i in chosen]),
            units * len(chosen) / len(pairs),
            values=np.ravel,
            of=of,
            note=f"{len(chosen)} of {len(pairs)} random pairs",
        ),
        Contender("pgcjax", job.compare, units, ours=True, values=np.ravel),
        Contender(
            "with reading and table",
            lambda: pgcjax.rankings.prefer(runs, qrels=qrels, measures=MEASURES).table,
            units,
            ours=True,
            values=None,
        ),
    ]
    report.race(f"preferences by seven measures: {title}", rows, per=PER, units=units)
    times = np.array([_times(job) for _ in range(ROUNDS)])
    report.table(
        f"pgcjax: {title}, the fastest of {ROUNDS} calls, where others share the cores",
        ["seconds", "of the processor"],
        [times.min(axis=0).tolist()],
    )


def _times(job: ours.PreferenceJob) -> tuple[float, float]:
    start, began = time.perf_counter(), time.process_time()
    job.compare()
    return time.perf_counter() - start, time.process_time() - began


class _Found(NamedTuple):
    """Ranks of relevant documents in the runs of a query, infinite if absent.

    Attributes:
        relevant: documents of grade 2 or more, of each run.
        graded: for each grade above 0, documents of it or a higher one, of each run.
    """

    relevant: list[list[float]]
    graded: list[list[list[float]]]


def _found(runs: Path, qrels: Path) -> Iterator[_Found]:
    """Read what the plain algorithm takes; it is not timed."""
    by_rank = ["run_id", "query_id", "score", "doc_id"]
    ascending = [True, True, False, False]
    table = pgcjax.files.read_runs(runs).table.sort_values(by_rank, ascending=ascending)
    ranks = {
        (run, query): {doc: i for i, doc in enumerate(rows, 1)}
        for (run, query), rows in table.groupby(["run_id", "query_id"])["doc_id"]
    }
    names = sorted({run for run, _ in ranks})
    for query, rows in pgcjax.files.read_qrels(qrels).groupby("query_id"):
        grades = dict(zip(rows["doc_id"], rows["relevance"].tolist(), strict=True))

        def at_least(
            level: float, query: str = str(query), grades: dict[str, float] = grades
        ) -> list[list[float]]:
            docs = [doc for doc, grade in grades.items() if grade >= level]
            of = (ranks.get((run, query), {}) for run in names)
            return [sorted(rank.get(doc, math.inf) for doc in docs) for rank in of]

        levels: list[float] = sorted({float(g) for g in grades.values() if g > 0})
        if levels and levels[-1] >= 2:
            yield _Found(at_least(2), [at_least(level) for level in levels])


def _plain(queries: Sequence[_Found], pairs: Sequence[tuple[int, int]]) -> np.ndarray:
    """Average over queries what plain loops over each pair say, measure by measure."""
    weights = {}
    for size in {len(x[0]) for q in queries for x in (q.relevant, *q.graded)}:
        places = range(1, size + 1)
        weights["uniform", size] = [1 / size] * size
        for name, weigh in (
            ("inverse", lambda i: 1 / i),
            ("dcg", lambda i: 1 / math.log2(i + 1)),
        ):
            total = sum(map(weigh, places))
            weights[name, size] = [weigh(i) / total for i in places]
    means = []
    for pair in pairs:
        sums = [0.0] * len(MEASURES)
        for query in queries:
            for i, value in enumerate(_of_pair(query, *pair, weights)):
                sums[i] += value / len(queries)
        means.append(sums)
    return np.array(means).T


def _of_pair(
    query: _Found, a: int, b: int, weights: dict[tuple[str, int], list[float]]
) -> Iterator[float]:
    x, y = query.relevant[a], query.relevant[b]
    for name in ("uniform", "inverse", "dcg"):
        yield _recall_paired(x, y, weights[name, len(x)])
    total = count = 0.0
    for level in query.graded:
        size = len(level[a])
        total += size * _recall_paired(level[a], level[b], weights["uniform", size])
        count += size
    yield total / count
    yield _first(x[::-1], y[::-1])[0]
    yield from _first(x, y)


def _recall_paired(x: list[float], y: list[float], weights: list[float]) -> float:
    value = 0.0
    for a, b, weight in zip(x, y, weights, strict=True):
        if a < b:
            value += weight
        elif b < a:
            value -= weight
    return value


def _first(x: list[float], y: list[float]) -> tuple[float, float]:
    for a, b in zip(x, y, strict=True):
        if a != b:
            return 1.0 if a < b else -1.0, 1 / a - 1 / b
    return 0.0, 0.0


def _main(runs: str, qrels: str) -> None:
    start, began = time.perf_counter(), time.process_time()
    found = pgcjax.rankings.prefer(runs, qrels=qrels, measures=MEASURES)
    seconds, processor = time.perf_counter() - start, time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(seconds, processor, len(found.table) // len(MEASURES), peak)


if __name__ == "__main__":
    _main(*sys.argv[1:])
