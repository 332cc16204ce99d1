"""What a release needs: versions, licences, oldest dependencies, workflows."""

import importlib.util
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

pytest.importorskip("scripts.release_checks", reason="not in a checkout")
from scripts.release_checks import __main__ as door
from scripts.release_checks.licences import PAGE, page, problems
from scripts.release_checks.parts import (
    KEPT,
    PARTS,
    QUICK,
    SMOKE,
    TEST_TOOLS,
    VERSIONS,
    Check,
    Release,
    check_versions,
    interpreter,
    lower_bounds,
)

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def test_versions_agree(tmp_path, monkeypatch):
    release = Release(ROOT, tmp_path)
    monkeypatch.delenv("GITHUB_REF_TYPE", raising=False)
    assert [check.problem for check in check_versions(release)] == [""] * 3
    monkeypatch.setenv("GITHUB_REF_TYPE", "tag")
    monkeypatch.setenv("GITHUB_REF_NAME", "v9.9")
    assert [*check_versions(release)][-1].problem.startswith("the tag has 9.9, ")


def test_a_version_that_differs_fails(tmp_path, capsys):
    for file in ("pgcjax/_version.py", "CHANGELOG.md", "CITATION.cff"):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / file, tmp_path / file)
    citation = tmp_path / "CITATION.cff"
    text = citation.read_text()
    citation.write_text(re.sub(r"^version: .*", "version: 9.9", text, flags=re.M))
    assert not door.run_part("versions", Release(tmp_path, tmp_path))
    printed = capsys.readouterr().out
    assert printed.count("ok: versions: ") == 2
    assert "FAILED: versions: CITATION.cff 9.9 (0 s)\nCITATION.cff has 9.9, " in printed


def test_exit_status_and_names_of_parts(monkeypatch, capsys):
    monkeypatch.setitem(PARTS, "versions", lambda release: iter([Check("it", "no")]))
    monkeypatch.setitem(PARTS, "build", lambda release: 1 / 0)
    assert door.main(["--dry-run", "versions"]) == 1
    assert door.main(["--dry-run", "build"]) == 1
    assert "FAILED: build: ZeroDivisionError: " in capsys.readouterr().out
    for arguments, message in (
        (["--dry-run", "wheels"], "'wheels' is none of versions, licences, "),
        (["versions"], "add --dry-run"),
    ):
        with pytest.raises(SystemExit) as stopped:
            door.main(arguments)
        assert stopped.value.code == 2 and message in capsys.readouterr().err


def test_a_command_that_fails_is_a_problem(tmp_path):
    command = [sys.executable, "-c", "print('reason'); raise SystemExit(3)"]
    assert Release(ROOT, tmp_path).run(command).problem == "exit status 3\nreason"


def test_the_page_of_licences_is_current():
    """Names and licences; how a licence is spelled may differ between versions."""
    names = re.compile(r"^\| (\S+) \| .+ \|$", re.M)
    assert names.findall((ROOT / PAGE).read_text()) == names.findall(page())
    assert problems({"a": "MIT", "b": "", "c": "GPL-3.0-only"}) == [
        "b states no licence",
        "c is GPL-3.0-only",
    ]


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(file: str) -> dict[str, str]:
    """Versions of a file of constraints, by names of packages."""
    lines = (ROOT / file).read_text().splitlines()
    pairs = (line.split("==") for line in lines if not line.startswith("#"))
    return {canonical(name): version for name, version in pairs}


def test_the_oldest_versions_are_the_lower_bounds():
    pinned, bounds = pins("constraints-oldest.txt"), lower_bounds(ROOT)
    assert pinned.keys() == bounds.keys()
    for name, version in pinned.items():
        assert f"{version}.".startswith(f"{bounds[name]}."), name


@pytest.mark.parametrize(
    ("file", "extras"),
    [
        ("constraints.txt", ["dev", "bench", "docs", "release"]),
        ("constraints-newest.txt", ["dev", "bench", "docs"]),
    ],
)
def test_whatever_scripts_install_is_pinned(file, extras):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = [*project["dependencies"]]
    lines += (line for e in extras for line in project["optional-dependencies"][e])
    names = {canonical(re.split(r"[\[<>=]", line)[0]) for line in lines}
    assert names - pins(file).keys() == set()


def test_the_page_of_tested_versions_is_current():
    text = (ROOT / "docs" / "stability.md").read_text(encoding="utf-8")
    header, *rows = (
        [cell.strip(" `") for cell in line.split("|")[1:]]
        for line in re.findall(r"^\| (?:versions|`constraints).*$", text, re.M)
    )
    assert len(rows) == 3
    for file, _, *versions in rows:
        for name, version in zip(header[2:8], versions, strict=False):
            assert pins(file)[name.lower()] == version, (file, name)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_fit_the_schema_of_github(path):
    pytest.importorskip("check_jsonschema")
    lint = ["check_jsonschema", "--builtin-schema", "vendor.github-workflows"]
    done = subprocess.run(
        [sys.executable, "-m", *lint, str(path)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout


def test_workflows_have_no_secrets_and_what_they_run_is_there():
    assert {path.stem for path in WORKFLOWS} == {"tests", "docs", "release"}
    for path in WORKFLOWS:
        text = path.read_text()
        assert not re.search(r"secrets\.|password|token:(?! write)", text), path.name
        for named in re.findall(r"(?:scripts|tests|\.ci)/[\w/.]+", text):
            assert (ROOT / named).exists(), (path.name, named)
        for parts in re.findall(r"(?:--keep kept|- parts:) ([a-z ]+)$", text, re.M):
            assert {*parts.split()} <= {*PARTS}
        for action in re.findall(r"uses: (.*)", text):  # a tag can be moved
            assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v[\d.]+", action), action
    jobs = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text())["jobs"]
    quick = jobs["quick"]
    assert quick["strategy"]["matrix"]["python"] == [*VERSIONS]
    assert "windows-latest" in quick["strategy"]["matrix"]["os"]
    commands = [step["run"] for step in quick["steps"] if "run" in step]
    assert all(command.startswith("python -m ") for command in commands)  # no bash


def test_the_python_that_is_asked_for_is_taken(tmp_path, monkeypatch):
    """One of the path that does not run, as pyenv's may not, is passed over."""
    release = Release(ROOT, tmp_path)
    for folder, code in (("path", 1), ("versions/3.12.1/bin", 0)):
        program = tmp_path / folder / ("python3.12" if code else "python")
        program.parent.mkdir(parents=True)
        program.write_text(f"#!/bin/sh\nexit {code}\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'path'}:/bin")
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    assert interpreter(release, "3.12") == str(program)
    assert interpreter(release, "3.99") is None


def test_selections_of_tests_are_there():
    named = [name for name in (*SMOKE, *QUICK) if name.startswith("tests/")]
    assert len(named) > 20 and all((ROOT / name).exists() for name in named)


def test_environments_of_a_release_have_what_all_tests_import():
    tests = ROOT / "tests"
    text = "".join(
        file.read_text()
        for file in (tests / "conftest.py", tests / "helpers" / "compiled.py")
    )
    imported = set(re.findall(r"^(?:from|import) (\w+)", text, re.MULTILINE))
    there = {*TEST_TOOLS, "jax", "helpers", "pgcjax", "__future__"}
    assert imported <= there | sys.stdlib_module_names


def test_what_was_checked_is_kept_if_all_is_well(tmp_path, monkeypatch):
    def build(release):
        for name in KEPT:
            (release.folder / name).mkdir()
        yield Check("it", problem)

    monkeypatch.setitem(PARTS, "build", build)
    for problem in ("no", ""):
        door.main(["--dry-run", "--keep", str(tmp_path / "kept"), "build"])
        assert (tmp_path / "kept").exists() == (not problem)
    assert {path.name for path in (tmp_path / "kept").iterdir()} == {*KEPT}


PAPER = ROOT / "docs" / "paper" / "paper.md"


def test_the_paper_cites_what_its_bibliography_has():
    cited = re.findall(r"@(\w+)", PAPER.read_text(encoding="utf-8").split("---", 2)[2])
    keys = re.findall(r"^@\w+\{(\w+),$", (PAPER.parent / "paper.bib").read_text(), re.M)
    assert {*cited} == {*keys} and len(keys) == len({*keys})


def test_the_paper_has_sections_of_joss_and_at_most_four_pages():
    text = PAPER.read_text(encoding="utf-8")
    sections = ["Summary", "Statement of need", "State of the field", "Functionality"]
    assert re.findall(r"^# (.+)$", text, re.M)[:4] == sections
    assert 750 < len(text.split()) < 1300  # with two figures, four pages of JOSS


def test_each_figure_of_the_paper_has_its_command():
    figures = re.findall(
        r"^!\[.+\]\((.+)\)\n<!-- made by: python -m (\S+)(.*) -->$",
        text := PAPER.read_text(encoding="utf-8"),
        re.M,
    )
    assert len(figures) == text.count("![") == 2
    for figure, module, arguments in figures:
        assert (PAPER.parent / figure).exists() and importlib.util.find_spec(module)
        for name in re.findall(r"benchmarks/\S+json", arguments):
            assert [*ROOT.glob(name)], name
