"""Findings of a comparison: tables of pairs and of runs."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pgcjax.errors import counted
from pgcjax.io.result import Result
from pgcjax.stats.procedures import FAMILY

_CORRECTED = {"none": "uncorrected", "holm": "Holm", "bh": "Benjamini-Hochberg"}


def tested(settings: Mapping[str, Any]) -> str:
    """Name the test behind findings, its correction, and the settings of p.

    A corrected p depends on the number of comparisons.

    Args:
        settings: Test, correction, comparisons, queries and alpha, as in the metadata
            of a `Comparison`; queries may be a list of several numbers.
    """
    test, many = settings["test"], settings["comparisons"]
    corrected = _CORRECTED[settings["correction"]]
    least, most = (np.min(settings["queries"]), np.max(settings["queries"]))
    queries = counted(most, "query") if least == most else f"{least} to {most} queries"
    if "human_queries" in settings:
        queries = f"{settings['human_queries']} of {queries} judged by people"
    if "collections" in settings:
        queries += f" of {counted(settings['collections'], 'collection')}"
    if "clusters" in settings:
        queries += f" in {counted(settings['clusters'], 'cluster')}"
    if "repeats" in settings:
        queries += f", {counted(settings['repeats'], 'run')} of the systems"
    parts = [test, *([corrected] if many > 1 and test not in FAMILY else [])]
    return ", ".join(
        [*parts, counted(many, "comparison"), queries, f"α = {settings['alpha']:g}"]
    )


@dataclass(frozen=True, kw_only=True)
class Comparison(Result):
    """Findings on pairs of runs.

    Attributes:
        table: A row per pair: run_a, run_b, difference (mean of a less b), low, high
            (interval by the same test: see `procedures.Decision`), effect_size (paired:
            mean of the differences over queries, divided by their standard deviation;
            infinite if they are constant), p_value, p_adjusted, significant (p_adjusted
            < α), identical, p_error (Monte-Carlo standard error of p_value; 0 if it is
            exact). If human scores rectified a model's, both tables also have the
            columns of `Rectified.columns`.
        runs: A row per run: run_id, mean, low, high (Student's t), rank (1 best; runs
            with equal means share a rank), rank_low, rank_high and tier (from
            `rank_ranges.places`; they hold for all runs together; empty with baselines,
            and if p is not corrected for a family of pairs), groups (runs that share a
            letter are not significantly different; empty with baselines). Systems also
            have repeats, repeat_sd and query_sd: standard deviations of means over
            repeats, and of scores over queries.
        components: Variance components of systems' scores, from
            `structure.variance_components`.
    """

    runs: pd.DataFrame
    components: pd.DataFrame | None = None

    @property
    def tested(self) -> str:
        """The test, its correction, and the numbers of comparisons and queries."""
        return tested(self.metadata)

    def save(
        self, path: str | os.PathLike, *, runs: bool = False, spreadsheet: bool = False
    ) -> Path:
        """Write the table of pairs, or of `runs`, as `Result.save` does."""
        findings = Result(self.runs, self.metadata) if runs else super()
        return findings.save(path, spreadsheet=spreadsheet)
