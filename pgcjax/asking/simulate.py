"""What designs of asking cost and find, tried on simulated judges before money is."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import inf
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float64

from pgcjax.asking.bounds import ComparedRuns
from pgcjax.asking.simulate_designs import Asking, leading, play
from pgcjax.asking.simulated_judges import (
    Errors,
    Judge,
    ReplayedJudge,
    SimulatedJudge,
)
from pgcjax.asking.tournament import Rules
from pgcjax.asking.utility_choices import DESIGNS, OVER
from pgcjax.asking.utility_measures import SHARES, asked_measure, shares
from pgcjax.asking.utility_pools import Pool, query_pools, rankings
from pgcjax.errors import DataError, Progress, UsageError, check_choice
from pgcjax.io.choices import ORDERS
from pgcjax.io.qrels import read_qrels
from pgcjax.io.reading import reading
from pgcjax.io.result import Result
from pgcjax.io.runs import open_runs
from pgcjax.io.votes.read import read_preferences
from pgcjax.later import stats
from pgcjax.measures.measure import Measure

SIZES = (5, 10, 15, 20)
"""Numbers of documents of a query that are tried by default."""

_SEEN = 0.75  # share of the documents that a made-up run retrieves


@dataclass(frozen=True)
class SimulatedAsking(Result):
    """What designs of asking cost and find.

    Attributes:
        table: a row for each number of documents and design: documents, design,
            queries, judgments (mean of a query), top (share of the k truly best
            documents that are among its k best), tau (Kendall's τ-b of its order of
            documents with the true one), right and wrong (shares of the comparisons of
            two runs that truly differ: it says so, or the opposite; the rest is open).
    """


class _Case(NamedTuple):
    """A query of which the truth is known.

    Attributes:
        pool: its documents and runs.
        truth: utility of each document.
        bad: documents that are bad.
        votes: those that are replayed; None for a judge who knows the truth.
    """

    pool: Pool
    truth: Float64[np.ndarray, " n"]
    bad: frozenset[str]
    votes: Mapping[tuple[str, str], list[int]] | None


def simulate_asking(
    runs: Any = None,
    *,
    votes: Any = None,
    qrels: Any = None,
    documents: int | Iterable[int] = SIZES,
    designs: Iterable[str] = DESIGNS,
    measure: str = "ppref",
    k: int = 5,
    queries: int = 20,
    systems: int = 2,
    bad: float = 0.2,
    error: float = 0.0,
    ties: float = 0.0,
    bias: float = 0.0,
    seed: int = 0,
    over: str = OVER[0],
    order: str = ORDERS[0],
    progress: Progress | None = None,
) -> SimulatedAsking:
    """Play designs of asking with a judge whose truth is known.

    Args:
        runs: as of `read_runs`, with `votes` or `qrels`; None for made-up ones, which
            order documents by true utility and noise.
        votes: preferences, of which each answer is one; what most say is true.
        qrels: grades, which are true; documents of grade 0 and below are bad.
        documents: of a query: one number, or several that are tried.
        designs: some of `utility_choices.DESIGNS`.
        measure: ppref, rpref, fpref or wpref: tells runs apart.
        k: documents at the top.
        queries: made-up ones.
        systems: made-up runs.
        bad: share of the made-up documents, the worst ones, that are bad.
        error: share of the judge's answers that name the worse document.
        ties: share of them that are ties.
        bias: share of all answers that name what is shown first.
        seed: of the random numbers.
        over: runs are told apart on each `query`, or by their `mean` over all.
        order: of documents in a run: `trec`, `clarke` or `rank`.
        progress: called with `("simulating", done, total)`.

    Raises:
        DataError: the data cannot be read. UsageError: an argument is wrong.
    """
    parsed, errors = asked_measure(measure, only=SHARES), Errors(error, ties, bias)
    chosen = [*dict.fromkeys(designs)]
    sizes = sorted({*([documents] if isinstance(documents, int) else documents)})
    _check(chosen, over, k, sizes[:1], systems, queries, bad)
    if (votes is not None) + (qrels is not None) != (runs is not None):
        raise UsageError("expected runs with votes or with qrels, or none of the three")
    if runs is None:
        cases = {n: [*_made_up(n, queries, systems, bad, seed)] for n in sizes}
    else:
        lists, truth = _read(runs, votes, qrels, order)
        cases = {n: [*_of_data(lists, truth, n)] for n in sizes}
    rows = _play(cases, chosen, (parsed, errors, k), seed, over, progress)
    settings = {"measure": parsed.in_full(), "k": k, **vars(errors), "seed": seed}
    made_up = {} if runs is not None else {"systems": systems, "bad": bad}
    settings |= {"over": over, "order": order, **made_up}
    return SimulatedAsking(pd.DataFrame(rows), settings)


def _check(
    designs: Sequence[str],
    over: str,
    k: int,
    documents: Sequence[int],
    systems: int,
    queries: int,
    bad: float,
) -> None:
    """Refuse what cannot be played, by a UsageError."""
    for design in designs:
        check_choice("design", design, DESIGNS)
    check_choice("over", over, OVER)
    Rules.of(k)
    least = {"documents": (*documents, 0)[0], "systems": systems, "queries": queries}
    for (name, number), needed in zip(least.items(), (2, 2, 1), strict=True):
        if type(number) is not int or number < needed:
            raise UsageError(
                f"{name}={number!r}: expected a whole number, {needed} or more"
            )
    if not 0 <= bad <= 1:
        raise UsageError(f"bad={bad!r}: expected a share, 0 to 1")


def _read(
    runs: Any, votes: Any, qrels: Any, order: str
) -> tuple[Mapping[str, Sequence[Sequence[str]]], "_Truth"]:
    """Read the rankings of each query, and what is true of its documents."""
    check_choice("order", order, ORDERS)
    with reading():
        lists = rankings(open_runs(runs), order, None)[1]
        return lists, _voted(votes) if qrels is None else _graded(qrels)


def _play(
    cases: Mapping[int, list[_Case]],
    designs: Sequence[str],
    setting: tuple[Measure, Errors, int],
    seed: int,
    over: str,
    progress: Progress | None,
) -> list[dict[str, Any]]:
    """Play all designs with queries of each size: a row for each of them."""
    parts = {
        n: [of_size] if over == "mean" else [[case] for case in of_size]
        for n, of_size in cases.items()
    }
    rows, done = [], 0
    total = len(designs) * sum(map(len, parts.values()))
    for n, of_size in parts.items():
        outcomes: dict[str, list[tuple]] = {design: [] for design in designs}
        for number, part in enumerate(of_size):
            for design in designs:
                key = n, number, DESIGNS.index(design)
                seeds = np.random.SeedSequence(seed, spawn_key=key)
                random = np.random.default_rng(seeds)
                outcomes[design].append(_tried(part, design, *setting, random))
                done += 1
                if progress:
                    progress("simulating", done, total)
        count = len(cases[n])
        rows += [_row(n, design, count, of) for design, of in outcomes.items()]
    return rows


def _made_up(
    n: int, queries: int, systems: int, bad: float, seed: int
) -> Iterator[_Case]:
    """Make documents of normal utility, and runs that see it through more noise each.

    A run retrieves the best three quarters of them, as it sees them.
    """
    docs = tuple(f"d{i:03}" for i in range(1, n + 1))
    noise = np.linspace(0.5, 1.5, systems)
    for query in range(queries):
        key = np.random.SeedSequence(seed, spawn_key=(n, query))
        random = np.random.default_rng(key)
        truth = random.standard_normal(n)
        seen = truth + noise[:, None] * random.standard_normal((systems, n))
        ranks = np.argsort(np.argsort(-seen, axis=1), axis=1).astype(np.float64)
        ranks[ranks >= np.ceil(_SEEN * n)] = inf
        worst = np.argsort(truth)[: round(bad * n)]
        pool = _blank(f"q{query + 1}", docs, ranks)
        yield _Case(pool, truth, frozenset(docs[i] for i in worst), None)


def _blank(query: str, docs: tuple[str, ...], ranks: np.ndarray) -> Pool:
    n = len(docs)
    same = np.eye(n, dtype=bool)
    return Pool(query, docs, ranks, np.zeros((n, n)), ~same, same)


_Truth = Mapping[str, tuple[dict[str, float], frozenset[str], dict | None]]
"""Of each query: utilities, bad documents, and votes on pairs if there are any."""


def _graded(qrels: Any) -> _Truth:
    table, truth = read_qrels(qrels), {}
    for query, rows in table.groupby("query_id"):
        grades = dict(zip(rows["doc_id"], rows["relevance"], strict=True))
        bad = frozenset(doc for doc, grade in grades.items() if grade <= 0)
        truth[str(query)] = grades, bad, None
    return truth


def _voted(votes: Any) -> _Truth:
    table, truth = read_preferences(votes), {}
    columns = ("doc_id", "other_doc_id", "preference")
    for query, rows in table.groupby("query_id"):
        votes_on: dict[tuple[str, str], list[int]] = {}
        bad: set[str] = set()
        for doc, other, preference in zip(*(rows[c] for c in columns), strict=True):
            if not isinstance(other, str):
                bad.add(doc)
                continue
            sign = int(np.sign(preference))
            pair, sign = ((doc, other), sign) if doc < other else ((other, doc), -sign)
            votes_on.setdefault(pair, []).append(sign)
        utility: dict[str, float] = {}
        for (one, other), signs in votes_on.items():
            lead = float(np.sign(sum(signs)))
            utility[one] = utility.get(one, 0.0) + lead
            utility[other] = utility.get(other, 0.0) - lead
        truth[str(query)] = utility, frozenset(bad), votes_on
    return truth


def _of_data(
    lists: Mapping[str, Sequence[Sequence[str]]], truth: _Truth, n: int
) -> Iterator[_Case]:
    """Return the queries whose truth is known, with the documents that it has."""
    for query, runs in lists.items():
        if query not in truth:
            continue
        utility, bad, votes = truth[query]
        judged = {query: [[doc for doc in run if doc in utility] for run in runs]}
        if not (pools := query_pools(judged, None, documents=n)):
            continue  # there are not two documents
        (short,) = pools
        places = [{doc: i for i, doc in enumerate(run)} for run in runs]
        ranks = [[place.get(doc, inf) for doc in short.docs] for place in places]
        pool = _blank(query, short.docs, np.array(ranks, np.float64))
        values = np.array([utility[doc] for doc in short.docs], np.float64)
        yield _Case(pool, values, bad, votes)
    if not lists.keys() & truth.keys():
        raise DataError("runs and judgments have no query in common")


def _tried(
    cases: Sequence[_Case],
    design: str,
    measure: Measure,
    errors: Errors,
    k: int,
    random: np.random.Generator,
) -> tuple[float, ...]:
    """Play a design with queries whose means are compared.

    Returns:
        Of a query: judgments, top, tau; of comparisons: right, wrong. NaN where nothing
        is true.
    """
    asking, compared, preferred = [], [], []
    for case in cases:
        judge, better = _judge(case, errors, random)
        may_tie = errors.ties > 0 or len({*case.truth}) < len(case.truth)
        may_tie |= case.votes is not None  # of which a pair may have none, or ties
        asking.append(Asking(case.pool.docs, judge, random, may_tie))
        of_runs = shares(measure, case.pool)
        pairs = np.array([*combinations(range(len(of_runs)), 2)])
        compared.append(ComparedRuns(of_runs, pairs))
        preferred.append(better)
    played = play(design, asking, compared, k)
    true_signs = leading(compared, preferred)
    differ = true_signs != 0
    right = played.signs[differ] == true_signs[differ]
    wrong = played.signs[differ] == -true_signs[differ]
    both = zip(cases, played.points, strict=True)
    docs = [_documents(case.truth, points, k, random) for case, points in both]
    judgments = np.mean([one.judgments for one in asking])
    shown = [float(x.mean()) if differ.any() else np.nan for x in (right, wrong)]
    return float(judgments), *_means(np.array(docs).T), *shown


def _judge(
    case: _Case, errors: Errors, random: np.random.Generator
) -> tuple[Judge, Float64[np.ndarray, "n n"]]:
    """Return a query's judge, and which documents are truly better than which."""
    docs = case.pool.docs
    if case.votes is None:
        truth = dict(zip(docs, case.truth.tolist(), strict=True))
        lead = case.truth[:, None] - case.truth[None, :]
        judge = SimulatedJudge(truth, case.bad, errors, random)
        return judge, (lead > 0).astype(np.float64)
    sums = {pair: sum(signs) for pair, signs in case.votes.items()}
    votes = np.array([[sums.get((a, b), 0) for b in docs] for a in docs])
    judge = ReplayedJudge(case.votes, case.bad, random)
    return judge, (votes - votes.T > 0).astype(np.float64)


def _documents(
    truth: np.ndarray, points: np.ndarray, k: int, random: np.random.Generator
) -> tuple[float, float]:
    """Measure how right the k best documents are, and the order of all."""
    best = np.lexsort((random.random(len(truth)), -points))[:k]
    least = np.sort(truth)[::-1][min(k, len(truth)) - 1]
    top = float((truth[best] >= least).mean())
    if np.ptp(truth) == 0:
        return top, np.nan
    if np.ptp(points) == 0:
        return top, 0.0
    return top, float(stats.kendalltau(points, truth).statistic)


def _means(columns: np.ndarray) -> list[float]:
    """Average what is there of each column; NaN where nothing is."""
    finite = (column[np.isfinite(column)] for column in columns)
    return [float(column.mean()) if len(column) else np.nan for column in finite]


def _row(
    n: int, design: str, queries: int, outcomes: Sequence[tuple]
) -> dict[str, Any]:
    columns = "judgments", "top", "tau", "right", "wrong"
    means = dict(zip(columns, _means(np.array(outcomes, np.float64).T), strict=True))
    return {"documents": n, "design": design, "queries": queries, **means}
