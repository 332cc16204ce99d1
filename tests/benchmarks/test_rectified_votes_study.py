"""The study of few votes by people beside many by a model: what it counts."""

import pytest

pytest.importorskip("benchmarks.harness", reason="not in a checkout")
from benchmarks.studies import rectified_votes as study  # noqa: E402

pytestmark = pytest.mark.slow


def test_hidden_votes_are_drawn_and_intervals_counted(monkeypatch):
    for name, value in {
        "DRAWS": 4,
        "DRAWN": 2,
        "REPLICATES": 40,
        "SHARES": (0.5,),
        "SIMULATED": {"queries": 8, "documents": 12, "runs": 4},
        "PAIRS": 30,
    }.items():
        monkeypatch.setattr(study, name, value)
    populations = [study.simulated(seed) for seed in range(2)]
    found = list(study.rows("simulated", populations, 2))
    kinds = {(row["estimate"], row["over"]) for row in found}
    assert {("draws", "queries"), ("draws", "ranks"), ("people alone", "queries")} <= (
        kinds
    )
    assert ("query by query", "queries") in kinds
    assert all(0 <= row["held"] <= 1 and row["width"] >= 0 for row in found)
    by = {
        (row["of"], row["estimate"]): row for row in found if row["over"] == "queries"
    }
    alone, drawn = by["means", "people alone"], by["means", "draws"]
    assert alone["bias"] < drawn["bias"] < -alone["bias"]  # fewer votes, lower scores
    lines = list(study.tables(found))
    assert len(lines) == 2 + len(kinds) and lines[0].startswith("| collection |")
