"""How often judgments count where those of one owner are left out."""

import numpy as np
import pandas as pd

from pgcjax.judging.variants import (
    BLOCK,
    Owners,
    QueryVotes,
    judges_as_owners,
    left_out,
)


def judgments(judges: int) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows = [
        (f"q{rng.integers(3)}", *(f"d{d}" for d in rng.permutation(9)[:2]), f"j{j:03}")
        for j in [*range(judges), *rng.integers(judges, size=99)]
    ]
    columns = ["query_id", "doc_id", "other_doc_id", "judge"]
    table = pd.DataFrame(rows, columns=columns).assign(preference=1.0)
    return table.assign(weight=rng.integers(1, 4, len(table)).astype(float))


def test_each_judge_of_more_than_a_block_is_left_out_once():
    prefs = judgments(BLOCK + 5)
    votes = QueryVotes(prefs)
    found = judges_as_owners(votes)
    variants = left_out(votes, found)
    assert variants.names == found.names
    assert found.names == sorted(prefs.judge.unique()) and found.documents is None
    by_judge = prefs.groupby("judge").weight.sum()
    assert found.judgments(votes).tolist() == by_judge.tolist()
    for query, rows in votes.rows.items():
        own = prefs.iloc[rows]
        assert (own.query_id == query).all()
        counts = np.concatenate(
            [
                variants.counts(query, slice(0, BLOCK)),
                variants.counts(query, slice(BLOCK, BLOCK + 5)),
            ]
        )
        assert counts.shape == (BLOCK + 5, len(rows))
        for name, count in zip(found.names, counts, strict=True):
            assert (count == own.weight * (own.judge != name)).all()
        assert votes.total(query) == own.weight.sum()


def test_a_judgment_of_two_runs_goes_with_either_and_counts_once():
    prefs = judgments(2).head(5).assign(query_id="q", weight=[1.0, 2, 3, 4, 5])
    owners = np.array([[0, 0, 1, -1, -1], [1, 0, -1, 2, -1]])
    votes, found = QueryVotes(prefs), Owners(["a", "b", "c"], owners)
    assert found.judgments(votes).tolist() == [3, 4, 4]
    counts = left_out(votes, found).counts("q", slice(0, 3))
    kept = counts[:, np.argsort(votes.rows["q"])]
    assert kept.tolist() == [[0, 0, 3, 4, 5], [0, 2, 0, 4, 5], [1, 2, 3, 0, 5]]
    again = Owners(["a", "b", "c"], owners[::-1])
    assert found.fingerprint != again.fingerprint and len(found.fingerprint) == 16
