"""--format, --top and -m: a leaderboard on a terminal, in papers and for programs."""

import io
import json
import re
import sys
from pathlib import Path

import pandas as pd
import pytest

import pgcjax as package
from pgcjax.cli.formats import FORMATS
from pgcjax.cli.options import _parted
from pgcjax.datasets.files import demo_folder

pytestmark = pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning")
DEMO = demo_folder()
JUDGED = ["--prefs", str(DEMO / "preferences.csv"), "--qrels", str(DEMO / "qrels.txt")]
EVALUATE = ["evaluate", *JUDGED, str(DEMO / "runs")]
DOCS = Path(package.__file__).parents[1] / "docs" / "tables.md"
MEASURES = ["Compat", "PGC"]


@pytest.fixture(scope="module")
def demo_scores():
    return package.evaluate(
        DEMO / "runs",
        preferences=DEMO / "preferences.csv",
        qrels=DEMO / "qrels.txt",
        measures=MEASURES,
    )


@pytest.fixture
def scores(here, demo_scores):
    return str(demo_scores.save("scores.parquet"))


@pytest.fixture
def terminal(monkeypatch):
    """Make stdout a terminal of so many columns."""

    def of(columns: int) -> None:
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setenv("NO_COLOR", "1")
        monkeypatch.setenv("TERM", "dumb")
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)

    return of


def order(text: str) -> list[str]:
    """Name the runs of the demo collection in the order of their lines."""
    names = sorted(path.stem for path in (DEMO / "runs").iterdir())
    return [name for line in text.splitlines() for name in names if name in line]


def read(text: str) -> pd.DataFrame:
    """Read CSV with every digit."""
    table = pd.read_csv(io.StringIO(text), comment="#", dtype=str)
    words = ["run_id", "groups"]
    types = {c: float for c in table if c not in words}
    return table.astype({**types, "rank": int})


def ranked(scores: package.Scores, measure: str) -> list[str]:
    return scores.mean()[measure].sort_values(ascending=False).index.tolist()


def test_lines_of_trec_eval_in_a_pipe_and_ranks_on_a_terminal(
    pgcjax, terminal, demo_scores
):
    line = [*EVALUATE, "-m", "Compat,PGC"]
    assert pgcjax(*line).out.splitlines() == list(demo_scores.lines())
    best = ranked(demo_scores, "Compat")
    terminal(80)
    done = pgcjax(*line)
    assert done.err == (
        "pgcjax: warning: Compat, PGC: judged queries are missing in 1 run (oak), 1 "
        "score in all: scored 0\npgcjax: Compat, PGC: 8 runs, 20 judged queries\n"
    )
    lines = done.out.splitlines()
    assert lines[0].strip() == "8 runs by Compat" and order(done.out) == best
    assert lines[-1] == "Order trec, missing zero" and "\x1b[3" not in done.out
    assert max(map(len, lines)) <= 80
    for measure, means in demo_scores.mean().items():
        assert all(f" {mean:.4f} " in done.out for mean in means), measure
    # Each query has no place in a leaderboard.
    small = ["evaluate", "--prefs", "prefs.txt", "run.txt", "two.txt"]
    assert "\ntwo\tPGC\tq2\t" in pgcjax(*small, "-q").out
    assert "\ntwo\tPGC\tall\t" in pgcjax(*small, "--format", "text").out


def test_programs_get_every_digit(pgcjax, here, demo_scores):
    whole = package.Scores(demo_scores.table, demo_scores.metadata | {"part": [1, 1]})
    whole.save("part.parquet")
    line = ["files", "merge", "part.parquet", "-o", "all.parquet", "--format"]
    mean = demo_scores.mean().sort_index()
    best = ranked(demo_scores, "Compat")
    done = pgcjax(*line, "csv")
    head, *_ = done.out.splitlines()
    assert json.loads(head.removeprefix("# pgcjax ")) == demo_scores.metadata
    table = read(done.out)
    ends = [f"{m}{end}" for m in MEASURES for end in ("", "_low", "_high")]
    assert list(table) == ["rank", "run_id", *ends]
    assert table["run_id"].tolist() == best
    assert table["rank"].tolist() == [*range(1, 9)]
    by_run = table.set_index("run_id")
    for measure in MEASURES:
        assert by_run[measure].sort_index().tolist() == mean[measure].tolist()
        found = package.compare(demo_scores, measure=measure, test="t").runs
        ends = found.set_index("run_id")[["low", "high"]]
        near = by_run[[f"{measure}_low", f"{measure}_high"]].sort_index()
        assert near.to_numpy() == pytest.approx(ends.to_numpy(), abs=1e-14)
    shown = pgcjax(*line, "table", "--top", "3").out
    assert order(shown) == best[:3]
    assert shown.splitlines()[-1] == "--top 8 shows all 8 runs"
    done = json.loads(pgcjax(*line, "json", "--top", "2").out)
    assert done["pgcjax"] == demo_scores.metadata
    assert pd.DataFrame(done["rows"]).equals(table.head(2))


def test_compare_ranks_too(pgcjax, terminal, scores, demo_scores):
    line = ["compare", scores, "--test", "t", "-m"]
    found = package.compare(scores, measure="PGC", test="t")
    runs = found.runs.sort_values("rank", ignore_index=True)
    text = pgcjax(*line, "PGC").out
    assert [row.split("\t")[0] for row in text.splitlines()[1:]] == list(runs["run_id"])
    csv = pgcjax(*line, "PGC", "--format", "csv").out
    table = read(csv)
    pd.testing.assert_frame_equal(table, runs, check_dtype=False, check_exact=True)
    two = pgcjax(*line, "PGC,Compat", "--format", "json")
    for m in ("PGC", "Compat"):
        note = package.compare(scores, measure=m, test="t").notes[0]
        assert f"pgcjax: {m}: {note}\n" in two.err
    two = json.loads(two.out)
    assert [m["measure"] for m in two["pgcjax"]["comparisons"]] == ["PGC", "Compat"]
    assert [row.pop("measure") for row in two["rows"]] == ["PGC"] * 8 + ["Compat"] * 8
    assert two["rows"][:8] == runs.to_dict("records")
    pairs = pgcjax(*line, "PGC", "--pairs", "--format", "latex").out
    assert pairs.count(r"\\") == 1 + 28 and r"1.0e-0" not in pairs
    terminal(100)
    table = pgcjax(*line, "PGC,Compat").out
    assert order(table) == ranked(demo_scores, "PGC")
    assert table.count(" groups ") == 2 and "●" in table
    table = pgcjax(*line, "PGC", "--baseline", "oak").out
    assert order(table) == [*ranked(demo_scores, "PGC"), "oak"]
    assert "↑ significantly better, ↓ worse than oak (t, Holm, 7 comparisons" in table
    assert (
        "\trun_b\t" in pgcjax(*line, "PGC", "--baseline", "oak", "--format", "text").out
    )


def test_a_terminal_shows_the_first_50_of_many(pgcjax, here, terminal):
    rows = [f"r{i:02},q{q},{i / 99 + q / 7}" for i in range(60) for q in range(2)]
    (here / "many.csv").write_text("\n".join(["run,query,value", *rows]))
    line = ["compare", "many.csv", "--test", "t"]
    assert len(pgcjax(*line, "--format", "table").out.splitlines()) == 4 + 60 + 2
    terminal(80)
    lines = pgcjax(*line).out.splitlines()
    assert len(lines) == 4 + 50 + 4 and "│ 50 │ r10 │" in lines[-5]
    assert lines[0].strip() == "The best 50 of 60 runs by mean"
    assert lines[-1] == "--top 60 shows all 60 runs"


def test_tables_for_papers(pgcjax, scores):
    line = ["compare", scores, "-m", "PGC,Compat", "--test", "t", "--format"]
    text = pgcjax(*line, "latex", "--baseline", "oak").out
    head, *_ = text.splitlines()
    assert json.loads(head.removeprefix("% pgcjax "))["comparisons"]
    body = text.split("\\midrule\n")[1].split("    \\bottomrule")[0].splitlines()
    assert len(body) == 8 and all(row.count("&") == 6 for row in body)
    assert text.count(r"\textbf{") == 2 and text.count(r"$\uparrow$}") > 7
    text = pgcjax(*line, "markdown").out
    head, blank, title, *_ = text.splitlines()
    about = head.removeprefix("<!-- pgcjax ").removesuffix(" -->")
    assert json.loads(about)["comparisons"] and (blank, title) == ("", "8 runs by PGC.")
    assert text.count("**") == 4
    line = ["measures", "discriminate", scores, "--test", "t", "--format"]
    power = package.meta.discriminate(scores, test="t").table
    text = pgcjax(*line, "latex").out
    for _, measure, significant, pairs, share, *_ in power.itertuples(index=False):
        share = f"{share:.4f}"
        best = (
            rf"\textbf{{{share}}}" if significant == max(power.significant) else share
        )
        assert (
            f"    t & {measure} & {significant} & {pairs} & {best} & holm & 20 \\\\\n"
            in text
        )
    assert "t, Holm, 28 comparisons, 20 queries" in text
    assert "| t | PGC | " in pgcjax(*line, "markdown").out
    for verb in (["measures", "agree"], ["correlate"]):
        assert (
            "\n| Compat | PGC | " in pgcjax(*verb, scores, "--format", "markdown").out
        )
        assert len(json.loads(pgcjax(*verb, scores, "--format", "json").out)["rows"])


def test_measures_stay_in_the_order_they_were_asked_for(pgcjax, here):
    """Also if the first query is not judged for the first of them."""
    (here / "late.txt").write_text("q2 0 c 1\nq2 0 a 0\n")
    (here / "early.txt").write_text("q1 a b a\n")
    judged = ["--prefs", "early.txt", "--qrels", "late.txt"]
    line = ["evaluate", *judged, "run.txt", "two.txt", "-m", "Compat,PGC(p=0.95)"]
    for out in (
        pgcjax(*line, "-o", "s.csv").out,
        "\n".join(["", *list(package.files.read_scores("s.csv").lines())[1:]]),
        pgcjax(*line, "--part", "1/1", "-o", "part.csv").out,
        pgcjax("files", "merge", "part.csv", "-o", "whole.csv").out,
    ):
        _, *lines = out.splitlines()
        names = [line.split("\t")[:2] for line in lines]
        two = ["Compat", "PGC(p=0.95)"]
        assert names == [[run, m] for run in ("one", "two") for m in two]
    done = pgcjax("files", "merge", "part.csv", "-o", "whole.csv", "--format", "csv")
    assert done.out.splitlines()[1].startswith("rank,run_id,Compat,Compat_low,")
    # Without metadata, as of another tool, they are in the order of the table.
    table = package.files.read_scores("s.csv").table
    assert package.Scores(table).measures == ["PGC(p=0.95)", "Compat"]
    about = {"measures": ["theirs", "Compat(p=0.95)", 7, "PGC"]}
    assert package.Scores(table, about).measures == ["Compat", "PGC(p=0.95)"]


def test_commas_between_measures(pgcjax, scores):
    for text, parts in (
        ("nDCG@10,AP", ["nDCG@10", "AP"]),
        ("PGC(p=0.8,graph=combined), AP", ["PGC(p=0.8,graph=combined)", "AP"]),
        (" PGC ", [" PGC "]),
        ("", [""]),
    ):
        assert _parted(text) == parts
    for line in (
        ["compare", "--test", "t"],
        ["correlate"],
        ["measures", "discriminate", "--test", "t"],
        ["measures", "agree"],
    ):
        one = pgcjax(*line, scores, "-m", "PGC,Compat")
        assert one == pgcjax(*line, scores, "-m", "PGC", "-m", "Compat")
        assert one.code == 0, one.err
    for verb in ("evaluate", "report", "compare"):
        done = pgcjax(verb, scores, "-m", "PGC,")
        said = "pgcjax: error: -m PGC,: expected a measure beside every comma\n"
        assert done == (2, "", said)


@pytest.mark.skipif(not DOCS.exists(), reason="not in a checkout")
def test_the_docs_have_every_format():
    text, *_ = DOCS.read_text().split("\n## ")
    named = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", text, re.MULTILINE)
    assert {*re.findall(r"\w+", " ".join(named))} == {*FORMATS}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "evaluate --prefs none.txt -q --format table x",
            "-q prints each query as text, which excludes --format table; -o FILE "
            "has all of them",
        ),
        (
            "evaluate --prefs none.txt -q --top 3 x",
            "-q prints each query as text, which excludes --top; -o FILE has all of "
            "them",
        ),
        (
            "files merge none.csv -o x.csv --top 3 --format text",
            "--top works with all formats but text, which has all runs",
        ),
        ("compare none.csv --top 0", "--top 0: expected a number of runs, 1 or more"),
        (
            "compare none.csv --top 3 --baseline b --format csv",
            "--top counts runs, but this call prints pairs",
        ),
        (
            "compare none.csv -m PGC,AP -o x.csv",
            "-o and --runs-output take one measure: name one",
        ),
        (
            "correlate none.csv --format pdf",
            "Invalid value for '--format': 'pdf' is not one of 'text', 'table', 'csv', "
            "'json', 'latex', 'markdown'.",
        ),
    ],
)
def test_mistakes_are_said_before_work_is_done(pgcjax, line, said):
    assert pgcjax(*line.split()) == (2, "", f"pgcjax: error: {said}\n")
