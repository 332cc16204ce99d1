"""Preferences between runs, as users ask for them: values, and what is made of them."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from helpers.collections import assert_same_bits
from helpers.tied import collection
from helpers.twins import aggregation
from scipy import stats

import pgcjax
from pgcjax.engine import plan, preference_tiles
from pgcjax.engine.preference_tally import PreferenceTally
from pgcjax.errors import DataError, DataWarning, UsageError, VerificationError
from pgcjax.measures.between_rankings import parse
from pgcjax.reference.case import Case
from pgcjax.reference.order import ordered
from pgcjax.stats.rank_aggregation import JUMP
from pgcjax.tensors.padding import at_least

pytestmark = [
    pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning"),
]

MEASURES = [
    "RPP",
    "RPP(rel=2)",
    "RPP(weight=inverse)",
    "RPP(weight=dcg,rel=1)",
    "RPP(weight=dcg,subtopics=covered)",
    "RPP(rel=2,subtopics=covered)",
    "RPP(subtopics=mean)",
    "RPP(weight=inverse,rel=2,subtopics=mean,probabilities=decreasing)",
    *(
        f"{name}{how}"
        for name in ("lexiprecision", "rrlexiprecision", "lexirecall")
        for how in ("", "(rel=2)", "(subtopics=covered)", "(subtopics=mean)")
    ),
]
WEIGHTS = ("uniform", "inverse", "dcg")
KEYS = ["run_a", "run_b", "measure", "query_id"]


def judged(seed: int, queries: int = 4) -> dict[str, pd.DataFrame]:
    """Grades, and grades per intent: the last query has nothing to find."""
    rng = np.random.default_rng(seed)
    rows, intents = [], []
    for q in range(queries):
        last = q == queries - 1
        for doc in range(0, 30, 1 + q % 2):
            grade = 0 if last else int(rng.integers(-1, 4))
            rows.append((f"q{q}", f"d{doc:02}", float(grade)))
            for intent in "abc":
                if rng.random() < 0.4:
                    grade = 0 if last else int(rng.integers(0, 4))
                    intents.append((f"q{q}", f"d{doc:02}", intent, float(grade)))
    names = ["query_id", "doc_id", "relevance"]
    of_intents = pd.DataFrame(intents, columns=[*names[:2], "intent_id", names[2]])
    return {"qrels": pd.DataFrame(rows, columns=names), "intent_qrels": of_intents}


def preferred(runs: pd.DataFrame, measures=MEASURES, **options) -> pd.Series:
    """All values of queries, by pair, measure and query."""
    options = {**judged(1), "measures": measures, "per_query": True} | options
    table = pgcjax.rankings.prefer(runs, **options).per_query()
    return table.set_index(KEYS)["preference"].sort_index()


def expected(runs: pd.DataFrame, order: str) -> dict[tuple, float]:
    """The same by the twins, where there is something to find."""
    tables = judged(1)
    values = {}
    names = sorted(runs.run_id.unique())
    for measure in map(parse, MEASURES):
        for query in tables["qrels"].query_id.unique():
            rows = {
                kind: t[t.query_id == query].to_dict("records")
                for kind, t in tables.items()
            }
            cases = []
            for run in names:
                own = runs[(runs.run_id == run) & (runs.query_id == query)]
                docs = zip(own.doc_id, own.score, own["rank"], strict=True)
                ranked = ordered(list(docs), order)
                how = run, query, ranked, measure.parameters, rows, tables
                cases.append(Case(*how))
            for a, b in combinations(cases, 2):
                value = measure.twin_of_two(a, b)
                if value is not None:
                    values[a.run_id, b.run_id, str(measure), query] = value
    return values


def test_every_value_is_the_twins():
    runs = collection(3)
    twins = pd.Series(expected(runs, "rank")).sort_index()
    found = preferred(runs, order="rank")
    assert found.index.tolist() == twins.index.tolist() and len(twins) == 20 * 10 * 3
    np.testing.assert_allclose(found.to_numpy(), twins.to_numpy(), rtol=0, atol=1e-12)
    assert (found == 0).sum() < len(found) / 2


def test_verify_compares_pairs_of_each_query_again(monkeypatch):
    """A share of them, one pair at least; measures of one run by its own twins."""
    runs = collection(5)
    some = [*MEASURES[:5], "lexirecall"]
    how = {**judged(1), "measures": [*some, "P@5"], "order": "rank"}
    found = pgcjax.rankings.prefer(runs, **how, verify=1, per_query=True)
    count = int((found.per_query().measure != "P@5").sum())
    answering = runs.groupby("query_id")["run_id"].nunique().drop("q3")
    there = 6 * int((answering * (answering - 1) // 2).sum())
    assert there < count  # a run lacks a query, and there is nothing to compare again
    assert f"{there} of {count} preferences recomputed: equal" in found.notes
    assert any(note.endswith("scores recomputed: equal") for note in found.notes)
    few = pgcjax.rankings.prefer(runs, **how, verify=1e-9).notes
    assert f"18 of {count} preferences recomputed: equal" in few  # 6 × 3 queries
    assert "recomputed" not in str(pgcjax.rankings.prefer(runs, **how).notes)

    def wrong(*arguments, **options):
        for one in compared(*arguments, **options):
            one.values[:] *= 1 + 1e-9
            yield one

    compared = preference_tiles.compare
    monkeypatch.setattr(preference_tiles, "compare", wrong)
    said = (
        r"^runs 'r0' and 'r1', query 'q0': the preference by RPP is 0\.\d+, its refer"
    )
    with pytest.raises(VerificationError, match=said):
        pgcjax.rankings.prefer(runs, **how, verify=1)


@pytest.mark.parametrize("missing", ["zero", "skip"])
def test_verify_recomputes_means_and_counts_of_pairs(monkeypatch, missing):
    how = {**judged(1), "measures": ["RPP", "lexirecall"], "missing": missing}
    pgcjax.rankings.prefer(collection(5), **how, verify=1)

    def wrong(tally, query, values, has=None, **options):
        right(tally, query, values, has, **options)
        tally.losses += tally.losses == 0

    right = PreferenceTally.add
    monkeypatch.setattr(PreferenceTally, "add", wrong)
    with pytest.raises(VerificationError, match="wins, ties and losses by RPP are"):
        pgcjax.rankings.prefer(collection(5), **how, verify=1)


def test_a_value_depends_on_its_two_rankings_alone():
    runs = collection(4, runs=7)
    some = ["RPP(weight=dcg)", "RPP(weight=inverse,subtopics=mean)", "rrlexiprecision"]
    whole = preferred(runs, some)
    assert_same_bits(preferred(runs.sample(frac=1, random_state=1), some), whole)
    tables = {k: t.sample(frac=1, random_state=1) for k, t in judged(1).items()}
    assert_same_bits(preferred(runs, some, **tables), whole)
    with plan.using(lists=2):
        assert_same_bits(preferred(runs, some), whole)
    with at_least(documents=100):
        assert_same_bits(preferred(runs, some), whole)
    few = [f"r{i}" for i in range(1, 6)]
    there = whole.index.get_level_values
    kept = there("run_a").isin(few) & there("run_b").isin(few)
    assert_same_bits(preferred(runs[runs.run_id.isin(few)], some), whole[kept])


def test_turned_round_a_preference_changes_its_sign_alone():
    runs = collection(5)
    names = {f"r{i}": f"s{9 - i}" for i in range(5)}
    one, other = preferred(runs), preferred(runs.assign(run_id=runs.run_id.map(names)))
    for a, b in combinations(names, 2):
        back = other.loc[names[b], names[a]]
        assert (one.loc[a, b] == -back).all()


def test_a_run_that_is_ahead_at_every_place_wins_by_exactly_1():
    docs = [f"d{i:02}" for i in range(23)]
    ahead = {doc: 99.0 - i for i, doc in enumerate(docs)}
    behind = {doc: score for doc, score in ahead.items() if doc < "d17"} | {"x": 100.0}
    qrels = {"q": {doc: 1 + i % 3 for i, doc in enumerate(docs)}}
    weights = [f"RPP(weight={w}{r})" for w in WEIGHTS for r in ("", ",rel=1")]
    runs = {"a": {"q": ahead}, "b": {"q": behind}}
    found = pgcjax.rankings.prefer(runs, qrels=qrels, measures=weights)
    assert found.table["preference"].tolist() == [1.0] * 6


def test_equal_rankings_tie_by_every_measure():
    runs = collection(6)
    twice = runs[runs.run_id == "r0"].assign(run_id="r9")
    every = pgcjax.rankings.prefer(
        pd.concat([runs, twice]), **judged(1), measures=MEASURES, per_query=True
    )
    pair = every.table[(every.table.run_a == "r0") & (every.table.run_b == "r9")]
    assert (pair[["preference", "wins", "losses"]] == 0).all(axis=None)
    assert (pair.ties == 3).all()
    for by in ("mean", "borda", "mc4"):
        order = every.order(by=by, resamples=50).set_index("run_id")
        columns = ["value", "low", "high", "rank", "rank_low", "rank_high"]
        assert order.loc["r0", columns].tolist() == order.loc["r9", columns].tolist()


def test_what_is_made_of_the_values():
    runs = collection(7)
    found = pgcjax.rankings.prefer(
        runs, **judged(1), measures=["RPP", "lexirecall"], per_query=True
    )
    queries = found.per_query()
    by = queries.groupby(["run_a", "run_b", "measure"])["preference"]
    table = found.table.set_index(["run_a", "run_b", "measure"]).sort_index()
    assert list(found.table) == [
        *("run_a", "run_b", "measure", "preference", "wins", "ties", "losses")
    ]
    assert table["preference"].to_numpy() == pytest.approx(by.mean().to_numpy())
    for column, sign in (("wins", 1), ("ties", 0), ("losses", -1)):
        signs = np.sign(queries.set_index(KEYS[:3])["preference"]) == sign
        assert table[column].tolist() == signs.groupby(level=[0, 1, 2]).sum().tolist()
    square, rate = found.matrix("RPP"), found.win_rate("lexirecall")
    assert (square == -square.T).all(axis=None) and (
        rate + rate.T
    ).to_numpy() == pytest.approx(1)
    for (a, b, measure), row in table.iterrows():
        if measure == "RPP":
            assert square.loc[a, b] == row.preference
        else:
            assert rate.loc[a, b] == (row.wins + row.ties / 2) / 3
    beside = found.beside().set_index(["run_a", "run_b"])
    assert list(beside) == ["RPP", "lexirecall"]
    assert (beside["RPP"] == table.xs("RPP", level=2)["preference"]).all()
    names = found.run_ids
    for measure in found.measures:
        values = {
            (names.index(a), names.index(b)): rows["preference"].tolist()
            for (a, b), rows in queries[queries.measure == measure].groupby(KEYS[:2])
        }
        for how, twin in (
            ("mean", aggregation.mean(values, 5)),
            ("borda", aggregation.borda(values, 5)),
            ("mc4", aggregation.mc4(values, 5, JUMP)),
        ):
            order = found.order(measure, by=how, resamples=20).set_index("run_id")
            assert order.loc[names, "value"].tolist() == pytest.approx(twin, abs=1e-11)
            assert (order["low"] <= order["high"]).all()
            assert order["rank"].tolist() == sorted(order["rank"])
    mean = found.scores().mean().loc[names, "lexirecall"]
    assert mean.tolist() == pytest.approx(aggregation.mean(values, 5), abs=1e-11)
    borda = found.scores("borda").mean().loc[names, "lexirecall"]
    assert borda.tolist() == pytest.approx(aggregation.borda(values, 5), abs=1e-11)


def test_a_query_in_which_runs_tie_counts_half_for_each():
    names = ["run_id", "query_id", "doc_id", "score"]
    rankings = (
        ("s", "q", "abc"),
        ("t", "q", "abc"),
        ("s", "r", "abc"),
        ("t", "r", "bac"),
    )
    rows = [(s, q, doc, -i) for s, q, docs in rankings for i, doc in enumerate(docs)]
    grades = pd.DataFrame({"query_id": ["q", "r"], "doc_id": "a", "relevance": 1.0})
    runs = pd.DataFrame(rows, columns=names)
    found = pgcjax.rankings.prefer(runs, qrels=grades, measures=["RPP"])
    assert found.table[["wins", "ties", "losses"]].to_numpy().tolist() == [[1, 1, 0]]
    assert found.win_rate().loc["s", "t"] == 0.75


def test_significance_is_that_of_the_preferences_of_a_pair():
    found = pgcjax.rankings.prefer(
        collection(8, queries=9), **judged(1, 9), per_query=True
    )
    tested = found.compare("lexiprecision", test="t", correction="holm")
    queries = found.per_query().set_index(KEYS)["preference"].sort_index()
    assert list(tested.columns[:3]) == ["run_a", "run_b", "preference"]
    for row in tested.itertuples():
        values = queries.loc[row.run_a, row.run_b, "lexiprecision"]
        p = stats.ttest_1samp(values, 0).pvalue if values.any() else 1.0
        assert row.p_value == pytest.approx(p)
        assert row.preference == pytest.approx(values.mean())
    adjusted = stats.false_discovery_control(tested.p_value, method="bh")
    by_bh = found.compare("lexiprecision", test="t", correction="bh").p_adjusted
    assert by_bh.tolist() == pytest.approx(adjusted.tolist())


def test_measures_with_scores_prefer_the_higher_one():
    runs = collection(9)
    scores = pgcjax.evaluate(runs, qrels=judged(1)["qrels"], measures="nDCG@5")
    found = pgcjax.rankings.prefer(
        runs, qrels=judged(1)["qrels"], measures=["RPP", "nDCG@5"], per_query=True
    )
    assert found.measures == ["RPP", "nDCG@5"]
    matrix = scores.matrix("nDCG@5")
    queries = found.per_query()
    queries = queries[queries.measure == "nDCG@5"]
    assert len(queries) == 10 * 4
    for row in queries.itertuples():
        a, b = (matrix.loc[run, row.query_id] for run in (row.run_a, row.run_b))
        assert row.preference == pytest.approx(a - b, abs=1e-15)


def lacking() -> dict:
    docs = {"a": 2, "b": 1}
    return {"x": {"1": docs, "2": docs}, "y": {"1": docs}, "z": {"1": docs, "2": docs}}


QRELS = {"1": {"a": 1}, "2": {"b": 1}, "3": {"a": 0}}


def test_spellings_of_one_measure_are_named():
    runs = {"a": {"q": {"x": 2.0, "y": 1.0}}, "b": {"q": {"y": 2.0, "x": 1.0}}}
    names = ["invrpp", "RPP(weight=inverse)"]
    found = pgcjax.rankings.prefer(runs, qrels={"q": {"x": 1}}, measures=names)
    assert found.notes[0] == (
        "invrpp and RPP(weight=inverse) are one measure: it is computed once, as "
        "RPP(weight=inverse)"
    )


def test_a_query_that_a_run_lacks():
    said = (
        r"^RPP, lexiprecision, lexirecall: judged queries are missing in 1 run \(y\), "
    )
    with pytest.warns(DataWarning, match=said + "1 query in all: as if it had found"):
        found = pgcjax.rankings.prefer(lacking(), qrels=QRELS)
    assert found.matrix("RPP").loc["x"].tolist() == [0, 0.5, 0]
    assert found.notes[0].endswith("2 queries; nothing to find for 1 query: left out")
    with pytest.warns(DataWarning, match="left out of its pairs"):
        found = pgcjax.rankings.prefer(
            lacking(), qrels=QRELS, missing="skip", per_query=True
        )
    assert found.matrix("RPP").loc["x"].tolist() == [0, 0, 0]
    assert len(found.per_query()) == 3 * (3 + 1)
    with pytest.raises(UsageError, match="leaves pairs without queries: test prefer"):
        found.compare()
    with pytest.raises(
        DataError, match="^run 'y' lacks query '2', which is judged for"
    ):
        pgcjax.rankings.prefer(lacking(), qrels=QRELS, missing="error")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"order": "x"}, "order is one of trec, clarke, rank, not 'x'"),
        ({"missing": "drop"}, "missing is one of zero, skip, error, not 'drop'"),
        ({"measures": "RPP(rel=-1)"}, "rel=-1: expected lowest grade that is relevant"),
        (
            {"measures": "lexirecall(rel=0)"},
            "rel=0: expected lowest grade that is rele",
        ),
        (
            {"measures": "RPP(subtopics=mean)"},
            "RPP(subtopics=mean) needs intent_qrels:",
        ),
        ({"measures": []}, "no measure was asked for"),
        (
            {"measures": "lexirecal"},
            "no measure is called 'lexirecal': did you mean le",
        ),
        (
            {"qrels": None},
            "no judgments: give qrels=…, preferences=… or intent_qrels=…;",
        ),
        ({"verify": 2}, "verify=2: expected a share from 0 to 1"),
        ({"memory": "lots"}, "memory 'lots': expected a size"),
    ],
)
def test_wrong_arguments(options, said):
    with pytest.raises(UsageError) as error:
        pgcjax.rankings.prefer(lacking(), **{"qrels": QRELS, **options})
    assert str(error.value).startswith(said)


def test_nothing_to_compare_or_too_much(monkeypatch):
    with pytest.raises(DataError, match="run 'run' is the only one. Give another run"):
        pgcjax.rankings.prefer({"1": {"a": 1}}, qrels=QRELS)
    with pytest.raises(DataError, match="judgments and runs have no query in common"):
        pgcjax.rankings.prefer({"9": {"a": 1}}, qrels=QRELS)
    monkeypatch.setattr("pgcjax.engine.preferring.memory_limit", lambda _: 300)
    said = (
        r"^3 pairs of runs by 3 measures take 0 MiB, and 0 MiB are allowed: allow more"
    )
    with pytest.raises(UsageError, match=said):
        pgcjax.rankings.prefer(lacking(), qrels=QRELS)


def test_questions_that_have_no_answer():
    found = pgcjax.rankings.prefer(lacking(), qrels=QRELS)
    for ask in (found.per_query, found.compare, lambda: found.order(by="mc4")):
        with pytest.raises(
            UsageError, match="the preferences of each query were not ke"
        ):
            ask()
    with pytest.raises(
        UsageError, match="no preferences by PGC; there are those by RPP"
    ):
        found.matrix("PGC")
    with pytest.raises(
        UsageError, match="^test is one of bootstrap, permutation, t, wi"
    ):
        found.compare(test="tukey")
    assert found.matrix("RPP(rel=0)").equals(found.matrix())


def test_files_progress_and_metadata(tmp_path):
    seen = []
    found = pgcjax.rankings.prefer(
        lacking(), qrels=QRELS, progress=lambda *step: seen.append(step)
    )
    assert [step for step in seen if step[0] == "comparing"][-1] == ("comparing", 4, 4)
    assert found.metadata["measures"] == [
        "RPP(weight=uniform,rel=0,subtopics=none,probabilities=given)",
        "lexiprecision(rel=1,subtopics=none,probabilities=given)",
        "lexirecall(rel=1,subtopics=none,probabilities=given)",
    ]
    path = found.save(tmp_path / "pairs.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(path), found.table)


def test_public_data_as_the_authors_script(data, golden):
    expected = golden("rankings_preferences")
    found = pgcjax.rankings.prefer(
        data / "dl21/runs",
        qrels=data / "dl21/qrels.dl21-passage.txt.gz",
        measures=list(expected["pairs"]),
        per_query=True,
    )
    queries = found.per_query()
    one = queries[queries.query_id == expected["one_topic"]["topic"]]
    for asked, name in zip(expected["pairs"], found.measures, strict=True):
        square = found.matrix(asked)
        for a, b, value in expected["pairs"][asked]:
            assert square.loc[a, b] == pytest.approx(value, abs=1e-12)
        of_pair = one[one.measure == name].set_index(["run_a", "run_b"])["preference"]
        for a, b, value in expected["one_topic"][asked]:
            both = of_pair[a, b] if a < b else -of_pair[b, a]
            assert both == pytest.approx(value, abs=1e-12)
