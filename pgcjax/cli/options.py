"""Options that several verbs share, and functions that read and write their files."""

import os
import re
from collections.abc import (
    Callable,
    Container,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from functools import wraps
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from pgcjax.cli.targets import ALONE, Target, is_folder
from pgcjax.cli.verbs import SharedOption
from pgcjax.io.choices import FLIPS, NAME_BY, ORDERS, TABLE_SUFFIXES
from pgcjax.io.judgments import KINDS
from pgcjax.io.reading import reading
from pgcjax.reporting.progress import say
from pgcjax.stats.choices import COEFFICIENTS

if TYPE_CHECKING:
    import pandas as pd

    from pgcjax.io.runs import Runs

FILE = click.Path(path_type=str)
_BY_HAND = (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT)
_SHEETS = (".csv", ".tsv")


class _Plain(click.ParamType):
    """A number in plain digits: 1_0, and digits of other scripts, are refused."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if isinstance(value, str) and not (value.isascii() and "_" not in value):
            self.fail(f"{value!r} is not a valid {self.name}.", param, ctx)
        return super().convert(value, param, ctx)


class _Whole(_Plain, click.types.IntParamType):
    """A whole number of at most 64 bits, the limit of the libraries."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        number = super().convert(value, param, ctx)
        if abs(number) >= 2**63:
            self.fail(f"{str(value)[:20]} … is not a valid integer.", param, ctx)
        return number


class _Real(_Plain, click.types.FloatParamType):
    """A number."""


class _Share(_Plain, click.FloatRange):
    """A number of a range."""


WHOLE, REAL, SHARE = _Whole(), _Real(), _Share(0, 1)
seed_option = click.option("--seed", type=WHOLE, default=0)
resamples_option = click.option("--resamples", type=WHOLE, default=1000, metavar="N")
Decorator = Callable[[Callable], Callable]


def alpha_option(help: str | None = None) -> Decorator:
    """Add the level of a test, or of intervals."""
    return click.option("--alpha", type=REAL, default=0.05, help=help)


def converted(kind: click.ParamType, text: str, option: str) -> Any:
    """Read a part of an option's value; error messages name the option."""
    try:
        return kind.convert(text, None, None)
    except click.BadParameter as error:
        raise click.UsageError(f"{option}: {error.message}") from None


def given_options() -> dict[str, str]:
    """Return the verb's own options that the user gave, with their spelling."""
    context = click.get_current_context()
    params = {param.name or "": param.opts[0] for param in context.command.params}
    return {name: text for name, text in params.items() if _is_given(context, name)}


def refuse_options(names: Container[str], reason: str) -> None:
    """Refuse options that are incompatible with others.

    Raises:
        click.UsageError: one of these parameters was given; the message ends with the
            reason.
    """
    for name, option in given_options().items():
        if name in names:
            raise click.UsageError(f"{option} {reason}")


def _is_given(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) in _BY_HAND


def together(*decorators: Decorator) -> Decorator:
    """Combine decorators, the first outermost."""

    def decorated(command: Callable) -> Callable:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorated


def choice_option(
    *names: str, allowed: Sequence[str], help: str, default: str = "", **more: Any
) -> Decorator:
    """Add an option with one of a few values, by default the first."""
    return click.option(
        *names,
        type=click.Choice(allowed),
        default=default or allowed[0],
        help=help,
        **more,
    )


_ORDER = (
    "Order of a run: by score, ties broken by doc id descending (trec) or ascending "
    "(clarke); or by the rank column."
)
_FLOAT32 = "-float32"
order_option = choice_option("--order", allowed=ORDERS, help=_ORDER)


def rounded_order_option(
    help: str = f"{_ORDER} {_FLOAT32}: by scores that are rounded to float32, which "
    "makes ties, as trec_eval up to version 9.",
) -> Decorator:
    """Add --order, which may round scores; the command gets `order` and `float32`."""
    allowed = (*ORDERS, f"trec{_FLOAT32}", f"clarke{_FLOAT32}")

    def decorated(command: Callable) -> Callable:
        @wraps(command)
        def parted(*args: Any, order: str, **options: Any) -> Any:
            rounds = {"float32": order.endswith(_FLOAT32)}
            order = order.removesuffix(_FLOAT32)
            return command(*args, order=order, **rounds, **options)

        return choice_option("--order", allowed=allowed, help=help)(parted)

    return decorated


def numbers_option(*names: str, metavar: str, help: str) -> Decorator:
    """Add an option of one or two whole numbers, such as 7, 7,9 or ,9.

    The command gets a list of them, with None for one that is left out.
    """

    def parted(context: click.Context, option: click.Parameter, text: Any) -> Any:
        numbers = (text or "").split(",")
        if len(numbers) > 2:
            raise click.UsageError(f"{option.opts[0]} {text}: expected {metavar}")
        return [WHOLE.convert(n, option, context) if n else None for n in numbers]

    return click.option(*names, metavar=metavar, callback=parted, help=help)


def files_option(*names: str, help: str, **more: Any) -> Decorator:
    """Add an option that names files, and may be repeated."""
    many = {"multiple": True, "type": FILE, "metavar": "FILE", **more}
    return click.option(*names, help=help, **many)


def output_option(
    help: str,
    suffixes: Sequence[str] = TABLE_SUFFIXES,
    *names: str,
    target: Target = ALONE,
    folders: bool = False,
    **more: Any,
) -> Decorator:
    """Add -o FILE, refused before any work where the file could not be written.

    Args:
        help: Help of the option; the suffixes are added.
        suffixes: Suffixes of files that can be written; empty for a folder.
        names: Names of the option, if not `-o` and `--output`.
        target: Type of the option, which knows the files written beside it.
        folders: Whether a folder may be named, by a slash at its end.
        more: As in `click.option`.
    """

    def check(context: click.Context, option: click.Parameter, given: Any) -> Any:
        for path in (given,) if isinstance(given, str) else given or ():
            if path == "":
                raise click.UsageError(f"{option.opts[0]}: expected a path, found ''")
            form = context.params.get("score_format")
            _check_output(path, suffixes, folders, form)
        return given

    help = f"{help}: {' '.join(suffixes)}" if suffixes else help
    help += ", or DIR/ for a folder of parts." if folders else "." * bool(suffixes)
    settings = {"type": target, "metavar": "FILE", "callback": check, **more}
    return click.option(*(names or ("-o", "--output")), help=help, **settings)


def _check_output(
    path: str, suffixes: Sequence[str], folders: bool, score_format: str | None
) -> None:
    """Refuse a path that could not be written; arguments as in `output_option`."""
    from pgcjax.io.remote import path_of
    from pgcjax.io.write import check_folder, check_target

    if folders and is_folder(path):
        if score_format:
            raise click.UsageError("--score-format works with files, not with folders")
        check_folder(path)
    elif folders and os.path.isdir(path):
        more = f", or {path}/ for a folder of parts"
        raise click.UsageError(f"{path}: is a folder; name a file{more}")
    elif score_format:
        from pgcjax.io.scores.text import check_suffix

        check_suffix(path_of(path), score_format)
        check_target(path, None)
    elif suffixes:
        check_target(path, tuple(suffixes))
    else:
        check_folder(path)


def measure_option(help: str, *names: str) -> Decorator:
    """Add -m MEASURE, which may be repeated, or take several with commas.

    The command gets a list or None as `measures`, or as another given name.
    """
    settings = {"multiple": True, "metavar": "MEASURE,…", "callback": _several}
    names = names or ("-m", "--measure", "measures")
    return click.option(*names, help=help, **settings)


def one_measure_option(help: str, default: str | None = None) -> Decorator:
    """Add -m MEASURE for a verb that takes one; the command gets it as `measure`."""

    def one(context: click.Context, option: click.Parameter, given: Any) -> str | None:
        measures = _several(context, option, given) or [default]
        if len(measures) > 1:
            verb = context.command.name
            raise click.UsageError(f"{verb} takes one measure, not {len(measures)}")
        return measures[0]

    settings = {"multiple": True, "metavar": "MEASURE", "callback": one}
    return click.option("-m", "--measure", help=help, **settings)


def _several(
    context: click.Context, option: click.Parameter, given: tuple[str, ...]
) -> list[str] | None:
    return [measure for text in given for measure in _parted(text)] or None


def _parted(text: str) -> list[str]:
    """Split `PGC(p=0.8,depth=5),AP` at commas outside parentheses."""
    parts = [part.strip() for part in re.split(r",(?![^(]*\))", text)]
    if not all(parts) and len(parts) > 1:
        raise click.UsageError(f"-m {text}: expected a measure beside every comma")
    return parts if len(parts) > 1 else [text]


runs_argument = click.argument(
    "runs", nargs=-1, required=True, type=FILE, metavar="RUN..."
)
coefficient_option = click.option(
    "--coefficient",
    "coefficients",
    multiple=True,
    default=("tau", "tau_ap_b"),
    show_default=False,
    metavar="NAME",
    help=", ".join(COEFFICIENTS) + "; NAME@K of the K best runs. Repeat for several; "
    "by default tau (of Kendall, b) and tau_ap_b.",
)
per_query_option = click.option(
    "-q", "--per-query", is_flag=True, help="Also print each query's value."
)


def verify_option(noun: str) -> Decorator:
    """Add the share of results that reference code computes again."""
    return click.option(
        "--verify",
        type=SHARE,
        default=0.0,
        show_default=False,
        metavar="SHARE",
        help=f"Recompute this share of the {noun} with the plain reference code.",
    )


def reading_option(name: str, argument: str = "", **settings: Any) -> Decorator:
    """Add an option for the way a verb reads its files.

    It sets the `argument` of `reading`, by default that of the same name.
    """
    settings = {"cls": SharedOption, **settings}

    def choose(context: click.Context, option: click.Parameter, value: Any) -> Any:
        if value is not None:
            context.with_resource(reading(**{argument or name: value}))
        return value

    return click.option(f"--{name}", callback=choose, **settings)


_memory: dict[str, Any] = {
    "metavar": "SIZE",
    "help": (
        "Memory for the work, and for each file, such as 500MB; by default a quarter "
        "of the machine's."
    ),
}
memory_option = reading_option("memory", **_memory)
file_memory_option = reading_option("memory", expose_value=False, **_memory)
encoding_option = reading_option(
    "encoding",
    metavar="NAME",
    expose_value=False,
    help="Encoding of text files, such as latin-1; by default UTF-8.",
)
_texts = {"cls": SharedOption, "callback": lambda context, option, given: given or None}
text_options = together(
    files_option(
        "--topics",
        help="Texts of queries: TREC topics, id<TAB>query, JSON lines, or irds:NAME.",
        **_texts,
    ),
    files_option(
        "--texts",
        help="Texts of documents: id<TAB>text, JSON lines, a folder of DOCID.txt, or "
        "irds:NAME.",
        **_texts,
    ),
)
resume_option = click.option(
    "--resume",
    is_flag=True,
    help="Continue from the work that the same call, when stopped, left in "
    "FILE.partial.",
)

_votes = {"expose_value": False, "default": None}
_UNREAD = "Largest share of unreadable answers, which count as no answer (.05)."
votes_format_option = together(
    click.option(
        "--prefs-format",
        cls=SharedOption,
        default="auto",
        show_default=False,
        metavar="NAME",
        help="clarke, luo, jelsas, trec-prefs, trec-qrels-prefs, csv, tsv, jsonl, "
        "parquet, xie (votes on images); by default found from the content.",
    ),
    reading_option(
        "columns",
        metavar="ROLE=COLUMN,…",
        help="Roles of columns in tables of votes, where they are ambiguous: "
        "winner=label,query_id=-.",
        **_votes,
    ),
    reading_option(
        "answers",
        metavar="SIDE=WORD,…",
        help="Meanings of words in tables of votes: a=0,b=1,tie=2|3,none=*.",
        **_votes,
    ),
    reading_option("unread", type=SHARE, metavar="SHARE", help=_UNREAD, **_votes),
    reading_option(
        "reader",
        metavar="NAME",
        help="Reader of files of another tool, such as inspect or alpaca-eval; by "
        "default detected.",
        **_votes,
    ),
    reading_option(
        "aspect",
        "aspects",
        multiple=True,
        metavar="NAME",
        help="Only preferences in this aspect; repeat for several.",
        expose_value=False,
    ),
)
prefs_format_option = together(
    votes_format_option,
    reading_option(
        "flips",
        type=click.Choice(FLIPS),
        help="Treatment of a judge's contradicting votes on a pair shown in both "
        "orders: all count (keep, the default), a tie, left out (drop), or half a vote "
        "in each order.",
        **_votes,
    ),
)
_OF_PREFERENCES = ("columns", "answers", "unread", "aspect", "flips")

_run_options = together(
    click.option(
        "--run-format",
        cls=SharedOption,
        default="auto",
        show_default=False,
        metavar="NAME",
        help="columns (TREC), csv, tsv, jsonl or parquet; by default detected. "
        "evaluate and uncertainty take grids: tables of query_id, run_id, doc_id, row, "
        "column, or Image_position.json of Xie et al.",
    ),
    choice_option(
        "--name-by",
        allowed=NAME_BY,
        cls=SharedOption,
        help="Name of a run: its tag column; its file without the suffix; or the "
        "file's name with it, as leaderboards have names.",
    ),
    encoding_option,
)


def run_options(command: Callable) -> Callable:
    """Add options of run files; the command gets them as `reading`, for `opened`."""

    @wraps(command)
    def gathered(*args: Any, run_format: str, name_by: str, **options: Any) -> Any:
        reading = {"format": run_format, "name_by": name_by}
        return command(*args, reading=reading, **options)

    return _run_options(gathered)


def opened(runs: Any, reading: Mapping[str, Any]) -> "Runs":
    """Open files of runs by `run_options`; they are read when they are needed."""
    from pgcjax.io.runs import Options, open_runs

    return open_runs(runs, Options(**reading))


def spreadsheet_option(command: Callable) -> Callable:
    """Add --spreadsheet, to a verb that writes tables with names of runs."""

    @wraps(command)
    def checked(*args: Any, spreadsheet: bool, **options: Any) -> Any:
        paths = options.get("output"), options.get("runs_output")
        tables = [path for path in paths if path and path.lower().endswith(_SHEETS)]
        if spreadsheet and not tables:
            raise click.UsageError("--spreadsheet needs -o FILE.csv or FILE.tsv")
        return command(*args, spreadsheet=spreadsheet, **options)

    return click.option(
        "--spreadsheet",
        cls=SharedOption,
        is_flag=True,
        help="In .csv and .tsv, put ' before names that begin with = + - or @, which a "
        "spreadsheet would compute.",
    )(checked)


MEANINGS = {name: kind.meaning for name, kind in KINDS.items() if name != "intents"}
MEANINGS["intent_qrels"] += f" {KINDS['intents'].meaning}"
PGC_JUDGMENTS = {
    "preferences": "Preferences; repeat for several.",
    "qrels": "Grades, for PGC(graph=combined).",
}
"""Judgments of verbs that take PGC only, for `judgment_options`."""


def judgment_options(
    meanings: Mapping[str, str] = MEANINGS, *, required: bool = False
) -> Decorator:
    """Add options of judgments, and --prefs-format.

    The command gets `judgments`, the argument of `read_judgments`.

    Args:
        meanings: Help of the option of each kind of judgments.
        required: Whether preferences are required.
    """
    of_kinds = (
        files_option(
            KINDS[name].option,
            name,
            help=meaning,
            required=required and name == "preferences",
        )
        for name, meaning in meanings.items()
    )
    add = together(*of_kinds, prefs_format_option)

    def decorated(command: Callable) -> Callable:
        @wraps(command)
        def gathered(*args: Any, prefs_format: str, **options: Any) -> Any:
            given = {name: options.pop(name) for name in meanings}
            judgments = {name: paths for name, paths in given.items() if paths}
            if "preferences" in judgments:
                judgments["preferences"] = judgments["preferences"], prefs_format
            else:
                context = click.get_current_context()
                for name in ("prefs_format", *_OF_PREFERENCES):
                    if _is_given(context, name):
                        option = name.replace("_", "-")
                        raise click.UsageError(f"--{option} needs --prefs FILE")
            return command(*args, judgments=judgments, **options)

        return add(gathered)

    return decorated


def split_pairs(
    texts: Iterable[str], option: str, expected: str
) -> Iterator[tuple[str, str]]:
    """Split each `name=value` of a repeated option."""
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise click.UsageError(f"{option} {text}: expected {expected}")
        yield name, value


def given_judgments(judgments: dict[str, Any]) -> dict[str, Any]:
    """Return judgments as arguments of `evaluate`, which reads all but preferences."""
    given = {**judgments}
    if "intent_qrels" in judgments:
        from pgcjax.io.intents import part_intents

        del given["intent_qrels"]
        given |= part_intents(judgments["intent_qrels"])
    if "preferences" in judgments:
        from pgcjax.io.votes.read import read_preferences_as_they_come as read

        paths, form = judgments["preferences"]
        given["preferences"] = read(paths, format=form)
    return given


def read_judgments(judgments: dict[str, Any]) -> dict[str, Any]:
    """Read judgments as keyword arguments of `evaluate`."""
    from pgcjax.io import judgments as tables

    return tables.read_judgments(given_judgments(judgments))


def write_table(
    table: "pd.DataFrame",
    path: str | None,
    metadata: dict[str, Any],
    noun: str = "rows",
    **form: Any,
) -> None:
    """Write a table of findings and its settings, if a file is named."""
    if path:
        from pgcjax.io import write

        write.write_table(table, path, metadata, **form)
        say(f"wrote {len(table)} {noun} to {path}")
