"""Preference judgments: files, tables and DataFrames in, a canonical table out."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from pgcjax.errors import DataError, DataWarning, UsageError
from pgcjax.io import files
from pgcjax.io.choices import LEVELS
from pgcjax.io.containers import CONTAINERS, Named
from pgcjax.io.fast_columns import PlainTable, Regular, load
from pgcjax.io.in_memory import in_hand, is_frame
from pgcjax.io.reading import chosen
from pgcjax.io.schema import (
    GENERAL,
    PREFERENCES,
    Origin,
    Origins,
    expect,
    ids,
    keyed,
    lenient_numbers,
    numbers,
    numbers_or_nan,
    refuse,
    seconds,
    shorten,
)
from pgcjax.io.votes.answers import check_probability
from pgcjax.io.votes.double import settle
from pgcjax.io.votes.reader import lay_out
from pgcjax.io.votes.text import FORMATS, SILENT, parse_fields, read_text
from pgcjax.io.write import HEADER_MARK
from pgcjax.io.xie import read_xie_votes
from pgcjax.later import pd

_MOST = 2**30  # so that sums of weights are exact
_OPTIONAL = ("judge", "weight", "seconds", "time", "first", "aspect", "probability")
_OPTIONAL += ("length", "other_length", *LEVELS)
_COUNTED = ("comments", "silent")
_TABLES = tuple(c for c in CONTAINERS if c != "columns")


def read_preferences(
    source: files.Sources,
    *,
    format: str = "auto",
) -> pd.DataFrame:
    """Read judgments that one document is preferred to another.

    Args:
        source: Files, folders and globs, plain or compressed; or a table, as in
            `read_runs`, with the columns below or those of any table of votes (`winner`
            and `loser`; `model_a`, `model_b`, `winner`; …), see docs/formats.md.
        format: `auto`, or one of `clarke` (topic a b best), `luo` (topic winner
            loser), `jelsas` (topic a b -2..2), `trec-prefs` (topic group subgroup doc
            level), `trec-qrels-prefs` (topic group doc level), `csv`, `tsv`, `jsonl`,
            `parquet`, `xie` (as `read_xie_votes`). `auto` decides only where the
            content leaves no doubt.

    Returns:
        Table with query_id, doc_id, other_doc_id, preference (above 0 if doc_id is
        preferred, below 0 if the other is, 0 for a tie) and, where given, judge,
        aspect, first (the document shown first), probability (that doc_id is better),
        seconds, time (NaN if unknown) and weight (number of equal judgments in a row).
        Without other_doc_id, doc_id was judged bad. Repeats and conflicts are kept;
        `reading` chooses the treatment of votes in both orders. TREC formats have
        `choices.LEVELS`, too; a query whose levels compare no two documents is left out
        and counted; a group whose documents are all equal ties each to the next.

    Raises:
        DataError: a row is malformed, a document is preferred to itself, or no format
            or more than one fits.
    """
    table = read_preferences_as_they_come(source, format=format)
    return table.in_pandas() if isinstance(table, PlainTable) else table


def read_preferences_as_they_come(
    source: files.Sources, *, format: str = "auto"
) -> PlainTable | pd.DataFrame:
    """Read judgments as `read_preferences` does; regular files without pandas."""
    if isinstance(source, PlainTable):
        return source
    source = in_hand(source, "preferences")
    if is_frame(source) or format == "xie":
        return _settled(read_placed(source, format=format)[0])
    read = _of_files(source, format)
    if all(placed is None for _, placed in read):
        frames = [c.frame for c, _ in read if isinstance(c, Regular)]
        comments = sum(content.comments for content, _ in read)
        return PlainTable(pl.concat(frames), {"comments": comments, "silent": 0})
    return _settled(_together([(c, placed or _placed(c)) for c, placed in read])[0])


def read_placed(
    source: files.Sources, *, format: str = "auto"
) -> tuple[pd.DataFrame, Origins]:
    """Read judgments as `read_preferences` does, and their places in the files.

    All aspects and all votes in both orders are kept.
    """
    source = in_hand(source, "preferences")
    if is_frame(source):
        mark = (HEADER_MARK,) if _is_ours(source) else ()
        content = Named(source, Origin("preferences"), mark)
        table, origin = _placed(content)
        table.attrs = {**source.attrs, **table.attrs}
        return table, Origins([origin], [len(table)])
    if format == "xie":
        votes = read_xie_votes(source)
        votes.attrs |= {"comments": 0, "silent": 0}
        return votes, Origins([Origin("preferences")], [len(votes)])
    read = _of_files(source, format)
    return _together(
        [(content, placed or _placed(content)) for content, placed in read]
    )


_Read: TypeAlias = "tuple[Named | Regular, tuple[pd.DataFrame, Origin] | None]"
"""Content of a file, and its canonical table, unless the content is canonical."""


def _of_files(source: Any, format: str) -> list[_Read]:
    """Read files one by one."""
    if format not in ("auto", *FORMATS, *_TABLES):
        allowed = ", ".join(("auto", *FORMATS, *_TABLES, "xie"))
        raise UsageError(f"format is one of {allowed}, not {format!r}")
    read = []
    for path in files.expand(source):
        ours = partial(_read_file, path, format)
        how = format, chosen().reader
        read.append(files.read_by_any(path, "preferences", *how, ours, _of_plugin))
    return read


def _read_file(path: Path, format: str) -> _Read:
    """Load a file, and name its columns."""
    container = "columns" if format in FORMATS else format
    content = load(path, container, partial(parse_fields, format=format))
    if not isinstance(content, Named):
        content = read_text(content, format)
    return content, None if _is_plain(content) else _placed(content)


def _of_plugin(content: Named) -> _Read:
    """Read a plug-in's table of a file: canonical rows, or a table of votes."""
    frame = content.frame
    if not {*PREFERENCES} <= {*frame}:
        return content, _placed(content)
    rows = np.flatnonzero(frame["preference"].notna())
    if not len(rows):
        raise DataError(
            "no row says which of two documents is better",
            where=content.origin.name,
            mend="Give a file with answers.",
        )
    open_ = frame[frame["preference"].isna()]
    judges = open_.get("judge", pd.Series("", open_.index)).fillna("").map(str)
    frame = frame.iloc[rows].reset_index(drop=True)
    frame.attrs[SILENT] = 0  # preferences are signs, as in canonical files
    content = replace(content, frame=frame, origin=content.origin.of_rows(rows))
    table, origin = _placed(content)
    table.attrs |= _summed([{"refused": Counter(judges)}])
    return content, (table, origin)


def _is_plain(content: Named | Regular) -> bool:
    """Return whether a file is canonical, and no option selects a part of it."""
    options = chosen()
    if options.columns or options.answers or options.aspects or options.covariates:
        return False
    if not isinstance(content, Regular):
        return False
    doc, other = content.frame["doc_id"], content.frame["other_doc_id"]
    bad = other.is_null()
    below = content.frame["preference"] < 0
    return not (doc == other).fill_null(False).any() and (below | ~bad).all()


def _together(
    read: Sequence[tuple[Named | Regular, tuple[pd.DataFrame, Origin]]],
) -> tuple[pd.DataFrame, Origins]:
    """Put the tables of files one below the other."""
    tables, origins = zip(*(placed for _, placed in read), strict=True)
    preferences = pd.concat(tables, ignore_index=True)
    counts = {name: sum(getattr(c, name, 0) for c, _ in read) for name in _COUNTED}
    preferences.attrs = counts | _summed([table.attrs for table in tables])
    if "weight" in preferences:
        preferences["weight"] = preferences["weight"].fillna(1.0)
    return preferences, Origins(origins, [len(table) for table in tables])


def _summed(counts: Iterable[Mapping[Any, Any]]) -> dict[str, Any]:
    """Add up, over files, the counts of refused answers."""
    refused: Counter[str] = Counter()
    for of_file in counts:
        refused.update(of_file.get("refused", {}))
    return {"refused": dict(refused)} if refused else {}


def _settled(preferences: pd.DataFrame) -> pd.DataFrame:
    """Select aspects and settle double votes, as `reading` chose."""
    options = chosen()
    if options.aspects:
        column = preferences.get("aspect", pd.Series(None, preferences.index))
        there = sorted(set(column.dropna()))
        if unknown := [a for a in options.aspects if a not in there]:
            raise DataError(
                f"has no aspect {unknown[0]!r}; "
                + (f"there are {', '.join(there)}" if there else "no row names one"),
                where="preferences",
                mend="Name one that is there, or give a column aspect.",
            )
        attrs = preferences.attrs
        preferences = preferences[column.isin(options.aspects)].reset_index(drop=True)
        preferences.attrs = attrs
    return settle(preferences, options.flips)


def _placed(content: Named | Regular) -> tuple[pd.DataFrame, Origin]:
    """Make a canonical table of a file or table, with the origin of its rows."""
    if checked := isinstance(content, Regular):
        content = Named(content.frame.to_pandas(), content.origin)
    frame, origin, counts = content.frame, content.origin, {}
    if checked or _was_read(content):
        if origin.unit == "line":
            _tell_options(content)
        table = frame if checked else _columns(frame, origin)
    else:
        written = bool(content.head) and content.head[0].startswith(HEADER_MARK)
        if laid := lay_out(frame, origin, signed=written):
            frame, origin = laid
            counts = frame.attrs
        table = _columns(frame, origin)
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
    table.attrs.clear()
    table.attrs.update({SILENT: 0} | _summed([counts]))
    return table, origin


def _was_read(content: Named) -> bool:
    """Return whether `read_preferences`, which marks its results, returned a table.

    Names of columns that such a table lacks were meant for the file behind it.
    """
    frame, named = content.frame, {*chosen().columns.values()} - {"-", "*"}
    if SILENT in frame.attrs:
        return {*PREFERENCES} <= {*frame.columns}
    if content.origin.name != "preferences" or not _is_ours(frame):
        return False
    return not named <= {*frame.columns} or not (named or chosen().answers)


def _is_ours(frame: pd.DataFrame) -> bool:
    """Return whether a table in memory has only canonical columns and numeric signs."""
    names = {*map(str, frame.columns)}
    ours = {*PREFERENCES} <= names <= {*PREFERENCES, *_OPTIONAL, *_covariates()}
    return ours and pd.api.types.is_numeric_dtype(frame["preference"])


def _covariates() -> list[str]:
    """List the columns of the chosen covariates, for both sides."""
    names = chosen().covariates
    both = (*names, *(f"other_{name}" for name in names))
    return [name for name in both if name not in (*PREFERENCES, *_OPTIONAL)]


def _tell_options(content: Named) -> None:
    """Warn that options for columns do not apply to a file without a header."""
    names = [name for name in ("columns", "answers") if getattr(chosen(), name)]
    if names:
        warnings.warn(
            f"{content.origin.name}: has no header, so {' and '.join(names)} do not "
            "apply: it is read in its format",
            DataWarning,
            stacklevel=4,
        )


def _times(column: pd.Series, origin: Origin) -> np.ndarray:
    """Read the times of judgments: numbers or ISO 8601 dates; NaN if unknown.

    Raises:
        DataError: a cell is neither a number nor a date.
    """
    values, cells = lenient_numbers(column), column.tolist()
    empty = column.isna().to_numpy() | np.array([c == "" for c in cells], bool)
    dates = np.isnan(values) & ~empty
    if dates.any():
        of = pd.to_datetime(column[dates], errors="coerce", utc=True, format="ISO8601")
        values = values.copy()
        values[dates] = (of - pd.Timestamp(0, tz="UTC")).dt.total_seconds().to_numpy()
    expected = "a time, a number or a date such as 2025-01-31T12:00"
    mend = "Leave unknown times empty."
    expect(empty | np.isfinite(values), expected, cells, origin, mend, shorten)
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
        "Give the document that was shown first, or nothing where it is unknown.",
    )


def _columns(frame: pd.DataFrame, origin: Origin) -> pd.DataFrame:
    """Select the columns, and check ids and numbers."""
    optional = (*_OPTIONAL, *_covariates())
    table = keyed(frame, origin, PREFERENCES[:2], PREFERENCES[2:], optional)
    # Some files name no judges, and a document judged bad has no other document.
    for name in ("other_doc_id", *({"judge", "first", "aspect"} & {*table})):
        table[name] = ids(table[name], origin, empty=True)
    table["preference"] = numbers(table["preference"], "preference", origin)
    if "first" in table:
        _check_first(table, origin)
    if "probability" in table:
        check_probability(table, origin)
    for name in {"length", "other_length", *LEVELS} & {*table}:
        noun = "length" if "length" in name else name
        mend = "Leave unknown ones empty."
        expected = f"a {noun}, 0 or more"
        table[name] = numbers_or_nan(table[name], expected, origin, mend, least=0)
    if "time" in table:
        table["time"] = _times(table["time"], origin)
    if "seconds" in table:
        table["seconds"] = seconds(table["seconds"], origin)
    if "weight" in table:
        table["weight"] = numbers(table["weight"], "weight", origin)
        weight = table["weight"].to_numpy()
        mend = "Leave out judgments that nobody made."
        expect(weight > 0, "a weight above 0", weight, origin, mend, GENERAL)
        expected = "a weight of 2^30 at most"
        mend = "A weight is the number of equal judgments that a row stands for."
        expect(weight <= _MOST, expected, weight, origin, mend, GENERAL)
    return table
