"""Xie et al. 2020: preference judgments and measures for web image search."""

import pandas as pd

import pgcjax
from pgcjax.reporting import plots
from scripts.reproduction.chapter import Chapter
from scripts.reproduction.data import Data
from scripts.reproduction.images import GAMMA, LAMBDA, Images
from scripts.reproduction.published import Block, papers
from scripts.reproduction.verdicts import Cell

FOLDER = "xie2020"
TITLE = "Image search: Xie et al. 2020"
STUDY = "votes of the laboratory study"
_STUDY = ("kappa", "transitivity", "seconds", "time", "strength")
_OF_THE_STUDY = (
    "The study before the data set: 792 pairs judged by ten people. Neither their "
    "votes nor the kinds of its queries are public"
)
VARIANTS = [f"PMR_{variant}" for variant in "DWMN"]
# What a variant's published correlations need.
_NEEDS = {"PMR_W": "first_rank=0", "PMR_M": "split=left"}
_SWITCHES = "split=left, first_rank=0"
_WHY = {
    "PMR_W": "the later image's rank counts from 0; in equation and text from 1",
    "PMR_M": "three votes that all differ (5 pairs) go to the left image; else a tie",
}


def chapter(data: Data, images: Images | None = None) -> Chapter:
    """Compute what the public data set gives.

    Args:
        data: with the folder xie2020, or without.
        images: of the same data, so that what was scored once is scored once.
    """
    out, blocks = Chapter(TITLE), papers()["xie2020"]
    study = [cell for name in _STUDY for cell in blocks[name].unknown(STUDY)]
    if FOLDER not in data:
        elsewhere = (*_STUDY, "arithmetic")
        rest = [block for name, block in blocks.items() if name not in elsewhere]
        out.published([cell for block in rest for cell in block.absent(FOLDER)])
        out.published(study, _OF_THE_STUDY)
        return out
    images = images or Images(data)
    out.text(
        "The first three rows of two engines, Sogou and Baidu; three votes on each "
        "pair of images, and one judgment on each pair of result pages. A measure says "
        "which page is better by 1 / (1 + exp(M(Sogou) - M(Baidu))), and is correlated "
        "with what people say: -1 Sogou, 0 neither, 1 Baidu."
    )
    out.published(_dataset(blocks["dataset"], data), "The data set")
    out.published(_table_7(blocks["table-7"], images), "Variants of PMR")
    _figure_4(out, blocks["figure-4"], images)
    _figure_5(out, blocks["figure-5"], blocks["gain"], images)
    _votes(out, blocks["kappa-public"], data)
    out.published(study, _OF_THE_STUDY)
    return out


def _dataset(block: Block, data: Data) -> list[Cell]:
    wins = data.people["preference"]
    sides = [float((wins == side).sum()) for side in (1, 0, -1)]
    pairs = data.votes[["query_id", "doc_id", "other_doc_id"]].drop_duplicates()
    return [
        block.cell("queries", data.grids["query_id"].nunique()),
        block.cell(
            "Sogou wins, tie, Baidu wins", sides, why="the public file has others"
        ),
        block.cell("images", len(data.grids)),
        block.cell("image pairs", len(pairs)),
    ]


def _table_7(block: Block, images: Images) -> list[Cell]:
    cells = []
    for row, of in (("Pearson r", images.pearson), ("Spearman r", images.spearman)):
        ours = [of(images.xie[variant]) for variant in VARIANTS]
        for cell, variant in zip(block.each(row, ours), VARIANTS, strict=True):
            if variant in _NEEDS:
                right = [of(images.ours[variant])]
                cell = cell.needing(_NEEDS[variant], right, _WHY[variant])
            cells.append(cell)
    return cells


def _figure_4(out: Chapter, block: Block, images: Images) -> None:
    table = images.mixed
    by = table.pivot(index="λ", columns="variant", values="Pearson r")[VARIANTS]
    best = table.sort_values("Pearson r").iloc[-1]
    inside, alone = by.loc[0.1:0.9], by.loc[[0.0, 1.0]]
    above = inside.min().min() > alone.max().max()
    nearby = (by["PMR_N"] >= by.max(axis=1)).all()
    claims = {
        "λ of the best mix": best["λ"],
        "the best mix is with PMR_N": best["variant"] == "PMR_N",
        "at each λ, PMR_N is the best variant": nearby,
        "each variant, mixed with WR, is above WR and PMR alone": above,
    }
    out.picture(
        "xie-figure-4",
        plots.lines(table, "λ", "Pearson r", "variant"),
        f"Xie et al. 2020, Figure 4, by pgcjax: λ PMR + (1 - λ) WR; {_SWITCHES}.",
    )
    out.table(by.reset_index(), "Pearson r of λ PMR + (1 - λ) WR")
    out.published([block.cell(row, float(x)) for row, x in claims.items()])


def _figure_5(out: Chapter, block: Block, gain: Block, images: Images) -> None:
    names = ["NDCG@10", "NDCG@15", "RBP (.99)", "RBP (.8)"]
    graded = {name: images.graded[name] for name in names}
    scored = {**images.xie, **graded}
    both = {"Pearson r": images.pearson, "Spearman r": images.spearman}
    rows = []
    for name, scores in scored.items():
        plain = images.ours.get(name, scores)
        row = {r: of(scores) for r, of in both.items()}
        row |= {f"{r}, no switch": of(plain) for r, of in both.items()}
        rows.append({"measure": name} | row)
    table = pd.DataFrame(rows).set_index("measure")
    r = table["Pearson r"]
    penalised = images.penalised
    by = penalised.pivot(index="γ", columns="measure", values="Pearson r")
    relevance = r[names]
    best = penalised.dropna().sort_values("Pearson r").iloc[-1]
    claims = {
        "γ of the best PWP": best["γ"],
        "PWP is above NDCG and RBP": r["PWP"] > relevance.max(),
        "PWP is above PB at each γ": (by["PWP"] > by["PB"])[by["PB"].notna()].all(),
        "of PWP, the smaller γ the better": by["PWP"].is_monotonic_decreasing,
        "of PB, the smaller γ the better": by["PB"].dropna().is_monotonic_decreasing,
    }
    curves = penalised.rename(columns={"measure": "by"})
    flat = [(name, x, relevance[name]) for name in names for x in by.index]
    levels = pd.DataFrame(flat, columns=["by", "γ", "Pearson r"])
    out.picture(
        "xie-figure-5",
        plots.lines(pd.concat([curves, levels]), "γ", "Pearson r", "by"),
        f"Xie et al. 2020, Figure 5, by pgcjax; {_SWITCHES}. PB of γ = 1 is the same "
        "everywhere.",
    )
    out.table(
        table.reset_index(),
        f"Correlation with what people prefer; PWP: λ = {LAMBDA}, γ = {GAMMA}; with "
        f"{_SWITCHES}, and without",
    )
    out.published([block.cell(row, float(x)) for row, x in claims.items()])
    out.published(_gain(gain, r, relevance))


def _gain(block: Block, r: pd.Series, relevance: pd.Series) -> list[Cell]:
    top = str(relevance.idxmax())
    over = {name: 100 * (r["PWP"] / relevance[name] - 1) for name in relevance.index}
    return [
        block.cell(
            "PWP is over 23 % above the best relevance metric",
            float(over[top] > 23),
            why=f"{over[top]:.1f} %: {r['PWP']:.4f}, and {relevance[top]:.4f} of {top}",
        ),
        block.cell(
            "the best relevance metric is NDCG@15",
            float(top == "NDCG@15"),
            why=f"it is {top}; NDCG@15 has {relevance['NDCG@15']:.4f}, and PWP is "
            f"{over['NDCG@15']:.1f} % above it",
        ),
    ]


def _votes(out: Chapter, block: Block, data: Data) -> None:
    kappa = {
        name: pgcjax.judgments.judge_agreement(
            data.votes, grouping=name, sides="given"
        ).kappa
        for name in ("sign", "all")
    }
    (row,) = block.rows
    why = (
        "the public votes do not give it: as Fleiss defines it, three options have "
        f"{kappa['sign']:.3f}, all five {kappa['all']:.3f}"
    )
    out.published([block.cell(row, kappa["sign"], why=why)], "Agreement of judges")
    found = pgcjax.judgments.transitivity(data.votes)
    found = found.drop(columns="judge")
    out.table(found, "Transitivity of the majority, as Table 3, of the public votes")
