"""Tables of text on a terminal: numbers are never cut, long names are wrapped."""

import re
import sys
from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pgcjax.errors import printable
from pgcjax.io.text_tables import Column, TextTable

_NAME = 12  # fewest characters of a name in a line
_COMMA = re.compile(",(?! )")
_AFTER_COMMA = re.compile("(?<=,) ")
_WIDEST = 10_000  # characters of a line of output to a file or pipe


def console_of() -> Console:
    """Open stdout, as wide as the terminal; files and pipes get unwrapped lines."""
    return Console(width=None if sys.stdout.isatty() else _WIDEST)


def show(table: TextTable, console: Console) -> None:
    """Print a table, and below it the names of columns that do not fit."""
    columns = list(table.columns)
    while len(columns) > 2 and room(columns, console) < 0:
        columns.pop()
    drawn = Table(title=_text(table.title), title_justify="left", title_style="italic")
    for column, width in zip(columns, _widths(columns, console), strict=True):
        justify = "right" if column.right else "left"
        head = _text(_parted(column.name))
        drawn.add_column(head, width=width, justify=justify, overflow="fold")
    for row in zip(*(column.dressed for column in columns), strict=True):
        drawn.add_row(*(_text(cell, "bold" if bold else "") for cell, bold in row))
    console.print(drawn)
    hidden = [column.name for column in table.columns[len(columns) :]]
    narrow = f"Not shown, for lack of space: {', '.join(hidden)}" if hidden else ""
    for note in filter(None, [*table.notes, narrow]):
        console.print(_text(note))


def room(columns: Sequence[Column], console: Console) -> int:
    """Count the characters that the columns, at their narrowest, leave free."""
    borders = 3 * len(columns) + 1
    return console.width - borders - sum(map(_least, columns))


def _widths(columns: Sequence[Column], console: Console) -> list[int]:
    """Distribute the free characters among the columns, to names first."""
    widths = [_least(column) for column in columns]
    left = room(columns, console)
    for i in sorted(range(len(columns)), key=lambda i: columns[i].right):
        more = max(0, min(left, _most(columns[i]) - widths[i]))
        widths[i] += more
        left -= more
    return widths


def _least(column: Column) -> int:
    """Return the characters that a column needs: names can be wrapped, numbers not."""
    if not (column.right or column.raised):
        return min(_most(column), _NAME)
    parts = [part for cell in column.cells for part in _AFTER_COMMA.split(cell)]
    return max(map(cell_len, [*_parted(column.name).split(), *parts, ""]))


def _most(column: Column) -> int:
    cells = [printable(cell) for cell in column.cells]
    return max(map(cell_len, [_parted(column.name), *cells]))


def _parted(name: str) -> str:
    """Put the parameters of a measure on lines of their own."""
    return _COMMA.sub(", ", printable(name))


def _text(text: str, style: str = "") -> Text:
    return Text(printable(text), style)  # markup in the text has no effect
