"""Scores by few votes of people are nearer to those by all of them."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import pgcjax
from pgcjax.datasets.settings import CollectionSettings
from pgcjax.datasets.simulator import simulate
from pgcjax.engine import rectify as module
from pgcjax.errors import DataError, UsageError
from pgcjax.judgments import majority, rectify

pytestmark = pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning")
VOTE = ["query_id", "doc_id", "other_doc_id", "preference"]


@pytest.fixture(scope="module")
def drawn():
    """A collection, a vote of people on each pair, and the votes of three others."""
    size = CollectionSettings(queries=12, documents=12, runs=4, judges=4, pairs=66)
    made = simulate(size)
    first = made.preferences["judge"] == "j1"
    people, model = made.preferences[first], made.preferences[~first]
    return made.runs, people[VOTE], model[VOTE]


def share(people: pd.DataFrame, part: float = 0.3, seed: int = 1) -> pd.DataFrame:
    return people.groupby("query_id").sample(frac=part, random_state=seed)


@pytest.fixture(scope="module")
def found(drawn):
    runs, people, model = drawn
    return rectify(runs, people=share(people), model=model, draws=16, replicates=200)


def test_estimates_are_nearer_to_scores_by_all_votes(drawn, found):
    runs, people, _ = drawn
    whole, few = (
        pgcjax.evaluate(runs, preferences=majority(p), measures="PGC").matrix("PGC")
        for p in (people, share(people))
    )
    assert found.observed.measures == ["PGC"]
    ours = found.observed.matrix("PGC")
    assert ours.shape == whole.shape
    off, before = (((m - whole) ** 2).to_numpy().mean() for m in (ours, few))
    assert off < before
    assert "people judged 240 of 792 pairs" in found.notes[0]
    means = found.means().set_index("run_id")
    pd.testing.assert_series_equal(means["mean"], ours.mean(axis=1), check_names=False)
    assert ((means["low"] < means["mean"]) & (means["mean"] < means["high"])).all()


def test_equal_calls_give_equal_scores(drawn, found):
    runs, people, model = drawn
    turned = share(people).rename(
        columns=dict(zip(VOTE[1:3], VOTE[2:0:-1], strict=True))
    )
    turned["preference"] *= -1
    again = rectify(
        runs, people=turned[VOTE][::-1], model=model, draws=16, replicates=200
    )
    pd.testing.assert_frame_equal(again.table, found.table)


def test_replicates_vary_as_draws_and_queries_do():
    rng = np.random.default_rng(0)
    of_query, of_draw = rng.normal(0, 0.2, (1, 1, 10)), rng.normal(0, 0.1, (400, 1, 1))
    means = module.replicate_means(np.zeros((400, 2, 1)) + of_query + of_draw, 4000, 0)
    assert means.mean() == pytest.approx((of_query + of_draw).mean(), abs=1e-3 * 5)
    error = np.sqrt(of_query.var(ddof=1) / 10 + of_draw.var() * 10 / 9)
    student = stats.t.isf(0.025, 9) / stats.norm.isf(0.025)
    assert means[:, 0].std() == pytest.approx(student * error, rel=0.05)


def test_draws_follow_the_model_where_people_do():
    rng = np.random.default_rng(0)
    a, b = np.triu_indices(12, 1)
    query = np.repeat(np.arange(20), len(a))
    answer = rng.choice([-1.0, 1.0], len(query))
    people = np.where(rng.random(len(query)) < 0.8, answer, -answer).astype(np.int8)
    people[rng.random(len(query)) < 0.1] = 0
    judged = rng.random(len(query)) < 0.5
    pairs = module.SampledPairs(
        *(pd.DataFrame(), query, people, judged, answer, np.zeros((2, len(query))))
    )
    signs = module.draw_votes(pairs, np.zeros((len(query), 1)), 200, 0)
    assert (signs[:, judged] == people[judged]).all()
    hidden = signs[:, ~judged]
    assert (hidden == 0).mean() == pytest.approx(0.1, abs=0.02)
    alike = (hidden == answer[~judged]).sum() / (hidden != 0).sum()
    assert alike == pytest.approx(0.8, abs=0.03)


def test_shares_by_lot_are_seldom_refused_and_others_are(drawn):
    pairs = module.judged_pairs(*drawn[1:])
    rng = np.random.default_rng(0)
    chances = [
        module.check_sample(pairs._replace(judged=rng.random(len(pairs.query)) < 0.3))
        for _ in range(200)
    ]
    assert np.mean(np.array(chances) < 0.1) == pytest.approx(0.1, abs=0.07)
    near = np.abs(np.subtract(*pairs.strength)) < 0.7
    with pytest.raises(DataError, match="no random share"):
        module.check_sample(pairs._replace(judged=near))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda p, m: (p, m), "people judged 792 of 792 pairs"),
        (lambda p, m: (p.groupby("query_id").head(2), m), "judged 24 of 792 pairs"),
        (lambda p, m: (p, m[m["query_id"] != "q105"]), "the model did not"),
        (lambda p, m: (p[p["query_id"] != "q105"], m), "no pair of query 'q105'"),
    ],
)
def test_what_cannot_be_rectified_is_refused(drawn, change, says):
    people, model = change(*drawn[1:])
    with pytest.raises(DataError, match=says):
        rectify(drawn[0], people=people, model=model)


def test_other_measures_are_refused(drawn):
    runs, people, model = drawn
    with pytest.raises(UsageError):
        rectify(runs, people=share(people), model=model, measure="WPR")
