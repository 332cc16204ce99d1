"""The verbs that ask judges in a tournament: ask start, requests, add, …."""

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pgcjax.asking.choices import INFER, LEVELS, ORDERS, SIDES, VOTE_LINES
from pgcjax.cli.commands import cli
from pgcjax.cli.formats import print_line
from pgcjax.cli.options import (
    FILE,
    REAL,
    WHOLE,
    choice_option,
    encoding_option,
    file_memory_option,
    numbers_option,
    output_option,
    seed_option,
    text_options,
    votes_format_option,
)
from pgcjax.cli.verbs import Verbs
from pgcjax.errors import DataError, counted
from pgcjax.io.choices import TABLE_SUFFIXES
from pgcjax.reporting.progress import ProgressDisplay, say

if TYPE_CHECKING:
    import pandas as pd

    from pgcjax.asking.tournament import Tournament

_SUFFIXES = (".txt", *TABLE_SUFFIXES)
_SAID = 10  # answers set aside that are named one by one

state_argument = click.argument("state", type=FILE, metavar="STATE")


@cli.group(cls=Verbs)
def ask() -> None:
    """Ask judges which documents are best, in a tournament of few pairs.

    STATE is the folder of a tournament. `ask status` says what to do next.
    """


@ask.command()
@click.argument("qrels", nargs=-1, required=True, type=FILE, metavar="QRELS...")
@output_option("New folder for the tournament.", (), required=True, metavar="DIR")
@click.option("--k", type=WHOLE, default=5, help="Number of best documents to find.")
@numbers_option(
    "--pairings",
    metavar="P[,F]",
    help="Comparisons of each document in an elimination round, by default 7, or the "
    "first odd number above k; and the largest number of documents in the last round, "
    "which compares all pairs, by default P + 2.",
)
@click.option(
    "--judges",
    type=WHOLE,
    default=1,
    help="Number of judges of each pair; the answer of the majority counts.",
)
@choice_option(
    "--sides",
    allowed=SIDES,
    help=(
        "Presentation of a pair: in one random order, which suffices to rank runs; "
        "or in both orders to each judge, at twice the calls."
    ),
)
@choice_option(
    "--infer",
    allowed=INFER,
    help=(
        "Skip pairs whose answer follows from the answers of the majority, or of "
        "each judge."
    ),
)
@click.option(
    "--bad", is_flag=True, help="Let every document beat one that is called bad."
)
@seed_option
@encoding_option
@file_memory_option
def start(
    qrels: tuple[str, ...], output: str, pairings: list[Any], **settings: Any
) -> None:
    """Start a tournament for the top k documents of each query."""
    from pgcjax.asking.tournament import Tournament

    settings |= dict(zip(("pairings", "final"), pairings, strict=False))
    _say_next(Tournament.start(output, qrels, **settings))


@ask.command()
@state_argument
@output_option("Write the requests; .html is a page for judging", (*_SUFFIXES, ".html"))
@click.option(
    "--at-once",
    type=WHOLE,
    metavar="N",
    help="Return at most N pairs of a query; with --infer, a small N saves answers.",
)
@click.option(
    "--judge", metavar="NAME", help="Only pairs that this judge has not answered."
)
@text_options
@encoding_option
@file_memory_option
def requests(
    state: str,
    output: str | None,
    at_once: int | None,
    judge: str | None,
    **texts: Any,
) -> None:
    """List the pairs to judge now: query, the document to show first, the other."""
    from pgcjax.asking.text import request_lines

    suffix = Path(output or "").suffix.lower()
    if any(texts.values()) and suffix not in (*TABLE_SUFFIXES, ".html"):
        raise click.UsageError(
            "--topics and --texts need -o FILE with one of these suffixes: "
            f"{' '.join(TABLE_SUFFIXES)} .html"
        )
    tournament = _open(state)
    with ProgressDisplay() as progress:
        table = tournament.requests(at_once, judge, **texts, progress=progress.update)
    if output and suffix == ".html":
        from pgcjax.reporting.judging_page import write_page

        write_page(table, output, judge or "")
        say(f"wrote {len(table)} requests to {output}")
    else:
        _write(table, output, request_lines, "requests")
    if table.empty:
        _say_next(tournament)


@ask.command()
@state_argument
@click.argument("files", nargs=-1, required=True, type=FILE, metavar="FILE...")
@votes_format_option
@click.option("--judge", metavar="NAME", help="Judge of the rows that name none.")
@click.option(
    "--rounds",
    is_flag=True,
    help="Use the pairs in FILE, drawn by another program, as the open rounds.",
)
@encoding_option
@file_memory_option
def add(
    state: str,
    files: tuple[str, ...],
    prefs_format: str,
    judge: str | None,
    rounds: bool,
) -> None:
    """Add answers: preferences, in any layout that --prefs reads elsewhere.

    Answers that nobody asked for are named and set aside. A file may be added again
    when it has grown, or when the call was stopped.
    """
    tournament = _open(state)
    added = tournament.add(files, format=prefs_format, judge=judge, rounds=rounds)
    for where, query, doc, other, why in added.aside[:_SAID].itertuples(index=False):
        pair = doc if other is None else f"{doc} {other}"
        say(f"warning: {where}: set aside: {query} {pair}: {why}", always=True)
    if (more := len(added.aside) - _SAID) > 0:
        say(f"warning: {more} more set aside: ask status --show aside", always=True)
    if added.silent:
        say(f"{counted(added.silent, 'row')} without an answer: they are still open")
    before = f", {added.before} count already" if added.before else ""
    say(f"{counted(added.counted, 'answer')} counted{before}")
    _say_next(tournament)


@ask.command()
@state_argument
@choice_option(
    "--show",
    allowed=("status", "aside", "contradictions"),
    help="State of the rounds; the answers that were set aside, with the reason; or "
    "the answers that a chain of others contradicts.",
)
def status(state: str, show: str) -> None:
    """Show where a tournament stands, and the next command."""
    from pgcjax.asking.state import status_lines

    tournament = _open(state)
    if show == "aside":
        for record in tournament.state.asides:
            names = ("from", "query_id", "doc_id", "other_doc_id", "said", "why")
            print_line("\t".join(str(record[n]) for n in names if n in record))
    elif show == "contradictions":
        for query, judge, better, worse in tournament.state.contradictions():
            print_line("\t".join([query, better, worse, *([judge] if judge else [])]))
    else:
        for line in status_lines(tournament.state, state):
            print_line(line)


@ask.command()
@state_argument
@output_option("Write the new grades", (*_SUFFIXES, ".qrels"))
@output_option(
    "Write the votes, as lines of .clarke or .txt, .luo or .jelsas (which alone has "
    "ties and bad documents), or as a table",
    (*_SUFFIXES, *(f".{form}" for form in VOTE_LINES)),
    "--votes",
)
@choice_option(
    "--grades",
    allowed=LEVELS,
    help="top: the best get wins + highest grade + 100, others keep their grades; "
    "wins: the wins of all rounds.",
)
@click.option(
    "--partial", is_flag=True, help="Finish even if some queries are undecided."
)
def finish(
    state: str, output: str | None, votes: str | None, grades: str, partial: bool
) -> None:
    """Print or write the new grades, and the votes that they rest on."""
    from pgcjax.asking.text import qrels_lines, vote_lines

    finished = _open(state).finish(grades=grades, partial=partial)
    if votes:
        form = Path(votes).suffix.lower()[1:]
        form = form if form in VOTE_LINES else VOTE_LINES[0]
        lines = functools.partial(vote_lines, form=form)
        _write(finished.votes, votes, lines, "votes")
    _write(finished.qrels, output, qrels_lines, "grades")
    if finished.undecided:
        n = counted(len(finished.undecided), "query")
        say(f"warning: undecided: {n}, such as {finished.undecided[0]}", always=True)


@ask.command("judge")
@state_argument
@click.argument("command", metavar="COMMAND")
@click.option("--judge", "name", metavar="NAME", help="Name of the program as a judge.")
@click.option(
    "--time-limit",
    "seconds",
    type=REAL,
    default=60.0,
    metavar="SECONDS",
    help="Seconds without an answer after which the program is started again.",
)
@click.option(
    "--retries",
    type=WHOLE,
    default=2,
    help="Number of times that a request is sent again, or a silent program restarted.",
)
@click.option(
    "--window",
    type=WHOLE,
    default=16,
    metavar="N",
    help="Number of requests that wait for an answer at the same time.",
)
@click.option("--most", type=WHOLE, metavar="N", help="Send at most N requests.")
@click.option(
    "--most-cost",
    type=REAL,
    metavar="X",
    help="Stop sending once the answers have cost X.",
)
@choice_option(
    "--orders",
    allowed=ORDERS,
    help=(
        "Presentation of a pair: in one order, or in both, whose two answers count "
        "as one, and as a tie where they differ."
    ),
)
@text_options
@encoding_option
@file_memory_option
def judge_(state: str, command: str, name: str | None, **limits: Any) -> None:
    """Let a program judge until all is decided; the same call goes on if it stopped.

    COMMAND, such as 'python judge.py', reads requests as JSON lines and writes answers.
    Each answer is kept on disk as it comes.
    """
    tournament = _open(state)
    with ProgressDisplay() as progress:
        done = tournament.judge(command, name=name, progress=progress.update, **limits)
    for why in done.failures[:_SAID]:
        say(f"warning: {command}: {why}", always=True)
    for why in done.aside[:_SAID]:
        say(f"warning: {command}: set aside: {why}", always=True)
    more = f", {done.tokens:,.0f} tokens" if done.tokens else ""
    more += f", {counted(done.cached, 'answer')} known before" if done.cached else ""
    say(
        f"{counted(done.sent, 'request')} sent, {counted(done.counted, 'answer')} "
        f"counted, cost {done.cost:g}{more}"
    )
    if done.given_up:
        raise DataError(
            f"{counted(len(done.given_up), 'request')} got no valid answer",
            where=command,
            mend="The same call asks again.",
        )
    _say_next(tournament)


def _open(state: str) -> "Tournament":
    from pgcjax.asking.tournament import Tournament

    return Tournament(state)


def _say_next(tournament: "Tournament") -> None:
    from pgcjax.asking.state import next_command

    say(f"next: {next_command(tournament.state, str(tournament.folder))}")


def _write(table: "pd.DataFrame", path: str | None, lines: Any, noun: str) -> None:
    """Write a table as its suffix says, or as lines; print lines without a path."""
    from pgcjax.asking.text import joined, write

    if path:
        write(table, path, lines)
        say(f"wrote {len(table)} {noun} to {path}")
    else:
        click.echo(joined(lines(table)), nl=False)
