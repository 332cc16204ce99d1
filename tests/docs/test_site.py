"""The site: pages that are made, pictures, links, examples of docstrings, citation."""

import doctest
import inspect
import json
import re
import shutil
from pathlib import Path

import pytest
import yaml

import pgcjax
from pgcjax.measures.catalogue import built_in
from pgcjax.reference.pgc import greedy_ideal
from pgcjax.reporting import figures, plots
from scripts.site import catalogue, gallery, notebooks, pictures, privacy, screenshot

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
NAMES = {name: getattr(pgcjax, name) for name in dir(pgcjax) if name[0].isalpha()}
DOORS = ("ask", "files", "judgments", "meta", "rankings")
PUBLIC = {name: it for name, it in NAMES.items() if not inspect.ismodule(it)} | {
    f"{door}.{name}": getattr(NAMES[door], name)
    for door in DOORS
    for name in NAMES[door].__all__
}
PUBLIC |= {
    f"errors.{name}": getattr(pgcjax.errors, name)
    for name in ("DataError", "DataWarning", "PgcjaxError", "UsageError")
}
EXAMPLES = {name for name, it in PUBLIC.items() if ">>>" in (it.__doc__ or "")}
WARNED = "/any/ipykernel_7/21.py:1: DataWarning: odd\n  scores = it(\n"


def test_every_measure_has_an_entry_with_all_that_is_known_of_it():
    pages = catalogue.pages()
    entries = {
        name: entry
        for page in pages.values()
        for name, entry in re.findall(
            r"^## `(.+?)` (.+?)(?=^## |\Z)", page, re.M | re.S
        )
    }
    assert sorted(entries) == sorted(built_in())
    for name, known in built_in().items():
        entry = entries[name]
        assert f"`{known.formula}`" in entry
        assert "**Needs**: `--" in entry and "**Source**: " in entry
        for parameter in known.described():
            assert f"| `{parameter}` |" in entry
    assert "**Beside ranx**: = `ndcg`; `ndcg_burges` = `gain=exp`" in entries["nDCG"]
    assert "[images.md](../images.md)" in entries["PMR"]
    anchors = re.findall(r"\{ #(\S+) \}", "".join(pages.values()))
    assert len({a.lower() for a in anchors}) == len(anchors) == len(entries)


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("chromium"), reason="no chromium")
def test_the_picture_of_a_page_is_taken_anew(tmp_path):
    pytest.importorskip("playwright")
    picture = tmp_path / "assets/report.png"
    screenshot.take(picture)
    for file in (picture, screenshot.PICTURE):
        taken = file.read_bytes()
        assert taken.startswith(b"\x89PNG") and 20_000 < len(taken) < 200_000
        size = tuple(int.from_bytes(taken[i : i + 4]) for i in (16, 20))
        assert size == (1140, 760)


def test_without_a_browser_the_picture_is_left_as_it_is(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda _: None)
    with pytest.raises(RuntimeError, match=r"no (chromium|playwright).*install"):
        screenshot.take()


def test_pictures_are_what_is_computed():
    for name, draw in pictures.PICTURES.items():
        assert (DOCS / f"pictures/{name}.svg").read_text("utf-8") == draw()
    ideal = pictures.steps(pictures.EDGES, pictures.RUN)[-1][2]
    assert ideal == greedy_ideal(pictures.EDGES, pictures.RUN)
    assert len(ideal) == len(pictures.PLACES)


def test_the_gallery_draws_every_figure_that_there_is():
    page = gallery.PAGE.read_text("utf-8")
    sources = (path.read_text("utf-8") for path in (ROOT / "pgcjax").rglob("*.py"))
    results = r"^class ([A-Z]\w+)\(Result\):"
    kinds = {kind for text in sources for kind in re.findall(results, text, re.M)}
    kinds = (kinds | {*figures.BY_MEASURE, *figures.WHOLE}) - {"Explained"}  # a base
    assert len(kinds) > 30
    assert {kind for kind in kinds if f"`{kind}`" not in page} == set()
    drawn = {name for name in plots.__all__ if f"plots.{name}(" not in page}
    assert drawn == {"agreement", "leaderboard", "stability", "significance_curves"}


def test_a_picture_of_the_gallery_is_what_its_code_draws():
    page = "```python\nimport pgcjax\n```\n\n```python\nfrom pgcjax.reporting import "
    page += "plots\nplots.points([1, 2], [3, 4])\n```\n\n![Two.](gallery/two.svg)\n"
    ((name, picture),) = gallery.pictures(page).items()
    assert name == "two" and picture.count("<use ") >= 2
    with pytest.raises(ZeroDivisionError):
        gallery.pictures("```python\n1 / 0\n```\n")


def test_the_python_page_has_every_public_name():
    page = (DOCS / "api.md").read_text("utf-8")
    names = re.findall(r"^::: pgcjax\.([\w.]+)$", page, re.MULTILINE)
    assert sorted(names) == sorted(PUBLIC)
    # A package that can be called, too, has no entry of its own.
    assert "`pgcjax.measures()`" in page


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_examples_of_docstrings(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = doctest.DocTestFinder(recurse=False).find(PUBLIC[name], name)
    said: list[str] = []
    for test in found:
        doctest.DocTestRunner().run(test, out=said.append)
    assert not said, "".join(said)


def test_there_are_examples_where_users_begin():
    begin = {"Scores", "judgments.majority", "rankings.rbo", "files.read_qrels"}
    assert begin <= EXAMPLES
    assert all(inspect.getdoc(it) for it in PUBLIC.values())


def test_links_lead_somewhere():
    """Anchors are checked where the site is built."""
    for page in (*sorted(DOCS.glob("*.md")), *sorted(ROOT.glob("*.md"))):
        for link in re.findall(r"\]\(([^)#\s]+)", page.read_text("utf-8")):
            if not re.match(r"https://[\w.-]+(/\S*)?$|gallery/[\w-]+\.svg$", link):
                assert (page.parent / link).exists(), f"{page.name}: {link}"


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda p: p.name)
def test_pictures_have_words_for_those_who_do_not_see_them(page):
    words = re.findall(r"!\[(.*?)\]\(", page.read_text("utf-8"))
    assert [alt for alt in words if len(alt) < 20] == []


ASKED = {
    "start.md": "On Windows:",
    "concepts.md": "`PGC(p=.95)`",
    "coming-from.md": "## trec_eval",
    "significance.md": "## Which test when",
    "judge-bias.md": "# Is my judge biased?",
    "gallery.md": "# Plot gallery",
}


def test_a_stranger_finds_answers_within_two_clicks_of_home():
    def linked(pages: set[str]) -> set[str]:
        texts = ((DOCS / page).read_text("utf-8") for page in pages)
        return {to for text in texts for to in re.findall(r"\]\(([\w-]+\.md)", text)}

    once = linked({"index.md"})
    twice = once | linked({page for page in once if (DOCS / page).exists()})
    for page, answer in ASKED.items():
        assert page in twice
        assert answer in (DOCS / page).read_text("utf-8"), page


def listed(menu) -> list[str]:
    if isinstance(menu, str):
        return [menu]
    parts = menu.values() if isinstance(menu, dict) else menu
    return [page for part in parts for page in listed(part)]


def test_what_is_read_has_at_most_30_thousand_words():
    """Reference and evidence are looked up."""
    menu = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))["nav"]
    read = {"Home", "Start", "How to", "Explained"}
    pages = [page for part in menu if read & part.keys() for page in listed(part)]
    assert len(pages) > 25
    words = 0
    for page in pages:
        path = DOCS / page
        if not path.exists():
            cells = json.loads(path.with_suffix(".ipynb").read_text("utf-8"))["cells"]
            words += sum(len("".join(cell["source"]).split()) for cell in cells)
        else:
            words += len(path.read_text("utf-8").split())
    assert words <= 30_000


@pytest.mark.parametrize("word", ["FAQ", "Glossary", "Elo", "Bias", "Migrate"])
def test_search_finds(word):
    """The search of the site finds headings, and first cells of the glossary."""
    page = (DOCS / "glossary.md").read_text("utf-8")
    assert re.search(rf"^(#+ .*\b|\| ){word}\b", page, re.M | re.I)


def test_no_text_is_taken_for_html():
    """`A<B, A>B` is; within backticks or a block it is not."""
    for page in sorted(DOCS.glob("*.md")):
        text = re.sub(
            r"^(```.*?^```|    .*?)$", "", page.read_text("utf-8"), flags=re.M | re.S
        )
        tags = re.findall(r"<[A-Za-z/!].*", re.sub(r"`[^`]+`", "", text))
        assert tags == [], page.name


def test_citation():
    """The fields that https://citation-file-format.github.io asks for."""
    said = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert said["version"] == pgcjax.__version__
    assert said["authors"] == [{"name": "The pgcjax developers"}]
    assert (said["cff-version"], said["license"]) == ("1.2.0", "Apache-2.0")
    assert said["message"] and said["title"].startswith("pgcjax")


def test_a_page_that_fetches_is_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<link rel="stylesheet" href="https://fonts.example/x.css">'
        '<link rel="canonical" href="https://pgcjax.example">'
        '<a href="https://example.org">a link</a><script src="//cdn.example/x.js">'
        '</script><img src="data:image/png;base64,AA"><img src="pictures/graph.svg">'
        '<pre class="mermaid">graph</pre>'
    )
    (tmp_path / "b.css").write_text("@import 'https://x.example/b.css'; a{url(#b)}")
    assert privacy.remote_assets(tmp_path) == [
        "a.html: https://fonts.example/x.css",
        "a.html: //cdn.example/x.js",
        "a.html: mermaid",
        "b.css: https://x.example/b.css",
    ]


def test_a_notebook_as_a_page():
    outputs = [
        {"output_type": "stream", "text": f"{WARNED}two\nlines\n"},
        {
            "output_type": "execute_result",
            "data": {
                "text/html": "<div><style>x</style>\n\n<table a='b'></table></div>"
            },
        },
        {"output_type": "display_data", "data": {"image/svg+xml": "<svg/>"}},
    ]
    cells = [
        {"cell_type": "markdown", "source": "# Title"},
        {
            "cell_type": "code",
            "source": "1",
            "metadata": {"alt": "a 'line'"},
            "outputs": outputs,
        },
    ]
    shown = notebooks.markdown({"cells": cells}, "it.ipynb")
    assert shown.split("\n\n") == [
        "# Title",
        "[This page as a notebook](it.ipynb), executed while the site was built.",
        "```python\n1\n```",
        "```text\nDataWarning: odd\ntwo\nlines\n```",
        "<table></table>",
        '<img src="data:image/svg+xml;base64,PHN2Zy8+" alt="a &#x27;line&#x27;">\n',
    ]
    cells[1]["metadata"] = {}
    with pytest.raises(ValueError, match="needs `alt`"):
        notebooks.markdown({"cells": cells}, "it.ipynb")


def test_notebooks_are_kept_without_outputs():
    paths = sorted((DOCS / "notebooks").glob("*.ipynb"))
    assert len(paths) == 2
    for path in paths:
        text = path.read_text("utf-8")
        assert "After this page you can" in text
        assert '"outputs": []' in text and '"output_type"' not in text
        assert '"execution_count": null' in text
