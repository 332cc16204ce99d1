"""Strengths of documents: against plain twins, scipy, and published orders."""

import numpy as np
import pandas as pd
import pytest
from helpers.twins import strengths as twins
from scipy import optimize

from pgcjax.errors import DataError, UsageError
from pgcjax.judging.choices import STRENGTHS
from pgcjax.judging.models import ADDED, PRIOR, strengths

NAMES = ["query_id", "doc_id", "other_doc_id", "preference"]


def votes(rows) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=NAMES)


def drawn(seed: int, queries: int = 6, ties: float = 0.2) -> pd.DataFrame:
    """Votes on few documents, of which sets fall apart, lose all or are all tied."""
    made, rows = np.random.default_rng(seed), []
    for q in range(queries):
        n = int(made.integers(2, 8))
        for _ in range(int(made.integers(1, 5 * n))):
            a, b = made.permutation(n)[:2]
            sign = 0.0 if made.random() < ties else made.choice([-1.0, 1.0, 1.0])
            rows.append((f"q{q}", f"d{a}", f"d{b}", sign))
    return votes(rows)


def wins(own: pd.DataFrame, docs: list[str]) -> np.ndarray:
    won = np.zeros((len(docs), len(docs)))
    for _, doc, other, preference in own.itertuples(index=False):
        a, b = docs.index(doc), docs.index(other)
        won[a, b] += (1 + np.sign(preference)) / 2
        won[b, a] += (1 - np.sign(preference)) / 2
    return won


def sets(table: pd.DataFrame):
    """Documents that comparisons link, set by set."""
    for query, own in table.groupby("query_id"):
        left = sorted({*own["doc_id"], *own["other_doc_id"]})
        while left:
            docs, before = {left[0]}, 0
            while len(docs) > before:
                before = len(docs)
                inside = own[own["doc_id"].isin(docs) | own["other_doc_id"].isin(docs)]
                docs |= {*inside["doc_id"], *inside["other_doc_id"]}
            left = [doc for doc in left if doc not in docs]
            yield query, sorted(docs), own[own["doc_id"].isin(docs)]


TWINS = {
    "bt": lambda won: twins.bradley_terry(won, 1 / PRIOR**2),
    "rank-centrality": lambda won: twins.rank_centrality(won, ADDED),
    "copeland": twins.copeland,
    "borda": twins.borda,
}


@pytest.mark.parametrize("method", STRENGTHS)
def test_methods_are_their_twins(method):
    table = drawn(1, queries=12)
    found = strengths(table, method).set_index(["query_id", "doc_id"])["strength"]
    count = 0
    for query, docs, own in sets(table):
        expected = TWINS[method](wins(own, docs).tolist())
        got = [found[query, doc] for doc in docs]
        np.testing.assert_allclose(got, expected, rtol=0, atol=2e-9)
        count += len(docs)
    assert count == len(found)


@pytest.mark.parametrize("method", STRENGTHS)
def test_bits_are_of_the_data_alone(method):
    """Not of the order of rows and sides, nor of what else is fitted."""
    table, made = drawn(2), np.random.default_rng(0)
    one = strengths(table, method)
    mixed = table.iloc[made.permutation(len(table))]
    turned = made.random(len(mixed)) < 0.5
    doc, other = mixed["doc_id"], mixed["other_doc_id"]
    mixed = mixed.assign(
        doc_id=doc.where(~turned, other),
        other_doc_id=other.where(~turned, doc),
        preference=mixed["preference"].where(~turned, -mixed["preference"]),
    )
    pd.testing.assert_frame_equal(strengths(mixed, method), one, check_exact=True)
    large = drawn(3, queries=40).assign(query_id=lambda t: "x" + t["query_id"])
    every = votes(
        [(f"x{a}", f"d{a}", f"d{b}", 1.0) for a in "12" for b in range(90, 99)]
    )
    more = strengths(pd.concat([large, mixed, every]), method)
    again = more[~more["query_id"].str.startswith("x")].reset_index(drop=True)
    pd.testing.assert_frame_equal(again, one, check_exact=True)


def test_documents_of_equal_records_are_equal():
    """Rounding alone parts no two documents: a weak order for an ideal."""
    table = votes([("q", a, b, 1) for a, b in ("ab", "bc", "ca", "ad", "bd", "cd")])
    for method in STRENGTHS:
        of = strengths(table, method).set_index("doc_id")["strength"]
        assert of["a"] == of["b"] == of["c"] > of["d"]


def test_a_fit_without_prior_is_the_likeliest():
    table = drawn(5, queries=1)
    table = pd.concat([table, table.assign(preference=-table["preference"])])
    table = pd.concat([table, table.iloc[:7]])
    found = strengths(table, "bt", prior=np.inf)["strength"].to_numpy()
    docs = sorted({*table["doc_id"], *table["other_doc_id"]})
    won = wins(table, docs)

    def loss(s):
        return (won * np.logaddexp(0, s[None, :] - s[:, None])).sum() + s.sum() ** 2

    best = optimize.minimize(loss, 0 * found, method="BFGS", options={"gtol": 1e-9})
    np.testing.assert_allclose(found, best.x, atol=1e-6)


def test_probabilities_and_weights():
    """A probability of 0, 1/2 and 1 is a hard vote or a tie; a weight is many votes."""
    hard, made = drawn(6), np.random.default_rng(1)
    soft = hard.assign(probability=0.5 + np.sign(hard["preference"]) / 2)
    weight = made.integers(1, 4, len(hard))
    heavy = hard.assign(weight=weight)
    often = hard.loc[hard.index.repeat(weight)]
    for method in STRENGTHS:
        for one, other in ((hard, soft), (heavy, often)):
            pd.testing.assert_frame_equal(
                strengths(one, method), strengths(other, method), check_exact=True
            )
    part = votes([("q", "a", "b", 1)]).assign(probability=0.75)
    whole = votes([("q", "a", "b", 1)] * 3 + [("q", "b", "a", 1)])
    whole = whole.assign(weight=0.25)
    assert strengths(part).equals(strengths(whole))
    assert strengths(part, "borda")["strength"].tolist() == [0.75, 0.25]


def test_mistakes_are_one_line():
    table = votes([("q", "a", "b", 1), ("q", "c", "b", 1), ("q", "b", "c", 1)])
    with pytest.raises(UsageError) as wrong:
        strengths(table, "elo")
    assert str(wrong.value) == (
        "method is one of bt, copeland, borda, rank-centrality, not 'elo'"
    )
    with pytest.raises(UsageError) as wrong:
        strengths(table, prior=0)
    assert str(wrong.value) == "prior is a standard deviation above 0, not 0"
    with pytest.raises(DataError) as refused:
        strengths(table, prior=np.inf)
    assert str(refused.value) == (
        "preferences: query q: wins do not lead both ways between documents a and "
        "b: only a prior compares them. Give a finite prior, such as 2.5."
    )
    with pytest.raises(DataError) as refused:
        strengths(votes([("q", "a", None, -1)]))
    assert str(refused.value) == "preferences: compare no two documents"
