"""Every verb that writes, with a small collection for it to work on."""

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from pgcjax.engine import plan
from scripts.campaigns.child import command

_SMALL = "--queries 6 --documents 10 --runs 4 --depth 12".split()
_JUDGED = ["--prefs", "c/preferences.csv", "--qrels", "c/qrels.txt"]
_SCORED = ["evaluate", *_JUDGED, "c/runs"]
_DIVERSE = [
    "--intent-qrels",
    "c/diversity.qrels.txt",
    "--intent-qrels",
    "c/intents.csv",
]
_PEOPLE = "query_id,run_a,run_b,preference\n"


@dataclass(frozen=True)
class Verb:
    """A command line that writes.

    Attributes:
        args: of it, but for `-o` and `--resume`.
        target: what it writes.
        resumes: whether it knows `--resume`.
        fresh: whether its target must be new.
        output: what `-o` names, if not the target.
    """

    args: tuple[str, ...]
    target: str
    resumes: bool = False
    fresh: bool = False
    output: str = ""

    def line(self, resume: bool = False) -> list[str]:
        """Give its arguments."""
        output = self.output or self.target
        return [*self.args, "-o", output, *["--resume"] * resume]


def _verb(args: Sequence[str], target: str, **how: Any) -> Verb:
    return Verb(tuple(args), target, **how)


VERBS: dict[str, Verb] = {
    "evaluate .csv": _verb(_SCORED, "out.csv", resumes=True),
    "evaluate .trec": _verb(_SCORED, "out.trec", resumes=True),
    "evaluate .jsonl": _verb([*_SCORED, "-m", "nDCG@10"], "out.jsonl", resumes=True),
    "evaluate .parquet": _verb([*_SCORED, "-m", "PGC"], "out.parquet", resumes=True),
    "evaluate DIR/": _verb(_SCORED, "s/1-of-1.parquet", resumes=True, output="s/"),
    "evaluate --means-only": _verb(
        [*_SCORED, "--means-only"], "means.parquet", resumes=True
    ),
    "evaluate --part": _verb([*_SCORED, "--part", "1/2"], "out.csv", resumes=True),
    "evaluate packed": _verb(
        ["evaluate", *_JUDGED, "packed.parquet"], "out.tsv", resumes=True
    ),
    "evaluate grids": _verb(
        "evaluate --run-format grids --qrels c/qrels.txt c/grid.csv -m PWP,WR".split()
        + ["--prefs", "c/preferences.csv"],
        "out.csv",
        resumes=True,
    ),
    "evaluate intents": _verb(
        ["evaluate", *_DIVERSE, "c/runs", "-m", "alpha_nDCG@10"], "o.csv", resumes=True
    ),
    "merge": _verb(["merge", "part1.csv", "part2.csv"], "merged.parquet"),
    "pack": _verb(["files", "pack", *_JUDGED, "c/runs"], "new.parquet"),
    "rbo": _verb(["rbo", "c/runs"], "pairs.csv"),
    "compare": _verb(
        "compare scores.parquet -m PGC --resamples 2000".split(),
        "pairs.csv",
        resumes=True,
    ),
    "compare --runs-output": _verb(
        "compare scores.parquet -m PGC --test bootstrap --resamples 500".split()
        + ["--runs-output", "runs.csv"],
        "pairs.parquet",
    ),
    "discriminate": _verb(
        "measures discriminate scores.parquet --resamples 1000".split(), "power.csv"
    ),
    "agree": _verb(
        "measures agree scores.parquet --serp people.csv".split(), "agree.jsonl"
    ),
    "correlate": _verb(["correlate", "scores.parquet"], "tau.tsv"),
    "judgments": _verb(["judgments", "agree", *_JUDGED], "judgments.csv"),
    "enough": _verb(
        "judgments enough --prefs c/preferences.csv c/runs --replicates 20".split(),
        "curve.csv",
        resumes=True,
    ),
    "next": _verb(
        "judgments next --prefs c/preferences.csv c/runs --replicates 20".split(),
        "pairs.csv",
    ),
    "report .html": _verb(
        ["report", "scores.parquet", "--test", "t", *_JUDGED, "--runs", "c/runs"],
        "report.html",
    ),
    "report .md": _verb("report scores.parquet --resamples 100".split(), "report.md"),
    "predict": _verb(
        "judgments predict --qrels c/qrels.txt --context context.csv --folds 2".split(),
        "p.csv",
    ),
    "simulate": _verb(["files", "simulate", *_SMALL], "new", fresh=True),
    "demo": _verb(["demo"], "demo.csv"),
}


def cut_small() -> None:
    """Keep every run file in a chunk of its own, so that a stopped job has some."""
    vars(plan.settings).update(chunk=1, seconds=0.0, rows=1)


@lru_cache(1)
def _template(base: Path, _process: int) -> Path:
    """Make the folder in which all verbs work, once in a process."""
    folder = base / f"template-{os.getpid()}"
    folder.mkdir()
    for line in (
        ["files", "simulate", *_SMALL, "-o", "c"],
        [*_SCORED, "-o", "scores.parquet"],
        [*_SCORED, "--part", "1/2", "-o", "part1.csv"],
        [*_SCORED, "--part", "2/2", "-o", "part2.csv"],
        ["files", "pack", *_JUDGED, "c/runs", "-o", "packed.parquet"],
    ):
        done = command(line, folder)
        if done.code != 0:
            raise RuntimeError(f"{line} failed: {done.err}")
    lines = (folder / "c/qrels.txt").read_text().splitlines()
    rows = [line.split() for line in lines]
    runs = sorted(path.stem for path in (folder / "c/runs").iterdir())
    queries = sorted({row[0] for row in rows})
    people = [f"{q},{runs[0]},{runs[1]},{i % 3 - 1}\n" for i, q in enumerate(queries)]
    (folder / "people.csv").write_text(_PEOPLE + "".join(people))
    context = [
        f"{a[0]},{b[2]},{a[2]},{b[3]}\n"
        for a, b in zip(rows, rows[1:], strict=False)
        if a[0] == b[0]
    ]
    header = "query_id,doc_id,previous_doc_id,relevance\n"
    (folder / "context.csv").write_text(header + "".join(context))
    return folder


def workplace(folder: Path, name: str = "work") -> Path:
    """Copy the folder in which all verbs work into that of an attack."""
    place = folder / name
    shutil.copytree(_template(folder.parent, os.getpid()), place, symlinks=True)
    return place
