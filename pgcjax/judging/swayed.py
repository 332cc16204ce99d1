"""Probes of an audit by models of votes with strengths: covariates, own answers."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Int
from scipy.special import stdtrit

from pgcjax.errors import UsageError
from pgcjax.judging.bradley_terry import CLUSTERS, compared_votes, fit_strengths
from pgcjax.judging.choices import SELF
from pgcjax.judging.covariates import Covariates, covariates_of, own_family
from pgcjax.judging.intervals import FEWEST, Finding, not_asked, odds_words
from pgcjax.judging.models import PRIOR

MOST_DOCUMENTS = 2000
"""Most documents that get strengths: the model has a table of all pairs."""

_MORE = "prefers more of it", "prefers less of it"
_OWN = "prefers its own", "prefers others' to its own"


class Swayed:
    """Votes with their covariates, to which models of judges are fitted."""

    def __init__(
        self,
        table: pd.DataFrame,
        names: Sequence[str],
        lengths: Any,
        families: Mapping[str, str] | None,
    ):
        """Read the covariates of votes; each vote compares two documents.

        Raises:
            UsageError: votes lack a covariate.
        """
        self._votes = compared_votes(table)
        self._judge = table.get("judge", pd.Series("", table.index)).to_numpy(object)
        data = covariates_of(table, names, lengths=lengths, families=families)
        others = [i for i, name in enumerate(data.names) if name != SELF]
        self._covariates = _columns(data, others)
        self._own = own_family(table, families)

    def covariates(self, rows: Int[np.ndarray, " rows"]) -> Iterator[Finding]:
        """Estimate the odds that covariates add in some votes; 1 without effect.

        Documents have strengths, which hold the covariates constant.
        """
        data = self._covariates._replace(towards=self._covariates.towards[rows])
        varied = data.known.any(axis=0)
        for i in np.flatnonzero(~varied):
            why = "it is the same on both sides of every vote"
            yield not_asked("covariate", len(rows), why, data.names[i])
        data = _columns(data, np.flatnonzero(varied))
        if data.names:
            yield from self._odds("covariate", rows, data, words=_MORE)

    def own_answers(self, judge: str) -> Iterator[Finding]:
        """Estimate the odds that a judge adds to documents of its own family.

        Strengths come from all judges, but this judge may have another discrimination;
        the advantage is the remaining effect of its votes on its family.
        """
        of_judge = self._judge == judge
        towards = np.where(of_judge, self._own, 0.0)
        if towards.any():
            rows = np.arange(len(towards))
            data = Covariates((SELF,), towards[:, None], np.ones(1))
            group = of_judge.astype(np.int64)
            size = int(np.count_nonzero(towards))
            yield from self._odds(SELF, rows, data, group, size, words=_OWN)

    def _odds(
        self,
        probe: str,
        rows: Int[np.ndarray, " rows"],
        data: Covariates,
        group: Int[np.ndarray, " rows"] | None = None,
        size: int | None = None,
        *,
        words: tuple[str, str],
    ) -> Iterator[Finding]:
        """Fit one model to some votes, and return the odds of each covariate."""
        size = len(rows) if size is None else size
        labels = [name if probe != name else "" for name in data.names]
        first, second, won, weight, query = (c[rows] for c in self._votes[1:])
        documents, codes = np.unique(np.r_[first, second], return_inverse=True)
        first, second = codes.reshape(2, -1)
        query = np.unique(query, return_inverse=True)[1]
        queries = int(query.max(initial=-1)) + 1
        why, fit = "", None
        if size < FEWEST:
            why = f"{size} votes, of which {FEWEST} are needed"
        elif 1 < queries < CLUSTERS:
            why = f"votes on {queries} queries, of which {CLUSTERS} are needed, or one"
        elif len(documents) > MOST_DOCUMENTS:
            why = (
                f"{len(documents)} documents, of which {MOST_DOCUMENTS} can be compared"
            )
        else:
            names = [self._votes.names[i] for i in documents]
            votes = self._votes._make([names, first, second, won, weight, query])
            try:
                fit = fit_strengths(votes, PRIOR, data, group)
            except UsageError as error:
                why = str(error)
            if fit and not fit.converged:
                why = "it predicts every vote"
        if fit is None or why:
            yield from (not_asked(probe, size, why, name) for name in labels)
            return
        freedom = (queries if queries > 1 else len(rows)) - 1
        half = float(stdtrit(freedom, 0.975)) * fit.beta_error  # of the interval
        ends = np.exp(np.clip([fit.beta, fit.beta - half, fit.beta + half], -700, 700))
        for name, (odds, low, high) in zip(labels, ends.T.tolist(), strict=True):
            verdict = odds_words(low, high, words)
            yield Finding(probe, name, odds, low, high, size, verdict)


def _columns(data: Covariates, columns: Any) -> Covariates:
    names = tuple(data.names[i] for i in columns)
    return Covariates(names, data.towards[:, columns], data.unit[columns])
