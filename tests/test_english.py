"""README, docs, docstrings and help avoid the constructions of `docs/style.md`."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import pgcjax
from pgcjax.cli.commands import cli

ROOT = Path(pgcjax.__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
SENTENCES = (
    r"^Of (?!course\b|the \d|\d)[^?]*$",  # Of more groups the table says …
    r"^What (?:\w+ ){0,8}(?:is|are)\b[^?]*$",  # What is left is …
)
FIRST_LINES = (
    *SENTENCES,
    r"^(Say|Give|Tell)\b",
    r"^(What|How|Which|Whose|Who|Why|Where|Do|Does|Are|Is)\b",  # no noun, no verb
)
HELP = (*FIRST_LINES, r"^(Its|Needed|Only what|Even if)\b")
MESSAGES = (
    r"\b(?:is|are) of\b(?! no)",  # --top is of runs: takes, works with, needs
    r"\b(?:is|are) not known\b",  # unknown
    r"\bfor want of\b|\bkept aside\b|\bhangs? on\b|\bbelow each other\b",
    r"\btakes? \w+ for (?!each|the|a|granted)",  # counts as
    r"^(Of|Whose)\b",
)
_START = r"(?:(?<=[.:!?]\s)|^(?:[-*] |\| )?|(?<=\| ))(?=(?:Of|What)\b)"
pytestmark = pytest.mark.skipif(not PAGES[0].exists(), reason="not in a checkout")


def sentences(page: str) -> Iterator[str]:
    """Yield what may be a sentence of a page and begins with a suspect word."""
    page = re.sub(r"^```.*?^```|^#.*?$|^    .*?$", "", page, flags=re.M | re.S)
    page = re.sub(r"(?<!\n)\n(?![\n|*-])\s*", " ", page)
    for line in page.splitlines():
        for start in re.finditer(_START, line):
            yield re.split(r"(?<=[.:!?|])\s", line[start.end() :])[0]


def docstrings(source: str) -> Iterator[str]:
    """Yield the first line of each string that documents something."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            if isinstance(text := node.value.value, str):
                yield text.strip().partition("\n")[0]


def helps(command: click.Command) -> Iterator[str]:
    """Yield the help of a command, of its options and of commands within it."""
    yield command.help or ""
    yield from (getattr(option, "help", None) or "" for option in command.params)
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from helps(command.get_command(context, name) or command)


def messages(source: str) -> Iterator[str]:
    """Yield the texts of errors, notes and warnings: strings of several words."""
    tree = ast.parse(source)
    above = {n.value for n in ast.walk(tree) if isinstance(n, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if node not in above and len(node.value.split()) > 2:
                yield node.value


def hard(texts: Iterator[str], rules: tuple[str, ...]) -> list[str]:
    return [text for text in texts if any(re.search(rule, text) for rule in rules)]


EXEMPT = {"style.md"}
"""It quotes such sentences."""
NO_LEAD = {"index.md"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages(page):
    text = page.read_text("utf-8")
    if page.name not in EXEMPT:
        assert hard(sentences(text), SENTENCES) == []
    if page.parent.name == "docs" and page.name not in NO_LEAD:
        assert "After this page you can" in text[:400], "what can its reader do then?"


def test_docstrings():
    for path in sorted((ROOT / "pgcjax").rglob("*.py")):
        assert hard(docstrings(path.read_text("utf-8")), FIRST_LINES) == [], path


def test_messages():
    for path in sorted((ROOT / "pgcjax").rglob("*.py")):
        assert hard(messages(path.read_text("utf-8")), MESSAGES) == [], path


def test_help():
    texts = list(helps(cli))
    assert len(texts) > 100
    assert hard(iter(texts), HELP) == []


def test_rules_find_what_they_are_for():
    page = (
        "A.\nOf more\ngroups it says.\n\n- What is left is x. Of course.\n\n| What? |\n"
    )
    assert hard(sentences(page), SENTENCES) == [
        "Of more groups it says.",
        "What is left is x.",
    ]
    assert hard(docstrings('"""Say it."""\nx = 1\n"""Of y."""'), FIRST_LINES) == [
        "Say it.",
        "Of y.",
    ]
    refused = "raise E('--top is of runs')\nraise E('length is not known here')\n"
    assert len(hard(messages(refused + "'it takes runs only'"), MESSAGES)) == 2
