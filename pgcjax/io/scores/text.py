"""Scores in the text formats of other tools: columns without a header."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from pgcjax.errors import DataError, UsageError
from pgcjax.io import files
from pgcjax.io.choices import SUMMED
from pgcjax.io.containers import COMPRESSED, CONTAINER_SUFFIXES, Columns, Named
from pgcjax.io.schema import SCORES, lenient_number
from pgcjax.later import pd

MEAN = "all"
"""The topic of a mean over topics."""

LAYOUTS = {
    "trec_eval": ("measure", "query_id", "value"),
    "tot": ("run_id", "measure", "query_id", "value"),
    "ir_measures": ("run_id", "query_id", "measure", "value"),
    "ranking": ("query_id", "Q0", "run_id", "rank", "value", "measure"),
}
"""Columns of a line, by the name of the format."""

_WITHOUT_RUN = {
    "ir_measures": {3: ("query_id", "measure", "value"), 2: ("measure", "value")}
}
"""Columns that ir_measures prints for one run, by their number."""

MEND = "Name a .tsv, .csv, .jsonl or .parquet file, without a format."

_DIGIT = re.compile("[0-9]").match
_NUMBERED = re.compile("[0-9][^.]*$").match  # such as 301 and 31_1, but no score
_WORDS = {"query_id": "topic", "run_id": "run"}
_SHOWN = "trec_eval, tot, ir_measures or ranking"


def is_scores(content: Columns) -> bool:
    """Return whether the first line holds a score where one of the formats has it."""
    rows = (row for row in content.rows if not _names_run(row))
    row = next(rows, content.rows[0])
    if len(row) not in (3, 4, 6) or (len(row) == 6 and row[1] != "Q0"):
        return False
    return not np.isnan(lenient_number(row[4 if len(row) == 6 else -1]))


def named(content: Columns, form: str = "auto", fallback: bool = False) -> Named:
    """Name the columns of lines of scores; means keep the topic `all`.

    Args:
        content: Content of the file. A run that its lines do not name has the name in
            a line `runid`, or that of the file.
        form: One of `LAYOUTS`, or `auto` to find it.
        fallback: Whether topics come after measures if nothing shows it.

    Raises:
        DataError: the lines fit several formats, or do not fit the chosen one.
    """
    names = [row[2] for row in content.rows if _names_run(row)]
    keep = [i for i, row in enumerate(content.rows) if not _names_run(row)]
    if not keep:
        raise DataError("holds no scores", where=content.origin.name, mend="Add some.")
    rows = [content.rows[i] for i in keep]
    origin = content.origin.of_rows(np.array(keep))
    content = replace(content, rows=rows, origin=origin)
    width = len(rows[0])
    form = _found(content, fallback) if form == "auto" else form
    layout = _WITHOUT_RUN.get(form, {}).get(width, LAYOUTS[form])
    line = " ".join(_WORDS.get(name) or name for name in layout)
    content.check_width(line, f"{form} has these columns in every line.")
    columns = dict(zip(layout, zip(*rows, strict=True), strict=True))
    columns.setdefault("query_id", (MEAN,) * len(rows))
    if "run_id" not in columns:
        run = names[0] if names else run_of(content.origin.name)
        columns["run_id"] = (run,) * len(rows)
    wanted = ("run_id", "query_id", "measure", "value")
    frame = pd.DataFrame({name: columns[name] for name in wanted}, dtype="str")
    return Named(frame, content.origin, content.head)


def run_of(path: files.Source) -> str:
    """Name the run after the file that holds its scores."""
    return files.stem(path).removesuffix(".eval")


def _names_run(row: Sequence[str]) -> bool:
    return len(row) == 3 and list(row[:2]) == ["runid", MEAN]


def _found(content: Columns, fallback: bool) -> str:
    """Find the format of lines of scores.

    Raises:
        DataError: several formats are possible; the message has a guess.
    """
    rows, width = content.rows, len(content.rows[0])
    if width == 6:
        if _is_ranking(rows):
            return "ranking"
        raise DataError(
            "may be scores in the format ranking, or a run: some topics lack some of "
            "the ranked names",
            where=content.origin.name,
            mend="If these are scores, say so: score_format='ranking', --score-format "
            "ranking.",
        )
    topics_last = "trec_eval" if width == 3 else "tot"
    if width not in (3, 4):
        raise DataError(
            f"expected scores in the format {_SHOWN}, found {content.text(0)}",
            where=content.origin.at(0),
        )
    before, last = ({row[i] for row in rows if len(row) == width} for i in (-3, -2))
    decided = _holds_topics(last, before)
    if decided is None and fallback:
        decided = True
    if decided is None:
        guess = topics_last if len(last) >= len(before) else "ir_measures"
        raise DataError(
            f"may be scores in the format {topics_last} or ir_measures: nothing shows "
            f"which column names topics, {content.text(0)}",
            where=content.origin.at(0),
            mend=f"Say which: score_format={guess!r}, --score-format {guess}, if the "
            f"column with {max(len(last), len(before))} names is that of topics.",
        )
    return topics_last if decided else "ir_measures"


def _holds_topics(one: set[str], other: set[str]) -> bool | None:
    """Return whether the column `one` holds topics, not `other`; None if unsure.

    Only topics can be called `all`, and names of measures do not begin with a digit.
    A single number may be something else, such as the iteration of qrels.
    """
    means = MEAN in one, MEAN in other
    if means[0] != means[1]:
        return means[0]
    for topics, measures, which in ((one, other, True), (other, one, False)):
        numbered = [bool(_NUMBERED(name)) for name in topics - {MEAN}]
        if len(numbered) > 1 and all(numbered) and not any(map(_DIGIT, measures)):
            return which
    return None


def _is_ranking(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether a file has scores: all topics rank the same, or one is `all`."""
    ranked: dict[str, set[str]] = {}
    for row in rows:
        if len(row) == 6:
            ranked.setdefault(row[0], set()).add(row[2])
    every = set().union(*ranked.values())
    whole = len(ranked) > 1 and all(names == every for names in ranked.values())
    return MEAN in ranked or whole


def in_order(table: pd.DataFrame, means: pd.DataFrame, form: str) -> pd.DataFrame:
    """Sort scores and their means like the lines of a file: by run; rankings by topic.

    Both have run_id, query_id, measure, value; means come last, or are the last topic.
    """
    every = pd.concat([table, means], ignore_index=True)
    if form != "ranking":
        return every.sort_values("run_id", kind="stable", ignore_index=True)
    for name in ("query_id", "measure"):  # in order of appearance, not by name
        every[f"place of {name}"] = every.groupby(name, sort=False).ngroup()
    places = ["place of query_id", "place of measure"]
    every = every.sort_values(
        [*places, "value", "run_id"], ascending=[True, True, False, True]
    )
    every["rank"] = every.groupby(places).cumcount() + 1
    return every.drop(columns=places).reset_index(drop=True)


def lines(rows: pd.DataFrame, form: str) -> list[str]:
    """Write scores and means, sorted by `in_order`, at full precision."""
    if form == "jsonl":
        named = rows[[*SCORES]].rename(columns={"query_id": "topic_id"})
        records = named.to_dict("records")
        return [json.dumps(record, ensure_ascii=False) for record in records]
    columns = [
        rows[name].tolist() if name in rows else [name] * len(rows)  # Q0
        for name in LAYOUTS[form]
    ]
    place, measures = LAYOUTS[form].index("value"), rows["measure"]
    columns[place] = [*map(number, columns[place], measures)]
    made = ["\t".join(map(str, row)) for row in zip(*columns, strict=True)]
    if form == "trec_eval":  # only this line names the run
        made.insert(0, f"runid\t{MEAN}\t{rows['run_id'].iloc[0]}")
    return made


def number(value: float, measure: str, digits: int | None = None) -> str:
    """Write a score or mean with all or some digits; a count as a whole number.

    A measure that counts adds up all queries, unless it has `mean=`.
    """
    if is_count(measure) and float(value).is_integer():
        return f"{value:.0f}"
    return repr(value) if digits is None else f"{value:.{digits}f}"


def is_count(measure: str) -> bool:
    """Return whether scores by a measure, and their sums, are whole numbers."""
    return re.split(r"[(@]", measure)[0].strip() in SUMMED and "mean=" not in measure


def check_suffix(path: Path, form: str) -> None:
    """Refuse a suffix with which a file would be read as something else.

    Raises:
        UsageError: the suffix is of another format, or of a compressed file.
    """
    suffix = path.suffix.lower()
    other = CONTAINER_SUFFIXES.get(suffix, form) != form or suffix in COMPRESSED
    if other or (suffix == ".trec" and form not in ("trec_eval", "tot")):
        raise UsageError(
            f"{path}: {suffix} is no suffix of scores in the format {form}; name "
            f"{path.stem}{'.jsonl' if form == 'jsonl' else '.txt'}"
        )


def check_writable(table: pd.DataFrame, form: str, where: str) -> None:
    """Refuse scores whose lines would be read with another meaning.

    Raises:
        UsageError: there are several runs, which trec_eval's lines do not name.
        DataError: a name would be split, or mean something else.
    """
    runs = table["run_id"].unique()
    if form == "trec_eval" and len(runs) > 1:
        raise UsageError(
            f"{where}: lines of trec_eval name no run, and there are {len(runs)}: "
            "choose tot, ir_measures, ranking or jsonl"
        )
    if change := lost(table, form):
        raise DataError(f"lines of {form} would make {change}", where=where, mend=MEND)


def lost(table: pd.DataFrame, form: str, tabbed: bool = False) -> str:
    """Describe the first name that a reader of lines would misread; "" if none.

    Args:
        table: run_id, query_id and measure.
        form: One of `SCORE_FORMATS`.
        tabbed: Whether only tabs separate fields.
    """
    if (table["query_id"] == MEAN).any():
        return f"a mean of query {MEAN!r}"
    first, *_ = LAYOUTS.get(form, [""])
    for name in ("run_id", "query_id", "measure") if first else ():
        noun = {"run_id": "run", "query_id": "query"}.get(name, name)
        for value in table[name].unique():
            if not tabbed and len(value.split()) > 1:
                return f"several fields of {noun} {value!r}"
            if name == first and value.startswith("#"):
                return f"a comment of {noun} {value!r}"
    if first and not tabbed and (table["measure"] == MEAN).any():
        return f"a topic of measure {MEAN!r}"
    return ""
