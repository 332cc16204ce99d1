"""How far do judgments carry on public collections, and what of significance claims?

`python -m benchmarks.studies.judgment_noise` prints the tables of
docs/judgment-noise.md, and the curves of docs/enough.md. Intervals are those of
`pgcjax uncertainty`, tests randomised Tukey HSD. A claim is redone by scoring the
runs by the judgments of a replicate, and testing them again.
"""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

import pgcjax
from benchmarks.studies.commands import Sections, data_option, study
from benchmarks.studies.greedy_exact import ALPHA, TEST, shown
from benchmarks.studies.public_collections import Public, collections
from pgcjax.reporting import canvas, plots

SECTIONS = ("widths", "single", "claims", "enough")
SCHEMES = ("judgments", "queries", "both")


def drawn(public: Public, replicates: int) -> dict[str, Any]:
    """Score all runs, with replicates of each scheme."""
    return {
        scheme: pgcjax.uncertainty(
            public.runs,
            preferences=public.preferences,
            measures="PGC",
            replicates=replicates,
            resample=scheme,
        )
        for scheme in SCHEMES
    }


def widths(name: str, by_scheme: dict[str, Any]) -> list[dict[str, Any]]:
    """Say how wide the intervals are, and how much of the order replicates keep."""
    rows = []
    for scheme, found in by_scheme.items():
        means, pairs, ranks = found.means(), found.differences(), found.ranks()
        tau = found.tau()
        rows.append(
            {
                "judgments of": name,
                "drawn": scheme,
                "± mean": float((means["high"] - means["low"]).mean() / 2),
                "± difference": float((pairs["high"] - pairs["low"]).mean() / 2),
                "pairs of runs": len(pairs),
                "hold 0": int(((pairs["low"] <= 0) & (pairs["high"] >= 0)).sum()),
                "replicates lower by": float(
                    (means["mean"] - means["mean_replicate"]).mean()
                ),
                "τ": tau.mean,
                "tiers": int(ranks["tier"].max()),
                "places": float((ranks["high"] - ranks["low"]).mean()),
            }
        )
    return rows


def single(public: Public, replicates: int) -> dict[str, Any]:
    """Say how wide the intervals of single scores are, of a run and query."""
    found: Any = pgcjax.uncertainty(
        public.runs,
        preferences=public.preferences,
        measures="PGC",
        replicates=replicates,
        score_intervals=True,
    )
    table = found.scores()
    half = (table["high"] - table["low"]) / 2
    return {
        "judgments of": public.name,
        "scores": len(table),
        "± score, mean": float(half.mean()),
        "median": float(half.median()),
        "90 %": float(half.quantile(0.9)),
        "largest": float(half.max()),
    }


def claims(public: Public, by_scheme: dict[str, Any], redone: int) -> dict[str, Any]:
    """Say what becomes of significant differences by other draws of the judgments."""
    first = _tested(by_scheme["judgments"].observed)
    kept, added, turned = [], [], 0
    for replicate in range(redone):
        table = pgcjax.judgments.resample(public.preferences, replicate=replicate)
        again = _tested(pgcjax.evaluate(public.runs, preferences=table, measures="PGC"))
        both = first["significant"] & again["significant"]
        kept.append(both.sum() / max(1, first["significant"].sum()))
        added.append((again["significant"] & ~first["significant"]).sum())
        turned += int((both & (first["difference"] * again["difference"] < 0)).sum())
    significant = first["significant"].to_numpy()
    row: dict[str, Any] = {
        "judgments of": public.name,
        "pairs of runs": len(first),
        "significant": int(significant.sum()),
    }
    for scheme in ("judgments", "both"):
        pairs = by_scheme[scheme].differences()
        holds = ((pairs["low"] <= 0) & (pairs["high"] >= 0)).to_numpy()
        row[f"of these hold 0, {scheme}"] = int((holds & significant).sum())
    return row | {
        "again significant, %": 100 * float(np.mean(kept)),
        "least, %": 100 * float(np.min(kept)),
        "newly significant": float(np.mean(added)),
        "opposite": turned,
    }


def _tested(scores: pgcjax.Scores) -> pd.DataFrame:
    return pgcjax.compare(scores, measure="PGC", test=TEST, alpha=ALPHA).table


def lines(found: Sections) -> Iterator[str]:
    """Make the tables of all sections."""
    return (shown(found[section]) for section in SECTIONS)


def draw(found: Sections, path: Path) -> None:
    """Draw the curve of each collection."""
    panels = {}
    for name, curve in pd.DataFrame(found["enough"]).groupby(
        "judgments of", sort=False
    ):
        stable = pgcjax.judgments.Stability(
            curve.assign(measure=""), enough=pd.DataFrame()
        )
        panels[str(name)] = partial(plots.stability, stable)
    canvas.save(canvas.grid(panels), path)


@study(lines, draw=draw)
@data_option
@click.option("--replicates", type=int, default=1000, show_default=True)
@click.option("--redone", type=int, default=20, show_default=True)
def main(data: Path, replicates: int, redone: int) -> Sections:
    """Draw the judgments of public collections again, and fewer of them."""
    found: Sections = {section: [] for section in SECTIONS}
    for public in collections(data):
        scores = drawn(public, replicates)
        found["widths"] += widths(public.name, scores)
        found["single"].append(single(public, replicates))
        found["claims"].append(claims(public, scores, redone))
        stable = pgcjax.judgments.enough(public.runs, preferences=public.preferences)
        curve = stable.table.assign(measure=public.name)
        curve = curve.rename(columns={"measure": "judgments of"})
        found["enough"] += json.loads(curve.to_json(orient="records"))
        click.echo(f"{public.name}: done", err=True)
    return found


if __name__ == "__main__":
    main()
