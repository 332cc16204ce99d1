"""Multinomial logistic regression, by scikit-learn: the one of all predictions."""

from typing import Any

import numpy as np
from jaxtyping import Num, Shaped

from pgcjax.errors import UsageError


def fit_logistic(
    features: Num[np.ndarray, "examples features"],
    classes: Shaped[np.ndarray, " examples"],
    *,
    C: float = 1.0,
    weight: Num[np.ndarray, " examples"] | None = None,
) -> Any:
    """Fit a multinomial logistic regression with an L2 penalty.

    Args:
        features: of the examples to learn from.
        classes: of the same; if all are one class, that one is always predicted.
        C: inverse strength of the penalty, as scikit-learn has it.
        weight: how many equal examples each stands for; 1 if None.

    Returns:
        scikit-learn's classifier. Without scikit-learn, a UsageError is raised.
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
    # Newton's steps end at the optimum itself, and so everywhere at the same.
    newton = {"solver": "newton-cholesky", "tol": 1e-9, "max_iter": 1000}
    return LogisticRegression(C=C, **newton).fit(features, classes, weight)
