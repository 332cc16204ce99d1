"""An audit of judges by their votes: statistics, each with a verdict in words.

A probe computes a statistic of the votes of one judge, or of all judges. `_Judges`
compares each judge with the others.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import exp, isnan, nan, sqrt
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Int64

from pgcjax.errors import DataError, Progress, UsageError, listed
from pgcjax.io.lengths import doublings
from pgcjax.io.result import Result
from pgcjax.io.votes.double import AGREEING, FLIPPED, TIED, double_votes
from pgcjax.judging.contingency import (
    PLACE,
    both_ways,
    kappa,
    most_frequent,
    tables_of_two,
)
from pgcjax.judging.covariates import reading_covariates, shown_first
from pgcjax.judging.cycles import FEWEST_QUERIES, cycles
from pgcjax.judging.intervals import (
    FEWEST,
    Finding,
    Z,
    consistency,
    mostly,
    not_asked,
    odds_words,
    place_odds,
    share_of,
    wilson,
)
from pgcjax.judging.logistic import LogisticFit, fit_votes
from pgcjax.judging.pairs import by_pair
from pgcjax.judging.swayed import Swayed
from pgcjax.judging.votes import read_judgments
from pgcjax.later import stats

ALL = "all judges"

AGREEMENT = {0.0: "none", 0.2: "slight", 0.4: "fair", 0.6: "moderate"}
AGREEMENT |= {0.8: "substantial", 1.0: "almost perfect"}
"""Word for kappa up to each value [Landis and Koch 1977]."""

_COLUMNS = ["judge", "probe", "of", "estimate", "low", "high", "count", "verdict"]
_AT_ODDS = ["judge", "query_id", "aspect", "doc_id", "other_doc_id", "others"]
_AT_ODDS += ["against"]
_PAIR = ["query_id", "aspect", "low", "high"]
_NO_FIRST = "the presentation order is unknown (a column first)"


@dataclass(frozen=True, kw_only=True)
class Audit(Result):
    """Statistics of judges by their votes.

    Attributes:
        table: A row for each judge and probe, and for each pair at odds: judge, probe,
            of, estimate, low, high (95 % interval), count (of votes, pairs or triples
            used) and verdict.
        at_odds: Pairs on which a judge contradicts most of the others: judge,
            query_id, aspect, doc_id (which the judge prefers), other_doc_id, others
            (votes of the others) and against (their votes for the other document).
    """

    at_odds: pd.DataFrame


def audit(
    preferences: Any,
    *,
    lengths: Any = None,
    covariates: Sequence[str] = (),
    families: Mapping[str, str] | None = None,
    people: Sequence[str] = (),
    judges: Sequence[str] | None = None,
    most: int = 10,
    progress: Progress | None = None,
) -> Audit:
    """Audit judges: consistency, effects of place and length, and agreement.

    Probes, for all judges together and, if there are several, for each: `swap` (double
    votes that agree), `first` and `longer` (odds of preferring the document shown
    first, and one twice as long, in one logistic model), `ties`, `refusals`, `repeats`
    (equal answers), `cycles` (of three documents, against a Bradley-Terry judge),
    `agreement` (kappa with most others, most people, and each judge), `drift` (odds of
    agreeing with the others, last vote to first), `covariate` (odds that each adds),
    `self_preference` (odds that a judge adds to its own family).

    Args:
        preferences: Judgments, as in `read_preferences`.
        lengths: Lengths of documents by id; or a table with doc_id, length and
            optionally query_id. None takes the columns length and other_length.
        covariates: Covariates, as in `fit`.
        families: Families of judges and documents, by name; by default all differ.
        people: Judges who are people.
        judges: Judges to audit; None audits all.
        most: Largest number of pairs at odds to list for each judge.
        progress: Called with `("auditing", done, total)` after each judge.

    Raises:
        UsageError: an unknown judge or covariate. DataError: a row is malformed.
    """
    table, refused = _compared(preferences, covariates)
    votes, double = votes_by_pair(table, lengths), double_votes(table)
    named = sorted({*votes["judge"]} - {""})
    _refuse_unknown({*people, *(judges or ())}, named)
    swayed = Swayed(table, covariates, lengths, families)
    of_all = _alone(votes, double, sum(refused.values()))
    rows = [(ALL, *f) for f in chain(of_all, swayed.covariates(np.arange(len(table))))]
    at_odds = [pd.DataFrame(columns=_AT_ODDS)]
    if len(named) > 1:
        others, chosen = _Judges(votes, people), list(judges or named)
        places, doubles = (t.groupby("judge").indices for t in (votes, double))
        for done, judge in enumerate(chosen, 1):
            double_of_judge = double.iloc[doubles.get(judge, [])]
            of_judge = np.asarray(places[judge])
            alone = _alone(votes.iloc[of_judge], double_of_judge, refused.get(judge, 0))
            fitted = swayed.covariates(of_judge), swayed.own_answers(judge)
            rows += [(judge, *f) for f in chain(alone, *fitted, others.compare(judge))]
            at_odds.append(others.at_odds(judge, most))
            if progress:
                progress("auditing", done, len(chosen))
    odds = pd.concat(at_odds[1:] or at_odds, ignore_index=True)
    rows += [(row.judge, *_contradicted(row)) for row in odds.itertuples()]
    about = {"judges": [*(judges or named)], "people": [*people], "most": most}
    about |= {"covariates": [*covariates]} if covariates else {}
    return Audit(pd.DataFrame(rows, columns=_COLUMNS), about, at_odds=odds)


def _compared(
    preferences: Any, covariates: Sequence[str]
) -> tuple[pd.DataFrame, dict[str, int]]:
    """Read judgments of two documents, and count the votes without an answer."""
    with reading_covariates(covariates):
        table = read_judgments(preferences)
    both = table[table["other_doc_id"].notna()].reset_index(drop=True)
    if both.empty:
        raise DataError("compare no two documents", where="preferences")
    return both, table.attrs.get("refused", {})


def _refuse_unknown(judges: set[str], named: list[str]) -> None:
    """Raise a UsageError if no vote names one of the judges."""
    for judge in judges - {*named}:
        there = f"there are {listed(named, 8)}" if named else "no row names one"
        raise UsageError(f"no judge {judge!r}; {there}")


def votes_by_pair(table: pd.DataFrame, lengths: Any) -> pd.DataFrame:
    """Number votes by pair; signs and covariates refer to the pair's low document."""
    votes = by_pair(table)
    for name in ("judge", "aspect"):
        votes[name] = table[name].fillna("").to_numpy() if name in table else ""
    votes["longer"] = doublings(table, lengths) * votes["turn"]
    votes["first"] = shown_first(table) * votes["turn"]
    votes["time"] = table["time"].to_numpy(float) if "time" in table else nan
    votes["item"] = votes.groupby(_PAIR, sort=True).ngroup()
    return votes.assign(stratum=votes.groupby(["judge", "item"]).ngroup())


def _alone(
    votes: pd.DataFrame, double: pd.DataFrame, refused: int
) -> Iterator[Finding]:
    """Compute the probes of a judge, or of all together, that compare no judges.

    Args:
        votes: Votes of the judge, as from `votes_by_pair`.
        double: Double votes of the judge, as from `double_votes`.
        refused: Number of votes of the judge without an answer.
    """
    yield _swap(votes, double)
    yield first_odds(votes)
    yield length_odds(votes)
    item, n = votes["item"].to_numpy(), len(votes)
    ties = np.bincount(item, votes["sign"] == 0)
    yield share_of("ties", ties, np.bincount(item) * 1.0, mostly("ties"), "votes")
    # The pair of a refusal is unknown, so each vote is a cluster here.
    refusals = np.r_[np.zeros(n), np.ones(refused)]
    words = mostly("refusals")
    yield share_of("refusals", refusals, np.ones(n + refused), words, "votes")
    yield _repeats(votes)
    yield cycles(votes)


def _swap(votes: pd.DataFrame, double: pd.DataFrame) -> Finding:
    """Return the share of pairs whose answers in both orders agree."""
    if votes["first"].isna().all():
        return not_asked("swap", 0, _NO_FIRST)
    agreed = double["kind"].isin([AGREEING, TIED]) * 1.0
    pairs = agreed.groupby([double[c] for c in ("query_id", "low", "high")], sort=True)
    hits, n = pairs.sum().to_numpy(float), pairs.size().to_numpy(float)
    finding = share_of("swap", hits, n, consistency, "pairs judged in both orders")
    if finding.size >= FEWEST:
        flips = double[double["kind"] == FLIPPED]
        first = int((flips["to"] == "first").sum())
        more = f"; of {len(double)} pairs {len(flips)} flipped, {first} to the first"
        if len(shown := _showings(votes)) > len(double):
            flipped = int((shown.prod(axis=1) < 0).sum())
            more += f"; of {len(shown)} showings {flipped} flipped"
        finding = finding._replace(verdict=finding.verdict + more)
    return finding


def _showings(votes: pd.DataFrame) -> pd.DataFrame:
    """Match a judge's k-th answers to a pair in both orders, and return their signs."""
    votes = votes[votes["first"].notna()]
    votes = votes.assign(k=votes.groupby(["stratum", "first"]).cumcount())
    both = votes.pivot(index=["stratum", "k"], columns="first", values="sign")
    return both.reindex(columns=[1.0, -1.0]).dropna()


def first_odds(votes: pd.DataFrame) -> Finding:
    """Return the odds of preferring the first document, from pairs in both orders."""
    if votes["first"].isna().all():
        return not_asked("first", 0, _NO_FIRST)
    columns = (votes[c].to_numpy() for c in ("stratum", "first", "sign"))
    odds, low, high, pairs = place_odds(*columns)
    if pairs < FEWEST:
        why = (
            f"{pairs} pairs decided in both orders, of which {FEWEST} are needed, "
            "because better documents may have been shown first"
        )
        return not_asked("first", pairs, why)
    if isnan(odds):
        return not_asked("first", pairs, "no answer depends on the place")
    verdict = odds_words(low, high, ("prefers the first", "prefers the second"))
    return Finding("first", "", odds, low, high, pairs, verdict)


def length_odds(votes: pd.DataFrame) -> Finding:
    """Return the odds of preferring a document twice as long.

    Args:
        votes: A row for each vote: query_id, low, high, sign, first and longer.
    """
    votes = votes[votes["sign"] != 0]
    n, length, first = len(votes), votes["longer"].to_numpy(), votes["first"].to_numpy()
    if not n or np.isnan(length).any():
        why = "some lengths are unknown (--lengths FILE)"
        return not_asked("longer", n, why)
    if n < FEWEST:
        return not_asked("longer", n, f"{n} votes, of which {FEWEST} are needed")
    if not length.any():
        return not_asked("longer", n, "all documents have the same length")
    columns = [length]
    if not np.isnan(first).any() and first.any():
        columns.append(first)
    # Signs refer to the low document, an arbitrary choice: no constant is needed.
    won = (votes["sign"].to_numpy() + 1) / 2
    cluster = pd.factorize(votes["query_id"])[0]
    if cluster.max() + 1 < FEWEST_QUERIES:
        ends = [votes[["query_id", c]].set_axis(["q", "d"], axis=1) for c in _PAIR[2:]]
        docs = pd.concat(ends).groupby(["q", "d"], sort=False).ngroup().to_numpy()
        cluster = docs.reshape(2, -1).T
        if (there := int(cluster.max()) + 1) < FEWEST:
            why = f"{there} documents, of which {FEWEST} are needed"
            return not_asked("longer", n, why)
    fit = fit_votes(np.stack(columns).T, won, cluster)
    if not fit.converged:
        return not_asked("longer", n, "place or length predicts every vote")
    words = "prefers longer ones", "prefers shorter ones"
    return _odds_of("longer", fit, 0, n, words)


def _odds_of(
    probe: str, fit: LogisticFit, column: int, n: int, words: tuple[str, str]
) -> Finding:
    """Return the odds from a column of a model, and whether they are large."""
    beta, error = fit.beta[column], fit.error[column]
    ends = np.clip([beta, beta - fit.z * error, beta + fit.z * error], -700, 700)
    odds, low, high = map(exp, ends.tolist())
    return Finding(probe, "", odds, low, high, n, odds_words(low, high, words))


def _repeats(votes: pd.DataFrame) -> Finding:
    """Return the share of equal ones among pairs of answers to the same question."""
    question = ["judge", "item", "shown"]
    answers = votes.assign(shown=votes["first"].fillna(0.0))
    answers = answers.groupby([*question, "sign"]).size()
    alike, pairs = (
        (n * (n - 1) // 2).groupby(level="item").sum().to_numpy(np.float64)
        for n in (answers, answers.groupby(level=question).sum())
    )
    if (votes["judge"] == "").any():
        return not_asked("repeats", int(pairs.sum()), "votes name no judge")
    return share_of("repeats", alike, pairs, consistency, "pairs of equal questions")


class _Judges:
    """One vote of each judge on each pair, to compare a judge with the others.

    Tables of decisions have a row for each judge and pair: `item`, the number of the
    pair; `place`, 0 for its low document, 1 for its high one, 2 for a tie; and `time`.
    """

    def __init__(self, votes: pd.DataFrame, people: Sequence[str]):
        named = votes[votes["judge"] != ""]
        decisions = named.groupby(["judge", "item"], sort=True, as_index=False).agg(
            {"sign": "sum", "time": "mean"}
        )
        sign = np.sign(decisions["sign"].to_numpy()).astype(np.int64)
        decisions["place"] = PLACE[sign]
        self._decisions = dict(iter(decisions.groupby("judge")))
        self._pairs = votes.drop_duplicates("item").set_index("item").sort_index()
        self._people = people
        self._counts = self._count(decisions)
        self._of_people = self._count(decisions[decisions["judge"].isin(list(people))])
        number, self._names = pd.factorize(decisions["judge"], sort=True)
        self._tables: dict[str, dict[str, np.ndarray]] = {n: {} for n in self._names}
        item, place = decisions["item"].to_numpy(), decisions["place"].to_numpy()
        for a, b, table in tables_of_two(item, number, place, 3):
            first, second = self._names[a], self._names[b]
            self._tables[first][second], self._tables[second][first] = table, table.T

    def _count(self, decisions: pd.DataFrame) -> Int64[np.ndarray, "items 3"]:
        """Count the decisions on each pair by place."""
        cell = decisions["item"].to_numpy() * 3 + decisions["place"].to_numpy()
        return np.bincount(cell, minlength=3 * len(self._pairs)).reshape(-1, 3)

    def compare(self, judge: str) -> Iterator[Finding]:
        """Measure agreement with others, with people, with each judge, and drift."""
        decisions = self._decisions[judge]
        others = self._others(decisions, self._counts)
        yield self._agreement("the others", decisions, others)
        if self._people:
            people = self._of_people[decisions["item"]]
            if judge in self._people:
                people = self._others(decisions, self._of_people)
            yield self._agreement("people", decisions, people)
        yield _drift(decisions, others)
        for other in self._names:
            table = self._tables[judge].get(other, np.zeros(0))
            if table.sum() >= FEWEST:
                yield agreement(str(other), table)

    def _others(
        self, decisions: pd.DataFrame, counts: Int64[np.ndarray, "items 3"]
    ) -> Int64[np.ndarray, "pairs 3"]:
        """Count the decisions of other judges on a judge's pairs."""
        others = counts[decisions["item"]]
        others[np.arange(len(decisions)), decisions["place"]] -= 1
        return others

    def _agreement(
        self, of: str, decisions: pd.DataFrame, others: np.ndarray
    ) -> Finding:
        """Measure a judge's agreement with the majority of others, named `of`."""
        judged = others.sum(axis=1) > 0
        cell = 3 * decisions["place"].to_numpy()[judged] + _majority(others[judged])
        return agreement(of, np.bincount(cell, minlength=9).reshape(3, 3))

    def at_odds(self, judge: str, most: int) -> pd.DataFrame:
        """List the pairs on which most others disagree, the worst first."""
        decisions = self._decisions[judge]
        others = self._others(decisions, self._counts)
        place = decisions["place"].to_numpy()
        rows, total = np.arange(len(decisions)), others.sum(axis=1)
        against = others[rows, np.where(place == 0, 1, 0)]
        lead = against - others[rows, np.where(place == 0, 0, 1)]
        # With a single other judge, the probe of agreement suffices.
        contested = np.flatnonzero((place < 2) & (total > 1) & (2 * against > total))
        item = decisions["item"].to_numpy()
        worst_first = np.lexsort((item[contested], -lead[contested]))
        contested = contested[worst_first][:most]
        pairs, for_low = self._pairs.loc[item[contested]], place[contested] == 0
        low, high = (pairs[c].to_numpy(object) for c in ("low", "high"))
        columns = (
            *(judge, pairs["query_id"].to_numpy(object), pairs["aspect"].to_numpy()),
            *(np.where(for_low, low, high), np.where(for_low, high, low)),
            *(total[contested], against[contested]),
        )
        return pd.DataFrame(dict(zip(_AT_ODDS, columns, strict=True)))


def _majority(counts: Int64[np.ndarray, "pairs 3"]) -> Int64[np.ndarray, " pairs"]:
    """Return the place that is most frequent for each pair; a tie if none is."""
    most, alone = most_frequent(counts)
    return np.where(alone, most, 2)


def _drift(decisions: pd.DataFrame, others: np.ndarray) -> Finding:
    """Return the odds of agreeing with the others, for the last vote to the first."""
    time, place = decisions["time"].to_numpy(), decisions["place"].to_numpy()
    timed = ~np.isnan(time)
    if not timed.any():
        return not_asked("drift", 0, "votes have no time (a column time)")
    most = _majority(others)
    decided = timed & (place < 2) & (most < 2) & (others.sum(axis=1) > 0)
    if (n := int(decided.sum())) < FEWEST:
        why = f"{n} pairs that others decided, too, of which {FEWEST} are needed"
        return not_asked("drift", n, why)
    when = pd.Series(time[decided]).rank().to_numpy()
    x = (when - when.min()) / max(1.0, float(np.ptp(when)))
    features = np.column_stack([np.ones(n), x])
    fit = fit_votes(features, (place == most)[decided] * 1.0, np.arange(n))
    if not fit.converged:
        return not_asked(
            "drift", n, "time predicts every agreement, or all votes have one time"
        )
    words = "agrees more with time", "agrees less with time"
    return _odds_of("drift", fit, 1, n, words)


def _contradicted(row: Any) -> Finding:
    """Count the other judges who contradict the judge on a pair at odds."""
    aspect = f", {row.aspect}" if row.aspect else ""
    of = f"{row.query_id}{aspect}: {row.doc_id} > {row.other_doc_id}"
    share, verdict = row.against / row.others, f"{row.against} of {row.others} disagree"
    low, high = wilson(row.against, row.others)
    return Finding("at odds", of, share, low, high, row.others, verdict)


def agreement(
    of: str,
    table: Int64[np.ndarray, "3 3"],
    clusters: Int64[np.ndarray, "clusters 3 3"] | None = None,
) -> Finding:
    """Measure agreement beyond chance, whichever document of a pair is first.

    Args:
        of: Name of the other side.
        table: Votes with the row's option by the judge and the column's by the other.
        clusters: Tables of dependent pairs, such as those of a query; by default each
            pair is a cluster.

    Source: Cohen 1960; the standard error by leaving out each cluster (jackknife), on
    the scale of log(1 - κ).
    """
    n = int(table.sum())
    if n < FEWEST:
        why = f"{n} pairs that both judged, of which {FEWEST} are needed"
        return not_asked("agreement", n, why, of)
    value = kappa(both_ways(table))
    if isnan(value):
        return not_asked("agreement", n, "both always give one and the same answer", of)
    if clusters is None:  # leaving out any pair of one cell has the same effect
        cells, left_out = table.ravel(), np.eye(9, dtype=np.int64).reshape(9, 3, 3)
    else:
        cells, left_out = np.ones(len(clusters), np.int64), clusters
    size, without = int(cells.sum()), np.zeros(len(cells))
    for i in np.flatnonzero(cells):
        without[i] = kappa(both_ways(table - left_out[i]))
    without = np.where(np.isnan(without), 1.0, without)
    mean = float(cells @ without) / size
    error = sqrt((size - 1) / size * float(cells @ (without - mean) ** 2))
    z = Z if clusters is None else float(stats.t.isf(0.025, max(1, size - 1)))
    if value < 1:
        # The logarithm of 1 - kappa is closer to normal.
        ratio = exp(z * error / (1 - value))
        low, high = 1 - (1 - value) * ratio, 1 - (1 - value) / ratio
    else:
        both = both_ways(table).sum(axis=0) / (2 * n)
        chance = float(both @ both)
        low, high = (wilson(size, size)[0] - chance) / (1 - chance), 1.0
    word = next(word for most, word in AGREEMENT.items() if value <= most)
    return Finding("agreement", of, value, max(-1.0, low), high, n, word)
