"""RBO of all pairs of runs beside plain Python, on made-up runs with and without ties.

`python -m benchmarks.rbo FOLDER TIES` compares all pairs of the runs in a folder once,
and prints seconds, pairs of rankings and the process's peak memory in MB.
"""

import random
import resource
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl

from benchmarks.harness import Contender, Report, child
from pgcjax.engine import similarity_tiles
from pgcjax.engine.similarity import rbo
from pgcjax.reference.rbo import rbo_of_ties
from pgcjax.tensors.tied_lists import Numbers, read

P = 0.9
POOL = 4  # documents that runs retrieve from, per rank
SPREAD = 0.3  # of a document's place from run to run, as a share of the pool
PER = "pair of rankings"


def run(
    report: Report,
    runs: int = 30,
    queries: int = 8,
    depth: int = 1000,
    sampled: int = 3,
    large: tuple[int, int] | None = (126, 50),
    alone: Sequence[str] = ("broken", "w", "a", "b"),
) -> None:
    """Race with ties and without, then measure a large job by ways with ties `alone`.

    Each of the large jobs has a process of its own.
    """
    with TemporaryDirectory(prefix="pgcjax-bench-") as name:
        few = Path(name, "few")
        write(few, runs, queries, depth)
        for ties in ("broken", "a", "b"):
            race(report, few, ties, sampled)
        if large:
            many = Path(name, "many")
            write(many, *large, depth)
            rows = []
            for ties in alone:
                seconds, pairs, peak = map(float, _alone(many, ties))
                rows.append([ties, int(pairs), seconds, seconds / pairs * 1e6, peak])
            report.table(
                f"pgcjax.rankings.rbo, all pairs of {large[0]} runs × {large[1]} "
                f"queries × depth {depth}, from text files, in a process of its own",
                ["ties", "pairs of rankings", "seconds", "µs per pair", "peak MB"],
                rows,
            )


def write(folder: Path, runs: int, queries: int, depth: int) -> None:
    """Make up runs that are alike at the top; every other one has many tied scores."""
    folder.mkdir()
    pool = POOL * depth
    ids = np.array([f"clueweb09-en{i % 133:04d}-{i:05d}" for i in range(pool)])
    for number in range(runs):
        rng = np.random.default_rng([2, number])
        frames = []
        for query in range(queries):
            place = np.arange(pool) + rng.normal(0, SPREAD * pool, pool)
            best = np.argsort(place)[:depth]
            score = np.sort(rng.random(depth) * 20)[::-1].round(2 if number % 2 else 9)
            names = ids[(best * 7919 + query) % pool]
            frames.append(pl.DataFrame({"doc": names, "score": score}))
            frames[-1] = frames[-1].select(
                pl.lit(f"q{query:03d}").alias("query"),
                pl.lit("Q0").alias("Q0"),
                "doc",
                pl.int_range(1, depth + 1).alias("rank"),
                "score",
                pl.lit(f"run{number:04d}").alias("tag"),
            )
        path = folder / f"run{number:04d}.txt"
        pl.concat(frames).write_csv(path, separator=" ", include_header=False)


def race(report: Report, folder: Path, ties: str, sampled: int) -> None:
    """Race for one way with ties: RBO.ext of all pairs of runs, query by query."""
    broken = ties == "broken"
    _, lists = read(folder, Numbers(), order="trec", broken=broken, depth=None, rows=1)
    queries = [
        similarity_tiles.RankingSides(list(mine.values())) for mine in lists.values()
    ]
    total = sum(sides.pairs() for sides in queries)
    some = random.Random(1).sample(_pairs(queries), sampled)
    groups = [[_groups(queries[q], i) for i in (a, b)] for q, a, b in some]
    places = np.array([_place(queries, *pair) for pair in some])
    kind = "a" if broken else ties
    plain = partial(_all, partial(_twin, ties=kind), groups)
    note = f"{sampled} random pairs"
    rows = [Contender("plain twin", plain, sampled, of=places, note=note)]
    if broken:
        flat = [
            [[doc for group in x for doc in group] for x in both] for both in groups
        ]
        counted = partial(_all, _counted, flat)
        rows.append(
            Contender("Python, overlap counted", counted, sampled, of=places, note=note)
        )
    compared = partial(_compared, queries, kind)
    rows += [
        Contender("pgcjax", compared, total, ours=True),
        Contender(
            "with reading and table",
            lambda: rbo(folder, p=P, ties=ties).table,
            total,
            ours=True,
            values=None,
        ),
    ]
    runs, depth = len(queries[0].a), len(queries[0].a[0].docs)
    title = (
        f"RBO.ext, ties={ties}: {runs} runs × {len(queries)} queries × depth {depth}"
    )
    report.race(title, rows, per=PER, units=total)


def _pairs(
    queries: Sequence[similarity_tiles.RankingSides],
) -> list[tuple[int, int, int]]:
    return [
        (q, i, j)
        for q, sides in enumerate(queries)
        for i in range(len(sides.a))
        for j in range(i, len(sides.a))
    ]


def _place(
    queries: Sequence[similarity_tiles.RankingSides], q: int, i: int, j: int
) -> int:
    """Give the place of a pair in what `_compared` gives."""
    n = len(queries[q].a)
    return sum(s.pairs() for s in queries[:q]) + i * n + j - i * (i + 1) // 2


def _compared(
    queries: Sequence[similarity_tiles.RankingSides], ties: str
) -> np.ndarray:
    values = [np.zeros(sides.pairs()) for sides in queries]
    for found in similarity_tiles.compare(queries, P, ties):
        n = len(queries[found.query].a)
        rows = found.a * n + found.b - found.a * (found.a + 1) // 2
        values[found.query][rows] = found.values
    return np.concatenate(values)


def _groups(sides: similarity_tiles.RankingSides, i: int) -> list[list[int]]:
    """Give a ranking as lists of documents that tie."""
    ranked = sides.a[i]
    starts = np.flatnonzero(np.diff(ranked.top, prepend=0))
    return [part.tolist() for part in np.split(ranked.docs, starts[1:])]


def _all(call: Callable[[Any, Any], float], pairs: Sequence[Any]) -> np.ndarray:
    return np.array([call(a, b) for a, b in pairs])


def _twin(a: Any, b: Any, *, ties: str) -> float:
    return rbo_of_ties(a, b, P, ties)["ext"]


def _counted(a: list[int], b: list[int]) -> float:
    """Compute RBO.ext of lists of one length as packages do: a running overlap."""
    seen_a, seen_b, shared, total = set(), set(), 0, 0.0
    for depth, (x, y) in enumerate(zip(a, b, strict=True), 1):
        shared += (x == y) + (x in seen_b) + (y in seen_a)
        seen_a.add(x)
        seen_b.add(y)
        total += (1 - P) * P ** (depth - 1) * shared / depth
    return total + P ** len(a) * shared / len(a)


def _alone(folder: Path, ties: str) -> list[str]:
    return child("-m", "benchmarks.rbo", folder, ties).split()


def _main(folder: str, ties: str) -> None:
    start = time.perf_counter()
    found = rbo(folder, p=P, ties=ties)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(seconds, found.values.size, peak)


if __name__ == "__main__":
    _main(*sys.argv[1:])
