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


class _Kept:
    """Rankings of a query: the chosen ones, and others where these are fewer than two.

    Attributes:
        chosen: by run.
        spare: the others of the least hash: hash, run and rows, ascending.
    """

    def __init__(self) -> None:
        self.chosen: dict[str, Rows] = {}
        self.spare: list[tuple[int, str, Rows]] = []

    def add(
        self, run: str, hashed: int, rows: Callable[[], Rows], bound: float
    ) -> None:
        """Look at a ranking."""
        if hashed < bound:
            self.chosen[run] = rows()
        elif len(self.chosen) < 2:
            self.spare = sorted([*self.spare, (hashed, run, rows())])
        del self.spare[max(0, 2 - len(self.chosen)) :]

    @property
    def rows(self) -> dict[str, Rows]:
        """Documents of each ranking, by run."""
        return self.chosen | {run: rows for _, run, rows in self.spare}


class PairSample:
    """Rankings that are kept, as runs pass by, to be compared by the twins.

    Of each query, a hash of names chooses as many rankings as make a share of its
    pairs, and at least the two of the least hash: where two runs answer a query, one
    pair is compared again.
    """

    def __init__(self, share: float, order: str):
        """Choose a share of the pairs, of runs in an order.

        Raises:
            UsageError: the share is no number in 0..1.
        """
        self._bound = sqrt(check_share(share)) * 2**32
        self._order = order
        self._lock = Lock()
        self._kept: dict[str, _Kept] = {}
        self._values: dict[tuple[str, str, str], list[float]] = {}
        self.count = 0

    def take(self, table: RunTable | PackedBlock, judged: Container[str]) -> None:
        """Look at whole runs, and keep the chosen rankings of judged queries.

        Threads may call it, in any order.
        """
        for run, query, rows in each_ranking(table):
            if query in judged:
                hashed = crc32(f"{run}\t{query}".encode())
                with self._lock:
                    sample = self._kept.setdefault(query, _Kept())
                    sample.add(run, hashed, rows, self._bound)

    def checker(
        self,
        measures: Mapping[str, BetweenRankings],
        tables: Mapping[str, pd.DataFrame],
        missing: str,
    ) -> Callable[[str, str, Sequence[str], Float64[np.ndarray, " pairs"]], None]:
        """Return what compares the preferences of a measure and query with the twin.

        Args:
            measures: of two rankings, by name.
            tables: judgments.
            missing: whether pairs of runs that lack a query count for it, as `zero`.

        Returns:
            A function of measure, query, names of all runs, and preferences of their
            pairs in the order of `np.triu_indices`; it raises VerificationError where
            one differs from its twin.
        """
        judged = records_of(tables)

        def check(name: str, query: str, runs: Sequence[str], values: Any) -> None:
            measure, case = measures[name], judged(query)
            rows = self._kept[query].rows if query in self._kept else {}
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
