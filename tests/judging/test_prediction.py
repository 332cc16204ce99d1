"""Predicted conditional grades: what they must be where the truth is known."""

import sys

import numpy as np
import pandas as pd
import pytest
from helpers.contextual import CONTEXT, QRELS, modelled, probabilities

import pgcjax
from pgcjax.cli import main
from pgcjax.errors import DataError, UsageError
from pgcjax.io.graded import read_context, read_qrels
from pgcjax.judging.prediction import (
    conditional_grades,
    deal,
    predict_context,
    predicted_grades,
)

linear_model = pytest.importorskip("sklearn.linear_model")
# Bigger grades of the document pull up, bigger ones of the previous document down.
TRUTH = np.array(
    [[3.0, 0.4, -2.0], [1.5, 0.2, 0.2], [0.0, 0.0, 1.2], [-4.0, -0.6, 2.6]]
)


def accuracy(found) -> dict[str, float]:
    return dict(zip(found.accuracy["method"], found.accuracy["accuracy"], strict=True))


def chances(rows: pd.DataFrame) -> np.ndarray:
    pairs = zip(rows["previous_relevance"], rows["relevance"], strict=True)
    return np.array([probabilities(TRUTH, *pair) for pair in pairs])


@pytest.fixture(scope="module")
def drawn():
    """4,500 pairs of which the model is known."""
    return modelled(0, queries=500, docs=10, weights=TRUTH)


@pytest.fixture(scope="module")
def known(drawn):
    return conditional_grades(read_qrels(drawn[0]), read_context(drawn[1]))


@pytest.fixture(scope="module")
def found(drawn):
    return predict_context(*drawn)


def test_it_recovers_the_model(found):
    rows = found.predictions
    assert len(rows) == 16
    truth = chances(rows)
    # Four standard errors of a share of 4,500 / 16 pairs, the most there can be.
    ours = rows[["p_0", "p_1", "p_2", "p_3"]].to_numpy()
    assert abs(ours - truth).max() < 4 * 0.5 / np.sqrt(4500 / 16)
    assert abs(ours - truth).mean() < 0.01
    assert np.allclose(ours.sum(axis=1), 1)
    first, second = np.sort(truth, axis=1)[:, :-3:-1].T
    clear = first - second > 0.1
    assert clear.sum() > 10
    assert (rows["predicted"] == truth.argmax(axis=1))[clear].all()
    assert (rows["predicted"] == ours.argmax(axis=1)).all()


def test_its_accuracy_is_what_the_model_allows(found, known):
    """Held out, no method can beat the model itself but by chance."""
    truth = chances(known)
    best, spread = truth.max(axis=1).mean(), 0.5 / np.sqrt(len(known))
    ours = accuracy(found)
    assert abs(ours["logistic"] - best) < 4 * spread
    assert found.accuracy["pairs"].tolist() == [4500] * 3
    # The others are counted.
    isolation = known["relevance"] == known["conditional"]
    assert ours["isolation"] == pytest.approx(isolation.mean(), abs=1e-12)
    assert ours["logistic"] > ours["isolation"] + 8 * spread
    assert found.accuracy["correct"][1] == isolation.sum()
    most = known["conditional"].value_counts(normalize=True).iloc[0]
    assert ours["majority"] == pytest.approx(most, abs=1e-12)  # the same in all folds


def test_what_is_learnt_is_of_other_queries():
    """What queries have for themselves is no help for a new one."""
    rng = np.random.default_rng(2)
    qrels, context = modelled(2, 60, 12, TRUTH)
    # Each query has one conditional grade for all, and grades of its own to tell it.
    number = {q: i for i, q in enumerate(sorted(set(qrels["query_id"])))}
    label = dict(zip(number, rng.integers(0, 2, 60), strict=True))
    qrels["relevance"] = qrels["query_id"].map(number).astype(float)
    context["relevance"] = context["query_id"].map(label).astype(float)
    by_pair = predict_context(qrels, context, features="labels", C=100, groups="pair")
    by_query = predict_context(qrels, context, features="labels", C=100)
    assert accuracy(by_pair)["logistic"] > 0.99
    assert accuracy(by_query)["logistic"] < 0.7


def test_folds_hold_whole_queries(found, known, drawn):
    fold = pd.Series(deal(known))
    assert fold.groupby(known["query_id"]).nunique().eq(1).all()
    assert fold.value_counts().tolist() == [450] * 10 and found.metadata["folds"] == 10
    few = predict_context(*(t[t["query_id"] < "q003"] for t in drawn))
    assert few.metadata["folds"] == 3


def test_equal_to_the_regression_of_all_rows_one_by_one(known, found):
    """Equal rows are given to the library as one with a weight."""
    model = linear_model.LogisticRegression(tol=1e-10, max_iter=10_000)
    features = ["previous_relevance", "relevance"]
    model.fit(known[features].to_numpy(), known["conditional"].to_numpy())
    expected = model.predict_proba(found.predictions[features].to_numpy())
    ours = found.predictions[["p_0", "p_1", "p_2", "p_3"]].to_numpy()
    np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-5)


def test_grades_as_labels_find_what_no_line_can():
    """g(d|d') is 2 - g(d) but for g(d) = 1, where it is 1 after 0, else 3."""
    qrels, context = modelled(3, 60, 10, TRUTH[:3])
    pairs = conditional_grades(read_qrels(qrels), read_context(context))
    own = pairs["relevance"].to_numpy()
    low = pairs["previous_relevance"].to_numpy() == 0
    context["relevance"] = np.where(own == 1, np.where(low, 1, 3), 2 - own)
    labels = predict_context(qrels, context, features="labels", C=1000)
    assert accuracy(labels)["logistic"] == 1
    rows = labels.predictions
    expected = np.where(
        rows["relevance"] == 1,
        np.where(rows["previous_relevance"] == 0, 1, 3),
        2 - rows["relevance"],
    )
    assert (rows["predicted"] == expected).all()


def test_negative_and_unjudged_grades():
    qrels = {"p": {"a": 1, "b": 2, "c": -2}, "q": {"a": 0, "b": 0}}
    rows = [("p", "b", "a", 1), ("p", "a", "b", 2), ("p", "c", "a", -1),
            ("q", "a", "b", 1), ("q", "unjudged", "a", 3)]  # fmt: skip
    found = predict_context(qrels, pd.DataFrame(rows, columns=CONTEXT))
    assert found.accuracy["pairs"].tolist() == [4] * 3
    assert sorted(set(found.predictions["relevance"])) == [0, 1, 2]
    assert set(found.predictions["predicted"]) <= {0, 1, 2}


def test_order_of_rows_means_nothing_and_a_seed_only_deals_folds(drawn, found):
    shuffled = [t.sample(frac=1, random_state=1) for t in drawn]
    again = predict_context(*shuffled)
    pd.testing.assert_frame_equal(again.predictions, found.predictions)
    pd.testing.assert_frame_equal(again.accuracy, found.accuracy)
    by_pair = [predict_context(*some, groups="pair") for some in (drawn, shuffled)]
    pd.testing.assert_frame_equal(by_pair[0].accuracy, by_pair[1].accuracy)
    other = predict_context(*drawn, seed=1)
    pd.testing.assert_frame_equal(other.predictions, found.predictions)
    assert not other.accuracy.equals(found.accuracy)


def test_one_class_and_two():
    qrels = {q: {"a": 0, "b": 1} for q in "pqr"}
    rows = [(q, "b", "a", 1) for q in "pqr"]
    found = predict_context(qrels, pd.DataFrame(rows, columns=CONTEXT))
    assert set(found.predictions["predicted"]) == {1}
    assert accuracy(found) == {"logistic": 1, "isolation": 1, "majority": 1}
    rows += [("p", "a", "b", 0)]  # two classes, and one without it
    found = predict_context(qrels, pd.DataFrame(rows, columns=CONTEXT))
    assert found.predictions[["p_0", "p_1"]].sum(axis=1).tolist() == [1] * 4
    assert found.accuracy["correct"].tolist()[1] == 4


def test_usable_as_context(drawn):
    qrels, context = (t[t["query_id"] < "q010"] for t in drawn)
    some = context[context["doc_id"] > "d4"]
    found = predict_context(qrels, some)
    run = qrels.groupby("query_id")["doc_id"].apply(list)
    runs = {q: {d: -float(i) for i, d in enumerate(docs)} for q, docs in run.items()}
    measures = ["CCG(missing=predicted)@9", "CCG@9"]
    options = {"qrels": qrels, "measures": measures, "verify": 1.0}
    ours = pgcjax.evaluate(runs, context=found, **options).table
    pd.testing.assert_frame_equal(
        ours, pgcjax.evaluate(runs, context=some, **options).table
    )
    assert (ours[ours["measure"] == "CCG@9"]["value"] > 0).all()
    # By hand for the first query, from the table of predictions.
    rules = found.predictions.set_index(["previous_relevance", "relevance"])[
        "predicted"
    ]
    grades = qrels[qrels["query_id"] == "q000"]["relevance"].tolist()
    given = context[context["query_id"] == "q000"]["relevance"].tolist()
    u = grades[:1]
    for i in range(1, 10):
        after = given[i - 1] if i > 4 else rules[grades[i - 1], grades[i]]
        u.append((grades[i] + after) / 2)
    expected = sum(sum(u[:i]) / np.log2(i + 1) for i in range(1, 10))
    value = ours[(ours["query_id"] == "q000") & (ours["measure"] == measures[0])]
    assert value["value"].item() == pytest.approx(expected, abs=1e-12)


def test_what_was_predicted_is_what_counts(drawn):
    """Predictions by labels, not those that evaluate would make by itself."""
    qrels, context = (t[t["query_id"] < "q010"] for t in drawn)
    some = context[context["doc_id"] > "d4"]
    rng = np.random.default_rng(5)  # on which a straight line can say nothing
    some = some.assign(relevance=rng.integers(0, 4, len(some)).astype(float))
    labels = predict_context(qrels, some, features="labels", C=100)
    runs = {
        q: {d: -float(i) for i, d in enumerate(docs)}
        for q, docs in qrels.groupby("query_id")["doc_id"]
    }
    options = {"qrels": qrels, "verify": 1.0}
    options["measures"] = "CG(context=1,missing=predicted)"
    ours = pgcjax.evaluate(runs, context=labels, **options)
    default = pgcjax.evaluate(runs, context=some, **options)
    assert not ours.table.equals(default.table)
    rules = labels.predictions.set_index(["previous_relevance", "relevance"])
    grades = qrels[qrels["query_id"] == "q000"]["relevance"].tolist()
    given = some[some["query_id"] == "q000"]["relevance"].tolist()
    expected = grades[0] + sum(given)
    expected += sum(
        rules.loc[(grades[i - 1], grades[i]), "predicted"] for i in range(1, 5)
    )
    assert ours.table["value"].iloc[0] == pytest.approx(expected, abs=1e-12)
    # Scores say what they depend on.
    judged = [set(scores.metadata["judgments"]) for scores in (ours, default)]
    assert judged[0] - judged[1] == {"predictions"}


def test_scores_say_how_good_predictions_are(drawn):
    qrels, context = (t[t["query_id"] < "q100"] for t in drawn)
    runs = {"q000": {"d1": 2.0, "d0": 1.0}}
    names = ["CCG(missing=predicted)@5", "ERR(context=0.5,missing=predicted)"]
    found = predict_context(qrels, context)
    with pytest.warns(pgcjax.errors.DataWarning, match="judged queries are missing"):
        scores = pgcjax.evaluate(runs, qrels=qrels, context=context, measures=names)
    shares = [f"{100 * share:.1f} %" for share in found.accuracy["accuracy"]]
    right, isolation, majority = shares
    assert scores.notes[-1] == (
        "missing conditional grades are predicted; cross-validated by query on 900 "
        f"given grades, {right} are predicted correctly; "
        f"{isolation} equal the grade in isolation, {majority} the most frequent one"
    )
    assert len(scores.notes) == 2  # each once for both measures
    one = context[context["query_id"] == "q000"]
    with pytest.warns(pgcjax.errors.DataWarning):
        scores = pgcjax.evaluate(runs, qrels=qrels, context=one, measures=names[:1])
    assert scores.notes[-1].endswith(
        "their accuracy is unknown: an estimate takes grades of two queries"
    )


def test_the_verb(drawn, tmp_path, capsys):
    qrels, context = (t[t["query_id"] < "q020"] for t in drawn)
    paths = [tmp_path / "qrels.csv", tmp_path / "context.csv", tmp_path / "p.csv"]
    qrels.to_csv(paths[0], index=False)
    context.to_csv(paths[1], index=False)
    files = ["--qrels", str(paths[0]), "--context", str(paths[1])]
    chosen = ["--features", "labels", "-C", "10", "--folds", "4", "--seed", "3"]
    with pytest.raises(SystemExit) as done:
        main(
            [
                "judgments",
                "predict",
                *files,
                *chosen,
                "--groups",
                "pair",
                "-o",
                str(paths[2]),
            ]
        )
    out, err = capsys.readouterr()
    assert (
        done.value.code == 0 and err == f"pgcjax: wrote 16 predictions to {paths[2]}\n"
    )
    how = {"features": "labels", "C": 10.0, "folds": 4, "seed": 3, "groups": "pair"}
    found = predict_context(qrels, context, **how)
    lines = [line.split("\t") for line in out.splitlines()]
    assert lines[0] == ["method", "accuracy", "correct", "pairs"]
    for line, row in zip(lines[1:], found.accuracy.itertuples(), strict=True):
        assert line == [row.method, f"{row.accuracy:.4f}", str(row.correct), "180"]
    written = pd.read_csv(paths[2], skiprows=1)
    pd.testing.assert_frame_equal(written, found.predictions, rtol=1e-15)
    head = paths[2].read_text().splitlines()[0]
    assert '"features": "labels"' in head and '"accuracy": {"logistic": ' in head


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"folds": 1}, "folds=1: expected at least 2"),
        ({"groups": "run"}, "groups is one of query, pair, not 'run'"),
        ({"features": "words"}, "features is one of grades, labels, not 'words'"),
        ({"C": 0.0}, r"C=0\.0: expected a number above 0"),
    ],
)
def test_wrong_arguments(drawn, options, message):
    with pytest.raises(UsageError, match=f"^{message}$"):
        predict_context(*drawn, **options)


def test_nothing_to_learn_from():
    qrels = {"q": {"a": 1, "b": 2}}
    rows = [("q", "a", "x", 1), ("q", "x", "a", 1)]
    with pytest.raises(DataError, match=r"^context: the qrels grade both doc"):
        predict_context(qrels, pd.DataFrame(rows, columns=CONTEXT))
    rows = [("q", "a", "b", 1), ("q", "b", "a", 1)]
    with pytest.raises(
        DataError, match=r"of at least two queries .*, found 1\. Collect"
    ):
        predict_context(qrels, pd.DataFrame(rows, columns=CONTEXT))
    many = pd.DataFrame([("q", f"d{i}", i / 7) for i in range(200)], columns=QRELS)
    rows = [("q", "d1", "d2", 1.0)]
    with pytest.raises(DataError, match=r"^qrels: expected at most 100 different grad"):
        predicted_grades(many, pd.DataFrame(rows, columns=CONTEXT))


def test_the_library_is_named_if_it_is_missing(drawn, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.linear_model", None)
    with pytest.raises(UsageError, match=r"needs scikit-learn: pip install 'pgcjax\[c"):
        predict_context(*drawn)
