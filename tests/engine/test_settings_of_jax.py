"""Scores are the same bits whatever settings of JAX a host program, or a shell, has."""

import json
import os
import subprocess
import sys

import pytest
from engine.test_every_measure import ONE_TILE, everything, names
from engine.test_grid_batch import MEASURES, pages

import pgcjax
from pgcjax.engine import plan
from pgcjax.tensors.padding import at_least

pytestmark = pytest.mark.slow
STRICT = {"JAX_NUMPY_RANK_PROMOTION": "raise", "JAX_NUMPY_DTYPE_PROMOTION": "strict"}

# In a new process, which traces all programs: none is loaded that was kept.
FRESH = """
import json, sys, warnings
warnings.simplefilter("ignore")
from engine.test_settings_of_jax import scores
print(json.dumps(scores(**json.loads(sys.argv[1]))))
"""


def bits(scores: pgcjax.Scores) -> dict[str, str]:
    table = scores.table.sort_values(["measure", "run_id", "query_id"])
    keys = table[["measure", "run_id", "query_id"]].agg(" ".join, axis=1)
    return dict(zip(keys, (float(x).hex() for x in table["value"]), strict=True))


SMALL = {"documents": 16, "axis": 16, "width": 16, "ranks": 15, "queries": 1}


def scores(lists: list[str], queries: int, all_kinds: bool) -> dict:
    """Score measures of lists; with `all_kinds`, what other kinds of kernels give.

    All kinds have the shapes of `test_every_measure`, whose programs JAX keeps.
    """
    lengths = ONE_TILE if all_kinds else SMALL
    tables = everything(21, queries=queries, runs=2)
    with plan.using(runs=4, queries=2), at_least(**lengths):
        found: dict = bits(pgcjax.evaluate(**tables, measures=lists))
        if all_kinds:
            grids, votes = pages(3, queries=2, systems=2)
            page = pgcjax.evaluate(grids, preferences=votes, measures=MEASURES)
            found |= bits(page)
            runs, preferences = tables["runs"], tables["preferences"]
            for ties in ("w", "a", "b"):
                found[ties] = pgcjax.rankings.rbo(runs, ties=ties).table.to_csv()
            drawn = pgcjax.uncertainty(
                runs, preferences=preferences, measures="PGC", replicates=3
            )
            found["drawn"] = drawn.replicates["PGC"].tolist()
            found["fit"] = pgcjax.judgments.fit(preferences).table.to_csv()
    return found


def fresh(asked: dict, settings: dict[str, str]) -> dict:
    """Score in a process of its own, in which JAX has these settings."""
    folder = os.path.dirname(os.path.dirname(__file__))
    path = os.pathsep.join([folder, os.path.dirname(folder)])
    environment = {**os.environ, "PYTHONPATH": path, **settings}
    done = subprocess.run(
        [sys.executable, "-c", FRESH, json.dumps(asked)],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.mark.filterwarnings("ignore")
def test_strict_promotion_of_types_and_ranks_changes_no_bit():
    pytest.importorskip("sklearn", reason="pip install '.[context]'")
    asked = {"lists": names(), "queries": 2, "all_kinds": True}
    usual = scores(**asked)
    assert len(usual) > 4 * len(names())
    assert fresh(asked, STRICT) == usual


@pytest.mark.filterwarnings("ignore")
def test_without_compilation_no_bit_changes():
    """Of each kind of kernel a measure: one operation after another takes long."""
    measures = ["PGC", "Compat", "nDCG", "wpref", "P+Q", "CCG@10"]
    asked = {"lists": measures, "queries": 1, "all_kinds": False}
    usual = scores(**asked)
    assert len(usual) == 2 * len(measures)
    assert fresh(asked, {"JAX_DISABLE_JIT": "1"}) == usual
