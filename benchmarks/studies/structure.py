"""Do tests hold their level where queries belong together?

`python -m benchmarks.studies.structure` is the study behind docs/how-sure.md. All runs
have equal means; queries come in clusters, whose runs have effects of their own.

- made up: clusters of 1 to 12 queries, larger ones with larger effects; of the variance
  of a run's scores, a share is of its clusters;
- CAsT 2019: scores of real runs, each less its mean; conversations are the population.
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
from pgcjax.stats import procedures, tests
from pgcjax.stats.matrix import Matrix
from pgcjax.stats.structure import clustered

ALPHA = 0.05
MADE_UP = ((10, 20, 0.0), (10, 20, 0.3), (10, 50, 0.0), (10, 50, 0.3), (10, 10, 0.3))
MADE_UP += ((2, 20, 0.0), (2, 20, 0.3))  # runs, clusters, share of the variance
REAL = ("PGC", "nDCG@3", "AP")
SHOWN = ("max-t", "t, Holm", "of queries: max-t", "of queries: t, Holm")

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
            p = procedures.p_values(values, "max-t", resamples=500, seed=i)
            by_t = tests.adjust(procedures.p_values(values, "t"), "holm")
            hits[2 * k : 2 * k + 2] += p.min() < ALPHA, by_t.min() < ALPHA
    return (100 * hits / families).tolist()


@click.command()
@click.option("--data", "folder", type=Path, default=data, show_default="found")
@click.option("--families", default=600, show_default=True)
@click.option("-o", "--output", type=click.Path(path_type=Path))
def main(folder: Path, families: int, output: Path | None) -> None:
    """Simulate clusters of queries."""
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
    error = 100 * (ALPHA * (1 - ALPHA) / families) ** 0.5
    report.table(
        f"family-wise errors of equal runs, per cent of {families}; Monte-Carlo error "
        f"{error:.2f}",
        ["case", "runs", "clusters", *SHOWN],
        rows,
    )
    if output:
        command = ["python", "-m", "benchmarks.studies.structure", *sys.argv[1:]]
        report.save(output, facts(command))


if __name__ == "__main__":
    main()
