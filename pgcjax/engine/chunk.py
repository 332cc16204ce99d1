"""Scores of whole runs, as they pass between threads, processes and checkpoints."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float64

from pgcjax.engine.tally import twice_given


@dataclass(frozen=True)
class Chunk:
    """Scores of whole runs.

    Attributes:
        run_ids: Runs.
        query_ids: Queries that any of the runs answers, judged or not.
        has: Whether each run answers each judged query.
        parts: Scores by each batch, for the queries of the batch.
    """

    run_ids: list[str]
    query_ids: set[str]
    has: Bool[np.ndarray, "runs judged"]
    parts: list[Float64[np.ndarray, "*replicates measures runs queries"]]

    def open(self) -> "Chunk":
        """Return the chunk, as `KeptChunk` does."""
        return self

    def loaded(self) -> "Chunk":
        """Return the chunk, as `KeptChunk` does."""
        return self

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the chunk as arrays by name, which `of` takes."""
        return {
            "run_ids": np.array(self.run_ids, np.str_),
            "query_ids": np.array(sorted(self.query_ids), np.str_),
            "has": self.has,
            **{f"part{i}": part for i, part in enumerate(self.parts)},
        }

    @classmethod
    def of(cls, arrays: Mapping[str, np.ndarray]) -> "Chunk":
        """Read the result of `arrays`."""
        count = sum(key.startswith("part") for key in arrays)
        parts = [arrays[f"part{i}"] for i in range(count)]
        ids = arrays["run_ids"].tolist(), set(arrays["query_ids"].tolist())
        return cls(*ids, arrays["has"], parts)


@dataclass(frozen=True)
class KeptChunk:
    """A chunk on disk.

    Attributes:
        run_ids: Runs.
        read: Function that returns the arrays of the chunk, which stay on disk.
    """

    run_ids: list[str]
    read: Callable[[], Mapping[str, np.ndarray]]

    def open(self) -> Chunk:
        """Return the chunk; its queries are not read."""
        arrays = {**self.read(), "run_ids": np.array([]), "query_ids": np.array([])}
        return replace(Chunk.of(arrays), run_ids=self.run_ids)

    def loaded(self) -> Chunk:
        """Return the chunk in memory."""
        chunk = self.open()
        parts = [np.array(part) for part in chunk.parts]
        return replace(chunk, has=np.array(chunk.has), parts=parts)


def check_differ(chunks: Sequence[Chunk | KeptChunk]) -> None:
    """Refuse a run that is in two chunks.

    Raises:
        DataError: a run is in two chunks.
    """
    counts = Counter(run for chunk in chunks for run in chunk.run_ids)
    if counts.total() > len(counts):
        raise twice_given(min(run for run, count in counts.items() if count > 1))


def together(chunks: Sequence[Chunk]) -> Chunk:
    """Put chunks of different runs together, runs ascending.

    Raises:
        DataError: a run is in two of them.
    """
    check_differ(chunks)
    run_ids = [run for chunk in chunks for run in chunk.run_ids]
    ascending = sorted(range(len(run_ids)), key=run_ids.__getitem__)
    names = [run_ids[i] for i in ascending]
    filled = [chunk for chunk in chunks if chunk.run_ids] or chunks[:1]
    has = np.concatenate([chunk.has for chunk in filled])[ascending]
    parts = [
        np.concatenate(each, axis=-2)[..., ascending, :]
        for each in zip(*(chunk.parts for chunk in filled), strict=True)
    ]
    query_ids = {query for chunk in chunks for query in chunk.query_ids}
    return Chunk(names, query_ids, has, parts)
