"""Tables of judgments as pairs: who prefers what, said and implied, and how often."""

from collections import Counter

import numpy as np
import pandas as pd
from helpers.preference_cases import COLUMNS, judged_collection, judgments
from hypothesis import given, settings
from hypothesis import strategies as st

from pgcjax.files import read_preferences
from pgcjax.reference.pgc import derived_edges
from pgcjax.reference.preference import counted, delta_gains
from pgcjax.tensors.pairs import JudgedPairs, combined_pairs, graded_pairs, judged_pairs

some = settings(max_examples=60)


def listed(pairs: JudgedPairs, query: str, judge: int | None = None) -> Counter:
    """Count who is preferred to whom, by all judges or by one."""
    arrays, docs = pairs.pooled[query], pairs.docs[query]
    rows = slice(None)
    if judge is not None:
        counts = pairs.by_judge[query]
        arrays = counts.pairs
        rows = slice(counts.start[judge], counts.end[judge])
    found = Counter()
    columns = (column[rows] for column in arrays[:4])
    for a, b, wins, losses in zip(*columns, strict=True):
        assert a < b and wins + losses > 0
        found[docs[a], docs[b]] += int(wins)
        found[docs[b], docs[a]] += int(losses)
    return +found


def rows_of(table: pd.DataFrame) -> dict[str, list]:
    """Rows as the twin takes them, by judge."""
    out: dict[str, list] = {}
    for row in table.to_dict("records"):
        judge = row.get("judge")
        other = row["other_doc_id"]
        out.setdefault("" if pd.isna(judge) else judge, []).append(
            (
                row["doc_id"],
                None if pd.isna(other) else other,
                row["preference"],
                int(row.get("weight", 1)),
            )
        )
    return out


def assert_as_twins(pairs: JudgedPairs, table: pd.DataFrame, bad: bool, closure: bool):
    assert list(pairs.docs) == sorted(set(table["query_id"]))
    for query in pairs.docs:
        some_rows = table[table["query_id"] == query]
        judges = [counted(rows, bad, closure) for rows in rows_of(some_rows).values()]
        total = sum(judges, Counter())
        assert listed(pairs, query) == total
        counts = pairs.by_judge[query]
        assert counts.judges == len(judges) == len(counts.start)
        found = [listed(pairs, query, i) for i in range(len(judges))]
        key = lambda prefs: sorted(prefs.items())  # noqa: E731
        assert sorted(map(key, found)) == sorted(map(key, judges))
        docs = sorted({doc for pair in total for doc in pair})
        assert pairs.docs[query].tolist() == docs
        gains, preferred = delta_gains(total), {f for f, _ in total}
        assert pairs.gain[query].tolist() == [gains[doc] for doc in docs]
        for each in (pairs.pooled[query], counts.pairs):
            assert each.preferred.tolist() == [doc in preferred for doc in docs]


@some
@given(judgments(), st.booleans(), st.booleans())
def test_as_the_twin_of_one_query(table, bad, closure):
    table = read_preferences(table)
    assert_as_twins(judged_pairs(table, bad=bad, closure=closure), table, bad, closure)


@settings(max_examples=8)
@given(st.integers(0, 10**6), st.booleans(), st.booleans())
def test_as_the_twin_of_many_queries(seed, bad, closure):
    table = read_preferences(judged_collection(seed, most_docs=20)[0])
    pairs = judged_pairs(table, bad=bad, closure=closure)
    assert_as_twins(pairs, table, bad, closure)
    lines = table.sample(frac=1, random_state=seed)
    again = judged_pairs(lines, bad=bad, closure=closure)
    for query, arrays in pairs.pooled.items():
        for array, same in zip(arrays, again.pooled[query], strict=True):
            assert (array == same).all()
        assert (again.gain[query] == pairs.gain[query]).all()


def test_grades():
    _, qrels, _ = judged_collection(2)
    pairs = graded_pairs(qrels)
    for query in pairs.docs:
        rows = qrels[qrels["query_id"] == query]
        grades = dict(zip(rows["doc_id"], rows["relevance"], strict=True))
        assert listed(pairs, query) == Counter(derived_edges(grades))


def test_both():
    """Queries may have one without the other; grades are of a judge of their own."""
    prefs, qrels, _ = judged_collection(3)
    prefs, qrels = prefs[prefs["query_id"] > "q0"], qrels[qrels["query_id"] < "q4"]
    prefs = read_preferences(prefs)
    both = combined_pairs(prefs, qrels)
    assert list(both.docs) == ["q0", "q1", "q2", "q3", "q4"]
    judged, graded = judged_pairs(prefs), graded_pairs(qrels)
    for query in both.docs:
        parts = [p for p in (judged, graded) if query in p.docs]
        assert listed(both, query) == sum((listed(p, query) for p in parts), Counter())
        judges = sum(p.by_judge[query].judges for p in parts)
        assert both.by_judge[query].judges == judges


def test_queries_without_a_preference():
    table = pd.DataFrame(
        [("q", "a", "b", 0.0), ("s", "a", None, -1.0)], columns=COLUMNS
    )
    pairs = judged_pairs(read_preferences(table), closure=True)
    for query in "qs":
        assert len(pairs.docs[query]) == len(pairs.pooled[query].first) == 0
        assert pairs.by_judge[query].judges == 1
        assert pairs.by_judge[query].end.tolist() == [0]
    equal = graded_pairs(
        pd.DataFrame({"query_id": "q", "doc_id": ["a", "b"], "relevance": 1.0})
    )
    assert len(equal.docs["q"]) == 0


def test_arrays_are_small_integers_and_whole_counts():
    pairs = judged_pairs(read_preferences(judged_collection(1)[0]))
    arrays = pairs.pooled["q1"]
    assert arrays.first.dtype == arrays.second.dtype == np.int32
    assert arrays.wins.dtype == arrays.losses.dtype == np.int64
    order = arrays.first.astype(np.int64) * 10**6 + arrays.second
    assert (np.diff(order) > 0).all()
