"""One leaderboard of comparisons: strengths of the twin, and ranks that hold."""

import numpy as np
import pandas as pd
import pytest

import pgcjax
from benchmarks.studies.standings import arena
from pgcjax.errors import DataError, UsageError
from pgcjax.reference.ideals import bradley_terry


def made_up(n=6, queries=80, votes=10, spread=1.0, sway=0.5, seed=0):
    """Votes on systems whose strengths differ a bit from query to query."""
    of = n, queries, votes, spread, sway
    table, true = arena(np.random.default_rng(seed), *of)
    return table, {f"s{i:03}": strength for i, strength in enumerate(true)}


def test_strengths_are_those_of_the_twin_and_of_fit():
    table, _ = made_up()
    board = pgcjax.judgments.standings(table).table.set_index("doc_id")
    votes = {}
    for row in table.itertuples():
        won = (1 + row.preference) / 2
        for pair, share in (
            ((row.doc_id, row.other_doc_id), won),
            ((row.other_doc_id, row.doc_id), 1 - won),
        ):
            votes[pair] = votes.get(pair, 0) + share
    twin = bradley_terry(votes)
    assert board["strength"].to_dict() == pytest.approx(twin, abs=1e-8)
    fit = pgcjax.judgments.fit(table.assign(query_id="all"), prior=2.5).table
    fitted = fit.set_index("doc_id")["strength"]
    assert board["strength"].to_dict() == pytest.approx(fitted.to_dict(), abs=1e-5)


def test_a_fit_has_the_ranks_of_standings():
    """Over all queries, and of one query: ranges, tiers and what they need."""
    table, _ = made_up(spread=2.0)
    ranks = ["rank_low", "rank_high", "tier"]
    one = table.assign(query_id="q")
    cases = [(table, {"by": "all"}), (one, {"prior": 2.5}), (one, {"by": "all"})]
    for votes, options in cases:
        board = pgcjax.judgments.standings(votes).table.set_index("doc_id")
        fit = pgcjax.judgments.fit(votes, **options).table.set_index("doc_id")
        assert board["tier"].max() > 1
        pd.testing.assert_frame_equal(board[ranks], fit.loc[board.index, ranks])
    apart = pd.concat([one, one.assign(query_id="p", preference=-one["preference"])])
    tiers = pgcjax.judgments.fit(apart).table.groupby("query_id")["tier"].max()
    assert (tiers > 1).all()
    lack = [(one[:19], {}, "errors need 20 votes on a query")]
    lack += [(pd.concat([one[:9], apart[-800:]]), {}, "for 1 of 2 queries, ranges")]
    lack += [(table, {}, "for 50 queries at most, or by all")]
    swayed = one.assign(first=one["doc_id"])
    lack += [
        (
            swayed,
            {"remove": ["first"]},
            "strengths depend on effects that queries share",
        )
    ]
    lack += [(table[:100], {"by": "all"}, "need 20 queries, or as many votes on a")]
    for votes, options, note in lack:
        fit = pgcjax.judgments.fit(votes, **options)
        assert note in fit.notes[-1] and fit.table["tier"].isna().any()


def test_errors_are_of_queries_whose_votes_hang_together():
    """Three equal votes on each of 60 queries, 40 of them for a: p is 2/3."""
    table = pd.DataFrame({"query_id": [f"q{i}" for i in range(60)] * 3})
    table = table.assign(doc_id="a", other_doc_id="b")
    table["preference"] = [1 if i < 40 else -1 for i in range(60)] * 3
    found = pgcjax.judgments.standings(table, prior=np.inf).table.set_index("doc_id")
    curvature = 180 * 2 / 3 * 1 / 3
    spread = (40 * (3 * 1 / 3) ** 2 + 20 * (3 * 2 / 3) ** 2) * 60 / 59
    assert found["strength"]["a"] == pytest.approx(np.log(2) / 2)
    assert found["error"]["a"] == pytest.approx(np.sqrt(spread) / (2 * curvature))


def test_errors_of_few_queries_are_of_the_jackknife():
    """One step without each query, of two documents and no prior."""
    table, _ = made_up(2, queries=20, votes=5)
    found = pgcjax.judgments.standings(table, prior=np.inf).table.set_index("doc_id")
    won = np.where(table["doc_id"] == "s000", 1, -1) * table["preference"]
    gap = found["strength"]["s000"] - found["strength"]["s001"]
    p = 1 / (1 + np.exp(-gap))
    left = ((1 + won) / 2 - p).groupby(table["query_id"]).sum()
    moves = left / (95 * p * (1 - p))  # 100 votes, 5 of which are on each query
    error = np.sqrt(19 / 20 * ((moves - moves.mean()) ** 2).sum()) / 2
    assert found["error"]["s000"] == pytest.approx(error)


def test_wins_and_votes_are_counted():
    rows = [("q1", "a", "b", 1), ("q1", "b", "a", 1), ("q2", "a", "b", 1)]
    rows += [("q2", "b", "c", 0), ("q2", "a", None, -1)]
    names = ["query_id", "doc_id", "other_doc_id", "preference"]
    board = pgcjax.judgments.standings(pd.DataFrame(rows, columns=names))
    assert board.wins.loc["a", "b"] == 2 / 3 and board.met.loc["b", "a"] == 3
    assert board.wins.loc["c", "b"] == 0.5 and np.isnan(board.wins.loc["a", "c"])
    table = board.table.set_index("doc_id")
    assert table["votes"].to_dict() == {"a": 3, "b": 4, "c": 1}
    assert table["won"].to_dict() == {"a": 2, "b": 1.5, "c": 0.5}
    assert table["rank"].to_dict()["a"] == 1
    assert table[["low", "high", "rank_low", "rank_high"]].isna().all(axis=None)
    assert board.notes == (
        "3 documents, 4 votes on 2 queries; errors and ranks need 20 queries, or a "
        "single one",
    )
    assert table["votes"].dtype == table["rank"].dtype == np.int64


def test_documents_that_no_votes_link_do_not_differ():
    one, _ = made_up(4, queries=60, spread=2.0)
    other = one.replace({f"s00{i}": f"t00{i}" for i in range(4)})
    board = pgcjax.judgments.standings(pd.concat([one, other])).table
    alone = pgcjax.judgments.standings(one).table.set_index("doc_id")
    both = board.set_index("doc_id").loc[alone.index]
    assert (alone["rank_low"] > 1).any()
    assert (
        both["rank_low"] == alone["rank_low"]
    ).all()  # any of the others may be below
    assert (both["rank_high"] == alone["rank_high"] + 4).all()  # ... or above


def test_probabilities_and_weights_are_parts_of_votes():
    table = pd.DataFrame(
        {
            "query_id": "q",
            "doc_id": ["a", "b"],
            "other_doc_id": ["b", "c"],
            "preference": [1.0, 1.0],
            "probability": [0.75, np.nan],
            "weight": [4.0, 1.0],
        }
    )
    board = pgcjax.judgments.standings(table)
    assert board.wins.loc["a", "b"] == 0.75 and board.met.loc["a", "b"] == 4
    assert board.wins.loc["b", "c"] == 1.0
    half = pgcjax.judgments.standings(table.assign(weight=[1.5, 1.0])).table
    assert half["votes"].tolist() == [1.5, 2.5, 1.0]


@pytest.mark.slow
@pytest.mark.parametrize(("n", "spread"), [(6, 0.0), (10, 0.4)])
def test_all_ranks_hold_together(n, spread):
    """At 95 %, of 120 worlds, all ranks hold in 106 or more (p of fewer: .01)."""
    held = 0
    for seed in range(120):
        table, true = made_up(n, 60, 10, spread, 0.8, seed)
        board = pgcjax.judgments.standings(table, draws=2000).table.set_index("doc_id")
        order = pd.Series(true)
        below = [(order > order[name]).sum() + 1 for name in board.index]
        above = [(order >= order[name]).sum() for name in board.index]
        low, high = board["rank_low"].to_numpy(), board["rank_high"].to_numpy()
        held += bool(((low <= below) & (np.array(above) <= high)).all())
    assert held >= 106


def test_ranks_do_not_hang_on_the_order_of_rows():
    table, _ = made_up()
    one = pgcjax.judgments.standings(table, seed=3)
    turned = table.assign(
        doc_id=table["other_doc_id"],
        other_doc_id=table["doc_id"],
        preference=-table["preference"],
    )
    other = pgcjax.judgments.standings(turned.sample(frac=1, random_state=1), seed=3)
    pd.testing.assert_frame_equal(one.table, other.table)
    said = "6 documents, 800 votes on 80 queries; ranks of all hold together at 95 %"
    assert one.notes == other.notes == (said,)


def test_wrong_input_is_refused():
    table, _ = made_up(queries=2)
    with pytest.raises(UsageError, match="level=2"):
        pgcjax.judgments.standings(table, level=2)
    bad = pd.DataFrame({"query_id": ["q"], "doc_id": ["a"], "other_doc_id": None})
    bad["preference"] = -1.0
    with pytest.raises(DataError, match="no judgment compares two documents"):
        pgcjax.judgments.standings(bad)
