"""Public judgments and runs, as studies of preferences read them."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

import pgcjax


@dataclass(frozen=True)
class Public:
    """A public collection.

    Attributes:
        name: of judgments and judges.
        preferences: canonical.
        runs: canonical.
    """

    name: str
    preferences: pd.DataFrame
    runs: pd.DataFrame


_FILES = {
    "CAsT 2019, crowd": ("cast2019", "clarke-prefs/TREC-CAsT-2019.pref.gz"),
    "DL 2021, people": ("dl21", "judgments.txt.gz"),
    "DL 2021, GPT-4o": ("dl21", "gpt4o/judge.0*"),
}


def collections(data: Path) -> Iterator[Public]:
    """Read one after the other."""
    for name, (folder, prefs) in _FILES.items():
        yield Public(
            name,
            pgcjax.files.read_preferences(str(data / folder / prefs)),
            pgcjax.files.read_runs(data / folder / "runs", name_by="file"),
        )
