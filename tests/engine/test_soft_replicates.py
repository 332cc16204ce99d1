"""Probabilities and fractional weights drawn again, or left out: as in a table."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

import pgcjax
from pgcjax.engine.next_judgments import next_judgments
from pgcjax.errors import DataError
from pgcjax.files import read_preferences
from pgcjax.io.reading import reading
from pgcjax.judging.variants import QueryVotes, drawn_votes

pytestmark = [
    pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning"),
]
MEASURES = ["PGC", "PGC(soft=both)", "PGC(soft=sign)", "PGC(graph=combined)"]
MEASURES += ["PGC(graph=combined,soft=both)"]
QUERIES = [f"q{i}" for i in range(5)]


def votes(seed: int, rows: int = 18) -> pd.DataFrame:
    """Soft and hard votes of three judges, whole and in part; some documents bad."""
    made = np.random.default_rng(seed)
    count = len(QUERIES) * rows
    docs = np.array([made.permutation(7)[:2] for _ in range(count)])
    names = np.char.add("d", docs.astype(str)).astype(object)
    p = made.choice([0, 0.3, 0.5, 0.7, 0.9, 1, 0.123456, np.nan], count)
    table = pd.DataFrame(
        {
            "query_id": np.repeat(QUERIES, rows),
            "doc_id": names[:, 0],
            "other_doc_id": names[:, 1],
            "preference": np.where(np.isnan(p), made.choice([-1, 1], count), p - 0.5),
            "probability": p,
            "weight": made.choice([1, 2, 0.5, 1 / 3, 2.3], count),
            "judge": made.choice(["a", "b", "c"], count),
        }
    )
    return read_preferences(table)


def runs() -> pd.DataFrame:
    made = np.random.default_rng(9)
    docs = np.array(["d0", "d1", "d3", "d5", "d6", "x", "y"])
    rows = [
        (f"r{r}", query, doc, -float(i))
        for r, query in product(range(4), QUERIES)
        for i, doc in enumerate(made.permutation(docs)[: 4 + r])
    ]
    return pd.DataFrame(rows, columns=["run_id", "query_id", "doc_id", "score"])


def qrels() -> pd.DataFrame:
    rows = [(q, f"d{i}", float(i % 3)) for q in QUERIES[1:] for i in range(5)]
    return pd.DataFrame(rows, columns=["query_id", "doc_id", "relevance"])


GIVEN = {"runs": runs(), "qrels": qrels(), "measures": MEASURES}


@pytest.mark.parametrize("resample", ["judgments", "judges"])
def test_a_replicate_is_what_evaluate_makes_of_its_table(resample):
    """To the last bit, and each score of the table is that of the plain twin."""
    prefs = votes(1)
    how = {"replicates": 2, "resample": resample, "seed": 4}
    whole = pgcjax.uncertainty(preferences=prefs, **GIVEN, **how)
    for b in range(2):
        table = pgcjax.judgments.resample(prefs, resample, seed=4, replicate=b)
        alone = pgcjax.evaluate(preferences=table, **GIVEN, verify=1.0)
        for measure in MEASURES:
            means = whole.replicates[measure][b]
            expected = alone.matrix(measure).to_numpy().mean(1)
            assert means == pytest.approx(expected, abs=1e-15)
    # What counts does not depend on the order of lines, nor of the two documents.
    turned = prefs.rename(columns={"doc_id": "other_doc_id", "other_doc_id": "doc_id"})
    turned["preference"] *= -1
    turned["probability"] = 1 - turned["probability"]
    mixed = pd.concat([prefs.iloc[::2], turned.iloc[1::2]]).sample(
        frac=1, random_state=2
    )
    # 1 - p is p to the last bit but one: such as .123456 do not come back.
    plain = prefs["probability"].isin([0, 0.5, 1]) | prefs["probability"].isna()
    assert plain.sum() > 20
    both = {**GIVEN, "measures": "PGC(soft=both)", **how}
    mixed, same = mixed[plain[mixed.index]], prefs[plain]
    one, other = (
        pgcjax.uncertainty(preferences=table, **both).replicates
        for table in (mixed, same)
    )
    assert one["PGC(soft=both)"].tobytes() == other["PGC(soft=both)"].tobytes()


def test_without_a_judge_scores_are_those_of_the_other_judgments():
    prefs = votes(2)
    found = pgcjax.uncertainty(preferences=prefs, **GIVEN, leave_out="judges")
    for judge in "abc":
        rest = prefs[prefs["judge"] != judge]
        scores = pgcjax.evaluate(preferences=rest, **GIVEN, verify=1.0)
        for measure in MEASURES:
            own, expected = found.matrix(judge, measure), scores.matrix(measure)
            assert own.to_numpy().tobytes() == expected.to_numpy().tobytes()
    gone = found.changes().set_index("left_out")["judgments"]
    for judge, own in prefs.groupby("judge"):
        assert gone[judge] == pytest.approx(own["weight"].sum())


def test_a_row_of_weight_w_is_so_many_judgments():
    """Of weight 2.3 it is three of 2.3 / 3 each; whole weights stay as they are."""
    rows = [("q", "a", "b", 1.0, w) for w in (0.25, 1, 2.3, 3)]
    names = ["query_id", "doc_id", "other_doc_id", "preference", "weight"]
    prefs = read_preferences(pd.DataFrame(rows, columns=names))
    draws = QueryVotes(prefs)
    assert draws.total("q") == 1 + 1 + 3 + 3
    counts = drawn_votes(draws, 128).counts("q", slice(0, 128))
    assert (counts.sum(1) == 8).all()
    weight = prefs["weight"].to_numpy()[draws.rows["q"]]
    found = draws.weights("q", counts)
    parts = weight / np.ceil(weight)
    assert found == pytest.approx(counts * parts)
    assert (
        found[counts == np.ceil(weight)]
        == np.broadcast_to(weight, found.shape)[counts == np.ceil(weight)]
    ).all()
    mean = found.mean(0)  # on average, each row counts its weight
    assert np.abs(mean - weight).max() < 3 * (parts * np.sqrt(3 / 128)).max()
    table = pgcjax.judgments.resample(prefs, replicate=5)
    kept = draws.rows["q"][counts[5] > 0]
    again = pd.Series(found[5], draws.rows["q"])[np.sort(kept)]
    assert table["weight"].tolist() == again.tolist()
    subset = pgcjax.judgments.subsample(prefs, 1.0)
    assert subset["weight"].tolist() == prefs["weight"].tolist()


def test_votes_that_count_half_can_be_drawn():
    """By --flips half: replicates, fewer judgments, and which to make next."""
    made = np.random.default_rng(5)
    rows = []
    for query, (a, b) in product(QUERIES, [("d0", "d1"), ("d1", "d3"), ("d5", "d0")]):
        rows += [(query, a, b, a, "m"), (query, b, a, made.choice([a, b]), "m")]
    columns = ["query_id", "first", "second", "winner", "judge"]
    given = {"runs": runs(), "measures": "PGC"}
    with reading(flips="half"):
        half = read_preferences(pd.DataFrame(rows, columns=columns))
    assert (half["weight"] == 0.5).all()
    scores = pgcjax.uncertainty(preferences=half, replicates=130, **given)
    # Half of everything: the same draws, and the same order of everything.
    whole = pgcjax.uncertainty(
        preferences=half.assign(weight=1.0), replicates=130, **given
    )
    one, other = (x.replicates["PGC"] for x in (scores, whole))
    assert one.tobytes() == other.tobytes() and np.ptp(one, axis=0).max() > 0
    fewer = pgcjax.judgments.enough(
        preferences=half, shares=[0.5], replicates=5, **given
    )
    assert fewer.table["judgments"].tolist() == [15, 30]
    how = {"runs": runs(), "replicates": 20, "top": 3}
    nexts = [
        next_judgments(preferences=half.assign(weight=w), **how) for w in (0.5, 1.0)
    ]
    votes = [found.table.set_index(list(found.table)[:3]) for found in nexts]
    assert len(votes[0]) and votes[0].iloc[:, :2].to_numpy().max() <= 1
    pairs = votes[0].index.intersection(votes[1].index)
    columns = list(votes[0])[:2]
    doubled = 2 * votes[0].loc[pairs, columns].to_numpy()
    assert (doubled == votes[1].loc[pairs, columns].to_numpy()).all()


def test_more_than_degrees_hold_is_refused():
    prefs = votes(3).assign(weight=5000.5)
    with pytest.raises(DataError) as refused:
        pgcjax.uncertainty(preferences=prefs, **GIVEN, replicates=2)
    assert str(refused.value) == (
        "query 'q0' has a document in 16384 judgments or more. Lower the weights."
    )
    prefs = votes(3).assign(weight=np.where(np.arange(90) % 18 == 3, 9000.5, 1))
    with pytest.raises(DataError) as refused:
        pgcjax.uncertainty(
            preferences=prefs, **GIVEN, replicates=40, resample="judges", seed=1
        )
    assert str(refused.value) == (
        "query 'q2' has a replicate with a document in 16384 judgments or more, and "
        "some count in part. Lower the weights."
    )
