"""Queries that belong together are one draw, and runs of one system its repeats."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float64, Int

from pgcjax.errors import DataError, UsageError, listed
from pgcjax.io.bytes import read_bytes
from pgcjax.io.containers import Columns, Named, container_of, split
from pgcjax.io.in_memory import in_hand
from pgcjax.io.schema import Origin, keyed, refuse
from pgcjax.stats.matrix import Matrix

_LONGEST_MARK = 3  # characters of what ends the name of a group


def read_groups(source: Any, member: str, group: str) -> dict[str, str]:
    """Read which group each member is in.

    Args:
        source: `{member: group}`; a DataFrame or a file with these two columns, which
            text without commas and tabs may leave unnamed.
        member: its canonical column, query_id or run_id.
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


def grouped(ids: Sequence[str], source: Any, member: str, group: str) -> list[str]:
    """Name the group of each id.

    Args:
        ids: of queries, or of runs.
        source: as of `read_groups`, or a mark such as `_`: the group is what stands
            before the last one, 31 of 31_4.
        member: as of `read_groups`.
        group: likewise.

    Raises:
        UsageError: no id has the mark. DataError: an id is in no group.
    """
    if isinstance(source, str) and _is_mark(source):
        if not any(source in name for name in ids):
            raise UsageError(
                f"{group}={source!r}: no {member} has it; there are {listed(ids)}"
            )
        return [name.rpartition(source)[0] or name for name in ids]
    groups = read_groups(source, member, group)
    if lacking := [name for name in ids if name not in groups]:
        raise DataError(
            f"no {group} of {listed(lacking)}",
            where=str(source) if isinstance(source, (str, os.PathLike)) else group,
            mend="Give each one: its own name, if it stands alone.",
        )
    return [groups[name] for name in ids]


def _is_mark(text: str) -> bool:
    return 0 < len(text) <= _LONGEST_MARK and not any(c.isalnum() for c in text)


def _membership(names: list[str]) -> tuple[list[str], np.ndarray]:
    """List groups, ascending, and which of them each member is in, as 0 and 1."""
    number, groups = pd.factorize(np.array(names, object), sort=True)
    return [*map(str, groups)], np.eye(len(groups))[number]


def clustered(matrix: Matrix, cluster: Any) -> Matrix:
    """Make scores of clusters, whose mean and its variance are those of the queries.

    The score of cluster c is m + (C / n) (s - k m): m is the mean of all n queries, s
    the sum of the k queries of c, one of C clusters. Their mean is m, and their
    variance by C that of m where clusters are drawn, a ratio of sums (Cochran 1977,
    6.4; clusters of equal size have their means).

    Raises:
        UsageError, DataError: as of `grouped`, or there is one cluster only.
    """
    of = grouped(matrix.query_ids, cluster, "query_id", "cluster")
    names, member = _membership(of)
    if len(names) < 2:
        raise DataError(
            "all queries are of one cluster",
            where="cluster",
            mend="A test needs 2 clusters or more.",
        )
    means = matrix.values.mean(1, keepdims=True)
    left = matrix.values @ member - member.sum(0) * means
    values = means + (len(names) / len(of)) * left
    return replace(matrix, query_ids=names, values=values)


@dataclass(frozen=True)
class Repeats:
    """Several runs of each system: how far their means vary.

    Attributes:
        count: of the runs of each system.
        deviation: of their means (ddof 1); 0 of a single run.
    """

    count: Float64[np.ndarray, " systems"]
    deviation: Float64[np.ndarray, " systems"]

    @classmethod
    def of(cls, matrix: Matrix, system: Any) -> tuple[Matrix, "Repeats"]:
        """Average the scores of the runs of each system, query by query.

        Raises:
            UsageError, DataError: as of `grouped`, or no two systems are left.
        """
        of = grouped(matrix.run_ids, system, "run_id", "system")
        names, member = _membership(of)
        if len(names) < 2:
            raise DataError(
                "all runs are of one system", where="system", mend="Give two or more."
            )
        count = member.sum(0)
        if two := [name for name, k in zip(names, count, strict=True) if k == 2]:
            raise DataError(
                f"2 runs of {listed(two)}",
                where="system",
                mend="Give 3 or more, or 1 if it always returns the same.",
            )
        values = (member / count).T @ matrix.values
        left = matrix.values.mean(1) - member @ values.mean(1)
        deviation = np.sqrt(left**2 @ member / np.maximum(count - 1, 1))
        return replace(matrix, run_ids=names, values=values), cls(count, deviation)

    def error(
        self,
        deviation: Float64[np.ndarray, " n"],
        queries: int,
        *systems: Int[np.ndarray, " n"],
    ) -> tuple[Float64[np.ndarray, " n"], Float64[np.ndarray, " n"]]:
        """Compute standard errors where queries are drawn, and repeats of systems.

        What a repeat changes query by query is counted by both: errors are rather large
        than small.

        Args:
            deviation: over queries, of means or of their differences.
            queries: how many there are.
            systems: those which each is of.

        Returns:
            Standard errors, and their degrees of freedom (Satterthwaite 1946).
        """
        variance, total = deviation**2 / queries, deviation**2 / queries
        share = variance**2 / (queries - 1)
        for system in systems:
            variance = self.deviation[system] ** 2 / self.count[system]
            total = total + variance
            share = share + variance**2 / np.maximum(self.count[system] - 1, 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            freedom = np.where(share > 0, total**2 / share, queries - 1.0)
        return np.sqrt(total), freedom
