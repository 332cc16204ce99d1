"""Models of judgments: against a plain twin and scipy, and simulated judges."""

import numpy as np
import pandas as pd
import pytest
from helpers.twins.votes import Vote, log_likelihood
from scipy import optimize

import pgcjax
from pgcjax.errors import DataError, UsageError
from pgcjax.judging import joint
from pgcjax.judging.comparisons import compared
from pgcjax.judging.joint import LOOKS, SPREAD, FitSetting

FIRST, LONGER, TIE = 0.4, 0.3, -0.5  # of simulated judges


def simulated(
    seed: int, worlds: int, queries: int, items: int, votes: int, judges: int, sd: float
) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Votes of judges of whom all is known, who look with chances of the prior.

    Returns:
        Votes, of which each aspect is a world; strengths `[worlds, queries, items]`;
        and reliabilities `[worlds, judges]`, 1 if there is one judge.
    """
    made, shape = np.random.default_rng(seed), (worlds, queries, votes)
    strength = made.normal(0, sd, (worlds, queries, items))
    strength -= strength.mean(axis=-1, keepdims=True)
    length = made.normal(6, 1, strength.shape)
    looks = made.beta(*LOOKS, (worlds, judges)) if judges > 1 else np.ones((worlds, 1))
    a, judge = made.integers(0, items, shape), made.integers(0, judges, shape)
    b, first = (a + made.integers(1, items, shape)) % items, made.random(shape) < 0.5

    def of(x, i):
        return np.take_along_axis(x, i, -1)

    odds = of(strength, a) - of(strength, b) + FIRST * np.where(first, 1, -1)
    odds += LONGER * (of(length, a) - of(length, b))
    chance = np.exp([odds / 2, np.full(shape, TIE), -odds / 2])
    looked = made.random(shape) < looks[np.arange(worlds)[:, None, None], judge]
    chance = np.where(looked, chance / chance.sum(axis=0), 1 / 3)
    answer = (made.random(shape) > np.cumsum(chance, axis=0)[:2]).sum(axis=0)
    world, query, _ = np.indices(shape)
    names = {"aspect": world, "query_id": query, "doc_id": a, "other_doc_id": b}
    names |= {"judge": judge, "first": np.where(first, a, b)}
    columns = {c: [f"{i:03d}" for i in x.ravel()] for c, x in names.items()}
    numbers = {"length": 2 ** of(length, a), "other_length": 2 ** of(length, b)}
    numbers["preference"] = 1.0 - answer
    columns |= {c: x.ravel() for c, x in numbers.items()}
    return pd.DataFrame(columns), strength, looks


def held(table: pd.DataFrame, truth: np.ndarray) -> float:
    return float(np.mean((table["low"] <= truth) & (truth <= table["high"])))


def test_intervals_hold_what_sways_judges_and_strengths():
    """Of 100 simulated worlds, each fitted by itself, in one program."""
    table, strength, _ = simulated(1, 100, 2, 6, 32, 1, 1.5)
    found = pgcjax.judgments.fit(
        table, "davidson", by="aspect", remove=("first", "longer"), prior=1.5
    )
    for name, truth in (("first", FIRST), ("longer", LONGER), ("tie", TIE)):
        own = found.effects[found.effects["effect"] == name]
        assert len(own) == 100 and 0.92 <= held(own, np.array(truth)) <= 0.98
        far = (own["log_odds"] - truth) / own["error"]
        assert abs(far.mean()) < 0.3
    rows = found.table.sort_values(["aspect", "query_id", "doc_id"])
    assert 0.92 <= held(rows, strength.ravel()) <= 0.98


def test_judges_who_guess():
    """Half of the judges guess: their intervals hold 0, and all errors are known."""
    table, *_ = simulated(5, 1, 20, 6, 128, 20, 1.5)
    guess = table["judge"].astype(int) < 10
    made = np.random.default_rng(0)
    table["preference"] = np.where(
        guess, made.choice([-1, 0, 1], len(table)), table["preference"]
    )
    found = pgcjax.judgments.fit(table, "davidson", reliability=True).judges
    low = found[found["judge"].astype(int) < 10]
    assert (low["low"] == 0).mean() >= 0.8 and low["reliability"].max() < 0.5
    assert found["error"].notna().all() and found["error"].max() < 0.29  # of no votes


def test_a_search_starts_in_several_places():
    """What is found is at least as likely as what each start leads to."""
    table, *_ = simulated(11, 1, 4, 5, 40, 6, 1.5)
    data = compared(table, judges=True)
    setting = FitSetting(False, True, 1 / 2.5**2)
    model = joint._Model(data, setting)
    found = joint.fit_jointly(data, setting)
    at = np.r_[np.log(found.spread), found.looks]
    best = model.evaluate(at, np.zeros(len(data.items))).value
    starts = model.starts(data)
    assert len(starts) == 3
    root = np.eye(model.shared)
    tops = [joint._climb(model, s, root, lambda: None)[1].value for s in starts]
    assert best >= max(tops) - 1e-5


def as_votes(table: pd.DataFrame, sway: tuple[str, ...]) -> list[Vote]:
    rows = []
    for row in table.to_dict("records"):
        towards = {"first": 1.0 if row["first"] == row["doc_id"] else -1.0}
        towards["longer"] = np.log2(row["length"] / row["other_length"])
        swayed = [towards[name] for name in sway]
        named = ("doc_id", "other_doc_id", "preference", "judge")
        first, second, answer, judge = (int(row[name]) for name in named)
        rows.append(Vote(first, second, answer, judge, swayed))
    return rows


def test_davidson_without_prior_is_the_likeliest():
    """Against scipy, with what was shown first as a covariate."""
    table, *_ = simulated(3, 1, 1, 4, 60, 1, 0.7)
    votes = as_votes(table, ("first",))

    def loss(x):
        return -log_likelihood(votes, [*x[:3], 0.0], x[3:4], x[4])

    best = optimize.minimize(loss, np.zeros(5), method="BFGS", options={"gtol": 1e-7})
    found = pgcjax.judgments.fit(table, "davidson", remove=["first"], prior=np.inf)
    expected = np.append(best.x[:3], 0.0)
    strength = found.table["strength"]
    np.testing.assert_allclose(strength, expected - expected.mean(), atol=2e-6)
    np.testing.assert_allclose(found.effects["log_odds"], best.x[3:], atol=2e-6)
    eye, h = 1e-3 * np.eye(5), 1e-6
    bend = [
        [
            sum(a * b * loss(best.x + a * i + b * j) for a in (1, -1) for b in (1, -1))
            for j in eye
        ]
        for i in eye
    ]
    error = np.sqrt(np.diag(np.linalg.inv(np.array(bend) / 4 / h))[3:])
    np.testing.assert_allclose(found.effects["error"], error, rtol=1e-4)


def test_what_judges_share_is_likeliest_with_strengths_integrated_out():
    """Laplace's integral of the twin has no slope at what is found."""
    table, *_ = simulated(4, 1, 2, 3, 24, 3, 1.0)
    how, prior = {"reliability": True, "remove": ("first", "longer")}, 1.2
    found = pgcjax.judgments.fit(table, "davidson", **how, prior=prior)
    # The order of rows moves nothing.
    mixed = pgcjax.judgments.fit(table[::-1], "davidson", **how, prior=prior)
    for name in ("table", "effects", "judges"):
        one, other = getattr(found, name), getattr(mixed, name)
        pd.testing.assert_frame_equal(one, other, check_exact=True)
    parts = [as_votes(own, ("first", "longer")) for _, own in table.groupby("query_id")]
    chance = found.judges["reliability"].to_numpy()
    start = np.r_[found.effects["log_odds"], np.log(chance / (1 - chance))]

    def integral(x, prior=prior):
        sway, tie, looks = x[:2], x[2], x[3:]
        seen = LOOKS[0] * np.logaddexp(0, -looks) + LOOKS[1] * np.logaddexp(0, looks)
        total = -(x[:3] ** 2).sum() / 2 / prior**2 - seen.sum()
        for votes in parts:

            def loss(s, votes=votes):
                value = log_likelihood(votes, s, sway, tie, looks)
                return (s**2).sum() / 2 / prior**2 - value

            mode = optimize.minimize(loss, np.zeros(3), options={"gtol": 1e-6}).x
            h, eye = 1e-3, np.eye(3)
            bend = [
                [
                    sum(
                        a * b * loss(mode + h * (a * eye[i] + b * eye[j]))
                        for a in (1, -1)
                        for b in (1, -1)
                    )
                    / (4 * h * h)
                    for j in range(3)
                ]
                for i in range(3)
            ]
            total += -loss(mode) - np.linalg.slogdet(np.array(bend))[1] / 2
        return total

    for i in range(len(start)):
        move = 0.05 * np.eye(len(start))[i]
        up, here, down = (integral(start + k * move) for k in (1, 0, -1))
        bend = (2 * here - up - down) / 0.05**2
        assert bend > 0 and abs(up - down) / 0.1 / bend < 2e-3  # of a step to the top
    # Errors are of the curvature of this integral, not of that of strengths at their
    # likeliest, which need not have a peak.
    eye, h = np.eye(len(start)), 0.02
    bend = np.zeros((len(start), len(start)))
    for i in range(len(start)):
        for j in range(i + 1):
            signs = [(a, b) for a in (1, -1) for b in (1, -1)]
            ends = (
                a * b * integral(start + h * (a * eye[i] + b * eye[j]))
                for a, b in signs
            )
            bend[i, j] = bend[j, i] = -sum(ends) / (4 * h * h)
    error = np.sqrt(np.diag(np.linalg.inv(bend)))
    np.testing.assert_allclose(found.effects["error"], error[:3], rtol=0.02)
    slope = chance * (1 - chance)
    np.testing.assert_allclose(found.judges["error"], slope * error[3:], rtol=0.02)
    # The spread of strengths is the likeliest one, too, if it is fitted.
    free = pgcjax.judgments.fit(table, "davidson", remove=how["remove"])
    (told,) = (note for note in free.notes if note.startswith("standard deviation"))
    spread = float(told.split()[-1])
    at = np.r_[free.effects["log_odds"], 30.0, 30.0, 30.0]  # all look

    def of_spread(log):
        value, items = np.exp(log), 3 * len(parts)
        sways = (at[:3] ** 2).sum() / 2
        own = integral(at, value) + sways / value**2 - items * log
        return own + log - value / SPREAD

    up, here, down = (of_spread(np.log(spread) + k * 0.1) for k in (1, 0, -1))
    bend = (2 * here - up - down) / 0.1**2
    assert bend > 0 and abs(up - down) / 0.2 / bend < 0.01


def test_grades_published_of_answers(data):
    """The order of answers of CRAGC-25 is that of a fit to its gold labels.

    Of 6,825 pairs, 6,581 have the order of the grades and 108 are of answers with equal
    strengths, which the grades order all the same; the other 136 are of answers that
    differ by a fraction of an error. Of raw votes, 83 % have it.
    """
    import gzip
    import json

    folder = data / "cragc25"
    grades = pd.read_json(folder / "grades.jsonl.gz", lines=True)
    grades = grades.melt("response", var_name="aspect", value_name="grade")
    aspects, rows, sign = grades["aspect"].unique(), [], {"a": 1.0, "b": -1.0, "n": 0.0}
    votes = {"A": 1.0, "B": -1.0, "N": 0.0}
    raw = []
    for line in gzip.open(folder / "ratings.jsonl.gz", "rt"):
        row = json.loads(line)
        sides = row["query_id"], row["response_a"], row["response_b"]
        for aspect in aspects:
            rows.append((*sides, aspect, sign[row[f"{aspect}_gold"]]))
            raw += [(*sides, aspect, votes[v]) for v in row[f"{aspect}_vote"]]
    names = ["query_id", "doc_id", "other_doc_id", "aspect", "preference"]
    assert len(raw) == 47_320

    def ordered(table):
        table = pd.DataFrame(table, columns=names)
        found = pgcjax.judgments.fit(table, by="aspect", prior=2.5).table
        found = found.merge(
            grades, left_on=["doc_id", "aspect"], right_on=["response", "aspect"]
        )
        both = found.merge(found, on=["query_id", "aspect"], suffixes=("", "_other"))
        both = both[both["doc_id"] < both["doc_id_other"]]
        lead = np.sign(both["strength"] - both["strength_other"])
        truth = np.sign(both["grade"] - both["grade_other"])
        apart = (both["strength"] - both["strength_other"]).abs()[lead * truth < 0]
        return int((lead == truth).sum()), int((lead == 0).sum()), len(both), apart

    agreed, tied, pairs, apart = ordered(rows)
    assert (agreed, tied, pairs, len(apart)) == (6581, 108, 6825, 136)
    assert agreed + tied / 2 >= 6631
    # The others are of answers as good as equal: errors are near 1.
    assert apart.median() < 0.07 and apart.max() < 0.4
    agreed, tied, *_ = ordered(raw)
    assert (agreed + tied / 2) / pairs == pytest.approx(0.83, abs=0.01)


def test_documents_that_wins_link_are_numbered_over_all_queries():
    rows = [(q, "a", "b", 1.0) for q in "uvw"] + [("u", "b", "a", 1.0)]
    rows += [("u", "b", "c", 1.0), ("w", "x", "y", 0.0)]
    columns = ["query_id", "doc_id", "other_doc_id", "preference"]
    one = pgcjax.judgments.fit(pd.DataFrame(rows, columns=columns), by="all").table
    one = one.set_index("doc_id")
    assert one["linked"].to_dict() == {"a": 1, "b": 1, "c": 1, "x": 2, "y": 2}
    assert one["both_ways"].to_dict() == {"a": 1, "b": 1, "c": 2, "x": 3, "y": 3}


def test_systems_that_all_queries_share_are_fitted_over_all():
    rows = [(q, "a", "b", 1.0) for q in "uvw"] + [("u", "b", "a", 1.0)]
    columns = ["query_id", "doc_id", "other_doc_id", "preference"]
    votes = pd.DataFrame(rows, columns=columns)
    says = "most queries have the same 2 documents: --by all"
    assert any(n.startswith(says) for n in pgcjax.judgments.fit(votes, prior=2.5).notes)
    apart = votes.assign(doc_id=votes["query_id"] + votes["doc_id"])
    apart["other_doc_id"] = apart["query_id"] + apart["other_doc_id"]
    notes = pgcjax.judgments.fit(apart, prior=2.5).notes
    assert not any(note.startswith("most queries") for note in notes)


def test_what_cannot_be_compared_is_said():
    names = ["query_id", "doc_id", "other_doc_id", "preference"]
    rows = [("q", "a", "b", 1), ("q", "b", "c", 1), ("q", "c", "b", 1)]
    rows += [("q", "x", "y", 0), ("p", "a", "b", 0)]
    found = pgcjax.judgments.fit(pd.DataFrame(rows, columns=names), prior=2.5)
    assert found.notes[:2] == (
        "in 1 of 2 queries, votes do not link all documents: those of different sets "
        "(linked) are not compared",
        "in 1 of 3 sets of documents, wins do not link all both ways: distances "
        "between different sets (both_ways) come from the prior, whose standard "
        "deviation is 2.5",
    )
    own = found.table[found.table["query_id"] == "q"].set_index("doc_id")
    assert own["linked"].to_dict() == {"a": 1, "b": 1, "c": 1, "x": 2, "y": 2}
    assert own["both_ways"].to_dict() == {"a": 1, "b": 2, "c": 2, "x": 3, "y": 3}
    assert own["votes"].to_dict() == {"a": 1, "b": 3, "c": 2, "x": 1, "y": 1}
    assert own["rank"].to_dict() == {"a": 1, "b": 5, "c": 4, "x": 2, "y": 2}
    fitted = pgcjax.judgments.fit(pd.DataFrame(rows, columns=names)).notes
    assert fitted[1].endswith("come from the prior")
    assert fitted[2].startswith("standard deviation of strengths, fitted to the votes")
    counted = pgcjax.judgments.fit(pd.DataFrame(rows, columns=names), "copeland")
    assert "error" not in counted.table and len(counted.notes) == 1


MISTAKES = {
    "model is one of bt, davidson, copeland, borda, rank-centrality, not 'elo'": (
        {"model": "elo"}
    ),
    "by is one of query, aspect, all, not 'run'": {"by": "run"},
    "remove is one of first, longer, not 'tie'": {"remove": ["tie"]},
    "prior is a standard deviation above 0, not -1": {"prior": -1},
    "reliability and remove work with bt and davidson, not borda": (
        {"model": "borda", "reliability": True}
    ),
    "reliability needs a finite prior, such as 2.5": (
        {"reliability": True, "prior": np.inf}
    ),
    "no aspect is named: preferences have no column aspect": {"by": "aspect"},
    "no judge is named: preferences have no column judge": {"reliability": True},
    "the presentation order is unknown: preferences have no column first": (
        {"remove": ["first"]}
    ),
    "lengths are unknown: give lengths (--lengths FILE), or columns length and "
    "other_length": {"remove": ["longer"]},
}


@pytest.mark.parametrize("message", MISTAKES)
def test_mistakes_are_one_line(message):
    names = ["query_id", "doc_id", "other_doc_id", "preference"]
    table = pd.DataFrame([("q", "a", "b", 1), ("q", "b", "a", 1)], columns=names)
    with pytest.raises(UsageError) as refused:
        pgcjax.judgments.fit(table, **MISTAKES[message])
    assert str(refused.value) == message


def test_judges_may_be_too_many(monkeypatch):
    monkeypatch.setattr(joint, "MOST_SHARED", 2)
    table, *_ = simulated(4, 1, 2, 3, 24, 3, 1.0)
    with pytest.raises(UsageError) as refused:
        pgcjax.judgments.fit(table, reliability=True)
    assert str(refused.value) == (
        "reliability is fitted for 2 judges at most, anew in each aspect, not for 3: "
        "name those that count"
    )


def test_votes_that_place_tells_have_no_model_without_prior():
    names = ["query_id", "doc_id", "other_doc_id", "preference", "first"]
    rows = [("q", "a", "b", 1, "a"), ("q", "a", "b", -1, "b")] * 9
    table = pd.DataFrame(rows, columns=names)
    with pytest.raises(DataError) as refused:
        pgcjax.judgments.fit(table, remove=["first"], prior=np.inf)
    assert str(refused.value) == (
        "preferences: the likelihood of the votes has no maximum. Give a smaller prior."
    )
    assert pgcjax.judgments.fit(table, remove=["first"]).effects["low"][0] > 1


def test_probabilities_count_to_the_last_digit_that_is_printed():
    names = ["query_id", "doc_id", "other_doc_id", "preference", "probability"]
    table = pd.DataFrame([("q", "a", "b", 1, 0.7)], columns=names)
    strength = pgcjax.judgments.fit(table, prior=np.inf).table["strength"]
    assert strength.tolist() == [0.423649, -0.423649]  # ± log(.7 / .3) / 2
