"""Printed numbers that follow from other printed numbers, without any data."""

from collections.abc import Sequence
from dataclasses import replace
from math import comb
from typing import Any

import numpy as np
import pandas as pd

from pgcjax.judging.agreement import compare_agreement
from pgcjax.tensors.examination import cells as measured
from scripts.reproduction.chapter import Chapter
from scripts.reproduction.published import Block, papers
from scripts.reproduction.verdicts import ROUNDED, Cell, unit, verdict

_QUERIES, _GRADED = "queries", "graded judgments"
_TABLE_3A = "table-3a"


def chapter() -> Chapter:
    """Check printed numbers against each other, paper by paper."""
    known = papers()
    out = Chapter("Numbers that follow from others in print")
    out.text(
        "What can be checked without data: sums, shares of a known number of pairs, "
        "and tests of a printed table. The numbers they follow from are taken from the "
        "papers as well: at best a paper agrees with itself."
    )
    cells = [
        *_luo(known["luo2021"]),
        *_xie(known["xie2020"]),
        *_sakai(known["sakai2012"]),
        *_carterette(known["carterette2008"]),
    ]
    out.published([replace(cell, in_print=True) for cell in cells])
    return out


def shares(printed: Sequence[str], total: int, scale: float = 1) -> list[float]:
    """Give the share of `total` that is nearest to each printed number."""
    return [scale * round(float(x) / scale * total) / total for x in printed]


def _number(block: Block, row: str) -> int:
    return int(block.rows[row][0])


def _shares(
    block: Block,
    row: str,
    printed: Sequence[str],
    total: int,
    scale: float = 1,
    **more: Any,
) -> Cell:
    """Hold numbers of a table, as a row of their own, against the nearest shares."""
    ours = shares(printed, total, scale)
    return Cell(f"{block.key}/{row}", block.where, row, printed, ours, **more)


def _luo(luo: dict[str, Block]) -> list[Cell]:
    data, edges = luo["sakai-zeng-data"], luo["sakai-zeng-edges"]
    block, cast = luo["sakai-zeng-arithmetic"], luo["cast-made"]
    judged = _number(edges, "judgments")
    real, derived = (
        _number(edges, f"edges per query, {graph}")
        for graph in ("Real", "Derived 2019")
    )
    ours = [
        judged / _number(data, _QUERIES),
        real + derived,
        100 * judged / _number(data, _GRADED),
    ]
    table, tau = luo["sakai-zeng"], luo["sakai-zeng-tau"]
    triples = data.rows["pairs of result pages, high agreement"]
    sums = [int(agree) + int(disagree) for agree, disagree, _ in table.rows.values()]
    pairs = comb(_number(data, "runs"), 2)
    made, claim = cast.rows
    share = _number(cast, made) / _number(luo["cast-edges"], _GRADED)
    return [
        *(block.cell(row, x) for row, x in zip(block.rows, ours, strict=True)),
        Cell(
            f"{table.key}/agree + disagree",
            table.where,
            "agree + disagree: least, most",
            [*triples, *triples],
            [min(sums), max(sums)],
        ),
        _shares(
            table,
            f"sensitivity, as shares of {pairs} pairs",
            [sensitivity for *_, sensitivity in table.rows.values()],
            pairs,
            100,
            why=f"53 of {pairs} is 50.48, cut off to 50.4",
        ),
        _shares(
            tau,
            f"τ, as differences of shares of {pairs} pairs",
            [printed for (printed,) in tau.rows.values()],
            pairs,
        ),
        cast.cell(made, why="14,573 were supplied"),
        cast.cell(claim, float(0.5 < share < 0.55), why=f"{100 * share:.1f} %"),
    ]


def _xie(xie: dict[str, Block]) -> list[Cell]:
    block = xie["arithmetic"]
    ((strict, weak),) = ([*map(float, row)] for row in xie["seconds"].rows.values())
    queries, images = 12, 3 * 4
    places = [("q", "s", f"{r}{c}", r, c) for r in range(3) for c in range(4)]
    names = ["query_id", "run_id", "doc_id", "row", "column"]
    reading = measured(pd.DataFrame(places, columns=names)).index
    ours = [
        queries * images,
        queries * comb(images, 2),
        100 * (strict - weak) / strict,
        reading[names.index("row") + 2] + 1,
    ]
    return [block.cell(row, float(x)) for row, x in zip(block.rows, ours, strict=True)]


def _sakai(sakai: dict[str, Block]) -> list[Cell]:
    block, runs = sakai["arithmetic"], _number(sakai["sample"], *sakai["sample"].rows)
    topics = int(sakai["collection"].rows["topics with a navigational intent"][0])
    pairs = comb(runs, 2)
    sets = {
        (a, b): [*map(int, counts.split("/"))]
        for a, row in sakai["table-4"].rows.items()
        for b, counts in zip(sakai["table-4"].columns, row, strict=True)
        if counts
    }
    only_a, both, only_b = sets["I-rec", "P+Q#"]
    ours = [
        [pairs],
        [topics * pairs],
        [1 - 0.95**pairs > 0.9999],
        [100 * 100 / pairs],
        [100 * (only_a + both) / pairs, 100 * (both + only_b) / pairs],
    ]
    cells = [
        block.cell(row, [*map(float, x)])
        for row, x in zip(block.rows, ours, strict=True)
    ]
    for name in ("table-2a", "table-2b", "table-3a", "table-3b"):
        powers = [power for power, _ in sakai[name].rows.values()]
        row = f"power, as shares of {pairs} pairs"
        cells.append(_shares(sakai[name], row, powers, pairs, 100))
    cells += _of_table_4(sakai, sets, pairs)
    cells.append(_orders(sakai["orders"], sakai["table-5"], pairs))
    cells += [_of_table_6(sakai[f"table-6{part}"]) for part in "abc"]
    return cells


def _of_table_4(
    sakai: dict[str, Block], sets: dict[tuple[str, str], list[int]], pairs: int
) -> list[Cell]:
    """Add up the sets of Table 4: each measure has as many pairs as in Table 3 (a)."""
    table, powers = sakai["table-4"], sakai[_TABLE_3A].rows
    cells = []
    for measure in ("I-rec", *table.columns):
        sums = {x[0] + x[1] for (a, _), x in sets.items() if a == measure}
        sums |= {x[1] + x[2] for (_, b), x in sets.items() if b == measure}
        printed = powers[measure][0]
        cells.append(
            Cell(
                f"{table.key}/{measure}, added up",
                table.where,
                f"{measure}, added up: power of Table 3 (a), %",
                [printed] * len(sums),
                [100 * x / pairs for x in sorted(sums)],
            )
        )
    return cells


def _orders(block: Block, table: Block, pairs: int) -> Cell:
    """Ask whether two orders can be one, if a third is as far from each as printed.

    τ is 1 - 2 d / pairs, and the distance d of two orders, the pairs that they swap, is
    at least the difference of their distances from a third.
    """
    (row,) = block.rows
    to_third = {
        name: float(table.rows["D#-nDCG"][table.columns.index(name)].split("/")[0])
        for name in ("DIN#-nDCG", "P+Q#")
    }
    swaps = [round((1 - tau) * pairs / 2) for tau in to_third.values()]
    most = 1 - 2 * abs(swaps[0] - swaps[1]) / pairs
    first, second = to_third.values()
    return block.cell(
        row,
        float(most == 1),
        why=f"their τ with D#-nDCG are {first} and {second}: then the τ of the two is "
        f"{most:.2f} at most, not 1",
    )


def _of_table_6(block: Block) -> Cell:
    """Each share is one of so many disagreements."""
    printed, ours = [], []
    for row in block.rows.values():
        for text in filter(None, row):
            both, _, count = text.rstrip(")").partition(" (")
            printed += both.split("/")
            ours += shares(both.split("/"), int(count))
    row = "shares, of so many disagreements"
    cut = [
        f"{p} is {x:.4f}, cut off"
        for p, x in zip(printed, ours, strict=True)
        if verdict(p, x) == ROUNDED
    ]
    why = "; ".join(cut)
    return Cell(f"{block.key}/{row}", block.where, row, printed, ours, why=why)


def _carterette(paper: dict[str, Block]) -> list[Cell]:
    block = paper["arithmetic"]
    labels, test, documents = block.rows
    totals = np.array([float(row[-1]) for row in paper["absolute"].rows.values()])
    return [
        block.cell(labels, (100 * totals / totals.sum()).tolist()),
        _chi2(block, test, paper["preferences"], paper["inferred"]),
        block.cell(documents, comb(15, 2)),
    ]


def _chi2(block: Block, row: str, first: Block, second: Block) -> Cell:
    """Test two printed tables, whose shares have three decimals."""

    def tested(shift: float) -> float:
        # compare_agreement counts two votes once, the paper from both sides: twice.
        tables = [2 * _agreed(first, shift), 2 * _agreed(second, -shift)]
        return compare_agreement(*tables)[0]

    half = unit(first.rows["A<B"][0]) / 2
    low, ours, high = (tested(shift) for shift in (-half, 0, half))
    printed = float(block.rows[row][0])
    more = {"sure": ROUNDED} if low <= printed <= high else {}
    return block.cell(
        row,
        ours,
        switch="two votes counted from both sides",
        right=[ours / 2],
        why=f"the tables have 3 decimals: from {low:.1f} to {high:.1f}",
        **more,
    )


def _agreed(block: Block, shift: float) -> np.ndarray:
    """Count votes that agree, and that do not, as a table for `compare_agreement`."""
    rows = [[*map(float, row)] for row in block.rows.values()]
    totals = np.array([row[-1] for row in rows])
    agreed = sum((row[i] + shift) * row[-1] for i, row in enumerate(rows))
    return np.array([[agreed, totals.sum() - agreed], [0, 0]])
