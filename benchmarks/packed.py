"""Packed runs, made up in their file's own form: far more than text could hold.

Every run retrieves all judged documents of every query, in an order of its own; the
runs of each block are those of the first one again, under other names.
"""

from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks import inputs, ours

BLOCK = 120  # runs


def write(
    folder: Path, runs: int, queries: int, n: int, block: int = BLOCK
) -> tuple[Path, Path]:
    """Write packed runs and the preferences of cyclic graphs: both .parquet."""
    case = inputs.cyclic(queries, 1, n)
    prefs, packed = folder / "prefs.parquet", folder / f"{runs}.parquet"
    tables = []
    for name, graph in case.graphs.items():
        docs = graph.doc_ids.astype(str)
        rows = {
            "doc_id": docs[graph.wins[:, 0]],
            "other_doc_id": docs[graph.wins[:, 1]],
        }
        table = pd.DataFrame({"query_id": name, **rows, "preference": 1})
        tables.append(table.loc[np.repeat(table.index, graph.wins[:, 2])])
    pd.concat(tables, ignore_index=True).to_parquet(prefs)
    docs = {name: graph.doc_ids.tolist() for name, graph in case.graphs.items()}
    ours.write_packed(packed, runs, docs, block)
    return packed, prefs
