"""Tables as verbs print them: for people, for papers, or for programs."""

import json
import math
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from pgcjax.cli import options as opt
from pgcjax.errors import printable
from pgcjax.io.write import header
from pgcjax.reporting.progress import ProgressDisplay, say

if TYPE_CHECKING:
    import pandas as pd

    from pgcjax.io.text_tables import TextTable
    from pgcjax.reporting.leaderboard import Leaderboard
    from pgcjax.stats.scores import Scores

FORMATS = ("text", "table", "csv", "json", "latex", "markdown")
_SHOWN = 50  # most runs on a terminal by default

format_option = click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    help="Output format: columns with tabs (text), a drawn table, all digits for "
    "programs (csv, json), or a table for a paper (latex, markdown). By default table "
    "on a terminal, else text.",
)


def top_option(help: str, noun: str = "runs") -> opt.Decorator:
    """Add --top N, for tables whose rows have this noun."""

    def check(context: click.Context, option: click.Parameter, top: int | None) -> Any:
        if top is not None and top < 1:
            raise click.UsageError(
                f"--top {top}: expected a number of {noun}, 1 or more"
            )
        return top

    return click.option("--top", type=opt.WHOLE, metavar="N", callback=check, help=help)


top_runs_option = top_option(
    f"Print the best N runs only; by default all, on a terminal {_SHOWN}."
)


class Output(NamedTuple):
    """Destination of findings: stdout, and a file if one is named.

    Attributes:
        form: Format of printed findings, one of `FORMATS`.
        path: Path of the file.
        spreadsheet: Whether names are escaped, so that no spreadsheet computes them.
    """

    form: str
    path: str | None
    spreadsheet: bool

    def give(
        self,
        table: "pd.DataFrame",
        metadata: dict[str, Any],
        notes: Iterable[str] = (),
        *,
        noun: str = "rows",
        printed: "pd.DataFrame | None" = None,
        best: str = "",
        below: Sequence[str] = (),
    ) -> None:
        """Write findings at full precision and print them, with notes on stderr.

        Args:
            table: Table of findings.
            metadata: Settings of the findings.
            notes: Notes for stderr, one line each.
            noun: Plural noun of the rows.
            printed: Table to print instead of `table`, which is written.
            best: As in `print_findings`.
            below: Lines below a printed table for people or papers.
        """
        for note in notes:
            say(note)
        self.write(table, metadata, noun)
        shown = table if printed is None else printed
        print_findings(shown, self.form, metadata, best, below)

    def print(self, table: "pd.DataFrame", metadata: dict[str, Any]) -> None:
        """Print findings."""
        print_findings(table, self.form, metadata)

    def write(
        self, table: "pd.DataFrame", metadata: dict[str, Any], noun: str = "rows"
    ) -> None:
        """Write findings, if a file is named."""
        opt.write_table(table, self.path, metadata, noun, spreadsheet=self.spreadsheet)


def findings_options(
    help: str = "Write the table at full precision", *suffixes: Any, **more: Any
) -> opt.Decorator:
    """Add --format, -o and --spreadsheet; the command gets an `Output` as `output`.

    Arguments are those of `output_option`.
    """
    add = opt.together(
        format_option,
        opt.output_option(help, *suffixes, **more),
        opt.spreadsheet_option,
    )

    def decorated(command: Callable) -> Callable:
        @wraps(command)
        def gathered(
            *args: Any,
            form: str | None,
            output: str | None,
            spreadsheet: bool,
            **options: Any,
        ) -> Any:
            given = Output(format_of(form), output, spreadsheet)
            return command(*args, output=given, **options)

        return add(gathered)

    return decorated


def format_of(form: str | None, top: int | None = None, per_query: bool = False) -> str:
    """Choose the format of the output, before any work.

    Raises:
        click.UsageError: the options are incompatible.
    """
    if per_query and (top or form not in (None, "text")):
        other = "--top" if top else f"--format {form}"
        raise click.UsageError(
            f"-q prints each query as text, which excludes {other}; -o FILE has all "
            "of them"
        )
    if top and form == "text":
        raise click.UsageError(
            "--top works with all formats but text, which has all runs"
        )
    if form or per_query:
        return form or "text"
    return "table" if top or sys.stdout.isatty() else "text"


def print_leaderboard(board: "Leaderboard", form: str, top: int | None) -> None:
    """Print a leaderboard in any format but text."""
    from pgcjax.reporting import leaderboard

    if form == "table":
        count = top or (_SHOWN if sys.stdout.isatty() else None)
        leaderboard.show(board.top(count))
    elif form in ("csv", "json"):
        _print_data(board.top(top).table, form, board.metadata)
    else:
        _print_markup(board.top(top).text_table(), form, board.metadata)


def print_findings(
    table: "pd.DataFrame",
    form: str,
    metadata: dict[str, Any],
    best: str = "",
    notes: Sequence[str] = (),
) -> None:
    """Print a table of findings in any format.

    Args:
        table: Table of findings.
        form: One of `FORMATS`.
        metadata: Settings of the findings.
        best: Column whose largest number is bold.
        notes: Notes below a table for people or papers, one line each.
    """
    if form == "text":
        print_table(table)
    elif form in ("csv", "json"):
        _print_data(table, form, metadata)
    else:
        from pgcjax.io.text_tables import text_table
        from pgcjax.reporting import terminal

        text = text_table(table, notes=notes, best=best)
        if form == "table":
            terminal.show(text, terminal.console_of())
        else:
            _print_markup(text, form, metadata)


def _print_data(table: "pd.DataFrame", form: str, metadata: dict[str, Any]) -> None:
    """Print all digits, and the settings of the findings."""
    if form == "csv":
        rows = table.to_csv(index=False, lineterminator="\n")
        click.echo(printable(f"{header(metadata)}\n{rows}", keep="\t\r\n"), nl=False)
        return
    click.echo(as_json(table, metadata))


def as_json(table: "pd.DataFrame", metadata: dict[str, Any]) -> str:
    """Format all digits, and the settings of the findings, as one object."""
    lines = []
    for record in table.to_dict("records"):
        for name, value in record.items():
            if isinstance(value, float) and not math.isfinite(value):
                record[name] = None
        lines.append(json.dumps(record, allow_nan=False))
    rows = ",\n".join(lines)
    return f'{{"pgcjax": {json.dumps(metadata)},\n"rows": [\n{rows}\n]}}'


def _print_markup(table: "TextTable", form: str, metadata: dict[str, Any]) -> None:
    """Print a table for a paper or a page, after a comment with its settings."""
    from pgcjax.io.text_tables import latex, markdown

    about = header(metadata).removeprefix("# ")
    if form == "latex":
        print_line(f"% {about}")
        text = latex(table)
    else:
        escaped = about.replace(">", r"\u003e")  # valid JSON that ends no comment
        print_line(f"<!-- {escaped} -->")
        print_line("")
        text = markdown(table)
    click.echo(printable(text, keep="\n"))


def print_table(table: "pd.DataFrame") -> None:
    """Print a table with tabs, four decimals and a header."""
    print_line("\t".join(table.columns))
    for row in table.itertuples(index=False):
        print_line("\t".join(map(_cell, row)))


def print_line(line: str) -> None:
    """Print a line, which may have tabs; control characters are made visible."""
    click.echo(printable(line, keep="\t"))


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4f}"
    if isinstance(value, bool):
        return str(value).lower()
    # A missing rank, which pandas writes as <NA>.
    return "" if str(value) == "<NA>" and not isinstance(value, str) else str(value)


def give(
    scores: "Scores",
    output: str | None,
    *,
    written: bool = False,
    notes: Sequence[str] | None = None,
    **form: Any,
) -> None:
    """Print notes, by default those of scores, and write the scores unless written."""
    for note in scores.notes if notes is None else notes:
        say(note)
    if output and not written:
        with ProgressDisplay() as progress:
            scores.save(output, **form, progress=progress.update)
    if output:
        say(f"wrote {scores.count} scores to {output}")


def print_scores(
    scores: "Scores",
    form: str,
    top: int | None,
    per_query: bool = False,
) -> None:
    """Print the lines of trec_eval, or a leaderboard."""
    if form == "text":
        for line in scores.lines(per_query):
            print_line(line)
        return
    if scores.metadata.get("means_only"):
        print_findings(_ranked(scores)[:top], form, scores.metadata)
        return
    from pgcjax.reporting.leaderboard import leaderboard

    print_leaderboard(leaderboard(scores), form, top)


def _ranked(scores: "Scores") -> "pd.DataFrame":
    """Order runs by the means of the first measure, the best first, without intervals.

    Returns:
        Table of rank (equal means share one), run_id and the mean of each measure.
    """
    means = scores.mean().rename_axis(columns=None)
    rank = means.iloc[:, 0].rank(method="min", ascending=False, na_option="bottom")
    table = means.reset_index()
    table.insert(0, "rank", rank.astype(int).to_numpy())
    return table.sort_values(["rank", "run_id"], ignore_index=True)
