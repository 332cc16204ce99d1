"""What a comparison found: tables of pairs and of runs, and their files."""

import json
import math
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from pgcjax.io.write import written_beside
from pgcjax.stats.choices import TABLE_SUFFIXES
from pgcjax.stats.scores import check_suffix, header


@dataclass(frozen=True)
class Comparison:
    """Findings on pairs of runs.

    Attributes:
        table: a row per pair: run_a, run_b, difference (mean of a less b), low, high,
            effect_size (paired: mean by standard deviation of the differences over
            queries; infinite if they are constant), p_value, p_adjusted, significant
            (p_adjusted < α), identical, p_error (Monte-Carlo standard error of
            p_value; 0 if it is exact).
        runs: a row per run: run_id, mean, low, high (Student's t), rank (1 best, equal
            means share one), groups (runs that share a letter are not significantly
            different; empty with baselines).
        metadata: measure, test and all that the findings depend on.
        notes: what was seen, a line each.
    """

    table: pd.DataFrame
    runs: pd.DataFrame
    metadata: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def save(self, path: str | os.PathLike, *, runs: bool = False) -> Path:
        """Write the table of pairs, or of runs, at full precision, whole or not at all.

        Metadata goes where `Scores.save` puts it; an infinite number is empty in JSONL.

        Raises:
            UsageError: the suffix is none of .csv, .tsv, .jsonl and .parquet.
            DataError: the file cannot be written.
        """
        return write(self.runs if runs else self.table, path, self.metadata)


def write(frame: pd.DataFrame, target: str | os.PathLike, metadata: dict) -> Path:
    """Write a table of findings, as `Comparison.save` does."""
    path = Path(target)
    suffix = check_suffix(path, TABLE_SUFFIXES)
    with written_beside(path) as beside:
        if suffix == ".parquet":
            import pyarrow as pa
            import pyarrow.parquet as pq

            table = pa.Table.from_pandas(frame, preserve_index=False)
            known = table.schema.metadata or {}
            head = {**known, b"pgcjax": header(metadata).encode()}
            pq.write_table(table.replace_schema_metadata(head), beside)
            return path
        if suffix == ".jsonl":
            records = [{"pgcjax": metadata}, *frame.to_dict("records")]
            text = "".join(_json(record) + "\n" for record in records)
        else:
            separator = "," if suffix == ".csv" else "\t"
            rows = frame.to_csv(index=False, sep=separator, lineterminator="\n")
            text = f"{header(metadata)}\n{rows}"
        beside.write_text(text, encoding="utf-8", newline="\n")
    return path


def _json(record: dict) -> str:
    finite = {
        k: None if isinstance(v, float) and not math.isfinite(v) else v
        for k, v in record.items()
    }
    return json.dumps(finite, ensure_ascii=False, allow_nan=False)
