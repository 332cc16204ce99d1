"""Do the tests of all pairs of runs hold their level, and what do they find?

`python -m benchmarks.studies.families` is the study behind the first tables of
docs/significance-evidence.md. Runs and topics are those of public score matrices;
topics are the population, and families are drawn from it with replacement. Three nulls:

- exchangeable: the scores of each topic are shuffled among the runs;
- equal means: each run less its mean, so that covariances are those of real runs;
- clusters: the same, of four fifths of runs that are alike and a fifth of others.

Of real means, it counts what a test finds, whether all ranks and tiers that follow from
it hold, and how wide ranges of ranks are. Every family has its own random numbers:
equal calls, equal files.
"""

from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
import pandas as pd

from benchmarks.studies.calibration import COVER, random_of, read_matrix, share
from benchmarks.studies.commands import Part, matrices_option, study
from pgcjax.judging.rank_ranges import places
from pgcjax.stats import procedures, tests

ALPHA = 0.05
B = 1000
SOURCES = {
    "nDCG": ("dl/dl20*_ndcg_cut_10", "urbano2019/web*_ndcg20"),
    "AP": ("urbano2019/adhoc*_ap", "dl/dl20*_map"),
    "P@10": ("dl/dl20*_P_10", "urbano2019/adhoc*_p10"),
    "RR": ("dl/dl20*_recip_rank", "urbano2019/adhoc*_rr"),
    "PGC": (),
    "ERR": ("urbano2019/web*_err20",),
    "others": ("dl/dl20*_Rprec", "dl/dl20*_bpref", "dl/dl20*_ndcg_cut_[125]*"),
}
JUDGED = {  # collections of preferences: runs, and the file of judgments
    "dl21": ("runs", "judgments.txt.gz"),
    "cast2019": ("runs", "clarke-prefs/TREC-CAsT-2019.pref.gz"),
}
NULLS = ("exchangeable", "equal means", "clusters")
MAIN = tuple(SOURCES)[:5]


class Cell(NamedTuple):
    """Families of one kind.

    Attributes:
        measure: whose matrices they are drawn from.
        null: one of `NULLS`, or "real means".
        runs: of a family.
        queries: of a family.
        share: of the families that are asked for.
    """

    measure: str
    null: str
    runs: int
    queries: int
    share: float = 1.0


def cells() -> Iterator[Cell]:
    """List the families of the nulls, small ones first."""
    for measure, null, queries in product(MAIN, NULLS, (25, 50)):
        yield Cell(measure, null, 10, queries)
    for measure, null in product(MAIN, NULLS):
        yield Cell(measure, null, 10, 10)
    for measure, null, queries in product(MAIN, NULLS, (25, 50)):
        yield Cell(measure, null, 30, queries)
    for measure, null in product(("ERR", "others"), NULLS):
        yield Cell(measure, null, 30, 50)
    for runs, share_of in ((100, 0.4), (200, 0.24)):
        for measure, null in product(("nDCG", "AP", "RR"), NULLS[1:]):
            yield Cell(measure, null, runs, 50, share_of)
    for queries, measure, null in product((50, 25), MAIN, NULLS):
        if measure != "PGC" or null != "clusters":  # of the 63 runs that there are
            yield Cell(measure, null, 60, queries, 0.4)


def real_cells() -> Iterator[Cell]:
    """List the families of runs as they are."""
    for measure, (runs, queries) in product(MAIN, ((10, 50), (30, 25), (30, 50))):
        yield Cell(measure, "real means", runs, queries, 0.25)


def levels(folder: Path, cell: Cell, families: int) -> list[dict[str, Any]]:
    """Test families whose means are equal: the share with any p < α."""
    hits: dict[str, list[bool]] = {}
    for i in range(max(2, round(cell.share * families))):
        x = drawn(folder, cell, random_of(f"families {cell[:4]}", i))
        for name, p in p_values(x, i).items():
            hits.setdefault(name, []).append(p.min() < ALPHA)
    return [
        {**_of(cell), "test": name, **share(np.array(hit), ALPHA)}
        for name, hit in hits.items()
    ]


def _of(cell: Cell) -> dict[str, Any]:
    return {name: getattr(cell, name) for name in Cell._fields[:4]}


def p_values(x: np.ndarray, seed: int) -> dict[str, np.ndarray]:
    """Test all pairs of a family: p by test, for all pairs together."""
    found = {"max-t": procedures.p_values(x, "max-t", resamples=B, seed=seed)}
    shuffles = B if len(x) <= 30 else 400  # which take most of the time
    found["tukey"] = procedures.p_values(x, "tukey", resamples=shuffles, seed=seed)
    p = procedures.p_values(x, "t")
    found["t, Holm"] = tests.adjust(p, "holm")
    found["replicates"] = together(x, seed)
    if len(x) == 10:  # of more runs, more flips are needed than are made in a minute
        p = procedures.p_values(x, "permutation", resamples=5000, seed=seed)
        found["permutation, Holm"] = tests.adjust(p, "holm")
    return found


def together(x: np.ndarray, seed: int) -> np.ndarray:
    """Take the largest difference that resampled queries put between any two runs."""
    means = resampled(x, seed)
    pairs = first, second = tests.all_pairs(len(x))
    ranges = np.sort(np.ptp(means - means.mean(0), axis=1))
    apart = np.abs(x.mean(1)[first] - x.mean(1)[second]) * (1 - 1e-9)
    below = np.searchsorted(ranges, apart)
    p = (1 + len(ranges) - below) / (1 + len(ranges))
    return np.where(tests.identical(x, pairs), 1.0, p)


def resampled(x: np.ndarray, seed: int) -> np.ndarray:
    """Draw queries 400 times: the means of runs, as `--replicates` has them."""
    random = np.random.default_rng([seed, 1])
    queries = x.shape[1]
    return (
        random.multinomial(queries, np.full(queries, 1 / queries), 400) @ x.T / queries
    )


def drawn(folder: Path, cell: Cell, random: np.random.Generator) -> np.ndarray:
    """Draw a family: [runs, queries]."""
    x = matrix_of(folder, cell, random)
    if cell.null == "clusters":
        chosen = alike(x, cell.runs, random)
    else:
        chosen = random.choice(len(x), cell.runs, replace=False)
    some = random.integers(0, x.shape[1], cell.queries)
    if cell.null == "exchangeable":
        return np.ascontiguousarray(random.permuted(x[:, some], axis=0)[chosen])
    x = x[chosen]
    if cell.null != "real means":
        x = x - x.mean(1, keepdims=True)
    return np.ascontiguousarray(x[:, some])


def alike(x: np.ndarray, runs: int, random: np.random.Generator) -> np.ndarray:
    """Choose a run, those that differ least from it, and a fifth of others."""
    first = random.integers(len(x))
    nearest = np.argsort((x - x[first]).var(1), kind="stable")
    many = runs * 4 // 5
    others = random.choice(nearest[many:], runs - many, replace=False)
    return np.concatenate([nearest[:many], others])


def matrix_of(folder: Path, cell: Cell, random: np.random.Generator) -> np.ndarray:
    """Choose a matrix with enough runs; if there is none, put some side by side."""
    known = matrices(folder, cell.measure)
    large = [x for x in known if len(x) >= cell.runs + 2 * (cell.null == "clusters")]
    if large:
        return large[random.integers(len(large))]
    topics = min(x.shape[1] for x in known)
    parts: list[np.ndarray] = []
    for i in random.permutation(len(known)):
        if sum(map(len, parts)) < cell.runs:
            parts.append(known[i][:, :topics])
    return np.concatenate(parts)


@cache
def matrices(folder: Path, measure: str) -> list[np.ndarray]:
    """Read all matrices of a measure, of runs that are not equal: [runs, topics]."""
    found = _of_preferences(folder.parent) if measure == "PGC" else []
    for pattern in SOURCES[measure]:
        for path in sorted(folder.glob(f"{pattern}.csv.gz")):
            found.append(read_matrix(path))
    if not found:
        raise click.UsageError(f"no matrices of {measure} in {folder}; see --data")
    return [np.unique(x, axis=0) for x in found]


def _of_preferences(folder: Path) -> list[np.ndarray]:
    """Score the runs of collections of preferences."""
    import pgcjax

    found = []
    for name, (runs, judgments) in JUDGED.items():
        of = folder / name
        table = pgcjax.files.read_runs(of / runs, name_by="file")
        given = of / judgments
        scores = pgcjax.evaluate(table, preferences=given, measures="PGC")
        wide = scores.matrix("PGC")
        found.append(wide.drop(columns=["all"], errors="ignore").to_numpy(float))
    return found


def real(folder: Path, cell: Cell, families: int) -> list[dict[str, Any]]:
    """Test runs as they are: what is found, and whether ranks and tiers hold."""
    found: dict[str, list[dict[str, float]]] = {}
    for i in range(max(2, round(cell.share * families))):
        random = random_of(f"families {cell[:4]}", i)
        x = matrix_of(folder, cell, random)
        x = x[random.choice(len(x), cell.runs, replace=False)]
        sample = x[:, random.integers(0, x.shape[1], cell.queries)]
        truth = x.mean(1)
        for name, p in p_values(sample, i).items():
            row = _of_family(truth, sample.mean(1), p < ALPHA)
            found.setdefault(name, []).append(row)
        found.setdefault("resampled ranks", []).append(_resampled(truth, sample, i))
    return [
        {
            **_of(cell),
            "test": name,
            "families": len(rows),
            **pd.DataFrame(rows).mean().round(4).to_dict(),
        }
        for name, rows in found.items()
    ]


def _of_family(
    truth: np.ndarray, mean: np.ndarray, hit: np.ndarray
) -> dict[str, float]:
    """Compare what is found with the truth."""
    pairs = first, second = tests.all_pairs(len(truth))
    true, seen = (np.sign(m[first] - m[second]) for m in (truth, mean))
    different = np.zeros((len(truth), len(truth)), bool)
    different[pairs] = different[pairs[::-1]] = hit
    placed = places(different, mean)
    return {
        "found": float(((seen == true) & hit)[true != 0].mean()),
        "wrong": float((hit & (seen != true)).any()),
        **_held(truth, placed.low, placed.high),
        # The tier of a run says that at least so many runs are better.
        "tiers": float(placed.tier.max()),
        "tiers_hold": float((placed.tier <= _levels_above(truth)).all()),
    }


def _levels_above(truth: np.ndarray) -> np.ndarray:
    """Count the different means from the best one to that of each run."""
    _, level = np.unique(-truth, return_inverse=True)
    return level + 1


def _held(truth: np.ndarray, low: np.ndarray, high: np.ndarray) -> dict[str, float]:
    """Say whether all true ranks are in their ranges, and how many ranks these have."""
    better = (truth[None] > truth[:, None]).sum(1)
    worse = (truth[None] < truth[:, None]).sum(1)
    held = (low <= 1 + better) & (high >= len(truth) - worse)
    return {"ranks_hold": float(held.all()), "width": float((high - low + 1).mean())}


def _resampled(truth: np.ndarray, x: np.ndarray, seed: int) -> dict[str, float]:
    """Take percentiles of each run's rank in resamples of queries."""
    means = resampled(x, seed)
    ranks = 1 + (means[:, None, :] > means[:, :, None] + 1e-12).sum(2)
    low = np.quantile(ranks, ALPHA / 2, axis=0, method="lower")
    high = np.quantile(ranks, 1 - ALPHA / 2, axis=0, method="higher")
    return _held(truth, low, high)


def tables(found: dict[str, list[dict[str, Any]]]) -> Iterator[str]:
    """Make the tables of the page, in Markdown and per cent."""
    rows = found["levels"]
    sizes = sorted({(row["runs"], row["queries"]) for row in rows})
    columns = ("max-t", "tukey", "t, Holm", "permutation, Holm", "replicates")
    yield _line("null", "measure", *columns)
    yield "|---" * (2 + len(columns)) + "|"
    for null, measure in product(NULLS, SOURCES):
        mine = [r for r in rows if (r["null"], r["measure"]) == (null, measure)]
        if mine:
            by = [_span([r for r in mine if r["test"] == test]) for test in columns]
            yield _line(null, measure, *by)
    yield ""
    yield _line("runs × queries", "cells", *columns[:3])
    yield "|---" * 5 + "|"
    for runs, queries in sizes:
        mine = [r for r in rows if (r["runs"], r["queries"]) == (runs, queries)]
        by = [_span([r for r in mine if r["test"] == test]) for test in columns[:3]]
        count = sum(r["test"] == "max-t" for r in mine)
        yield _line(f"{runs} × {queries}", str(count), *by)
    yield ""
    shown: dict[str, Callable[[dict], str]] = {
        "found": lambda r: _percent(r.get("found")),
        "any wrong": lambda r: _percent(r.get("wrong")),
        "all ranks hold": lambda r: _percent(r["ranks_hold"]),
        "ranks in a range": lambda r: f"{r['width']:.1f}",
        "all tiers hold": lambda r: _percent(r.get("tiers_hold")),
        "tiers": lambda r: f"{r['tiers']:.1f}" if "tiers" in r else "",
    }
    yield _line("measure", "runs × queries", "by", *shown)
    yield "|---" * (3 + len(shown)) + "|"
    for r in found["real"]:
        size = f"{r['runs']} × {r['queries']}"
        yield _line(
            r["measure"], size, r["test"], *(cell(r) for cell in shown.values())
        )
    yield ""


def _line(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.1f}"


def _span(rows: list[dict[str, Any]]) -> str:
    """Print the lowest and the highest share, and how many are beyond chance."""
    if not rows:
        return ""
    shares = [100 * row["share"] for row in rows]
    above = sum(row["where"] == "above" for row in rows)
    text = f"{min(shares):.1f}-{max(shares):.1f}"
    return text + (f" ({above} of {len(rows)}↑)" if above else "")


@study(tables, resume=True, interval=COVER, resamples=B)
@matrices_option
@click.option("--families", type=int, default=250, show_default=True, help="A cell.")
def main(folder: Path, families: int) -> Iterator[Part]:
    """Draw families of runs from public scores, test them, and count what is wrong.

    A file of -o that is there already is gone on with.
    """
    for cell in [*real_cells(), *cells()]:
        section, make = ("levels", levels) if cell.null in NULLS else ("real", real)
        yield section, _of(cell), partial(make, folder, cell, families)


if __name__ == "__main__":
    main()
