"""The score table: one value per run, query and measure; means, matrices, parts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from pathlib import Path
from types import MethodType
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np
from jaxtyping import Float64

from pgcjax.errors import Progress, UsageError, check_choice
from pgcjax.io.choices import SCORE_FORMATS
from pgcjax.io.in_memory import no_table, scores_in_hand
from pgcjax.io.remote import path_of
from pgcjax.io.result import Result
from pgcjax.io.schema import Origin, ids
from pgcjax.io.scores import parquet
from pgcjax.io.scores.door import (
    check_readable,
    checked,
    read_files,
    score_table,
    write_lines,
)
from pgcjax.io.scores.parts import open_parquet
from pgcjax.io.scores.source import ScoreSource, of_table
from pgcjax.io.scores.text import number
from pgcjax.io.write import check_suffix, header, unsealed, write_table, write_text
from pgcjax.later import explaining, pd
from pgcjax.stats.means import of_block

if TYPE_CHECKING:
    from pgcjax.stats.findings import Comparison


class Scores(Result):
    """Scores and their metadata, in memory or stored in files.

    Stored scores are in chunks of a job or in Parquet files. To average them or to
    write .parquet takes memory for a few runs; a matrix takes memory for one measure.

    Attributes:
        table: Columns run_id, query_id, measure and value (float64), sorted by run and
            query, with measures in the order of the request.
        stored: Whether the scores are stored.

    Examples:
        >>> from pgcjax import evaluate
        >>> run, qrels = {"q1": {"a": 9, "b": 8}}, {"q1": {"b": 1}}
        >>> evaluate(run, qrels=qrels, measures="P@2").table["value"].tolist()
        [0.5]
    """

    stored: bool

    def __init__(
        self,
        table: pd.DataFrame | ScoreSource,
        metadata: dict[str, Any] | None = None,
        notes: tuple[str, ...] = (),
    ):
        """Take a table or a source of scores, with metadata and notes."""
        stored = isinstance(table, ScoreSource)
        about = {"metadata": {} if metadata is None else metadata, "notes": notes}
        given = {"source" if stored else "table": table, "stored": stored, **about}
        self.__dict__.update(given)  # the class is frozen

    def __reduce__(self) -> tuple[Any, ...]:
        """Send the table to another process, which may lack the chunks and files."""
        return Scores, (self.table, self.metadata, self.notes)

    @cached_property
    def table(self) -> pd.DataFrame:  # pyright: ignore[reportIncompatibleVariableOverride]
        """All scores as rows; they stay in memory."""
        return self.source.frame()

    @cached_property
    def source(self) -> ScoreSource:
        """The scores in blocks of runs.

        Raises:
            DataError: the table has a score twice.
        """
        return of_table(self.table, self.measures)

    @property
    def measures(self) -> list[str]:
        """Names of the measures, in the order of the request."""
        if "source" in vars(self):
            return list(self.source.measures)
        names = self.table["measure"].unique().tolist()
        first = self.table.head(len(names))
        one_query = len(first[["run_id", "query_id"]].drop_duplicates()) < 2
        requested = self.metadata.get("measures")
        if one_query or not isinstance(requested, list):
            return names
        if set(names) <= {*map(str, requested)}:
            return [*dict.fromkeys(m for m in map(str, requested) if m in set(names))]
        places = {_parsed(text): i for i, text in reversed([*enumerate(requested)])}
        return sorted(names, key=lambda name: places.get(_parsed(name), len(requested)))

    @property
    def runs(self) -> list[str]:
        """Names of the runs, ascending."""
        return list(self.source.run_ids)

    @property
    def count(self) -> int:
        """Number of scores."""
        return self.source.count if self.stored else len(self.table)

    @property
    def means_alone(self) -> bool:
        """Whether there are only means of runs, as scores of the query `all`."""
        return self.stored and self.source.means_alone

    def frames(self) -> Iterator[pd.DataFrame]:
        """Return the table in pieces that hold all scores of their runs."""
        if not self.stored:
            return iter([self.table])
        return (rows.to_pandas() for rows in self.source.tables())

    def mean(self) -> pd.DataFrame:
        """Average over queries: a row per run, a column per measure.

        The best run by the first measure comes first; ties are in the order of ids. The
        mean of measures with `mean=geometric` is geometric; measures with `mean=sum`
        and those that count, such as `NumRet`, are summed.
        """
        means = self._mean_by_run()
        if means.shape[1] == 0:
            return means
        first = means.iloc[:, 0].sort_values(ascending=False, kind="stable")
        return means.loc[first.index]

    def _mean_by_run(self) -> pd.DataFrame:
        """Average as `mean` does, runs ascending."""
        index = pd.Index(self.runs, dtype="str", name="run_id")
        return pd.DataFrame(self._means(), index, pd.Index(self.measures, dtype="str"))

    @property
    def compare(self) -> Callable[..., Comparison]:
        """The function `pgcjax.compare`, applied to these scores."""
        from pgcjax.stats.compare import compare

        return MethodType(compare, self)

    @property
    def correlate(self) -> Callable[..., pd.DataFrame]:
        """The function `pgcjax.correlate`, applied to these scores."""
        from pgcjax.stats.correlation import correlate

        return MethodType(correlate, self)

    def explain(
        self,
        run_id: str,
        query: str | None = None,
        *,
        other: str | None = None,
        measure: str | None = None,
        runs: Any = None,
        topics: Any = None,
        texts: Any = None,
        progress: Progress | None = None,
        **judgments: Any,
    ) -> Any:
        """Explain a score, or the difference of two runs, as `pgcjax.explain` does.

        Scores that `evaluate` made in this process remember runs and judgments that are
        files, or objects that still exist. For other scores, give both as arguments
        once; they are read with the settings (`files.reading`) of the scores. Judgments
        must have the fingerprints, and runs must get the scores, of that time.

        Args:
            run_id: Name of the run.
            query: Name of the query; None explains all, with the loss of each.
            other: Name of a run to compare with.
            measure: Name of the measure; None takes the first.
            runs: Runs that were scored, as in `evaluate`.
            topics: Texts of queries, as in `pgcjax.explain`.
            texts: Texts of documents, as in `pgcjax.explain`.
            progress: Function called with `(stage, done, total)`.
            judgments: Judgments of the scores, such as `preferences=` and `qrels=`.

        Returns:
            An `Explanation`, or a `Difference` if `other` is given.

        Raises:
            UsageError: the run, query or measure does not exist, or runs or judgments
                are missing. DataError: they are not those that were scored.
        """
        name = self.measures[0] if measure is None else self._spelling(measure)
        if runs is not None or judgments:
            self.remember(runs, judgments)
        more = other, topics, texts, progress
        return explaining.explain_scores(self, name, run_id, query, *more)

    def remember(self, runs: Any, judgments: dict[str, Any]) -> Scores:
        """Remember the inputs of `explain` by weak references, which keep no tables."""
        given = {"runs": runs, **judgments}
        inputs = {name: _weak(x) for name, x in given.items() if x is not None}
        self.__dict__.update(inputs=inputs, explainers={})
        return self

    def remembered(self) -> dict[str, Any]:
        """Return the runs and judgments of `remember` that still exist, by name."""
        inputs = {name: get() for name, get in vars(self).get("inputs", {}).items()}
        return {name: value for name, value in inputs.items() if value is not None}

    def _means(self) -> Float64[np.ndarray, "runs measures"]:
        """Compute `mean` without pandas, for printing without its import."""
        names = self.measures
        means = [np.empty((0, len(names)))]
        for _, values, present in self.source.blocks():
            if self.means_alone:
                absent = False if present is None else ~present[:, 0]
                means.append(np.where(absent, np.nan, values[:, 0]))
            else:
                means.append(of_block(values, present, names))
        return np.concatenate(means)

    def matrix(self, measure: str) -> pd.DataFrame:
        """Lay one measure out: a row per run, a column per query; NaN where missing.

        Args:
            measure: Name of the measure, in any spelling: `PGC` finds `PGC(p=0.95)`.

        Raises:
            UsageError: the measure has no scores.
        """
        return self.source.wide(self.measures.index(self._spelling(measure)))

    def _spelling(self, measure: str) -> str:
        """Return the name that a measure, in any spelling, has in these scores."""
        if measure in self.measures:
            return measure
        wanted = _parsed(measure)
        for name in self.measures:
            if _parsed(name) == wanted:
                return name
        there = ", ".join(self.measures)
        raise UsageError(f"no scores of {measure!r}; there are {there}")

    def lines(self, per_query: bool = False, digits: int | None = 4) -> Iterator[str]:
        """Yield lines of trec_eval: `measure<TAB>query<TAB>value`, `all` for the mean.

        Several runs get a first column with the name of the run. Counts are printed as
        whole numbers.

        Args:
            per_query: Whether to print the scores of each query, too.
            digits: Number of decimals; None prints all that a float64 has.
        """

        def line(run: str, measure: str, query: str, value: float) -> str:
            start = f"{run}\t" if several else ""
            return f"{start}{measure}\t{query}\t{number(value, measure, digits)}"

        yield header(self.metadata)
        measures, means = self.measures, self._means()
        several = len(means) > 1
        per_query = per_query and not self.means_alone
        rows = self._rows_by_run() if per_query else ((run, ()) for run in self.runs)
        for (run, scores), mean in zip(rows, means, strict=True):
            for measure, query, value in scores:
                yield line(run, measure, query, value)
            for measure, value in zip(measures, mean, strict=True):
                if not np.isnan(value):
                    yield line(run, measure, "all", float(value))

    def _rows_by_run(self) -> Iterator[tuple[str, Iterable[tuple[str, str, float]]]]:
        """Return measure, query and value of the scores of each run, runs ascending."""
        for table in self.frames():
            by_run = table.groupby("run_id", sort=True, observed=True)
            for run, rows in by_run.indices.items():
                of_run = table.iloc[rows]
                cells = (of_run[c].tolist() for c in ("measure", "query_id", "value"))
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
        .tsv that look like formulas get an apostrophe in front, which changes them.

        A `score_format`, one of `io.choices.SCORE_FORMATS`, overrides the suffix: the
        format is that of another tool, with means as topic `all`, without metadata.

        `progress` is called with `("writing", done, total)` runs.

        Raises:
            UsageError: the suffix is unknown, or does not fit the format.
            DataError: the file cannot be written, or could not be read back.
        """
        if score_format is not None:
            check_choice("score_format", score_format, SCORE_FORMATS)
            means = self._mean_by_run().rename_axis(columns="measure").stack()
            means = pd.DataFrame({"value": means}).dropna().reset_index()
            table = self.table[: 0 if self.means_alone else None]
            return write_lines(table, means, path, score_format)
        suffix = check_suffix(path_of(path))
        to_parquet = suffix == ".parquet"
        if to_parquet and self.stored and (self.count or "part" in self.metadata):
            for names in (self.runs, self.source.query_ids, self.measures):
                ids(pd.Series(names, dtype="str"), Origin(str(path)))
        else:
            check_readable(self.table, str(path), suffix, self.means_alone)
        if to_parquet and self.source.ordered:
            return parquet.write(self.source, path, self.metadata, progress)
        if suffix != ".trec":
            return write_table(self.table, path, self.metadata, spreadsheet=spreadsheet)
        _, *rest = self.lines(True, None)
        if len(self.runs) == 1:  # no other line names a single run
            rest.insert(0, f"runid\tall\t{self.runs[0]}")
        return write_text("\n".join([header(unsealed(self.metadata)), *rest, ""]), path)

    def _shown(self) -> pd.DataFrame:
        return self.mean().reset_index()


def _weak(given: Any) -> Callable[[], Any]:
    """Return a reference to an input; a weak one where its type supports it."""
    if isinstance(given, Iterator):  # can be read only once
        return lambda: None
    if isinstance(given, str | os.PathLike):
        return lambda: given
    try:
        return ref(given)
    except TypeError:  # a list, or a dict
        return lambda: given


def _parsed(text: Any) -> Any:
    """Return the measure of a name, or the name of a measure of another tool."""
    from pgcjax.measures.catalogue import parse  # imports JAX: only if needed

    try:
        return parse(text)
    except UsageError:
        return str(text)


def open_scores(path: str | os.PathLike) -> Scores | pd.DataFrame:
    """Read scores as `read_scores` does, or a table of scores with other columns.

    Raises:
        DataError: the file is no table.
    """
    if stored := open_parquet(path):
        return Scores(*stored)
    files = read_files(path)
    if len(files) == 1 and not files[0].canonical:
        return files[0].frame
    return Scores(*score_table(files))


def read_scores(path: str | os.PathLike | Any) -> Scores:
    """Read scores that `Scores.save` wrote, or any table with the same columns.

    It also takes a table in memory, or a table for each run by name, and files of
    trec_eval, ir_measures and TREC AutoJudge. All files of a folder or pattern are put
    together, as trec_eval writes one for each run. A .parquet file of `Scores.save` is
    read only when needed: a matrix of one measure takes memory for this measure alone.

    Raises:
        DataError: the file is no score table. UsageError: the object is no table.
    """
    if isinstance(path, (str, os.PathLike)):
        stored = open_parquet(path)
        return Scores(*(stored or score_table(read_files(path))))
    frame = scores_in_hand(path)
    if not isinstance(frame, pd.DataFrame):
        raise no_table(frame)
    return Scores(checked(frame, Origin("scores")))
