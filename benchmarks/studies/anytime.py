"""May one look after each judgment, and how many does that save?

`python -m benchmarks.studies.anytime` prints the tables of docs/how-sure.md: answers
that settle a pair, by the bet of pgcjax before and by the beta mixture of today; and
queries that settle a question about runs, on dl21, whose queries are put in order by
lot again and again, and on made-up collections.
"""

from math import log
from pathlib import Path
from typing import Any

import click
import numpy as np

import pgcjax
from benchmarks.harness import Report
from benchmarks.studies.commands import data_option, reported
from benchmarks.studies.public_collections import collections
from pgcjax.asking.bounds import asked_measure
from pgcjax.asking.chance import stakes_of
from pgcjax.asking.pools import read_pools
from pgcjax.stats.anytime import ANSWERS as ANSWERED
from pgcjax.stats.anytime import log_capital, log_evidence

ALPHA = 0.05
CHANCES = ((0.5, 0, 2000), (0.55, 0, 8000), (0.6, 0, 3000), (0.7, 0, 600))
CHANCES = (*CHANCES, (0.9, 0, 200), (0.55, 0.3, 8000), (0.6, 0.3, 3000))
"""Chance of the better document, share of ties beside, and the last answer."""
PAIRS, BLOCK = 200, 50  # pairs of runs; collections at a time
VOTED, DOCUMENTS, EVERY = 40, 15, 20  # pairs of runs; documents of a query; votes
KINDS = ("alike", "spread", "binary", "one query decides")


def former_stops(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return when the bets of before refute 1/2 from above and from below.

    Waudby-Smith and Ramdas 2024, theorem 3, with the bets of their equation 26.
    """
    t = np.arange(1, x.shape[1] + 1)
    means = (0.5 + np.cumsum(x, axis=1)) / (t + 1)
    variance = (0.25 + np.cumsum((x - means) ** 2, axis=1)) / (t + 1)
    before = np.concatenate([np.full((len(x), 1), 0.25), variance[:, :-1]], axis=1)
    bet = np.minimum(np.sqrt(2 * log(2 / ALPHA) / (before * t * np.log(t + 1))), 1.0)
    rich = (
        np.cumsum(np.log1p(s * bet * (x - 0.5)), axis=1) >= log(2 / ALPHA)
        for s in (1, -1)
    )
    return _first(next(rich)), _first(next(rich))


def mixture_stops(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return when the beta mixture refutes 1/2 from above and from below.

    Against 1/2 a tie changes no capital: it depends on how often each side won. By
    halving, the fewest wins of n that refute 1/2 are found for each n at once.
    """
    n = np.arange(x.shape[1] + 1)
    low, high = n // 2, n + 1  # high always refutes, were there so many
    for _ in range(14):
        wins = (low + high) // 2
        counts = np.stack([n - wins, 0 * n, wins], axis=1).astype(np.float64)
        enough = (wins <= n) & (log_capital(counts, 0.5) >= -log(ALPHA)) | (wins > n)
        low, high = np.where(enough, low, wins), np.where(enough, wins, high)
    won, played = np.cumsum(x == 1, axis=1), np.cumsum(x != 0.5, axis=1)
    least = high[played]
    return _first(won >= least), _first(played - won >= least)


def _first(hit: np.ndarray) -> np.ndarray:
    """Return the number of the first answer at which something holds; else one more."""
    return np.where(hit.any(1), hit.argmax(1) + 1, hit.shape[1] + 1)


def answers(report: Report, data: Path, families: int, seed: int) -> None:
    """Print how many answers settle a pair."""
    rows = []
    for chance, ties, last in CHANCES:
        random = np.random.default_rng((seed, int(1000 * chance), int(100 * ties)))
        win = (1 - ties) * chance
        stops: dict[str, list] = {"bet": [], "mixture": []}
        # A median needs fewer than an error of 5 %.
        times = families if chance == 0.5 else max(1, families // 5)
        for start in range(0, times, 500):
            u = random.random((min(500, times - start), last))
            x = np.where(u < win, 1.0, np.where(u < win + ties, 0.5, 0.0))
            stops["bet"].append(former_stops(x))
            stops["mixture"].append(mixture_stops(x))
        for name, parts in stops.items():
            right, wrong = (np.concatenate(side) for side in zip(*parts, strict=True))
            first = np.minimum(right, wrong)
            erred = (first if chance == 0.5 else wrong) <= np.minimum(first, last)
            settled = first <= last
            figures = [100 * erred.mean(), 100 * settled.mean()]
            taken = [np.median(first), np.minimum(first, last).mean()]
            rows.append(
                [f"{chance:g}", f"{ties:g}", str(last), str(times), name]
                + [f"{x:.2f}" for x in figures]
                + [f"{x:.0f}" if chance > 0.5 else "" for x in taken]
            )
    columns = ["chance", "ties", "answers", "times", "by", "wrong, %", "settled, %"]
    report.table("Answers that settle a pair", [*columns, "median", "mean"], rows)


class Played:
    """What became of a question, in each of many orders of the queries."""

    def __init__(self) -> None:
        """Begin with none."""
        self.stop: list[np.ndarray] = []
        self.wrong: list[np.ndarray] = []
        self.share: list[np.ndarray] = []

    def add(self, x: np.ndarray, best: int, costs: np.ndarray | None = None) -> None:
        """Judge query by query, and stop as soon as the question is settled.

        Args:
            x: scores [replays, runs, queries], queries in order.
            best: how many runs are asked for.
            costs: judgments of each query, in the same order; else alike.
        """
        replays, runs, queries = x.shape
        out = log_evidence(x, queries, best=best) >= -log(ALPHA)
        done = out.sum(-1) >= runs - best
        done[-1] = True
        stop = done.argmax(0)
        total = x.sum(-1)
        asked = total >= np.sort(total)[:, -best, None] - 1e-9
        left = ~out[stop, np.arange(replays)]
        wrong = (left & ~asked).any(1) | (left.sum(1) < best)
        wrong &= stop < queries - 1  # then all scores are there
        costs = np.ones((replays, queries)) if costs is None else costs
        spent = np.cumsum(costs, axis=1)[np.arange(replays), stop] / costs.sum(1)
        self.stop.append((stop + 1) / queries)
        self.wrong.append(wrong)
        self.share.append(spent)

    def row(self) -> list[str]:
        """Write replays, wrong and its Monte-Carlo error, queries and judgments."""
        stop, wrong, share = map(np.concatenate, (self.stop, self.wrong, self.share))
        error = 100 * np.sqrt(max(wrong.mean() * (1 - wrong.mean()), 0) / len(wrong))
        shares = 100 * stop.mean(), 100 * np.median(stop), 100 * share.mean()
        early = 100 * (stop < 1).mean()
        errors = f"{100 * wrong.mean():.2f}", f"{error:.2f}"
        return [str(len(stop)), *errors, *(f"{x:.1f}" for x in (*shares, early))]


COLUMNS = ["collection", "runs", "queries", "question", "replays", "wrong, %", "±"]
COLUMNS += ["queries, %", "median", "judgments, %", "early, %"]


def public(report: Report, data: Path, families: int, seed: int) -> None:
    """Print what dl21 takes, whose queries are put in order by lot."""
    rows = []
    for of in collections(data):
        if not of.name.startswith("DL"):
            continue
        scores = pgcjax.evaluate(of.runs, preferences=of.preferences, measures="PGC")
        table = scores.matrix("PGC").fillna(0.0)
        x = table.to_numpy()
        sizes = of.preferences.groupby("query_id").size()
        sizes = sizes.reindex(table.columns).to_numpy(np.float64)
        about = [of.name.removeprefix("DL 2021, "), *map(str, x.shape)]
        random = np.random.default_rng((seed, len(rows)))
        for best in (1, 5):
            played = Played()
            replays = families if best == 1 else max(1, families // 10)
            for start in range(0, replays, BLOCK):
                count = min(BLOCK, replays - start)
                order = random.random((count, x.shape[1])).argsort(1)
                played.add(x[:, order].swapaxes(0, 1), best, sizes[order])
            rows.append([*about, "best" if best == 1 else "top 5", *played.row()])
            report.say(f"{of.name}, {rows[-1][3]}: done")
        played = Played()
        for _ in range(PAIRS):
            two = x[random.choice(len(x), 2, replace=False)]
            order = random.random((max(1, families // PAIRS), x.shape[1])).argsort(1)
            played.add(two[:, order].swapaxes(0, 1), 1, sizes[order])
        rows.append([*about, "order of two", *played.row()])
    report.table("DL 2021, order of queries by lot", COLUMNS, rows)


def votes(report: Report, data: Path, families: int, seed: int) -> None:
    """Print what the order of two runs takes by votes on pairs drawn by their weight.

    A vote says which of two documents has the higher grade, or that they tie. The fixed
    design asks once for each pair on which anything hangs.
    """
    folder = data / "dl21"
    runs = pgcjax.files.read_runs(folder / "runs", name_by="file").table
    graded = pgcjax.files.read_qrels(folder / "qrels.dl21-passage.txt.gz")
    graded = graded.set_index(["query_id", "doc_id"])["relevance"]
    grades: dict[Any, float] = graded.to_dict()
    names, random = sorted(runs["run_id"].unique()), np.random.default_rng(seed)
    stops, wrong, fixed = [], [], []
    for _ in range(VOTED):
        two = runs[runs["run_id"].isin(random.choice(names, 2, replace=False))]
        _, pools = read_pools(two, None, "trec", None, DOCUMENTS)
        stakes = stakes_of(asked_measure("ppref"), pools)
        one, other = (
            np.array([grades.get((pair[0], pair[side]), 0.0) for pair in stakes.pairs])
            for side in (1, 2)
        )
        x = (1 + np.sign(one - other) * np.sign(stakes.gain)) / 2
        weight = np.abs(stakes.gain) / np.abs(stakes.gain).sum()
        even = (1 - stakes.middle * 2 / np.abs(stakes.gain).sum()) / 2
        replays = max(1, families // VOTED)
        drawn = x[random.choice(len(x), (replays, len(x)), p=weight)]
        for answers_of in drawn:
            counts = np.cumsum(answers_of[:, None] == ANSWERED, axis=0)[
                EVERY - 1 :: EVERY
            ]
            hit = log_capital(counts.astype(np.float64), even) >= -log(ALPHA)
            at = int(hit.argmax()) if hit.any() else len(hit) - 1
            mean = counts[at] @ ANSWERED / counts[at].sum()
            wrong.append(hit.any() and (mean - even) * (x @ weight - even) < 0)
            stops.append((at + 1) * EVERY / len(x) if hit.any() else 1.0)
        fixed.append(len(x))
    early = np.array(stops) < 1
    rows = [[str(VOTED), f"{np.mean(fixed):.0f}", str(len(stops))]]
    figures = 100 * np.mean(wrong), 100 * np.mean(stops), 100 * np.median(stops)
    rows[0] += [f"{figure:.2f}" for figure in (*figures, 100 * early.mean())]
    columns = ["pairs of runs", "fixed design", "replays", "wrong, %", "votes, %"]
    title = (
        f"Order of two by ppref of dl21, votes drawn by weight, each {EVERY} looked at"
    )
    report.table(title, [*columns, "median", "early, %"], rows)


def made_up(kind: str, shape: tuple[int, int, int], seed: list[int]) -> np.ndarray:
    """Make scores [collections, runs, queries], queries in an order by lot."""
    random = np.random.default_rng(seed)
    if kind == "one query decides":
        x = 0.5 + random.random(shape) / 20
        x[:, 0] -= 0.02
        x[:, 0, 0], x[:, 1:, 0] = 1.0, 0.0
        place = random.random((shape[0], 1, shape[2])).argsort(-1)
        return np.take_along_axis(x, place, -1)
    step = 0.0 if kind == "alike" else 0.05
    level = 0.35 + step * np.arange(shape[1])[:, None]
    clear = random.normal(0, 0.15, (shape[0], 1, shape[2]))
    chance = np.clip(level + clear, 0.02, 0.98)
    if kind == "binary":
        return (random.random(shape) < chance).astype(np.float64)
    return random.beta(8 * chance, 8 * (1 - chance))


def simulated(report: Report, data: Path, families: int, seed: int) -> None:
    """Print what made-up collections take."""
    rows = []
    for kind in KINDS:
        for queries in (50, 200) if kind in ("alike", "spread") else (50,):
            for best, runs in ((1, 8), (3, 8), (1, 2)):
                played, made = Played(), 0
                while made < families:
                    shape = min(500, families - made), runs, queries
                    number = [seed, KINDS.index(kind), queries, best, runs, made]
                    played.add(made_up(kind, shape, number), best)
                    made += shape[0]
                name = "order of two" if runs == 2 else f"top {best}"
                name = "best" if (best, runs) == (1, 8) else name
                rows.append([kind, str(runs), str(queries), name, *played.row()])
        report.say(f"{kind}: done")
    report.table("Made-up collections", COLUMNS, rows)


@reported
@data_option
@click.option("--families", default=10_000, show_default=True, help="Replays of each.")
@click.option("--seed", default=0, show_default=True)
def main(report: Report, data: Path, families: int, seed: int) -> None:
    """Look after each judgment."""
    for part in (answers, votes, simulated, public):
        part(report, data, families, seed)


if __name__ == "__main__":
    main()
