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
    """Scores, and how they came about: in memory, or stored until they are asked for.

    Of scores that are stored, in chunks of a job or in files of Parquet, means and
    .parquet files take memory for a few runs, a matrix for one measure.

    Attributes:
        table: columns run_id, query_id, measure, value (float64); sorted by run and
            query, measures in the order in which they were asked for.
        stored: whether the scores are stored.

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
        """Take a table, or what gives the scores; the rest is as of `Result`."""
        stored = isinstance(table, ScoreSource)
        about = {"metadata": {} if metadata is None else metadata, "notes": notes}
        given = {"source" if stored else "table": table, "stored": stored, **about}
        self.__dict__.update(given)  # the class is frozen

    def __reduce__(self) -> tuple[Any, ...]:
        """Send the table to another process, which may lack the chunks and files."""
        return Scores, (self.table, self.metadata, self.notes)

    @cached_property
    def table(self) -> pd.DataFrame:  # pyright: ignore[reportIncompatibleVariableOverride]
        """All scores as rows, in memory from now on."""
        return self.source.frame()

    @cached_property
    def source(self) -> ScoreSource:
        """The scores in blocks of runs.

        Raises:
            DataError: a score is in the table twice.
        """
        return of_table(self.table, self.measures)

    @property
    def measures(self) -> list[str]:
        """The measures, as they were asked for and in that order."""
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
        """The runs, ascending."""
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

        The best run by the first measure comes first; equal ones are by their ids. The
        mean is geometric of measures with `mean=geometric`, and a sum of those with
        `mean=sum` and of measures that count, such as `NumRet`.
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
        """The function `pgcjax.compare`, of these scores."""
        from pgcjax.stats.compare import compare

        return MethodType(compare, self)

    @property
    def correlate(self) -> Callable[..., pd.DataFrame]:
        """The function `pgcjax.correlate`, of these scores."""
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
        """Take a score, or the difference of two runs, apart, as `pgcjax.explain` does.

        Scores that `evaluate` made in this process remember runs and judgments, if
        these are files, or objects that are still there. Others are given them once,
        to be read as they were (`files.reading`). Judgments have to be the same by
        their fingerprints; runs have none, and have to get the same scores.

        Args:
            run_id: the run.
            query: the query; all, and what each loses, if None.
            other: a run that it is compared with.
            measure: which one; by default the first.
            runs: what was scored, as of `evaluate`.
            topics: what queries ask, as of `pgcjax.explain`.
            texts: what documents say, likewise.
            progress: called with `(stage, done, total)`.
            judgments: `preferences=`, `qrels=` and others by which it was scored.

        Returns:
            An `Explanation`, or a `Difference` where another run is named.

        Raises:
            UsageError: there is no such run, query or measure, or runs or judgments are
                missing. DataError: they are not those that were scored.
        """
        name = self.measures[0] if measure is None else self._spelling(measure)
        if runs is not None or judgments:
            self.remember(runs, judgments)
        more = other, topics, texts, progress
        return explaining.explain_scores(self, name, run_id, query, *more)

    def remember(self, runs: Any, judgments: dict[str, Any]) -> Scores:
        """Remember what `explain` needs; tables weakly, so that they take no memory."""
        given = {"runs": runs, **judgments}
        inputs = {name: _weak(x) for name, x in given.items() if x is not None}
        self.__dict__.update(inputs=inputs, explainers={})
        return self

    def remembered(self) -> dict[str, Any]:
        """Return the runs and judgments of `remember` that are still there, by name."""
        inputs = {name: get() for name, get in vars(self).get("inputs", {}).items()}
        return {name: value for name, value in inputs.items() if value is not None}

    def _means(self) -> Float64[np.ndarray, "runs measures"]:
        """Compute `mean` without pandas, which what prints it does not import."""
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
            measure: as asked for, or another spelling: `PGC` finds `PGC(p=0.95)`.

        Raises:
            UsageError: there are no scores of this measure.
        """
        return self.source.wide(self.measures.index(self._spelling(measure)))

    def _spelling(self, measure: str) -> str:
        if measure in self.measures:
            return measure
        wanted = _parsed(measure)
        for name in self.measures:
            if _parsed(name) == wanted:
                return name
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
        if len(self.runs) == 1:  # only this line names the run then
            rest.insert(0, f"runid\tall\t{self.runs[0]}")
        return write_text("\n".join([header(unsealed(self.metadata)), *rest, ""]), path)

    def _shown(self) -> pd.DataFrame:
        return self.mean().reset_index()


def _weak(given: Any) -> Callable[[], Any]:
    """Refer to what a user has, weakly where that can be: not to names or lists."""
    if isinstance(given, Iterator):  # which can be read once
        return lambda: None
    if isinstance(given, list | tuple):
        parts = [_weak(part) for part in given]

        def together() -> Any:
            there = [part() for part in parts]
            return None if any(part is None for part in there) else there

        return together
    if isinstance(given, str | os.PathLike):
        return lambda: given
    try:
        return ref(given)
    except TypeError:  # a dict
        return lambda: given


def _parsed(text: Any) -> Any:
    """Return a measure, however it is spelled; the name of another tool's as it is."""
    from pgcjax.measures.catalogue import parse  # imports JAX: only if needed

    try:
        return parse(text)
    except UsageError:
        return str(text)


def open_scores(path: str | os.PathLike) -> Scores | pd.DataFrame:
    """Read scores as `read_scores`, or a table of scores with other columns.

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

    A table in memory is taken, too, or one for each run, by its name. So are files of
    trec_eval, ir_measures and TREC AutoJudge; of a folder or pattern, all files are put
    together, as trec_eval writes one for each run. What `Scores.save` wrote as .parquet
    is read when it is asked for: a matrix of one measure needs memory for no other.

    Raises:
        DataError: the file is no score table. UsageError: this is no table.
    """
    if isinstance(path, (str, os.PathLike)):
        stored = open_parquet(path)
        return Scores(*(stored or score_table(read_files(path))))
    frame = scores_in_hand(path)
    if not isinstance(frame, pd.DataFrame):
        raise no_table(frame)
    return Scores(checked(frame, Origin("scores")))
