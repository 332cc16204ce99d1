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
"""Least number of clusters for which intervals by replicates held in simulations."""
_COLLECTED = 50
"""Least number of queries per collection for which such intervals held."""
_UNEQUAL = 2
"""Least ratio of the sizes of two collections that a note reports."""


def grouped(ids: Sequence[str], source: Any, member: str, group: str) -> list[str]:
    """Name the group of each query or run.

    Args:
        ids: Names of queries, or of runs.
        source: Mark such as `_`: the text of an id before its last mark is its group,
            such as 31 for 31_4; or `{id: group}`; or a DataFrame or a file with these
            two columns. A file without commas and tabs needs no header.
        member: Column of ids, query_id or run_id.
        group: Column of groups.

    Raises:
        UsageError: no id has the mark. DataError: a row is malformed, or an id has two
            rows, or no group.
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
    """Read a table or a file; a file without a header has the columns `names`."""
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
    """List groups, ascending, and compute the matrix members × groups of 0 and 1.

    Raises:
        UsageError, DataError: as of `grouped`, or there is only one group.
    """
    names = np.array(grouped(ids, source, member, group), object)
    codes, groups = pd.factorize(names, sort=True)
    if len(groups) < 2:
        noun = "queries" if member == "query_id" else "runs"
        mend = f"A test needs 2 {group}s or more."
        raise DataError(f"all {noun} belong to one {group}", where=group, mend=mend)
    return [*map(str, groups)], np.eye(len(groups))[codes]


def clustered(matrix: Matrix, cluster: Any) -> Matrix:
    """Compute scores of clusters: pseudo-values of the jackknife over clusters.

    Let m be a run's mean over all n queries, s its sum over the k queries of a cluster,
    C the number of clusters, and d = (C - 1) (s - k m) / (n - k). The score of the
    cluster is m + d - mean of d over clusters, so the mean of the scores is m. For
    clusters of equal size, the scores are the means of clusters (Tukey 1958).

    Raises:
        UsageError, DataError: as of `grouped`, or there is only one cluster.
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
    """Number the cluster of each query, to resample clusters for replicates.

    Raises:
        UsageError, DataError: as of `grouped`, or there are fewer than 100 clusters,
            with which intervals by replicates are too short.
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
    """Resample the queries of each collection, as many as it has, for replicates.

    Returns:
        Weights of queries, with which the weighted mean of scores is the mean over
        collections of their means; weights of queries in each replicate, likewise; and
        the number of collections. Weights add up to 1.

    Raises:
        UsageError, DataError: as of `grouped`, or there is only one collection, or a
            collection has fewer than 50 queries, with which intervals are too short.
    """
    names, member = _membership(query_ids, collections, "query_id", "collection")
    sizes, codes = member.sum(0).astype(int), member.argmax(1)
    if few := [*np.array(names)[sizes < _COLLECTED]]:
        text = f"fewer than {_COLLECTED} queries of {listed(few)}: replicates vary too"
        mend = "Use compare --collections, or rank_sets."
        raise DataError(f"{text} little", where="collections", mend=mend)
    drawn = resample.all_indices(seed, replicates, *sizes.tolist())
    counts = np.empty((replicates, len(codes)))
    counts[:, np.argsort(codes, kind="stable")] = resample.multiplicities(drawn).T
    weights = 1 / (len(names) * sizes[codes])
    return weights, counts * weights, len(names)


def joined(
    scores: Mapping[str, Any], missing: str = "error", **reading: Any
) -> tuple[Matrix, dict[str, str]]:
    """Read the scores of several collections as one matrix.

    A query is named collection/query.

    Args:
        scores: Scores as in `matrix.read`, by the name of the collection.
        missing: Treatment of missing queries, as in `matrix.read`. If a collection
            lacks a run, `error` refuses the scores, `drop` leaves the run out, and
            `zero` gives it score 0 there.
        reading: Other arguments of `matrix.read`.

    Returns:
        The scores, and the collection of each query.

    Raises:
        UsageError, DataError: as of `matrix.read`, or a run lacks a collection.
    """
    tables, notes, collections, measure = [], [], {}, ""
    matrices: dict[str, Matrix] = {}
    for name, source in scores.items():
        matrix = read(source, missing=missing, **reading)
        for other, earlier in matrices.items():
            same = earlier.query_ids == matrix.query_ids
            if same and np.array_equal(earlier.values, matrix.values):
                mend = "Give each collection once."
                raise DataError(f"the same scores as {other}", where=name, mend=mend)
        matrices[name] = matrix
        ids = [f"{name}/{query}" for query in matrix.query_ids]
        collections |= dict.fromkeys(ids, name)
        tables.append(pd.DataFrame(matrix.values, matrix.run_ids, ids))
        notes += [f"{name}: {note}" for note in matrix.notes]
        measure = matrix.measure
    wide = pd.concat(tables, axis=1).sort_index(axis=0).sort_index(axis=1)
    if len(lacking := wide.index[wide.isna().any(axis=1)]):
        first = collections[str(wide.columns[wide.loc[lacking[0]].isna()][0])]
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
    return Matrix(*names, wide.to_numpy(), measure, tuple(notes)), collections


def collected(
    matrix: Matrix, collections: Any
) -> tuple[Matrix, Float64[np.ndarray, "runs collections"]]:
    """Compute scores whose mean is the mean over collections of their means.

    Let m_c be a run's mean over the n_c queries of collection c, m the mean of m_c over
    the C collections, and n the number of all queries. A score x of a query of c
    becomes m + n / (C n_c) sqrt(n_c / (n_c - 1)) (x - m_c). So the standard error of
    the mean is that of a stratified sample: new queries of the same collections.

    Returns:
        The scores, and m_c.

    Raises:
        UsageError, DataError: as of `grouped`, or there is only one collection, or a
            collection has only one query.
    """
    names, member = _membership(matrix.query_ids, collections, "query_id", "collection")
    size = member.sum(0)
    if single := [name for name, n in zip(names, size, strict=True) if n < 2]:
        mend = "Give 2 or more of each."
        raise DataError(f"1 query of {listed(single)}", where="collection", mend=mend)
    means = matrix.values @ member / size
    scale = len(member) / (len(names) * np.sqrt(size * (size - 1)))
    deviations = (matrix.values - means @ member.T) * (member @ scale)
    values, notes = means.mean(1, keepdims=True) + deviations, matrix.notes
    if few := [*np.array(names)[size * _UNEQUAL <= size.max()]]:
        text = f"{listed(few)}: far fewer queries than the largest collection, so that"
        notes = *notes, f"{text} 8 of 100 families of equal runs seem to differ, not 5"
    return replace(matrix, values=values, notes=notes), means


def borda(means: Float64[np.ndarray, "runs collections"]) -> np.ndarray:
    """Compute the share of other runs that each run beats, averaged over collections.

    A tie counts half. As each pair of runs meets on each collection, the strengths of
    Bradley and Terry have the same order.
    """
    ahead = np.sign(means[:, None] - means[None]).mean(2).sum(1)
    return (1 + ahead / max(1, len(means) - 1)) / 2


@dataclass(frozen=True)
class Repeats:
    """Number of runs of each system, and the deviation of their means.

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
            UsageError, DataError: as of `grouped`, or there is only one system, or a
                system has two runs.
        """
        names, member = _membership(matrix.run_ids, system, "run_id", "system")
        count = member.sum(0)
        if two := [name for name, k in zip(names, count, strict=True) if k == 2]:
            mend = "Give 3 or more, or 1 if it always returns the same."
            raise DataError(f"2 runs of {listed(two)}", where="system", mend=mend)
        values = (member / count).T @ matrix.values
        deviations = matrix.values.mean(1) - member @ values.mean(1)
        deviation = np.sqrt(deviations**2 @ member / np.maximum(count - 1, 1))
        return replace(matrix, run_ids=names, values=values), cls(count, deviation)

    def test(self, systems: Values, pairs: RunPairs) -> tuple[OfPairs, ...]:
        """Test differences of systems by t, from `[systems, queries]` mean scores.

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
        """Compute standard errors over random queries and random repeats of systems.

        The deviation over queries and that of the means of repeats both contain the
        variation of repeats within queries, so errors are rather too large.

        Args:
            deviation: Deviation over queries, of mean scores or of their differences.
            queries: Number of queries.
            systems: Place of the system of each mean, or of both systems of each
                difference.

        Returns:
            Standard errors, and their degrees of freedom (Satterthwaite 1946).
        """
        terms: list[tuple[Any, Any]] = [(deviation**2 / queries, queries - 1)]
        for system in systems:
            variance = self.deviation[system] ** 2 / self.count[system]
            terms.append((variance, np.maximum(self.count[system] - 1, 1)))
        total = sum(variance for variance, _ in terms)
        divisor = sum(variance**2 / freedom for variance, freedom in terms)
        with np.errstate(divide="ignore", invalid="ignore"):
            freedom = np.where(divisor > 0, total**2 / divisor, queries - 1.0)
        return np.sqrt(total), freedom


def variance_components(matrix: Matrix, system: Any) -> pd.DataFrame:
    """Estimate variance components of scores: runs within systems, and queries.

    A score is the sum of the overall mean, a residual, and random effects of the
    system, of the query, of system × query, and of the run within the system. Estimates
    are unbiased, and may be below 0. Systems of one run are treated as deterministic.

    Returns:
        component, variance and deviation (root of the variance; 0 if that is below 0).
        Without repeats, the last two components are missing, and system × query
        includes the residual.

    Raises:
        UsageError, DataError: as of `Repeats.of`.

    Source: analysis of variance (Searle, Casella and McCulloch 1992, chapter 4), by
    unweighted means if systems differ in the number of runs (Yates 1934).
    """
    names, member = _membership(matrix.run_ids, system, "run_id", "system")
    count, x = member.sum(0), matrix.values
    means = (member / count).T @ x
    freedom, queries = len(x) - len(names), x.shape[1]
    deviations = x - member @ means
    of_run = deviations.mean(1, keepdims=True)
    residual = ((deviations - of_run) ** 2).sum() / max(1, freedom * (queries - 1))
    run = (of_run**2).sum() / max(1, freedom) - residual / queries
    # Share of a run's variance that is in the mean of a system's runs.
    share = (1 / count[count > 1]).sum() / len(names)
    of_system, of_query = means.mean(1, keepdims=True), means.mean(0, keepdims=True)
    interaction = means - of_system - of_query + means.mean()
    square = (interaction**2).sum() / ((len(names) - 1) * (queries - 1))
    variance = {
        "system": of_system.var(ddof=1) - share * run - square / queries,
        "query": of_query.var(ddof=1) - square / len(names),
        "system × query": square - share * residual,
        "run within system": run,
        "residual": residual,
    }
    table = pd.DataFrame(variance.items(), columns=["component", "variance"])
    table["deviation"] = np.sqrt(table["variance"].clip(lower=0))
    return table if freedom else table[:3]


def arranged(
    scores: Any, measure: str | None, missing: str, structure: Mapping[str, Any]
) -> tuple[Matrix, Repeats | None, dict[str, Any]]:
    """Read scores of clusters, systems or collections.

    Args:
        scores: Scores as in `compare`.
        measure: Measure as in `compare`.
        missing: Treatment of missing queries, as in `compare`.
        structure: The arguments cluster, system and collections of `compare`, by name;
            None where not given.

    Returns:
        Scores, whose columns are the resampled units; the variation of repeats, or
        None; and findings by name: `queries` and `clusters`, their numbers; or
        `repeats`, the number of runs, and `components`, the table of variance
        components; or `collections`, the means `[runs, collections]`.

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
