"""Do judges agree with each other about pairs of documents?"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np
import pandas as pd

from pgcjax.errors import DataError
from pgcjax.io.result import Result
from pgcjax.judging.contingency import (
    chi_square,
    fleiss_kappa,
    jaccard,
    kappa,
    observed_agreement,
    tables_of_two,
)
from pgcjax.judging.options import TIE, Grouping
from pgcjax.judging.votes import Votes, collect

_JUDGES = ["judge_a", "judge_b", "pairs", "agree", "agreement", "kappa", "jaccard"]


@dataclass(frozen=True, kw_only=True)
class JudgeAgreement(Result):
    """How far judges agree on pairs of documents.

    Attributes:
        kappa: Fleiss' kappa over all pairs with two votes or more; NaN if there are
            none, or all votes say the same.
        observed: Fleiss' P, of which kappa is made: the mean over pairs of documents of
            the share of equal votes among two on the pair.
        agreement: the share of equal votes among all two votes on a pair, which counts
            pairs of many votes more.
        pairs: pairs of documents with two votes or more.
        votes: the votes on these.
        table: a row and a column for each option: how often one judge says the row's
            and another the column's, each two votes from both sides.
        judges: a row for each two judges with pairs in common: judge_a, judge_b, pairs,
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
    grouping: Grouping = "all",
    judges: Sequence[str] | None = None,
    sides: str = "any",
    bad: bool = False,
) -> JudgeAgreement:
    """Compute how far judges agree on pairs of documents.

    Each judge has one vote on a pair; a judgment that names no judge is a vote of its
    own, and only in κ and the table, not in the table of judges. If sides mean nothing,
    both κ count each pair both ways round, as which document is A is then no choice of
    a judge.

    Args:
        preferences: as of `read_preferences`; strengths such as ±2 are options.
        grouping: which options are one: `all` (none), `sign` (5 become 3, or 4
            become 2), `strict` (2, ties left out), `tied` (a tie or not), or a name for
            each preference.
        judges: who counts; all if None.
        sides: `any`: which document stands first means nothing; `given`: the first is
            the one that judges were shown first, or left; a pair in both orders is two.
        bad: whether judgments that a document is bad count, by what they imply.

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
    """Compare each two judges on the pairs that both have a vote on."""
    named = votes.judge >= 0
    columns = (x[named] for x in (votes.pair, votes.judge, votes.option))
    rows = []
    for a, b, table in tables_of_two(*columns, len(votes.options)):
        turned = table[np.ix_(votes.mirrored, votes.mirrored)]
        chance = kappa(table + turned if sides == "any" else table)
        n, agree = int(table.sum()), int(np.trace(table))
        names = votes.judges[a], votes.judges[b]
        rows.append((*names, n, agree, agree / n, chance, jaccard(table)))
    return pd.DataFrame(rows, columns=_JUDGES)


def share_ties(table: pd.DataFrame) -> pd.DataFrame:
    """Replace each tie of an agreement table by the flip of a coin, in expectation.

    So preferences that grades imply can be compared with judgments that allow no tie.

    Args:
        table: as of `JudgeAgreement`, with the options A<B, A=B and A>B.

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

    Pearson's χ² of agreed and disagreed in both tables, without Yates' correction. Two
    votes count once, although a table shows them from both sides.

    Args:
        first: counts as of `JudgeAgreement.table`.
        second: of other judgments, such as those that grades imply.

    Returns:
        Statistic (one degree of freedom) and p-value; NaN if a table is empty, or there
        is no disagreement, or no agreement, in either.

    Source: Carterette et al. 2008, 3.2, whose 143 counts two votes from both sides.
    """
    rows = []
    for table in (np.asarray(first), np.asarray(second)):
        agreed = float(np.trace(table)) / 2
        rows.append([agreed, float(table.sum()) / 2 - agreed])
    return chi_square(np.array(rows))
