"""Orders that contradict the fewest judgments, and what all of them contradict."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from helpers.strategies import cases
from hypothesis import given, settings
from hypothesis import strategies as st

import pgcjax
from pgcjax.judging.optimal_orders import heaviest_cycles, net_wins, optimal_orders


def brute(counts: np.ndarray) -> tuple[int, list[tuple[int, ...]]]:
    """The fewest judgments that any order contradicts, and the orders that do so."""
    costs = {}
    for order in permutations(range(len(counts))):
        place = np.argsort(order)
        costs[order] = int(counts[place[:, None] > place].sum())
    fewest = min(costs.values())
    return fewest, [order for order, cost in costs.items() if cost == fewest]


@settings(max_examples=60)
@given(cases(max_docs=6, min_docs=1))
def test_all_orders_are_there_and_no_other(case):
    """Repeats, conflicts, documents without an edge; those of a kind as they stand."""
    counts = np.asarray(case.counts)
    fewest, best = brute(counts)
    orders = optimal_orders(counts)
    assert orders is not None and orders.minimum == fewest
    kinds = orders.kinds
    same = [(a, b) for b in range(len(kinds)) for a in range(b) if kinds[a] == kinds[b]]
    plain = [o for o in best if all(o.index(a) < o.index(b) for a, b in same)]
    prefixes = {tuple(sorted(o[:d])) for o in plain for d in range(len(o) + 1)}
    mine = [tuple(np.flatnonzero(chosen).tolist()) for chosen in orders.sets]
    assert len(mine) == len(prefixes) and set(mine) == prefixes
    ways = {
        (tuple(sorted(o[:d])), tuple(sorted(o[: d + 1])))
        for o in plain
        for d in range(len(o))
    }
    steps = [(mine[a], mine[b]) for a, b in orders.steps.tolist()]
    assert len(steps) == len(ways) and set(steps) == ways
    before = np.zeros(counts.shape, bool)
    for order in best:
        for i, first in enumerate(order):
            before[first, list(order[i + 1 :])] = True
    assert (orders.before() == before).all()
    assert heaviest_cycles(net_wins(counts)).least <= fewest


def test_cycles_that_share_edges_are_weighed_by_halves():
    """Every three of five edges of a pentagram: no whole numbers weigh as much."""
    counts = np.zeros((5, 5), int)
    for u in range(5):
        counts[u, [(u + 1) % 5, (u + 2) % 5]] = 1
    cycles = heaviest_cycles(counts)
    assert cycles.least == brute(counts)[0] == 3
    for u, v in np.argwhere(counts):
        on = cycles.members[:, u] & cycles.members[:, v] & (cycles.members.sum(1) == 3)
        # Of a triangle, both vertices of an edge that is there are joined by it.
        assert cycles.weights[on].sum() <= 1 + 1e-9


@pytest.mark.parametrize("states", [1, 20])
def test_too_many_orders_are_told(states):
    """Of 12 documents in 6 pairs, any pairs may come first: 3^6 sets."""
    counts = np.zeros((12, 12), int)
    counts[np.arange(0, 12, 2), np.arange(1, 12, 2)] = np.arange(1, 7)
    assert optimal_orders(counts, states=states) is None
    assert optimal_orders(counts, seconds=1e-9) is None
    orders = optimal_orders(counts)
    assert orders is not None and len(orders.sets) == 3**6


votes = st.lists(
    st.tuples(st.sampled_from("xy"), st.sampled_from("abcd"), st.sampled_from("efab")),
    min_size=1,
    max_size=14,
).map(lambda rows: [row for row in rows if row[1] != row[2]])


@settings(max_examples=25)
@given(votes.filter(bool), st.integers(0, 9))
def test_contradictions_are_those_of_all_orders(rows, seed):
    """Of each query: rows turned around, weights in place of repeats, and ties."""
    drawn = np.random.default_rng(seed)
    columns = ["query_id", "doc_id", "other_doc_id"]
    table = pd.DataFrame(rows, columns=columns).assign(preference=2.0, weight=1.0)
    table["weight"] = drawn.integers(1, 4, len(table)).astype(float)
    turned = drawn.random(len(table)) < 0.5
    table.loc[turned, columns[1:]] = table.loc[turned, columns[:0:-1]].to_numpy()
    table.loc[turned, "preference"] = -1.0
    ties = table.assign(preference=0.0)
    found = pgcjax.judgments.contradictions(pd.concat([table, ties]))
    assert found.notes == ()
    expected, wrong = [], []
    for query in sorted({row[0] for row in rows}):
        own = [
            (*row[1:], w)
            for row, w in zip(rows, table["weight"], strict=True)
            if row[0] == query
        ]
        docs = sorted({doc for a, b, _ in own for doc in (a, b)})
        counts = np.zeros((len(docs), len(docs)), int)
        for a, b, weight in own:
            counts[docs.index(a), docs.index(b)] += int(weight)
        fewest, best = brute(counts)
        expected.append((query, len(docs), counts.sum(), fewest, True))
        for u, v in np.argwhere(counts):
            if all(order.index(v) < order.index(u) for order in best):
                wrong.append((query, docs[u], docs[v], counts[u, v]))
    names = ["query_id", "documents", "judgments", "minimum", "proven"]
    assert [*found.table[names].itertuples(index=False, name=None)] == expected
    assert [*found.contradicted.itertuples(index=False, name=None)] == wrong
    excess = found.table["excess"]
    assert (excess >= 0).all()
    assert (excess == found.table["greedy"] - found.table["minimum"]).all()


def test_what_is_not_known_is_said():
    pairs = [("q", f"a{i}", f"b{i}", 1) for i in range(6)]
    cycle = [("q", "x", "y", 1), ("q", "y", "z", 1), ("q", "z", "x", 1)]
    columns = ["query_id", "doc_id", "other_doc_id", "preference"]
    table = pd.DataFrame([*pairs, *cycle], columns=columns)
    found = pgcjax.judgments.contradictions(table, states=10)
    # The peel reaches the lower bound that cycles give, which so is the minimum.
    assert found.table.iloc[0].tolist() == ["q", 15, 9, 1, 1, 0, True]
    assert found.contradicted.empty
    assert found.notes == (
        "1 query (q) with too many orders that contradict the fewest judgments: the "
        "judgments that all of them contradict are unknown. More states may suffice",
    )
