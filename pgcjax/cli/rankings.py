"""The verbs that compare rankings with each other: rbo, and prefer, by judgments."""

import re
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from pgcjax.cli import options as opt
from pgcjax.cli.commands import rankings
from pgcjax.cli.formats import Output, findings_options, print_table
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
@opt.runs_argument
@opt.files_option(
    "--against",
    metavar="RUN",
    help="Compare with these runs; repeat. By default all pairs of RUN...",
)
@opt.run_options
@opt.one_measure_option(
    "RBO(p=0.9,variant=ext,ties=a), or other values of its parameters. p: persistence, "
    "above 0 and below 1; at .9 the first 10 ranks have 86 % of the weight. variant: "
    "RBO beyond the retrieved documents, extrapolated (ext), lowest (min), highest "
    "(max), or max - min (res). ties: treatment of equal scores, all have the first "
    "rank (w), each a share of each rank (a), the same corrected for ties (b), or "
    "broken by --order. depth: last rank that counts; a tie that begins there counts "
    "as a whole.",
    "RBO",
)
@opt.choice_option(
    "--order",
    allowed=ORDERS,
    help="Order of a run: by score, ties broken by doc id descending (trec) or "
    "ascending (clarke); or by the rank column, where equal ranks tie.",
)
@opt.choice_option(
    "--missing",
    allowed=MISSING,
    help="Treatment of a query that one of the two runs lacks.",
)
@opt.memory_option
@opt.per_query_option
@opt.output_option("Write all values at full precision")
@opt.spreadsheet_option
def rbo(
    runs: tuple[str, ...],
    against: tuple[str, ...],
    reading: dict[str, str],
    measure: str,
    per_query: bool,
    output: str | None,
    spreadsheet: bool,
    **options: Any,
) -> None:
    """Compare runs with each other by rank-biased overlap, without judgments."""
    from pgcjax.engine.similarity import rbo as compare

    options |= _parameters(measure)
    with ProgressDisplay() as progress:
        a, b = (
            opt.opened(paths, reading) if paths else None for paths in (runs, against)
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


_PARAMETERS: dict[str, click.ParamType] = {
    "p": opt.REAL,
    "variant": click.Choice(VARIANTS),
    "ties": click.Choice(TIES),
    "depth": opt.WHOLE,
}


def _parameters(measure: str) -> dict[str, Any]:
    """Read the parameters in the text of an RBO measure, as arguments of `rbo`."""
    form = re.fullmatch(r"RBO(?:\((.*)\))?", measure.replace(" ", ""))
    if not form:
        raise click.UsageError(f"-m {measure}: expected RBO, such as RBO(p=0.8,ties=b)")
    parts = form[1].split(",") if form[1] else ()
    values = dict(opt.split_pairs(parts, f"-m {measure}:", "parameters such as p=0.8"))
    if unknown := values.keys() - _PARAMETERS.keys():
        raise click.UsageError(
            f"RBO has no parameter {min(unknown)!r}; it has {', '.join(_PARAMETERS)}"
        )
    return {
        name: opt.converted(_PARAMETERS[name], value, f"-m {measure}")
        for name, value in values.items()
    }


def _with_means(
    values: "pd.DataFrame", means: "pd.DataFrame", column: str
) -> "pd.DataFrame":
    """Append the mean of each pair, as query `all`, to its values."""
    import pandas as pd

    rows = pd.concat([values, means.assign(query_id="all")])
    # A stable sort keeps the order of measures and queries, with the mean after them.
    by = ["run_a", "run_b"]
    rows = rows.sort_values(by, kind="stable", ignore_index=True)
    return rows[["run_a", "run_b", "measure", "query_id", column]]


_SHOWN = ("pairs", "queries", "beside", "runs", "borda", "mc4", "tests", "matrix")
_SHOWN += ("wins",)


@rankings.command()
@opt.runs_argument
@opt.judgment_options()
@opt.run_options
@opt.measure_option(
    "RPP, lexiprecision, rrlexiprecision, lexirecall; by others of evaluate, the run "
    "that scores higher. By default, of --qrels RPP,lexiprecision,lexirecall, of "
    "--intent-qrels RPP(subtopics=covered),RPP(subtopics=mean), of --prefs "
    "PGC,wpref,ppref."
)
@opt.order_option
@opt.choice_option(
    "--missing",
    allowed=MISSING,
    help="Treatment of a query that a run lacks: as if nothing was retrieved (zero), "
    "left out of the run's pairs (skip), or an error.",
)
@opt.choice_option(
    "--show",
    allowed=_SHOWN,
    help="Preferences of pairs; those of each query, too; the same with measures side "
    "by side; the order of the runs, with intervals, by the mean preference over all "
    "others, by the share of others that a run is preferred to (borda), or by a Markov "
    "chain (mc4); tests of pairs; or, for one measure, the matrix of preferences, or "
    "of the shares of queries that prefer the run of the row (wins).",
)
@opt.choice_option(
    "--test",
    allowed=PAIR_TESTS,
    help="Test of the preferences of a pair over queries, for --show tests; as in "
    "compare.",
)
@test_options
@opt.verify_option("preferences")
@opt.memory_option
@findings_options()
def prefer(
    runs: tuple[str, ...],
    judgments: dict[str, Any],
    reading: dict[str, str],
    measures: list[str] | None,
    show: str,
    test: str,
    correction: str | None,
    alpha: float,
    resamples: int | None,
    seed: int,
    output: Output,
    **settings: Any,
) -> None:
    """Find which of two runs is preferred, for all pairs, by judgments.

    A preference is above 0 if run_a is preferred: the mean over queries.
    """
    if show in ("matrix", "wins") and len(measures or ()) != 1:
        raise click.UsageError(f"--show {show} takes one measure: name one")
    from pgcjax.engine.preferring import prefer as compare

    shown, by = ("runs", show) if show in AGGREGATIONS else (show, AGGREGATIONS[0])
    settings["per_query"] = show in ("queries", "tests", "mc4")
    drawing: dict[str, Any] = {"alpha": alpha, "seed": seed}
    drawing |= {} if resamples is None else {"resamples": resamples}
    tests = {"test": test, "correction": correction or "holm"}
    more = {"runs": drawing | {"by": by}, "tests": drawing | tests}
    metadata = more.get(shown, {})
    with ProgressDisplay() as progress:
        preferences = compare(
            opt.opened(runs, reading),
            **opt.read_judgments(judgments),
            measures=measures,
            **settings,
            progress=progress.update,
        )
        working = {"memory": settings["memory"], "progress": progress.update}
        table = _table(preferences, shown, metadata, working)
    about = preferences.metadata | {"show": shown} | metadata
    printed, below = None, []
    if show == "queries":
        printed = _with_means(table, preferences.table, "preference")
    elif show == "tests":
        below = _tested(preferences, metadata)
    output.give(table, about, preferences.notes, printed=printed, below=below)


def _tested(preferences: "Preferences", metadata: dict[str, Any]) -> list[str]:
    """Describe the test of all pairs for each measure, and the settings of p."""
    from pgcjax.stats.findings import tested

    runs = len(preferences.run_ids)
    many = {"comparisons": runs * (runs - 1) // 2} | metadata
    sizes = {name: len(tally.queries) for name, tally in preferences.tallies.items()}
    return shared((name, tested(many | {"queries": n})) for name, n in sizes.items())


def _table(
    preferences: "Preferences",
    show: str,
    metadata: dict[str, Any],
    working: dict[str, Any],
) -> "pd.DataFrame":
    """Make the chosen table."""
    from pgcjax.io.result import stacked

    if show in ("runs", "tests"):
        of_measure = partial(preferences.order, **metadata)
        if show == "tests":
            of_measure = partial(preferences.compare, **working, **metadata)
        return stacked({name: of_measure(name) for name in preferences.measures})
    if show in ("matrix", "wins"):
        square = preferences.matrix() if show == "matrix" else preferences.win_rate()
        return square.reset_index()
    if show == "pairs":
        return preferences.table
    return preferences.beside() if show == "beside" else preferences.per_query()
