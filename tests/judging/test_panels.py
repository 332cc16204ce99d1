"""Panels: reliabilities without labels, and what judges say together."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, stats
from scipy.special import expit

import pgcjax
from pgcjax.errors import UsageError

RIGHT = {"a": 0.95, "b": 0.8, "c": 0.65, "d": 0.5}


def votes_of(seed: int = 0, queries: int = 20, documents: int = 6) -> pd.DataFrame:
    """Votes on all pairs of queries, in any order of sides; lower ids are better."""
    random, rows = np.random.default_rng(seed), []
    for query in range(queries):
        for low in range(documents):
            for high in range(low + 1, documents):
                for judge, right in RIGHT.items():
                    sign = 1 if random.random() < right else -1
                    sides = (f"d{low}", f"d{high}", sign)
                    if random.random() < 0.5:
                        sides = (f"d{high}", f"d{low}", -sign)
                    rows.append((f"q{query}", *sides, judge))
    names = ["query_id", "doc_id", "other_doc_id", "preference", "judge"]
    return pd.DataFrame(rows, columns=names)


@pytest.mark.parametrize(("method", "near"), [("dawid-skene", 0.1), ("bt-sigma", 0.12)])
def test_reliabilities_are_found_without_labels(method, near):
    votes = votes_of()
    panel = pgcjax.judgments.panel(votes, method)
    table = panel.table.set_index("judge")
    assert [*table.index] == [*RIGHT]  # the most reliable first
    truth = pd.Series(RIGHT)
    assert (table["reliability"] - truth).abs().max() < near
    assert np.isclose((table["weight"] * table["votes"]).sum(), len(votes))
    said = panel.judgments
    assert (said["doc_id"] < said["other_doc_id"]).all() and len(said) == 300
    share = (said["preference"] > 0).mean()
    majority = pgcjax.judgments.majority(votes)
    turned = np.where(majority["doc_id"] < majority["other_doc_id"], 1, -1)
    assert share > ((1 + majority["preference"] * turned) / 2).mean() + 0.03
    read = pgcjax.files.read_preferences(panel.weighted)
    assert np.isclose(read["weight"].mean(), 1, atol=0.05)


def test_chances_of_a_panel_are_those_of_a_plain_twin():
    """Dawid and Skene's steps, in loops, from the same start."""
    random = np.random.default_rng(3)
    votes = votes_of(1, 3, 4)
    votes["preference"] = random.choice([-1, 0, 1], len(votes), p=[0.3, 0.2, 0.5])
    found = pgcjax.judgments.panel(votes)
    pairs: dict[tuple, list[tuple[str, int]]] = {}
    for q, a, b, sign, judge in votes.itertuples(index=False):
        key, option = (q, *sorted((a, b))), 1 - sign if a < b else 1 + sign
        pairs.setdefault(key, []).append((judge, option))
    truth = {
        k: [(sum(o == t for _, o in v) + 1) / (len(v) + 3) for t in range(3)]
        for k, v in pairs.items()
    }
    for _ in range(1000):
        count = {j: np.zeros((3, 3)) for j in RIGHT}
        for key, given in pairs.items():
            for judge, option in given:
                for t in range(3):
                    count[judge][t, option] += truth[key][t] / 2
                    count[judge][2 - t, 2 - option] += truth[key][t] / 2
        pooled = np.sum([*count.values()], axis=0) + 0.01
        chance = {}
        for judge, of in count.items():
            of = of + 10 * pooled / pooled.sum(axis=1, keepdims=True)
            chance[judge] = of / of.sum(axis=1, keepdims=True)
        mean = np.mean([*truth.values()], axis=0)
        for key, given in pairs.items():
            likely = mean + mean[::-1] + 0.01
            for judge, option in given:
                likely = likely * chance[judge][:, option]
            truth[key] = (likely / likely.sum()).tolist()
    keys = found.judgments[["query_id", "doc_id", "other_doc_id"]]
    expected = [truth[k][0] + truth[k][1] / 2 for k in keys.itertuples(index=False)]
    assert np.allclose(found.judgments["probability"], expected, rtol=0, atol=1e-4)


def test_discriminations_and_strengths_are_where_nothing_moves():
    """Each judge's is most likely by the normal posterior, by quadrature of scipy."""
    votes, names = votes_of(2, 4, 4), [*RIGHT]
    votes.loc[::7, "preference"] = 0
    votes = votes[votes.index % 5 != 0].reset_index(drop=True)
    found = pgcjax.judgments.panel(votes, "bt-sigma")
    d = found.table.set_index("judge")["discrimination"]
    slope, probability = dict.fromkeys(RIGHT, 0.0), {}
    for query, of in votes.groupby("query_id"):
        first, second = (
            of[c].str[1:].to_numpy(int) for c in ("doc_id", "other_doc_id")
        )
        x, won = np.eye(4)[first] - np.eye(4)[second], (1 + of["preference"]) / 2
        scaled, won = d[of["judge"]].to_numpy()[:, None] * x, won.to_numpy()

        def loss(s, scaled=scaled, won=won):
            return s @ s / 2 - (won @ (scaled @ s) - np.logaddexp(0, scaled @ s).sum())

        s = optimize.minimize(loss, np.zeros(4), tol=1e-9).x
        p = expit(scaled @ s)
        covariance = np.linalg.inv(np.eye(4) + scaled.T * p * (1 - p) @ scaled)
        for judge, row, answer in zip(of["judge"], x, won, strict=True):
            normal = stats.norm(row @ s, np.sqrt(row @ covariance @ row))
            z = d[judge] * normal.ppf((np.arange(2000) + 0.5) / 2000)
            slope[judge] += np.mean((answer - expit(z)) * z)
        for a, b in combinations(range(4), 2):
            row = np.eye(4)[a] - np.eye(4)[b]
            gap = row @ s / np.sqrt(row @ covariance @ row)
            probability[query, f"d{a}", f"d{b}"] = stats.norm.cdf(gap)
    prior = np.log(d[names]) - np.log(d).mean()
    assert np.allclose(prior, [slope[judge] for judge in names], rtol=0, atol=5e-3)
    rows = found.judgments.drop(columns="preference").itertuples(index=False)
    assert all(abs(probability[tuple(r[:3])] - r[3]) < 1e-4 for r in rows)
    renamed = votes.replace({"judge": {"a": "d", "b": "c", "c": "b", "d": "a"}})
    again = pgcjax.judgments.panel(renamed[::-1], "bt-sigma").table["discrimination"]
    assert np.allclose(again, found.table["discrimination"], rtol=1e-4)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            {"method": "mace"},
            "method is one of dawid-skene, bt-sigma, not 'mace'",
        ),
        (
            {"judges": ["a"]},
            "a panel needs two judges, and each vote the name of one",
        ),
    ],
)
def test_what_is_no_panel_is_refused_in_one_line(more, message):
    with pytest.raises(UsageError) as refused:
        pgcjax.judgments.panel(votes_of(0, 1, 3), **more)
    assert str(refused.value) == message
