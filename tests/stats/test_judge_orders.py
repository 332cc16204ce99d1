"""Orders of runs by judges: against scipy and loops, on scores that are made up."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from helpers.twins import correlation as twins
from scipy import stats

import pgcjax
from pgcjax.errors import DataError, UsageError
from pgcjax.stats import orders as run_orders
from pgcjax.stats import resample
from pgcjax.stats.judge_orders import Board, JudgeOrders, read_judge_orders

RUNS = [f"r{i}" for i in range(6)]
QUERIES = [f"q{i:02}" for i in range(12)]
ABOUT = {"measure": "PGC", "flips": "keep"}


def board(noise: float, seed: int, queries=QUERIES, turned: tuple[int, ...] = ()):
    """Scores by a judge: later runs are better, but for two that change places."""
    made = np.random.default_rng(seed)
    level = 10.0 * np.arange(len(RUNS))
    if turned:
        level[[*turned]] = level[[*turned[::-1]]]
    values = level[:, None] + made.normal(0, noise, (len(RUNS), len(queries)))
    return Board(list(queries), values)


def three() -> JudgeOrders:
    """Two judges who agree but for runs 1 and 2, one of two policies; and a third."""
    boards = {
        "a": {"keep": board(0.1, 1)},
        "b": {
            "keep": board(0.1, 2, QUERIES[:10], turned=(1, 2)),
            "tie": board(0.1, 3, QUERIES[1:]),
        },
        "c": {"keep": board(25.0, 4, QUERIES[4:])},
    }
    return JudgeOrders(ABOUT, run_ids=RUNS, boards=boards, flipped={"b": (40, 9)})


def on(one: Board, queries: list[str]) -> np.ndarray:
    return one.values[:, [one.query_ids.index(query) for query in queries]]


@pytest.fixture(autouse=True)
def few_queries_are_enough(monkeypatch):
    """These boards have too few for an interval that is known to hold."""
    monkeypatch.setattr(run_orders, "FEWEST", 4)


def tau_interval(x, y, seed: int, resamples: int) -> tuple[float, float]:
    drawn = resample.indices(seed, 0, resamples, x.shape[1]).tolist()
    return twins.tau_interval(x.tolist(), y.tolist(), drawn, 0.1)


def test_orders_and_swaps_are_those_of_scipy_and_loops():
    found = three()
    how = {"alpha": 0.1, "resamples": 100, "seed": 5}
    told = []
    orders = found.orders(**how, progress=lambda *step: told.append(step))
    assert told == [("comparing judges", i, 3) for i in (1, 2, 3)]
    swaps = found.swaps(alpha=0.1)
    rows = []
    for a, b in combinations(found.boards, 2):
        one, other = found.boards[a]["keep"], found.boards[b]["keep"]
        queries = [q for q in QUERIES if q in one.query_ids and q in other.query_ids]
        x, y = on(one, queries), on(other, queries)
        means = x.mean(1), y.mean(1)
        p = {}  # by Holm, step by step
        for judge, values in ((a, x), (b, y)):
            raw = {
                pair: stats.ttest_rel(values[pair[0]], values[pair[1]]).pvalue
                for pair in combinations(range(6), 2)
            }
            most = 0.0
            for i, pair in enumerate(sorted(raw, key=raw.__getitem__)):
                most = max(most, min(1.0, raw[pair] * (15 - i)))
                p[judge, pair] = most
        expected = {}
        for i, j in combinations(range(6), 2):
            differences = [mean[i] - mean[j] for mean in means]
            if differences[0] * differences[1] < 0:
                best, worse = (i, j) if differences[0] > 0 else (j, i)
                sizes = [mean[best] - mean[worse] for mean in means]
                expected[RUNS[best], RUNS[worse]] = [*sizes, p[a, (i, j)], p[b, (i, j)]]
        own = swaps[(swaps["judge_a"] == a) & (swaps["judge_b"] == b)]
        assert {*zip(own["run_a"], own["run_b"], strict=True)} == {*expected}
        for row in own.itertuples():
            numbers = row.difference_a, row.difference_b, row.p_a, row.p_b
            want = expected[row.run_a, row.run_b]
            assert numbers == pytest.approx(want)
            assert (row.significant_a, row.significant_b) == (
                want[2] < 0.1,
                want[3] < 0.1,
            )
        both = own["significant_a"].astype(int) + own["significant_b"]
        counts = [len(queries), len(own), (both == 1).sum(), (both == 2).sum()]
        low, high = tau_interval(x, y, 5, 100)
        tau = stats.kendalltau(*means).statistic
        rows.append([a, b, "tau", tau, low, high, 6, *counts, ""])
        tau_ap = twins.tau_ap_b(*map(list, means))
        of = orders[(orders["judge_a"] == a) & (orders["judge_b"] == b)]
        assert of["value"].tolist()[1] == pytest.approx(tau_ap)
    table = pd.DataFrame(rows, columns=list(orders))
    own = orders[orders["coefficient"] == "tau"].reset_index(drop=True)
    pd.testing.assert_frame_equal(own, table, check_dtype=False)
    # The flip that was made up, which both judges are sure of, and no other of a and b.
    first = swaps.iloc[0]
    assert first[["judge_a", "judge_b", "run_a", "run_b"]].tolist() == [
        *("a", "b", "r2", "r1")
    ]
    assert rows[0][7:] == [10, 1, 0, 1, ""]
    pd.testing.assert_frame_equal(found.orders(**how), orders)  # by seed alone
    assert found.orders(interval="none").columns.tolist() == [
        *("judge_a", "judge_b", "coefficient", "value", "runs", "queries", "swapped"),
        *("one_significant", "both_significant", "undefined"),
    ]


def test_policies_are_compared_on_the_queries_that_all_leave():
    found = three()
    table = found.flips(["tau"], alpha=0.1, resamples=100, seed=5)
    queries = QUERIES[1:10]
    a, keep, tie = (
        on(found.boards[judge][policy], queries)
        for judge, policy in (("a", "keep"), ("b", "keep"), ("b", "tie"))
    )
    own = table[table["judge_a"] == table["judge_b"]]
    assert own[["judge_a", "flips_a", "flips_b"]].values.tolist() == [
        ["b", "keep", "tie"]
    ]
    assert own[["queries", "swapped", "undefined"]].values.tolist() == [[9, 1, ""]]
    low, high = tau_interval(keep, tie, 5, 100)
    assert own[["value", "low", "high"]].values[0] == pytest.approx(
        [13 / 15, low, high]
    )
    assert own[["change", "explained"]].isna().all(axis=None)
    of_two = table[(table["judge_a"] == "a") & (table["judge_b"] == "b")]
    assert of_two[["flips_a", "flips_b", "swapped"]].values.tolist() == [
        ["keep", "keep", 1],
        ["tie", "tie", 0],
    ]
    assert of_two["value"].tolist() == pytest.approx([13 / 15, 1])
    change = of_two[["change", "explained"]].to_numpy()
    assert change[0].tolist() == [0, 0]
    assert change[1] == pytest.approx([2 / 15, 1])
    low, high = tau_interval(a, tie, 5, 100)
    assert of_two[["low", "high"]].values[1] == pytest.approx([low, high])
    assert len(table) == 1 + 2 * 2  # of b alone, and of b with a and with c
    assert not {"change_low", "change_high"} & {*table}


def test_leaderboards_and_lines():
    found = three()
    boards = found.runs()
    assert boards["flips"].tolist() == ["keep"] * 12 + ["tie"] * 6 + ["keep"] * 6
    first = boards.head(6)
    assert first["run_id"].tolist() == RUNS[::-1]
    assert first["rank"].tolist() == [1, 2, 3, 4, 5, 6]
    assert first["mean"].tolist() == [
        *found.boards["a"]["keep"].values.mean(axis=1)[::-1]
    ]
    assert boards["queries"].unique().tolist() == [12, 10, 11, 8]
    orders = found.orders(["tau"], resamples=50)
    value, low, high = orders.loc[0, ["value", "low", "high"]]
    assert found.in_words(orders)[0] == (
        f"a and b: tau {value:.3f} ({low:.3f} to {high:.3f}), 1 of 15 pairs of runs "
        "swapped, 0 of them significant by one judge, 1 by both"
    )
    assert found.in_words(orders)[3:] == [
        "b: 9 of 40 pairs judged in both orders are flipped"
    ]
    two = JudgeOrders(
        ABOUT, run_ids=RUNS, boards={j: three().boards[j] for j in "ac"}, flipped={}
    )
    assert two.flips().empty and "change" in two.flips()
    assert two.in_words(two.orders(interval="none"))[1:] == [
        "no pair is known to be judged in both orders: these judgments do not show "
        "the effect of place on the order"
    ]
    alone = JudgeOrders(
        ABOUT, run_ids=RUNS, boards={"b": found.boards["b"]}, flipped={"b": (40, 9)}
    )
    assert alone.orders().empty and alone.swaps().empty and len(alone.flips()) == 2
    assert alone.in_words(alone.orders()) == found.in_words(orders)[3:]


def test_judges_with_few_queries_in_common():
    boards = {
        "a": {"keep": board(0.1, 1, QUERIES[:3])},
        "b": {"keep": board(0.1, 2, QUERIES[2:4])},
        "c": {"keep": board(0.1, 3, QUERIES[5:])},
    }
    found = JudgeOrders(ABOUT, run_ids=RUNS, boards=boards, flipped={})
    table = found.orders(["tau"])
    assert table["queries"].tolist() == [1, 0, 0]
    assert table["value"].isna().tolist() == [False, True, True]
    assert table[["low", "high"]].isna().all(axis=None)
    assert table["undefined"].tolist() == [
        "low, high: no interval is known to hold for fewer than 4 queries",
        *["the two have no query in common"] * 2,
    ]
    assert found.swaps().empty
    assert found.in_words(table)[1] == (
        "a and c: tau is undefined: the two have no query in common"
    )
    five = JudgeOrders(
        ABOUT, run_ids=RUNS, boards=boards | {j: boards["a"] for j in "de"}, flipped={}
    )
    low = table["value"].min()
    assert found.in_words(five.orders(["tau"], interval="none"))[0] == (
        f"10 pairs of judges: tau from {low:.3f} (a, b) to 1.000 (d, e)"
    )
    with pytest.raises(UsageError) as refused:
        found.orders(correction="bonferroni")
    assert str(refused.value) == (
        "correction is one of none, holm, bh, not 'bonferroni'"
    )
    with pytest.raises(UsageError, match="^resamples=0, seed=0, "):
        found.flips(resamples=0)


def test_a_file_gives_back_what_was_written(tmp_path):
    found = three()
    for suffix in (".csv", ".jsonl", ".parquet"):
        path = found.save(tmp_path / f"judges{suffix}")
        again = pgcjax.files.read_judge_orders(path)
        assert again.metadata == found.metadata and again.flipped == found.flipped
        assert again.run_ids == RUNS and list(again.boards) == ["a", "b", "c"]
        for judge, boards in found.boards.items():
            for flips, (queries, values) in boards.items():
                own = again.boards[judge][flips]
                assert own.query_ids == queries
                assert (own.values == values).all()
    head, columns, *rows = (tmp_path / "judges.csv").read_text().splitlines()
    head = head[:20] + head[head.index('", ') :]  # without its checksum
    mend = "Restore what judges --scores-output wrote."
    path = tmp_path / "broken.csv"
    without_keep = [row for row in rows if not row.startswith("b,keep")]
    for lines, message in (
        (
            [columns, *rows],
            f"{path}: does not state its dependencies: measure, flips and flipped. "
            f"{mend}",
        ),
        (
            [head, columns, *rows[1:]],
            f"{path}: expected each run once on each query of 'a', flips keep. {mend}",
        ),
        ([head, columns, *without_keep], f"{path}: lacks scores of a judge. {mend}"),
    ):
        path.write_text("\n".join(lines) + "\n")
        with pytest.raises(DataError) as refused:
            read_judge_orders(path)
        assert str(refused.value) == message
