"""Ranks of systems by few votes of people and many of a model: do they hold together?

`python -m benchmarks.studies.win_rates` prints the table of docs/how-sure-evidence.md.
Votes are made up, so that win rates are known: people's by Bradley and Terry, an eighth
of them ties; a model says the same in half of the comparisons, and in the others votes
by its strengths, which are off. Beside `pgcjax.judgments.rank_sets` (`windows`), from
the same estimates:

- ellipsoid: two systems differ if the plane on which they are equal does not meet the
  95 % ellipsoid, by χ² of as many degrees of freedom as systems [Chatzi et al. 2024];
- published: the same with the covariance of their code of 2024 (estimate.py), residuals
  over all comparisons where the estimate's are over those of the system;
- one step: all differences together, without windows.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import click
import numpy as np
import pandas as pd
from scipy.special import expit
from scipy.stats import chi2

from benchmarks.studies.calibration import random_of
from benchmarks.studies.commands import Part, study
from benchmarks.studies.families import _held
from pgcjax.engine import win_rates
from pgcjax.engine.win_rates import SystemVotes, WinRates
from pgcjax.errors import DataError
from pgcjax.judging import rank_ranges

ALPHA, TIES, SAME, OFF = 0.05, 0.125, 0.5, 0.4
NODES = np.polynomial.hermite_e.hermegauss(40)


@dataclass(frozen=True)
class Design:
    """Votes of one kind.

    Attributes:
        name: in words.
        systems: how many.
        people: comparisons that people judge.
        model: comparisons that the model alone judges.
        spread: standard deviation of strengths, in log-odds.
        groups: of systems with equal strengths; 0: none are equal.
        shown: comparisons of a query.
        varies: standard deviation of a system's strength over queries.
        uneven: whether some systems are compared more often than others.
        times: how often more draws are made.
    """

    name: str
    systems: int
    people: int
    model: int
    spread: float = 0.8
    groups: int = 0
    shown: int = 1
    varies: float = 0.0
    uneven: bool = False
    times: int = 1


ARENA = 12, 1000, 13_947  # systems, and comparisons by people and by the model
DESIGNS = (
    Design("12 systems, 1,000 + 13,947", *ARENA),
    Design("the same, 4 groups of equals", *ARENA, groups=4),
    Design("the same, all equal", *ARENA, groups=1, times=4),
    Design("12 systems, 250 + 14,697", 12, 250, 14_697),
    Design("12 systems, 150 + 14,797", 12, 150, 14_797),
    Design("12 systems, 4,000 + 10,947", 12, 4000, 10_947),
    Design("8 systems, 1,000 + 49,000", 8, 1000, 49_000),
    Design("30 systems, uneven, 3,000 + 30,000", 30, 3000, 30_000, uneven=True),
    Design("12 systems, 60 + 600 queries of 16", 12, 960, 9600, shown=16, varies=0.7),
)


def drawn(
    design: Design, random: np.random.Generator
) -> tuple[SystemVotes, np.ndarray]:
    """Draw votes, and compute the true win rates."""
    k, n = design.systems, design.people + design.model
    strength = design.spread * random.standard_normal(k)
    if design.groups:
        strength = strength[np.arange(k) * design.groups // k]
    often = random.dirichlet(np.full(k, 4.0)) if design.uneven else np.full(k, 1 / k)
    pairs = np.array(np.triu_indices(k, 1))
    chance = often[pairs].prod(0)
    chance /= chance.sum()
    first, second = pairs[:, random.choice(len(chance), n, p=chance)]
    query = np.arange(n) // design.shown
    moved = design.varies * random.standard_normal((int(query[-1]) + 1, k))
    at = strength + moved
    apart = at[query, first] - at[query, second]
    people = np.where(random.random(n) < expit(apart), 1.0, 0.0)
    people = np.where(random.random(n) < TIES, 0.5, people)
    off = OFF * random.standard_normal(k)
    by_model = apart + off[first] - off[second]
    model = np.where(random.random(n) < expit(by_model), 1.0, 0.0)
    model = np.where(random.random(n) < SAME, people, model)
    judged = np.arange(n) < design.people
    sides = np.r_[first, second]
    names = [f"s{i:02}" for i in range(k)]
    both = (np.r_[x, 1 - x] for x in (people, model))
    return SystemVotes(names, sides, query, judged, *both), rates(
        design, strength, pairs, chance
    )


def rates(
    design: Design, strength: np.ndarray, pairs: np.ndarray, chance: np.ndarray
) -> np.ndarray:
    """Compute true win rates, a tie being half, over what differs by query."""
    k, (first, second) = design.systems, pairs
    nodes, weights = NODES
    apart = (strength[first] - strength[second])[:, None]
    won = expit(apart + 2**0.5 * design.varies * nodes) @ (weights / weights.sum())
    won = (1 - TIES) * won + TIES / 2
    sides = np.r_[first, second]
    share = np.bincount(sides, np.tile(chance, 2) * np.r_[won, 1 - won], k)
    # Equal strengths are equal win rates, where rounding would tell them apart.
    return np.round(share / np.bincount(sides, np.tile(chance, 2), k), 12)


def ellipsoid(found: WinRates, scale: np.ndarray | float = 1.0) -> np.ndarray:
    """Find which systems differ, by their ellipsoid."""
    covariance = found.covariance * scale
    variance = covariance.diagonal()
    square = variance[:, None] + variance - 2 * covariance
    bound = chi2.isf(ALPHA, len(variance)) * np.maximum(square, 0)
    apart = (found.mean[:, None] - found.mean) ** 2 > bound
    return apart & ~np.eye(len(variance), dtype=bool)


def tried(design: Design, families: int) -> list[dict[str, Any]]:
    """Compute the ranks that systems of families may have, by each procedure."""
    rows: dict[str, list[dict[str, float]]] = {}
    refused = 0
    families *= design.times
    for i in range(families):
        votes, truth = drawn(design, random_of(design.name, i))
        try:
            win_rates.check_sample(votes)
        except DataError as error:
            refused += "no random share" in str(error)
        found = win_rates.estimate(votes)
        share = np.bincount(votes.side, minlength=design.systems) / len(votes.query)
        for name, apart in {
            "published": ellipsoid(found, np.outer(share, share)),
            "ellipsoid": ellipsoid(found),
            "one step": one_step(found, i),
            "windows": win_rates.significant_pairs(found, ALPHA, 2000, i),
        }.items():
            placed = rank_ranges.places(apart, found.mean)
            rows.setdefault(name, []).append(_held(truth, placed.low, placed.high))
            rows[name][-1]["lambda"] = found.power
    of = asdict(design) | {"families": families, "refused": refused}
    return [
        {**of, "by": name}
        | {key: round(float(np.mean([x[key] for x in each])), 4) for key in each[0]}
        for name, each in rows.items()
    ]


def one_step(found: WinRates, seed: int) -> np.ndarray:
    """Find which systems differ if all differences are tested at once."""
    linked = np.zeros(len(found.mean), int)
    given = found.mean, found.covariance, linked, found.freedom
    return rank_ranges.significant_pairs(*given, draws=2000, seed=seed)


def tables(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Make the table of docs/how-sure-evidence.md: joint coverage (%), and widths."""
    frame = pd.DataFrame(rows)
    names = list(frame["by"].unique())
    yield "| votes | " + " | ".join(names) + " | narrower by |"
    yield "|---" * (len(names) + 2) + "|"
    for name in (design.name for design in DESIGNS):
        by = frame[frame["name"] == name].set_index("by")
        cells = [
            f"{100 * by['ranks_hold'][n]:.1f}, {by['width'][n]:.2f}" for n in names
        ]
        less = 100 * (1 - by["width"]["windows"] / by["width"]["ellipsoid"])
        yield f"| {name} | {' | '.join(cells)} | {less:.0f} % |"


@study(lambda found: tables(found["ranks"]), resume=True)
@click.option("--families", type=int, default=300, show_default=True, help="A row.")
def main(families: int) -> Iterator[Part]:
    """Draw votes on systems, and count whose ranks hold: coverage, and widths.

    A file of -o that is there already is gone on with.
    """
    for design in DESIGNS:
        yield "ranks", asdict(design), partial(tried, design, families)


if __name__ == "__main__":
    main()
