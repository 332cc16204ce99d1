"""Names of ir_datasets: judgments, queries and documents of its collections."""

import sys

import pytest

from pgcjax.cli import main
from pgcjax.errors import DataError, UsageError
from pgcjax.files import read_qrels, read_texts, read_topics

NAME = "pgcjax-test/pears"


@pytest.fixture(autouse=True, scope="module")
def collection(tmp_path_factory):
    ir_datasets = pytest.importorskip("ir_datasets")
    folder = tmp_path_factory.mktemp("irds")
    texts = {
        "docs_tsv": "x\told pear trees\ny\tcider\n",
        "queries_tsv": "q1\thow to prune\nq2\twhen to pick\n",
        "qrels_trec": "q1 0 x 2\nq1 0 y 0\n",
    }
    for kind, text in texts.items():
        (folder / kind).write_text(text)
    paths = {kind: str(folder / kind) for kind in texts}
    ir_datasets.registry.register(NAME, ir_datasets.create_dataset(**paths))
    del paths["qrels_trec"]
    ir_datasets.registry.register(f"{NAME}/x", ir_datasets.create_dataset(**paths))


def test_a_collection_gives_judgments_queries_and_documents():
    source = f"irds:{NAME}"
    rows = [["q1", "x", 2.0], ["q1", "y", 0.0]]
    assert read_qrels(source).values.tolist() == rows
    assert read_qrels([source]).values.tolist() == rows
    assert read_topics(source, only=["q2"]) == {"q2": "when to pick"}
    assert read_texts(source, only=["y"]) == {"y": "cider"}
    assert read_texts([source]) == {"x": "old pear trees", "y": "cider"}


def test_runs_are_scored_by_the_judgments_of_a_collection(tmp_path, capsys):
    (tmp_path / "a.run").write_text("q1 Q0 y 1 2 a\nq1 Q0 x 2 1 a\n")
    options = ["--qrels", f"irds:{NAME}", "-m", "RR"]
    with pytest.raises(SystemExit):
        main(["evaluate", str(tmp_path / "a.run"), *options])
    assert "RR\tall\t0.5000" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            "irds:nobody/has-it",
            "irds:nobody/has-it: ir_datasets has no such collection",
        ),
        (f"irds:{NAME}/x", f"irds:{NAME}/x: has no qrels"),
        ([f"irds:{NAME}", "qrels.txt"], "names of ir_datasets (irds:…) and files"),
    ],
)
def test_what_a_collection_lacks_is_said(source, message):
    with pytest.raises(
        (DataError, UsageError),
        match="^" + message.replace("(", r"\(").replace(")", r"\)"),
    ):
        read_qrels(source)


def test_without_the_package_a_line_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    with pytest.raises(
        UsageError, match="needs the package .* pip install ir_datasets"
    ):
        read_qrels("irds:vaswani")
