"""Labels of aspects of relevance, for documents alone and after another document."""

from collections.abc import Iterator
from itertools import combinations
from math import nan
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Int

from pgcjax.errors import DataError, check_choice, counted
from pgcjax.io.schema import Origin, canonical, ids, numbers_or_nan, refuse
from pgcjax.judging.prediction import fit_logistic
from pgcjax.later import stats

ISOLATION, CONDITION = "isolation", "condition"
_KEY = ["query_id", "doc_id", "previous_doc_id", "judge"]
FEWEST = 10  # labels needed to predict overall grades and to test predictions
_NO_GRADE = ("", "N/A", "n/a", "NA")


def aspect_table(labels: pd.DataFrame, overall: str = "overall") -> pd.DataFrame:
    """Lay labels of aspects out, a row for each document as it was judged.

    Args:
        labels: A row for each label: query_id, doc_id, aspect, grade (a number; empty
            or `N/A` if the judge could not decide), previous_doc_id (the document read
            before; empty or no column: in isolation) and, if known, judge.
        overall: Aspect that grades the whole document.

    Returns:
        Grades by aspect, the overall one first; NaN where there is none. The index is
        query_id, doc_id, previous_doc_id and judge, "" where there is none, ascending.

    Source: Golbus et al. 2014, 4.1.

    Raises:
        DataError: a column is missing, a grade is not a number, a label is repeated,
            or there are no overall labels.
    """
    origin = Origin("labels")
    needed = ["query_id", "doc_id", "aspect", "grade"]
    frame = canonical(labels, origin, needed, _KEY[2:])
    table = pd.DataFrame({n: ids(frame[n], origin) for n in needed[:-1]})
    for name in _KEY[2:]:
        given = ids(frame[name], origin, empty=True) if name in frame else None
        table[name] = "" if given is None else given.fillna("")
    mend = "Grades are numbers; N/A or nothing where there is none."
    grade = numbers_or_nan(frame["grade"], "a grade", origin, mend, void=_NO_GRADE)
    table["grade"] = grade
    refuse(
        table.duplicated([*_KEY, "aspect"]).to_numpy(),
        lambda i: (
            f"aspect {table.aspect[i]!r} of document {table.doc_id[i]!r} "
            "is labelled twice"
        ),
        origin,
        "Keep one, or name the judges in a column judge.",
    )
    wide = table.pivot(index=_KEY, columns="aspect", values="grade").sort_index()
    if overall not in wide:
        raise DataError(
            f"no labels for {overall!r} among the aspects: {', '.join(wide.columns)}",
            where=origin.name,
            mend="Name the aspect that stands for the whole (overall=).",
        )
    others = sorted(name for name in wide.columns if name != overall)
    return wide[[overall, *others]].rename_axis(columns=None)


def by_setting(wide: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Separate labels in isolation from those in condition, after another document."""
    alone = wide.index.get_level_values("previous_doc_id") == ""
    return {ISOLATION: wide[alone], CONDITION: wide[~alone]}


def aspect_coverage(labels: pd.DataFrame, overall: str = "overall") -> pd.DataFrame:
    """Compute how often judges grade an aspect of documents with an overall grade.

    Args:
        labels: Labels, as in `aspect_table`.
        overall: Aspect that grades the whole document.

    Returns:
        A row for each other aspect, and for `all` of them: aspect, isolation, condition
        (shares of documents), isolation_documents, condition_documents.

    Source: Golbus et al. 2014, 5.1, Table 1.
    """
    parts = by_setting(aspect_table(labels, overall))
    columns: dict[str, Any] = {}
    for name, wide in parts.items():
        graded = wide[wide[overall].notna()].drop(columns=overall).notna()
        columns[name] = [*graded.mean(), graded.all(axis=1).mean()]
        columns[f"{name}_documents"] = len(graded)
    names = [*parts[ISOLATION].columns.drop(overall), "all"]
    table = pd.DataFrame({"aspect": names, **columns})
    order = ["aspect", *parts, *(f"{name}_documents" for name in parts)]
    return table[order]


def aspect_distribution(labels: pd.DataFrame, overall: str = "overall") -> pd.DataFrame:
    """Compute how often each aspect has each grade, in isolation and in condition.

    Documents with a grade of every aspect count.

    Args:
        labels: Labels, as in `aspect_table`.
        overall: Aspect that grades the whole document.

    Returns:
        A row for each aspect, setting and grade that occurs: aspect, setting
        (`isolation`, `condition`), grade, labels, share (of that aspect and setting).

    Source: Golbus et al. 2014, 5.1, Figure 2.
    """
    rows = []
    for setting, wide in by_setting(aspect_table(labels, overall)).items():
        for aspect, grades in wide[wide.notna().all(axis=1)].items():
            counts = grades.value_counts().sort_index()
            for grade, n in counts.items():
                rows.append((aspect, setting, grade, int(n), n / counts.sum()))
    columns = ["aspect", "setting", "grade", "labels", "share"]
    return pd.DataFrame(rows, columns=columns)


def _changes(wide: pd.DataFrame, overall: str) -> pd.DataFrame:
    """Return grade in condition minus grade in isolation, of documents with both."""
    parts = by_setting(wide[wide[overall].notna()])
    before = parts[ISOLATION].droplevel(["previous_doc_id"])
    keys = parts[CONDITION].reset_index("previous_doc_id", drop=True).index
    shared = keys.isin(before.index)
    return parts[CONDITION][shared] - before.reindex(keys[shared]).to_numpy()


def grade_changes(labels: pd.DataFrame, overall: str = "overall") -> pd.DataFrame:
    """Compute how often, and how far, a grade changes when another document came first.

    Args:
        labels: Labels, as in `aspect_table`; a document with overall grades in
            isolation and in condition, by one judge if named, counts for each context.
        overall: Aspect that grades the whole document.

    Returns:
        A row for each aspect and change: aspect, change (without sign), labels, lower
        (in condition), higher, share.

    Source: Golbus et al. 2014, 5.1, Figure 3.
    """
    rows = []
    for aspect, change in _changes(aspect_table(labels, overall), overall).items():
        change = change.dropna()
        for size, equal in change.groupby(change.abs()):
            lower, higher = int((equal < 0).sum()), int((equal > 0).sum())
            n = len(equal)
            rows.append((aspect, size, n, lower, higher, n / len(change)))
    columns = ["aspect", "change", "labels", "lower", "higher", "share"]
    return pd.DataFrame(rows, columns=columns)


def aspect_correlation(
    labels: pd.DataFrame, overall: str = "overall", *, of: str = "grades"
) -> pd.DataFrame:
    """Correlate aspects, each with each other, by Spearman.

    Args:
        labels: Labels, as in `aspect_table`.
        overall: Aspect that grades the whole document.
        of: `grades`: over documents with a grade of every aspect, in isolation and in
            condition, there also with the overall grade in isolation; `changes` of
            grades from isolation to condition, over documents with both grades for
            both aspects.

    Returns:
        A row for each setting and two aspects: setting (`isolation`, `condition`,
        `change`), aspect_a, aspect_b, documents, spearman (NaN if one is constant). A
        matrix: `.pivot(index="aspect_a", columns="aspect_b", values="spearman")`.

    Source: Golbus et al. 2014, 5.1, Tables 2 and 3.

    Raises:
        UsageError: `of` is neither `grades` nor `changes`.
    """
    check_choice("of", of, ("grades", "changes"))
    wide = aspect_table(labels, overall)
    if of == "changes":
        tables = {"change": _changes(wide, overall)}
    else:
        parts = by_setting(wide)
        whole = {k: v[v.notna().all(axis=1)] for k, v in parts.items()}
        alone = parts[ISOLATION][overall].droplevel(["previous_doc_id"])
        keys = whole[CONDITION].reset_index("previous_doc_id", drop=True).index
        before = {f"{overall} in isolation": alone.reindex(keys).to_numpy()}
        tables = {**whole, CONDITION: whole[CONDITION].assign(**before)}
    rows = []
    for setting, table in tables.items():
        for a, b in combinations(table.columns, 2):
            both = table[[a, b]].dropna().to_numpy()
            constant = len(both) < 2 or (np.ptp(both, axis=0) == 0).any()
            rho = nan if constant else stats.spearmanr(both[:, 0], both[:, 1]).statistic
            rows.append((setting, a, b, len(both), float(rho)))
    columns = ["setting", "aspect_a", "aspect_b", "documents", "spearman"]
    return pd.DataFrame(rows, columns=columns)


def aspect_prediction(
    labels: pd.DataFrame, overall: str = "overall", *, seed: int = 0
) -> pd.DataFrame:
    """Predict overall grades from aspects, by multinomial logistic regression.

    The regression is tested on a random tenth of the labels and learns from the rest.
    Grades are categories, and no grade (N/A) is one of them, for aspects and overall
    alike, so all labels count. The penalty is scikit-learn's (L2, C = 1).

    Args:
        labels: Labels, as in `aspect_table`.
        overall: Aspect to predict.
        seed: Seed of the split, which is the same for all sets of aspects.

    Returns:
        A row for each setting (`isolation`, `condition`) and set, which is all aspects,
        or one alone: setting, aspects (joined by +), labels, tested, accuracy,
        most_frequent (accuracy of always predicting the most frequent grade).

    Source: Golbus et al. 2014, 5.1, Predictive Power.

    Raises:
        UsageError: scikit-learn is missing.
        DataError: fewer than ten labels in a setting that has any.
    """
    wide, rows = aspect_table(labels, overall), []
    for setting, table in by_setting(wide).items():
        if len(table) and len(table) < FEWEST:
            raise DataError(
                f"{counted(len(table), 'label')} in {setting} are too few to learn "
                f"from: {FEWEST} are needed"
            )
        if len(table):
            rows += [(setting, *row) for row in _accuracies(table, overall, seed)]
    columns = ["setting", "aspects", "labels", "tested", "accuracy", "most_frequent"]
    return pd.DataFrame(rows, columns=columns)


def _accuracies(
    table: pd.DataFrame, overall: str, seed: int
) -> Iterator[tuple[Any, ...]]:
    """Compute the accuracy of each set of aspects in predicting the overall grade."""
    truth, n = _categories(table[overall]), len(table)
    test, learn = np.split(np.random.default_rng(seed).permutation(n), [round(n / 10)])
    usual = np.mean(truth[test] == np.bincount(truth[learn]).argmax())
    others = [name for name in table.columns if name != overall]
    for names in (others, *([name] for name in others)):
        codes = [_categories(table[name]) for name in names]
        features = np.hstack([np.eye(int(code.max()) + 1)[code] for code in codes])
        model = fit_logistic(features[learn], truth[learn])
        right = np.mean(model.predict(features[test]) == truth[test])
        yield "+".join(names), n, len(test), right, usual


def _categories(grades: pd.Series) -> Int[np.ndarray, " labels"]:
    """Number the grades that occur; no grade (NaN) is one of them."""
    return np.unique(grades.to_numpy(np.float64), return_inverse=True)[1]
