"""What the votes of a judge say of the judge: probes, each with a verdict in words."""

from collections.abc import Iterator, Mapping
from math import exp

import numpy as np
import pandas as pd
from jaxtyping import Float64, Int, Int64, Real

from pgcjax.io.votes.double import AGREEING, FLIPPED, TIED
from pgcjax.judging.audit_cycles import Triples
from pgcjax.judging.audit_shares import (
    FEWEST,
    ODDS,
    Finding,
    consistency,
    mostly,
    none,
    share_of,
)
from pgcjax.judging.logistic import LogisticFit, fit_votes
from pgcjax.judging.place_bias import place_odds

FEWEST_QUERIES = 10
"""From so many on, votes on one query go together; of fewer, those on a document."""


class AuditedVotes:
    """The votes of each judge, counted once for all judges: probes of one alone."""

    def __init__(
        self, votes: pd.DataFrame, double: pd.DataFrame, refused: Mapping[str, int]
    ):
        """Take votes as of `audit`.

        Args:
            votes: with judge, query_id, aspect, low, high, item (a pair of these),
                sign, first and longer.
            double: of `double_votes`.
            refused: how often each judge gave no answer.
        """
        judge, names = pd.factorize(votes["judge"], sort=True)
        self._names = {str(name): i for i, name in enumerate(names)}
        self._rows = _parted(judge, len(names))
        self._item = votes["item"].to_numpy()
        columns = ("sign", "first", "longer")
        self._of = {name: votes[name].to_numpy(float) for name in columns}
        self._stratum = judge * (int(self._item.max(initial=0)) + 1) + self._item
        query = pd.factorize(votes["query_id"])[0]
        docs = pd.factorize(votes[["low", "high"]].to_numpy(object).ravel())[0]
        self._docs = np.column_stack([query, docs.reshape(-1, 2)])
        self._double = double[["judge", "kind", "to", "low", "high", "query_id"]]
        self._shown = showings(self._stratum, self._of["first"], self._of["sign"])
        self._by_judge = double.groupby("judge").indices
        self._refused = refused
        self._repeats = _repeats(judge, self._item, self._of)
        self._triples = Triples(votes, judge)

    def alone(self, judge: str | None = None) -> Iterator[Finding]:
        """Probe a judge by own votes alone; without a name, all of them together."""
        number = None if judge is None else self._names[judge]
        rows = slice(None) if number is None else self._rows[number]
        double, refused = self._double, sum(self._refused.values())
        if judge is not None:
            places = self._by_judge.get(judge, np.zeros(0, np.int64))
            double, refused = double.iloc[places], self._refused.get(judge, 0)
        of = {name: values[rows] for name, values in self._of.items()}
        unknown = bool(np.isnan(of["first"]).all())
        yield _swap(double, self._shown[rows], unknown)
        yield _first(of, self._stratum[rows], unknown)
        yield length_odds(of, self._docs[rows])
        item, n = self._item[rows], len(of["sign"])
        ties = np.bincount(item, of["sign"] == 0)
        yield share_of("ties", ties, np.bincount(item) * 1.0, mostly("ties"), "votes")
        # One row is all that is known of refusals: each is alone.
        answered = np.r_[np.zeros(n), np.ones(refused)]
        words = mostly("refusals")
        yield share_of("refusals", answered, np.ones(n + refused), words, "votes")
        repeats = self._repeats if number is None else self._repeats.loc[[number]]
        if judge == "" or (judge is None and "" in self._names):
            why = "votes name no judge"
            yield none("repeats", "", int(repeats["pairs"].sum()), why)
        else:
            counts = repeats.groupby("item")[["alike", "pairs"]].sum()
            alike, pairs = counts.to_numpy(np.float64).T
            noun = "pairs of equal questions"
            yield share_of("repeats", alike, pairs, consistency, noun)
        yield self._triples.cycles(number)


def _parted(number: np.ndarray, count: int) -> list[np.ndarray]:
    """List the places of each number, from 0 to `count` less 1, in their order."""
    ends = np.cumsum(np.bincount(number, minlength=count))
    return np.split(np.argsort(number, kind="stable"), ends[:-1])


def showings(
    stratum: Int[np.ndarray, " votes"],
    low_first: Float64[np.ndarray, " votes"],
    sign: Real[np.ndarray, " votes"],
) -> Int64[np.ndarray, " votes"]:
    """Match a judge's k-th answers on a pair in either order: showings in both.

    Returns:
        Of each vote with the low document first whose match there is: 1 if both
        prefer what was shown first, or both the second, 2 if not; 0 for other votes.
    """
    recorded = np.flatnonzero(~np.isnan(low_first))
    frame = pd.DataFrame(
        {"stratum": stratum[recorded], "sign": sign[recorded], "at": recorded}
    )
    frame["low"] = low_first[recorded] > 0
    frame["k"] = frame.groupby(["stratum", "low"]).cumcount()
    on = ["stratum", "k"]
    both = frame[frame["low"]].merge(frame[~frame["low"]], on=on, suffixes=("", "_o"))
    result = np.zeros(len(sign), np.int64)
    flipped = both["sign"] * both["sign_o"] < 0
    result[both["at"].to_numpy()] = np.where(flipped, 1, 2)
    return result


def _swap(double: pd.DataFrame, shown: np.ndarray, unknown: bool) -> Finding:
    """Return the share of pairs whose answers in both orders agree."""
    if unknown:
        why = "what was shown first is not known (a column first)"
        return none("swap", "", 0, why)
    agreed = double["kind"].isin([AGREEING, TIED]) * 1.0
    pairs = agreed.groupby([double[c] for c in ("query_id", "low", "high")], sort=True)
    hits, n = pairs.sum().to_numpy(float), pairs.size().to_numpy(float)
    noun = "pairs judged in both orders"
    finding = share_of("swap", hits, n, consistency, noun)
    if finding.size >= FEWEST:
        flips = double[double["kind"] == FLIPPED]
        first = int((flips["to"] == "first").sum())
        more = f"; of {len(double)} pairs {len(flips)} flipped, {first} to the first"
        if (both := int((shown > 0).sum())) > len(double):
            more += f"; of {both} showings {int((shown == 1).sum())} flipped"
        finding = finding._replace(verdict=finding.verdict + more)
    return finding


def _first(of: Mapping[str, np.ndarray], stratum: np.ndarray, unknown: bool) -> Finding:
    """Return the odds of preferring what stands first, by pairs in both orders."""
    if unknown:
        why = "what was shown first is not known (a column first)"
        return none("first", "", 0, why)
    bias = place_odds(stratum, of["first"], of["sign"])
    if bias.pairs < FEWEST:
        why = (
            f"{bias.pairs} pairs decided in both orders, of which {FEWEST} are "
            "needed: else better documents may have been shown first"
        )
        return none("first", "", bias.pairs, why)
    if bias.odds != bias.odds:
        why = "no answer goes with the place"
        return none("first", "", bias.pairs, why)
    words = "prefers the first", "prefers the second"
    return Finding("first", "", *bias, odds_words(bias.low, bias.high, words))


def length_odds(of: Mapping[str, np.ndarray], docs: np.ndarray) -> Finding:
    """Return the odds of preferring what is twice as long.

    Args:
        of: sign, first and longer, of each vote.
        docs: numbers of query, low and high document of each vote.
    """
    decided = of["sign"] != 0
    n, length = int(decided.sum()), of["longer"][decided]
    if not n or np.isnan(length).any():
        return none("longer", "", n, "lengths are not known of all (--lengths FILE)")
    if n < FEWEST:
        return none("longer", "", n, f"{n} votes, of which {FEWEST} are needed")
    if not length.any():
        return none("longer", "", n, "all documents are as long")
    columns, first = [length], of["first"][decided]
    if not np.isnan(first).any() and first.any():
        columns.append(first)
    # Of each pair the low document wins or not: neither needs a constant.
    won = (of["sign"][decided] + 1) / 2
    query, low, high = docs[decided].T
    cluster = pd.factorize(query)[0]
    if cluster.max() + 1 < FEWEST_QUERIES:
        names = [*zip(query, low, strict=True), *zip(query, high, strict=True)]
        cluster = pd.factorize(pd.Index(names))[0].reshape(2, -1).T
        if (there := int(cluster.max()) + 1) < FEWEST:
            why = f"{there} documents, of which {FEWEST} are needed"
            return none("longer", "", n, why)
    fit = fit_votes(np.stack(columns).T, won, cluster)
    if not fit.converged:
        return none("longer", "", n, "place or length tells all votes")
    words = "prefers longer ones", "prefers shorter ones"
    return odds_of("longer", fit, 0, n, words)


def odds_of(
    probe: str, fit: LogisticFit, column: int, n: int, words: tuple[str, str]
) -> Finding:
    """Return the odds that a column of a model makes, and whether they are large."""
    beta, error = fit.beta[column], fit.error[column]
    ends = np.clip([beta, beta - fit.z * error, beta + fit.z * error], -700, 700)
    odds, low, high = map(exp, ends.tolist())
    return Finding(probe, "", odds, low, high, n, odds_words(low, high, words))


def odds_words(low: float, high: float, words: tuple[str, str]) -> str:
    """Return whether odds are large, by their interval."""
    if low > 1 or high < 1:
        verdict = words[0] if low > 1 else words[1]
        return verdict + ("" if low > ODDS or high < 1 / ODDS else " a little, perhaps")
    small = high <= ODDS and low >= 1 / ODDS
    return "no, or hardly" if small else "not seen, and may be large"


def _repeats(
    judge: np.ndarray, item: np.ndarray, of: Mapping[str, np.ndarray]
) -> pd.DataFrame:
    """Count pairs of equal answers, and of answers, to one question, by judge."""
    shown, sign = np.nan_to_num(of["first"]), of["sign"]
    questions = {"judge": judge, "item": item, "shown": shown}
    answers = pd.DataFrame({**questions, "sign": sign}).value_counts(sort=False)
    counts = [
        (n * (n - 1) // 2).groupby(level=["judge", "item"]).sum()
        for n in (answers, answers.groupby(level=[*questions]).sum())
    ]
    table = pd.concat(counts, axis=1, keys=["alike", "pairs"])
    return table.reset_index("item").sort_index()
