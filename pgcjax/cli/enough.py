"""The verbs that ask for how many judgments, and for which: enough, next."""

from typing import TYPE_CHECKING, Any

import click

from pgcjax.asking.choices import BY, EXPECTED
from pgcjax.cli.commands import judgments
from pgcjax.cli.formats import format_of, format_option, print_findings
from pgcjax.cli.options import (
    REAL,
    WHOLE,
    choice_option,
    files_option,
    is_by_hand,
    measure_option,
    memory_option,
    order_option,
    output_option,
    prefs_format_option,
    resume_option,
    run_options,
    runs_argument,
    spreadsheet_option,
    together,
    write_table,
)
from pgcjax.cli.targets import WITH_WORK, kept_work
from pgcjax.io.choices import MISSING, TABLE_SUFFIXES
from pgcjax.reporting.progress import ProgressDisplay, say
from pgcjax.stats.choices import REPLICATED, SHARES

if TYPE_CHECKING:
    from pgcjax.io.runs import Runs

_SOURCES = ("runs", "prefs", "prefs_format", "qrels", "run_format", "name_by")


def _sources(**prefs: Any) -> Any:
    return together(
        runs_argument,
        files_option("--prefs", help="Preferences; repeat for several.", **prefs),
        prefs_format_option,
        files_option("--qrels", help="Grades, for PGC(graph=combined)."),
        run_options,
    )


_conventions = together(
    click.option("--seed", type=WHOLE, default=0, show_default=True),
    order_option,
    choice_option(
        "--missing",
        allowed=MISSING,
        help="Score of a judged query that a run lacks.",
    ),
    format_option,
    memory_option,
)


def _best_option(help: str) -> Any:
    return click.option(
        "--best",
        "top",
        type=WHOLE,
        default=5,
        show_default=True,
        metavar="K",
        help=help,
    )


def _read(
    runs: tuple[str, ...],
    prefs: tuple[str, ...],
    prefs_format: str,
    qrels: tuple[str, ...],
    run_format: str,
    name_by: str,
) -> tuple["Runs", dict[str, Any]]:
    """Open runs, and read judgments as keyword arguments."""
    from pgcjax.io.graded import read_qrels
    from pgcjax.io.runs import Options, open_runs
    from pgcjax.io.votes.read import read_preferences

    tables = {
        "preferences": read_preferences(prefs, format=prefs_format) if prefs else None,
        "qrels": read_qrels(qrels) if qrels else None,
    }
    return open_runs(runs, Options(run_format, name_by)), tables


@judgments.command()
@_sources(required=True)
@measure_option("PGC of preferences, such as 'PGC(p=0.8)'; by default PGC.")
@click.option(
    "--share",
    "shares",
    multiple=True,
    type=REAL,
    metavar="SHARE",
    help="Share of the judgments; repeat. By default "
    f"{SHARES[0]:g}, {SHARES[1]:g}, …, {SHARES[-1]:g}.",
)
@click.option(
    "--replicates",
    type=WHOLE,
    default=200,
    show_default=True,
    metavar="B",
    help="Number of subsamples of each share.",
)
@_best_option("Number of best runs whose overlap is computed.")
@_conventions
@resume_option
@output_option("Write the table at full precision", target=WITH_WORK)
def enough(
    measures: list[str],
    shares: tuple[float, ...],
    form: str | None,
    resume: bool,
    output: str | None,
    **options: Any,
) -> None:
    """Compute how well fewer judgments preserve the order of the runs.

    A share of the judgments of each query is drawn, without replacement, again and
    again, and the runs are ordered by each draw. Nothing is said of more judgments than
    there are.
    """
    from pgcjax.engine.enough import enough as tried
    from pgcjax.io.checkpoint import remove

    folder = kept_work(output, resume)
    read = {name: options.pop(name) for name in _SOURCES}
    with ProgressDisplay() as progress:
        runs, tables = _read(**read)
        result = tried(
            runs,
            **tables,
            **options,
            measures=measures or "PGC",
            shares=shares or SHARES,
            journal=folder,
            progress=progress.update,
        )
    for note in result.notes:
        say(note)
    write_table(result.table, output, result.metadata)
    print_findings(result.table, format_of(form), result.metadata)
    if folder:
        remove(folder)


_ONLY = {
    "top": ("effect",),
    "replicates": ("effect",),
    "interval": ("effect",),
    "missing": ("effect",),
    "qrels": ("effect",),
    "infer": ("utility",),
    "may_tie": ("utility",),
    "expect": ("utility",),
    "bounds": ("utility", "chance"),
    "queries": ("utility", "chance"),
    "alpha": ("chance",),
    "seed": ("effect", "chance"),
}
"""Values of `BY` that take an option, for options that not all of them take."""


@judgments.command("next")
@_sources()
@choice_option(
    "--by",
    allowed=BY,
    help="Order of pairs: by effect of one more vote; by the expected utility of an "
    "answer, with bounds that say when to stop (Carterette et al. 2008); or by "
    "chance, with an interval for noisy judges that is valid at any time.",
)
@click.option(
    "-m",
    "--measure",
    metavar="MEASURE",
    help=(
        "PGC of preferences, such as 'PGC(p=0.8)', by effect or utility; ppref, "
        "rpref, fpref or wpref, by utility or chance. By default PGC by effect, else "
        "ppref."
    ),
)
@_best_option("By effect: number of best runs to compare with each other.")
@click.option(
    "--documents",
    type=WHOLE,
    default=32,
    show_default=True,
    metavar="N",
    help=(
        "Candidates: all pairs of the N documents of a query that these runs rank "
        "highest; by effect, of judged documents only."
    ),
)
@click.option(
    "--replicates",
    type=WHOLE,
    default=200,
    show_default=True,
    metavar="B",
    help=(
        "By effect: number of resamples of the judgments for the intervals of "
        "differences."
    ),
)
@choice_option("--interval", allowed=REPLICATED, help="Interval from the replicates.")
@click.option(
    "--infer",
    is_flag=True,
    help="By utility: count pairs as answered if chains of answers imply the answer.",
)
@click.option(
    "--may-tie",
    is_flag=True,
    help="By utility: let bounds hold even if future answers are ties, or never come.",
)
@choice_option(
    "--expect",
    allowed=EXPECTED,
    help=(
        "By utility: probability of an answer, equal for both (even) or by "
        "Bradley-Terry strengths fitted to the answers so far (bt)."
    ),
)
@click.option(
    "--query",
    "queries",
    multiple=True,
    metavar="QUERY",
    help="By utility or chance: only this query; repeat for several.",
)
@click.option(
    "--alpha",
    type=REAL,
    default=0.05,
    show_default=True,
    help="By chance: probability that the interval ever misses the difference.",
)
@click.option(
    "--rows",
    type=WHOLE,
    default=20,
    show_default=True,
    metavar="N",
    help="Print the first N pairs; -o writes all, or by chance N pairs.",
)
@_conventions
@output_option("Write all pairs at full precision")
@output_option(
    "By utility or chance: write bounds of the differences of runs",
    TABLE_SUFFIXES,
    "--bounds",
)
@spreadsheet_option
@click.pass_context
def next_(
    context: click.Context,
    by: str,
    rows: int,
    form: str | None,
    output: str | None,
    bounds: str | None,
    spreadsheet: bool,
    **options: Any,
) -> None:
    """Choose which pairs of documents to judge next, to separate runs.

    By effect: how far the next vote on a pair is expected to move the difference of two
    of the best runs that the judgments do not tell apart. By utility: how far the next
    answer is expected to narrow the bounds of the difference of two runs; nothing need
    be asked once these exclude 0.
    """
    if rows < 1:
        raise click.UsageError(f"--rows {rows}: expected a number of rows, 1 or more")
    for option in context.command.get_params(context):
        of = _ONLY.get(option.name or "", BY)
        if by not in of and is_by_hand(context, option.name or ""):
            raise click.UsageError(
                f"{option.opts[0]} works only with --by {' or '.join(of)}"
            )
    if by == BY[0] and not options["prefs"]:
        raise click.UsageError("Missing option '--prefs'.")
    options = {
        name: value for name, value in options.items() if by in _ONLY.get(name, BY)
    }
    options["measure"] = options["measure"] or ("PGC" if by == BY[0] else "ppref")
    read = {name: options.pop(name, ()) for name in _SOURCES}
    with ProgressDisplay() as progress:
        runs, tables = _read(**read)
        result = _next(by, runs, tables, rows, options, progress)
    for note in result.notes:
        say(note)
    metadata = result.metadata
    write_table(result.table, output, metadata, "pairs", spreadsheet=spreadsheet)
    if bounds:
        write_table(result.comparisons, bounds, metadata, spreadsheet=spreadsheet)
    print_findings(result.table.head(rows), format_of(form), result.metadata)


def _next(
    by: str,
    runs: "Runs",
    tables: dict[str, Any],
    rows: int,
    options: dict[str, Any],
    progress: ProgressDisplay,
) -> Any:
    """Order pairs as asked."""
    if by == "effect":
        from pgcjax.engine.next_judgments import next_judgments

        return next_judgments(runs, **tables, **options, progress=progress.update)
    options |= {
        "preferences": tables["preferences"],
        "queries": options["queries"] or None,
    }
    if by == "utility":
        from pgcjax.asking.utility import next_by_utility

        return next_by_utility(runs, **options, progress=progress.update)
    from pgcjax.asking.chance import next_by_chance

    return next_by_chance(runs, **options, requests=rows)
