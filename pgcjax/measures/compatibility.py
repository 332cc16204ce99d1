"""Greedy PGC and compatibility: how near a run comes to its nearest ideal ranking."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from pgcjax.errors import UsageError
from pgcjax.io.weights import SOFT
from pgcjax.kernels.rbo import rank_weights, weight_within
from pgcjax.measures.ideals import PGC_IDEAL, ordered_graphs
from pgcjax.measures.spec import Definition, Parameter
from pgcjax.reference.compatibility import compat_of
from pgcjax.reference.ideals import ideal_pgc_of
from pgcjax.tensors import graphs as g
from pgcjax.tensors.judgments import Judgments
from pgcjax.tensors.measure_tensors import PeelTensors, TiedTensors
from pgcjax.tensors.padding import weights_padded

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
    "one of real (preferences), derived (from qrels, where a grade below 0 ranks below "
    "0), combined (both)",
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
    "one of doc_id (documents that were not retrieved follow the run in ascending doc "
    "id), mean, min, max (of the scores by n orders of these documents)",
    allowed=("doc_id", "mean", "min", "max"),
)
ORDERS = Parameter(
    "n",
    100,
    "how many orders ties=mean, min and max are of, a whole number from 1 to 100000: "
    "drawn at random or, where there are no more, all of them",
    valid=lambda n: 1 <= n <= 100_000,
)
SEED = Parameter(
    "seed",
    0,
    "of the orders that are drawn, a whole number from 0",
    valid=lambda seed: seed >= 0,
)
PROBABILITIES = Parameter(
    "soft",
    SOFT[0],
    "what a probability p > 1/2 counts: margin (2p - 1 judgments for the likelier "
    "document), both (p for it, 1 - p for the other) or sign (1)",
    allowed=SOFT,
)
NORMALIZE = Parameter(
    "normalize", True, "true (a perfect run scores 1) or false (as PGC does)"
)


def graph_needs(parameters: Mapping[str, Any]) -> frozenset[str]:
    """Name the judgments that the parameter `graph` asks for."""
    return {
        "real": frozenset({"preferences"}),
        "derived": frozenset({"qrels"}),
        "combined": frozenset({"preferences", "qrels"}),
    }[parameters.get("graph", "real")]


def peel_tensors(parameters: Mapping[str, Any], judgments: Judgments) -> PeelTensors:
    """Build the graphs that the parameter `graph` asks for."""
    soft = parameters["soft"]
    if parameters["graph"] == "derived":
        graphs = judgments.once_plain(g.grade_graphs, "qrels")
    elif parameters["graph"] == "real":
        graphs = judgments.once_plain(g.preference_graphs, "preferences", soft=soft)
    else:
        kinds = "preferences", "qrels"
        graphs = judgments.once_plain(g.combined_graphs, *kinds, soft=soft)
    return _overlaps(graphs, parameters)


def _pgc_tensors(parameters: Mapping[str, Any], judgments: Judgments) -> PeelTensors:
    ideal, graph = (parameters[name] for name in ("ideal", "graph"))
    ties, n, seed = (parameters[p.name] for p in (TIES, ORDERS, SEED))
    if ties == "doc_id" and (n, seed) != (ORDERS.default, SEED.default):
        raise UsageError(
            f"PGC(n={n},seed={seed}): n and seed are of ties=mean, min or max"
        )
    if ideal != "greedy" and ties != "doc_id":
        raise UsageError(
            f"PGC(ties={ties},ideal={ideal}): ties are of ideal=greedy: whatever the "
            "order of documents that a run lacks, others score the same"
        )
    if ideal == "exact":
        from pgcjax.measures.exact import exact_tensors  # which needs this module

        return exact_tensors(parameters, judgments)
    if ideal == "greedy":
        peel = peel_tensors(parameters, judgments)
        if ties == "doc_id":
            return peel
        return TiedTensors(peel.graphs, peel.weights, peel.finish, ties, n, seed)
    if graph == "derived":
        raise UsageError(
            f"PGC(graph=derived,ideal={ideal}): grades are an order already: leave "
            "ideal out"
        )
    how = {name: parameters[name] for name in ("graph", "soft", "ideal")}
    kinds = sorted(graph_needs(parameters))
    return _overlaps(judgments.once(ordered_graphs, *kinds, **how), parameters)


def _compat_tensors(parameters: Mapping[str, Any], judgments: Judgments) -> PeelTensors:
    graphs = judgments.once_plain(g.grade_graphs, "qrels", positive_only=True)
    how = "ideal" if parameters["normalize"] else "weights"
    return _overlaps(graphs, {**parameters, "normalization": how})


def _overlaps(
    graphs: Mapping[str, g.Graph], parameters: Mapping[str, Any]
) -> PeelTensors:
    weights = weights_padded(rank_weights(parameters["p"], parameters["depth"]))
    return PeelTensors(graphs, weights, partial(finished, parameters))


def finished(
    parameters: Mapping[str, Any], sums: np.ndarray, sizes: np.ndarray
) -> np.ndarray:
    """Divide sums of weights as the normalization says.

    Args:
        parameters: of the measure.
        sums: int64 `[runs, queries]` from the kernel.
        sizes: `[queries]` documents in the ideal ranking.
    """
    p, depth = parameters["p"], parameters["depth"]
    weights = rank_weights(p, depth)
    if parameters["normalization"] == "ideal":
        itself = np.cumsum(weights)[np.minimum(sizes, depth + 1) - 1]
        # A query without an ideal ranking scores 0.
        return sums / np.where(sizes > 0, itself, 1)
    share = sums / weights.sum()
    weighted = parameters["normalization"] == "weights"
    return share if weighted else share * weight_within(p, depth)


PGC = Definition(
    name="PGC",
    meaning="Greedy preference graph compatibility: RBO of a run with the ideal "
    "ranking nearest to it, by default peeled from the multigraph of preferences",
    parameters=(
        *(P, DEPTH, GRAPH, NORMALIZATION, TIES, ORDERS, SEED, PROBABILITIES),
        PGC_IDEAL,
    ),
    source="Luo 2021, Algorithms 2-4 and equation 2.8",
    formula="RBO(R, I) = sum over d = 1..depth of p^(d-1) |R[1..d] & I[1..d]| / d, "
    "normalised; I: the peel's ideal ranking, or that of ideal=, ties broken by the "
    "run R",
    differs="The published code leaves ties among documents that were not retrieved "
    "open: here they follow the run in ascending doc id, or ties= says how much that "
    "decides",
    needs=graph_needs,
    tensors=_pgc_tensors,
    twin=ideal_pgc_of,
)
COMPAT = Definition(
    name="Compat",
    meaning="Compatibility: RBO of a run with the ranking by grade (above 0) that is "
    "nearest to it",
    parameters=(P, DEPTH, NORMALIZE),
    source="Clarke, Smucker and Vtyurina, Offline evaluation by maximum similarity to "
    "an ideal ranking, CIKM 2020; Clarke, Vtyurina and Smucker, TOIS 2021",
    formula="RBO(R, I) / RBO(I, I) over depth ranks; I: documents above grade 0 by "
    "grade, ties broken by the run R, those not retrieved last",
    differs="Clarke's compatibility.py orders runs as --order clarke does, and takes "
    "the mean over the queries of the run",
    needs=lambda parameters: frozenset({"qrels"}),
    tensors=_compat_tensors,
    twin=compat_of,
)
