"""`python -m benchmarks`: ratios of pgcjax to other ways, side by side in one run."""

import os
import sys
from importlib import import_module
from pathlib import Path

import click

from benchmarks import guard
from benchmarks.harness import ROOT, Report, facts

MODULES = {
    "peel": "peel",
    "levels": "levels",
    "exact": "exact",
    "ties": "ties",
    "reading": "reading",
    "replicates": "replicates",
    "end-to-end": "end_to_end",
    "keystroke": "keystroke",
    "growth": "studies.growth",
    "memory": "studies.memory",
    "significance": "significance",
    "scores": "scores",
    "rbo": "rbo",
    "prefer": "prefer",
    "strengths": "strengths",
    "measures": "measures",
    "page": "page",
}
OPTIONS = {  # what `run` of a module takes beside the report
    "peel": ("data", "shapes"),
    "levels": ("data", "shapes"),
    "exact": ("data", "shapes"),
    "ties": ("data", "shapes"),
    "reading": ("data",),
    "measures": ("data",),
    "prefer": ("data",),
    "page": ("data",),
    "replicates": ("data",),
    "end-to-end": ("runs",),
    "keystroke": ("old",),
    "scores": ("old",),
}


class Shape(click.ParamType):
    """Queries × runs × documents, such as 173x1000x170."""

    name = "QxRxN"

    def convert(self, value, param, ctx):
        """Read three numbers."""
        try:
            q, r, n = map(int, value.split("x"))
        except ValueError:
            self.fail(f"{value!r} is not queries x runs x documents: 173x1000x170")
        return q, r, n


def _data() -> Path:
    return Path(os.environ.get("PGCJAX_SHARED", ROOT.parent / "shared")) / "data"


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("names", nargs=-1, type=click.Choice([*MODULES, "all"]))
@click.option("-o", "--output", type=Path, metavar="FILE.json", help="Write all there.")
@click.option(
    "--against",
    type=Path,
    metavar="RESULTS.json",
    help="What -o wrote: say which ratios fell, and by how much beyond their spread. "
    "Exit status 1 if any did.",
)
@click.option(
    "--data",
    type=Path,
    metavar="DIR",
    help="Public collections: DIR/cast2019, DIR/dl21. By default $PGCJAX_SHARED/data, "
    "or ../shared/data beside the repository.",
)
@click.option("--synthetic-only", is_flag=True, help="Only made-up graphs and runs.")
@click.option(
    "--shape",
    "shapes",
    multiple=True,
    type=Shape(),
    metavar="QxRxN",
    help="Of made-up graphs in peel, levels and exact, such as 173x1000x170; repeat.",
)
@click.option("--rounds", default=5, show_default=True, help="Of each race.")
@click.option("--runs", default=100, show_default=True, help="Run files of end-to-end.")
@click.option(
    "--before",
    "old",
    type=click.Path(exists=True, file_okay=False, resolve_path=True, path_type=Path),
    metavar="DIR",
    help="Another checkout, which keystroke and scores measure, too.",
)
def main(
    names: tuple[str, ...],
    output: Path | None,
    against: Path | None,
    data: Path | None,
    synthetic_only: bool,
    shapes: tuple[tuple[int, int, int], ...],
    rounds: int,
    runs: int,
    old: Path | None,
) -> None:
    """Time pgcjax beside other ways to do the same; by default all of it.

    Every table first checks that all rows computed the same, to 1e-12.
    """
    then = guard.read(against) if against else {}
    report = Report(rounds=rounds)
    about = facts([Path(sys.executable).name, "-m", "benchmarks", *sys.argv[1:]])
    machine = about["machine"]
    report.say(
        f"{machine['cpu']}, {machine['cores_allowed']} cores, {machine['memory']}, "
        f"{', '.join(machine['devices'])}; load {machine['load'][0]:.1f}; "
        f"median of {rounds} rounds (lowest-highest)\n"
    )
    data = None if synthetic_only else data or _data()
    for name in ("cast2019", "dl21"):
        if data and not (data / name).is_dir():
            report.say(f"left out: a real collection (no {data / name}; see --data)")
    chosen = MODULES if not names or "all" in names else names
    for name in dict.fromkeys(chosen):
        # What a benchmark needs is imported when it is its turn.
        module = import_module(f"benchmarks.{MODULES[name]}")
        given = {"data": data, "runs": runs, "old": old}
        if "shapes" in OPTIONS.get(name, ()):
            given["shapes"] = shapes or module.SHAPES
        module.run(
            report, **{option: given[option] for option in OPTIONS.get(name, ())}
        )
    if output:
        report.save(output, about)
    if against:
        now = about | {"races": report.races}
        if not guard.check(report, against, then, now):
            sys.exit(1)


if __name__ == "__main__":
    main()
