"""Evidence that may be looked at at any time: its level, its twins, what it settles."""

from math import log

import numpy as np
import pandas as pd
import pytest
from helpers.twins import anytime as twins

from pgcjax.errors import DataError, UsageError
from pgcjax.stats.anytime import (
    ANSWERS,
    confidence_interval,
    decide,
    judging_order,
    log_capital,
    log_evidence,
)

ALPHA = 0.05


@pytest.mark.parametrize("mean", [0.5, 0.2])
def test_of_2000_simulations_no_more_than_alpha_err(mean):
    """Peeking after each of 200 answers, ties among them, at a true mean."""
    random = np.random.default_rng(7)
    chance = (0.95 - mean, 0.1, mean - 0.05)  # of 0, a tie and 1
    x = random.choice(ANSWERS, (2000, 200), p=chance)
    erred = 0
    for part in np.split(x, 4):
        counts = np.cumsum(part[..., None] == ANSWERS, axis=1, dtype=np.float64)
        erred += (log_capital(counts, mean).max(1) >= -log(ALPHA)).sum()
    assert 0.01 < erred / len(x) <= ALPHA
    # A level that is looked at again and again without such care would be gone.
    at = np.arange(1, 201)
    seen = np.abs(np.cumsum(x - mean, axis=1)) / np.sqrt(at * x.var())
    assert np.mean((seen[:, 30:] > 1.96).any(1)) > 3 * ALPHA


def test_capital_and_interval_are_those_of_the_twin():
    random = np.random.default_rng(1)
    x = random.choice(ANSWERS, 80, p=(0.3, 0.1, 0.6))
    counts = np.cumsum(x[:, None] == ANSWERS, axis=0, dtype=np.float64)
    low, high = confidence_interval(x, ALPHA)
    for mean in np.linspace(0.01, 0.99, 99).tolist():
        expected = twins.log_capital(x.tolist(), mean)
        assert log_capital(counts, mean) == pytest.approx(expected, abs=1e-9)
        assert (max(expected) < -log(ALPHA)) == (low < mean < high), mean
    wider = confidence_interval(x[:40], ALPHA)
    assert wider[0] <= low < high <= wider[1]
    assert confidence_interval(x[:0]) == (0.0, 1.0)
    assert confidence_interval(np.ones(9)) == (pytest.approx(0.6, abs=0.1), 1.0)
    assert confidence_interval(np.zeros(9))[0] == 0


def collections(kind: str, random: np.random.Generator) -> np.ndarray:
    """Make scores of 2,000 collections [4 runs, 24 queries] in the order by lot."""
    shape = (2000, 4, 24)
    if kind == "alike":
        return random.random(shape)
    if kind == "ties":
        return random.choice([0.0, 0.5, 1.0], shape)
    # The first run is the best, by one query alone: looks without it see another one.
    x = 0.5 + random.random(shape) / 50 * np.array([[0], [1], [1], [1]])
    x[:, :, 0] = [1.0, 0.0, 0.0, 0.0]
    place = random.random((2000, 1, 24)).argsort(-1)
    return np.take_along_axis(x, place, -1)


@pytest.mark.parametrize("kind", ["alike", "ties", "one query"])
@pytest.mark.parametrize("best", [1, 2])
def test_no_more_than_alpha_of_collections_settle_for_a_wrong_answer(kind, best):
    x = collections(kind, np.random.default_rng(3))
    total = x.sum(-1)
    looks = log_evidence(x, 24, best=best)
    out = looks >= -log(ALPHA)
    asked = total >= np.sort(total, axis=-1)[:, -best, None] - 1e-9
    wrong = (out & asked).any(-1)  # a run that is among the best, at each look
    assert wrong.any(0).mean() <= ALPHA
    assert ((looks[-1] >= -log(ALPHA)) == ~asked).all(-1).mean() > 1 - ALPHA
    assert (~out[:12]).any()


@pytest.mark.parametrize("best, ceiling", [(1, 1.0), (2, 1.0), (1, 2.5), (3, 2.5)])
@pytest.mark.parametrize("total", [9, 12])
def test_evidence_is_that_of_the_twin(best, ceiling, total):
    random = np.random.default_rng(best + total)
    x = ceiling * random.beta([[8], [2], [2], [1]], 2, (3, 4, 9))
    x[0, 2] = x[0, 1]
    x[1] = np.round(x[1])
    found = log_evidence(x, total, best=best, ceiling=ceiling)
    for replay, of in enumerate(x.tolist()):
        expected = twins.log_evidence(of, total, best, ceiling)
        assert found[:, replay] == pytest.approx(np.array(expected), abs=1e-9)


def scores(queries: int = 16) -> pd.DataFrame:
    """Make scores of three runs, of which z is the best by far."""
    random = np.random.default_rng(5)
    values = random.random((3, queries)) / 10 + np.array([[0.1], [0.2], [0.8]])
    return pd.DataFrame(values, list("xyz"), [f"q{i:02}" for i in range(queries)])


@pytest.mark.parametrize(
    "question, answer, least",
    [("best", ("z",), 5), ("z,x", ("z",), 4), ("top2", ("z", "y"), 6)],
)
def test_what_is_settled_stays_settled(question, answer, least):
    whole, first = scores(), 0
    order = judging_order(list(map(str, whole)), 7)
    assert sorted(order) == list(map(str, whole)) and order != judging_order(order, 8)
    for judged in range(len(order) + 1):
        part = whole[sorted(order[:judged])]
        found = decide(part, list(map(str, whole)), question=question, seed=7)
        assert found.queries["query_id"].tolist() == order
        assert found.queries["judged"].sum() == found.metadata["judged"] == judged
        assert found.settled or not first
        first = first or judged * found.settled
        if 0 < judged < 16:
            looks = log_evidence(
                part[order[:judged]].loc[sorted(found.table["run_id"])].to_numpy(),
                16,
                best=len(answer),
            )
            p = found.table.set_index("run_id")["p_value"].sort_index()
            assert p.to_numpy() == pytest.approx(np.exp(-np.maximum(looks[-1], 0)))
        if judged == 16:  # all is known
            assert found.table["ruled_out"].sum() == len(found.table) - len(answer)
        if found.settled:
            assert found.answer == answer and found.notes[0].startswith(
                f"settled after {judged} of 16 queries: {', '.join(answer)} "
            )
    assert least <= first < 16


def test_queries_out_of_turn_do_not_count():
    whole = scores(9)
    order = judging_order(list(map(str, whole)), 0)
    part = whole[[*order[:3], *order[5:7]]]
    found = decide(part, list(map(str, whole)))
    assert found.metadata["judged"] == 3 and not found.settled
    assert found.table["mean"].max() == whole[order[:3]].mean(axis=1).max()
    assert found.notes[0] == (
        "open after 3 of 9 queries: 3 runs may be the best; judge next: "
        f"{', '.join(order[3:8])}, …"
    )
    assert found.notes[2] == "2 queries judged out of turn: not used"
    with pytest.raises(DataError, match="the first in the order drawn by seed 0, has"):
        decide(whole[order[1:]], list(map(str, whole)))


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"question": "top3"}, "'top3': expected best, topK with a K below the number"),
        ({"question": "topx"}, "'topx': expected best, topK"),
        ({"question": "x,x"}, "'x,x': expected two of the runs"),
        ({"question": "x,w"}, "'x,w': expected two of the runs"),
        ({"alpha": 1.0}, "alpha=1.0: expected a level"),
        ({"ceiling": 0.0}, "ceiling=0.0: expected a number above 0"),
        ({"ceiling": 0.5}, "run 'z', query 'q.*': expected a score of 0 to 0.5, found"),
    ],
)
def test_what_is_refused(changes, message):
    whole = scores(9)
    with pytest.raises((UsageError, DataError), match=message):
        decide(whole, list(map(str, whole)), **changes)
