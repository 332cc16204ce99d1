"""Do tests hold their level where queries belong together, or runs to one system?

`python -m benchmarks.studies.structure` is the study behind docs/how-sure-evidence.md.
All runs have equal means; queries come in clusters, whose runs have effects of their
own.

- made up: clusters of 1 to 12 queries, larger ones with larger effects; of the variance
  of a run's scores, a share is of its clusters;
- CAsT 2019: scores of real runs, each less its mean; conversations are the population;
- collections: runs with equal means over those that there are (these), or over all that
  there might be (others); real ones are public matrices, runs less their means;
- a gate whose new run is worse by the margin, by queries in clusters;
- systems with equal means, each of some runs: those of one system differ on each query,
  and by their seed on all; a system of one run is deterministic.

`--only ranks` asks whether sets of ranks hold together where means are equal, or those
of three levels, by clusters and by systems; whether intervals of differences hold by
replicates of clusters; and whether variance components are right on average. `--only
replicates` asks whether intervals and ranks hold by replicates within collections, and
by those of runs of systems.
"""

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import click
import numpy as np
from scipy import stats

import pgcjax
from benchmarks.harness import Report
from benchmarks.studies.calibration import random_of
from benchmarks.studies.commands import matrices_option, reported
from benchmarks.studies.families import _held, matrices
from pgcjax.judging.rank_ranges import places
from pgcjax.judging.variants import drawn_queries
from pgcjax.stats import gates, procedures, rank_sets, resample, tests
from pgcjax.stats.intervals import of_replicates
from pgcjax.stats.matrix import Matrix
from pgcjax.stats.structure import Repeats, clustered, collected, variance_components
from pgcjax.stats.uncertainty import query_means

ALPHA = 0.05
MADE_UP = ((10, 20, 0.0), (10, 20, 0.3), (10, 50, 0.0), (10, 50, 0.3), (10, 10, 0.3))
MADE_UP += ((2, 20, 0.0), (2, 20, 0.3))  # runs, clusters, share of the variance
REAL = ("PGC", "nDCG@3", "AP")
SHOWN = ("max-t", "t, Holm", "of queries: max-t", "of queries: t, Holm")
CHECKED = 2  # families of each case, whose p is compared with that of the package
SYSTEMS = ((3, 3), (5, 5), (1, 5), (3,) * 5, (1, 3, 3, 5))
SEEDS = ((0.0, 0.5), (0.15, 0.3))  # sd of seeds, and query by query
SIZES = ((50,) * 2, (50,) * 3, (50,) * 5, (20, 50, 200), (20, 100), (10, 100))
SIZES += ((10,) * 5,)
OTHERS = ((50,) * 3, (50,) * 5, (20,) * 10, (20,) * 20)
OF_COLLECTIONS = (
    "max-t",
    "two-stage bootstrap",
    "t of collections",
    "queries as one, t",
)
MATRICES = ("nDCG", "AP", "RR")
MARGINS = (0.1, 0.3)  # in standard deviations of a query's scores

LEVELS = {"equal": 0.0, "three levels": 0.4}  # apart, of means
RANKED = ((10, 10), (10, 20), (10, 50))  # runs, clusters
REPLICATED = (20, 50, 100, 200)  # clusters
RANKED_SYSTEMS = ((3,) * 5, (1, 3, 3, 5), (5,) * 9)
COMPONENTS = (
    0.1,
    0.3,
    0.15,
    0.05,
    0.2,
)  # deviations of `variance_components`

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


def made_collections(
    sizes: tuple[int, ...], others: str, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Make scores of 10 runs up, and the collection of each query.

    Effects of collections are normal or, of `skewed` others, exponential; of these
    collections, they have a mean of 0 for each run.
    """
    of = np.repeat(np.arange(len(sizes)), sizes)
    if others == "skewed":
        effect = random.exponential(0.3, (10, len(sizes)))
    else:
        effect = random.normal(0, 0.3, (10, len(sizes)))
    if not others:
        effect -= effect.mean(1, keepdims=True)
    spread = np.linspace(0.5, 1.5, len(sizes))[of]
    topic = random.normal(0, 1, len(of))
    return topic + effect[:, of] + spread * random.normal(0, 1, (10, len(of))), of


def real_collections(
    every: list[np.ndarray], sizes: tuple[int, ...], random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw 10 runs and some topics of as many matrices: all means are 0."""
    parts = []
    for size in sizes:
        x = every[random.integers(len(every))]
        x = x[random.choice(len(x), 10, replace=len(x) < 10)]
        x = x - x.mean(1, keepdims=True)
        parts.append(x[:, random.integers(0, x.shape[1], size)])
    return np.concatenate(parts, 1), np.repeat(np.arange(len(sizes)), sizes)


def collection_levels(draw: Draw, name: str, families: int) -> list[float]:
    """Test families of equal runs over collections: per cent where any pair differs."""
    hits = np.zeros(len(OF_COLLECTIONS))
    first, second = tests.all_pairs(10)
    for i in range(families):
        x, of = draw(random_of(f"collections {name}", i))
        ids = [f"{c}_{k}" for k, c in enumerate(of)]
        made, means = collected(Matrix([f"r{k}" for k in range(10)], ids, x), "_")
        d = means[first] - means[second]
        # Moments of the two-stage bootstrap: collections, and queries within them.
        apart, count = made.values[first] - made.values[second], means.shape[1]
        variance = d.var(1) / count + apart.var(1) / len(of)
        staged = 2 * stats.norm.sf(np.abs(d.mean(1)) / np.sqrt(variance))
        p = tests.adjust(staged, "holm").min()
        by_t = tests.adjust(procedures.p_values(means, "t"), "holm").min()
        as_one = tests.adjust(procedures.p_values(x, "t"), "holm").min()
        hits += np.array([by_max_t(made.values, i), p, by_t, as_one]) < ALPHA
    return (100 * hits / families).tolist()


def gate_levels(draw: Draw, margin: float, name: str, families: int) -> list[float]:
    """Ask whether a run that is worse by the margin is not worse: per cent passed.

    Returns:
        By clusters, by clusters with plain t, and by queries.
    """
    passed = np.zeros(3)
    for i in range(families):
        x, of = draw(random_of(f"gate {name} {margin}", i))
        ids = [f"{c}_{k}" for k, c in enumerate(of)]
        whole = clustered(Matrix(["a", "b"], ids, x), "_").values
        margin_of = margin * x.std()
        ps = []
        for values in (whole, x):
            d, n = values[0] - values[1] - margin_of, values.shape[1]
            moments = d.mean(), d.std(ddof=1), n
            ps.append(gates.evidence(*moments, margin_of, "not-worse")[0])
        d = whole[0] - whole[1]
        ps.insert(1, stats.t.sf(d.mean() / d.std(ddof=1) * len(d) ** 0.5, len(d) - 1))
        passed += np.array(ps) < ALPHA
    return (100 * passed / families).tolist()


def collections_and_gates(
    folder: Path, families: int, report: Report
) -> tuple[list[list], list[list]]:
    """Simulate collections, and gates by clusters: a row for each case."""
    rows, gated = [], []
    nulls = [("", SIZES), ("normal", OTHERS), ("skewed", OTHERS[1:])]
    for others, sizes in ((others, s) for others, all_ in nulls for s in all_):
        case = f"made up, {others and 'others, ' + others or 'these'}"
        draw = partial(made_collections, sizes, others)
        rows.append(
            [
                case,
                str(sizes),
                *collection_levels(draw, case + str(sizes), 2 * families),
            ]
        )
        report.say(f"{case}, {sizes}: done")
    for measure in MATRICES:
        every = matrices(folder, measure)
        for sizes in (SIZES[1], SIZES[3], SIZES[4]):
            draw = partial(real_collections, every, sizes)
            name = f"{measure} {sizes}"
            levels = collection_levels(draw, name, 2 * families)
            rows.append([f"real {measure}, these", str(sizes), *levels])
            report.say(f"{name}: done")
    cases: list[tuple[str, Draw]] = [
        (f"made up, {n} clusters", partial(made_up, 2, n, 0.3)) for n in (10, 20, 50)
    ]
    for measure, x, of in conversations(folder.parent / "cast2019"):
        cases.append((f"CAsT 2019, {measure}", partial(drawn, x, of, 2)))
    for name, draw in cases:
        for margin in MARGINS:
            levels = gate_levels(draw, margin, name, 4 * families)
            gated.append([name, margin, *levels])
    return rows, gated


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


def rank_row(draw: Draw, apart: float, name: str, families: int) -> list[float]:
    """Find how often all true ranks are in their sets: per cent, and mean widths.

    Returns:
        By windows of clusters, of queries, and of replicates of clusters, held and
        width; and per cent of the pairs whose interval by these holds the difference.
    """
    totals = np.zeros(7)
    for i in range(families):
        x, of = draw(random_of(f"ranks {name} {apart}", i))
        truth = apart * (np.arange(len(x)) * 3 // len(x))
        ids = [f"{c}_{k}" for k, c in enumerate(of)]
        x = x + truth[:, None]
        whole = clustered(Matrix([f"r{k}" for k in range(len(x))], ids, x), "_").values
        means, has = x.mean(1), np.ones(x.shape, bool)
        again = query_means(x, has, drawn_queries(i, 500, len(ids), of), "zero")
        pairs = [rank_sets.significant_pairs(y, ALPHA, 500, i) for y in (whole, x)]
        pairs.append(rank_sets.of_replicates(means, again, ALPHA))
        for k, different in enumerate(pairs):
            placed = places(different, means)
            held = _held(truth, placed.low, placed.high)
            totals[2 * k : 2 * k + 2] += 100 * held["ranks_hold"], held["width"]
        a, b = tests.all_pairs(len(x))
        ends = of_replicates(
            means[a] - means[b], (again[:, a] - again[:, b]).T, "centred", ALPHA
        )
        inside = (ends[0] <= truth[a] - truth[b]) & (truth[a] - truth[b] <= ends[1])
        totals[6] += 100 * inside.mean()
    return (totals / families).tolist()


def replicate_row(clusters: int, families: int) -> list[float]:
    """Find how often intervals by replicates of clusters hold differences: per cent."""
    held = []
    a, b = tests.all_pairs(4)
    for i in range(families):
        x, of = made_up(4, clusters, 0.3, random_of(f"replicates {clusters}", i))
        means, has = x.mean(1), np.ones(x.shape, bool)
        draws = drawn_queries(i, 500, len(of), of)
        again = query_means(x, has, draws, "zero")
        moved = (again[:, a] - again[:, b]).T
        low, high = of_replicates(means[a] - means[b], moved, "centred", ALPHA)
        held.append(100 * ((low <= 0) & (high >= 0)).mean())
    return [float(np.mean(held)), float(np.std(held) / families**0.5)]


def made_systems(
    counts: tuple[int, ...], apart: float, random: np.random.Generator
) -> tuple[Matrix, np.ndarray]:
    """Make scores of systems up, whose means are those of three levels, or random."""
    n, of = len(counts), np.repeat(np.arange(len(counts)), counts)
    names = [f"{s}-{k}" for s, count in enumerate(counts) for k in range(count)]
    system, query, both, run, left = COMPONENTS
    truth = (
        apart * (np.arange(n) * 3 // n) if apart >= 0 else random.normal(0, system, n)
    )
    x = random.normal(0, query, 50) + random.normal(0, both, (n, 50))[of]
    noise = random.normal(0, run, (len(of), 1)) + random.normal(0, left, (len(of), 50))
    x += truth[of][:, None] + (np.array(counts) > 1)[of][:, None] * noise
    return Matrix(names, [f"q{k}" for k in range(50)], x), truth


def system_rank_row(
    counts: tuple[int, ...], apart: float, families: int
) -> list[float]:
    """Find how often all ranks of systems hold: by repeats, and by queries alone."""
    totals = np.zeros(4)
    for i in range(families):
        random = random_of(f"ranks of systems {counts} {apart}", i)
        given, truth = made_systems(counts, apart / 4, random)
        found = pgcjax.rank_sets(given, system="-").table.sort_values("run_id")
        means, _ = Repeats.of(given, "-")
        alone = rank_sets.significant_pairs(means.values, ALPHA, 500, i)
        placed = places(alone, means.values.mean(1))
        for k, (low, high) in enumerate(
            ((found["low"], found["high"]), (placed.low, placed.high))
        ):
            held = _held(truth, np.asarray(low), np.asarray(high))
            totals[2 * k : 2 * k + 2] += 100 * held["ranks_hold"], held["width"]
    return (totals / families).tolist()


def component_rows(counts: tuple[int, ...], families: int) -> list[list]:
    """Estimate variance components of many families: mean, error and deviation."""
    draws = []
    for i in range(families):
        given, _ = made_systems(counts, -1, random_of(f"components {counts}", i))
        found = variance_components(given, "-")
        draws.append(found["variance"])
    mean, spread = np.mean(draws, 0), np.std(draws, 0, ddof=1)
    columns = found["component"], np.square(COMPONENTS), mean, spread
    return [
        [str(counts), *row, row[-1] / families**0.5]
        for row in zip(*columns, strict=True)
    ]


def ranks(folder: Path, families: int, report: Report) -> None:
    """Simulate sets of ranks, intervals of replicates, and variance components."""
    cases: list[tuple[str, Draw]] = [
        (f"made up, {n} clusters", partial(made_up, runs, n, 0.3)) for runs, n in RANKED
    ]
    for measure, x, of in conversations(folder.parent / "cast2019"):
        cases.append((f"CAsT 2019, {measure}", partial(drawn, x, of, 10)))
    rows = []
    for name, draw in cases:
        for level, apart in LEVELS.items():
            scale = apart if name.startswith("made") else apart / 4
            rows.append([name, level, *rank_row(draw, scale, name, families)])
        report.say(f"ranks, {name}: done")
    error = 100 * (ALPHA * (1 - ALPHA) / families) ** 0.5
    columns = ["case", "means", "windows", "width", "of queries", "width, queries"]
    columns += ["replicates", "width, replicates", "intervals of differences"]
    report.table(
        f"all true ranks in their sets, per cent of {families} families of 10 runs; "
        f"Monte-Carlo error {error:.2f}",
        columns,
        rows,
    )
    report.table(
        f"intervals of differences of 4 runs by replicates of clusters, per cent that "
        f"hold, of {2 * families} families",
        ["clusters", "held", "error"],
        [[n, *replicate_row(n, 2 * families)] for n in REPLICATED],
    )
    systems = [
        [str(counts), level, *system_rank_row(counts, apart, families)]
        for counts in RANKED_SYSTEMS
        for level, apart in LEVELS.items()
    ]
    report.table(
        "the same of systems, 50 queries: with repeats, and by queries alone (windows)",
        ["runs of each", "means", "repeats", "width", "queries", "width, queries"],
        systems,
    )
    report.table(
        f"variance components: means of estimates in {families} families",
        ["runs of each", "component", "true", "mean", "deviation", "error of the mean"],
        [row for counts in RANKED_SYSTEMS for row in component_rows(counts, families)],
    )


def drawn_in_parts(
    x: np.ndarray, of: np.ndarray, random: np.random.Generator
) -> np.ndarray:
    """Average columns over parts 400 times, as many drawn again of each part.

    Args:
        x: a row for each mean.
        of: number of the part of each column.
        random: numbers.
    """
    means = [
        random.multinomial(k, np.full(k, 1 / k), 400) @ x[:, of == part].T / k
        for part, k in enumerate(np.bincount(of))
    ]
    return np.mean(means, 0)


def replicates_held(
    mean: np.ndarray, again: np.ndarray, truth: np.ndarray
) -> tuple[float, float]:
    """Find how many intervals of differences hold, and whether all ranks do."""
    a, b = tests.all_pairs(len(mean))
    moved = (again[:, a] - again[:, b]).T
    low, high = of_replicates(mean[a] - mean[b], moved, "centred", ALPHA)
    placed = places(rank_sets.of_replicates(mean, again, ALPHA), mean)
    inside = (low <= truth[a] - truth[b]) & (truth[a] - truth[b] <= high)
    return inside.mean(), _held(truth, placed.low, placed.high)["ranks_hold"]


def by_collections(draw: Draw, name: str, families: int) -> list[float]:
    """Draw queries again within collections: per cent of intervals, and of ranks."""
    held = []
    for i in range(families):
        random = random_of(f"replicates of collections {name}", i)
        x, of = draw(random)
        mean = np.mean([x[:, of == part].mean(1) for part in np.unique(of)], 0)
        again = drawn_in_parts(x, of, random)
        held.append(replicates_held(mean, again, np.zeros(len(x))))
    return [*(100 * np.mean(held, 0)), 100 * np.std(held, 0)[0] / families**0.5]


def by_systems(counts: tuple[int, ...], seed: float, families: int) -> list[float]:
    """Draw queries again, and runs within systems: per cent, as `by_collections`."""
    held, of = [], np.repeat(np.arange(len(counts)), counts)
    for i in range(families):
        random = random_of(f"replicates of systems {counts} {seed}", i)
        x = random.normal(0, 0.5, (len(counts), 50))[of]
        x += random.normal(0, seed, (len(of), 1)) + random.normal(0, 0.3, x.shape)
        means = random.multinomial(50, np.full(50, 1 / 50), 400) @ x.T / 50
        again = np.zeros((400, len(counts)))
        for system, k in enumerate(counts):
            drawn = random.multinomial(k, np.full(k, 1 / k), 400) / k
            again[:, system] = (means[:, of == system] * drawn).sum(1)
        mean = np.bincount(of, x.mean(1)) / counts
        held.append(replicates_held(mean, again, np.zeros(len(counts))))
    return [*(100 * np.mean(held, 0)), 100 * np.std(held, 0)[0] / families**0.5]


def replicates(folder: Path, families: int, report: Report) -> None:
    """Simulate replicates of queries within collections, and of runs of systems."""
    rows = []
    for sizes in (*SIZES, (50,)):
        draw = partial(made_collections, sizes, "")
        levels = by_collections(draw, f"made up {sizes}", families)
        rows.append(["made up", str(sizes), *levels])
    for measure in MATRICES:
        for sizes in ((50,), SIZES[1], SIZES[3], SIZES[4]):
            draw = partial(real_collections, matrices(folder, measure), sizes)
            levels = by_collections(draw, f"{measure} {sizes}", families)
            rows.append([f"real {measure}", str(sizes), *levels])
        report.say(f"replicates, {measure}: done")
    columns = ["intervals of differences", "all ranks", "error of intervals"]
    report.table(
        f"10 equal runs by replicates of queries within collections, per cent that "
        f"hold, of {families} families",
        ["case", "queries of each", *columns],
        rows,
    )
    report.table(
        "the same of equal systems by replicates of queries, and of runs within each",
        ["runs of each", "sd of seeds", *columns],
        [
            [str(counts), seed, *by_systems(counts, seed, families)]
            for counts in RANKED_SYSTEMS[::2]
            for seed in (0.0, 0.15)
        ],
    )


def levels_of_all(folder: Path, families: int, report: Report) -> None:
    """Simulate how often equal runs are told apart, and worse ones pass a gate."""
    rows = []
    of_collections, gated = collections_and_gates(folder, families, report)
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
    report.table(
        f"family-wise errors of 10 equal runs over collections, of {2 * families}",
        ["case", "queries of each", *OF_COLLECTIONS],
        of_collections,
    )
    report.table(
        f"gates passed by a run worse by the margin, per cent of {4 * families}",
        ["case", "margin / sd", "by clusters", "clusters, plain t", "by queries"],
        gated,
    )


@reported
@click.option(
    "--only",
    type=click.Choice(["ranks", "replicates"]),
    help="By default all but these two.",
)
@matrices_option
@click.option("--families", default=1000, show_default=True)
def main(report: Report, only: str | None, folder: Path, families: int) -> None:
    """Simulate clusters and collections of queries, gates, and systems."""
    parts = {None: levels_of_all, "ranks": ranks, "replicates": replicates}
    parts[only](folder, families, report)


if __name__ == "__main__":
    main()
