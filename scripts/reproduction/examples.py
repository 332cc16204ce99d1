"""The papers' worked examples: small inputs, typed in as the papers draw them."""

from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal
from itertools import permutations
from math import floor, log2
from typing import Any

import pandas as pd

import pgcjax
from pgcjax.reference.pgc import greedy_ideal
from pgcjax.reference.rbo import rbo
from scripts.reproduction.chapter import Chapter
from scripts.reproduction.published import Block, papers
from scripts.reproduction.verdicts import EXACT, ROUNDED, Cell, verdict

RANKING, IDEAL_1, IDEAL_2 = list("BAHDGCF"), list("AHBCDGF"), list("HABCDFG")
GRADES = {"B": 3, "A": 4, "H": 4, "D": 2, "G": 1, "C": 2, "F": 1}
EDGES = [
    ("H", "B"),
    ("A", "B"),
    ("A", "F"),
    ("A", "G"),
    ("B", "C"),
    ("C", "B"),
    ("B", "D"),
]
SHOWN = list("BAxDGyz")  # Figure 3.5
GRID = ["CByF", "AxDz"]  # Figure 5.4, a text for each row
P, DEPTH = 0.95, 7
_DEPTHS = range(1, DEPTH + 1)


def chapter() -> Chapter:
    """Compute every worked example."""
    luo, sakai = papers()["luo2021"], papers()["sakai2012"]
    out = Chapter("Worked examples")
    out.text(
        "Inputs are those that the papers draw. Where a paper adds up rounded terms, "
        "or cuts digits off, the last digits differ."
    )
    out.published(
        [
            *_ndcg(luo["example-ndcg"], luo["example-dcg-terms"]),
            *_rbo(luo["example-rbo-1"], IDEAL_1, "RBO, ideal 1", P),
            *_rbo_2(luo["example-rbo-2"]),
            *_fas(luo["example-fas"]),
            *_pgc(luo["example-pgc"]),
            *_image(luo["example-image"]),
            *_figure_1(sakai["figure-1"]),
        ]
    )
    return out


def score(measure: str, ranking: Any, **judgments: Any) -> float:
    """Score one list, or a grid, of one query."""
    run = ranking
    if isinstance(ranking, list):
        run = {"q": {doc: -float(i) for i, doc in enumerate(ranking)}}
    table = pgcjax.evaluate(run, measures=measure, **judgments).table
    return float(table["value"].item())


def preferences() -> pd.DataFrame:
    """Give the graph of Figure 3.2 as judgments."""
    winner, loser = zip(*EDGES, strict=True)
    return pd.DataFrame({"query_id": "q", "winner": winner, "loser": loser})


def _ndcg(block: Block, terms: Block) -> list[Cell]:
    qrels = {"q": GRADES}

    def gained(row: str, ranking: list[str]) -> Cell:
        ours = _steps([score(f"DCG@{k}", ranking, qrels=qrels) for k in _DEPTHS])
        # Whether the logarithms as printed give the terms as printed.
        logs = [round(log2(i + 1), 3) for i in _DEPTHS]
        shown = [GRADES[d] / log for d, log in zip(ranking, logs, strict=True)]
        why = "the logarithms have 3 decimals there: 2 / 2.807 = 0.7125"
        return terms.cell(row, ours, **_by_hand(terms.rows[row], ours, shown, why))

    return [
        block.cell("DCG", score(f"DCG@{DEPTH}", RANKING, qrels=qrels)),
        block.cell("ideal DCG", score(f"DCG@{DEPTH}", IDEAL_1, qrels=qrels)),
        block.cell("nDCG", score(f"nDCG@{DEPTH}", RANKING, qrels=qrels)),
        gained("ranking", RANKING),
        gained("ideal ranking", IDEAL_1),
    ]


def _steps(sums: Sequence[float]) -> list[float]:
    """Give the terms of sums; to 12 digits, so that no term is 1e-17 for 0."""
    return [round(b - a, 12) for a, b in zip([0.0, *sums], sums, strict=False)]


def _by_hand(
    printed: Sequence[str], ours: Sequence[float], shown: Sequence[float], why: str
) -> dict[str, str]:
    """Explain a difference, if the rounded terms that a paper shows lead to it."""

    def same(numbers: Sequence[float]) -> bool:
        return all(map(EXACT.__eq__, map(verdict, printed, numbers)))

    return {} if same(ours) or not same(shown) else {"sure": ROUNDED, "why": why}


def overlap(ideal: list[str], p: float) -> float:
    """Compute RBO with a strict order, 1 - p times the sum: PGC of a graph of it."""
    grades = {"q": {doc: len(ideal) - i for i, doc in enumerate(ideal)}}
    how = f"p={p},depth={DEPTH},graph=derived,normalization=one-minus-p"
    return score(f"PGC({how})", RANKING, qrels=grades)


def _agreements(ideal: list[str]) -> list[float]:
    p = 0.5  # any: it cancels out
    sums = [rbo(RANKING, ideal, p, d, "one-minus-p") / (1 - p) for d in _DEPTHS]
    terms = _steps(sums)
    return [term / p ** (d - 1) for d, term in zip(_DEPTHS, terms, strict=True)]


def _rbo(block: Block, ideal: list[str], row: str, p: float) -> list[Cell]:
    agreements, value = _agreements(ideal), overlap(ideal, p)
    powers = [Decimal(str(p)) ** (d - 1) for d in _DEPTHS]  # .9025 is .903, half up
    weights = [x.quantize(Decimal("0.001"), ROUND_HALF_UP) for x in powers]
    shown = sum(a * float(w) for a, w in zip(agreements, weights, strict=True))
    why = f"p^(d-1) has 3 decimals there: {shown:.5f}"
    total = value / (1 - p)
    return [
        block.cell("agreement by depth", agreements),
        block.cell("sum", total, **_by_hand(block.rows["sum"], [total], [shown], why)),
        block.cell(row, value),
    ]


def _rbo_2(block: Block) -> list[Cell]:
    wrong, right = 0.80, overlap(IDEAL_2, P)
    value = overlap(IDEAL_2, wrong)
    how = {"switch": f"p={wrong:.2f}", "why": f"a misprint: the text says p = {P}"}
    return [
        block.cell("agreement by depth", _agreements(IDEAL_2)),
        block.cell("sum", value / (1 - wrong), right=[right / (1 - P)], **how),
        block.cell("RBO, ideal 2", value, right=[right], **how),
    ]


def _fas(block: Block) -> list[Cell]:
    vertices = sorted({vertex for edge in EDGES for vertex in edge})
    # A run of all vertices decides every tie of the peel: all choices are seen.
    found = {tuple(greedy_ideal(EDGES, list(run))) for run in permutations(vertices)}
    backward = {
        sum(order.index(a) > order.index(b) for a, b in EDGES) for order in found
    }
    return [
        block.cell("vertex sequences", len(found)),
        block.cell(
            "backward arcs of each", max(backward) if len(backward) == 1 else -1
        ),
    ]


def _pgc(block: Block) -> list[Cell]:
    measure = f"PGC(p={P},depth={DEPTH},normalization=one-minus-p)"
    value = score(measure, SHOWN, preferences=preferences())
    total = value / (1 - P)
    cut = floor(total * 1000) / 1000
    why = _by_hand(block.rows["sum"], [total], [cut], "cut off after three decimals")
    return [block.cell("sum", total, **why), block.cell("PGC", value)]


def _image(block: Block) -> list[Cell]:
    rows = [
        ("q", "engine", image, r, c)
        for r, images in enumerate(GRID)
        for c, image in enumerate(images)
    ]
    grid = pd.DataFrame(rows, columns=["query_id", "run_id", "doc_id", "row", "column"])
    how = f"p={P},depth={DEPTH},order=euclidean,normalization=one-minus-p"
    value = score(f"ImagePGC({how})", grid, preferences=preferences())
    return [block.cell("sum", value / (1 - P)), block.cell("image PGC", value)]


def _figure_1(block: Block) -> list[Cell]:
    served = [("d1", "i", 1), ("d2", "i", 3), ("d2", "j", 1), ("d4", "j", 3)]
    served += [("d5", "i", 1)]
    qrels = pd.DataFrame(served, columns=["doc_id", "intent_id", "relevance"])
    kinds = {"intent_id": ["i", "j"], "kind": ["inf", "nav"], "probability": 0.5}
    ours = score(
        "EfP@5",
        [f"d{i}" for i in range(1, 6)],
        intent_qrels=qrels.assign(query_id="q"),
        intents=pd.DataFrame(kinds).assign(query_id="q"),
    )
    return [block.cell("EfP", ours, why="a misprint: the text says 3/5 = 0.8")]
