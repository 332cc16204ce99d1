"""How far apart are the bounds of the fewest judgments that overturn an order?

`python -m benchmarks.studies.fragility` bounds, for each run of DL 2021 (62 pairs of
neighbours by PGC, people's votes), the fewest judgments whose removal puts the next run
above it, beside two baselines: a greedy search, and AMIP (Huang et al. 2025), which
ranks single judgments by effect and changes the first ones together. It prints the
distribution of upper / lower bound, and seconds a pair (of one core, without waiting).
"""

import time
from collections import Counter

import click
import numpy as np

from benchmarks.harness import Report
from benchmarks.studies.commands import DATA, reported
from pgcjax.engine.changed_scores import LOW, ChangedScores
from pgcjax.engine.explainer import Explainer
from pgcjax.engine.fragile import (
    GREEDY,
    WORK,
    Asked,
    ChangedJudgments,
    Search,
    asked_order,
)
from pgcjax.engine.request import runs_of
from pgcjax.io.runs import Options
from pgcjax.judging.choices import CHANGES

FOLDER = DATA / "dl21"
MOST = 200


def bounds(changed: ChangedJudgments, pair: tuple[str, str], work: float) -> list:
    """Bound the order of a pair: difference, found, proven, greedy, AMIP, seconds."""
    start = time.process_time()
    queries = changed.searched(pair)
    asked = asked_order(np.array([of.query.difference for of in queries]))
    search = Search(queries, asked, MOST)
    search.run(work)
    changed.check(*pair, search) if search.count else None
    seconds = time.process_time() - start
    greedy = Search(queries, asked, MOST)
    greedy.greedy(LOW, GREEDY * work + search.work)
    difference = sum(of.query.difference for of in queries) / len(queries)
    counts = search.count, search.lower, greedy.count, by_single_effects(queries, asked)
    return [difference, *counts, seconds]


def by_single_effects(queries: list[ChangedScores], asked: Asked) -> int | None:
    """Make the single changes of the largest effects together, as AMIP does."""
    d = np.array([of.query.difference for of in queries])
    effects = sorted(
        (float(effect), number, change)
        for number, of in enumerate(queries)
        for change, effect in enumerate(of.single - d[number])
        for _ in range(of.query.times[change])
        if effect < 0
    )
    sets = [np.zeros(0, int) for _ in queries]
    for count, (_, number, change) in enumerate(effects[:MOST], start=1):
        sets[number] = np.append(sets[number], change)
        d[number] = queries[number].query.differences(sets[number][None])[0]
        if asked.overturned(d):
            return count
    return None


@reported
@click.option(
    "--pairs",
    default=62,
    show_default=True,
    help="Spread evenly by difference.",
)
@click.option("--change", default=CHANGES[0], type=click.Choice(CHANGES))
@click.option("-m", "--measure", default="PGC", show_default=True)
@click.option("--work", default=WORK, show_default=True)
def main(report: Report, pairs: int, change: str, measure: str, work: float) -> None:
    """Bound the order of neighbours."""
    judgments = {"preferences": str(FOLDER / "judgments.txt.gz")}
    explainer = Explainer(judgments=judgments, measure=measure)
    explainer.read(runs_of(str(FOLDER / "runs"), "trec", Options()))
    means = explainer.means().sort_values(ascending=False)
    order, nearest = means.index.tolist(), np.argsort(-np.diff(means.to_numpy()))
    changed, rows = ChangedJudgments(explainer, change), []
    for i in nearest[np.linspace(0, len(nearest), pairs, False).astype(int)].tolist():
        rows.append([i + 1, *bounds(changed, (order[i], order[i + 1]), work)])
        report.say(" ".join(map(str, rows[-1])))
    names = ["rank", "difference", "found", "proven", "greedy", "amip", "seconds"]
    title = f"Neighbours of DL 2021 by {measure}, {change} judgments"
    report.table(title, names, rows)
    found, proven, greedy, amip, seconds = (
        np.array([np.nan if row[k] is None else row[k] for row in rows], float)
        for k in range(2, 7)
    )
    ratio = found / proven
    for name, other in (("greedy", greedy), ("AMIP", amip)):
        fewer = (found < other) | (np.isnan(other) & ~np.isnan(found))
        report.say(
            f"{name}: fewer in {fewer.sum()} pairs, more in {(found > other).sum()}"
        )
    report.say(
        f"upper / lower: median {np.nanmedian(ratio):.3g}, largest "
        f"{np.nanmax(ratio):.3g}; 1 in {(ratio == 1).sum()} pairs, 2 or less in "
        f"{(ratio <= 2).sum()}, of {len(rows)}; {np.isnan(ratio).sum()} without a set"
    )
    report.say(f"found: {sorted(Counter(found.tolist()).items())}")
    report.say(
        f"seconds a pair: median {np.median(seconds):.2g}, largest {seconds.max():.2g}"
    )


if __name__ == "__main__":
    main()
