"""Options of files of scores and of tests, and functions that read the files."""

from collections.abc import Sequence
from typing import Any

import click

from pgcjax.cli import options as opt
from pgcjax.cli.verbs import SharedOption
from pgcjax.io.choices import SCORE_FORMATS, SCORE_SUFFIXES
from pgcjax.stats.choices import CORRECTIONS, EACH_LACKING, LACKING, RESAMPLES

_INPUT: dict[str, Any] = {
    "argument": "score_format",
    "type": click.Choice(SCORE_FORMATS),
    "expose_value": False,
}
_SCORE_FORMAT = (
    "How another tool writes scores: SCORES without a header, by default found; or "
    "FILE, whatever its suffix, without metadata."
)
score_format_option = opt.reading_option("score-format", **_INPUT, help=_SCORE_FORMAT)
input_format_option = opt.reading_option(
    "input-format",
    **_INPUT,
    cls=click.Option,
    help="Format of files without a header; by default detected.",
)


def _score_options(
    allowed: Sequence[str], first: str, required: bool = True
) -> opt.Decorator:
    """Add the argument SCORES, and options that select from them."""
    scores: dict[str, Any] = {
        "type": opt.FILE,
        "metavar": "SCORES…",
        "required": required,
    }
    return opt.together(
        click.argument("scores", nargs=-1, **scores),
        opt.measure_option(
            "Measures, such as PGC or nDCG@10,AP; by default all of SCORES."
        ),
        opt.choice_option(
            "--missing",
            allowed=allowed,
            help=f"Treatment of queries that a measure or a run lacks. {first}error: "
            "refuse, drop: leave out, zero: count as 0, both.",
        ),
        score_format_option,
        opt.file_memory_option,
    )


_SHARED = (
    "shared: leave out queries that a measure lacks, refuse those that a run lacks; "
)
_OWN = "own: use all queries of each measure, as compare does; "
score_options = _score_options(LACKING, _SHARED)
each_score_options = _score_options(EACH_LACKING, _OWN + _SHARED)
any_score_options = _score_options(EACH_LACKING, _OWN + _SHARED, required=False)


_COUNTS = ", ".join(f"{count} of {test}" for test, count in RESAMPLES.items())
test_options = opt.together(
    click.option(
        "--correction",
        type=click.Choice(CORRECTIONS),
        help="Correction of p if the test compares single pairs; by default holm.",
    ),
    opt.alpha_option(),
    click.option(
        "--resamples",
        type=opt.WHOLE,
        metavar="N",
        help=f"By default {_COUNTS}, or as many as the correction needs.",
    ),
    opt.seed_option,
)

cluster_option = click.option(
    "--cluster",
    type=opt.FILE,
    metavar="FILE|MARK",
    help="Clusters of queries, such as turns of a conversation: a file of query_id and "
    "cluster, or a character such as _ that ends the cluster's name (31_4 is in "
    "cluster 31). Whole clusters are then resampled: compare and report test by max-t, "
    "uncertainty needs --resample queries.",
)
system_option = click.option(
    "--system",
    type=opt.FILE,
    metavar="FILE|MARK",
    help="Systems of which runs are repeats, as for --cluster: run_id and system. "
    "Systems are then compared, by t, with repeats as a random sample like queries.",
)
collections_option = click.option(
    "--collections",
    type=opt.FILE,
    metavar="FILE|MARK",
    help="Test collections of queries, as for --cluster: query_id and collection. "
    "Means are then over collections, and queries are resampled within each, by max-t. "
    "compare takes each of several SCORES as a collection; uncertainty needs "
    "--resample queries.",
)


def scores_output_option(help: str, **more: Any) -> opt.Decorator:
    """Add -o FILE for scores, and --score-format, the command's `score_format`."""
    return opt.together(
        opt.output_option(help, SCORE_SUFFIXES, folders=True, **more),
        click.option(
            "--score-format",
            cls=SharedOption,
            type=click.Choice(SCORE_FORMATS),
            is_eager=True,  # the check of FILE's suffix needs it
            help=_SCORE_FORMAT,
        ),
    )


def by_name(paths: Sequence[str]) -> dict[str, str]:
    """Name scores by their files."""
    from pgcjax.io.files import stem

    names = [stem(path) for path in paths]
    for name in names:
        if names.count(name) > 1:
            raise click.UsageError(f"two files of scores are called {name}: rename one")
    return dict(zip(names, paths, strict=True))


def score_files(paths: tuple[str, ...]) -> Any:
    """Return one file with one or all measures; or several files, each of one measure.

    Scores without the name of a measure get the name of their file.
    """
    first, *others = paths
    if others:
        return by_name(paths)
    from pgcjax.io.schema import find_columns
    from pgcjax.stats.matrix import NAMES
    from pgcjax.stats.scores import Scores, open_scores

    scores = open_scores(first)
    several = isinstance(scores, Scores) or find_columns(scores, ["measure"], NAMES)
    return scores if several else by_name(paths)
