"""Does a gate let a worse run pass, and how often does it pass a run that is equal?

`python -m benchmarks.studies.gates` is the study behind docs/how-sure-evidence.md.
Pairs of runs are drawn from public score matrices, whose topics are the population;
their difference is moved to the border of a claim, where it must not be made in more
than 5 % of cases:

- shifted: by a constant, of any two runs; similar: of a run and the one most like it;
- reweighted: topics are drawn with unequal chances, so that differences stay as they
  were, of any two runs that allow it.

Beside the gate stand the t test, and to pass whoever is "not significantly worse".
"""

from collections.abc import Iterator
from functools import partial
from itertools import product
from pathlib import Path

import click
import numpy as np
from scipy import stats

from benchmarks.harness import Report
from benchmarks.studies.calibration import random_of
from benchmarks.studies.commands import matrices_option, reported
from benchmarks.studies.families import MAIN, matrices
from pgcjax.stats import gates

ALPHA = 0.05
NULLS = ("shifted", "similar", "reweighted")
QUERIES = (25, 50, 100)
MARGINS = (0.01, 0.02, 0.05)
CLAIMS = {"not-worse": -1, "better": 0, "equivalent": 1}  # and a border of each

Moments = tuple[np.ndarray, np.ndarray]  # means and deviations, of samples


def differences(
    folder: Path, measure: str, null: str, random: np.random.Generator
) -> np.ndarray:
    """Draw two runs: their differences of all topics."""
    every = matrices(folder, measure)
    x = every[random.integers(len(every))]
    first, second = random.choice(len(x), 2, replace=False)
    if null == "similar":
        apart = (x - x[first]).var(1)
        apart[first] = np.inf
        second = int(np.argmin(apart))
    return x[first] - x[second]


def tilted(d: np.ndarray, mean: float) -> np.ndarray | None:
    """Find chances of topics, as equal as can be, by which the mean is another."""
    if not d.min() < mean < d.max():
        return None
    low, high, p = -1e3, 1e3, d
    for _ in range(50):
        middle = (low + high) / 2
        p = np.exp(middle * d - (middle * d).max())
        p /= p.sum()
        low, high = (middle, high) if p @ d < mean else (low, middle)
    return p if 1 / (p @ p) > len(d) / 4 else None  # not of a few topics alone


def moments(
    folder: Path, measure: str, null: str, queries: int, border: float, trials: int
) -> Moments:
    """Draw samples of pairs whose true mean is the border."""
    drawn = []
    random = random_of(f"gate {measure} {null} {queries} {border}", 0)
    while len(drawn) < trials:
        d = differences(folder, measure, null, random)
        p = tilted(d, border) if null == "reweighted" else None
        if p is None and null == "reweighted":
            continue
        sample = d[random.choice(len(d), queries, p=p)]
        shift = border - d.mean() if p is None else 0.0
        drawn.append((sample.mean() + shift, sample.std(ddof=1)))
    mean, deviation = np.array(drawn).T
    return mean, deviation


def decided(sample: Moments, queries: int, margin: float, claim: str) -> np.ndarray:
    """Count in how many cases a claim holds and fails: by the gate, and by plain t."""
    mean, deviation = sample
    p, against, error = gates.evidence(mean, deviation, queries, margin, claim)
    plain = np.maximum(deviation, 1e-12) / np.sqrt(queries)
    half = stats.t.isf(ALPHA, queries - 1) * plain
    border = {"not-worse": -margin, "better": 0.0, "equivalent": -margin}[claim]
    by_t = mean - half > border
    if claim == "equivalent":
        by_t &= mean + half < margin
    return np.array([np.mean(p <= ALPHA), np.mean(against <= ALPHA), np.mean(by_t)])


def passed(sample: Moments, queries: int) -> float:
    """Count who passes for being not significantly worse, by a two-sided t test."""
    mean, deviation = sample
    error = np.maximum(deviation, 1e-12) / np.sqrt(queries)
    return float(np.mean(mean > -stats.t.isf(ALPHA / 2, queries - 1) * error))


def errors(folder: Path, trials: int, report: Report) -> Iterator[list]:
    """Find the errors at the border of each claim, a row for each cell."""
    for measure, null, queries in product(MAIN, NULLS, QUERIES):
        draw = partial(moments, folder, measure, null, queries)
        base = None if null == "reweighted" else draw(0.0, trials)
        for margin, (claim, side) in product(MARGINS, CLAIMS.items()):
            border = side * margin
            if base is None:
                sample = draw(border, max(1, trials // 2))
            else:  # a border is but a shift of samples
                sample = base[0] + border, base[1]
            found = 100 * decided(sample, queries, margin, claim)
            naive = 100 * passed(sample, queries) if claim == "not-worse" else np.nan
            yield [measure, null, queries, margin, claim, *found, naive]
        report.say(f"{measure}, {null}, {queries} queries: done")


def power(folder: Path, trials: int) -> Iterator[list]:
    """Find how often a claim holds where it is true: equal means; better by 2 margins.

    The last columns check the estimate of more queries: of samples of 50, the shares of
    the number that the population needs; and the power that there is by that number.
    """
    for measure, null, queries in product(MAIN, NULLS[:2], QUERIES):
        mean, deviation = moments(folder, measure, null, queries, 0.0, trials)
        for margin in MARGINS:
            row = [measure, null, queries, margin]
            for claim in CLAIMS:
                truth = 2 * margin if claim == "better" else 0.0
                held, _, by_t = decided(
                    (mean + truth, deviation), queries, margin, claim
                )
                row += [100 * held, 100 * by_t]
            yield row


def needed(folder: Path, trials: int, margin: float = 0.02) -> Iterator[list]:
    """Check the estimated number of queries that settle whether a run is not worse."""
    for measure in MAIN:
        random, rows = random_of(f"needed {measure}", 0), []
        for _ in range(max(2, trials // 20)):
            d = differences(folder, measure, "similar", random)
            d = d - d.mean()  # the truth: they are equal

            def total(mean: float, deviation: float) -> int:
                given = mean, deviation, margin, "not-worse", (ALPHA, ALPHA)
                return 2 + gates.more_queries(partial(gates.settled, *given), 2)

            true = total(0.0, d.std())
            if true > 3000:
                continue
            samples = d[random.integers(0, len(d), (40, true))]
            mean, deviation = samples.mean(1), samples.std(1, ddof=1)
            shown = decided((mean, deviation), true, margin, "not-worse")[:2].sum()
            pilot = d[random.integers(0, len(d), 50)]
            at = float(pilot.mean()), float(pilot.std(ddof=1))
            rows.append([true, 100 * shown, total(*at) / true])
        true, shown, ratio = np.array(rows).T
        low, middle, high = np.quantile(ratio, [0.1, 0.5, 0.9])
        yield [
            measure,
            len(rows),
            float(np.median(true)),
            shown.mean(),
            low,
            middle,
            high,
        ]


def widest(rows: list[list]) -> Iterator[list]:
    """Summarise errors: of each measure, claim and margin, the highest of all cells."""
    for measure, claim, margin in product(MAIN, CLAIMS, MARGINS):
        of = [r for r in rows if (r[0], r[4], r[3]) == (measure, claim, margin)]
        found = np.array([r[5:] for r in of], float)
        spread = found[:, 3].min(), found[:, 3].max()
        yield [
            measure,
            claim,
            margin,
            found[:, 0].mean(),
            *found[:, :3].max(0),
            *spread,
        ]


@reported
@matrices_option
@click.option("--families", "trials", default=4000, show_default=True)
def main(report: Report, folder: Path, trials: int) -> None:
    """Simulate gates."""
    cells = list(errors(folder, trials, report))
    error = 100 * np.sqrt(ALPHA * (1 - ALPHA) / trials)
    shown, naive = ["holds", "fails", "holds by t"], "not sign. worse"
    report.table(
        f"errors at the border, per cent of {trials} (half, if reweighted): highest of "
        f"cells; Monte-Carlo error of a cell {error:.2f} or {error * 2**0.5:.2f}",
        [
            "measure",
            "claim",
            "margin",
            "holds, mean",
            *shown,
            f"{naive}, least",
            "most",
        ],
        list(widest(cells)),
    )
    of = ["measure", "null", "queries", "margin"]
    report.table("errors, all cells", [*of, "claim", *shown, naive], cells)
    by = [name for claim in CLAIMS for name in (claim, "by t")]
    report.table("power", [*of, *by], list(power(folder, max(2, trials // 4))))
    report.table(
        "estimated number of queries, similar runs with equal means, margin 0.02",
        [
            "measure",
            "pairs",
            "queries",
            "settled by these",
            "from 50: 10 %",
            "50",
            "90",
        ],
        list(needed(folder, trials)),
    )


if __name__ == "__main__":
    main()
