"""Made-up judgments per intent and runs, heavy in ties and navigational intents."""

import numpy as np
import pandas as pd

FIGURE = pd.DataFrame(
    [
        ("q", "doc1", "i", 1.0),
        ("q", "doc2", "i", 7.0),
        ("q", "doc2", "j", 1.0),
        ("q", "doc4", "j", 7.0),
        ("q", "doc5", "i", 1.0),
    ],
    columns=["query_id", "doc_id", "intent_id", "relevance"],
)
"""Figure 1 of Sakai 2012 with gains as grades: L1 is 1, L3 is 7."""
FIGURE_INTENTS = pd.DataFrame(
    {"query_id": "q", "intent_id": ["i", "j"], "kind": ["inf", "nav"]}
)
FIGURE_RUN = {"q": {f"doc{i}": -float(i) for i in range(1, 6)}}


def collection(seed: int, queries: int = 4, runs: int = 3, most_docs: int = 30):
    """Judgments per intent, intents and runs; the last query has nothing relevant.

    Intents are named 2, 10 and so on, so that their order as numbers is not that as
    text; some have no relevant document, some documents are not judged for some.
    """
    rng = np.random.default_rng(seed)
    judged, intents, ranked = [], [], []
    for q in range(queries):
        query, n, m = f"q{q}", int(rng.integers(2, most_docs)), int(rng.integers(1, 6))
        names = [str(i) for i in rng.choice([1, 2, 3, 10, 11, 20], m, replace=False)]
        docs = [f"d{i:03}" for i in rng.permutation(200)[:n]]
        share = rng.integers(1, 5, m)
        for i, name in enumerate(names):
            kind = "nav" if rng.random() < 0.4 else "inf"
            intents.append((query, name, share[i] / share.sum(), kind))
            grades = [-2, 0, 1, 1, 2, 3] if rng.random() < 0.9 else [0]
            for doc in docs:
                if rng.random() < 0.6:
                    grade = 0 if q == queries - 1 else rng.choice(grades)
                    judged.append((query, doc, name, float(grade)))
        judged.append((query, docs[0], names[0], 1.0 if q == 0 else 0.0))
        for r in range(runs):
            pool = [*docs, *(f"x{i:03}" for i in range(10))]
            kept = rng.permutation(len(pool))[: int(rng.integers(1, len(pool)))]
            for rank, i in enumerate(kept):
                score = float(np.round(rng.random(), 1))
                ranked.append((f"r{r}", query, pool[i], score, rank))
    names = ["query_id", "doc_id", "intent_id"]
    return (
        pd.DataFrame(judged, columns=[*names, "relevance"]).drop_duplicates(names),
        pd.DataFrame(intents, columns=["query_id", "intent_id", "probability", "kind"]),
        pd.DataFrame(ranked, columns=["run_id", "query_id", "doc_id", "score", "rank"]),
    )
