"""Findings of a comparison: tables of pairs and of runs."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from pgcjax.io.write import write_table


@dataclass(frozen=True)
class Comparison:
    """Findings on pairs of runs.

    Attributes:
        table: a row per pair: run_a, run_b, difference (mean of a less b), low, high,
            effect_size (paired: mean by standard deviation of the differences over
            queries; infinite if they are constant), p_value, p_adjusted, significant
            (p_adjusted < α), identical, p_error (Monte-Carlo standard error of p_value;
            0 if it is exact). Both tables have more columns if human scores
            rectified a model's: those of `Rectified.columns`.
        runs: a row per run: run_id, mean, low, high (Student's t), rank (1 best, equal
            means share one), rank_low, rank_high and tier (of `stats.groups.places`:
            all of them hold together; empty with baselines, and where p is corrected
            for no family of pairs), groups (runs that share a letter are not
            significantly different; empty with baselines).
        metadata: measure, test and all that the findings depend on.
        notes: what the user should know of the data, a line each.
    """

    table: pd.DataFrame
    runs: pd.DataFrame
    metadata: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def save(
        self, path: str | os.PathLike, *, runs: bool = False, spreadsheet: bool = False
    ) -> Path:
        """Write the table of pairs, or of runs, at full precision, whole or not at all.

        Metadata goes where `Scores.save` puts it; an infinite number is empty in JSONL;
        `spreadsheet` is as there.

        Raises:
            UsageError: the suffix is none of .csv, .tsv, .jsonl and .parquet.
            DataError: the file cannot be written.
        """
        table = self.runs if runs else self.table
        return write_table(table, path, self.metadata, spreadsheet=spreadsheet)
