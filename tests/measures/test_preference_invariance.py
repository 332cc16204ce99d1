"""Preference measures to the last bit: whatever is padded, cut, or beside them."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from builders import rankings_of
from hypothesis import given, settings
from hypothesis import strategies as st
from preference_cases import judged_collection
from test_invariance import assert_same_bits

import pgcjax
from pgcjax import listwise, plan
from pgcjax.measures.catalogue import parse_all
from pgcjax.tables.preferences import read_preferences
from pgcjax.tables.qrels import read_qrels
from pgcjax.tensors.judgments import Judgments

pytestmark = pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning")
MEASURES = ["ppref", "ppref@3", "fpref@3", "wpref", "wpref(weight=upper)@3"]
MEASURES += ["wpref(weight=tool,normalize=false)", "APpref", "APpref@3"]
MEASURES += ["Delta-nDCG@3", "Delta-ERR", "prefs_pair", "prefs_pair_ret"]
MEASURES += ["prefs_avgjg", "prefs_avgjg_imp", "prefs_num_prefs_ful_ret"]
MEASURES += ["APpref(closure=true)", "prefs_avgjg_ret(closure=true)"]
MEASURES += ["ppref(graph=combined)@5", "Delta-nDCG(graph=combined)"]


def scored(tables, measures=MEASURES, **options) -> list[np.ndarray]:
    prefs, qrels, runs = tables
    chosen = parse_all(measures)
    read = {"preferences": read_preferences(prefs), "qrels": read_qrels(qrels)}
    judgments = Judgments(read)
    tensors = [m.definition.tensors(m.parameters, judgments) for m in chosen]
    docs = {
        query: np.array(sorted({d for t in tensors for d in t.docs[query]}), object)
        for query in tensors[0].docs
    }
    rankings = rankings_of(runs, docs)
    out: dict[int, np.ndarray] = {}
    for group in listwise.groups(chosen, tensors):
        parts = listwise.scores(group, rankings, **options)
        out.update(zip(group.places, parts, strict=True))
    return [out[i] for i in range(len(chosen))]


def assert_same(some: list[np.ndarray], others: list[np.ndarray]) -> None:
    for measure, a, b in zip(MEASURES, some, others, strict=True):
        assert a.tobytes() == b.tobytes(), measure


def values(prefs, qrels, runs, **options) -> pd.Series:
    options |= {"preferences": prefs, "qrels": qrels, "measures": MEASURES}
    table = pgcjax.evaluate(runs, **options).table
    return table.set_index(["run_id", "query_id", "measure"])["value"].sort_index()


def test_measures_of_the_same_pairs_share_a_call():
    prefs, *_ = judged_collection(1)
    judgments = Judgments({"preferences": read_preferences(prefs)})
    chosen = parse_all(["ppref", "APpref", "prefs_avgjg", "Delta-ERR", "wpref"])
    tensors = [m.definition.tensors(m.parameters, judgments) for m in chosen]
    assert [g.places for g in listwise.groups(chosen, tensors)] == [[0, 1, 2, 3, 4]]
    again = [m.definition.tensors(m.parameters, judgments) for m in chosen]
    for one, other in zip(tensors, again, strict=True):  # or each call compiles anew
        assert one.kernel is other.kernel


def test_cut_into_tiles_of_any_size():
    tables = judged_collection(7, queries=6, runs=5, most_docs=40)
    whole = scored(tables)
    assert all(0 < part.mean() for part in whole)
    assert_same(scored(tables, budget=100_000), whole)


def test_padded_to_any_size(monkeypatch):
    tables = judged_collection(8, queries=6, runs=9, most_docs=40)
    whole = scored(tables)
    for width, more in ((64, 1), (300, 37)):
        monkeypatch.setattr(listwise, "_width", lambda n, w=width: w)
        monkeypatch.setattr(listwise, "_axis", lambda n, m=more: n + m)
        assert_same(scored(tables), whole)


def test_alone_or_among_others():
    """Others of their call decide how deep lists are laid out."""
    tables = judged_collection(9, queries=4, runs=5, most_docs=40)
    whole = dict(zip(MEASURES, scored(tables), strict=True))
    for measure in MEASURES[::4]:
        alone = scored(tables, [measure])[0]
        assert alone.tobytes() == whole[measure].tobytes(), measure


def test_one_run_and_query_at_a_time(monkeypatch):
    tables = judged_collection(10, queries=4, runs=5, most_docs=40)
    whole = scored(tables)
    monkeypatch.setattr(plan, "RUNS", 1)
    monkeypatch.setattr(plan, "QUERIES", 1)
    assert_same(scored(tables), whole)


@settings(max_examples=2)
@given(st.integers(0, 10**6))
def test_lines_permuted_and_documents_renamed(seed):
    tables = judged_collection(seed, queries=3, runs=3)
    whole = values(*tables)
    shuffled = [t.sample(frac=1, random_state=seed) for t in tables]
    assert_same_bits(whole, values(*shuffled))

    def renamed(table):
        columns = [c for c in ("doc_id", "other_doc_id") if c in table]
        new = {c: table[c].str.replace("d", "doc-é.", regex=False) for c in columns}
        return table.assign(**new)

    assert_same_bits(whole, values(*map(renamed, tables)))


def test_runs_and_queries_alone_or_together():
    prefs, qrels, runs = judged_collection(4, queries=3, runs=2)
    together = values(prefs, qrels, runs)
    apart = [values(prefs, qrels, rows) for _, rows in runs.groupby("run_id")]
    assert_same_bits(together, pd.concat(apart).sort_index())
    apart = [
        values(*(t[t["query_id"] == query] for t in (prefs, qrels, runs)))
        for query in prefs["query_id"].unique()
    ]
    assert_same_bits(together, pd.concat(apart).sort_index())


CHILD = """
import sys, warnings
import jax
jax.config.update("jax_num_cpu_devices", int(sys.argv[1]))
warnings.simplefilter("ignore")
from test_preference_invariance import judged_collection, values
assert len(jax.local_devices()) == int(sys.argv[1])
scores = values(*judged_collection(3, queries=11))
sys.stdout.buffer.write(scores.to_numpy().tobytes())
"""


@pytest.mark.slow
def test_one_or_eight_devices():
    here = Path(__file__).parent
    paths = map(str, [here, here.parent, Path(pgcjax.__file__).parents[1]])
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "JAX_PLATFORMS": "cpu"}
    outputs = [
        subprocess.run(
            [sys.executable, "-c", CHILD, str(devices)],
            env=env,
            capture_output=True,
            check=True,
        ).stdout
        for devices in (1, 8)
    ]
    assert len(outputs[0]) == 8 * 11 * 4 * len(MEASURES)
    assert outputs[0] == outputs[1]
