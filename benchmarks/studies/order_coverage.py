"""How often do intervals of rank correlations hold that of many topics?

`python -m benchmarks.studies.order_coverage` is the study behind a table of
docs/significance.md. Two measures of a public score matrix order its runs alike to some
degree, over all topics. Topics are drawn from these with replacement, for both measures
together; the intervals of each draw that hold that degree are counted, and the
coefficient of the draw is averaged. Random numbers are as in `calibration`.
"""

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.studies.calibration import random_of, share, table_of
from benchmarks.studies.coverage import command, held_of
from pgcjax.stats.correlation import correlated
from pgcjax.stats.resampled_orders import DrawnSums, drawn_interval

ALPHA = 0.05
PAIRS = {  # truth, estimate
    "nDCG@10, AP": ("dl/dl2021_ndcg_cut_10", "dl/dl2021_map"),
    "nDCG@10, RR": ("dl/dl2022_ndcg_cut_10", "dl/dl2022_recip_rank"),
}
COEFFICIENTS = ("tau", "tau_ap_b", "pearson", "tau@10")
TOPICS = (25, 50, 100)
RESAMPLES = 400


def rows(folder: Path, trials: int) -> Iterator[dict[str, Any]]:
    """Count the intervals that miss, by measures, coefficient, topics and kind."""
    for (name, paths), topics in product(PAIRS.items(), TOPICS):
        both = [_matrix(folder, path) for path in paths]
        means = [values.mean(axis=1) for values in both]
        true = {c: correlated(*means, c)[0] for c in COEFFICIENTS}
        missed: dict[tuple[str, str], list[bool]] = {}
        drawn: dict[str, list[float]] = {}
        for trial in range(trials):
            random = random_of(f"order coverage {name} {topics}", trial)
            which = random.integers(0, both[0].shape[1], topics)
            sample = [np.ascontiguousarray(values[:, which]) for values in both]
            sums = [DrawnSums.of(values, RESAMPLES, trial) for values in sample]
            for c in COEFFICIENTS:
                value = correlated(*(values.mean(axis=1) for values in sample), c)[0]
                drawn.setdefault(c, []).append(value)
                for kind in ("percentile", "bca"):
                    how = {"alpha": ALPHA, "corrected": kind == "bca"}
                    low, high, _ = drawn_interval(*sums, c, **how)
                    held = low - 1e-12 <= true[c] <= high + 1e-12
                    missed.setdefault((c, kind), []).append(not held)
        for (c, kind), outside in missed.items():
            row = {"measures": name, "coefficient": c, "topics": topics, "test": kind}
            row |= {"all topics": true[c], "mean": float(np.nanmean(drawn[c]))}
            yield row | share(np.array(outside), ALPHA)


def _matrix(folder: Path, path: str) -> np.ndarray:
    frame = pd.read_csv(folder / f"{path}.csv.gz", dtype={"topic": str})
    return np.ascontiguousarray(frame.drop(columns="topic").to_numpy(np.float64).T)


def tables(found: dict[str, list[dict[str, Any]]]) -> Iterator[str]:
    """Give the table of docs/significance.md, in Markdown and per cent."""
    shown = []
    for row in found["order coverage"]:
        values = {"of all": f"{row['all topics']:.2f}", "mean": f"{row['mean']:.2f}"}
        shown.append({**row, **values})
    keys = ("measures", "coefficient", "topics", "of all", "mean")
    shown.sort(
        key=lambda row: (row["measures"], COEFFICIENTS.index(row["coefficient"]))
    )
    yield from table_of(shown, keys, held_of)


main = command("order_coverage", rows, tables, 300)


if __name__ == "__main__":
    main()
