"""Do judges of pairs agree with grades, and with the preferences that grades imply?"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pgcjax.errors import counted
from pgcjax.io.qrels import read_qrels
from pgcjax.io.schema import Origin, find_columns, ids
from pgcjax.judging.contingency import (
    binomial,
    both_ways,
    cell_counts,
    chi_square,
    jaccard,
    kappa,
)
from pgcjax.judging.votes import Votes, collect

_PLACE = np.array([2, 0, 1])  # of signs 0, 1 and -1: A is better, B is, a tie
_GRADED = ("A better by grade", "B better by grade", "equal grades")


@dataclass(frozen=True)
class GradeAgreement:
    """How far judges of pairs agree with grades.

    Attributes:
        table: a row for all votes, and one for each judge: judge, votes, agree,
            disagree, ties_grades, ties_votes (only these tie), ties_both, chi2, chi2_p,
            agree_p_exact (binomial, agree above one in two), kappa, jaccard, undefined
            (what of these is NaN, and why).
        contingency: counts [3, 3] of each row of the table: rows A, B, tie by grades,
            columns A, B, tie by votes.
        options: a row for each option of a vote (as of grouping `all`), with how many
            of them are on pairs whose grades prefer A, prefer B, or are equal.
        notes: what was left out, a line each.
    """

    table: pd.DataFrame
    contingency: dict[str, np.ndarray]
    options: pd.DataFrame
    notes: tuple[str, ...] = ()


def grade_agreement(
    preferences: Any,
    qrels: Any,
    *,
    judges: Sequence[str] | None = None,
    sides: str = "any",
) -> GradeAgreement:
    """Compare what judges prefer with what grades imply: the higher grade.

    χ² is Pearson's, of the 2×2 corner without ties and without Yates' correction. If
    sides mean nothing, χ² and κ take the mean of the table and of the table with A and
    B changed; χ² is then (agree - disagree)² / (agree + disagree).

    Args:
        preferences: as of `read_preferences`; a vote each, as of `judge_agreement`.
        qrels: as of `read_qrels`; a pair with a document without a grade is left out.
        judges: who counts; all if None.
        sides: as of `judge_agreement`.

    Source: Carterette et al. 2008, 3.2; Luo 2021, 5.4.2.

    Raises:
        UsageError: an unknown judge or side.
        DataError: a row is malformed, or a pair is given both ways round.
    """
    known = read_qrels(qrels)
    votes = collect(preferences, judges=judges, sides=sides)
    grade, graded = _compared(votes, known)
    notes = list(votes.notes)
    if not graded.all():
        n = counted(int((~graded).sum()), "pair")
        notes.append(f"left out: {n} with a document that has no grade")
    groups = {"all": graded[votes.pair]}
    for code, name in enumerate(votes.judges):
        groups[name] = groups["all"] & (votes.judge == code)
    rows, tables = [], {}
    for name, some in groups.items():
        cell = _PLACE[grade[votes.pair[some]]] * 3 + _PLACE[votes.sign[some]]
        table = _counts(cell, votes.weight[some], 3)
        rows.append({"judge": name, **_findings(table, sides)})
        tables[name] = table
    every = collect(preferences, grouping="all", judges=judges, sides=sides)
    some = graded[every.pair]
    cell = every.option[some] * 3 + _PLACE[grade[every.pair[some]]]
    counts = _counts(cell, every.weight[some], len(every.options))
    options = pd.DataFrame(counts, index=list(every.options), columns=list(_GRADED))
    return GradeAgreement(pd.DataFrame(rows), tables, options, tuple(notes))


def _compared(votes: Votes, qrels: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Say which grade of a pair is higher, 1, -1 or 0, and whether there are both."""
    low, high = grades_of(votes, qrels)
    graded = ~(np.isnan(low) | np.isnan(high))
    return np.sign(np.where(graded, low - high, 0.0)).astype(int), graded


def _counts(cell: np.ndarray, weight: np.ndarray, rows: int) -> np.ndarray:
    return np.bincount(cell, weight, rows * 3).astype(np.int64).reshape(rows, 3)


def grades_of(votes: Votes, qrels: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Look up the grades of A and of B [pairs], NaN where there is none."""
    grade = qrels.set_index(["query_id", "doc_id"])["relevance"]
    found = []
    for column in ("doc_id", "other_doc_id"):
        keys = pd.MultiIndex.from_frame(votes.pairs[["query_id", column]])
        found.append(grade.reindex(keys).to_numpy(np.float64))
    return found[0], found[1]


def _findings(table: np.ndarray, sides: str) -> dict[str, Any]:
    """Sum up a table of grades (rows) and votes (columns)."""
    counts = cell_counts(table, "grades", "votes")
    decided = counts["agree"] + counts["disagree"]
    mean = both_ways(table) / 2 if sides == "any" else table
    chi2, chi2_p = chi_square(mean)
    values = {"chi2": chi2, "chi2_p": chi2_p}
    values["agree_p_exact"], _ = binomial(counts["agree"], decided)
    values["kappa"] = kappa(both_ways(table) if sides == "any" else table)
    values["jaccard"] = jaccard(table)
    undefined = ", ".join(name for name, value in values.items() if np.isnan(value))
    votes = {"votes": int(table.sum())}
    return {**votes, **counts, **values, "undefined": undefined}


def preferences_from_grades(grades: pd.DataFrame, bad: float | None = None) -> Any:
    """List the preferences that grades imply: of each two documents the higher grade.

    With `judge_agreement`, they tell how far judges of single documents agree, to be
    compared with judges of pairs.

    Args:
        grades: query_id, doc_id, relevance and, where several judged a document, judge.
        bad: documents with this grade or less are bad, rather than compared.

    Returns:
        Canonical preferences: 1, -1, or 0 for a tie of grades; bad documents without
        other_doc_id, as `judge_agreement` takes them with `bad=True`.

    Source: Carterette et al. 2008, 3.2.

    Raises:
        DataError: a row is malformed, or a judge gives a document two grades.
    """
    column = find_columns(grades.columns, ["judge"]).get("judge")
    groups: list[tuple[str | None, pd.DataFrame]] = [(None, grades)]
    if column:
        who = ids(grades[column].rename("judge"), Origin("grades"))
        groups = [(str(name), some) for name, some in grades.groupby(who.to_numpy())]
    tables = []
    for name, some in groups:
        for query, docs in read_qrels(some).groupby("query_id"):
            docs = docs.sort_values("doc_id")
            refused = docs["relevance"] <= (-np.inf if bad is None else bad)
            kept = docs[~refused]
            a, b = np.triu_indices(len(kept), 1)
            doc, grade = kept["doc_id"].to_numpy(), kept["relevance"].to_numpy()
            pairs = {"doc_id": doc[a], "other_doc_id": doc[b]}
            pairs["preference"] = np.sign(grade[a] - grade[b])
            alone = docs.loc[refused, ["doc_id"]].assign(preference=-1.0)
            found = pd.concat([pd.DataFrame(pairs), alone], ignore_index=True)
            tables.append(found.assign(query_id=query, judge=name))
    order = ["query_id", "doc_id", "other_doc_id", "preference", "judge"]
    table = pd.concat(tables, ignore_index=True)[order]
    return table if column else table.drop(columns="judge")
