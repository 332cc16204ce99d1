"""What the pages of docs/ tell users to type works, and prints what they show."""

import doctest
import io
import re
import shutil
import socket
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
import yaml
from helpers.drawn import laid_out
from helpers.pages import Block, blocks, commands, is_shown, sessions, words

import pgcjax
from pgcjax.cli import main
from pgcjax.datasets.files import demo_folder
from pgcjax.reporting import canvas
from pgcjax.tensors.examination import ORDERS

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(DOCS.glob("*.md"))
KINDS = {"console", "indented", "pycon", "python", "sh", "text", "yaml"}
pytestmark = pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning")

NOT_RUN = {
    "pip install": "installs; tests/test_install.py installs the package",
    "scripts/torture": "takes hours; tests/campaigns/test_campaigns.py makes a sample",
    "scripts/reproduce": "needs public data; tests/reproduction runs it where they are",
    "python -m benchmarks": "takes hours; tests/benchmarks checks what it writes",
    "$SLURM_ARRAY_TASK_ID": "is set by SLURM",
    "srun": "needs SLURM",
    "s3://": "needs a store of objects; tests/cli/test_remote.py has one",
    "--distributed": "needs other machines; tests/engine/test_distributed.py has some",
    'Client("tcp://node0': "needs a cluster; tests/engine/test_tasks.py has one",
    'start("2/4@node0': "needs other machines, as --distributed",
}
"""Commands and lines of Python with these words are not run, for these reasons."""


@pytest.fixture(scope="module")
def prepared(tmp_path_factory) -> Path:
    """The demo collection, and other files of the names that the pages use."""
    folder = tmp_path_factory.mktemp("docs") / "files"
    shutil.copytree(demo_folder(), folder)
    files = {"preferences": folder / "preferences.csv", "qrels": folder / "qrels.txt"}
    scores = pgcjax.evaluate(folder / "runs", **files)
    scores.save(folder / "scores.csv")
    scores.save(folder / "scores.parquet")
    people = ["query_id,run_a,run_b,preference"]
    people += [f"{q},reed,oak,{i % 3 - 1}" for i, q in enumerate(queries(scores))]
    (folder / "serp.csv").write_text("\n".join(people) + "\n")
    grades = pgcjax.files.read_qrels(files["qrels"])
    context = [
        f"{query} {doc} {before} {int(grade)}"
        for query, rows in grades.groupby("query_id")
        for doc, grade in zip(rows["doc_id"], rows["relevance"], strict=True)
        for before in rows["doc_id"].head(5)
        if before != doc
    ]
    (folder / "context.txt").write_text("\n".join(context) + "\n")
    votes = ["q1\ta,b\t1\t1\t-1", "q1\tb,c\t2\t0\t1", "q1\ta,c\t1\t1\t1"]
    (folder / "image_pairs_annotation").write_text("\n".join(votes) + "\n")
    return folder


def queries(scores: pgcjax.Scores) -> list[str]:
    return scores.table["query_id"].unique().tolist()


@pytest.fixture
def here(prepared, tmp_path, monkeypatch) -> Iterator[Path]:
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(socket.socket, "connect", refuse_network)
    monkeypatch.setattr(canvas, "rendered", laid_out)
    orders = set(ORDERS)
    yield tmp_path
    for added in set(ORDERS) - orders:  # by a page, for itself
        del ORDERS[added]


def refuse_network(_: socket.socket, address: object) -> None:
    raise AssertionError(f"a page connects to {address}")


def is_run(text: str) -> bool:
    return not any(reason in text for reason in NOT_RUN)


class Terminal(io.StringIO):
    """Where `console` blocks print: people see tables there, programs do not."""

    def isatty(self) -> bool:
        return True


def run(command: str, where: str, out: io.StringIO) -> list[str]:
    """Run a command in this process, and give the lines that it prints."""
    program, *arguments = words(command)
    assert program == "pgcjax", f"{where}: nothing runs {command!r}"
    err = io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as done:
        main(arguments)
    assert done.value.code == 0, f"{where}: {command}: {err.getvalue()}"
    plain = re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue())
    return [line.rstrip() for line in plain.splitlines()]


def run_block(block: Block, names: dict, where: str) -> None:
    if block.title:
        Path(block.title).write_text(block.text, encoding="utf-8")
    if block.kind == "yaml":  # a workflow
        assert all(job["steps"] for job in yaml.safe_load(block.text)["jobs"].values())
    for command in commands(block):
        if is_run(command) and words(command):
            run(command, where, io.StringIO())
    if block.kind == "console":
        for command, shown in sessions(block):
            printed = run(command, where, Terminal())
            assert is_shown(shown, printed), f"{where}: {command} prints {printed}"
    if block.kind == "python" and is_run(block.text):
        exec(compile(block.text, where, "exec"), names)
    if block.kind == "pycon":
        test = doctest.DocTestParser().get_doctest(block.text, names, where, where, 0)
        said: list[str] = []
        doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=said.append)
        assert not said, "".join(said)
        names.update(test.globs)


@pytest.mark.parametrize(
    "page",
    # scripts/docs runs the gallery's blocks: it draws all of its figures.
    [pytest.param(page, id=page.name) for page in PAGES if page.name != "gallery.md"],
)
def test_what_a_page_says_works(page, here):
    names: dict = {"__name__": "page"}
    for block in blocks(page.read_text("utf-8")):
        where = f"{page.name}:{block.line}"
        assert block.kind in KINDS, f"{where}: say what the block is: one of {KINDS}"
        run_block(block, names, where)


def test_every_exception_is_needed():
    text = "".join(page.read_text("utf-8") for page in PAGES)
    assert [words for words in NOT_RUN if words not in text] == []


def test_a_block_that_does_not_work_is_found(here, tmp_path):
    page = "Wrong:\n\n```console\n$ pgcjax --version\npgcjax 0\n…\n```\n"
    page += "\n    pgcjax evaluate --prefs nowhere.txt runs/\n"
    page += "\n```pycon\n>>> 1 + 1\n3\n\n```\n\n```python\n1 / 0\n```\n"
    session, indented, doc, code = blocks(page)
    for block, error in ((session, "prints"), (indented, "nowhere"), (doc, "Got:")):
        with pytest.raises(AssertionError, match=error):
            run_block(block, {}, "page")
    with pytest.raises(ZeroDivisionError):
        run_block(code, {}, "page")
