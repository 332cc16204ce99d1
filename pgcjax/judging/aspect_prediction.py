"""Predict the overall grade of a document from grades of its aspects."""

from collections.abc import Sequence
from itertools import chain

import numpy as np
import pandas as pd
from jaxtyping import Float64, Int

from pgcjax.errors import DataError, UsageError, counted
from pgcjax.judging.aspects import aspect_table, by_setting
from pgcjax.judging.regression import fit_logistic

FEWEST = 10  # labels to learn from and to test on


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

    The regression learns from a random part of the labels and is tested on the rest.
    Grades are categories, and no grade (N/A) is one of them, of aspects and overall
    alike; so all labels count. The penalty is scikit-learn's (L2, C = 1).

    Args:
        labels: as of `aspect_table`.
        overall: the aspect to predict.
        aspects: the sets to predict from; all together, and each alone, if None.
        test_share: share of the labels to test on.
        splits: random splits to average over; the paper makes one.
        seed: of the splits, which are the same for all sets.

    Returns:
        A row for each setting (`isolation`, `condition`) and set: setting, aspects
        (joined by +), labels, tested (in each split), accuracy (mean over splits),
        deviation (over splits; NaN if there is one), most_frequent (accuracy of always
        predicting the most frequent grade).

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
    sets = [list(names) for names in aspects or [others, *([x] for x in others)]]
    for name in chain.from_iterable(sets):
        if name not in others:
            raise UsageError(f"no aspect {name!r}; there are {', '.join(others)}")
    rows = []
    for setting, table in by_setting(wide).items():
        if table.empty:
            continue
        if len(table) < FEWEST:
            raise DataError(
                f"{counted(len(table), 'label')} in {setting} are too few to learn "
                f"from: {FEWEST} are needed"
            )
        truth = _categories(table[overall])
        n, random = len(table), np.random.default_rng(seed)
        tested = min(max(round(n * test_share), 1), n - 1)
        orders = [random.permutation(n) for _ in range(splits)]
        parts = [(order[tested:], order[:tested]) for order in orders]
        usual = [
            np.mean(truth[test] == np.bincount(truth[learn]).argmax())
            for learn, test in parts
        ]
        for names in sets:
            features = np.hstack([_indicators(table[name]) for name in names])
            hits = []
            for learn, test in parts:
                model = fit_logistic(features[learn], truth[learn])
                hits.append(np.mean(model.predict(features[test]) == truth[test]))
            spread = np.std(hits, ddof=1) if splits > 1 else np.nan
            row = (setting, "+".join(names), n, tested)
            rows.append((*row, np.mean(hits), spread, np.mean(usual)))
    columns = ["setting", "aspects", "labels", "tested"]
    columns += ["accuracy", "deviation", "most_frequent"]
    return pd.DataFrame(rows, columns=columns)


def _categories(grades: pd.Series) -> Int[np.ndarray, " labels"]:
    """Number the grades that occur; no grade (NaN) is one of them."""
    return np.unique(grades.to_numpy(np.float64), return_inverse=True)[1]


def _indicators(grades: pd.Series) -> Float64[np.ndarray, "labels categories"]:
    """Return a column of 0 and 1 for each grade that occurs, and for no grade."""
    code = _categories(grades)
    return np.eye(int(code.max()) + 1)[code]
