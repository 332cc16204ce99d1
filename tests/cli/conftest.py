"""The command line, run in this process, in a folder with a small collection."""

import shutil
import warnings
from typing import NamedTuple

import pytest

import pgcjax as package
from pgcjax.cli import main
from pgcjax.datasets.files import demo_folder
from pgcjax.errors import DataWarning
from pgcjax.reporting import canvas

SMALL = {
    "prefs.txt": "q1 a b a\nq1 b c b\nq2 a c c\n",
    "qrels.txt": "q1 0 a 2\nq1 0 b 1\nq2 0 c 1\nq2 0 a 0\n",
    "run.txt": "q1 Q0 a 1 3 one\nq1 Q0 c 2 2 one\nq2 Q0 a 1 1 one\n",
    "two.txt": "q1 Q0 b 1 3 two\nq2 Q0 c 1 2 two\nq2 Q0 a 2 1 two\n",
}


class Done(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An own folder, with prefs.txt, qrels.txt and two runs in it."""
    for name, text in SMALL.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def demo_scores() -> package.Scores:
    """Scores of the demo collection, by the default measures."""
    folder = demo_folder()
    judged = {
        "preferences": folder / "preferences.csv",
        "qrels": folder / "qrels.txt",
    }
    with warnings.catch_warnings():  # whichever test is first: some let none pass
        warnings.simplefilter("ignore", DataWarning)
        return package.evaluate(folder / "runs", **judged)


@pytest.fixture
def scores(here, demo_scores) -> str:
    """The same in a file of the own folder."""
    return str(demo_scores.save("scores.parquet"))


@pytest.fixture
def undrawn(monkeypatch) -> None:
    """Write files without anything for figures that a test does not look at."""
    monkeypatch.setattr(canvas, "rendered", lambda figure, suffix: b"")


@pytest.fixture
def demo(tmp_path, monkeypatch):
    """An own folder, with the demo collection in it."""
    shutil.copytree(demo_folder(), tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def pgcjax(here, capsys):
    """Run `pgcjax ARGUMENT...` and give exit code, stdout and stderr."""

    def run(*arguments: str) -> Done:
        with pytest.raises(SystemExit) as done:
            main(list(arguments))
        out, err = capsys.readouterr()
        code = done.value.code
        assert isinstance(code, int)
        return Done(code, out, err)

    return run
