"""Scores of a job into a table and a file: all rows at once, or some runs at a time.

    python -m benchmarks scores
    python -m benchmarks.scores --before ../old -o benchmarks/results/scores-cpu.json

The second does the same by another checkout, too, whose jobs had a table of all scores.
"""

import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import numpy as np

from benchmarks.harness import ROOT, Report, child, facts

MEASURES = ("PGC", "Compat")
QUERIES = 1000
CHUNK = 64  # runs
MOST_ROWS = 10**7  # scores, of which a table of all takes gigabytes
WAYS = {
    "before": "table of all, version before",
    "rows": "table of all, by pandas and pyarrow",
    "save": "file, some runs at a time",
    "means": "means alone, of chunks",
    "matrix": "one measure of a file, read",
}
COLUMNS = ["scores", "way", "ns (clock)", "ns (processor)", "bytes of memory"]


class _Judged:
    """What is asked of `io.judged.Judged`."""

    def __init__(self, queries: list[str]):
        self.docs = dict.fromkeys(queries)

    def __len__(self) -> int:
        return len(self.docs)


def job(runs: int) -> tuple[Any, list[Any], Callable[[int], dict[str, Any]]]:
    """Make up what a job knows when all runs are scored, and its chunks."""
    queries = [f"q{i:04d}" for i in range(QUERIES)]
    members = [
        SimpleNamespace(place=i, measure=name, tensors=SimpleNamespace(docs=queries))
        for i, name in enumerate(MEASURES)
    ]
    request = SimpleNamespace(
        members=members,
        measures=list(MEASURES),
        judged=_Judged(queries),
        columns=lambda member: list(range(QUERIES)),
        missing="zero",
    )

    def chunk(first: int) -> dict[str, Any]:
        count = min(CHUNK, runs - first)
        values = np.random.default_rng(first).random((len(MEASURES), count, QUERIES))
        return {
            "run_ids": [f"run{first + i:07d}" for i in range(count)],
            "query_ids": set(queries),
            "has": np.ones((count, QUERIES), bool),
            "parts": [values],
        }

    return request, [SimpleNamespace(members=members)], chunk


def before(runs: int, target: Path) -> Callable[[], Any]:
    """Prepare to lay all scores out and save them, by the version that did so."""
    from pgcjax.engine import evaluate
    from pgcjax.engine.chunk import Chunk, together
    from pgcjax.stats.scores import Scores

    request, batches, chunk = job(runs)
    total = together([Chunk(**chunk(i)) for i in range(0, runs, CHUNK)])
    evaluate.tell = lambda *_: []
    made: Any = evaluate
    return lambda: Scores(made._table(request, batches, total)[0]).save(target)


def kept(runs: int, folder: Path) -> tuple[Any, list[Any], list[Any], Any]:
    """Keep chunks on disk, as a job does: what it knows, and its chunks."""
    from pgcjax.engine.chunk import Chunk, KeptChunk
    from pgcjax.engine.scored import counting
    from pgcjax.io.checkpoint import Checkpoint

    request, batches, chunk = job(runs)
    checkpoint = Checkpoint(folder / f"kept {runs}", {"version": "0"})
    tally, seen = counting(request, batches)
    chunks = []
    for first in range(0, runs, CHUNK):
        made = Chunk(**chunk(first))
        seen(made)
        name = f"{first}-{first + len(made.run_ids)}"
        checkpoint.save(name, **made.arrays())
        chunks.append(KeptChunk(made.run_ids, partial(checkpoint.views, name)))
    return request, batches, chunks, tally


def scores_of(runs: int, folder: Path) -> Any:
    """Give the scores of a job whose chunks are on disk."""
    from pgcjax.engine.scored import job_scores
    from pgcjax.stats.scores import Scores

    return Scores(job_scores(*kept(runs, folder)), {})


def means(runs: int, folder: Path, target: Path) -> Callable[[], Any]:
    """Prepare to average each chunk, and save the means, as `--means-only`."""
    from pgcjax.engine.scored import counting, job_means, means_of
    from pgcjax.stats.scores import Scores

    request, batches, chunks, _ = kept(runs, folder)

    def call() -> Any:
        tally, seen = counting(request, batches, means=True)
        averaged = []
        for chunk in chunks:
            averaged.append(means_of(request, batches, chunk.open()))
            seen(averaged[-1])
        found = Scores(job_means(request, averaged, tally), {})
        found.save(target)
        return found

    return call


def rows(scores: Any, target: Path) -> None:
    """Write one table of all scores as pandas and pyarrow do by default."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.Table.from_pandas(scores.table, preserve_index=False), target)


def matrix(scores: Any, target: Path) -> None:
    """Read one measure."""
    from pgcjax.files import read_scores

    assert read_scores(target).matrix(MEASURES[1]).shape[1] == QUERIES


def measure(way: str, count: int, folder: Path) -> dict[str, float]:
    """Do a job in this process: seconds, and bytes beyond those of a small job."""
    target = folder / "scores.parquet"

    def prepared(runs: int) -> Callable[[], Any]:
        if way == "before":
            return before(runs, target)
        if way == "means":
            return means(runs, folder, target)
        scores = scores_of(runs, folder)
        if way == "matrix":
            scores.save(target)
        ways = {"rows": rows, "matrix": matrix}
        return (
            partial(ways[way], scores, target)
            if way in ways
            else partial(scores.save, target)
        )

    prepared(CHUNK)()  # what is imported is no cost of the job
    base = _peak()
    call = prepared(count // (QUERIES * len(MEASURES)))
    clock, processor = time.perf_counter(), time.process_time()
    call()
    clock, processor = time.perf_counter() - clock, time.process_time() - processor
    return {"clock": clock, "processor": processor, "memory": _peak() - base}


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _check() -> None:
    """Compare the rows of all ways, of a job of three chunks."""
    import pandas as pd

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        scores = scores_of(3 * CHUNK - 5, folder)
        averaged = means(3 * CHUNK - 5, folder, folder / "c.parquet")().mean()
        assert averaged.equals(scores.mean()), "the means are others"
        scores.save(folder / "a.parquet")
        rows(scores, folder / "b.parquet")
        one, other = (pd.read_parquet(folder / f"{x}.parquet") for x in "ab")
        assert one.equals(other), "the files have other rows"


def run(
    report: Report, most: int = 10**8, old: Path | None = None, rounds: int = 3
) -> None:
    """Measure each way in processes of its own, as scores grow."""
    _check()
    found = []
    for size in (10**6, 10**7, 10**8, 10**9):
        ways = [w for w in WAYS if w != "before" or old]
        for way in ways if size <= most else ():
            if way in ("before", "rows") and size > MOST_ROWS:
                continue
            paths = os.pathsep.join(
                map(str, [*([old] if way == "before" else []), ROOT])
            )
            each = []
            for _ in range(rounds if size <= MOST_ROWS else 1):
                with tempfile.TemporaryDirectory() as folder:
                    call = ("-P", __file__, "--one", way, size, folder)
                    each.append(json.loads(child(*call, PYTHONPATH=paths)))
            best = {name: min(one[name] for one in each) for name in each[0]}
            ns = [best[name] / size * 1e9 for name in ("clock", "processor")]
            memory = (
                f"{best['memory'] / 2**20:.0f} MiB, {best['memory'] / size:.1f} each"
            )
            found.append([f"{size:.0e}", WAYS[way], *ns, memory])
    title = "Scores of a job: per score, the best of some processes of their own"
    report.table(title, COLUMNS, found)


@click.command()
@click.option("--before", "old", type=Path, help="Another checkout.")
@click.option("--most", default=10**8, show_default=True, help="Scores.")
@click.option("-o", "--output", type=Path, metavar="FILE.json")
@click.option("--one", nargs=3, hidden=True)
def main(
    old: Path | None, most: int, output: Path | None, one: tuple[str, str, str] | None
) -> None:
    """Measure what it takes to write the scores of a job, and to read them."""
    if one:
        way, size, folder = one
        print(json.dumps(measure(way, int(size), Path(folder))))
        return
    report = Report()
    run(report, most, old.resolve() if old else None)
    if output:
        report.save(output, facts(["python", "-m", "benchmarks.scores", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
