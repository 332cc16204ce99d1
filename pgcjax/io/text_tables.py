"""Tables of text, as LaTeX, Markdown and HTML; `terminal` prints them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple

import numpy as np

from pgcjax.errors import one_line, printable
from pgcjax.later import pd

_ROWS = 50  # of a table in a notebook
_BAR = 120.0  # pixels of the longest interval in a notebook
_DIGITS, _MOST_DIGITS = 4, 9  # decimals: as in trec_eval, and for small numbers
# Characters with a meaning in LaTeX, or without a letter there.
LATEX_ESCAPES = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
    "-": "-{}",  # LaTeX would turn two of them into one dash, and two quotes into one
    "'": "'{}",
    "–": "--",
    "—": "---",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "α": r"$\alpha$",
    "τ": r"$\tau$",
    **{character: f"\\{character}" for character in "{}$&#_%"},
}
_MINUS = re.compile("(?<!-)-(?!-)")
LATEX_SPECIAL = re.compile(r"-(?=-)|'(?=')|[\\~^<>|`–—↑↓ατ{}$&#_%]")
# Characters with a meaning in Markdown: anywhere, and at the start of a line.
_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~$&])")
_START = re.compile(r"^(\d*)([-+=.)])(?=[-+=]*(\s|$))")


@dataclass(frozen=True)
class Column:
    """A column of text.

    Attributes:
        name: Name above the column.
        cells: Cell of each row.
        right: Whether it is aligned right, as numbers are.
        bold: Whether the cell of each row is bold; empty if none is.
        raised: Whether it has marks of the column before, which LaTeX raises.
    """

    name: str
    cells: Sequence[str]
    right: bool = False
    bold: Sequence[bool] = ()
    raised: bool = False

    @property
    def dressed(self) -> list[tuple[str, bool]]:
        """Each cell, and whether it is bold."""
        bold = self.bold or [False] * len(self.cells)
        return list(zip(self.cells, bold, strict=True))


@dataclass(frozen=True)
class TextTable:
    """A table of text.

    Attributes:
        columns: Columns with equal numbers of cells.
        title: Title of the table.
        notes: Notes below the table, one per line.
    """

    columns: Sequence[Column]
    title: str = ""
    notes: Sequence[str] = ()


def text_table(
    frame: pd.DataFrame, notes: Sequence[str] = (), best: str = ""
) -> TextTable:
    """Make a table of text of a DataFrame, without its index.

    Args:
        frame: Any DataFrame.
        notes: Notes below the table.
        best: Column whose largest number is bold.
    """
    columns = []
    for name in frame.columns:
        values = frame[name]
        numbers = values.dtype.kind in "if"
        bold = (values == values.max()).tolist() if name == best else ()
        columns.append(Column(str(name), cells_of(values), numbers, bold))
    return TextTable(columns, notes=notes)


def cells_of(values: pd.Series) -> list[str]:
    """Print values, floats with the decimals of `digits_of`."""
    digits = digits_of(values) if values.dtype.kind == "f" else _DIGITS
    return [cell_of(value, digits) for value in values.tolist()]


def cell_of(value: Any, digits: int = 4) -> str:
    """Print a value in a table; a small p as 1.2e-05, not as 0.0000."""
    if value is None or value is pd.NA or value != value:
        return "—"
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if not isinstance(value, (float, np.floating)):
        return str(value)
    if 0 < abs(value) < 0.5 * 10**-digits:
        return f"{value:.1e}"
    return f"{value:.{digits}f}"


def digits_of(values: pd.Series) -> int:
    """Choose decimals: 4, or more until the largest number has 3 significant digits.

    `cell_of` prints smaller numbers, as 1.2e-05 and not 0.0000.
    """
    sizes = np.abs(values.to_numpy(np.float64))
    most = sizes[np.isfinite(sizes)].max(initial=0.0)
    needed = 2 - math.floor(math.log10(most)) if most else 0
    return min(max(_DIGITS, needed), _MOST_DIGITS)


def latex_text(text: str) -> str:
    """Escape characters with a meaning in LaTeX."""
    return LATEX_SPECIAL.sub(lambda match: LATEX_ESCAPES[match[0]], printable(text))


def latex(table: TextTable) -> str:
    r"""Write a table for a paper, whose preamble has `\usepackage{booktabs}`."""
    shape, heads = "", []
    rows: list[list[str]] = [[] for _ in table.columns[0].cells]
    for column in table.columns:
        if column.raised:
            shape += "@{}l"
            heads[-1] = rf"\multicolumn{{2}}{{c}}{{{heads[-1]}}}"
        else:
            shape += "r" if column.right else "l"
            heads.append(latex_text(column.name))
        for row, (cell, bold) in zip(rows, column.dressed, strict=True):
            text = latex_text(cell)
            text = _MINUS.sub("$-$", text) if column.right else text
            text = rf"\textbf{{{text}}}" if bold else text
            raised = column.raised and text
            row.append(rf"\textsuperscript{{{text}}}" if raised else text)
    caption = " ".join(map(_sentence, filter(None, [table.title, *table.notes])))
    return "\n".join(
        [
            r"\begin{table}",
            r"  \centering",
            *([rf"  \caption{{{latex_text(caption)}}}"] if caption else []),
            rf"  \begin{{tabular}}{{{shape}}}",
            r"    \toprule",
            _latex_row(heads),
            r"    \midrule",
            *map(_latex_row, rows),
            r"    \bottomrule",
            r"  \end{tabular}",
            r"\end{table}",
        ]
    )


def _latex_row(cells: Sequence[str]) -> str:
    row = " & ".join(cells)
    # LaTeX reads these as options of the row end before them.
    return f"    {'{}' if row[:1] in ('[', '*') else ''}{row} \\\\"


def _sentence(text: str) -> str:
    return f"{text.rstrip('.')}."


def plain(text: str) -> str:
    """Escape characters with a meaning in Markdown."""
    escaped = _SPECIAL.sub(r"\\\1", one_line(text))
    return _START.sub(r"\1\\\2", escaped)


def markdown(table: TextTable) -> str:
    """Write a table for a page."""
    rows = [
        ["**" * bold + plain(cell) + "**" * bold for cell, bold in column.dressed]
        for column in table.columns
    ]
    lines = [[plain(column.name) for column in table.columns]]
    lines.append(["---:" if column.right else "---" for column in table.columns])
    lines += map(list, zip(*rows, strict=True))
    text = [f"| {' | '.join(line)} |" for line in lines]
    title = [_sentence(plain(table.title)), ""] if table.title else []
    return "\n".join(
        [*title, *text, *(f"\n{_sentence(plain(n))}" for n in table.notes)]
    )


class Interval(NamedTuple):
    """Columns of a table that belong together.

    Attributes:
        value: Value in the interval; None if the table has only ends.
        low: Lower end.
        high: Upper end.
    """

    value: str | None
    low: str
    high: str


def intervals(frame: pd.DataFrame) -> list[Interval]:
    """Find intervals in a table: `low` and `high`, or `PGC_low` and `PGC_high`.

    `low` and `high` are the ends for the first column of floats.
    """
    lows = [str(name) for name in frame if re.search("(^|_)low$", str(name))]
    pairs = [(low, low[:-3] + "high") for low in lows if low[:-3] + "high" in frame]
    ends = {end for pair in pairs for end in pair}
    floats = [str(n) for n in frame if frame[n].dtype.kind == "f" and n not in ends]
    columns = []
    for low, high in pairs:
        named = low[:-4] if low[:-4] in frame else None
        value = named if low != "low" else next(iter(floats), None)
        columns.append(Interval(value, low, high))
    return columns


def html(frame: pd.DataFrame, notes: Sequence[str]) -> str:
    """Write a table for a notebook, intervals drawn beside their numbers.

    Args:
        frame: The table; an index that names its rows becomes the first column.
        notes: Notes below it, after a line with the number of rows if some are hidden.
    """
    if not isinstance(frame.index, pd.RangeIndex):
        named = frame.index.dtype.kind not in "iu"  # else the numbers of sorted rows
        frame = frame.reset_index(drop=not named, names="" if named else None)
    shown = frame.head(_ROWS)
    bars = {interval.high: interval for interval in intervals(shown)}
    heads, columns = [], []
    for column in text_table(shown).columns:
        align = ' style="text-align: right"' if column.right else ""
        heads.append(f"<th{align}>{_html_text(column.name)}</th>")
        columns.append([f"<td{align}>{_html_text(c)}</td>" for c in column.cells])
        if column.name in bars:
            heads.append("<th></th>")
            columns.append(_bars(shown, bars[column.name]))
    rows = [f"<tr>{''.join(row)}</tr>" for row in zip(*columns, strict=True)]
    head = f"<thead><tr>{''.join(heads)}</tr></thead>"
    lines = ["<table>", head, "<tbody>", *rows, "</tbody>", "</table>"]
    if len(shown) < len(frame):
        lines.append(f"<p>{len(shown)} of {len(frame)} rows</p>")
    return "\n".join([*lines, *(f"<p>{_html_text(note)}</p>" for note in notes)])


def _html_text(text: str) -> str:
    return escape(printable(text))


def _bars(frame: pd.DataFrame, interval: Interval) -> list[str]:
    """Draw the intervals of all rows on one scale, with a stroke at 0 if in range."""
    columns = [interval.low, interval.value or interval.low, interval.high]
    ends = frame[columns].to_numpy(np.float64, na_value=np.nan)
    finite = ends[np.isfinite(ends)]
    least, most = (finite.min(), finite.max()) if finite.size else (0.0, 0.0)
    places = 4 + (_BAR - 8) * (ends - least) / ((most - least) or 1.0)
    zero = 4 + (_BAR - 8) * (0 - least) / ((most - least) or 1.0)
    cells = []
    for low, value, high in places:
        if not np.isfinite([low, high]).all():
            cells.append("<td></td>")
            continue
        marks = [f'<path d="M{low:.1f} 7H{high:.1f}" stroke="currentColor"/>']
        if least < 0 < most:
            marks.append(f'<path d="M{zero:.1f} 1V13" stroke="#999"/>')
        if interval.value is not None and np.isfinite(value):
            marks.append(f'<circle cx="{value:.1f}" cy="7" r="3" fill="#0072B2"/>')
        size = f'width="{_BAR:.0f}" height="14"'
        cells.append(f"<td><svg {size}>{''.join(marks)}</svg></td>")
    return cells
