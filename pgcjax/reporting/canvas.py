"""Style of plots: size, fonts and colours; and files of figures."""

import copy
import io
import itertools
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pgcjax.errors import DataError, UsageError
from pgcjax.io.choices import FIGURE_KINDS
from pgcjax.io.remote import local_folder, path_of
from pgcjax.io.write import check_suffix, written_beside
from pgcjax.reporting.plot_labels import LETTER, WIDTH, below, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NEEDED = "figures need matplotlib: pip install 'pgcjax[plots]'"
SUFFIXES = tuple(f".{kind}" for kind in FIGURE_KINDS)
# Distinct with any colour vision [Okabe and Ito 2008]; their yellow is too pale.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
GREY, PALE = "#555555", "#dddddd"
_LINES = ("-", "--", "-.", ":")
_MARKS = ("o", "s", "^", "D", "v", "P", "X")
_FIXED: dict[str, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Arial", "Helvetica"],
    "font.size": LETTER,  # also for labels and legends
    "axes.titlesize": LETTER,
    "axes.linewidth": 0.5,
    "axes.edgecolor": GREY,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.major.size": 2,
    "ytick.major.size": 2,
    "xtick.major.width": 0.5,
    "ytick.major.width": 0.5,
    "lines.linewidth": 1.0,
    "legend.frameon": False,
    "legend.handlelength": 2.2,
    "text.parse_math": False,  # a run may be called "$5 off$"
    "svg.hashsalt": "pgcjax",
    "svg.fonttype": "none",  # letters as text: readers can search and copy it
    "pdf.fonttype": 42,  # as publishers require
    "pdf.compression": 6,
}


class Style(NamedTuple):
    """Style of one of several lines, in colour and in grey."""

    colour: str
    line: str
    mark: str


def styles() -> Iterator[Style]:
    """Return styles without end: 28 that differ, each in more than its colour."""
    for i in itertools.count():
        colour, turn = i % len(COLOURS), i // len(COLOURS)
        mark = _MARKS[(colour + turn) % len(_MARKS)]
        yield Style(COLOURS[colour], _LINES[i % len(_LINES)], mark)


@contextmanager
def drawing() -> Iterator[None]:
    """Draw in the style of pgcjax, whatever the user's style is.

    Raises:
        UsageError: matplotlib is not installed.
    """
    try:
        import matplotlib
    except ImportError:
        raise UsageError(NEEDED) from None
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        style: Any = matplotlib.rcParams  # stubs accept literal names only
        style.update(_FIXED)
        yield


def panels(
    count: int, *, columns: int = 1, height: float = 2.0, width: float = WIDTH
) -> "tuple[Figure, list[Axes]]":
    """Make a figure of several panels, for plots that take `axes`.

    Args:
        count: Number of panels.
        columns: Number of columns of panels.
        height: Height of a panel, inches.
        width: Width of the figure, inches.

    Raises:
        UsageError: matplotlib is not installed.
    """
    with drawing():
        from matplotlib.figure import Figure

        rows = -(-count // columns)
        figure = Figure((width, rows * height), facecolor="white", layout="constrained")
        grid = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
        for axes in grid:
            style_ticks(axes)
        for spare in grid[count:]:
            spare.set_axis_off()
        return figure, grid[:count]


def grid(
    draw: "Mapping[str, Callable[..., Figure]]",
    *,
    columns: int = 2,
    height: float = 1.8,
) -> "Figure":
    """Draw several plots as panels of one figure, each with its title.

    They share one legend below if each name has the same look in all panels.

    Args:
        draw: Function that draws each panel on `axes=`, by title.
        columns: Number of columns of panels.
        height: Height of a panel, inches.
    """
    figure, axes = panels(len(draw), columns=columns, height=height)
    with drawing():
        for (name, one), panel in zip(draw.items(), axes, strict=True):
            one(axes=panel)
            title(panel, name, panel.get_title(loc="left"))
        _share_legend(figure, axes)
    return figure


def _share_legend(figure: "Figure", axes: "list[Axes]") -> None:
    """Merge the legends of panels, if each name has the same look in all of them."""
    looks: dict[str, set] = {}
    handles = {}
    for panel in axes:
        for handle, name in zip(*panel.get_legend_handles_labels(), strict=True):
            handles.setdefault(name, handle)
            looks.setdefault(name, set()).add(_look(handle))
    legends = [legend for panel in axes if (legend := panel.get_legend())]
    if legends and all(len(seen) == 1 for seen in looks.values()):
        for legend in legends:
            legend.remove()
        below(figure, list(handles.values()), list(handles))


def _look(handle: Any) -> tuple[str, ...]:
    parts = getattr(handle, "patches", [handle])[:1]
    names = ("color", "linestyle", "marker", "facecolor")
    return tuple(str(getattr(p, f"get_{n}", str)()) for p in parts for n in names)


@contextmanager
def on(axes: "Axes | None", height: float = 2.0) -> "Iterator[Axes]":
    """Draw on the given axes, or on those of a new figure."""
    with drawing():
        yield panels(1, height=height)[1][0] if axes is None else axes


def style_ticks(axes: "Axes") -> None:
    """Set the style of ticks, which matplotlib would draw in a later style."""
    axes.tick_params(labelsize=LETTER, width=0.5, length=2)


def svg(figure: "Figure") -> str:
    """Return a figure as SVG; equal figures give equal text."""
    return rendered(figure, ".svg").decode()


def save(figure: "Figure", path: str | os.PathLike) -> Path:
    """Write a figure, whole or not at all: .svg, .pdf or .png (600 dots per inch).

    Raises:
        UsageError: the suffix is another one. DataError: the file cannot be written.
    """
    target = path_of(path)
    content = rendered(figure, check_suffix(target, SUFFIXES))
    with written_beside(target) as beside:
        beside.write_bytes(content)
    return target


def save_all(
    figures: "Mapping[str, Figure]",
    folder: str | os.PathLike,
    suffixes: str | Sequence[str] = ".pdf",
) -> Path:
    """Write figures into a folder, as files of their names; other files stay.

    All figures are drawn before the first is written.

    Raises:
        UsageError: a suffix is none of `SUFFIXES`.
        DataError: the folder or a file cannot be written.
    """
    target = local_folder(folder)
    several = [suffixes] if isinstance(suffixes, str) else suffixes
    for suffix in several:
        check_suffix(target / f"figure{suffix}", SUFFIXES)
    drawn = {
        f"{name}{suffix}": rendered(figure, suffix)
        for name, figure in figures.items()
        for suffix in several
    }
    return write_all(drawn, target)


def write_all(files: "Mapping[str, bytes]", target: Path) -> Path:
    """Write drawn figures into a folder, by file name.

    Raises:
        DataError: the folder or a file cannot be written.
    """
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(
            f"cannot make this folder: {error.strerror}",
            where=str(target),
            mend="Name one that exists, or a new one.",
        ) from None
    for name, content in files.items():
        with written_beside(target / name) as beside:
            beside.write_bytes(content)
    return target


def rendered(figure: "Figure", suffix: str) -> bytes:
    """Return the bytes of a figure's file, without a date: equal data, equal bytes."""
    nothing: dict[str, Any] = {
        ".svg": {"Date": None, "Creator": None},
        ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
        ".png": {"Software": None},
    }[suffix]
    out = io.BytesIO()
    with drawing(), warnings.catch_warnings():
        if suffix == ".svg":  # its reader has other fonts
            warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
        if figure.canvas.manager is None:  # not in a window
            # Saving moves axes by rounding: a copy keeps the next file equal.
            figure = copy.deepcopy(figure)
        figure.savefig(out, format=suffix[1:], dpi=600, metadata=nothing)
    return out.getvalue()
