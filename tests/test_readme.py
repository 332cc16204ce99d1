"""What README and docs tell users to type works, on files of the names they use."""

import gzip
import re
import shlex
import shutil
from pathlib import Path

import pytest
from helpers.drawn import laid_out

import pgcjax
from pgcjax.cli import main
from pgcjax.datasets.files import demo_folder
from pgcjax.reporting import canvas

ROOT = Path(pgcjax.__file__).parents[1]
README = ROOT / "README.md"
pytestmark = [
    pytest.mark.skipif(not README.exists(), reason="not in a checkout"),
    pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning"),
]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with judgments.txt, qrels.txt and runs/, as in the README."""
    shutil.copytree(demo_folder(), tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(canvas, "rendered", laid_out)
    return tmp_path


@pytest.fixture
def dl21(here, data):
    """The same files of TREC DL 2021, of which fewer queries have preferences."""
    source = data / "dl21"
    for name, path in (
        ("judgments.txt", source / "judgments.txt.gz"),
        ("qrels.txt", source / "qrels.dl21-passage.txt.gz"),
    ):
        (here / name).write_bytes(gzip.decompress(path.read_bytes()))
    shutil.rmtree(here / "runs")
    (here / "runs").mkdir()
    first, *others = sorted((source / "runs").iterdir())[::24]
    for path in others:
        shutil.copy(path, here / "runs")
    lines = gzip.decompress(first.read_bytes()).decode()
    (here / "runs" / "rose").write_text(lines.replace(first.stem, "rose"))
    return here


def commands() -> list[str]:
    found = re.findall(r"^    pgcjax (.+)$", README.read_text(), re.MULTILINE)
    assert len(found) >= 4
    return found


def run(command: str, capsys) -> tuple[str, str]:
    """Call the command line; what it prints, and what it says on stderr."""
    with pytest.raises(SystemExit) as done:
        main(shlex.split(command))
    printed, said = capsys.readouterr()
    assert done.value.code == 0, said
    return printed, said


def test_commands(here, capsys):
    printed = {}
    for command in commands():
        printed[f"pgcjax {command}"], _ = run(command, capsys)
    _, _, section = README.read_text().partition("\n## Five commands\n")
    five = re.findall(r"^    (.+)$", section.partition("\n## ")[0], re.MULTILINE)
    assert five[0] == "pip install ."  # which tests/test_install.py does
    checked, ranked, groups, paper = (printed[command] for command in five[1:5])
    assert "runs: 8 runs, 20 queries" in checked
    assert re.search(r"^reed\tnDCG@10\tall\t0\.\d{4}$", ranked, re.MULTILINE)
    assert [row.split("\t")[:5:4] for row in groups.splitlines()[:3]] == [
        ["run_id", "rank"],
        ["reed", "1"],
        ["rose", "2"],
    ]
    assert paper.count(r"\textbf{") == 3 and paper.endswith("\\end{table}\n")


def test_commands_where_measures_have_different_queries(dl21, capsys):
    """Scored by preferences and by qrels: of queries in common, or of all of each."""
    left_out = (
        "pgcjax: warning: 11 of 57 queries left out: there are no scores of 7 queries "
        "by PGC; there are no scores of 4 queries by Compat\n"
    )
    own = "pgcjax: measures have different queries: PGC 50; Compat 53"
    inputs = "--prefs judgments.txt --qrels qrels.txt -m PGC,Compat"
    run(f"evaluate {inputs} runs/ -o scores.parquet", capsys)
    for command in ("correlate", "measures agree"):
        _, said = run(f"{command} scores.parquet", capsys)
        assert said.count(" left out") == 1 and left_out in said, said
    for command in ("measures discriminate", "report -o report.html"):
        _, said = run(f"{command} scores.parquet", capsys)
        assert " left out" not in said and own in said, said


def test_python(here):
    block = re.search(r"```python\n(.+?)```", README.read_text(), re.DOTALL)
    assert block
    names: dict = {}
    exec(block[1], names)
    assert list(names["scores"].mean().columns) == ["PGC(p=0.95)", "Compat"]


def test_readme_is_short():
    assert len(README.read_text().splitlines()) <= 150


def test_leaderboard_is_what_the_demo_prints(here, capsys):
    with pytest.raises(SystemExit):
        main(["demo"])
    printed = [line.strip() for line in capsys.readouterr().out.splitlines()]
    rows = [line.strip() for line in README.read_text().splitlines()]
    rows = [row for row in rows if re.match(r"│ \d", row)]
    assert len(rows) == 4 and set(rows) <= set(printed)
    assert (here / "pgcjax-demo-scores.csv").exists()


def test_worked_example():
    """The example of docs/concepts.md, and the score that the thesis prints."""
    import pandas as pd

    page = (ROOT / "docs/concepts.md").read_text()
    edges = re.search(r"for one query:\n\n(.+?)\n\nand a run has `(.+?)`", page)
    assert edges
    pairs = re.findall(r"(\w) > (\w)", edges[1])
    assert len(pairs) == 7
    prefs = pd.DataFrame(pairs, columns=["winner", "loser"]).assign(query_id="q")
    run = {"q": {doc: -i for i, doc in enumerate(edges[2].split())}}
    measure = "PGC(depth=7,normalization=one-minus-p)"
    scores = pgcjax.evaluate(run, preferences=prefs, measures=measure)
    value = f"{scores.table.value.item():.3f}"
    assert value == "0.146"
    assert f"The thesis prints {value} for it" in page
