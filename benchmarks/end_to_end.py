"""From run files to scores, as whole processes and as calls."""

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks import baselines, inputs, texts
from benchmarks.harness import Contender, NotEqualError, Report, child

PER = "1000 lines"
ROUNDS = 3  # at most
LEAST = 1.0  # seconds of calls in a sample: the first after others pays for memory
SAMPLE = 10  # runs that ir_measures reads where its time is scaled
MEASURES = ("PGC", "Compat")
READ = """
import sys
from ir_measures import read_trec_run
print(sum(len(list(read_trec_run(path))) for path in sys.argv[1:]))
"""


def run(report: Report, runs: int = 100, queries: int = 173, depth: int = 1000) -> None:
    """Race on a made-up collection, as processes and as calls."""
    with TemporaryDirectory(prefix="pgcjax-bench-") as name:
        folder = Path(name)
        report.say(f"writing {runs} runs × {queries} queries × depth {depth}, twice")
        made_up = texts.write(folder, runs, queries, depth)
        sources: dict[str, Path] = {
            "pgcjax, .gz": folder / "gz",
            "pgcjax, plain": folder / "plain",
        }
        sources["pgcjax, packed"] = folder / "runs.parquet"
        options = ("--prefs", made_up.prefs, "--qrels", made_up.qrels)
        target = ("-o", folder / "runs.parquet")
        child("-m", "pgcjax", "files", "pack", *options, *made_up.gz, *target)
        title = f"{runs} runs × {queries} queries × depth {depth}"
        processes(report, title, made_up, sources)
        calls(report, title, made_up, sources)


def processes(
    report: Report, title: str, made_up: texts.Collection, sources: dict[str, Path]
) -> None:
    """Race whole processes: `pgcjax evaluate` and the reader of ir_measures alone."""
    expected = made_up.lines * len(made_up.gz)

    def read() -> None:
        if (lines := int(child("-c", READ, *made_up.gz))) != expected:
            raise NotEqualError(f"ir_measures read {lines} lines of {expected}")

    def evaluate(source: Path) -> Any:
        out = source.parent / f"{source.name}.scores.parquet"
        options = ("--prefs", made_up.prefs, "--qrels", made_up.qrels, "-o", out)
        child("-m", "pgcjax", "evaluate", *options, *measures(), source)
        return out

    def values(out: Path) -> np.ndarray:
        import pgcjax

        return _matrix(pgcjax.files.read_scores(out))

    units = expected / 1000
    contenders = [
        Contender("ir_measures, .gz, read only", read, units, values=None),
        *(
            Contender(name, partial(evaluate, source), units, ours=True, values=values)
            for name, source in sources.items()
        ),
    ]
    if not _has_ir_measures(report):
        contenders = contenders[1:]
    report.race(
        f"end to end, processes: {title}",
        contenders,
        per=PER,
        units=units,
        rounds=min(report.rounds, ROUNDS),
    )


def measures() -> list[str]:
    """Give options of the command line that name the measures."""
    return [word for measure in MEASURES for word in ("-m", measure)]


def calls(
    report: Report, title: str, made_up: texts.Collection, sources: dict[str, Path]
) -> None:
    """Race calls in this process; first check the scores of a run by plain Python."""
    import pgcjax

    def evaluate(source: Path) -> Any:
        return pgcjax.evaluate(
            source,
            preferences=made_up.prefs,
            qrels=made_up.qrels,
            measures=MEASURES,
        )

    def read() -> None:
        from ir_measures import read_trec_run

        for path in made_up.gz[:SAMPLE]:
            list(read_trec_run(str(path)))

    _check(made_up, evaluate(made_up.gz[0]))
    runs = len(made_up.gz)
    some, units = min(runs, SAMPLE), made_up.lines * runs / 1000
    contenders = [
        Contender(
            "ir_measures, .gz, read only",
            read,
            made_up.lines * some / 1000,
            values=None,
            note=f"on {some} runs" if some < runs else "",
        ),
        *(
            Contender(name, partial(evaluate, source), units, ours=True, values=_matrix)
            for name, source in sources.items()
        ),
    ]
    if not _has_ir_measures(report):
        contenders = contenders[1:]
    report.race(
        f"end to end, calls: {title}",
        contenders,
        per=PER,
        units=units,
        rounds=min(report.rounds, ROUNDS),
        least=LEAST,
    )


def _matrix(scores: Any) -> np.ndarray:
    return np.stack([scores.matrix(m).sort_index().to_numpy() for m in MEASURES])


def _check(made_up: texts.Collection, scores: Any) -> None:
    """Compare the scores of one run with the published algorithm, from the files."""
    run = inputs.plain_run(made_up.gz[0])
    row = scores.matrix("PGC").iloc[0]
    for query, edges in inputs.plain_edges(made_up.prefs).items():
        graph = baselines.Graph(edges)
        ideal = baselines.greedy_ideal(graph, run[query])
        if abs(row[query] - baselines.rbo(run[query], ideal, 0.95, 1000)) > 1e-12:
            raise NotEqualError(f"{made_up.gz[0]}: query {query}: {row[query]}")


def _has_ir_measures(report: Report) -> bool:
    try:
        import ir_measures  # noqa: F401
    except ImportError as error:
        report.say(f"left out: ir_measures ({error})")
        return False
    return True
