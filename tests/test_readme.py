"""What README and docs tell users to type works, on files of the names they use."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

import pgcjax
from pgcjax.cli import main
from pgcjax.datasets.files import demo_folder

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
    return tmp_path


def test_commands(here, capsys):
    commands = re.findall(r"^    pgcjax (.+)$", README.read_text(), re.MULTILINE)
    assert len(commands) >= 4
    printed = {}
    for command in commands:
        with pytest.raises(SystemExit) as done:
            main(shlex.split(command))
        printed[f"pgcjax {command}"], err = capsys.readouterr()
        assert done.value.code == 0, err
    assert (here / "scores.parquet").exists()
    _, _, section = README.read_text().partition("\n## Five commands\n")
    five = re.findall(r"^    (.+)$", section.partition("\n## ")[0], re.MULTILINE)
    assert five[0] == "pip install ."  # which tests/test_install.py does
    checked, ranked, groups, paper = (printed[command] for command in five[1:])
    assert "runs: 8 runs, 20 queries" in checked
    assert re.search(r"^reed\tnDCG@10\tall\t0\.\d{4}$", ranked, re.MULTILINE)
    assert [row.split("\t")[::4] for row in groups.splitlines()[:3]] == [
        ["run_id", "rank"],
        ["reed", "1"],
        ["rose", "2"],
    ]
    assert paper.count(r"\textbf{") == 3 and paper.endswith("\\end{table}\n")


def test_python(here):
    block = re.search(r"```python\n(.+?)```", README.read_text(), re.DOTALL)
    assert block
    names: dict = {}
    exec(block[1], names)
    assert list(names["scores"].mean().columns) == ["PGC(p=0.95)", "Compat"]


def test_leaderboard_is_what_the_demo_prints(here, capsys):
    with pytest.raises(SystemExit):
        main(["demo"])
    printed = [line.strip() for line in capsys.readouterr().out.splitlines()]
    rows = [line.strip() for line in README.read_text().splitlines()]
    rows = [row for row in rows if re.match(r"│ \d", row)]
    assert len(rows) == 4 and set(rows) <= set(printed)
    assert (here / "pgcjax-demo-scores.csv").exists()


def test_worked_example():
    """The example in the README, and the score that it says was printed."""
    import pandas as pd

    edges = re.search(
        r"with the judgments (.+?)\nand the run `(.+?)`", README.read_text()
    )
    assert edges
    pairs = re.findall(r"(\w)>(\w)", edges[1])
    assert len(pairs) == 7
    prefs = pd.DataFrame(pairs, columns=["winner", "loser"]).assign(query_id="q")
    run = {"q": {doc: -i for i, doc in enumerate(edges[2].split())}}
    measure = "PGC(depth=7,normalization=one-minus-p)"
    scores = pgcjax.evaluate(run, preferences=prefs, measures=measure)
    value = f"{scores.table.value.item():.3f}"
    assert value == "0.146"
    assert f"{value} at p = 0.95, as printed there" in README.read_text()
