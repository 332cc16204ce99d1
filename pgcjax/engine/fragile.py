"""The fewest judgments that overturn an order of runs, between two bounds.

A judgment belongs to one query. So changes of judgments lower the sum of differences by
the sum of their gains in the queries. *Upper bound*: the search scores sets of changes
of each query, first all single ones, then those of a greedy search. Dynamic programming
combines the queries. The engine then scores the changed judgments, as a check. *Lower
bound*: let U(k) bound the gain of k changes of a query. (1) For k up to `exact`, all
sets were scored, and U is the best gain. (2) For more, `reach` bounds the difference: a
PGC score is at most that with the run's own order as the ideal ranking; for ratios of
sums see `ChangedShares`. (3) Any c changes gain at most the largest sum of U(k) with
k's that add up to c, which dynamic programming computes. If it is less than needed, no
c changes overturn the order. While this bound depends on (2), more sets are scored,
until both bounds meet or the limit of work is reached.

Significance by a paired t test is no sum over queries. Let s1 be the sum of differences
d, and s2 the sum of their squares. A difference s1 > 0 is not significant if s1 <
sqrt(κ s2). sqrt(x) is the minimum of (λx + 1/λ) / 2 over λ. So the sum of d - λκd²/2
has to fall below 1 / (2λ) for each λ, and the largest of these lower bounds counts. A
difference is significant if this fails for some λ: intervals of λ are relaxed, and the
smallest of their lower bounds counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtr, stdtrit

from pgcjax.engine.changed_scores import (
    HIGH,
    LOW,
    ChangedQuery,
    ChangedScores,
    ChangedShares,
    ChangedVotes,
    Relaxation,
)
from pgcjax.engine.explainer import Explainer, no_run
from pgcjax.engine.request import runs_of
from pgcjax.engine.variant_batch import VariantGraphs, check_variants
from pgcjax.engine.verify import TOLERANCE
from pgcjax.errors import (
    Progress,
    UsageError,
    VerificationError,
    check_choice,
    counted,
)
from pgcjax.io.runs import Options
from pgcjax.judging.choices import CHANGES, OVERTURNED
from pgcjax.judging.fragile_strengths import fragile_strengths
from pgcjax.judging.fragility import Fragility, allocate, in_words
from pgcjax.judging.tally import PAIR
from pgcjax.judging.variants import Variants, alike, turned
from pgcjax.later import pd
from pgcjax.measures.preference import OfPreferences
from pgcjax.stats.tests import check_alpha

WORK = 2e8
"""Limit of work for a pair of runs: sets times documents squared; some seconds."""

GREEDY = 4
"""Factor by which a greedy search may exceed the limit of work, to find some set."""

MOST = 200
"""Most changes of a set."""

_OTHERS = "; or of ppref, rpref, fpref, wpref, prefs_simp, counts of preferences"
_NOISE = 1e-12  # rounding error of the mean of differences
_GRID = 9  # values of λ in relaxations of a test


def fragile(
    runs: Any = None,
    *,
    preferences: Any,
    qrels: Any = None,
    measure: str = "PGC",
    run_id: str | None = None,
    other: str | None = None,
    change: str = CHANGES[0],
    overturn: str = OVERTURNED[0],
    alpha: float = 0.05,
    prior: float | None = None,
    order: str = "trec",
    progress: Progress | None = None,
) -> Fragility:
    """Bound the fewest judgments, or queries, whose change overturns an order of runs.

    Args:
        runs: Input or result of `read_runs`. If None, the preferences are votes on
            systems, which Bradley and Terry's model orders.
        preferences: Judgments that may change.
        qrels: Grades, for `PGC(graph=combined)`.
        measure: PGC of preferences, or ppref, rpref, fpref, wpref, prefs_simp,
            `prefs_num_prefs_ful(mean=arithmetic)`; any measure with `change=queries`.
        run_id: Run, or system, that is ahead; by default the best one.
        other: Run, or system, to overtake it; by default any that is behind.
        change: `remove` or `reverse` judgments, or leave out `queries`.
        overturn: Overturn the `order`, or the `significance` of the difference.
        alpha: Level of the paired t test of significance.
        prior: Standard deviation of the strengths of systems; 2.5 if None.
        order: Order of documents in a run: `trec`, `clarke` or `rank`.
        progress: Called with `("runs", done, total)`.

    Raises:
        UsageError: an argument is wrong, or there is no order to overturn.
        DataError: the data cannot be scored.
    """
    check_choice("change", change, (*CHANGES, "queries"))
    check_choice("overturn", overturn, OVERTURNED)
    check_alpha(alpha)
    if overturn == OVERTURNED[1] and (runs is None or change == "queries"):
        raise UsageError(
            "overturn='significance' works only with runs, by their judgments"
        )
    if runs is None:
        if change == "queries":
            raise UsageError("change='queries' works only with runs")
        return fragile_strengths(preferences, run_id, other, change, prior)
    judgments = {"preferences": preferences, "qrels": qrels}
    explainer = Explainer(judgments=judgments, measure=measure, order=order)
    names = explainer.read(runs_of(runs, order, Options()), progress)
    means = explainer.means()
    pairs = _pairs(means, names, run_id, other, overturn)
    if change == "queries":
        return _of_queries(explainer, pairs)
    return _of_judgments(explainer, pairs, change, overturn, alpha, progress)


class Asked(NamedTuple):
    """Conclusion to overturn.

    Attributes:
        overturned: Returns whether differences by query overturn the conclusion.
        relaxations: Necessary conditions of this, which are sums over queries.
        every: Whether all relaxations have to be fulfilled; else one of them.
    """

    overturned: Callable[[np.ndarray], bool]
    relaxations: list[Relaxation]
    every: bool


class ChangedJudgments:
    """Judgments that may be removed or reversed, one by one.

    Attributes:
        explainer: Runs and judgments.
        change: One of `CHANGES`.
        votes: Votes of the judgments, followed by the votes of reversed judgments.
    """

    def __init__(self, explainer: Explainer, change: str):
        """Group equal judgments.

        Raises:
            UsageError: scores of the measure cannot be computed with changed judgments,
                or a row stands for several judgments that count in part.
        """
        member = explainer.member
        self.explainer, self.change = explainer, change
        table = explainer.request.tables["preferences"].reset_index(drop=True)
        self._shares = is_ratio(member.measure, table)
        if not self._shares:
            check_variants(member, f"{change} judgments", _OTHERS)
        self.votes = turned(table)[0]
        self._count = len(table)
        if not self._shares:
            self._graphs = VariantGraphs(member, self.votes)
        several = self.votes.judgments[: len(table)] > 1
        # For each query, the rows of each group; a row is repeated for each judgment.
        self._items = {
            query: [np.repeat(rows, self.votes.judgments[rows]) for rows in groups]
            for query, groups in alike(table).items()
        }
        parts = self.votes.weight % 1 != 0
        if several.any() and (parts.any() or table.get("probability") is not None):
            raise UsageError(
                "some rows stand for several judgments that count in part: give each "
                "judgment a row"
            )

    def items(self, query: str) -> list[np.ndarray]:
        """List the rows of each group of a query, repeated for each judgment."""
        return self._items.get(query, [])

    def searched(self, runs: Sequence[str], remain: int = 0) -> list[ChangedScores]:
        """Prepare the search in each query for two runs.

        Args:
            runs: Names of the two runs.
            remain: Least number of judgments of a query that remain unchanged.
        """
        out = []
        for query in self.explainer.query_ids:
            rankings = [self.explainer.ranking(run, query) for run in runs]
            votes = self._changed_votes(query)
            if self._shares:
                rows = [x[0] for x in self.items(query)]
                pairs = self._preferred(self.votes.table.iloc[rows])
                member = self.explainer.member
                changed = ChangedShares(member, query, votes, pairs, rankings)
            else:
                graphs = self._graphs.of_query(query)
                changed = ChangedQuery(graphs, query, votes, rankings)
            out.append(ChangedScores(changed, remain))
        return out

    def _preferred(self, rows: pd.DataFrame) -> np.ndarray:
        """Return the preferred document and the other document of each row."""
        docs = rows[["doc_id", "other_doc_id"]].to_numpy(object).T
        return np.where(rows["preference"] < 0, docs[::-1], docs)

    def _changed_votes(self, query: str) -> ChangedVotes:
        """Find the votes of a query that each change counts once less, or once more."""
        items = self.items(query)
        rows = self.votes.rows.get(query, np.zeros(0, int))
        place = np.zeros(2 * self._count, int)
        place[rows] = np.arange(len(rows))
        times = np.array([*map(len, items)], int)
        fewer = np.zeros((len(items), times.max(initial=0)), int)
        for change, rows_of_group in zip(fewer, items, strict=True):
            change[: len(rows_of_group)] = rows_of_group
        more = place[fewer + self._count] if self.change == CHANGES[1] else None
        counts = np.where(rows < self._count, self.votes.judgments[rows], 0)
        return ChangedVotes(counts, times, place[fewer], more)

    def chosen(self, query: str, changes: np.ndarray) -> np.ndarray:
        """Return the rows of the judgments of a set of changes."""
        rows_left = [iter(rows) for rows in self.items(query)]
        return np.array([next(rows_left[change]) for change in changes.tolist()], int)

    @property
    def total(self) -> int:
        """Number of judgments that can be changed."""
        return sum(len(rows) for items in self._items.values() for rows in items)

    @property
    def fewest(self) -> int:
        """Fewest judgments of a query, with ties."""
        table = self.votes.table[: self._count]
        number = pd.Series(self.votes.judgments[: self._count])
        return int(number.groupby(table["query_id"].to_numpy()).sum().min())

    def table(self, search: Search) -> pd.DataFrame:
        """List the judgments that were found, the largest gain per judgment first."""
        names, parts = self.explainer.query_ids, []
        for name, scores, changes in zip(
            names, search.queries, search.sets, strict=True
        ):
            rows = self.votes.table.iloc[self.chosen(name, changes)]
            docs = dict(zip(PAIR[1:], self._preferred(rows), strict=True))
            columns = {"query_id": name, **docs}
            if "judge" in rows:
                columns["judge"] = rows["judge"]
            after = scores.query.differences(changes[None])[0]
            fall = (scores.query.difference - after) / len(names)
            each = fall / max(1, len(changes))
            parts.append(pd.DataFrame(columns, rows.index).assign(fall=fall, each=each))
        table = pd.concat(parts).sort_values("each", ascending=False, kind="stable")
        return table.drop(columns="each").reset_index(drop=True)

    def check(self, first: str, other: str, search: Search) -> None:
        """Score the runs by the changed judgments, and compare the search with that.

        Raises:
            VerificationError: scores differ, or the conclusion is not overturned.
        """
        pairs = zip(search.queries, search.sets, strict=True)
        d = [scores.query.differences(changes[None])[0] for scores, changes in pairs]
        expected = pd.Series(d, self.explainer.query_ids)
        new = self.replayed(search).differences(first, other)
        new = new.reindex(expected.index).fillna(0.0)
        # Weights that are fractions may be added up in another order.
        rounding = TOLERANCE if self._shares else 0
        if ((new - expected).abs() > rounding).any() or not search.question.overturned(
            new.to_numpy()
        ):
            raise VerificationError(
                f"query {(new != expected).idxmax()!r}: the engine scores changed "
                "judgments differently. This is a defect of pgcjax: please report it "
                "with the data"
            )

    def replayed(self, search: Search) -> Explainer:
        """Return an explainer of the same runs by the changed judgments."""
        pairs = zip(search.queries, search.sets, strict=True)
        counts = [scores.query.votes.after(changes[None]) for scores, changes in pairs]
        by_query = dict(zip(self.explainer.query_ids, counts, strict=True))
        changed = Variants([0], lambda query, _: by_query[query])
        return self.explainer.with_preferences(self.votes.of_variant(changed, 0))


def is_ratio(measure: Any, preferences: pd.DataFrame) -> bool:
    """Whether a measure is a ratio of sums over judgments.

    Raises:
        UsageError: some judgments imply others, so the sums are not over judgments.
    """
    none = np.ones(0)
    if not isinstance(measure, OfPreferences) or measure.terms(none, none) is None:
        return False
    if measure.closure or measure.bad and preferences["other_doc_id"].isna().any():
        hint = "set bad=false, closure=false"
        raise UsageError(f"{measure}: some judgments imply others: {hint}")
    return "preferences" in measure.needs


def asked_order(d: np.ndarray) -> Asked:
    """Return the conclusion that an order holds: a sum below 0 overturns it."""
    noise = _NOISE * max(1, len(d))
    relaxation = Relaxation(-1.0, 0.0, float(d.sum()) + noise)
    return Asked(lambda new: new.sum() < -noise, [relaxation], True)


def asked_significance(d: np.ndarray, alpha: float) -> Asked:
    """Return the decision of a paired t test as the conclusion to overturn."""
    n = len(d)
    critical = float(stdtrit(n - 1, 1 - alpha / 2))
    # The difference is significant if |sum of d| >= sqrt(kappa * sum of d²).
    kappa = critical**2 * n / (n - 1 + critical**2)

    def significant(new: np.ndarray) -> bool:
        return p_value(new) <= alpha

    spread, squares = np.sqrt(kappa * (d @ d)), float(d @ d)

    def relaxed(side: float, bend: float, sum_needed: float) -> Relaxation:
        """Relax the condition: the sum of side * d + bend * d² is at least this."""
        return Relaxation(side, bend, sum_needed - side * d.sum() - bend * squares)

    if significant(d):
        scales = spread * np.geomspace(0.5, 2, _GRID)  # 1 / λ
        relaxations = [relaxed(-1.0, kappa / (2 * x), -x / 2) for x in scales]
        return Asked(lambda new: not significant(new), relaxations, True)
    ends = [0.0, *(spread * np.geomspace(0.2, 5, _GRID)), np.inf]  # of 1 / λ
    relaxations = [
        relaxed(side, -kappa / (2 * high), low / 2)
        for side in (HIGH, LOW)
        for low, high in zip(ends[:-1], ends[1:], strict=True)
    ]
    return Asked(significant, relaxations, False)


def p_value(d: np.ndarray) -> float:
    """Compute the two-sided p value of a paired t test; 1 if nothing differs."""
    deviation = d.std(ddof=1)
    if deviation <= _NOISE:
        return float(abs(d.mean()) <= _NOISE)
    return float(2 * stdtr(len(d) - 1, -abs(d.mean()) / deviation * np.sqrt(len(d))))


class Search:
    """The search for the fewest changes that overturn a conclusion about two runs.

    Attributes:
        queries: Scores of each query after changes.
        question: The conclusion.
        count: Size of the smallest sets that overturn it; None if none was found.
        sets: Set of changes of each query.
        most: Largest number of changes to search for.
        lower: Proven bound: fewer changes do not overturn the conclusion.
    """

    def __init__(self, queries: list[ChangedScores], question: Asked, most: int):
        """Begin without a set, and with the bound 1."""
        self.queries, self.question = queries, question
        self.count, self.sets = None, [np.zeros(0, int)] * len(queries)
        self.most, self.lower = most, 1

    @property
    def work(self) -> float:
        """Return the work of scoring so far."""
        return sum(scores.work for scores in self.queries)

    def bound(self) -> list[int]:
        """Raise the proven bound; return the changes per query on which it depends."""
        limit = self.most if self.count is None else self.count
        bounds, parts = [], []
        for relaxation in self.question.relaxations:
            gains = [q.gains(relaxation, limit, True) for q in self.queries]
            allocation = allocate(gains, limit)
            # A tie does not overturn the conclusion.
            fewest = allocation.fewest(relaxation.need - _NOISE / 2 * len(gains))
            bounds.append(limit + 1 if fewest is None else fewest)
            parts.append(allocation.parts(min(limit, bounds[-1])))
        best = (np.argmax if self.question.every else np.argmin)(bounds)
        lower = max(1, bounds[best])
        self.lower = max(self.lower, min(lower, limit if self.count else lower))
        return parts[best]

    def try_sets(self, sets: Sequence[tuple[float, np.ndarray]]) -> bool:
        """Keep sets of changes if they overturn the conclusion and are the smallest.

        Args:
            sets: For each query, the difference and the set of changes.

        Returns:
            Whether the sets were kept.
        """
        size = sum(len(changes) for _, changes in sets)
        fewer = self.count is None or size < self.count
        if not fewer or not self.question.overturned(np.array([d for d, _ in sets])):
            return False
        self.count, self.sets = size, [changes for _, changes in sets]
        return True

    def combine(self) -> list[int]:
        """Combine the best sets of queries; return the number of changes per query."""
        limit = self.most if self.count is None else self.count - 1
        last = [0] * len(self.queries)
        single = len(self.question.relaxations) == 1
        for relaxation in self.question.relaxations:
            gains = [q.gains(relaxation, limit, False) for q in self.queries]
            allocation = allocate(gains, limit)
            first = allocation.fewest(relaxation.need) if single else 1
            for size in range(limit + 1 if first is None else first, limit + 1):
                parts = allocation.parts(size)
                pairs = zip(self.queries, parts, strict=True)
                sets = [q.best_set(relaxation, k) for q, k in pairs]
                if self.try_sets(sets):
                    last = parts
                    break
            else:
                last = allocation.parts(limit) if not any(last) else last
        return last

    def greedy(self, side: int, work: float = np.inf) -> None:
        """Add the best single change until the conclusion is overturned."""
        level = [0] * len(self.queries)
        state = [(q.query.difference, np.zeros(0, int)) for q in self.queries]
        after = [q.chain(side, 1) for q in self.queries]
        for _ in range(self.most if self.count is None else self.count - 1):
            gains = [
                side * (new[0] - old[0]) for new, old in zip(after, state, strict=True)
            ]
            best = int(np.argmax(gains))
            if not gains[best] > 0 or self.work > work:
                return
            state[best], level[best] = after[best], level[best] + 1
            if self.try_sets(state):
                return
            after[best] = self.queries[best].chain(side, level[best] + 1)

    def run(self, work: float) -> None:
        """Search until both bounds meet, or the limit of work is reached."""
        self.bound()
        if self.lower > self.most:  # another pair needs fewer, or none can do it
            return
        for scores in self.queries:
            if scores.most:
                scores.enumerate()
        sides = {int(np.sign(x.slope)) for x in self.question.relaxations}
        self.bound()
        for side in sides:
            self.greedy(side, GREEDY * work)
        self.combine()
        while self.lower != self.count and self._refine(work / 2):
            self.combine()
        self._deepen(sides, work)

    def _deepen(self, sides: set[int], work: float) -> None:
        """Extend the sets of queries by one change more than their best sets have."""
        tried: set[tuple[int, int]] = set()
        while self.lower != self.count and self.work < work:
            parts = self.combine()
            rest = {(i, k + 1) for i, k in enumerate(parts)} - tried
            if not rest:
                return
            tried |= rest
            for i, level in rest:
                for side in sides:
                    self.queries[i].chain(side, level)

    def _refine(self, work: float) -> bool:
        """Score all sets of one query on which the proven bound depends."""
        parts = self.bound()
        inexact = [
            scores
            for scores, k in zip(self.queries, parts, strict=True)
            if k > scores.exact and 0 < scores.next_cost() < work - self.work
        ]
        if not inexact or self.lower == self.count:
            return False
        min(inexact, key=ChangedScores.next_cost).enumerate()
        return True


def _pairs(
    means: pd.Series,
    names: Sequence[str],
    run_id: str | None,
    other: str | None,
    overturn: str,
) -> list[tuple[str, str]]:
    """List pairs of the run that is ahead and a run behind it, the nearest first.

    Raises:
        UsageError: a run is unknown, or the two are equal.
    """
    for name in (run_id, other):
        if name is not None and name not in names:
            raise no_run(name, names)
    if len(names) < 2 or (other is not None and run_id == other):
        raise UsageError("expected two runs or more, and two different ones")
    means = means.sort_values(ascending=False, kind="stable")
    first = run_id or next(name for name in means.index if name != other)
    if other is not None:
        pair = first, other
        first, *rest = pair[::-1] if means[other] > means[first] else pair
    else:
        rest = [x for x in means.index if x != first and means[x] <= means[first]]
    if not rest:
        raise UsageError(f"no run is behind {first!r}: name the other run (other)")
    if overturn == OVERTURNED[0] and means[first] - means[rest[0]] <= _NOISE:
        raise UsageError(
            f"{first!r} and {rest[0]!r} have equal means: there is no order to overturn"
        )
    return [(first, name) for name in rest]


def _of_queries(explainer: Explainer, pairs: list[tuple[str, str]]) -> Fragility:
    """Leave out the queries with the largest differences, which is optimal."""
    total = len(explainer.query_ids)
    differences = [explainer.difference(*pair) for pair in pairs]
    differences = [x for x in differences if x.decisive] or differences[:1]
    best = min(differences, key=lambda x: len(x.decisive) or total)
    table = best.table[best.table["query_id"].isin(best.decisive)]
    table = table[["query_id", "difference"]].reset_index(drop=True)
    first, other = best.run_id, best.other
    number = len(best.decisive)
    note = f"leaving out {counted(number, 'query')} of {total} puts {other} above "
    note += f"{first}; no fewer can" if number > 1 else first
    if not number:
        note = f"no queries can be left out so that a run is above {first}"
    about = {**best.metadata, "change": "queries", "count": number}
    return Fragility(
        *(table, about, (note,)),
        run_id=first,
        other=other,
        count=number or None,
        lower=number or total,
    )


def _of_judgments(
    explainer: Explainer,
    pairs: list[tuple[str, str]],
    change: str,
    overturn: str,
    alpha: float,
    progress: Progress | None,
) -> Fragility:
    """Search each pair for fewer changes than those of the pairs before it."""
    changed = ChangedJudgments(explainer, change)
    most, lower = min(changed.total, MOST), changed.total + 1
    best: tuple[tuple[str, str], Search] | None = None
    for done, pair in enumerate(pairs):
        # A query without judgments would not be part of the test.
        queries = changed.searched(pair, int(overturn == OVERTURNED[1]))
        d = np.array([scores.query.difference for scores in queries])
        if overturn == OVERTURNED[0]:
            question = asked_order(d)
        else:
            question = asked_significance(d, alpha)
        search = Search(queries, question, most)
        search.run(WORK)
        if overturn == OVERTURNED[1]:
            search.lower = min(search.lower, changed.fewest)
        lower = min(lower, search.lower)
        if best is None or search.count is not None:
            best, most = (pair, search), (search.count or most + 1) - 1
        if progress:
            progress("runs", done + 1, len(pairs))
    assert best
    (first, other), search = best
    effect = f"puts {other} above {first}"
    if overturn == OVERTURNED[1]:
        d = np.array([scores.query.difference for scores in search.queries])
        verdict = "not significant" if p_value(d) <= alpha else "significant"
        effect = f"makes the difference of {first} and {other} {verdict}"
    table = changed.table(search)
    if search.count is not None:
        changed.check(first, other, search)
    rows = table["query_id"].nunique()
    of = f"of {counted(rows, 'query')} " if search.count else ""
    about = explainer.about(first, other) | {"change": change, "overturn": overturn}
    about |= {"count": search.count, "lower": lower}
    return Fragility(
        table,
        about,
        (in_words(change, search.count, lower, of, effect),),
        run_id=first,
        other=other,
        count=search.count,
        lower=lower,
    )
