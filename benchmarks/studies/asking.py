"""How many answers do designs of asking take, on made-up and on public runs?

`python -m benchmarks.studies.asking` prints the tables of docs/judging-evidence.md. The
judge of made-up queries knows the utility of documents; that of Deep Learning 2021 the
grades of NIST's assessors.
"""

import json
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

import pgcjax
from benchmarks.studies.commands import Sections, data_option, study
from benchmarks.studies.greedy_exact import shown
from pgcjax.reporting import canvas, plots

SIZES = (3, 5, 7, 10, 12, 15, 20)
STOPPING = ("all pairs", "random, stop", "utility, stop", "utility, inference, stop")
DRAWN = (
    *STOPPING,
    *("utility, inference, bad, stop", "merge sort", "merge sort, bad", "tournament"),
)
PUBLIC = {"query": (5, 10, 15), "mean": (10,)}  # by what, and of how many documents


def public(data: Path, pairs: int, seed: int = 0) -> pd.DataFrame:
    """Play designs with pairs of runs of Deep Learning 2021, drawn by chance.

    Once answers on documents of equal grade are ties; and once the judge, who must
    name a document, has an order of them in mind, too, drawn by chance.
    """
    folder = data / "dl21"
    runs = pgcjax.files.read_runs(folder / "runs", name_by="file").table
    graded = pgcjax.files.read_qrels(folder / "qrels.dl21-passage.txt.gz")
    names, random = sorted(runs["run_id"].unique()), np.random.default_rng(seed)
    order = random.random(len(graded)) / 2
    forced = graded.assign(relevance=graded["relevance"] + order)
    tables = []
    for number in range(pairs):
        two = runs[runs["run_id"].isin(random.choice(names, 2, replace=False))]
        for answers, qrels in (("forced", forced), ("with ties", graded)):
            for over, sizes in PUBLIC.items():
                found = pgcjax.ask.simulate(
                    two,
                    qrels=qrels,
                    documents=sizes,
                    designs=STOPPING,
                    over=over,
                    seed=number,
                )
                tables.append(found.table.assign(answers=answers, over=over))
        click.echo(f"{number + 1}/{pairs} pairs of runs", err=True)
    return pd.concat(tables)


def averaged(tables: pd.DataFrame) -> list[dict[str, Any]]:
    """Average over pairs of runs."""
    by = ["answers", "over", "documents", "design"]
    several = tables.groupby(by, sort=False)
    means = several[["judgments", "right", "wrong"]].mean()
    return _rows(means.assign(pairs=several.size()).reset_index())


def _rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    return json.loads(table.to_json(orient="records"))


def draw(found: Sections, path: Path) -> None:
    """Draw judgments by documents, made-up and public."""
    made, data = pd.DataFrame(found["made-up"]), pd.DataFrame(found["public"])
    data = data[(data["answers"] == "forced") & (data["over"] == "query")]
    made = pd.concat([made[made["design"] == design] for design in DRAWN])
    by = "documents", "judgments", "design"
    panels = {
        "made-up": partial(plots.lines, made, *by),
        "Deep Learning 2021, forced answers": partial(plots.lines, data, *by),
    }
    canvas.save(canvas.grid(panels, columns=1), path)


@study(lambda found: map(shown, found.values()), draw=draw)
@data_option
@click.option("--queries", type=int, default=100, show_default=True)
@click.option("--pairs", type=int, default=12, show_default=True)
def main(data: Path, queries: int, pairs: int) -> Sections:
    """Count the answers that designs of asking take."""
    made = pgcjax.ask.simulate(documents=SIZES, queries=queries)
    noisy = pgcjax.ask.simulate(documents=15, queries=queries, error=0.1, bias=0.1)
    return {
        "made-up": _rows(made.table),
        "noisy": _rows(noisy.table),
        "public": averaged(public(data, pairs)),
    }


if __name__ == "__main__":
    main()
