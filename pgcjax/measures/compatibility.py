"""Greedy PGC and compatibility: how near a run comes to its nearest ideal ranking."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pgcjax.kernels.overlap import rank_weights, weight_within
from pgcjax.measures.spec import Definition, Parameter
from pgcjax.tensors import graphs as g

P = Parameter(
    "p",
    0.95,
    "persistence, a number above 0 and below 1; .85 ~ @5, .90 ~ @10, .95 ~ @20",
    valid=lambda p: 0 < p < 1,
)
DEPTH = Parameter(
    "depth",
    1000,
    "last rank that counts, a whole number from 1 to 1000000",
    valid=lambda depth: 1 <= depth <= 1_000_000,
)
GRAPH = Parameter(
    "graph",
    "real",
    "one of real (preferences), derived (from qrels), combined (both)",
    allowed=("real", "derived", "combined"),
)
NORMALIZATION = Parameter(
    "normalization",
    "weights",
    "one of weights (divide by the sum of p^(d-1), as the published code), "
    "one-minus-p (multiply by 1-p, as printed), ideal (a perfect run scores 1)",
    allowed=("weights", "one-minus-p", "ideal"),
)
TIES = Parameter(
    "ties",
    "doc_id",
    "doc_id (documents that were not retrieved follow the run in ascending doc id)",
    allowed=("doc_id",),
)
NORMALIZE = Parameter(
    "normalize", True, "true (a perfect run scores 1) or false (as PGC does)"
)


@dataclass(frozen=True)
class Tensors:
    """What scoring batches for a measure.

    Attributes:
        graphs: the judged documents of each query, queries ascending.
        weights: of a shared document, by the lower of its two ranks.
    """

    graphs: dict[str, g.Graph]
    weights: np.ndarray


def _pgc_needs(parameters: Mapping[str, Any]) -> frozenset[str]:
    return {
        "real": frozenset({"preferences"}),
        "derived": frozenset({"qrels"}),
        "combined": frozenset({"preferences", "qrels"}),
    }[parameters["graph"]]


def _pgc_tensors(parameters: Mapping[str, Any], tables: Mapping[str, pd.DataFrame]):
    weights = rank_weights(parameters["p"], parameters["depth"])
    if parameters["graph"] == "derived":
        graphs = g.grade_graphs(tables["qrels"])
    elif parameters["graph"] == "real":
        graphs = g.preference_graphs(tables["preferences"])
    else:
        graphs = g.combined_graphs(tables["preferences"], tables["qrels"])
    return Tensors(graphs, weights)


def _compat_tensors(parameters: Mapping[str, Any], tables: Mapping[str, pd.DataFrame]):
    graphs = g.grade_graphs(tables["qrels"], positive_only=True)
    return Tensors(graphs, rank_weights(parameters["p"], parameters["depth"]))


def _pgc_scores(
    parameters: Mapping[str, Any], sums: np.ndarray, sizes: np.ndarray
) -> np.ndarray:
    """Divide sums of weights (`[runs, queries]`) as the normalization says.

    Args:
        parameters: of the measure.
        sums: int64 `[runs, queries]` from the kernel.
        sizes: `[queries]` documents in the ideal ranking.
    """
    p, depth = parameters["p"], parameters["depth"]
    weights = rank_weights(p, depth)
    if parameters["normalization"] == "ideal":
        itself = np.cumsum(weights)[np.minimum(sizes, depth + 1) - 1]
        # A query without an ideal ranking scores 0: nothing of it can be found.
        return sums / np.where(sizes > 0, itself, 1)
    share = sums / weights.sum()
    if parameters["normalization"] == "weights":
        return share
    return share * weight_within(p, depth)


def _compat_scores(
    parameters: Mapping[str, Any], sums: np.ndarray, sizes: np.ndarray
) -> np.ndarray:
    how = "ideal" if parameters["normalize"] else "weights"
    return _pgc_scores({**parameters, "normalization": how}, sums, sizes)


PGC = Definition(
    name="PGC",
    meaning="Greedy preference graph compatibility: RBO of a run with the ideal "
    "ranking nearest to it, peeled from the multigraph of preferences",
    parameters=(P, DEPTH, GRAPH, NORMALIZATION, TIES),
    source="Luo 2021, Algorithms 2-4 and equation 2.8",
    needs=_pgc_needs,
    tensors=_pgc_tensors,
    finish=_pgc_scores,
)
COMPAT = Definition(
    name="Compat",
    meaning="Compatibility: RBO of a run with the ranking by grade (above 0) that is "
    "nearest to it",
    parameters=(P, DEPTH, NORMALIZE),
    source="Clarke, Smucker and Vtyurina, Offline evaluation by maximum similarity to "
    "an ideal ranking, CIKM 2020; Clarke, Vtyurina and Smucker, TOIS 2021",
    needs=lambda parameters: frozenset({"qrels"}),
    tensors=_compat_tensors,
    finish=_compat_scores,
)
