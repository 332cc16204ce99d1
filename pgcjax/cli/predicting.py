"""The verb that predicts grades of documents after others: predict."""

from typing import Any

import click

from pgcjax._version import __version__
from pgcjax.cli.commands import judgments
from pgcjax.cli.formats import print_table
from pgcjax.cli.options import (
    REAL,
    WHOLE,
    choice_option,
    encoding_option,
    file_memory_option,
    files_option,
    output_option,
    write_table,
)
from pgcjax.io.judgments import KINDS
from pgcjax.judging.choices import FEATURES, GROUPS


@judgments.command()
@files_option("--qrels", required=True, help=KINDS["qrels"].meaning)
@files_option("--context", required=True, help=KINDS["context"].meaning)
@choice_option(
    "--features",
    allowed=FEATURES,
    help="The two grades as numbers, or an indicator for each value of each.",
)
@click.option(
    "-C",
    "C",
    type=REAL,
    default=1.0,
    metavar="C",
    help="Inverse strength of the penalty of the regression (L2).",
)
@choice_option("--groups", allowed=GROUPS, help="Unit that is kept in one fold.")
@click.option("--folds", type=WHOLE, default=10)
@click.option("--seed", type=WHOLE, default=0, help="Seed of the folds.")
@encoding_option
@file_memory_option
@output_option("Write what is predicted at full precision")
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
    write_table(prediction.predictions, output, metadata, "predictions")
    print_table(prediction.accuracy)
