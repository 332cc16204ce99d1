"""Drawn runs and judgments, scored by a few measures, to be compared bit by bit."""

import numpy as np
import pandas as pd

import pgcjax

MEASURES = [
    "PGC",
    "PGC(p=0.8,graph=combined)",
    "PGC(graph=derived,normalization=one-minus-p)",
    "PGC(p=0.5,depth=7,normalization=ideal)",
    "Compat(p=0.9)",
]


def collection(seed: int, queries: int = 5, runs: int = 4, most_docs: int = 40):
    """Tables of judgments and runs, tie-heavy, of very different sizes per query."""
    rng = np.random.default_rng(seed)
    prefs, qrels, ranked = [], [], []
    for q in range(queries):
        n = int(rng.integers(2, most_docs))
        docs = [f"d{i:03}" for i in rng.permutation(200)[:n]]
        for _ in range(3 * n):
            a, b = rng.permutation(n)[:2]
            prefs.append((f"q{q}", docs[a], docs[b], float(rng.integers(-1, 2))))
        for d in docs[: n // 2 + 1]:
            qrels.append((f"q{q}", d, float(rng.integers(0, 4))))
        for r in range(runs):
            pool = [*docs, *(f"x{i:03}" for i in range(30))]
            kept = rng.permutation(len(pool))[: int(rng.integers(1, len(pool)))]
            for rank, i in enumerate(kept):
                score = float(np.round(rng.random(), 1))
                ranked.append((f"r{r}", f"q{q}", pool[i], score, rank))
    return (
        pd.DataFrame(
            prefs, columns=["query_id", "doc_id", "other_doc_id", "preference"]
        ),
        pd.DataFrame(qrels, columns=["query_id", "doc_id", "relevance"]),
        pd.DataFrame(ranked, columns=["run_id", "query_id", "doc_id", "score", "rank"]),
    )


def values(prefs, qrels, runs, **options) -> pd.Series:
    scores = pgcjax.evaluate(
        runs, preferences=prefs, qrels=qrels, measures=MEASURES, **options
    )
    keys = ["run_id", "query_id", "measure"]
    return scores.table.set_index(keys)["value"].sort_index()


def assert_same_bits(a: pd.Series, b: pd.Series) -> None:
    assert a.index.equals(b.index) and len(a)
    assert a.to_numpy().tobytes() == b.to_numpy().tobytes()
