"""How often do intervals of Kendall's τ hold that of many topics?

`python -m benchmarks.studies.order_coverage` is the study behind a table of
docs/significance-evidence.md. Two measures of the same public runs order them alike to
some degree, over all topics. Topics are drawn from these with replacement, for both
measures together; the intervals of each draw that hold that degree are counted, and τ
of the draw is averaged. Random numbers are as in `calibration`.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np

from benchmarks.studies.calibration import (
    COVER,
    random_of,
    read_matrix,
    share,
    table_of,
)
from benchmarks.studies.commands import Sections, matrices_option, study
from benchmarks.studies.coverage import held_of
from pgcjax.stats.correlation import correlated
from pgcjax.stats.orders import DrawnSums, tau_interval, taus

ALPHA = 0.05
PAIRS = {
    "nDCG@10, AP: DL 2021": ("dl/dl2021_ndcg_cut_10", "dl/dl2021_map"),
    "nDCG@10, RR: DL 2022": ("dl/dl2022_ndcg_cut_10", "dl/dl2022_recip_rank"),
    "AP, RR: TREC-5": ("urbano2019/adhoc5_ap", "urbano2019/adhoc5_rr"),
    "AP, P@10: TREC-6": ("urbano2019/adhoc6_ap", "urbano2019/adhoc6_p10"),
    "PGC, nDCG@10: DL 2021": ("PGC", "nDCG@10"),
}
TOPICS = (25, 40, 50, 100)
RESAMPLES, RUNS = 200, 40


def rows(folder: Path, trials: int) -> Iterator[dict[str, Any]]:
    """Count the intervals that miss, by measures, topics and kind."""
    for name, measures in PAIRS.items():
        both = _scored(folder, measures)
        both = both or [read_matrix(folder / f"{m}.csv.gz") for m in measures]
        some = random_of(name, 0).permutation(len(both[0]))[:RUNS]
        both = [values[some] for values in both]
        true, *_ = correlated(*(values.mean(axis=1) for values in both), "tau")
        for topics in TOPICS:
            yield from _rows(name, both, true, topics, trials)


def _rows(
    name: str, both: list[np.ndarray], true: float, topics: int, trials: int
) -> Iterator[dict[str, Any]]:
    missed: dict[str, list[bool]] = {"simex": [], "percentile": []}
    drawn, widths = [], []
    for trial in range(trials):
        random = random_of(f"order coverage {name} {topics}", trial)
        which = random.integers(0, both[0].shape[1], topics)
        sample = [np.ascontiguousarray(values[:, which]) for values in both]
        sums = [DrawnSums.of(values, RESAMPLES, trial) for values in sample]
        drawn.append(correlated(*(v.mean(axis=1) for v in sample), "tau")[0])
        low, high, _ = tau_interval(*sums, alpha=ALPHA)
        slacks = [each.slack for each in sums]
        values = taus(*(each.drawn[0] for each in sums), *slacks)
        ends = np.nanquantile(values, [ALPHA / 2, 1 - ALPHA / 2])
        for kind, (start, end) in {"simex": (low, high), "percentile": ends}.items():
            missed[kind].append(not start - 1e-12 <= true <= end + 1e-12)
        widths.append(high - low)
    for kind, outside in missed.items():
        row = {"measures": name, "topics": topics, "test": kind, "all topics": true}
        row |= {"mean": float(np.nanmean(drawn)), "width": float(np.mean(widths))}
        yield row | share(np.array(outside), ALPHA)


def _scored(folder: Path, measures: tuple[str, str]) -> list[np.ndarray]:
    """Score the runs of DL 2021 by preferences and grades; nothing for other names."""
    if "PGC" not in measures:
        return []
    import pgcjax

    of = folder.parent / "dl21"
    given = {"preferences": of / "judgments.txt.gz"}
    given |= {"qrels": of / "qrels.dl21-passage.txt.gz"}
    scores = pgcjax.evaluate(of / "runs", measures=list(measures), **given)
    wide = [scores.matrix(m).drop(columns="all", errors="ignore") for m in measures]
    common = wide[0].columns.intersection(wide[1].columns)
    return [np.ascontiguousarray(w[common].to_numpy(np.float64)) for w in wide]


def tables(found: dict[str, list[dict[str, Any]]]) -> Iterator[str]:
    """Make the table of the page, in Markdown and per cent."""
    shown = []
    for row in found["order coverage"]:
        values = {"of all": row["all topics"], "mean": row["mean"]}
        shown.append({**row, **{k: f"{v:.2f}" for k, v in values.items()}})
        shown[-1]["width of simex"] = f"{row['width']:.2f}"
    keys = ("measures", "topics", "of all", "mean", "width of simex")
    yield from table_of(shown, keys, held_of)


@study(tables, interval=COVER)
@matrices_option
@click.option("--trials", type=int, default=150, show_default=True)
def main(folder: Path, trials: int) -> Sections:
    """Draw topics of real runs, and count the intervals of tau that hold the truth."""
    return {"order coverage": list(rows(folder, trials))}


if __name__ == "__main__":
    main()
