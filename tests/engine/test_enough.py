"""Fewer judgments are what `evaluate` makes of them in a file."""

import numpy as np
import pandas as pd
import pytest
from helpers.builders import rankings_of
from helpers.judged import collection
from helpers.twins import replicates as twin

import pgcjax
from pgcjax.engine import plan
from pgcjax.engine.request import read_request
from pgcjax.engine.variant_batch import VariantGraphs, VariantScores
from pgcjax.errors import DataError, UsageError
from pgcjax.judging.variants import BLOCK, QueryVotes, kept_judgments, shares

pytestmark = [
    pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning"),
]
MEASURES = ["PGC", "PGC(p=0.8,graph=combined)"]
SHARES = (0.2, 0.6)
SIZES = (64, 20, 9)  # of the queries


def said(table: pd.DataFrame) -> dict:
    """How often a query's judge says what of which documents."""
    rows: dict = {}
    columns = "query_id", "doc_id", "other_doc_id", "preference", "judge", "weight"
    for query, a, b, sign, judge, weight in zip(*map(table.get, columns), strict=True):
        turned = isinstance(b, str) and b < a
        key = (query, b, a, -sign, judge) if turned else (query, a, b, sign, judge)
        key = tuple(part if part == part else "" for part in key)
        rows[key] = rows.get(key, 0) + weight
    return rows


def test_a_subsample_has_so_many_judgments_without_replacement():
    prefs, *_ = collection(4, SIZES)
    prefs.loc[prefs.query_id == "q1", "weight"] *= 2000  # too many one by one
    mixed = prefs.sample(frac=1, random_state=0)
    whole, all_said, before = prefs.groupby("query_id")["weight"].sum(), said(prefs), {}
    for share in (0.0001, *SHARES, 1.0):
        how = {"share": share, "seed": 7, "replicate": BLOCK + 1}
        table = pgcjax.judgments.subsample(prefs, **how)
        own = table.groupby("query_id")["weight"].sum()
        assert own.tolist() == [max(1, int(share * n + 0.5)) for n in whole]
        votes = QueryVotes(pgcjax.files.read_preferences(prefs))
        kept = [kept_judgments(votes, share, query) for query in votes.rows]
        assert kept == own.tolist()
        drawn = said(table)
        assert drawn == said(pgcjax.judgments.subsample(mixed, **how))
        assert all(weight <= all_said[row] for row, weight in drawn.items())
        few = {row: weight for row, weight in drawn.items() if row[0] != "q1"}
        assert all(few[row] >= weight for row, weight in before.items())
        before = few
    assert drawn == all_said
    draws = shares(votes, 0.5, 8 * BLOCK)
    blocks = [slice(low, low + BLOCK) for low in range(0, 8 * BLOCK, BLOCK)]
    for query in ("q0", "q1"):  # each judgment is drawn as often as others
        counts = np.concatenate([draws.counts(query, part) for part in blocks])
        weight = prefs["weight"].to_numpy()[votes.rows[query]]
        assert counts.mean(0) / weight == pytest.approx(0.5, abs=0.06)


def test_what_is_no_subsample():
    prefs, *_ = collection(4, SIZES)
    for arguments, message in (
        ((0, 0, 0), "share=0: expected a number above 0, and 1 at most"),
        ((1.5, 0, 0), "share=1.5: expected a number above 0, and 1 at most"),
        (("1", 0, 0), "share='1': expected a number above 0, and 1 at most"),
        ((0.5, -1, 0), "seed=-1: expected a whole number from 0"),
        ((0.5, 0, -1), "replicate=-1: expected a whole number from 0"),
    ):
        share, seed, replicate = arguments
        with pytest.raises(UsageError) as error:
            pgcjax.judgments.subsample(prefs, share, seed=seed, replicate=replicate)
        assert str(error.value) == message
    prefs.loc[0, "weight"] = 1e9
    with pytest.raises(DataError) as error:
        pgcjax.judgments.subsample(prefs, 0.5)
    assert str(error.value) == (
        "query 'q0' has 10^9 judgments or more. Lower the weights."
    )


def test_scores_are_those_of_a_file_of_the_subsample(tmp_path):
    """To the bit; and the curve is that of their means."""
    prefs, qrels, runs = collection(2, SIZES)
    given = {"qrels": qrels, "measures": MEASURES}
    found = pgcjax.judgments.enough(
        *(runs,), preferences=prefs, shares=SHARES, replicates=3, seed=5, top=2, **given
    )
    request = read_request({"preferences": prefs, "qrels": qrels}, MEASURES, "trec")
    rankings = rankings_of(runs, request.judged.docs)
    whole = pgcjax.evaluate(runs, preferences=prefs, **given).mean().sort_index()
    votes, lost = QueryVotes(request.tables["preferences"]), 0
    for share in SHARES:
        variants = shares(votes, share, 3, 5)
        graphs = [VariantGraphs(member, votes) for member in request.members]
        parts = [VariantScores(of, variants).score(rankings)[:, 0] for of in graphs]
        means = {measure: [] for measure in MEASURES}
        for replicate in range(3):
            drawn = pgcjax.judgments.subsample(
                prefs, share, seed=5, replicate=replicate
            )
            drawn.to_csv(tmp_path / "drawn.csv", index=False)
            alone = pgcjax.evaluate(runs, preferences=tmp_path / "drawn.csv", **given)
            for measure, each in zip(MEASURES, parts, strict=True):
                own = alone.matrix(measure).to_numpy()
                assert each[replicate].tobytes() == own.tobytes()
                means[measure].append(alone.mean().sort_index()[measure].tolist())
            lost += drawn.doc_id.nunique() < prefs.doc_id.nunique()
        for measure in MEASURES:
            rows = found.table.set_index(["measure", "share"])
            row, observed = rows.loc[(measure, share)], whole[measure].tolist()
            taus = [twin.tau_b(observed, mean) for mean in means[measure]]
            assert row["tau"] == pytest.approx(np.mean(taus), abs=1e-12)
            assert row["same_best"] == twin.same_best(observed, means[measure])
            overlap = twin.overlap(observed, means[measure], 2)
            assert row["overlap"] == pytest.approx(overlap)
    assert lost
    about = {"shares": [*SHARES], "replicates": 3, "seed": 5, "top": 2, "order": "trec"}
    assert about.items() <= found.metadata.items()


def test_what_is_there_does_not_depend_on_chunks_or_other_shares(tmp_path):
    prefs, _, runs = collection(3, SIZES)
    paths = []
    for name, own in runs.groupby("run_id"):
        own.to_csv(tmp_path / f"{name}.csv", index=False)
        paths.append(tmp_path / f"{name}.csv")
    given = {"preferences": prefs, "replicates": BLOCK + 2}
    whole = pgcjax.judgments.enough(runs, shares=SHARES, **given)
    assert (whole.table["tau_low"] < 1).sum() == 2
    part = pgcjax.judgments.enough(runs, shares=SHARES[1], **given)
    pd.testing.assert_frame_equal(
        part.table, whole.table.iloc[1:].reset_index(drop=True), check_exact=True
    )
    given |= {"shares": SHARES, "journal": tmp_path / "kept"}

    def stop(stage, done, total):
        if stage == "resampling" and len([*(tmp_path / "kept").glob("*.npz")]) == 2:
            raise KeyboardInterrupt

    stages = []
    with plan.using(seconds=0.0, rows=0):
        with pytest.raises(KeyboardInterrupt):
            pgcjax.judgments.enough(paths, progress=stop, **given)
        rest = pgcjax.judgments.enough(
            paths, progress=lambda *x: stages.append(x), **given
        )
    assert sum(s == "resampling" and done == of for s, done, of in stages) == 2 * 3
    pd.testing.assert_frame_equal(rest.table, whole.table, check_exact=True)
    with pytest.raises(DataError) as error:
        pgcjax.judgments.enough(paths, **{**given, "shares": [0.3]})
    assert str(error.value) == (
        f"{tmp_path / 'kept'}: holds finished work of another job: it differs in "
        "shares. "
        "Remove the folder, or name another journal; on the command line, start "
        "without --resume."
    )


def test_what_cannot_be_asked():
    prefs, qrels, runs = collection(0, SIZES[-1:])
    given = {"preferences": prefs, "qrels": qrels}
    shares = (
        "shares: expected numbers above 0 and below 1; the share of all "
        "judgments is always included"
    )
    for changes, message in (
        ({"replicates": 0}, "replicates=0: expected 2 to 1000000; 200 are usual"),
        ({"replicates": 1}, "replicates=1: expected 2 to 1000000; 200 are usual"),
        ({"shares": []}, shares),
        ({"shares": [0.5, 1]}, shares),
        ({"shares": "0.1"}, "share='0.1': expected a number above 0, and 1 at most"),
        ({"shares": [-0.1]}, "share=-0.1: expected a number above 0, and 1 at most"),
        ({"top": 0}, "top=0: expected a whole number, 1 or more"),
        *(
            (
                {"measures": measure},
                f"{measure}: expected PGC of preferences, whose judgments can be "
                "subsampled: graph=real or graph=combined, and ideal=greedy",
            )
            for measure in ("Compat", "ExactPGC", "PGC(graph=derived)")
        ),
    ):
        with pytest.raises(UsageError) as error:
            pgcjax.judgments.enough(runs, **{**given, **changes})
        assert str(error.value) == message
    with pytest.raises(DataError) as error:
        pgcjax.judgments.enough(runs, preferences=prefs.head(0))
    assert str(error.value) == "preferences: holds no rows. Add rows."
