"""Clusters and collections of queries, and systems of several runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float64, Int

from pgcjax.errors import DataError, UsageError, counted, listed
from pgcjax.io.bytes import read_bytes
from pgcjax.io.containers import Named, container_of, split
from pgcjax.io.in_memory import in_hand
from pgcjax.io.schema import Origin, keyed, refuse
from pgcjax.later import stats
from pgcjax.stats import resample
from pgcjax.stats.matrix import Matrix, read
from pgcjax.stats.tests import OfPairs, RunPairs, Values, identical, moments

STRUCTURES: tuple[str, ...] = ("cluster", "system", "collections")
_REPLICATED = 100
"""Clusters from which on replicates were simulated to hold."""
_COLLECTED = 50
"""Queries of each collection from which on replicates were simulated to hold."""
_UNEQUAL = 2
"""Times as many queries in a collection than in another from which on a note is due."""


def grouped(ids: Sequence[str], source: Any, member: str, group: str) -> list[str]:
    """Name the group of each query or run.

    Args:
        ids: Names of queries, or of runs.
        source: a mark such as `_`: the group is what stands before the last one, 31 of
            31_4; or `{id: group}`; or a DataFrame or a file with these two columns,
            which text without commas and tabs may leave unnamed.
        member: Column of ids, query_id or run_id.
        group: Column of groups.

    Raises:
        UsageError: no id has the mark. DataError: a row is malformed, an id is there
            twice, or in no group.
    """
    if (
        isinstance(source, str)
        and len(source) < 4
        and not any(map(str.isalnum, source))
    ):
        if not any(source in name for name in ids):
            raise UsageError(
                f"{group}={source!r}: no {member} has it; there are {listed(ids)}"
            )
        return [name.rpartition(source)[0] or name for name in ids]
    given, where = in_hand(source, group), group
    if not isinstance(given, Mapping):
        content = _columns(given, member, group)
        origin, where = content.origin, content.origin.name
        table = keyed(content.frame, origin, [member, group])
        twice = table.duplicated(member).to_numpy()
        refuse(twice, lambda i: f"has {table[member][i]!r} twice", origin, "Keep one.")
        given = dict(zip(table[member], table[group], strict=True))
    if lacking := [name for name in ids if name not in given]:
        mend = "Give each one: its own name, if it stands alone."
        raise DataError(f"no {group} of {listed(lacking)}", where=where, mend=mend)
    return [str(given[name]) for name in ids]


def _columns(source: Any, *names: str) -> Named:
    """Read a table, or a file whose columns are these if it names none."""
    if isinstance(source, pd.DataFrame):
        return Named(source, Origin(names[-1]))
    data = read_bytes(path := Path(source))
    content = split(path, data, container_of(path, data), any_header=True)
    if isinstance(content, Named):
        return content
    content.check_width(" ".join(names), "Or give a header.")
    return Named(pd.DataFrame(content.rows, columns=list(names)), content.origin)


def _membership(
    ids: Sequence[str], source: Any, member: str, group: str
) -> tuple[list[str], np.ndarray]:
    """List groups, ascending, and which of them each member is in, as 0 and 1.

    Raises:
        UsageError, DataError: as of `grouped`, or there is one group only.
    """
    names = np.array(grouped(ids, source, member, group), object)
    number, groups = pd.factorize(names, sort=True)
    if len(groups) < 2:
        noun = "queries" if member == "query_id" else "runs"
        mend = f"A test needs 2 {group}s or more."
        raise DataError(f"all {noun} belong to one {group}", where=group, mend=mend)
    return [*map(str, groups)], np.eye(len(groups))[number]


def clustered(matrix: Matrix, cluster: Any) -> Matrix:
    """Make scores of clusters: pseudo-values of the jackknife without each in turn.

    The score of cluster c is m + (C - 1) (s - k m) / (n - k), less what leaves their
    mean at m: m is the mean of all n queries, s the sum of the k queries of c, one of C
    clusters. Of clusters of equal size these are the means (Tukey 1958).

    Raises:
        UsageError, DataError: as of `grouped`, or there is one cluster only.
    """
    names, member = _membership(matrix.query_ids, cluster, "query_id", "cluster")
    means = matrix.values.mean(1, keepdims=True)
    size = member.sum(0)
    moved = (matrix.values @ member - size * means) / (len(member) - size)
    values = means + (len(names) - 1) * (moved - moved.mean(1, keepdims=True))
    return replace(matrix, query_ids=names, values=values)


def cluster_numbers(
    query_ids: Sequence[str], cluster: Any
) -> Int[np.ndarray, " queries"]:
    """Number the cluster of each query, to draw clusters for replicates.

    Raises:
        UsageError, DataError: as of `grouped`, or there are fewer than 100 clusters, by
            which intervals of replicates are too short.
    """
    names, member = _membership(query_ids, cluster, "query_id", "cluster")
    if len(names) < _REPLICATED:
        text = f"{len(names)} clusters: replicates of fewer than {_REPLICATED} vary"
        mend = "Use compare --cluster, or rank_sets."
        raise DataError(f"{text} too little", where="cluster", mend=mend)
    return member.argmax(1)


def collection_weights(
    query_ids: Sequence[str], collections: Any, seed: int, replicates: int
) -> tuple[
    Float64[np.ndarray, " queries"], Float64[np.ndarray, "replicates queries"], int
]:
    """Draw queries of each collection again, as many as it has, for replicates.

    Returns:
        Weights by which the mean of scores is that over collections of their means; and
        the same of each replicate, which add up to 1; and the number of collections.

    Raises:
        UsageError, DataError: as of `grouped`, or there is one collection only, or a
            collection has fewer than 50 queries, by which intervals are too short.
    """
    names, member = _membership(query_ids, collections, "query_id", "collection")
    sizes, number = member.sum(0).astype(int), member.argmax(1)
    if few := [*np.array(names)[sizes < _COLLECTED]]:
        text = f"fewer than {_COLLECTED} queries of {listed(few)}: replicates vary too"
        mend = "Use compare --collections, or rank_sets."
        raise DataError(f"{text} little", where="collections", mend=mend)
    drawn = resample.all_indices(seed, replicates, *sizes.tolist())
    counts = np.empty((replicates, len(number)))
    counts[:, np.argsort(number, kind="stable")] = resample.multiplicities(drawn).T
    weights = 1 / (len(names) * sizes[number])
    return weights, counts * weights, len(names)


def joined(
    scores: Mapping[str, Any], missing: str = "error", **reading: Any
) -> tuple[Matrix, dict[str, str]]:
    """Read the scores of several collections as one matrix, by collection/query.

    Args:
        scores: what `matrix.read` takes, by the name of the collection.
        missing: as of `matrix.read`; a run that a collection lacks is refused, left
            out by `drop`, and counted as 0 by `zero`.
        reading: the rest, as of `matrix.read`.

    Returns:
        The scores, and the collection of each query.

    Raises:
        UsageError, DataError: as of `matrix.read`, or a run lacks a collection.
    """
    tables, notes, of, measure = [], [], {}, ""
    parts: dict[str, Matrix] = {}
    for name, source in scores.items():
        part = read(source, missing=missing, **reading)
        for other, earlier in parts.items():
            same = earlier.query_ids == part.query_ids
            if same and np.array_equal(earlier.values, part.values):
                mend = "Give each collection once."
                raise DataError(f"the same scores as {other}", where=name, mend=mend)
        parts[name] = part
        ids = [f"{name}/{query}" for query in part.query_ids]
        of |= dict.fromkeys(ids, name)
        tables.append(pd.DataFrame(part.values, part.run_ids, ids))
        notes += [f"{name}: {note}" for note in part.notes]
        measure = part.measure
    wide = pd.concat(tables, axis=1).sort_index(axis=0).sort_index(axis=1)
    if len(lacking := wide.index[wide.isna().any(axis=1)]):
        first = of[str(wide.columns[wide.loc[lacking[0]].isna()][0])]
        text = f"{counted(len(lacking), 'run')} without scores of all collections"
        if missing == "error":
            mend = "Complete them, or choose missing drop or zero."
            text = f"run {lacking[0]!r} has no scores; {text}"
            raise DataError(text, where=first, mend=mend)
        fate = "left out" if missing == "drop" else "with 0 there"
        notes.append(f"{text}, {fate}: {listed([*lacking])}")
        wide = wide.drop(lacking) if missing == "drop" else wide.fillna(0.0)
    if not len(wide):
        mend = "Compare collections that the same runs have searched."
        raise DataError("no run has scores of all collections", mend=mend)
    names = [*map(str, wide.index)], [*map(str, wide.columns)]
    return Matrix(*names, wide.to_numpy(), measure, tuple(notes)), of


def collected(
    matrix: Matrix, collections: Any
) -> tuple[Matrix, Float64[np.ndarray, "runs collections"]]:
    """Make scores whose mean is that over collections, of their means.

    The score of a query of collection c, one of C, with n_c of all n queries, is
    m + n / (C n_c) sqrt(n_c / (n_c - 1)) (x - m_c): m is the mean over collections of
    their means m_c. So the error of the mean is that of a stratified sample: other
    queries of the same collections.

    Returns:
        The scores, and m_c.

    Raises:
        UsageError, DataError: as of `grouped`, or there is one collection only, or a
            collection of one query.
    """
    names, member = _membership(matrix.query_ids, collections, "query_id", "collection")
    size = member.sum(0)
    if single := [name for name, n in zip(names, size, strict=True) if n < 2]:
        mend = "Give 2 or more of each."
        raise DataError(f"1 query of {listed(single)}", where="collection", mend=mend)
    means = matrix.values @ member / size
    scale = len(member) / (len(names) * np.sqrt(size * (size - 1)))
    left = (matrix.values - means @ member.T) * (member @ scale)
    values, notes = means.mean(1, keepdims=True) + left, matrix.notes
    if few := [*np.array(names)[size * _UNEQUAL <= size.max()]]:
        text = f"{listed(few)}: far fewer queries than the largest collection, so that"
        notes = *notes, f"{text} 8 of 100 families of equal runs seem to differ, not 5"
    return replace(matrix, values=values, notes=notes), means


def borda(means: Float64[np.ndarray, "runs collections"]) -> np.ndarray:
    """Compute the share of other runs that a run is ahead of, over collections.

    An equal one counts half. As each run meets each other one on each collection,
    Bradley and Terry's strengths have the same order.
    """
    ahead = np.sign(means[:, None] - means[None]).mean(2).sum(1)
    return (1 + ahead / max(1, len(means) - 1)) / 2


@dataclass(frozen=True)
class Repeats:
    """Several runs of each system: how far their means vary.

    Attributes:
        count: Number of runs of each system.
        deviation: Standard deviation of their means (ddof 1); 0 for a single run.
    """

    count: Float64[np.ndarray, " systems"]
    deviation: Float64[np.ndarray, " systems"]

    @classmethod
    def of(cls, matrix: Matrix, system: Any) -> tuple[Matrix, "Repeats"]:
        """Average the scores of the runs of each system, query by query.

        Raises:
            UsageError, DataError: as of `grouped`, or no two systems are left.
        """
        names, member = _membership(matrix.run_ids, system, "run_id", "system")
        count = member.sum(0)
        if two := [name for name, k in zip(names, count, strict=True) if k == 2]:
            mend = "Give 3 or more, or 1 if it always returns the same."
            raise DataError(f"2 runs of {listed(two)}", where="system", mend=mend)
        values = (member / count).T @ matrix.values
        left = matrix.values.mean(1) - member @ values.mean(1)
        deviation = np.sqrt(left**2 @ member / np.maximum(count - 1, 1))
        return replace(matrix, run_ids=names, values=values), cls(count, deviation)

    def test(self, systems: Values, pairs: RunPairs) -> tuple[OfPairs, ...]:
        """Test differences of mean scores `[systems, queries]` of repeats by t.

        Returns:
            p, standard errors, and their degrees of freedom.
        """
        mean, deviation = moments(systems, pairs)
        error, freedom = self.error(deviation, systems.shape[1], *pairs)
        with np.errstate(divide="ignore", invalid="ignore"):
            p = 2 * stats.t.sf(np.abs(mean / error), freedom)
        return np.where(identical(systems, pairs), 1.0, p), error, freedom

    def error(
        self, deviation: OfPairs, queries: int, *systems: Int[np.ndarray, " n"]
    ) -> tuple[OfPairs, OfPairs]:
        """Compute standard errors where queries are drawn, and repeats of systems.

        What a repeat changes query by query is counted twice: errors are rather large.

        Args:
            deviation: Deviation over queries, of means or of their differences.
            queries: Number of queries.
            systems: those which each is of.

        Returns:
            Standard errors, and their degrees of freedom (Satterthwaite 1946).
        """
        parts: list[tuple[Any, Any]] = [(deviation**2 / queries, queries - 1)]
        for system in systems:
            variance = self.deviation[system] ** 2 / self.count[system]
            parts.append((variance, np.maximum(self.count[system] - 1, 1)))
        total = sum(variance for variance, _ in parts)
        share = sum(variance**2 / freedom for variance, freedom in parts)
        with np.errstate(divide="ignore", invalid="ignore"):
            freedom = np.where(share > 0, total**2 / share, queries - 1.0)
        return np.sqrt(total), freedom


def variance_components(matrix: Matrix, system: Any) -> pd.DataFrame:
    """Estimate variance components of scores: runs within systems, by queries.

    A score is a mean, and random effects of its system, its query, both together,
    its run within the system, and a residual. Estimates are unbiased, and may be
    below 0. Systems of one run are taken for deterministic.

    Returns:
        component, variance and deviation (its root; 0 where it is below 0). Without
        repeats, system × query has the residual in it.

    Raises:
        UsageError, DataError: as of `Repeats.of`.

    Source: analysis of variance (Searle, Casella and McCulloch 1992, chapter 4);
    of unequal numbers of runs by unweighted means (Yates 1934).
    """
    names, member = _membership(matrix.run_ids, system, "run_id", "system")
    count, x = member.sum(0), matrix.values
    means = (member / count).T @ x
    within, queries = len(x) - len(names), x.shape[1]
    of_runs = x - member @ means
    by_run = of_runs.mean(1, keepdims=True)
    left = ((of_runs - by_run) ** 2).sum() / max(1, within * (queries - 1))
    run = (by_run**2).sum() / max(1, within) - left / queries
    share = (1 / count[count > 1]).sum() / len(names)  # of a run's in a system's
    of_system, of_query = means.mean(1, keepdims=True), means.mean(0, keepdims=True)
    both = means - of_system - of_query + means.mean()
    together = (both**2).sum() / ((len(names) - 1) * (queries - 1))
    of_both = together - share * left
    variance = {
        "system": of_system.var(ddof=1) - share * run - together / queries,
        "query": of_query.var(ddof=1) - together / len(names),
        "system × query": of_both,
        "run within system": run,
        "residual": left,
    }
    table = pd.DataFrame(variance.items(), columns=["component", "variance"])
    table["deviation"] = np.sqrt(table["variance"].clip(lower=0))
    return table if within else table[:3]


def arranged(
    scores: Any, measure: str | None, missing: str, structure: Mapping[str, Any]
) -> tuple[Matrix, Repeats | None, dict[str, Any]]:
    """Read scores of clusters, systems or collections.

    Args:
        scores: Scores as in `compare`.
        measure: Measure as in `compare`.
        missing: Treatment of missing queries, as in `compare`.
        structure: cluster, system and collections, likewise; None is nothing.

    Returns:
        Scores whose columns are drawn; what repeats vary by; and the numbers of queries
        in clusters, of clusters and of repeats, the variance components of systems, and
        means by collection.

    Raises:
        UsageError, DataError: as of `grouped`, or two structures are given.
    """
    named = [name for name, value in structure.items() if value is not None]
    if named[1:]:
        raise UsageError(f"{named[0]} does not go with {named[1]}")
    collections = structure["collections"]
    if collections is True:
        matrix, collections = joined(scores, missing, measure=measure)
    else:
        matrix = read(scores, measure=measure, missing=missing)
    about: dict[str, Any] = {}
    repeats = None
    if structure["cluster"] is not None:
        about["queries"] = len(matrix.query_ids)
        matrix = clustered(matrix, structure["cluster"])
        about["clusters"] = len(matrix.query_ids)
    elif (system := structure["system"]) is not None:
        about["repeats"] = len(matrix.run_ids)
        about["components"] = variance_components(matrix, system)
        matrix, repeats = Repeats.of(matrix, system)
    elif collections is not None:
        matrix, about["collections"] = collected(matrix, collections)
    return matrix, repeats, about
