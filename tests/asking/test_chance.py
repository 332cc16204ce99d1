"""Requests that are drawn by chance, and the answers that belong to them."""

import numpy as np
import pandas as pd
import pytest

import pgcjax
from pgcjax.asking.bounds import ComparedRuns, asked_measure
from pgcjax.asking.chance import stakes_of
from pgcjax.asking.pools import read_pools
from pgcjax.errors import UsageError


def two_runs() -> pd.DataFrame:
    random, rows = np.random.default_rng(4), []
    for query in ("p", "q"):
        for run in "xy":
            docs = random.permutation(list("abcde"))[:4]
            rows += [(run, query, doc, 9.0 - i) for i, doc in enumerate(docs)]
    return pd.DataFrame(rows, columns=["run_id", "query_id", "doc_id", "score"])


@pytest.mark.parametrize("measure", ["ppref@3", "wpref", "fpref"])
def test_the_mean_of_answers_gives_the_difference(measure):
    """Of all ways to answer at random: the sum over pairs is that of the measure."""
    random, asked = np.random.default_rng(5), asked_measure(measure)
    _, found = read_pools(two_runs(), None, "trec", None, 5)
    stakes = stakes_of(asked, found)
    for _ in range(20):
        signs = random.choice([1, -1], len(stakes.gain))
        truth, mean = 0.0, 0.5
        place = dict(zip(stakes.pairs, signs.tolist(), strict=True))
        for pool in found:
            counts = np.zeros_like(pool.counts)
            for i, j in np.argwhere(np.triu(pool.unsettled)).tolist():
                sign = place.get((pool.query_id, pool.docs[i], pool.docs[j]), 1)
                counts[(i, j) if sign > 0 else (j, i)] = 1
            compared = ComparedRuns.of(asked, pool, np.array([[0, 1]]))
            truth += compared.leads(compared.scores(counts)[0])[0] / len(found)
        chance = np.abs(stakes.gain) / np.abs(stakes.gain).sum()
        mean = (1 + (chance * signs * np.sign(stakes.gain)).sum()) / 2
        assert stakes.difference(float(mean)) == pytest.approx(truth, abs=1e-12)


def test_requests_are_drawn_and_answers_belong_to_them():
    """In any order of the file, in parts; the k-th answer is that of the k-th draw."""
    runs, how = two_runs(), {"documents": 5, "seed": 3}
    first = pgcjax.judgments.next_by_chance(runs, **how, requests=60)
    assert first.table["request_number"].tolist() == [*range(1, 61)]
    assert first.table.duplicated(["query_id", "doc_a", "doc_b"]).any()
    votes = first.table.rename(columns={"doc_a": "doc_id", "doc_b": "other_doc_id"})
    votes["preference"] = np.where(votes.doc_id < votes.other_doc_id, 1.0, -1.0)
    votes.loc[votes.index % 9 == 4, "preference"] = 0.0
    pairs = votes[["query_id", "doc_id", "other_doc_id"]].apply(frozenset, axis=1)
    (last,) = pairs.index[pairs == pairs.iloc[25]][-1:]  # has no answer then
    some = votes.drop(index=25).sample(frac=1, random_state=1)
    part = pgcjax.judgments.next_by_chance(runs, preferences=some, **how, requests=2)
    assert part.table["request_number"].tolist() == [last + 1, 61]
    assert part.comparisons["answers"].tolist() == [last]
    whole = pgcjax.judgments.next_by_chance(runs, preferences=votes, **how, requests=1)
    row = whole.comparisons.iloc[0]
    assert row.answers == 60 and whole.table["request_number"].tolist() == [61]
    assert (row.low, row.high) != (part.comparisons.low[0], part.comparisons.high[0])
    assert (row.low, row.better, row.high) == (min(row.low, 0), "", max(row.high, 0))
    assert whole.notes == (
        f"ppref of x - y is from {row.low:.4f} to {row.high:.4f} by 60 answers: open",
    )
    strange = pd.concat([votes, votes.head(1).assign(query_id="elsewhere")])
    told = pgcjax.judgments.next_by_chance(
        runs, preferences=strange, **how, requests=1
    ).notes
    assert told[1] == (
        "1 answer not used: the pair was not drawn, or an earlier draw has no answer "
        "yet"
    )
    alike = pd.concat([runs[runs.run_id == "x"].assign(run_id=r) for r in "xy"])
    none = pgcjax.judgments.next_by_chance(alike, **how)
    assert not len(none.table) and none.notes[1] == (
        "no pair can change the result: the runs rank these documents alike"
    )


@pytest.mark.parametrize(
    "changes, said",
    [
        ({"measure": "PGC"}, "PGC: expected ppref, rpref, fpref or wpref"),
        ({"alpha": 0.0}, "alpha=0.0: expected a number above 0 and below 1"),
        ({"requests": 0}, "requests=0: expected a whole number, 1 or more"),
        ({"seed": -1}, "seed=-1: expected a whole number, 0 or more"),
        ({"documents": 1}, "documents=1: expected a whole number, 2 or more"),
    ],
)
def test_what_is_refused(changes, said):
    with pytest.raises(UsageError) as error:
        pgcjax.judgments.next_by_chance(two_runs(), **changes)
    assert str(error.value) == said
    third = two_runs().query("run_id == 'x'").assign(run_id="z")
    three = pd.concat([two_runs(), third])
    with pytest.raises(UsageError, match="^expected two runs to compare, found 3$"):
        pgcjax.judgments.next_by_chance(three)
