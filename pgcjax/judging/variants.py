"""Variants of the judgments, which differ in how often each vote counts.

A variant is a copy of the judgments with other weights. It has a name, and the weights
`weights[variant, vote]`. Votes are resampled, left out, subsampled or added. Each
function here that returns `Variants` is one of these treatments;
`engine.variant_batch` scores runs by all variants.

Random numbers come from numpy's Philox by seed, kind, block of `BLOCK` variants and
query, on the host: a variant does not depend on the number of variants, on other
queries, or on the chunks of the work.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from numbers import Real
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from jaxtyping import Float64, Int, Int64

from pgcjax.errors import DataError, UsageError, check_choice
from pgcjax.io.votes.read import read_preferences
from pgcjax.io.weights import weights_of
from pgcjax.judging.choices import RESAMPLED
from pgcjax.later import pd

BLOCK = 128
"""Variants that are drawn together."""

# Kinds of random numbers; `stats.resample` has others.
_KINDS = {"judgments": 16, "judges": 17, "queries": 18, "subsample": 19, "orders": 20}
_MOST = 10**9  # most judgments of a query that numpy draws from without replacement
_SEVERAL = 2**14  # most judgments of a query that are drawn one by one

Counts = Int64[np.ndarray, "variants votes"]


class QueryVotes:
    """Votes of each query, in an order that depends on their content alone.

    A vote of weight w is w judgments. If w is a fraction, the vote is m judgments with
    the next whole number m, and each counts w / m. Ties and judgments that a document
    is bad are votes, too. The probability of a vote is part of its content, which no
    variant changes.

    Attributes:
        table: Canonical preferences.
        rows: Rows of the table that are the votes of each query; queries ascend.
        weight: Weight of each row of the table.
        judgments: Number of judgments that each row stands for.
    """

    def __init__(self, preferences: pd.DataFrame):
        """Take canonical preferences."""
        self.table, self.weight = preferences, weights_of(preferences)
        self.judgments = np.ceil(self.weight).astype(np.int64)
        number, names = pd.factorize(preferences["query_id"], sort=True)
        order = np.lexsort([*_sort_keys(preferences), number])
        ends = np.cumsum(np.bincount(number, minlength=len(names)))
        parts = np.split(order, ends[:-1]) if len(names) else []
        self.rows = dict(zip(map(str, names), parts, strict=True))

    def total(self, query: str) -> int:
        """Number of judgments of a query."""
        return int(self.judgments[self.rows[query]].sum())

    def weights(
        self, query: str, counts: Counts
    ) -> Float64[np.ndarray, "variants votes"]:
        """Weights of the votes of a query, given how often each counts.

        If all weights are whole numbers, these are the counts. A vote that counts as
        often as it has judgments keeps its weight exactly.
        """
        weight, judgments = (x[self.rows[query]] for x in (self.weight, self.judgments))
        part = weight * counts / np.maximum(1, judgments)
        return np.where(counts == judgments, weight, part)

    def of_variant(self, variants: Variants, number: int) -> pd.DataFrame:
        """Rows of the table that count in a variant, with their weight in it.

        Args:
            variants: Variants of these votes.
            number: Number of a variant.
        """
        weight = np.zeros(len(self.table))
        first = number // BLOCK * BLOCK
        for query, rows in self.rows.items():
            counts = variants.counts(query, slice(first, number + 1))[number - first :]
            weight[rows] = self.weights(query, counts)[0]
        return self.table.assign(weight=weight)[weight > 0].reset_index(drop=True)


class Variants(NamedTuple):
    """Variants of the judgments.

    Attributes:
        names: Names of the variants.
        counts: `counts(query, part)` returns how often each vote of a query counts in
            the variants of `part`, a slice of at most `BLOCK` variants that begins at a
            multiple of `BLOCK`. A query with fewer variants has fewer rows.
    """

    names: Sequence[Any]
    counts: Callable[[str, slice], Counts]


def drawn_votes(votes: QueryVotes, number: int, seed: int = 0) -> Variants:
    """Draw judgments of each query with replacement, as many as it has."""

    def counts(query: str, part: slice) -> Counts:
        judgments, size = votes.judgments[votes.rows[query]], part.stop - part.start
        random = generator(seed, "judgments", part.start // BLOCK, query)
        total = judgments.sum()
        if total > _SEVERAL:  # drawing one by one would be slow
            return random.multinomial(total, judgments / total, size)
        drawn = random.integers(0, total, (size, total))
        if len(judgments) < total:
            drawn = np.repeat(np.arange(len(judgments)), judgments)[drawn]
        return _counted(drawn, len(judgments))

    return Variants(range(number), counts)


def drawn_judges(votes: QueryVotes, number: int, seed: int = 0) -> Variants:
    """Draw judges with replacement, as many as there are, each with all votes.

    Raises:
        DataError: a judgment names no judge.
    """
    judge = judges_of(votes.table, "resampled", "resample judgments")
    judges = int(judge.max(initial=-1)) + 1

    @lru_cache(1)  # queries request the same block one after the other
    def drawn(block: int) -> np.ndarray:
        random = generator(seed, "judges", block)
        return _counted(random.integers(0, judges, (BLOCK, judges)), judges)

    def counts(query: str, part: slice) -> Counts:
        rows, size = votes.rows[query], part.stop - part.start
        return drawn(part.start // BLOCK)[:size, judge[rows]] * votes.judgments[rows]

    return Variants(range(number), counts)


def drawn_queries(
    seed: int,
    number: int,
    queries: int,
    cluster: Int[np.ndarray, " queries"] | None = None,
) -> Int64[np.ndarray, "variants queries"]:
    """Draw as many queries as there are, with replacement, and count each.

    Args:
        seed: Seed of the random numbers.
        number: Number of variants.
        queries: Number of queries.
        cluster: Number of each query's cluster: clusters are drawn, as many as there
            are, with all their queries.
    """
    if cluster is not None:
        return drawn_queries(seed, number, int(cluster.max()) + 1)[:, cluster]
    parts = []
    for block, low in enumerate(range(0, number, BLOCK)):
        shape = min(BLOCK, number - low), queries
        drawn = generator(seed, "queries", block).integers(0, queries, shape)
        parts.append(_counted(drawn, queries))
    return np.concatenate([np.zeros((0, queries), np.int64), *parts])


def shares(votes: QueryVotes, share: float, number: int, seed: int = 0) -> Variants:
    """Draw a share of the judgments of each query without replacement.

    With the same seed, a smaller share is a subset of a larger one, unless a query has
    very many judgments.

    Args:
        votes: The judgments.
        share: Share above 0 and at most 1; see `kept_judgments`.
        number: Number of variants.
        seed: Seed of the random numbers.

    Raises:
        DataError: a query has more judgments than numpy can draw from.
    """
    for query in votes.rows:
        if votes.total(query) >= _MOST:
            raise DataError(
                f"query {query!r} has 10^9 judgments or more",
                mend="Lower the weights.",
            )

    def counts(query: str, part: slice) -> Counts:
        judgments, size = votes.judgments[votes.rows[query]], part.stop - part.start
        total, number = votes.total(query), kept_judgments(votes, share, query)
        random = generator(seed, "subsample", part.start // BLOCK, query)
        if total > _SEVERAL:
            return random.multivariate_hypergeometric(
                judgments, number, size, method="marginals"
            )
        order = np.argpartition(random.random((size, total)), number - 1, axis=1)
        vote = np.repeat(np.arange(len(judgments)), judgments)
        return _counted(vote[order[:, :number]], len(judgments))

    return Variants(range(number), counts)


def kept_judgments(votes: QueryVotes, share: float, query: str) -> int:
    """Number of judgments of a query in a share of them, at least 1."""
    return max(1, int(share * votes.total(query) + 0.5))


class Owners(NamedTuple):
    """Owners of the votes: judges, or runs that alone contributed a document.

    Attributes:
        names: Names of the owners, ascending.
        of: Number of the owner of each row of the table; -1 for no owner or several.
            The two documents of a vote may have different runs as owners.
        documents: Number of judged documents that each run alone contributed.
    """

    names: list[str]
    of: Int[np.ndarray, "2 rows"]
    documents: Int64[np.ndarray, " owners"] | None = None

    @property
    def fingerprint(self) -> str:
        """Hash of all inputs of the counts except the judgments."""
        text = "\n".join(self.names).encode()
        return sha256(text + b"\0" + self.of.tobytes()).hexdigest()[:16]

    def judgments(self, votes: QueryVotes) -> np.ndarray:
        """Number of judgments of each owner; a vote of weight w is w judgments."""
        out, weight = np.zeros(len(self.names)), votes.weight
        first, second = self.of
        np.add.at(out, first[first >= 0], weight[first >= 0])
        other = (second >= 0) & (second != first)  # count a run's vote once
        np.add.at(out, second[other], weight[other])
        return out.astype(np.int64) if (weight % 1 == 0).all() else out


def judges_as_owners(votes: QueryVotes) -> Owners:
    """Take the judges as the owners of their votes.

    Raises:
        DataError: a judgment names no judge, or there is only one judge.
    """
    judge = judges_of(votes.table, "left out", "leave out runs")
    names = sorted(votes.table["judge"].unique()) if len(votes.table) else []
    if len(names) < 2:
        raise DataError(
            f"there is one judge alone, {names[0]!r}" if names else "there is no judge",
            where="preferences",
            mend="At least 2 are needed to leave one out.",
        )
    return Owners(names, np.array([judge, np.full_like(judge, -1)]))


def left_out(votes: QueryVotes, owners: Owners) -> Variants:
    """Leave out all votes of each owner in turn."""

    def counts(query: str, part: slice) -> Counts:
        rows, owner = votes.rows[query], np.arange(part.start, part.stop)
        stays = (owners.of[:, rows] != owner[:, None, None]).all(1)
        return stays * votes.judgments[rows]

    return Variants(owners.names, counts)


def both_answers(
    preferences: pd.DataFrame,
    pairs: Mapping[str, tuple[np.ndarray, np.ndarray]],
) -> tuple[QueryVotes, Variants]:
    """Add one vote to a pair of documents of each query, for the first or the second.

    Args:
        preferences: Canonical preferences.
        pairs: First and second documents of the pairs of each query.

    Returns:
        The votes with all added ones, and variants that add the vote for the first
        document of a pair, then for its second, for the first of the next pair, etc.
    """
    given = len(preferences)  # rows from here on are added votes
    columns = {
        "query_id": np.repeat(list(pairs), [2 * len(a) for a, _ in pairs.values()]),
        "doc_id": [d for pair in pairs.values() for d in np.ravel(pair, "F")],
        "other_doc_id": [d for a, b in pairs.values() for d in np.ravel((b, a), "F")],
    }
    added = pd.DataFrame(columns).assign(preference=1.0)
    votes = QueryVotes(pd.concat([preferences, added], ignore_index=True))
    bounds = np.cumsum([given, *(2 * len(a) for a, _ in pairs.values())])
    starts = dict(zip(pairs, bounds.tolist(), strict=False))
    ends = dict(zip(pairs, bounds[1:].tolist(), strict=True))

    def counts(query: str, part: slice) -> Counts:
        rows, start = votes.rows[query], starts.get(query, given)
        new = np.arange(start + part.start, start + part.stop)
        new = new[new < ends.get(query, given)]
        return ((rows < given) | (rows == new[:, None])) * votes.judgments[rows]

    most = max((len(a) for a, _ in pairs.values()), default=0)
    return votes, Variants(range(2 * most), counts)


def turned(
    preferences: pd.DataFrame,
) -> tuple[QueryVotes, Variants, dict[str, Int[np.ndarray, " turned"]]]:
    """Reverse one judgment of each query in turn.

    Ties and judgments that a document is bad do not change. Only one of several equal
    judgments is reversed, because each has the same effect.

    Args:
        preferences: Canonical preferences.

    Returns:
        The votes, followed by the reversed ones; variants, of which the i-th reverses
        the i-th judgment of each query; and these judgments, as rows of the table.
    """
    table = preferences.reset_index(drop=True)
    weight = weights_of(table)
    reversed_votes = table.assign(
        preference=-table["preference"], weight=weight / np.maximum(1, np.ceil(weight))
    )
    if "probability" in table:
        reversed_votes["probability"] = 1 - table["probability"]
    both = [table.assign(weight=weight), reversed_votes]
    votes = QueryVotes(pd.concat(both, ignore_index=True))
    rows = {query: np.array([x[0] for x in g]) for query, g in alike(table).items()}

    def counts(query: str, part: slice) -> Counts:
        of_query, turn = votes.rows[query], rows.get(query, np.zeros(0, np.int64))[part]
        removed = of_query[None, :] == turn[:, None]
        added = of_query[None, :] == turn[:, None] + len(table)
        before = np.where(of_query < len(table), votes.judgments[of_query], 0)
        return before - removed + added

    return votes, Variants(range(max(map(len, rows.values()), default=0)), counts), rows


def alike(preferences: pd.DataFrame) -> dict[str, list[Int[np.ndarray, " rows"]]]:
    """Group equal judgments of each query, whoever the judge is.

    Their documents, preference, probability and weight are equal.

    Args:
        preferences: Canonical preferences, numbered from 0.

    Returns:
        Rows of each group, in the order of first rows; without ties and bad documents.
    """
    weight = weights_of(preferences)
    content = np.array(_sort_keys(preferences))[[0, 1, 3, 4, 5]]  # without the judge
    query = pd.factorize(preferences["query_id"])[0]
    content = np.nan_to_num(np.column_stack([query, *content, weight]), nan=-1)
    _, first, group = np.unique(content, axis=0, return_index=True, return_inverse=True)
    prefers = (preferences["preference"] != 0) & preferences["other_doc_id"].notna()
    chosen = preferences[["query_id"]].assign(first=first[group.ravel()])
    chosen = chosen[prefers.to_numpy() & (weight > 0)]
    groups: dict[str, list[np.ndarray]] = {}
    for (query_id, _), rows in chosen.groupby(["query_id", "first"], sort=True):
        groups.setdefault(str(query_id), []).append(rows.index.to_numpy())
    return groups


def generator(seed: int, kind: str, block: int, query: str = "") -> np.random.Generator:
    """Make the generator of random numbers for a block of variants.

    If a query is named, its seed depends on the name, so its draws do not depend on
    other queries.
    """
    key = (_KINDS[kind], block, crc32(query.encode()), len(query))
    sequence = np.random.SeedSequence(seed, spawn_key=key)
    return np.random.Generator(np.random.Philox(sequence))


def resample_judgments(
    preferences: object, resample: str = "judgments", *, seed: int = 0, replicate: int
) -> pd.DataFrame:
    """Return the judgments of one replicate, as `uncertainty(replicates=…)` draws them.

    Args:
        preferences: Judgments, as `read_preferences` takes them.
        resample: `judgments`, with replacement within each query; or `judges`.
        seed: Seed, as in `uncertainty`.
        replicate: Number of the replicate, from 0.

    Returns:
        The canonical rows that were drawn. `weight` is the number of draws, times the
        weight of one of the row's judgments.

    Raises:
        UsageError: an argument is wrong. DataError: a judgment is malformed, or names
            no judge and judges are drawn.
    """
    check_choice("resample", resample, RESAMPLED[:2])
    _check_replicate(seed, replicate)
    votes = QueryVotes(read_preferences(preferences))
    drawn = drawn_judges if resample == "judges" else drawn_votes
    return votes.of_variant(drawn(votes, replicate + 1, seed), replicate)


def subsample_judgments(
    preferences: object, share: float, *, seed: int = 0, replicate: int = 0
) -> pd.DataFrame:
    """Return the judgments of one subsample, as `enough` draws them.

    Args:
        preferences: Judgments, as `read_preferences` takes them.
        share: Share of the judgments of each query, above 0 and at most 1; at least
            one judgment stays.
        seed: Seed, as in `enough`.
        replicate: Number of the subsample, from 0.

    Returns:
        The canonical rows that were drawn. `weight` is the number of draws, times the
        weight of one of the row's judgments.

    Raises:
        UsageError: an argument is wrong. DataError: a judgment is malformed.
    """
    check_share(share)
    _check_replicate(seed, replicate)
    votes = QueryVotes(read_preferences(preferences))
    return votes.of_variant(shares(votes, share, replicate + 1, seed), replicate)


def check_share(share: float) -> None:
    """Raise a UsageError unless the number is a share of the judgments."""
    if not (isinstance(share, Real) and 0 < share <= 1):
        raise UsageError(f"share={share!r}: expected a number above 0, and 1 at most")


def _check_replicate(seed: int, replicate: int) -> None:
    """Raise a UsageError if a seed or a number of a replicate is negative."""
    for name, number in (("seed", seed), ("replicate", replicate)):
        if number < 0:
            raise UsageError(f"{name}={number}: expected a whole number from 0")


def _sort_keys(preferences: pd.DataFrame) -> list[np.ndarray]:
    """Keys of `np.lexsort` that sort the votes of a query by content and judge.

    Sorted votes make draws independent of the order of lines, and of which document of
    a pair is given first.
    """
    rows = len(preferences)
    both = pd.concat([preferences["doc_id"], preferences["other_doc_id"]])
    doc, other = pd.factorize(both, sort=True)[0].reshape(2, rows)
    sign = np.sign(preferences["preference"].to_numpy())
    low, high = np.minimum(doc, other), np.maximum(doc, other)
    judge = preferences.get("judge", pd.Series("", preferences.index))
    judge = pd.factorize(judge, sort=True)[0]
    turned = doc > other
    p = preferences.get("probability", pd.Series(np.nan, preferences.index))
    p = p.to_numpy(np.float64)
    likely = np.where(turned, 1 - p, p)
    # Equal votes with different fractional weights need an order, too.
    weight = weights_of(preferences)
    part = np.where(weight % 1 == 0, 1.0, weight)
    return [part, likely, judge, np.where(turned, -sign, sign), high, low]


def judges_of(preferences: pd.DataFrame, treatment: str, else_: str) -> np.ndarray:
    """Number the judges, ascending by name.

    Args:
        preferences: Canonical preferences.
        treatment: Treatment of judges, for the message.
        else_: Advice for judges without names, for the message.

    Raises:
        DataError: a judgment names no judge.
    """
    named = preferences.get("judge", pd.Series(None, preferences.index, dtype=object))
    if named.isna().any():
        raise DataError(
            f"{int(named.isna().sum())} of {len(named)} judgments name no judge, and "
            f"judges are to be {treatment}",
            where="preferences",
            mend=f"Give a column judge, or {else_}.",
        )
    return pd.factorize(named, sort=True)[0]


def _counted(drawn: np.ndarray, kinds: int) -> np.ndarray:
    """Count how often each row holds 0, 1, …, kinds - 1."""
    places = drawn + kinds * np.arange(len(drawn))[:, None]
    return np.bincount(places.ravel(), minlength=len(drawn) * kinds).reshape(-1, kinds)
