"""An audit of judges: what their votes say of them, each with a verdict in words."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np
import pandas as pd

from pgcjax.errors import DataError, Progress, UsageError, listed
from pgcjax.io.lengths import doublings
from pgcjax.io.result import Result
from pgcjax.io.votes.double import double_votes
from pgcjax.judging.audit_agreement import AT_ODDS, Judges, contradicted
from pgcjax.judging.audit_probes import AuditedVotes
from pgcjax.judging.votes import read_judgments

ALL = "all judges"
_COLUMNS = ["judge", "probe", "of", "estimate", "low", "high", "count", "verdict"]


@dataclass(frozen=True, kw_only=True)
class Audit(Result):
    """What votes say of their judges.

    Attributes:
        table: a row for each judge and probe, and for each pair at odds: judge, probe,
            of, estimate, low, high (of the 95 % interval), count (what it is made of)
            and verdict.
        at_odds: the pairs on which a judge contradicts most of the others: judge,
            query_id, aspect, doc_id (that the judge prefers), other_doc_id, others
            (votes of the others) and against (those that say the opposite).
    """

    at_odds: pd.DataFrame


def audit(
    preferences: Any,
    *,
    lengths: Any = None,
    people: Sequence[str] = (),
    judges: Sequence[str] | None = None,
    most: int = 10,
    progress: Progress | None = None,
) -> Audit:
    """Audit judges: are they consistent, do place and length sway them, who agrees?

    Probes, for all judges together and each of several: `swap` (double votes that
    agree), `first` and `longer` (odds of preferring what was shown first, and what is
    twice as long, in one logistic model), `ties`, `refusals`, `repeats` (answered
    alike), `cycles` (of three documents, less what a Bradley-Terry judge would make),
    `agreement` (kappa with the majority of the others, of people, and with each
    other), `drift` (odds of agreeing with the others, last to first vote).

    Args:
        preferences: as of `read_preferences`.
        lengths: of documents, by id; or a table of doc_id, length and, perhaps,
            query_id. Without it, columns length and other_length.
        people: judges who are people.
        judges: who is audited; all if None.
        most: pairs at odds to list of each judge.
        progress: called with `("auditing", done, total)` after each judge.

    Raises:
        UsageError: an unknown judge. DataError: a row is malformed.
    """
    table = read_judgments(preferences)
    refused = table.attrs.get("refused", {})
    table = table[table["other_doc_id"].notna()].reset_index(drop=True)
    if table.empty:
        raise DataError("compare no two documents", where="preferences")
    votes = _votes(table, lengths)
    named = sorted({*votes["judge"]} - {""})
    for judge in {*people, *(judges or ())} - {*named}:
        there = f"there are {listed(named, 8)}" if named else "no row names one"
        raise UsageError(f"no judge {judge!r}; {there}")
    answers = AuditedVotes(votes, double_votes(table), refused)
    rows = [(ALL, *finding) for finding in answers.alone()]
    odds = [pd.DataFrame(columns=AT_ODDS)]
    if len(named) > 1:
        rest, chosen = Judges(votes, people), list(judges or named)
        for done, judge in enumerate(chosen, 1):
            findings = [*answers.alone(judge), *rest.compare(judge)]
            rows += [(judge, *finding) for finding in findings]
            odds.append(rest.at_odds(judge, most))
            if progress:
                progress("auditing", done, len(chosen))
    at_odds = pd.concat(odds[1:] or odds, ignore_index=True)
    rows += [(row.judge, *contradicted(row)) for row in at_odds.itertuples()]
    settings: dict[str, Any] = {
        "judges": [*(judges or named)],
        "people": [*people],
        "most": most,
    }
    return Audit(pd.DataFrame(rows, columns=_COLUMNS), settings, at_odds=at_odds)


def _votes(table: pd.DataFrame, lengths: Any) -> pd.DataFrame:
    """Lay votes out by pair: which pair, the sign for its low document, and more."""
    doc, other = (table[c].to_numpy(object) for c in ("doc_id", "other_doc_id"))
    turned = np.where(doc > other, -1.0, 1.0)
    name = {c: table[c].fillna("") if c in table else "" for c in ("judge", "aspect")}
    votes = pd.DataFrame(
        {
            "query_id": table["query_id"].to_numpy(object),
            "aspect": name["aspect"],
            "judge": name["judge"],
            "low": np.where(turned > 0, doc, other),
            "high": np.where(turned > 0, other, doc),
            "sign": np.sign(table["preference"].to_numpy(float)) * turned,
        }
    )
    first = table["first"].to_numpy(object) if "first" in table else None
    recorded = table["first"].notna().to_numpy() if first is not None else False
    low_first = np.where(first == votes["low"].to_numpy(object), 1.0, -1.0)
    votes["first"] = np.where(recorded, low_first, nan)
    votes["longer"] = doublings(table, lengths) * turned
    votes["time"] = table["time"].to_numpy(float) if "time" in table else nan
    keys = ["query_id", "aspect", "low", "high"]
    return votes.assign(item=votes.groupby(keys, sort=True).ngroup())
