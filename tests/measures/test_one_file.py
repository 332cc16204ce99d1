"""A measure is one file: that of CONTRIBUTING.md, registered, installed, built in."""

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from helpers.collections import collection

import pgcjax
from pgcjax import measures
from pgcjax.measures.catalogue import built_in, catalogue, register_installed

ROOT = Path(__file__).parents[2]


def example(language: str) -> str:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    found = re.search(rf"( *)```{language}\n(.*?)```", text, re.DOTALL)
    assert found
    return found[2].replace("\n" + found[1], "\n")


@pytest.fixture
def failure():
    """The measure of CONTRIBUTING.md; what a test registers is forgotten."""
    before = dict(catalogue())
    names: dict = {}
    exec(example("python"), names)
    yield names["MEASURES"][0]
    catalogue().clear()
    catalogue().update(before)


def test_registered(failure):
    pgcjax.register(failure)
    pgcjax.register(failure)  # as where a cell of a notebook runs again
    _, qrels, runs = collection(3, queries=4, runs=3, most_docs=20)
    scores = pgcjax.evaluate(runs, qrels=qrels, measures=["failure@1"], verify=1.0)
    assert scores.notes[-1] == "12 of 12 scores recomputed: equal"
    assert set(scores.table.measure) == {"Failure@1"}
    assert set(scores.table.value) == {0.0, 1.0}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "NDCG"}, "'NDCG' is a name of nDCG of Järvelin"),
        ({"name": "ndcg_cut.7"}, "'ndcg_cut.7' is a name of nDCG"),
        ({"name": "Map"}, "'Map' is a name of AP"),
        ({"aliases": {"P_{k}": "Failure@{k}"}}, r"Failure of TREC .*: 'P_{k}' is a"),
        ({"name": "failure at"}, "no measure can be called 'failure at'"),
        ({"name": "Failure@5"}, "no measure can be called 'Failure@5'"),
    ],
)
def test_names_that_are_refused(failure, changes, message):
    before = dict(catalogue())
    with pytest.raises(pgcjax.errors.UsageError, match=message):
        pgcjax.register(type("Other", (type(failure),), changes)())
    assert catalogue() == before


def test_two_measures_of_one_name(failure):
    pgcjax.register(failure)
    with pytest.raises(
        pgcjax.errors.UsageError, match="'failure' is a name of Failure"
    ):
        pgcjax.register(type("Other", (type(failure),), {"name": "failure"})())
    with pytest.raises(
        pgcjax.errors.UsageError, match=r"expected a measure.*'P@5' \(str"
    ):
        pgcjax.register("P@5")  # pyright: ignore


def test_a_file_in_the_folder_of_measures(tmp_path, monkeypatch):
    monkeypatch.setattr(measures, "__path__", [*measures.__path__, str(tmp_path)])
    (tmp_path / "made_for_a_test.py").write_text(example("python"))
    assert "Failure" in built_in()
    other = example("python").replace('"Failure"', '"nDCG"')
    (tmp_path / "made_for_another_test.py").write_text(other)
    with pytest.raises(ValueError, match="two measures are called nDCG"):
        built_in()


def wheel(folder: Path, module: str) -> Path:
    """Build a wheel by hand: neither network nor a tool that builds is needed."""
    project = tomllib.loads(example("toml"))["project"]
    name = project["name"].replace("-", "_")
    info = f"{name}-{project['version']}.dist-info"
    points = project["entry-points"]["pgcjax.measures"].items()
    contents = {
        f"{name}.py": module,
        f"{info}/METADATA": "Metadata-Version: 2.1\n"
        f"Name: {project['name']}\nVersion: {project['version']}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\n"
        "Tag: py3-none-any\n",
        f"{info}/entry_points.txt": "\n".join(
            ["[pgcjax.measures]", *(f"{point} = {where}" for point, where in points)]
        ),
        f"{info}/RECORD": "",
    }
    path = folder / f"{name}-{project['version']}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in contents.items():
            archive.writestr(file, text)
    return path


@pytest.mark.slow
def test_a_measure_of_another_package(tmp_path):
    (tmp_path / "qrels").write_text("q1 0 d1 1\nq1 0 d2 0\nq2 0 d3 1\n")
    (tmp_path / "run").write_text("q1 Q0 d2 1 2 a\nq1 Q0 d1 2 1 a\nq2 Q0 d4 1 1 a\n")
    site = str(tmp_path / "site")
    package = str(wheel(tmp_path, example("python")))
    install = ["pip", "install", "--quiet", "--no-index", "--no-deps", "--target"]
    for command in (
        [*install, site, package],
        ["pgcjax", "evaluate", "--verify", "1", "--qrels", "qrels", "run"]
        + ["-m", "Failure@1", "-m", "failure@5", "-o", "scores.csv"],
    ):
        done = subprocess.run(
            [sys.executable, "-m", *command],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([site, str(ROOT)])},
            capture_output=True,
            text=True,
        )
        assert not done.returncode, done.stderr
    assert "4 of 4 scores recomputed: equal" in done.stderr
    scores = pgcjax.files.read_scores(tmp_path / "scores.csv").table
    assert scores.set_index(["measure", "query_id"])["value"].to_dict() == {
        ("Failure@1", "q1"): 1.0,
        ("Failure@5", "q1"): 0.0,
        ("Failure@1", "q2"): 1.0,
        ("Failure@5", "q2"): 1.0,
    }


@pytest.mark.parametrize(
    ("module", "cause"),
    [
        ("import no_such\n", "ModuleNotFoundError: No module named 'no_such'"),
        ("MEASURES = 'P@5'\n", r"UsageError: expected a measure, .* 'P@5' \(str\)"),
        (
            example("python").replace('"Failure"', '"ndcg"'),
            "UsageError: ndcg of TREC .*: 'ndcg' is a name of nDCG of Järvelin .*",
        ),
    ],
)
def test_a_package_that_brings_a_defect(tmp_path, monkeypatch, module, cause):
    """It is named in one line, and all other measures are there."""
    before = dict(catalogue())
    monkeypatch.syspath_prepend(wheel(tmp_path, module))
    monkeypatch.delitem(sys.modules, "pgcjax_failure", raising=False)
    with pytest.warns(pgcjax.errors.DataWarning) as warned:
        register_installed()
    assert re.fullmatch(
        "package pgcjax-failure: measures of pgcjax_failure:MEASURES are left out, "
        f"because of {cause}. Mend or uninstall the package",
        str(warned[0].message),
    )
    assert catalogue() == before
