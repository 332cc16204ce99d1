"""Orders of runs by several judges: correlations, and effects of position bias."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isnan, nan
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float64

from pgcjax.errors import DataError, Progress, check_choice, counted
from pgcjax.io.choices import FLIPS
from pgcjax.io.result import Result, computed
from pgcjax.io.schema import numbers
from pgcjax.io.scores.door import read_own_table
from pgcjax.stats import tests
from pgcjax.stats.choices import CORRECTIONS, RANK_INTERVALS
from pgcjax.stats.correlation import levels
from pgcjax.stats.orders import (
    Drawing,
    RunOrder,
    change,
    checked_drawing,
    correlation_of,
)

KEEP = FLIPS[0]
_LINES = 6  # pairs of judges that get a line each; for more, one line has the range
SAVED = ("judge", "flips", "run_id", "query_id", "value")
"""Columns of a saved file."""

COEFFICIENTS = ("tau", "tau_ap_b")


_SWAPS = ["run_a", "run_b", "difference_a", "difference_b", "p_a", "p_b"]
_SWAPS += ["significant_a", "significant_b"]


class Board(NamedTuple):
    """Scores of the runs by the judgments of one judge.

    Attributes:
        query_ids: Names of the queries that the judge judged, ascending.
        values: Score of each run and query.
    """

    query_ids: list[str]
    values: Float64[np.ndarray, "runs queries"]


@dataclass(frozen=True, kw_only=True)
class JudgeOrders(Result):
    """Scores of the same runs by each judge alone, and comparisons of their orders.

    Two judges are compared on the queries that both judged. A double vote is a pair of
    documents that a judge judged in both orders; it is flipped if both answers name the
    same position. A policy, one of `FLIPS`, treats double votes that disagree.

    Attributes:
        run_ids: Names of the runs, ascending.
        boards: Scores by judge, ascending, and policy: all policies that the measure
            allows for judges with double votes, `metadata["flips"]` alone for others.
        flipped: Number of double votes, and of flipped ones, of each judge that has
            double votes.
        table: Table that `orders` returns.
    """

    run_ids: list[str]
    boards: dict[str, dict[str, Board]]
    flipped: dict[str, tuple[int, int]]
    table: pd.DataFrame = computed(lambda self: self.orders())

    @property
    def policies(self) -> list[str]:
        """Policies by which there are scores, `keep` first."""
        return [p for p in FLIPS if any(p in boards for boards in self.boards.values())]

    def runs(self) -> pd.DataFrame:
        """Return the leaderboard of each judge and policy.

        Returns:
            judge, flips (the policy), rank, run_id, mean over the queries of the judge,
            queries (their number).
        """
        parts = []
        for judge, boards in self.boards.items():
            for flips, (queries, values) in boards.items():
                mean = values.mean(axis=1)
                level = levels(mean)
                rank = 1 + (level[:, None] < level).sum(axis=1)
                rows = {"judge": judge, "flips": flips, "rank": rank}
                rows |= {"run_id": self.run_ids, "mean": mean, "queries": len(queries)}
                parts.append(pd.DataFrame(rows).sort_values(["rank", "run_id"]))
        return pd.concat(parts, ignore_index=True)

    def orders(
        self,
        coefficients: Sequence[str] = COEFFICIENTS,
        *,
        interval: str = RANK_INTERVALS[0],
        alpha: float = 0.05,
        resamples: int = 1000,
        seed: int = 0,
        correction: str = CORRECTIONS[1],
        progress: Progress | None = None,
    ) -> pd.DataFrame:
        """Correlate the orders of the runs by each pair of judges.

        Args:
            coefficients: Names as in `correlation`, with judge_a as the truth.
            interval: Interval of tau, as in `correlate_leaderboards`.
            alpha: 1 less the level of the intervals, and the level of the tests.
            resamples: Number of resamples for the intervals.
            seed: Seed of the resamples.
            correction: Correction of the p of paired t tests: all pairs of runs, for
                each judge.
            progress: Function called with `("comparing judges", done, total)`.

        Returns:
            A row for each pair of judges and coefficient: judge_a, judge_b,
            coefficient, value, low, high, runs and queries (their numbers), swapped
            (number of pairs of runs in opposite orders), one_significant and
            both_significant (number of swapped pairs that are significant by exactly
            one judge, and by both), undefined (which value is NaN, and why).
        """
        drawing = checked_drawing(coefficients, interval, alpha, resamples, seed)
        check_choice("correction", correction, CORRECTIONS)
        rows = []
        for a, b in _with_progress([*combinations(self.boards, 2)], progress):
            x, y = self._orders([self._board(a), self._board(b)], drawing)
            table = self._swapped(x, y, drawing.alpha, correction)
            judges = table["significant_a"] * 1 + table["significant_b"]
            counts = {"runs": len(self.run_ids), "swapped": len(table)}
            counts |= {"one_significant": int((judges == 1).sum())}
            counts |= {"both_significant": int((judges == 2).sum())}
            for coefficient in drawing.coefficients:
                row = {"judge_a": a, "judge_b": b, "coefficient": coefficient}
                rows.append(row | correlation_of(x, y, coefficient, drawing) | counts)
        columns = ["judge_a", "judge_b", "coefficient", *drawing.columns, "runs"]
        columns += ["queries", "swapped", "one_significant", "both_significant"]
        return pd.DataFrame(rows, columns=[*columns, "undefined"])

    def swaps(
        self, *, alpha: float = 0.05, correction: str = CORRECTIONS[1]
    ) -> pd.DataFrame:
        """List the pairs of runs that two judges put in opposite orders.

        Args:
            alpha: Level of the tests.
            correction: Correction of the p of the tests.

        Returns:
            judge_a, judge_b, run_a (the run that judge_a prefers), run_b, difference_a
            and difference_b (mean of run_a less that of run_b, by each judge), p_a and
            p_b (corrected, of paired t tests; NaN if there is one query),
            significant_a, significant_b. For each pair of judges, pairs of runs are
            sorted by the larger of the two uncorrected p.
        """
        tests.check_alpha(alpha)
        check_choice("correction", correction, CORRECTIONS)
        parts = []
        for a, b in combinations(self.boards, 2):
            x, y = self._orders([self._board(a), self._board(b)])
            table = self._swapped(x, y, alpha, correction)
            table.insert(0, "judge_a", a)
            table.insert(1, "judge_b", b)
            parts.append(table)
        none = pd.DataFrame(columns=["judge_a", "judge_b", *_SWAPS])
        return pd.concat(parts or [none], ignore_index=True)

    def flips(
        self,
        coefficients: Sequence[str] = COEFFICIENTS,
        *,
        interval: str = RANK_INTERVALS[0],
        alpha: float = 0.05,
        resamples: int = 1000,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> pd.DataFrame:
        """Correlate the orders of the runs by different policies for double votes.

        A judge with double votes is compared with itself, by `keep` and by each other
        policy, and with each other judge, by each policy for both. All rows of a pair
        of judges use the same queries: those that have votes under every policy.

        Args:
            coefficients: Names as in `orders`.
            interval: Interval as in `orders`; the change has none.
            alpha: 1 less the level of the intervals.
            resamples: Number as in `orders`.
            seed: Seed as in `orders`.
            progress: Function called with `("comparing judges", done, total)`.

        Returns:
            judge_a, flips_a, judge_b, flips_b, coefficient, value, low, high, queries,
            swapped, undefined; and for two different judges, change = value - k and
            explained = change / (1 - k), where k is the value by `keep`.
        """
        drawing = checked_drawing(coefficients, interval, alpha, resamples, seed)
        pairs = [(judge, judge) for judge in self.flipped]
        different = combinations(self.boards, 2)
        pairs += [pair for pair in different if {*pair} & {*self.flipped}]
        rows = []
        for pair in _with_progress(pairs, progress):
            rows += self._by_policy(*pair, drawing)
        columns = ["judge_a", "flips_a", "judge_b", "flips_b", "coefficient"]
        columns += [*drawing.columns, "change", "explained"]
        return pd.DataFrame(rows, columns=[*columns, "queries", "swapped", "undefined"])

    def _by_policy(self, a: str, b: str, drawing: Drawing) -> Iterator[dict[str, Any]]:
        """Yield the rows of `flips` for two judges, or for a judge with itself."""
        policies = self.policies
        boards = [self._board(judge, p) for judge in (a, b) for p in policies]
        orders = self._orders(boards, drawing)
        of_a, of_b = orders[: len(policies)], orders[len(policies) :]
        for policy, x, y in zip(policies, of_a, of_b, strict=True):
            policy_a = policy
            if a == b:
                policy_a, x = KEEP, of_a[0]
                if policy == KEEP:
                    continue
            for coefficient in drawing.coefficients:
                row = {"judge_a": a, "flips_a": policy_a}
                row |= {"judge_b": b, "flips_b": policy}
                row |= {"coefficient": coefficient, "swapped": x.swapped(y).sum()}
                row |= correlation_of(x, y, coefficient, drawing)
                if a != b:
                    row |= change((x, y), (of_a[0], of_b[0]), coefficient)
                yield row

    def _board(self, judge: str, flips: str = "") -> Board:
        """Return the board by a policy; a judge without double votes has only one."""
        boards, base = self.boards[judge], self.metadata["flips"]
        return boards.get(flips or base, boards[base])

    def _orders(
        self, boards: Sequence[Board], drawing: Drawing | None = None
    ) -> list[RunOrder]:
        """Return the order by each board, over the queries that all boards share."""
        shared = set.intersection(*(set(board.query_ids) for board in boards))
        orders = []
        for query_ids, values in boards:
            place = {query: i for i, query in enumerate(query_ids)}
            columns = [place[query] for query in sorted(shared)]
            orders.append(RunOrder(values[:, columns], drawing))
        return orders

    def _swapped(
        self, x: RunOrder, y: RunOrder, alpha: float, correction: str
    ) -> pd.DataFrame:
        """List the pairs of runs in opposite orders, as `swaps` sorts them."""
        pairs = tests.all_pairs(len(self.run_ids))
        swapped = np.flatnonzero(x.swapped(y))
        a, b = (side[swapped] for side in pairs)
        b_first = x.mean[a] < x.mean[b]
        above, below = np.where(b_first, b, a), np.where(b_first, a, b)
        names = np.array(self.run_ids, object)
        table = pd.DataFrame({"run_a": names[above], "run_b": names[below]}, dtype=str)
        uncorrected = []
        for judge, order in (("a", x), ("b", y)):
            p_of_pairs = np.full(len(pairs[0]), nan)
            if order.values.shape[1] > 1:
                p_of_pairs = tests.t(order.values, pairs)
            uncorrected.append(p_of_pairs[swapped])
            p = tests.adjust(p_of_pairs, correction)[swapped]
            table[f"difference_{judge}"] = order.mean[above] - order.mean[below]
            table[f"p_{judge}"], table[f"significant_{judge}"] = p, p < alpha
        table = table[_SWAPS]
        largest = np.maximum(*uncorrected)
        surest = np.lexsort((table["run_b"], table["run_a"], largest))
        return table.iloc[surest].reset_index(drop=True)

    def in_words(self, orders: pd.DataFrame) -> list[str]:
        """Describe how similarly judges order the runs, and their flipped votes.

        Args:
            orders: Table that `orders` returned.
        """
        first = orders.drop_duplicates(["judge_a", "judge_b"])
        lines = [self._line(row) for _, row in first.iterrows()]
        if len(lines) > _LINES:
            rows = first.dropna(subset="value").sort_values("value", kind="stable")
            values = [
                f"{r.value:.3f} ({r.judge_a}, {r.judge_b})" for r in rows.itertuples()
            ]
            lines = [f"{len(lines)} pairs of judges: {first['coefficient'].iloc[0]} "]
            lines[0] += (
                f"from {values[0]} to {values[-1]}" if values else "is undefined"
            )
        for judge, (double, flipped) in self.flipped.items():
            lines.append(
                f"{judge}: {flipped} of {counted(double, 'pair')} judged in both "
                "orders are flipped"
            )
        if not self.flipped:
            lines.append(
                "no pair is known to be judged in both orders: these judgments do "
                "not show the effect of place on the order"
            )
        return lines

    def _line(self, row: pd.Series) -> str:
        """Describe the correlation of two judges."""
        names = f"{row['judge_a']} and {row['judge_b']}"
        if isnan(row["value"]):
            return f"{names}: {row['coefficient']} is undefined: {row['undefined']}"
        ends = ""
        if not isnan(row.get("low", nan)):
            ends = f" ({row['low']:.3f} to {row['high']:.3f})"
        pairs = len(self.run_ids) * (len(self.run_ids) - 1) // 2
        return (
            f"{names}: {row['coefficient']} {row['value']:.3f}{ends}, "
            f"{row['swapped']} of {counted(pairs, 'pair')} of runs swapped, "
            f"{row['one_significant']} of them significant by one judge, "
            f"{row['both_significant']} by both"
        )

    def _saved(self) -> tuple[pd.DataFrame, dict[str, Any]]:
        """Return the rows of the file that `read_judge_orders` reads, and metadata."""
        parts = []
        runs = np.array(self.run_ids, object)
        for judge, boards in self.boards.items():
            for flips, (queries, values) in boards.items():
                rows: dict[str, Any] = {"judge": judge, "flips": flips}
                rows |= {"run_id": np.repeat(runs, len(queries))}
                rows |= {"query_id": np.tile(np.array(queries, object), len(runs))}
                parts.append(pd.DataFrame({**rows, "value": values.ravel()}))
        metadata = {**self.metadata, "flipped": self.flipped}
        return pd.concat(parts, ignore_index=True), metadata


def _with_progress(
    pairs: list[tuple[str, str]], progress: Progress | None
) -> Iterator[tuple[str, str]]:
    """Yield pairs of judges, and report how many are done."""
    for done, pair in enumerate(pairs, 1):
        yield pair
        if progress:
            progress("comparing judges", done, len(pairs))


def read_judge_orders(path: str | os.PathLike) -> JudgeOrders:
    """Read a file that `JudgeOrders.save`, or `judges --scores-output`, wrote.

    Raises:
        DataError: the file is no such table, or lacks rows of it.
    """
    mend = "Restore what judges --scores-output wrote."
    needs = ("measure", "flips", "flipped")
    table, origin, about = read_own_table(path, SAVED, 4, needs, mend)
    table["value"] = numbers(table["value"], "value", origin)
    flipped = about.pop("flipped")
    run_ids = sorted(table["run_id"].unique())
    boards: dict[str, dict[str, Board]] = {}
    for (judge, flips), rows in table.groupby(["judge", "flips"], sort=False):
        wide = rows.pivot_table("value", "run_id", "query_id", "count")
        whole = len(wide) == len(run_ids) and (wide == 1).all(axis=None)
        if not (whole and flips in FLIPS):
            raise DataError(
                f"expected each run once on each query of {judge!r}, flips {flips}",
                where=origin.name,
                mend=mend,
            )
        wide = rows.pivot(index="run_id", columns="query_id", values="value")
        values = wide.sort_index(axis=0).sort_index(axis=1).to_numpy(np.float64)
        queries = sorted(wide.columns)
        boards.setdefault(str(judge), {})[str(flips)] = Board(queries, values)
    base = about["flips"]
    lacking = [judge for judge, by_policy in boards.items() if base not in by_policy]
    policies = [{*boards.get(judge, {})} for judge in flipped]
    if lacking or any(KEEP not in p or p != policies[0] for p in policies):
        raise DataError("lacks scores of a judge", where=origin.name, mend=mend)
    counts = {judge: (int(n), int(flips)) for judge, (n, flips) in flipped.items()}
    return JudgeOrders(about, run_ids=run_ids, boards=boards, flipped=counts)
