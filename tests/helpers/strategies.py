"""Random judgments and runs, heavy in ties, conflicts and missing documents."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from pgcjax.kernels import ABSENT


@dataclass(frozen=True)
class Case:
    """A multigraph and a run over the same few documents.

    Attributes:
        counts: `[n, n]` judgments that prefer row to column.
        run: the documents that the run returned, best first; "x…" nobody judged.
    """

    counts: np.ndarray
    run: list[str]

    @property
    def docs(self) -> list[str]:
        """Vertices, ascending."""
        return [f"d{i:02}" for i in range(len(self.counts))]

    @property
    def edges(self) -> list[tuple[str, str]]:
        """One pair per judgment."""
        docs = self.docs
        return [
            (docs[u], docs[v])
            for u, v in np.argwhere(self.counts)
            for _ in range(self.counts[u, v])
        ]

    @property
    def ranks(self) -> np.ndarray:
        """0-based rank of each vertex, or ABSENT."""
        place = {doc: rank for rank, doc in enumerate(self.run)}
        return np.array([place.get(d, ABSENT) for d in self.docs], np.int32)


@st.composite
def cases(draw, max_docs: int = 9, min_docs: int = 1) -> Case:
    """A case of up to `max_docs` vertices; some may have no edge."""
    n = draw(st.integers(min_docs, max_docs))
    cells = st.sampled_from([0, 0, 0, 1, 1, 2, 3])
    flat = draw(st.lists(cells, min_size=n * n, max_size=n * n))
    counts = np.array(flat, np.int32).reshape(n, n)
    np.fill_diagonal(counts, 0)
    pool = [f"d{i:02}" for i in range(n)] + [f"x{i}" for i in range(4)]
    run = draw(st.lists(st.sampled_from(pool), unique=True, max_size=len(pool)))
    return Case(counts, run)


persistences = st.sampled_from([0.05, 0.5, 0.8, 0.9, 0.95, 0.99, 0.999])
depths = st.sampled_from([1, 2, 3, 7, 20, 1000])
