"""Effect of judges on the order of runs, as a section of a page about scores."""

from collections.abc import Mapping
from typing import Any

from pgcjax.reporting.page import Part, first_rows
from pgcjax.stats.judge_orders import JudgeOrders

TITLE = "Judges against each other"
SHOWN = 20
"""Most rows of a table in a page."""


def parts(compared: JudgeOrders, settings: Mapping[str, Any]) -> list[Part]:
    """Make paragraphs and tables about the orders of runs by judges.

    Args:
        compared: Scores by each judge.
        settings: alpha, and the seed of the intervals.
    """
    alpha, seed = settings["alpha"], settings["seed"]
    orders = compared.orders(alpha=alpha, seed=seed)
    level = f"{100 * (1 - alpha):g} % intervals by queries drawn again 1,000 times"
    level += ", of tau from 50 queries on"
    by = f"{compared.metadata['measure']}, flips {compared.metadata['flips']}"
    tables = [(f"Orders of the runs by two judges ({by}); {level}", orders)]
    if compared.flipped:
        caption = "By what becomes of pairs judged in both orders (flips); change and "
        caption += "explained: beside keep"
        tables.append((caption, compared.flips(alpha=alpha, seed=seed)))
    swaps = compared.swaps(alpha=alpha)
    if len(swaps):
        caption = "Pairs of runs in opposite orders, the surest first; p by Holm"
        tables.append((caption, swaps))
    return [
        *compared.in_words(orders),
        *(first_rows(frame, text, SHOWN) for text, frame in tables),
    ]
