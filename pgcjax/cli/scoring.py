"""The verb that scores: evaluate."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pgcjax.cli.commands import cli
from pgcjax.cli.formats import (
    format_of,
    format_option,
    print_findings,
    top_option,
)
from pgcjax.cli.given_scores import give, print_scores
from pgcjax.cli.options import (
    REAL,
    choice_option,
    float32_option,
    given_judgments,
    is_folder,
    judgment_options,
    measure_option,
    memory_option,
    per_query_option,
    resume_option,
    run_options,
    runs_argument,
    spreadsheet_option,
    verify_option,
    write_table,
)
from pgcjax.cli.redrawn import (
    check_redrawn,
    intervals_of,
    left_out_of,
    pairs_of,
    redrawn_options,
)
from pgcjax.cli.score_files import scores_output_option
from pgcjax.cli.score_folders import PartFolder
from pgcjax.cli.targets import WITH_WORK, kept_work
from pgcjax.errors import PgcjaxError
from pgcjax.io.choices import MISSING, ORDERS, SHARED
from pgcjax.report.progress import ProgressDisplay, say

if TYPE_CHECKING:
    from pgcjax.io.runs import Runs


class _Missing(click.Choice):
    """Choices of evaluate; that of verbs about scores is told where it belongs."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Read a choice."""
        if value == "shared":
            self.fail(f"one of {', '.join(MISSING)}: {SHARED}", param, ctx)
        return super().convert(value, param, ctx)


@cli.command()
@runs_argument
@judgment_options
@run_options
@measure_option(
    "Such as 'PGC(p=0.8)' or nDCG@10,AP; the first one ranks the runs. official: those "
    "of trec_eval; all: each that the judgments suffice for. By default PGC "
    "of --prefs (without them, PGC(graph=derived) of --qrels), and Compat of --qrels."
)
@format_option
@top_option
@per_query_option
@choice_option(
    "--order",
    allowed=ORDERS,
    help="Order of a run: by score with ties by doc id descending (trec) or ascending "
    "(clarke), or by the rank column.",
)
@float32_option
@click.option(
    "--missing",
    type=_Missing(MISSING),
    default=MISSING[0],
    show_default=True,
    help="What a judged query that a run lacks does to the run's mean.",
)
@verify_option("scores")
@redrawn_options
@click.option(
    "--means-only",
    is_flag=True,
    help="Keep and write means of runs alone, as of the query 'all'.",
)
@click.option(
    "--part",
    metavar="I/N",
    help="Score the I-th of N parts of the run files only; put together by merge.",
)
@memory_option
@click.option(
    "--grids",
    is_flag=True,
    help="RUN... are image grids: query_id, run_id, doc_id, row, column; or "
    "Image_position.json of Xie et al.",
)
@click.option("--dry-run", is_flag=True, help="Say how the job would be cut, and stop.")
@resume_option
@click.option(
    "--distributed",
    metavar="HOW",
    help="Share the job with other processes that make the same call: auto (SLURM and "
    "other launchers that JAX knows) or I/N@HOST:PORT, the I-th of N.",
)
@click.option(
    "--distributed-timeout",
    type=REAL,
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="Stop where other processes do not come, or are not heard of, for so long.",
)
@scores_output_option("Write all scores at full precision", target=WITH_WORK)
@spreadsheet_option
def evaluate(
    runs: tuple[str, ...],
    judgments: dict[str, Any],
    run_format: str,
    name_by: str,
    measures: list[str],
    form: str | None,
    top: int | None,
    per_query: bool,
    order: str,
    float32: bool,
    missing: str,
    verify: float,
    replicates: int,
    resample: str,
    seed: int,
    interval: str,
    leave_out: str | None,
    pool_depth: int,
    pairs_output: str | None,
    score_intervals: str | None,
    replicates_output: str | None,
    means_only: bool,
    part: str | None,
    memory: str | None,
    grids: bool,
    dry_run: bool,
    resume: bool,
    distributed: str | None,
    distributed_timeout: float,
    output: str | None,
    score_format: str | None,
    spreadsheet: bool,
) -> None:
    """Score runs against preferences, graded judgments, or both.

    `pgcjax measures` lists what can be scored, and says what each needs.
    """
    if not judgments:
        raise click.UsageError("no judgments: give --prefs FILE, --qrels FILE or both")
    printed = format_of(form, top, per_query)
    check_redrawn(
        replicates,
        leave_out,
        {
            "--part": part,
            "--dry-run": dry_run,
            "--means-only": means_only,
            "-o DIR/": is_folder(output),
        },
        {"-q": per_query, "--format text": form == "text", "--top": top},
        {
            "--pairs-output": pairs_output,
            "--score-intervals": score_intervals,
            "--replicates-output": replicates_output,
        },
        interval,
    )
    if replicates:
        printed = form or "table"
    if means_only:
        if per_query or verify:
            raise click.UsageError(
                "--means-only keeps and prints means alone: leave out -q and --verify"
            )
        printed = form or ("table" if top else "text")
    from pgcjax.measures.catalogue import parse_all

    if part is not None and not output:
        raise click.UsageError("--part needs -o FILE: merge puts the files together")
    if score_format and (part or not output):
        raise click.UsageError(
            "--score-format keeps nothing of the job, which merge needs of --part"
            if part
            else "--score-format needs -o FILE"
        )
    share = None if part is None else _part(part)
    parse_all(measures)  # a typo is said before minutes of reading
    from pgcjax.engine.evaluate import evaluate as score
    from pgcjax.io.checkpoint import remove

    given = run_format, name_by, order, float32
    if grids and given != ("auto", "tag", "trec", False):
        raise click.UsageError(
            "--grids: places order images, so not with --run-format, --name-by, "
            "--order, --float32"
        )
    reading = {"format": run_format, "name_by": name_by}
    how: dict[str, Any] = {"measures": measures or None, "order": order}
    how |= {"float32": float32, "memory": memory}
    if dry_run:
        from pgcjax.engine.dry_run import describe
        from pgcjax.engine.estimate import estimate

        opened = _open(runs, grids, **reading)
        opened = opened.part(*share) if share else opened
        job = estimate(opened, **given_judgments(judgments), **how)
        for line in describe(job):
            click.echo(line)
        return
    processes, of = None, ""
    if distributed:
        from pgcjax.engine.distributed import start

        processes = start(distributed, distributed_timeout)
        processes.insist = _leave
        if processes.count > 1:
            of = f".{processes.number + 1}-of-{processes.count}"
    first = not (processes and processes.number)  # it says and writes it all
    folder = PartFolder.of(output, share, processes)
    kept = folder.kept_work(resume) if folder else kept_work(output, resume, of)
    from pgcjax.engine import plan

    with (
        _said(kept),
        processes or nullcontext(),
        ProgressDisplay(silent=not first) as progress,
        plan.using(apart=bool(output) and (folder is not None or not processes)),
    ):
        tables = given_judgments(judgments)
        scores = score(
            _open(runs, grids, **reading),
            **tables,
            **how,
            missing=missing,
            verify=verify,
            replicates=replicates,
            resample=resample,
            seed=seed,
            leave_out=leave_out,
            pool_depth=pool_depth,
            score_intervals=bool(score_intervals),
            journal=kept,
            part=share,
            distributed=processes,
            means_only=means_only,
            progress=progress.update,
        )
        if folder:
            scores = folder.save(scores, progress.update)
    if first:
        how = {"spreadsheet": spreadsheet, "score_format": score_format}
        give(scores, output, written=bool(folder), **how)
        used = scores.metadata | ({} if leave_out else {"interval": interval})
        if pairs_output:
            pairs = pairs_of(scores, interval)
            write_table(pairs, pairs_output, used, "pairs", spreadsheet=spreadsheet)
        if score_intervals:
            table = intervals_of(scores, interval)
            noun = "intervals"
            write_table(table, score_intervals, used, noun, spreadsheet=spreadsheet)
        if replicates_output and scores.uncertainty:
            scores.uncertainty.save(replicates_output)
            say(f"wrote {replicates} replicates to {replicates_output}")
        if leave_out:
            print_findings(left_out_of(scores), printed, scores.metadata)
        else:
            print_scores(scores, printed, top, per_query, interval)
    if kept and resume:
        say(f"{kept}: stays, so that the same call reads no run again")
    elif kept:
        remove(kept)


def _open(paths: tuple[str, ...], grids: bool, **how: Any) -> "Runs":
    """Open runs or image grids."""
    from pgcjax.engine.request import runs_of
    from pgcjax.io.grids import read_grids
    from pgcjax.io.runs import Options, open_runs

    return runs_of(read_grids(paths)) if grids else open_runs(paths, Options(**how))


@contextmanager
def _said(kept: Path | None) -> Iterator[None]:
    """Say, when a job is stopped, what is left of it."""
    try:
        yield
    except KeyboardInterrupt:
        if kept and kept.exists():
            say(f"what is done is in {kept}: --resume goes on with it", always=True)
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
