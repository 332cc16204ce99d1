"""Conditional grades predicted from grades in isolation, with their accuracy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
from jaxtyping import Float64, Int64, Num, Shaped

from pgcjax.errors import DataError, UsageError, check_choice
from pgcjax.io.graded import read_qrels
from pgcjax.io.result import Result, computed
from pgcjax.io.schema import check_squares
from pgcjax.judging.choices import FEATURES, GROUPS
from pgcjax.later import pd

METHODS = ("logistic", "isolation", "majority")
FOLDS = 10
_GRADES = ["previous_relevance", "relevance", "conditional"]
MOST = 100  # most distinct grades; numbers with more are not labels
Grades = Float64[np.ndarray, " pairs"]
Predict = Callable[[Grades, Grades], Float64[np.ndarray, "pairs classes"]]
"""Returns the probability of each class, given the grades of previous documents and of
the documents themselves."""


@dataclass(frozen=True, kw_only=True)
class ContextPrediction(Result):
    """Conditional grades predicted from grades in isolation, and their accuracy.

    `evaluate(context=…)` takes it: measures with `missing=predicted` then use it.

    Attributes:
        context: Conditional grades that were given.
        predictions: A row for each combination of two grades in isolation:
            previous_relevance, relevance, predicted, and the probability of each grade
            (`p_0`, …). All of `context` is training data.
        accuracy: A row for each method: method, accuracy, correct, pairs. `logistic`
            predicts each fold from the others; `isolation` predicts the grade in
            isolation; `majority` the most frequent conditional grade of other folds.
        table: `predictions`.
    """

    context: pd.DataFrame
    predictions: pd.DataFrame
    accuracy: pd.DataFrame
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
    """Predict conditional grades from the two grades in isolation, with their accuracy.

    Each fold is predicted by a regression on the others. Pairs with a document that
    has no grade in isolation are left out.

    Args:
        qrels: Grades, as `read_qrels` takes or returns them.
        context: Conditional grades, as `read_context` takes or returns them.
        features: The two grades as numbers (`grades`), or an indicator for each grade
            that either may have (`labels`).
        C: Inverse strength of the L2 penalty, as in scikit-learn.
        folds: Number of folds (fewer if there are fewer queries).
        groups: Unit that is kept in one fold: a `query`, because predictions are for
            new queries; or only a `pair`, as in the paper's random split.
        seed: Seed of the random folds.

    Raises:
        DataError: there are no pairs to learn from, or fewer than two groups.
        UsageError: a wrong argument, or scikit-learn is missing.

    Source: Golbus et al. 2014, 3.2 and 5.3.
    """
    if folds < 2:
        raise UsageError(f"folds={folds}: expected at least 2")
    check_choice("groups", groups, GROUPS)
    check_choice("features", features, FEATURES)
    from pgcjax.io.graded import read_context  # loads pandas

    qrels, context = read_qrels(qrels), read_context(context)
    predictions = predicted_grades(qrels, context, features=features, C=C)
    pairs = conditional_grades(qrels, context)
    fold = deal(pairs, groups, folds, seed)
    guess = held_out(pairs, fold, features, C)
    right = {m: guess[m] == pairs["conditional"] for m in METHODS}
    rows = [(m, float(x.mean()), int(x.sum()), len(x)) for m, x in right.items()]
    metadata = {"features": features, "C": C, "folds": int(fold.max()) + 1}
    return ContextPrediction(
        {**metadata, "groups": groups, "seed": seed},
        context=context,
        predictions=predictions,
        accuracy=pd.DataFrame(rows, columns=["method", "accuracy", "correct", "pairs"]),
    )


def conditional_grades(qrels: pd.DataFrame, context: pd.DataFrame) -> pd.DataFrame:
    """List the conditional grades for which both documents have a grade in isolation.

    Returns:
        A row for each: query_id, previous_relevance, relevance (grades of the two
        documents in isolation) and conditional. Negative grades become 0.
    """
    grades = qrels[["query_id", "doc_id", "relevance"]]
    before = grades.set_axis(
        ["query_id", "previous_doc_id", "previous_relevance"], axis=1
    )
    rows = context.rename(columns={"relevance": "conditional"})
    rows = rows.merge(grades, on=["query_id", "doc_id"])
    rows = rows.merge(before, on=["query_id", "previous_doc_id"])
    return rows[["query_id"]].join(rows[_GRADES].clip(lower=0) + 0.0)


def predicted_grades(
    qrels: pd.DataFrame,
    context: pd.DataFrame,
    *,
    features: str = "grades",
    C: float = 1.0,
) -> pd.DataFrame:
    """Predict conditional grades from the two grades in isolation.

    Multinomial logistic regression on g(d) and g(d') gives the probability of each
    grade that g(d|d') may have. The most probable grade is predicted, and the lower one
    of two equally probable grades. Negative grades become 0.

    Args:
        qrels: Canonical grades.
        context: Canonical conditional grades, to learn from.
        features: The two grades as numbers (`grades`), or an indicator for each grade
            that either may have (`labels`).
        C: Inverse strength of the L2 penalty, as in scikit-learn.

    Returns:
        A row for each combination of two grades in the qrels, ascending:
        previous_relevance, relevance, predicted, and the probability of each grade
        (`p_0`, `p_1`, …).

    Raises:
        DataError: there are no pairs to learn from, or grades are not labels.
        UsageError: a wrong argument, or scikit-learn is missing.

    Source: Golbus et al. 2014, 3.2 and 5.3.
    """
    pairs = conditional_grades(qrels, context)
    if pairs.empty:
        raise DataError(
            "the qrels grade both documents of no conditional grade: there are no "
            "training data",
            where="context",
            mend="Do both name queries and documents in the same way?",
        )
    grades = np.unique(qrels["relevance"].to_numpy(np.float64).clip(min=0) + 0.0)
    given = pairs["conditional"].unique()
    for where, labels in (("qrels", grades), ("context", given)):
        check_squares(labels, "grades", where)
        if len(labels) > MOST:
            raise DataError(
                f"expected at most {MOST} different grades to predict from, found "
                f"{len(labels)}",
                where=where,
                mend="Round them: prediction takes grades as labels.",
            )
    classes, predict = learn(pairs, features, C)
    before, relevance = (
        axis.ravel() for axis in np.meshgrid(grades, grades, indexing="ij")
    )
    probability = predict(before, relevance)
    table = pd.DataFrame({"previous_relevance": before, "relevance": relevance})
    table["predicted"] = classes[probability.argmax(axis=1)]
    names = [f"p_{np.format_float_positional(g, trim='-')}" for g in classes]
    return table.join(pd.DataFrame(probability, columns=names))


def learn(
    pairs: pd.DataFrame, features: str, C: float
) -> tuple[Float64[np.ndarray, " classes"], Predict]:
    """Fit the regression to rows of `conditional_grades`.

    Returns:
        The classes, which are the predicted grades, and the fitted regression.

    Raises:
        UsageError: a wrong argument, or scikit-learn is missing.
    """
    check_choice("features", features, FEATURES)
    if not 0 < C < inf:
        raise UsageError(f"C={C}: expected a number above 0")
    # Equal rows count as one with a weight, so their order has no effect.
    counts = pairs.groupby(_GRADES).size().reset_index()
    before, relevance, given, weight = counts.to_numpy().T
    levels = np.unique(np.concatenate([before, relevance]))

    def encoded(*grades: Grades) -> Float64[np.ndarray, "pairs features"]:
        if features == "grades":
            return np.stack(grades, axis=1)
        return np.hstack([x[:, None] == levels for x in grades]).astype(float)

    # Classes are numbered, because scikit-learn takes decimals for regression targets.
    classes, number = np.unique(given, return_inverse=True)
    model = fit_logistic(encoded(before, relevance), number, C=C, weight=weight)
    return classes, lambda *grades: model.predict_proba(encoded(*grades))


def deal(
    pairs: pd.DataFrame, groups: str = "query", folds: int = FOLDS, seed: int = 0
) -> Int64[np.ndarray, " rows"]:
    """Assign rows of `conditional_grades` at random to folds of a cross-validation.

    A fold has whole groups: all rows of a `query`, or a `pair`, which is a single row.
    There are at most as many folds as groups; their sizes differ by one group at most.

    Returns:
        The fold of each row, from 0.

    Raises:
        DataError: there are fewer than two groups.
    """
    if groups == "query":
        group, names = pd.factorize(pairs["query_id"], sort=True)
        number, noun = len(names), "queries"
    else:
        # Groups are sorted by their data, so the order of rows has no effect.
        columns = pairs.columns.tolist()
        group = np.argsort(pairs.sort_values(columns).index.to_numpy())
        number, noun = len(pairs), "pairs"
    if number < 2:
        raise DataError(
            f"expected conditional grades of at least two {noun} to train on some and "
            f"test on others, found {number}",
            where="context",
            mend="Collect more" + (", or let groups be pair." * (groups == "query")),
        )
    order = np.random.default_rng(seed).permutation(number)
    fold = np.empty(number, np.int64)
    fold[order] = np.arange(number) % folds
    return fold[group]


def held_out(
    pairs: pd.DataFrame,
    fold: Int64[np.ndarray, " rows"],
    features: str = "grades",
    C: float = 1.0,
) -> pd.DataFrame:
    """Predict the conditional grade of each pair from the folds without it.

    Args:
        pairs: Rows of `conditional_grades`.
        fold: Fold of each row, as from `deal`.
        features: As in `predicted_grades`.
        C: As in `predicted_grades`.

    Returns:
        A row for each row of `conditional_grades`, a column for each of `METHODS`:
        `logistic`, the regression; `isolation`, the grade of the document itself;
        `majority`, the most frequent conditional grade of the other folds.
    """
    guess = pd.DataFrame({m: pairs["relevance"] for m in METHODS})
    for i in range(int(fold.max()) + 1):
        test, others = fold == i, pairs[fold != i]
        classes, predict = learn(others, features, C)
        grades = pairs.loc[test, ["previous_relevance", "relevance"]].to_numpy().T
        guess.loc[test, "logistic"] = classes[predict(*grades).argmax(axis=1)]
        # If several are most frequent, mode() returns the lowest first.
        guess.loc[test, "majority"] = others["conditional"].mode()[0]
    return guess


def accuracy_note(qrels: pd.DataFrame, context: pd.DataFrame) -> str:
    """Write the accuracy of the default regression and both baselines in a line."""
    subject = "missing conditional grades are predicted"
    pairs = conditional_grades(qrels, context)
    if pairs["query_id"].nunique() < 2:
        return (
            f"{subject}; their accuracy is unknown: an estimate takes grades of "
            "two queries"
        )
    guess = held_out(pairs, deal(pairs))
    shares = [float((guess[m] == pairs["conditional"]).mean()) for m in METHODS]
    right, isolation, majority = (f"{100 * share:.1f} %" for share in shares)
    return (
        f"{subject}; cross-validated by query on {len(pairs)} given grades, "
        f"{right} are predicted correctly; {isolation} equal the grade in isolation, "
        f"{majority} the most frequent one"
    )


def fit_logistic(
    features: Num[np.ndarray, "examples features"],
    classes: Shaped[np.ndarray, " examples"],
    *,
    C: float = 1.0,
    weight: Num[np.ndarray, " examples"] | None = None,
) -> Any:
    """Fit a multinomial logistic regression with an L2 penalty.

    Args:
        features: Features of the examples to learn from.
        classes: Classes of the examples. If all are equal, their class is always
            predicted.
        C: Inverse strength of the penalty, as in scikit-learn.
        weight: Number of equal examples that each example stands for; None means 1.

    Returns:
        The classifier of scikit-learn. Without scikit-learn, raises a UsageError.
    """
    try:
        from sklearn.dummy import DummyClassifier
        from sklearn.linear_model import LogisticRegression
    except ImportError:
        raise UsageError(
            "predicting grades needs scikit-learn: pip install 'pgcjax[context]'"
        ) from None
    if len(np.unique(classes)) == 1:
        return DummyClassifier().fit(features, classes)
    # Newton's method ends at the optimum, so results are the same on all machines.
    newton = {"solver": "newton-cholesky", "tol": 1e-9, "max_iter": 1000}
    return LogisticRegression(C=C, **newton).fit(features, classes, weight)
