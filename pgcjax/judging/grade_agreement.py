"""Do judges of pairs agree with grades, and with the preferences that grades imply?"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float64, Int

from pgcjax.errors import counted
from pgcjax.io.qrels import read_qrels
from pgcjax.io.result import Result
from pgcjax.io.schema import Origin, check_squares, find_columns, ids
from pgcjax.judging import contingency
from pgcjax.judging.votes import Votes, collect

_BY_GRADE = {"A better by grade": 1, "B better by grade": -1, "equal grades": 0}


@dataclass(frozen=True, kw_only=True)
class GradeAgreement(Result):
    """How far judges of pairs agree with grades.

    Attributes:
        table: a row for all votes, and one for each judge: judge, votes, agree,
            disagree, ties_grades, ties_votes (only these tie), ties_both, chi2, chi2_p,
            agree_p_exact (binomial, agree above one in two), kappa, jaccard, undefined
            (what of these is NaN, and why).
        contingency: counts for each row of the table: rows A, B, tie by grades, columns
            A, B, tie by votes.
        options: a row for each option of a vote (as of grouping `all`), with how many
            of them are on pairs whose grades prefer A, prefer B, or are equal.
    """

    contingency: dict[str, Int[np.ndarray, "3 3"]]
    options: pd.DataFrame


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
        DataError: a row is malformed.
    """
    qrels = read_qrels(qrels)
    votes = collect(preferences, judges=judges, sides=sides)
    a, b = grades_of(votes, qrels)
    graded = ~(np.isnan(a) | np.isnan(b))
    higher = np.sign(np.where(graded, a - b, 0.0)).astype(int)
    notes = list(votes.notes)
    if not graded.all():
        n = counted(int((~graded).sum()), "pair")
        notes.append(f"left out: {n} with a document that has no grade")
    counted_votes = {"all": graded[votes.pair]}
    for code, name in enumerate(votes.judges):
        counted_votes[name] = counted_votes["all"] & (votes.judge == code)
    rows, tables = [], {}
    for name, chosen in counted_votes.items():
        pair, sign, weight = (
            votes.pair[chosen],
            votes.sign[chosen],
            votes.weight[chosen],
        )
        tables[name] = contingency.contingency(higher[pair], sign, weight)
        rows.append({"judge": name, **_findings(tables[name], sides)})
    every = collect(preferences, grouping="all", judges=judges, sides=sides)
    options = pd.DataFrame(index=list(every.options))
    for name, sign in _BY_GRADE.items():
        chosen = (graded & (higher == sign))[every.pair]
        counts = np.bincount(every.option[chosen], every.weight[chosen], len(options))
        options[name] = counts.astype(np.int64)
    table, settings = (
        pd.DataFrame(rows),
        {"judges": judges and [*judges], "sides": sides},
    )
    made = {"contingency": tables, "options": options}
    return GradeAgreement(table, settings, tuple(notes), **made)


def grades_of(
    votes: Votes, qrels: pd.DataFrame
) -> tuple[Float64[np.ndarray, " pairs"], Float64[np.ndarray, " pairs"]]:
    """Look up the grades of A and of B, NaN where there is none."""
    check_squares(qrels["relevance"].to_numpy(), "grades", "qrels")
    grade = qrels.set_index(["query_id", "doc_id"])["relevance"]
    a, b = (
        pd.MultiIndex.from_frame(votes.pairs[["query_id", column]])
        for column in ("doc_id", "other_doc_id")
    )
    return grade.reindex(a).to_numpy(np.float64), grade.reindex(b).to_numpy(np.float64)


def _findings(table: Int[np.ndarray, "3 3"], sides: str) -> dict[str, Any]:
    """Sum up a table of grades (rows) and votes (columns)."""
    counts = contingency.cell_counts(table, "grades", "votes")
    decided = counts["agree"] + counts["disagree"]
    # The mean of both ways round, twice: kappa takes whole numbers.
    double = contingency.both_ways(table) if sides == "any" else 2 * table
    chi2, chi2_p = contingency.chi_square(double / 2)
    values = {"chi2": chi2, "chi2_p": chi2_p}
    values["agree_p_exact"], _ = contingency.binomial(counts["agree"], decided)
    values["kappa"] = contingency.kappa(double)
    values["jaccard"] = contingency.jaccard(table)
    undefined = ", ".join(name for name, value in values.items() if np.isnan(value))
    return {"votes": int(table.sum()), **counts, **values, "undefined": undefined}


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

    Examples:
        >>> grades = {"query_id": "q1", "doc_id": ["a", "b"], "relevance": [0, 2]}
        >>> preferences_from_grades(pd.DataFrame(grades)).values.tolist()
        [['q1', 'a', 'b', -1.0]]
    """
    column = find_columns(grades.columns, ["judge"]).get("judge")
    groups: list[tuple[str | None, pd.DataFrame]] = [(None, grades)]
    if column:
        who = ids(grades[column].rename("judge"), Origin("grades"))
        groups = [
            (str(name), of_judge) for name, of_judge in grades.groupby(who.to_numpy())
        ]
    tables = []
    for name, of_judge in groups:
        for query, docs in read_qrels(of_judge).groupby("query_id"):
            docs = docs.sort_values("doc_id")
            refused = docs["relevance"] <= (-np.inf if bad is None else bad)
            compared = docs[~refused]
            a, b = np.triu_indices(len(compared), 1)
            doc, grade = compared["doc_id"].to_numpy(), compared["relevance"].to_numpy()
            pairs = {"doc_id": doc[a], "other_doc_id": doc[b]}
            pairs["preference"] = np.sign(grade[a] - grade[b])
            alone = docs.loc[refused, ["doc_id"]].assign(preference=-1.0)
            table = pd.concat([pd.DataFrame(pairs), alone], ignore_index=True)
            tables.append(table.assign(query_id=query, judge=name))
    order = ["query_id", "doc_id", "other_doc_id", "preference", "judge"]
    table = pd.concat(tables, ignore_index=True)[order]
    return table if column else table.drop(columns="judge")
