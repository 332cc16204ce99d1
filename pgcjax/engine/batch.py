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
        place: its number among all measures of the request.
        measure: what it is.
        tensors: what its definition made of the judgments; see `Request.batches`.
    """

    place: int
    measure: "Measure"
    tensors: Any


class BatchSetting(NamedTuple):
    """Resources of batches.

    Attributes:
        budget: bytes of a tile.
        keep: bytes of laid out graphs to keep for the next chunk.
        grids: canonical grids of all systems, if runs are image grids.
    """

    budget: int = plan.BUDGET
    keep: int = plan.BUDGET
    grids: "pd.DataFrame | None" = None


class Batch(ABC):
    """Measures that are computed together: all that a job knows of scoring.

    Attributes:
        members: the measures.
        docs: the documents of a run that scores depend on, for each query that has
            scores, queries ascending.
        most_runs: of a chunk that is kept, where a few runs take long; else None.
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
        """Work that `score` hands to the pipeline of tiles, for a dry run to count."""
        del rankings
        return ()

    def recompute(self, place: int, case: "Case") -> float:
        """Score one run and query again, by the plain twin of a measure."""
        measure = next(m.measure for m in self.members if m.place == place)
        return measure.twin(case)
