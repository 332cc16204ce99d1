"""The verb that compares rankings without judgments: rbo."""

from typing import TYPE_CHECKING

import click

from pgcjax.cli.commands import cli
from pgcjax.cli.options import FILE, lines_of, run_options
from pgcjax.cli.progress import Progress, say

if TYPE_CHECKING:
    import pandas as pd

    from pgcjax.engine.similarity_result import Overlaps


@cli.command()
@click.argument("runs", nargs=-1, required=True, type=FILE, metavar="RUN...")
@click.option(
    "--against",
    multiple=True,
    type=FILE,
    metavar="RUN",
    help="Compare with these runs; repeat. By default all pairs of RUN...",
)
@run_options
@click.option(
    "-p",
    type=float,
    default=0.9,
    show_default=True,
    help="Persistence, above 0 and below 1; at .9 the first 10 ranks have 86 % of the "
    "weight.",
)
@click.option(
    "--variant",
    type=click.Choice(["ext", "min", "max", "res"]),
    default="ext",
    show_default=True,
    help="Beyond what was retrieved: as before (ext), at worst (min), at best (max); "
    "or max - min (res).",
)
@click.option(
    "--ties",
    type=click.Choice(["w", "a", "b", "broken"]),
    default="a",
    show_default=True,
    help="Equal scores: all have the first rank (w), each a share of each rank (a), "
    "the same corrected for ties (b), or broken by --order.",
)
@click.option(
    "--order",
    type=click.Choice(["trec", "clarke", "rank"]),
    default="trec",
    show_default=True,
    help="Order of a run: by score, ties broken by doc id descending (trec) or "
    "ascending (clarke); or by the rank column, where equal ranks tie.",
)
@click.option(
    "--missing",
    type=click.Choice(["zero", "skip", "error"]),
    default="zero",
    show_default=True,
    help="What a query does to the mean of two runs of which one lacks it.",
)
@click.option(
    "--depth",
    type=int,
    metavar="N",
    help="Last rank that counts; a tie that begins there counts as a whole.",
)
@click.option("--memory", metavar="SIZE", help="For pairs in work, such as 500MB.")
@click.option("-q", "--per-query", is_flag=True, help="Also print each query's value.")
@click.option(
    "-o",
    "--output",
    type=FILE,
    metavar="FILE",
    help="Write all values at full precision: .csv .tsv .jsonl .parquet.",
)
def rbo(
    runs: tuple[str, ...],
    against: tuple[str, ...],
    run_format: str,
    name_by: str,
    p: float,
    variant: str,
    ties: str,
    order: str,
    missing: str,
    depth: int | None,
    memory: str | None,
    per_query: bool,
    output: str | None,
) -> None:
    """Compare runs with each other by rank-biased overlap, without judgments."""
    from pgcjax.engine.similarity import rbo as compare
    from pgcjax.io.runs import Runs
    from pgcjax.io.write import TABLE_SUFFIXES, check_target

    if output:
        check_target(output, TABLE_SUFFIXES)
    with Progress() as progress:
        a, b = (
            Runs(paths, format=run_format, name_by=name_by) if paths else None
            for paths in (runs, against)
        )
        found = compare(
            a,
            b,
            p=p,
            variant=variant,
            ties=ties,
            order=order,
            missing=missing,
            depth=depth,
            memory=memory,
            progress=progress.update,
        )
    for note in found.notes:
        say(note)
    if output:
        found.save(output)
        say(f"wrote {len(found.table)} values to {output}")
    for line in lines_of(_per_query(found) if per_query else found.mean()):
        click.echo(line)


def _per_query(found: "Overlaps") -> "pd.DataFrame":
    """Put the mean of each pair, of query `all`, behind its values."""
    import pandas as pd

    means = found.mean().rename(columns={"mean": "value"}).assign(query_id="all")
    rows = pd.concat([found.table, means])
    # Stable: queries stay in their order, and the mean behind them.
    rows = rows.sort_values(["run_a", "run_b"], kind="stable", ignore_index=True)
    return rows[["run_a", "run_b", "measure", "query_id", "value"]]
