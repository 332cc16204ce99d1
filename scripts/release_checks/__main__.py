"""`scripts/release --dry-run [PART...]`: a line for each check."""

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path

from scripts.clean_machine.trials import free
from scripts.release_checks.licences import PAGE, page
from scripts.release_checks.parts import KEPT, PARTS, Release

ROOT = Path(__file__).parents[2]


def run_part(name: str, release: Release) -> bool:
    """Print a line for each check of a part; whether all passed."""
    passed = True
    began = time.monotonic()
    try:
        for check in PARTS[name](release):
            passed = passed and not check.problem
            verdict = "FAILED" if check.problem else "ok"
            now = time.monotonic()
            print(f"{verdict}: {name}: {check.what} ({now - began:.0f} s)")
            began = now
            print(check.problem, end="\n" if check.problem else "", flush=True)
    except Exception as error:  # the other parts are checked all the same
        print(f"FAILED: {name}: {type(error).__name__}: {error}", flush=True)
        return False
    return passed


def main(arguments: list[str] | None = None) -> int:
    """Check what is asked for; the exit status."""
    parser = argparse.ArgumentParser(
        prog="scripts/release", description="Check all that a release needs."
    )
    parser.add_argument("--dry-run", action="store_true", help="check, upload nothing")
    parser.add_argument(
        "--licences", action="store_true", help=f"write {PAGE}, check nothing"
    )
    parser.add_argument(
        "--keep",
        metavar="FOLDER",
        help="if all is well, copy there what was checked: dist/ and sbom/",
    )
    parser.add_argument(
        "parts", nargs="*", metavar="PART", help=f"by default all: {', '.join(PARTS)}"
    )
    given = parser.parse_args(arguments)
    if given.licences:
        (ROOT / PAGE).write_text(page(), encoding="utf-8")
        return 0
    if not given.dry_run:
        parser.error("a tag uploads, by .github/workflows/release.yml: add --dry-run")
    chosen = given.parts or list(PARTS)
    if unknown := [name for name in chosen if name not in PARTS]:
        parser.error(f"{unknown[0]!r} is none of {', '.join(PARTS)}")
    folder = Path(tempfile.mkdtemp(prefix="pgcjax-release-"))
    try:
        passed = [run_part(name, Release(ROOT, folder)) for name in chosen]
        if given.keep and all(passed):
            for name in filter(lambda name: (folder / name).exists(), KEPT):
                shutil.copytree(folder / name, Path(given.keep, name))
    finally:
        free(folder)
    print("ready for a release" if all(passed) else "not ready for a release")
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
