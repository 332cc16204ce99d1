"""Preferences between rankings, recomputed by the plain twins in `reference/`."""

from collections.abc import Callable, Container, Mapping, Sequence
from itertools import combinations
from math import fsum, sqrt
from threading import Lock
from typing import Any
from zlib import crc32

import numpy as np
import pandas as pd
from jaxtyping import Float64

from pgcjax.engine.verify import TOLERANCE, Rows, check_share, each_ranking, records_of
from pgcjax.errors import VerificationError
from pgcjax.io.runs import PackedBlock, RunTable
from pgcjax.measures.between_rankings import BetweenRankings
from pgcjax.measures.measure import Case
from pgcjax.reference.order import ordered


class PairSample:
    """Rankings that are kept, as runs pass by, to be compared by the twins.

    For each query, a hash of names chooses rankings whose pairs make the share of all
    its pairs: at least the two rankings with the least hashes. So if two runs answer a
    query, at least one pair is compared again.
    """

    def __init__(self, share: float, order: str):
        """Choose a share of the pairs, of runs in an order.

        Raises:
            UsageError: the share is no number in 0..1.
        """
        self._bound = sqrt(check_share(share)) * 2**32
        self._order = order
        self._lock = Lock()
        # For each query, by hash and run.
        self._kept: dict[str, dict[tuple[int, str], Rows]] = {}
        self._values: dict[tuple[str, str, str], list[float]] = {}
        self.count = 0

    def take(self, table: RunTable | PackedBlock, judged: Container[str]) -> None:
        """Look at whole runs, and keep the chosen rankings of judged queries.

        Threads may call it, in any order.
        """
        for run, query, rows in each_ranking(table):
            if query in judged:
                key = crc32(f"{run}\t{query}".encode()), run
                with self._lock:
                    sample = self._kept.setdefault(query, {})
                    first_two = sorted([*sample, key])[:2]
                    if key[0] < self._bound or key in first_two:
                        sample[key] = rows()
                    for other in [*sample]:
                        if other[0] >= self._bound and other not in first_two:
                            del sample[other]

    def checker(
        self,
        measures: Mapping[str, BetweenRankings],
        tables: Mapping[str, pd.DataFrame],
        missing: str,
    ) -> Callable[[str, str, Sequence[str], Float64[np.ndarray, " pairs"]], None]:
        """Return what compares the preferences of a measure and query with the twin.

        Args:
            measures: Measures of two rankings, by name.
            tables: Tables of judgments.
            missing: With `zero`, pairs of runs that lack a query count for it.

        Returns:
            A function of measure, query, names of all runs, and preferences of their
            pairs in the order of `np.triu_indices`; it raises VerificationError where
            one differs from its twin.
        """
        judged = records_of(tables)

        def check(name: str, query: str, runs: Sequence[str], values: Any) -> None:
            measure, case = measures[name], judged(query)
            rows = {run: rows for (_, run), rows in self._kept.get(query, {}).items()}
            cases = {
                place: Case(run, query, docs, measure.parameters, case, tables)
                for place, run in enumerate(runs)
                if run in rows and (docs := ordered(rows[run], self._order))
            }
            of_pair: dict[tuple[int, int], float] = {}
            for i, j in combinations(cases, 2):
                value = float(values[i * len(runs) - i * (i + 1) // 2 + j - i - 1])
                twin = measure.twin_of_two(cases[i], cases[j])
                if twin is None or not abs(twin - value) <= TOLERANCE:
                    raise VerificationError(
                        f"runs {runs[i]!r} and {runs[j]!r}, query {query!r}: the "
                        f"preference by {name} is {value!r}, its reference {twin!r}. "
                        "This is a defect of pgcjax: please report it with the data"
                    )
                self.count += 1
                of_pair[i, j] = twin
            if self._bound < 2**32:
                return
            for place, (i, j) in enumerate(combinations(range(len(runs)), 2)):
                if missing == "zero" or (i, j) in of_pair:
                    batch_values = self._values.setdefault((name, runs[i], runs[j]), [])
                    batch_values.append(of_pair.get((i, j), float(values[place])))

        return check

    def check_table(self, table: pd.DataFrame) -> None:
        """Recompute means and counts of pairs, if all their preferences were.

        Args:
            table: measure, run_a, run_b, preference, wins, ties, losses.

        Raises:
            VerificationError: a number differs from that of the twins' preferences.
        """
        names = ["measure", "run_a", "run_b"], ["preference", "wins", "ties", "losses"]
        keys, rows = (table[columns].to_numpy(object).tolist() for columns in names)
        numbers = dict(zip(map(tuple, keys), rows, strict=True))
        for key, values in self._values.items():
            shown = numbers[key]
            wins, losses = (sum(s * v > TOLERANCE for v in values) for s in (1, -1))
            ties = len(values) - wins - losses
            twins = [fsum(values) / len(values), wins, ties, losses]
            if any(abs(a - b) > TOLERANCE for a, b in zip(shown, twins, strict=True)):
                name, first, second = key
                raise VerificationError(
                    f"runs {first!r} and {second!r}: preference, wins, ties and losses "
                    f"by {name} are {shown!r}, their reference {twins!r}. This is a "
                    "defect of pgcjax: please report it with the data"
                )
