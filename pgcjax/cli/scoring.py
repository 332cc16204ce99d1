"""The verb that scores, evaluate; and what verbs that score have in common."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from pgcjax.cli.commands import cli
from pgcjax.cli.formats import format_of, format_option, top_runs_option
from pgcjax.cli.given_scores import give, print_scores
from pgcjax.cli.options import (
    REAL,
    given_judgments,
    judgment_options,
    measure_option,
    memory_option,
    opened,
    per_query_option,
    resume_option,
    rounded_order_option,
    run_options,
    runs_argument,
    spreadsheet_option,
    together,
    verify_option,
)
from pgcjax.cli.score_files import scores_output_option
from pgcjax.cli.score_folders import PartFolder
from pgcjax.cli.targets import WITH_WORK, kept_work
from pgcjax.errors import PgcjaxError
from pgcjax.io.choices import MISSING, SHARED
from pgcjax.reporting.progress import ProgressDisplay, say

if TYPE_CHECKING:
    from pgcjax.engine.job import Job
    from pgcjax.io.runs import Runs


class _Missing(click.Choice):
    """Choices of evaluate; that of verbs about scores is told where it belongs."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Read a choice."""
        if value == "shared":
            self.fail(f"one of {', '.join(MISSING)}: {SHARED}", param, ctx)
        return super().convert(value, param, ctx)


scoring_options = together(
    runs_argument,
    judgment_options(),
    run_options,
    measure_option(
        "Such as 'PGC(p=0.8)' or nDCG@10,AP; the first one ranks the runs. official: "
        "those of trec_eval; all: each measure that the judgments allow. By default "
        "PGC of --prefs (without them, PGC(graph=derived) of --qrels), and Compat of "
        "--qrels."
    ),
    format_option,
    top_runs_option,
    rounded_order_option(),
    click.option(
        "--missing",
        type=_Missing(MISSING),
        default=MISSING[0],
        help="Score of a judged query that a run lacks.",
    ),
    verify_option("scores"),
    memory_option,
    resume_option,
    click.option(
        "--distributed",
        metavar="HOW[,SECONDS]",
        help="Share the job with other processes that make the same call: auto (SLURM "
        "and other launchers that JAX knows) or I/N@HOST:PORT, the I-th of N. It stops "
        "if others do not join, or respond, for so many seconds; by default 30.",
    ),
    scores_output_option("Write all scores at full precision", target=WITH_WORK),
    spreadsheet_option,
)
"""Options of the verbs that score runs by judgments."""


class Sources(NamedTuple):
    """Runs and judgments to score, from the options.

    Attributes:
        runs: files, or image grids.
        judgments: as `judgment_options` gives them.
        reading: how run files are read.
    """

    runs: tuple[str, ...]
    judgments: dict[str, Any]
    reading: dict[str, str]

    @classmethod
    def of(cls, options: dict[str, Any], judged: bool = True) -> "Sources":
        """Take what is scored out of all options; if `judged`, by judgments.

        Raises:
            click.UsageError: nothing is given, or options do not go together.
        """
        if judged and not options["judgments"]:
            raise click.UsageError(
                "no judgments: give --prefs FILE, --qrels FILE or both"
            )
        from pgcjax.measures.catalogue import parse_all

        parse_all(options["measures"] or [])  # a typo is said before minutes of reading
        sources = cls(*(options.pop(name) for name in cls._fields))
        ordered = sources.reading["name_by"], options["order"], options["float32"]
        if sources.grids and ordered != ("tag", "trec", False):
            raise click.UsageError(
                "--run-format grids orders images by their places: leave out --name-by "
                "and --order"
            )
        return sources

    @property
    def grids(self) -> bool:
        """Whether runs are image grids."""
        return self.reading["format"] == "grids"

    def opened(self) -> "Runs":
        """Open runs or image grids."""
        from pgcjax.engine.request import runs_of
        from pgcjax.io.grids import read_grids

        if self.grids:
            return runs_of(read_grids(self.runs))
        return opened(self.runs, self.reading)


class Work(NamedTuple):
    """A job of the command line.

    Attributes:
        job: of `evaluate`.
        folder: of parts, if scores go there.
        first: whether this process says and writes it all.
    """

    job: "Job"
    folder: PartFolder | None
    first: bool

    def end(self, resume: bool) -> None:
        """Drop finished work, unless it is to stay."""
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
        output: where scores go.
        options: of which memory, resume and those of other processes are taken.
        part: of the runs, which is scored alone.
    """
    resume, memory = options.pop("resume"), options.pop("memory")
    distributed, processes, of = options.pop("distributed"), None, ""
    if distributed:
        from pgcjax.engine.distributed import start

        launcher, _, seconds = distributed.partition(",")
        processes = start(launcher, REAL.convert(seconds or "30", None, None))
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
@per_query_option
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

    `pgcjax measures` lists what can be scored, and says what each needs.
    """
    sources = Sources.of(options)
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
        _describe(sources, share, options)
        return
    resume = options["resume"]
    with working(output, options, share) as work:
        from pgcjax.engine.evaluate import evaluate as score

        tables = given_judgments(sources.judgments)
        scores = score(sources.opened(), **tables, **options, job=work.job)
        if work.folder:
            assert work.job.progress
            scores = work.folder.save(scores, work.job.progress)
    if work.first:
        written_as = {"spreadsheet": spreadsheet, "score_format": score_format}
        give(scores, output, written=bool(work.folder), **written_as)
        print_scores(scores, printed, top, per_query)
    work.end(resume)


def _describe(
    sources: Sources, share: tuple[int, int] | None, options: dict[str, Any]
) -> None:
    """Print how a job would be cut."""
    from pgcjax.engine.dry_run import describe, estimate

    runs = sources.opened()
    runs = runs.part(*share) if share else runs
    settings = {
        name: options[name] for name in ("measures", "order", "float32", "memory")
    }
    tables = given_judgments(sources.judgments)
    for line in describe(estimate(runs, **tables, **settings)):
        click.echo(line)


@contextmanager
def _said(work: Path | None) -> Iterator[None]:
    """Print how a job that was stopped can be resumed."""
    try:
        yield
    except KeyboardInterrupt:
        if work and work.exists():
            say(f"finished work is in {work}: --resume continues it", always=True)
        raise


def _leave(error: PgcjaxError) -> None:
    """End this process, whatever it waits for, by the error of another one."""
    say(f"error: {error}", always=True)
    os._exit(2)


def _part(text: str) -> tuple[int, int]:
    """Read `3/16`."""
    i, _, n = text.partition("/")
    digits = text.isascii() and i.isdecimal() and n.isdecimal()
    if not (digits and 1 <= int(i) <= int(n)):
        raise click.UsageError(f"--part {text}: expected I/N such as 3/16, 1 <= I <= N")
    return int(i), int(n)
