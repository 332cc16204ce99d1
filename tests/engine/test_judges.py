"""Scores by each judge alone are those of `evaluate` on the judge's own rows."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import pgcjax
from pgcjax.engine.judges import compare_judges
from pgcjax.errors import DataError, UsageError
from pgcjax.io.choices import FLIPS
from pgcjax.io.votes.double import settle

pytestmark = [
    pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning"),
]
DOCS = [f"d{i}" for i in range(6)]
QUERIES = [f"q{i}" for i in range(8)]


def votes() -> pd.DataFrame:
    """Judge `right` prefers early documents; `place` goes with the first, at times.

    Both orders of each pair are shown to `place`. Nobody else judged the last query.
    """
    made, rows = np.random.default_rng(3), []
    for query in QUERIES[:-1]:
        for a, b in combinations(DOCS, 2):
            if made.random() < 0.8:
                rows.append((query, a, b, a, "right"))
            swayed = made.random() < 0.5
            rows.append((query, a, b, a, "place"))
            rows.append((query, b, a, b if swayed else a, "place"))
    rows.append((QUERIES[-1], "d1", "d0", "d1", "place"))
    columns = ["query_id", "first", "second", "winner", "judge"]
    return pgcjax.files.read_preferences(pd.DataFrame(rows, columns=columns))


def runs() -> pd.DataFrame:
    """Run r0 has the best order; the others have ever more places changed."""
    made, rows = np.random.default_rng(7), []
    for r in range(4):
        for query in QUERIES[: 8 - (r == 3)]:  # the last run lacks a query
            order = list(DOCS)
            for _ in range(2 * r):
                i = made.integers(5)
                order[i], order[i + 1] = order[i + 1], order[i]
            rows += [(f"r{r}", query, doc, -float(i)) for i, doc in enumerate(order)]
    return pd.DataFrame(rows, columns=["run_id", "query_id", "doc_id", "score"])


@pytest.fixture(scope="module")
def prefs() -> pd.DataFrame:
    return votes()


@pytest.mark.parametrize("measure", ["PGC(p=0.8)", "wpref"])
def test_scores_are_those_of_evaluate_by_each_policy(prefs, measure):
    table, flips = runs(), list(FLIPS) if measure[0] == "P" else list(FLIPS[:3])
    with pgcjax.files.reading(flips="tie"):
        found = compare_judges(table, prefs, measure=measure)
    assert found.metadata["flips"] == "tie" and found.policies == flips
    assert list(found.boards) == ["place", "right"]
    assert list(found.boards["place"]) == flips
    assert list(found.boards["right"]) == ["tie"]
    won_late = (prefs["doc_id"] > prefs["other_doc_id"]) == (prefs["preference"] > 0)
    flipped = int((won_late & (prefs["query_id"] != QUERIES[-1])).sum())
    assert found.flipped == {"place": (105, flipped)} and flipped > 40
    for judge, boards in found.boards.items():
        own = prefs[prefs["judge"] == judge]
        for policy, (queries, values) in boards.items():
            given = {"preferences": settle(own, policy), "measures": measure}
            wide = pgcjax.evaluate(table, **given).matrix(measure)
            assert list(wide) == queries and list(wide.index) == found.run_ids
            assert (wide.to_numpy() == values).all()
    assert found.notes == (
        "place: 4 runs, 8 judged queries",
        "right: 4 runs, 7 judged queries; 1 unjudged query ignored",
    )


def test_place_explains_what_two_judges_disagree_on(prefs):
    """Known flips: without them the judge who goes with the place is like the other."""
    found = compare_judges(runs(), prefs, measure="PGC(p=0.8)")
    table = found.flips(["tau"], resamples=50)
    of_two = table[table["judge_b"] == "right"].set_index("flips_a")
    boards = {p: found.boards["place"][p].values[:, :7].mean(1) for p in FLIPS}
    right = found.boards["right"]["keep"].values.mean(1)
    for policy, mean in boards.items():
        row = of_two.loc[policy]
        assert row["value"] == pytest.approx(stats.kendalltau(mean, right).statistic)
        swapped = sum(
            (mean[i] - mean[j]) * (right[i] - right[j]) < 0
            for i, j in combinations(range(4), 2)
        )
        assert (row["swapped"], row["queries"]) == (swapped, 7)
    # Sources have one name each, whoever their rows name, and are settled by judge.
    named = {"all": prefs, "gold": prefs[prefs["judge"] == "right"]}
    again = compare_judges(runs(), sources=named, measure="PGC(p=0.8)")
    assert list(again.boards) == ["all", "gold"] and [*again.flipped] == ["all"]
    gold, right = again.boards["gold"]["keep"], found.boards["right"]["keep"]
    assert gold.query_ids == right.query_ids and (gold.values == right.values).all()


def test_what_cannot_be_compared_is_refused(prefs):
    table, alone = runs(), prefs[prefs["judge"] == "right"]
    nobody = prefs.drop(columns="judge")
    for error, message, how in (
        (
            UsageError,
            "nDCG@10: judges are compared by measures of preferences, such as PGC",
            {"preferences": prefs, "measure": "nDCG@10"},
        ),
        (
            UsageError,
            "PGC(graph=combined) needs qrels: give qrels=…, or --qrels FILE on the "
            "command line",
            {"preferences": prefs, "measure": "PGC(graph=combined)"},
        ),
        (
            UsageError,
            "PGC(mean=geometric): judges are compared by orders of arithmetic means, "
            "not of mean=geometric",
            {"preferences": prefs, "measure": "PGC(mean=geometric)"},
        ),
        (
            UsageError,
            "judges are compared by one measure, not by 2",
            {"preferences": prefs, "measure": ["PGC", "wpref"]},
        ),
        (
            UsageError,
            "no judge 'nn'; there are place, right",
            {"preferences": prefs, "judges": ["nn"]},
        ),
        (
            UsageError,
            "judge 'place' is among the preferences, too: rename it",
            {"preferences": prefs, "sources": {"place": alone}},
        ),
        (
            UsageError,
            "missing is one of zero, error, not 'skip'",
            {"preferences": prefs, "missing": "skip"},
        ),
        (
            UsageError,
            "no judgments: give preferences=… or sources=…; --prefs FILE or --source "
            "NAME=FILE on the command line",
            {},
        ),
        (
            DataError,
            "preferences: there is one judge alone, 'right', and no pair that is known "
            "to be judged in both orders. Give the judgments of another judge, too.",
            {"preferences": alone},
        ),
        (
            DataError,
            f"preferences: {len(nobody)} of {len(nobody)} judgments name no judge. "
            "Give a column judge, or call all of a file one judge: --source NAME=FILE "
            "(sources= in Python).",
            {"preferences": nobody},
        ),
        (
            DataError,
            "run 'r3' lacks query 'q7', which is judged for PGC. Complete it, or "
            "choose missing zero or skip.",
            {"preferences": prefs, "missing": "error"},
        ),
        (
            DataError,
            "runs: there is one run alone, 'r0'. At least 2 are needed for an order.",
            {"preferences": prefs, "runs": table[table["run_id"] == "r0"]},
        ),
    ):
        with pytest.raises(error) as refused:
            compare_judges(**{"runs": table, **how})
        assert str(refused.value) == message
    with pgcjax.files.reading(flips="half"), pytest.raises(DataError) as refused:
        compare_judges(table, prefs, measure="wpref")
    assert str(refused.value) == (
        "preferences: expected whole numbers as weights, found 0.5: a measure of pairs "
        "counts judgments. Fractions are for PGC and ExactPGC: round them (and let "
        "--flips be keep, tie or drop)."
    )
    # One judge alone can be compared with itself, by another policy.
    one = compare_judges(table, prefs, judges=["place"])
    assert list(one.boards) == ["place"] and len(one.flips(resamples=20)) == 3 * 2


def test_people_and_a_model_on_deep_learning_2021(data):
    """What docs/judgments.md says, by `evaluate` and scipy."""
    folder = data / "dl21"
    table = pgcjax.files.read_runs(folder / "runs").table
    words = "a=1|Passage 1,b=2,none=*"
    people = pgcjax.files.read_preferences(folder / "judgments.txt.gz")
    with pgcjax.files.reading(columns="judge=round", answers=words):
        model = pgcjax.files.read_preferences(folder / "both-orders/gpt4o.tsv.gz")
    found = compare_judges(table, sources={"people": people, "gpt4o": model})
    assert found.flipped == {"gpt4o": (1411, 583)}
    means = {}
    given = {"people": people, "keep": model, "tie": settle(model, "tie")}
    scores = {
        name: pgcjax.evaluate(table, preferences=rows, measures="PGC").matrix("PGC")
        for name, rows in given.items()
    }
    shared = scores["people"].columns.intersection(scores["tie"].columns)
    means = {name: wide[shared].mean(axis=1) for name, wide in scores.items()}
    orders = found.orders(["tau"], resamples=30)
    flips = found.flips(["tau"], resamples=30)
    of_two = flips[flips["judge_b"] == "people"].set_index("flips_a")
    for policy, swaps in (("keep", 221), ("tie", 198)):
        x, y = means[policy].to_numpy(), means["people"].to_numpy()
        tau = stats.kendalltau(x, y).statistic
        assert of_two.loc[policy, "value"] == pytest.approx(tau, abs=1e-15)
        turned = sum(
            (x[i] - x[j]) * (y[i] - y[j]) < 0 for i, j in combinations(range(63), 2)
        )
        assert of_two.loc[policy, "swapped"] == turned == swaps
    gain = of_two.loc["tie", "value"] - of_two.loc["keep", "value"]
    assert of_two.loc["tie", "change"] == gain and round(gain, 3) == 0.024
    lost = 1 - of_two.loc["keep", "value"]
    assert (
        of_two.loc["tie", "explained"] == gain / lost and round(gain / lost, 2) == 0.1
    )
    first = orders.loc[0]
    assert first["value"] == of_two.loc["keep", "value"] and np.isnan(first["low"])
    counts = first[["runs", "queries", "swapped", "one_significant"]]
    assert counts.tolist() == [63, 34, 221, 0] and first["both_significant"] == 0
    # Of the model alone: what docs/votes.md says, over all that the model judged.
    own = flips[flips["judge_b"] == "gpt4o"].set_index("flips_b")["swapped"]
    assert own.to_dict() == {"tie": 55, "drop": 55, "half": 3}
