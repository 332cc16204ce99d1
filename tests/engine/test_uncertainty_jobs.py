"""A replicate of the judgments is what `evaluate` makes of them in a table."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from helpers.builders import rankings_of
from helpers.judged import SIZES, collection

import pgcjax
from pgcjax.engine import plan
from pgcjax.engine.request import read_request
from pgcjax.engine.variant_batch import VariantGraphs, VariantScores
from pgcjax.errors import DataError, UsageError
from pgcjax.judging.variants import QueryVotes, drawn_judges, drawn_queries, drawn_votes
from pgcjax.tensors.padding import at_least

pytestmark = [
    pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning"),
]
MEASURES = [
    "PGC",
    "PGC(p=0.8,graph=combined)",
    "PGC(p=0.5,depth=7,normalization=ideal)",
]


def scored(tables, how, measures=MEASURES):
    """Scores [replicates, runs, queries] and what is present, by measure."""
    prefs, qrels, runs = tables
    request = read_request({"preferences": prefs, "qrels": qrels}, measures, "trec")
    votes = QueryVotes(request.tables["preferences"])
    draw = {"judgments": drawn_votes, "judges": drawn_judges}[how["resample"]]
    variants = draw(votes, how["replicates"], how["seed"])
    rankings, found = rankings_of(runs, request.judged.docs), {}
    for member in request.members:
        batch = VariantScores(VariantGraphs(member, votes), variants)
        scores = batch.score(rankings)[:, 0]
        present = ~np.isnan(scores).any(1)
        found[str(member.measure)] = list(batch.docs), scores, present
    return found


@pytest.mark.parametrize("resample", ["judgments", "judges"])
def test_scores_and_means_are_those_of_the_table_of_a_replicate(resample):
    dropped = lost = 0
    for seed in range(2):
        prefs, qrels, runs = collection(seed)
        how = {"replicates": 3, "resample": resample, "seed": seed}
        found = scored((prefs, qrels, runs), how)
        whole = pgcjax.uncertainty(
            runs, preferences=prefs, qrels=qrels, measures=MEASURES, **how
        )
        for b in range(3):
            table = pgcjax.judgments.resample(prefs, resample, seed=seed, replicate=b)
            alone = pgcjax.evaluate(
                runs, preferences=table, qrels=qrels, measures=MEASURES
            )
            for measure, (queries, scores, present) in found.items():
                expected = alone.matrix(measure)
                there = np.isin(queries, expected.columns)
                assert (present[b] == there).all()
                own = expected.to_numpy()
                assert scores[b][:, there].tobytes() == own.tobytes()
                means = whole.replicates[measure][b]
                assert means == pytest.approx(own.mean(1), abs=1e-15)
                lost += int((~there).sum())
            edges = table[table.preference != 0].dropna()
            before = prefs[prefs.preference != 0].dropna()
            for q in before.query_id.unique():
                one, other = (t[t.query_id == q] for t in (before, edges))
                dropped += len({*one.doc_id} - {*other.doc_id, *other.other_doc_id})
        for measure, mean in whole.mean.items():
            assert mean == pytest.approx(
                whole.observed.mean()[measure].sort_index().to_numpy(), abs=1e-15
            )
    assert dropped > 30
    assert (lost > 0) == (resample == "judges")


def test_replicates_do_not_depend_on_the_order_in_which_runs_are_given():
    prefs, _, runs = collection(0)
    tables = {run: own.drop(columns="run_id") for run, own in runs.groupby("run_id")}
    found = [
        pgcjax.uncertainty(given, preferences=prefs, measures="PGC", replicates=3)
        for given in (tables, dict(reversed(tables.items())))
    ]
    one, other = (each.replicates["PGC"] for each in found)
    assert one.tobytes() == other.tobytes()
    assert len({*one[0]}) == len(tables)


@pytest.mark.parametrize("missing", ["zero", "skip"])
def test_intervals_of_single_scores_are_those_of_all_replicates(missing):
    prefs, qrels, runs = collection(1)
    runs = runs[(runs.run_id != "r1") | (runs.query_id != "q2")]  # one lacks a query
    how = {"replicates": 130, "resample": "judges", "seed": 2}
    given = {"preferences": prefs, "measures": "PGC", "missing": missing}
    drawn = pgcjax.uncertainty(runs, **given, **how, score_intervals=True)
    scores = drawn.observed
    assert {"score_intervals": True, "seed": 2}.items() <= scores.metadata.items()
    table = drawn.scores(interval="percentile")
    asked = scores.table.rename(columns={"value": "score"}).drop(columns="measure")
    pd.testing.assert_frame_equal(table[list(asked)], asked)
    queries, each, present = scored((prefs, qrels, runs), how, ["PGC"])["PGC"]
    assert not present.all()
    for row in table.itertuples():
        run, query = int(row.run_id[1]), queries.index(row.query_id)
        values = each[present[:, query], run, query]
        if (row.run_id, row.query_id) == ("r1", "q2"):
            values = np.zeros(2)
        ends = np.quantile(values, [0.025, 0.975])
        assert (row.low, row.high) == pytest.approx(tuple(ends), abs=1e-15)
        assert row.mean_replicate == pytest.approx(values.mean(), abs=1e-15)
    assert (table["high"] > table["low"]).sum() > 10


def test_large_degrees_are_peeled_without_words():
    prefs, qrels, runs = collection(5)
    prefs["weight"] *= np.where(prefs.query_id == "q1", 400, 1)
    how = {"replicates": 2, "resample": "judgments", "seed": 0}
    found = scored((prefs, qrels, runs), how)
    for b in range(2):
        table = pgcjax.judgments.resample(prefs, replicate=b)
        alone = pgcjax.evaluate(runs, preferences=table, qrels=qrels, measures=MEASURES)
        for measure, (_, scores, _) in found.items():
            assert scores[b].tobytes() == alone.matrix(measure).to_numpy().tobytes()
    prefs["weight"] = 2.0**29
    with pytest.raises(DataError) as error:
        scored((prefs, qrels, runs), how)
    assert str(error.value) == (
        "query 'q0' may have a replicate with 2^30 judgments or more. "
        "Lower the weights."
    )


def test_queries_and_both_count_a_query_as_often_as_it_is_drawn():
    prefs, qrels, runs = collection(1)
    given = {"preferences": prefs, "qrels": qrels, "replicates": 5, "seed": 3}
    runs = runs[(runs.run_id != "r1") | (runs.query_id != "q2")]  # one lacks a query
    measures = ["PGC", "nDCG@10"]
    alone, both, votes = (
        pgcjax.uncertainty(runs, resample=how, measures=m, missing="skip", **given)
        for how, m in (("queries", measures), ("both", "PGC"), ("judgments", "PGC"))
    )
    drawn = np.array([topics_of(3, b, len(SIZES)) for b in range(5)])
    assert (drawn.sum(1) == len(SIZES)).all() and (drawn > 1).any()
    for measure in measures:
        scores = alone.observed.matrix(measure).to_numpy()
        expected = [
            [
                np.average(row[~np.isnan(row)], weights=w[~np.isnan(row)])
                for row in scores
            ]
            for w in drawn
        ]
        assert alone.replicates[measure] == pytest.approx(np.array(expected), abs=1e-15)
    how = {"replicates": 5, "resample": "judgments", "seed": 3}
    queries, scores, _ = scored((prefs, qrels, runs), how, ["PGC"])["PGC"]
    for b, w in enumerate(drawn):
        for r, run in enumerate([f"r{i}" for i in range(5)]):
            has = np.isin(queries, runs[runs.run_id == run].query_id)
            mean = both.replicates["PGC"][b, r]
            assert mean == pytest.approx(
                np.average(scores[b, r, has], weights=w[has]), abs=1e-15
            )
            mean = votes.replicates["PGC"][b, r]
            assert mean == pytest.approx(scores[b, r, has].mean(), abs=1e-15)


def test_clusters_are_drawn_with_all_their_queries(tmp_path):
    """120 queries of 100 clusters; a query counts as often as its cluster is drawn."""
    names = [f"{i % 100:02}_{i // 100}" for i in range(120)]
    ids = {"query_id": np.repeat(names, 2), "doc_id": ["a", "b"] * 120}
    random = np.random.default_rng(0)
    qrels = pd.DataFrame(ids | {"relevance": random.integers(0, 2, 240)})
    qrels.loc[0, "relevance"] = 1
    runs = pd.concat(
        pd.DataFrame(ids | {"run_id": run, "score": random.random(240)}) for run in "xy"
    )
    given = {"qrels": qrels, "measures": "P@1", "replicates": 7, "seed": 2}
    found = pgcjax.uncertainty(runs, **given, resample="queries", cluster="_")
    scores = found.observed.matrix("P@1")
    number = [int(name[:2]) for name in scores.columns]
    for mean, drawn in zip(
        found.replicates["P@1"], drawn_queries(2, 7, 100)[:, number], strict=True
    ):
        assert mean == pytest.approx(np.average(scores, axis=1, weights=drawn))
    assert found.resampling == "clusters of queries drawn again 7 times"
    found.save(tmp_path / "means.csv")
    again = pgcjax.files.read_uncertainty(tmp_path / "means.csv")
    assert again.metadata["clusters"] == 100
    few = {name: name[0] for name in names}
    with pytest.raises(DataError, match="10 clusters: replicates of fewer than 100"):
        pgcjax.uncertainty(runs, **given, resample="queries", cluster=few)


def test_queries_are_drawn_within_collections(tmp_path):
    """Collections of 50 and 70 queries count the same, in means and in replicates."""
    names = [f"{'ab'[i < 70]}_{i:03}" for i in range(120)]
    ids = {"query_id": np.repeat(names, 2), "doc_id": ["a", "b"] * 120}
    random = np.random.default_rng(0)
    qrels = pd.DataFrame(ids | {"relevance": random.integers(0, 2, 240)})
    qrels.loc[::60, "relevance"] = 1
    runs = pd.concat(
        pd.DataFrame(ids | {"run_id": run, "score": random.random(240)}) for run in "xy"
    )
    given = {"qrels": qrels, "measures": "P@1", "replicates": 400, "seed": 2}
    given |= {"resample": "queries", "verify": 1.0}
    found = pgcjax.uncertainty(runs, **given, collections="_")
    scores = found.observed.matrix("P@1")
    parts = [scores.filter(regex=f"^{name}_").to_numpy() for name in "ab"]
    mean = np.mean([part.mean(1) for part in parts], 0)
    assert found.mean["P@1"] == pytest.approx(mean, abs=1e-12)
    assert np.abs(mean - scores.mean(axis=1)).max() > 1e-3
    drawn, variance = found.replicates["P@1"], np.zeros(2)
    for part in parts:
        variance += part.var(1) / part.shape[1] / 4
    assert drawn.mean(0) == pytest.approx(mean, abs=4 * variance.max() ** 0.5 / 20)
    assert drawn.var(0) == pytest.approx(variance, rel=0.25)
    assert found.resampling == "queries of each collection drawn again 400 times"
    found.save(tmp_path / "means.csv")
    again = pgcjax.files.read_uncertainty(tmp_path / "means.csv")
    assert again.metadata["collections"] == 2
    few = {name: "few" if i < 49 else "many" for i, name in enumerate(names)}
    with pytest.raises(DataError, match="fewer than 50 queries of few: replicates"):
        pgcjax.uncertainty(runs, **given, collections=few)


def topics_of(seed: int, replicate: int, queries: int) -> np.ndarray:
    return drawn_queries(seed, replicate + 1, queries)[replicate]


def test_any_cut_and_any_order_of_lines_give_the_same_bytes():
    prefs, qrels, runs = collection(2, (20, 9, 3))
    measures = MEASURES[:2]
    given = {"preferences": prefs, "qrels": qrels, "measures": measures, "seed": 7}

    def means(runs=runs, **changes) -> list[np.ndarray]:
        found = pgcjax.uncertainty(runs, **{"replicates": 130, **given, **changes})
        return [*found.replicates.values()]

    repeated = prefs.loc[prefs.index.repeat(prefs.weight)].drop(columns="weight")
    turned, pairs = prefs.copy(), prefs.other_doc_id.notna()
    turned.loc[pairs, ["doc_id", "other_doc_id"]] = prefs.loc[
        pairs, ["other_doc_id", "doc_id"]
    ].to_numpy()
    turned.loc[pairs, "preference"] *= -1
    whole = means()
    for changed in (
        means(),
        means(runs.sample(frac=1, random_state=0)),
        means(preferences=prefs.sample(frac=1, random_state=0)),
        means(preferences=repeated),
        means(preferences=turned),
    ):
        assert [a.tobytes() for a in changed] == [a.tobytes() for a in whole]
    with plan.using(rows=0, chunk=0):
        assert [a.tobytes() for a in means()] == [a.tobytes() for a in whole]
    # Of another shape, fewer runs in a step than there are, and one run alone.
    one = runs[runs.run_id == "r1"]
    with plan.using(words=64, together=2, runs=4), at_least(documents=96):
        assert [a.tobytes() for a in means()] == [a.tobytes() for a in whole]
        for a, b in zip(means(one), whole, strict=True):
            assert (a[:, 0] == b[:, 1]).all()
    # The first of many are those of few.
    few = means(replicates=7)
    assert all((a == b[:7]).all() for a, b in zip(few, whole, strict=True))
    assert (means(seed=8)[0] != whole[0]).any()


def test_a_job_goes_on_where_it_was_stopped(tmp_path):
    prefs, _, runs = collection(4)
    paths = []
    for name, rows in runs.groupby("run_id"):
        paths.append(tmp_path / f"{name}.csv")
        rows.to_csv(paths[-1], index=False)
    given = {"preferences": prefs, "measures": "PGC", "replicates": 5}
    whole = pgcjax.uncertainty(paths, **given)

    def stop(stage, done, total):
        """Stop in the second chunk: a run each."""
        ended.append(stage == "resampling" and done == total)
        if sum(ended) == 2:
            raise KeyboardInterrupt

    ended, again = [], []
    kept = pgcjax.Job(journal=tmp_path / "kept")
    with plan.using(seconds=0.0, rows=0):
        with pytest.raises(KeyboardInterrupt):
            pgcjax.uncertainty(paths, job=replace(kept, progress=stop), **given)
        assert [*(tmp_path / "kept").glob("*.npz")]
        with pytest.raises(DataError) as error:
            pgcjax.uncertainty(paths, job=kept, **{**given, "replicates": 4})
        assert str(error.value) == (
            f"{tmp_path / 'kept'}: holds finished work of another job: it differs in "
            "replicates. Remove the folder, or name another journal; on the command "
            "line, start without --resume."
        )
        rest = pgcjax.uncertainty(
            paths, job=replace(kept, progress=lambda *said: again.append(said)), **given
        )
    assert sum(s == "resampling" and done == of for s, done, of in again) == 4
    for name, mean in whole.replicates.items():
        assert rest.replicates[name].tobytes() == mean.tobytes()


def test_what_cannot_be_drawn_is_refused():
    prefs, qrels, runs = collection(0)
    given = {"preferences": prefs, "qrels": qrels}
    for changes, message in (
        (
            {"replicates": 1},
            "replicates=1: expected 2 to 1000000; 1000 are usual",
        ),
        (
            {"replicates": True},
            "replicates=True: expected a whole number, 0 or more",
        ),
        (
            {"seed": -1},
            "seed=-1: expected a whole number, 0 or more",
        ),
        (
            {"resample": "votes"},
            "resample is one of judgments, judges, queries, both, not 'votes'",
        ),
        (
            {"measures": "PGC,Compat".split(",")},
            "Compat: resample='judgments' works with PGC of preferences alone; "
            "resample='queries' works with every measure (--resample on the command "
            "line)",
        ),
        (
            {"score_intervals": True, "resample": "queries"},
            "score_intervals: single scores vary only with the judgments: give "
            "resample='judgments', 'judges' or 'both' (--resample on the command line)",
        ),
        (
            {"cluster": "_", "resample": "both"},
            "cluster needs resample='queries' (--resample queries)",
        ),
        (
            {"collections": "_", "resample": "queries", "missing": "skip"},
            "collections: missing='skip' averages runs over other queries",
        ),
        (
            {"collections": "_", "resample": "queries", "cluster": "_"},
            "cluster does not go with collections",
        ),
        (
            {"measures": "ExactPGC"},
            "ExactPGC: resample='judgments' works with PGC of preferences alone; "
            "resample='queries' works with every measure (--resample on the command "
            "line)",
        ),
        (
            {"measures": "PGC(graph=derived)", "resample": "both"},
            "PGC(graph=derived): resample='both' works with PGC of preferences alone; "
            "resample='queries' works with every measure (--resample on the command "
            "line)",
        ),
    ):
        with pytest.raises(UsageError) as error:
            pgcjax.uncertainty(runs, **{"replicates": 5, **given, **changes})
        assert str(error.value) == message
    given["preferences"] = prefs.assign(judge=prefs.judge.where(prefs.index > 2))
    with pytest.raises(DataError) as error:
        pgcjax.uncertainty(
            runs, measures="PGC", replicates=5, resample="judges", **given
        )
    assert str(error.value) == (
        f"preferences: 3 of {len(prefs)} judgments name no judge, and judges are to be "
        "resampled. Give a column judge, or resample judgments."
    )
