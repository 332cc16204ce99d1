"""Agreement of judges of pairs with each other, and with grades."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float64, Int

from pgcjax.errors import DataError, counted
from pgcjax.io.graded import read_qrels
from pgcjax.io.result import Result
from pgcjax.io.schema import Origin, check_squares, find_columns, ids
from pgcjax.judging import contingency
from pgcjax.judging.contingency import (
    chi_square,
    fleiss_kappa,
    jaccard,
    kappa,
    observed_agreement,
    tables_of_two,
)
from pgcjax.judging.votes import TIE, Votes, collect

_JUDGES = ["judge_a", "judge_b", "pairs", "agree", "agreement", "kappa", "jaccard"]


@dataclass(frozen=True, kw_only=True)
class JudgeAgreement(Result):
    """Agreement of judges on pairs of documents.

    Attributes:
        kappa: Fleiss' kappa over all pairs with two votes or more; NaN if there are
            none, or all votes are equal.
        observed: Fleiss' P, from which kappa is computed: the mean over pairs of
            documents of the share of equal votes among each two votes on the pair.
        agreement: Share of equal votes among each two votes on a pair, which gives
            pairs with many votes more weight.
        pairs: Number of pairs of documents with two votes or more.
        votes: Number of votes on these pairs.
        table: A row and a column for each option: how often one judge takes the row's
            option and another the column's; each two votes count from both sides.
        judges: A row for each two judges with pairs in common: judge_a, judge_b, pairs,
            agree, agreement (share), kappa (Cohen's), jaccard.
    """

    kappa: float
    observed: float
    agreement: float
    pairs: int
    votes: int
    judges: pd.DataFrame

    def shares(self) -> pd.DataFrame:
        """Compute P(another judge says the column's | one says the row's)."""
        return self.table.div(self.table.sum(axis=1), axis=0)


def judge_agreement(
    preferences: Any,
    *,
    grouping: str = "all",
    judges: Sequence[str] | None = None,
    sides: str = "any",
    bad: bool = False,
) -> JudgeAgreement:
    """Compute how often judges agree on pairs of documents.

    Each judge has one vote on a pair. A judgment without a judge is a separate vote,
    which counts in κ and the table, not in the table of judges. If sides mean nothing,
    both κ count each pair in both orders, because judges did not choose which document
    is A.

    Args:
        preferences: Judgments, as in `read_preferences`; strengths such as ±2 are
            options.
        grouping: Options to merge: `all` (none), `sign` (5 become 3, or 4 become 2), or
            `strict` (2, ties left out).
        judges: Judges to count; None counts all.
        sides: `any`: the order of the two documents means nothing; `given`: the first
            is the one shown first, or left, and a pair in both orders is two pairs.
        bad: Whether to count judgments that a document is bad, by the preferences that
            they imply.

    Source: Xie et al. 2020, 3.2; Carterette et al. 2008, 3.2, Tables 2 and 3.

    Raises:
        UsageError: an unknown grouping, judge or side.
        DataError: a row is malformed.
    """
    votes = collect(preferences, grouping=grouping, judges=judges, sides=sides, bad=bad)
    counts = votes.counts()
    counts = counts[counts.sum(axis=1) > 1]
    table = counts.T @ counts - np.diag(counts.sum(axis=0))
    both = np.vstack([counts, counts[:, votes.mirrored]]) if sides == "any" else counts
    share = float(np.trace(table) / table.sum()) if len(counts) else nan
    names = list(votes.options)
    settings = {"grouping": grouping, "judges": judges, "sides": sides, "bad": bad}
    return JudgeAgreement(
        pd.DataFrame(table, index=names, columns=names),
        settings,
        votes.notes,
        kappa=fleiss_kappa(both),
        observed=observed_agreement(counts),
        agreement=share,
        pairs=len(counts),
        votes=int(counts.sum()),
        judges=_by_judges(votes, sides),
    )


def _by_judges(votes: Votes, sides: str) -> pd.DataFrame:
    """Compare each two judges on the pairs that both voted on."""
    named = votes.judge >= 0
    pair, judge, option = votes.pair[named], votes.judge[named], votes.option[named]
    rows = []
    for a, b, table in tables_of_two(pair, judge, option, len(votes.options)):
        turned = table[np.ix_(votes.mirrored, votes.mirrored)]
        chance = kappa(table + turned if sides == "any" else table)
        n, agree = int(table.sum()), int(np.trace(table))
        names = votes.judges[a], votes.judges[b]
        rows.append((*names, n, agree, agree / n, chance, jaccard(table)))
    return pd.DataFrame(rows, columns=_JUDGES)


def share_ties(table: pd.DataFrame) -> pd.DataFrame:
    """Replace each tie of an agreement table by the flip of a coin, in expectation.

    Preferences from grades can then be compared with judgments that allow no tie.

    Args:
        table: Table of `JudgeAgreement`, with the options A<B, A=B and A>B.

    Source: Carterette et al. 2008, 3.2, Table 2(b).

    Raises:
        DataError: the table has no A<B, A=B and A>B.
    """
    options = [str(option) for option in table.columns]
    if not {"A<B", TIE, "A>B"} <= set(options):
        raise DataError(f"expected A<B, A=B and A>B among the options, found {options}")
    flips = pd.DataFrame(np.eye(len(options)), options, options).drop(columns=TIE)
    flips.loc[TIE, ["A<B", "A>B"]] = 0.5
    return flips.T @ table @ flips


def compare_agreement(
    first: pd.DataFrame | np.ndarray, second: pd.DataFrame | np.ndarray
) -> tuple[float, float]:
    """Test whether judges agree as often in one table as in another.

    Pearson's χ² of agreements and disagreements in both tables, without Yates'
    correction. Two votes count once, although a table counts them from both sides.

    Args:
        first: Counts, as in `JudgeAgreement.table`.
        second: Counts of other judgments, for example those that grades imply.

    Returns:
        Statistic (one degree of freedom) and p-value; NaN if a table is empty, or
        neither has a disagreement, or neither an agreement.

    Source: Carterette et al. 2008, 3.2, whose 143 counts two votes from both sides.
    """
    rows = []
    for table in (np.asarray(first), np.asarray(second)):
        agreed = float(np.trace(table)) / 2
        rows.append([agreed, float(table.sum()) / 2 - agreed])
    return chi_square(np.array(rows))


_BY_GRADE = {"A better by grade": 1, "B better by grade": -1, "equal grades": 0}


@dataclass(frozen=True, kw_only=True)
class GradeAgreement(Result):
    """Agreement of judges of pairs with grades.

    Attributes:
        table: A row for all votes, and one for each judge: judge, votes, agree,
            disagree, ties_grades, ties_votes (only these tie), ties_both, chi2, chi2_p,
            agree_p_exact (binomial, agree above one in two), kappa, jaccard, undefined
            (which of these are NaN, and why).
        contingency: Counts for each row of the table: rows A, B, tie by grades, columns
            A, B, tie by votes.
        options: A row for each option of a vote (as in grouping `all`): the number of
            its votes on pairs whose grades prefer A, prefer B, or are equal.
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
    """Compare judges' preferences with grades, which prefer the higher one.

    χ² is Pearson's, of the 2×2 corner without ties and without Yates' correction. If
    sides mean nothing, χ² and κ take the mean of the table and of the table with A and
    B exchanged; χ² is then (agree - disagree)² / (agree + disagree).

    Args:
        preferences: Judgments, as in `read_preferences`; votes as in `judge_agreement`.
        qrels: Grades, as in `read_qrels`; pairs with an ungraded document are left out.
        judges: Judges to count; None counts all.
        sides: As in `judge_agreement`.

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
        columns = votes.pair, votes.sign, votes.weight
        pair, sign, weight = (column[chosen] for column in columns)
        tables[name] = contingency.contingency(higher[pair], sign, weight)
        rows.append({"judge": name, **_findings(tables[name], sides)})
    all_options = collect(preferences, grouping="all", judges=judges, sides=sides)
    options = pd.DataFrame(index=list(all_options.options))
    for name, sign in _BY_GRADE.items():
        chosen = (graded & (higher == sign))[all_options.pair]
        option, weight = all_options.option[chosen], all_options.weight[chosen]
        counts = np.bincount(option, weight, len(options))
        options[name] = counts.astype(np.int64)
    settings = {"judges": judges and [*judges], "sides": sides}
    details = {"contingency": tables, "options": options}
    return GradeAgreement(pd.DataFrame(rows), settings, tuple(notes), **details)


def grades_of(
    votes: Votes, qrels: pd.DataFrame
) -> tuple[Float64[np.ndarray, " pairs"], Float64[np.ndarray, " pairs"]]:
    """Look up the grades of A and of B on each pair; NaN for an ungraded document."""
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
    # Twice the mean of both orders, because kappa takes whole numbers.
    double = contingency.both_ways(table) if sides == "any" else 2 * table
    chi2, chi2_p = contingency.chi_square(double / 2)
    values = {"chi2": chi2, "chi2_p": chi2_p}
    values["agree_p_exact"], _ = contingency.binomial(counts["agree"], decided)
    values["kappa"] = contingency.kappa(double)
    values["jaccard"] = contingency.jaccard(table)
    undefined = ", ".join(name for name, value in values.items() if np.isnan(value))
    return {"votes": int(table.sum()), **counts, **values, "undefined": undefined}


def preferences_from_grades(grades: pd.DataFrame) -> pd.DataFrame:
    """List the preferences that grades imply: of each two documents the higher grade.

    `judge_agreement` of these measures how often judges of single documents agree, for
    a comparison with judges of pairs.

    Args:
        grades: query_id, doc_id, relevance and, where several judged a document, judge.

    Returns:
        Canonical preferences: 1, -1, or 0 for a tie of grades.

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
            a, b = np.triu_indices(len(docs), 1)
            doc, grade = docs["doc_id"].to_numpy(), docs["relevance"].to_numpy()
            pairs = {"query_id": query, "doc_id": doc[a], "other_doc_id": doc[b]}
            pairs |= {"preference": np.sign(grade[a] - grade[b]), "judge": name}
            tables.append(pd.DataFrame(pairs))
    table = pd.concat(tables, ignore_index=True)
    return table if column else table.drop(columns="judge")
