"""What clicks say of runs: by hand, and made up so that the answers are known."""

from math import log2

import pandas as pd
import pytest

from pgcjax.errors import DataError, DataWarning, UsageError
from pgcjax.stats.clicks import (
    click_counts,
    click_labels,
    click_scores,
    correlate_queries,
)

COUNTS = pd.DataFrame(
    [
        ("q", "a", 10, 6, 4),
        ("q", "b", 10, 2, 0),
        ("q", "c", 5, 0, 0),
        ("q", "d", 0, 0, 0),  # never shown
        ("q", "e", 4, 4, 4),  # best of all, and in no run
        ("p", "a", 3, 0, 0),
    ],
    columns=["query_id", "doc_id", "shown", "clicks", "satisfied"],
)
RUNS = {
    "one": {"q": {"c": 3, "a": 2, "b": 1}, "p": {"a": 1}, "o": {"a": 1}},
    "two": {"q": {"a": 9, "d": 8, "z": 7, "b": 6}},
}


def values(table: pd.DataFrame) -> dict:
    return {(r, q, m): v for r, q, m, v in table.itertuples(index=False)}


def test_counts_from_a_log():
    log = pd.DataFrame(
        [
            ("q", "a", 1, 30.0),
            ("q", "a", 1, 29.9),
            ("q", "a", 0, None),
            ("q", "b", 1, None),  # for how long is not known
            ("q", "b", 0, None),
            ("p", "a", 0, None),
        ],
        columns=["query_id", "doc_id", "clicked", "seconds"],
    )
    expected = [["p", "a", 1, 0, 0], ["q", "a", 3, 2, 1], ["q", "b", 2, 1, 0]]
    assert click_counts(log).to_numpy().tolist() == expected
    truth = log.assign(clicked=log["clicked"] == 1)
    assert click_counts(truth).to_numpy().tolist() == expected
    assert click_counts(log, satisfied=10)["satisfied"].tolist() == [0, 2, 0]
    text = log.assign(seconds=["30", "29.9", "", "", "", ""], clicked=list("110100"))
    assert click_counts(text).to_numpy().tolist() == expected


def test_labels():
    assert click_labels(COUNTS)["relevance"].tolist() == [2, 1, 0, 0, 2, 0]
    # A satisfied click without any other is still one of both kinds.
    assert click_labels(COUNTS.iloc[4:5])["relevance"].tolist() == [2]


def test_scores_by_hand():
    found = values(click_scores(COUNTS, RUNS))
    ideal = 3 + 3 / log2(3) + 1 / log2(4)
    assert found == pytest.approx(
        {
            ("one", "q", "CTR@5"): (0 + 4 / 10 + 0) / 3,
            ("one", "q", "click-nDCG@5"): (3 / log2(3) + 1 / log2(4)) / ideal,
            ("one", "p", "CTR@5"): 0.0,
            ("one", "p", "click-nDCG@5"): 0.0,
            # d was never shown, z is not known: neither has a rate, or a gain.
            ("two", "q", "CTR@5"): (4 / 10 + 0) / 2,
            ("two", "q", "click-nDCG@5"): (3 + 1 / log2(5)) / ideal,
        },
        abs=1e-15,
    )
    top = values(click_scores(COUNTS, RUNS, depth=1, gain="linear"))
    assert top["two", "q", "click-nDCG@1"] == 1 and top["two", "q", "CTR@1"] == 0.4
    assert top["one", "q", "click-nDCG@1"] == 0
    linear = values(click_scores(COUNTS, RUNS, gain="linear"))
    ideal = 2 + 2 / log2(3) + 1 / log2(4)
    expected = (2 / log2(3) + 1 / log2(4)) / ideal
    assert linear["one", "q", "click-nDCG@5"] == pytest.approx(expected)


def test_ctr_is_of_a_set_and_order_is_of_the_run():
    turned = {"t": {"q": {"c": 1, "a": 2, "b": 3}}}
    one, other = (
        values(click_scores(COUNTS, RUNS)),
        values(click_scores(COUNTS, turned)),
    )
    assert one["one", "q", "CTR@5"] == other["t", "q", "CTR@5"]
    assert one["one", "q", "click-nDCG@5"] != other["t", "q", "click-nDCG@5"]
    tied = {"t": {"q": {"a": 1, "b": 1}}}
    first = values(click_scores(COUNTS, tied, depth=1))["t", "q", "CTR@1"]
    second = values(click_scores(COUNTS, tied, depth=1, order="clarke"))
    assert (first, second["t", "q", "CTR@1"]) == (0, 0.4)


def test_a_query_without_a_shown_document_has_no_rate():
    found = click_scores(COUNTS, {"t": {"q": {"d": 1, "z": 0}}})
    assert found["measure"].tolist() == ["click-nDCG@5"] and found[
        "value"
    ].tolist() == [0]


def test_queries_are_correlated_run_by_run():
    rows = [
        (run, str(q), measure, value)
        for run, way in (("up", 1), ("down", -1))
        for q in range(4)
        for measure, value in (("M", q), ("N", way * q))
    ]
    scores = pd.DataFrame(rows, columns=["run_id", "query_id", "measure", "value"])
    found = correlate_queries(scores, coefficients=["tau"])
    assert found[["run_id", "value"]].to_numpy().tolist() == [["down", -1], ["up", 1]]
    flat = scores.assign(value=scores["value"].where(scores["measure"] == "M", 1.0))
    (undefined,) = {*correlate_queries(flat, coefficients=["tau"])["undefined"]}
    assert undefined.endswith("the second gives all queries the same value")
    hole = scores[~((scores["query_id"] == "3") & (scores["measure"] == "N"))]
    with pytest.raises(DataError, match="no score by 'M' or 'N' for query '3'"):
        correlate_queries(hole)
    with pytest.raises(DataError, match="row 17: scores run 'up', query '0' twice"):
        correlate_queries(pd.concat([scores, scores.iloc[:1]]))
    with pytest.raises(UsageError, match="no scores of 'O'; there are M, N"):
        correlate_queries(scores, ["M", "O"])
    with pytest.raises(UsageError, match="compare two measures or more, not 1"):
        correlate_queries(scores, ["M"])
    with pytest.raises(UsageError, match="missing is one of error, drop, not"):
        correlate_queries(scores, missing="zero")
    with pytest.raises(UsageError, match="expected scores, a DataFrame or a file"):
        correlate_queries({"M": 1})
    with pytest.warns(DataWarning) as said:
        found = correlate_queries(hole, missing="drop")
    assert found.attrs["notes"] == [str(said[0].message)]
    assert found.attrs["notes"][0].endswith(
        "because one of two measures lacks its score for a run"
    )
    assert (found["queries"] == 3).all()
    with pytest.raises(UsageError, match="coefficient is one of tau, .*, not 'rho'"):
        correlate_queries(scores, coefficients=["rho"])


def test_wrong_use():
    with pytest.raises(DataError, match=r"missing columns \['shown'\]"):
        click_labels(COUNTS.drop(columns="shown"))
    for name, value, rule in (
        ("shown", -1, "shown is a count"),
        ("clicks", 1.5, "clicks is a count"),
        ("satisfied", 7, "satisfied ≤ clicks ≤ shown"),
    ):
        wrong = COUNTS.astype({name: float})
        wrong.loc[0, name] = value
        with pytest.raises(DataError, match=f"clicks, row 1: expected that {rule}"):
            click_labels(wrong)
    with pytest.raises(
        DataError, match="clicks, row 7: document 'a' of query 'q' is there"
    ):
        click_labels(pd.concat([COUNTS, COUNTS.iloc[:1]]))
    with pytest.raises(DataError, match="share no query"):
        click_scores(COUNTS, {"o": {"x": 1}})
    for wrong in ({"depth": 0}, {"gain": "log"}, {"order": "random"}):
        with pytest.raises(UsageError):
            click_scores(COUNTS, RUNS, **wrong)
    log = pd.DataFrame(
        [("q", "a", 2, 1)], columns=["qid", "docno", "clicked", "seconds"]
    )
    with pytest.raises(DataError, match="log, row 1: expected that clicked is 0 or 1"):
        click_counts(log)
    with pytest.raises(DataError, match="expected seconds, 0 or more, found 'long'"):
        click_counts(log.assign(clicked=1, seconds="long"))
