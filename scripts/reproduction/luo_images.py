"""Luo 2021, chapter 5: image grids, from the data set of Xie et al."""

from collections.abc import Sequence
from functools import partial

import pandas as pd

from pgcjax.reporting import canvas, plots
from pgcjax.stats.agreement import Agreement, agree
from scripts.reproduction.chapter import Chapter
from scripts.reproduction.data import Data
from scripts.reproduction.images import ENGINES, GAMMA, Images
from scripts.reproduction.published import Block, papers
from scripts.reproduction.verdicts import Cell

FOLDER = "xie2020"
TITLE = "Image search: Luo 2021, chapter 5"
PANELS = {
    "a": ("default", "left-right and top-bottom"),
    "b": ("weight-as-distance", "weighted default"),
    "c": ("middle", "middle position bias"),
    "d": ("reverse", "bottom-top and right-left"),
    "e": ("manhattan", "Manhattan distance"),
    "f": ("euclidean", "Euclidean distance"),
}
"""Of Figures 5.8 and 5.9: the order that the numbers follow, and its printed name."""

RIGHT = {"weight-as-distance": "weighted"}
"""What an order with a bug was meant to be."""

MEASURES = {"a": "WR", "b": "PB", "c": "PMR_N", "d": "PWP"}
"""Of Figures 5.6 and 5.7."""

_CLOSE_TO_0 = 0.01
_DROPPED = "drop_decimal, ideal=shared"
_TEXT = 'sort="text"'
Scored = dict[str, pd.DataFrame]


def chapter(data: Data, images: Images | None = None) -> Chapter:
    """Compute Table 5.1 and Figures 5.6 to 5.11.

    Args:
        data: with the folder xie2020, or without.
        images: of the same data, so that what was scored once is scored once.
    """
    out, luo = Chapter(TITLE), papers()["luo2021"]
    blocks = {n: b for n, b in luo.items() if n == "images" or n.startswith("fig-5-")}
    if FOLDER not in data:
        out.published([cell for b in blocks.values() for cell in b.absent(FOLDER)])
        return out
    images = images or Images(data)
    out.text(
        "Rows of a table: which engine a measure prefers; columns: what people prefer, "
        "Sogou, Baidu or neither. χ² is Pearson's, of the four cells without ties and "
        "without Yates' correction. The binomial p is one-sided, by the normal "
        "approximation with continuity correction (side_p_normal); the exact one "
        "stands beside it."
    )
    out.published(_facts(blocks["images"], data), "The data set")
    _measures(out, blocks, images)
    _orders(out, blocks, images)
    _graded(out, blocks, images)
    return out


def _facts(block: Block, data: Data) -> list[Cell]:
    grids, votes, grades = data.grids, data.votes, data.image_grades
    pairs = votes[["query_id", "doc_id", "other_doc_id"]].drop_duplicates()
    judged = pd.concat([votes["doc_id"], votes["other_doc_id"]]).nunique()
    said, sizes = (
        data.people["preference"],
        grids.groupby(["query_id", "run_id"]).size(),
    )
    ours = {
        "image pairs: queries, images, pairs": [
            votes["query_id"].nunique(),
            judged,
            len(pairs),
        ],
        "relevance: queries, images": [grades["query_id"].nunique(), len(grades)],
        "SERP preferences: queries": [len(said)],
        "SERP preferences: Sogou, tie, Baidu": [(said == s).sum() for s in (1, 0, -1)],
        "images of a query and engine: least, most": [sizes.min(), sizes.max()],
    }
    why = dict.fromkeys(list(ours)[-2:], "the public files have others")
    return [block.cell(row, ours[row], why=why.get(row, "")) for row in block.rows]


def contingency(
    block: Block, name: str, found: Agreement, right: Agreement, needs: str = ""
) -> list[Cell]:
    """Put a table of agreement, and its tests, beside the printed ones.

    Args:
        block: as printed.
        name: of the measure in `found` and `right`.
        found: with the switches that the printed numbers need.
        right: without.
        needs: these switches; none if both are the same.
    """
    ours, plain = _rows(found, name), _rows(right, name)
    exact = float(right.table.set_index("measure")["side_p_exact"][name])
    # A table that is right anyhow needs no switch.
    needs = needs if any(ours[row] != plain[row] for row in block.rows) else ""
    cells = []
    for row in block.rows:
        more = {"switch": needs, "right": plain[row]} if needs else {}
        if row == "binomial p":
            switch = ", ".join(filter(None, (needs, "side_p_normal")))
            floor = float(block.rows[row][0]) > 2 * ours[row][0]
            why = "a floor, it seems: six decimals would be 0" if floor else ""
            more = {"switch": switch, "right": [exact], "why": why}
        cells.append(block.cell(row, ours[row], **more))
    return cells


def _rows(found: Agreement, name: str) -> dict[str, list[float]]:
    table = found.contingency[name]
    tests = found.table.set_index("measure").to_dict("index")[name]
    baidu, decided = table[1, :2].sum(), table[:2, :2].sum()
    return {
        "Sogou better": table[0].tolist(),
        "Baidu better": table[1].tolist(),
        "tie": table[2].tolist(),
        "χ²": [float(tests["chi2"])],
        "p of χ²": [float(tests["chi2_p"])],
        "binomial p": [float(tests["side_p_normal"])],
        "share of Baidu better (text)": [float(baidu / decided)],
    }


def duels(scores: Scored, titles: dict[str, str]):
    """Draw engines against each other, a panel for each measure.

    Args:
        scores: by measure.
        titles: of the panels, by measure.
    """
    draw = {
        title: partial(plots.duel, scores[name], *ENGINES)
        for name, title in titles.items()
    }
    return canvas.grid(draw)


def _measures(out: Chapter, blocks: dict[str, Block], images: Images) -> None:
    found = agree(images.ours, images.data.people, list(MEASURES.values()))
    cells = []
    for panel, name in MEASURES.items():
        cells += contingency(blocks[f"fig-5-6-{panel}"], name, found, found)
    tests = found.table.set_index("measure")
    ours = [tests["chi2"]["PMR_N"], tests["agree"].idxmax() == "PWP"]
    cells += _said(blocks["fig-5-6-text"], ours)
    out.published(cells, "Measures of Xie et al.")
    tau = {name: images.tau(images.ours[name]) for name in MEASURES.values()}
    block, penalties = blocks["fig-5-7"], images.ours["PB"]["value"]
    penalties = penalties.round(12)  # the last digit of a power differs by processor
    near = (penalties <= _CLOSE_TO_0) | penalties.isin([1, GAMMA])
    ours = [near.all(), min(tau, key=tau.__getitem__) == "WR"]
    cells = [block.cell(f"τ of {name}", x) for name, x in tau.items()]
    out.published([*cells, *_said(blocks["fig-5-7-text"], ours)])
    titles = {name: f"({panel}) {name}" for panel, name in MEASURES.items()}
    out.picture(
        "luo-figure-5-7",
        duels(images.ours, titles),
        "Luo 2021, Figure 5.7, by pgcjax. A point is a query.",
    )


def _said(block: Block, ours: Sequence[float]) -> list[Cell]:
    """Put ours beside what the text says, row by row."""
    return [block.cell(r, float(x)) for r, x in zip(block.rows, ours, strict=True)]


def image_pgc(
    images: Images,
    *,
    dropped: bool = False,
    shared: bool = False,
    swapped: bool = False,
) -> Scored:
    """Score grids by image PGC in each order, by name.

    Args:
        images: the data.
        dropped: without the votes written `1.0`.
        shared: one ideal ranking for both engines.
        swapped: where images are as far, Sogou's go before Baidu's, not after.
    """
    grids, orders = images.data.grids, [*(o for o, _ in PANELS.values()), "weighted"]
    ideal = "shared" if shared else "own"
    votes = images.data.votes_without_decimals if dropped else images.data.votes
    if swapped:
        grids = grids.assign(run_id=grids["run_id"].replace("baidu", "x baidu"))
    measures = {
        o: f"ImagePGC(p=0.95,depth=1000,order={o},ideal={ideal})" for o in orders
    }
    return {
        order: table.assign(run_id=table["run_id"].str.removeprefix("x "))
        for order, table in images.scores(measures, votes, grids).items()
    }


def _orders(out: Chapter, blocks: dict[str, Block], images: Images) -> None:
    published, right = image_pgc(images, dropped=True, shared=True), image_pgc(images)
    meant = {order: right[RIGHT.get(order, order)] for order, _ in PANELS.values()}
    orders, people = list(meant), images.data.people
    found, beside = agree(published, people, orders), agree(meant, people, orders)
    cells = []
    for panel, (order, _) in PANELS.items():
        block = blocks[f"fig-5-8-{panel}"]
        cells += contingency(block, order, found, beside, _needs(order))
    cells += _agreements(blocks["fig-5-8-text"], found, beside)
    dropped = len(images.data.votes) - len(images.data.votes_without_decimals)
    out.text(
        f"Luo's numbers leave out {dropped} votes that the file writes 1.0 for 1, and "
        "give both engines one ideal ranking, where Algorithm 5 has one for each. In "
        "(b) a weight, which is high where people look first, is used as a distance: "
        "the order is that of (d). Each has a switch, and what stands under 'without' "
        "has none."
    )
    out.published(cells, "Greedy PGC for images, by order of examination")
    out.published(_taus(blocks["fig-5-9"], images, published, meant))
    out.table(_switches(images, published, right), "One switch at a time")
    for name, scores, by in (
        ("luo-figure-5-9", published, "with the switches"),
        ("luo-figure-5-9-right", meant, "without any switch"),
    ):
        titles = {order: f"({panel}) {text}" for panel, (order, text) in PANELS.items()}
        caption = f"Luo 2021, Figure 5.9, by pgcjax, {by}."
        out.picture(name, duels(scores, titles), caption)


def _needs(order: str) -> str:
    return f"{_DROPPED}, order={order}" if order in RIGHT else _DROPPED


def _agreements(block: Block, found: Agreement, right: Agreement) -> list[Cell]:
    ours, plain = (x.table.set_index("measure")["agree"] for x in (found, right))
    least, *claim = block.rows
    ends = [[x.min(), x.max()] for x in (ours, plain)]
    euclidean = [float(x.idxmax() == "euclidean") for x in (ours, plain)]
    return [
        block.cell(least, ends[0]).needing(_DROPPED, [*map(float, ends[1])]),
        block.cell(claim[0], euclidean[0], switch=_DROPPED, right=[euclidean[1]]),
    ]


def _taus(block: Block, images: Images, published: Scored, meant: Scored) -> list[Cell]:
    swapped = image_pgc(images, dropped=True, shared=True, swapped=True)
    cells = []
    for order, text in PANELS.values():
        other = images.tau(swapped[order])
        why = f"by chance among equally far; Baidu's first here, else {other:.4f}"
        cells.append(
            block.cell(
                f"τ, {text}",
                images.tau(published[order]),
                chance=True,
                why=why,
                switch=_needs(order),
                right=[images.tau(meant[order])],
            )
        )
    return cells


def _switches(images: Images, published: Scored, right: Scored) -> pd.DataFrame:
    """Give τ and agreements of each order under the switches, and without each."""
    ways = {
        "both": published,
        "ideal=shared": image_pgc(images, shared=True),
        "drop_decimal": image_pgc(images, dropped=True),
        "none": right,
    }
    found = {way: agree(s, images.data.people).table for way, s in ways.items()}
    agreed = {w: t.set_index("measure")["agree"] for w, t in found.items()}
    rows = []
    for order in published:
        row = {"order": order}
        row |= {f"τ, {way}": images.tau(scores[order]) for way, scores in ways.items()}
        row |= {f"agree, {way}": int(agreed[way][order]) for way in ways}
        rows.append(row)
    return pd.DataFrame(rows)


def _graded(out: Chapter, blocks: dict[str, Block], images: Images) -> None:
    graded, block = images.graded, blocks["fig-5-11"]
    panels = {"a": "NDCG@10", "b": "combined NDCG@10"}
    found = agree(graded, images.data.people, list(panels.values()))
    cells = []
    for panel, name in panels.items():
        cells += contingency(blocks[f"fig-5-10-{panel}"], name, found, found)
    out.text(
        "NDCG has no discount at ranks 1 and 2, and log2 of the rank from 3 on; gains "
        "are grades from 0 to 100. In (c) and (d) of Figure 5.11 grades are sorted as "
        "text, so that 9.0 is above 83.0."
    )
    out.published(cells, "Graded relevance")
    text, number = (images.by_sorted_grades[sort] for sort in ("text", "number"))
    best = number["best possible"]
    right = {"compatibility": graded["compatibility"], "best possible": best}
    rows = dict(zip(block.rows, [*panels.values(), *right], strict=True))
    cells = []
    for row, name in rows.items():
        if name not in right:
            cells.append(block.cell(row, images.tau(graded[name])))
            continue
        beside, why = [images.tau(right[name])], "9.0 is above 83.0 there"
        cells.append(
            block.cell(row, images.tau(text[name])).needing(_TEXT, beside, why)
        )
    out.published(cells)
    drawn = {name: graded[name] for name in panels.values()}
    titles = {name: f"({panel}) {name}" for panel, name in panels.items()}
    for panel, name in zip("cd", right, strict=True):
        for scores, how in ((text, "grades as text"), (right, "as numbers")):
            drawn[f"{name}, {how}"] = scores[name]
            titles[f"{name}, {how}"] = f"({panel}) {name},\n{how}"
    out.picture(
        "luo-figure-5-11",
        duels(drawn, titles),
        "Luo 2021, Figure 5.11, by pgcjax; (c) and (d) as published, and right.",
    )
