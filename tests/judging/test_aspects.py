"""Labels of aspects: by hand, and made up so that the answers are known."""

from math import isnan, nan

import numpy as np
import pandas as pd
import pytest
from helpers.twins.judgments import spearman
from hypothesis import given, settings
from hypothesis import strategies as st

from pgcjax.errors import DataError, UsageError
from pgcjax.judging.aspects import (
    aspect_correlation,
    aspect_coverage,
    aspect_distribution,
    aspect_prediction,
    aspect_table,
    grade_changes,
)

COLUMNS = ["query_id", "doc_id", "previous_doc_id", "aspect", "grade"]


def labels(*rows) -> pd.DataFrame:
    """Labels from (doc, document before or None, overall, topicality, novelty)."""
    names = ("overall", "topicality", "novelty")
    return pd.DataFrame(
        [
            ("q", doc, before, aspect, grade)
            for doc, before, *grades in rows
            for aspect, grade in zip(names, grades, strict=True)
        ],
        columns=COLUMNS,
    )


SMALL = labels(
    ("a", None, 3, 3, nan),
    ("b", None, 1, 2, "N/A"),
    ("c", None, 0, nan, 1),
    ("d", None, nan, 0, 0),  # no overall grade
    ("e", None, 2, 2, 2),
    ("b", "a", 2, 2, 0),
    ("c", "a", 0, 0, nan),
    ("e", "a", 0, 1, 3),
    ("b", "e", 0, 3, 1),
    ("d", "a", 1, 1, 1),
    ("f", "a", 4, 4, 4),  # never in isolation
)


def test_coverage_by_hand():
    found = aspect_coverage(SMALL).set_index("aspect")
    assert found.loc["topicality", ["isolation", "condition"]].tolist() == [3 / 4, 1]
    assert found.loc["novelty", ["isolation", "condition"]].tolist() == [2 / 4, 5 / 6]
    assert found.loc["all", ["isolation", "condition"]].tolist() == [1 / 4, 5 / 6]
    assert found["isolation_documents"].tolist() == [4] * 3
    assert found["condition_documents"].tolist() == [6] * 3


def test_distributions_by_hand():
    found = aspect_distribution(SMALL)
    mine = found[(found["aspect"] == "overall") & (found["setting"] == "condition")]
    # Of b|a, e|a, b|e, d|a, f|a: c|a lacks an aspect.
    assert mine[["grade", "labels", "share"]].to_numpy().tolist() == [
        [0, 2, 2 / 5],
        [1, 1, 1 / 5],
        [2, 1, 1 / 5],
        [4, 1, 1 / 5],
    ]
    for (_, _), share in found.groupby(["aspect", "setting"])["share"]:
        assert share.sum() == pytest.approx(1)


def test_changes_by_hand():
    found = grade_changes(SMALL)
    mine = found[found["aspect"] == "overall"].drop(columns="aspect")
    # b|a 2-1, c|a 0-0, e|a 0-2, b|e 0-1; d has no overall grade alone, f none at all.
    assert mine.to_numpy().tolist() == [
        [0, 1, 0, 0, 1 / 4],
        [1, 2, 1, 1, 1 / 2],
        [2, 1, 1, 0, 1 / 4],
    ]
    mine = found[found["aspect"] == "novelty"].drop(columns="aspect")
    assert mine.to_numpy().tolist() == [[1, 1, 0, 1, 1]]  # e only


def test_changes_are_of_one_judge():
    one = SMALL.assign(judge="x")
    other = SMALL[SMALL["previous_doc_id"].isna()].assign(judge="y", grade=4)
    found = grade_changes(pd.concat([one, other]))
    pd.testing.assert_frame_equal(found, grade_changes(SMALL))
    with pytest.raises(DataError, match="is labelled twice"):
        grade_changes(pd.concat([SMALL, other.drop(columns="judge")]))


def random_labels(seed: int, n: int = 80, holes: float = 0.2) -> pd.DataFrame:
    """Topicality follows the overall grade; authority and quality do not."""
    random = np.random.default_rng(seed)
    rows = []
    for doc in range(n):
        base = random.integers(0, 5)
        for before in (None, "x", "y"):
            overall = int(
                np.clip(base + random.integers(-1, 2) * (before is not None), 0, 4)
            )
            topic = int(np.clip(overall + random.integers(-1, 2), 0, 4))
            grades = {"overall": overall, "topicality": topic}
            grades |= {
                "authority": random.integers(0, 5),
                "quality": random.integers(0, 5),
            }
            for aspect, grade in grades.items():
                hole = random.random() < holes
                rows.append(("q", f"d{doc}", before, aspect, nan if hole else grade))
    return pd.DataFrame(rows, columns=COLUMNS)


def plain(frame: pd.DataFrame) -> dict:
    """{(doc, before or None): {aspect: grade}} of the labels that are there."""
    found: dict = {}
    for _, doc, before, aspect, grade in frame.itertuples(index=False):
        there = found.setdefault((doc, before if isinstance(before, str) else None), {})
        if grade == grade:
            there[aspect] = grade
    return found


@settings(max_examples=10)
@given(st.integers(0, 40))
def test_correlations_equal_those_one_by_one(seed):
    frame = random_labels(seed, n=25)
    there = plain(frame)
    found = aspect_correlation(frame)
    for setting, a, b, n, rho in found.itertuples(index=False):
        pairs = []
        for (doc, before), grades in there.items():
            if len(grades) == 4 and (before is not None) == (setting == "condition"):
                grades = {**grades}
                alone = there[doc, None].get("overall")
                if alone is not None:
                    grades["overall in isolation"] = alone
                if a in grades and b in grades:
                    pairs.append((grades[a], grades[b]))
        assert n == len(pairs)
        x, y = ([pair[i] for pair in pairs] for i in (0, 1))
        if len(set(x)) > 1 and len(set(y)) > 1:
            assert rho == pytest.approx(spearman(x, y), abs=1e-12)
        else:
            assert isnan(rho)
    changes = aspect_correlation(frame, of="changes")
    assert changes["setting"].unique().tolist() == ["change"]
    for _, a, b, n, rho in changes.itertuples(index=False):
        pairs = []
        for (doc, before), grades in there.items():
            alone = there[doc, None]
            if before and all(
                k in g for k in (a, b, "overall") for g in (grades, alone)
            ):
                pairs.append((grades[a] - alone[a], grades[b] - alone[b]))
        assert n == len(pairs)
        x, y = ([pair[i] for pair in pairs] for i in (0, 1))
        if len(set(x)) > 1 and len(set(y)) > 1:
            assert rho == pytest.approx(spearman(x, y), abs=1e-12)


@given(st.integers(0, 10))
def test_order_of_rows_means_nothing(seed):
    frame = random_labels(seed, n=15)
    other = frame.sample(frac=1, random_state=seed)
    for of in (aspect_coverage, aspect_distribution, grade_changes, aspect_correlation):
        pd.testing.assert_frame_equal(of(frame), of(other), check_exact=True)


def deciding(n: int = 1500) -> pd.DataFrame:
    """The overall grade is that of authority; topicality says whether it is above 1."""
    random = np.random.default_rng(2)
    rows = []
    for doc in range(n):
        authority = random.choice([nan, 0, 1, 2, 3])
        grades = {"overall": authority, "authority": authority}
        grades |= {"topicality": int(authority > 1), "quality": random.integers(0, 5)}
        rows += [("q", f"d{doc}", None, k, v) for k, v in grades.items()]
    return pd.DataFrame(rows, columns=COLUMNS)


def test_prediction_finds_what_decides():
    pytest.importorskip("sklearn")
    found = aspect_prediction(deciding()).set_index("aspects")
    assert found["setting"].unique().tolist() == ["isolation"]
    assert (found["labels"] == 1500).all() and (found["tested"] == 150).all()
    # N/A is a grade, of authority and overall: it is predicted as any other.
    assert found.loc["authority", "accuracy"] == 1
    assert found.loc["authority+quality+topicality", "accuracy"] > 0.95
    # Half of what topicality tells is enough for 2 of 5 grades at best.
    assert 0.25 < found.loc["topicality", "accuracy"] < 0.6
    assert found.loc["quality", "accuracy"] < 0.35
    assert (
        found["most_frequent"].nunique() == 1 and found["most_frequent"].iloc[0] < 0.35
    )


def test_prediction_by_default_and_again():
    pytest.importorskip("sklearn")
    found = aspect_prediction(random_labels(4), seed=1)
    everything = "authority+quality+topicality"
    sets = [everything, "authority", "quality", "topicality"]
    assert found["aspects"].tolist() == sets * 2
    assert found["setting"].tolist() == ["isolation"] * 4 + ["condition"] * 4
    assert found["tested"].tolist() == [8] * 4 + [16] * 4
    again = aspect_prediction(random_labels(4).sample(frac=1, random_state=0), seed=1)
    pd.testing.assert_frame_equal(found, again, check_exact=True)


def test_columns_by_other_names_and_grades_as_text():
    frame = SMALL.rename(
        columns={"query_id": "QID", "doc_id": "docno", "previous_doc_id": "previous"}
    )
    frame["grade"] = [None if g != g else str(g) for g in frame["grade"]]
    pd.testing.assert_frame_equal(aspect_table(frame), aspect_table(SMALL))
    alone = SMALL[SMALL["previous_doc_id"].isna()].drop(columns="previous_doc_id")
    found = aspect_coverage(alone)
    assert found["isolation"].tolist() == aspect_coverage(SMALL)["isolation"].tolist()
    assert found["condition"].isna().all() and (found["condition_documents"] == 0).all()
    assert grade_changes(alone).empty


def test_wrong_use():
    with pytest.raises(DataError, match=r"missing columns \['grade'\]"):
        aspect_table(SMALL.drop(columns="grade"))
    with pytest.raises(
        DataError, match="labels, row 2: expected a grade, found 'good'"
    ):
        aspect_table(SMALL.assign(grade=[1, "good"] + [1] * (len(SMALL) - 2)))
    with pytest.raises(DataError, match="no labels for 'relevance' among the aspects"):
        aspect_table(SMALL, "relevance")
    with pytest.raises(UsageError, match="of is one of grades, changes, not 'all'"):
        aspect_correlation(SMALL, of="all")
    with pytest.raises(DataError, match="5 labels in isolation are too few"):
        aspect_prediction(SMALL)
