"""How well do grades in isolation tell what a document is worth after another?"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pgcjax.errors import DataError, UsageError
from pgcjax.tables.context import read_context
from pgcjax.tables.predictions import FEATURES, judged_pairs, learn, predicted_grades
from pgcjax.tables.qrels import read_qrels

METHODS = ("logistic", "isolation", "majority")
GROUPS = ("query", "pair")


@dataclass(frozen=True)
class ContextPrediction:
    """Conditional grades predicted from grades in isolation, and how good they are.

    `evaluate(context=…)` takes it: measures with `missing=predicted` then use it.

    Attributes:
        context: the conditional grades that were given.
        predictions: a row for each two grades in isolation: previous_relevance,
            relevance, predicted, and the probability of each grade (`p_0`, …); learnt
            from all of `context`.
        accuracy: a row for each method: method, accuracy, correct, pairs. `logistic`
            is held out; `isolation` gives the grade in isolation; `majority` the most
            frequent conditional grade of the other folds.
        folds: the same of each fold: fold, queries, pairs, and a column per method.
        confusion: held-out counts, a row for each conditional grade, a column for each
            predicted one.
        changes: conditional grade less grade in isolation: change, pairs, share.
        metadata: what all this depends on.
    """

    context: pd.DataFrame
    predictions: pd.DataFrame
    accuracy: pd.DataFrame
    folds: pd.DataFrame
    confusion: pd.DataFrame
    changes: pd.DataFrame
    metadata: dict[str, Any]


def predict_context(
    qrels: Any,
    context: Any,
    *,
    features: str = "grades",
    C: float = 1.0,
    folds: int = 10,
    groups: str = "query",
    seed: int = 0,
) -> ContextPrediction:
    """Predict conditional grades from the two grades in isolation; say how well.

    Each fold is predicted by what was learnt from the others. Pairs of documents that
    have no grade in isolation are left out.

    Args:
        qrels: what `read_qrels` takes or returns.
        context: what `read_context` takes or returns.
        features: as of `tables.predictions.predicted_grades`.
        C: the same.
        folds: how many (fewer if there are fewer queries).
        groups: what is in one fold as a whole: a `query`, as a new query is what
            predictions are for; or only a `pair`, as in the paper's random split.
        seed: of the random folds.

    Raises:
        DataError: there is nothing to learn from, or less than two groups.
        UsageError: a wrong argument, or scikit-learn is missing.

    Source: Golbus et al. 2014, 3.2 and 5.3.
    """
    if folds < 2:
        raise UsageError(f"folds={folds}: expected at least 2")
    if groups not in GROUPS:
        raise UsageError(f"groups is one of {', '.join(GROUPS)}, not {groups!r}")
    if features not in FEATURES:
        raise UsageError(f"features is one of {', '.join(FEATURES)}, not {features!r}")
    qrels, context = read_qrels(qrels), read_context(context)
    predictions = predicted_grades(qrels, context, features=features, C=C)
    known = judged_pairs(qrels, context)
    fold = _folds(known, groups, folds, seed)
    held_out = _held_out(known, fold, features, C)
    right = {m: held_out[m] == known["conditional"] for m in METHODS}
    rows = [(m, float(x.mean()), int(x.sum()), len(x)) for m, x in right.items()]
    metadata = {"features": features, "C": C, "folds": int(fold.max()) + 1}
    return ContextPrediction(
        context,
        predictions,
        pd.DataFrame(rows, columns=["method", "accuracy", "correct", "pairs"]),
        _by_fold(known, fold, right),
        pd.crosstab(
            known["conditional"].rename("conditional"),
            held_out["logistic"].rename("predicted"),
        ),
        _changes(known),
        {**metadata, "groups": groups, "seed": seed},
    )


def _folds(known: pd.DataFrame, groups: str, folds: int, seed: int) -> np.ndarray:
    """Deal groups at random into folds, all with as many but for one: [pairs]."""
    if groups == "query":
        group, names = pd.factorize(known["query_id"], sort=True)
        number = len(names)
    else:
        # In an order that is that of the data, not of its rows.
        columns = known.columns.tolist()
        group = np.argsort(known.sort_values(columns).index.to_numpy())
        number = len(known)
    if number < 2:
        raise DataError(
            f"expected conditional grades of at least two {_plural(groups)} to learn "
            f"from some and to test on others, found {number}",
            where="context",
            mend="Collect more" + (", or let groups be pair." * (groups == "query")),
        )
    order = np.random.default_rng(seed).permutation(number)
    fold = np.empty(number, np.int64)
    fold[order] = np.arange(number) % folds
    return fold[group]


def _plural(noun: str) -> str:
    return {"query": "queries"}.get(noun, noun + "s")


def _held_out(
    known: pd.DataFrame, fold: np.ndarray, features: str, C: float
) -> pd.DataFrame:
    """Predict each pair by what the other folds tell."""
    found = pd.DataFrame({m: known["relevance"] for m in METHODS})
    for i in range(int(fold.max()) + 1):
        test, others = fold == i, known[fold != i]
        classes, predict = learn(others, features, C)
        grades = known.loc[test, ["previous_relevance", "relevance"]].to_numpy().T
        found.loc[test, "logistic"] = classes[predict(*grades).argmax(axis=1)]
        # Of several that are most frequent, mode() gives the lowest first.
        found.loc[test, "majority"] = others["conditional"].mode()[0]
    return found


def _by_fold(
    known: pd.DataFrame, fold: np.ndarray, right: dict[str, pd.Series]
) -> pd.DataFrame:
    table = pd.DataFrame({"query_id": known["query_id"], "fold": fold, **right})
    by = table.groupby("fold")
    sizes = by["query_id"].agg(queries="nunique", pairs="size")
    return sizes.join(by[list(METHODS)].mean()).reset_index()


def _changes(known: pd.DataFrame) -> pd.DataFrame:
    change = known["conditional"] - known["relevance"]
    counts = change.value_counts().sort_index()
    return pd.DataFrame(
        {
            "change": counts.index.to_numpy(),
            "pairs": counts.to_numpy(),
            "share": counts.to_numpy() / len(known),
        }
    )
