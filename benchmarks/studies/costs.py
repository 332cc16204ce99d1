"""The constants of the cost model, measured; and what it says beside what is."""

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks import inputs, ours, texts
from benchmarks.harness import Report, child
from pgcjax.engine import cost, estimate
from pgcjax.kernels.rbo import rank_weights

RUNS, QUERIES = 20, 100


def run(report: Report, runs: int = RUNS, queries: int = QUERIES) -> None:
    """Measure every constant in seconds of a core, and then some whole jobs."""
    rounds = min(report.rounds, 3)
    with TemporaryDirectory(prefix="pgcjax-bench-") as name:
        folder = Path(name)
        made_up = texts.write(folder, runs, queries)
        judged = {"preferences": made_up.prefs, "qrels": made_up.qrels}
        packed = folder / "runs.parquet"
        options = ("--prefs", made_up.prefs, "--qrels", made_up.qrels)
        child("-m", "pgcjax", "pack", *options, *made_up.plain, "-o", packed)
        found = {
            **_reading(made_up, packed, judged, queries, rounds),
            **_scoring(rounds),
        }
        rows = [
            [name, 1e9 * value, 1e9 * getattr(cost.CORE, name), value / old]
            for name, value in found.items()
            if (old := getattr(cost.CORE, name))
        ]
        columns = ["constant", "ns, measured", "ns, in cost.CORE", "ratio"]
        report.table("constants of the cost model, of one core", columns, rows)
        _whole_jobs(report, made_up, packed, judged, found)


def _cpu(call: Callable[[], Any], rounds: int) -> float:
    """Give the median time of all cores that a call takes, in seconds."""
    call()
    times = []
    for _ in range(rounds):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return float(np.median(times))


def _reading(
    made_up: Any, packed: Path, judged: dict, queries: int, rounds: int
) -> dict[str, float]:
    docs = ours.judged_documents(judged)
    lines = made_up.lines * len(made_up.plain)
    plain = _cpu(lambda: ours.rankings_of(made_up.plain, docs), rounds) / lines
    gz = _cpu(lambda: ours.rankings_of(made_up.gz, docs), rounds) / lines
    many = {f"q{q:03}": [f"d{i:03}" for i in range(170)] for q in range(queries)}
    large = packed.parent / "many.parquet"
    ours.write_packed(large, 240, many, 120)
    asked = {query: np.array(some, object) for query, some in many.items()}
    size = ours.rankings_of([large], asked).size
    again = _cpu(lambda: ours.rankings_of([large], asked).retrieved(asked), rounds)
    lines = estimate.estimate(made_up.plain, **judged).judgments
    paths = made_up.prefs, made_up.qrels
    judging = _cpu(lambda: ours.judgments_of(*paths), rounds) / lines
    found = {"line": plain, "inflate": max(0.0, gz - plain), "packed": again / size}
    return {**found, "judgment": judging}


def _scoring(rounds: int) -> dict[str, float]:
    """Solve for the constants that several sizes tell apart."""
    small, large = inputs.cyclic(64, 128, 16), inputs.cyclic(16, 128, 170)
    graded = inputs.graded(32, 128, 170)
    host, device = {}, {}
    for name, case in {"small": small, "large": large, "graded": graded}.items():
        arguments = (case.graphs, case.rankings, case.p, case.depth)
        device[name] = _cpu(ours.device_calls(*arguments), rounds) / case.pairs
        host[name] = _cpu(partial(_lay_out, case), rounds) / case.pairs
        again = inputs.cyclic if name != "graded" else inputs.graded
        fewer = again(case.shape[1], 1, len(next(iter(case.graphs.values()))))
        host[name, "query"] = _cpu(partial(_lay_out, fewer), rounds) / fewer.pairs
    places = {"small": 16, "large": 192}
    rows = [[n * places[x], n] for x, n in (("small", 16), ("large", 170))]
    peel, step = np.linalg.solve(rows, [device["small"], device["large"]])
    query = host["large", "query"] / 192**2
    docs = {x: inputs.RETRIEVED * n for x, n in (("small", 16), ("large", 170))}
    own = {x: host[x] - query * places[x] ** 2 / 128 for x in places}
    lay_out = (own["large"] - own["small"]) / (docs["large"] - docs["small"])
    pair = own["small"] - lay_out * docs["small"]
    return {
        "lay_out": lay_out,
        "pair": pair,
        "peel": peel,
        "step": step,
        "level": device["graded"] / docs["large"],
        "query": query,
    }


def _lay_out(case: inputs.Case) -> None:
    """Lay out all that is given to the device, and compute nothing."""
    for _ in ours.tiles(case.graphs, case.rankings, rank_weights(case.p, case.depth)):
        pass


def _whole_jobs(
    report: Report, made_up: Any, packed: Path, judged: dict, found: dict[str, float]
) -> None:
    import pgcjax

    machine = replace(cost.this_machine(), **found)
    rows = []
    for name, source in (
        ("text", made_up.plain),
        (".gz", made_up.gz),
        ("packed", packed),
    ):
        for measures in (["PGC"], ["PGC(graph=combined)"], ["PGC", "Compat"]):
            arguments = {**judged, "measures": measures}
            job = estimate.estimate(source, **arguments)
            pgcjax.evaluate(source, **arguments)
            start = time.perf_counter()
            pgcjax.evaluate(source, **arguments)
            took = time.perf_counter() - start
            says, here = job.total(cost.this_machine()), job.total(machine)
            rows.append(
                [f"{name}: {', '.join(measures)}", took, says, says / took, here]
            )
    columns = [
        "job",
        "s, measured",
        "s, by cost.CORE",
        "ratio",
        "s, by these constants",
    ]
    report.table(f"whole jobs of {len(made_up.plain)} runs", columns, rows)
