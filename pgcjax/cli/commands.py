"""The verbs of the command line. What a verb needs is imported inside it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from pgcjax import __version__
from pgcjax.cli.progress import Progress, say

FILE = click.Path(path_type=str)
HELP = {"help_option_names": ["-h", "--help"], "max_content_width": 88}


@click.group(context_settings=HELP)
@click.version_option(__version__, "-V", "--version", message="pgcjax %(version)s")
def cli() -> None:
    """Score search runs against pairwise preferences: Greedy PGC and compatibility.

    FILE and RUN are files, folders or quoted glob patterns; .gz .bz2 .xz .zst too.
    """


def _judgment_options(command: Callable) -> Callable:
    for option in (
        click.option(
            "--prefs-format",
            default="auto",
            metavar="NAME",
            help="clarke, luo, jelsas, trec-prefs, trec-qrels-prefs, csv, tsv, jsonl, "
            "parquet; by default found from the content.",
        ),
        click.option(
            "--qrels",
            multiple=True,
            type=FILE,
            metavar="FILE",
            help="Graded judgments.",
        ),
        click.option(
            "--prefs",
            multiple=True,
            type=FILE,
            metavar="FILE",
            help="Preference judgments; repeat for several files.",
        ),
    ):
        command = option(command)
    return command


def _run_options(command: Callable) -> Callable:
    for option in (
        click.option(
            "--run-format",
            default="auto",
            metavar="NAME",
            help="columns (TREC), csv, tsv, jsonl or parquet; by default found.",
        ),
        click.option(
            "--name-by",
            type=click.Choice(["tag", "file"]),
            default="tag",
            show_default=True,
            help="What names a run: its tag column or its file name.",
        ),
    ):
        command = option(command)
    return command


def _read_judgments(
    prefs: tuple[str | Path, ...], prefs_format: str, qrels: tuple[str | Path, ...]
) -> dict[str, Any]:
    from pgcjax.tables.preferences import read_preferences
    from pgcjax.tables.qrels import read_qrels

    tables: dict[str, Any] = {}
    if prefs:
        tables["preferences"] = read_preferences(prefs, format=prefs_format)
    if qrels:
        tables["qrels"] = read_qrels(qrels)
    return tables


@cli.command()
@click.argument("runs", nargs=-1, required=True, type=FILE, metavar="RUN...")
@_judgment_options
@_run_options
@click.option(
    "-m",
    "--measure",
    "measures",
    multiple=True,
    metavar="MEASURE",
    help="Such as 'PGC(p=0.8)' or Compat; repeat for several. By default PGC of "
    "--prefs (without them, PGC(graph=derived) of --qrels), and Compat of --qrels.",
)
@click.option("-q", "--per-query", is_flag=True, help="Also print each query's score.")
@click.option(
    "--order",
    type=click.Choice(["trec", "clarke", "rank"]),
    default="trec",
    show_default=True,
    help="Order of a run: by score with ties by doc id descending (trec) or ascending "
    "(clarke), or by the rank column.",
)
@click.option(
    "--missing",
    type=click.Choice(["zero", "skip", "error"]),
    default="zero",
    show_default=True,
    help="What a judged query that a run lacks does to the run's mean.",
)
@click.option(
    "--verify",
    type=click.FloatRange(0, 1),
    default=0.0,
    metavar="SHARE",
    help="Recompute this share of the scores with the plain reference code.",
)
@click.option(
    "--part",
    metavar="I/N",
    help="Score the I-th of N parts of the run files only; put together by merge.",
)
@click.option(
    "-o",
    "--output",
    type=FILE,
    metavar="FILE",
    help="Write all scores at full precision: .trec .tsv .csv .jsonl .parquet.",
)
def evaluate(
    runs: tuple[str, ...],
    prefs: tuple[str, ...],
    prefs_format: str,
    qrels: tuple[str, ...],
    run_format: str,
    name_by: str,
    measures: tuple[str, ...],
    per_query: bool,
    order: str,
    missing: str,
    verify: float,
    part: str | None,
    output: str | None,
) -> None:
    """Score runs against preferences, graded judgments, or both."""
    if not prefs and not qrels:
        raise click.UsageError("no judgments: give --prefs FILE, --qrels FILE or both")
    from pgcjax.measures.catalogue import parse_all
    from pgcjax.scores import check_target

    if output:
        check_target(output)
    if part and not output:
        raise click.UsageError("--part needs -o FILE: merge puts the files together")
    share = _part(part) if part else None
    parse_all(measures)  # a typo is said before minutes of reading
    from pgcjax.evaluation import evaluate as score
    from pgcjax.tables.runs import iter_runs

    with Progress() as progress:
        tables = _read_judgments(prefs, prefs_format, qrels)
        scores = score(
            iter_runs(
                _share(runs, share) if share else runs,
                format=run_format,
                name_by=name_by,
                progress=progress.update,
            ),
            **tables,
            measures=measures or None,
            order=order,
            missing=missing,
            verify=verify,
            progress=progress.update,
        )
    for note in scores.notes:
        say(note)
    if share:
        scores.metadata["part"] = list(share)
    if output:
        scores.save(output)
        say(f"wrote {len(scores.table)} scores to {output}")
    for line in scores.lines(per_query):
        click.echo(line)


def _part(text: str) -> tuple[int, int]:
    """Read `3/16`."""
    i, _, n = text.partition("/")
    if not (i.isdecimal() and n.isdecimal() and 1 <= int(i) <= int(n)):
        raise click.UsageError(f"--part {text}: expected I/N such as 3/16, 1 <= I <= N")
    return int(i), int(n)


def _share(runs: tuple[str, ...], part: tuple[int, int]) -> list[Path]:
    """Give the run files of a part: every N-th, so that parts are of like size."""
    from pgcjax.tables.files import expand

    i, n = part
    files = expand(runs)
    if n > len(files):
        raise click.UsageError(
            f"--part {i}/{n}: {len(files)} run files make at most {len(files)} parts"
        )
    return files[i - 1 :: n]


@cli.command()
@click.argument("parts", nargs=-1, required=True, type=FILE, metavar="PART...")
@click.option(
    "-o", "--output", required=True, type=FILE, metavar="FILE", help="All scores."
)
def merge(parts: tuple[str, ...], output: str) -> None:
    """Put the files of evaluate --part together: the same as without parts."""
    from pgcjax.scores import check_target, read_scores
    from pgcjax.scores import merge as put_together

    check_target(output)
    scores = put_together([read_scores(part) for part in parts], parts)
    scores.save(output)
    say(f"wrote {len(scores.table)} scores to {output}")
    for line in scores.lines():
        click.echo(line)


@cli.command()
@click.argument("paths", nargs=-1, type=FILE, metavar="FILE...")
@_judgment_options
@_run_options
@click.option(
    "--as",
    "kind",
    type=click.Choice(["auto", "runs", "prefs", "qrels"]),
    default="auto",
    show_default=True,
    help="What FILE... are.",
)
def check(
    paths: tuple[str, ...],
    prefs: tuple[str, ...],
    prefs_format: str,
    qrels: tuple[str, ...],
    run_format: str,
    name_by: str,
    kind: str,
) -> None:
    """Read files as evaluate would, and say what is in them."""
    if not (paths or prefs or qrels):
        raise click.UsageError("nothing to check: give FILE, --prefs or --qrels")
    from pgcjax.tables import check as checks
    from pgcjax.tables.kinds import sort_by_kind

    sorted_paths = sort_by_kind(paths, kind)
    tables = _read_judgments(
        (*prefs, *sorted_paths["prefs"]), prefs_format, (*qrels, *sorted_paths["qrels"])
    )
    if sorted_paths["runs"]:
        from pgcjax.tables.runs import read_runs

        tables["runs"] = read_runs(
            sorted_paths["runs"], format=run_format, name_by=name_by
        )
    lines = [
        f"{name}: {line}"
        for name, table in tables.items()
        for line in checks.SUMMARIES[name](table)
    ]
    lines += checks.summarise_overlap(tables)  # or an error: then nothing is printed
    for line in lines:
        click.echo(line)


@cli.command()
@click.option("-o", "--output", required=True, type=FILE, metavar="DIR", help="New.")
@click.option("--queries", type=int, help="Number of queries.")
@click.option("--documents", type=int, help="Judged documents per query.")
@click.option("--runs", type=int, help="Number of runs.")
@click.option("--judges", type=int, help="Number of judges of preferences.")
@click.option("--pairs", type=int, help="Pairs that each judge judges per query.")
@click.option("--intents", type=int, help="Intents per query.")
@click.option("--depth", type=int, help="Documents per query in a run.")
@click.option("--rows", type=int, help="Rows of the image grid.")
@click.option("--columns", type=int, help="Columns of the image grid.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of everything.")
def simulate(output: str, **settings: int | None) -> None:
    """Write a made-up collection whose true order of runs is known to a new DIR."""
    from pgcjax.demo.files import write_collection
    from pgcjax.demo.settings import Settings

    given = Settings(**{k: v for k, v in settings.items() if v is not None})
    if Path(output).exists():
        raise click.UsageError(f"{output} exists already: name a new folder")
    from pgcjax.demo.simulator import simulate as make

    write_collection(make(given), output)
    say(f"wrote {given.runs} runs and their judgments to {output}")


@cli.command()
@click.option(
    "-o",
    "--output",
    default="pgcjax-demo-scores.csv",
    show_default=True,
    type=FILE,
    metavar="FILE",
    help="Where all scores go.",
)
def demo(output: str) -> None:
    """Score the runs of the embedded collection and show a leaderboard."""
    from pgcjax.demo.files import demo_folder
    from pgcjax.scores import check_target

    check_target(output)
    from pgcjax.evaluation import evaluate as score
    from pgcjax.report.text import leaderboard

    folder = demo_folder()
    with Progress() as progress:
        scores = score(
            folder / "runs",
            preferences=folder / "preferences.csv",
            qrels=folder / "qrels.txt",
            measures=["PGC", "Compat"],
            progress=progress.update,
        )
    scores.save(output)
    for note in scores.notes:
        say(note)
    leaderboard(scores)
    click.echo(f"Scores of every run and query: {Path(output).resolve()}")
    click.echo(f"The collection and its true order of runs: {folder}")


@cli.command()
@click.argument("name", required=False)
def measures(name: str | None) -> None:
    """List the measures, or explain one."""
    from pgcjax.measures.catalogue import CATALOGUE, parse

    if not name:
        width = max(map(len, CATALOGUE))
        for definition in CATALOGUE.values():
            click.echo(f"{definition.name:{width}}  {definition.meaning}")
        return
    measure = parse(name)
    definition = measure.definition
    click.echo(f"{measure.in_full()}\n{definition.meaning}.\nParameters:")
    for parameter in definition.parameters:
        value = measure.parameters[parameter.name]
        click.echo(f"  {parameter.name}={value}: {parameter.meaning}")
    click.echo(f"Source: {definition.source}")


@cli.command()
def devices() -> None:
    """List the devices that JAX would compute on."""
    import jax

    click.echo(f"jax {jax.__version__}, {jax.default_backend()}")
    for device in jax.local_devices():
        click.echo(f"{device.id}: {device.device_kind}")
