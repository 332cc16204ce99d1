"""Preference judgments in columns without a header: recognition of formats, parsing.

Polars splits regular files, Python splits others line by line; the columns of both are
parsed here.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import polars as pl

from pgcjax.errors import DataError
from pgcjax.io.choices import LEVELS
from pgcjax.io.closure import transitive_closure
from pgcjax.io.containers import Columns, Named
from pgcjax.io.fast_columns import TEXT, Regular, table
from pgcjax.io.schema import (
    PREFERENCES,
    Origin,
    indistinct,
    known_column,
    lenient_number,
    shorten,
    tell_indistinct,
)
from pgcjax.io.votes.layouts import is_header, names_query
from pgcjax.later import pd

SILENT = "silent"
"""Key in `attrs` that marks tables as results of `read_preferences`."""
Misfit = tuple[int, str] | None


@dataclass(frozen=True)
class Format:
    """A format of preference judgments without a header.

    Attributes:
        name: Name of the format for users.
        layout: The columns, for messages.
        misfit: Returns the first row that does not fit, and the reason; or None.
        parse: Returns canonical columns, and each judgment's row if rows changed.
        doubt: Returns why rows that fit may still be something else, or "".
    """

    name: str
    layout: str
    misfit: Callable[[pl.DataFrame], Misfit]
    parse: Callable[[pl.DataFrame, Origin], tuple[pl.DataFrame, np.ndarray | None]]
    doubt: Callable[[pl.DataFrame], str] = lambda frame: ""

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.layout.split())


def parse_fields(data: bytes, format: str) -> pl.DataFrame | None:
    """Split a regular file into columns of text; return None for other files."""
    widths = [f.width for f in FORMATS.values() if format in ("auto", f.name)]
    frame = table(data, {n: {str(i): TEXT for i in range(n)} for n in widths})
    # The reader that splits line by line refuses a canonical header.
    return None if frame is None or all(map(known_column, frame.row(0))) else frame


def read_text(content: Columns | Regular, format: str) -> Named | Regular:
    """Read a file without a header by its format, given or recognised.

    Raises:
        DataError: rows fit no format, or several, or not the given one.
    """
    frame, origin = _usual_rows(content)
    _refuse_header(frame, origin)
    fit = _recognise(frame, origin) if format == "auto" else FORMATS[format]
    mend = f"Read as {fit.name}; if that is wrong, name the format."
    if isinstance(content, Columns):
        content.check_width(fit.layout, mend)
    if misfit := fit.misfit(frame):
        i, reason = misfit
        raise DataError(
            f"expected '{fit.layout}', found {_text(frame, i)}: {reason}",
            where=origin.at(i),
            mend=mend,
        )
    judged, places = fit.parse(frame, origin)
    if places is None and isinstance(content, Regular):
        return replace(content, frame=judged)
    silent = 0
    if places is not None:
        silent = frame["0"].n_unique() - judged["query_id"].n_unique()
        origin = origin.of_rows(places)
        if not (judged["preference"] != 0).any():
            raise DataError(
                "prefers no document to another: all levels of a subgroup are equal",
                where=origin.name,
                mend=mend,
            )
    preferences = judged.to_pandas()
    preferences.attrs[SILENT] = silent
    return Named(preferences, origin, comments=content.comments, silent=silent)


def _usual_rows(content: Columns | Regular) -> tuple[pl.DataFrame, Origin]:
    """Return the rows with the most frequent number of fields, and their origin."""
    if isinstance(content, Regular):
        return content.frame, content.origin
    widths = [len(row) for row in content.rows]
    width = max(dict.fromkeys(widths), key=widths.count)
    usual = [row for row in content.rows if len(row) == width]
    columns = enumerate(zip(*usual, strict=True))
    origin = content.origin.of_rows(np.flatnonzero(np.array(widths) == width))
    return pl.DataFrame({str(n): list(cells) for n, cells in columns}), origin


def _text(frame: pl.DataFrame, i: int) -> str:
    return shorten(" ".join(frame.row(i)))


def _refuse_header(frame: pl.DataFrame, origin: Origin) -> None:
    """Refuse a line that names columns, because formats have none that says who won."""
    query = frame["0"]
    names = [q for q in query.unique().to_list() if names_query(q)]
    for i in query.is_in(names).arg_true().to_list() if names else ():
        if is_header(frame.row(i)):
            raise DataError(
                "expected tabs or commas between the columns of a header, found "
                + _text(frame, i),
                where=origin.at(i),
                mend="Separate all columns so, or remove the line.",
            )


def _recognise(frame: pl.DataFrame, origin: Origin) -> Format:
    """Return the one format that all rows fit.

    Raises:
        DataError: none fits, or several do.
    """
    width = frame.width
    candidates = [f for f in FORMATS.values() if f.width == width]
    misfits = {f.name: misfit for f in candidates if (misfit := f.misfit(frame))}
    fitting = [f for f in candidates if f.name not in misfits]
    doubts = list(dict.fromkeys(filter(None, (f.doubt(frame) for f in fitting))))
    if len(fitting) == 1 and not doubts:
        return fitting[0]
    if fitting:
        names = " and ".join(f"{f.name} ('{f.layout}')" for f in fitting)
        raise DataError(
            f"fits {names}" + "".join(f", but {doubt}" for doubt in doubts),
            where=origin.name,
            mend="If it holds preferences, name their format: --prefs-format "
            + " or ".join(f.name for f in fitting)
            + " (format= in Python).",
        )
    if not candidates:
        layouts = "; ".join(f"{f.name} '{f.layout}'" for f in FORMATS.values())
        run = " as in a run, which goes without an option" if width == 6 else ""
        raise DataError(
            f"expected preferences, found {width} fields{run}: {_text(frame, 0)}",
            where=origin.at(0),
            mend=f"Formats: {layouts}; or a table with a header.",
        )
    # The format that fits the most lines is most likely: report its misfit.
    furthest = sorted(misfits.items(), key=lambda item: item[1][0], reverse=True)
    worst = furthest[0][1][0]
    reasons = [
        f"not {name} ({origin.place(row)}: {reason})"
        for name, (row, reason) in furthest
    ]
    raise DataError(
        f"{_text(frame, worst)} fits no format of {width} columns: "
        + "; ".join(reasons),
        where=origin.at(worst),
        mend="Mend the line, or name the format: format=… (--prefs-format "
        "on the command line).",
    )


def _first(bad: pl.Series, reason: str) -> Misfit:
    return (int(bad.to_numpy().argmax()), reason) if bad.any() else None


def _pairs(*columns: pl.Series) -> pl.DataFrame:
    names = zip(columns, PREFERENCES, strict=True)
    return pl.DataFrame([column.alias(name) for column, name in names])


def _luo(frame: pl.DataFrame, origin: Origin) -> tuple[pl.DataFrame, None]:
    return _pairs(*frame, pl.repeat(1.0, len(frame), eager=True)), None


# Numbers in the forms that programs write: not 007 or 1_0.
_SCORE = r"^[-+]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?$"


def _luo_doubt(frame: pl.DataFrame) -> str:
    """Return a reason for doubt if losers look like scores, and not like winners."""
    _, winner, loser = frame
    if not loser.str.contains(_SCORE).all():
        return ""
    whole = r"^[0-9]+$"
    same = winner.str.contains(_SCORE).all() and (
        winner.str.contains(whole).all() == loser.str.contains(whole).all()
    )
    return "" if same else "its third column holds numbers, as a run's scores"


def _clarke_misfit(frame: pl.DataFrame) -> Misfit:
    _, a, b, best = frame
    reason = "the fourth is neither the second nor the third"
    return _first((best != a) & (best != b), reason)


def _clarke(frame: pl.DataFrame, origin: Origin) -> tuple[pl.DataFrame, None]:
    query, a, b, best = frame
    return _pairs(query, a, b, (a == best).cast(pl.Float64) * 2 - 1), None


_JELSAS = {"-2": -1.0, "-1": 1.0, "0": 0.0, "1": -1.0, "2": -1.0}
"""Signs of Jelsas' labels: -1 prefers the first document, and ±2 judges one bad."""


def _jelsas_misfit(frame: pl.DataFrame) -> Misfit:
    _, a, b, label = frame
    # If one document is bad, the other field holds NA, which is no id there.
    void = ((a == "NA") != (label == "2")) | ((b == "NA") != (label == "-2"))
    misfits = (
        _first(~label.is_in(list(_JELSAS)), "the fourth is not -2, -1, 0, 1 or 2"),
        _first(void, "NA and ±2 go together: 'doc NA -2' or 'NA doc 2' says bad"),
    )
    return min(filter(None, misfits), key=lambda misfit: misfit[0], default=None)


def _jelsas(frame: pl.DataFrame, origin: Origin) -> tuple[pl.DataFrame, None]:
    query, a, b, label = frame
    bad = label.is_in(["-2", "2"])
    sign = label.replace_strict(_JELSAS, return_dtype=pl.Float64)
    return _pairs(query, a.zip_with(label != "2", b), b.set(bad, None), sign), None


def _qrels_doubt(frame: pl.DataFrame) -> str:
    second = frame["1"]
    if len(second) > 1 and (second == second[0]).all():
        return f"its second column is always {second[0]!r}, as in qrels"
    return ""


def _level_misfit(frame: pl.DataFrame) -> Misfit:
    level, reason = frame.to_series(-1), "the last is not a level of 0 or more"

    def is_level(cell: str) -> bool:
        return 0 <= lenient_number(cell) < math.inf

    if not is_level(level[0]):  # probably ids, of which there may be many
        return 0, reason
    odd = [cell for cell in level.unique().to_list() if not is_level(cell)]
    return _first(level.is_in(odd), reason) if odd else None


def _trec_prefs_misfit(frame: pl.DataFrame) -> Misfit:
    _, group, subgroup, doc, last = frame
    # If the last field repeats another, the file has Clarke's format and one column
    # more: the last field is the better document, and no level.
    repeats = (last == subgroup) | (last == doc)
    if ((doc == group) | (doc == subgroup)).all() or (
        repeats.all() and (last == doc).any()
    ):
        return 0, "a column repeats one of the two before it on every line"
    return _level_misfit(frame)


def _qrels_prefs_misfit(frame: pl.DataFrame) -> Misfit:
    _, a, b, last = frame
    # Ids may be whole numbers, as in MS MARCO, so Clarke's best may look like a level.
    # But only a best document repeats either column before it, and one in every line.
    first, second = last == a, last == b
    if (first != second).all() and first.any() and second.any():
        return 0, "the fourth repeats the second or third on every line"
    return _level_misfit(frame)


def _trec_prefs(frame: pl.DataFrame, origin: Origin) -> tuple[pl.DataFrame, np.ndarray]:
    """Convert levels to pairs, as trec_eval's `get_prefs.c` describes them.

    Levels compare documents of one subgroup. The preferences of all subgroups of one
    judgment group are transitive, count once, and may not contradict each other. A
    group without preferences is kept as ties, for measures that count judges or
    queries.

    For the second example, the comment there lists 4>1 and 4>2 but not 4>3, which
    follows from 4>1 and 1>3. trec_eval itself counts such pairs (its test query
    40.PA.tran has 24 preferences, 6 of them implied), and so does this function.
    """
    query, group, subgroup, doc, level = (column.to_list() for column in frame)
    same = pd.DataFrame({"query": query, "group": group, "subgroup": subgroup})
    equal = indistinct(pd.Series(level), np.array(level, np.float64), same)
    tell_indistinct(equal, f"levels of {origin.name}")
    groups: dict[tuple[str, str], dict[str, list[int]]]
    groups = defaultdict(lambda: defaultdict(list))
    for i in range(len(query)):
        groups[query[i], group[i]][subgroup[i]].append(i)
    names = (*PREFERENCES[:3], "judge", "preference", *LEVELS)
    out: dict[str, list] = {name: [] for name in names}
    places = []
    for (q, g), subgroups in groups.items():
        row_of = _last_rows(subgroups, doc, level, origin)
        docs = sorted(row_of)
        vertex = {d: v for v, d in enumerate(docs)}
        above, clash = _above(vertex, subgroups, doc, level)
        if len(clash):
            a, b = (docs[v] for v in clash[0])
            raise DataError(
                f"group {g!r} of query {q!r} prefers {a!r} to {b!r}, and also says "
                f"otherwise ({origin.place(row_of[a])}, {origin.place(row_of[b])})",
                where=origin.at(max(row_of[a], row_of[b])),
                mend="Judgments that conflict belong to different groups.",
            )
        better, worse = np.nonzero(above)
        preference = 1.0
        if not len(better):
            better, worse, preference = *_chain(vertex, subgroups, doc), 0.0
        out["query_id"] += [q] * len(better)
        out["judge"] += [g] * len(better)
        out["doc_id"] += [docs[v] for v in better]
        out["other_doc_id"] += [docs[v] for v in worse]
        out["preference"] += [preference] * len(better)
        levels = [float(level[row_of[d]]) for d in docs]
        out["doc_level"] += [levels[v] for v in better]
        out["other_doc_level"] += [levels[v] for v in worse]
        out["subgroups"] += [float(len(subgroups))] * len(better)
        places += [row_of[docs[v]] for v in better]
    types = {name: pl.Float64 for name in ("preference", *LEVELS)}
    return pl.DataFrame(out, schema_overrides=types), np.array(places, int)


def _above(
    vertex: Mapping[str, int],
    subgroups: Mapping[str, Sequence[int]],
    doc: Sequence[str],
    level: Sequence[str | float],
) -> tuple[np.ndarray, np.ndarray]:
    """Find which documents are above others by all subgroups, and contradictions."""
    above = np.zeros((len(vertex), len(vertex)), bool)
    tied = above.copy()
    for rows in subgroups.values():
        v = np.array([vertex[doc[i]] for i in rows])
        x = np.array([float(level[i]) for i in rows])
        above[np.ix_(v, v)] |= x[:, None] > x[None, :]
        tied[np.ix_(v, v)] |= x[:, None] == x[None, :]
    if len(subgroups) < 2:
        return above, np.zeros((0, 2), int)
    above = transitive_closure(above)
    np.fill_diagonal(above, False)  # pairs show a cycle
    return above, np.argwhere(above & (above.T | tied))


def _chain(
    vertex: dict[str, int], subgroups: dict[str, list[int]], doc: Sequence
) -> tuple[list[int], list[int]]:
    """Tie each document of a subgroup of equal documents to the next."""
    ties: dict[tuple[int, int], None] = {}
    for rows in subgroups.values():
        equal = sorted({vertex[doc[i]] for i in rows})
        ties |= dict.fromkeys(pairwise(equal))
    return [a for a, _ in ties], [b for _, b in ties]


def _last_rows(
    subgroups: dict[str, list[int]], doc: Sequence, level: Sequence, origin: Origin
) -> dict[str, int]:
    """Find each document's last row in a group; refuse levels that contradict it."""
    last: dict[str, int] = {}
    for rows in subgroups.values():
        here: set[str] = set()
        for i in rows:
            before = last.get(doc[i], i)
            one, other = float(level[before]), float(level[i])
            if one != other and (doc[i] in here or not (one and other)):
                raise DataError(
                    f"document {doc[i]!r} has level {level[before]} "
                    f"({origin.place(before)}) and level {level[i]} "
                    f"({origin.place(i)}) in one {'sub' * (doc[i] in here)}group",
                    where=origin.at(i),
                    mend="Keep one of the two."
                    if doc[i] in here
                    else "Level 0 says not relevant, for all subgroups of a group.",
                )
            here.add(doc[i])
            last[doc[i]] = i
    return last


def _trec_qrels_prefs(
    frame: pl.DataFrame, origin: Origin
) -> tuple[pl.DataFrame, np.ndarray]:
    return _trec_prefs(
        frame.select("0", "1", pl.lit("0").alias("subgroup"), "2", "3"), origin
    )


FORMATS = {
    f.name: f
    for f in (
        Format("clarke", "query doc doc best", _clarke_misfit, _clarke),
        Format("luo", "query winner loser", lambda frame: None, _luo, _luo_doubt),
        Format("jelsas", "query doc doc -2..2", _jelsas_misfit, _jelsas, _qrels_doubt),
        Format(
            "trec-prefs",
            "query group subgroup doc level",
            _trec_prefs_misfit,
            _trec_prefs,
        ),
        Format(
            "trec-qrels-prefs",
            "query group doc level",
            _qrels_prefs_misfit,
            _trec_qrels_prefs,
            _qrels_doubt,
        ),
    )
}
