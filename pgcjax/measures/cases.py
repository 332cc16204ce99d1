"""Rows of judgments as plain lists and dicts, as the twins take them."""

import pandas as pd


def edges_of(preferences: pd.DataFrame) -> list[tuple[str, str]]:
    """List (preferred, other) as often as it was judged; no ties, no bad documents."""
    edges: list[tuple[str, str]] = []
    for row in preferences.to_dict("records"):
        a, b = row["doc_id"], row["other_doc_id"]
        if row["preference"] and not pd.isna(b):
            pair = (a, b) if row["preference"] > 0 else (b, a)
            edges += [pair] * int(row.get("weight", 1))
    return edges


def grades_of(qrels: pd.DataFrame) -> dict[str, float]:
    """Give the grade of each document."""
    return dict(zip(qrels["doc_id"], qrels["relevance"], strict=True))
