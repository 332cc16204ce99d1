"""Commands that README and CONTRIBUTING name, in short forms; how they are tried."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

TRIALS = {
    "demo": ["scripts/demo -o scores.csv"],
    "quick": ["scripts/test quick"],
    "newest": [
        "scripts/test newest quick || [ $? = 77 ]",  # 77: no Python 3.13 is here
        "scripts/test newest -n 2 --dist loadfile || [ $? = 77 ]",
    ],
    "lint": [
        "scripts/test lint",
        ".venv/bin/pre-commit install",
        ".venv/bin/pre-commit run --all-files",
    ],
    "mutants": ["scripts/mutants kernels/peel.py kernels/exact.py"],
    "mutate": ["scripts/mutate --rooms tensors --count 2 --tests tests/tensors"],
    "docs": ["scripts/docs"],
    "torture": ["scripts/torture --minutes 0.2"],
    "bench": ["scripts/bench peel --synthetic-only --shape 20x50x32 --rounds 1"],
    "reproduce": ["scripts/reproduce --chapter luo-lists --chapter xie"],
    "release": ["scripts/release --dry-run versions build licences"],
    "readme": [],  # its blocks, which `readme_script` reads
}
"""Commands of each trial, which has a clone of its own."""

DEVICES = re.compile(r"\.\[(cuda|tpu)")
"""What is not installed: gigabytes, for devices that a machine may not have."""

_PASSED_ON = re.compile(r"PIP_\w+|\w+_proxy|SSL_CERT_\w+|LANG|LC_\w+|TERM|TMPDIR", re.I)
_BLOCK = re.compile(r"^```(\w+)\n((?:.*\n)*?)```$|((?:^    .*\n)+)", re.M)


class Result(NamedTuple):
    """What became of a command."""

    command: str
    code: int
    seconds: float
    printed: str


def tried(name: str, root: Path, folder: Path) -> list[Result]:
    """Run the commands of a trial in a new clone, up to the first that fails.

    Args:
        name: of the trial.
        root: the checkout, of which the last commit is cloned.
        folder: an empty folder, which the clone and a home are made in.
    """
    clone, home = folder / "clone", folder / "home"
    home.mkdir(parents=True)
    git = ["git", "clone", "--quiet", "--depth", "1", f"file://{root}", str(clone)]
    subprocess.run(git, check=True)
    commands = TRIALS[name]
    if name == "readme":
        script = folder / "readme.sh"
        script.write_text(readme_script((clone / "README.md").read_text()))
        commands = [f"bash {shlex.quote(str(script))}"]
    results: list[Result] = []
    for command in commands:
        began = time.monotonic()
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=clone,
            env=environment(root, home),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        seconds = time.monotonic() - began
        results.append(Result(command, done.returncode, seconds, done.stdout))
        if done.returncode:
            break
    return results


def environment(root: Path, home: Path) -> dict[str, str]:
    """Make the variables of a new machine: Python, pip's settings, where data lie."""
    given = {k: v for k, v in os.environ.items() if _PASSED_ON.fullmatch(k)}
    settings = Path.home() / ".config/pip/pip.conf"
    if settings.exists():
        given.setdefault("PIP_CONFIG_FILE", str(settings))
    given.setdefault("PIP_CACHE_DIR", str(Path.home() / ".cache/pip"))
    shared = os.environ.get("PGCJAX_SHARED", root.parent / "shared")
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    venv = os.path.join(os.environ.get("VIRTUAL_ENV", "\0"), "")
    folders = [f for f in folders if not f.startswith((venv, str(root)))]
    return given | {
        "HOME": str(home),
        "PATH": os.pathsep.join(folders),
        "PGCJAX_SHARED": str(Path(shared).resolve()),
        "PYENV_ROOT": os.environ.get("PYENV_ROOT", str(Path.home() / ".pyenv")),
        "PYTHON": getattr(sys, "_base_executable", sys.executable),
    }


def readme_script(text: str, package: str = ".") -> str:
    """Put the blocks of the README into one script, in their order.

    Commands of scripts are trials of their own; the others are run after `pip install`
    as the README has it, beside files of the names that it uses.

    Args:
        text: of the README.
        package: what is installed in place of `.`: a wheel.
    """
    lines = [
        "set -euxo pipefail",
        '"$PYTHON" -m venv ../env',
        "export PATH=$PWD/../env/bin:$PATH",
        "cp -r pgcjax/datasets/collection ../files",
    ]
    for language, code, indented in _BLOCK.findall(text):
        if language == "python":
            lines += ["(cd ../files; python <<'PYTHON'", code.rstrip(), "PYTHON", ")"]
            continue
        for line in (code if language in ("sh", "bash") else indented).splitlines():
            command = line.strip().partition("  #")[0].rstrip()
            if command.startswith("pip install ") and not DEVICES.search(command):
                command = re.sub(r"(?<=[ '])\.(?=$|[ \[])", package, command)
                lines.append(f"{command} --quiet --constraint constraints.txt")
            elif command.startswith("pgcjax "):
                lines.append(f"(cd ../files; {command})")
    return "\n".join(lines) + "\n"


def free(folder: Path) -> None:
    """Remove what a trial left: an environment takes gigabytes."""
    shutil.rmtree(folder, ignore_errors=True)
