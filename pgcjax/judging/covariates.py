"""Covariates of votes: what may sway judges towards one of two documents."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float64

from pgcjax.errors import UsageError, listed
from pgcjax.io.lengths import doublings, pair_lengths
from pgcjax.io.reading import reading
from pgcjax.io.schema import lenient_numbers
from pgcjax.judging.choices import SELF, SWAYS

_FAMILY, _JUDGES = "family", "judge_family"
_MOST = 20  # most categories of a covariate
_FLAT = 1e-8  # unexplained share of a covariate's sum of squares that is rounding
_FAINT = 1e-4  # weight up to which a covariate does not explain a collinear one

_NO_LENGTHS = (
    "lengths are unknown: give lengths (--lengths FILE), or columns length and "
    "other_length"
)
_NO_FIRST = "the presentation order is unknown: preferences have no column first"
_NO_FAMILY = (
    "self_preference: no judge judges a document of its own family: give families "
    "(--family NAME=FAMILY), or columns family_a, family_b and judge_family"
)


class Covariates(NamedTuple):
    """Covariates that may sway judges, of each vote; NaN where unknown.

    Attributes:
        names: Names of the columns; a category is `style=table`.
        towards: Values towards the document of each row and away from the other, a
            column each.
        unit: Difference, in units of the data, whose value is 1: for numbers, the
            standard deviation of their differences; else 1.
    """

    names: tuple[str, ...]
    towards: Float64[np.ndarray, "votes k"]
    unit: Float64[np.ndarray, " k"]

    @property
    def known(self) -> Float64[np.ndarray, "votes k"]:
        """Return the values, unknown ones replaced by 0, which has no effect."""
        return np.nan_to_num(self.towards) + 0.0  # and no negative zero


@contextmanager
def reading_covariates(names: Sequence[str]) -> Iterator[None]:
    """Let reading of votes keep the columns of covariates, inside a with block."""
    columns = [name for name in names if name not in (*SWAYS, SELF)]
    if SELF in names:
        columns += [_FAMILY, _JUDGES]
    with reading(covariates=columns):
        yield


def covariates_of(
    table: pd.DataFrame,
    names: Sequence[str],
    *,
    lengths: Any = None,
    families: Mapping[str, str] | None = None,
) -> Covariates:
    """Return covariates of votes, as differences between the two documents.

    Args:
        table: Canonical preferences between two documents, with the columns NAME and
            other_NAME of each covariate. Numbers are divided by the standard deviation
            of their differences; categories, except the most frequent one, become
            indicators.
        names: `first`: 1 for the document shown first; `longer`: the logarithm to base
            2 of the ratio of lengths; `self_preference`: 1 for a document of the
            judge's family; or names of columns.
        lengths: As in `read_lengths`; None takes the columns length and other_length.
        families: Families of judges and documents, by name; else columns family,
            other_family and judge_family; else all families differ.

    Raises:
        UsageError: votes lack a covariate, or it is equal on both sides everywhere.
    """
    columns: dict[str, np.ndarray] = {}
    units: list[float] = []
    for name in dict.fromkeys(names):
        if name in SWAYS:
            values = {name: _sway(table, name, lengths)}
        elif name == SELF:
            values = {name: own_family(table, families)}
            if not values[name].any():
                raise UsageError(_NO_FAMILY)
        else:
            values = _column(table, name, lengths)
        scale = 1.0
        if [*values] == [name] and name not in (*SWAYS, SELF):
            scale = float(np.sqrt(np.nanmean(values[name] ** 2))) or 1.0
        for column, value in values.items():
            if not np.nan_to_num(value).any():
                raise UsageError(
                    f"covariate {column!r} is the same on both sides of every vote"
                )
            columns[column] = value / scale
            units.append(scale)
    towards = np.array([*columns.values()]).reshape(-1, len(table)).T
    return Covariates((*columns,), np.ascontiguousarray(towards), np.array(units))


def _sway(table: pd.DataFrame, name: str, lengths: Any) -> np.ndarray:
    """Return the covariate `first` or `longer`; refuse it if no vote has it."""
    longer = name == "longer"
    towards = doublings(table, lengths) if longer else shown_first(table)
    if np.isnan(towards).all():
        raise UsageError(_NO_LENGTHS if longer else _NO_FIRST)
    return towards


def shown_first(table: pd.DataFrame) -> Float64[np.ndarray, " votes"]:
    """Return 1 where doc_id was shown first, -1 where the other was; NaN if unknown."""
    if "first" not in table:
        return np.full(len(table), np.nan)
    sign = np.where(table["first"] == table["doc_id"], 1.0, -1.0)
    return np.where(table["first"].notna(), sign, np.nan)


def own_family(
    table: pd.DataFrame, families: Mapping[str, str] | None
) -> Float64[np.ndarray, " votes"]:
    """Return 1 if only doc_id is of the judge's family, -1 if only other is; else 0."""
    if families is None and {_FAMILY, f"other_{_FAMILY}", _JUDGES} <= {*table}:
        judge, *sides = (table[c] for c in (_JUDGES, _FAMILY, f"other_{_FAMILY}"))
    else:
        if "judge" not in table:
            return np.zeros(len(table))
        names: Any = families or {}
        judge, *sides = (
            table[c].map(lambda name: names.get(name, name))
            for c in ("judge", "doc_id", "other_doc_id")
        )
    of_judge = (judge == side for side in sides)
    one, other = (same.fillna(False).to_numpy(np.float64) for same in of_judge)
    return one - other


def _column(table: pd.DataFrame, name: str, lengths: Any) -> dict[str, np.ndarray]:
    """Return differences of numbers, or indicators of categories."""
    if name == "length" and lengths is not None:
        one, other = pair_lengths(table, lengths)
        return {name: one - other}
    sides = [name, f"other_{name}"]
    if name not in table:
        raise UsageError(
            f"covariate {name!r}: votes have no columns {name}_a and {name}_b (nor "
            f"{name} and other_{name})"
        )
    if sides[1] not in table:
        raise UsageError(
            f"covariate {name!r}: the column {name} does not describe a side; "
            f"expected {name}_a and {name}_b (or {name} and other_{name})"
        )
    if all(table[c].dtype.kind in "biuf" for c in sides):
        return {name: table[name].to_numpy(float) - table[sides[1]].to_numpy(float)}
    known = np.stack([(table[c].notna() & (table[c] != "")).to_numpy() for c in sides])
    numbers = np.stack([lenient_numbers(table[c]) for c in sides])
    if np.isfinite(numbers[known]).all():
        return {name: numbers[0] - numbers[1]}
    values = np.stack([table[c].to_numpy(object) for c in sides])
    counts = pd.Series(values[known]).map(str).value_counts()
    categories = sorted(counts.index, key=lambda c: (-counts[c], c))
    if len(categories) > _MOST:
        raise UsageError(
            f"covariate {name!r} has {len(categories)} categories, such as "
            f"{listed(categories)}: at most {_MOST} are allowed"
        )
    places = {category: i for i, category in enumerate(categories)}
    one, other = (np.array([places.get(str(v), -1) for v in side]) for side in values)
    unknown = np.where(known.all(axis=0), 0.0, np.nan)
    return {
        f"{name}={c}": unknown + (one == i) - (other == i)
        for i, c in enumerate(categories)
        if i or len(categories) == 1
    }


def check_collinear(names: Sequence[str], products: Float64[np.ndarray, "p p"]) -> None:
    """Refuse a covariate that strengths and the covariates before it determine.

    Args:
        names: Names of the covariates, which are the last columns of the design X.
        products: XᵀX; the columns of documents, if any, are first.

    Raises:
        UsageError: a covariate is collinear; the message names those that determine it.
    """
    n, k = len(products) - len(names), len(names)
    square, both = products.diagonal()[n:], products[:n, n:]
    rest = products[n:, n:]
    rest = rest - both.T @ np.linalg.pinv(products[:n, :n], hermitian=True) @ both
    for column in range(k):
        before = rest[:column, :column], rest[:column, column]
        weights = np.linalg.solve(*before) if column else np.zeros(0)
        if rest[column, column] - weights @ before[1] > _FLAT * square[column]:
            continue
        others = [n for n, w in zip(names, weights, strict=False) if abs(w) > _FAINT]
        what = listed([*others, *["the strengths of documents"] * (not others)], 4)
        raise UsageError(
            f"covariate {names[column]!r} cannot be separated from {what}: leave one "
            "out"
        )
