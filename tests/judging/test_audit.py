"""Probes of judges: against numbers by hand, other libraries and simulated judges."""

import numpy as np
import pandas as pd
import pytest
from helpers.twins import audits as twins
from scipy import optimize, stats

import pgcjax
from pgcjax.errors import DataError, DataWarning, UsageError
from pgcjax.files import read_preferences
from pgcjax.io.reading import reading
from pgcjax.io.votes.double import double_votes
from pgcjax.judging import logistic
from pgcjax.judging.audit import (
    ALL,
    agreement,
    audit,
    first_odds,
    length_odds,
    votes_by_pair,
)
from pgcjax.judging.cycles import cycles
from pgcjax.judging.intervals import FEWEST, place_odds, wilson
from pgcjax.judging.logistic import PairedItems, fit_votes

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
        "partly consistent; of 40 pairs 10 flipped, 8 to the first; of 50 showings 10 "
        "flipped"
    )
    few = found(audit(table(both_orders(19, 10)))).loc["swap", "verdict"]
    assert few == "not asked: 19 pairs judged in both orders, of which 20 are needed"
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


def shown(
    seed: int, n: int, place: float, better: float = 0.5, sd: float = 2.0
) -> pd.DataFrame:
    """Votes of a Bradley-Terry judge on all pairs in both orders.

    Args:
        seed: of the random numbers.
        n: documents.
        place: what it adds to the log-odds of what is shown first.
        better: how often the better document is first in the first half of the votes.
        sd: of strengths.
    """
    made = np.random.default_rng(seed)
    strength = made.normal(0, sd, n)
    a, b = np.triu_indices(n, 1)
    lead = strength[a] - strength[b]
    first = (made.random(len(a)) < better) == (lead > 0)
    a, b, lead, first = *(np.tile(x, 2) for x in (a, b, lead)), np.r_[first, ~first]
    odds = lead + place * np.where(first, 1, -1)
    won = made.random(len(a)) < 1 / (1 + np.exp(-odds))
    docs = np.array([f"d{i:02d}" for i in range(n)], object)
    return pd.DataFrame(
        {
            "query_id": "q",
            "doc_id": docs[a],
            "other_doc_id": docs[b],
            "preference": np.where(won, 1, -1),
            "first": np.where(first, docs[a], docs[b]),
        }
    )


def votes_of(table: pd.DataFrame, lengths=None) -> pd.DataFrame:
    """Votes as `audit` gives them to its probes."""
    return votes_by_pair(read_preferences(table), lengths)


def test_place_is_seen_where_a_pair_is_compared_with_itself():
    """A judge without bias is not accused if the better document was shown first."""
    held = {0.0: [], 0.4: []}
    for place, of in held.items():
        for seed in range(40):
            row = first_odds(votes_of(shown(seed, 14, place, better=1.0)))
            of.append(row.low <= np.exp(place) <= row.high)
            assert row.size == 91
    assert np.mean(held[0.0]) >= 0.88 and np.mean(held[0.4]) >= 0.88
    one_order = shown(0, 14, 0.4).head(91)
    assert found(audit(one_order)).loc["first", "verdict"] == (
        "not asked: 0 pairs decided in both orders, of which 20 are needed, because "
        "better documents may have been shown first"
    )
    both = [
        ("q", f"d{i}", f"e{i}", 1, d) for i in range(30) for d in (f"d{i}", f"e{i}")
    ]
    sure = table(both, ["query_id", "doc_id", "other_doc_id", "preference", "first"])
    assert found(audit(sure)).loc["first", "verdict"] == (
        "not asked: no answer depends on the place"
    )


@pytest.mark.parametrize("seed", range(3))
def test_the_odds_of_place_are_those_of_the_twin(seed):
    made = np.random.default_rng(seed)
    stratum, low_first = made.integers(0, 40, 300), made.choice([-1.0, 1.0], 300)
    sign = made.choice([-1, 0, 1, 1], 300)
    sign = np.where(made.random(300) < 0.4, low_first, sign)
    low_first[made.random(300) < 0.1] = np.nan
    votes = [*zip(stratum.tolist(), low_first.tolist(), sign.tolist(), strict=True)]
    odds, low, high, pairs = twins.place_odds(votes)
    got = place_odds(stratum, low_first, sign)
    assert got == (pytest.approx(odds), *map(pytest.approx, (low, high)), pairs)
    # One vote in each order: McNemar's.
    rows = shown(seed, 14, 0.8)
    flips = double_votes(read_preferences(rows))
    to = flips[flips["kind"] == "flipped"]["to"].value_counts()
    row = found(audit(rows)).loc["first"]
    assert row["estimate"] == pytest.approx((to["first"] / to["second"]) ** 0.5)
    interval = stats.binomtest(to["first"], to.sum()).proportion_ci(method="wilson")
    ends = np.sqrt(np.array(interval) / (1 - np.array(interval)))
    assert row[["low", "high"]].tolist() == pytest.approx(ends.tolist())


def test_length_is_found():
    votes = simulated(1, 3000, place=0.7, longer=-0.4)
    result = audit(votes)
    of = found(result)
    assert of.loc["longer", "low"] < np.exp(-0.4) < of.loc["longer", "high"]
    assert of.loc["longer", "verdict"] == "prefers shorter ones"
    # Lengths of a table are those of columns.
    lengths = pd.concat(
        votes[[f"doc_{s}", f"length_{s}"]].set_axis(["doc_id", "length"], axis=1)
        for s in "ab"
    ).drop_duplicates()
    plain = votes.drop(columns=["length_a", "length_b"])
    pd.testing.assert_frame_equal(audit(plain, lengths=lengths).table, result.table)
    of = found(audit(plain))
    assert of.loc["longer", "verdict"] == (
        "not asked: some lengths are unknown (--lengths FILE)"
    )


def test_length_that_goes_with_few_documents_is_no_bias():
    """Votes have documents in common: those of 20 documents are no 190 coins."""
    held = []
    for seed in range(30):
        votes, made = (
            shown(seed, 20, 0, sd=1.5).head(190),
            np.random.default_rng([seed, 1]),
        )
        ids = [f"d{i:02d}" for i in range(20)]
        length = pd.DataFrame({"doc_id": ids, "length": 2 ** made.normal(6, 1, 20)})
        row = length_odds(votes_of(votes, length))
        held.append(row.low <= 1 <= row.high)
    assert np.mean(held) >= 0.85


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
    m = len(set(cluster))
    errors = np.sqrt(np.diag(inverse @ meat @ inverse) * m / (m - 1))
    np.testing.assert_allclose(fit.error, errors, rtol=1e-9)
    # Votes that have a document in common go together (dyadic clusters).
    docs = np.array([made.permutation(40)[:2] for _ in range(300)])
    fit, meat = fit_votes(x, y, docs), np.zeros((2, 2))
    scores = x * (y - p)[:, None]
    for i in range(300):
        for j in range(300):
            if {*docs[i]} & {*docs[j]}:
                meat += np.outer(scores[i], scores[j])
    pairs, of_pair = [*map(frozenset, docs.tolist())], np.zeros((2, 2))
    for pair in set(pairs):
        score = sum(scores[i] for i in range(300) if pairs[i] == pair)
        of_pair += np.outer(score, score)
    several = [np.diag(inverse @ m @ inverse) for m in (meat, of_pair)]
    errors = np.sqrt(np.max(several, axis=0) * 40 / 39)
    np.testing.assert_allclose(fit.error, errors, rtol=1e-9)
    assert not fit_votes(x, (x[:, 0] > 0) * 1.0, cluster).converged
    assert not fit_votes(0 * x, y, cluster).converged


def test_cycles_are_compared_with_a_bradley_terry_judge():
    """Intervals hold the share that such a judge makes; he is not told from himself."""
    made, held, told = np.random.default_rng(3), [], []
    t = made.normal(0, 3, (10**6, 3))
    p, q, r = (1 / (1 + np.exp(t[:, j] - t[:, i])) for i, j in ((0, 1), (1, 2), (2, 0)))
    truth = np.mean(p * q * r + (1 - p) * (1 - q) * (1 - r))
    for seed in range(40):
        row = cycles(votes_of(shown(seed, 12, 0, sd=3.0).head(66)))
        held.append(row.low <= truth <= row.high)
        told.append(row.verdict.startswith("as a Bradley-Terry judge"))
        assert row.size == 220
    assert np.mean(held) >= 0.9 and np.mean(told) >= 0.9


def test_the_share_of_cycles_is_that_of_the_twin():
    """Documents left out one by one; and queries, of ten or more."""
    for queries in (3, 12):
        rows = [shown(s, 7, 0, sd=1.0).head(21) for s in range(queries)]
        votes = pd.concat([r.assign(query_id=f"q{i:02d}") for i, r in enumerate(rows)])
        votes = votes[np.random.default_rng(0).random(len(votes)) < 0.9]
        wins = {}
        for q, a, b, sign in votes.iloc[:, :4].itertuples(index=False):
            wins.setdefault(q, set()).add((a, b) if sign > 0 else (b, a))
        row = found(audit(votes)).loc["cycles"]
        share, size, units = twins.share_of_cycles(wins, by_query=queries >= 10)
        z = stats.t.isf(0.025, units - 1)
        assert row["estimate"] == pytest.approx(share)
        ends = wilson(share * size, size, z)
        assert row[["low", "high"]].tolist() == pytest.approx([*ends])


def test_strengths_are_drawn_as_votes_have_them():
    """Of three items the marginal likelihood by quadrature, and means of strengths."""
    pairs = PairedItems(np.array([0, 0, 1]), np.array([1, 2, 2]), np.ones(3, bool))
    node, weight = np.polynomial.hermite_e.hermegauss(60)
    grid = np.stack(np.meshgrid(node, node, node, indexing="ij"))
    both = weight[:, None, None] * weight[:, None] * weight
    made = np.random.default_rng(0)
    for spread in (0.5, 2.0, 4.0):
        x = spread * grid
        chance = np.prod(
            [1 / (1 + np.exp(x[j] - x[i])) for i, j in ((0, 1), (0, 2), (1, 2))], 0
        )
        total = (both * chance).sum() / both.sum()
        strength, log_marginal = logistic.drawn(pairs, spread, made)
        assert log_marginal == pytest.approx(np.log(total), abs=0.1)
        mean = (both * chance * x[0]).sum() / (both * chance).sum()
        assert strength[:, 0].mean() == pytest.approx(mean, abs=0.25 * spread)


def test_shares_of_answers_that_go_together():
    """Five judges answer each of 40 questions alike: 200 votes are as good as 40."""
    made = np.random.default_rng(0)
    sign = made.choice([0, 1], 40, p=[0.3, 0.7])
    rows = [
        ("q", f"a{i}", f"b{i}", s, f"j{j}")
        for i, s in enumerate(sign)
        for j in range(5)
    ]
    names = ["query_id", "doc_id", "other_doc_id", "preference", "judge"]
    row = found(audit(table(rows, names))).loc["ties"]
    hits = int((sign == 0).sum())
    interval = stats.binomtest(hits, 40).proportion_ci(method="wilson")
    assert row["estimate"] == hits / 40 and row["count"] == 200
    assert row["low"] < interval.low and row["high"] > interval.high


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
    pairs = pgcjax.judgments.judge_agreement(votes, grouping="sign").judges
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
    expected = pgcjax.judgments.judge_agreement(two, grouping="sign").judges["kappa"][0]
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


@pytest.mark.parametrize("noise", [0.1, 0.4])
def test_intervals_hold_kappa(noise):
    """Also near 1, where kappa is far from normal."""
    made, said = np.random.default_rng(0), np.array([0.45, 0.45, 0.1])
    both = noise * said[:, None] * said + (1 - noise) * np.diag(said)
    held = []
    for counts in made.multinomial(200, both.ravel(), 300):
        row = agreement("k", counts.reshape(3, 3))
        held.append(row.low <= 1 - noise <= row.high)
    assert 0.92 <= np.mean(held) <= 0.98
    alike = agreement("k", np.diag([20, 15, 5]))
    assert alike.estimate == alike.high == 1 and 0.8 < alike.low < 0.95


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
        "not asked: the presentation order is unknown (a column first)",
        "not asked: the presentation order is unknown (a column first)",
        "not asked: some lengths are unknown (--lengths FILE)",
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
    told = pytest.warns(DataWarning, match="match no rule")
    with told, reading(columns="judge=round"):
        votes = read_preferences(data / "dl21/both-orders/gpt4o.tsv.gz")
    of = found(audit(votes))
    assert of.loc["swap", "estimate"] == 828 / 1411
    assert of.loc["swap", "verdict"] == (
        "inconsistent; of 1411 pairs 583 flipped, 322 to the first"
    )
    assert of.loc["longer", "verdict"] == "prefers longer ones"
    assert of.loc["refusals", "estimate"] == 1 / 2824
    shown = of[["estimate", "low", "high"]].round(3)
    assert shown.loc["swap"].tolist() == [0.587, 0.56, 0.613]
    assert shown.loc["first"].tolist() == [1.111, 1.024, 1.205]
    assert shown.loc["longer"].tolist() == [3.493, 2.165, 5.634]
    assert shown.loc["cycles"].tolist() == [0.021, 0.011, 0.043]
    assert of.loc["cycles", "verdict"] == "as a Bradley-Terry judge, 0.022"
