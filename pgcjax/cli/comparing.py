"""The verbs of tests and their power: compare, gate, power."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from pgcjax.cli import options as opt
from pgcjax.cli.commands import cli
from pgcjax.cli.formats import (
    Output,
    as_json,
    findings_options,
    format_of,
    format_option,
    print_findings,
    print_leaderboard,
    top_runs_option,
)
from pgcjax.cli.score_files import (
    by_name,
    cluster_option,
    collections_option,
    each_score_options,
    score_files,
    score_format_option,
    system_option,
    test_options,
)
from pgcjax.cli.targets import WITH_WORK, Target, kept_work
from pgcjax.errors import shared
from pgcjax.io.choices import PAGE_SUFFIXES, TABLE_SUFFIXES
from pgcjax.reporting.progress import ProgressDisplay, say
from pgcjax.stats.choices import CLAIMS, INCOMPLETE, RANKS, TESTS

if TYPE_CHECKING:
    from pgcjax.stats.findings import Comparison
    from pgcjax.stats.scores import Scores

_DATA = ("text", "csv", "json")  # formats that print the findings as they are


@cli.command()
@click.argument("scores", nargs=-1, required=True, type=opt.FILE, metavar="SCORES…")
@opt.measure_option(
    "Measure, required if there are several; nDCG@10,AP shows both side by side, and "
    "the first one ranks the runs."
)
@click.option(
    "--test",
    type=click.Choice(TESTS),
    help="max-t, the default: bootstrap-t of all pairs together, with simultaneous "
    "intervals; tukey: randomised Tukey HSD [Sakai 2012], which permutes real "
    "differences as if they were noise, and exceeds the level α where runs differ in "
    "variance; bootstrap: paired, studentised; permutation: sign flips; t and "
    "wilcoxon: paired; anova: two-way, with Tukey HSD. With --rectify: t.",
)
@click.option(
    "--baseline",
    "baselines",
    multiple=True,
    metavar="RUN",
    help="Compare with this run only; repeat for several. By default all pairs.",
)
@click.option(
    "--rectify",
    type=opt.FILE,
    metavar="FILE",
    help="Human scores of some of the queries, where SCORES are by a model: the "
    "results then estimate human scores, predicted with the help of the model's.",
)
@cluster_option
@system_option
@collections_option
@test_options
@opt.choice_option(
    "--ranks",
    allowed=RANKS,
    help="Method for ranks and tiers: pairs, as for letters; or windows, by max-t "
    "or with --rectify, which are narrower and take longer.",
)
@click.option(
    "--precision",
    type=opt.REAL,
    metavar="E",
    help="Largest Monte-Carlo standard error of a p; resampling continues until then.",
)
@opt.choice_option(
    "--missing",
    allowed=INCOMPLETE,
    help="Treatment of a query that some runs lack: drop removes it for all.",
)
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="NAME=COLUMN",
    help="Column of run_id, query_id, measure or value, as value=ndcg; repeat for "
    "several.",
)
@format_option
@top_runs_option
@click.option(
    "--pairs",
    is_flag=True,
    help="Print pairs, not runs; with --baseline, the formats text, csv and json "
    "always print pairs.",
)
@click.option(
    "--required", is_flag=True, help="Print the smallest significant difference."
)
@score_format_option
@opt.memory_option
@opt.resume_option
@opt.output_option("Write all pairs at full precision", target=WITH_WORK)
@opt.output_option("Write runs at full precision", TABLE_SUFFIXES, "--runs-output")
@opt.spreadsheet_option
def compare(
    scores: tuple[str, ...],
    measures: list[str] | None,
    test: str | None,
    rectify: str | None,
    baselines: tuple[str, ...],
    missing: str,
    columns: tuple[str, ...],
    form: str | None,
    top: int | None,
    pairs: bool,
    required: bool,
    resume: bool,
    output: str | None,
    runs_output: str | None,
    spreadsheet: bool,
    **options: Any,
) -> None:
    """Test which runs differ, in scores of evaluate or of any other tool.

    Prints runs by their means, with intervals, and letters: runs that share one do not
    differ significantly. With --baseline, arrows show which are better or worse.
    """
    if len(scores) > 1 and options["collections"]:
        raise click.UsageError("--collections takes one file of scores")
    test = test or ("t" if rectify or options["system"] else "max-t")
    if required and test not in ("tukey", "bootstrap"):
        raise click.UsageError("--required works with --test tukey and bootstrap only")
    if len(measures or ()) > 1 and (output or runs_output):
        raise click.UsageError("-o and --runs-output take one measure: name one")
    printed = format_of(form, top)
    pairs = pairs or bool(baselines and printed in _DATA)
    if pairs and top:
        raise click.UsageError("--top counts runs, but this call prints pairs")
    from pgcjax.io.checkpoint import remove

    folder = kept_work(output, resume)
    pairs_of_columns = opt.split_pairs(columns, "--column", "NAME=COLUMN")
    reading: dict[str, Any] = {"columns": dict(pairs_of_columns), "missing": missing}
    options |= {"test": test, "baselines": list(baselines), "journal": folder}
    names = ("test", "resamples", "seed", "alpha")
    required_by = {name: options[name] for name in names} if required else None
    with ProgressDisplay() as progress:
        options |= {"progress": progress.update}
        comparisons, lines = _compare(
            scores, measures or [None], rectify, reading, required_by, options
        )
    for line in shared(lines) if len(comparisons) > 1 else [note for _, note in lines]:
        say(line)
    if output:
        comparisons[0].save(output, spreadsheet=spreadsheet)
        say(f"wrote {len(comparisons[0].table)} pairs to {output}")
    if runs_output:
        comparisons[0].save(runs_output, runs=True, spreadsheet=spreadsheet)
    if folder:
        remove(folder)
    _print(comparisons, printed, top, pairs)


def _compare(
    scores: Sequence[str],
    measures: Sequence[str | None],
    rectify: str | None,
    reading: dict[str, Any],
    required: dict[str, Any] | None,
    options: dict[str, Any],
) -> "tuple[list[Comparison], list[tuple[str, str]]]":
    """Compare runs by each measure; return notes with their measures, too."""
    from pgcjax.stats.compare import compare
    from pgcjax.stats.matrix import read
    from pgcjax.stats.rectified import read_human
    from pgcjax.stats.required import required_difference
    from pgcjax.stats.structure import joined

    comparisons, lines = [], []
    for measure in measures:
        if scores[1:]:
            files = by_name(scores)
            matrix, options["collections"] = joined(files, measure=measure, **reading)
        else:
            matrix = read(scores[0], measure=measure, **reading)
        if rectify:
            human = read_human(rectify, matrix, **reading)
            options |= {"rectify": human, "missing": reading["missing"]}
        comparison = compare(matrix, **options)
        comparisons.append(comparison)
        notes = [*comparison.notes]
        if required:
            least = required_difference(matrix, **required)
            finding = (
                "no difference is significant" if least is None else f"{least:.4f}"
            )
            notes.append(
                f"difference required for significance at {required['alpha']:g}"
                f"{'' if required['test'] == 'tukey' else ', uncorrected'}: {finding}"
            )
        lines += [(matrix.measure, note) for note in notes]
    return comparisons, lines


def _print(
    comparisons: "list[Comparison]", form: str, top: int | None, pairs: bool
) -> None:
    """Print pairs, or runs with the best first."""
    if not (pairs or form in _DATA):
        from pgcjax.reporting.leaderboard import leaderboard

        print_leaderboard(leaderboard(comparisons), form, top)
        return
    from pgcjax.io.result import stacked

    of_measure = {each.metadata["measure"]: each for each in comparisons}
    tables = {
        measure: each.table
        if pairs
        else each.runs.sort_values(["rank", "run_id"])[:top]
        for measure, each in of_measure.items()
    }
    if len(comparisons) == 1:
        (table,), (only,) = tables.values(), comparisons
        print_findings(table, form, only.metadata, notes=[only.tested])
        return
    notes = shared((measure, each.tested) for measure, each in of_measure.items())
    about = {"comparisons": [each.metadata for each in comparisons]}
    print_findings(stacked(tables), form, about, notes=notes)


_EXITS = {"holds": 0, "fails": 4, "open": 5}


@cli.command()
@each_score_options
@click.option(
    "--run", "new", metavar="RUN", help="Run that the claim is about, of SCORES."
)
@click.option(
    "--against",
    required=True,
    type=opt.FILE,
    metavar="RUN",
    help="Run to compare with: of SCORES; or a file, where judgments are given and "
    "SCORES is the file of the new run.",
)
@click.option(
    "--margin",
    type=opt.REAL,
    required=True,
    help="The smallest difference of means that matters, such as 0.01.",
)
@opt.choice_option(
    "--claim",
    allowed=CLAIMS,
    help="not-worse: by less than the margin; better: by more than 0; equivalent: the "
    "difference is within the margin on both sides.",
)
@opt.alpha_option(
    "Probability that a claim passes whose difference is exactly at the margin."
)
@cluster_option
@opt.judgment_options()
@opt.run_options
@format_option
@opt.output_option(
    "Write the decision, and why; or a page: bounds, and the queries and documents "
    "behind them; repeat for both",
    (".json", *PAGE_SUFFIXES),
    target=Target("{stem}-figures/*.svg"),
    multiple=True,
)
@click.pass_context
def gate(
    context: click.Context,
    scores: tuple[str, ...],
    new: str | None,
    against: str,
    measures: list[str] | None,
    judgments: dict[str, Any],
    reading: dict[str, str],
    form: str | None,
    output: tuple[str, ...],
    **options: Any,
) -> None:
    """Test whether a new run may take the place of another: a gate for CI.

    The claim has to hold by each measure. Exit status: 0 it holds, 4 it does not: the
    contrary is shown, 5 it is undecided with so few queries.

    With judgments, SCORES and --against are the files of the two runs.
    """
    from pgcjax.io.write import written_beside
    from pgcjax.reporting.gate_page import page_of
    from pgcjax.reporting.page import ready, write
    from pgcjax.stats.gates import gate as decide

    pages = [path for path in output if path.lower().endswith(PAGE_SUFFIXES)]
    for page in pages:
        ready(page)
    source, _inputs = None, None
    if judgments:
        first, *others = scores
        if new or others:
            raise click.UsageError("with judgments, give one run and --against RUN")
        evaluated = _evaluated((first, against), judgments, measures, reading)
        source, (new, against), _inputs = evaluated
    if new is None:
        raise click.UsageError("Missing option '--run', or judgments of two runs.")
    source_of = score_files(scores) if source is None else source
    decision = decide(source_of, new, against, measures=measures, **options)
    for note in (*decision.notes, decision.why):
        say(note)
    for path in output:
        if path in pages:
            write(page_of(decision, source), path)
        else:
            with written_beside(path) as beside:
                text = as_json(decision.table, decision.metadata) + "\n"
                beside.write_text(text, encoding="utf-8", newline="\n")
        say(f"wrote {path}")
    print_findings(decision.table, format_of(form), decision.metadata)
    context.exit(_EXITS[decision.outcome])


def _evaluated(
    paths: Sequence[str],
    judgments: dict[str, Any],
    measures: list[str] | None,
    reading: Mapping[str, str],
) -> "tuple[Scores, Sequence[str], Any]":
    """Score two files of a run each.

    Returns:
        The scores, the names of the runs, and the runs and judgments, to keep them
        alive: scores refer to them weakly.
    """
    from pgcjax.engine.evaluate import evaluate

    files = [opt.opened(path, reading) for path in paths]
    names = [sorted({*runs.table["run_id"]}) for runs in files]
    for path, of_file in zip(paths, names, strict=True):
        if len(of_file) > 1:
            raise click.UsageError(f"{path}: expected one run, found {len(of_file)}")
    first, second = (of_file[0] for of_file in names)
    both = paths if first == second else (first, second)
    tables, runs = opt.read_judgments(judgments), dict(zip(both, files, strict=True))
    scores = evaluate(runs, **tables, measures=measures)
    return scores, both, (runs, tables)


@cli.command()
@click.argument("scores", type=opt.FILE, metavar="SCORES")
@click.option(
    "--difference",
    type=opt.REAL,
    metavar="D",
    help="Difference of two means to detect; without it, the smallest difference that "
    "so many queries can detect is computed.",
)
@click.option(
    "--power",
    type=opt.REAL,
    default=0.8,
    metavar="P",
    help="Probability of detecting the difference.",
)
@opt.one_measure_option("Measure, required if there are several.")
@opt.alpha_option()
@opt.resamples_option
@opt.seed_option
@opt.choice_option(
    "--missing",
    allowed=INCOMPLETE,
    help="Treatment of a query that some runs lack: drop removes it for all.",
)
@findings_options()
def power(scores: str, output: Output, **options: Any) -> None:
    """Compute how many queries a test needs to detect a difference, by a pilot.

    Prints, by t of one pair and by max-t of all pairs, the least difference that so
    many queries as there are can show, and the queries that a difference needs: of
    the pairs of runs whose differences vary by the median, and most.
    """
    from pgcjax.stats.power import power as computed

    needed = computed(scores, **options)
    output.give(needed.table, needed.metadata, needed.notes)
