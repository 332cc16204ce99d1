"""Pages of text, tables and figures, as Markdown or as one HTML file.

A page is data: `write` renders it with the templates beside this file.
"""

import base64
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pandas as pd

from pgcjax.errors import UsageError, counted, printable
from pgcjax.io.choices import PAGE_SUFFIXES
from pgcjax.io.remote import is_remote, path_of
from pgcjax.io.text_tables import cell_of, plain
from pgcjax.io.write import check_folder, check_suffix, written_beside
from pgcjax.reporting import canvas

if TYPE_CHECKING:
    from markupsafe import Markup
    from matplotlib.figure import Figure

_NUMBER = re.compile(r"[-+−]?((\d[\d,]*)?\.?\d+(e[-+]?\d+)?\s?%?|inf)|—|")
_NAME = re.compile(r"[\w.+-]+")


@dataclass(frozen=True)
class Table:
    """A table of text; columns of numbers are aligned to the right.

    Attributes:
        columns: Names of the columns.
        rows: Rows of one cell per column.
        caption: Caption above the table.
        tones: Tone of each row, `good`, `bad` or "", which is a colour in HTML.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""
    tones: Sequence[str] = ()

    @property
    def numeric(self) -> list[bool]:
        """Whether a column holds numbers only."""
        cells = list(zip(*self.rows, strict=True)) or [()] * len(self.columns)
        return [all(_NUMBER.fullmatch(text) for text in column) for column in cells]

    @property
    def toned(self) -> Iterator[tuple[str, Sequence[str]]]:
        """Each row with its tone."""
        return zip(self.tones or [""] * len(self.rows), self.rows, strict=True)


@dataclass(frozen=True)
class Picture:
    """A figure.

    Attributes:
        name: File name without suffix: letters, digits, `.`, `+`, `-` and `_`.
        figure: Figure of `pgcjax.reporting.plots`, or any matplotlib figure.
        caption: Caption below the figure.
    """

    name: str
    figure: "Figure"
    caption: str = ""

    @cached_property
    def svg(self) -> bytes:
        """SVG file, drawn once for all forms of a page."""
        return canvas.rendered(self.figure, ".svg")


Part = str | Table | Picture


@dataclass(frozen=True)
class Section:
    """A heading, and what is below it: paragraphs, tables, figures, sections."""

    title: str
    parts: "Sequence[Part | Section]" = ()

    def flat(self, level: int = 2) -> "Iterator[tuple[str, Any]]":
        """List its parts with their kinds, and headings as `h2`, `h3`, …."""
        yield f"h{level}", self.title
        for part in self.parts:
            if isinstance(part, Section):
                yield from part.flat(level + 1)
            elif isinstance(part, (Table, Picture)):
                yield "Table" if isinstance(part, Table) else "Picture", part
            else:
                yield "str", part


@dataclass(frozen=True)
class Page:
    """A page.

    Attributes:
        title: Title of the page.
        sections: Sections in order.
        used: Version, seed and other inputs of the page, by name.
    """

    title: str
    sections: Sequence[Section]
    used: Mapping[str, Any] = field(default_factory=dict)

    @property
    def flat(self) -> list[tuple[str, Any]]:
        """Everything in order, with its kind."""
        return [item for section in self.sections for item in section.flat()]

    @property
    def pictures(self) -> dict[str, Picture]:
        """The figures by name.

        Raises:
            UsageError: two figures share a name, or a name cannot be a file's.
        """
        pictures = {}
        for kind, part in self.flat:
            if kind == "Picture":
                if not _NAME.fullmatch(part.name):
                    raise UsageError(f"a figure's file cannot be called {part.name!r}")
                if part.name in pictures:
                    raise UsageError(f"two figures are called {part.name!r}")
                pictures[part.name] = part
        return pictures

    def save_figures(
        self, folder: str | os.PathLike, suffixes: str | Sequence[str] = ".pdf"
    ) -> Path:
        """Write all figures into a folder, as `canvas.save_all` does."""
        figures = {name: picture.figure for name, picture in self.pictures.items()}
        return canvas.save_all(figures, folder, suffixes)


def table_of(frame: "pd.DataFrame", caption: str = "", digits: int = 4) -> Table:
    """Make a table of a DataFrame, without its index.

    Args:
        frame: Any DataFrame.
        caption: Caption above the table.
        digits: Decimals of floats; NaN becomes `—`.
    """
    rows = [
        [cell_of(cell, digits) for cell in row]
        for row in frame.itertuples(index=False, name=None)
    ]
    return Table([str(name) for name in frame.columns], rows, caption)


def first_rows(frame: "pd.DataFrame", caption: str, most: int) -> Table:
    """Make a table of the first rows, without an empty column `undefined`.

    Args:
        frame: Any DataFrame.
        caption: Caption above the table; the number of all rows is added if some are
            left out.
        most: Most rows of the table.
    """
    if "undefined" in frame and not frame["undefined"].any():
        frame = frame.drop(columns="undefined")
    if len(frame) > most:
        caption += f"; the first {most} of {counted(len(frame), 'row')}"
    return table_of(frame.head(most), caption)


def ready(path: str | os.PathLike, *, draws: bool = True) -> str:
    """Check, before any work, that a page can be written; return its suffix.

    Args:
        path: Path of the page.
        draws: Whether figures are drawn for it, which needs matplotlib.

    Raises:
        UsageError: the suffix is unknown, or matplotlib is needed and not installed.
        DataError: figures cannot be written beside the page.
    """
    suffix = check_suffix(path_of(path), PAGE_SUFFIXES)
    if draws:
        with canvas.drawing():
            pass
    if suffix == ".md":
        check_folder(path if is_remote(path) else figures_folder(path))
    return suffix


def figures_folder(path: str | os.PathLike) -> Path:
    """Name the folder of a page's figures: beside it, or here for a remote page."""
    page = path_of(path)
    page = Path(page.name) if is_remote(path) else page
    return page.with_name(f"{page.stem}-figures")


def write(page: Page, path: str | os.PathLike) -> Path:
    """Write a page completely or not at all.

    An `.html` file includes its figures. The figures of an `.md` file are SVG files in
    a folder beside it, named as the page with `-figures`, and written before it.

    Raises:
        UsageError: `path` has another suffix, or matplotlib is not installed.
        DataError: a file cannot be written.
    """
    target, suffix = path_of(path), ready(path)
    pictures, folder = page.pictures, figures_folder(path)

    def image(name: str) -> str:
        if suffix == ".html":
            # Embedded as separate images, so that names inside figures cannot clash.
            code = base64.b64encode(pictures[name].svg).decode()
            return f"data:image/svg+xml;base64,{code}"
        return quote(f"{folder.name}/{name}.svg")

    text = template(f"page{suffix}.jinja").render(page=page, image=image)
    new = not folder.exists()
    try:
        with written_beside(target) as beside:
            beside.write_text(text, encoding="utf-8", newline="\n")
            if pictures and suffix == ".md":
                drawn = {f"{name}.svg": one.svg for name, one in pictures.items()}
                canvas.write_all(drawn, folder)
    except BaseException:
        if new:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    return target


def source(page: Any, name: str) -> "Markup":
    """Return a style or a script beside a template, to embed it in the page."""
    from markupsafe import Markup

    return Markup(page.environment.loader.get_source(page.environment, name)[0])


def template(name: str) -> Any:
    """Load a template, which escapes all text that it is given."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("pgcjax.reporting"),
        autoescape=name.endswith(".html.jinja"),
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: printable(value, "\n") if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["plain"] = plain
    return environment.get_template(name)
