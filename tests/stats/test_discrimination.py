"""Discriminative power, curves, overlaps, sensitivity and intuitiveness."""

import numpy as np
import pandas as pd
import pytest
from helpers.twins import correlation as twin
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pgcjax.errors import UsageError
from pgcjax.stats import discrimination
from pgcjax.stats.discrimination import discriminate, intuitiveness, sensitivity
from pgcjax.stats.scores import Scores

RNG = np.random.default_rng(0)
# Of fewer than 14 queries with ties, scipy's Wilcoxon would try all permutations.
VALUES = {
    "A": RNG.random((5, 14)) + np.arange(5)[:, None] / 4,
    "B": RNG.random((5, 14)),
    "C": np.round(RNG.random((5, 14)) * 3) / 3,
}


def table(values, runs=None) -> pd.DataFrame:
    """Score table of measure → values [runs, queries]."""
    rows = [
        (f"r{r}", f"q{q:02}", measure, value)
        for measure, matrix in values.items()
        for r, row in enumerate(matrix)
        for q, value in enumerate(row)
    ]
    return pd.DataFrame(rows, columns=["run_id", "query_id", "measure", "value"])


def pairwise_t(values) -> np.ndarray:
    i, j = np.triu_indices(len(values), 1)
    return stats.ttest_rel(values[i], values[j], axis=1).pvalue


def test_sensitivity_is_the_share_of_significant_t_tests():
    found = sensitivity(Scores(table(VALUES)))
    assert found["measure"].tolist() == ["A", "B", "C"]
    for row in found.itertuples():
        p = pairwise_t(VALUES[str(row.measure)])
        assert (row.significant, row.pairs) == ((p < 0.05).sum(), 10)
        assert row.sensitivity == (p < 0.05).mean()
    assert found["significant"][0] > 0


def test_the_pairs_are_named_and_in_order():
    found = discriminate(table(VALUES), ["A"], "t").pairs
    first = found.iloc[1]
    assert (first["run_a"], first["run_b"]) == ("r0", "r2")
    means = VALUES["A"].mean(axis=1)
    assert first["difference"] == pytest.approx(means[0] - means[2])
    assert found["p_value"].tolist() == pytest.approx(pairwise_t(VALUES["A"]).tolist())
    assert (found["significant"] == (found["p_value"] < 0.05)).all()


def test_curves_fall():
    found = discriminate(table(VALUES), test=["t", "wilcoxon"]).curves()
    assert list(found) == ["test", "measure", "position", "p_adjusted"]
    for _, mine in found.groupby(["test", "measure"]):
        assert mine["position"].tolist() == list(range(1, 11))
        assert mine["p_adjusted"].is_monotonic_decreasing


def test_overlaps_add_up_to_what_is_significant():
    found = discriminate(table(VALUES), test=["t", "wilcoxon"], alpha=0.3)
    power = found.table.set_index(["test", "measure"])["significant"]
    overlaps = found.overlaps()
    assert len(overlaps) == 15
    for row in overlaps.itertuples():
        a, b = (row.test_a, row.measure_a), (row.test_b, row.measure_b)
        assert row.only_a + row.both == power[a]
        assert row.only_b + row.both == power[b]


def test_the_numbers_of_sakai_2012():
    # Tables 2 to 4: 190 pairs; I-rec 51, P+Q# 50, 48 in common.
    mine, theirs = np.zeros((2, 190), bool)
    mine[:51], theirs[3:53] = True, True
    pairs = pd.DataFrame({"test": "t", "measure": np.repeat(["I-rec", "P+Q#"], 190)})
    pairs["significant"] = np.r_[mine, theirs]
    about = {"correction": {"t": "none"}, "queries": {"I-rec": 50, "P+Q#": 50}}
    found = discrimination.Discrimination(about, pairs=pairs)
    assert found.overlaps().iloc[0, -3:].tolist() == [3, 48, 2]
    assert (100 * found.table["power"]).round(1).tolist() == [26.8, 26.3]


def test_a_resampled_test_knows_its_seed():
    one, same, other = (
        discriminate(table(VALUES), ["A"], resamples=99, seed=seed).pairs["p_value"]
        for seed in (1, 1, 2)
    )
    assert one.equals(same)
    assert not one.equals(other)
    assert one.min() >= 1 / 100


def test_identical_runs_do_not_differ():
    values = np.vstack([VALUES["A"][:1], VALUES["A"][:1]])
    said = []
    found = discriminate(
        table({"A": values}),
        test=["t", "bootstrap"],
        resamples=20,
        progress=lambda *step: said.append(step),
    )
    assert said == [("measures", 1, 2), ("measures", 2, 2)]
    assert found.pairs["p_value"].tolist() == [1, 1]
    assert found.table["power"].tolist() == [0, 0]


coarse = st.lists(
    st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=4, max_size=4),
    min_size=3,
    max_size=3,
)


@given(coarse, coarse, coarse, coarse)
def test_concordance_is_its_twin(first, second, gold, silver):
    values, truths = np.array([first, second]), np.array([gold, silver])
    for golds in ([gold], [gold, silver]):
        expected = twin.intuitiveness(first, second, golds)
        counts, correct = discrimination.concordance(values, truths[: len(golds)])
        assert (counts[0, 1], correct[0, 1], correct[1, 0]) == expected
        assert counts[1, 0] == counts[0, 1]
        assert counts[0, 0] == correct[0, 0] == 0
        shuffle = [2, 0, 1]
        again = discrimination.concordance(
            values[:, shuffle], truths[: len(golds), shuffle]
        )
        assert np.array_equal(again, (counts, correct))


def test_ties_of_the_gold_are_correct():
    values = {"A": [[1, 1, 0], [0, 0, 0]], "B": [[0, 0, 0], [1, 1, 0]]}
    values |= {"gold": [[1, 0, 0], [0, 0, 1]], "tied": [[1, 1, 1], [1, 1, 1]]}
    row = intuitiveness(table(values), "gold", ["A", "B"]).iloc[0]
    assert row["disagreements"] == 2
    assert (row["correct_a"], row["correct_b"]) == (2, 1)
    assert (row["intuitiveness_a"], row["intuitiveness_b"]) == (1, 0.5)
    row = intuitiveness(table(values), ["tied", "gold"]).iloc[0]
    assert (row["measure_a"], row["measure_b"]) == ("A", "B")
    assert row["gold"] == "tied & gold"
    assert (row["intuitiveness_a"], row["intuitiveness_b"]) == (1, 0.5)
    assert row["undefined"] == ""


def test_measures_that_never_disagree_have_no_intuitiveness():
    values = {name: VALUES["A"] for name in "ABG"}
    row = intuitiveness(table(values), "G").iloc[0]
    assert row["disagreements"] == 0
    assert np.isnan(row["intuitiveness_a"])
    assert row["undefined"] == "the two never disagree"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda t: discriminate(t, alpha=0),
            "alpha=0: expected a level between 0 and 1",
        ),
        (lambda t: intuitiveness(t, []), "name a gold measure"),
        (
            lambda t: intuitiveness(t, "G"),
            "no scores of 'G'; there are A, B, C",
        ),
        (
            lambda t: intuitiveness(t, ["A", "B"]),
            "compare two measures or more, not 1",
        ),
        (
            lambda t: intuitiveness(t, "C", ["A", "B", "C"]),
            "a measure is named twice",
        ),
        (lambda t: discriminate(t, ["A", "A"]), "a measure is named twice"),
        (lambda t: discriminate(t, []), "there are no measures to compare"),
        (lambda t: discriminate(t, test=[]), "name a test"),
    ],
)
def test_wrong_arguments(call, message):
    with pytest.raises(UsageError) as error:
        call(table(VALUES))
    assert str(error.value) == message


def test_measures_of_a_real_collection(data):
    folder = data / "score-matrices" / "dl"
    files = {m: folder / f"dl2019_{m}.csv.gz" for m in ("ndcg_cut_10", "map", "P_10")}
    dl2019 = {m: pd.read_csv(path, dtype={"topic": str}) for m, path in files.items()}
    assert sensitivity(files).equals(sensitivity(dl2019))
    found = sensitivity(dl2019).set_index("measure")["sensitivity"]
    for measure, wide in dl2019.items():
        values = wide.drop(columns="topic").to_numpy().T
        assert found[measure] == np.mean(pairwise_t(values) < 0.05)
    assert found.between(0.2, 0.8).all()
