"""Text on plots: titles, labels and legends that stay inside the figure."""

import re
import warnings
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pgcjax.errors import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 3.3  # inches: a column of a paper, so that nothing has to be scaled down
LETTER = 7.0  # points: the smallest letters
_LEAST = 0.4  # smallest width of a text, inches, on any axes


def width(text: str) -> float:
    """Return the inches of a line in our letters."""
    from matplotlib import rcParams

    return _width(text, *rcParams["font.family"], *rcParams["font.sans-serif"])


@lru_cache(10_000)  # labels are cut and measured until they fit
def _width(text: str, *fonts: str) -> float:
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    with warnings.catch_warnings():  # a missing letter is reported when it is drawn
        warnings.simplefilter("ignore", UserWarning)
        font = FontProperties(size=LETTER)
        return text_to_path.get_text_width_height_descent(text, font, False)[0] / 72


def shorten(name: str, most: int = 24) -> str:
    """Cut a long name in its middle, because names often differ at their ends."""
    if len(name) <= most:
        return name
    return f"{name[: most // 2]}…{name[len(name) - most + most // 2 + 1 :]}"


def fit(text: str, inches: float) -> str:
    """Cut a line in its middle until it fits."""
    text, room = printable(text), max(inches, _LEAST)
    for most in range(min(len(text), int(60 * room)), 2, -1):
        short = shorten(text, most)
        if width(short) <= room:
            return short
    return shorten(text, 3)


def wrapped(text: str, inches: float) -> str:
    """Break a text at blanks and commas; cut a line that still is too long."""
    lines = [""]
    for piece in re.findall(r"[^ ,;]+[ ,;]*|[ ,;]+", printable(text)):
        if lines[-1] and width((lines[-1] + piece).rstrip()) > max(inches, _LEAST):
            lines.append("")
        lines[-1] += piece
    return "\n".join(fit(line.rstrip(), inches) for line in lines)


def title(axes: "Axes", *texts: str, share: float = 1.0) -> None:
    """Write texts above axes, each on its own lines, no wider than the axes.

    Args:
        axes: Axes below the title.
        texts: Texts; empty ones are left out.
        share: Share of the width, for axes that leave much of it to names.
    """
    inches = _inches(axes)[0] * share
    lines = [wrapped(line, inches) for text in texts for line in text.split("\n")]
    axes.set_title("\n".join(filter(None, lines)), loc="left")


def label(axes: "Axes", x: str = "", y: str = "", *, share: float = 0.85) -> None:
    """Label both axes, on lines that are no longer than the axes."""
    across, upwards = _inches(axes)
    axes.set_xlabel(wrapped(x, across * share))
    axes.set_ylabel(wrapped(y, upwards))


def fitted(axes: "Axes", names: Iterable[Any], share: float = 0.5) -> list[str]:
    """Cut names so that they take no more than a share of the width of axes."""
    return [fit(str(name), _inches(axes)[0] * share) for name in names]


def legend(axes: "Axes", *, own: bool, columns: int = 2) -> None:
    """Name the lines or bars that are drawn, if there are two or more.

    Args:
        axes: Axes of the legend.
        own: Whether the figure is new: then it grows, and the legend is below it, where
            it hides nothing.
        columns: Most columns of the legend.
    """
    handles, names = axes.get_legend_handles_labels()
    if len(names) < 2:
        return
    if own:
        below(figure_of(axes), handles, names, columns)
    else:
        room = _inches(axes)[0] - 0.4
        axes.legend(handles, [fit(name, room) for name in names])


def below(figure: "Figure", handles: list, names: list[str], columns: int = 2) -> None:
    """Add a legend below a new figure, which grows by its height."""
    across, handle = figure.get_figwidth() - 0.1, 0.5
    fits = int(across / (max(map(width, names)) + handle))
    columns = max(1, min(columns, fits))
    short = [fit(name, across / columns - handle) for name in names]
    figure.legend(handles, short, ncols=columns, loc="outside lower center")
    rows = -(-len(names) // columns)
    figure.set_figheight(figure.get_figheight() + 0.1 + 0.155 * rows)


def figure_of(axes: "Axes") -> "Figure":
    """Return the figure that axes are in."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    return figure


def _inches(axes: "Axes") -> tuple[float, float]:
    """Estimate the width and height of axes before the layout is final."""
    box, figure = axes.get_position(), figure_of(axes)
    return box.width * figure.get_figwidth(), box.height * figure.get_figheight()
