"""An analysis of judgments as text, and as one table."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from pgcjax.errors import printable
from pgcjax.judging.agreement import grade_agreement, judge_agreement
from pgcjax.judging.contradictions import contradictions
from pgcjax.judging.strength import judgment_strength, judgment_times
from pgcjax.judging.transitivity import transitivity
from pgcjax.judging.votes import TIE, read_judgments

_SHOWN = 20  # most rows of judges, or of pairs of judges, in a page of text
_NO_GRADES = "there are no grades (--qrels)"


@dataclass(frozen=True)
class Part:
    """A table of a section.

    Attributes:
        name: Name of the table in a file.
        caption: Caption of the table.
        frame: The table.
        keys: The columns, one or two, that name its rows.
        long: Whether it may have too many rows to be printed.
    """

    name: str
    caption: str
    frame: pd.DataFrame
    keys: tuple[str, ...]
    long: bool = False


@dataclass(frozen=True)
class Analysis:
    """One analysis: its tables and notes, or why there is none."""

    title: str
    parts: tuple[Part, ...] = ()
    notes: tuple[str, ...] = ()
    why_not: str = ""


@dataclass(frozen=True)
class Choices:
    """Parameters of analyses, as in the functions of `pgcjax.stats`."""

    judges: Sequence[str] | None = None
    sides: str = "any"
    bad: bool = False
    split: str = "drop"
    contradicted: bool = False


def analyse(
    preferences: pd.DataFrame, qrels: pd.DataFrame | None, choices: Choices
) -> list[Analysis]:
    """Make each analysis of judgments that the data allow.

    Args:
        preferences: Canonical preferences, with `seconds` where judging was timed.
        qrels: Canonical qrels, if there are any.
        choices: Parameters of the analyses.

    Raises:
        UsageError: a judge or choice is unknown.
    """
    analyses = [_overview, _agreement, _transitivity, _grades, _strength, _times]
    analyses += [_contradictions] if choices.contradicted else []
    return [analysis(preferences, qrels, choices) for analysis in analyses]


def _overview(preferences: pd.DataFrame, qrels: Any, choices: Choices) -> Analysis:
    table = read_judgments(preferences, choices.judges)
    bad = table["other_doc_id"].isna()
    counts = {
        "judgments": len(table),
        "ties": int(((table["preference"] == 0) & ~bad).sum()),
        "bad": int(bad.sum()),
        "queries": table["query_id"].nunique(),
        "judges": table["judge"].nunique() if "judge" in table else 0,
    }
    frame = pd.DataFrame(list(counts.items()), columns=["of", "count"])
    return Analysis("Judgments", (Part("counts", "", frame, ("of",)),))


def _agreement(preferences: pd.DataFrame, qrels: Any, choices: Choices) -> Analysis:
    title = "Agreement of judges"
    fixed: dict[str, Any] = {"judges": choices.judges, "sides": choices.sides}
    fixed["bad"] = choices.bad
    by_grouping = {"all": judge_agreement(preferences, grouping="all", **fixed)}
    every = by_grouping["all"]
    if not every.pairs:
        return Analysis(title, why_not="no pair has two votes")
    options = list(every.table.columns)
    if any(name not in ("A<B", TIE, "A>B") for name in options):
        by_grouping["sign"] = judge_agreement(preferences, grouping="sign", **fixed)
    if TIE in options:
        by_grouping["strict"] = judge_agreement(preferences, grouping="strict", **fixed)
    rows = [
        (name, len(f.table), f.pairs, f.votes, f.observed, f.kappa)
        for name, f in by_grouping.items()
    ]
    columns = ["grouping", "options", "pairs", "votes", "P", "kappa"]
    kappas = pd.DataFrame(rows, columns=columns)
    shares = every.shares().assign(total=every.table.sum(axis=1))
    shares = shares.rename_axis("option").reset_index()
    parts = [
        Part("agreement", "Fleiss' kappa", kappas, ("grouping",)),
        Part("options", "P(another judge says … | one says …)", shares, ("option",)),
    ]
    named = by_grouping.get("sign", every).judges
    if len(named):
        caption = "Two judges, by sign (kappa: Cohen's)"
        parts.append(Part("judges", caption, named, ("judge_a", "judge_b"), long=True))
    return Analysis(title, tuple(parts), every.notes)


def _transitivity(preferences: pd.DataFrame, qrels: Any, choices: Choices) -> Analysis:
    title, judges = "Transitivity", choices.judges
    table = transitivity(preferences, split=choices.split, judges=judges)
    parts = [Part("transitivity", "By majority vote", table, ("judge", "kind"))]
    if "judge" in preferences and preferences["judge"].notna().any():
        each = transitivity(preferences, of="judges", judges=judges)
        each = each[each["triples"] > 0]
        if len(each):
            keys = ("judge", "kind")
            parts.append(Part("judges", "By judge", each, keys, long=True))
    if not sum(part.frame["triples"].sum() for part in parts):
        return Analysis(title, why_not="no three documents have all pairs judged")
    return Analysis(title, tuple(parts))


def _grades(preferences: pd.DataFrame, qrels: Any, choices: Choices) -> Analysis:
    title = "Agreement with grades"
    if qrels is None:
        return Analysis(title, why_not=_NO_GRADES)
    agreement = grade_agreement(
        preferences, qrels, judges=choices.judges, sides=choices.sides
    )
    if not agreement.table["votes"].any():
        return Analysis(title, why_not="no judged pair has two grades")
    options = agreement.options.rename_axis("option").reset_index()
    whole, each = agreement.table.iloc[:1], agreement.table.iloc[1:]
    parts = [
        Part("grades", "Votes and the preferences of grades", whole, ("judge",)),
        Part("options", "Votes, by what grades prefer", options, ("option",)),
    ]
    if len(each):
        parts.append(Part("judges", "Each judge", each, ("judge",), long=True))
    return Analysis(title, tuple(parts), agreement.notes)


def _strength(preferences: pd.DataFrame, qrels: Any, choices: Choices) -> Analysis:
    title = "Strength against relevance"
    if qrels is None:
        return Analysis(title, why_not=_NO_GRADES)
    strength = judgment_strength(preferences, qrels, judges=choices.judges)
    if strength.pairs.empty:
        return Analysis(title, why_not="no judged pair has two grades that differ")
    caption = "Correlation with the grade of the better (B) and of the other (A)"
    parts = (
        Part("strength", caption, strength.table, ("of", "relation")),
        Part("gap", "By the gap B - A", strength.by_gap, ("low", "high")),
    )
    return Analysis(title, parts, strength.notes)


def _times(preferences: pd.DataFrame, qrels: Any, choices: Choices) -> Analysis:
    title = "Judging times"
    table = read_judgments(preferences, choices.judges)
    if "seconds" not in table or table["seconds"].isna().all():
        return Analysis(title, why_not="judgments have no times (a column seconds)")
    table = judgment_times(preferences, judges=choices.judges)
    broad = table["group"].isin(["all", "option"])
    keys = ("group", "name")
    parts = (
        Part("times", "Seconds", table[broad], keys),
        Part("times", "Seconds, by judge and query", table[~broad], keys, long=True),
    )
    return Analysis(title, parts)


def _contradictions(
    preferences: pd.DataFrame, qrels: Any, choices: Choices
) -> Analysis:
    title = "Contradictions"
    contradicted = contradictions(preferences, judges=choices.judges)
    if contradicted.table.empty:
        return Analysis(title, why_not="no judgment prefers a document to another")
    table = contradicted.table
    sums = table[["judgments", "minimum", "greedy", "excess"]].sum().to_dict()
    whole = {"queries": len(table), **sums, "proven": int(table["proven"].sum())}
    parts = (
        Part(
            "all",
            "Judgments that every order contradicts, and those that the peel's order "
            "contradicts",
            pd.DataFrame([{"of": "all", **whole}]),
            ("of",),
        ),
        Part("queries", "By query", table, ("query_id",), long=True),
        Part(
            "judgments",
            "Preferences contradicted by all orders that contradict the fewest "
            "judgments",
            contradicted.contradicted.assign(
                preferred=contradicted.contradicted["doc_id"]
                + " > "
                + contradicted.contradicted["other_doc_id"]
            )[["query_id", "preferred", "judgments"]],
            ("query_id", "preferred"),
            long=True,
        ),
    )
    return Analysis(title, parts, contradicted.notes)


def lines(sections: Sequence[Analysis]) -> Iterator[str]:
    """Print sections: a heading, tables, notes; or one line on why there is none."""
    for i, section in enumerate(sections):
        yield from ([""] if i else [])
        if section.why_not:
            yield f"{section.title}: left out, because {section.why_not}"
            continue
        yield section.title
        for part in section.parts:
            yield from (["", f"  {part.caption}"] if part.caption else [])
            frame = part.frame
            if "undefined" in frame and not frame["undefined"].any():
                frame = frame.drop(columns="undefined")
            if part.long and len(frame) > _SHOWN:
                yield f"    {len(frame)} rows: written with -o"
            else:
                yield from (f"    {line}" for line in aligned(frame))
        for note in section.notes:
            yield f"  {note}"


def aligned(frame: pd.DataFrame) -> Iterator[str]:
    """Print a table with its columns aligned, numbers to the right."""
    columns = []
    for name, cells in frame.items():
        texts = [str(name), *(printable(_text(cell)) for cell in cells.tolist())]
        width = max(map(len, texts))
        number = pd.api.types.is_numeric_dtype(cells)
        columns.append([t.rjust(width) if number else t.ljust(width) for t in texts])
    for row in zip(*columns, strict=True):
        yield "  ".join(row).rstrip()


def _text(cell: object) -> str:
    if not isinstance(cell, float):
        return str(cell)
    return f"{cell:.1e}" if 0 < abs(cell) < 5e-5 else f"{cell:.4f}"


def tidy(sections: Sequence[Analysis]) -> pd.DataFrame:
    """Return all numbers as one table, a row for each number and its names."""
    columns = ["analysis", "table", "subject", "item", "statistic", "value"]
    rows = []
    for section in sections:
        for part in section.parts:
            numbers = part.frame.drop(columns=list(part.keys))
            numbers = numbers.select_dtypes("number")
            names = part.frame[list(part.keys)].astype(str).to_numpy().tolist()
            for name, values in zip(names, numbers.to_dict("records"), strict=True):
                head = (section.title, part.name, *(*name, "")[:2])
                rows += [(*head, str(k), float(v)) for k, v in values.items()]
    return pd.DataFrame(rows, columns=columns)
