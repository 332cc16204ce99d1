"""Explanations: parts that sum to scores, and what would change them."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from helpers.strategies import cases
from hypothesis import given, settings
from hypothesis import strategies as st

import pgcjax
from pgcjax.errors import DataError, UsageError
from pgcjax.io.runs import open_runs
from pgcjax.reference.pgc import greedy_ideal, greedy_pgc, greedy_steps
from pgcjax.tensors.padding import at_least

pytestmark = pytest.mark.filterwarnings("ignore:.*judged queries are missing in 1 run")
MEASURES = ("PGC", "PGC(graph=combined,p=0.8)", "ExactPGC", "PGC(ideal=copeland)")
MEASURES += ("Compat", "nDCG@5", "ERR", "RBP", "AP", "DCG", "RR", "P@3", "bpref")


@pytest.fixture(scope="module", autouse=True)
def few_programs():
    """Small cases of all sizes share shapes, and so what is compiled."""
    with at_least(documents=16, axis=16, ranks=128, runs=32):
        yield


def runs_of(run, query="q"):
    return {"run": {query: {doc: -float(i) for i, doc in enumerate(run)}}}


def votes_of(edges, query="q", **more):
    names = ["doc_id", "other_doc_id"]
    table = pd.DataFrame(edges, columns=names).assign(query_id=query, preference=1)
    return table.assign(**more)


def collection(several):
    """Cases as queries of one run, and their votes."""
    run = {f"q{i}": runs_of(x.run)["run"]["q"] for i, x in enumerate(several)}
    votes = [votes_of(case.edges, f"q{i}") for i, case in enumerate(several)]
    return {"run": run}, pd.concat(votes, ignore_index=True)


def explained_cases(several, measure="PGC(p=0.8)", **judgments):
    runs, judgments["preferences"] = collection(several)
    explainer = pgcjax.rankings.Explainer(judgments=judgments, measure=measure)
    explainer.read(open_runs(runs))
    return explainer.explain_each([("run", query) for query in runs["run"]])


SEVERAL = st.lists(
    cases(9, 3).filter(lambda case: case.edges and case.run), min_size=6, max_size=6
)


@settings(max_examples=2)
@given(SEVERAL)
def test_pgc_is_taken_apart_as_the_twin_peels(several):
    for case, explained in zip(several, explained_cases(several), strict=True):
        assert explained.score == pytest.approx(
            greedy_pgc(case.edges, case.run, 0.8), abs=1e-12
        )
        parts = explained.table["adds"], explained.depths["adds"]
        assert [*map(sum, parts)] == pytest.approx([explained.score] * 2, abs=1e-12)
        assert explained.ideal == greedy_ideal(case.edges, case.run)
        steps = explained.steps
        made = zip(
            steps["doc_id"], steps["rule"], map(set, steps["candidates"]), strict=True
        )
        assert list(made) == greedy_steps(case.edges, case.run)
        for row in explained.table.dropna(subset=["ideal_rank"]).itertuples():
            at, rest = row.ideal_rank - 1, [d for d in case.run if d != row.doc_id]
            moved = [*rest[:at], row.doc_id, *rest[at:]]
            change = greedy_pgc(case.edges, moved, 0.8) - explained.score
            assert row.moved == pytest.approx(change, abs=1e-12)


@pytest.mark.filterwarnings("ignore:.*every score is 0")
@settings(max_examples=2)
@given(SEVERAL, st.integers(0, 99))
def test_parts_sum_to_the_score_of_every_measure(several, seed):
    rng = np.random.default_rng(seed)
    qrels = {}
    for i, case in enumerate(several):
        grades = [1.0, *rng.integers(0, 4, len(case.docs) - 1).tolist()]
        qrels[f"q{i}"] = dict(zip(case.docs, grades, strict=True))
    runs, votes = collection(several)
    scores = pgcjax.evaluate(runs, measures=MEASURES, preferences=votes, qrels=qrels)
    for measure in MEASURES:
        row = scores.matrix(measure).loc["run"]
        for explained in explained_cases(several, measure, qrels=qrels):
            assert explained.score == row[explained.query_id]
            total = sum(explained.table["adds"])
            assert total == pytest.approx(explained.score, abs=1e-12)


def test_a_worked_example():
    """Two votes for b over a, one back: the run has them the wrong way round."""
    votes = votes_of([("b", "a"), ("b", "a"), ("a", "b"), ("a", "c"), ("b", "c")])
    votes["judge"] = ["ann", "bob", "cy", "ann", "ann"]
    explained = pgcjax.explain(
        runs_of(["a", "b", "x"]), "q", preferences=votes, measure="PGC(p=0.5,depth=2)"
    )
    table = explained.table.set_index("doc_id")
    assert table.index.tolist() == ["a", "b", "x", "c"]
    assert table["rank"].tolist()[:3] == [1, 2, 3] and pd.isna(table["rank"]["c"])
    assert table["ideal_rank"].tolist()[:2] == [2, 1]
    assert table["rule"].tolist() == [
        "beats nobody",
        "most wins over losses",
        "",
        "beats nobody",
    ]
    assert explained.score == pytest.approx((0.5 * 2 / 2) / 1.5)
    assert table["adds"].tolist()[:2] == pytest.approx([1 / 6, 1 / 6])
    assert table["ideal_adds"].tolist()[:2] == pytest.approx([1 / 6, 5 / 6])
    assert table["moved"]["b"] == pytest.approx(1 - explained.score)
    steps = explained.steps
    assert steps["doc_id"].tolist() == ["c", "b", "a"]
    assert steps["ideal_rank"].tolist() == [3, 1, 2]
    assert steps["decided_by"].tolist() == ["alone", "alone", "alone"]
    rows = explained.votes.set_index(["doc_id", "other_doc_id"])
    assert rows.loc[("b", "a")].tolist() == [2, 1, "ann, bob", "", True]
    assert rows.loc[("a", "b")].tolist() == [1, 2, "cy", "", False]


@pytest.mark.parametrize("times", [("2026-11-27T10:00", "2026-11-28"), (9, 10), ()])
def test_judges_that_voted_both_ways_and_when(times):
    """Ann votes for a twice, and turns round; bob's vote has no time."""
    votes = votes_of([("a", "b"), ("b", "a"), ("a", "b"), ("a", "b"), ("b", "c")])
    votes["judge"] = ["ann", "ann", "ann", "bob", None]
    first, last, when = [], [], ["", ""]
    if times:
        votes["time"] = [times[0], times[1], times[0], None, None]
        shown = [text + ":00" * text.count(":") for text in map(str, times)]
        shown[1] += "T00:00:00" * shown[1].count("-11-")
        first, last = ([text] * 2 for text in shown)
        when = [f" {text}" for text in shown]
    table = pgcjax.explain(runs_of("ab"), "q", preferences=votes).votes
    rows = table.set_index(["doc_id", "other_doc_id"])
    names = ["votes", "votes_against", "judges", "conflicts"]
    names += ["first_time", "last_time"] if times else []
    assert [*rows] == [*names, "kept"]
    expected = [3, 1, "ann (2), bob", f"ann{when[0]}", *first, True]
    assert rows.loc[("a", "b")].tolist() == expected
    assert rows.loc[("b", "a")].tolist() == [1, 3, "ann", f"ann{when[1]}", *last, False]
    assert {*rows.loc[("b", "c")].tolist()[2:-1]} == {""}


def test_the_ideal_list_has_ties_as_the_run_has_them():
    grades = {"a": 1, "b": 1, "c": 2, "d": 1, "e": 0, "f": 1}
    explained = pgcjax.explain(
        runs_of("bxda"), "q", qrels={"q": grades}, measure="nDCG@9"
    )
    assert explained.ideal == ["c", "b", "d", "a", "f"]


def test_who_decides_between_candidates():
    votes = votes_of([("a", "z"), ("b", "z"), ("c", "y"), ("d", "y")])
    steps = pgcjax.explain(runs_of(["b", "z", "a"]), "q", preferences=votes).steps
    assert steps["doc_id"].tolist() == ["y", "d", "c", "z", "a", "b"]
    by = ["run", "doc id", "run", "alone", "run", "alone"]
    assert steps["decided_by"].tolist() == by
    assert steps["candidates"][1] == ("c", "d", "z")


@settings(max_examples=2)
@given(SEVERAL)
def test_a_judgment_turned_round_changes_what_it_is_told_to(several):
    for case, before in zip(several, explained_cases(several, "PGC"), strict=True):
        judgments = before.judgments
        assert judgments["change"].abs().is_monotonic_decreasing
        pairs = zip(judgments["doc_id"], judgments["other_doc_id"], strict=True)
        assert {*pairs} == {*case.edges}
        for row in judgments.itertuples():
            edges = list(case.edges)
            edges.remove((row.doc_id, row.other_doc_id))
            edges.append((row.other_doc_id, row.doc_id))
            after = greedy_pgc(edges, case.run, vertices=tuple(before.ideal))
            assert row.change == pytest.approx(after - before.score, abs=1e-12)
            assert row.votes == case.edges.count((row.doc_id, row.other_doc_id))
            assert row.votes_against == case.edges.count((row.other_doc_id, row.doc_id))


@pytest.mark.parametrize(("run_id", "other"), [("a", "z"), ("z", "a")])
def test_a_judgment_turned_round_changes_the_difference(run_id, other):
    """Whichever run comes first by name, and over two queries."""
    edges = [("d1", "d2"), ("d2", "d3"), ("d3", "d1"), ("d1", "d3"), ("d4", "d2")]
    votes = pd.concat([votes_of(edges), votes_of(edges[:2], "r")], ignore_index=True)
    docs = {"a": ["d2", "d1", "d3"], "z": ["d3", "d4", "d1"]}
    runs = {
        run: {q: {doc: -float(i) for i, doc in enumerate(of_run)} for q in "qr"}
        for run, of_run in docs.items()
    }
    how = {"run_id": run_id, "other": other, "measure": "PGC(p=0.7)"}
    before = pgcjax.explain(runs, preferences=votes, **how)
    assert len(before.judgments) == len(votes)
    for row in before.judgments.itertuples():
        turned = votes.copy()
        is_row = (turned["doc_id"] == row.doc_id) & (turned["query_id"] == row.query_id)
        is_row &= turned["other_doc_id"] == row.other_doc_id
        turned.loc[is_row, "preference"] = -1
        after = pgcjax.explain(runs, preferences=turned, **how)
        change = after.difference - before.difference
        assert row.change == pytest.approx(change, abs=1e-12)


def test_turned_judgments_with_weights_and_probabilities():
    votes = votes_of([("a", "b"), ("b", "c"), ("c", "a")], weight=[2.5, 1, 1])
    votes["preference"], votes["probability"] = [1, 1, -1], [0.9, 0.6, 0.2]
    run = {"run": {"q": {"c": 3.0, "a": 2.0, "b": 1.0}}}
    for measure in ("PGC", "PGC(soft=both)", "PGC(soft=sign)"):
        before = pgcjax.explain(run, "q", preferences=votes, measure=measure)
        of_pair = before.judgments.set_index(["doc_id", "other_doc_id"])["change"]
        turned = pd.concat([votes.assign(weight=[2.5 * 2 / 3, 1, 1]), votes[:1]])
        turned.iloc[-1, turned.columns.get_loc("weight")] = 2.5 / 3
        turned.iloc[-1, turned.columns.get_loc("preference")] = -1
        turned.iloc[-1, turned.columns.get_loc("probability")] = 0.1
        after = pgcjax.evaluate(run, preferences=turned, measures=measure)
        change = after.table["value"].item() - before.score
        assert of_pair["a", "b"] == pytest.approx(change, abs=1e-12)


@pytest.fixture(scope="module")
def demo():
    from pgcjax.datasets.files import demo_folder

    folder = demo_folder()
    judgments = {
        "preferences": folder / "preferences.csv",
        "qrels": folder / "qrels.txt",
    }
    return folder / "runs", judgments


def test_a_difference_is_that_of_the_means(demo):
    runs, judgments = demo
    for measure in ("PGC", "nDCG@10"):
        scores = pgcjax.evaluate(runs, measures=measure, **judgments)
        one, other = scores.runs[:2]
        means = scores.mean()[measure]
        result = pgcjax.explain(
            runs, run_id=one, other=other, measure=measure, **judgments
        )
        assert result.difference == pytest.approx(means[one] - means[other], abs=1e-12)
        table = result.table
        assert table["difference"].abs().is_monotonic_decreasing
        query = table["query_id"][0]
        of_docs = pgcjax.explain(
            runs, query, run_id=one, other=other, measure=measure, **judgments
        )
        assert of_docs.difference == pytest.approx(table["difference"][0], abs=1e-12)
        total = of_docs.table["difference"].sum()
        assert total == pytest.approx(of_docs.difference, abs=1e-12)


def test_decisive_queries_are_the_fewest(demo):
    runs, judgments = demo
    explainer = pgcjax.rankings.Explainer(judgments=judgments, measure="PGC")
    tried = 0
    for one, other in combinations(explainer.read(open_runs(runs)), 2):
        result = explainer.difference(one, other)
        each = result.table.set_index("query_id")["difference"]
        rest = each.drop(result.decisive).sum()
        if result.decisive and len(result.decisive) < 4:
            tried += 1
            assert np.sign(rest) == -np.sign(each.sum())
            for fewer in combinations(each.index, len(result.decisive) - 1):
                assert np.sign(each.drop([*fewer]).sum()) != -np.sign(each.sum())
    assert tried


def scores_of(runs, run, judgments):
    scores = pgcjax.evaluate(runs, qrels=judgments["qrels"], measures="AP")
    return scores.matrix("AP").loc[run]


def test_all_queries_are_told_by_what_they_lose(demo):
    runs, judgments = demo
    scores = pgcjax.evaluate(runs, measures="PGC", **judgments)
    run = scores.runs[0]
    result = pgcjax.explain(runs, run_id=run, preferences=judgments["preferences"])
    table = result.table.set_index("query_id")
    assert table["score"].to_dict() == scores.matrix("PGC").loc[run].to_dict()
    assert result.score == pytest.approx(scores.mean()["PGC"][run], abs=1e-12)
    assert result.table["loss"].is_monotonic_decreasing
    assert (table["loss"] > -1e-12).all()
    graded = pgcjax.explain(runs, run_id=run, qrels=judgments["qrels"], measure="AP")
    assert (graded.table["ideal_score"] == 1).all()
    one = graded.table.iloc[0]
    assert one["loss"] == 1 - scores_of(runs, run, judgments)[one["query_id"]]
    change = result.judgments.iloc[0]
    assert abs(change["change"]) >= result.judgments["change"].abs().max()


@settings(max_examples=40)
@given(
    st.permutations("abcdefgh"),
    st.permutations("abcdefgh"),
    st.integers(0, 8),
    st.integers(1, 8),
)
def test_rbo_of_two_runs(one, other, n, m):
    one, other = [*one[:n], "x"], other[:m]
    runs = {**runs_of(one), "other": runs_of(other)["run"]}
    result = pgcjax.explain(
        runs, "q", run_id="run", other="other", measure="RBO(p=0.8)"
    )
    value = pgcjax.rankings.rbo(one, other, p=0.8, ties="broken")
    assert result.score == value
    assert result.table["adds"].sum() == pytest.approx(value, abs=1e-12)
    assert result.ideal == other


def test_runs_may_be_in_two_sources(tmp_path):
    votes = votes_of([("a", "b"), ("b", "c")])
    for name, docs in (("one", "abc"), ("two", "cba")):
        lines = [f"q Q0 {doc} {i} {9 - i} {name}\n" for i, doc in enumerate(docs, 1)]
        (tmp_path / f"{name}.txt").write_text("".join(lines))
    paths = [tmp_path / "one.txt", tmp_path / "two.txt"]
    apart = pgcjax.explain(paths[0], "q", other=str(paths[1]), preferences=votes)
    beside = pgcjax.explain(paths, "q", run_id="one", other="two", preferences=votes)
    pd.testing.assert_frame_equal(apart.table, beside.table)
    with pytest.raises(DataError, match="run 'one' is in both sources"):
        pgcjax.explain(paths[0], "q", run_id="one", other=paths[0], preferences=votes)


def test_packed_runs_are_explained_alike(tmp_path):
    votes = votes_of([("a", "b"), ("b", "c"), ("c", "a")])
    runs = runs_of(["x", "b", "c", "y"])
    path = tmp_path / "runs.parquet"
    pgcjax.files.pack(runs, path, preferences=votes)
    plain = pgcjax.explain(runs, "q", preferences=votes).table
    packed = pgcjax.explain(path, "q", preferences=votes).table
    judged = plain[plain["ideal_rank"].notna()].reset_index(drop=True)
    pd.testing.assert_frame_equal(
        packed[packed["ideal_rank"].notna()].reset_index(drop=True), judged
    )


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"query": "9"}, "query '9' is not judged; there are q"),
        ({"run_id": "no"}, "there is no run 'no'; there are run"),
        (
            {"run_id": "run", "other": "run"},
            "needs two different runs, and both are 'run'",
        ),
        ({"other": "no"}, "there is no run 'no'; there are run"),
        ({"measure": "PGC(ties=mean)"}, "ties=mean averages over many ideal rankings"),
        ({"measure": ["PGC", "AP"]}, "explain takes one measure, not 2"),
        (
            {"measure": "AP(mean=geometric)"},
            "of arithmetic means, not of mean=geometric",
        ),
        ({"measure": "RBO"}, "RBO compares two runs on a query"),
        (
            {"measure": "RBO(p=2)", "query": "q", "other": "run"},
            "p above 0 and below 1",
        ),
    ],
)
def test_wrong_questions_are_refused(settings, text):
    qrels = pd.DataFrame({"query_id": ["q"], "doc_id": ["a"], "relevance": [1.0]})
    votes = votes_of([("a", "b")])
    with pytest.raises(UsageError, match=text.replace("(", r"\(").replace(")", r"\)")):
        pgcjax.explain(runs_of(["a"]), preferences=votes, qrels=qrels, **settings)


def test_a_run_without_the_query_adds_nothing():
    run = {"run": {"other": {"a": 1.0}}}
    explained = pgcjax.explain(run, "q", preferences=votes_of([("a", "b")]))
    assert explained.score == 0 and explained.table["adds"].tolist() == [0.0, 0.0]
    assert explained.ideal == ["a", "b"] and "lacks the query" in explained.notes[0]
    assert (explained.table["moved"] > 0).all()
    assert explained.judgments["change"].tolist() == [0.0]


def test_texts_stand_beside_ids():
    votes = votes_of([("a", "b"), ("b", "c")])
    texts = {"a": "first", "b": "second\nline", "c": "third"}
    explained = pgcjax.explain(
        runs_of("ab"), "q", preferences=votes, texts=texts, topics={"q": "what?"}
    )
    assert explained.table["doc_text"].tolist() == [*texts.values()]
    assert explained.notes[-1] == "q: what?"
    queries = pgcjax.explain(runs_of("ab"), preferences=votes, topics={"q": "what?"})
    assert queries.table["query_text"].tolist() == ["what?"]


@pytest.mark.parametrize(
    ("measure", "of"),
    [
        (None, "PGC of preferences alone"),
        ("AP", "PGC of preferences alone"),
        ("ExactPGC", "PGC of preferences alone"),
        (
            "PGC(ideal=copeland)",
            "ideal=greedy: the remaining judgments are peeled",
        ),
    ],
)
def test_judgments_are_of_preferences_alone(measure, of):
    qrels = pd.DataFrame({"query_id": ["q"], "doc_id": ["a"], "relevance": [1.0]})
    given_judgments = {"qrels": qrels}
    if measure and "PGC" in measure:
        given_judgments["preferences"] = votes_of([("a", "b")])
    explained = pgcjax.explain(runs_of("a"), "q", measure=measure, **given_judgments)
    assert explained.score > 0 and explained.measure == (measure or "Compat")
    with pytest.raises(UsageError) as error:
        _ = explained.judgments
    assert (
        str(error.value)
        == f"{measure or 'Compat'}: turning judgments round works with {of}"
    )


def test_several_runs_need_a_name():
    runs = {**runs_of("a"), "more": runs_of("b")["run"]}
    with pytest.raises(UsageError, match="name one of 2 runs: more, run"):
        pgcjax.explain(runs, "q", preferences=votes_of([("a", "b")]))
