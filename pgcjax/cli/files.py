"""The verbs of files: check, merge, pack, simulate."""

import os
from typing import Any

import click

from pgcjax.cli import options as opt
from pgcjax.cli.commands import files
from pgcjax.cli.formats import (
    format_of,
    format_option,
    give,
    print_scores,
    top_runs_option,
)
from pgcjax.cli.score_files import input_format_option, scores_output_option
from pgcjax.cli.targets import PartFolder
from pgcjax.errors import counted
from pgcjax.io.choices import FILE_KINDS
from pgcjax.reporting.progress import ProgressDisplay, say


@files.command()
@click.argument("parts", nargs=-1, required=True, type=opt.FILE, metavar="PART...")
@opt.file_memory_option
@input_format_option
@format_option
@top_runs_option
@scores_output_option("All scores", required=True)
@opt.spreadsheet_option
def merge(
    parts: tuple[str, ...],
    form: str | None,
    top: int | None,
    output: str,
    score_format: str | None,
    spreadsheet: bool,
) -> None:
    """Put the files of evaluate --part together: the same as without parts.

    Files of other tools, such as trec_eval's of each run, are put together, too.
    """
    printed = format_of(form, top)
    from pgcjax.stats.merging import merge as put_together

    folder = PartFolder.of(output)
    scores = put_together(parts)
    if folder:
        with ProgressDisplay() as progress:
            folder.save(scores, progress.update)
    written_as = {"spreadsheet": spreadsheet, "score_format": score_format}
    give(scores, output, written=bool(folder), **written_as)
    print_scores(scores, printed, top)


@files.command()
@opt.runs_argument
@opt.judgment_options()
@opt.run_options
@opt.file_memory_option
@click.option(
    "--only-judged",
    is_flag=True,
    help="Leave out the documents that --prefs and --qrels do not name: a smaller "
    "file, which fits no other judgments.",
)
@opt.output_option("Write all runs", (".parquet",), required=True)
def pack(
    runs: tuple[str, ...],
    judgments: dict[str, Any],
    reading: dict[str, str],
    only_judged: bool,
    output: str,
) -> None:
    """Write runs as one file that evaluate reads many times faster.

    Reading is fastest with the same judgments; with others, evaluate reads all of it.
    """
    if only_judged and not judgments:
        raise click.UsageError("--only-judged needs --prefs FILE or --qrels FILE")
    from pgcjax.io.runs.pack import pack as write

    with ProgressDisplay() as progress:
        source, tables = opt.opened(runs, reading), opt.read_judgments(judgments)
        settings = {"only_judged": only_judged, "progress": progress.update}
        count = write(source, output, **tables, **settings)
    say(f"packed {counted(count, 'run')} into {output}")


@files.command()
@click.argument("paths", nargs=-1, type=opt.FILE, metavar="FILE...")
@opt.judgment_options()
@opt.run_options
@opt.file_memory_option
@opt.choice_option(
    "--as", "kind", allowed=["auto", *FILE_KINDS], help="Kind of FILE..."
)
def check(
    paths: tuple[str, ...],
    judgments: dict[str, Any],
    reading: dict[str, str],
    kind: str,
) -> None:
    """Read files as evaluate does, and describe their content."""
    if not (paths or judgments):
        raise click.UsageError("nothing to check: give FILE, --prefs or --qrels")
    from pgcjax.io import check as checks
    from pgcjax.io.file_kinds import sort_by_kind

    sorted_paths = sort_by_kind(paths, kind)
    if prefs := sorted_paths["prefs"]:
        given, form = judgments.get("preferences", ((), "auto"))
        judgments["preferences"] = (*given, *prefs), form
    if qrels := sorted_paths["qrels"]:
        judgments["qrels"] = *judgments.get("qrels", ()), *qrels
    tables = opt.read_judgments(judgments)
    if sorted_paths["runs"]:
        tables["runs"] = opt.opened(sorted_paths["runs"], reading).table
    if sorted_paths["grids"]:
        from pgcjax.io.grids import read_grids

        tables["grids"] = read_grids(sorted_paths["grids"])
    lines = [
        f"{name}: {line}"
        for name, table in tables.items()
        for line in checks.SUMMARIES[name](table)
    ]
    lines += checks.summarise_overlap(tables)  # before printing: it may raise an error
    for line in lines:
        click.echo(line)


@files.command()
@opt.output_option("New.", (), required=True, metavar="DIR")
@click.option("--queries", type=opt.WHOLE, help="Number of queries.")
@click.option("--documents", type=opt.WHOLE, help="Judged documents per query.")
@click.option("--runs", type=opt.WHOLE, help="Number of runs.")
@click.option("--judges", type=opt.WHOLE, help="Number of judges of preferences.")
@click.option("--pairs", type=opt.WHOLE, help="Pairs that each judge judges per query.")
@click.option("--intents", type=opt.WHOLE, help="Intents per query.")
@click.option("--depth", type=opt.WHOLE, help="Documents per query in a run.")
@opt.numbers_option("--grid", metavar="ROWS[,COLUMNS]", help="Size of the image grid.")
@click.option("--seed", type=opt.WHOLE, default=0, help="Seed of the collection.")
def simulate(output: str, grid: list[int | None], **settings: int | None) -> None:
    """Write a made-up collection whose true order of runs is known to a new DIR."""
    from pgcjax.datasets.files import write_collection
    from pgcjax.datasets.settings import CollectionSettings
    from pgcjax.io.write import check_room

    settings |= dict(zip(("rows", "columns"), grid, strict=False))
    given = CollectionSettings(**{k: v for k, v in settings.items() if v is not None})
    if os.path.exists(output):  # false for too long names, which fail when written
        raise click.UsageError(f"{output} exists already: name a new folder")
    check_room(output)
    from pgcjax.datasets.simulator import simulate as make

    write_collection(make(given), output)
    say(f"wrote {given.runs} runs and their judgments to {output}")
