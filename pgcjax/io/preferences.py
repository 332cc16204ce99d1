"""Preference judgments: files, tables and DataFrames in, a canonical table out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from pgcjax.errors import DataError, UsageError
from pgcjax.io import double_votes, files
from pgcjax.io.containers import CONTAINERS, Columns, Named
from pgcjax.io.fast_columns import Regular, load
from pgcjax.io.fast_preferences import parse
from pgcjax.io.in_memory import in_hand
from pgcjax.io.later import pd
from pgcjax.io.preference_formats import FORMATS, Format
from pgcjax.io.reading import chosen
from pgcjax.io.schema import (
    PREFERENCES,
    Origin,
    Origins,
    canonical,
    find_columns,
    ids,
    lenient_number,
    lenient_numbers,
    numbers,
    numbers_or_nan,
    refuse,
    seconds,
    shorten,
)
from pgcjax.io.vote_layouts import Laid, lay_out
from pgcjax.io.vote_probabilities import check_probability
from pgcjax.io.xie import read_xie_votes

_MOST = 2**30  # so that sums of weights are exact
_OPTIONAL = ("judge", "weight", "seconds", "time", "first", "aspect", "probability")
_OPTIONAL += ("length", "other_length")
_TABLES = tuple(c for c in CONTAINERS if c != "columns")


def read_preferences(
    source: files.Source | Iterable[files.Source] | Any,
    *,
    format: str = "auto",
) -> pd.DataFrame:
    """Read judgments that one document is preferred to another.

    Args:
        source: files, folders and globs, plain or compressed; or a table, as of
            `read_runs`, with the columns below, or another that holds votes (`winner`
            and `loser`; `model_a`, `model_b`, `winner`; …), as docs/formats.md says.
        format: `auto`, or one of `clarke` (topic a b best), `luo` (topic winner
            loser), `jelsas` (topic a b -2..2), `trec-prefs` (topic group subgroup doc
            level), `trec-qrels-prefs` (topic group doc level), `csv`, `tsv`, `jsonl`,
            `parquet`, `xie` (as `read_xie_votes`). `auto` decides only where the
            content leaves no doubt.

    Returns:
        Table of query_id, doc_id, other_doc_id, preference (above 0 if doc_id is
        preferred, below 0 if the other is, 0 for a tie) and, where given, judge,
        aspect, first (the document shown first), probability (that doc_id is better),
        seconds, time (NaN if not known) and weight (how many equal judgments a row
        stands for). Without other_doc_id, doc_id was judged bad. Repeats and conflicts
        are kept; `reading` says what becomes of votes in both orders. A query in a
        TREC format whose levels compare no two documents is left out and counted; a
        group that finds all its documents equal ties one to the next.

    Raises:
        DataError: a row is malformed, a document is preferred to itself, or no format
            or more than one fits.
    """
    return _settled(read_placed(source, format=format)[0])


def read_placed(
    source: files.Source | Iterable[files.Source] | Any, *, format: str = "auto"
) -> tuple[pd.DataFrame, Origins]:
    """Read judgments as `read_preferences`, and where each came from.

    All aspects are kept, and votes in both orders are as they are.
    """
    source = in_hand(source, "preferences")
    if isinstance(source, pd.DataFrame):
        content = Named(source, Origin("preferences"))
        table, origin = _canonical_preferences(content)
        table.attrs = {**source.attrs, **table.attrs}
        return table, Origins([origin], [len(table)])
    if format == "xie":
        votes = read_xie_votes(source)
        votes.attrs |= {"comments": 0, "silent": 0}
        return votes, Origins([Origin("preferences")], [len(votes)])
    if format not in ("auto", *FORMATS, *_TABLES):
        allowed = ", ".join(("auto", *FORMATS, *_TABLES, "xie"))
        raise UsageError(f"format is one of {allowed}, not {format!r}")
    read, comments, silent = [], 0, 0
    for path in files.expand(source):
        container = "columns" if format in FORMATS else format
        content = load(path, container, partial(parse, format=format))
        if isinstance(content, Columns):
            content = _named(content, format)
        if isinstance(content, Regular):
            content = content.named()
        read.append(_canonical_preferences(content))
        comments += content.comments
        silent += content.silent
    counts = [table.attrs for table, _ in read]
    preferences = pd.concat([table for table, _ in read], ignore_index=True)
    preferences.attrs = {"comments": comments, "silent": silent, **_summed(counts)}
    if "weight" in preferences:
        preferences["weight"] = preferences["weight"].fillna(1.0)
    places = Origins([origin for _, origin in read], [len(table) for table, _ in read])
    return preferences, places


def _summed(counts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Add up, over files, what votes say that is no preference."""
    refused: Counter[str] = Counter()
    for of_file in counts:
        refused.update(of_file.get("refused", {}))
    bad = sum(of_file.get("both_bad", 0) for of_file in counts)
    said = {"refused": dict(refused), "both_bad": bad}
    return {name: count for name, count in said.items() if count}


def _settled(preferences: pd.DataFrame) -> pd.DataFrame:
    """Take the aspects that are asked for, and settle double votes, by `reading`."""
    how = chosen()
    if how.aspects:
        column = preferences.get("aspect", pd.Series(None, preferences.index))
        there = sorted(set(column.dropna()))
        if unknown := [a for a in how.aspects if a not in there]:
            raise DataError(
                f"has no aspect {unknown[0]!r}; "
                + (f"there are {', '.join(there)}" if there else "no row names one"),
                where="preferences",
                mend="Name one that is there, or give a column aspect.",
            )
        attrs = preferences.attrs
        preferences = preferences[column.isin(how.aspects)].reset_index(drop=True)
        preferences.attrs = attrs
    return double_votes.settle(preferences, how.flips)


def _named(content: Columns, format: str) -> Named:
    """Parse a file without a header by its format, found or given."""
    if format == "auto":
        widths = [len(row) for row in content.rows]
        usual = max(dict.fromkeys(widths), key=widths.count)
        chosen = _recognise(content, usual)
    else:
        chosen = FORMATS[format]
    mend = f"Read as {chosen.name}; if that is wrong, name the format."
    content.check_width(chosen.width, chosen.layout, mend)
    columns = list(zip(*content.rows, strict=True))
    if misfit := chosen.misfit(columns):
        i, reason = misfit
        raise DataError(
            f"expected '{chosen.layout}', found {content.text(i)}: {reason}",
            where=content.origin.at(i),
            mend=mend,
        )
    named, places = chosen.parse(columns, content.origin)
    origin = content.origin
    if places is not None:
        origin = Origin(origin.name, origin.unit, np.asarray(origin.places)[places])
    silent = len(set(columns[0]) - set(named["query_id"]))
    if places is not None and not any(named["preference"]):
        raise DataError(
            "prefers no document to another: all levels of a subgroup are equal",
            where=origin.name,
            mend=mend,
        )
    return Named(pd.DataFrame(named), origin, comments=content.comments, silent=silent)


def _recognise(content: Columns, width: int) -> Format:
    """Find the one format that all rows of the usual width fit."""
    places = [i for i, row in enumerate(content.rows) if len(row) == width]
    columns = list(zip(*(content.rows[i] for i in places), strict=True))
    candidates = [f for f in FORMATS.values() if f.width == width]
    misfits = {f.name: misfit for f in candidates if (misfit := f.misfit(columns))}
    fitting = [f for f in candidates if f.name not in misfits]
    doubts = list(dict.fromkeys(filter(None, (f.doubt(columns) for f in fitting))))
    if len(fitting) == 1 and not doubts:
        return fitting[0]
    if fitting:
        names = " and ".join(f"{f.name} ('{f.layout}')" for f in fitting)
        raise DataError(
            f"fits {names}" + "".join(f", but {doubt}" for doubt in doubts),
            where=content.origin.name,
            mend="If it holds preferences, name their format: --prefs-format "
            + " or ".join(f.name for f in fitting)
            + " (format= in Python).",
        )
    if not candidates:
        layouts = "; ".join(f"{f.name} '{f.layout}'" for f in FORMATS.values())
        run = " as in a run, which goes without an option" if width == 6 else ""
        raise DataError(
            f"expected preferences, found {width} fields{run}: "
            + content.text(places[0]),
            where=content.origin.at(places[0]),
            mend=f"Formats: {layouts}; or a table with a header.",
        )
    # The format that fits furthest is most likely meant: point at its line.
    furthest = sorted(misfits.items(), key=lambda item: item[1][0], reverse=True)
    worst = places[furthest[0][1][0]]
    reasons = [
        f"not {name} ({content.origin.place(places[row])}: {reason})"
        for name, (row, reason) in furthest
    ]
    raise DataError(
        f"{content.text(worst)} fits no format of {width} columns: "
        + "; ".join(reasons),
        where=content.origin.at(worst),
        mend="Mend the line, or name the format: format=… (--prefs-format "
        "on the command line).",
    )


def _canonical_preferences(content: Named) -> tuple[pd.DataFrame, Origin]:
    origin, laid = content.origin, None
    if not content.checked:
        laid = _votes(content)
        origin = laid.origin if laid else origin
        table = _columns(laid.frame if laid else content.frame, origin)
    else:
        table = content.frame
        if chosen().columns.get("first") in ("doc_id", "other_doc_id"):
            table = table.assign(first=table[chosen().columns["first"]])
    refuse(
        (table["doc_id"] == table["other_doc_id"]).fillna(False).to_numpy(bool),
        lambda i: f"document {table.doc_id[i]!r} is compared with itself",
        origin,
        "Remove the judgment.",
    )
    refuse(
        (table["other_doc_id"].isna() & (table["preference"] >= 0)).to_numpy(bool),
        lambda i: f"document {table.doc_id[i]!r} has no other, and is not judged bad",
        origin,
        "Give other_doc_id, or a preference below 0 for a bad document.",
    )
    said = {"refused": laid.refused, "both_bad": laid.both_bad} if laid else {}
    table.attrs.clear()
    table.attrs.update(_summed([said]))
    return table, origin


def _votes(content: Named) -> Laid | None:
    """Lay votes out whose columns are not the canonical ones, or are named."""
    frame, how = content.frame, chosen()
    if _is_canonical(frame) and (
        "first" in frame or not {*how.columns.values()} <= {*frame.columns}
    ):
        return None  # it was read before, and what is named is of what it was read from
    if not how.columns and not how.answers:
        named = find_columns(frame.columns, (*PREFERENCES, "winner", "loser"))
        signed = "preference" in named
        if (
            "loser" in named
            and "winner" in named
            or (signed and _is_number(frame[named["preference"]]))
        ):
            needed = {*PREFERENCES} - (set() if signed else {"preference"})
            if needed <= {*named}:
                return None
    return lay_out(frame, content.origin, how.columns, how.answers)


def _is_canonical(frame: pd.DataFrame) -> bool:
    """Say whether a table is as `read_preferences` returns it."""
    names = {*map(str, frame.columns)}
    ours = {*PREFERENCES} <= names <= {*PREFERENCES, *_OPTIONAL}
    return ours and frame["preference"].dtype == np.float64


def _is_number(column: pd.Series | pd.DataFrame) -> bool:
    """Say whether a column begins as one of numbers, or of nothing."""
    cell = column.iloc[0] if isinstance(column, pd.Series) and len(column) else None
    return (
        not isinstance(cell, str)
        or not cell
        or lenient_number(cell) == lenient_number(cell)
    )


def _check_sides(
    table: pd.DataFrame, frame: pd.DataFrame, origin: Origin, signed: bool
) -> None:
    """Refuse a winner or loser that is another than the rest of the row says.

    Without signs, winners say which of the two documents is preferred.
    """
    names = [n for n in ("winner", "loser") if find_columns(frame.columns, [n])]
    given = canonical(frame, origin, names)
    said = {name: ids(given[name], origin, empty=signed) for name in names}
    doc, other = table["doc_id"], table["other_doc_id"]
    if not signed:
        table["preference"] = np.where(said["winner"] == other, -1.0, 1.0)
    sign = table["preference"]
    columns = find_columns(
        frame.columns, PREFERENCES[1:] if signed else PREFERENCES[1:3]
    )

    def problem(i: int) -> str:
        cells = {c: table[n].tolist()[i] for n, c in columns.items() if c != name}
        rest = (f"{c} is {'empty' if v != v else repr(v)}" for c, v in cells.items())
        return f"{name} is {said[name][i]!r}, but " + " and ".join(rest)

    for name in names:
        one, two = (doc, other) if name == "winner" else (other, doc)
        meant = one.where(sign > 0, two).where(sign != 0)
        refuse(
            (said[name].notna() & ~(said[name] == meant).fillna(False)).to_numpy(bool),
            problem,
            origin,
            "Mend the row, or rename a column that means something else.",
        )


def _times(column: pd.Series, origin: Origin) -> np.ndarray:
    """Read when judgments were made: numbers, or dates as ISO 8601; NaN if not known.

    Raises:
        DataError: a cell is neither.
    """
    values, cells = lenient_numbers(column), column.tolist()
    empty = column.isna().to_numpy() | np.array([c == "" for c in cells], bool)
    dates = np.isnan(values) & ~empty
    if dates.any():
        of = pd.to_datetime(column[dates], errors="coerce", utc=True, format="ISO8601")
        values = values.copy()
        values[dates] = (of - pd.Timestamp(0, tz="UTC")).dt.total_seconds().to_numpy()
    bad = ~empty & ~np.isfinite(values)
    problem = "expected a time, a number or a date such as 2025-01-31T12:00"
    mend = "Leave a time that is not known empty."
    refuse(bad, lambda i: f"{problem}, found {shorten(cells[i])}", origin, mend)
    return values


def _check_first(table: pd.DataFrame, origin: Origin) -> None:
    first = table["first"]
    other = (first != table["doc_id"]) & (first != table["other_doc_id"])
    refuse(
        (first.notna() & other.fillna(True)).to_numpy(bool),
        lambda i: (
            f"first is {first[i]!r}, but {table.doc_id[i]!r} and "
            f"{table.other_doc_id[i]!r} are compared"
        ),
        origin,
        "Give the document that was shown first, or nothing where it is not known.",
    )


def _columns(frame: pd.DataFrame, origin: Origin) -> pd.DataFrame:
    """Select the columns, and check ids and numbers."""
    named = find_columns(frame.columns, ("winner", "loser", "preference"))
    signed = [*named] != ["winner", "loser"]
    if not signed:
        frame = frame.assign(preference=1.0)
    table = canonical(frame, origin, PREFERENCES, _OPTIONAL)
    table["query_id"] = ids(table["query_id"], origin)
    table["doc_id"] = ids(table["doc_id"], origin)
    table["other_doc_id"] = ids(table["other_doc_id"], origin, empty=True)
    table["preference"] = numbers(table["preference"], "preference", origin)
    if {"winner", "loser"} & {*named}:
        _check_sides(table, frame, origin, signed)
    for name in {"judge", "first", "aspect"} & {*table}:
        # One file may name judges, and another one not.
        table[name] = ids(table[name], origin, empty=True)
    if "first" in table:
        _check_first(table, origin)
    if "probability" in table:
        check_probability(table, origin)
    for name in {"length", "other_length"} & {*table}:
        how = "a length, 0 or more", origin, "Leave one that is not known empty."
        table[name] = numbers_or_nan(table[name], *how, least=0)
    if "time" in table:
        table["time"] = _times(table["time"], origin)
    if "seconds" in table:
        table["seconds"] = seconds(table["seconds"], origin)
    if "weight" in table:
        table["weight"] = numbers(table["weight"], "weight", origin)
        weight = table["weight"].to_numpy()
        meaning = "A weight is the number of equal judgments that a row stands for."
        for bad, expected, mend in (
            (weight <= 0, "a weight above 0", "Leave out judgments that nobody made."),
            (weight > _MOST, "a weight of 2^30 at most", meaning),
        ):
            problem = f"expected {expected}, found "
            refuse(bad, lambda i, p=problem: f"{p}{weight[i]:g}", origin, mend)
    return table
