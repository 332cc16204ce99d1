"""The verbs that put files together: merge, pack."""

from typing import Any

import click

from pgcjax.cli.commands import cli
from pgcjax.cli.formats import format_of, format_option, top_option
from pgcjax.cli.given_scores import give, print_scores
from pgcjax.cli.options import (
    FILE,
    file_memory_option,
    judgment_options,
    output_option,
    read_judgments,
    run_options,
    runs_argument,
    spreadsheet_option,
)
from pgcjax.cli.score_files import input_format_option, scores_output_option
from pgcjax.cli.score_folders import PartFolder
from pgcjax.errors import counted
from pgcjax.report.progress import ProgressDisplay, say


@cli.command()
@click.argument("parts", nargs=-1, required=True, type=FILE, metavar="PART...")
@file_memory_option
@input_format_option
@format_option
@top_option
@scores_output_option("All scores", required=True)
@spreadsheet_option
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
    how = {"spreadsheet": spreadsheet, "score_format": score_format}
    give(scores, output, written=bool(folder), **how)
    print_scores(scores, printed, top)


@cli.command()
@runs_argument
@judgment_options
@run_options
@file_memory_option
@click.option(
    "--only-judged",
    is_flag=True,
    help="Leave out the documents that --prefs and --qrels do not name: a smaller "
    "file, which fits no other judgments.",
)
@output_option("Write all runs", (".parquet",), required=True)
def pack(
    runs: tuple[str, ...],
    judgments: dict[str, Any],
    run_format: str,
    name_by: str,
    only_judged: bool,
    output: str,
) -> None:
    """Write runs as one file that evaluate reads many times faster.

    Fastest with the judgments that it is packed for; other judgments read all of it.
    """
    if only_judged and not judgments:
        raise click.UsageError("--only-judged needs --prefs FILE or --qrels FILE")
    from pgcjax.io.runs import Options, open_runs
    from pgcjax.io.runs.pack import pack as write

    with ProgressDisplay() as progress:
        source = open_runs(runs, Options(run_format, name_by))
        tables = read_judgments(judgments)
        count = write(
            source, output, **tables, only_judged=only_judged, progress=progress.update
        )
    say(f"packed {counted(count, 'run')} into {output}")
