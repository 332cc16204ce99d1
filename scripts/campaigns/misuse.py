"""Wrong options on the command line, and wrong arguments and tables in Python.

Each is refused in one line, with exit status 2 or a `PgcjaxError`, and changes no file.
An argument that is not even of the right type may be a TypeError of Python's.
"""

import math
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

import pgcjax
from pgcjax.cli.commands import cli
from pgcjax.errors import PgcjaxError
from scripts.campaigns.campaign import Campaign, pick
from scripts.campaigns.child import Done, changed, command, forked, snapshot
from scripts.campaigns.verbs import VERBS, workplace

_INTS = ("x", "1.5", "1e3", "-1", "１２", "٣", "", "9" * 30, "0x10", "nan")
_FLOATS = ("x", "nan", "1,5", "", "１", "--")
_INPUTS = (
    "none.txt",
    "empty",
    "x" * 5000,
    "/dev/null",
    "*.none",
    "",
    "loop",
    "dir.csv",
)
_OUTPUTS = (
    *("", "none/out.csv", "out.doc", "out", "dir.csv", "x" * 300 + ".csv"),
    *("/dev/null/out.csv", "/proc/out.csv", "loop.csv/out.csv", "."),
)
_NEW_FOLDERS = (
    *("", "none/new", "dir.csv", "x" * 300, "/dev/null/new", "/proc/new", "loop/new"),
)
_TEXTS = {
    "--measure": (
        *("PCG", "PGC(", "PGC(p=)", "PGC(p=nan)", "PGC(p=1e999)", "PGC(p=１)", "@"),
        *("PGC(depth=1.5)", "nDCG@0", "nDCG@-1", "nDCG@１０", "", "PGC(p=.5,p=.6)"),
        *("nDCG@" + "9" * 5000, "PGC(p=" + "9" * 5000 + ")", "\x1b[31m", "PGC\nCompat"),
    ),
    "--part": ("0/2", "3/2", "1/0", "x", "1/2/3", "１/２", "-1/2", "1/99999999999", ""),
    "--memory": ("lots", "-1GB", "1XB", "", "1e3GB", "１GB", "0", "nan", "9" * 400),
    "--distributed": (
        "5",
        "0/2@h:1",
        "3/2@h:1",
        "1/2@h:99999999",
        "1/2@h",
        "１/２@h:1",
    ),
    "--prefs-format": ("trec", "", "CSV "),
    "--run-format": ("trec", "", "luo"),
    "--column": ("x", "=", "value=", "=x", "nothing=here"),
    "--baseline": ("nobody", ""),
    "--judge": ("nobody", ""),
    "--gold": ("nobody", "", "PCG"),
    "--threshold": ("x", "-1%", "200%", "nan", "", "１%"),
}
_ABOVE_0 = ("--alpha", "-C", "--precision")


def attack(rng: np.random.Generator, folder: Path, kinds: Counter) -> str | None:
    """Use a verb or a function in a wrong way."""
    place = workplace(folder)
    (place / "empty").mkdir()
    (place / "dir.csv").mkdir()
    (place / "loop").symlink_to("loop")
    before = snapshot(place)
    if rng.random() < 0.5:
        kinds["options"] += 1
        args = _wrong_line(rng)
        words = " ".join(arg if len(arg) < 60 else f"{arg[:40]}…" for arg in args)
        about, done = f"pgcjax {words!r}", command(args, place)
    else:
        kinds["arguments and tables"] += 1
        about, call = pick(rng, wrong_calls())
        allowed = (PgcjaxError, TypeError) if "(" in about else PgcjaxError
        done = called(call, place, allowed)
    problem = done.refused() or changed(before, snapshot(place))
    if not problem and done.out:
        problem = f"prints {done.out[:80]!r} all the same"
    return problem and f"{problem} ({about})"


def called(call, place: Path, allowed: Any = PgcjaxError) -> Done:
    """Call a function in a child that ends as the command line does."""

    def work() -> None:
        try:
            call()
        except allowed as error:
            click.echo(f"pgcjax: error: {error}", err=True)
            raise SystemExit(2) from None

    return forked(work, place, seconds=60)


def _verb(line: list[str]) -> click.Command:
    """Find the verb of a line, which may be one of a group."""
    command: click.Command = cli
    for word in line:
        if isinstance(command, click.Group):
            command = command.get_command(click.Context(command), word) or command
    return command


def _wrong_line(rng: np.random.Generator) -> list[str]:
    """Make a line of a verb wrong in one place."""
    line = VERBS[pick(rng, [*VERBS])].line()
    kind = int(rng.integers(10))
    if kind == 0:
        return [*line, pick(rng, ("--nope", "--ordre=trec", "-z", "--output"))]
    if kind == 1:
        return [pick(rng, ("evalute", "", "EVALUATE", "--prefs")), *line[1:]]
    while True:
        verb = _verb(line)
        option = pick(rng, verb.get_params(click.Context(verb)))
        values = _wrong_values(option)
        if "simulate" in line[:2] and option.opts[-1] == "--output":
            values = _NEW_FOLDERS
        if values:
            break
    value = str(pick(rng, values))
    if isinstance(option, click.Argument):
        return [*line, value]
    if not option.multiple and option.opts[-1] == "--output":
        line = line[: line.index("-o")]
    return [*line, f"{option.opts[-1]}={value}"]


def _wrong_values(option: click.Parameter) -> tuple[str, ...]:
    name = option.opts[-1]
    if isinstance(option, click.Option) and option.is_flag:
        return ("yes",)
    if isinstance(option.type, click.Choice):
        return ("best", "", "TREC", "Tukey ", "\x1b[31m")
    if name in ("--output", "--runs-output"):
        return _OUTPUTS
    if isinstance(option.type, click.Path):
        return _INPUTS
    if option.type.name == "integer":
        # A seed may be as large as one likes.
        return tuple(x for x in _INTS if name != "--seed" or len(x) < 30)
    if option.type.name.startswith("float"):
        return _FLOATS + ("-1", "0", "inf") * (name in _ABOVE_0)
    return _TEXTS.get(name, ())


def _tables() -> dict[str, pd.DataFrame]:
    runs = pd.DataFrame(
        [("r", "q", "a", 2.0), ("r", "q", "b", 1.0), ("s", "q", "b", 2.0)],
        columns=["run_id", "query_id", "doc_id", "score"],
    )
    judged = [("q", "a", 1.0), ("q", "b", 0.0)]
    scores = [(r, q, "m", float(i)) for i, r in enumerate("rst") for q in "xyz"]
    return {
        "runs": runs,
        "qrels": pd.DataFrame(judged, columns=["query_id", "doc_id", "relevance"]),
        "preferences": pd.DataFrame(
            [("q", "a", "b", 1.0)],
            columns=["query_id", "doc_id", "other_doc_id", "preference"],
        ),
        "scores": pd.DataFrame(
            scores, columns=["run_id", "query_id", "measure", "value"]
        ),
    }


_IDS = (
    math.nan,
    1.5,
    True,
    "",
    " a",
    "a\tb",
    "a\nb",
    b"a",
    ("a",),
    ["a"],
    {"a": 1},
    1j,
)
_NUMBERS = (
    *(math.nan, math.inf, "high", "１２", True, [1.0], {"a": 1}, 1j, 10**400, ""),
    *(pd.NaT, pd.Timestamp("2020"), "1_0", "0x10", object()),
)


def _wrong_tables(name: str) -> list[tuple[str, pd.DataFrame]]:
    """Give a table with one thing wrong in it, and what that is."""
    table = _tables()[name]
    *ids, number = table.columns
    if name == "qrels":
        ids = ids[:2]
    wrong = [
        ("no rows", table.iloc[:0]),
        ("a column twice", pd.concat([table, table[[ids[-1]]]], axis=1)),
        ("columns of two levels", pd.concat({"x": table}, axis=1)),
        ("columns of numbers", table.set_axis([*range(len(table.columns))], axis=1)),
    ]
    for column in (ids[-1], number):
        wrong.append((f"no {column}", table.drop(columns=column)))
        for cell in _IDS if column in ids else _NUMBERS:
            cells: list[Any] = table[column].tolist()
            cells[0] = cell
            series = pd.Series(cells, dtype=object)
            wrong.append(
                (f"{cell!r:.40} as {column}", table.assign(**{column: series}))
            )
    return wrong


_MEMORIES = -1, "lots", [], math.nan, "１GB", 10**3


def wrong_calls() -> list[tuple[str, Any]]:
    """List wrong calls, with what to call them."""
    good = _tables()
    runs, qrels, preferences = good["runs"], good["qrels"], good["preferences"]
    scores = good["scores"]
    evaluate = partial(pgcjax.evaluate, runs, qrels=qrels, preferences=preferences)
    calls: list[tuple[str, Any]] = []
    for what, table in _wrong_tables("runs"):
        calls.append((f"runs, {what}", partial(pgcjax.evaluate, table, qrels=qrels)))
        calls.append((f"rbo, {what}", partial(pgcjax.rankings.rbo, table)))
    for name in ("qrels", "preferences"):
        for what, table in _wrong_tables(name):
            given = partial(pgcjax.evaluate, runs, **{name: table})
            calls.append((f"{name}, {what}", given))
    for what, table in _wrong_tables("scores"):
        if what != "no measure":
            calls.append((f"compare, {what}", partial(pgcjax.compare, table)))
    for what, call, values in (
        ("measures", evaluate, ("PCG", 5, [], [5], "", ["PGC", None], {"PGC": 1})),
        ("order", evaluate, ("best", None, 5, ["trec"])),
        ("missing", evaluate, ("drop", None, 5)),
        ("verify", evaluate, (2, "x", math.nan, -0.1, None)),
        ("job", evaluate, (5, "x", *map(pgcjax.Job, _MEMORIES))),
        ("p", partial(pgcjax.rankings.rbo, runs), (0, 1, math.nan, "x", None, 2, True)),
        ("depth", partial(pgcjax.rankings.rbo, runs), (0, -1, 1.5, "x", "１")),
        ("variant", partial(pgcjax.rankings.rbo, runs), ("best", None, 5)),
        ("ties", partial(pgcjax.rankings.rbo, runs), ("c", None, 5)),
        ("test", partial(pgcjax.compare, scores), ("x", None, 5)),
        ("alpha", partial(pgcjax.compare, scores), (0, 1, math.nan, "x", None)),
        ("resamples", partial(pgcjax.compare, scores), (-1, 0, 1.5, "x")),
        ("seed", partial(pgcjax.compare, scores), (-1, 1.5, "x", None)),
        ("baselines", partial(pgcjax.compare, scores), ("nobody", 5, [5])),
        ("precision", partial(pgcjax.compare, scores), (-1, 0, "x", math.nan)),
        ("correction", partial(pgcjax.compare, scores, test="t"), ("x", 5)),
        ("coefficients", partial(pgcjax.correlate, scores), (["x"], 5, [])),
        ("test", partial(pgcjax.meta.discriminate, scores), ("x", 5, [])),
        ("measures", partial(pgcjax.meta.discriminate, scores), (["x"], 5, [])),
        (
            "grouping",
            partial(pgcjax.judgments.judge_agreement, preferences),
            ("x", 5),
        ),
        ("of", partial(pgcjax.judgments.transitivity, preferences), ("x", 5, None)),
        ("format", partial(pgcjax.files.read_runs, runs), ("x", None, 5)),
        ("name_by", partial(pgcjax.files.read_runs, runs), ("x", None, 5)),
    ):
        for value in values:
            about = f"{call.func.__name__}({what}={value!r})"
            calls.append((about, partial(call, **{what: value})))
    sources = (None, 5, object(), [], "", b"x", "none.txt", [None], {"a"}, "x" * 5000)
    for read in (
        *(
            pgcjax.files.read_runs,
            pgcjax.files.read_qrels,
            pgcjax.files.read_preferences,
        ),
        *(
            pgcjax.files.read_scores,
            pgcjax.files.read_grids,
            pgcjax.files.read_intents,
            pgcjax.evaluate,
        ),
    ):
        for source in sources:
            more = {"qrels": qrels} if read is pgcjax.evaluate else {}
            call = partial(read, source, **more)
            calls.append((f"{read.__name__}({source!r:.60})", call))
    for runs_like in (
        {},
        {"q": 5},
        {"r": {"q": {"d": "x"}}},
        {"q": {}},
        {1.5: {"d": 1}},
    ):
        call = partial(pgcjax.evaluate, runs_like, qrels=qrels)
        calls.append((f"evaluate({runs_like})", call))
    for target in ("", "x.csv", "none/x.parquet", ".", "x" * 300 + ".parquet"):
        call = partial(pgcjax.files.pack, runs, target)
        calls.append((f"pack(runs, {target!r:.40})", call))
    return calls


MISUSE = Campaign(
    "misuse", "wrong options, arguments and tables", 500, attack, limit=200.0
)
