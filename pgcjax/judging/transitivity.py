"""Transitivity of judgments."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Int, Int64
from scipy import sparse

from pgcjax.errors import UsageError, check_choice
from pgcjax.judging.choices import SPLITS
from pgcjax.judging.votes import collect

KINDS = ("asym", "s2a", "s2s", "all", "chains")


def transitivity(
    preferences: Any,
    *,
    of: str = "majority",
    judges: Sequence[str] | None = None,
    split: str = "drop",
) -> pd.DataFrame:
    """Count how many triples of documents are judged transitively.

    A triple counts if all its three pairs are judged. It is transitive if an order of
    its documents, ties allowed, agrees with all three judgments. `asym` has no tie;
    `s2a` one (transitive if the third document compares alike with both); `s2s` two or
    three (transitive if three); `all` is any. `chains` counts i > j > k with i and k
    judged, and calls it transitive if i > k: a cycle has three of these chains.

    Args:
        preferences: Judgments, as in `read_preferences`; strengths and bad documents
            are ignored.
        of: `majority`: the most frequent vote on each pair, be it half of them or less;
            `judges`: each judge separately.
        judges: Judges to count; None counts all.
        split: A pair whose votes have no majority is not judged (`drop`), or a `tie`.

    Returns:
        Five rows for the majority, or for each judge: judge, kind, triples, transitive,
        share (NaN without triples).

    Source: Xie et al. 2020, 3.3 (asym, s2a, s2s); Carterette et al. 2008, 5.1 (chains).

    Raises:
        UsageError: an unknown judge or argument, or judges without names.
        DataError: a row is malformed.
    """
    check_choice("of", of, ("majority", "judges"))
    check_choice("split", split, SPLITS)
    votes = collect(preferences, judges=judges)
    if of == "majority":
        sign, decided = votes.most(split)
        pair, names = np.flatnonzero(decided), ["majority"]
        sign, group = sign[pair], np.zeros(len(pair), np.int64)
    else:
        named = votes.judge >= 0
        if not named.any():
            raise UsageError("no judgment names its judge: use the majority")
        pair, sign, group = (x[named] for x in (votes.pair, votes.sign, votes.judge))
        names = list(votes.judges)
    triples, transitive = count_triples(votes.pairs, pair, sign, group, len(names))
    columns = {
        "judge": np.repeat(names, len(KINDS)),
        "kind": KINDS * len(names),
        "triples": triples.ravel(),
        "transitive": transitive.ravel(),
    }
    table = pd.DataFrame(columns)
    return table.assign(share=table["transitive"] / table["triples"])


def count_triples(
    pairs: pd.DataFrame,
    pair: Int[np.ndarray, " judgments"],
    sign: Int[np.ndarray, " judgments"],
    group: Int[np.ndarray, " judgments"],
    groups: int,
) -> tuple[Int64[np.ndarray, "groups kinds"], Int64[np.ndarray, "groups kinds"]]:
    """Count triples, and transitive ones, as sums of products of adjacency matrices.

    With > and ≈ as matrices of 0 and 1, (> >) counts the chains between two documents.
    A pair is judged once in a group; judgments of different groups form no triple.
    """
    key = pd.DataFrame({"group": group, "query": pairs["query_id"].to_numpy()[pair]})
    ends = [
        key.assign(doc=pairs[name].to_numpy()[pair])
        for name in ("doc_id", "other_doc_id")
    ]
    vertices = pd.concat(ends, ignore_index=True)
    vertex = vertices.groupby(["group", "query", "doc"]).ngroup().to_numpy()
    n = int(vertex.max(initial=-1)) + 1
    a, b = vertex[: len(pair)], vertex[len(pair) :]
    owner = np.zeros(n, np.int64)
    owner[vertex] = vertices["group"].to_numpy()

    def matrix(rows: np.ndarray, columns: np.ndarray) -> sparse.csr_array:
        ones = np.ones(len(rows), np.int64)
        return sparse.csr_array((ones, (rows, columns)), shape=(n, n))

    won, lost, tied = sign > 0, sign < 0, sign == 0
    over = matrix(np.append(a[won], b[lost]), np.append(b[won], a[lost]))
    same = matrix(np.append(a[tied], b[tied]), np.append(b[tied], a[tied]))

    def total(product: sparse.csr_array, closing: sparse.csr_array) -> np.ndarray:
        per_vertex = np.asarray(product.multiply(closing).sum(axis=1)).reshape(-1)
        sums = np.zeros(groups, np.int64)
        np.add.at(sums, owner, per_vertex.astype(np.int64))
        return sums

    chain = over @ over
    ordered = total(chain, over)  # i > j > k, i > k
    cycles = total(chain, over.T.tocsr()) // 3
    split = total(chain, same)  # i > j > k, i ≈ k
    alike = total(over @ over.T + over.T @ over, same) // 2  # both over k, or under
    ties = same @ same
    three = total(ties, same) // 6
    two = total(ties, over)  # i ≈ j ≈ k, i > k
    triples = [ordered + cycles, alike + split, three + two]
    transitive = [ordered, alike, three]
    return (
        np.stack([*triples, sum(triples), ordered + 3 * cycles + split], axis=1),
        np.stack([*transitive, sum(transitive), ordered], axis=1),
    )
