"""Every finding is a `Result`: a table, how it was made, and notes."""

import json
import re
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pandas as pd
import pytest

import pgcjax
from pgcjax.datasets.files import demo_folder
from pgcjax.io.result import Result
from pgcjax.reporting.leaderboard import leaderboard

DEMO = demo_folder()
RUNS = [str(p) for p in sorted((DEMO / "runs").iterdir()) if "oak" not in p.name]
VOTES = str(DEMO / "preferences.csv")
QRELS = str(DEMO / "qrels.txt")


PAGES = pd.DataFrame(
    {
        "query_id": ["q101", "q102"],
        "run_a": "alder",
        "run_b": "elder",
        "preference": [1, -1],
    }
)


@cache
def scores() -> pgcjax.Scores:
    measures = ["PGC", "nDCG@10"]
    return pgcjax.evaluate(RUNS, preferences=VOTES, qrels=QRELS, measures=measures)


FINDINGS = {
    "Scores": scores,
    "Comparison": lambda: pgcjax.compare(scores(), measure="PGC"),
    "Discrimination": lambda: pgcjax.meta.discriminate(scores()),
    "Agreement": lambda: pgcjax.meta.agree(scores(), PAGES),
    "Leaderboard": lambda: leaderboard(scores()),
    "Similarity": lambda: pgcjax.rankings.rbo(RUNS),
    "Preferences": lambda: pgcjax.rankings.prefer(RUNS, preferences=VOTES),
    "Stability": lambda: pgcjax.judgments.enough(
        RUNS, preferences=VOTES, replicates=10
    ),
    "JudgeOrders": lambda: pgcjax.judgments.compare(RUNS, preferences=VOTES),
    "Audit": lambda: pgcjax.judgments.audit(VOTES),
    "JudgeAgreement": lambda: pgcjax.judgments.judge_agreement(VOTES),
    "GradeAgreement": lambda: pgcjax.judgments.grade_agreement(VOTES, QRELS),
    "Contradictions": lambda: pgcjax.judgments.contradictions(VOTES),
    "Fit": lambda: pgcjax.judgments.fit(VOTES),
}


@cache
def finding(name: str) -> Result:
    return FINDINGS[name]()


def all_results() -> set[type]:
    for module in walk_packages(pgcjax.__path__, "pgcjax."):
        if "__main__" not in module.name:
            import_module(module.name)
    return set(Result.__subclasses__())


def test_classes_of_findings_are_results():
    """Whoever writes a class of findings bases it on `Result`."""
    public = {getattr(pgcjax, name) for name in pgcjax.__all__}
    tables = {
        x
        for x in public
        if isinstance(x, type) and "metadata" in getattr(x, "__annotations__", ())
    }
    assert not {x for x in tables if not issubclass(x, Result)}
    named = {x.__name__ for x in all_results()}
    assert set(FINDINGS) <= named and len(named) > 18


@pytest.mark.parametrize("name", FINDINGS)
def test_each_has_a_table_its_making_and_notes(name):
    found = finding(name)
    assert type(found).__name__.endswith(name) and isinstance(found, Result)
    assert isinstance(found.table, pd.DataFrame) and len(found.table)
    assert isinstance(found.notes, tuple) and all(type(n) is str for n in found.notes)
    assert json.loads(json.dumps(found.metadata)) and found.table is found.table


@pytest.mark.parametrize("name", FINDINGS)
def test_each_is_printed_for_papers_pages_and_notebooks(name):
    found = finding(name)
    latex, markdown, html = (
        found.to_latex(),
        found.to_markdown(),
        found._repr_html_(),
    )
    assert "\\toprule" in latex and latex.count("\\begin{") == latex.count("\\end{")
    assert "\n| ---" in markdown and "<table" in html
    for text in (latex, markdown, html):
        assert not re.search(r"\bNone\b|<NA>", text)
    rows = markdown.splitlines()
    assert sum(row.startswith("|") for row in rows) >= 3


@pytest.mark.parametrize("name", FINDINGS)
def test_each_is_saved_whole(name, tmp_path: Path):
    found = finding(name)
    path = found.save(tmp_path / "found.tsv")
    lines = path.read_text().splitlines()
    there = [line for line in lines if not line.startswith("#")]
    assert len(there) > 1 and [*tmp_path.iterdir()] == [path]
    with pytest.raises(pgcjax.errors.UsageError):
        found.save(tmp_path / "found.doc")
