"""Double votes: a judge's answers on a pair of documents that was shown in both orders.

Answers that agree show the judge's preference; others show an effect of the order.
"""

from __future__ import annotations

import numpy as np

from pgcjax.errors import check_choice
from pgcjax.io.choices import FLIPS
from pgcjax.later import pd

AGREEING, TIED, HALF_TIED, FLIPPED = "agreeing", "tied", "half tied", "flipped"
KINDS = (AGREEING, TIED, HALF_TIED, FLIPPED)
_PAIR = ["query_id", "low", "high", "judge", "aspect"]


def double_votes(preferences: pd.DataFrame) -> pd.DataFrame:
    """List the pairs that a judge judged in both orders.

    Rows without a judge count as those of one judge, only here: a file of one model's
    votes need not name it. If there are several answers in one order, the answer is
    their common one, or else a tie.

    Args:
        preferences: Canonical preferences with `first`, the document shown first.

    Returns:
        A row for each double vote: query_id, low, high (the documents, ascending),
        judge, aspect ("" for none), low_first, high_first (the answer with low or high
        shown first: 1 for low, -1 for high, 0 for a tie), kind (`agreeing`; `tied`:
        both answers are ties; `half tied`: one is; `flipped`), to (`first` or
        `second`: the position that a flipped vote prefers; else "") and rows (their
        number).
    """
    return _listed(_sorted_rows(preferences))


def settle(preferences: pd.DataFrame, flips: str) -> pd.DataFrame:
    """Make one judgment of each double vote, or leave them as they are.

    A double vote that agrees becomes one judgment, with the mean strength, weight,
    probability and times of its rows. A settled judgment has no document shown first,
    so settling twice changes nothing more.

    Args:
        preferences: Canonical preferences.
        flips: Treatment of votes that do not agree: `keep`: all rows count, unchanged;
            `tie`: the judgment is a tie (Zheng et al. 2023, 3.4); `drop`: the vote is
            left out; `half`: the answer in each order counts half, even if they agree.
    """
    check_choice("flips", flips, FLIPS)
    if flips == "keep" or "first" not in preferences:
        return preferences
    rows = _sorted_rows(preferences)
    votes = _listed(rows)
    if votes.empty:
        return preferences
    attrs = preferences.attrs
    number = rows.merge(votes[_PAIR].assign(vote=range(len(votes))), how="left")["vote"]
    double = number.notna().to_numpy()
    place = rows["place"].to_numpy()[double]
    number = number[double].astype(np.int64).to_numpy()
    table = preferences.copy()
    if flips == "half":
        rows = rows[double].assign(vote=number)
        in_order = rows.groupby(["vote", "low_first"])["place"].transform("size")
        weight = np.ones(len(table))
        if "weight" in table:
            weight = table["weight"].to_numpy(float, copy=True)
        weight[place] /= 2 * in_order.to_numpy()
        table["weight"] = weight
        table.loc[table.index[place], "first"] = None
    else:
        table = _merged(table, rows[double], place, number, votes, flips)
    table.attrs = attrs
    return table


def _sorted_rows(preferences: pd.DataFrame) -> pd.DataFrame:
    """Return pair, judge and sign of the rows that name the document shown first."""
    if "first" not in preferences:
        preferences = preferences.assign(first=None)
    shown = preferences["first"].notna() & preferences["other_doc_id"].notna()
    place = np.flatnonzero(shown.to_numpy())
    table = preferences.iloc[place]
    doc, other = (table[c].to_numpy(object) for c in ("doc_id", "other_doc_id"))
    turned = doc > other
    sign = np.sign(table["preference"].to_numpy(float)) + 0.0

    def name(column: str) -> np.ndarray:
        if column not in table:
            return np.full(len(table), "", object)
        return table[column].astype(object).where(table[column].notna(), "").to_numpy()

    low = np.where(turned, other, doc)
    return pd.DataFrame(
        {
            "query_id": table["query_id"].to_numpy(object),
            "low": low,
            "high": np.where(turned, doc, other),
            "judge": name("judge"),
            "aspect": name("aspect"),
            "low_first": table["first"].to_numpy(object) == low,
            "sign": np.where(turned, -sign, sign),
            "place": place,
        }
    )


def _listed(rows: pd.DataFrame) -> pd.DataFrame:
    columns = [*_PAIR, "low_first", "high_first", "kind", "to", "rows"]
    of_order = rows.groupby([*_PAIR, "low_first"], sort=True)["sign"].agg(
        ["min", "max", "size"]
    )
    answer = of_order["min"].where(of_order["min"] == of_order["max"], 0.0)
    answers = pd.DataFrame({"answer": answer, "rows": of_order["size"]}).unstack()
    if answers.shape[1] < 4:  # only one order occurs
        return pd.DataFrame(columns=columns)
    answers = answers.dropna()
    low, high = answers["answer"][True].to_numpy(), answers["answer"][False].to_numpy()
    flipped, tied = low * high < 0, (low == 0) & (high == 0)
    kind = np.select([flipped, tied, low == high], [FLIPPED, TIED, AGREEING], HALF_TIED)
    to = np.where(flipped, np.where(low > 0, "first", "second"), "")
    more = {"low_first": low, "high_first": high, "kind": kind, "to": to}
    more["rows"] = answers["rows"].to_numpy().sum(axis=1).astype(int)
    return answers.index.to_frame(index=False).assign(**more)[columns]


def _merged(
    table: pd.DataFrame,
    rows: pd.DataFrame,
    place: np.ndarray,
    number: np.ndarray,
    votes: pd.DataFrame,
    flips: str,
) -> pd.DataFrame:
    """Put one row in the place of the first row of each double vote."""
    kind = votes["kind"].to_numpy()
    agreed = np.isin(kind, (AGREEING, TIED))
    low, high = votes["low"].to_numpy(object), votes["high"].to_numpy(object)
    one = pd.DataFrame(
        {"query_id": votes["query_id"], "doc_id": low, "other_doc_id": high}
    )
    turned = np.where(table["doc_id"].to_numpy(object)[place] == rows["low"], 1.0, -1.0)

    def mean(values: np.ndarray) -> np.ndarray:
        return pd.Series(values).groupby(number).mean().to_numpy()

    strength = mean(table["preference"].to_numpy(float)[place] * turned)
    one["preference"] = np.where(kind == AGREEING, strength, 0.0) + 0.0
    for name in {"weight", "seconds", "time"} & {*table}:
        one[name] = mean(table[name].to_numpy(float)[place])
    if "probability" in table:
        p = 0.5 + (table["probability"].to_numpy(float)[place] - 0.5) * turned
        one["probability"] = np.where(kind == AGREEING, mean(p), 0.5)
    lengths = "length", "other_length"
    for name, other in (lengths, lengths[::-1]):
        if name in table and other in table:
            both = (table[c].to_numpy(float)[place] for c in (name, other))
            one[name] = mean(np.where(turned > 0, *both))
    start = pd.Series(place).groupby(number).idxmin().to_numpy()
    for name in table.columns.difference([*one, "judge", "aspect", "first"]):
        pair = (name, f"other_{name}") if f"other_{name}" in table else (name,) * 2
        pair = pair if name[:6] != "other_" else (name, name[6:])
        columns = (table[c].to_numpy(object)[place[start]] for c in pair)
        one[name] = np.where(turned[start] > 0, *columns)
    for name in {"judge", "aspect"} & {*table}:
        one[name] = votes[name].where(votes[name] != "", None)
    one["first"] = None
    one.index = pd.Index(place[start])
    if flips == "drop":
        one = one[agreed]
    rest = table.reset_index(drop=True).drop(index=place.tolist())
    types = {c: table[c].dtype for c in table}
    return (
        pd.concat([rest, one[[*table]].astype(types)])
        .sort_index()
        .reset_index(drop=True)
    )
