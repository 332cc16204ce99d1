"""Exact PGC: similarity of a run to an order that contradicts the fewest judgments."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated

import numpy as np

from pgcjax.errors import Progress
from pgcjax.io.weights import SOFT
from pgcjax.judging.choices import STATES
from pgcjax.measures.compatibility import GraphOverlap, Soft
from pgcjax.measures.measure import Case, Parameter
from pgcjax.reference.exact_pgc import exact_pgc_of
from pgcjax.tensors.judgments import Judgments
from pgcjax.tensors.measure_tensors import PeelTensors

if TYPE_CHECKING:  # it imports scipy.optimize, which takes a fifth of a second
    from pgcjax.judging.optimal_orders import OptimalOrders


@dataclass(frozen=True)
class ExactTensors(PeelTensors):
    """Input of exact PGC: graphs, and limits of the search for their optimal orders.

    Attributes:
        states: Most sets of documents to search.
        seconds: Most seconds of search; 0 for no limit.
        farthest: Whether the farthest of these orders is taken, not the nearest.
    """

    states: int = STATES
    seconds: float = 0.0
    farthest: bool = False
    _orders: dict[str, "OptimalOrders | None"] = field(default_factory=dict, repr=False)

    def orders(
        self, progress: Progress | None = None
    ) -> "Mapping[str, OptimalOrders | None]":
        """Return the optimal orders of each query that has documents; None if too many.

        The first call searches for them.
        """
        graphs = {name: graph for name, graph in self.graphs.items() if len(graph)}
        for name in graphs.keys() - self._orders.keys():
            counts = graphs[name].edges()
            key = counts.tobytes(), len(counts), self.states, self.seconds
            self._orders[name] = _orders_of(*key)
            if progress:
                progress("optimal orders", len(self._orders), len(graphs))
        return self._orders

    @property
    def unproven(self) -> list[str]:
        """Queries, ascending, with too many orders, whose scores are those of PGC."""
        return sorted(name for name, orders in self.orders().items() if orders is None)


# Cached by the judgments of one query, for other calls and measures.
@lru_cache(maxsize=512)
def _orders_of(
    counts: bytes, n: int, states: int, seconds: float
) -> "OptimalOrders | None":
    from pgcjax.judging.optimal_orders import kept_orders

    matrix = np.frombuffer(counts, np.int32).reshape(n, n).astype(np.int64)
    return kept_orders(matrix, states=states, seconds=seconds)


def exact_tensors(
    peel: PeelTensors,
    states: int = STATES,
    seconds: float = 0.0,
    farthest: bool = False,
) -> ExactTensors:
    """Return the input of exact PGC; `PGC(ideal=exact)` uses the default limits."""
    limits = states, seconds, farthest
    return ExactTensors(peel.graphs, peel.weights, peel.finish, *limits)


class ExactPGC(GraphOverlap):
    """Preference graph compatibility by its definition: RBO of a run with the nearest
    of all rankings that contradict the fewest judgments.
    """

    name = "ExactPGC"
    source = "Luo 2021, 3.1 and equation 2.8"
    formula = (
        "max over I of RBO(R, I), I: the orders of all judged documents of which the "
        "fewest judgments prefer the later of two documents; min by ideal=farthest"
    )
    differs = (
        "Where a query has too many such orders (states=), it is scored by the peel, "
        "as PGC is, with a warning that names it"
    )

    soft: Soft = SOFT[0]
    ideal: Annotated[
        str,
        Parameter(
            "nearest (to the run, of these rankings) or farthest: no other one scores "
            "less",
            allowed=("nearest", "farthest"),
        ),
    ] = "nearest"
    states: Annotated[
        int,
        Parameter(
            "most sets of documents that the search for optimal orders of a query "
            "looks at, a whole number from 1 to 100000000; where there are more, its "
            "scores are PGC's",
            valid=lambda states: 1 <= states <= 100_000_000,
        ),
    ] = STATES
    seconds: Annotated[
        float,
        Parameter(
            "most seconds that this search takes, a number; 0 for any: with a limit, "
            "scores depend on the machine, too",
            valid=lambda seconds: 0 <= seconds < float("inf"),
        ),
    ] = 0.0

    def prepare(self, judgments: Judgments) -> ExactTensors:
        """Build graphs; their optimal orders are searched when they are needed."""
        peel = self.overlaps(self.graphs(judgments, self.soft))
        farthest = self.ideal == "farthest"
        return exact_tensors(peel, self.states, self.seconds, farthest)

    def twin(self, case: Case) -> float:
        """Score a case plainly."""
        return exact_pgc_of(case)


MEASURES = (ExactPGC(),)
