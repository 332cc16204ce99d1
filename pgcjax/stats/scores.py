"""The score table: one value per run, query and measure; means, matrices, files."""

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pgcjax.errors import DataError, UsageError
from pgcjax.io import files
from pgcjax.io.schema import ids, numbers
from pgcjax.io.write import written_beside
from pgcjax.stats.choices import SCORE_SUFFIXES

COLUMNS = ["run_id", "query_id", "measure", "value"]
_HEAD = "# pgcjax "


@dataclass(frozen=True)
class Scores:
    """Scores, and how they came about.

    Attributes:
        table: columns run_id, query_id, measure, value (float64); sorted by run and
            query, measures in the order in which they were asked for.
        metadata: version, parameters in full, and conventions.
        notes: what was seen in the data, a line each.
    """

    table: pd.DataFrame
    metadata: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def measures(self) -> list[str]:
        """The measures, as they were asked for."""
        return self.table["measure"].unique().tolist()

    @property
    def runs(self) -> list[str]:
        """The runs, ascending."""
        return sorted(self.table["run_id"].unique())

    def mean(self) -> pd.DataFrame:
        """Average over queries: a row per run, a column per measure."""
        means = self.table.groupby(["run_id", "measure"], sort=True)["value"].mean()
        return means.unstack("measure")[self.measures].rename_axis(columns=None)

    def matrix(self, measure: str) -> pd.DataFrame:
        """Lay one measure out: a row per run, a column per query; NaN where missing.

        Args:
            measure: as asked for, or another spelling: `PGC` finds `PGC(p=0.95)`.

        Raises:
            UsageError: there are no scores of this measure.
        """
        mine = self.table[self.table["measure"] == self._spelling(measure)]
        wide = mine.pivot(index="run_id", columns="query_id", values="value")
        return (
            wide.sort_index(axis=0).sort_index(axis=1).rename_axis(columns="query_id")
        )

    def _spelling(self, measure: str) -> str:
        if measure in self.measures:
            return measure
        from pgcjax.measures.catalogue import parse  # imports JAX: only if needed

        for known in self.measures:
            try:
                if parse(known) == parse(measure):
                    return known
            except UsageError:
                continue  # one of them is a measure of another tool
        raise UsageError(
            f"no scores of {measure!r}; there are {', '.join(self.measures)}"
        )

    def lines(self, per_query: bool = False, digits: int | None = 4) -> Iterator[str]:
        """Print as trec_eval does: `measure<TAB>query<TAB>value`, `all` for the mean.

        A column with the run comes first if there is more than one.

        Args:
            per_query: also the scores of each query.
            digits: decimals, or None for all that a float64 has.
        """

        def line(run: str, measure: str, query: str, value: float) -> str:
            number = repr(value) if digits is None else f"{value:.{digits}f}"
            start = f"{run}\t" if several else ""
            return f"{start}{measure}\t{query}\t{number}"

        yield header(self.metadata)
        means = self.mean()
        several = len(means) > 1
        rows = self.table.groupby("run_id").indices if per_query else {}
        for run, mean in zip(means.index, means.to_numpy(float), strict=True):
            if per_query:
                mine = self.table.iloc[rows[run]]
                cells = (mine[c].tolist() for c in ("measure", "query_id", "value"))
                for measure, query, value in zip(*cells, strict=True):
                    yield line(run, measure, query, value)
            for measure, value in zip(means.columns, mean, strict=True):
                if not np.isnan(value):
                    yield line(run, measure, "all", float(value))

    def save(self, path: str | os.PathLike) -> Path:
        """Write all scores at full precision, whole or not at all.

        The suffix decides: .trec (trec_eval's text), .tsv, .csv, .jsonl or .parquet.
        Metadata goes into a first line `# pgcjax {…}` (.trec, .tsv, .csv), a first
        record (.jsonl) or the schema (.parquet).

        Raises:
            UsageError: the suffix is none of these.
            DataError: the file cannot be written.
        """
        path = Path(path)
        suffix = check_suffix(path)
        with written_beside(path) as beside:
            if suffix == ".parquet":
                self._save_parquet(beside)
                return path
            if suffix == ".trec":
                head, *rest = self.lines(True, None)
                if len(self.runs) == 1:  # only this line names the run then
                    rest.insert(0, f"runid\tall\t{self.runs[0]}")
                text = "\n".join([head, *rest, ""])
            elif suffix == ".jsonl":
                records = self.table.to_dict("records")
                text = "".join(
                    json.dumps(r, ensure_ascii=False) + "\n"
                    for r in [{"pgcjax": self.metadata}, *records]
                )
            else:
                separator = "," if suffix == ".csv" else "\t"
                rows = self.table.to_csv(
                    index=False, sep=separator, lineterminator="\n"
                )
                text = f"{header(self.metadata)}\n{rows}"
            beside.write_text(text, encoding="utf-8", newline="\n")
        return path

    def _save_parquet(self, path: Path) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        table = pa.Table.from_pandas(self.table, preserve_index=False)
        metadata = table.schema.metadata or {}
        head = header(self.metadata).encode()
        pq.write_table(
            table.replace_schema_metadata({**metadata, b"pgcjax": head}), path
        )


def merge(parts: Sequence[Scores], names: Sequence[str]) -> Scores:
    """Put the parts of one job together: the same scores as without parts.

    Args:
        parts: scores whose metadata have `part: [i, n]`, 1 <= i <= n.
        names: what to call each part in a message.

    Raises:
        DataError: a part is missing, there twice, or of another job.
    """
    jobs = [{k: v for k, v in p.metadata.items() if k != "part"} for p in parts]
    total = parts[0].metadata.get("part", [0, 0])[1]
    seen: dict[int, str] = {}
    runs: dict[str, str] = {}
    for score, job, name in zip(parts, jobs, names, strict=True):
        i, n = score.metadata.get("part", [0, 0])
        if not i:
            raise DataError("is no part of a job (evaluate --part I/N)", where=name)
        if n != total or job != jobs[0]:
            other = [k for k in job if job[k] != jobs[0].get(k)]
            what = f"it differs in {other[0]}" if other else f"it is one of {n} parts"
            raise DataError(f"is of another job than {names[0]}: {what}", where=name)
        if i in seen:
            raise DataError(f"is part {i}/{n}, as {seen[i]} is", where=name)
        seen[i] = name
        for run in score.runs:
            if run in runs:
                raise DataError(f"scores run {run!r}, as {runs[run]} does", where=name)
            runs[run] = name
    missing = [f"{i}/{total}" for i in range(1, total + 1) if i not in seen]
    if missing:
        raise DataError(f"parts are missing: {', '.join(missing)}", mend="Add them.")
    table = pd.concat([p.table for p in parts], ignore_index=True)
    # Stable: measures stay in the order in which they were asked for.
    table = table.sort_values(["run_id", "query_id"], kind="stable", ignore_index=True)
    return Scores(table, jobs[0])


def header(metadata: dict[str, Any]) -> str:
    """Say version, parameters and conventions in one comment line."""
    return _HEAD + json.dumps(metadata, ensure_ascii=False)


def check_target(
    path: str | os.PathLike, suffixes: tuple[str, ...] = SCORE_SUFFIXES
) -> None:
    """Refuse an output file that could not be written, before work is spent on it.

    Raises:
        UsageError: its suffix is none of these, its folder is missing, or it is a
            folder itself.
    """
    check_suffix(Path(path), suffixes)
    if not Path(path).parent.is_dir():
        raise UsageError(f"{path}: there is no folder {Path(path).parent}; make it")
    if Path(path).is_dir():
        raise UsageError(f"{path}: is a folder; name a file")


def check_suffix(path: Path, suffixes: tuple[str, ...] = SCORE_SUFFIXES) -> str:
    """Give the suffix of an output file.

    Raises:
        UsageError: it is none of these.
    """
    if path.suffix.lower() not in suffixes:
        raise UsageError(
            f"{path}: the suffix of an output file is one of {', '.join(suffixes)}"
        )
    return path.suffix.lower()


def read_scores(path: str | os.PathLike) -> Scores:
    """Read scores that `Scores.save` wrote, or any table with the same columns.

    Raises:
        DataError: the file is no score table.
    """
    path = Path(path)
    content = files.load(path, "tabs" if path.suffix.lower() == ".trec" else "auto")
    metadata: dict[str, Any] = {}
    if isinstance(content, files.Columns):
        content = _from_trec(content)
    frame = content.frame
    for line in content.head:
        if line.startswith(_HEAD):
            try:
                metadata = json.loads(line.removeprefix(_HEAD))
            except ValueError:
                raise DataError(
                    "expected JSON after '# pgcjax'",
                    where=f"{path}:1",
                    mend="Restore or remove the line.",
                ) from None
    if "pgcjax" in frame and isinstance(frame["pgcjax"].iloc[0], dict):
        metadata = frame["pgcjax"].iloc[0]
        frame = frame.iloc[1:].reset_index(drop=True)
    missing = [name for name in COLUMNS if name not in frame]
    if missing:
        raise DataError(
            f"missing columns {missing} (found {list(frame.columns)})",
            where=str(path),
            mend="A score table has run_id, query_id, measure, value.",
        )
    table = frame[COLUMNS].copy()
    for name in COLUMNS[:3]:
        table[name] = ids(table[name], content.origin)
    table["value"] = numbers(table["value"], "value", content.origin)
    return Scores(table, metadata)


def _from_trec(content: files.Columns) -> files.Named:
    rows, places = [], []
    names = [row[2] for row in content.rows if row[:2] == ["runid", "all"]]
    name = names[0] if names else files.stem(content.origin.name)
    for i, row in enumerate(content.rows):
        if len(row) not in (3, 4):
            raise DataError(
                f"expected '[run] measure query value', found {content.text(i)}",
                where=content.origin.at(i),
            )
        if row[-2] != "all":
            rows.append([name, *row] if len(row) == 3 else row)
            places.append(content.origin.places[i])
    origin = content.origin
    frame = pd.DataFrame(rows, columns=["run_id", "measure", "query_id", "value"])
    head = tuple(content.head)
    return files.Named(
        frame, type(origin)(origin.name, origin.unit, np.array(places)), head
    )
