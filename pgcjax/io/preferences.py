"""Preference judgments: files, tables and DataFrames in, a canonical table out."""

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from pgcjax.errors import DataError, UsageError
from pgcjax.io import files
from pgcjax.io.containers import CONTAINERS, Columns, Named
from pgcjax.io.fast_columns import load
from pgcjax.io.fast_preferences import parse
from pgcjax.io.in_memory import in_hand
from pgcjax.io.preference_formats import FORMATS, Format
from pgcjax.io.schema import (
    PREFERENCES,
    Origin,
    canonical,
    find_columns,
    ids,
    numbers,
    refuse,
    seconds,
)
from pgcjax.io.xie import read_xie_votes

_MOST = 2**30  # so that sums of weights are exact
_TABLES = tuple(c for c in CONTAINERS if c != "columns")


def read_preferences(
    source: files.Source | Iterable[files.Source] | Any,
    *,
    format: str = "auto",
) -> pd.DataFrame:
    """Read judgments that one document is preferred to another.

    Args:
        source: files, folders and globs, plain or compressed; or a table, as of
            `read_runs`, with the columns below (or `winner` and `loser` in place of
            documents and sign).
        format: `auto`, or one of `clarke` (topic a b best), `luo` (topic winner
            loser), `jelsas` (topic a b -2..2), `trec-prefs` (topic group subgroup doc
            level), `trec-qrels-prefs` (topic group doc level), `csv`, `tsv`, `jsonl`,
            `parquet`, `xie` (as `read_xie_votes`). `auto` decides only where the
            content leaves no doubt.

    Returns:
        Table of query_id, doc_id, other_doc_id, preference (above 0 if doc_id is
        preferred, below 0 if the other is, 0 for a tie) and, where given, judge,
        seconds (NaN if not known) and weight (how many equal judgments a row stands
        for). Without other_doc_id, doc_id was judged bad. Repeats and conflicts are
        kept. A query in a TREC format whose levels compare no two documents is left
        out and counted; a group that finds all its documents equal ties one to the
        next.

    Raises:
        DataError: a row is malformed, a document is preferred to itself, or no format
            or more than one fits.
    """
    source = in_hand(source, "preferences")
    if isinstance(source, pd.DataFrame):
        return _canonical_preferences(Named(source, Origin("preferences")))
    if format == "xie":
        votes = read_xie_votes(source)
        votes.attrs |= {"comments": 0, "silent": 0}
        return votes
    if format not in ("auto", *FORMATS, *_TABLES):
        allowed = ", ".join(("auto", *FORMATS, *_TABLES, "xie"))
        raise UsageError(f"format is one of {allowed}, not {format!r}")
    tables, comments, silent = [], 0, 0
    for path in files.expand(source):
        container = "columns" if format in FORMATS else format
        content = load(path, container, partial(parse, format=format))
        if isinstance(content, Columns):
            content = _named(content, format)
        tables.append(_canonical_preferences(content))
        comments += content.comments
        silent += content.silent
    preferences = pd.concat(tables, ignore_index=True)
    preferences.attrs = {"comments": comments, "silent": silent}
    if "weight" in preferences:
        preferences["weight"] = preferences["weight"].fillna(1.0)
    return preferences


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


def _canonical_preferences(content: Named) -> pd.DataFrame:
    origin = content.origin
    table = content.frame if content.checked else _columns(content.frame, origin)
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
    return table


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


def _columns(frame: pd.DataFrame, origin: Origin) -> pd.DataFrame:
    """Select the columns, and check ids and numbers."""
    named = find_columns(frame.columns, ("winner", "loser", "preference"))
    signed = [*named] != ["winner", "loser"]
    if not signed:
        frame = frame.assign(preference=1.0)
    table = canonical(frame, origin, PREFERENCES, ("judge", "weight", "seconds"))
    table["query_id"] = ids(table["query_id"], origin)
    table["doc_id"] = ids(table["doc_id"], origin)
    table["other_doc_id"] = ids(table["other_doc_id"], origin, empty=True)
    table["preference"] = numbers(table["preference"], "preference", origin)
    if {"winner", "loser"} & {*named}:
        _check_sides(table, frame, origin, signed)
    if "judge" in table:
        # One file may name judges, and another one not.
        table["judge"] = ids(table["judge"], origin, empty=True)
    if "seconds" in table:
        table["seconds"] = seconds(table["seconds"], origin)
    if "weight" in table:
        table["weight"] = numbers(table["weight"], "weight", origin)
        weight = table["weight"].to_numpy()
        meaning = "A weight is the number of equal judgments that a row stands for."
        for bad, expected, mend in (
            (weight % 1 != 0, "a whole number as weight", meaning),
            (weight <= 0, "a weight above 0", "Leave out judgments that nobody made."),
            (weight > _MOST, "a weight of 2^30 at most", meaning),
        ):
            problem = f"expected {expected}, found "
            refuse(bad, lambda i, p=problem: f"{p}{weight[i]:g}", origin, mend)
    return table
