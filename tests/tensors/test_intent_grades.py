"""Judgments per intent as arrays, and how likely intents are."""

import numpy as np
import pandas as pd
import pytest

from pgcjax.tensors.intents import (
    greedy_gains,
    intent_grades,
    intent_weights,
    navigational,
    sorted_intents,
)

QRELS = pd.DataFrame(
    [
        ("p", "b", "10", 2.0),
        ("p", "a", "10", 1.0),
        ("p", "a", "2", 3.0),
        ("p", "c", "2", -2.0),
        ("p", "b", "3", 0.0),
        ("n", "z", "1", 0.0),
        ("o", "x", "1", 1.0),
    ],
    columns=["query_id", "doc_id", "intent_id", "relevance"],
)
INTENTS = pd.DataFrame(
    [
        ("p", "2", 0.3, "nav"),
        ("p", "3", 0.1, "nav"),
        ("p", "10", 0.6, "inf"),
        ("o", "1", 1.0, "nav"),
    ],
    columns=["query_id", "intent_id", "probability", "kind"],
)


def listed(by_query):
    return {query: np.asarray(array).tolist() for query, array in by_query.items()}


def test_what_counts_is_above_0():
    grades = intent_grades(QRELS.sample(frac=1, random_state=1))
    assert listed(grades.docs) == {"n": [], "o": ["x"], "p": ["a", "b"]}
    assert list(grades.docs) == ["n", "o", "p"]
    assert grades.intents == {"n": [], "o": ["1"], "p": ["2", "10"]}
    assert listed(grades.relevance) == {"n": [], "o": [[1]], "p": [[3, 0], [1, 2]]}
    assert grades.relevance["n"].shape == (0, 0)
    assert grades.highest == 3
    assert intent_grades(QRELS[QRELS["query_id"] == "n"]).highest == 0


def test_numbers_come_before_words_and_by_value():
    some = ["b", "10", "2", "a1", "02", "", "１"]
    assert sorted_intents(some) == ["02", "2", "10", "", "a1", "b", "１"]


@pytest.mark.parametrize(
    ("how", "given", "expected"),
    [
        ("given", INTENTS, [1, 2]),
        ("given", None, [1, 1]),
        ("uniform", INTENTS, [1, 1]),
        ("decreasing", INTENTS, [2, 1]),
    ],
)
def test_weights_have_the_ratios_of_probabilities(how, given, expected):
    weights = listed(intent_weights(intent_grades(QRELS), how, given))
    assert weights == {"n": [], "o": [1], "p": expected}


@pytest.mark.parametrize(
    ("probabilities", "expected"),
    [
        ((1 / 3, 2 / 3), [1, 2]),
        ((3 / 7, 4 / 7), [3, 4]),
        ((0.333333, 0.666667), [333333, 666667]),
        ((0.0, 1.0), [0, 1]),
        ((0.0, 0.0), [0, 0]),
        # No small whole numbers have these ratios.
        ((np.pi / 4, 1 - np.pi / 4), [np.pi / 4, 1 - np.pi / 4]),
        ((1e-9, 1 - 1e-9), [1e-9, 1 - 1e-9]),
    ],
)
def test_weights_are_whole_numbers_where_they_can_be(probabilities, expected):
    intents = INTENTS.iloc[[0, 2]].assign(probability=probabilities)
    intents = pd.concat([intents, INTENTS.iloc[[3]]])
    weights = intent_weights(intent_grades(QRELS), "given", intents)
    assert weights["p"].tolist() == expected


def test_which_intents_are_navigational():
    kinds = listed(navigational(intent_grades(QRELS), INTENTS))
    assert kinds == {"n": [], "o": [True], "p": [True, False]}


def test_ties_of_the_ideal_list_go_to_the_last_document():
    hit = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 0], [0, 0, 1]], bool)
    fade = 0.5 ** np.arange(4)
    assert greedy_gains(hit, fade) == [2, 2, 1]
    assert greedy_gains(hit[:, [1, 2, 0]], fade) == [2, 2, 1]
    assert greedy_gains(hit[:, [0, 2, 1]], fade) == [2, 1.5, 1.5]
    assert greedy_gains(hit, fade, 2) == [2, 2]
    assert greedy_gains(np.zeros((0, 0), bool), fade) == []
