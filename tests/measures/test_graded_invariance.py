"""Graded measures to the last bit: whatever is padded, cut, renamed, or beside them."""

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
from test_invariance import assert_same_bits, collection

import pgcjax
from pgcjax import listwise, plan
from pgcjax.measures.catalogue import parse_all
from pgcjax.tables.qrels import read_qrels
from pgcjax.tensors.judgments import Judgments

pytestmark = pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning")
MEASURES = ["CG(gain=exp)", "DCG", "DCG(discount=original)@20", "nDCG", "nDCG@5"]
MEASURES += ["MSnDCG@40", "ERR", "ERR(stop=linear,gmax=topic)@20", "nERR", "nERR@3"]
MEASURES += ["Q", "Q(gain=exp,beta=0.3)@5", "O", "O@2", "P+", "P+(gain=exp)@10"]
MEASURES += ["RBP", "RBP(gain=exp,p=0.8)@40", "RBP(value=residual)", "AP", "AP@5"]
MEASURES += ["AP(rel=2,relevant=reachable)@3", "RR", "RR(rel=2)@5", "P", "P@5"]
MEASURES += ["R", "R(rel=2)@20", "Judged", "Judged@5"]


def decimal(tables):
    """Grades whose sums depend on their order."""
    _, qrels, runs = tables
    rng = np.random.default_rng(len(qrels))
    grades = rng.choice([-2, 0, 0.1, 0.3, 0.7, 1, 1.1, 3], len(qrels))
    return qrels.assign(relevance=grades), runs


def scored(tables, measures=MEASURES, **options) -> list[np.ndarray]:
    qrels, runs = decimal(tables)
    chosen = parse_all(measures)
    judgments = Judgments({"qrels": read_qrels(qrels)})
    tensors = [m.definition.tensors(m.parameters, judgments) for m in chosen]
    docs = {q: np.unique(d) for q, d in qrels.groupby("query_id")["doc_id"]}
    rankings = rankings_of(runs, docs)
    out: dict[int, np.ndarray] = {}
    for group in listwise.groups(chosen, tensors):
        parts = listwise.scores(group, rankings, **options)
        out.update(zip(group.places, parts, strict=True))
    return [out[i] for i in range(len(chosen))]


def assert_same(some: list[np.ndarray], others: list[np.ndarray]) -> None:
    for measure, a, b in zip(MEASURES, some, others, strict=True):
        assert a.tobytes() == b.tobytes(), measure


def values(qrels, runs, **options) -> pd.Series:
    table = pgcjax.evaluate(runs, qrels=qrels, measures=MEASURES, **options).table
    return table.set_index(["run_id", "query_id", "measure"])["value"].sort_index()


def test_cut_into_tiles_of_any_size():
    tables = collection(7, queries=6, runs=5, most_docs=70)
    whole = scored(tables)
    assert all(0 < part.mean() for part in whole)
    for budget in (1, 50_000, 500_000):
        assert_same(scored(tables, budget=budget), whole)


def test_padded_to_any_size(monkeypatch):
    tables = collection(8, queries=6, runs=9, most_docs=70)
    whole = scored(tables)
    for width, more in ((64, 1), (300, 37)):
        monkeypatch.setattr(listwise, "_width", lambda n, w=width: w)
        monkeypatch.setattr(listwise, "_axis", lambda n, m=more: n + m)
        assert_same(scored(tables), whole)


def test_alone_or_among_others():
    tables = collection(9, queries=6, runs=9, most_docs=70)
    whole = scored(tables)
    for measure, part in zip(MEASURES, whole, strict=True):
        assert scored(tables, [measure])[0].tobytes() == part.tobytes(), measure


def test_one_run_and_query_at_a_time(monkeypatch):
    tables = collection(10, queries=4, runs=5, most_docs=70)
    whole = scored(tables)
    monkeypatch.setattr(plan, "RUNS", 1)
    monkeypatch.setattr(plan, "QUERIES", 1)
    assert_same(scored(tables), whole)


@settings(max_examples=5)
@given(st.integers(0, 10**6))
def test_lines_permuted_and_documents_renamed(seed):
    qrels, runs = decimal(collection(seed))
    whole = values(qrels, runs)
    shuffled = [t.sample(frac=1, random_state=seed) for t in (qrels, runs)]
    assert_same_bits(whole, values(*shuffled))
    renamed = [
        t.assign(doc_id=t["doc_id"].str.replace("d", "doc-é.", regex=False))
        for t in (qrels, runs)
    ]
    assert_same_bits(whole, values(*renamed))


def test_runs_and_queries_alone_or_together():
    """But for the highest grade, which is that of the collection unless it is given."""
    qrels, runs = decimal(collection(4))
    together = values(qrels, runs)
    apart = [values(qrels, rows) for _, rows in runs.groupby("run_id")]
    assert_same_bits(together, pd.concat(apart).sort_index())
    measures = [m for m in MEASURES if not m.startswith(("ERR", "nERR", "RBP(gain"))]
    measures += ["ERR(gmax=topic)", "nERR(gmax=4)", "RBP(gain=exp,gmax=4)"]

    def some(qrels, runs):
        table = pgcjax.evaluate(runs, qrels=qrels, measures=measures).table
        return table.set_index(["run_id", "query_id", "measure"])["value"].sort_index()

    apart = [
        some(*(t[t.query_id == query] for t in (qrels, runs)))
        for query in qrels.query_id.unique()
    ]
    assert_same_bits(some(qrels, runs), pd.concat(apart).sort_index())


CHILD = """
import sys, warnings
import jax
jax.config.update("jax_num_cpu_devices", int(sys.argv[1]))
warnings.simplefilter("ignore")
from test_graded_invariance import collection, decimal, values
assert len(jax.local_devices()) == int(sys.argv[1])
scores = values(*decimal(collection(3, queries=11)))
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
