"""The text formats of preference judgments: what fits each, and how it is read."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from pgcjax.errors import DataError
from pgcjax.io.choices import LEVELS
from pgcjax.io.closure import transitive_closure
from pgcjax.io.containers import Columns
from pgcjax.io.schema import Origin, indistinct, lenient_number, tell_indistinct
from pgcjax.io.votes.layouts import is_header
from pgcjax.later import pd

Fields = Sequence[tuple[str, ...]]  # columns of equal length
Parsed = tuple[dict[str, Sequence], np.ndarray | None]  # columns, row of each judgment


@dataclass(frozen=True)
class Format:
    """A format of preference judgments without a header.

    Attributes:
        name: what a user calls it.
        width: number of columns.
        layout: the columns, for messages.
        misfit: gives the first row that cannot be of this format, and why, or None.
        parse: gives canonical columns, and which row each came from if that changed.
        doubt: says why rows that fit may be something else all the same, or "".
    """

    name: str
    width: int
    layout: str
    misfit: Callable[[Fields], tuple[int, str] | None]
    parse: Callable[[Fields, Origin], Parsed]
    doubt: Callable[[Fields], str] = lambda columns: ""


def _first(bad: Sequence[bool], reason: str) -> tuple[int, str] | None:
    return next(((i, reason) for i, b in enumerate(bad) if b), None)


def _clarke_misfit(columns: Fields) -> tuple[int, str] | None:
    _, a, b, best = columns
    wrong = [z not in (x, y) for x, y, z in zip(a, b, best, strict=True)]
    return _first(wrong, "the fourth is neither the second nor the third")


def _clarke(columns: Fields, origin: Origin) -> Parsed:
    query, a, b, best = columns
    sign = [1.0 if x == z else -1.0 for x, z in zip(a, best, strict=True)]
    return _pairs(query, a, b, sign), None


def _luo(columns: Fields, origin: Origin) -> Parsed:
    query, winner, loser = columns
    return _pairs(query, winner, loser, [1.0] * len(query)), None


def _pairs(query: Sequence, a: Sequence, b: Sequence, sign: Sequence) -> dict:
    return {"query_id": query, "doc_id": a, "other_doc_id": b, "preference": sign}


def _luo_doubt(columns: Fields) -> str:
    winners, losers = map(_looks, columns[1:])
    if losers != "text" and losers != winners:
        return "its third column holds numbers, as a run's scores"
    return ""


# A number as programs write scores: 007 and 1_0 are not.
_SCORE = re.compile(
    r"[-+]?(?=\.?\d)(0|[1-9]\d*)?(\.\d*)?([eE][-+]?\d+)?", re.ASCII
).fullmatch


def _looks(column: Sequence[str]) -> str:
    if not all(map(_SCORE, column)):
        return "text"
    return "whole" if all(map(str.isdecimal, column)) else "decimal"


_JELSAS = {"-2": -2.0, "-1": -1.0, "0": 0.0, "1": 1.0, "2": 2.0}


def _jelsas_misfit(columns: Fields) -> tuple[int, str] | None:
    _, a, b, label = columns
    for i, (x, y, z) in enumerate(zip(a, b, label, strict=True)):
        if z not in _JELSAS:
            return i, "the fourth is not -2, -1, 0, 1 or 2"
        # BAD is said of one document; the other place holds NA, which is no id there.
        if (x == "NA", y == "NA") != (z == "2", z == "-2"):
            return i, "NA and ±2 go together: 'doc NA -2' or 'NA doc 2' says bad"
    return None


def _qrels_doubt(columns: Fields) -> str:
    if len(set(columns[1])) == 1 and len(columns[1]) > 1:
        return f"its second column is always {columns[1][0]!r}, as in qrels"
    return ""


def _jelsas(columns: Fields, origin: Origin) -> Parsed:
    query, a, b, label = columns
    docs, others, signs = [], [], []
    for x, y, z in zip(a, b, label, strict=True):
        bad = abs(_JELSAS[z]) == 2
        docs.append(y if z == "2" else x)
        others.append(None if bad else y)
        # -1 prefers the first document: the sign is the other way round here.
        signs.append(-1.0 if bad else 0.0 - _JELSAS[z])
    return _pairs(query, docs, others, signs), None


def _level_misfit(columns: Fields) -> tuple[int, str] | None:
    wrong = [not 0 <= lenient_number(level) < math.inf for level in columns[-1]]
    return _first(wrong, "the last is not a level of 0 or more")


def _trec_prefs_misfit(columns: Fields) -> tuple[int, str] | None:
    _, group, subgroup, doc, last = columns
    rows = list(zip(group, subgroup, doc, last, strict=True))
    # Clarke's columns and one more: the best is no document of subgroups, nor a level.
    if all(d in (g, s) for g, s, d, _ in rows) or (
        all(z in (s, d) for _, s, d, z in rows) and any(z == d for *_, d, z in rows)
    ):
        return 0, "a column repeats one of the two before it on every line"
    return _level_misfit(columns)


def _trec_prefs(columns: Fields, origin: Origin) -> Parsed:
    """Turn levels into pairs, as trec_eval's `get_prefs.c` describes them.

    Levels compare documents of one subgroup. What the subgroups of one judgment group
    say together is transitive, counts once, and may not contradict itself. A group
    that prefers nothing is kept as ties, for measures that count judges or queries.

    Of its second example, the comment there lists 4>1 and 4>2 but not 4>3, which
    follows from 4>1 and 1>3. trec_eval itself counts such pairs (its test query
    40.PA.tran has 24 preferences, 6 of them implied), and so does this.
    """
    query, group, subgroup, doc, level = columns
    same = pd.DataFrame({"query": query, "group": group, "subgroup": subgroup})
    equal = indistinct(pd.Series(level), np.array(level, np.float64), same)
    tell_indistinct(equal, f"levels of {origin.name}")
    groups: dict[tuple[str, str], dict[str, list[int]]]
    groups = defaultdict(lambda: defaultdict(list))
    for i in range(len(query)):
        groups[query[i], group[i]][subgroup[i]].append(i)
    names = ("query_id", "doc_id", "other_doc_id", "judge", "preference")
    out: dict[str, list] = {name: [] for name in (*names, *LEVELS)}
    places = []
    for (q, g), subgroups in groups.items():
        row_of = _last_rows(subgroups, doc, level, origin)
        docs = sorted(row_of)
        vertex = {d: v for v, d in enumerate(docs)}
        above = np.zeros((len(docs), len(docs)), bool)
        tied = above.copy()
        for rows in subgroups.values():
            v = np.array([vertex[doc[i]] for i in rows])
            x = np.array([float(level[i]) for i in rows])
            above[np.ix_(v, v)] |= x[:, None] > x[None, :]
            tied[np.ix_(v, v)] |= x[:, None] == x[None, :]
        if len(subgroups) > 1:
            above = transitive_closure(above)
            np.fill_diagonal(above, False)  # a cycle shows in its pairs
            clash = np.argwhere(above & (above.T | tied))
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
    return {**out}, np.array(places, int)


def _chain(
    vertex: dict[str, int], subgroups: dict[str, list[int]], doc: Sequence
) -> tuple[list[int], list[int]]:
    """Tie the documents of each subgroup, all equal, one to the next."""
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


def _qrels_prefs_misfit(columns: Fields) -> tuple[int, str] | None:
    _, a, b, last = columns
    # Ids may be whole numbers, as in MS MARCO: then Clarke's best would be a level. But
    # no level repeats now the column before it, now the one before that, line by line.
    sides = {(z == x, z == y) for x, y, z in zip(a, b, last, strict=True)}
    if sides == {(True, False), (False, True)}:
        return 0, "the fourth repeats the second or third on every line"
    return _level_misfit(columns)


def _trec_qrels_prefs(columns: Fields, origin: Origin) -> Parsed:
    query, group, doc, level = columns
    return _trec_prefs((query, group, ("0",) * len(query), doc, level), origin)


FORMATS = {
    f.name: f
    for f in (
        Format("clarke", 4, "query doc doc best", _clarke_misfit, _clarke),
        Format("luo", 3, "query winner loser", lambda _: None, _luo, _luo_doubt),
        Format(
            "jelsas", 4, "query doc doc -2..2", _jelsas_misfit, _jelsas, _qrels_doubt
        ),
        Format(
            "trec-prefs",
            5,
            "query group subgroup doc level",
            _trec_prefs_misfit,
            _trec_prefs,
        ),
        Format(
            "trec-qrels-prefs",
            4,
            "query group doc level",
            _qrels_prefs_misfit,
            _trec_qrels_prefs,
            _qrels_doubt,
        ),
    )
}


def check_header(content: Columns) -> None:
    """Refuse a line that names columns: which of them won, no format says.

    Raises:
        DataError: there is one.
    """
    for i, row in enumerate(content.rows):
        if is_header(row):
            raise DataError(
                f"expected tabs or commas between the columns of a header, found "
                f"{content.text(i)}",
                where=content.origin.at(i),
                mend="Separate all columns so, or remove the line.",
            )


def recognise(content: Columns, width: int) -> Format:
    """Find the one format that all rows of the usual width fit.

    Raises:
        DataError: none fits, or several do.
    """
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
