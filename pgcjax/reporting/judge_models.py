"""A model of judgments as text."""

from collections.abc import Iterator

from pgcjax.errors import counted, printable
from pgcjax.judging.fit import Fit
from pgcjax.reporting.judgment_analysis import aligned

SHOWN = 10
"""Most queries, and most judges, in a page of text."""

_LEFT_OUT = ["query_id", "aspect", "linked", "both_ways"]


def lines(fit: Fit) -> Iterator[str]:
    """Print documents of each query, best first; effects of covariates; judges."""
    keys = [c for c in ("query_id", "aspect") if c in fit.table]
    table = fit.table.dropna(axis=1, how="all")
    groups = table.groupby(keys or table.index * 0, sort=False)
    for number, (_, rows) in enumerate(groups):
        if number == SHOWN:
            break
        named = "query " + printable(", ".join(rows[keys].iloc[0]))
        yield named if keys else "all queries"
        rows = rows.sort_values(["rank", "doc_id"]).drop(
            columns=_LEFT_OUT, errors="ignore"
        )
        yield from (f"  {line}" for line in aligned(rows))
    if (more := len(groups) - SHOWN) > 0:
        queries = counted(more, "query" if len(keys) == 1 else "query and aspect")
        yield f"{queries} more: written with -o"
    for name, table in (("Effects", fit.effects), ("Judges", fit.judges)):
        if len(table):
            yield from ("", name)
            shown = table if table["aspect"].any() else table.drop(columns="aspect")
            yield from (f"  {line}" for line in aligned(shown.head(2 * SHOWN)))
            if (more := len(table) - 2 * SHOWN) > 0:
                yield f"  {counted(more, 'row')} more: written with --judges-output"
    yield from ("", *fit.notes) if fit.notes else ()
