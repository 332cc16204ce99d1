"""What the study of fragility says was measured, and what docs say of it."""

import json
from pathlib import Path

import numpy as np

RESULT = Path(__file__).parents[2] / "benchmarks/results/fragility-cpu.json"


def test_found_is_between_the_proven_bound_and_the_baselines():
    (table,) = json.loads(RESULT.read_text())["tables"]
    columns = dict(zip(table["columns"], zip(*table["rows"], strict=True), strict=True))
    found, proven, greedy, amip = (
        np.array(columns[name], float) for name in ("found", "proven", "greedy", "amip")
    )
    assert not (proven > found).any()
    assert not (found > greedy).any() and not (found > amip).any()
    assert (found / proven <= 2).sum() == 4 and len(found) == 8  # as docs have it
