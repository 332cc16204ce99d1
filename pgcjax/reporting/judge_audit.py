"""An audit of judges as text."""

from collections.abc import Iterator

from pgcjax.errors import counted, printable
from pgcjax.judging.audit import ALL, Audit
from pgcjax.reporting.judgment_analysis import aligned

SHOWN = 8
"""Most judges, and rows on other judges for each, in a page of text."""

_COLUMNS = ["probe", "estimate", "low", "high", "count", "verdict"]


def lines(audit: Audit) -> Iterator[str]:
    """Print the probes of each judge; if there are many, of the first ones."""
    judges = list(dict.fromkeys(audit.table["judge"]))
    for judge in judges[: SHOWN + 1]:
        rows = audit.table[audit.table["judge"] == judge]
        odds, rows = rows[rows["probe"] == "at odds"], rows[rows["probe"] != "at odds"]
        yield from ([] if judge == ALL else [""])
        yield printable(judge)
        estimated = rows[rows["estimate"].notna()]
        about = estimated["of"].ne("") & ~estimated["of"].isin(["the others", "people"])
        few = estimated[~about | (about.cumsum() <= SHOWN)]
        probe = few["probe"] + few["of"].where(few["of"] == "", " with " + few["of"])
        yield from (f"  {line}" for line in aligned(few.assign(probe=probe)[_COLUMNS]))
        if hidden := len(estimated) - len(few):
            yield f"  {counted(hidden, 'row')} more: written with -o"
        for why, probes in rows[rows["estimate"].isna()].groupby("verdict", sort=False):
            names = ", ".join(dict.fromkeys(probes["probe"]))
            yield f"  {names} {why}"
        for of, verdict in odds[["of", "verdict"]].head(SHOWN).itertuples(index=False):
            yield f"  at odds: {printable(of)}: {verdict}"
    if len(judges) > SHOWN + 1:
        yield ""
        yield f"{counted(len(judges) - SHOWN - 1, 'judge')} more: written with -o"
