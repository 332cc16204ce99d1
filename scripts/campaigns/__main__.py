"""Run campaigns of attacks: `scripts/torture [--minutes N] [--seed S]`."""

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import click

from pgcjax.errors import PgcjaxError
from pgcjax.io.write import written_beside
from pgcjax.reporting.progress import ProgressDisplay, say
from scripts.campaigns.campaign import Campaign
from scripts.campaigns.catalogue import CAMPAIGNS
from scripts.campaigns.tables import Row, markdown
from scripts.campaigns.workers import outcomes


@click.command()
@click.option(
    "--minutes",
    type=click.FloatRange(min=0),
    help="In all, shared among campaigns; by default until each is complete.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option(
    "--only",
    "names",
    multiple=True,
    type=click.Choice([*CAMPAIGNS]),
    help="Repeat for several; by default all.",
)
@click.option(
    "--count", type=click.IntRange(min=1), help="Attacks of each, in place of all."
)
@click.option(
    "--first",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="The first attack; they are numbered from 0.",
)
@click.option("--jobs", type=click.IntRange(min=1), default=2, show_default=True)
@click.option("-o", "--output", type=click.Path(), help="Write the table, as Markdown.")
def torture(
    minutes: float | None,
    seed: int,
    names: tuple[str, ...],
    count: int | None,
    first: int,
    jobs: int,
    output: str | None,
) -> None:
    """Attack pgcjax in all ways that must not succeed, and count what succeeds."""
    chosen = [CAMPAIGNS[name] for name in names or CAMPAIGNS]
    end = time.monotonic() + 60 * minutes if minutes is not None else float("inf")
    rows: list[Row] = []
    stopped = False
    with ProgressDisplay() as progress:
        for place, campaign in enumerate(chosen):
            rows.append(Row(campaign))
            share = (end - time.monotonic()) / (len(chosen) - place)
            try:
                run(rows[-1], seed, first, count, jobs, share, progress)
            except KeyboardInterrupt:
                stopped = True
                break
    table = markdown(rows, seed)
    click.echo(table, nl=False)
    if output:
        with written_beside(output) as beside:
            beside.write_text(table, encoding="utf-8")
    if stopped:
        sys.exit(130)
    sys.exit(1 if any(row.failed for row in rows) else 0)


def run(
    row: Row,
    seed: int,
    first: int,
    count: int | None,
    jobs: int,
    seconds: float,
    progress: ProgressDisplay,
) -> None:
    """Run a campaign, for so long at most, and say of each failure how to see it."""
    campaign, began = row.campaign, time.monotonic()
    count = count or max(0, campaign.full - first)
    indices = iter(range(first, first + count))
    try:
        for i, outcome in outcomes(
            campaign, seed, indices, jobs=jobs, until=began + seconds
        ):
            row.add(outcome)
            progress.update(campaign.name, row.attacks, count)
            if outcome.problem:
                say(f"failed: {outcome.problem} [{_again(campaign, seed, i)}]")
    finally:
        row.seconds = time.monotonic() - began


def _again(campaign: Campaign, seed: int, i: int) -> str:
    return f"scripts/torture --seed {seed} --only {campaign.name} --first {i} --count 1"


def main(args: Sequence[str] | None = None) -> None:
    """Run, with one line on stderr for wrong use."""
    # What is compiled is kept: attacks that start processes would compile it anew.
    cache = Path(sys.prefix, "compiled-by-campaigns")
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(cache))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")
    try:
        torture.main(args, prog_name="scripts/torture", standalone_mode=False)
    except click.ClickException as error:
        say(f"error: {error.format_message()}")
        sys.exit(2)
    except PgcjaxError as error:
        say(f"error: {error}")
        sys.exit(2)


if __name__ == "__main__":
    main()
