"""The order of a run, in plain Python."""


def ordered(rows: list[tuple[str, float, float]], order: str = "trec") -> list[str]:
    """List the documents of one query of a run, best first.

    Args:
        rows: `(doc_id, score, rank)` for each retrieved document, in any order.
        order: Rule: `trec` (score descending, then document id descending), `clarke`
            (score descending, then document id ascending) or `rank` (rank ascending).

    Source: trec_eval's `form_res_rels`; Clarke's `compatibility.py`; Luo 2021.
    """
    if order == "trec":
        rows = sorted(rows, key=lambda row: row[0], reverse=True)
        rows = sorted(rows, key=lambda row: -row[1])
    elif order == "clarke":
        rows = sorted(rows, key=lambda row: (-row[1], row[0]))
    elif order == "rank":
        rows = sorted(rows, key=lambda row: row[2])
    else:
        raise ValueError(f"order is trec, clarke or rank, not {order!r}")
    return [doc for doc, _, _ in rows]
