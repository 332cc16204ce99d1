"""Ranks of systems by few votes of people and many of a model hold the truth."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from pgcjax.engine import win_rates
from pgcjax.engine.win_rates import SystemVotes
from pgcjax.errors import DataError, UsageError
from pgcjax.judgments import rank_sets
from pgcjax.stats import rank_sets as windows

STRENGTH = np.array([1.5, 0.5, 0.5, -0.5, -2.0])  # b and c are equal


def votes_of(seed: int, people: int = 300, model: int = 3000, same: float = 0.6):
    """Draw votes: those of people, and a model's, who says the same in a share."""
    random = np.random.default_rng(seed)
    n = people + model
    first = random.integers(0, 5, n)
    second = (first + random.integers(1, 5, n)) % 5
    won = random.random(n) < expit(STRENGTH[first] - STRENGTH[second])
    other = np.where(random.random(n) < same, won, random.random(n) < 0.6)
    both = (np.r_[x, ~x] * 1.0 for x in (won, other))
    query = np.arange(n)
    return SystemVotes([*"abcde"], np.r_[first, second], query, query < people, *both)


def drawn(seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Lay the votes of people, and those of the model, out as tables."""
    votes = votes_of(seed)
    first, second = np.array(votes.names)[votes.side].reshape(2, -1)
    query = [f"q{i}" for i in votes.query]
    sides = {"query_id": query, "model_a": first, "model_b": second}
    people, model = (
        pd.DataFrame({**sides, "winner": np.where(x, "model_a", "model_b")})
        for x in (votes.people[: len(query)] > 0, votes.model[: len(query)] > 0)
    )
    return people[votes.judged], model


def truth() -> pd.Series:
    won = expit(STRENGTH[:, None] - STRENGTH)
    return pd.Series((won.sum(1) - 0.5) / 4, [*"abcde"])


def test_ranks_hold_and_errors_are_those_of_repeated_draws():
    rates, variances, held = [], [], 0
    for seed in range(40):
        votes = votes_of(seed)
        found = win_rates.estimate(votes)
        rates.append(found.mean)
        variances.append(found.covariance.diagonal())
        apart = win_rates.significant_pairs(found, 0.05, 500, seed)
        table = win_rates.leaderboard(votes.names, found.mean, apart)
        by = table.set_index("run_id").loc[[*"abcde"]]
        held += (by["low"] <= [1, 2, 2, 4, 5]).all() and (
            by["high"] >= [1, 3, 3, 4, 5]
        ).all()
    far = (np.mean(rates, 0) - truth()) / np.sqrt(np.mean(variances, 0) / 40)
    assert np.abs(far).max() < 3.5
    assert np.mean(variances, 0) == pytest.approx(np.var(rates, 0), rel=0.6)
    assert np.mean(variances) == pytest.approx(np.var(rates, 0).mean(), rel=0.25)
    assert held >= 34  # of 40, 38 expected


def test_a_model_narrows_what_people_say_alone():
    people, model = drawn(0)
    found = rank_sets(model, people=people).table
    rates = win_rates.estimate(votes_of(0)).mean
    assert found.set_index("run_id")["mean"][[*"abcde"]].to_numpy() == pytest.approx(
        rates
    )
    assert found["run_id"].tolist()[::4] == ["a", "e"]
    assert found.columns[:5].tolist() == ["run_id", "mean", "rank", "low", "high"]
    power = {}
    for same in (0.0, 0.6, 1.0):
        power[same] = win_rates.estimate(votes_of(1, same=same))
    assert power[0.0].power < 0.1 < power[0.6].power
    # A model that says what people do is as good: N / (n + N) of its votes.
    assert power[1.0].power == pytest.approx(3000 / 3300, abs=0.03)
    sums = [np.trace(power[same].covariance) for same in (0.0, 0.6, 1.0)]
    assert sums[0] > 1.2 * sums[1] > 3 * sums[2]


def test_votes_on_a_query_go_together():
    """Ten equal votes on each query are no more than one."""
    votes = votes_of(2)
    ten = votes._replace(
        side=np.tile(votes.side.reshape(2, -1), 10).ravel(),
        query=np.tile(votes.query, 10),
        judged=np.tile(votes.judged, 10),
        people=np.tile(votes.people.reshape(2, -1), 10).ravel(),
        model=np.tile(votes.model.reshape(2, -1), 10).ravel(),
    )
    one, more = win_rates.estimate(votes), win_rates.estimate(ten)
    assert more.covariance == pytest.approx(one.covariance)
    assert win_rates.check_sample(ten) == pytest.approx(win_rates.check_sample(votes))


def test_windows_find_what_all_pairs_at_once_do(monkeypatch):
    """One part is one window; of many systems, parts hold several."""
    more, pairs = 0, 0
    for seed in range(6):
        found, apart = win_rates.estimate(votes_of(seed, people=120)), {}
        for most in (64, 3, 1):
            monkeypatch.setattr(windows, "_MOST", most)
            apart[most] = win_rates.significant_pairs(found, 0.05, 500, seed)
            assert (apart[most] == apart[most].T).all()
        assert (apart[1] <= apart[64]).all() and (apart[1] <= apart[3]).all()
        more, pairs = more + int((apart[64] > apart[1]).sum()), pairs + apart[1].sum()
    assert more and pairs


def test_a_sample_by_lot_passes():
    p = [win_rates.check_sample(votes_of(seed)) for seed in range(15)]
    assert min(p) > 0.001 and np.mean(np.array(p) < 0.3) < 0.6


def biased(people: pd.DataFrame, model: pd.DataFrame) -> pd.DataFrame:
    """Let people judge `a` more often."""
    has = (model == "a").any(axis=1).to_numpy()[:3000]
    some = model[:3000][has | (np.arange(3000) % 10 == 0)]
    return some.iloc[:900]


@pytest.mark.parametrize(
    ("people", "match"),
    [
        (biased, "no random share of the model's: those of 'a' differ"),
        (lambda p, m: p.assign(query_id="x" + p["query_id"]), "the model did not"),
        (lambda p, m: p[:60], "people judged [0-9]+ comparisons of"),
        (lambda p, m: m, "the model alone judged 0 comparisons of"),
    ],
)
def test_what_cannot_be_estimated_is_refused(people, match):
    given, model = drawn(3)
    with pytest.raises(DataError, match=match):
        rank_sets(model, people=people(given, model))


def test_votes_without_queries_are_refused():
    people, model = (x.assign(query_id="all") for x in drawn(3))
    with pytest.raises(DataError, match="people judged comparisons of 1 query. At"):
        rank_sets(model, people=people)
    with pytest.raises(UsageError, match="between 0 and 1"):
        rank_sets(model, people=people, level=95)
