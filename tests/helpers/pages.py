"""Pages of Markdown: the blocks of code that their readers are told to type."""

import re
import shlex
from glob import glob
from typing import NamedTuple

_PROGRAMS = ("pgcjax ", "python ", "pip ", "scripts/", "srun ", "#SBATCH", "cd ")


class Block(NamedTuple):
    """A block of code.

    Attributes:
        kind: what stands behind the fence, or `indented`.
        title: the name of the file that the block is, or "".
        text: without the fence.
        line: of its first line in the page, from 1.
    """

    kind: str
    title: str
    text: str
    line: int


def blocks(page: str) -> list[Block]:
    """List the blocks of code of a page: fenced ones, and those indented by four."""
    found, lines, i = [], page.splitlines(), 0
    while i < len(lines):
        start = i
        if fence := re.fullmatch(r'```(\w*)(?: title="(.+)")?', lines[i]):
            end = lines.index("```", i + 1)
            kind, title, text = fence[1], fence[2] or "", lines[i + 1 : end]
            i, start = end, start + 1
        elif lines[i].startswith("    ") and not (i and lines[i - 1].strip()):
            while i < len(lines) and (lines[i].startswith("    ") or not lines[i]):
                i += 1
            kind, title, text = "indented", "", [line[4:] for line in lines[start:i]]
            i -= 1
        else:
            i += 1
            continue
        found.append(Block(kind, title, "\n".join(text).rstrip() + "\n", start + 1))
        i += 1
    return found


def commands(block: Block) -> list[str]:
    """List the commands of a block, a line each, in which a line may be continued."""
    text = block.text.replace("\\\n", " ")
    if block.kind == "sh":
        return [line for line in text.splitlines() if line.strip()]
    if block.kind == "indented":
        return [line for line in text.splitlines() if line.startswith(_PROGRAMS)]
    if block.kind == "yaml":
        return re.findall(r"run: (pgcjax .+)", text)
    return []


def sessions(block: Block) -> list[tuple[str, list[str]]]:
    """List commands of a `console` block, which follow `$ `, with what they print."""
    found: list[tuple[str, list[str]]] = []
    for line in block.text.replace("\\\n", " ").splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    return found


def words(command: str) -> list[str]:
    """Split a command as a shell does, with its comments and patterns of files."""
    found = []
    for word in shlex.split(command, comments=True):
        found += sorted(glob(word)) if "*" in word else [word]
    return found


def is_shown(shown: list[str], printed: list[str]) -> bool:
    """Whether lines are what was printed.

    `…` stands for anything within a line, and alone for any number of lines.
    """
    pattern = "".join(
        "(?:.*\n)*?" if line == "…" else re.escape(line).replace("…", ".*") + "\n"
        for line in shown
    )
    return bool(re.fullmatch(pattern, "".join(line + "\n" for line in printed)))
