"""All measures of the catalogue at once: as their twins, and the same bits always."""

import numpy as np
import pandas as pd
import pytest
from test_invariance import collection

import pgcjax
from pgcjax import listwise, plan
from pgcjax.measures.catalogue import catalogue, parse

pytestmark = pytest.mark.slow


def names() -> list[str]:
    found = [
        name + {"no": "", "may": "", "must": "@10"}[definition.cutoff]
        for name, definition in catalogue().items()
    ]
    found += [f"{n}@5" for n, d in catalogue().items() if d.cutoff == "may"]
    return [
        n
        for n in found
        if "grids" not in parse(n).definition.needs(parse(n).parameters)
    ]


@pytest.fixture(scope="module")
def tables() -> dict:
    """Runs, and judgments of every kind."""
    rng = np.random.default_rng(1)
    prefs, grades, runs = collection(21, queries=4, runs=5, most_docs=25)
    qrels = grades if isinstance(grades, pd.DataFrame) else None
    assert qrels is not None
    of_intents = pd.concat(
        qrels.assign(intent_id=f"i{i}", relevance=rng.integers(0, 4, len(qrels)))
        for i in range(3)
    )
    queries = sorted(set(qrels["query_id"]))
    rows = [
        (query, f"i{i}", share, kind)
        for query in queries
        for i, (share, kind) in enumerate([(0.5, "inf"), (0.3, "nav"), (0.2, "nav")])
    ]
    intents = pd.DataFrame(
        rows, columns=["query_id", "intent_id", "probability", "kind"]
    )
    after = qrels.groupby("query_id")["doc_id"].shift()
    context = qrels.assign(previous_doc_id=after, relevance=1.0).dropna()
    return {
        "runs": runs,
        "preferences": prefs,
        "qrels": qrels[["query_id", "doc_id", "relevance"]],
        "intent_qrels": of_intents,
        "intents": intents,
        "context": context[["query_id", "doc_id", "previous_doc_id", "relevance"]],
    }


def values(tables: dict, **options) -> pd.Series:
    scores = pgcjax.evaluate(**tables, measures=names(), **options)
    return scores.table.set_index(["run_id", "query_id", "measure"])["value"]


@pytest.mark.filterwarnings("ignore::pgcjax.DataWarning")
def test_same_bits_however_it_is_cut(tables, monkeypatch):
    scores = pgcjax.evaluate(**tables, measures=names(), verify=1.0)
    count = len(scores.table)
    assert scores.notes[-1] == f"{count} of {count} scores recomputed: equal"
    assert count >= 150 * 20
    whole = scores.table.set_index(["run_id", "query_id", "measure"])["value"]
    assert np.isfinite(whole).all()
    with monkeypatch.context() as patch:
        patch.setattr(plan, "RUNS", 1)
        patch.setattr(plan, "QUERIES", 1)
        patch.setattr(listwise, "_width", lambda n: 50)
        patch.setattr(listwise, "_axis", lambda n: n + 5)
        cut = values(tables)
    differs = whole.index[(cut != whole).to_numpy()]
    assert not len(differs), sorted(set(differs.get_level_values("measure")))
