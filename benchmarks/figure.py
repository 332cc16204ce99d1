"""`python -m benchmarks.figure FILE.json… -o FILE.svg`: the results as one figure.

Every number comes from the files that the benchmarks wrote. Equal files, and an equal
matplotlib, give equal bytes. benchmarks/README.md says how to read it.
"""

import argparse
import json
import math
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WIDTH = 3.5  # inches: a column of a paper, so that letters are 6 points there
LEFT, RIGHT = 1.12, 0.36  # inches, for names and for numbers
BAR, GAP = 0.093, 0.045  # inches that a bar takes, and what is left between groups
LETTER, SMALL = 6.0, 5.2  # points
COLUMNS = 92  # characters of a line of the caption
# Told apart with any colour vision [Okabe and Ito 2008], and in grey.
SLOWER, FASTER, OURS = "#0072B2", "#E69F00", "#999999"
MACHINE = ("cpu", "cores_allowed", "memory", "devices")


@dataclass(frozen=True)
class Bar:
    """How many times as long as the reference something takes."""

    name: str
    ratio: dict[str, float]
    colour: str


@dataclass(frozen=True)
class Group:
    """A race: its task, the rest of its title, its reference, where it was run."""

    task: str
    label: str
    reference: str
    machine: int
    bars: list[Bar]


def main(words: Sequence[str] | None = None) -> None:
    """Draw the races of some files."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.figure", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE.json")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE.svg")
    parser.add_argument(
        "--without",
        action="append",
        default=[],
        metavar="TEXT",
        help="leave out races with this in their title; repeat",
    )
    options = parser.parse_args(words)
    read = [json.loads(path.read_text()) for path in options.files]
    results = [result for result in read if result.get("races")]
    results.sort(key=lambda result: result["when"])  # names say nothing of an order
    machines = list(dict.fromkeys(map(_machine, results)))
    groups = [
        group
        for result in results
        for group in _groups(result, machines.index(_machine(result)))
        if not any(text in f"{group.task}, {group.label}" for text in options.without)
    ]
    if not groups:
        sys.exit("no race to draw in these files: run `python -m benchmarks peel -o …`")
    # Tasks as they come, each once for a machine.
    tasks = list(dict.fromkeys((group.machine, group.task) for group in groups))
    groups.sort(key=lambda group: tasks.index((group.machine, group.task)))
    captions = [
        caption([r for r in results if _machine(r) == machine]) for machine in machines
    ]
    draw(groups, captions, options.output)


def _machine(result: dict[str, Any]) -> str:
    machine = result["machine"]
    kind = machine.get("devices") or []
    return json.dumps([machine.get(key) for key in MACHINE[:3]] + kind)


def _groups(result: dict[str, Any], machine: int) -> Iterator[Group]:
    for race in result["races"]:
        figures = race["figures"]
        ours = [f["name"] for f in figures if f["ours"]]
        # What pgcjax does; other forms of it, and parts of the job, are beside it.
        named = [name for name in ours if name.startswith("pgcjax")]
        reference = (named or ours)[0]
        bars = [
            Bar(f["name"], f["ratios"][reference], _colour(f, reference))
            for f in figures
            if f["name"] != reference and not f["name"].startswith("its ")
        ]
        task, _, label = race["title"].partition(", ")
        if bars:
            yield Group(task, label, reference, machine, bars)


def _colour(figure: dict[str, Any], reference: str) -> str:
    if figure["ours"]:
        return OURS
    return SLOWER if figure["ratios"][reference]["median"] >= 1 else FASTER


def caption(results: Iterable[dict[str, Any]]) -> str:
    """Say where and when some results of one machine were measured, and with what."""
    results = list(results)
    machine = results[0]["machine"]
    devices = [d for d in dict.fromkeys(machine["devices"]) if d != "cpu"]
    memory = machine.get("memory") or ""
    if memory.endswith(" kB"):
        memory = f"{int(memory.split()[0]) / 2**20:.0f} GiB"
    where = [*devices, machine["cpu"], f"{machine['cores_allowed']} cores", memory]
    days = sorted({result["when"][:10] for result in results})
    found: dict[str, dict[str, None]] = {}
    for result in results:
        for name, version in result["versions"].items():
            if version and name not in ("commit", "uncommitted"):
                found.setdefault(name, {})[version] = None
    commits = dict.fromkeys((r["versions"].get("commit") or "")[:7] for r in results)
    versions = [f"{name} {' and '.join(some)}" for name, some in found.items()]
    known = " and ".join(filter(None, commits))
    parts = [", ".join(filter(None, where)), " and ".join(days), ", ".join(versions)]
    return "; ".join(parts + [f"commit {known}"] * bool(known)) + "."


def draw(groups: Sequence[Group], captions: Sequence[str], path: Path) -> None:
    """Draw groups below each other, on white, and the machines below them."""
    import matplotlib

    matplotlib.use("svg")
    # Letters as text: a quarter of the bytes, and readers can search and copy it.
    fixed = {"svg.hashsalt": "pgcjax", "svg.fonttype": "none", "font.size": LETTER}
    with matplotlib.rc_context({"font.family": "sans-serif", **fixed}):
        figure = _figure(groups, _text(captions))
        # No date and no version of matplotlib: only the data changes the file.
        figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})


def _text(captions: Sequence[str]) -> list[str]:
    says = [
        "Time of others, relative to pgcjax on the same task: median of the rounds, "
        "the line from the lowest to the highest. Left of 1×: faster than pgcjax "
        "(orange). Grey: pgcjax in another form or from other files."
    ]
    for i, text in enumerate(captions):
        says.append(f"{_mark(i)} {text}" if len(captions) > 1 else text)
    lines = [line for text in says for line in [*textwrap.wrap(text, COLUMNS), ""]]
    return lines[:-1]


def _mark(machine: int) -> str:
    return f"[{machine + 1}]"


def _figure(groups: Sequence[Group], lines: Sequence[str]) -> Any:
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    several = len({group.machine for group in groups}) > 1
    tasks = [(group.machine, group.task) for group in groups]
    heads = [i == 0 or tasks[i] != tasks[i - 1] for i in range(len(tasks))]
    rows = sum(len(group.bars) + 1 for group in groups) + sum(heads)
    inner = rows * BAR + len(groups) * GAP + sum(heads) * GAP
    top, bottom = 0.05, 0.33 + len(lines) * SMALL * 1.3 / 72
    height = top + inner + bottom
    figure = Figure(figsize=(WIDTH, height), facecolor="white")
    box = (LEFT / WIDTH, bottom / height, 1 - (LEFT + RIGHT) / WIDTH, inner / height)
    axes = figure.add_axes(box)
    axes.set(xscale="log", ylim=(inner, 0))
    axes.set_xlim(*_limits([bar for group in groups for bar in group.bars]))
    at_left = axes.get_yaxis_transform()
    start = (0.03 - LEFT) / (WIDTH - LEFT - RIGHT)  # in widths of the axes
    y = 0.0
    for group, head in zip(groups, heads, strict=True):
        if head:
            y += GAP
            mark = f" {_mark(group.machine)}" if several else ""
            text = group.task[:1].upper() + group.task[1:] + mark
            axes.text(
                start, y + BAR / 2, text, transform=at_left, va="center", weight="bold"
            )
            y += BAR
        label = group.label
        if group.reference != "pgcjax":
            label += f"; 1× is {group.reference}"
        axes.text(
            start,
            y + BAR / 2,
            label,
            transform=at_left,
            va="center",
            size=SMALL,
            color="#333333",
            zorder=4,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.4},
        )
        y += BAR
        for bar in group.bars:
            _bar(axes, y + BAR / 2, bar, at_left)
            y += BAR
        y += GAP
    axes.axvline(1, color="black", linewidth=0.8, zorder=3)
    axes.grid(axis="x", color="#dddddd", linewidth=0.4)
    axes.set_axisbelow(True)
    axes.spines[["left", "right", "top"]].set_visible(False)
    axes.yaxis.set_visible(False)
    axes.xaxis.set_major_locator(LogLocator(10))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,g}×"))
    axes.tick_params(axis="x", length=2, width=0.5, pad=1.5)
    axes.set_xlabel("time ÷ time of pgcjax, logarithmic", labelpad=1)
    figure.text(
        0.03 / WIDTH,
        0.03 / height,
        "\n".join(lines),
        size=SMALL,
        va="bottom",
        linespacing=1.25,
        color="#333333",
    )
    return figure


def _bar(axes: Any, y: float, bar: Bar, at_left: Any) -> None:
    low, median, high = (bar.ratio[key] for key in ("low", "median", "high"))
    axes.barh(y, median - 1, left=1, height=BAR * 0.78, color=bar.colour)
    axes.plot([low, high], [y, y], color="black", linewidth=0.5)
    axes.text(
        -0.01, y, bar.name, transform=at_left, ha="right", va="center", size=SMALL
    )
    axes.annotate(
        times(median),
        (max(high, 1), y),
        (2, 0),
        textcoords="offset points",
        va="center",
        size=SMALL,
    )


def _limits(bars: Sequence[Bar]) -> tuple[float, float]:
    """Give powers of 10, or thrice one, that hold all; 0.1 to 10 at least."""
    low = math.log10(min(0.1, *(bar.ratio["low"] for bar in bars)))
    high = math.log10(max(10.0, *(bar.ratio["high"] for bar in bars)))
    return 10.0 ** (math.floor(2 * low) / 2), 10.0 ** (math.ceil(2 * high) / 2)


def times(x: float) -> str:
    """Print a ratio with two or three significant digits."""
    digits = max(0, (1 if x < 10 else 0) - math.floor(math.log10(x)))
    return f"{x:,.{digits}f}×"


if __name__ == "__main__":
    main()
