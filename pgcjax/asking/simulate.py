"""Costs and results of designs of asking, simulated before real judges are paid."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import inf
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float64

from pgcjax.asking.bounds import SHARES, ComparedRuns, asked_measure
from pgcjax.asking.choices import DESIGNS, OVER
from pgcjax.asking.designs import (
    Asking,
    Errors,
    Judge,
    leading,
    play,
    replayed_judge,
    simulated_judge,
)
from pgcjax.asking.pools import (
    Pool,
    Rankings,
    query_pools,
    ranks_of,
    read_rankings,
    votes_by_pair,
)
from pgcjax.asking.rounds import Rules
from pgcjax.errors import DataError, Progress, UsageError, check_choice, check_whole
from pgcjax.io.choices import ORDERS
from pgcjax.io.graded import read_qrels
from pgcjax.io.reading import reading
from pgcjax.io.result import Result
from pgcjax.io.votes.read import read_preferences
from pgcjax.later import stats
from pgcjax.measures.measure import Measure

SIZES = (5, 10, 15, 20)
"""Default numbers of documents per query."""

_SEEN = 0.75  # share of the documents that a made-up run retrieves


@dataclass(frozen=True)
class SimulatedAsking(Result):
    """Costs and results of designs of asking.

    Attributes:
        table: One row for each number of documents and design: documents, design,
            queries, judgments (mean per query), top (share of the k truly best
            documents that are among the design's k best), tau (Kendall's τ-b of the
            design's order of documents with the true one), right and wrong (shares of
            the comparisons of two truly different runs that the design decides
            correctly, or wrongly; the rest is open).
    """


class _Truth(NamedTuple):
    """True values of the documents of a query.

    Attributes:
        utility: Utility of each document.
        bad: Bad documents.
        votes: Votes to replay; None for a judge who knows the truth.
    """

    utility: Mapping[str, float]
    bad: frozenset[str]
    votes: Mapping[tuple[str, str], list[int]] | None = None


_Case = tuple[Pool, _Truth]
"""Documents and runs of a query whose truth is known."""


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
        runs: Runs in any form that `read_runs` takes, with `votes` or `qrels`; None for
            made-up ones, which order documents by true utility and noise.
        votes: Preferences to replay as answers; the majority is the truth.
        qrels: Grades, as the truth; documents of grade 0 and below are bad.
        documents: Number of documents per query, or several numbers to compare.
        designs: Some of `choices.DESIGNS`.
        measure: ppref, rpref, fpref or wpref, by which runs are compared.
        k: Number of documents at the top.
        queries: Number of made-up queries.
        systems: Number of made-up runs.
        bad: Share of the made-up documents, the worst ones, that are bad.
        error: Share of the judge's answers that name the worse document.
        ties: Share of the judge's answers that are ties.
        bias: Share of all answers that name the document shown first.
        seed: Seed of the random numbers.
        over: Runs are compared on each `query`, or by their `mean` over all.
        order: Order of documents in a run: `trec`, `clarke` or `rank`.
        progress: Called with `("simulating", done, total)`.

    Raises:
        DataError: the data cannot be read. UsageError: an argument is wrong.
    """
    parsed, errors = asked_measure(measure, only=SHARES), Errors(error, ties, bias)
    chosen = [*dict.fromkeys(designs)]
    sizes = sorted({*([documents] if isinstance(documents, int) else documents)})
    _check(chosen, over, k, sizes, queries, systems, bad)
    if (votes is not None) + (qrels is not None) != (runs is not None):
        raise UsageError("expected runs with votes or with qrels, or none of the three")
    made_up = {"systems": systems, "bad": bad} if runs is None else {}
    if runs is None:
        cases = {n: _made_up(n, queries, systems, bad, seed) for n in sizes}
    else:
        cases = _read_cases(runs, votes, qrels, order, sizes)
    rows = _play_all(cases, chosen, (parsed, errors, k), seed, over, progress)
    settings = {"measure": parsed.in_full(), "k": k, **vars(errors), "seed": seed}
    settings |= {"over": over, "order": order, **made_up}
    return SimulatedAsking(pd.DataFrame(rows), settings)


def _check(
    designs: Sequence[str],
    over: str,
    k: int,
    sizes: Sequence[int],
    queries: int,
    systems: int,
    bad: float,
) -> None:
    """Refuse unknown designs, and numbers that cannot be simulated."""
    for design in designs:
        check_choice("design", design, DESIGNS)
    check_choice("over", over, OVER)
    Rules.of(k)
    check_whole("documents", sizes[0] if sizes else 0, 2)
    check_whole("systems", systems, 2)
    check_whole("queries", queries, 1)
    if not 0 <= bad <= 1:
        raise UsageError(f"bad={bad!r}: expected a share, 0 to 1")


def _read_cases(
    runs: Any, votes: Any, qrels: Any, order: str, sizes: Iterable[int]
) -> dict[int, list[_Case]]:
    """Read runs, and the truth from grades or votes, for each number of documents."""
    check_choice("order", order, ORDERS)
    with reading():
        lists = read_rankings(runs, order, None)[1]
        truth = _voted(votes) if qrels is None else _graded(qrels)
    return {n: [*_of_data(lists, truth, n)] for n in sizes}


def _made_up(n: int, queries: int, systems: int, bad: float, seed: int) -> list[_Case]:
    """Make documents of normal utility, and runs that observe it with growing noise.

    Each run retrieves three quarters of the documents, the best by its observation.
    """
    docs = tuple(f"d{i:03}" for i in range(1, n + 1))
    noise, cases = np.linspace(0.5, 1.5, systems), []
    for query in range(queries):
        key = np.random.SeedSequence(seed, spawn_key=(n, query))
        random = np.random.default_rng(key)
        utility = random.standard_normal(n)
        seen = utility + noise[:, None] * random.standard_normal((systems, n))
        ranks = np.argsort(np.argsort(-seen, axis=1), axis=1).astype(np.float64)
        ranks[ranks >= np.ceil(_SEEN * n)] = inf
        worst = frozenset(docs[i] for i in np.argsort(utility)[: round(bad * n)])
        truth = _Truth(dict(zip(docs, utility.tolist(), strict=True)), worst)
        cases.append((_blank(f"q{query + 1}", docs, ranks), truth))
    return cases


def _blank(query: str, docs: tuple[str, ...], ranks: np.ndarray) -> Pool:
    same = np.eye(len(docs), dtype=bool)
    return Pool(query, docs, ranks, np.zeros(same.shape), ~same, same)


def _graded(qrels: Any) -> dict[str, _Truth]:
    truth = {}
    for query, rows in read_qrels(qrels).groupby("query_id"):
        grades = dict(zip(rows["doc_id"], rows["relevance"].tolist(), strict=True))
        bad = frozenset(doc for doc, grade in grades.items() if grade <= 0)
        truth[str(query)] = _Truth(grades, bad)
    return truth


def _voted(votes: Any) -> dict[str, _Truth]:
    """Take the majority as the truth: a document's utility is pairs won - lost."""
    table, truth = read_preferences(votes), {}
    bad = table[table["other_doc_id"].isna()].groupby("query_id")["doc_id"]
    bad = {query: frozenset(docs) for query, docs in bad}
    for query, pairs in votes_by_pair(table, [1] * len(table)).items():
        utility: dict[str, float] = {}
        for (one, other), signs in pairs.items():
            lead = float(np.sign(sum(signs)))
            utility[one] = utility.get(one, 0.0) + lead
            utility[other] = utility.get(other, 0.0) - lead
        truth[query] = _Truth(utility, bad.get(query, frozenset()), pairs)
    return truth


def _of_data(lists: Rankings, truth: Mapping[str, _Truth], n: int) -> Iterator[_Case]:
    """Return the queries whose truth is known, with the documents that it has."""
    if not lists.keys() & truth.keys():
        raise DataError("runs and judgments have no query in common")
    for query in (query for query in lists if query in truth):
        utility, runs = truth[query].utility, lists[query]
        judged = {query: [[doc for doc in run if doc in utility] for run in runs]}
        for pool in query_pools(judged, None, documents=n):  # two documents or more
            yield _blank(query, pool.docs, ranks_of(pool.docs, runs)), truth[query]


def _play_all(
    cases: Mapping[int, list[_Case]],
    designs: Sequence[str],
    setting: tuple[Measure, Errors, int],
    seed: int,
    over: str,
    progress: Progress | None,
) -> list[dict[str, Any]]:
    """Play all designs with queries of each size; return a row for each."""
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
        for design, of_design in outcomes.items():
            row = {"documents": n, "design": design, "queries": len(cases[n])}
            titles = "judgments", "top", "tau", "right", "wrong"
            means = _means(np.array(of_design, np.float64).T)
            rows.append(row | dict(zip(titles, means, strict=True)))
    return rows


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
        Means over queries: judgments, top, tau; shares of comparisons: right, wrong.
        NaN where no comparison, or order, is true.
    """
    asking, preferred, utilities = [], [], []
    for pool, truth in cases:
        judge, better = _judge(pool.docs, truth, errors, random)
        utility = np.array([truth.utility[doc] for doc in pool.docs], np.float64)
        may_tie = errors.ties > 0 or len({*utility}) < len(utility)
        may_tie |= truth.votes is not None  # pairs may have ties, or no votes
        pairs = np.array([*combinations(range(len(pool.ranks)), 2)])
        compared = ComparedRuns.of(measure, pool, pairs)
        asking.append(Asking(pool.docs, judge, random, compared, may_tie))
        preferred.append(better)
        utilities.append(utility)
    all_points, signs = play(design, asking, k)
    true_signs = leading(asking, preferred)
    differ = true_signs != 0
    right = signs[differ] == true_signs[differ]
    wrong = signs[differ] == -true_signs[differ]
    both = zip(utilities, all_points, strict=True)
    docs = [_documents(utility, points, k, random) for utility, points in both]
    judgments = np.mean([one.judgments for one in asking])
    shown = [float(x.mean()) if differ.any() else np.nan for x in (right, wrong)]
    return float(judgments), *_means(np.array(docs).T), *shown


def _judge(
    docs: Sequence[str], truth: _Truth, errors: Errors, random: np.random.Generator
) -> tuple[Judge, Float64[np.ndarray, "n n"]]:
    """Return a query's judge, and which documents are truly better than which."""
    bad = [i for i, doc in enumerate(docs) if doc in truth.bad]
    if truth.votes is None:
        utility = np.array([truth.utility[doc] for doc in docs])
        better = utility[:, None] > utility[None, :]
        judge = simulated_judge(utility, bad, errors, random)
        return judge, better.astype(np.float64)
    votes, lead = {}, np.zeros((len(docs), len(docs)))
    for i, j in combinations(range(len(docs)), 2):
        votes[i, j] = truth.votes.get((docs[i], docs[j]), [])
        lead[i, j] = sum(votes[i, j])
    return replayed_judge(votes, bad, random), (lead - lead.T > 0).astype(np.float64)


def _documents(
    utility: np.ndarray, points: np.ndarray, k: int, random: np.random.Generator
) -> tuple[float, float]:
    """Measure the accuracy of the k best documents, and of the order of all."""
    best = np.lexsort((random.random(len(utility)), -points))[:k]
    least = np.sort(utility)[::-1][min(k, len(utility)) - 1]
    top = float((utility[best] >= least).mean())
    if np.ptp(utility) == 0:
        return top, np.nan
    if np.ptp(points) == 0:
        return top, 0.0
    return top, float(stats.kendalltau(points, utility).statistic)


def _means(columns: np.ndarray) -> list[float]:
    """Average the values of each column; NaN where there are none."""
    finite = (column[np.isfinite(column)] for column in columns)
    return [float(column.mean()) if len(column) else np.nan for column in finite]
