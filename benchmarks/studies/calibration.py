"""Do the tests keep their promises on real scores?

`python -m benchmarks.studies.calibration` is the study behind
docs/significance-evidence.md.

Nulls are made of public score matrices, where the truth is given: which tests reject
how often (`nulls`), also for families of pairs (`families`), what they find of a given
difference (`power`), and what they say of the matrices themselves (`matrices`). Every
trial has its own random numbers, by section and number: equal calls, equal files.
"""

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
from scipy import stats

from benchmarks.studies.commands import Sections, matrices_option, study
from pgcjax.stats import discrimination, procedures, tests

ALPHAS = (0.05, 0.01)
COVER = 0.99  # of the binomial intervals
PAIRED = ("t", "bootstrap", "permutation", "wilcoxon")
FAMILIES = ("tukey", "anova")
TESTS = ("tukey", "bootstrap", "permutation", "t", "wilcoxon", "anova")
SOURCES = {  # matrices of at least 50 topics, by measure
    "AP": "urbano2019/adhoc*_ap",
    "nDCG@10": "dl/dl202[0-3]_ndcg_cut_10",
    "P@10": "dl/dl202[0-3]_P_10",
    "RR": "dl/dl202[0-3]_recip_rank",
}
DL = ("map", "ndcg_cut_5", "ndcg_cut_10", "ndcg_cut_20", "ndcg_cut_100", "P_10")
COLLECTIONS = {  # of which all measures have the same runs and topics
    **{f"dl{y}": (*DL, "Rprec", "bpref", "recip_rank") for y in range(2019, 2024)},
    **{f"adhoc{n}": ("ap", "p10", "rr") for n in range(5, 9)},
    **{f"web{y}": ("err20", "ndcg20") for y in range(2010, 2014)},
}
EFFECTS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8)
CHUNK = 250  # trials that share resamples


@dataclass(frozen=True)
class Size:
    """How much of a study is made.

    Attributes:
        trials: pairs of runs for a share of rejections.
        families: matrices for a family-wise error.
        sizes: runs in a family.
        collections: whose matrices are tested as they are.
    """

    trials: int
    families: int
    sizes: tuple[int, ...]
    collections: tuple[str, ...]


FULL = Size(10_000, 1500, (10, 30), tuple(COLLECTIONS))
QUICK = Size(500, 60, (5,), ("web2013",))


def nulls(folder: Path, size: Size) -> Iterator[dict[str, Any]]:
    """Test pairs of runs that are truly equal: the share of p < α."""
    made = {"exchangeable": exchangeable, "equal means": equal_means}
    for measure, (name, draw), queries in product(SOURCES, made.items(), (25, 50)):
        given = f"null {measure} {name} {queries}"
        p = _p_values(folder, measure, draw, queries, size.trials, given)
        for test, alpha in product(PAIRED, ALPHAS):
            row = {"measure": measure, "null": name, "queries": queries, "test": test}
            yield row | share(p[test] < alpha, alpha)


def families(folder: Path, size: Size) -> Iterator[dict[str, Any]]:
    """Test all pairs of equal runs: the share of families with any p < α."""
    for measure, runs in product(SOURCES, size.sizes):
        found: dict[str, list[list[bool]]] = {}
        for i in range(size.families):
            random = random_of(f"family {measure} {runs}", i)
            x = _exchanged(some_matrix(folder, measure, random), runs, 50, random)
            for name, hits in _of_family(x, seed=i).items():
                found.setdefault(name, []).append(hits)
        for name, hits in found.items():
            row = {"measure": measure, "runs": runs, "queries": 50, "test": name}
            for alpha, hit in zip(ALPHAS, np.array(hits).T, strict=True):
                yield row | share(hit, alpha)


def _of_family(x: np.ndarray, seed: int) -> dict[str, list[bool]]:
    """Say whether any pair of runs has p < α, for each α, by each test."""
    tukey = procedures.p_values(x, "tukey", resamples=1000, seed=seed).min()
    p = procedures.p_values(x, "t")
    furthest = np.ptp(x.mean(1))
    return {
        "tukey": [tukey < alpha for alpha in ALPHAS],
        "anova": [furthest > _critical(x, alpha) for alpha in ALPHAS],
        "t": [p.min() < alpha for alpha in ALPHAS],
        "t, Holm": [tests.adjust(p, "holm").min() < alpha for alpha in ALPHAS],
        "t, Benjamini-Hochberg": [
            tests.adjust(p, "bh").min() < alpha for alpha in ALPHAS
        ],
    }


def power(folder: Path, size: Size) -> Iterator[dict[str, Any]]:
    """Test pairs with a known difference: the share of p < .05."""
    for measure, queries, effect in product(SOURCES, (25, 50), EFFECTS):
        given = f"power {measure} {queries}"  # every effect on the same pairs
        draw = exchangeable
        p = _p_values(folder, measure, draw, queries, size.trials // 5, given, effect)
        for test in PAIRED:
            row = {"measure": measure, "queries": queries, "effect": effect}
            yield row | {"test": test, **rate(p[test] < 0.05)}


def family_power(folder: Path, size: Size) -> Iterator[dict[str, Any]]:
    """Add a known effect to one run of a family: the share of its pairs found."""
    runs = size.sizes[0]
    first, second = tests.all_pairs(runs)
    mine = first == 0
    for measure, queries, effect in product(SOURCES, (25, 50), EFFECTS):
        found: dict[str, list[float]] = {}
        for i in range(size.families // 10):
            random = random_of(f"family power {measure} {queries}", i)
            x = some_matrix(folder, measure, random)
            step = effect * _deviation(x)
            x = _exchanged(x, runs, queries, random)
            x[0] += step
            p = procedures.p_values(x, "tukey", resamples=1000, seed=i)
            apart = np.abs(x.mean(1)[first] - x.mean(1)[second])
            beyond = apart > _critical(x, 0.05)
            t = tests.t(x, (first, second))
            found.setdefault("tukey", []).append((p < 0.05)[mine].mean())
            found.setdefault("anova", []).append(beyond[mine].mean())
            holm = tests.adjust(t, "holm") < 0.05
            found.setdefault("t, Holm", []).append(holm[mine].mean())
        for test, shares in found.items():
            row = {"measure": measure, "runs": runs, "queries": queries}
            row |= {"effect": effect, "test": test, "families": len(shares)}
            yield row | {"share": round(float(np.mean(shares)), 5)}


def _critical(x: np.ndarray, alpha: float) -> float:
    """Give `tests.critical_difference`, with one quantile for families of a size."""
    error, freedom, *_ = tests.anova(x)
    return _quantile(len(x), freedom, alpha) * np.sqrt(error / x.shape[1])


@cache
def _quantile(runs: int, freedom: int, alpha: float) -> float:
    return float(stats.studentized_range.isf(alpha, runs, freedom))


def matrices(folder: Path, size: Size) -> Iterator[dict[str, Any]]:
    """Test all pairs of real runs: discriminative power, and Tukey's set in others'."""
    for name in size.collections:
        kind = "dl" if name.startswith("dl") else "urbano2019"
        tables = {m: folder / kind / f"{name}_{m}.csv.gz" for m in COLLECTIONS[name]}
        given: Any = {m: _frame(path) for m, path in tables.items()}
        parts = [
            discrimination.discriminate(
                given,
                test=test,
                resamples=resamples,
                missing="shared",
                correction="none",
            ).pairs
            for test, resamples in ((PAIRED, 1000), (FAMILIES, 5000))
        ]
        table = pd.concat(parts)
        for measure, mine in table.groupby("measure", sort=False):
            by_test = dict(iter(mine.groupby("test", sort=False)))
            hit = {t: by_test[t]["significant"].to_numpy() for t in TESTS}
            power = {t: int(h.sum()) for t, h in hit.items()}
            row = {"collection": name, "measure": measure}
            row |= {"runs": given[measure].shape[1] - 1, "queries": len(given[measure])}
            row |= {"pairs": len(hit["t"]), "significant": power}
            for other in ("bootstrap", "t", "permutation"):
                row[f"tukey_not_{other}"] = int((hit["tukey"] & ~hit[other]).sum())
            odd = np.flatnonzero(hit["tukey"] & ~hit["bootstrap"])
            b = by_test["bootstrap"].iloc[odd]
            ps = zip(b["p_value"], by_test["tukey"]["p_value"].iloc[odd], strict=True)
            names = zip(b["run_a"], b["run_b"], strict=True)
            row["examples"] = [
                [*pair, *(round(p, 5) for p in both)]
                for pair, both in zip(list(names)[:3], ps, strict=False)
            ]
            yield row


def exchangeable(
    x: np.ndarray, queries: int, random: np.random.Generator, effect: float
) -> np.ndarray:
    """Draw two runs of which either may have any score: [2, queries].

    The scores of a query are those of two random runs of a matrix, others for each
    query: what is a's might as well be b's. The effect is added to a, in standard
    deviations of the difference of two such runs.
    """
    two = _exchanged(x, 2, queries, random)
    two[0] += effect * _deviation(x)
    return two


def equal_means(
    x: np.ndarray, queries: int, random: np.random.Generator, effect: float
) -> np.ndarray:
    """Draw queries with replacement from two real runs, moved to equal means.

    The means are equal in truth, and nothing else: differences may be skewed.
    """
    while True:
        two = x[random.choice(len(x), 2, replace=False)]
        z = two[0] - two[1]
        if z.std() > 1e-9:  # two names of one run have no difference to draw
            break
    z = z - z.mean() + effect * z.std(ddof=1)
    drawn = random.choice(z, queries)
    return np.stack([drawn, np.zeros_like(drawn)])


def _exchanged(
    x: np.ndarray, runs: int, queries: int, random: np.random.Generator
) -> np.ndarray:
    """Shuffle each query's scores among all runs; keep some queries and runs."""
    some = random.choice(x.shape[1], queries, replace=False)
    return np.ascontiguousarray(random.permuted(x[:, some], axis=0)[:runs])


def _deviation(x: np.ndarray) -> float:
    """Give the deviation of the difference of two runs that were exchanged."""
    return float(np.sqrt(2 * x.var(0, ddof=1).mean()))


def _p_values(
    folder: Path,
    measure: str,
    draw: Any,
    queries: int,
    trials: int,
    name: str,
    effect: float = 0.0,
) -> dict[str, np.ndarray]:
    """Test pairs that are drawn one by one: p by test."""
    found: dict[str, list[np.ndarray]] = {test: [] for test in PAIRED}
    for low in range(0, trials, CHUNK):
        many = min(CHUNK, trials - low)
        two = []
        for i in range(low, low + many):
            random = random_of(name, i)
            x = some_matrix(folder, measure, random)
            two.append(draw(x, queries, random, effect))
        values = np.concatenate(two)
        pairs = np.arange(0, 2 * many, 2), np.arange(1, 2 * many, 2)
        for test in PAIRED:
            # Other resamples for every chunk: their luck is shared by few trials.
            done = procedures.run(values, pairs, test, resamples=1000, seed=low)
            found[test].append(done.p_value)
    return {test: np.concatenate(p) for test, p in found.items()}


def random_of(name: str, trial: int) -> np.random.Generator:
    """Make the random numbers of one trial."""
    return np.random.default_rng([zlib.crc32(name.encode()), trial])


def some_matrix(folder: Path, measure: str, random: np.random.Generator) -> np.ndarray:
    """Choose one of the matrices of a measure: [runs, topics]."""
    known = _sources(folder, measure)
    return known[random.integers(len(known))]


@cache
def _sources(folder: Path, measure: str) -> list[np.ndarray]:
    paths = sorted(folder.glob(f"{SOURCES[measure]}.csv.gz"))
    if not paths:
        raise click.UsageError(f"no {folder}/{SOURCES[measure]}.csv.gz; see --data")
    return [read_matrix(path) for path in paths]


def read_matrix(path: Path) -> np.ndarray:
    """Read scores of a measure: [runs, topics]."""
    frame = pd.read_csv(path).drop(columns="topic", errors="ignore")
    return np.ascontiguousarray(frame.to_numpy(np.float64).T)


def _frame(path: Path) -> pd.DataFrame:
    frame = pd.read_csv(path)
    if "topic" in frame:
        return frame
    topics = pd.Series([f"{i:03}" for i in range(len(frame))], name="topic")
    return pd.concat([topics, frame], axis=1)


def share(hits: np.ndarray, alpha: float) -> dict[str, Any]:
    """Sum up rejections beside the counts that chance allows at level α."""
    low, high = stats.binom.interval(COVER, len(hits), alpha)
    count = int(hits.sum())
    where = "below" if count < low else "above" if count > high else "within"
    bounds = [round(x / len(hits), 5) for x in (low, high)]
    return {"alpha": alpha, **rate(hits), "expected": bounds, "where": where}


def rate(hits: np.ndarray) -> dict[str, Any]:
    """Sum up rejections."""
    share = round(float(np.mean(hits)), 5)
    return {"trials": len(hits), "rejected": int(hits.sum()), "share": share}


def tables(found: dict[str, list[dict[str, Any]]]) -> Iterator[str]:
    """Make the tables of the page, in Markdown and per cent."""
    for null in ("exchangeable", "equal means"):
        rows = [row for row in found["nulls"] if row["null"] == null]
        yield from table_of(rows, ("measure", "queries"), _rates)
    yield from table_of(found["families"], ("measure", "runs"), _rates)
    both = found["power"] + found["family_power"]
    both = [row for row in both if row["measure"] == "AP"]
    yield from table_of(both, ("effect",), _by_queries)
    rows = []
    for row in found["matrices"]:
        kind = row["collection"].rstrip("0123456789")
        part = {"collections": kind, "measure": row["measure"], "pairs": row["pairs"]}
        hits = row["significant"] | {"tukey, not bootstrap": row["tukey_not_bootstrap"]}
        rows += [part | {"test": test, "count": hit} for test, hit in hits.items()]
    yield from table_of(rows, ("collections", "measure"), _pooled)


def table_of(rows: list[dict], keys: tuple[str, ...], cell: Any) -> Iterator[str]:
    """Make a Markdown table: a row for each key, a column for each test."""
    columns = list(dict.fromkeys(row["test"] for row in rows))
    yield "| " + " | ".join((*keys, *columns)) + " |"
    yield "|---" * (len(keys) + len(columns)) + "|"
    for key in dict.fromkeys(tuple(row[k] for k in keys) for row in rows):
        mine = [row for row in rows if tuple(row[k] for k in keys) == key]
        cells = [cell([row for row in mine if row["test"] == c]) for c in columns]
        yield "| " + " | ".join([*map(str, key), *cells]) + " |"
    yield ""


def _rates(rows: list[dict]) -> str:
    signs = {"below": "↓", "within": "", "above": "↑"}
    return " / ".join(f"{100 * r['share']:.2f}{signs[r['where']]}" for r in rows)


def _by_queries(rows: list[dict]) -> str:
    shares = [[r["share"] for r in rows if r["queries"] == q] for q in (25, 50)]
    return " / ".join(f"{100 * np.mean(s):.0f}" for s in shares)


def _pooled(rows: list[dict]) -> str:
    count = sum(row["count"] for row in rows)
    if rows[0]["test"] not in TESTS:
        return f"{count} of {sum(row['pairs'] for row in rows)}"
    return f"{100 * count / sum(row['pairs'] for row in rows):.1f}"


@study(tables, interval=COVER)
@matrices_option
@click.option("--quick", is_flag=True, help="Few trials: to see that it runs.")
def main(folder: Path, quick: bool) -> Sections:
    """Simulate equal and different runs from real scores, and test them."""
    size = QUICK if quick else FULL
    sections = (nulls, families, power, family_power, matrices)
    return {make.__name__: list(make(folder, size)) for make in sections}


if __name__ == "__main__":
    main()
