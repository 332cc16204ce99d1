"""The verbs that ask judges in a tournament, and simulate what asking costs."""

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pgcjax.asking.choices import (
    DESIGNS,
    INFER,
    LEVELS,
    OVER,
    SIDES,
    VOTE_LINES,
)
from pgcjax.cli import options as opt
from pgcjax.cli.commands import cli
from pgcjax.cli.formats import format_of, format_option, print_findings, print_line
from pgcjax.cli.verbs import Verbs
from pgcjax.errors import DataError, counted
from pgcjax.io.choices import FIGURE_KINDS, ORDERS, TABLE_SUFFIXES
from pgcjax.reporting.progress import ProgressDisplay, say

if TYPE_CHECKING:
    import pandas as pd

    from pgcjax.asking.tournament import Tournament

_SUFFIXES = (".txt", *TABLE_SUFFIXES)
_SAID = 10  # most answers set aside that are listed individually

state_argument = click.argument("state", type=opt.FILE, metavar="STATE")


@cli.group(cls=Verbs)
def ask() -> None:
    """Ask judges which documents are best, in a tournament of few pairs.

    STATE is the folder of a tournament. `ask status` says what to do next.
    """


@ask.command()
@click.argument("qrels", nargs=-1, required=True, type=opt.FILE, metavar="QRELS...")
@opt.output_option("New folder for the tournament.", (), required=True, metavar="DIR")
@click.option(
    "--k", type=opt.WHOLE, default=5, help="Number of best documents to find."
)
@opt.numbers_option(
    "--pairings",
    metavar="P[,F]",
    help="Comparisons of each document in an elimination round, by default 7, or the "
    "first odd number above k; and the largest number of documents in the last round, "
    "which compares all pairs, by default P + 2.",
)
@click.option(
    "--judges",
    type=opt.WHOLE,
    default=1,
    help="Number of judges of each pair; the answer of the majority counts.",
)
@opt.choice_option(
    "--sides",
    allowed=SIDES,
    help="Presentation of a pair: in one random order, which suffices to rank runs; "
    "or in both orders to each judge, at twice the calls.",
)
@opt.choice_option(
    "--infer",
    allowed=INFER,
    help="Skip pairs whose answer follows from the answers of the majority, or of "
    "each judge.",
)
@click.option(
    "--bad", is_flag=True, help="Let every document beat one that is called bad."
)
@opt.seed_option
@opt.encoding_option
@opt.file_memory_option
def start(
    qrels: tuple[str, ...], output: str, pairings: list[Any], **settings: Any
) -> None:
    """Start a tournament for the top k documents of each query."""
    from pgcjax.asking.tournament import Tournament

    settings |= dict(zip(("pairings", "final"), pairings, strict=False))
    _say_next(Tournament.start(output, qrels, **settings))


@ask.command()
@state_argument
@opt.output_option("Write the requests", _SUFFIXES)
@click.option(
    "--at-once",
    type=opt.WHOLE,
    metavar="N",
    help="Return at most N pairs of a query; with --infer, a small N saves answers.",
)
@click.option(
    "--judge", metavar="NAME", help="Only pairs that this judge has not answered."
)
@opt.text_options
@opt.encoding_option
@opt.file_memory_option
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
    if any(texts.values()) and suffix not in TABLE_SUFFIXES:
        raise click.UsageError(
            "--topics and --texts need -o FILE with one of these suffixes: "
            f"{' '.join(TABLE_SUFFIXES)}"
        )
    tournament = _open(state)
    with ProgressDisplay() as progress:
        table = tournament.requests(at_once, judge, **texts, progress=progress.update)
    _write(table, output, request_lines, "requests")
    if table.empty:
        _say_next(tournament)


@ask.command()
@state_argument
@click.argument("files", nargs=-1, required=True, type=opt.FILE, metavar="FILE...")
@opt.votes_format_option
@click.option("--judge", metavar="NAME", help="Judge of the rows that name none.")
@click.option(
    "--rounds",
    is_flag=True,
    help="Use the pairs in FILE, drawn by another program, as the open rounds.",
)
@opt.encoding_option
@opt.file_memory_option
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
@opt.choice_option(
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
@opt.output_option("Write the new grades", (*_SUFFIXES, ".qrels"))
@opt.output_option(
    "Write the votes, as lines of .clarke or .txt, .luo or .jelsas (which alone has "
    "ties and bad documents), or as a table",
    (*_SUFFIXES, *(f".{form}" for form in VOTE_LINES)),
    "--votes",
)
@opt.choice_option(
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
    type=opt.REAL,
    default=60.0,
    metavar="SECONDS",
    help="Seconds without an answer after which the program is started again.",
)
@click.option(
    "--retries",
    type=opt.WHOLE,
    default=2,
    help="Number of times that a request is sent again, or a silent program restarted.",
)
@click.option(
    "--window",
    type=opt.WHOLE,
    default=16,
    metavar="N",
    help="Number of requests that wait for an answer at the same time.",
)
@click.option("--most", type=opt.WHOLE, metavar="N", help="Send at most N requests.")
@click.option(
    "--most-cost",
    type=opt.REAL,
    metavar="X",
    help="Stop sending once the answers have cost X.",
)
@opt.text_options
@opt.encoding_option
@opt.file_memory_option
def judge_(state: str, command: str, name: str | None, **limits: Any) -> None:
    """Let a program judge until all is decided; the same call goes on if it stopped.

    COMMAND, such as 'python judge.py', reads requests as JSON lines and writes answers.
    Each answer is stored on disk at once.
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
    """Write a table in the format of its suffix, or print lines without a path."""
    from pgcjax.asking.text import joined, write

    if path:
        write(table, path, lines)
        say(f"wrote {len(table)} {noun} to {path}")
    else:
        click.echo(joined(lines(table)), nl=False)


_FIGURES = tuple(f".{kind}" for kind in FIGURE_KINDS)
_ERRORS = ("error", "ties", "bias")


def _errors(
    context: click.Context, option: click.Parameter, text: str | None
) -> dict[str, float]:
    """Read shares of the answers by name."""
    shares = {}
    pairs = text.split(",") if text else ()
    for name, value in opt.split_pairs(pairs, "--errors", "NAME=SHARE,…"):
        if name not in _ERRORS:
            raise click.UsageError(f"--errors {text}: expected {', '.join(_ERRORS)}")
        shares[name] = opt.REAL.convert(value, option, context)
    return shares


def _count(name: str, default: int, help: str) -> Any:
    return click.option(name, type=opt.WHOLE, default=default, metavar="N", help=help)


_made_up = opt.together(
    _count("--queries", 20, "Made-up queries."),
    _count("--systems", 2, "Made-up runs, each with more noise than the one before."),
    click.option(
        "--bad",
        type=opt.REAL,
        default=0.2,
        metavar="SHARE",
        help="Share of made-up documents that are bad.",
    ),
)


@ask.command()
@click.argument("runs", nargs=-1, type=opt.FILE, metavar="[RUN...]")
@opt.files_option("--votes", help="Replay these preferences; repeat for several files.")
@opt.prefs_format_option
@opt.files_option(
    "--qrels", help="Grades that the simulated judge of the runs follows."
)
@opt.run_options
@click.option(
    "--documents",
    type=opt.WHOLE,
    multiple=True,
    metavar="N",
    help="Number of documents of a query; repeat for several. By default 5, 10, 15 "
    "and 20.",
)
@click.option(
    "--design",
    "designs",
    type=click.Choice(DESIGNS),
    multiple=True,
    metavar="NAME",
    help="Only this one; repeat for several: " + "; ".join(DESIGNS) + ".",
)
@click.option(
    "-m",
    "--measure",
    default="ppref",
    metavar="MEASURE",
    help="Measure that separates runs: ppref, rpref, fpref or wpref.",
)
@click.option("--k", type=opt.WHOLE, default=5, help="Number of documents at the top.")
@opt.choice_option(
    "--over",
    allowed=OVER,
    help="Separate runs on each query, or by their mean over all queries.",
)
@_made_up
@click.option(
    "--errors",
    metavar="NAME=SHARE,…",
    callback=_errors,
    help="Shares of the judge's answers: error names the worse document, ties are "
    "ties, bias names the first document, as error=0.1,ties=0.2; by default 0.",
)
@opt.seed_option
@opt.choice_option("--order", allowed=ORDERS, help="Order of documents in a run.")
@format_option
@opt.output_option(
    "Write the table at full precision, or draw judgments by number of documents; "
    "repeat for both",
    (*TABLE_SUFFIXES, *_FIGURES),
    multiple=True,
)
def simulate(
    runs: tuple[str, ...],
    votes: tuple[str, ...],
    prefs_format: str,
    qrels: tuple[str, ...],
    reading: dict[str, str],
    documents: tuple[int, ...],
    designs: tuple[str, ...],
    form: str | None,
    output: tuple[str, ...],
    errors: dict[str, Any],
    **options: Any,
) -> None:
    """Simulate costs and results of designs of asking, by a judge who knows the truth.

    Queries are made up; or RUNs are given, with the grades of --qrels as the truth, or
    with --votes to replay. Prints how many answers a query takes, how accurate the best
    documents are, and how often the better run is found.
    """
    from pgcjax.asking.simulate import SIZES, simulate_asking

    data: dict[str, Any] = {"runs": opt.opened(runs, reading) if runs else None}
    data |= {"votes": None, "qrels": qrels or None}
    with ProgressDisplay() as progress:
        if votes:
            from pgcjax.io.votes.read import read_preferences

            data["votes"] = read_preferences(votes, format=prefs_format)
        result = simulate_asking(
            **data,
            **options,
            **errors,
            documents=documents or SIZES,
            designs=designs or DESIGNS,
            progress=progress.update,
        )
    for path in output:
        if path.lower().endswith(_FIGURES):
            from pgcjax.reporting import canvas, plots

            shown = "documents", "judgments", "design"
            canvas.save(plots.lines(result.table, *shown), path)
            say(f"wrote {path}")
        else:
            opt.write_table(result.table, path, result.metadata)
    print_findings(result.table, format_of(form), result.metadata)
