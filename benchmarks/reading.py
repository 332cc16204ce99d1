"""From run files to the ranks of judged documents: ir_measures, pandas, ours.

    python -m benchmarks reading
    python -m benchmarks.reading --before ../old -o benchmarks/results/reading-cpu.json

The second reads made-up runs on one core, on two and on more, in processes that may use
no others, in turn; and does the same by another checkout. Processes apart, which share
the files but no lock, tell what the machine can give.
"""

import gzip
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import numpy as np

from benchmarks import inputs, ours, texts
from benchmarks.harness import ROOT, Contender, NotEqualError, Report, facts

PER = "1000 lines"
WAYS = {
    "pandas": "pandas",
    "before": "version before",
    "pgcjax": "pgcjax",
    "apart": "pgcjax, processes apart",
}
COLUMNS = [
    *("way", "ns a line (clock)", "lowest", "highest", "ns of processors"),
    *("× one core", "× pandas"),
]
SMALL = 50, 100  # queries and depth of small files: those of many tracks
Judged = dict[str, np.ndarray]


def run(report: Report, data: Path | None, *, queries: int = 173) -> None:
    """Race on DL 2021's runs and on a made-up run of depth 1000, .gz and plain."""
    with TemporaryDirectory(prefix="pgcjax-bench-") as name:
        folder = Path(name)
        if data and (data / "dl21").is_dir():
            judged = _judged(data / "dl21/qrels.dl21-passage.txt.gz")
            packed = sorted((data / "dl21/runs").iterdir())
            (folder / "dl21").mkdir()
            plain = [folder / "dl21" / path.stem for path in packed]
            for source, target in zip(packed, plain, strict=True):
                target.write_bytes(gzip.decompress(source.read_bytes()))
            race(report, f"DL 2021, {len(packed)} runs, .gz", packed, judged)
            race(report, f"DL 2021, {len(plain)} runs, plain", plain, judged)
        made_up = texts.write(folder, 2, queries=queries)
        judged = _judged(made_up.qrels)
        title = f"2 made-up runs × {queries} queries × depth 1000"
        race(report, f"{title}, .gz", made_up.gz, judged)
        race(report, f"{title}, plain", made_up.plain, judged)
    lists(report, 12, queries)
    on_cores(report, 8, queries)
    on_cores(report, 32, *SMALL)


def lists(report: Report, runs: int, queries: int = 173, depth: int = 1000) -> None:
    """Race `evaluate(files)` and `evaluate(read_runs(files))`: the same scores."""
    import pgcjax

    with TemporaryDirectory(prefix="pgcjax-bench-") as name:
        made_up = texts.write(Path(name), runs, queries, depth)
        files = [*map(str, made_up.plain)]
        qrels = pgcjax.files.read_qrels(made_up.qrels)
        lines = runs * made_up.lines / 1000

        def evaluate(source: Any) -> np.ndarray:
            scores = pgcjax.evaluate(source, qrels=qrels, measures="nDCG@10")
            return scores.matrix("nDCG@10").to_numpy()

        direct = Contender("files", lambda: evaluate(files), lines, ours=True)
        listed = Contender(
            "read_runs(files)", lambda: evaluate(pgcjax.files.read_runs(files)), lines
        )
        title = f"evaluate, {runs} made-up runs × {queries} queries × depth {depth}"
        report.race(title, [direct, listed], per=PER, units=lines)


def _judged(qrels: Path) -> Judged:
    grades = inputs.plain_grades(qrels)
    return {q: np.array(sorted(docs), object) for q, docs in sorted(grades.items())}


def race(report: Report, title: str, paths: list[Path], judged: Judged) -> None:
    """Race on some files: to the ranks of judged documents, but for ir_measures."""
    lines = sum(len(inputs.lines_of(path)) for path in paths)
    rankings = Contender(
        "pgcjax",
        partial(ours.rankings_of, paths, judged),
        lines / 1000,
        ours=True,
        values=partial(_ours, judged),
    )
    reading = Contender(
        "its reading part",
        partial(ours.read, paths),
        lines / 1000,
        ours=True,
        values=None,
    )
    places = _places(judged)
    pandas = Contender(
        "pandas",
        partial(with_pandas, paths, places),
        lines / 1000,
        values=partial(_pandas, len(places)),
    )
    contenders = [*ir_measures(report, paths, lines), pandas, rankings, reading]
    report.race(f"reading, {title}", contenders, per=PER, units=lines / 1000)


def _places(judged: Judged):
    """List judged documents, each with its place among all."""
    import pandas as pd

    pairs = [(query, doc) for query, docs in judged.items() for doc in docs]
    table = pd.DataFrame(pairs, columns=["query", "doc"], dtype="str")
    return table.assign(place=np.arange(len(table)))


def with_pandas(paths: list[Path], judged) -> dict[str, Any]:
    """Read with pandas as one does: parse, sort as trec_eval, rank, join."""
    import pandas as pd

    found = {}
    for path in paths:
        run = pd.read_csv(
            path,
            sep=r"\s+",
            header=None,
            names=["query", "Q0", "doc", "rank", "score", "tag"],
            usecols=["query", "doc", "score"],
            dtype={"query": "str", "doc": "str", "score": "float64"},
            engine="c",
            quoting=3,
            na_filter=False,
        )
        run = run.sort_values(["query", "score", "doc"], ascending=[True, False, False])
        run["rank"] = run.groupby("query", sort=False).cumcount()
        found[path.name.split(".")[0]] = run.merge(judged, on=["query", "doc"])
    return found


def _pandas(places: int, found: dict[str, Any]) -> np.ndarray:
    ranks = np.full((len(found), places), ours.ABSENT)
    for row, (_, run) in zip(ranks, sorted(found.items()), strict=True):
        row[run["place"]] = run["rank"]
    return ranks


def _ours(judged: Judged, rankings: Any) -> np.ndarray:
    parts = [ours.dense_ranks(rankings, query, docs) for query, docs in judged.items()]
    return np.concatenate(parts, axis=1)


def ir_measures(report: Report, paths: list[Path], lines: int) -> list[Contender]:
    """The reader of ir_measures into a list, if it is installed."""
    try:
        from ir_measures import read_trec_run
    except ImportError as error:
        report.say(f"left out: ir_measures ({error})")
        return []
    import pgcjax

    table = pgcjax.files.read_runs(paths[0], name_by="file").table
    columns = ["query_id", "doc_id", "score"]
    mine = set(table[columns].itertuples(index=False, name=None))
    read = list(read_trec_run(str(paths[0])))
    if mine != set(map(tuple, read)) or len(read) != len(table):
        raise NotEqualError(f"{paths[0]}: ir_measures and pgcjax read other rows")

    def call() -> None:
        for path in paths:
            list(read_trec_run(str(path)))

    return [Contender("ir_measures, read only", call, lines / 1000, values=None)]


def on_cores(
    report: Report,
    runs: int,
    queries: int = 173,
    depth: int = 1000,
    old: Path | None = None,
) -> None:
    """Read plain and .gz runs of a depth by each way, on one core and on more.

    Linux only: elsewhere a process cannot be told which cores it may use.
    """
    if not hasattr(os, "sched_setaffinity"):
        report.say("left out: one core and more, which only Linux can choose")
        return
    cores = sorted(os.sched_getaffinity(0))
    with TemporaryDirectory(prefix="pgcjax-bench-") as name:
        made_up = texts.write(Path(name), runs, queries, depth)
        lines = runs * made_up.lines
        for kind in ("plain", "gz"):
            counts = [2**i for i in range(len(cores).bit_length())]
            ways = [("pandas", 1), *(("before", n) for n in counts if old)]
            ways += [("pgcjax", n) for n in counts]
            ways += [("apart", n) for n in counts if 1 < n <= runs]
            with ExitStack() as stack:
                readers = [
                    stack.enter_context(_Readers(way, cores[:n], Path(name), kind, old))
                    for way, n in ways
                ]
                if any(reader.ranks != readers[0].ranks for reader in readers):
                    raise NotEqualError(f"{kind}: not all read the same ranks")
                rounds = [[r.read() for r in readers] for _ in range(report.rounds)]
            times = np.array(rounds) / lines * 1e9
            rows = list(_rows(ways, times))
            title = f"reading, {runs} made-up runs × {queries} queries × depth {depth}"
            report.table(f"{title}, {kind}", COLUMNS, rows)


def _rows(ways: list[tuple[str, int]], times: np.ndarray) -> Iterator[list[Any]]:
    """Give medians of the rounds; ratios are of times in the same round."""
    clock, processors = np.moveaxis(times, -1, 0)
    for i, (way, n) in enumerate(ways):
        one = ways.index(("pgcjax" if way == "apart" else way, 1))
        spread = statistics.median(clock[:, i]), clock[:, i].min(), clock[:, i].max()
        ratios = (clock[:, j] / clock[:, i] for j in (one, 0))
        yield [
            f"{WAYS[way]}, {n} core{'s' * (n > 1)}",
            *map(float, spread),
            *(float(np.median(x)) for x in (processors[:, i], *ratios)),
        ]


class _Readers:
    """Processes that read all files when they are asked to, on cores of their own.

    Attributes:
        ranks: of each file, a hash of what is read from it.
    """

    def __init__(
        self, way: str, cores: list[int], folder: Path, kind: str, old: Path | None
    ):
        """Start a process on all cores, or one `apart` on each with its share."""
        apart = way == "apart"
        groups = [[core] for core in cores] if apart else [cores]
        paths = [*([old] if old and way == "before" else []), ROOT]
        env = os.environ | {
            "PYTHONPATH": os.pathsep.join(map(str, paths)),
            "POLARS_MAX_THREADS": str(len(groups[0])),
        }
        command = [sys.executable, "-P", __file__, "--one", way, str(folder), kind]
        own = os.sched_getaffinity(0)
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self._processes = []
        for i, group in enumerate(groups):
            os.sched_setaffinity(0, group)
            share = f"{i}/{len(groups)}"
            process = subprocess.Popen([*command, share], env=env, text=True, **pipes)
            self._processes.append(process)
        os.sched_setaffinity(0, own)
        self.ranks: dict[str, str] = {}
        for ranks in self._said():
            self.ranks |= ranks

    def __enter__(self) -> "_Readers":
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.communicate()

    def _said(self) -> list[Any]:
        lines = [p.stdout.readline() if p.stdout else "" for p in self._processes]
        if not all(lines):
            raise RuntimeError("a process that reads has ended")
        return [json.loads(line) for line in lines]

    def read(self) -> tuple[float, float]:
        """Read all files once: seconds until the last is done, and of all cores."""
        for process in self._processes:
            assert process.stdin
            process.stdin.write("\n")
            process.stdin.flush()
        clock, processors = zip(*self._said(), strict=True)
        return max(clock), sum(processors)


def _serve(way: str, folder: Path, kind: str, share: str = "0/1") -> None:
    """Be a process of `_Readers`, which reads every n-th file from the i-th: i/n."""
    first, step = map(int, share.split("/"))
    paths = sorted((folder / kind).iterdir())[first::step]
    judged = _judged(folder / "judgments.qrels")
    call: Callable[[], Any] = partial(ours.rankings_of, paths, judged)
    values = partial(_ours, judged)
    if way == "pandas":
        places = _places(judged)
        call, values = (
            partial(with_pandas, paths, places),
            partial(_pandas, len(places)),
        )
    ranks = zip(paths, values(call()).astype("i4"), strict=True)
    hashes = {path.name: sha256(row.tobytes()).hexdigest() for path, row in ranks}
    print(json.dumps(hashes), flush=True)
    for _ in sys.stdin:
        clock, processors = time.perf_counter(), time.process_time()
        call()
        took = time.perf_counter() - clock, time.process_time() - processors
        print(json.dumps(took), flush=True)


@click.command()
@click.option("--before", "old", type=Path, help="Another checkout.")
@click.option(
    "--runs", default=12, show_default=True, help="Made-up files; of small ones 4 ×."
)
@click.option("--rounds", default=7, show_default=True)
@click.option("-o", "--output", type=Path, metavar="FILE.json")
@click.option("--one", nargs=4, hidden=True)
def main(
    old: Path | None,
    runs: int,
    rounds: int,
    output: Path | None,
    one: tuple[str, str, str, str] | None,
) -> None:
    """Measure what reading text takes on one core and on more."""
    if one:
        _serve(one[0], Path(one[1]), *one[2:])
        return
    report = Report(rounds)
    before = old.resolve() if old else None
    on_cores(report, runs, old=before)
    on_cores(report, 4 * runs, *SMALL, old=before)
    if output:
        report.save(
            output, facts(["python", "-m", "benchmarks.reading", *sys.argv[1:]])
        )


if __name__ == "__main__":
    main()
