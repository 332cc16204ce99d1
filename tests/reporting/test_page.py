"""Pages say what they are given, whole, in HTML and in Markdown."""

import base64
import errno
import os
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pgcjax.errors import DataError, UsageError
from pgcjax.reporting import canvas, plots
from pgcjax.reporting.page import (
    Page,
    Picture,
    Section,
    Table,
    cell_of,
    ready,
    table_of,
    write,
)

ODD = "<b>|*x*`_a_ & &lt; $5_off$ [l](u) #1 ~~s~~ \\"
VOID = {"meta", "img", "br", "hr", "link", "input"}


class Reader(HTMLParser):
    """Checks that tags are closed, and collects what is in them."""

    def __init__(self, text: str):
        super().__init__()
        self.open: list[str] = []
        self.found: list[tuple[str, dict]] = []
        self.text: dict[str, list[str]] = {}
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
            self.text.setdefault(tag, []).append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        for tag in set(self.open):
            self.text[tag][-1] += data

    def tags(self, name):
        return [attrs for tag, attrs in self.found if tag == name]


def plain(markdown: str) -> str:
    """Undo escapes, as a reader of Markdown does."""
    return re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", markdown)


def cells(line: str) -> list[str]:
    assert line.startswith("|") and line.endswith("|")
    return [cell.strip() for cell in re.split(r"(?<!\\)(?:\\\\)*\|", line)[1:-1]]


def figure(value=1.0):
    return plots.points([0, value], [1, 2], xlabel=ODD)


def example(pictures=1) -> Page:
    table = Table(["run", ODD], [[ODD, "0.5"], ["", "-1"]], ODD, ["good", "bad"])
    shown = [Picture(f"one-{i}", figure(1 + i), ODD) for i in range(pictures)]
    inner = Section("inner", ["- no list", "1. no list", "=== no rule"])
    sections = [Section(f"first {ODD}", [ODD, table, *shown, inner]), Section("b")]
    return Page(f"title {ODD}", sections, {"seed": 0, "of": ODD})


def test_html_is_one_file_that_says_it_all(tmp_path):
    target = tmp_path / "page.html"
    assert write(example(2), target) == target
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    text = target.read_text("utf-8")
    assert text.startswith("<!DOCTYPE html>")
    page = Reader(text)
    assert page.text["h1"] == page.text["title"] == [f"title {ODD}"]
    assert page.text["h2"] == [f"first {ODD}", "b"] and page.text["h3"] == ["inner"]
    assert page.text["p"] == [ODD, "- no list", "1. no list", "=== no rule"]
    assert page.text["th"] == ["run", ODD]
    assert page.text["td"] == [ODD, "0.5", "", "-1"]
    assert page.text["caption"] == [ODD] and page.text["figcaption"] == [ODD, ODD]
    assert page.text["dt"] == ["seed", "of"] and page.text["dd"] == ["0", ODD]
    rows = [row.get("class") for row in page.tags("tr")]
    assert rows == [None, "good", "bad"]
    right = [cell.get("class") for cell in page.tags("td")]
    assert right == [None, "number"] * 2
    assert "b" not in page.text and "script" not in page.text
    for attrs in page.tags("img"):
        kind, code = attrs["src"].split(",")
        assert kind == "data:image/svg+xml;base64" and attrs["alt"] == ODD
        assert base64.b64decode(code).startswith(b"<?xml")
    sources = [a for _, attrs in page.found for a in ("src", "href") if a in attrs]
    assert len(sources) == 2  # the two images: nothing is fetched
    assert "url(" not in text and "@import" not in text


def test_long_html_has_contents_that_lead_to_sections(tmp_path):
    sections = [Section(f"s {i}", ["text"]) for i in range(3)]
    page = Reader(write(Page("t", sections), tmp_path / "a.html").read_text())
    ids = [attrs["id"] for attrs in page.tags("section")]
    assert [a["href"] for a in page.tags("a")] == [f"#{name}" for name in ids]
    assert page.text["a"] == ["s 0", "s 1", "s 2"]


def test_markdown_says_the_same_as_html(tmp_path):
    folder = tmp_path / "my papers"
    folder.mkdir()
    write(example(2), folder / "a page.md")
    text = (folder / "a page.md").read_text("utf-8")
    lines = text.splitlines()
    assert plain(lines[0]) == f"# title {ODD}"
    heads = [plain(line) for line in lines if line.startswith("#")]
    assert heads == [f"# title {ODD}", f"## first {ODD}", "## b", "### inner"][:2] + [
        "### inner",
        "## b",
    ]
    table = [line for line in lines if line.startswith("|")]
    rows = [[plain(cell) for cell in cells(line)] for line in table]
    assert rows == [["run", ODD], ["---", "---:"], [ODD, "0.5"], ["", "-1"]]
    # A paragraph, two captions of figures, one of the table; what the page depends on.
    assert [plain(line) for line in lines].count(ODD) == 4
    assert f"- of: {ODD}" in [plain(line) for line in lines]
    for start in ("\\- no list", "1\\. no list", "\\=== no rule"):
        assert start in lines
    sources = re.findall(r"^!\[one-\d\]\((\S+)\)$", text, re.MULTILINE)
    assert sources == [f"a%20page-figures/one-{i}.svg" for i in range(2)]
    shown = sorted(path.name for path in (folder / "a page-figures").iterdir())
    assert shown == ["one-0.svg", "one-1.svg"]
    drawn = (folder / "a page-figures" / "one-1.svg").read_text()
    assert drawn == canvas.svg(figure(2.0))
    assert len(list(folder.iterdir())) == 2


def test_without_figures_there_is_no_folder(tmp_path):
    write(example(0), tmp_path / "page.md")
    assert [path.name for path in tmp_path.iterdir()] == ["page.md"]


@pytest.mark.parametrize("suffix", [".html", ".md"])
def test_equal_pages_are_equal_files_and_replace_older_ones(tmp_path, suffix):
    target = tmp_path / f"page{suffix}"
    target.write_text("older")
    first = write(example(), target).read_bytes()
    assert b"older" not in first
    assert write(example(), target).read_bytes() == first


def full_from(target):
    """Let the disk be full when a file takes the place of `target`."""
    replace = os.replace

    def checked(source, place):
        if Path(place).name == target.name:
            raise OSError(errno.ENOSPC, "No space left on device")
        replace(source, place)

    return checked


@pytest.mark.parametrize("suffix", [".html", ".md"])
def test_a_page_that_fails_leaves_what_was_there(tmp_path, suffix, monkeypatch):
    target = tmp_path / f"page{suffix}"
    target.write_text("older")
    monkeypatch.setattr(canvas, "rendered", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write(example(), target)
    if suffix == ".md":  # after the figures are written
        monkeypatch.setattr(canvas, "rendered", lambda *_: b"drawn")
        monkeypatch.setattr(os, "replace", full_from(target))
        with pytest.raises(DataError, match="cannot write there"):
            write(example(), target)
    assert [path.name for path in tmp_path.iterdir()] == [target.name]
    assert target.read_text() == "older"


def test_a_folder_of_figures_that_cannot_be_made(tmp_path):
    (tmp_path / "page-figures").write_text("mine")
    with pytest.raises(UsageError, match="page-figures: is no folder"):
        write(example(), tmp_path / "page.md")
    assert [path.name for path in tmp_path.iterdir()] == ["page-figures"]


def test_what_is_refused(tmp_path):
    with pytest.raises(
        UsageError, match="suffix of an output file is one of .html, .m"
    ):
        write(example(), tmp_path / "page.pdf")
    with pytest.raises(DataError, match="cannot write there"):
        write(example(), tmp_path / "none" / "page.md")
    one = Picture("one", figure())
    twice = Page("t", [Section("s", [one, Section("i", [one])])])
    with pytest.raises(UsageError, match="two figures are called 'one'"):
        write(twice, tmp_path / "page.html")
    outside = Page("t", [Section("s", [Picture("../one", figure())])])
    with pytest.raises(UsageError, match="file cannot be called '../one'"):
        write(outside, tmp_path / "page.md")
    assert not list(tmp_path.iterdir())


def test_matplotlib_that_is_not_installed_is_said_in_one_line(monkeypatch):
    assert ready("page.HTML") == ".html"
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for work in (lambda: ready("page.html"), lambda: write(Page("t", []), "page.md")):
        with pytest.raises(UsageError) as error:
            work()
        said = "figures need matplotlib: pip install 'pgcjax[plots]'"
        assert str(error.value) == said
    assert ready("page.html", draws=False) == ".html"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.5, "0.5000"),
        (0.00004, "4.0e-05"),
        (0.00005, "0.0001"),
        (-0.00001, "-1.0e-05"),
        (0.0, "0.0000"),
        (np.float32(0.25), "0.2500"),
        (float("inf"), "inf"),
        (float("nan"), "—"),
        (pd.NA, "—"),
        (pd.NaT, "—"),
        (None, "—"),
        (3, "3"),
        (np.int64(3), "3"),
        (True, "yes"),
        (np.bool_(False), "no"),
        ("0.5 or so", "0.5 or so"),
    ],
)
def test_cells(value, text):
    assert cell_of(value) == text


def test_tables_of_frames_have_numbers_to_the_right():
    frame = pd.DataFrame(
        {
            "run": ["a", "b"],
            "p": [0.5, 1e-7],
            "gap": [np.nan, float("-inf")],
            "n": [1000, 2],
            "yes": [True, False],
            7: ["1,000", "50 %"],
        }
    )
    table = table_of(frame, "caption", digits=2)
    assert table.columns == ["run", "p", "gap", "n", "yes", "7"]
    assert table.rows[0] == ["a", "0.50", "—", "1000", "yes", "1,000"]
    assert table.rows[1] == ["b", "1.0e-07", "-inf", "2", "no", "50 %"]
    assert table.numeric == [False, True, True, True, False, True]
    empty = table_of(frame.head(0))
    assert empty.rows == [] and len(empty.numeric) == 6


def test_a_table_without_rows_still_is_one(tmp_path):
    page = Page("t", [Section("s", [Table(["a", "b"], [])])])
    lines = write(page, tmp_path / "page.md").read_text().splitlines()
    assert [line for line in lines if line.startswith("|")][0] == "| a | b |"
    assert Reader(write(page, tmp_path / "page.html").read_text()).text["th"] == [
        "a",
        "b",
    ]
