"""The verb that bounds the fewest judgments, or queries, that overturn an order."""

from typing import Any

import click

from pgcjax.cli import options as opt
from pgcjax.cli.commands import cli
from pgcjax.cli.formats import Output, findings_options
from pgcjax.judging.choices import CHANGES, OVERTURNED
from pgcjax.reporting.progress import ProgressDisplay


@cli.command()
@click.argument("runs", nargs=-1, type=opt.FILE, metavar="[RUN]...")
@opt.judgment_options(opt.PGC_JUDGMENTS, required=True)
@opt.one_measure_option(
    "PGC, or a measure of preferences such as ppref; by default PGC.", "PGC"
)
@click.option(
    "--run-id", metavar="NAME", help="The run that is ahead; by default the best one."
)
@click.option(
    "--other",
    metavar="NAME",
    help="The run to overtake it; by default any that is behind.",
)
@opt.choice_option(
    "--change",
    allowed=(*CHANGES, "queries"),
    help="Remove or reverse judgments, or leave queries out.",
)
@opt.choice_option(
    "--overturn",
    allowed=OVERTURNED,
    help="The order of two runs, or whether a paired t test tells them apart.",
)
@opt.alpha_option("Level of the test.")
@opt.run_options
@opt.order_option
@findings_options("Write the judgments at full precision")
def fragile(
    runs: tuple[str, ...],
    judgments: dict[str, Any],
    reading: dict[str, str],
    output: Output,
    **options: Any,
) -> None:
    """Bound the fewest judgments, or queries, whose change overturns an order.

    The smallest set found is listed, to be judged again first; a proven bound shows how
    few judgments cannot overturn the order. Without RUN, Bradley and Terry's model of
    votes orders systems.
    """
    from pgcjax.engine.fragile import fragile as bounded

    with ProgressDisplay() as progress:
        source = opt.opened(runs, reading) if runs else None
        options |= {**opt.read_judgments(judgments), "progress": progress.update}
        result = bounded(source, **options)
    output.give(result.table, result.metadata, result.notes)
