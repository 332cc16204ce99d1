"""Panels: how reliable judges are, without labels, and what they say together."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float64, Int
from scipy.special import expit, softmax

from pgcjax.errors import UsageError, check_choice, counted
from pgcjax.io.result import Result
from pgcjax.io.weights import weights_of
from pgcjax.judging.choices import PANELS
from pgcjax.judging.fit import fit
from pgcjax.judging.votes import read_judgments

POOLED = 10.0
"""Votes of the average judge that each judge is taken to have given before its own:
who gave few is no expert, and no fool, for it."""

_STEPS, _NEAR = 1000, 1e-6  # of the expectation-maximisation
_LEAST = 0.01  # of a vote, so that no answer is impossible
_FIRST, _TIE, _SECOND = 0, 1, 2


@dataclass(frozen=True, kw_only=True)
class Panel(Result):
    """How reliable judges are, and their joint judgments.

    Attributes:
        table: a row for each judge: judge, votes, reliability (the probability to
            prefer the better one of two, when it prefers one) and weight (of a vote:
            the log-odds of that, 0 where it is below 1/2; of a mean of 1 over votes).
        judgments: a row for each pair: query_id, doc_id, other_doc_id, preference and
            probability that doc_id is better, a tie half.
        weighted: the votes of the judges with the column weight, as `evaluate` takes
            them; those of weight 0 are left out.
    """

    judgments: pd.DataFrame
    weighted: pd.DataFrame


class _Answers(NamedTuple):
    """Votes by pair: options are the first document, a tie, the second one."""

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
    """Estimate how reliable each judge is without labels, and what all say together.

    Args:
        preferences: as of `read_preferences`, with a column judge.
        method: `dawid-skene`: each pair has a true answer, which judges give with
            chances of their own, whichever document stands first; the chances of the
            average judge count as 10 votes of each. `bradley-terry`: documents have
            strengths, and a judge looks at a pair with a chance of its own, as `fit`
            says (`reliability`).
        judges: who counts; all if None.

    Source: Dawid and Skene 1979, by expectation-maximisation; Chen et al. 2013.

    Raises:
        UsageError: an unknown name, or fewer than two judges. DataError: a row is
            malformed.
    """
    check_choice("method", method, PANELS)
    table = read_judgments(preferences, judges)
    table = table[table["other_doc_id"].notna()].reset_index(drop=True)
    votes, names, pairs = _answers(table)
    if method == "dawid-skene":
        truth, chances = _dawid_skene(votes)
        probability = truth[:, _FIRST] + truth[:, _TIE] / 2
        right, wrong = chances[:, _FIRST, _FIRST], chances[:, _FIRST, _SECOND]
        right = right / (right + wrong)
    else:
        probability, right = _reliabilities(table, pairs, names)
    right = np.clip(right, 0, 1 - 1e-6)
    value = np.maximum(np.log(right / (1 - right)), 0.0)
    count = np.bincount(votes.judge, votes.weight, votes.judges)
    value = value / max((count @ value) / count.sum(), 1e-12)
    sides = np.sign(np.round(probability - 0.5, 9))
    found = pairs.assign(preference=sides, probability=probability)
    rows = {"judge": names, "votes": count, "reliability": right, "weight": value}
    weighted = table.assign(weight=np.round(votes.weight * value[votes.judge], 6))
    note = f"{counted(len(names), 'judge')}, {count.sum():g} votes on "
    return Panel(
        pd.DataFrame(rows).sort_values("weight", ascending=False, ignore_index=True),
        {"method": method, "judges": judges and [*judges]},
        (note + counted(len(pairs), "pair"),),
        judgments=found,
        weighted=weighted[weighted["weight"] > 0].reset_index(drop=True),
    )


def _answers(table: pd.DataFrame) -> tuple[_Answers, list[str], pd.DataFrame]:
    """Number votes by pair and judge; list the judges, and the pairs, ascending."""
    judge = table["judge"] if "judge" in table else pd.Series(None, table.index)
    codes, names = pd.factorize(judge, sort=True)
    if len(names) < 2 or (codes < 0).any():
        raise UsageError("a panel needs two judges, and each vote the name of one")
    doc, other = (table[c].to_numpy(object) for c in ("doc_id", "other_doc_id"))
    turned = doc > other
    sides = {"doc_id": np.where(turned, other, doc)}
    sides |= {"other_doc_id": np.where(turned, doc, other)}
    keys = pd.DataFrame({"query_id": table["query_id"], **sides})
    by_pair = keys.groupby([*keys], sort=True)
    pairs = by_pair.size().index.to_frame(index=False)
    sign = np.sign(table["preference"].to_numpy(float)) * np.where(turned, -1.0, 1.0)
    option, pair = (1 - sign).astype(np.int64), by_pair.ngroup().to_numpy()
    sizes = len(pairs), len(names)
    return _Answers(pair, codes, option, weights_of(table), *sizes), [*names], pairs


def _dawid_skene(
    votes: _Answers,
) -> tuple[Float64[np.ndarray, "pairs 3"], Float64[np.ndarray, "judges 3 3"]]:
    """Estimate true answers of pairs, and each judge's chance of each answer by truth.

    Which document of a pair is the first means nothing: chances are the same after both
    are exchanged.
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
        likely = softmax(np.log(prior) + np.stack(sums, axis=1), axis=1)
        moved, truth = float(np.abs(likely - truth).max(initial=0)), likely
        if moved < _NEAR:
            break
    return truth, chances


def _reliabilities(
    table: pd.DataFrame, pairs: pd.DataFrame, names: Sequence[str]
) -> tuple[Float64[np.ndarray, " pairs"], Float64[np.ndarray, " judges"]]:
    """Fit strengths and reliabilities; return chances of pairs, and of being right."""
    found = fit(table, reliability=True)
    strength = found.table.set_index(["query_id", "doc_id"])["strength"]
    sides = (pairs[["query_id", c]] for c in ("doc_id", "other_doc_id"))
    one, other = (strength.loc[pd.MultiIndex.from_frame(s)].to_numpy() for s in sides)
    looks = found.judges.set_index("judge")["reliability"].loc[[*names]].to_numpy()
    return expit(one - other), (1 + looks) / 2
