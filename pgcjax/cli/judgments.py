"""The verbs that assess judgments, and predict grades: agree, audit, fit, predict."""

from typing import Any

import click

from pgcjax._version import __version__
from pgcjax.cli import options as opt
from pgcjax.cli.commands import judgments
from pgcjax.cli.formats import format_of, print_findings, print_table
from pgcjax.io.choices import TABLE_SUFFIXES
from pgcjax.io.judgments import KINDS
from pgcjax.judging.choices import (
    BY,
    FEATURES,
    GROUPS,
    MODELS,
    SIDES,
    SPLITS,
    SWAYS,
)
from pgcjax.reporting.progress import ProgressDisplay, say

_lengths_option = click.option(
    "--lengths",
    type=opt.FILE,
    metavar="FILE",
    help="Table of lengths: doc_id, length; or columns length_a, length_b.",
)
_covariates_option = click.option(
    "--covariate",
    "covariates",
    multiple=True,
    metavar="NAME",
    help="Covariate that may influence judges: a column of numbers or "
    "categories of both sides (NAME_a and NAME_b), first, longer, or self_preference; "
    "repeat.",
)


def _families(
    context: click.Context, option: click.Parameter, given: tuple[str, ...]
) -> dict[str, str] | None:
    """Read NAME=FAMILY; None if there are none."""
    pairs = [text.rpartition("=") for text in given]
    for text, (name, _, family) in zip(given, pairs, strict=True):
        if not name or not family:
            raise click.UsageError(f"--family {text}: expected NAME=FAMILY")
    return {name: family for name, _, family in pairs} or None


_families_option = click.option(
    "--family",
    "families",
    multiple=True,
    metavar="NAME=FAMILY",
    callback=_families,
    help="Family of a judge or document, for self_preference; repeat. By default each "
    "forms a family alone.",
)


_PREFS = {"preferences": "Preferences; repeat for several."}
_judge_option = click.option(
    "--judge",
    "judges",
    multiple=True,
    metavar="NAME",
    help="Only the votes of this judge; repeat for several. By default all judges.",
)
_numbers_output = opt.together(
    opt.encoding_option,
    opt.file_memory_option,
    opt.output_option("Write all numbers at full precision"),
)


@judgments.command()
@opt.judgment_options({**_PREFS, "qrels": "Grades."}, required=True)
@_judge_option
@opt.choice_option(
    "--sides",
    allowed=SIDES,
    help="any: the order of the two documents has no meaning; given: the first one "
    "was shown to judges first, or on the left.",
)
@click.option(
    "--bad", is_flag=True, help="Count the preferences that judgments of bad imply."
)
@opt.choice_option(
    "--split",
    allowed=SPLITS,
    help="Treatment of a pair without a majority, for transitivity.",
)
@click.option(
    "--contradicted",
    is_flag=True,
    help="Count and list the judgments that no order of documents can satisfy.",
)
@_numbers_output
def agree(
    judgments: dict[str, Any],
    judges: tuple[str, ...],
    sides: str,
    bad: bool,
    split: str,
    contradicted: bool,
    output: str | None,
) -> None:
    """Compare judges with each other, with themselves and with grades.

    Fleiss' and Cohen's kappa, agreement tables, transitivity; with --qrels also the
    agreement with grades, and the strength of preferences against the relevance gap;
    and judging times, where preferences have a column seconds. --contradicted adds how
    many judgments contradict each other, and which.
    """
    from pgcjax.reporting.judgment_analysis import Choices, analyse, lines, tidy

    tables = opt.read_judgments(judgments)
    choices = Choices(list(judges) or None, sides, bad, split, contradicted)
    sections = analyse(tables["preferences"], tables.get("qrels"), choices)
    metadata = {"judges": list(judges), "sides": sides, "bad": bad, "split": split}
    metadata |= {"contradicted": True} if contradicted else {}
    opt.write_table(tidy(sections), output, {**metadata, "version": __version__})
    for line in lines(sections):
        click.echo(line)


@judgments.command()
@opt.judgment_options(_PREFS, required=True)
@_judge_option
@_lengths_option
@_covariates_option
@_families_option
@click.option(
    "--people",
    multiple=True,
    metavar="NAME",
    help="Human judge, with whom the others are compared; repeat for several.",
)
@_numbers_output
def audit(
    judgments: dict[str, Any],
    judges: tuple[str, ...],
    lengths: str | None,
    covariates: tuple[str, ...],
    families: dict[str, str] | None,
    people: tuple[str, ...],
    output: str | None,
) -> None:
    """Audit judges: consistency, and effects of place and length.

    Both orders, place and length, covariates, ties, repeats, cycles, agreement, drift,
    and a competing judge's advantage for its own answers; each with an interval and a
    verdict.
    """
    from pgcjax.judging.audit import audit as audited
    from pgcjax.judging.covariates import reading_covariates
    from pgcjax.reporting.judge_audit import lines

    with reading_covariates(covariates):
        preferences = opt.read_judgments(judgments)["preferences"]
    judged_by: dict[str, Any] = {"judges": list(judges) or None, "people": list(people)}
    if covariates or families:
        judged_by |= {"covariates": list(covariates), "families": families}
    with ProgressDisplay() as progress:
        result = audited(
            preferences, lengths=lengths, progress=progress.update, **judged_by
        )
    opt.write_table(result.table, output, {**judged_by, "version": __version__})
    for line in lines(result):
        click.echo(line)


@judgments.command()
@opt.judgment_options(_PREFS, required=True)
@_judge_option
@_lengths_option
@_covariates_option
@_families_option
@opt.choice_option(
    "--model",
    allowed=MODELS,
    help="Bradley and Terry's model, Davidson's with ties, wins minus losses, the "
    "share of votes won, or a random walk to winners.",
)
@opt.choice_option(
    "--by",
    allowed=BY,
    help="All aspects of a query together, each aspect by itself, or one strength of "
    "each document over all queries, as in an arena.",
)
@click.option(
    "--reliability",
    is_flag=True,
    help="Also fit the probability that each judge paid attention.",
)
@click.option(
    "--remove",
    multiple=True,
    type=click.Choice(SWAYS),
    help="Effect to remove: of the document shown first, or of the longer one; repeat.",
)
@click.option(
    "--prior",
    type=opt.REAL,
    help="Standard deviation of strengths, in log-odds; inf: none. By default it is "
    "fitted to the votes.",
)
@click.option(
    "--people",
    type=opt.FILE,
    metavar="PEOPLE",
    help="Votes of people on some of the pairs, drawn by lot, where --prefs are a "
    "model's on all: win rates of systems by people, and their ranks.",
)
@_numbers_output
@opt.output_option(
    "With --reliability, write judges", TABLE_SUFFIXES, "--judges-output", "judges_to"
)
def fit(
    judgments: dict[str, Any],
    judges: tuple[str, ...],
    lengths: str | None,
    covariates: tuple[str, ...],
    families: dict[str, str] | None,
    model: str,
    by: str,
    reliability: bool,
    remove: tuple[str, ...],
    prior: float | None,
    people: str | None,
    output: str | None,
    judges_to: str | None,
) -> None:
    """Fit strengths of the documents of each query to votes on pairs.

    With --covariate, also the effects of covariates on judges, and strengths with and
    without them.
    """
    if people:
        return _rank_systems(judgments, people, output)
    if judges_to and not reliability:
        raise click.UsageError("--judges-output needs --reliability")
    from pgcjax.judging.covariates import reading_covariates
    from pgcjax.judging.fit import fit as fitted
    from pgcjax.reporting.judge_models import lines

    with reading_covariates(covariates):
        preferences = opt.read_judgments(judgments)["preferences"]
    settings: dict[str, Any] = {"by": by, "reliability": reliability}
    settings |= {"remove": list(remove), "judges": list(judges) or None}
    settings |= {} if prior is None else {"prior": prior}
    if covariates or families:
        settings |= {"covariates": list(covariates), "families": families}
    with ProgressDisplay() as progress:
        result = fitted(
            preferences, model, lengths=lengths, progress=progress.update, **settings
        )
    metadata = {"model": model, **settings, "version": __version__}
    effects = result.effects.to_dict("records")
    opt.write_table(
        result.table, output, metadata | ({"effects": effects} if effects else {})
    )
    opt.write_table(result.judges, judges_to, metadata)
    for line in lines(result):
        click.echo(line)


_OF_PEOPLE = {"preferences", "people", "output"}


def _rank_systems(judgments: dict[str, Any], people: str, output: str | None) -> None:
    """Rank systems by votes of a model and few of people."""
    from pgcjax.engine.win_rates import rank_sets

    opt.refuse_options(
        opt.given_options().keys() - _OF_PEOPLE, "does not go with --people"
    )
    votes = opt.read_judgments(judgments)["preferences"]
    ranks = rank_sets(votes, people=people)
    opt.write_table(ranks.table, output, ranks.metadata | {"version": __version__})
    for note in ranks.notes:
        say(note)
    print_findings(ranks.table, format_of(None), ranks.metadata)


@judgments.command()
@opt.files_option("--qrels", required=True, help=KINDS["qrels"].meaning)
@opt.files_option("--context", required=True, help=KINDS["context"].meaning)
@opt.choice_option(
    "--features",
    allowed=FEATURES,
    help="The two grades as numbers, or an indicator for each value of each.",
)
@click.option(
    "-C",
    "C",
    type=opt.REAL,
    default=1.0,
    metavar="C",
    help="Inverse strength of the penalty of the regression (L2).",
)
@opt.choice_option("--groups", allowed=GROUPS, help="Unit that is kept in one fold.")
@click.option("--folds", type=opt.WHOLE, default=10)
@click.option("--seed", type=opt.WHOLE, default=0, help="Seed of the folds.")
@opt.encoding_option
@opt.file_memory_option
@opt.output_option("Write what is predicted at full precision")
def predict(
    qrels: tuple[str, ...], context: tuple[str, ...], output: str | None, **options: Any
) -> None:
    """Cross-validate predictions of conditional grades from grades in isolation.

    Prints the accuracy, held out, of predicting them as missing=predicted does, beside
    two baselines: the grade in isolation, and the most frequent grade.
    """
    from pgcjax.judging.prediction import predict_context

    prediction = predict_context(qrels, context, **options)
    accuracy = prediction.accuracy.set_index("method")["accuracy"].to_dict()
    metadata = {**prediction.metadata, "accuracy": accuracy, "version": __version__}
    opt.write_table(prediction.predictions, output, metadata, "predictions")
    print_table(prediction.accuracy)
