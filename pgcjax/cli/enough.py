"""The verbs about the number and choice of judgments: enough, next."""

from typing import TYPE_CHECKING, Any

import click

from pgcjax.asking.choices import BY, EXPECTED
from pgcjax.cli import options as opt
from pgcjax.cli.commands import judgments
from pgcjax.cli.formats import Output, findings_options
from pgcjax.cli.targets import WITH_WORK, kept_work
from pgcjax.io.choices import MISSING, TABLE_SUFFIXES
from pgcjax.reporting.progress import ProgressDisplay
from pgcjax.stats.choices import REPLICATED, SHARES

if TYPE_CHECKING:
    from pgcjax.io.runs import Runs

_conventions = opt.together(
    opt.seed_option,
    opt.order_option,
    opt.choice_option(
        "--missing", allowed=MISSING, help="Score of a judged query that a run lacks."
    ),
    opt.memory_option,
)


def _best_option(help: str) -> Any:
    return click.option(
        "--best", "top", type=opt.WHOLE, default=5, metavar="K", help=help
    )


def _replicates_option(help: str) -> Any:
    return click.option(
        "--replicates", type=opt.WHOLE, default=200, metavar="B", help=help
    )


@judgments.command()
@opt.runs_argument
@opt.judgment_options(opt.PGC_JUDGMENTS, required=True)
@opt.run_options
@opt.measure_option("PGC of preferences, such as 'PGC(p=0.8)'; by default PGC.")
@click.option(
    "--share",
    "shares",
    multiple=True,
    type=opt.REAL,
    metavar="SHARE",
    help="Share of the judgments; repeat. By default "
    f"{SHARES[0]:g}, {SHARES[1]:g}, …, {SHARES[-1]:g}.",
)
@_replicates_option("Number of subsamples of each share.")
@_best_option("Number of best runs whose overlap is computed.")
@_conventions
@opt.resume_option
@findings_options(target=WITH_WORK)
def enough(
    runs: tuple[str, ...],
    judgments: dict[str, Any],
    reading: dict[str, str],
    measures: list[str] | None,
    shares: tuple[float, ...],
    resume: bool,
    output: Output,
    **options: Any,
) -> None:
    """Compute how well fewer judgments preserve the order of the runs.

    Repeatedly, a share of the judgments of each query is drawn without replacement, and
    the runs are ordered by each draw. The results do not extend to more judgments than
    there are.
    """
    from pgcjax.engine.enough import enough as tried
    from pgcjax.io.checkpoint import remove

    folder = kept_work(output.path, resume)
    with ProgressDisplay() as progress:
        result = tried(
            opt.opened(runs, reading),
            **opt.read_judgments(judgments),
            **options,
            measures=measures or "PGC",
            shares=shares or SHARES,
            journal=folder,
            progress=progress.update,
        )
    output.give(result.table, result.metadata, result.notes)
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
"""Values of `BY` that take an option, for each option that some do not take."""


@judgments.command("next")
@opt.runs_argument
@opt.judgment_options(opt.PGC_JUDGMENTS)
@opt.run_options
@opt.choice_option(
    "--by",
    allowed=BY,
    help="Order of pairs: by effect of one more vote; by the expected utility of an "
    "answer, with bounds that say when to stop (Carterette et al. 2008); or by "
    "chance, with an interval for noisy judges that is valid at any time.",
)
@opt.one_measure_option(
    "PGC of preferences, such as 'PGC(p=0.8)', by effect or utility; ppref, rpref, "
    "fpref or wpref, by utility or chance. By default PGC by effect, else ppref."
)
@_best_option("By effect: number of best runs to compare with each other.")
@click.option(
    "--documents",
    type=opt.WHOLE,
    default=32,
    metavar="N",
    help="Candidates: all pairs of the N documents of a query that these runs rank "
    "highest; by effect, of judged documents only.",
)
@_replicates_option(
    "By effect: number of resamples of the judgments for the intervals of differences."
)
@opt.choice_option(
    "--interval", allowed=REPLICATED, help="Interval from the replicates."
)
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
@opt.choice_option(
    "--expect",
    allowed=EXPECTED,
    help="By utility: probability of an answer, equal for both (even) or by "
    "Bradley-Terry strengths fitted to the answers so far (bt).",
)
@click.option(
    "--query",
    "queries",
    multiple=True,
    metavar="QUERY",
    help="By utility or chance: only this query; repeat for several.",
)
@opt.alpha_option(
    "By chance: probability that the interval ever misses the difference."
)
@click.option(
    "--rows",
    type=opt.WHOLE,
    default=20,
    metavar="N",
    help="Print the first N pairs; -o writes all, or by chance N pairs.",
)
@_conventions
@findings_options("Write all pairs at full precision")
@opt.output_option(
    "By utility or chance: write bounds of the differences of runs",
    TABLE_SUFFIXES,
    "--bounds",
)
def next_(
    runs: tuple[str, ...],
    judgments: dict[str, Any],
    reading: dict[str, str],
    by: str,
    rows: int,
    output: Output,
    bounds: str | None,
    **options: Any,
) -> None:
    """Choose which pairs of documents to judge next, to separate runs.

    By effect: how far the next vote on a pair is expected to move the difference of two
    of the best runs that the judgments do not separate. By utility: how far the next
    answer is expected to narrow the bounds of the difference of two runs; no answer is
    needed once these exclude 0.
    """
    if rows < 1:
        raise click.UsageError(f"--rows {rows}: expected a number of rows, 1 or more")
    for name, option in opt.given_options().items():
        if by not in (of := _ONLY.get(name, BY)):
            raise click.UsageError(f"{option} works only with --by {' or '.join(of)}")
    if by == BY[0] and "preferences" not in judgments:
        raise click.UsageError("Missing option '--prefs'.")
    options = {
        name: value for name, value in options.items() if by in _ONLY.get(name, BY)
    }
    options["measure"] = options["measure"] or ("PGC" if by == BY[0] else "ppref")
    with ProgressDisplay() as progress:
        tables = opt.read_judgments(judgments)
        result = _next(by, opt.opened(runs, reading), tables, rows, options, progress)
    shown = {"noun": "pairs", "printed": result.table.head(rows)}
    output.give(result.table, result.metadata, result.notes, **shown)
    if bounds:
        output._replace(path=bounds).write(result.comparisons, result.metadata)


def _next(
    by: str,
    runs: "Runs",
    tables: dict[str, Any],
    rows: int,
    options: dict[str, Any],
    progress: ProgressDisplay,
) -> Any:
    """Order pairs by the chosen criterion."""
    if by == "effect":
        from pgcjax.engine.next_judgments import next_judgments

        return next_judgments(runs, **tables, **options, progress=progress.update)
    options |= {"queries": options["queries"] or None}
    if by == "utility":
        from pgcjax.asking.utility import next_by_utility

        return next_by_utility(runs, **tables, **options, progress=progress.update)
    from pgcjax.asking.chance import next_by_chance

    return next_by_chance(runs, **tables, **options, requests=rows)
