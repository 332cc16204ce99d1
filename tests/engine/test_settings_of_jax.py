"""Scores are the same bits whatever settings of JAX a host program, or a shell, has."""

import json
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow
STRICT = {"JAX_NUMPY_RANK_PROMOTION": "raise", "JAX_NUMPY_DTYPE_PROMOTION": "strict"}

# In a new process, which traces all programs: none is loaded that was kept.
SCORES = """
import json, sys, warnings
warnings.simplefilter("ignore")
import numpy as np, pgcjax
from engine.test_every_measure import everything, some_names, VARIANTS
from engine.test_grid_batches import MEASURES, pages
from pgcjax.engine import plan
from pgcjax.tensors.padding import at_least

def bits(scores):
    table = scores.table.sort_values(["measure", "run_id", "query_id"])
    keys = table[["measure", "run_id", "query_id"]].agg(" ".join, axis=1)
    return dict(zip(keys, (float(x).hex() for x in table["value"])))

lengths = {"documents": 16, "axis": 16, "width": 16, "ranks": 15}
asked = json.loads(sys.argv[1])
with plan.using(runs=2, queries=2), at_least(**lengths, queries=1, runs=1):
    found = {}
    if asked["lists"]:
        tables = everything(21, queries=asked["queries"], runs=2)
        found |= bits(pgcjax.evaluate(**tables, measures=asked["lists"]))
    if asked["grids"]:
        grids, votes = pages(3, queries=2, systems=2)
        scores = pgcjax.evaluate(grids, preferences=votes, measures=MEASURES)
        found |= bits(scores)
    if asked["others"]:
        runs, preferences = tables["runs"], tables["preferences"]
        for ties in ("w", "a", "b"):
            found[ties] = pgcjax.rbo(runs, ties=ties).table.to_csv()
        drawn = pgcjax.evaluate(
            runs, preferences=preferences, measures="PGC", replicates=3
        )
        found["drawn"] = drawn.uncertainty.replicates["PGC"].tolist()
        found["fit"] = pgcjax.fit(preferences).table.to_csv()
print(json.dumps(found))
"""


def scores(asked: dict, settings: dict[str, str]) -> dict:
    """Score in a process of its own, in which JAX has these settings."""
    folder = os.path.dirname(os.path.dirname(__file__))
    path = os.pathsep.join([folder, os.path.dirname(folder)])
    environment = {**os.environ, "PGCJAX_PROGRAMS": "", "PYTHONPATH": path, **settings}
    done = subprocess.run(
        [sys.executable, "-c", SCORES, json.dumps(asked)],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def test_strict_promotion_of_types_and_ranks_changes_no_bit():
    pytest.importorskip("sklearn", reason="pip install '.[context]'")
    from engine.test_every_measure import names

    asked = {"lists": names(), "grids": True, "queries": 2, "others": True}
    usual, strict = scores(asked, {}), scores(asked, STRICT)
    assert len(usual) > 4 * len(names())
    assert strict == usual


def test_without_compilation_no_bit_changes():
    """Of each kind of kernel a measure: one operation after another takes long."""
    measures = ["PGC", "Compat", "nDCG", "wpref", "P+Q", "CCG@10"]
    asked = {"lists": measures, "grids": False, "queries": 1, "others": False}
    usual, alone = scores(asked, {}), scores(asked, {"JAX_DISABLE_JIT": "1"})
    assert len(usual) == 2 * len(measures) and alone == usual
