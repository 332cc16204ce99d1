"""Panels: reliabilities of judges without labels, and their joint judgments."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float64, Int
from scipy.special import expit, ndtr, ndtri, softmax

from pgcjax.errors import UsageError, check_choice, counted
from pgcjax.io.result import Result
from pgcjax.io.weights import weights_of
from pgcjax.judging.choices import PANELS
from pgcjax.judging.pairs import UNORDERED, by_pair
from pgcjax.judging.votes import read_judgments

POOLED = 10.0
"""Prior votes that are added to those of each judge, with the answers of the average
judge. They keep estimates from few votes near the average."""

_STEPS, _NEAR = 1000, 1e-6  # most steps of a method, and length of the last
_LEAST = 0.01  # votes added for each answer, so that none is impossible
_FIRST, _TIE, _SECOND = 0, 1, 2
_PAIR = ["query_id", "doc_id", "other_doc_id"]
_NODES, _SHARES = np.polynomial.hermite_e.hermegauss(15)
_SHARES = _SHARES / _SHARES.sum()  # shares of a normal distribution at the nodes


@dataclass(frozen=True, kw_only=True)
class Panel(Result):
    """Reliabilities of judges, and their joint judgments.

    Attributes:
        table: A row for each judge: judge, votes, reliability (the probability of
            preferring the better of two documents, given no tie) and weight (of a
            vote: the log-odds of reliability, 0 where it is below 1/2, scaled to a
            mean of 1 over votes); for `bt-sigma`, discrimination: the factor of
            strengths in the judge's log-odds.
        judgments: A row for each pair: query_id, doc_id, other_doc_id, preference and
            probability that doc_id is better; a tie counts half.
        weighted: Votes, with the weight of their judge in a column weight, for
            `evaluate`; votes of weight 0 are left out.
    """

    judgments: pd.DataFrame
    weighted: pd.DataFrame


class _PanelVotes(NamedTuple):
    """Votes by pair.

    Attributes:
        pair: Number of the pair of each vote.
        judge: Number of the judge.
        option: 0 for the pair's first document, 1 for a tie, 2 for the second.
        weight: Weight of each vote.
        pairs: Number of pairs.
        judges: Number of judges.
    """

    pair: Int[np.ndarray, " votes"]
    judge: Int[np.ndarray, " votes"]
    option: Int[np.ndarray, " votes"]
    weight: Float64[np.ndarray, " votes"]
    pairs: int
    judges: int


def panel(
    preferences: Any,
    method: str = "dawid-skene",
    *,
    judges: Sequence[str] | None = None,
) -> Panel:
    """Estimate reliabilities of judges without labels, and their joint judgments.

    Args:
        preferences: Judgments, as in `read_preferences`, with a column judge.
        method: `dawid-skene`: each pair has a true answer, and each judge has
            probabilities of answers, given the true one, whichever document is first;
            10 prior votes of each judge are those of the average one. `bt-sigma`:
            documents have strengths, which each judge multiplies by a discrimination.
        judges: Judges to count; None counts all.

    Source: Dawid and Skene 1979, by expectation-maximisation; Qian et al. 2026
    (arXiv:2602.16610), with strengths integrated out.

    Raises:
        UsageError: an unknown name, or fewer than two judges. DataError: a row is
            malformed.
    """
    check_choice("method", method, PANELS)
    table = read_judgments(preferences, judges)
    table = table[table["other_doc_id"].notna()].reset_index(drop=True)
    votes, names, pairs = _answers(table)
    discrimination = None
    if method == "dawid-skene":
        truth, chances = _dawid_skene(votes)
        probability = truth[:, _FIRST] + truth[:, _TIE] / 2
        right, wrong = chances[:, _FIRST, _FIRST], chances[:, _FIRST, _SECOND]
        reliability = right / (right + wrong)
    else:
        probability, discrimination = _bt_sigma(votes, pairs)
        # The difference of two random strengths has the variance 2.
        gaps = np.abs(ndtri((np.arange(200) + 0.5) / 200)) * np.sqrt(2)
        reliability = expit(discrimination[:, None] * gaps).mean(axis=1)
    reliability = np.clip(reliability, 0, 1 - 1e-6)
    weight = np.maximum(np.log(reliability / (1 - reliability)), 0.0)
    count = np.bincount(votes.judge, votes.weight, votes.judges)
    weight = weight / max((count @ weight) / count.sum(), 1e-12)
    sides = np.sign(np.round(probability - 0.5, 9))
    judgments = pairs.assign(preference=sides, probability=probability)
    rows = {"judge": names, "votes": count, "reliability": reliability}
    rows["weight"] = weight
    if discrimination is not None:
        rows["discrimination"] = discrimination
    weighted = table.assign(weight=np.round(votes.weight * weight[votes.judge], 6))
    note = f"{counted(len(names), 'judge')}, {count.sum():g} votes on "
    return Panel(
        pd.DataFrame(rows).sort_values("weight", ascending=False, ignore_index=True),
        {"method": method, "judges": judges and [*judges]},
        (note + counted(len(pairs), "pair"),),
        judgments=judgments,
        weighted=weighted[weighted["weight"] > 0].reset_index(drop=True),
    )


def _answers(table: pd.DataFrame) -> tuple[_PanelVotes, list[str], pd.DataFrame]:
    """Number votes by pair and judge; list the judges and the pairs, ascending."""
    judge = table["judge"] if "judge" in table else pd.Series(None, table.index)
    codes, names = pd.factorize(judge, sort=True)
    if len(names) < 2 or (codes < 0).any():
        raise UsageError("a panel needs two judges, and each vote the name of one")
    votes = by_pair(table)
    groups = votes.groupby(UNORDERED, sort=True)
    pair, option = groups.ngroup().to_numpy(), 1 - votes["sign"].to_numpy(np.int64)
    pairs = groups.size().index.to_frame(index=False).set_axis(_PAIR, axis=1)
    sizes = len(pairs), len(names)
    return _PanelVotes(pair, codes, option, weights_of(table), *sizes), [*names], pairs


def _dawid_skene(
    votes: _PanelVotes,
) -> tuple[Float64[np.ndarray, "pairs 3"], Float64[np.ndarray, "judges 3 3"]]:
    """Estimate the true answers of pairs, and each judge's answers given the true one.

    Exchanging the documents of a pair has no effect on the estimates.

    Returns:
        Probability of each true answer; and each judge's probabilities of answers
        (columns), given the true one (rows).
    """
    cell, given = votes.pair * 3 + votes.option, votes.judge * 3 + votes.option
    counts = np.bincount(cell, votes.weight, votes.pairs * 3).reshape(-1, 3)
    truth = (counts + 1) / (counts.sum(axis=1) + 3)[:, None]
    chances = np.zeros((votes.judges, 3, 3))
    for _ in range(_STEPS):
        share = (votes.weight[:, None] * truth[votes.pair]).T
        sums = [np.bincount(given, x, votes.judges * 3).reshape(-1, 3) for x in share]
        chances = np.stack(sums, axis=1)
        chances = (chances + chances[:, ::-1, ::-1]) / 2
        pooled = chances.sum(axis=0) + _LEAST
        chances += POOLED * pooled / pooled.sum(axis=1, keepdims=True)
        chances /= chances.sum(axis=2, keepdims=True)
        prior = truth.mean(axis=0) + truth.mean(axis=0)[::-1] + _LEAST
        logs = votes.weight[:, None] * np.log(chances)[votes.judge, :, votes.option]
        sums = [np.bincount(votes.pair, column, votes.pairs) for column in logs.T]
        updated = softmax(np.log(prior) + np.stack(sums, axis=1), axis=1)
        change, truth = float(np.abs(updated - truth).max(initial=0)), updated
        if change < _NEAR:
            break
    return truth, chances


def _bt_sigma(
    votes: _PanelVotes, pairs: pd.DataFrame
) -> tuple[Float64[np.ndarray, " pairs"], Float64[np.ndarray, " judges"]]:
    """Estimate P(first is better) of pairs, and discriminations of judges.

    Judge j prefers a with probability expit(d_j (s_a - s_b)); a tie is half a vote.
    Strengths s of a query are standard normal, and integrated out: a joint maximum
    would overfit them, and d would diverge. log d is normal with variance 1 around its
    mean. Each step improves the normal approximation of the posterior of strengths by
    Newton's method, and then log d, given expectations by this approximation.
    """
    query, a, b = _places(pairs)
    s = np.zeros((query.max() + 1, max(a.max(), b.max()) + 1))
    log_d, won = np.zeros(votes.judges), 1 - votes.option / 2
    gap = error = np.zeros(votes.pairs)
    for step in range(_STEPS):
        d = np.exp(log_d)[votes.judge]
        p = expit(d * (s[query, a] - s[query, b])[votes.pair])
        pull, curve = (
            np.bincount(votes.pair, votes.weight * each, votes.pairs)
            for each in (d * (won - p), d**2 * p * (1 - p))
        )
        slope, precision = -s, np.zeros((*s.shape, s.shape[1]))
        for side, opposite, sign in ((a, b, 1), (b, a, -1)):
            np.add.at(slope, (query, side), sign * pull)
            np.add.at(precision, (query, side, opposite), -curve)
        precision += np.eye(s.shape[1]) * (1 - precision.sum(axis=2))[:, :, None]
        covariance = np.linalg.inv(precision)
        moved = np.clip((covariance @ slope[:, :, None])[:, :, 0], -1, 1)
        s = s + moved
        variance = covariance[query, a, a] + covariance[query, b, b]
        gap = s[query, a] - s[query, b]
        error = np.sqrt(variance - 2 * covariance[query, a, b])
        z = d[:, None] * (gap[:, None] + error[:, None] * _NODES)[votes.pair]
        p = expit(z)
        log_d_slope, information = (
            np.bincount(votes.judge, votes.weight * (each @ _SHARES), votes.judges)
            for each in ((won[:, None] - p) * z, p * (1 - p) * z**2)
        )
        change = (log_d_slope - log_d + log_d.mean()) / (information + 1)
        # Half steps stop oscillations between two points.
        log_d = log_d + np.clip(change, -0.5, 0.5) / (1 if step < 50 else 2)
        if max(np.abs(change).max(), np.abs(moved).max()) < _NEAR:
            break
    return ndtr(gap / error), np.exp(log_d)


def _places(pairs: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Number the queries of pairs, and within each the first and second documents."""
    sides = [pairs[["query_id", c]].to_numpy() for c in ("doc_id", "other_doc_id")]
    by_document = pd.DataFrame(np.concatenate(sides)).groupby([0, 1], sort=True)
    number = by_document.ngroup()
    query = pd.factorize(pairs["query_id"])[0]
    number -= number.groupby(np.tile(query, 2)).transform("min")
    return query, *number.to_numpy().reshape(2, -1)
