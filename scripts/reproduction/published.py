"""What the papers print: the only place where published numbers stand."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from scripts.reproduction.verdicts import NOT_HERE, Cell

_FOLDER = Path(__file__).parent / "published"
_NAMES = {
    "carterette2008": "Carterette et al. 2008",
    "luo2021": "Luo 2021",
    "sakai2012": "Sakai 2012",
    "xie2020": "Xie et al. 2020",
}


@dataclass(frozen=True)
class Block:
    """A published table, or a passage with numbers.

    Attributes:
        key: paper and name: `luo2021/fig-5-7`.
        where: paper and place, for readers.
        rows: numbers as printed, by row; an empty text where there is none.
        columns: their names; of rows of different lengths, and of one number, none.
    """

    key: str
    where: str
    rows: Mapping[str, Sequence[str]]
    columns: Sequence[str] = ()

    def cell(self, row: str, ours: Sequence[float] | float = (), **more) -> Cell:
        """Put ours beside a row."""
        numbers = [ours] if isinstance(ours, (int, float)) else list(ours)
        key, printed = f"{self.key}/{row}", self.rows[row]
        return Cell(key, self.where, row, printed, [*map(float, numbers)], **more)

    def each(self, row: str, ours: Sequence[float] = (), **more) -> list[Cell]:
        """Put ours beside each number of a row; `more` is the same for all."""
        return [
            Cell(
                f"{self.key}/{row}/{column}",
                self.where,
                f"{row}, {column}",
                [printed],
                [float(ours[i])] if len(ours) else [],
                **more,
            )
            for i, (column, printed) in enumerate(
                zip(self.columns, self.rows[row], strict=True)
            )
            if printed
        ]

    def unknown(self, why: str, verdict: str = "") -> list[Cell]:
        """List all rows, of which nothing can be computed, and say why not.

        Args:
            why: not.
            verdict: what it is, if the data are public.
        """
        return [
            Cell(
                f"{self.key}/{row}",
                self.where,
                row,
                [p for p in numbers if p],
                why=why,
                sure=verdict,
            )
            for row, numbers in self.rows.items()
        ]

    def absent(self, folder: str) -> list[Cell]:
        """List all rows, whose public data are not among those that were given."""
        return self.unknown(f"no folder {folder}", NOT_HERE)


@cache
def papers() -> dict[str, dict[str, Block]]:
    """Read all tables: by paper, then by name."""
    found = {}
    for path in sorted(_FOLDER.glob("*.toml")):
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
        found[path.stem] = {
            name: Block(
                f"{path.stem}/{name}",
                f"{_NAMES[path.stem]}, {table['where']}",
                table["rows"],
                table.get("columns", ()),
            )
            for name, table in tables.items()
        }
    return found
