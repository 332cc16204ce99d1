"""The table of docs/measures-tools.md: all measures are in it, and its tests exist."""

import re
from pathlib import Path

from pgcjax.measures.catalogue import catalogue

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/measures-tools.md").read_text(encoding="utf-8")
TOOLS = 5


def rows() -> list[list[str]]:
    lines = [line for line in PAGE.splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def test_every_measure_has_one_row():
    named = [name for row in rows() for name in re.findall("`([^`]+)`", row[0])]
    assert sorted(named) == sorted(catalogue())


def test_every_cell_says_something_and_has_a_test():
    for row in rows():
        assert len(row) == 1 + TOOLS + 1, row[0]
        cells, tests = row[1:-1], row[-1].split()
        assert all(
            re.search("[=≠·]|1 - |is ppref|not compared|published", c) for c in cells
        )
        assert tests and all("test_" in test for test in tests)


def test_every_test_that_is_named_exists():
    named = set(re.findall(r"(test_\w+\.py)(?:::(\w+))?", PAGE))
    assert len(named) > 30
    for name, function in named:
        found = [path.read_text() for path in (ROOT / "tests").rglob(name)]
        assert any(f"def {function or 'test_'}" in text for text in found), name
