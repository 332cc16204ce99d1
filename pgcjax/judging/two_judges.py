"""Two judges, or two versions of one: agreement, and differences in bias."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp, log, nan, sqrt
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Int

from pgcjax.errors import DataError, Progress, UsageError, counted, listed
from pgcjax.io.result import Result
from pgcjax.io.votes.double import FLIPPED, double_votes
from pgcjax.io.votes.read import read_preferences
from pgcjax.judging.audit import agreement, first_odds, length_odds, votes_by_pair
from pgcjax.judging.contingency import PLACE
from pgcjax.judging.cycles import FEWEST_QUERIES
from pgcjax.judging.intervals import FEWEST, Finding, not_asked, share_of
from pgcjax.judging.majority import majority
from pgcjax.judging.models import strengths
from pgcjax.judging.pairs import UNORDERED, by_pair
from pgcjax.judging.votes import read_judgments
from pgcjax.later import stats

_COLUMNS = ["statistic", "a", "b", "estimate", "low", "high", "p", "count", "verdict"]
_BLOCKS = 50  # most blocks of clusters, which are left out in turn


@dataclass(frozen=True, kw_only=True)
class JudgeComparison(Result):
    """Agreement and differences of two judges on the pairs that both judged.

    Attributes:
        table: A row for each statistic: statistic, a and b (its value for each judge,
            if it has one), estimate, low, high (95 % interval), p (of no difference),
            count (of pairs, documents or queries) and verdict.
        judges: Names of both judges.
        answers: Number of pairs with the row's answer by the first judge and the
            column's by the second.
        pairs: Pairs that they decide in opposite ways: query_id, doc_id (which the
            first judge prefers), other_doc_id; queries with most of them first.
        queries: query_id, pairs, agree, opposite and, if documents belong to one query,
            tau; queries with the most opposite decisions first.
        documents: query_id (if documents belong to one query), doc_id and for each
            judge strength (Bradley-Terry) and rank; largest differences first.
    """

    judges: tuple[str, str]
    answers: pd.DataFrame
    pairs: pd.DataFrame
    queries: pd.DataFrame
    documents: pd.DataFrame


def compare(
    a: Any,
    b: Any = None,
    *,
    judges: Sequence[str] | None = None,
    names: Sequence[str] | None = None,
    before: Any = None,
    lengths: Any = None,
    progress: Progress | None = None,
) -> JudgeComparison:
    """Compare two judges, or two versions of a judge, on the pairs that both judged.

    Several votes of a side on a pair count as their majority, or as a tie without one.

    Args:
        a: Votes of one judge or panel, as in `read_preferences`.
        b: Votes of the other; None takes both from `a`, by name.
        judges: The judge of `a`, and the judge of `b`. By default, all votes of a side
            count; without `b`, the two judges that `a` names are compared.
        names: Names to print; by default those of `judges`, or A and B.
        before: Earlier votes of the first judge on the same pairs, to test whether its
            agreement with the second has changed (drift).
        lengths: Lengths of documents, as in `audit`.
        progress: Called with `("comparing judges", done, total)`.

    Source: intervals by leaving out queries (jackknife), or pairs if there are fewer
    than 10 queries; τ_b of Kendall 1945.

    Raises:
        UsageError: an unknown judge, or not two judges. DataError: a row is malformed,
            or no pair was judged by both.
    """
    judges, sources = _sources(a, b, judges)
    called = tuple(names or judges or ("A", "B"))
    if len(called) != 2 or called[0] == called[1]:
        raise UsageError(f"names: expected two different ones, found {[*called]}")
    who = judges or (None, None)
    tables = [_compared(s, j) for s, j in zip(sources, who, strict=True)]
    if before is not None:
        earlier = read_preferences(before)
        named = "judge" in earlier and bool(earlier["judge"].notna().any())
        tables.append(_compared(earlier, who[0] if named else None))
    decided, shared = _shared(tables, called)
    cluster = _clusters(shared.index.to_frame(index=False))
    documents, taus, tau = _orders(shared)
    queries = _by_query(shared, taus)
    sides = [_Side(votes_by_pair(t, lengths), double_votes(t)) for t in tables[:2]]
    rows = [*_agreement(shared, cluster, called), tau]
    rows += _differences(sides, called, progress)
    rows += [_drift(shared, cluster)] if before is not None else []
    return JudgeComparison(
        pd.DataFrame(rows, columns=_COLUMNS),
        {"judges": [*(judges or [])], "names": [*called]},
        tuple(_notes(decided, queries, called)),
        judges=called,
        answers=_answers(shared),
        pairs=_opposite(shared, queries),
        queries=queries,
        documents=documents,
    )


def _sources(
    a: Any, b: Any, judges: Sequence[str] | None
) -> tuple[tuple[str, str] | None, list[pd.DataFrame]]:
    """Read both sides, and find the names of the judges."""
    first = read_preferences(a)
    if judges is None and b is None:
        judges = sorted({*first["judge"].dropna()} if "judge" in first else ())
    if judges is not None and len(judges) != 2:
        there = listed(judges, 8) or "no row names one"
        raise UsageError(
            f"expected two judges, found {len(judges)} ({there}): name two "
            "(--judge A --judge B), or give the votes of each in a file"
        )
    second = first if b is None else read_preferences(b)
    return (judges[0], judges[1]) if judges else None, [first, second]


def _compared(votes: Any, judge: str | None) -> pd.DataFrame:
    """Return the votes of a judge, or all, on pairs of documents."""
    table = read_judgments(votes, None if judge is None else [judge])
    return table[table["other_doc_id"].notna()].reset_index(drop=True)


def _shared(
    tables: list[pd.DataFrame], names: tuple[str, ...]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return decisions on all pairs, a column for each table; and on shared pairs."""
    columns = {side: _decided(table) for side, table in enumerate(tables)}
    decided = pd.concat(columns, axis=1, join="outer")
    shared = decided[decided[[0, 1]].notna().all(axis=1)]
    if shared.empty:
        raise DataError(
            f"{names[0]} and {names[1]} have no judged pair in common",
            where="judgments",
            mend="Compare judges of the same pairs; query and document ids have to be "
            "the same in both files.",
        )
    return decided, shared


def _decided(table: pd.DataFrame) -> pd.Series:
    """Return the majority of each pair: 1 for the low document, -1, or 0 for a tie."""
    return by_pair(majority(table)).set_index(UNORDERED)["sign"]


def _clusters(pairs: pd.DataFrame, among: pd.DataFrame | None = None) -> Any:
    """Number clusters: the pairs of a query, or each pair if queries are few.

    Args:
        pairs: query_id, low and high of the pairs to number.
        among: All pairs, with the same columns, which define the numbers.
    """
    among = pairs if among is None else among
    many = among["query_id"].nunique() >= FEWEST_QUERIES
    keys = UNORDERED[:1] if many else UNORDERED
    clusters = pd.MultiIndex.from_frame(among[keys].drop_duplicates())
    return clusters.get_indexer(pd.MultiIndex.from_frame(pairs[keys]))


def _agreement(
    shared: pd.DataFrame, cluster: Int[np.ndarray, " pairs"], names: tuple[str, ...]
) -> list[tuple]:
    """Compute the share of pairs on which the judges agree, and Cohen's kappa."""
    a, b = (shared[side].to_numpy().astype(np.int64) for side in (0, 1))
    n = np.bincount(cluster) * 1.0
    hits = np.bincount(cluster, a == b)
    cell = 9 * cluster + 3 * PLACE[a] + PLACE[b]
    tables = np.bincount(cell, minlength=9 * len(n)).reshape(-1, 3, 3)
    verdict = f"{int(hits.sum())} of {counted(len(a), 'pair')} alike"
    share = share_of("agreement", hits, n, lambda *_: verdict, "shared pairs")
    kappa = agreement(names[1], tables.sum(axis=0), tables)
    return [_row(share), _row(kappa._replace(probe="kappa"))]


def _row(finding: Finding, a: float = nan, b: float = nan, p: float = nan) -> tuple:
    """Make a row of the table from a finding, its value for each judge, and p."""
    probe, _, *interval, size, verdict = finding
    return (probe, a, b, *interval, p, size, verdict)


def _orders(shared: pd.DataFrame) -> tuple[pd.DataFrame, pd.Series, tuple]:
    """Order the documents of each query by the votes of each judge.

    Documents are systems if they are in two queries or more, on average. Systems get
    one order over all queries.

    Returns:
        Documents as in `JudgeComparison`, tau of each query, and the row of tau.
    """
    pairs = shared.index.to_frame(index=False)
    ends = pd.concat(
        [pairs[["query_id", c]].set_axis([0, 1], axis=1) for c in UNORDERED[1:]]
    )
    one_order = pairs["query_id"].nunique() == 1
    one_order |= len(ends.drop_duplicates()) >= 2 * ends[1].nunique()
    votes = pairs.set_axis(["query_id", "doc_id", "other_doc_id"], axis=1)
    votes = votes.assign(query_id="all") if one_order else votes
    keys = ["query_id", "doc_id"]
    fits = [
        strengths(votes.assign(preference=shared[side].to_numpy())).set_index(keys)
        for side in (0, 1)
    ]
    table = fits[0].add_suffix("_a").join(fits[1].add_suffix("_b"))
    by_query = table.groupby(level=0)
    for side in "ab":
        rank = by_query[f"strength_{side}"].rank("min", ascending=False)
        table[f"rank_{side}"] = rank.astype(np.int64)
    taus = by_query[["strength_a", "strength_b"]].apply(
        lambda t: float(stats.kendalltau(t["strength_a"], t["strength_b"]).statistic)
    )
    moved = (table["rank_a"] - table["rank_b"]).abs().rename("moved")
    order = moved.reset_index().sort_values(
        ["moved", *keys], ascending=[False, True, True]
    )
    documents = table.reset_index().loc[order.index].reset_index(drop=True)
    values = taus.dropna().to_numpy()
    if not len(values):
        finding = not_asked("tau", 0, "a judge prefers no document of any query")
        return documents, taus, _row(finding)
    if one_order:
        finding = Finding("tau", "", float(values[0]), nan, nan, len(table), "")
        return documents.drop(columns="query_id"), taus[:0], _row(finding)
    mean, error, half = float(values.mean()), stats.sem(values), nan
    if len(values) >= FEWEST_QUERIES:
        half = float(stats.t.isf(0.025, len(values) - 1) * error)
    words = f"mean of {counted(len(values), 'query')}"
    finding = Finding("tau", "", mean, mean - half, mean + half, len(values), words)
    return documents, taus, _row(finding)


class _Side(NamedTuple):
    """Votes of a judge, as from `votes_by_pair`, and pairs judged in both orders."""

    votes: pd.DataFrame
    double: pd.DataFrame

    def without(self, block: int) -> "_Side":
        """Leave out a block of clusters, numbered in a column `block`."""
        return _Side(*(t[t["block"] != block] for t in self))


def _ties(side: _Side) -> Finding:
    n = len(side.votes)
    tied = (side.votes["sign"] == 0).to_numpy(float)
    return share_of("ties", tied, np.ones(n), lambda *_: "", "votes")


def _flips(side: _Side) -> Finding:
    flipped = (side.double["kind"] == FLIPPED).to_numpy(float)
    noun = "pairs judged in both orders"
    return share_of("flips", flipped, np.ones(len(flipped)), lambda *_: "", noun)


_DIFFERENCES: dict[str, tuple[Callable[[_Side], Finding], bool, str]] = {
    "ties": (_ties, False, "says tie"),
    "flips": (_flips, False, "flips"),
    "first": (lambda side: first_odds(side.votes), True, "prefers the first"),
    "longer": (lambda side: length_odds(side.votes), True, "prefers longer ones"),
}
"""Statistics of a judge: the function, whether it returns odds, and the habit."""


def _differences(
    sides: list[_Side], names: tuple[str, ...], progress: Progress | None
) -> list[tuple]:
    """Test differences between judges; odds are compared by their ratio.

    Each block of clusters is left out in turn, for all statistics at once (jackknife).
    """
    pairs = pd.concat([side.votes[UNORDERED] for side in sides])
    sides = [
        _Side(*(t.assign(block=_clusters(t[UNORDERED], pairs) % _BLOCKS) for t in side))
        for side in sides
    ]
    findings = {
        name: [statistic(side) for side in sides]
        for name, (statistic, *_) in _DIFFERENCES.items()
    }
    estimated = [
        name
        for name, of_judges in findings.items()
        if not np.isnan([finding.estimate for finding in of_judges]).any()
    ]
    blocks = sorted({*sides[0].votes["block"], *sides[1].votes["block"]})
    left_out: dict[str, list[float]] = {name: [] for name in estimated}
    for done, block in enumerate(blocks if estimated else [], 1):
        rest = [side.without(block) for side in sides]
        for name in estimated:
            statistic = _DIFFERENCES[name][0]
            left_out[name].append(_contrast(name, [statistic(side) for side in rest]))
        if progress:
            progress("comparing judges", done, len(blocks))
    return [
        _difference(name, of_judges, left_out.get(name), names)
        for name, of_judges in findings.items()
    ]


def _contrast(name: str, findings: list[Finding]) -> float:
    """Return the difference of both judges' statistics, or of the logs of odds."""
    a, b = (finding.estimate for finding in findings)
    if not _DIFFERENCES[name][1]:
        return a - b
    return log(a) - log(b) if a > 0 and b > 0 else nan


def _difference(
    name: str,
    findings: list[Finding],
    left_out: list[float] | None,
    names: tuple[str, ...],
) -> tuple:
    """Test whether a statistic differs between judges.

    Args:
        name: Name of the statistic.
        findings: Finding of each judge.
        left_out: Contrast without each of the blocks; None if a judge has no value.
        names: Names of the judges.
    """
    _, odds, habit = _DIFFERENCES[name]
    a, b = (finding.estimate for finding in findings)
    size = min(finding.size for finding in findings)
    for judge, finding in zip(names, findings, strict=True):
        if np.isnan(finding.estimate):
            why = finding.verdict.removeprefix("not asked: ")
            return _row(not_asked(name, size, f"{judge}: {why}"), a, b)
    contrast = _contrast(name, findings)
    if (
        not left_out
        or len(left_out) < 2
        or not np.isfinite([contrast, *left_out]).all()
    ):
        few = "too few votes for an interval of the difference"
        return _row(not_asked(name, size, few), a, b)
    n = len(left_out)
    error = sqrt((n - 1) * float(np.var(left_out)))
    low, high, p = _by_t(contrast, error, n)
    verdict = "no difference seen"
    if low > 0 or high < 0:
        verdict = f"{names[0]} {habit} {'more' if low > 0 else 'less'}"
    interval = [contrast, low, high]
    if odds:
        interval = [exp(x) for x in interval]
    return _row(Finding(name, "", *interval, size, verdict), a, b, p)


def _by_t(estimate: float, error: float, n: int) -> tuple[float, float, float]:
    """Return a 95 % interval, and p of the hypothesis 0, by Student's t: n clusters."""
    half = float(stats.t.isf(0.025, n - 1)) * error
    p = (
        2 * float(stats.t.sf(abs(estimate) / error, n - 1))
        if error
        else float(not estimate)
    )
    return estimate - half, estimate + half, p


def _drift(shared: pd.DataFrame, cluster: Int[np.ndarray, " pairs"]) -> tuple:
    """Test whether the first judge agrees with the second as often as before."""
    judged = shared[2].notna().to_numpy()
    now, other, then = (shared[side].to_numpy()[judged] for side in (0, 1, 2))
    size = len(now)
    if size < FEWEST:
        why = f"{size} pairs with earlier votes, of which {FEWEST} are needed"
        return _row(not_asked("drift", size, why))
    alike, alike_then = now == other, then == other
    change = alike * 1.0 - alike_then
    number = np.unique(cluster[judged], return_inverse=True)[1]
    of_cluster, n = np.bincount(number, change), np.bincount(number)
    mean, clusters = float(change.mean()), len(n)
    residual = of_cluster - mean * n
    error = sqrt(float(residual @ residual) * clusters / max(1, clusters - 1)) / size
    low, high, p = _by_t(mean, error, clusters)
    words = "agrees more than before" if low > 0 else "agrees less than before"
    words = words if low > 0 or high < 0 else "no change seen"
    words += f"; {int((now != then).sum())} of {size} answers changed"
    finding = Finding("drift", "", mean, low, high, size, words)
    return _row(finding, float(alike.mean()), float(alike_then.mean()), p)


def _answers(shared: pd.DataFrame) -> pd.DataFrame:
    """Count answers of both judges, with each pair in both orders."""
    names = ["better", "tie", "worse"]
    signs = [shared[side].to_numpy() for side in (0, 1)]
    a, b = (1 - np.concatenate([sign, -sign]).astype(np.int64) for sign in signs)
    counts = np.bincount(3 * a + b, minlength=9).reshape(3, 3)
    return pd.DataFrame(counts, index=names, columns=names)


def _by_query(shared: pd.DataFrame, taus: pd.Series) -> pd.DataFrame:
    """Count pairs by query; queries where judges differ most come first."""
    marks = pd.DataFrame(
        {
            "pairs": 1,
            "agree": shared[0] == shared[1],
            "opposite": shared[0] * shared[1] < 0,
        }
    )
    table = marks.groupby(level=0).sum().astype(np.int64)
    table = table.assign(tau=taus.reindex(table.index)) if len(taus) else table
    return table.reset_index().sort_values(
        ["opposite", "agree", "query_id"],
        ascending=[False, True, True],
        ignore_index=True,
    )


def _opposite(shared: pd.DataFrame, queries: pd.DataFrame) -> pd.DataFrame:
    """List the pairs that the judges decide in opposite ways."""
    rows = shared[shared[0] * shared[1] < 0]
    pairs = rows.index.to_frame(index=False)
    wins = rows[0].to_numpy() > 0
    pairs["doc_id"] = pairs["low"].where(wins, pairs["high"])
    pairs["other_doc_id"] = pairs["high"].where(wins, pairs["low"])
    place = {query: i for i, query in enumerate(queries["query_id"])}
    order = pairs.assign(place=pairs["query_id"].map(place))
    order = order.sort_values(["place", "low", "high"], ignore_index=True)
    return order[["query_id", "doc_id", "other_doc_id"]]


def _notes(
    decided: pd.DataFrame, queries: pd.DataFrame, names: tuple[str, ...]
) -> list[str]:
    """Write notes on pairs that are decided in opposite ways, or by one judge alone."""
    worst, opposite = queries.iloc[0], int(queries["opposite"].sum())
    pairs, where = counted(int(queries["pairs"].sum()), "shared pair"), ""
    if opposite:
        where = f", most of query {worst['query_id']} ({worst['opposite']})"
    verdict = f"decide {opposite} of {pairs} in opposite ways{where}"
    notes = [f"{names[0]} and {names[1]} {verdict}"]
    judged = decided[[0, 1]].notna()
    alone = decided[~judged.all(axis=1) & judged.any(axis=1)]
    for side, name in enumerate(names):
        if n := int(alone[side].notna().sum()):
            notes.append(f"left out: {counted(n, 'pair')} that {name} alone judged")
    return notes
