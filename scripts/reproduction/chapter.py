"""A chapter of the report: text, tables, figures, and published cells beside ours."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pgcjax.reporting.page import Part, Picture, Section, Table, table_of
from scripts.reproduction.verdicts import (
    CONSISTENT,
    DIFFERS,
    EXACT,
    HOLDS,
    NOT_PUBLIC,
    ROUNDED,
    Cell,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_GOOD = (EXACT, CONSISTENT, HOLDS, ROUNDED)
_TONES = {**dict.fromkeys(_GOOD, "good"), DIFFERS: "bad"}


class Chapter:
    """What one paper, or a part of it, comes to; filled from top to bottom."""

    def __init__(self, title: str):
        self.title = title
        self.parts: list[Part] = []
        self.cells: list[Cell] = []

    @property
    def section(self) -> Section:
        """The chapter as a section of a page."""
        return Section(self.title, self.parts)

    def text(self, text: str) -> None:
        """Add a paragraph."""
        self.parts.append(" ".join(text.split()))

    def table(self, frame: "pd.DataFrame", caption: str, digits: int = 4) -> None:
        """Add a table of ours alone."""
        self.parts.append(table_of(frame, caption, digits))

    def picture(self, name: str, figure: "Figure", caption: str) -> None:
        """Add a figure."""
        self.parts.append(Picture(name, figure, caption))

    def published(self, cells: Sequence[Cell], caption: str = "") -> None:
        """Add published cells, ours beside them."""
        self.cells += cells
        self.parts.append(cell_table(cells, caption))


def cell_table(cells: Sequence[Cell], caption: str = "") -> Table:
    """Lay cells out; columns that none of them needs are left out."""
    columns = {
        "where": [cell.where for cell in cells],
        "what": [cell.what for cell in cells],
        "published": [cell.published for cell in cells],
        "pgcjax": [cell.shown(cell.ours) for cell in cells],
        "verdict": [cell.verdict for cell in cells],
        "needs": [cell.switch for cell in cells],
        "without": [cell.shown(cell.right) for cell in cells],
        "remark": [cell.why for cell in cells],
    }
    always = ("where", "what", "published", "verdict")
    kept = {n: c for n, c in columns.items() if n in always or any(c)}
    rows = list(zip(*kept.values(), strict=True))
    tones = [_TONES.get(cell.verdict, "") for cell in cells]
    return Table(list(kept), rows, caption, tones)


def counts(cells: Sequence[Cell]) -> Table:
    """Count verdicts by paper; a cell with several numbers is one."""
    papers = list(dict.fromkeys(cell.key.partition("/")[0] for cell in cells))
    verdicts = list(dict.fromkeys(cell.verdict for cell in cells))
    order = [v for v in _GOOD if v in verdicts]
    order += [v for v in verdicts if v not in order and v != NOT_PUBLIC]
    order += [v for v in verdicts if v == NOT_PUBLIC]
    rows = []
    for paper in papers:
        mine = [c.verdict for c in cells if c.key.startswith(f"{paper}/")]
        rows.append([paper, *(str(mine.count(v)) for v in order), str(len(mine))])
    return Table(["paper", *order, "all"], rows, "Published rows by verdict")
