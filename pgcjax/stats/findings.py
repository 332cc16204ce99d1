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
    """Name the test behind findings, how it is corrected, and what p depends on.

    A p depends on the family that is compared: on how many comparisons there are.

    Args:
        settings: test, correction, comparisons, queries and alpha, as in the metadata
            of a `Comparison`; queries may be the least and the largest of several.
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
        table: a row per pair: run_a, run_b, difference (mean of a less b), low, high
            (of an interval by the same test: see `procedures.Decision`), effect_size
            (paired: mean by standard deviation of the differences over
            queries; infinite if they are constant), p_value, p_adjusted, significant
            (p_adjusted < α), identical, p_error (Monte-Carlo standard error of p_value;
            0 if it is exact). Both tables have more columns if human scores
            rectified a model's: those of `Rectified.columns`.
        runs: a row per run: run_id, mean, low, high (Student's t), rank (1 best, equal
            means share one), rank_low, rank_high and tier (of `rank_ranges.places`: all
            of them hold together; empty with baselines, and where p is corrected
            for no family of pairs), groups (runs that share a letter are not
            significantly different; empty with baselines). Of systems also repeats,
            repeat_sd and query_sd: standard deviations of means over repeats, and of
            scores over queries.
        components: of systems, variance components of scores, as of
            `structure.variance_components`.
    """

    runs: pd.DataFrame
    components: pd.DataFrame | None = None

    @property
    def tested(self) -> str:
        """The test, its correction, and how many comparisons and queries there are."""
        return tested(self.metadata)

    def save(
        self, path: str | os.PathLike, *, runs: bool = False, spreadsheet: bool = False
    ) -> Path:
        """Write the table of pairs, or of `runs`, as `Result.save`."""
        findings = Result(self.runs, self.metadata) if runs else super()
        return findings.save(path, spreadsheet=spreadsheet)
