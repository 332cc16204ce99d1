"""Does the choice of the ideal ranking change the order of runs, and which is best?

`python -m benchmarks.studies.ideals` prints the tables of docs/ideals.md, of public
judgments and runs; equal calls, equal numbers.

- orders: runs by PGC with each ideal, against those by the greedy peel.
- people: the same orders against leaderboards by other judgments of people; intervals
  of tau, and of its lead over that by the peel, by a bootstrap over queries.
- halves: the votes of each query are parted at random, and runs by one half are
  compared with runs by the other.
- votes: how many votes an ideal order agrees with that it was not made of.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

import pgcjax
from benchmarks.studies.commands import Sections, data_option, study
from benchmarks.studies.public_collections import Public, collections
from pgcjax.judging.choices import STRENGTHS
from pgcjax.measures.ideals import ordered_graphs
from pgcjax.reference.pgc import greedy_ideal
from pgcjax.stats.correlation import correlation
from pgcjax.tensors.graphs import Graph, preference_graphs

IDEALS = ("greedy", "exact", *STRENGTHS)
SPLITS, RESAMPLES, SEED = 5, 1000, 0
CROWD, PEOPLE, MODEL = "CAsT 2019, crowd", "DL 2021, people", "DL 2021, GPT-4o"
GRADES = {CROWD: "cast2019/qrels/2019qrels.txt.gz"}
GRADES |= dict.fromkeys((PEOPLE, MODEL), "dl21/qrels.dl21-passage.txt.gz")
Rows = list[dict[str, Any]]
Places = dict[str, dict[str, int]]
Values = np.ndarray


def measure(ideal: str) -> str:
    """Name PGC with an ideal."""
    return f"PGC(ideal={ideal})"


def scored(runs: Any, preferences: Any, ideals: Sequence[str]) -> pgcjax.Scores:
    """Score runs by PGC with each ideal."""
    names = [measure(ideal) for ideal in ideals]
    return pgcjax.evaluate(runs, preferences=preferences, measures=names)


def tau(x: Values, y: Values) -> Values:
    """Correlate means of runs, the last axis, by Kendall's tau a."""
    i, j = np.triu_indices(x.shape[-1], 1)
    signs = (np.sign(v[..., i] - v[..., j]) for v in (x, y))
    return np.mean(np.multiply(*signs), axis=-1)


def orders(name: str, scores: pgcjax.Scores, ideals: Sequence[str]) -> Rows:
    """Compare the runs by each ideal with those by the first."""
    names = [measure(ideal) for ideal in ideals]
    means = scores.mean()[names]
    ranks = means.rank(ascending=False, method="min")
    tests = [pgcjax.compare(scores, measure=m, test="tukey").table for m in names]
    unproven = scores.metadata.get("unproven", {}).get(measure("exact"), [])
    first, best = tests[0], means[names[0]]
    rows = []
    for ideal, own, table in zip(ideals, names, tests, strict=True):
        flipped = first["difference"] * table["difference"] < 0
        one, two = first["significant"], table["significant"]
        moved = (ranks[own] - ranks[names[0]]).abs().max()
        rows.append(
            {
                "collection": name,
                "ideal": ideal,
                "unproven": len(unproven) if ideal == "exact" else 0,
                "mean": float(means[own].mean()),
                "tau": float(tau(best.to_numpy(), means[own].to_numpy())),
                "tau_ap": correlation(best, means[own], "tau_ap_b"),
                "pairs": len(table),
                "flipped": int(flipped.sum()),
                "flipped_significant": int((flipped & (one | two)).sum()),
                "significant": int(two.sum()),
                "significant_both": int((one & two).sum()),
                "places": int(moved),
                "same_best": bool(means[own].idxmax() == best.idxmax()),
            }
        )
    return rows


def least(scores: pgcjax.Scores, ideals: Sequence[str]) -> dict[str, Any]:
    """Find the two ideals by which runs are ordered least alike."""
    means = {ideal: scores.mean()[measure(ideal)].to_numpy() for ideal in ideals}
    taus = {(a, b): float(tau(means[a], means[b])) for a, b in combinations(ideals, 2)}
    two = min(taus, key=lambda pair: taus[pair])
    return {"ideals": " and ".join(two), "tau": taus[two]}


def truths(
    data: Path, name: str, runs: pd.DataFrame, people: Public
) -> Iterator[tuple[str, pd.DataFrame]]:
    """Score runs by other judgments of people: `[runs, queries]`."""

    def by(how: str, **judgments: Any) -> pd.DataFrame:
        return pgcjax.evaluate(runs, **judgments, measures=how).matrix(how)

    grades = str(data / GRADES[name])
    yield "grades, nDCG@10", by("nDCG@10", qrels=grades)
    yield "grades, Compat", by("Compat", qrels=grades)
    if name == MODEL:
        best = str(data / "dl21/Combined-I+II.qrels")
        yield "best passages, Compat", by("Compat", qrels=best)
        for ideal in ("greedy", "copeland"):
            how = measure(ideal)
            yield f"votes, PGC by {ideal}", by(how, preferences=people.preferences)


def alike(
    name: str,
    scores: pgcjax.Scores,
    ideals: Sequence[str],
    truth: str,
    true: pd.DataFrame,
) -> Rows:
    """Compare the runs by each ideal with a leaderboard of people."""
    by_ideal = {ideal: scores.matrix(measure(ideal)) for ideal in ideals}
    queries = by_ideal[ideals[0]].columns.intersection(true.columns)
    size = len(queries)
    random = np.random.default_rng(SEED)
    drawn = random.multinomial(size, np.full(size, 1 / size), RESAMPLES)
    y = true[queries].to_numpy()
    x = {i: m.loc[true.index, queries].to_numpy() for i, m in by_ideal.items()}
    taus = {ideal: tau(drawn @ own.T, drawn @ y.T) for ideal, own in x.items()}
    rows = []
    for ideal, own in x.items():
        means = own.mean(1), y.mean(1)
        low, high = np.quantile(taus[ideal], (0.025, 0.975))
        less, more = np.quantile(taus[ideal] - taus[ideals[0]], (0.025, 0.975))
        row = {"collection": name, "people": truth, "queries": size, "ideal": ideal}
        row |= {"tau": float(tau(*means)), "low": float(low), "high": float(high)}
        row["tau_ap"] = correlation(*means, "tau_ap_b")
        row |= {"lead_low": float(less), "lead_high": float(more)}
        rows.append(row)
    return rows


def parted(preferences: pd.DataFrame, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Part the votes of each query at random."""
    drawn = pd.Series(np.random.default_rng(seed).random(len(preferences)))
    query = preferences["query_id"].reset_index(drop=True)
    odd = drawn.groupby(query).rank(method="first").to_numpy() % 2 == 1
    one, two = (preferences[half].reset_index(drop=True) for half in (odd, ~odd))
    return one, two


def halves(public: Public, ideals: Sequence[str], splits: int) -> Rows:
    """Compare runs by one half of the votes with runs by the other half."""
    found = np.zeros((splits, 2, len(ideals), len(ideals)))
    for split in range(splits):
        both = parted(public.preferences, split)
        tables = [scored(public.runs, half, ideals) for half in both]
        shared = sorted(set.intersection(*(set(t.table["query_id"]) for t in tables)))
        means = [
            np.array([t.matrix(measure(i))[shared].to_numpy().mean(1) for i in ideals])
            for t in tables
        ]
        for side in (0, 1):
            one, two = means[side], means[1 - side]
            found[split, side] = tau(one[:, None], two[None, :])
        click.echo(f"{public.name}: split {split + 1} of {splits}", err=True)
    return [
        {
            "collection": public.name,
            "ideal": ideal,
            "itself": float(found[:, :, i, i].mean()),
            "least": float(found[:, :, i, i].min()),
            "greedy": float(found[:, :, i, 0].mean()),
            "each": float(found[:, :, i].mean()),
        }
        for i, ideal in enumerate(ideals)
    ]


def places(preferences: pd.DataFrame, ideal: str) -> Places:
    """Give the place of each document in the ideal order of its query, without a run.

    The best have the highest; those of one level have the same.
    """
    if ideal in STRENGTHS:
        graphs = ordered_graphs(preferences, graph="real", soft="margin", ideal=ideal)
        return {query: _levelled(graph) for query, graph in graphs.items()}
    return {q: _peeled(graph) for q, graph in preference_graphs(preferences).items()}


def _levelled(graph: Graph) -> dict[str, int]:
    assert graph.levels is not None
    return dict(zip(graph.doc_ids.tolist(), graph.levels.tolist(), strict=True))


def _peeled(graph: Graph) -> dict[str, int]:
    docs = graph.doc_ids.tolist()
    edges = {(docs[a], docs[b]): int(count) for a, b, count in graph.wins.tolist()}
    return {doc: -i for i, doc in enumerate(greedy_ideal(edges, []))}


def agreed(
    order: Mapping[str, dict[str, int]], votes: pd.DataFrame
) -> tuple[int, float]:
    """Count votes on documents of an order, and the share that it agrees with.

    Documents of one level agree with half a vote.
    """
    count, right = 0, 0.0
    columns = (votes[c] for c in ("query_id", "doc_id", "other_doc_id", "preference"))
    for query, doc, other, preference in zip(*columns, strict=True):
        place = order.get(query, {})
        if preference and doc in place and other in place:
            count += 1
            right += (1 + np.sign((place[doc] - place[other]) * preference)) / 2
    return count, float(right) / max(1, count)


def votes(public: Public, people: Public | None, splits: int) -> Rows:
    """Count votes that an order agrees with: of the other half, and of people."""
    rows: Rows = []
    halves = [parted(public.preferences, split) for split in range(splits)]
    sides = [side for both in halves for side in (both, both[::-1])]
    greedy = np.zeros(len(sides))
    for ideal in ("greedy", *STRENGTHS):
        shares = np.array([agreed(places(one, ideal), two)[1] for one, two in sides])
        greedy = greedy if rows else shares
        whole = places(public.preferences, ideal)
        levels = [len(set(order.values())) / len(order) for order in whole.values()]
        row: dict[str, Any] = {"collection": public.name, "ideal": ideal}
        row |= {"levels": float(np.mean(levels)), "other_half": float(shares.mean())}
        row |= {"halves": len(sides), "more": int((shares > greedy).sum())}
        row["own"] = agreed(whole, public.preferences)[1]
        if people:
            row["people"], row["people_votes"] = agreed(whole, people.preferences)[::-1]
        rows.append(row)
    return rows


def _number(value: float, sign: str = "") -> str:
    return f"{value:{sign}.3f}".replace("0.", ".", 1)


def _table(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> Iterator[str]:
    for cells in (heads, ["---"] * len(heads), *lines):
        yield "| " + " | ".join(cells) + " |"
    yield ""


_ORDERS = "judgments of|ideal|mean|τ|τ_ap|pairs flipped|of these significant by either"
_ORDERS += "|pairs significant|of these by greedy too|most places moved|same best run"
_HALVES = "judgments of|ideal|τ, other half by the same|least of all splits"
_HALVES += "|τ, other half by greedy|by each, mean"
_VOTES = "judgments of|ideal|levels a document|its own votes agreed with"
_VOTES += "|votes of the other half|more than by greedy, of halves|people's votes"


def tables(found: Mapping[str, Rows]) -> Iterator[str]:
    """Give the tables of docs/ideals.md, in Markdown."""
    lines = []
    for r in found["orders"]:
        ideal = r["ideal"] + (f" ({r['unproven']} peeled)" if r["unproven"] else "")
        line = [r["collection"], ideal]
        line += [_number(r[key]) for key in ("mean", "tau", "tau_ap")]
        line += [f"{r['flipped']:,} of {r['pairs']:,}", str(r["flipped_significant"])]
        line += [str(r[key]) for key in ("significant", "significant_both", "places")]
        lines.append([*line, "yes" if r["same_best"] else "no"])
    yield from _table(_ORDERS.split("|"), lines)
    lines = [[r["collection"], r["ideals"], _number(r["tau"])] for r in found["least"]]
    yield from _table(["judgments of", "least alike", "τ"], lines)
    yield from _against_people(found["people"])
    keys = "itself", "least", "greedy", "each"
    lines = [
        [r["collection"], r["ideal"], *(_number(r[key]) for key in keys)]
        for r in found["halves"]
    ]
    yield from _table(_HALVES.split("|"), lines)
    lines = []
    for r in found["votes"]:
        line = [r["collection"], r["ideal"], _number(r["levels"])]
        line += [f"{100 * r[key]:.1f} %" for key in ("own", "other_half")]
        line.append(f"{r['more']} of {r['halves']}")
        of = f" of {r['people_votes']:,}" if "people" in r else ""
        lines.append([*line, f"{100 * r['people']:.1f} %{of}" if of else "·"])
    yield from _table(_VOTES.split("|"), lines)


def _against_people(rows: Rows) -> Iterator[str]:
    """Lay out tau, tau_ap and leads, a column for each ideal."""
    ideals = list(dict.fromkeys(r["ideal"] for r in rows))
    keys = dict.fromkeys((r["collection"], r["people"], r["queries"]) for r in rows)
    cells = {(r["collection"], r["people"], r["ideal"]): r for r in rows}
    for cell in (_of_tau, _of_tau_ap, _of_lead):
        shown = ideals[cell is _of_lead :]  # the peel does not lead itself
        lines = [
            [of, people, str(n), *(cell(cells[of, people, ideal]) for ideal in shown)]
            for of, people, n in keys
        ]
        yield from _table(
            ["judgments of", "against people's", "queries", *shown], lines
        )


def _of_tau(row: Mapping[str, Any]) -> str:
    return f"{_number(row['tau'])} ({_number(row['low'])}, {_number(row['high'])})"


def _of_tau_ap(row: Mapping[str, Any]) -> str:
    return _number(row["tau_ap"])


def _of_lead(row: Mapping[str, Any]) -> str:
    low, high = row["lead_low"], row["lead_high"]
    shown = f"{_number(low, '+')}, {_number(high, '+')}"
    return f"**{shown}**" if low > 0 or high < 0 else shown


@study(tables)
@data_option
@click.option("--splits", default=SPLITS, show_default=True, help="Of the votes.")
def main(data: Path, splits: int) -> Sections:
    """Compare the ideal rankings of PGC on public judgments."""
    every = {public.name: public for public in collections(data)}
    people = every[PEOPLE]
    names = "orders", "least", "people", "halves", "votes"
    found: dict[str, Rows] = {name: [] for name in names}
    for name, public in every.items():
        scores = scored(public.runs, public.preferences, IDEALS)
        found["orders"] += orders(name, scores, IDEALS)
        found["least"].append({"collection": name, **least(scores, IDEALS)})
        for truth, true in truths(data, name, public.runs, people):
            found["people"] += alike(name, scores, IDEALS, truth, true)
        click.echo(f"{name}: scored", err=True)
        found["votes"] += votes(public, people if name == MODEL else None, splits)
        if name != MODEL:  # of a model, hardly an exact order is proven
            found["halves"] += halves(public, IDEALS, splits)
    return found


if __name__ == "__main__":
    main()
