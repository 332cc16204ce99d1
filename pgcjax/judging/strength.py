"""Strength of preferences, and judging times, by difference of relevance."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from pgcjax.errors import UsageError, counted
from pgcjax.io.graded import read_qrels
from pgcjax.io.result import Result
from pgcjax.judging.agreement import grades_of
from pgcjax.judging.pairs import UNORDERED, by_pair
from pgcjax.judging.votes import collect, label, read_judgments
from pgcjax.later import stats

RELATIONS = ("B - A", "B / A", "A + B", "A", "B")
GAPS = 10  # intervals of the relevance gap; fewer if it has fewer values


@dataclass(frozen=True, kw_only=True)
class Strength(Result):
    """Strength of judges' preferences for the document of higher relevance, B, over A.

    Attributes:
        table: A row for each of `strength` and, if times are known, `seconds`, with
            each relation of the relevance of B and A: of, relation, pairs, pearson,
            pearson_p, spearman, spearman_p, undefined (why these are NaN).
        by_gap: A row for each relevance gap B - A, or each of ten intervals of it: low,
            high (included), pairs, strength (mean) and, if times are known, seconds.
        pairs: A row for each pair: query_id, doc_id (A), other_doc_id (B), low, high
            (relevance), votes, strength (0 to 2), seconds (median; NaN if unknown).
    """

    by_gap: pd.DataFrame
    pairs: pd.DataFrame


def judgment_strength(
    preferences: Any, qrels: Any, *, judges: Sequence[str] | None = None
) -> Strength:
    """Correlate the strength of preferences, and judging times, with relevance.

    A vote for B, the document of higher relevance, counts 2, a tie 1, a vote for A 0;
    the strength of a pair is the mean of its votes. Definite votes count like others.
    The time of a pair is the median of its judgments.

    Args:
        preferences: Judgments, as in `read_preferences`; `seconds` from a DataFrame.
        qrels: Grades, as in `read_qrels`; pairs with an ungraded document or with
            equal grades, which have no B, are left out.
        judges: Judges to count; None counts all.

    Returns:
        Pearson's and Spearman's correlation with five relations of relevance. The ratio
        covers only pairs with A above 0.

    Source: Xie et al. 2020, 3.4, Tables 4 and 5.

    Raises:
        UsageError: an unknown judge.
        DataError: a row is malformed.
    """
    votes = collect(preferences, judges=judges)
    grade_a, grade_b = grades_of(votes, read_qrels(qrels))
    weight = np.bincount(votes.pair, votes.weight, len(votes.pairs))
    balance = np.bincount(votes.pair, votes.weight * votes.sign, len(votes.pairs))
    notes, graded = list(votes.notes), ~(np.isnan(grade_a) | np.isnan(grade_b))
    equal = graded & (grade_a == grade_b)
    left_out = {"with a document that has no grade": ~graded, "of equal grades": equal}
    for why, such in left_out.items():
        if such.any():
            notes.append(f"left out: {counted(int(such.sum()), 'pair')} {why}")
    comparable = graded & ~equal & (weight > 0)
    turned = grade_a > grade_b  # A has the higher grade: exchange both
    pairs = votes.pairs.copy()
    swap = ["doc_id", "other_doc_id"]
    pairs.loc[turned, swap] = pairs.loc[turned, swap[::-1]].to_numpy()
    pairs["low"] = np.minimum(grade_a, grade_b)
    pairs["high"] = np.maximum(grade_a, grade_b)
    pairs["votes"] = weight.astype(np.int64)
    toward_b = np.where(turned, balance, -balance)
    pairs["strength"] = 1 + toward_b / np.maximum(weight, 1)
    pairs["seconds"] = np.nan
    table = read_judgments(preferences, judges)
    if "seconds" in table:
        median = _pair_medians(table[table["other_doc_id"].notna()])
        index = pd.MultiIndex.from_frame(votes.pairs)
        pairs["seconds"] = median.reindex(index).to_numpy(np.float64)
    pairs = pairs[comparable].reset_index(drop=True)
    table = pd.DataFrame(_correlations(pairs))
    settings, gaps = {"judges": judges and [*judges]}, _by_gap(pairs)
    return Strength(table, settings, tuple(notes), by_gap=gaps, pairs=pairs)


def _pair_medians(judgments: pd.DataFrame) -> pd.Series:
    """Return the median time of judgments of each pair, by query and documents."""
    pairs = by_pair(judgments).assign(seconds=judgments["seconds"].to_numpy())
    return pairs.groupby(UNORDERED)["seconds"].median()


def _correlations(pairs: pd.DataFrame) -> list[dict[str, Any]]:
    a, b = pairs["low"].to_numpy(), pairs["high"].to_numpy()
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(a > 0, b / a, np.nan)
    relations = dict(zip(RELATIONS, (b - a, ratio, a + b, a, b), strict=True))
    rows = []
    for of in ("strength", "seconds"):
        y = pairs[of].to_numpy(np.float64)
        if of == "seconds" and np.isnan(y).all():
            continue
        for name, x in relations.items():
            both = ~(np.isnan(x) | np.isnan(y))
            row = {"of": of, "relation": name, "pairs": int(both.sum())}
            rows.append({**row, **correlated(x[both], y[both])})
    return rows


def correlated(
    x: Float[np.ndarray, " pairs"], y: Float[np.ndarray, " pairs"]
) -> dict[str, Any]:
    """Correlate by Pearson and Spearman, two-sided p; NaN, and why, if undefined."""
    names = ("pearson", "pearson_p", "spearman", "spearman_p")
    why = "fewer than three" if len(x) < 3 else ""
    if why or 0 in (np.ptp(x), np.ptp(y)):
        return {**dict.fromkeys(names, np.nan), "undefined": why or "all equal"}
    with warnings.catch_warnings():
        # Values differ in the last bits only; scipy still returns a correlation.
        warnings.simplefilter("ignore", stats.NearConstantInputWarning)
        one, other = stats.pearsonr(x, y), stats.spearmanr(x, y)
    values = (one.statistic, one.pvalue, other.statistic, other.pvalue)
    return {**dict(zip(names, map(float, values), strict=True)), "undefined": ""}


def _by_gap(pairs: pd.DataFrame) -> pd.DataFrame:
    """Average strength and time over pairs with similar relevance gaps."""
    gap = (pairs["high"] - pairs["low"]).to_numpy()
    distinct = np.unique(gap)
    if len(distinct) > GAPS:
        edges = np.linspace(0, distinct[-1], GAPS + 1)
        place = np.clip(np.searchsorted(edges, gap, side="left") - 1, 0, GAPS - 1)
        low, high = edges[:-1], edges[1:]
    else:
        place, low, high = np.searchsorted(distinct, gap), distinct, distinct
    rows = [
        (low[i], high[i], len(part), *part[["strength", "seconds"]].mean())
        for i, part in pairs.groupby(place)
    ]
    columns = ["low", "high", "pairs", "strength", "seconds"]
    table = pd.DataFrame(rows, columns=columns)
    return table if pairs["seconds"].notna().any() else table.drop(columns="seconds")


def judgment_times(
    preferences: Any, *, judges: Sequence[str] | None = None
) -> pd.DataFrame:
    """Compute the duration of judgments: of all, and by option, judge and query.

    Args:
        preferences: DataFrame, as in `read_preferences`, with the column `seconds`;
            rows without a time are left out.
        judges: Judges to count; None counts all.

    Returns:
        Table of group (`all`, `option`, `judge`, `query`), name, judgments, median,
        mean (seconds), pairs and pair_mean, the mean over pairs of the median of their
        judgments. Options are a tie, A>B, A>>B (definite) and bad, on either side.

    Source: Carterette et al. 2008, 3.2, Table 4 (medians); Xie et al. 2020, 3.2,
    Figure 2 (pair_mean).

    Raises:
        UsageError: there are no times, or an unknown judge.
        DataError: a row is malformed.
    """
    table = read_judgments(preferences, judges)
    if "seconds" not in table or table["seconds"].isna().all():
        raise UsageError("there are no times: judgments have no column seconds")
    table = table[table["seconds"].notna()]
    alone = table["other_doc_id"].isna()
    option = table["preference"].abs().map(label).mask(alone, "bad")
    groups = {"all": pd.Series("all", index=table.index), "option": option}
    groups |= {"judge": table["judge"]} if "judge" in table else {}
    rows = []
    for group, names in {**groups, "query": table["query_id"]}.items():
        for name, part in table.groupby(names):
            medians = _pair_medians(part[~alone[part.index]])
            seconds = part["seconds"]
            row = (group, name, len(part), seconds.median(), seconds.mean())
            rows.append((*row, len(medians), medians.mean()))
    columns = ["group", "name", "judgments", "median", "mean", "pairs", "pair_mean"]
    return pd.DataFrame(rows, columns=columns)
