"""Do the intervals of a comparison of two judges hold the truth?

`python -m benchmarks.studies.two_judges` prints the table of docs/judging-evidence.md:
how often 95 % intervals of `judgments.compare` hold what the made-up judges are. Each
pair is shown to three judges in both orders; how clear the pairs of a query are varies,
so that its pairs go together. The first judge goes with place more than the second; the
third is the first one before, and has not changed.
"""

import click
import numpy as np
import pandas as pd

import pgcjax
from benchmarks.harness import Report
from benchmarks.studies.commands import reported
from pgcjax.judging.contingency import both_ways, contingency, kappa

CASES = ((10, 10), (20, 10), (50, 10), (20, 40))  # queries, pairs of each
PLACE = (0.6, 0.2, 0.6)  # log-odds of preferring the first, of the three judges
LARGE = 40_000  # queries, from which the truth is taken
STATISTICS = ("agreement", "kappa", "flips", "first", "drift")


def answers(rng: np.random.Generator, queries: int, pairs: int) -> np.ndarray:
    """Make signs up [judges, orders, queries * pairs], for the low document."""
    clear = np.repeat(rng.normal(0.0, 1.0, queries), pairs) + 1.0
    strength = clear * rng.choice([-1.0, 1.0], queries * pairs)
    place = np.array(PLACE)[:, None, None] * np.array([1.0, -1.0])[:, None]
    p = 1 / (1 + np.exp(-(strength + place)))
    return np.where(rng.random(p.shape) < p, 1, -1)


def votes(signs: np.ndarray, pairs: int) -> pd.DataFrame:
    """Lay the answers of a judge out as preferences."""
    number = np.arange(signs.shape[1])
    query = pd.Series(number // pairs).astype(str)
    low, high = (query + side + pd.Series(number % pairs).astype(str) for side in "ab")
    table = pd.DataFrame({"query_id": query, "doc_id": low, "other_doc_id": high})
    parts = zip(signs, (low, high), strict=True)
    orders = [table.assign(preference=s, first=first) for s, first in parts]
    return pd.concat(orders, ignore_index=True)


def truth(pairs: int) -> dict[str, float]:
    """Compute what the judges are, from many queries."""
    signs = answers(np.random.default_rng(1), LARGE // pairs * 10, pairs)
    a, b = np.sign(signs.sum(axis=1))[:2]
    flips = [float((s[0] != s[1]).mean()) for s in signs[:2]]
    return {
        "agreement": float((a == b).mean()),
        "kappa": kappa(both_ways(contingency(a, b))),
        "flips": flips[0] - flips[1],
        "first": float(np.exp(PLACE[0] - PLACE[1])),
        "drift": 0.0,
    }


@reported
@click.option("--worlds", default=200, show_default=True)
@click.option("--seed", default=0, show_default=True)
def main(report: Report, worlds: int, seed: int) -> None:
    """Simulate judges."""
    rows = []
    for queries, pairs in CASES:
        true, held = truth(pairs), dict.fromkeys(STATISTICS, 0)
        for world in range(worlds):
            rng = np.random.default_rng((seed, queries, pairs, world))
            now, other, then = (votes(s, pairs) for s in answers(rng, queries, pairs))
            found = pgcjax.judgments.compare(now, other, before=then).table
            of = found.set_index("statistic").loc[list(STATISTICS)]
            for name, low, high in of[["low", "high"]].itertuples(name=None):
                held[name] += low <= true[name] <= high
        shares = [f"{100 * held[name] / worlds:.1f}" for name in STATISTICS]
        rows.append([queries, pairs, *shares])
        report.say(f"{queries} queries of {pairs} pairs: done")
    title = f"95 % intervals that hold the truth, per cent of {worlds} worlds"
    report.table(title, ["queries", "pairs of each", *STATISTICS], rows)


if __name__ == "__main__":
    main()
