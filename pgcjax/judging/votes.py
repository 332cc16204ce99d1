"""Votes on pairs of documents: one of each judge on each pair."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan, nan
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Float64, Int, Int64

from pgcjax.errors import UsageError, check_choice, counted
from pgcjax.io.schema import Origin, seconds
from pgcjax.io.votes.read import read_preferences
from pgcjax.io.weights import whole_weights
from pgcjax.judging.choices import SIDES
from pgcjax.judging.contingency import most_frequent
from pgcjax.judging.covariates import shown_first
from pgcjax.judging.pairs import UNORDERED, by_pair

BOTH_BAD = "A,B bad"
TIE = "A=B"
MOST_OPTIONS = 100
GROUPINGS = ("all", "sign", "strict")


def label(value: float) -> str:
    """Name a preference as Carterette et al. do: A>>B is a definite one; NaN: bad."""
    if isnan(value):
        return BOTH_BAD
    if value == 0:
        return TIE
    sign, strength = ">" if value > 0 else "<", abs(value)
    if strength in (1, 2):
        return f"A{sign * int(strength)}B"
    return f"A{sign}B {strength:g}"


def encode(
    values: Float[np.ndarray, " votes"], grouping: str, sides: str
) -> tuple[tuple[str, ...], Int[np.ndarray, " options"], Int[np.ndarray, " votes"]]:
    """Turn preferences into options.

    Args:
        values: Preferences, NaN for two bad documents.
        grouping: One of `GROUPINGS`.
        sides: If `any`, the mirrored option of each option that occurs is one, too.

    Returns:
        Names of the options, from the strongest for B to the strongest for A; the
        option that mirrors each (itself if none does); and the option of each vote,
        -1 for a vote that is left out.

    Raises:
        UsageError: an unknown grouping, or too many different preferences.
    """
    check_choice("grouping", grouping, GROUPINGS)
    values = values if grouping == "all" else np.sign(values)
    distinct, where = np.unique(values, return_inverse=True)  # NaN is last, and one
    turned = -distinct if sides == "any" else distinct
    occurring = np.unique(np.concatenate([distinct, turned]))
    if grouping == "strict":
        occurring = occurring[occurring != 0]
    options = tuple(dict.fromkeys(map(label, occurring)))
    if len(options) > MOST_OPTIONS:
        raise UsageError(
            f"preferences have {len(options)} different values, too many for options: "
            "group them, for instance by sign"
        )
    place = {name: i for i, name in enumerate(options)}
    mirrored = np.arange(len(options))
    if sides == "any":
        for value in occurring:
            mirrored[place[label(value)]] = place[label(-value)]
    code = np.array([place.get(label(v), -1) for v in distinct], np.int64)
    return options, mirrored, code[where]


_PAIR = ["query_id", "doc_id", "other_doc_id"]


@dataclass(frozen=True)
class Votes:
    """Votes on pairs of documents.

    Attributes:
        pairs: query_id, doc_id (A) and other_doc_id (B) of each pair, ascending.
        options: Options of a vote, from the strongest for B to the strongest for A.
        mirrored: The option that each becomes when A and B are exchanged.
        judges: Names of the judges, ascending.
        pair: Number of the pair of each vote.
        option: Number of the option of each vote.
        sign: 1 for A, -1 for B, 0 for neither.
        judge: Number of the judge of each vote; -1 if no judge is named.
        weight: Number of equal votes that a row counts as; 1 for a named judge.
        notes: Lines on judgments that were left out.
    """

    pairs: pd.DataFrame
    options: tuple[str, ...]
    mirrored: Int[np.ndarray, " options"]
    judges: tuple[str, ...]
    pair: Int[np.ndarray, " votes"]
    option: Int[np.ndarray, " votes"]
    sign: Int64[np.ndarray, " votes"]
    judge: Int[np.ndarray, " votes"]
    weight: Float64[np.ndarray, " votes"]
    notes: tuple[str, ...]

    def counts(self) -> Int64[np.ndarray, "pairs options"]:
        """Count the votes on each pair by option."""
        shape = len(self.pairs), len(self.options)
        cell = self.pair * shape[1] + self.option
        # Sums of whole numbers below 2^53 are exact in float64.
        sums = np.bincount(cell, self.weight, shape[0] * shape[1])
        return sums.astype(np.int64).reshape(shape)

    def most(
        self, split: str = "drop"
    ) -> tuple[Int[np.ndarray, " pairs"], Bool[np.ndarray, " pairs"]]:
        """Decide each pair by its most frequent sign: A is better, B is, or a tie.

        Args:
            split: Decision if several signs are the most frequent: none (`drop`), or a
                `tie`.

        Returns:
            Signs, 0 for a tie, and whether each pair is decided.
        """
        cell = self.pair * 3 + self.sign + 1
        n = len(self.pairs)
        counts = np.bincount(cell, self.weight, n * 3).reshape(n, 3)
        option, clear = most_frequent(counts)
        sign = np.where(clear, option - 1, 0)
        return sign, counts.any(axis=1) & (clear | (split == "tie"))


def read_judgments(
    preferences: Any, judges: Sequence[str] | None = None
) -> pd.DataFrame:
    """Read preferences of all judges, or of the named ones.

    Returns:
        Preferences as from `read_preferences`; a DataFrame keeps its column `seconds`.

    Raises:
        DataError: a row is malformed.
        UsageError: an unknown judge.
    """
    table = read_preferences(preferences)
    if isinstance(preferences, pd.DataFrame) and "seconds" in preferences:
        # Rows keep their order: a table is checked, not sorted.
        table["seconds"] = seconds(preferences["seconds"], Origin("preferences"))
    if judges is None:
        return table
    named = sorted(set(table["judge"].dropna())) if "judge" in table else []
    unknown = [repr(judge) for judge in judges if judge not in named]
    if unknown or not judges:
        there = f"there are {', '.join(named)}" if named else "no row names one"
        raise UsageError(f"no judge {', '.join(unknown) or 'is asked for'}; {there}")
    return table[table["judge"].isin(list(judges))].reset_index(drop=True)


def collect(
    preferences: Any,
    *,
    grouping: str = "sign",
    judges: Sequence[str] | None = None,
    sides: str = "any",
    bad: bool = False,
) -> Votes:
    """Collect one vote of each judge on each pair.

    Equal judgments of a pair by one judge are one vote. A judge whose judgments of a
    pair differ has no vote on it. A judgment without a judge is one vote.

    Args:
        preferences: Judgments, as in `read_preferences`.
        grouping: Options to merge: `all` (none), `sign` (A preferred, a tie, B
            preferred), or `strict` (the same, ties left out).
        judges: Judges to count; None counts all.
        sides: `any`: A is the document whose id is first; `given`: the one shown first
            if known, else the one given first; both orders are two pairs.
        bad: Whether judgments that a document is bad count, by implied preferences.

    Raises:
        UsageError: an unknown grouping, judge or side.
        DataError: a row is malformed.
    """
    check_choice("sides", sides, SIDES)
    if bad and sides == "given":
        raise UsageError(
            "preferences that bad documents imply have no sides: use sides any"
        )
    table, notes = _with_bad(read_judgments(preferences, judges), bad)
    if sides == "given":
        table = _first_first(table)
    pairs, pair, value = _number_pairs(table, sides)
    unordered = by_pair(pairs.assign(preference=0.0))[UNORDERED]
    if both := int(unordered.duplicated().sum()):
        notes.append(f"{counted(both, 'pair')} in both orders: each order is a pair")
    options, mirrored, option = encode(value, grouping, sides)
    judge, names = np.full(len(table), -1), []
    if "judge" in table:
        judge, names = pd.factorize(table["judge"], sort=True)
    weight = np.ones(len(table))
    if "weight" in table:
        unnamed = table[judge < 0]
        weight[judge < 0] = whole_weights(unnamed, "agreement of unnamed judges")
    counting = option >= 0
    if not counting.all():
        n = counted(int((~counting).sum()), "judgment")
        notes.append(f"left out: {n} of an option that is in no group")
    counting, clashes = _once(pair, judge, option, counting)
    if clashes:
        n = counted(clashes, "time")
        notes.append(f"left out: judgments by which a judge contradicts himself, {n}")
    columns = pair, option, np.nan_to_num(np.sign(value)).astype(np.int64)
    order = np.lexsort((option, judge, pair))
    votes = (x[order[counting[order]]] for x in (*columns, judge, weight))
    names = tuple(map(str, names))
    return Votes(pairs, options, mirrored, names, *votes, notes=tuple(notes))


def _with_bad(table: pd.DataFrame, bad: bool) -> tuple[pd.DataFrame, list[str]]:
    """Replace judgments that a document is bad by implied ones, or leave them out.

    Returns:
        Judgments of pairs, and notes on judgments that were left out.
    """
    alone = table["other_doc_id"].isna()
    if bad:
        return pd.concat([table[~alone], _implied(table)], ignore_index=True), []
    if not alone.any():
        return table, []
    note = f"left out: {counted(int(alone.sum()), 'judgment')} that a document is bad"
    return table[~alone].reset_index(drop=True), [note]


def _first_first(table: pd.DataFrame) -> pd.DataFrame:
    """Put the document shown first, if known, in the place of doc_id."""
    turned = shown_first(table) < 0
    doc, other = table["doc_id"], table["other_doc_id"]
    return table.assign(
        doc_id=doc.where(~turned, other),
        other_doc_id=other.where(~turned, doc),
        preference=table["preference"].where(~turned, -table["preference"]),
    )


def _number_pairs(
    table: pd.DataFrame, sides: str
) -> tuple[pd.DataFrame, Int[np.ndarray, " rows"], Float64[np.ndarray, " rows"]]:
    """Find the pair of each row, and its preference for the first of the pair."""
    votes, value = by_pair(table), table["preference"].to_numpy(np.float64)
    if sides == "given":  # of two orders of a pair, the low document first
        keys, pairs = [*UNORDERED, -votes["turn"]], table[_PAIR]
    else:
        keys, pairs = UNORDERED, votes[UNORDERED].set_axis(_PAIR, axis=1)
        value = value * votes["turn"].to_numpy()
    pair = votes.groupby(keys, sort=True).ngroup().to_numpy()
    first = np.unique(pair, return_index=True)[1]
    pairs = pairs.iloc[first].reset_index(drop=True)
    return pairs, pair, value + 0.0  # and no negative zero


def _once(
    pair: Int[np.ndarray, " rows"],
    judge: Int[np.ndarray, " rows"],
    option: Int[np.ndarray, " rows"],
    counting: Bool[np.ndarray, " rows"],
) -> tuple[Bool[np.ndarray, " rows"], int]:
    """Keep one vote of each judge on each pair; count pairs with unlike votes."""
    rows = np.flatnonzero(counting & (judge >= 0))
    votes = pd.DataFrame({"pair": pair[rows], "judge": judge[rows], "o": option[rows]})
    options = votes.groupby(["pair", "judge"])["o"]
    clash = (options.transform("min") != options.transform("max")).to_numpy()
    repeated = votes.duplicated(["pair", "judge"]).to_numpy()
    counting = counting.copy()
    counting[rows[clash | repeated]] = False
    return counting, int((clash & ~repeated).sum())


def _implied(table: pd.DataFrame) -> pd.DataFrame:
    """List preferences that a judge implies by finding documents bad.

    For pairs not judged, each other document that the judge saw for the query is
    preferred to a bad one; of two bad documents both are bad (preference NaN)
    [Carterette et al. 2008, 3.1, 5.2]. Rows without a judge count as one judge's here.
    """
    columns = [*_PAIR, "preference", *(["judge"] if "judge" in table else [])]
    judge = table["judge"].fillna("") if "judge" in table else ""
    table = table.assign(judge=judge)
    key = table.groupby(["query_id", "judge"]).ngroup()
    table = table[key.isin(key[table["other_doc_id"].isna()])]
    rows = []
    for (query, who), seen in table.groupby(["query_id", "judge"]):
        bad = set(seen["doc_id"][seen["other_doc_id"].isna()])
        docs = sorted({*seen["doc_id"], *seen["other_doc_id"].dropna()})
        judged = set(zip(seen["doc_id"], seen["other_doc_id"], strict=True))
        for worse in sorted(bad):
            for better in docs:
                if better == worse or judged & {(better, worse), (worse, better)}:
                    continue
                if better not in bad:
                    rows.append((query, better, worse, 1.0, who or None))
                elif worse < better:
                    rows.append((query, worse, better, nan, who or None))
    frame = pd.DataFrame([row[: len(columns)] for row in rows], columns=columns)
    return frame.astype({name: "str" for name in _PAIR})
