"""How a judge agrees with others: probes that need several judges."""

from collections.abc import Iterator, Sequence
from math import exp, isnan, sqrt
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Int64

from pgcjax.judging.audit_probes import odds_of
from pgcjax.judging.audit_shares import FEWEST, Finding, Z, none, wilson
from pgcjax.judging.contingency import both_ways, kappa
from pgcjax.judging.logistic import fit_votes

AGREEMENT = {0.0: "none", 0.2: "slight", 0.4: "fair", 0.6: "moderate"}
AGREEMENT |= {0.8: "substantial", 1.0: "almost perfect"}
"""Words for kappa up to each value [Landis and Koch 1977]."""

_DRIFT = ("agrees more with time", "agrees less with time")
AT_ODDS = ["judge", "query_id", "aspect", "doc_id", "other_doc_id", "others", "against"]


class Judges:
    """What each judge says of each pair, once, to compare one with the others."""

    def __init__(self, votes: pd.DataFrame, people: Sequence[str]):
        """Take votes as of `audit`; several of one judge on a pair are their majority.

        Args:
            votes: with item (a pair), judge, sign and time.
            people: judges who are people.
        """
        named = votes[votes["judge"] != ""]
        table = named.groupby(["judge", "item"], sort=True, as_index=False).agg(
            {"sign": "sum", "time": "mean"}
        )
        self._judge, names = pd.factorize(table["judge"], sort=True)
        self.names = np.array(names, object)
        self._rows = np.searchsorted(self._judge, np.arange(len(names) + 1))
        self._item = table["item"].to_numpy()
        sign = np.sign(table["sign"].to_numpy()).astype(np.int64)
        self._place = np.array([2, 0, 1])[sign]  # of 0, 1 and -1
        self._time = table["time"].to_numpy()
        items = votes.drop_duplicates("item").sort_values("item")
        self._items = {
            c: items[c].to_numpy(object) for c in ("query_id", "aspect", "low", "high")
        }
        is_people = np.isin(names, list(people))
        self._people = is_people if len(people) else None
        self._totals = self._counts(slice(None))
        self._totals_of_people = self._counts(is_people[self._judge])
        self._tables = self._by_two()

    def _counts(self, rows: np.ndarray | slice) -> Int64[np.ndarray, "items 3"]:
        cell = self._item[rows] * 3 + self._place[rows]
        size = 3 * len(self._items["low"])
        return np.bincount(cell, minlength=size).reshape(-1, 3)

    def _by_two(self) -> dict[int, dict[int, np.ndarray]]:
        """Count what each two judges say of the pairs that both judged."""
        columns = {"item": self._item, "judge": self._judge, "place": self._place}
        frame = pd.DataFrame(columns)
        both = frame.merge(frame, on="item", suffixes=("", "_other"))
        a, b, x, y = (
            both[column].to_numpy(np.int64)
            for column in ("judge", "judge_other", "place", "place_other")
        )
        two, which = np.unique(a * len(self.names) + b, return_inverse=True)
        cells = np.bincount(9 * which + 3 * x + y, minlength=9 * len(two))
        tables: dict[int, dict[int, np.ndarray]] = {}
        for key, table in zip(two.tolist(), cells.reshape(-1, 3, 3), strict=True):
            one, other = divmod(key, len(self.names))
            if one != other:
                tables.setdefault(one, {})[other] = table
        return tables

    def compare(self, judge: str) -> Iterator[Finding]:
        """Measure agreement with the others, with people, with each, and its drift."""
        number, rows = self._rows_of(judge)
        others = self._others(rows, self._totals)
        yield self._with("the others", rows, others)
        if self._people is not None:
            theirs = self._totals_of_people
            one_of_them = self._people[number]
            people = (
                self._others(rows, theirs) if one_of_them else theirs[self._item[rows]]
            )
            yield self._with("people", rows, people)
        yield self._drift(rows, others)
        for other, table in self._tables.get(number, {}).items():
            if table.sum() >= FEWEST:
                yield agreement(str(self.names[other]), table)

    def _rows_of(self, judge: str) -> tuple[int, slice]:
        """Return the number of a judge, and the rows."""
        number = int(np.searchsorted(self.names, judge))
        return number, slice(*self._rows[number : number + 2])

    def _others(
        self, rows: slice, totals: Int64[np.ndarray, "items 3"]
    ) -> Int64[np.ndarray, "pairs 3"]:
        """Count what others say of the pairs of a judge, who is among them."""
        counts, place = totals[self._item[rows]], self._place[rows]
        counts[np.arange(len(place)), place] -= 1
        return counts

    def _with(self, of: str, rows: slice, others: np.ndarray) -> Finding:
        judged = others.sum(axis=1) > 0
        cell = 3 * self._place[rows][judged] + majority(others[judged])
        return agreement(of, np.bincount(cell, minlength=9).reshape(3, 3))

    def _drift(self, rows: slice, others: np.ndarray) -> Finding:
        timed = ~np.isnan(self._time[rows])
        if not timed.any():
            return none("drift", "", 0, "votes have no time (a column time)")
        place, most = self._place[rows], majority(others)
        decided = timed & (place < 2) & (most < 2) & (others.sum(axis=1) > 0)
        if (n := int(decided.sum())) < FEWEST:
            why = f"{n} pairs that others decided, too, of which {FEWEST} are needed"
            return none("drift", "", n, why)
        when = pd.Series(self._time[rows][decided]).rank().to_numpy()
        x = (when - when.min()) / max(1.0, float(np.ptp(when)))
        features = np.column_stack([np.ones(n), x])
        fit = fit_votes(features, (place == most)[decided] * 1.0, np.arange(n))
        if not fit.converged:
            return none(
                "drift", "", n, "time tells all agreement, or there is one time"
            )
        return odds_of("drift", fit, 1, n, _DRIFT)

    def at_odds(self, judge: str, most: int) -> pd.DataFrame:
        """List the pairs of which most others say the opposite, the worst first."""
        _, votes = self._rows_of(judge)
        others, place = self._others(votes, self._totals), self._place[votes]
        rows = np.arange(len(place))
        against = others[rows, np.where(place == 0, 1, 0)]
        lead = against - others[rows, np.where(place == 0, 0, 1)]
        several = others.sum(axis=1) > 1  # of one alone, agreement says it all
        contested = (place < 2) & several & (2 * against > others.sum(axis=1))
        contested = np.flatnonzero(contested)
        at = self._item[votes]
        contested = contested[np.lexsort((at[contested], -lead[contested]))][:most]
        query, aspect, low, high = (of[at[contested]] for of in self._items.values())
        for_low = place[contested] == 0
        columns = (
            *(judge, query, aspect),
            *(np.where(for_low, low, high), np.where(for_low, high, low)),
            *(others[contested].sum(axis=1), against[contested]),
        )
        return pd.DataFrame(dict(zip(AT_ODDS, columns, strict=True)))


def contradicted(row: Any) -> Finding:
    """Count how many of the others say the opposite of a pair at odds."""
    aspect = f", {row.aspect}" if row.aspect else ""
    of = f"{row.query_id}{aspect}: {row.doc_id} > {row.other_doc_id}"
    share, verdict = row.against / row.others, f"{row.against} of {row.others} disagree"
    low, high = wilson(row.against, row.others)
    return Finding("at odds", of, share, low, high, row.others, verdict)


def majority(counts: Int64[np.ndarray, "pairs 3"]) -> Int64[np.ndarray, " pairs"]:
    """Return what most say of each pair, by place; neither, if two are as many."""
    clear = (counts == counts.max(axis=1, keepdims=True)).sum(axis=1) == 1
    return np.where(clear, counts.argmax(axis=1), 2)


def agreement(of: str, table: Int64[np.ndarray, "3 3"]) -> Finding:
    """Measure agreement beyond chance; which document is which means nothing.

    Args:
        of: with whom.
        table: how often the judge says the row's, and the other the column's.

    Source: Cohen 1960; the standard error by leaving out each pair (jackknife), on the
    scale of log(1 - κ).
    """
    n = int(table.sum())
    if n < FEWEST:
        why = f"{n} pairs that both judged, of which {FEWEST} are needed"
        return none("agreement", of, n, why)
    value = kappa(both_ways(table))
    if isnan(value):
        return none("agreement", of, n, "both always say one and the same")
    # Each pair left out: those of one cell alike.
    cells, without = table.ravel(), np.zeros(9)
    for cell in np.flatnonzero(cells):
        rest = cells - (np.arange(9) == cell)
        without[cell] = kappa(both_ways(rest.reshape(3, 3)))
    without = np.where(np.isnan(without), 1.0, without)
    mean = float(cells @ without) / n
    error = sqrt((n - 1) / n * float(cells @ (without - mean) ** 2))
    if value < 1:
        # Of what lacks of 1 the logarithm is nearer to normal.
        ratio = exp(Z * error / (1 - value))
        low, high = 1 - (1 - value) * ratio, 1 - (1 - value) / ratio
    else:
        both = both_ways(table).sum(axis=0) / (2 * n)
        chance = float(both @ both)
        low, high = (wilson(n, n)[0] - chance) / (1 - chance), 1.0
    word = next(word for most, word in AGREEMENT.items() if value <= most)
    return Finding("agreement", of, value, max(-1.0, low), high, n, word)
