"""Tables that ask of any runs and measures what the papers asked of theirs."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

import pgcjax
from pgcjax.reporting.page import cell_of

Tables = Mapping[str, pd.DataFrame]
"""Scores of runs (run_id, query_id, value), by what the report calls the measure."""


def scored(runs: pd.DataFrame, measures: Mapping[str, str], **judgments: Any) -> Tables:
    """Score runs by measures, each with the name that the report gives it."""
    found = pgcjax.evaluate(runs, measures=list(measures.values()), **judgments)
    names = list(found.table["measure"].unique())  # as asked for, with all parameters
    named = {
        printed: found.table[found.table["measure"] == printed] for printed in names
    }
    return dict(zip(measures, named.values(), strict=True))


def shared(scores: Tables) -> Tables:
    """Keep the queries that all tables have: measures are compared on equal terms."""
    known = set.intersection(*(set(table["query_id"]) for table in scores.values()))
    return {n: table[table["query_id"].isin(known)] for n, table in scores.items()}


def compared(scores: Tables, against: Sequence[str]) -> pd.DataFrame:
    """Ask what Luo's Tables 4.1 and 4.2 ask of each measure.

    Returns:
        Columns measure; of each measure that it is held against, the pairs of lists on
        which both prefer one and agree or disagree, and τ of the orders of runs;
        sensitivity in %.
    """
    pairs = _both_ways(pgcjax.meta.agree_measures(scores))
    order = _both_ways(pgcjax.correlate(scores, coefficients=["tau"]))
    power = pgcjax.meta.sensitivity(scores).set_index("measure")["sensitivity"]
    rows = []
    for name in scores:
        row: dict[str, Any] = {"measure": name}
        for other in against:
            mine = (name, other)
            same = name == other
            for count in ("agree", "disagree"):
                row[f"{count}, {other}"] = "" if same else str(pairs.at[mine, count])
            row[f"τ, {other}"] = None if same else order.at[mine, "value"]
        rows.append(row | {"sensitivity, %": 100 * power[name]})
    return pd.DataFrame(rows)


def _both_ways(table: pd.DataFrame) -> pd.DataFrame:
    """Index what is known of two measures by both orders of their names."""
    turned = table.rename(columns={"measure_a": "measure_b", "measure_b": "measure_a"})
    return pd.concat([table, turned]).set_index(["measure_a", "measure_b"])


def square(
    table: pd.DataFrame, value: str, names: Sequence[str], digits: int = 3
) -> pd.DataFrame:
    """Lay a table of two measures out as the papers do: above the diagonal."""
    known = _both_ways(table)[value]
    rows = []
    for i, a in enumerate(names[:-1]):
        cells = [
            cell_of(known[a, b], digits) if j > i else ""
            for j, b in enumerate(names)
            if j
        ]
        rows.append([a, *cells])
    return pd.DataFrame(rows, columns=["", *names[1:]])
