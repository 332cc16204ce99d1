"""The engine's one contract: a batch is measures that are computed together."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Float64

from pgcjax.engine import plan
from pgcjax.errors import Progress

if TYPE_CHECKING:  # the peel runs where tables are read elsewhere, or not at all
    import pandas as pd

    from pgcjax.engine.tiles import TileBatch
    from pgcjax.measures.measure import Case, Measure
    from pgcjax.tensors.rankings import Rankings


class Member(NamedTuple):
    """A measure of a request.

    Attributes:
        place: Number of the measure among all measures of the request.
        measure: Measure.
        tensors: Tensors of the judgments; see `ScoringRequest.batches`.
    """

    place: int
    measure: "Measure"
    tensors: Any


class BatchSetting(NamedTuple):
    """Resources of batches.

    Attributes:
        budget: Bytes of a tile.
        keep: Bytes of laid out graphs to keep for the next chunk.
        grids: Canonical grids of all systems, if runs are image grids.
    """

    budget: int = plan.BUDGET
    keep: int = plan.BUDGET
    grids: "pd.DataFrame | None" = None


class Batch(ABC):
    """Measures that are computed together: the interface of a job to scoring.

    Attributes:
        members: Measures.
        docs: Documents of a run on which scores depend, for each query that has scores,
            queries ascending.
        most_runs: Largest number of runs of a kept chunk, if few runs take long; or
            None.
    """

    members: Sequence[Member]
    docs: Mapping[str, np.ndarray]
    most_runs: int | None = None

    @abstractmethod
    def score(
        self, rankings: "Rankings", progress: Progress | None = None
    ) -> Float64[np.ndarray, "*replicates measures runs queries"]:
        """Score all runs of a chunk for all queries of `docs`.

        A score depends on the run and the judgments alone, not on the other runs of
        the chunk. Axes before the measures are replicates of the judgments, whose
        scores are averaged over queries: then the last axis has length 1.
        """

    def tiles(self, rankings: "Rankings") -> Sequence["TileBatch"]:
        """Tiles that `score` computes, for a dry run to count."""
        del rankings
        return ()

    def recompute(self, place: int, case: "Case") -> float:
        """Score one run and query again, by the plain twin of a measure."""
        measure = next(m.measure for m in self.members if m.place == place)
        return measure.twin(case)
