"""The parts of a release's check: each yields what it looked at, and problems."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from scripts.clean_machine.trials import environment, readme_script
from scripts.release_checks.licences import PAGE, dependencies, licences, page, problems

LAST = 30  # lines that are shown of what a command printed that failed
KEPT = ("dist", "sbom")  # folders of what is uploaded: distributions, and their bill
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
TEST_TOOLS = ("pytest", "pytest-xdist", "hypothesis", "beartype", "zstandard")
TEST_TOOLS += ("threadpoolctl",)
SMOKE = (
    "tests/test_public_names.py",
    "tests/measures/test_one_file.py",
    "tests/kernels/test_rbo_kernel.py",
    "tests/reference",
    "tests/plugins/test_ir_measures.py",
)
"""Tests of the sdist: names, plug-ins, a kernel, twins."""

_READERS = "runs preferences fast_columns grades in_memory packed files seal"
_READERS += " score_files score_parquet score_text"
QUICK = (
    *("-m", "not slow", "tests/tensors", "tests/reference"),
    *(f"tests/io/test_{name}.py" for name in _READERS.split()),
    *(f"tests/stats/test_{name}.py" for name in ("tests", "intervals", "correlation")),
    *("tests/kernels/test_peel.py", "tests/kernels/test_rbo_kernel.py"),
    *("tests/judging/test_fit.py", "tests/measures/test_spec.py"),
    "tests/cli/test_commands.py",
)
"""Tests that other versions of libraries could break, of each of them some."""


class Check(NamedTuple):
    """What was looked at, and what is wrong with it: "" if nothing is."""

    what: str
    problem: str = ""


class Release(NamedTuple):
    """The checkout, and an empty folder outside of it."""

    root: Path
    folder: Path

    def run(self, command: list[str], cwd: Path | None = None, what: str = "") -> Check:
        """Run a command as on a new machine: without the checkout's environment."""
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        done = subprocess.run(
            command,
            cwd=cwd or self.folder,
            env=environment(self.root, home) | {"PYTHON": sys.executable},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        last = "\n".join(done.stdout.splitlines()[-LAST:])
        problem = f"exit status {done.returncode}\n{last}" if done.returncode else ""
        return Check(what or " ".join(command[-3:]), problem)

    def make(self, name: str, *arguments: str, python: str = sys.executable) -> Path:
        """Make an environment of what pip is asked for; return its Python."""
        env = self.folder / name
        path = env / "bin" / "python"
        pip = [sys.executable, "-m", "pip", "--python", str(path)]
        for command in (
            [python, "-m", "venv", "--without-pip", str(env)],
            [*pip, "install", "--quiet", "--no-compile", *arguments],
        ):
            if problem := self.run(command).problem:
                raise RuntimeError(f"{' '.join(command)}: {problem}")
        return path


@cache
def distributions(release: Release) -> tuple[Path, Path]:
    """Build the sdist, and the wheel of it; return their paths."""
    folder = release.folder / KEPT[0]
    command = [sys.executable, "-m", "build", "--outdir", str(folder)]
    if problem := release.run([*command, str(release.root)]).problem:
        raise RuntimeError(f"cannot be built: {problem}")
    return next(folder.glob("*.whl")), next(folder.glob("*.tar.gz"))


def constraints(release: Release, file: str = "constraints.txt") -> list[str]:
    """Return the arguments by which pip takes the versions of a file."""
    return ["--constraint", str(release.root / file)]


def check_versions(release: Release) -> Iterator[Check]:
    """CHANGELOG, package, citation, and a tag of GitHub's have the same version."""
    patterns = {
        "pgcjax/_version.py": r'^__version__ = "(.+)"$',
        "CHANGELOG.md": r"^## (\S+)",
        "CITATION.cff": r"^version: (\S+)$",
    }
    versions: dict[str, str] = {}
    for file, pattern in patterns.items():
        found = re.search(pattern, (release.root / file).read_text(), re.MULTILINE)
        versions[file] = found[1] if found else "none"
    if os.environ.get("GITHUB_REF_TYPE") == "tag":
        versions["the tag"] = os.environ["GITHUB_REF_NAME"].removeprefix("v")
    expected = versions["pgcjax/_version.py"]
    for file, version in versions.items():
        same = version == expected
        wrong = "" if same else f"{file} has {version}, pgcjax/_version.py {expected}"
        yield Check(f"{file} {version}", wrong)


def check_build(release: Release) -> Iterator[Check]:
    """Both distributions can be built, and PyPI would take them."""
    wheel, sdist = distributions(release)
    twine = [sys.executable, "-m", "twine", "check", "--strict"]
    for path in (wheel, sdist):
        yield Check(f"{path.name} ({path.stat().st_size / 2**20:.1f} MB)")
        yield release.run([*twine, str(path)], what=f"metadata of {path.name}")
    tops = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    alien = {top for top in tops if not top.startswith("pgcjax")}
    yield Check("the wheel holds the package alone", ", ".join(sorted(alien)))


def check_wheel(release: Release) -> Iterator[Check]:
    """The wheel alone does what README says, outside of the checkout."""
    wheel, _ = distributions(release)
    place = release.folder / "wheel" / "here"
    place.mkdir(parents=True)
    shutil.copy(release.root / "constraints.txt", place)
    archive = zipfile.ZipFile(wheel)
    collection = [n for n in archive.namelist() if "/datasets/collection/" in n]
    archive.extractall(place, collection)
    script = place.parent / "readme.sh"
    text = (release.root / "README.md").read_text(encoding="utf-8")
    script.write_text(readme_script(text, str(wheel)))
    yield release.run(["bash", str(script)], place, "the commands of README")
    bin = place.parent / "env" / "bin"
    for command in (
        [str(bin / "pgcjax"), "--version"],
        [str(bin / "python"), "-m", "pgcjax", "demo", "-o", "demo.csv"],
        [str(bin / "pgcjax"), "report", "demo.csv", "-o", "page.html"],
    ):
        yield release.run(command, place.parent)
    written = place.parent / "page.html"
    text = written.read_text(encoding="utf-8") if written.exists() else ""
    wrong = "" if "</html>" in text else f"{written.name} is no page"
    yield Check("the page", wrong)


def tests_of(release: Release, name: str, python: Path, tests: list[str]) -> Check:
    """Run tests of the sdist, without the package in it: the installed one is tested.

    What is deprecated in versions that nobody pinned is no error here.
    """
    _, sdist = distributions(release)
    folder = release.folder / f"{name}-tests"
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    (source,) = folder.iterdir()
    shutil.rmtree(source / "pgcjax")
    pytest = [str(python), "-m", "pytest", "-q", "-W", "default", "-n", "2"]
    return release.run([*pytest, *tests], source, f"{len(tests)} selections of tests")


def check_sdist(release: Release) -> Iterator[Check]:
    """A selection of the sdist's tests passes with the wheel, and so do plug-ins."""
    wheel, _ = distributions(release)
    packages = [f"{wheel}[ir]", "pip", *TEST_TOOLS]  # pip installs a plug-in
    python = release.make("smoke", *packages, *constraints(release))
    yield tests_of(release, "smoke", python, list(SMOKE))


def interpreter(release: Release, version: str) -> str | None:
    """Return a Python of this version: of the path, or else of pyenv; None without."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    known = sorted(pyenv.glob(f"versions/{version}.*/bin/python"))
    for program in (f"python{version}", *map(str, known)):
        # Of pyenv there are programs on the path for versions that are not chosen.
        if shutil.which(program) and not release.run([program, "--version"]).problem:
            return program
    return None


@cache
def alone(release: Release, version: str) -> Path | None:
    """Install the wheel alone; return the environment's Python, None without one."""
    if not (program := interpreter(release, version)):
        return None
    arguments = str(distributions(release)[0]), *constraints(release)
    return release.make(f"python{version}", *arguments, python=program)


def check_pythons(release: Release) -> Iterator[Check]:
    """The wheel installs and runs on every Python that is here."""
    for version in VERSIONS:
        if not (python := alone(release, version)):
            yield Check(f"Python {version} is not here: not tried")
            continue
        scores = str(release.folder / f"{version}.csv")
        command = [str(python), "-m", "pgcjax", "demo", "-o", scores]
        yield release.run(command, what=f"the demo on Python {version}")


def check_licences(release: Release) -> Iterator[Check]:
    """docs/licences.md is current, and no licence binds users."""
    same = (release.root / PAGE).read_text(encoding="utf-8") == page()
    yield Check(PAGE, "" if same else "is not current: scripts/release --licences")
    table = licences()
    yield Check(f"licences of {len(table)} packages", "; ".join(problems(table)))


def check_sbom(release: Release) -> Iterator[Check]:
    """A bill of materials, in CycloneDX's JSON, has every dependency."""
    import json

    wheel, _ = distributions(release)
    python = alone(release, "{}.{}".format(*sys.version_info))
    path = release.folder / KEPT[1] / wheel.with_suffix(".cdx.json").name
    path.parent.mkdir()
    command = ["cyclonedx_py", "environment", str(python), "--output-file", str(path)]
    yield release.run([sys.executable, "-m", *command], what=path.name)
    parts = json.loads(path.read_text())["components"]
    names = {re.sub(r"[-_.]+", "-", part["name"]).lower() for part in parts}
    lacking = {"pgcjax", *dependencies()} - names
    yield Check(f"{len(names)} components", ", ".join(sorted(lacking)))


def lower_bounds(root: Path) -> dict[str, str]:
    """Return the lowest version that pyproject.toml allows of each dependency."""
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    pairs = (line.split(">=") for line in project["dependencies"])
    return {name.lower().replace("_", "-"): version for name, version in pairs}


def check_oldest(release: Release) -> Iterator[Check]:
    """Quick tests pass with the lowest versions that are allowed."""
    wheel, _ = distributions(release)
    oldest = constraints(release, "constraints-oldest.txt")
    packages = [str(wheel), "ir-measures", *TEST_TOOLS]
    python = release.make("oldest", *packages, *oldest)
    yield tests_of(release, "oldest", python, list(QUICK))


def check_newest(release: Release) -> Iterator[Check]:
    """Quick tests pass with the newest versions that there are."""
    wheel, _ = distributions(release)
    packages = [str(wheel), "ir-measures", *TEST_TOOLS]
    python = release.make("newest", *packages)
    yield tests_of(release, "newest", python, list(QUICK))


def check_workflows(release: Release) -> Iterator[Check]:
    """GitHub's schema takes the workflows."""
    lint = ["check_jsonschema", "--builtin-schema", "vendor.github-workflows"]
    for path in sorted((release.root / ".github" / "workflows").glob("*.yml")):
        yield release.run([sys.executable, "-m", *lint, str(path)], what=path.name)


PARTS = {
    "versions": check_versions,
    "licences": check_licences,
    "workflows": check_workflows,
    "build": check_build,
    "wheel": check_wheel,
    "sdist": check_sdist,
    "sbom": check_sbom,
    "pythons": check_pythons,
    "oldest": check_oldest,
    "newest": check_newest,
}
"""The parts by their names, the quick ones first."""
