"""Files that pgcjax wrote before the redesign are read as they were meant.

`tests/before` was written by commands of version 0.1.0 at commit 45e1e29, of a
collection by `simulate --queries 6 --runs 4 --documents 24 --depth 12 --seed 3`.
"""

import os
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import pytest

import pgcjax
from pgcjax.asking.tournament import Tournament

BEFORE = Path(__file__).parent / "before"
KEYS = ["run_id", "query_id", "measure"]


def sorted_table(scores: pgcjax.Scores) -> pd.DataFrame:
    return scores.table.sort_values(KEYS)[[*KEYS, "value"]].reset_index(drop=True)


@pytest.fixture(scope="module")
def expected() -> pd.DataFrame:
    table = pd.read_csv(BEFORE / "scores.csv", comment="#")
    table = table.sort_values(KEYS)[[*KEYS, "value"]].reset_index(drop=True)
    assert len(table) == 4 * 6 * 2
    return table


@pytest.mark.parametrize("name", ["csv", "tsv", "jsonl", "parquet"])
def test_scores(name, expected):
    scores = pgcjax.files.read_scores(BEFORE / f"scores.{name}")
    pd.testing.assert_frame_equal(sorted_table(scores), expected, check_dtype=False)
    assert scores.metadata["version"] == "0.1.0"


def test_parts(expected):
    scores = pgcjax.files.merge([BEFORE / f"parts.{i}.parquet" for i in (1, 2)])
    pd.testing.assert_frame_equal(sorted_table(scores), expected, check_dtype=False)


@pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning")
def test_packed_runs(expected):
    scores = pgcjax.evaluate(
        BEFORE / "runs.parquet",
        preferences=BEFORE / "preferences.csv",
        qrels=BEFORE / "qrels.txt",
        measures=["PGC", "nDCG@10"],
    )
    pd.testing.assert_frame_equal(sorted_table(scores), expected, check_dtype=False)


def test_replicates():
    found = pgcjax.files.read_uncertainty(BEFORE / "replicates.csv")
    assert found.replicates["PGC"].shape == (20, 4)
    assert found.replicates["PGC"].std(axis=0).min() > 0


def test_scores_by_judges():
    orders = pgcjax.files.read_judge_orders(BEFORE / "judges.csv").orders()
    assert {"judge_a", "judge_b", "low"} <= set(orders.columns) and len(orders) == 6


@pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning")
def test_finished_work(tmp_path, monkeypatch, expected):
    """A journal is continued, and what it holds is not computed again."""
    for name in ("runs", "scores.csv.partial"):
        shutil.copytree(BEFORE / name, tmp_path / name)
    for file in (
        tmp_path / "runs"
    ).iterdir():  # what identifies a file, beside its size
        written = datetime(2026, 11, 1, tzinfo=UTC).timestamp()
        os.utime(file, (written, written))
    monkeypatch.chdir(tmp_path)
    journal = Path("scores.csv.partial")
    before = {file.name: file.read_bytes() for file in journal.iterdir()}
    scores = pgcjax.evaluate(
        sorted(Path("runs").iterdir()),
        preferences=BEFORE / "preferences.csv",
        qrels=BEFORE / "qrels.txt",
        measures=["PGC", "nDCG@10"],
        job=pgcjax.Job(journal=journal),
    )
    pd.testing.assert_frame_equal(sorted_table(scores), expected, check_dtype=False)
    assert before == {file.name: file.read_bytes() for file in journal.iterdir()}


def test_log_of_a_tournament(tmp_path):
    """Ten answers, of which others follow; it goes on as if begun today."""
    shutil.copytree(BEFORE / "asked", tmp_path / "asked")
    tournament = Tournament(tmp_path / "asked")
    requests = tournament.requests()
    assert len(requests) == 58
