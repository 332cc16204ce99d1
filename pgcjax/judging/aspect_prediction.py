"""How well do grades of aspects tell the overall grade?"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from pgcjax.errors import DataError, UsageError, counted
from pgcjax.judging.aspects import CONDITION, ISOLATION, aspect_table

_NEEDED = 10  # labels, to learn from some and to test on others


def aspect_prediction(
    labels: pd.DataFrame,
    overall: str = "overall",
    aspects: Sequence[Sequence[str]] | None = None,
    *,
    test_share: float = 0.1,
    splits: int = 1,
    seed: int = 0,
) -> pd.DataFrame:
    """Predict overall grades from aspects, by multinomial logistic regression.

    It learns from a random part of the labels and is tested on the rest. Grades are
    categories, and no grade (N/A) is one of them, of aspects and overall alike; so all
    labels count. The regression is scikit-learn's, with its penalty (L2, C = 1).

    Args:
        labels: as of `aspect_table`.
        overall: the aspect to predict.
        aspects: the sets to predict from; if None, all together, and each alone.
        test_share: share of the labels to test on.
        splits: random splits to average over; the paper makes one.
        seed: of the splits, which are the same for all sets.

    Returns:
        A row for each setting (`isolation`, `condition`) and set: setting, aspects
        (joined by +), labels, tested (in each split), accuracy, deviation (over splits;
        NaN of one), most_frequent (accuracy of giving always the most frequent grade).

    Source: Golbus et al. 2014, 5.1, Predictive Power.

    Raises:
        UsageError: an unknown aspect or a bad argument, or scikit-learn is missing.
        DataError: fewer than ten labels in a setting that has any.
    """
    if not 0 < test_share < 1:
        raise UsageError(f"the share to test on is between 0 and 1, not {test_share}")
    if splits < 1:
        raise UsageError(f"there is at least one split, not {splits}")
    wide = aspect_table(labels, overall)
    others = [name for name in wide.columns if name != overall]
    chosen = [list(some) for some in aspects or [others, *([x] for x in others)]]
    for name in (name for some in chosen for name in some):
        if name not in others:
            raise UsageError(f"no aspect {name!r}; there are {', '.join(others)}")
    alone = wide.index.get_level_values("previous_doc_id") == ""
    rows = []
    for setting, table in ((ISOLATION, wide[alone]), (CONDITION, wide[~alone])):
        if table.empty:
            continue
        if len(table) < _NEEDED:
            raise DataError(
                f"{counted(len(table), 'label')} in {setting} are too few to learn "
                f"from: {_NEEDED} are needed"
            )
        truth = _categories(table[overall])
        parts = _splits(len(table), test_share, splits, seed)
        usual = [_most_frequent(truth, *part) for part in parts]
        for some in chosen:
            features = np.hstack([_indicators(table[name]) for name in some])
            hits = [_accuracy(features, truth, *part) for part in parts]
            spread = np.std(hits, ddof=1) if splits > 1 else np.nan
            row = (setting, "+".join(some), len(table), len(parts[0][1]))
            rows.append((*row, np.mean(hits), spread, np.mean(usual)))
    columns = ["setting", "aspects", "labels", "tested"]
    columns += ["accuracy", "deviation", "most_frequent"]
    return pd.DataFrame(rows, columns=columns)


def _categories(grades: pd.Series) -> np.ndarray:
    """Number the grades; those that are missing are one."""
    return np.unique(grades.to_numpy(np.float64), return_inverse=True)[1]


def _indicators(grades: pd.Series) -> np.ndarray:
    """Give a column of 0 and 1 for each grade that occurs, and for none."""
    code = _categories(grades)
    return np.eye(int(code.max()) + 1)[code]


def _splits(
    n: int, share: float, splits: int, seed: int
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Part n labels at random into those to learn from and those to test on."""
    random = np.random.default_rng(seed)
    tested = min(max(round(n * share), 1), n - 1)
    orders = [random.permutation(n) for _ in range(splits)]
    return [(order[tested:], order[:tested]) for order in orders]


def _most_frequent(truth: np.ndarray, learn: np.ndarray, test: np.ndarray) -> float:
    return float(np.mean(truth[test] == np.bincount(truth[learn]).argmax()))


def _accuracy(
    features: np.ndarray, truth: np.ndarray, learn: np.ndarray, test: np.ndarray
) -> float:
    try:
        from sklearn.linear_model import LogisticRegression
    except ImportError:
        raise UsageError(
            "predicting grades needs scikit-learn: pip install 'pgcjax[context]'"
        ) from None
    if len(np.unique(truth[learn])) == 1:  # nothing to tell apart
        return float(np.mean(truth[test] == truth[learn[0]]))
    # Newton's steps end at the optimum itself, and so everywhere at the same.
    model = LogisticRegression(solver="newton-cholesky", tol=1e-9, max_iter=1000)
    model.fit(features[learn], truth[learn])
    return float(np.mean(model.predict(features[test]) == truth[test]))
