"""Do tests hold their level where queries belong together, or runs to one system?

`python -m benchmarks.studies.structure` is the study behind docs/how-sure.md. All runs
have equal means; queries come in clusters, whose runs have effects of their own.

- made up: clusters of 1 to 12 queries, larger ones with larger effects; of the variance
  of a run's scores, a share is of its clusters;
- CAsT 2019: scores of real runs, each less its mean; conversations are the population;
- systems with equal means, each of some runs: those of one system differ on each query,
  and by their seed on all; a system of one run is deterministic.
"""

import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import click
import numpy as np

import pgcjax
from benchmarks.harness import Report, facts
from benchmarks.studies.calibration import data, random_of
from pgcjax.stats import procedures, resample, tests
from pgcjax.stats.matrix import Matrix
from pgcjax.stats.structure import Repeats, clustered

ALPHA = 0.05
MADE_UP = ((10, 20, 0.0), (10, 20, 0.3), (10, 50, 0.0), (10, 50, 0.3), (10, 10, 0.3))
MADE_UP += ((2, 20, 0.0), (2, 20, 0.3))  # runs, clusters, share of the variance
REAL = ("PGC", "nDCG@3", "AP")
SHOWN = ("max-t", "t, Holm", "of queries: max-t", "of queries: t, Holm")
CHECKED = 2  # families of each case, whose p is compared with that of the package
SYSTEMS = ((3, 3), (5, 5), (1, 5), (3,) * 5, (1, 3, 3, 5))
SEEDS = ((0.0, 0.5), (0.15, 0.3))  # sd of seeds, and query by query

Draw = Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]


def made_up(
    runs: int, clusters: int, share: float, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Make scores [runs, queries] up, and the cluster of each query."""
    sizes = 1 + (11 * np.linspace(0, 1, clusters) ** 1.5).round().astype(int)
    of = np.repeat(np.arange(clusters), sizes)
    effect = random.normal(0, 1, (runs, clusters)) * np.sqrt(0.5 + sizes / 10)
    topic = random.normal(0, 1, clusters)[of]
    noise = random.normal(0, 1, (runs, len(of)))
    return topic + share**0.5 * effect[:, of] + (1 - share) ** 0.5 * noise, of


def drawn(
    x: np.ndarray, of: np.ndarray, runs: int, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw runs, and as many clusters as there are, of a population."""
    x = x[random.choice(len(x), runs, replace=False)]
    parts = [np.flatnonzero(of == c) for c in random.integers(0, of.max() + 1, 20)]
    number = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    return x[:, np.concatenate(parts)], number


def conversations(folder: Path) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Score the runs of CAsT 2019: each less its mean, and the topic of each query."""
    votes = folder / "clarke-prefs" / "TREC-CAsT-2019.pref.gz"
    qrels = folder / "qrels" / "2019qrels.txt.gz"
    runs = pgcjax.files.read_runs(folder / "runs", name_by="file")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pgcjax.errors.DataWarning)
        scores = pgcjax.evaluate(
            runs, preferences=votes, qrels=qrels, measures=list(REAL)
        )
    for measure in REAL:
        wide = scores.matrix(measure).drop(columns=["all"], errors="ignore")
        topics = [str(query).rpartition("_")[0] for query in wide]
        x = np.unique(wide.to_numpy(float), axis=0)
        x = x - x.mean(1, keepdims=True)
        yield measure, x, np.unique(topics, return_inverse=True)[1]


def levels(draw: Draw, name: str, families: int) -> list[float]:
    """Test families of equal runs: per cent in which any pair differs."""
    hits = np.zeros(len(SHOWN))
    for i in range(families):
        x, of = draw(random_of(f"structure {name}", i))
        ids = [f"{c}_{k}" for k, c in enumerate(of)]
        whole = clustered(Matrix([f"r{k}" for k in range(len(x))], ids, x), "_").values
        for k, values in enumerate((whole, x)):
            by_t = tests.adjust(procedures.p_values(values, "t"), "holm")
            p = by_max_t(values, i)
            hits[2 * k : 2 * k + 2] += p < ALPHA, by_t.min() < ALPHA
            if i < CHECKED:
                by = procedures.p_values(values, "max-t", resamples=500, seed=i)
                assert by.min() == p, f"{name}, {i}: {by.min()} is not {p}"
    return (100 * hits / families).tolist()


def by_max_t(x: np.ndarray, seed: int, resamples: int = 500) -> float:
    """Compute the smallest p of max-t, as `procedures.run` does, without threads."""
    first, second = tests.all_pairs(len(x))
    d, n = x[first] - x[second], x.shape[1]
    weights = resample.bootstrap_weights(seed, resamples, n)
    left, error = d - d.mean(1, keepdims=True), d.var(1, ddof=1) / n
    observed = np.abs(d.mean(1)) / np.sqrt(error + error.mean())
    mean = left @ weights / n
    error = (left**2 @ weights / n - mean**2) / (n - 1)
    drawn = (np.abs(mean) / np.sqrt(error + error.mean(0))).max(0)
    return float((1 + (drawn >= observed.max() * (1 - 1e-9)).sum()) / (1 + resamples))


def system_levels(
    counts: tuple[int, ...], seed: float, noise: float, families: int, queries: int = 50
) -> list[float]:
    """Test systems with equal means: per cent in which any pair differs, by t."""
    hits, n = np.zeros(2), len(counts)
    names = [f"{s}-{k}" for s, count in enumerate(counts) for k in range(count)]
    of = np.repeat(np.arange(n), counts)
    for i in range(families):
        random = random_of(f"systems {counts} {seed} {noise}", i)
        x = random.normal(0, 1, queries) + random.normal(0, 0.5, (n, queries))[of]
        varied = np.repeat(np.array(counts) > 1, counts)[:, None]
        x += varied * random.normal(0, seed, (len(of), 1))
        x += varied * random.normal(0, noise, x.shape)
        given = Matrix(names, [f"q{k}" for k in range(queries)], x)
        found = pgcjax.compare(given, system="-").table["p_adjusted"].min()
        means, _ = Repeats.of(given, "-")
        fixed = tests.adjust(procedures.p_values(means.values, "t"), "holm").min()
        hits += found < ALPHA, fixed < ALPHA
    return (100 * hits / families).tolist()


@click.command()
@click.option("--data", "folder", type=Path, default=data, show_default="found")
@click.option("--families", default=1000, show_default=True)
@click.option("-o", "--output", type=click.Path(path_type=Path))
def main(folder: Path, families: int, output: Path | None) -> None:
    """Simulate clusters of queries, and systems of several runs."""
    report, rows = Report(), []
    for runs, clusters, share in MADE_UP:
        case = [f"made up, share {share}", runs, clusters]
        draw = partial(made_up, runs, clusters, share)
        rows.append([*case, *levels(draw, str(case), families)])
        report.say(f"{case}: done")
    for measure, x, of in conversations(folder.parent / "cast2019"):
        draw = partial(drawn, x, of, 10)
        rows.append([f"CAsT 2019, {measure}", 10, 20, *levels(draw, measure, families)])
        report.say(f"{measure}: done")
    made = [
        [str(counts), *sd, *system_levels(counts, *sd, families // 2)]
        for counts in SYSTEMS
        for sd in SEEDS
    ]
    error = 100 * (ALPHA * (1 - ALPHA) / families) ** 0.5
    report.table(
        f"family-wise errors of equal runs, per cent of {families}; Monte-Carlo error "
        f"{error:.2f}",
        ["case", "runs", "clusters", *SHOWN],
        rows,
    )
    report.table(
        "the same of systems with equal means, 50 queries, of half as many",
        ["runs of each", "sd of seeds", "by query", "with repeats", "queries alone"],
        made,
    )
    if output:
        command = ["python", "-m", "benchmarks.studies.structure", *sys.argv[1:]]
        report.save(output, facts(command))


if __name__ == "__main__":
    main()
