"""How many pairs of runs do preferences between rankings tell apart, and how surely?

`python -m benchmarks.studies.between_rankings` is the study behind a section of
docs/preferences-between-rankings.md. All pairs of public runs are compared, query by
query, by preferences between rankings and by differences of scores. Topics are drawn
into two halves that share none, of several sizes: the share of pairs whose mean
preference turns round from one half to the other, and the share that a t-test tells
apart in the first half. Equal calls, equal files.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
from scipy import stats

import pgcjax
from benchmarks.studies.commands import Sections, data_option, study
from pgcjax.reporting import canvas, plots
from pgcjax.stats.correlation import correlation

ALPHA = 0.05
SIZES = (5, 9, 14, 18, 23)  # topics of a half
LEXI = ("lexiprecision", "rrlexiprecision", "lexirecall")
COLLECTIONS = {
    "dl21": (
        *("nDCG@10", "AP(rel=2)", "RR(rel=2)", "PGC"),
        *(f"RPP({w}rel=2)" for w in ("", "weight=inverse,", "weight=dcg,")),
        *("RPP", *(f"{name}(rel=2)" for name in LEXI)),
    ),
    "web2012": (
        *("nDCG@20", "alpha_nDCG@20", "PGC(graph=derived)", "RPP"),
        *("RPP(subtopics=covered)", "RPP(subtopics=mean)"),
        *(f"{name}{how}" for name in LEXI for how in ("", "(subtopics=covered)")),
    ),
}
DRAWN = ("nDCG@10", "nDCG@20", "PGC", "PGC(graph=derived)", "RPP", *LEXI)
"""Measures of the figure, of any grade that is relevant."""


def judged(folder: Path, collection: str) -> dict[str, Any]:
    """Give the runs of a collection, and judgments of topics that all measures have."""
    if collection == "dl21":
        qrels = pgcjax.files.read_qrels(folder / "dl21/qrels.dl21-passage.txt.gz")
        preferences = pgcjax.files.read_preferences(folder / "dl21/judgments.txt.gz")
        both = set(qrels["query_id"]) & set(preferences["query_id"])
        tables = {"qrels": qrels, "preferences": preferences}
        tables = {k: t[t["query_id"].isin(both)] for k, t in tables.items()}
        return {"runs": pgcjax.files.read_runs(folder / "dl21/runs"), **tables}
    web = folder / "web-diversity"
    intents = pgcjax.files.read_intent_qrels(web / "qrels/2012.diversity.qrels.gz")
    best = intents.groupby(["query_id", "doc_id"], as_index=False)["relevance"].max()
    runs = pgcjax.files.read_runs(web / "runs/*2012*.gz", name_by="file")
    return {"runs": runs, "qrels": best, "intent_qrels": intents}


def rows(folder: Path, trials: int) -> dict[str, list[dict[str, Any]]]:
    """Compare all pairs of runs of each collection by its measures."""
    power, halves = [], []
    for collection, measures in COLLECTIONS.items():
        tables = judged(folder, collection)
        runs = tables.pop("runs")
        found = pgcjax.rankings.prefer(
            runs, **tables, measures=measures, per_query=True
        )
        told = pgcjax.meta.discriminate(
            found.scores(), test="tukey", missing="shared"
        ).table
        told = told.set_index("measure")["power"]
        queries = found.per_query()
        for measure in found.measures:
            mine = queries[queries["measure"] == measure]
            values = mine.pivot(
                index=["run_a", "run_b"], columns="query_id", values="preference"
            ).to_numpy()
            tested = found.compare(
                measure, test="bootstrap", alpha=ALPHA, correction="none"
            )
            row = {"collection": collection, "measure": measure}
            power.append(
                row
                | {"topics": values.shape[1], "pairs": len(values)}
                | {"ties": float((values == 0).mean())}
                | {"bootstrap": float(tested["significant"].mean())}
                | {"tukey": float(told[measure])}
            )
            halves += [row | half for half in _halves(values, found.run_ids, trials)]
    return {"power": power, "halves": halves}


def _halves(
    values: np.ndarray, runs: list[str], trials: int
) -> Iterator[dict[str, Any]]:
    """Draw two halves of the topics often, of several sizes."""
    rng = np.random.default_rng(1)
    order = np.array([rng.permutation(values.shape[1]) for _ in range(trials)])
    place = np.argsort(order, axis=1).T  # of each topic in each trial
    first, second = np.triu_indices(len(runs), 1)
    for size in SIZES:
        one, other = (
            values @ ((place >= low) & (place < low + size)).astype(float) / size
            for low in (0, size)
        )
        squares = values**2 @ (place < size).astype(float) / size
        spread = np.sqrt(np.maximum(squares - one**2, 0) / (size - 1))
        critical = stats.t.isf(ALPHA / 2, size - 1)
        turned = np.sign(np.round(one, 12)) * np.sign(np.round(other, 12))
        means = [_of_runs(x, first, second, len(runs)) for x in (one, other)]
        pairs = zip(*(x.T for x in means), strict=True)
        taus = [correlation(x, y, "tau") for x, y in pairs]
        yield {
            "topics": size,
            "told apart": float((np.abs(one) > critical * spread).mean()),
            "turned round": float((turned < 0).mean() + (turned == 0).mean() / 2),
            "tau": float(np.mean(taus)),
        }


def _of_runs(
    values: np.ndarray, first: np.ndarray, second: np.ndarray, runs: int
) -> np.ndarray:
    """Average preferences over all others of each run: `[runs, trials]`."""
    sums = np.zeros((runs, values.shape[1]))
    np.add.at(sums, first, values)
    np.subtract.at(sums, second, values)
    return np.round(sums / (runs - 1), 12)


def tables(found: dict[str, Any]) -> Iterator[str]:
    """Give the tables of the page, in Markdown and per cent."""
    last = {
        (row["collection"], row["measure"]): row
        for row in found["halves"]
        if row["topics"] == SIZES[-1]
    }
    for collection in COLLECTIONS:
        mine = [row for row in found["power"] if row["collection"] == collection]
        yield f"{collection}: {mine[0]['pairs']} pairs, {mine[0]['topics']} topics"
        yield ""
        yield (
            "| measure | ties per query | told apart, bootstrap | Tukey HSD | turned "
            "round | τ of halves |"
        )
        yield "|---|---|---|---|---|---|"
        for row in mine:
            half = last[collection, row["measure"]]
            shares = row["ties"], row["bootstrap"], row["tukey"], half["turned round"]
            cells = [f"{share:.1%}".replace("%", " %") for share in shares]
            yield f"| `{row['measure']}` | {' | '.join(cells)} | {half['tau']:.2f} |"
        yield ""


def figure(found: dict[str, Any], path: Path) -> None:
    """Draw what the halves show, as the number of topics grows."""
    table = pd.DataFrame(found["halves"])
    plain = table["measure"].str.replace(r"\(.*", "", regex=True)
    wanted = table["measure"].isin(DRAWN) | table["measure"].str.fullmatch(
        r"(rr)?lexi\w+\(rel=2.0\)"
    )
    table = table[wanted].assign(measure=plain.str.replace(r"@.*", "", regex=True))
    draw = {}
    for collection in COLLECTIONS:
        mine = table[table["collection"] == collection]
        for y in ("told apart", "turned round"):
            how = {"x": "topics", "y": y, "by": "measure"}

            def one(axes: Any, mine: Any = mine, how: Any = how) -> Any:
                return plots.lines(mine, **how, xlabel="topics of a half", axes=axes)

            draw[f"{collection}: {y}"] = one
    canvas.save(canvas.grid(draw, height=1.7), path)


@study(tables, draw=figure)
@data_option
@click.option("--trials", type=int, default=500, show_default=True)
def main(data: Path, trials: int) -> Sections:
    """Compare runs by preferences between rankings, and draw halves of the topics."""
    return rows(data, trials)


if __name__ == "__main__":
    main()
