"""The verb that predicts grades of documents after others: predict."""

import click

from pgcjax.cli.commands import cli
from pgcjax.cli.options import FILE, lines_of
from pgcjax.cli.progress import say


@cli.command()
@click.option(
    "--qrels",
    required=True,
    multiple=True,
    type=FILE,
    metavar="FILE",
    help="Graded judgments.",
)
@click.option(
    "--context",
    required=True,
    multiple=True,
    type=FILE,
    metavar="FILE",
    help="Grades of a document after another: query doc previous-doc grade.",
)
@click.option(
    "--features",
    type=click.Choice(["grades", "labels"]),
    default="grades",
    show_default=True,
    help="The two grades as numbers, or an indicator for each value of each.",
)
@click.option(
    "-C",
    "strength",
    type=float,
    default=1.0,
    show_default=True,
    metavar="C",
    help="Inverse strength of the penalty of the regression (L2).",
)
@click.option(
    "--groups",
    type=click.Choice(["query", "pair"]),
    default="query",
    show_default=True,
    help="What a fold holds as a whole.",
)
@click.option("--folds", type=int, default=10, show_default=True)
@click.option("--seed", type=int, default=0, show_default=True, help="Of the folds.")
@click.option(
    "-o",
    "--output",
    type=FILE,
    metavar="FILE",
    help="Write what is predicted at full precision: .csv .tsv .jsonl .parquet.",
)
def predict(
    qrels: tuple[str, ...],
    context: tuple[str, ...],
    features: str,
    strength: float,
    groups: str,
    folds: int,
    seed: int,
    output: str | None,
) -> None:
    """Say how well grades tell what documents are worth after others.

    Prints the accuracy, held out, of predicting them as missing=predicted does, beside
    two baselines: the grade in isolation, and the most frequent grade.
    """
    from pgcjax._version import __version__
    from pgcjax.io.write import TABLE_SUFFIXES, check_target, write_table
    from pgcjax.judging.prediction import predict_context

    if output:
        check_target(output, TABLE_SUFFIXES)
    found = predict_context(
        qrels,
        context,
        features=features,
        C=strength,
        folds=folds,
        groups=groups,
        seed=seed,
    )
    if output:
        accuracy = found.accuracy.set_index("method")["accuracy"].to_dict()
        used = {**found.metadata, "accuracy": accuracy, "version": __version__}
        write_table(found.predictions, output, used)
        say(f"wrote {len(found.predictions)} predictions to {output}")
    for line in lines_of(found.accuracy):
        click.echo(line)
