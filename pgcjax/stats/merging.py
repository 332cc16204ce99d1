"""Merging of scores of different runs: parts of one job, or files of other tools."""

import os
from collections.abc import Iterable, Sequence

import pandas as pd

from pgcjax.errors import DataError
from pgcjax.io.schema import first_repeat
from pgcjax.io.scores.door import score_paths
from pgcjax.io.scores.parts import job_of
from pgcjax.io.scores.source import ScoreSource
from pgcjax.stats.scores import Scores, read_scores


def merge(parts: Iterable[Scores | str | os.PathLike]) -> Scores:
    """Merge the parts of one job into the scores of the whole job.

    Scores that are no parts, such as those of other tools, are merged unchanged.

    Args:
        parts: Results of `evaluate(…, part=(i, n))` for each i, in any order; or their
            files, and folders and patterns of these files.

    Raises:
        DataError: a part is missing, given twice, or of another job; or a score that is
            in no part is given twice.
    """
    parts, names = _read(parts)
    if not any("part" in part.metadata for part in parts):
        alone = len(parts) == 1 and parts[0].stored
        return parts[0] if alone else _joined(parts, names)
    job = job_of([p.metadata for p in parts], [p.runs for p in parts], names)
    return Scores(ScoreSource.joined([part.source for part in parts]), job)


def _read(
    parts: Iterable[Scores | str | os.PathLike],
) -> tuple[list[Scores], list[str]]:
    """Read the parts that are files, and name each part for messages."""
    if isinstance(parts, (Scores, str, os.PathLike)):
        parts = [parts]
    scores, names = [], []
    for number, part in enumerate(parts):
        if isinstance(part, Scores):
            scores.append(part)
            names.append(f"parts[{number}]")
            continue
        paths = score_paths(part)
        scores += map(read_scores, paths)
        names += [os.fspath(part)] if len(paths) == 1 else map(str, paths)
    if not scores:
        raise DataError(
            "no part was given", mend="Name files, or give what was scored."
        )
    return scores, names


def _joined(parts: Sequence[Scores], names: Sequence[str]) -> Scores:
    """Merge scores, with the metadata that all of them share."""
    tables = [part.table.assign(file=i) for i, part in enumerate(parts)]
    table = pd.concat(tables, ignore_index=True)
    if repeat := first_repeat(table, ["run_id", "query_id", "measure"]):
        there, here = (names[int(table["file"].iloc[row])] for row in repeat)
        run, query, measure = table.loc[repeat[1], ["run_id", "query_id", "measure"]]
        raise DataError(
            f"scores run {run!r}, query {query!r} by {measure}, as {there} does",
            where=here,
            mend="Keep one.",
        )
    first, *others = (part.metadata for part in parts)
    same = {k: v for k, v in first.items() if all(o.get(k) == v for o in others)}
    table = table.drop(columns="file")
    table = table.sort_values(["run_id", "query_id"], kind="stable", ignore_index=True)
    return Scores(table, same)
