"""Tables of preferences as lines of text, as the tables of cases have them."""

import pandas as pd

NAMES = ["query_id", "doc_id", "other_doc_id", "preference"]


def lines(table):
    """Rows as text: the four columns, and what else is known of each."""
    return [
        f"{' '.join(row[n] for n in NAMES[:3])} {row['preference']:g}"
        + "".join(
            f" {name}={cell:g}" if isinstance(cell, float) else f" {name}={cell}"
            for name, cell in sorted(row.items())
            if name not in NAMES and not pd.isna(cell)
        )
        for row in table.to_dict("records")
    ]
