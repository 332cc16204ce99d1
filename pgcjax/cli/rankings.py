"""The verbs that compare rankings with each other: rbo, and prefer, by judgments."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from pgcjax.cli.commands import rankings
from pgcjax.cli.formats import format_of, format_option, print_findings, print_table
from pgcjax.cli.options import (
    REAL,
    WHOLE,
    choice_option,
    files_option,
    judgment_options,
    measure_option,
    memory_option,
    order_option,
    output_option,
    per_query_option,
    read_judgments,
    run_options,
    runs_argument,
    spreadsheet_option,
    verify_option,
    write_table,
)
from pgcjax.cli.score_files import test_options
from pgcjax.engine.choices import TIES, VARIANTS
from pgcjax.errors import shared
from pgcjax.io.choices import MISSING, ORDERS
from pgcjax.reporting.progress import ProgressDisplay, say
from pgcjax.stats.choices import AGGREGATIONS, PAIR_TESTS

if TYPE_CHECKING:
    import pandas as pd

    from pgcjax.engine.preference_result import Preferences


@rankings.command()
@runs_argument
@files_option(
    "--against",
    metavar="RUN",
    help="Compare with these runs; repeat. By default all pairs of RUN...",
)
@run_options
@click.option(
    "-p",
    type=REAL,
    default=0.9,
    show_default=True,
    help="Persistence, above 0 and below 1; at .9 the first 10 ranks have 86 % of the "
    "weight.",
)
@choice_option(
    "--variant",
    allowed=VARIANTS,
    help=(
        "RBO beyond the retrieved documents: extrapolated (ext), lowest (min), "
        "highest (max); or max - min (res)."
    ),
)
@choice_option(
    "--ties",
    allowed=TIES,
    help="Treatment of equal scores: all have the first rank (w), each a share of "
    "each rank (a), the same corrected for ties (b), or broken by --order.",
    default="a",
)
@choice_option(
    "--order",
    allowed=ORDERS,
    help="Order of a run: by score, ties broken by doc id descending (trec) or "
    "ascending (clarke); or by the rank column, where equal ranks tie.",
)
@choice_option(
    "--missing",
    allowed=MISSING,
    help="Treatment of a query that one of the two runs lacks.",
)
@click.option(
    "--depth",
    type=WHOLE,
    metavar="N",
    help="Last rank that counts; a tie that begins there counts as a whole.",
)
@memory_option
@per_query_option
@output_option("Write all values at full precision")
@spreadsheet_option
def rbo(
    runs: tuple[str, ...],
    against: tuple[str, ...],
    run_format: str,
    name_by: str,
    per_query: bool,
    output: str | None,
    spreadsheet: bool,
    **options: Any,
) -> None:
    """Compare runs with each other by rank-biased overlap, without judgments."""
    from pgcjax.engine.similarity import rbo as compare
    from pgcjax.io.runs import Options, open_runs

    with ProgressDisplay() as progress:
        a, b = (
            open_runs(paths, Options(run_format, name_by)) if paths else None
            for paths in (runs, against)
        )
        similarity = compare(a, b, **options, progress=progress.update)
    for note in similarity.notes:
        say(note)
    if output:
        similarity.save(output, spreadsheet=spreadsheet)
        say(f"wrote {len(similarity.table)} values to {output}")
    if per_query:
        means = similarity.mean().rename(columns={"mean": "value"})
        print_table(_with_means(similarity.table, means, "value"))
    else:
        print_table(similarity.mean())


def _with_means(
    values: "pd.DataFrame", means: "pd.DataFrame", column: str
) -> "pd.DataFrame":
    """Put the mean of each pair, of query `all`, behind its values."""
    import pandas as pd

    rows = pd.concat([values, means.assign(query_id="all")])
    # Stable: measures and queries stay in their order, and the mean behind them.
    by = ["run_a", "run_b"]
    rows = rows.sort_values(by, kind="stable", ignore_index=True)
    return rows[["run_a", "run_b", "measure", "query_id", column]]


_SHOWN = ("pairs", "beside", "runs", "tests", "matrix", "wins")


@rankings.command()
@runs_argument
@judgment_options
@run_options
@measure_option(
    "RPP, lexiprecision, rrlexiprecision, lexirecall; by others of evaluate, the run "
    "that scores higher. By default, of --qrels RPP,lexiprecision,lexirecall, of "
    "--intent-qrels RPP(subtopics=covered),RPP(subtopics=mean), of --prefs "
    "PGC,wpref,ppref."
)
@order_option
@choice_option(
    "--missing",
    allowed=MISSING,
    help=(
        "Treatment of a query that a run lacks: as if nothing was retrieved (zero), "
        "left out of the run's pairs (skip), or an error."
    ),
)
@choice_option(
    "--show",
    allowed=_SHOWN,
    help=(
        "Preferences of pairs; the same with measures side by side; the order of the "
        "runs, with intervals; tests of pairs; or, for one measure, the matrix of "
        "preferences, or of the shares of queries that prefer the run of the row "
        "(wins)."
    ),
)
@choice_option(
    "--by",
    allowed=AGGREGATIONS,
    help="Order of runs, with --show runs: by the mean preference over all others, the "
    "share of others that a run is preferred to (borda), or a Markov chain (mc4).",
)
@choice_option(
    "--test",
    allowed=PAIR_TESTS,
    help=(
        "Test of the preferences of a pair over queries, for --show tests; as in "
        "compare."
    ),
)
@test_options
@format_option
@verify_option("preferences")
@memory_option
@per_query_option
@output_option("Write the table at full precision")
@spreadsheet_option
def prefer(
    runs: tuple[str, ...],
    judgments: dict[str, Any],
    run_format: str,
    name_by: str,
    measures: list[str],
    show: str,
    by: str,
    test: str,
    correction: str | None,
    alpha: float,
    resamples: int | None,
    seed: int,
    form: str | None,
    per_query: bool,
    output: str | None,
    spreadsheet: bool,
    **settings: Any,
) -> None:
    """Find which of two runs is preferred, for all pairs, by judgments.

    A preference is above 0 if run_a is preferred: the mean over queries.
    """
    if per_query and show != "pairs":
        raise click.UsageError(f"-q works with --show pairs, not with {show}")
    if show in ("matrix", "wins") and len(measures) != 1:
        raise click.UsageError(f"--show {show} takes one measure: name one")
    printed = format_of(form, per_query=per_query)
    from pgcjax.engine.preferring import prefer as compare
    from pgcjax.io.runs import Options, open_runs

    settings["per_query"] = (
        per_query or show == "tests" or (show, by) == ("runs", "mc4")
    )
    options: dict[str, Any] = {"alpha": alpha, "seed": seed}
    if resamples is not None:
        options["resamples"] = resamples
    tests = {"test": test, "correction": correction or "holm"}
    more = {"runs": options | {"by": by}, "tests": options | tests}
    metadata = more.get(show, {})
    with ProgressDisplay() as progress:
        preferences = compare(
            open_runs(runs, Options(run_format, name_by)),
            **read_judgments(judgments),
            measures=measures or None,
            **settings,
            progress=progress.update,
        )
        working = {"memory": settings["memory"], "progress": progress.update}
        table = _tables(preferences, show, per_query, metadata, working)
    for note in preferences.notes:
        say(note)
    about = preferences.metadata | {"show": show} | metadata
    write_table(table, output, about, spreadsheet=spreadsheet)
    if per_query:
        table = _with_means(table, preferences.table, "preference")
    notes = _tested(preferences, metadata) if show == "tests" else []
    print_findings(table, printed, about, notes=notes)


def _tested(preferences: "Preferences", metadata: dict[str, Any]) -> list[str]:
    """Name the test of all pairs by each measure, and what p depends on."""
    from pgcjax.stats.findings import tested

    runs = len(preferences.run_ids)
    many = {"comparisons": runs * (runs - 1) // 2} | metadata
    sizes = {name: len(tally.queries) for name, tally in preferences.tallies.items()}
    return shared((name, tested(many | {"queries": n})) for name, n in sizes.items())


def _tables(
    preferences: "Preferences",
    show: str,
    per_query: bool,
    metadata: dict[str, Any],
    working: dict[str, Any],
) -> "pd.DataFrame":
    if show == "runs":
        return _each(preferences, partial(preferences.order, **metadata))
    if show == "tests":
        return _each(preferences, partial(preferences.compare, **working, **metadata))
    if show == "pairs":
        return preferences.per_query() if per_query else preferences.table
    if show == "beside":
        return preferences.beside()
    square = preferences.matrix() if show == "matrix" else preferences.win_rate()
    return square.reset_index()


def _each(
    preferences: "Preferences", table_of: Callable[[str], "pd.DataFrame"]
) -> "pd.DataFrame":
    """Put the tables of all measures below each other, the measure first."""
    import pandas as pd

    tables = (table_of(name).assign(measure=name) for name in preferences.measures)
    table = pd.concat(tables, ignore_index=True)
    return table[["measure", *table.columns.drop("measure")]]
