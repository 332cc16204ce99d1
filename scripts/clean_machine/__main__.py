"""`scripts/clean [NAME...]`: with nothing but Python, git and pip."""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from scripts.clean_machine.imports import missing, scripts
from scripts.clean_machine.trials import TRIALS, free, tried

ROOT = Path(__file__).parents[2]
LAST = 40  # lines that are shown of what a command printed that failed


def check_imports() -> bool:
    """Print the libraries that environments of scripts lack; whether there are none."""
    complete = True
    for script in scripts(ROOT):
        for module, path in missing(ROOT, script).items():
            complete = False
            print(f"{script}: {path} imports {module}, which its environment lacks")
    if complete:
        print(f"the environments of {len(scripts(ROOT))} scripts have what they import")
    return complete


def check(name: str) -> bool:
    """Try commands in an empty clone, print a line for each; whether all succeed."""
    folder = Path(tempfile.mkdtemp(prefix=f"pgcjax-clean-{name}-"))
    try:
        results = tried(name, ROOT, folder / "new")
    finally:
        free(folder)
    for result in results:
        verdict = f"exit status {result.code}" if result.code else "ok"
        command = "the README's blocks" if name == "readme" else result.command
        print(f"{verdict}: {command} ({result.seconds:.0f} s)", flush=True)
        if result.code:
            print(*result.printed.splitlines()[-LAST:], sep="\n", flush=True)
    return not any(result.code for result in results)


def main() -> int:
    """Run what is asked for; the exit status."""
    parser = argparse.ArgumentParser(
        prog="scripts/clean",
        description="Run what README and CONTRIBUTING name as on a new machine.",
    )
    names = ["imports", *TRIALS]
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"by default all: {', '.join(names)}"
    )
    chosen = parser.parse_args().names or names
    if unknown := [name for name in chosen if name not in names]:
        parser.error(f"{unknown[0]!r} is none of {', '.join(names)}")
    if chosen != ["imports"]:
        git = ["git", "status", "--porcelain", "--untracked-files=no"]
        if subprocess.run(git, cwd=ROOT, capture_output=True, check=True).stdout:
            print("what is not committed is not tried: clones have the last commit")
    passed = [check_imports() if name == "imports" else check(name) for name in chosen]
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
