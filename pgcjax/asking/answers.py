"""Answers of judges in files and tables of any layout, each with its place."""

import math
from collections.abc import Iterable
from hashlib import blake2b
from typing import Any, NamedTuple

import pandas as pd

from pgcjax.asking.asked import Answer
from pgcjax.errors import UsageError, listed
from pgcjax.io.files import Source
from pgcjax.io.in_memory import in_hand
from pgcjax.io.reading import chosen
from pgcjax.io.votes.read import read_placed
from pgcjax.io.weights import whole_weights

_ANSWER = ("query_id", "doc_id", "other_doc_id", "preference")
_MORE = ("probability", "seconds", "time")


class Given(NamedTuple):
    """An answer, and what else is known of it.

    Attributes:
        answer: what was said.
        where: `file:line`.
        more: columns that decide nothing, which are kept.
        id: equal for the same line of the same file; "" of a table in memory.
    """

    answer: Answer
    where: str
    more: dict[str, float]
    id: str


def read_answers(
    source: Source | Iterable[Source] | Any, format: str, judge: str | None
) -> tuple[list[Given], int]:
    """Read answers in any layout that `read_preferences` knows.

    A line is known by the name of its file and all lines above: a file that was added
    in part, or has grown, can be added again.

    Args:
        source: files or a table.
        format: as of `read_preferences`.
        judge: whose rows are that name no judge.

    Returns:
        The answers, and how many rows say that a judge gave none.

    Raises:
        UsageError: rows are of several aspects, or `flips` was chosen.
        DataError: a row is malformed.
    """
    if chosen().flips != "keep":
        raise UsageError(
            "flips goes without a tournament: one that shows both orders takes answers "
            "that do not agree for a tie"
        )
    source = in_hand(source, "preferences")
    in_memory = isinstance(source, pd.DataFrame)
    table, places = read_placed(source, format=format)
    weights = whole_weights(table, "a tournament")
    names = ["judge", "first", "aspect", *_MORE]
    columns = {n: _cells(table, n) for n in (*table.columns[:4], *names)}
    so_far, answers = blake2b(digest_size=8), []
    for i in _rows_of_aspect(columns["aspect"]):
        query, doc, other, value, judge_of_row, first = (
            columns[n][i] for n in (*_ANSWER, "judge", "first")
        )
        sign = (value > 0) - (value < 0)
        answer = Answer(query, doc, other, sign, first, judge_of_row or judge)
        where = places.at(i)
        more = {n: columns[n][i] for n in _MORE if columns[n][i] is not None}
        for number in range(1 if answer.judge else int(weights[i])):
            so_far.update(repr((where, answer, number)).encode())
            id = "" if in_memory else so_far.hexdigest()
            answers.append(Given(answer, where, more, id))
    return answers, sum(table.attrs.get("refused", {}).values())


def _rows_of_aspect(aspects: list[Any]) -> list[int]:
    """Choose the rows of the aspect that was named; all are of one."""
    wanted = chosen().aspects
    rows = [i for i, aspect in enumerate(aspects) if not wanted or aspect in wanted]
    if len(several := {aspects[i] for i in rows}) != 1:
        raise UsageError(
            f"expected answers of one aspect, found {listed(sorted(map(str, several)))}"
            ": name one, --aspect NAME (aspects= of pgcjax.files.reading in Python)"
            if several
            else f"no answer is of aspect {listed(wanted)}"
        )
    return rows


def _cells(table: pd.DataFrame, name: str) -> list[Any]:
    """List the cells of a column, None where nothing is known."""
    if name not in table:
        return [None] * len(table)
    cells = table[name].tolist()
    return [None if c is None or c is pd.NA or _is_nan(c) else c for c in cells]


def _is_nan(cell: object) -> bool:
    return isinstance(cell, float) and math.isnan(cell)
