"""How the time of scoring grows with queries Q, runs R and documents N."""

import math
from functools import partial

import numpy as np

from benchmarks import inputs, ours
from benchmarks.harness import Contender, Report

BASE = {"Q": 32, "R": 64, "N": 64}
STEPS = {
    "Q": (16, 32, 64, 128, 256),
    "R": (16, 32, 64, 128, 256, 512, 1024),
    "N": (16, 32, 64, 128, 256, 512),
}


def run(report: Report, steps: dict[str, tuple[int, ...]] | None = None) -> None:
    """Time made-up cyclic graphs along each axis, the others fixed."""
    for axis, values in (steps or STEPS).items():
        rows, seconds = [], []
        for value in values:
            shape = BASE | {axis: value}
            if axis == "N":
                shape["Q"] = max(4, min(32, 2048 // value))
            case = inputs.cyclic(shape["Q"], shape["R"], shape["N"])
            whole, device = _microseconds(report, case)
            rows.append([str(value), f"{shape['Q']} × {shape['R']} × {shape['N']}"])
            rows[-1] += [whole, device]
            pairs = case.pairs / (shape["Q"] if axis == "N" else 1)
            seconds.append((whole * pairs, device * pairs))
        exponents = [_exponent(values, column) for column in zip(*seconds, strict=True)]
        rows.append(["exponent", "time ~ size^", *exponents])
        report.table(
            f"growth in {axis}: µs per (query, run)",
            [axis, "Q × R × N", "pgcjax", "its device part"],
            rows,
        )


def _microseconds(report: Report, case: inputs.Case) -> tuple[float, float]:
    """Median time per pair, of all and of the work on the device."""
    arguments = (case.graphs, case.rankings, case.p, case.depth)
    quiet = Report(rounds=min(report.rounds, 3))
    quiet.console.quiet = True
    contenders = [
        Contender("whole", partial(ours.scores, *arguments), case.pairs, ours=True),
        Contender(
            "device", ours.device_calls(*arguments), case.pairs, True, values=None
        ),
    ]
    found = quiet.race(case.title, contenders, per="pair", units=case.pairs)
    return found["whole"].microseconds.median, found["device"].microseconds.median


def _exponent(sizes: tuple[int, ...], seconds: tuple[float, ...]) -> float:
    """Fit seconds = c * sizes^exponent."""
    return float(np.polyfit(list(map(math.log, sizes)), np.log(seconds), 1)[0])
