"""Rows of tables of votes: objects and lists in cells, and lines that are no rows."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain

import numpy as np

from pgcjax.io.schema import Origin, refuse
from pgcjax.io.votes.header import Roles
from pgcjax.io.votes.layouts import SAYING
from pgcjax.later import pd

_MOST_KEYS = 20  # of objects whose keys are columns; of more, keys are data


def flattened(frame: pd.DataFrame) -> pd.DataFrame:
    """Make columns of the keys of objects, as JSON has them: `doc_a.id`."""
    parts: dict[str, pd.Series] = {}
    for place, name in enumerate(frame.columns):
        column = frame.iloc[:, place]
        cells = column.tolist() if column.dtype == object else []
        there = [cell for cell in cells if cell is not None]
        keys = list(dict.fromkeys(k for c in there if isinstance(c, dict) for k in c))
        objects = there and all(isinstance(cell, dict) for cell in there)
        if not objects or len(keys) > _MOST_KEYS:
            continue
        for key in keys:
            values = [None if c is None else c.get(key) for c in cells]
            parts[f"{name}.{key}"] = pd.Series(values, dtype=object, index=frame.index)
        parts[name] = column
    if not parts:
        return frame
    rest = frame.loc[:, [name not in parts for name in frame.columns]]
    deeper = pd.DataFrame({n: c for n, c in parts.items() if n not in frame.columns})
    return pd.concat([rest, flattened(deeper)], axis=1)


def check_header(frame: pd.DataFrame, roles: Roles, origin: Origin) -> None:
    """Refuse a row that names columns, as where two files were put together."""
    columns = [roles.of[r] for r in ("query_id", "a", "b") if r in roles.of]
    names = {str(name) for name in frame.columns}
    bad = np.ones(len(frame), bool)
    for column in columns:
        bad &= frame[column].isin(names).to_numpy()
        if not bad.any():
            return
    refuse(
        bad if len(columns) > 2 else bad[:0],
        lambda i: (
            f"expected a vote, found the names of columns, such as {columns[1]!r}"
        ),
        origin,
        "Read files with different headers by themselves, or remove the line.",
    )


def places(origin: Origin, rows: np.ndarray) -> np.ndarray:
    """Number the lines that rows (from 0) of a table are from."""
    return np.asarray(origin.places)[rows] if len(origin.places) else rows + 1


def exploded(
    cells: dict[str, pd.Series], of: Mapping[str, str], origin: Origin
) -> tuple[dict[str, pd.Series], np.ndarray]:
    """Make a row of each vote in lists of votes, and number the row it came from."""
    lists = [
        role
        for role, c in cells.items()
        if c.dtype == object and any(_is_list(x) for x in c.tolist())
    ]
    saying = [role for role in lists if role in SAYING]
    if "judge" in lists and not saying:
        # One answer of several judges, as of gold labels: no single one's.
        cells = {role: c for role, c in cells.items() if role != "judge"}
        lists.remove("judge")
    if not lists:
        return cells, np.arange(len(next(iter(cells.values()))))
    if not saying or {"a", "b", "query_id"} & {*lists}:
        role = next(r for r in lists if not saying or r in ("a", "b", "query_id"))
        refuse(
            np.array([_is_list(x) for x in cells[role]]),
            lambda i: f"expected one {of[role]}, found a list",
            origin,
            "Give each vote a row of its own.",
        )
    lengths = [[len(x) if _is_list(x) else -1 for x in cells[r]] for r in lists]
    main = lists.index("winner") if "winner" in lists else 0
    for role, length in zip(lists, lengths, strict=True):
        refuse(
            (np.array(length) != np.array(lengths[main])) | (np.array(length) < 0),
            lambda i, r=role, n=length: (
                f"expected lists of one length, found {max(lengths[main][i], 0)} of "
                f"{of[lists[main]]} and {max(n[i], 0) or 'no list'} of {of[r]}"
            ),
            origin,
            "Give each vote its judge; or name the columns that are lists of votes.",
        )
    if "judge" in cells and "judge" not in lists:
        refuse(
            np.array(lengths[main]) > 1,
            lambda i: f"expected a judge of each vote in {of[lists[main]]}, found one",
            origin,
            "Give a list of judges, as long as that of votes.",
        )
    rows = np.repeat(np.arange(len(lengths[main])), lengths[main])
    out = {}
    for role, column in cells.items():
        if role in lists:
            column = pd.Series([*chain.from_iterable(column)], dtype=object)
        else:
            column = column.iloc[rows].reset_index(drop=True)
        out[role] = column
    return out, rows


def _is_list(cell: object) -> bool:
    return isinstance(cell, (list, tuple, np.ndarray))
