"""What the study of fragility says was measured, and what docs say of it."""

import json
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "name", ["fragility-cpu", "fragility-reverse-cpu", "fragility-ppref-cpu"]
)
def test_found_is_between_the_proven_bound_and_the_baselines(name):
    result = ROOT / f"benchmarks/results/{name}.json"
    (table,) = json.loads(result.read_text())["tables"]
    columns = dict(zip(table["columns"], zip(*table["rows"], strict=True), strict=True))
    found, proven, greedy, amip = (
        np.array(columns[name], float) for name in ("found", "proven", "greedy", "amip")
    )
    assert not (proven > found).any()
    assert not (found > greedy).any() and not (found > amip).any()
    page = " ".join((ROOT / "docs/how-sure-evidence.md").read_text("utf-8").split())
    for text in (
        f"{len(found)} pairs of neighbours",
        f"bound is 1 in {(found == proven).sum()} pairs",
        f"2 or less in {(found / proven <= 2).sum()}",
        f"shorter in {(found < greedy).sum()} pairs",
    ):
        assert text and text in page
