"""Greedy PGC and compatibility: similarity of a run to its nearest ideal ranking."""

# pyright: reportIncompatibleVariableOverride=false

from collections.abc import Mapping
from functools import partial
from typing import Annotated

import numpy as np

from pgcjax.errors import UsageError
from pgcjax.io.weights import SOFT
from pgcjax.judging.choices import STRENGTHS
from pgcjax.kernels.rbo import rank_weights, weight_within
from pgcjax.measures.ideals import ordered_graphs
from pgcjax.measures.measure import Case, Measure, Parameter
from pgcjax.reference.compatibility import compat_of
from pgcjax.reference.ideals import ideal_pgc_of
from pgcjax.tensors import graphs as g
from pgcjax.tensors.judgments import Judgments
from pgcjax.tensors.measure_tensors import PeelTensors, TiedTensors
from pgcjax.tensors.padding import weights_padded

P = Annotated[
    float,
    Parameter(
        "persistence, a number above 0 and below 1; .85 ~ @5, .90 ~ @10, .95 ~ @20",
        valid=lambda p: 0 < p < 1,
    ),
]
Depth = Annotated[
    int,
    Parameter(
        "last rank that counts, a whole number from 1 to 1000000",
        valid=lambda depth: 1 <= depth <= 1_000_000,
    ),
]
Graph = Annotated[
    str,
    Parameter(
        "one of real (preferences), derived (from qrels, where a grade below 0 ranks "
        "below 0), combined (both)",
        allowed=("real", "derived", "combined"),
    ),
]
Normalization = Annotated[
    str,
    Parameter(
        "one of weights (divide by the sum of p^(d-1), as the published code), "
        "one-minus-p (multiply by 1-p, as printed), ideal (a perfect run scores 1)",
        allowed=("weights", "one-minus-p", "ideal"),
    ),
]
Soft = Annotated[
    str,
    Parameter(
        "what a probability p > 1/2 counts: margin (2p - 1 judgments for the likelier "
        "document), both (p for it, 1 - p for the other) or sign (1)",
        allowed=SOFT,
    ),
]
_NEEDS = {
    "real": frozenset({"preferences"}),
    "derived": frozenset({"qrels"}),
    "combined": frozenset({"preferences", "qrels"}),
}


class OfGraph(Measure):
    """A measure of preferences, or of the judgments that `graph` names."""

    @property
    def needs(self) -> frozenset[str]:
        """Kinds of judgments in the graph."""
        return _NEEDS[getattr(self, "graph", "real")]


class GraphKind(Measure):
    """The parameter `graph` by itself."""

    graph: Graph = "real"


class GraphOverlap(OfGraph):
    """RBO of a run with an ideal ranking of the documents of a graph."""

    p: P = 0.95
    depth: Depth = 1000
    graph: Graph = "real"
    normalization: Normalization = "weights"

    def graphs(self, judgments: Judgments, soft: str) -> Mapping[str, g.Graph]:
        """Build the graphs that the parameter `graph` asks for."""
        if self.graph == "derived":
            return judgments.once_plain(g.grade_graphs, "qrels")
        if self.graph == "real":
            return judgments.once_plain(g.preference_graphs, "preferences", soft=soft)
        kinds = "preferences", "qrels"
        return judgments.once_plain(g.combined_graphs, *kinds, soft=soft)

    def overlaps(self, graphs: Mapping[str, g.Graph]) -> PeelTensors:
        """Return the input of the peel for these graphs."""
        return peel_tensors(graphs, self.p, self.depth, self.normalization)


def peel_tensors(
    graphs: Mapping[str, g.Graph], p: float, depth: int, normalization: str
) -> PeelTensors:
    """Return the input of the peel for these graphs."""
    weights = weights_padded(rank_weights(p, depth))
    return PeelTensors(graphs, weights, partial(finished, p, depth, normalization))


def finished(
    p: float, depth: int, normalization: str, sums: np.ndarray, sizes: np.ndarray
) -> np.ndarray:
    """Divide sums of weights as the normalization says.

    Args:
        p: Persistence.
        depth: Last rank that counts.
        normalization: Parameter of `PGC`.
        sums: int64 `[runs, queries]` from the kernel.
        sizes: Number of documents in the ideal ranking, `[queries]`.
    """
    weights = rank_weights(p, depth)
    if normalization == "ideal":
        itself = np.cumsum(weights)[np.minimum(sizes, depth + 1) - 1]
        # A query without an ideal ranking scores 0.
        return sums / np.where(sizes > 0, itself, 1)
    share = sums / weights.sum()
    return share if normalization == "weights" else share * weight_within(p, depth)


class PGC(GraphOverlap):
    """Greedy preference graph compatibility: RBO of a run with the ideal ranking
    nearest to it, by default peeled from the multigraph of preferences.
    """

    name = "PGC"
    source = "Luo 2021, Algorithms 2-4 and equation 2.8"
    formula = (
        "RBO(R, I) = sum over d = 1..depth of p^(d-1) |R[1..d] & I[1..d]| / d, "
        "normalised; I: the peel's ideal ranking, or that of ideal=, ties broken by "
        "the run R"
    )
    differs = (
        "The published code leaves ties among documents that were not retrieved open: "
        "here they follow the run in ascending doc id, or ties= says how much that "
        "decides"
    )

    ties: Annotated[
        str,
        Parameter(
            "one of doc_id (documents that were not retrieved follow the run in "
            "ascending doc id), mean, min, max (of the scores by all orders of these "
            "documents), error (standard error of the mean: 0 where it is exact)",
            allowed=("doc_id", "mean", "min", "max", "error"),
        ),
    ] = "doc_id"
    n: Annotated[
        int,
        Parameter(
            "how many orders are drawn for ties=mean, min, max and error where all "
            "would take too long, a whole number from 2 to 100000",
            valid=lambda n: 2 <= n <= 100_000,
        ),
    ] = 100
    seed: Annotated[
        int,
        Parameter(
            "of the orders that are drawn, a whole number from 0",
            valid=lambda seed: seed >= 0,
        ),
    ] = 0
    soft: Soft = SOFT[0]
    ideal: Annotated[
        str,
        Parameter(
            "one of greedy (the peel), exact (as ExactPGC has it), or the documents "
            "by their strengths: bt (Bradley-Terry), copeland, borda, rank-centrality",
            allowed=("greedy", "exact", *STRENGTHS),
        ),
    ] = "greedy"

    def prepare(self, judgments: Judgments) -> PeelTensors:
        """Build graphs for the peel, or for another ideal ranking."""
        self._check()
        if self.ideal == "exact":
            from pgcjax.measures.exact import exact_tensors  # it imports this module

            return exact_tensors(self.overlaps(self.graphs(judgments, self.soft)))
        if self.ideal == "greedy":
            peel = self.overlaps(self.graphs(judgments, self.soft))
            if self.ties == "doc_id":
                return peel
            orders = self.ties, self.n, self.seed
            return TiedTensors(peel.graphs, peel.weights, peel.finish, *orders)
        options = {"graph": self.graph, "soft": self.soft, "ideal": self.ideal}
        kinds = sorted(self.needs)
        return self.overlaps(judgments.once(ordered_graphs, *kinds, **options))

    def _check(self) -> None:
        """Raise a UsageError if parameters are incompatible."""
        ties, ideal = self.ties, self.ideal
        if ties == "doc_id" and (self.n, self.seed) != (PGC.n, PGC.seed):
            raise UsageError(
                f"PGC(n={self.n},seed={self.seed}): n and seed work only with "
                "ties=mean, min, max or error"
            )
        if ideal != "greedy" and ties != "doc_id":
            raise UsageError(
                f"PGC(ties={ties},ideal={ideal}): ties work only with ideal=greedy: "
                "scores by other ideals do not depend on the order of documents that "
                "a run lacks"
            )
        if ideal not in ("greedy", "exact") and self.graph == "derived":
            raise UsageError(
                f"PGC(graph=derived,ideal={ideal}): grades are an order already: "
                "leave ideal out"
            )

    def twin(self, case: Case) -> float:
        """Score a case plainly."""
        return ideal_pgc_of(case)


class Compat(Measure):
    """Compatibility: RBO of a run with the ranking by grade (above 0) that is nearest
    to it.
    """

    name = "Compat"
    source = (
        "Clarke, Smucker and Vtyurina, Offline evaluation by maximum similarity to an "
        "ideal ranking, CIKM 2020; Clarke, Vtyurina and Smucker, TOIS 2021"
    )
    formula = (
        "RBO(R, I) / RBO(I, I) over depth ranks; I: documents above grade 0 by grade, "
        "ties broken by the run R, those not retrieved last"
    )
    differs = (
        "Clarke's compatibility.py orders runs as --order clarke does, and takes the "
        "mean over the queries of the run"
    )

    p: P = 0.95
    depth: Depth = 1000
    normalize: Annotated[
        bool, Parameter("true (a perfect run scores 1) or false (as PGC does)")
    ] = True

    def prepare(self, judgments: Judgments) -> PeelTensors:
        """Build graphs of the grades above 0."""
        graphs = judgments.once_plain(g.grade_graphs, "qrels", positive_only=True)
        normalization = "ideal" if self.normalize else "weights"
        return peel_tensors(graphs, self.p, self.depth, normalization)

    def twin(self, case: Case) -> float:
        """Score a case plainly."""
        return compat_of(case)


MEASURES = PGC(), Compat()
