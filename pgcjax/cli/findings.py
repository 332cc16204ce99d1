"""The verbs that ask what scores mean: discriminate, agree, correlate."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pgcjax.cli.commands import cli
from pgcjax.cli.options import FILE, TESTS, lines_of, score_files
from pgcjax.cli.progress import Progress, say

if TYPE_CHECKING:
    import pandas as pd


def _several(command: Callable) -> Callable:
    """Add what the verbs on several measures share."""
    for option in (
        click.option(
            "-o",
            "--output",
            type=FILE,
            metavar="FILE",
            help="Write the table at full precision: .csv .tsv .jsonl .parquet.",
        ),
        click.option(
            "--missing",
            type=click.Choice(["error", "drop", "zero"]),
            default="error",
            show_default=True,
            help="What a query that a run or a measure lacks does: drop leaves it out.",
        ),
        click.option(
            "-m",
            "--measure",
            "measures",
            multiple=True,
            metavar="NAME",
            help="Repeat for several; by default all of SCORES.",
        ),
        click.argument("scores", nargs=-1, required=True, type=FILE, metavar="SCORES…"),
    ):
        command = option(command)
    return command


def _give(table: "pd.DataFrame", output: str | None, **used: Any) -> None:
    """Print a table, and write it."""
    from pgcjax._version import __version__
    from pgcjax.io.write import write_table

    if output:
        write_table(table, output, {"version": __version__, **used})
        say(f"wrote {len(table)} rows to {output}")
    for line in lines_of(table):
        click.echo(line)


def _check_output(output: str | None) -> None:
    if output:
        from pgcjax.io.write import TABLE_SUFFIXES, check_target

        check_target(output, TABLE_SUFFIXES)


@cli.command()
@_several
@click.option(
    "--test",
    "tests",
    multiple=True,
    type=click.Choice(TESTS),
    help="Repeat for several; by default bootstrap.",
)
@click.option("--alpha", type=float, default=0.05, show_default=True)
@click.option("--resamples", type=int, metavar="N", help="As of compare.")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option(
    "--show",
    type=click.Choice(["power", "curves", "overlaps", "pairs"]),
    default="power",
    show_default=True,
    help="The share of significant pairs; or p of all pairs, sorted (ASL curves); or "
    "which pairs are significant in common; or all pairs.",
)
@click.option(
    "--gold",
    multiple=True,
    metavar="NAME",
    help="Show instead which of two measures agrees more with these (intuitiveness).",
)
def discriminate(
    scores: tuple[str, ...],
    measures: tuple[str, ...],
    missing: str,
    output: str | None,
    tests: tuple[str, ...],
    alpha: float,
    resamples: int | None,
    seed: int,
    show: str,
    gold: tuple[str, ...],
) -> None:
    """Say of each measure how many pairs of runs it tells apart."""
    _check_output(output)
    from pgcjax.stats import discrimination

    source, names = score_files(scores), list(measures) or None
    if gold:
        table = discrimination.intuitiveness(source, list(gold), names, missing=missing)
        _give(table, output, gold=list(gold), missing=missing)
        return
    with Progress() as progress:
        found = discrimination.discriminate(
            source,
            names,
            list(tests) or "bootstrap",
            alpha=alpha,
            resamples=resamples,
            seed=seed,
            missing=missing,
            progress=progress.update,
        )
    table = {
        "power": lambda: found.table,
        "curves": found.curves,
        "overlaps": found.overlaps,
        "pairs": lambda: found.pairs,
    }[show]()
    _give(table, output, **found.metadata)


@cli.command()
@_several
@click.option(
    "--serp",
    type=FILE,
    metavar="FILE",
    help="What people prefer: a table of query_id, run_a, run_b, preference (> 0: a is "
    "better). Without it, measures are compared with each other.",
)
@click.option(
    "--threshold",
    type=float,
    default=0.0,
    show_default=True,
    help="Score differences up to here are ties.",
)
@click.option(
    "--tie-share",
    metavar="SHARE",
    help="Instead, thresholds for this share of ties; preferences: that of FILE.",
)
def agree(
    scores: tuple[str, ...],
    measures: tuple[str, ...],
    missing: str,
    output: str | None,
    serp: str | None,
    threshold: float,
    tie_share: str | None,
) -> None:
    """Say how often measures prefer what people, or other measures, prefer."""
    _check_output(output)
    from pgcjax.io.score_files import read_any_scores
    from pgcjax.stats import agreement

    share: Any = None if tie_share is None else _share(tie_share, serp)
    source, names = score_files(scores), list(measures) or None
    used: dict[str, Any] = {"threshold": threshold, "tie_share": share}
    used["missing"] = missing
    if serp:
        people, _ = read_any_scores(Path(serp))
        table = agreement.agree(source, people, names, **used).table
    else:
        table = agreement.agree_measures(source, names, **used)
    _give(table, output, **used)


def _share(text: str, serp: str | None) -> float | str:
    if text == "preferences" and serp:
        return text
    try:
        return float(text)
    except ValueError:
        raise click.UsageError(
            f"--tie-share {text}: expected a share such as 0.2"
            + (", or preferences" if serp else "")
        ) from None


@cli.command()
@_several
@click.option(
    "--coefficient",
    "coefficients",
    multiple=True,
    type=click.Choice(
        [
            "tau",
            "tau_ap",
            "tau_ap_symmetric",
            "tau_ap_a",
            "tau_ap_b",
            "pearson",
            "spearman",
        ]
    ),
    help="Repeat for several; by default tau (of Kendall, b) and tau_ap_b.",
)
def correlate(
    scores: tuple[str, ...],
    measures: tuple[str, ...],
    missing: str,
    output: str | None,
    coefficients: tuple[str, ...],
) -> None:
    """Say how alike measures order the runs."""
    _check_output(output)
    from pgcjax.stats import correlation

    chosen = list(coefficients) or ["tau", "tau_ap_b"]
    table = correlation.correlate(
        score_files(scores), list(measures) or None, chosen, missing=missing
    )
    _give(table, output, coefficients=chosen, missing=missing)
