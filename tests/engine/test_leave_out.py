"""Scores without a judge, or a run, are those of `evaluate` on the other judgments."""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest
from helpers.builders import rankings_of
from helpers.twins import left_out as twin

import pgcjax
from pgcjax.engine import plan
from pgcjax.engine.request import read_request
from pgcjax.engine.variant_batch import VariantGraphs, VariantScores
from pgcjax.errors import DataError, UsageError
from pgcjax.io.order import ranked
from pgcjax.judging.variants import QueryVotes, judges_as_owners, left_out

pytestmark = [
    pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning"),
]
MEASURES = ["PGC", "PGC(p=0.5,depth=7,normalization=ideal)"]
DEPTH = 4
QRELS = ["query_id", "doc_id", "relevance"]


def collection(seed: int, queries: int = 9, most: int = 25):
    """Judgments by judges with weights, ties and bad documents; runs unlike each other.

    The first documents are the best, and judges agree with that more often than not.
    Judge j0 alone judged the last query, and run r0 alone has the documents of another.
    """
    rng = np.random.default_rng(seed)
    prefs, found = [], []
    for q in range(queries):
        n = int(rng.integers(3, most))
        docs = [f"d{i:02}" for i in rng.permutation(99)[:n]]
        for _ in range(3 * n):
            a, b = rng.permutation(n)[:2]
            judge = "j0" if q == queries - 1 else f"j{rng.integers(4)}"
            sign = float(np.sign(b - a) * rng.choice([-1, 0, 1], p=[0.2, 0.2, 0.6]))
            weight = float(rng.integers(1, 3))
            prefs.append((f"q{q}", docs[a], docs[b], sign, judge, weight))
        prefs.append((f"q{q}", docs[0], None, -1.0, "j0", 1.0))
        for r in range(5):
            if q == 0 and r or (q == 1 and r == 2):
                continue  # they lack the query
            pool = [*docs, *(f"x{i}" for i in range(5))]
            for i in rng.permutation(n + 5)[: rng.integers(2, n + 5)]:
                score = float(rng.integers(9)) - r * i / n  # later runs are better
                found.append((f"r{r}", f"q{q}", pool[i], score))
    columns = ["query_id", "doc_id", "other_doc_id", "preference", "judge", "weight"]
    names = ["run_id", "query_id", "doc_id", "score"]
    return pd.DataFrame(prefs, columns=columns), pd.DataFrame(found, columns=names)


def in_order(runs: pd.DataFrame) -> dict[str, dict[str, list[str]]]:
    """Give the documents of each run and query, as trec_eval orders them."""
    table, _, groups, lengths = ranked(pl.from_pandas(runs), "trec")
    docs = table["doc_id"]
    ends, out = np.cumsum(lengths), {}
    for (run, query), end, length in zip(groups, ends, lengths, strict=True):
        out.setdefault(run, {})[query] = docs[int(end - length) : int(end)].to_list()
    return out


@pytest.mark.parametrize("missing", ["zero", "skip"])
@pytest.mark.parametrize("what", ["judges", "runs"])
def test_each_row_is_what_evaluate_makes_of_the_other_judgments(what, missing):
    prefs, runs = collection(8)
    given = {"measures": MEASURES, "missing": missing}
    if what == "judges":  # grades stay where judges go
        grades = [("q0", "d01", 1.0), ("q8", "d02", 2.0), ("q9", "d03", 1.0)]
        given["qrels"] = pd.DataFrame(grades, columns=QRELS)
        given["measures"] = [*MEASURES, "PGC(p=0.8,graph=combined)"]
    found = pgcjax.uncertainty(
        runs, preferences=prefs, leave_out=what, pool_depth=DEPTH, **given
    )
    scores = found.observed
    whole = pgcjax.evaluate(runs, preferences=prefs, **given)
    assert scores.table.equals(whole.table)
    names = sorted(prefs.judge.unique() if what == "judges" else runs.run_id.unique())
    assert found.left_out == names and len(names) == 4 + (what == "runs")
    lines = prefs[["query_id", "doc_id", "other_doc_id"]].itertuples(index=False)
    lines, docs = [*lines], in_order(runs)
    lost, removed = 0, {}
    for name in names:
        kept = (prefs.judge != name).to_numpy()
        if what == "runs":
            kept = np.array(twin.without_run(lines, docs, name, DEPTH))
        removed[name] = int(prefs.weight[~kept].sum())
        alone = pgcjax.evaluate(runs, preferences=prefs[kept], **given)
        for measure in given["measures"]:
            own, expected = found.matrix(name, measure), alone.matrix(measure)
            assert own.columns.equals(expected.columns)
            assert own.index.tolist() == expected.index.tolist()
            assert own.to_numpy().tobytes() == expected.to_numpy().tobytes()
            lost += own.shape[1] < whole.matrix(measure).shape[1]
    assert (lost > 0) == (what == "judges") and any(removed.values())
    changed = np.zeros(2)
    for measure, alpha in product(given["measures"], (0.15, 0.3)):
        table = found.changes(measure, alpha=alpha).set_index("left_out")
        assert table["judgments"].to_dict() == removed
        size = table["largest_change"].abs()
        assert size.is_monotonic_decreasing and {*table.index} == {*names}
        if missing == "zero":  # of complete scores, all is as in the twin
            changed += table[["gained", "lost"]].sum()
            check(found, whole.matrix(measure), measure, table, alpha)
    assert missing == "skip" or changed.min() > 0
    assert scores.metadata["leave_out"] == what
    assert scores.metadata.get("pool_depth") == (DEPTH if what == "runs" else None)


def check(found, whole, measure, table, alpha):
    """Compare what is told of each owner with the twin."""
    before = {run: row.tolist() for run, row in whole.iterrows()}
    pairs = found.pairs(measure, alpha=alpha)
    for name, row in table.iterrows():
        scores = found.matrix(name, measure)
        after = {run: values.tolist() for run, values in scores.iterrows()}
        own = name if "rank" in table else None
        expected = twin.moved(before, after, own, alpha)
        assert row["queries"] == scores.shape[1]
        assert row["run"] == expected.pop("run")
        for column, value in expected.items():
            assert row[column] == pytest.approx(value, abs=1e-12), column
        changed = pairs[pairs.left_out == name]
        assert (changed.significant != changed.significant_without).all()
        assert changed.significant_without.sum() == row["gained"]
        assert changed.significant.sum() == row["lost"]
        for _, pair in changed.iterrows():
            a, b = (scores.loc[pair[side]].mean() for side in ("run_a", "run_b"))
            assert pair["difference_without"] == pytest.approx(a - b, abs=1e-12)


def test_order_of_lines_chunks_and_resuming_change_nothing(tmp_path):
    prefs, runs = collection(11, queries=4)
    paths = []
    for name, rows in runs.groupby("run_id"):
        paths.append(tmp_path / f"{name}.csv")
        rows.to_csv(paths[-1], index=False)
    given = {"measures": "PGC", "leave_out": "runs", "pool_depth": DEPTH}
    whole = pgcjax.uncertainty(paths, preferences=prefs, **given)

    def assert_same(other):
        pd.testing.assert_frame_equal(
            other.changes(), whole.changes(), check_exact=True
        )

    mixed = (table.sample(frac=1, random_state=0) for table in (runs, prefs))
    assert_same(pgcjax.uncertainty(next(mixed), preferences=next(mixed), **given))

    def stop(stage, done, total):
        ended.append(stage == "resampling" and done == total)
        if sum(ended) == 2:
            raise KeyboardInterrupt

    ended, again = [], []
    given |= {"preferences": prefs}
    kept = pgcjax.Job(journal=tmp_path / "kept")
    with plan.using(seconds=0.0, rows=0):
        with pytest.raises(KeyboardInterrupt):
            pgcjax.uncertainty(paths, job=replace(kept, progress=stop), **given)
        assert [*(tmp_path / "kept").glob("*.npz")]
        # Another run may have what was one's own: nothing kept would fit.
        more = tmp_path / "r9.csv"
        runs[runs.run_id == "r1"].assign(run_id="r9").to_csv(more, index=False)
        with pytest.raises(DataError) as error:
            pgcjax.uncertainty([*paths, more], job=kept, **given)
        assert "of another job: it differs in left out" in str(error.value)
        following = replace(kept, progress=lambda *s: again.append(s))
        rest = pgcjax.uncertainty(paths, job=following, **given)
    assert sum(s == "resampling" and done == of for s, done, of in again) == 4
    assert_same(rest)


def test_a_query_of_one_judge_and_one_query_alone():
    """Without its judge a query is gone; of one query, nothing is significant."""
    prefs, runs = collection(5, queries=2)
    runs = runs[(runs.query_id == "q1") | (runs.run_id == "r0")]
    only = prefs[(prefs.query_id == "q1") | (prefs.judge == "j1")]
    only = only.assign(judge=np.where(only.query_id == "q1", "j0", "j1"))
    found = pgcjax.uncertainty(runs, preferences=only, leave_out="judges")
    table = found.changes().set_index("left_out")
    assert table["queries"].to_dict() == {"j0": 1, "j1": 1}
    assert not table[["gained", "lost"]].to_numpy().any()
    assert found.matrix("j1").columns.tolist() == ["q1"]
    one = runs[runs.run_id == "r0"]
    found = pgcjax.uncertainty(one, preferences=prefs, leave_out="judges")
    most, count = found.changes()["largest_change"].abs().max(), len(found.left_out)
    assert found.changes()["tau"].isna().all() and found.pairs().empty
    assert found.notes[-1] == (
        f"PGC: without one of {count} judges, a mean moves by ≤ {most:.4f}"
    )
    # A run that answers no query but one, which is gone: it has no mean.
    answers = {"r0": ["q0", "q1"], "r1": ["q0", "q1"], "r3": ["q0"]}
    both = [
        runs[(runs.run_id == "r0") & (runs.query_id == q)].assign(run_id=run)
        for run, queries in answers.items()
        for q in queries
    ]
    given = {"preferences": only, "leave_out": "judges", "missing": "skip"}
    table = pgcjax.uncertainty(pd.concat(both), **given).changes()
    gone = table.set_index("left_out").loc["j1"]
    assert np.isnan(gone["mean_change"]) and np.isfinite(gone["largest_change"])


def test_what_cannot_be_left_out_is_refused():
    prefs, runs = collection(3, queries=2)
    qrels = pd.DataFrame(
        [("q0", "d01", 1.0)], columns=["query_id", "doc_id", "relevance"]
    )
    given = {"preferences": prefs, "qrels": qrels, "leave_out": "judges"}
    for changes, message in (
        ({"leave_out": "topics"}, "leave_out is one of judges, runs, not 'topics'"),
        ({"pool_depth": 0}, "pool_depth=0: expected a whole number, 1 or more"),
        ({"replicates": 5}, "leave_out and replicates: ask for one after the other"),
        (
            {"measures": "Compat"},
            "Compat: leave_out='judges' works with PGC of preferences alone",
        ),
        (
            {"measures": "PGC(graph=combined)", "leave_out": "runs"},
            "PGC(graph=combined): leave_out='runs' works only with PGC of "
            "preferences: grades do not tell which run contributed a document",
        ),
        (
            {"preferences": prefs.assign(judge=prefs.judge.where(prefs.index > 2))},
            f"preferences: 3 of {len(prefs)} judgments name no judge, and judges are "
            "to be left out. Give a column judge, or leave out runs.",
        ),
        (
            {"preferences": prefs.assign(judge="j0")},
            "preferences: there is one judge alone, 'j0'. At least 2 are needed to "
            "leave one out.",
        ),
        (
            {"leave_out": "runs", "runs": runs[runs.run_id == "r0"]},
            "there is one run alone, 'r0'. At least 2 are needed to leave one out.",
        ),
    ):
        how = {"runs": runs, "measures": "PGC", **given, **changes}
        with pytest.raises((DataError, UsageError)) as error:
            pgcjax.uncertainty(how.pop("runs"), **how)
        assert str(error.value) == message
    request = read_request({"preferences": prefs}, ["PGC"], "trec")
    votes = QueryVotes(request.tables["preferences"])
    variants = left_out(votes, judges_as_owners(votes))
    graphs = VariantGraphs(request.members[0], votes)
    batch = VariantScores(graphs, variants, memory=200)
    judges = sorted(prefs.judge.unique())
    with pytest.raises(DataError) as error:
        batch.score(rankings_of(runs, request.judged.docs))
    assert str(error.value) == (
        "scores of 4 runs without each of 4 judges or runs take 256 bytes, of 200. "
        "Give more memory, or fewer runs."
    )
    found = pgcjax.uncertainty(runs, measures="PGC", **given)
    for call, message in (
        (lambda: found.changes("AP"), "no scores by 'AP'; there are PGC"),
        (
            lambda: found.matrix("j9"),
            f"left_out is one of {', '.join(judges)}, not 'j9'",
        ),
        (
            lambda: found.pairs(correction="x"),
            "correction is one of none, holm, bh, not 'x'",
        ),
    ):
        with pytest.raises(UsageError) as error:
            call()
        assert str(error.value) == message
