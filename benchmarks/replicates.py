"""Replicates of real judgments: on the device, beside graphs built and peeled again."""

import resource
import time
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks import inputs, ours
from benchmarks.harness import Contender, Report

REPLICATES, FEW = 1000, 5


def run(report: Report, data: Path | None) -> None:
    """Race on public collections, and give time of the processor and memory."""
    for source in (inputs.CAST, inputs.DL21):
        if not (data and source.prefs and (data / source.runs).is_dir()):
            continue
        runs = sorted((data / source.runs).iterdir())
        job = ours.Replicated(data / source.prefs, runs, REPLICATES)
        queries, count = len(job.judged), len(job.rankings.run_ids)
        title = f"{source.title}: {queries} queries × {count} runs"
        race(report, title, job, queries * count)


def race(report: Report, title: str, job: "ours.Replicated", pairs: int) -> None:
    """Race on one collection, whose first few replicates are compared."""
    few = np.arange(FEW * len(job.rankings.run_ids))
    contenders = [
        Contender(
            "one after the other",
            partial(job.one_by_one, FEW),
            FEW * pairs,
            of=few,
            note=f"{FEW} of {REPLICATES} replicates",
        ),
        Contender("pgcjax", job.means, REPLICATES * pairs, ours=True),
    ]
    units = REPLICATES * pairs
    report.race(
        f"{REPLICATES} replicates, draws included, {title}",
        contenders,
        per="(replicate, query, run)",
        units=units,
    )
    wall, own = time.perf_counter(), time.process_time()
    job.means()
    wall, own = time.perf_counter() - wall, time.process_time() - own
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    report.table(
        f"the processor's time, {title}",
        ["", "seconds", "µs per unit", "peak of the process, MiB"],
        [
            ["all cores together", own, own / units * 1e6, peak],
            ["by the clock", wall, wall / units * 1e6, peak],
        ],
    )
