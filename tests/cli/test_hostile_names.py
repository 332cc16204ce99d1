"""Names that a terminal, a page or a spreadsheet would obey: shown, not obeyed."""

import xml.etree.ElementTree as ET

import pandas as pd
import pytest

from pgcjax.errors import DataError, DataWarning, UsageError, one_line, printable
from pgcjax.files import read_preferences, read_scores
from pgcjax.reporting import canvas, plots
from pgcjax.reporting.leaderboard import leaderboard, show
from pgcjax.reporting.page import Page, Section, table_of, write

RUNS = {"\x1b[2Jred\x07": r"\x1b[2Jred\x07", "a\u202eb\x9b[/i]": r"a\u202eb\x9b[/i]"}
BAD = set("\x1b\x07\u202e\x9b")
SCORES = ["evaluate", "--prefs", "prefs.txt", "runs.txt", "-m", "PGC"]


@pytest.fixture
def scored(pgcjax, here):
    """Scores of two runs, and a function that says how often names are in a text."""
    rows = (f"{q} Q0 {d} 1 {i} {run}\n" for i, run in enumerate(RUNS) for q, d in PAIRS)
    (here / "runs.txt").write_text("".join(rows))
    done = pgcjax(*SCORES, "-q", "-o", "s.csv")
    assert done.code == 0, done.err

    def shown(text: str) -> int:
        assert not BAD & {*text}
        counts = {text.count(name) for name in RUNS.values()}
        return counts.pop() if len(counts) == 1 else -1

    return done, shown


PAIRS = [("q1", "a"), ("q1", "c"), ("q2", "a")]


def test_shown_escaped_and_stored_as_they_are(pgcjax, here, scored):
    done, shown = scored
    assert shown(done.out) == 3 and shown(done.err) == 0  # two queries and their mean
    assert {*read_scores("s.csv").runs} == {*RUNS}
    for line, count in (
        ("compare s.csv --test t", 1),
        ("compare s.csv --test t --pairs", 1),
        ("measures discriminate s.csv --test t --show pairs", 1),
        ("rankings rbo runs.txt", 1),
        *((f"compare s.csv --test t --format {f}", 1) for f in ("csv", "table")),
    ):
        done = pgcjax(*line.split())
        assert shown(done.out + done.err) == count, done
    assert pgcjax("report", "s.csv", "-o", "r.html").code == 0
    assert pgcjax("report", "s.csv", "-o", "r.md", "--figures", "pdf").code == 0
    page = (here / "r.html").read_text()
    assert not BAD & {*page, *(here / "r.md").read_text()}
    assert min(page.count(name) for name in RUNS.values()) > 0
    for path in (here / "r-figures").glob("*.svg"):
        ET.fromstring(path.read_text())  # a control character is no XML
        assert not BAD & {*path.read_text()}


def test_text_tables_pages_plots(tmp_path, capsys, scored):
    _, shown = scored
    show(leaderboard(read_scores("s.csv")))
    assert shown(capsys.readouterr().out) == 1
    frame = pd.DataFrame({"run": [*RUNS], "more": [*RUNS]})
    write(Page("t", [Section("s", [*RUNS, table_of(frame)])]), tmp_path / "p.html")
    assert shown((tmp_path / "p.html").read_text()) == 3
    figure = plots.lines(
        pd.DataFrame({"x": [1, 2], "y": [1, 2], "run": [*RUNS]}), "x", "y", "run"
    )
    assert shown(canvas.svg(figure)) == 1


def test_messages(pgcjax, here):
    name = "x\x1b[1m\ny.txt"
    (here / name).write_text("q1 a\n")
    done = pgcjax("evaluate", "--prefs", name, "runs.txt")
    assert done.err.startswith(r"pgcjax: error: x\x1b[1m\ny.txt:1: expected preference")
    assert done.err.count("\n") == 1
    (here / "j.csv").write_text("qid,winner,loser,judge\nq1,a,b,\x1b[1m\nq1,a,b,j\n")
    done = pgcjax("judgments", "agree", "--prefs", "j.csv")
    assert r"\x1b[1m" in done.out and "\x1b" not in done.out
    assert "\x1b[1m" in set(read_preferences(here / "j.csv")["judge"])
    for kind in (DataError, UsageError, DataWarning):
        assert str(kind("a\x1b\nb  c")) == r"a\x1b b c"
    assert printable("a\tb\n\x7f", keep="\t") == r"a" + "\t" + r"b\n\x7f"
    assert printable("naïve 山 \u200d👩") == "naïve 山 \u200d👩"
    assert one_line("\udcff") == r"\udcff"


@pytest.mark.parametrize(
    ("line", "column"),
    [
        ("evaluate --prefs prefs.txt runs.txt -m PGC", "run_id"),
        ("compare s.csv --test t", "run_a"),
        ("measures discriminate s.csv --test t --show pairs", "run_a"),
        ("rankings rbo runs.txt", "run_a"),
    ],
)
def test_formulas(pgcjax, here, line, column):
    names = ["=cmd|' /C calc'!A0", "@x", "+1", "-1", "'a", "b=c"]
    (here / "runs.csv").write_text(
        "run,qid,docno,score\n"
        + "".join(f'"{r}",q1,a,1\n"{r}",q2,a,1\n' for r in names)
    )
    line = line.replace("runs.txt", "runs.csv")
    assert pgcjax(*SCORES[:3], "runs.csv", "-m", "PGC", "-o", "s.csv").code == 0
    assert pgcjax(*line.split(), "-o", "plain.csv").code == 0
    assert pgcjax(*line.split(), "-o", "safe.tsv", "--spreadsheet").code == 0
    how = {"skiprows": 1, "dtype": str}
    plain = pd.read_csv(here / "plain.csv", **how)
    safe = pd.read_csv(here / "safe.tsv", sep="\t", **how)
    assert {*plain[column]} <= {*names} and len({*plain[column]}) > 4
    escaped = [f"'{name}" if name[0] in "=@+-" else name for name in plain[column]]
    assert safe[column].tolist() == escaped
    numbers = [c for c in plain if c not in ("run_id", "run_a", "run_b")]
    assert safe[numbers].equals(plain[numbers])
    done = pgcjax(*line.split(), "-o", "out.parquet", "--spreadsheet")
    said = "pgcjax: error: --spreadsheet needs -o FILE.csv or FILE.tsv\n"
    assert done == (2, "", said)
