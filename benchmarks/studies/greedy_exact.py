"""How often is the greedy peel not minimal, and what does that do to scores?

`python -m benchmarks.studies.greedy_exact` prints the tables of docs/exact.md, of
public judgments. A query with too many optimal orders to be proven (`states`) is left
out.
"""

from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

import pgcjax
from benchmarks.studies.commands import Sections, data_option, study
from benchmarks.studies.public_collections import Public, collections
from pgcjax.io.text_tables import markdown, text_table
from pgcjax.reporting import canvas, plots

MEASURES = ("PGC", "ExactPGC")
TEST, ALPHA = "tukey", 0.05


def counted(public: Public) -> dict[str, Any]:
    """Count queries and judgments that orders contradict."""
    table = pgcjax.judgments.contradictions(public.preferences).table
    proven = table[table["proven"]]
    excess = proven[proven["excess"] > 0]
    return {
        "judgments of": public.name,
        "queries": len(table),
        "proven": len(proven),
        "judgments": int(proven["judgments"].sum()),
        "contradicted at least": int(proven["minimum"].sum()),
        "by the peel": int(proven["greedy"].sum()),
        "queries where the peel is not minimal": len(excess),
        "most excess": int(proven["excess"].max()),
    }


def scored(public: Public) -> pgcjax.Scores:
    """Score all runs by both, on the queries whose optimal orders are proven."""
    scores = pgcjax.evaluate(
        public.runs,
        preferences=public.preferences,
        measures=MEASURES,
    )
    unproven = scores.metadata.get("unproven", {}).get("ExactPGC", [])
    table = scores.table[~scores.table["query_id"].isin(unproven)]
    return pgcjax.Scores(table.reset_index(drop=True))


def compared(name: str, scores: pgcjax.Scores) -> dict[str, Any]:
    """Compare single scores, and the order of the runs."""
    greedy, exact = (scores.matrix(measure) for measure in MEASURES)
    apart = (exact - greedy).to_numpy()
    means = scores.mean()
    ranks = means.rank(ascending=False, method="min")
    (tau,) = pgcjax.correlate(scores, coefficients=["tau"])["value"]
    return {
        "judgments of": name,
        "queries": greedy.shape[1],
        "runs": greedy.shape[0],
        "scores that differ, %": 100 * float((np.abs(apart) > 1e-12).mean()),
        "exact higher, %": 100 * float((apart > 1e-12).mean()),
        "mean difference": float(apart.mean()),
        "mean |difference|": float(np.abs(apart).mean()),
        "largest": float(np.abs(apart).max()),
        "means of runs, largest": float(
            (means.iloc[:, 1] - means.iloc[:, 0]).abs().max()
        ),
        "τ": float(tau),
        "most places": int((ranks.iloc[:, 1] - ranks.iloc[:, 0]).abs().max()),
        "same best": bool((ranks.idxmin() == ranks.idxmin().iloc[0]).all()),
    }


def decided(name: str, scores: pgcjax.Scores) -> dict[str, Any]:
    """Compare which pairs of runs differ significantly."""
    found = [pgcjax.compare(scores, measure=m, test=TEST).table for m in MEASURES]
    one, two = (table["significant"] for table in found)
    opposed = np.sign(found[0]["difference"]) != np.sign(found[1]["difference"])
    return {
        "judgments of": name,
        "pairs of runs": len(one),
        "significant by PGC": int(one.sum()),
        "by ExactPGC": int(two.sum()),
        "by both": int((one & two).sum()),
        "by one alone": int((one ^ two).sum()),
        "by both, opposite": int((one & two & opposed).sum()),
    }


def shown(rows: list[dict[str, Any]]) -> str:
    """Lay a table out as Markdown."""
    return markdown(text_table(pd.DataFrame(rows)))


@study(lambda found: map(shown, found.values()))
@data_option
@click.option("--figure", type=Path, metavar="FILE.svg", help="Draw the means there.")
def main(data: Path, figure: Path | None) -> Sections:
    """Compare PGC with exact PGC on public judgments."""
    found: Sections = {"judgments": [], "scores": [], "tests": []}
    panels = {}
    for public in collections(data):
        found["judgments"].append(counted(public))
        scores = scored(public)
        found["scores"].append(compared(public.name, scores))
        found["tests"].append(decided(public.name, scores))
        panels[public.name] = partial(plots.scatter, scores, *MEASURES)
        click.echo(f"{public.name}: done", err=True)
    if figure:
        canvas.save(canvas.grid(panels), figure)
    return found


if __name__ == "__main__":
    main()
