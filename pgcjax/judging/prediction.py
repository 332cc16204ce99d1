"""Predict conditional grades from grades in isolation, and measure how well."""

from dataclasses import dataclass
from typing import Any

import pandas as pd

from pgcjax.errors import UsageError, check_choice
from pgcjax.io.context import read_context
from pgcjax.io.qrels import read_qrels
from pgcjax.io.result import Result, computed
from pgcjax.judging.choices import FEATURES, GROUPS
from pgcjax.judging.predicted_grades import (
    FOLDS,
    METHODS,
    conditional_grades,
    deal,
    held_out,
    predicted_grades,
)


@dataclass(frozen=True, kw_only=True)
class ContextPrediction(Result):
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
        table: `predictions`.
    """

    context: pd.DataFrame
    predictions: pd.DataFrame
    accuracy: pd.DataFrame
    folds: pd.DataFrame
    confusion: pd.DataFrame
    changes: pd.DataFrame
    table: pd.DataFrame = computed(lambda self: self.predictions)


def predict_context(
    qrels: Any,
    context: Any,
    *,
    features: str = "grades",
    C: float = 1.0,
    folds: int = FOLDS,
    groups: str = "query",
    seed: int = 0,
) -> ContextPrediction:
    """Predict conditional grades from the two grades in isolation; say how well.

    Each fold is predicted by what was learnt from the others. Pairs of documents that
    have no grade in isolation are left out.

    Args:
        qrels: what `read_qrels` takes or returns.
        context: what `read_context` takes or returns.
        features: the two grades as numbers (`grades`), or an indicator for each grade
            that either may have (`labels`).
        C: inverse strength of the L2 penalty, as scikit-learn has it.
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
    check_choice("groups", groups, GROUPS)
    check_choice("features", features, FEATURES)
    qrels, context = read_qrels(qrels), read_context(context)
    predictions = predicted_grades(qrels, context, features=features, C=C)
    pairs = conditional_grades(qrels, context)
    fold = deal(pairs, groups, folds, seed)
    guess = held_out(pairs, fold, features, C)
    right = {m: guess[m] == pairs["conditional"] for m in METHODS}
    rows = [(m, float(x.mean()), int(x.sum()), len(x)) for m, x in right.items()]
    table = pd.DataFrame({"query_id": pairs["query_id"], "fold": fold, **right})
    by = table.groupby("fold")
    sizes = by["query_id"].agg(queries="nunique", pairs="size")
    change = (pairs["conditional"] - pairs["relevance"]).rename("change")
    changes = change.value_counts().sort_index().rename("pairs").reset_index()
    metadata = {"features": features, "C": C, "folds": int(fold.max()) + 1}
    return ContextPrediction(
        {**metadata, "groups": groups, "seed": seed},
        context=context,
        predictions=predictions,
        accuracy=pd.DataFrame(rows, columns=["method", "accuracy", "correct", "pairs"]),
        folds=sizes.join(by[list(METHODS)].mean()).reset_index(),
        confusion=pd.crosstab(
            pairs["conditional"], guess["logistic"].rename("predicted")
        ),
        changes=changes.assign(share=changes["pairs"] / len(pairs)),
    )
