"""Probes of judges: against numbers by hand, other libraries and simulated judges."""

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, stats

import pgcjax
from pgcjax.errors import DataError, DataWarning, UsageError
from pgcjax.io.preferences import read_preferences
from pgcjax.io.reading import reading
from pgcjax.judging.audit import ALL, audit
from pgcjax.judging.audit_probes import FEWEST, wilson
from pgcjax.judging.logistic import (
    SPREADS,
    Compared,
    fit_votes,
    spread_of_strengths,
    usual_cycles,
)

NAMES = ["query_id", "first", "second", "winner", "judge"]


def table(rows, names=NAMES) -> pd.DataFrame:
    return read_preferences(pd.DataFrame(rows, columns=names))


def found(result, judge=ALL) -> pd.DataFrame:
    """Findings of a judge by probe; those of agreement by with whom."""
    own = result.table[result.table["judge"] == judge]
    return own.set_index(own["of"].where(own["of"] != "", own["probe"]))


def both_orders(n: int, flipped: int, judge: str = "j", start: int = 0) -> list[tuple]:
    """Pairs shown in both orders, the last ones flipped, two to the second."""
    rows = []
    for i in range(start, start + n):
        a, b = f"a{i}", f"b{i}"
        answers = (a, b) if n + start - i <= flipped else (a, a)
        answers = (b, a) if n + start - i <= 2 else answers
        rows += [("q", a, b, answers[0], judge), ("q", b, a, answers[1], judge)]
    return rows


def test_swaps_ties_refusals_and_repeats():
    rows = both_orders(40, 10)
    rows += [("q", f"c{i}", f"d{i}", "tie", "j") for i in range(20)]
    rows += [("q", f"e{i}", f"f{i}", "", "j") for i in range(5)]
    rows += rows[:20]  # asked again, and answered alike
    rows += [("q", "a10", "b10", "b10", "j")]  # ... but for this pair
    of = found(audit(table(rows)))
    assert of.loc["swap", ["estimate", "count"]].tolist() == [
        pytest.approx(29 / 40),
        40,
    ]
    interval = stats.binomtest(29, 40).proportion_ci(method="wilson")
    assert of.loc["swap", ["low", "high"]].tolist() == pytest.approx(list(interval))
    assert of.loc["swap", "verdict"] == (
        "partly consistent; 10 flipped, 8 of them to the first"
    )
    assert of.loc["ties", "estimate"] == 20 / 121
    assert of.loc["ties", "verdict"] == "some ties"
    assert of.loc["refusals", "estimate"] == 5 / 126
    assert of.loc["refusals", "verdict"] == "some refusals"
    assert of.loc["repeats", ["estimate", "count"]].tolist() == [20 / 21, 21]
    assert of.loc["repeats", "verdict"] == "consistent, perhaps"
    assert wilson(0, 0) == pytest.approx((np.nan, np.nan), nan_ok=True)


def simulated(seed: int, n: int, place: float, longer: float) -> pd.DataFrame:
    """Votes of a judge whose log-odds these are, on pairs of random lengths."""
    made = np.random.default_rng(seed)
    docs = np.array([made.permutation(40)[:2] for _ in range(n)])
    length = 2.0 ** made.normal(6, 1, 40)
    ratio = np.log2(length[docs[:, 0]] / length[docs[:, 1]])
    won = made.random(n) < 1 / (1 + np.exp(-place - longer * ratio))
    names = np.char.add("d", docs.astype(str))
    return pd.DataFrame(
        {
            "query_id": "q",
            "doc_a": names[:, 0],
            "doc_b": names[:, 1],
            "winner": np.where(won, "a", "b"),
            "judge": "j",
            "length_a": length[docs[:, 0]],
            "length_b": length[docs[:, 1]],
        }
    )


def test_place_and_length_are_found_together():
    votes = simulated(1, 3000, place=0.7, longer=-0.4)
    result = audit(votes)
    of = found(result)
    for probe, beta in (("first", 0.7), ("longer", -0.4)):
        assert of.loc[probe, "low"] < np.exp(beta) < of.loc[probe, "high"]
    assert of.loc["first", "verdict"] == "prefers the first"
    assert of.loc["longer", "verdict"] == "prefers shorter ones"
    # Lengths of a file, or by id, are those of columns.
    lengths = pd.concat(
        votes[[f"doc_{s}", f"length_{s}"]].set_axis(["doc_id", "length"], axis=1)
        for s in "ab"
    ).drop_duplicates()
    plain = votes.drop(columns=["length_a", "length_b"])
    for given in (lengths, dict(lengths.to_numpy().tolist())):
        pd.testing.assert_frame_equal(audit(plain, lengths=given).table, result.table)
    of = found(audit(plain))
    assert of.loc["longer", "verdict"] == (
        "not asked: lengths are not known of all (--lengths FILE)"
    )
    alone = simulated(3, 3000, place=0.0, longer=0.0)
    assert found(audit(alone)).loc["first", "verdict"] == "no, or hardly"


def test_the_model_is_that_of_other_tools():
    """The optimum by scipy; errors by the formula of Liang and Zeger, in a loop."""
    made = np.random.default_rng(0)
    x, cluster = made.normal(size=(300, 2)), made.integers(0, 90, 300)
    y = (made.random(300) < 1 / (1 + np.exp(-x @ [0.5, -1]))) * 1.0

    def loss(beta):
        return np.logaddexp(0, -(2 * y - 1) * (x @ beta)).sum()

    best = optimize.minimize(loss, np.zeros(2), method="BFGS", options={"gtol": 1e-9}).x
    fit = fit_votes(x, y, cluster)
    np.testing.assert_allclose(fit.beta, best, rtol=1e-5)
    p = 1 / (1 + np.exp(-x @ fit.beta))
    bread, meat = np.zeros((2, 2)), np.zeros((2, 2))
    for i in range(300):
        bread += p[i] * (1 - p[i]) * np.outer(x[i], x[i])
    for c in set(cluster):
        score = sum(x[i] * (y[i] - p[i]) for i in np.flatnonzero(cluster == c))
        meat += np.outer(score, score)
    inverse = np.linalg.inv(bread)
    errors = np.sqrt(np.diag(inverse @ meat @ inverse))
    np.testing.assert_allclose(fit.error, errors, rtol=1e-9)
    assert not fit_votes(x, (x[:, 0] > 0) * 1.0, cluster).converged
    assert not fit_votes(0 * x, y, cluster).converged


def test_intervals_hold_what_judges_do():
    """Of 200 judges with known bias, 95 % intervals hold 92 % to 98 %."""
    held = []
    for seed in range(200):
        votes = simulated(seed, 300, place=0.4, longer=0.3)
        ratio = np.log2(votes["length_a"] / votes["length_b"])
        x = np.column_stack([np.ones(300), ratio])
        y = (votes["winner"] == "a").to_numpy() * 1.0
        pair = [frozenset(p) for p in votes[["doc_a", "doc_b"]].to_numpy()]
        fit = fit_votes(x, y, pd.factorize(pd.Series(pair))[0])
        held.append(np.abs(fit.beta - [0.4, 0.3]) < 1.96 * fit.error)
    assert ((0.92 <= np.mean(held, axis=0)) & (np.mean(held, axis=0) <= 0.98)).all()


def test_cycles_are_compared_with_a_bradley_terry_judge():
    assert usual_cycles(0) == pytest.approx(1 / 4)
    made = np.random.default_rng(3)
    t = made.normal(0, 2, (10**5, 3))
    p, q, r = (1 / (1 + np.exp(t[:, j] - t[:, i])) for i, j in ((0, 1), (1, 2), (2, 0)))
    mean = np.mean(p * q * r + (1 - p) * (1 - q) * (1 - r))
    assert usual_cycles(2) == pytest.approx(mean, abs=0.002)
    sets, rows = [], []
    for i in range(40):
        strength = made.normal(0, 2, 7)
        a, b = np.triu_indices(7, 1)
        won = made.random(21) < 1 / (1 + np.exp(strength[b] - strength[a]))
        sets.append(Compared(a, b, won))
        rows += [
            (f"q{i}", f"d{x}", f"d{y}", w) for x, y, w in zip(a, b, won, strict=True)
        ]
    assert spread_of_strengths(sets) == 2 and 2 in SPREADS
    frame = pd.DataFrame(
        rows, columns=["query_id", "doc_id", "other_doc_id", "preference"]
    )
    frame["preference"] = np.where(frame["preference"], 1, -1)
    of = found(audit(frame))
    assert of.loc["cycles", "count"] == 40 * 35
    assert of.loc["cycles", "verdict"] == "as a Bradley-Terry judge, 0.073"
    coins = frame.assign(preference=made.choice([-1, 1], len(frame)))
    of = found(audit(coins))
    assert of.loc["cycles", "estimate"] == pytest.approx(0.25, abs=0.03)


def test_agreement_with_others_and_with_people():
    made, rows = np.random.default_rng(4), []
    for i in range(60):
        truth = made.choice([-1, 0, 1])
        for judge, noise in (("gpt", 0.1), ("ann", 0.3), ("bob", 0.3), ("odd", 1.0)):
            said = made.choice([-1, 0, 1]) if made.random() < noise else truth
            rows.append(("q", f"a{i}", f"b{i}", said, judge, i))
    names = ["query_id", "doc_id", "other_doc_id", "preference", "judge", "time"]
    votes = pd.DataFrame(rows, columns=names)
    result = audit(votes, people=["ann", "bob"])
    pairs = pgcjax.judge_agreement(votes, grouping="sign").judges
    for row in pairs.itertuples():
        for one, other in ((row.judge_a, row.judge_b), (row.judge_b, row.judge_a)):
            of = found(result, one)
            assert of.loc[other, "estimate"] == pytest.approx(row.kappa)
            assert of.loc[other, "count"] == 60
    gpt = found(result, "gpt")
    # People whose two votes differ say neither.
    wide = votes.pivot(index="doc_id", columns="judge", values="preference")
    people = np.sign(wide["ann"] + wide["bob"]).where(wide["ann"] == wide["bob"], 0)
    two = votes[votes["judge"].isin(["gpt", "ann"])].copy()
    two.loc[two["judge"] == "ann", "preference"] = people.to_numpy()[
        two.loc[two["judge"] == "ann", "doc_id"].map(
            {doc: i for i, doc in enumerate(wide.index)}
        )
    ]
    expected = pgcjax.judge_agreement(two, grouping="sign").judges["kappa"][0]
    assert gpt.loc["people", "estimate"] == pytest.approx(expected)
    assert gpt.loc["people", "low"] < expected < gpt.loc["people", "high"]
    assert found(result, "odd").loc["the others", "verdict"] in ("none", "slight")
    assert gpt.loc["the others", "verdict"] == "moderate"
    assert gpt.loc["drift", "verdict"].startswith(("not seen", "not asked"))
    # The pairs on which most others say the opposite, those with most votes first.
    odd = result.at_odds[result.at_odds["judge"] == "odd"]
    assert 1 <= len(odd) <= 10 and odd["against"].is_monotonic_decreasing
    for row in odd.itertuples():
        here = wide.loc["a" + row.doc_id[1:]]
        sign = 1 if row.doc_id[0] == "a" else -1
        assert here["odd"] == sign and row.others == 3
        assert (here[["gpt", "ann", "bob"]] == -sign).sum() == row.against >= 2


def test_a_judge_among_others_is_what_the_votes_alone_say():
    """What is counted for all judges at once, is counted for each; with progress."""
    made, rows = np.random.default_rng(8), []
    docs = np.array([f"d{i}" for i in range(8)])
    for judge, count in (("a", 400), ("b", 300), ("c", 25)):
        for _ in range(count):
            first, second = made.permutation(docs)[:2]
            said = made.choice([first, second, "tie", ""], p=[0.5, 0.3, 0.15, 0.05])
            query, aspect = f"q{made.integers(3)}", made.choice(["u", "v"])
            length = int(first[1]) + 2.0, int(second[1]) + 2.0
            rows.append((query, first, second, said, judge, aspect, *length))
    votes = table(rows, [*NAMES, "aspect", "length_a", "length_b"])
    told = []
    several = audit(votes, progress=lambda *step: told.append(step)).table
    assert told == [("auditing", done, 3) for done in (1, 2, 3)]
    for judge in "abc":
        own = votes[votes["judge"] == judge].reset_index(drop=True)
        own.attrs = {"refused": {judge: votes.attrs["refused"].get(judge, 0)}}
        alone = audit(own).table.drop(columns="judge")
        its = several[several["judge"] == judge].drop(columns="judge").head(len(alone))
        pd.testing.assert_frame_equal(its.reset_index(drop=True), alone)
    assert several["estimate"].notna().groupby(several["judge"]).sum()["a"] >= 9


def test_drift():
    made, rows = np.random.default_rng(5), []
    for i in range(400):
        late = made.random() < 0.9 * i / 400  # says anything, ever more often
        said = made.choice([-1, 1]) if late else 1
        rows += [("q", f"a{i}", f"b{i}", said, "tired", i)]
        rows += [("q", f"a{i}", f"b{i}", 1, "steady", i)]
    names = ["query_id", "doc_id", "other_doc_id", "preference", "judge", "time"]
    votes = pd.DataFrame(rows, columns=names)
    of = found(audit(votes, judges=["tired"]), "tired")
    assert of.loc["drift", "verdict"] == "agrees less with time"
    assert of.loc["drift", "high"] < 1
    of = found(audit(votes.drop(columns="time")), "tired")
    assert of.loc["drift", "verdict"] == "not asked: votes have no time (a column time)"


def test_probes_stand_down_where_data_cannot_answer():
    few = [("q", "a", "b", 1), ("q", "b", "c", 1)]
    names = ["query_id", "doc_id", "other_doc_id", "preference"]
    result = audit(table(few, names))
    assert result.table["estimate"].isna().all() and FEWEST == 20
    assert result.table["verdict"].tolist() == [
        "not asked: what was shown first is not known (a column first)",
        "not asked: what was shown first is not known of all (a column first)",
        "not asked: lengths are not known of all (--lengths FILE)",
        "not asked: 2 votes, of which 20 are needed",
        "not asked: 2 votes, of which 20 are needed",
        "not asked: votes name no judge",
        "not asked: 0 triples with all pairs decided, of which 20 are needed",
    ]
    assert result.at_odds.empty
    with pytest.raises(DataError) as refused:
        audit(table([("q", "a", None, -1)], names))
    assert str(refused.value) == "preferences: compare no two documents"
    with pytest.raises(UsageError) as wrong:
        audit(table(few, names), people=["ann"])
    assert str(wrong.value) == "no judge 'ann'; no row names one"


def test_a_published_judge(data):
    """GPT-4o's answers in both orders on Deep Learning 2021."""
    told = pytest.warns(DataWarning, match="say nothing that any rule reads")
    with told, reading(columns="judge=round"):
        votes = read_preferences(data / "dl21/both-orders/gpt4o.tsv.gz")
    of = found(audit(votes))
    assert of.loc["swap", "estimate"] == 828 / 1411
    assert of.loc["swap", "verdict"] == (
        "inconsistent; 583 flipped, 322 of them to the first"
    )
    assert of.loc["longer", "verdict"] == "prefers longer ones"
    assert of.loc["refusals", "estimate"] == 1 / 2824
    shown = of[["estimate", "low", "high"]].round(3)
    assert shown.loc["swap"].tolist() == [0.587, 0.561, 0.612]
    assert shown.loc["first"].tolist() == [1.097, 1.018, 1.182]
    assert shown.loc["longer"].tolist() == [3.493, 2.679, 4.553]
    assert shown.loc["cycles"].tolist() == [0.021, 0.012, 0.039]
    assert of.loc["cycles", "verdict"] == "fewer than a Bradley-Terry judge, 0.073"
