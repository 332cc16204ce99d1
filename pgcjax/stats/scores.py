"""The score table: one value per run, query and measure; means, matrices, parts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from pgcjax.errors import Progress, UsageError, check_choice
from pgcjax.io import score_parquet
from pgcjax.io.choices import SCORE_FORMATS
from pgcjax.io.in_memory import no_table, scores_in_hand
from pgcjax.io.remote import path_of
from pgcjax.io.result import Result
from pgcjax.io.schema import (
    SCORES,
    Origin,
    canonical,
    ids,
    numbers,
)
from pgcjax.io.score_files import (
    check_readable,
    read_known_scores,
    read_score_table,
    write_lines,
)
from pgcjax.io.score_parts import open_parquet
from pgcjax.io.score_source import ScoreSource, TableScores
from pgcjax.io.score_text import number
from pgcjax.io.write import check_suffix, header, unsealed, write_table, write_text
from pgcjax.later import pd
from pgcjax.stats.means import by_run, of_block


@dataclass(frozen=True)
class Scores(Result):
    """Scores, and how they came about.

    Attributes:
        table: columns run_id, query_id, measure, value (float64); sorted by run and
            query, measures in the order in which they were asked for.

    Examples:
        >>> from pgcjax import evaluate
        >>> run, qrels = {"q1": {"a": 9, "b": 8}}, {"q1": {"b": 1}}
        >>> evaluate(run, qrels=qrels, measures="P@2").table["value"].tolist()
        [0.5]
    """

    @property
    def measures(self) -> list[str]:
        """The measures, as they were asked for and in that order."""
        names = self.table["measure"].unique().tolist()
        first = self.table.head(len(names))
        one_query = len(first[["run_id", "query_id"]].drop_duplicates()) < 2
        asked = self.metadata.get("measures")
        if one_query or not isinstance(asked, list):
            return names
        if set(names) <= {*map(str, asked)}:
            return [*dict.fromkeys(m for m in map(str, asked) if m in set(names))]
        return sorted(names, key=_place_among(asked))  # stable

    @property
    def runs(self) -> list[str]:
        """The runs, ascending."""
        return sorted(self.table["run_id"].unique())

    @property
    def count(self) -> int:
        """How many scores there are."""
        return len(self.table)

    @property
    def means_alone(self) -> bool:
        """Whether there are only means of runs, as scores of the query `all`."""
        return False

    def frames(self) -> Iterator[pd.DataFrame]:
        """Return the table in pieces that hold all scores of their runs."""
        yield self.table

    def mean(self) -> pd.DataFrame:
        """Average over queries: a row per run, a column per measure.

        The mean is geometric of measures with `mean=geometric`, and a sum of those with
        `mean=sum` and of measures that count, such as `NumRet`.
        """
        return by_run(self.table)[self.measures].rename_axis(columns=None)

    def _means(self) -> tuple[Sequence[str], Sequence[str], np.ndarray]:
        """Return runs, measures, and `mean` as an array of them."""
        means = self.mean()
        return list(means.index), list(means.columns), means.to_numpy(float)

    def matrix(self, measure: str) -> pd.DataFrame:
        """Lay one measure out: a row per run, a column per query; NaN where missing.

        Args:
            measure: as asked for, or another spelling: `PGC` finds `PGC(p=0.95)`.

        Raises:
            UsageError: there are no scores of this measure.
        """
        scores = self.table[self.table["measure"] == self._spelling(measure)]
        wide = scores.pivot(index="run_id", columns="query_id", values="value")
        return wide.sort_index(axis=0).sort_index(axis=1)

    def _spelling(self, measure: str) -> str:
        if measure in self.measures:
            return measure
        from pgcjax.measures.catalogue import parse  # imports JAX: only if needed

        for name in self.measures:
            try:
                if parse(name) == parse(measure):
                    return name
            except UsageError:
                continue  # one of them is a measure of another tool
        there = ", ".join(self.measures)
        raise UsageError(f"no scores of {measure!r}; there are {there}")

    def lines(self, per_query: bool = False, digits: int | None = 4) -> Iterator[str]:
        """Print as trec_eval does: `measure<TAB>query<TAB>value`, `all` for the mean.

        A column with the run comes first if there is more than one. Counts are whole.

        Args:
            per_query: also the scores of each query.
            digits: decimals, or None for all that a float64 has.
        """

        def line(run: str, measure: str, query: str, value: float) -> str:
            start = f"{run}\t" if several else ""
            return f"{start}{measure}\t{query}\t{number(value, measure, digits)}"

        yield header(self.metadata)
        run_ids, measures, means = self._means()
        several = len(means) > 1
        per_query = per_query and not self.means_alone
        rows = self._rows_by_run() if per_query else ((run, ()) for run in run_ids)
        for (run, own), mean in zip(rows, means, strict=True):
            for measure, query, value in own:
                yield line(run, measure, query, value)
            for measure, value in zip(measures, mean, strict=True):
                if not np.isnan(value):
                    yield line(run, measure, "all", float(value))

    def _rows_by_run(self) -> Iterator[tuple[str, Iterable[tuple[str, str, float]]]]:
        """Return measure, query and value of the scores of each run, runs ascending."""
        for table in self.frames():
            for run, rows in table.groupby("run_id", sort=True).indices.items():
                own = table.iloc[rows]
                cells = (own[c].tolist() for c in ("measure", "query_id", "value"))
                yield str(run), zip(*cells, strict=True)

    def save(
        self,
        path: str | os.PathLike,
        *,
        spreadsheet: bool = False,
        score_format: str | None = None,
        progress: Progress | None = None,
    ) -> Path:
        """Write all scores at full precision, whole or not at all.

        The suffix decides: .trec (trec_eval's text), .tsv, .csv, .jsonl or .parquet.
        Metadata goes into a first line `# pgcjax {…}` (.trec, .tsv, .csv), a first
        record (.jsonl) or the schema (.parquet). For a `spreadsheet`, names in .csv and
        .tsv that begin as formulas do get an apostrophe, and are other names then.

        A `score_format`, one of `io.choices.SCORE_FORMATS`, decides instead: lines as
        other tools write and read them, with means as topic `all`, without metadata.

        `progress` is called with `("writing", done, total)` runs.

        Raises:
            UsageError: the suffix is none of these, or does not fit the format.
            DataError: the file cannot be written, or not so that it could be read.
        """
        if score_format is not None:
            check_choice("score_format", score_format, SCORE_FORMATS)
            means = self.mean().rename_axis(columns="measure").stack()
            means = pd.DataFrame({"value": means}).dropna().reset_index()
            table = self.table[: 0 if self.means_alone else None]
            return write_lines(table, means, path, score_format)
        suffix = check_suffix(path_of(path))
        check_readable(self.table, str(path), suffix, self.means_alone)
        if suffix == ".parquet":
            table = TableScores.of_table(self.table, self.measures)
            if table:
                return score_parquet.write(table, path, self.metadata, progress)
        if suffix != ".trec":
            return write_table(self.table, path, self.metadata, spreadsheet=spreadsheet)
        _, *rest = self.lines(True, None)
        if len(self.runs) == 1:  # only this line names the run then
            rest.insert(0, f"runid\tall\t{self.runs[0]}")
        return write_text("\n".join([header(unsealed(self.metadata)), *rest, ""]), path)

    def _shown(self) -> pd.DataFrame:
        return self.mean().reset_index()


class StoredScores(Scores):
    """Scores that are in chunks, or in files of Parquet, until they are asked for.

    Means and .parquet files take memory for a few runs, a matrix for one measure.
    """

    source: ScoreSource

    def __init__(
        self,
        source: ScoreSource,
        metadata: dict[str, Any],
        notes: tuple[str, ...] = (),
    ):
        """Take what gives the scores; the rest is as of `Scores`."""
        given = {"source": source, "metadata": metadata, "notes": notes}
        self.__dict__.update(given)  # the class is frozen

    def __reduce__(self) -> tuple[Any, ...]:
        """Send the table to another process, which may lack the chunks and files."""
        return Scores, (self.table, self.metadata, self.notes)

    @cached_property
    def table(self) -> pd.DataFrame:  # pyright: ignore[reportIncompatibleVariableOverride]
        """All scores as rows, in memory from now on."""
        return self.source.frame()

    @property
    def measures(self) -> list[str]:
        """The measures, as they were asked for and in that order."""
        return list(self.source.measures)

    @property
    def runs(self) -> list[str]:
        """The runs, ascending."""
        return list(self.source.run_ids)

    @property
    def count(self) -> int:
        """How many scores there are."""
        return self.source.count

    @property
    def means_alone(self) -> bool:
        """Whether there are only means of runs, as scores of the query `all`."""
        return self.source.means_alone

    def frames(self) -> Iterator[pd.DataFrame]:
        """Return the table in pieces that hold all scores of their runs."""
        return (rows.to_pandas() for rows in self.source.tables())

    def mean(self) -> pd.DataFrame:
        """Average over queries, as `Scores.mean`."""
        *names, means = self._means()
        runs, columns = (pd.Index([*n], dtype="str") for n in names)
        return pd.DataFrame(means, runs.rename("run_id"), columns)

    def _means(self) -> tuple[Sequence[str], Sequence[str], np.ndarray]:
        """Return runs, measures, and `mean` as an array of them."""
        names, alone = self.measures, self.means_alone
        means = [np.empty((0, len(names)))]
        for block in self.source.blocks():
            if alone:
                values, keep = block.values[:, 0], block.keep
                means.append(
                    values if keep is None else np.where(keep[:, 0], values, np.nan)
                )
            else:
                means.append(of_block(block.values, block.keep, names))
        return self.runs, names, np.concatenate(means)

    def matrix(self, measure: str) -> pd.DataFrame:
        """Lay one measure out, as `Scores.matrix`."""
        return self.source.wide(self.source.measures.index(self._spelling(measure)))

    def save(
        self,
        path: str | os.PathLike,
        *,
        spreadsheet: bool = False,
        score_format: str | None = None,
        progress: Progress | None = None,
    ) -> Path:
        """Write all scores, as `Scores.save`; .parquet some runs at a time."""
        suffix = "" if score_format else check_suffix(path_of(path))
        if suffix != ".parquet":
            how: dict[str, Any] = {"score_format": score_format}
            return super().save(path, spreadsheet=spreadsheet, **how)
        source, origin = self.source, Origin(str(path))
        if source.count == 0 and "part" not in self.metadata:
            check_readable(self.table, str(path), suffix)
        for names in (source.run_ids, source.query_ids, source.measures):
            ids(pd.Series(names, dtype="str"), origin)
        return score_parquet.write(source, path, self.metadata, progress)


def _place_among(asked: list[Any]) -> Callable[[str], int]:
    """Find measures among those of a job, however they are spelled."""
    from pgcjax.measures.catalogue import parse  # imports JAX: only if needed

    def parsed(text: Any) -> Any:
        try:
            return parse(text)
        except UsageError:
            return str(text)  # a measure of another tool

    places = {parsed(text): i for i, text in reversed(list(enumerate(asked)))}
    return lambda name: places.get(parsed(name), len(asked))


def open_scores(path: str | os.PathLike) -> Scores | pd.DataFrame:
    """Read scores as `read_scores`, or a table of scores with other columns.

    Raises:
        DataError: the file is no table.
    """
    if found := open_parquet(path):
        return StoredScores(*found)
    table, metadata = read_known_scores(path)
    return table if metadata is None else Scores(table, metadata)


def read_scores(path: str | os.PathLike | Any) -> Scores:
    """Read scores that `Scores.save` wrote, or any table with the same columns.

    A table in memory is taken, too, or one for each run, by its name. So are files of
    trec_eval, ir_measures and TREC AutoJudge; of a folder or pattern, all files are put
    together, as trec_eval writes one for each run. What `Scores.save` wrote as .parquet
    is read when it is asked for: a matrix of one measure needs memory for no other.

    Raises:
        DataError: the file is no score table.
    """
    if not isinstance(path, (str, os.PathLike)):
        return Scores(_checked(scores_in_hand(path)))
    if found := open_parquet(path):
        return StoredScores(*found)
    return Scores(*read_score_table(path))


def _checked(frame: Any) -> pd.DataFrame:
    """Select the columns of a table of scores, with ids and numbers as they should be.

    Raises:
        DataError: a row is malformed. UsageError: this is no table.
    """
    if not isinstance(frame, pd.DataFrame):
        raise no_table(frame)
    origin = Origin("scores")
    table = canonical(frame, origin, SCORES)
    for name in SCORES[:3]:
        table[name] = ids(table[name], origin)
    table["value"] = numbers(table["value"], "value", origin)
    return table
