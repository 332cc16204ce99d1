"""Base class of results: a table, its metadata, and notes for users."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from pgcjax.io.text_tables import TextTable, html, latex, markdown, text_table
from pgcjax.io.write import write_table
from pgcjax.later import figures, pd

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_Value = TypeVar("_Value")


def computed(make: Callable[[Any], _Value]) -> _Value:
    """Declare a field that is computed from the others when it is first read."""
    value: Any = cached_property(make)
    return field(default=value, init=False, repr=False, compare=False)


def stacked(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Put tables one below the other, with their measures as the first column."""
    parts = [table.assign(measure=measure) for measure, table in tables.items()]
    table = pd.concat(parts, ignore_index=True)
    return table[["measure", *table.columns[:-1]]]


def _sort_key(column: pd.Series) -> pd.Series:
    """Return keys that sort text in the order of its first appearance."""
    if column.dtype.kind in "biuf":
        return column
    return pd.Series(pd.factorize(column)[0], column.index)


def names_at(names: Sequence[str], places: np.ndarray) -> pd.Series:
    """Return the names at some places as a column of text."""
    return pd.Series(np.array(names, object)[places], dtype="str")


@dataclass(frozen=True)
class Result:
    """Base of all results; classes for each kind add tables, or views of them.

    Attributes:
        table: The findings, one per row.
        metadata: All data and settings that they depend on.
        notes: Notes for users, one per line.
    """

    table: pd.DataFrame
    metadata: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    # Columns by which a notebook sorts rows, and whether they ascend; text is sorted in
    # the order of its appearance.
    _sorted_by: ClassVar[Mapping[str, bool]] = {}

    def save(self, path: str | os.PathLike, *, spreadsheet: bool = False) -> Path:
        """Write the findings at full precision, whole or not at all.

        The suffix decides the format: .csv, .tsv, .jsonl or .parquet. Metadata and
        `spreadsheet` are as in `Scores.save`; an infinite number is empty in .jsonl.

        Raises:
            UsageError: the suffix is none of these.
            DataError: the file cannot be written.
        """
        table, metadata = self._saved()
        return write_table(table, path, metadata, spreadsheet=spreadsheet)

    def text_table(self) -> TextTable:
        """Lay the findings out as text, with the notes below them."""
        return text_table(self._shown(), notes=self.notes)

    def to_latex(self) -> str:
        r"""Return a table for a paper, whose preamble has `\usepackage{booktabs}`."""
        return latex(self.text_table())

    def to_markdown(self) -> str:
        """Return a table for a page."""
        return markdown(self.text_table())

    def plot(self, measure: str | None = None, *, axes: Axes | None = None) -> Figure:
        """Draw the figure of these findings, as wide as a column of a paper.

        `pgcjax.reporting.canvas.save` writes it.

        Args:
            measure: Measure to draw, if there are several; by default the first.
            axes: Axes to draw on; by default those of a new figure.

        Raises:
            UsageError: matplotlib is not installed, or there is no such measure.
        """
        return figures.figure(self, measure, axes)

    def _repr_html_(self) -> str:
        """Return HTML for a notebook: at most 50 rows, intervals as bars, and notes."""
        frame = self._shown()
        if by := [name for name in self._sorted_by if name in frame]:
            ascending = [self._sorted_by[name] for name in by]
            frame = frame.sort_values(
                by, ascending=ascending, kind="stable", key=_sort_key
            )
        return html(frame, self.notes)

    def _saved(self) -> tuple[pd.DataFrame, dict[str, Any]]:
        """Return the rows and metadata of a file."""
        return self.table, self.metadata

    def _shown(self) -> pd.DataFrame:
        """Return the printed table."""
        return self.table
