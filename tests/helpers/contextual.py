"""Made-up grades of documents after others, and runs where some are right after."""

import numpy as np
import pandas as pd

from helpers.builders import list_scores, rankings_of
from pgcjax.io.graded import read_context, read_qrels
from pgcjax.measures.catalogue import parse_all
from pgcjax.tensors.judgments import Judgments

QRELS = ["query_id", "doc_id", "relevance"]
CONTEXT = ["query_id", "doc_id", "previous_doc_id", "relevance"]
RUNS = ["run_id", "query_id", "doc_id", "score"]


def collection(seed: int, queries: int = 4, runs: int = 3, most_docs: int = 30):
    """Runs, qrels and conditional grades, tie-heavy, of very different sizes.

    Some documents have no grade of their own, some grades are negative, and some
    documents of runs have no grade of any kind.
    """
    rng = np.random.default_rng(seed)
    ranked, qrels, context = [], [], []
    for q in range(queries):
        n = int(rng.integers(3, most_docs))
        docs = [f"d{i:03}" for i in rng.permutation(200)[:n]]
        graded = docs[: n - n // 4]
        qrels += [(f"q{q}", d, float(rng.integers(-1, 4))) for d in graded]
        pairs = {tuple(rng.permutation(n)[:2]) for _ in range(3 * n)}
        for r in range(runs):
            pool = [*docs, *(f"x{i:02}" for i in range(n // 3))]
            kept = rng.permutation(len(pool))[: int(rng.integers(1, len(pool)))]
            scores = np.sort(np.round(rng.random(len(kept)), 1))[::-1]
            ranked += [
                (f"r{r}", f"q{q}", pool[i], float(s))
                for i, s in zip(kept, scores, strict=True)
            ]
            next_to = [
                (b, a) for a, b in zip(kept[:-1], kept[1:], strict=True) if a < n > b
            ]
            pairs |= set(next_to[::2])
        for doc, previous in sorted(pairs):
            grade = float(rng.integers(-1, 4))
            context.append((f"q{q}", docs[doc], docs[previous], grade))
    return (
        pd.DataFrame(ranked, columns=RUNS),
        pd.DataFrame(qrels, columns=QRELS),
        pd.DataFrame(context, columns=CONTEXT),
    )


def scored(tables, measures, predictions=None, **options) -> list[np.ndarray]:
    """Scores [runs, queries] of each measure, by the engine alone."""
    runs, qrels, context = tables
    chosen = parse_all(measures)
    judged = {"qrels": read_qrels(qrels), "context": read_context(context)}
    if predictions is not None:
        judged["predictions"] = predictions
    judgments = Judgments(judged)
    tensors = [m.prepare(judgments) for m in chosen]
    rankings = rankings_of(runs, tensors[0].docs)
    return list_scores(chosen, tensors, rankings, **options)


def modelled(
    seed: int, queries: int, docs: int, weights: np.ndarray
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Qrels, and conditional grades drawn from a multinomial logit of the two grades.

    Args:
        seed: of the draws.
        queries: how many.
        docs: of each query, each graded after the one before it.
        weights: [classes, 3], of 1, the previous grade and the document's own.
    """
    rng = np.random.default_rng(seed)
    grades = rng.integers(0, len(weights), (queries, docs))
    qrels, context = [], []
    for q, own in enumerate(grades):
        qrels += [(f"q{q:03}", f"d{i}", float(g)) for i, g in enumerate(own)]
        for i in range(1, docs):
            chance = probabilities(weights, own[i - 1], own[i])
            grade = float(rng.choice(len(weights), p=chance))
            context.append((f"q{q:03}", f"d{i}", f"d{i - 1}", grade))
    return (
        pd.DataFrame(qrels, columns=QRELS),
        pd.DataFrame(context, columns=CONTEXT),
    )


def probabilities(weights: np.ndarray, before: float, own: float) -> np.ndarray:
    """The probability of each class, by the model itself."""
    logits = weights @ np.array([1.0, before, own])
    chance = np.exp(logits - logits.max())
    return chance / chance.sum()
