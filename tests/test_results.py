"""Every finding is a `Result`: a table, how it was made, and notes."""

import io
import json
import re
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from tempfile import TemporaryDirectory
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from helpers.contextual import modelled

import pgcjax
from pgcjax.datasets.files import demo_folder
from pgcjax.io.result import Result
from pgcjax.reporting import canvas, figures, plot_labels
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


def few_votes() -> pd.DataFrame:
    """Votes of three queries, where many would be compared in Python."""
    votes = pgcjax.files.read_preferences(VOTES)
    return votes[votes["query_id"] < "q104"]


FINDINGS = {
    "Scores": scores,
    "Comparison": lambda: pgcjax.compare(scores(), measure="PGC"),
    "GateDecision": lambda: pgcjax.gate(scores(), "rose", "elder", margin=0.02),
    "RankSets": lambda: pgcjax.rank_sets(scores(), "PGC"),
    "Power": lambda: pgcjax.power(scores(), 0.05, measure="PGC", resamples=100),
    "Discrimination": lambda: pgcjax.meta.discriminate(scores()),
    "Agreement": lambda: pgcjax.meta.agree(scores(), PAGES),
    "Leaderboard": lambda: leaderboard(scores()),
    "Similarity": lambda: pgcjax.rankings.rbo(RUNS),
    "Preferences": lambda: pgcjax.rankings.prefer(RUNS, preferences=VOTES),
    "Stability": lambda: pgcjax.judgments.enough(
        RUNS, preferences=VOTES, replicates=10
    ),
    "Fragility": lambda: pgcjax.fragile(RUNS, preferences=VOTES, change="queries"),
    "JudgeOrders": lambda: pgcjax.judgments.compare_orders(RUNS, preferences=VOTES),
    "Panel": lambda: pgcjax.judgments.panel(VOTES),
    "JudgeComparison": lambda: pgcjax.judgments.compare(VOTES, judges=("j1", "j3")),
    "Circularity": lambda: pgcjax.judgments.circular(
        scores(), scores(), ["rose"], measure="PGC"
    ),
    "Audit": lambda: pgcjax.judgments.audit(few_votes()),
    "JudgeAgreement": lambda: pgcjax.judgments.judge_agreement(VOTES),
    "GradeAgreement": lambda: pgcjax.judgments.grade_agreement(VOTES, QRELS),
    "Contradictions": lambda: pgcjax.judgments.contradictions(VOTES),
    "Fit": lambda: pgcjax.judgments.fit(VOTES),
    "Standings": lambda: pgcjax.judgments.standings(few_votes()),
    "Strength": lambda: pgcjax.judgments.strength(VOTES, QRELS),
    "ContextPrediction": lambda: predicted(),
    "Uncertainty": lambda: pgcjax.uncertainty(
        RUNS, preferences=VOTES, measures=["PGC", "PGC(p=0.8)"], replicates=9
    ),
    "LeftOut": lambda: pgcjax.uncertainty(
        RUNS, preferences=VOTES, measures="PGC", leave_out="judges"
    ),
    "StoppingDecision": lambda: pgcjax.uncertainty(
        RUNS, preferences=VOTES, measures="PGC", anytime="best"
    ),
    "NextJudgments": lambda: pgcjax.judgments.next(
        RUNS, preferences=VOTES, replicates=9
    ),
    "NextAnswers": lambda: pgcjax.judgments.next_by_utility(RUNS[:2], documents=5),
    "DrawnAnswers": lambda: pgcjax.judgments.next_by_chance(RUNS[:2], requests=3),
    "SimulatedAsking": lambda: pgcjax.ask.simulate(documents=[4, 6], queries=3),
    "Finished": lambda: finished(),
    "Explanation": lambda: scores().explain("rose", "q115"),
    "Difference": lambda: scores().explain("rose", other="alder", measure="nDCG@10"),
}


def predicted() -> Result:
    pytest.importorskip("sklearn")
    weights = np.array([[1.0, 0.4, -2.0], [0.0, 0.0, 1.2], [-1.0, -0.6, 2.6]])
    return pgcjax.judgments.predict_context(*modelled(0, 60, 6, weights))


def finished() -> Result:
    with TemporaryDirectory() as folder:
        grades = {"q": dict.fromkeys("abcd", 1)}
        tournament = pgcjax.ask.Tournament.start(Path(folder, "t"), grades, k=2)
        while len(asked := tournament.requests()):
            votes = asked[["query_id", "doc_id", "other_doc_id"]]
            tournament.add(
                votes.assign(preference=1.0, judge="j", first=asked["first"])
            )
        return tournament.finish()


@cache
def finding(name: str) -> Result:
    return FINDINGS[name]()


def all_results() -> set[type]:
    for module in walk_packages(pgcjax.__path__, "pgcjax."):
        if "__main__" not in module.name:
            import_module(module.name)
    kinds = {*Result.__subclasses__()}
    return kinds | {kind for base in kinds for kind in base.__subclasses__()}


def test_classes_of_findings_are_results():
    """Whoever writes a class of findings bases it on `Result`."""
    public = {getattr(pgcjax, name) for name in pgcjax.__all__}
    tables = {
        x
        for x in public
        if isinstance(x, type) and "metadata" in getattr(x, "__annotations__", ())
    }
    assert not {x for x in tables if not issubclass(x, Result)}
    kinds = all_results()
    assert set(FINDINGS) == {x.__name__ for x in kinds if not x.__subclasses__()}
    drawn = {*figures.BY_MEASURE, *figures.WHOLE}
    assert drawn <= {x.__name__ for x in kinds}


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


@pytest.mark.parametrize("name", FINDINGS)
def test_each_has_a_figure_with_labelled_axes(name):
    found = finding(name)
    figure = found.plot()
    assert figure.get_figwidth() == plot_labels.WIDTH
    axes = figure.axes[0]
    assert axes.get_xlabel() and axes.has_data()
    named = [text.get_text() for text in axes.get_yticklabels()]
    assert all(named) and (axes.get_ylabel() or not re.match(r"[\d.−]+$", named[0]))
    canvas.rendered(figure, ".pdf")  # whatever is laid out only then
    _, (given, _) = canvas.panels(2)
    assert found.plot(axes=given) is given.figure and given.get_xlabel()


@pytest.mark.parametrize("name", FINDINGS)
def test_a_notebook_shows_at_most_50_rows_and_all_notes(name):
    found = finding(name)
    # Whatever is escaped is well-formed, too.
    page = ElementTree.fromstring(f"<div>{found._repr_html_()}</div>")
    rows, count = page.findall(".//tbody/tr"), len(found._shown())
    assert len(rows) == min(count, 50)
    lines = ["".join(line.itertext()) for line in page.findall("p")]
    counts = [f"50 of {count} rows"] if count > 50 else []
    assert lines == [*counts, *found.notes]
    heads = len(page.findall(".//thead/tr/th"))
    assert all(len(row.findall("td")) == heads for row in rows)


def test_what_a_notebook_shows_is_escaped():
    bad = "<script>alert(1)</script>&"
    found = Result(pd.DataFrame({bad: [bad]}, index=[bad]), notes=(bad,))
    html = found._repr_html_()
    assert "<script" not in html and "&&" not in html
    page = ElementTree.fromstring(f"<div>{html}</div>")
    cells = [x.text for x in page.iter() if x.tag in ("th", "td", "p")]
    assert cells == [None, bad, bad, bad, bad]


def test_rows_are_the_best_first():
    shown = {}
    for name in ("Scores", "Uncertainty", "Discrimination", "Leaderboard"):
        tables = pd.read_html(io.StringIO(finding(name)._repr_html_()))
        shown[name] = tables[0]
    assert shown["Scores"]["PGC"].is_monotonic_decreasing
    assert shown["Leaderboard"]["PGC"].is_monotonic_decreasing
    assert shown["Discrimination"]["power"].tolist() == [0.4286, 0.3333]
    table = shown["Uncertainty"]
    assert list(dict.fromkeys(table["measure"])) == ["PGC", "PGC(p=0.8)"]
    for _, rows in table.groupby("measure"):
        assert len(rows) == len(RUNS) and rows["mean"].is_monotonic_decreasing


def test_bars_are_the_intervals():
    table = pd.DataFrame(
        {
            "run_id": ["a", "b", "c"],
            "mean": [0.0, 1.0, 2.0],
            "low": [-1.0, 0.5, np.nan],
            "high": [1.0, 3.0, np.nan],
        }
    )
    page = ElementTree.fromstring(f"<div>{Result(table)._repr_html_()}</div>")
    ends, values, zeros = [], [], []
    for drawing in page.findall(".//svg"):
        line, zero = (path.get("d", "") for path in drawing.findall("path"))
        ends.append([float(x) for x in re.findall(r"[\d.]+(?=H|$| )", line)][::2])
        zeros.append(float(re.findall(r"M([\d.]+)", zero)[0]))
        values.append(float(drawing.findall("circle")[0].get("cx", "")))
    assert len(values) == 2  # none where the interval is missing
    (a, b), (c, d) = ends
    unit = (b - a) / 2
    assert values[0] == zeros[0] == zeros[1] == pytest.approx(a + unit, abs=0.1)
    assert [c, values[1], d] == pytest.approx(
        [a + 1.5 * unit, a + 2 * unit, a + 4 * unit], abs=0.1
    )
