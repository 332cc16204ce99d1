"""Queries that belong together: what they are to a test is one draw, not several."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pgcjax.errors import DataError, UsageError, listed
from pgcjax.io.bytes import read_bytes
from pgcjax.io.containers import Columns, Named, container_of, split
from pgcjax.io.in_memory import in_hand
from pgcjax.io.schema import Origin, keyed, refuse
from pgcjax.stats.matrix import Matrix

_LONGEST_MARK = 3  # characters of what ends the name of a cluster


def read_groups(source: Any, member: str, group: str) -> dict[str, str]:
    """Read which group each member is in.

    Args:
        source: `{member: group}`; a DataFrame or a file with these two columns, which
            text without commas and tabs may leave unnamed.
        member: its canonical column, such as query_id.
        group: its column.

    Raises:
        DataError: a row is malformed, or a member is in two groups.
    """
    given = in_hand(source, group)
    if isinstance(given, Mapping):
        return {str(name): str(of) for name, of in given.items()}
    if isinstance(given, pd.DataFrame):
        content = Named(given, Origin(group))
    else:
        data = read_bytes(path := Path(given))
        content = split(path, data, container_of(path, data), any_header=True)
    if isinstance(content, Columns):
        content.check_width(2, f"{member} {group}", "Or give a header.")
        frame = pd.DataFrame(content.rows, columns=[member, group])
        content = Named(frame, content.origin)
    table = keyed(content.frame, content.origin, [member, group])
    twice = table.duplicated(member).to_numpy()
    refuse(
        twice, lambda i: f"has {table[member][i]!r} twice", content.origin, "Keep one."
    )
    return dict(zip(table[member], table[group], strict=True))


def clusters_of(query_ids: Sequence[str], cluster: Any) -> list[str]:
    """Name the cluster of each query.

    Args:
        query_ids: of all queries.
        cluster: as of `read_groups`, or a mark such as `_`: the cluster is what stands
            before the last one, 31 of 31_4.

    Raises:
        UsageError: no query has the mark. DataError: a query is in no cluster.
    """
    if isinstance(cluster, str) and _is_mark(cluster):
        if not any(cluster in query for query in query_ids):
            raise UsageError(
                f"cluster={cluster!r}: no query has it; there are {listed(query_ids)}"
            )
        return [query.rpartition(cluster)[0] or query for query in query_ids]
    groups = read_groups(cluster, "query_id", "cluster")
    if lacking := [query for query in query_ids if query not in groups]:
        raise DataError(
            f"in no cluster: {listed(lacking)}",
            where=str(cluster)
            if isinstance(cluster, (str, os.PathLike))
            else "cluster",
            mend="Give each query one: its own name, if it stands alone.",
        )
    return [groups[query] for query in query_ids]


def _is_mark(text: str) -> bool:
    return 0 < len(text) <= _LONGEST_MARK and not any(c.isalnum() for c in text)


def clustered(matrix: Matrix, cluster: Any) -> Matrix:
    """Make scores of clusters, whose mean and its variance are those of the queries.

    The score of cluster c is m + (C / n) (s - k m): m is the mean of all n queries, s
    the sum of the k queries of c, one of C clusters. Their mean is m, and their
    variance by C that of m where clusters are drawn, a ratio of sums (Cochran 1977,
    6.4; clusters of equal size have their means).

    Raises:
        UsageError, DataError: as of `clusters_of`, or there is one cluster only.
    """
    number, names = pd.factorize(
        np.array(clusters_of(matrix.query_ids, cluster), object), sort=True
    )
    count, queries = len(names), len(number)
    if count < 2:
        raise DataError(
            "all queries are of one cluster",
            where="cluster",
            mend="A test needs 2 clusters or more, and holds its level from 20 on.",
        )
    member = np.zeros((queries, count))
    member[np.arange(queries), number] = 1.0
    means = matrix.values.mean(1, keepdims=True)
    sums = matrix.values @ member
    values = means + (count / queries) * (sums - member.sum(0) * means)
    return replace(matrix, query_ids=[str(name) for name in names], values=values)
