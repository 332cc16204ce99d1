"""The package that users install: what is in it, and that it runs by itself."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import pgcjax

ROOT = Path(pgcjax.__file__).parents[1]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (ROOT / "pyproject.toml").exists(), reason="not in a checkout"
    ),
]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    subprocess.run(
        [*pip, "wheel", "--quiet", "--no-deps", "-w", str(folder), str(ROOT)],
        check=True,
        capture_output=True,
    )
    return next(folder.glob("pgcjax-*.whl"))


def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert tops == {"pgcjax", f"pgcjax-{pgcjax.__version__}.dist-info"}
    assert "pgcjax/py.typed" in names
    assert "pgcjax/datasets/collection/preferences.csv" in names
    assert "pgcjax/reporting/templates/page.html.jinja" in names
    assert "pgcjax/reporting/templates/report/main.js" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert wheel.stat().st_size < 1_200_000


def test_the_installed_demo_runs(wheel, tmp_path):
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    done = subprocess.run(
        [sys.executable, "-m", "pgcjax", "demo", "-o", "scores.csv"],
        cwd=tmp_path,
        env={
            **{
                k: v for k, v in os.environ.items() if k.startswith(("JAX_", "PGCJAX_"))
            },
            **{"PYTHONPATH": str(site), "PATH": "", "JAX_PLATFORMS": "cpu"},
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert "8 runs by PGC" in done.stdout
    assert str(site) in done.stdout
    assert (tmp_path / "scores.csv").exists()
