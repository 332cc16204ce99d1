"""Votes on each pair of documents: how many, by whom, and who voted both ways."""

from collections.abc import Iterable

import numpy as np

from pgcjax.io.weights import weights_of
from pgcjax.later import pd

PAIR = ["query_id", "doc_id", "other_doc_id"]
TALLY = [*PAIR, "votes", "votes_against", "judges"]


def directed(table: pd.DataFrame) -> pd.DataFrame:
    """Put the preferred document of each judgment first; leave ties out."""
    prefers = (table["preference"] != 0) & table["other_doc_id"].notna()
    table = table[prefers]
    worse = (table["preference"] < 0).to_numpy()
    docs, others = (table[name].to_numpy(object) for name in PAIR[1:])
    first, second = np.where(worse, others, docs), np.where(worse, docs, others)
    return table.assign(doc_id=first, other_doc_id=second)


def tally_votes(table: pd.DataFrame) -> pd.DataFrame:
    """Count votes on each pair, for the document that they prefer and against it.

    Returns:
        Columns `TALLY`, and from `conflicts` the judges that voted both ways; for votes
        with times also `first_time` and `last_time`.
    """
    named = directed(table).assign(votes=lambda t: weights_of(t))
    named["judge"] = named.get("judge", pd.Series("", named.index)).fillna("")
    times = {"last_time": "max", "first_time": "min"} if "time" in named else {}
    sums = {"votes": "sum"} | dict.fromkeys(["time"] if times else [], "max")
    each = named.groupby([*PAIR, "judge"], as_index=False).agg(sums)
    back = dict(zip(PAIR[1:], PAIR[:0:-1], strict=True))
    other = each[[*PAIR, "judge"]].rename(columns=back).assign(both=True)
    each = each.merge(other, on=[*PAIR, "judge"], how="left")
    both = each["both"].notna() & (each["judge"] != "")
    often = [f" ({n:g})" if n != 1 else "" for n in each["votes"]]
    each["judges"] = (each["judge"] + often).where(each["judge"] != "", "")
    last = [f" {_moment(x)}".rstrip() for x in each["time"]] if times else ""
    each["conflicts"] = (each["judge"] + last).where(both, "")
    texts = dict.fromkeys(("judges", "conflicts"), _joined)
    tally = each.groupby(PAIR, as_index=False).agg({"votes": "sum"} | texts)
    for name, end in times.items():
        ends = named.groupby(PAIR)["time"].agg(end)  # pairs ascend here, too
        tally[name] = [_moment(seconds) for seconds in ends]
    against = tally[[*PAIR, "votes"]].rename(columns=back | {"votes": "votes_against"})
    tally = tally.merge(against, on=PAIR, how="left").fillna({"votes_against": 0.0})
    tally = tally[[*TALLY, *tally.columns.difference(TALLY)]]
    counts = tally[["votes", "votes_against"]]
    whole = bool((counts % 1 == 0).all(axis=None))
    return tally.astype(dict.fromkeys(counts, "int64")) if whole else tally


def _joined(texts: Iterable[str]) -> str:
    return ", ".join(text for text in texts if text)


def _moment(seconds: float) -> str:
    """Write a time as a date in UTC; an implausible time stays a number."""
    if np.isnan(seconds):
        return ""
    if not 1e8 < seconds < 1e10:  # from 1973 to 2286
        return f"{seconds:.15g}"
    return pd.Timestamp(seconds, unit="s").isoformat(timespec="seconds")
