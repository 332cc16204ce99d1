"""The verb evaluate, which scores runs; and common parts of verbs that score."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from pgcjax.cli import options as opt
from pgcjax.cli.commands import cli
from pgcjax.cli.formats import (
    format_of,
    format_option,
    give,
    print_scores,
    top_runs_option,
)
from pgcjax.cli.score_files import scores_output_option
from pgcjax.cli.targets import WITH_WORK, PartFolder, kept_work
from pgcjax.errors import PgcjaxError
from pgcjax.io.choices import MISSING, SHARED
from pgcjax.reporting.progress import ProgressDisplay, say

if TYPE_CHECKING:
    from pgcjax.engine.job import Job
    from pgcjax.io.runs import Runs


class _Missing(click.Choice):
    """Choices of evaluate; for a choice of other verbs, the error names these verbs."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Read a choice."""
        if value == "shared":
            self.fail(f"one of {', '.join(MISSING)}: {SHARED}", param, ctx)
        return super().convert(value, param, ctx)


_GRIDS = "grids"  # value of --run-format for image grids

scoring_options = opt.together(
    opt.runs_argument,
    opt.judgment_options(),
    opt.run_options,
    opt.measure_option(
        "Such as 'PGC(p=0.8)' or nDCG@10,AP; the first one ranks the runs. official: "
        "those of trec_eval; all: each measure that the judgments allow. By default "
        "PGC of --prefs (without them, PGC(graph=derived) of --qrels), and Compat of "
        "--qrels."
    ),
    format_option,
    top_runs_option,
    opt.rounded_order_option(),
    click.option(
        "--missing",
        type=_Missing(MISSING),
        default=MISSING[0],
        help="Score of a judged query that a run lacks.",
    ),
    opt.verify_option("scores"),
    opt.memory_option,
    opt.resume_option,
    click.option(
        "--distributed",
        metavar="HOW[,SECONDS]",
        help="Share the job with other processes that make the same call: auto (tasks "
        "of SLURM) or I/N@HOST:PORT, the I-th of N. It stops if others do not join, or "
        "respond, for so many seconds; by default 30.",
    ),
    scores_output_option("Write all scores at full precision", target=WITH_WORK),
    opt.spreadsheet_option,
)
"""Options of the verbs that score runs by judgments."""


def check_sources(
    judged: bool, reading: dict[str, str], options: dict[str, Any]
) -> None:
    """Refuse a call that cannot be scored, before minutes of reading.

    Raises:
        click.UsageError: there are no judgments, or options are incompatible.
        UsageError: a measure is unknown.
    """
    if not judged:
        raise click.UsageError("no judgments: give --prefs FILE, --qrels FILE or both")
    from pgcjax.measures.catalogue import parse_all

    parse_all(options["measures"] or [])
    ordered = reading["name_by"], options["order"], options["float32"]
    if reading["format"] == _GRIDS and ordered != ("tag", "trec", False):
        raise click.UsageError(
            "--run-format grids orders images by their places: leave out --name-by "
            "and --order"
        )


def open_sources(runs: tuple[str, ...], reading: dict[str, str]) -> "Runs":
    """Open runs or image grids."""
    if reading["format"] != _GRIDS:
        return opt.opened(runs, reading)
    from pgcjax.engine.request import runs_of
    from pgcjax.io.grids import read_grids

    return runs_of(read_grids(runs))


class Work(NamedTuple):
    """A job of the command line.

    Attributes:
        job: Job of `evaluate`.
        folder: Folder of parts, if scores go there.
        first: Whether this process prints and writes for all processes.
    """

    job: "Job"
    folder: PartFolder | None
    first: bool

    def end(self, resume: bool) -> None:
        """Delete finished work, unless it is to stay."""
        from pgcjax.io.checkpoint import remove

        journal = self.job.journal
        if journal and resume:
            say(f"{journal}: is kept, so that the same call reads no run again")
        elif journal:
            remove(journal)


@contextmanager
def working(
    output: str | None, options: dict[str, Any], part: tuple[int, int] | None = None
) -> Iterator[Work]:
    """Show progress, and keep finished work beside the output, while a job runs.

    Args:
        output: Destination of scores.
        options: Options; memory, resume and those of processes are removed.
        part: Part of the runs to score, and number of parts.
    """
    resume, memory = options.pop("resume"), options.pop("memory")
    distributed, processes, of = options.pop("distributed"), None, ""
    if distributed:
        from pgcjax.engine.distributed import start

        launcher, _, seconds = distributed.partition(",")
        option = f"--distributed {distributed}"
        processes = start(launcher, opt.converted(opt.REAL, seconds or "30", option))
        processes.insist = _leave
        if processes.count > 1:
            of = f".{processes.number + 1}-of-{processes.count}"
    first = not (processes and processes.number)
    folder = PartFolder.of(output, part, processes)
    work = folder.kept_work(resume) if folder else kept_work(output, resume, of)
    from pgcjax.engine import plan
    from pgcjax.engine.job import Job

    with (
        _said(work),
        processes or nullcontext(),
        ProgressDisplay(silent=not first) as progress,
        plan.using(apart=bool(output) and (folder is not None or not processes)),
    ):
        yield Work(Job(memory, work, part, processes, progress.update), folder, first)


@cli.command()
@scoring_options
@opt.per_query_option
@click.option(
    "--means-only",
    is_flag=True,
    help="Keep and write only the means of runs, as scores of the query 'all'.",
)
@click.option(
    "--part",
    metavar="I/N",
    help="Score only the I-th of N parts of the run files; merge combines the parts.",
)
@click.option(
    "--dry-run", is_flag=True, help="Print the chunks and memory of the job, and stop."
)
def evaluate(
    runs: tuple[str, ...],
    judgments: dict[str, Any],
    reading: dict[str, str],
    form: str | None,
    top: int | None,
    per_query: bool,
    part: str | None,
    dry_run: bool,
    output: str | None,
    score_format: str | None,
    spreadsheet: bool,
    **options: Any,
) -> None:
    """Score runs against preferences, graded judgments, or both.

    `pgcjax measures` lists the measures, and the judgments that each needs.
    """
    check_sources(bool(judgments), reading, options)
    printed = format_of(form, top, per_query)
    if options["means_only"]:
        if per_query or options["verify"]:
            raise click.UsageError(
                "--means-only keeps and prints only means: leave out -q and --verify"
            )
        printed = form or ("table" if top else "text")
    if part is not None and not output:
        raise click.UsageError("--part needs -o FILE: merge combines the files")
    if score_format and (part or not output):
        raise click.UsageError(
            "--score-format keeps no description of the job, which merge needs for "
            "--part"
            if part
            else "--score-format needs -o FILE"
        )
    share = None if part is None else _part(part)
    if dry_run:
        source = open_sources(runs, reading)
        _describe(source.part(*share) if share else source, judgments, options)
        return
    resume = options["resume"]
    with working(output, options, share) as work:
        from pgcjax.engine.evaluate import evaluate as score

        tables = opt.given_judgments(judgments)
        source = open_sources(runs, reading)
        scores = score(source, **tables, **options, job=work.job)
        if work.folder:
            assert work.job.progress
            scores = work.folder.save(scores, work.job.progress)
    if work.first:
        written_as = {"spreadsheet": spreadsheet, "score_format": score_format}
        give(scores, output, written=bool(work.folder), **written_as)
        print_scores(scores, printed, top, per_query)
    work.end(resume)


def _describe(runs: "Runs", judgments: dict[str, Any], options: dict[str, Any]) -> None:
    """Print how a job would be split."""
    from pgcjax.engine.dry_run import describe, estimate

    names = ("measures", "order", "float32", "memory")
    settings = {name: options[name] for name in names}
    tables = opt.given_judgments(judgments)
    for line in describe(estimate(runs, **tables, **settings)):
        click.echo(line)


@contextmanager
def _said(work: Path | None) -> Iterator[None]:
    """If a job is stopped, print how it can be resumed."""
    try:
        yield
    except KeyboardInterrupt:
        if work and work.exists():
            say(f"finished work is in {work}: --resume continues it", always=True)
        raise


def _leave(error: PgcjaxError) -> None:
    """End this process at once, with the error of another process."""
    say(f"error: {error}", always=True)
    os._exit(2)


def _part(text: str) -> tuple[int, int]:
    """Read `3/16`."""
    i, _, n = text.partition("/")
    digits = text.isascii() and i.isdecimal() and n.isdecimal()
    if not (digits and 1 <= int(i) <= int(n)):
        raise click.UsageError(f"--part {text}: expected I/N such as 3/16, 1 <= I <= N")
    return int(i), int(n)
