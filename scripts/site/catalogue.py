"""Pages of the measures, a page per family, from their definitions."""

import re
from collections.abc import Mapping
from pathlib import Path

from pgcjax.io.judgments import KINDS
from pgcjax.measures import catalogue, compatibility
from pgcjax.measures.measure import Measure, written

ROOT = Path(__file__).parents[2]
FAMILIES = {
    "compatibility": ("Compatibility", "../numbers.md"),
    "preference": ("Preferences", "../measures-preference.md"),
    "graded": ("Grades", "../measures-graded.md"),
    "diversity": ("Diversity", "../measures-diversity.md"),
    "context": ("Context", "../measures-context.md"),
    "images": ("Image grids", "../images.md"),
}
"""Titles, and the pages that explain what measures have in common."""


def pages() -> dict[str, str]:
    """Write the pages of all measures that the package has, by family."""
    members: dict[str, list[Measure]] = {name: [] for name in FAMILIES}
    for measure in catalogue.built_in().values():
        members[family(measure)].append(measure)
    tools = beside_other_tools((ROOT / "docs/measures-tools.md").read_text("utf-8"))
    return {name: _page(name, found, tools) for name, found in members.items()}


def family(measure: Measure) -> str:
    """Name the family of a measure, by what it needs."""
    needs = measure.needs
    if measure in compatibility.MEASURES:
        return "compatibility"
    if "grids" in needs:
        return "images"
    if "intent_qrels" in needs:
        return "diversity"
    if "context" in needs:
        return "context"
    return "preference" if "preferences" in needs else "graded"


def anchor(name: str) -> str:
    """Make the name of a measure one that a link can end with: `D#-Q` is `Dsharp-Q`."""
    return name.replace("#", "sharp").replace("+", "plus")


def beside_other_tools(page: str) -> dict[str, list[tuple[str, str]]]:
    """Read the table of docs/measures-tools.md: of each measure, tools and remarks."""
    rows = [line.strip("|") for line in page.splitlines() if line.startswith("| ")]
    head, *rest = ([cell.strip() for cell in row.split(" | ")] for row in rows)
    return {
        name: [
            (tool, cell)
            for tool, cell in zip(head[1:-1], row[1:-1], strict=True)
            if cell != "·"
        ]
        for row in rest
        for name in re.findall("`([^`]+)`", row[0])
    }


def _page(
    name: str, members: list[Measure], tools: Mapping[str, list[tuple[str, str]]]
) -> str:
    title, explained = FAMILIES[name]
    head = [
        f"# {title}",
        f"As `pgcjax measures NAME` says it, made from the catalogue. What these "
        f"measures have in common: [{explained.removeprefix('../')}]({explained}).",
    ]
    entries = [_entry(one, tools.get(one.name, [])) for one in members]
    return "\n\n".join([*head, *entries]) + "\n"


def _entry(measure: Measure, tools: list[tuple[str, str]]) -> str:
    needs = sorted(measure.needs)
    options = (KINDS[kind].option if kind in KINDS else f"--{kind}" for kind in needs)
    facts = {
        "Formula": f"`{measure.formula}`" if measure.formula else "",
        "Needs": ", ".join(f"`{option}`" for option in options),
        "Cutoff": {
            "no": "",
            "may": "`@k` may follow",
            "must": "`@k` must follow",
            "level": "`@x`, a level of recall from 0 to 1, must follow",
        }[measure.cutoff],
        "Source": _plain(measure.source),
        "Differs": _plain(measure.differs),
        "Also called": ", ".join(
            f"`{alias}` = `{meant}`".replace("{k}", "k").replace("{x}", "x")
            for alias, meant in measure.aliases.items()
        ),
    }
    facts |= {f"Beside {tool}": cell.replace("](", "](../") for tool, cell in tools}
    lines = [f"- **{fact}**: {value}" for fact, value in facts.items() if value]
    parts = [
        f"## `{measure.name}` {{ #{anchor(measure.name)} }}",
        _plain(measure.meaning) + ".",
        "\n".join(lines),
    ]
    if described := measure.described():
        rows = ["| parameter | default | what |", "|---|---|---|"]
        rows += [
            f"| `{p.name}` | `{written(p.default)}` | {_plain(p.meaning)} |"
            for p, _ in described.values()
        ]
        parts.append("\n".join(rows))
    return "\n\n".join(parts)


def _parameters(measure: Measure) -> dict:
    return catalogue.parse(measure.name, complete=False).parameters


def _plain(text: str) -> str:
    """Escape what Markdown would take for more than text."""
    return re.sub(r"([\\`*_<>|\[\]])", r"\\\1", text)
