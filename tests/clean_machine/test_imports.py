"""Each script's environment has what the script imports; each script is tried."""

import re
from pathlib import Path

import pytest

pytest.importorskip("scripts.clean_machine", reason="not in a checkout")
from scripts.clean_machine.imports import imported, missing, modules, scripts
from scripts.clean_machine.trials import TRIALS, readme_script

ROOT = Path(__file__).parents[2]
NAMED = re.compile(r"scripts/[a-z]+\b(?!/)")


@pytest.mark.parametrize("script", scripts(ROOT))
def test_environments_have_what_scripts_import(script):
    assert missing(ROOT, script) == {}


@pytest.mark.parametrize(
    ("script", "extra", "library"),
    [
        ("scripts/reproduce", "plots", "matplotlib"),
        ("scripts/bench", "bench", "numba"),
        ("scripts/docs", "docs", "mkdocs"),
        ("scripts/torture", "dev", "zstandard"),
    ],
)
def test_a_library_that_an_environment_lacks_is_found(script, extra, library):
    text = (ROOT / script).read_text()
    assert f"'.[{extra}]'" in text
    without = missing(ROOT, script, text.replace(f"'.[{extra}]'", "."))
    assert library in without and (ROOT / without[library]).exists()


def test_what_code_does_without_is_not_needed(tmp_path):
    """Imports for types alone, and those that a failure to import is foreseen of."""
    (tmp_path / "one.py").write_text(
        "from typing import TYPE_CHECKING\nimport beside, os.path\n"
        "if TYPE_CHECKING:\n    import matplotlib\nelse:\n    import rich.table\n"
        "def work():\n    from scipy import stats\n"
        "try:\n    import numba\nexcept ImportError:\n    import numpy as numba\n"
    )
    (tmp_path / "beside.py").write_text("import yaml\n")
    libraries = imported(tmp_path, [tmp_path / "one.py"])
    assert libraries == {
        **dict.fromkeys(["rich", "scipy", "numpy"], "one.py"),
        **{"yaml": "beside.py"},
    }


def test_modules_are_those_of_the_extras_that_are_named():
    assert {"jax", "jinja2", "markupsafe", "pandas"} <= modules(ROOT, [""])
    assert "sklearn" not in modules(ROOT, [""])
    assert {"sklearn", "matplotlib"} <= modules(ROOT, ["context", "plots"])


def test_every_script_that_is_named_is_tried():
    tried = {
        name
        for commands in TRIALS.values()
        for c in commands
        for name in [c.split()[0]]
    }
    for page in ("README.md", "CONTRIBUTING.md"):
        named = {*NAMED.findall((ROOT / page).read_text())}
        files = {name for name in named if (ROOT / name).is_file()}
        assert files - {"scripts/clean"} <= tried


def test_the_readmes_commands_are_run_after_its_installation():
    lines = readme_script((ROOT / "README.md").read_text()).splitlines()
    assert any(line.startswith("pip install . ") for line in lines)
    assert not any("cuda" in line for line in lines)
    commands = [line for line in lines if line.startswith("(cd ../files; pgcjax ")]
    assert len(commands) > 13 and any(" report " in line for line in commands)
    assert "import pgcjax" in lines


def test_the_extras_that_are_named_can_be_installed():
    """In pages from a clone, as there is no distribution; in messages by its name."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    code = sorted((ROOT / "pgcjax").rglob("*.py"))
    for paths, package in ((pages, "."), (code, "pgcjax")):
        named = re.findall(
            r"pip install (?:-e )?'([\w.]+)\[([\w,]+)\]'",
            "\n".join(path.read_text() for path in paths),
        )
        assert len(named) > 3
        for source, extras in named:
            assert source == package, extras
            assert modules(ROOT, extras.split(","))
