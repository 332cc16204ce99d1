"""Judgments drawn again: how often each of them counts in a replicate, by a seed alone.

They are drawn with replacement, as many as there are, or a share of them without.

Random numbers are numpy's Philox by seed, kind, block of `BLOCK` replicates and query,
made on the host: a replicate does not depend on how many there are, on other queries,
or on how the work is cut.
"""

from __future__ import annotations

from numbers import Real
from zlib import crc32

import numpy as np
from jaxtyping import Bool, Float64, Int64

from pgcjax.errors import DataError, UsageError, check_choice
from pgcjax.io.votes.read import read_preferences
from pgcjax.io.weights import weights_of
from pgcjax.judging.choices import RESAMPLED
from pgcjax.later import pd

BLOCK = 128
"""Replicates that are drawn together."""

# Apart from those of tests.
_KINDS = {"judgments": 16, "judges": 17, "queries": 18, "subsample": 19, "orders": 20}
_MOST = 10**9  # judgments of a query, of which numpy draws without replacement
_SEVERAL = 2**14  # judgments of a query that are drawn one by one

Counts = Int64[np.ndarray, "replicates rows"]


def generator(seed: int, kind: str, block: int, query: str = "") -> np.random.Generator:
    """Make the random numbers of a block of replicates, and of a query if one is named.

    A query is known by its name, so that its draws do not depend on the others.
    """
    key = (_KINDS[kind], block, crc32(query.encode()), len(query))
    sequence = np.random.SeedSequence(seed, spawn_key=key)
    return np.random.Generator(np.random.Philox(sequence))


def topics(
    seed: int, replicates: int, queries: int
) -> Int64[np.ndarray, "replicates queries"]:
    """Draw as many queries as there are, with replacement: how often each is drawn."""
    parts = []
    for block, low in enumerate(range(0, replicates, BLOCK)):
        shape = min(BLOCK, replicates - low), queries
        drawn = generator(seed, "queries", block).integers(0, queries, shape)
        parts.append(_counted(drawn, queries))
    return np.concatenate([np.zeros((0, queries), np.int64), *parts])


class Draws:
    """Judgments of each query, and how often each row of them counts in a replicate.

    Drawn with replacement are, of each query, as many judgments as it has, a tie and a
    document judged bad among them; or, for all queries at once, as many judges as there
    are, each with all that the judge said. A row of weight w is w judgments; if w is a
    fraction, it is as many as the next whole number m, each of which counts w / m. A
    probability is what a judgment says: it stays as it is.

    Attributes:
        rows: places in the table of the rows of each query, queries ascending.
    """

    def __init__(self, preferences: pd.DataFrame, resample: str, seed: int):
        """Take canonical preferences.

        Args:
            preferences: the judgments.
            resample: `judges`, or anything else for judgments.
            seed: of the random numbers.

        Raises:
            DataError: a judgment names no judge, and judges are drawn.
        """
        self._seed = seed
        self._weight = weights_of(preferences)
        self._judgments = np.ceil(self._weight).astype(np.int64)
        self._judge = None
        if resample == "judges":
            self._judge = judges_of(preferences, "resampled", "resample judgments")
        number, names = pd.factorize(preferences["query_id"], sort=True)
        order = np.lexsort([*_meaning(preferences), number])
        ends = np.cumsum(np.bincount(number, minlength=len(names)))
        parts = np.split(order, ends[:-1]) if len(names) else []
        self.rows = dict(zip(map(str, names), parts, strict=True))
        self._drawn_judges: dict[int, np.ndarray] = {}

    def total(self, query: str) -> int:
        """Bound the judgments of a query that a replicate has."""
        judgments = int(self._judgments[self.rows[query]].sum())
        if self._judge is None:
            return judgments
        return judgments * (int(self._judge.max(initial=0)) + 1)

    def counts(self, query: str, block: int, size: int) -> Counts:
        """Tell how often each row of a query counts in the first replicates of a block.

        Args:
            query: one of those that have rows.
            block: number of the block.
            size: of its replicates, up to `BLOCK`.
        """
        rows = self.rows[query]
        weight = self._judgments[rows]
        if self._judge is not None:
            return self._of_judges(block)[:size, self._judge[rows]] * weight
        random, total = generator(self._seed, "judgments", block, query), weight.sum()
        if total > _SEVERAL:  # one by one, they would take long
            return random.multinomial(total, weight / total, size)
        drawn = random.integers(0, total, (size, total))
        if len(rows) < total:
            drawn = np.repeat(np.arange(len(rows)), weight)[drawn]
        return _counted(drawn, len(rows))

    def weights(
        self, query: str, counts: Counts
    ) -> Float64[np.ndarray, "replicates rows"]:
        """Give the weights that rows of a query have by `counts`.

        Whole ones are the counts themselves, and of a row that counts as often as it
        has judgments the weight is what it was: no rounding in either.
        """
        weight, judgments = (
            x[self.rows[query]] for x in (self._weight, self._judgments)
        )
        part = weight * counts / np.maximum(1, judgments)
        return np.where(counts == judgments, weight, part)

    def _of_judges(self, block: int) -> Int64[np.ndarray, "replicates judges"]:
        assert self._judge is not None
        counts = self._drawn_judges.get(block)
        if counts is None:
            judges = int(self._judge.max(initial=-1)) + 1
            random = generator(self._seed, "judges", block)
            counts = _counted(random.integers(0, judges, (BLOCK, judges)), judges)
            # One block is kept: queries ask for the same, one after the other.
            self._drawn_judges = {block: counts}
        return counts


class Subsample(Draws):
    """A share of the judgments of each query, drawn without replacement.

    A query of n judgments keeps share · n of them, rounded, and 1 at least. The draws
    of a small share are among those of a larger one with the same seed, unless a query
    has very many judgments.
    """

    def __init__(self, preferences: pd.DataFrame, share: float, seed: int):
        """Take canonical preferences.

        Args:
            preferences: the judgments.
            share: above 0, and 1 at most.
            seed: of the random numbers.

        Raises:
            DataError: a query has more judgments than numpy draws from.
        """
        super().__init__(preferences, "judgments", seed)
        self.share = share
        for query in self.rows:
            if self.total(query) >= _MOST:
                raise DataError(
                    f"query {query!r} has 10^9 judgments or more",
                    mend="Lower the weights.",
                )

    @property
    def judgments(self) -> int:
        """How many of all queries are kept."""
        return sum(map(self.kept, self.rows))

    def kept(self, query: str) -> int:
        """Say how many judgments of a query are kept."""
        return max(1, int(self.share * self.total(query) + 0.5))

    def counts(self, query: str, block: int, size: int) -> Counts:
        """Tell how often each row of a query counts, as `Draws.counts` does."""
        rows = self.rows[query]
        weight, kept = self._judgments[rows], self.kept(query)
        random = generator(self._seed, "subsample", block, query)
        total = int(weight.sum())
        if total > _SEVERAL:
            return random.multivariate_hypergeometric(
                weight, kept, size, method="marginals"
            )
        order = np.argpartition(random.random((size, total)), kept - 1, axis=1)
        drawn = np.repeat(np.arange(len(rows)), weight)[order[:, :kept]]
        return _counted(drawn, len(rows))


def resample_judgments(
    preferences: object, resample: str = "judgments", *, seed: int = 0, replicate: int
) -> pd.DataFrame:
    """Give the judgments of one replicate, as `evaluate(replicates=…)` draws them.

    Args:
        preferences: what `read_preferences` takes.
        resample: `judgments`, with replacement within each query; or `judges`.
        seed: as of `evaluate`.
        replicate: its number, from 0.

    Returns:
        The canonical rows that were drawn; `weight` is how often, times what one of
        its judgments counts.

    Raises:
        UsageError: an argument is wrong. DataError: a judgment is malformed, or names
            no judge and judges are drawn.
    """
    check_choice("resample", resample, RESAMPLED[:2])
    _check_replicate(seed, replicate)
    table = read_preferences(preferences)
    return _replicate(table, Draws(table, resample, seed), replicate)


def subsample_judgments(
    preferences: object, share: float, *, seed: int = 0, replicate: int = 0
) -> pd.DataFrame:
    """Give the judgments of one subsample, as `enough` draws them.

    Args:
        preferences: what `read_preferences` takes.
        share: of the judgments of each query, above 0 and 1 at most; 1 at least stays.
        seed: as of `enough`.
        replicate: its number, from 0.

    Returns:
        The canonical rows that were drawn; `weight` is how often, times what one of
        its judgments counts.

    Raises:
        UsageError: an argument is wrong. DataError: a judgment is malformed.
    """
    check_share(share)
    _check_replicate(seed, replicate)
    table = read_preferences(preferences)
    return _replicate(table, Subsample(table, share, seed), replicate)


def _replicate(table: pd.DataFrame, draws: Draws, replicate: int) -> pd.DataFrame:
    """Give the rows that a replicate has, with what each counts as weight."""
    weight = np.zeros(len(table))
    block, place = divmod(replicate, BLOCK)
    for query, rows in draws.rows.items():
        counts = draws.counts(query, block, place + 1)[place:]
        weight[rows] = draws.weights(query, counts)[0]
    return table.assign(weight=weight)[weight > 0].reset_index(drop=True)


def check_share(share: float) -> None:
    """Refuse what is no share of the judgments."""
    if not (isinstance(share, Real) and 0 < share <= 1):
        raise UsageError(f"share={share!r}: expected a number above 0, and 1 at most")


def _check_replicate(seed: int, replicate: int) -> None:
    """Refuse a seed that numpy would refuse, and a number of no replicate."""
    for name, number in (("seed", seed), ("replicate", replicate)):
        if number < 0:
            raise UsageError(f"{name}={number}: expected a whole number from 0")


def edges(preferences: pd.DataFrame) -> Bool[np.ndarray, " rows"]:
    """Say which rows prefer one document to another."""
    given = preferences["other_doc_id"].notna() & (preferences["preference"] != 0)
    return given.to_numpy(bool)


def _meaning(preferences: pd.DataFrame) -> list[np.ndarray]:
    """Give what rows of a query are sorted by: what they say, and then who says it.

    So a draw depends neither on the order of lines, nor on which document of a pair
    is given first.
    """
    rows = len(preferences)
    both = pd.concat([preferences["doc_id"], preferences["other_doc_id"]])
    doc, other = pd.factorize(both, sort=True)[0].reshape(2, rows)
    sign = np.sign(preferences["preference"].to_numpy())
    low, high = np.minimum(doc, other), np.maximum(doc, other)
    judge = preferences.get("judge", pd.Series("", preferences.index))
    who = pd.factorize(judge, sort=True)[0]
    turned = doc > other
    p = preferences.get("probability", pd.Series(np.nan, preferences.index))
    p = p.to_numpy(np.float64)
    likely = np.where(turned, 1 - p, p)
    # What counts in part counts as much wherever its row stands.
    weight = weights_of(preferences)
    part = np.where(weight % 1 == 0, 1.0, weight)
    return [part, likely, who, np.where(turned, -sign, sign), high, low]


def judges_of(preferences: pd.DataFrame, what: str, else_: str) -> np.ndarray:
    """Number the judges, ascending by name.

    Args:
        preferences: canonical.
        what: what is to be done to judges.
        else_: what to do where they have no names.

    Raises:
        DataError: a judgment names no judge.
    """
    named = preferences.get("judge", pd.Series(None, preferences.index, dtype=object))
    if named.isna().any():
        raise DataError(
            f"{int(named.isna().sum())} of {len(named)} judgments name no judge, and "
            f"judges are to be {what}",
            where="preferences",
            mend=f"Give a column judge, or {else_}.",
        )
    return pd.factorize(named, sort=True)[0]


def _counted(drawn: np.ndarray, kinds: int) -> np.ndarray:
    """Count how often each row holds 0, 1, …, kinds - 1."""
    places = drawn + kinds * np.arange(len(drawn))[:, None]
    return np.bincount(places.ravel(), minlength=len(drawn) * kinds).reshape(-1, kinds)
