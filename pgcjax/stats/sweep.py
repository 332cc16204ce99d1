"""Resamples of one test, block by block: with progress, and to be gone on with."""

import os
import time
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import numpy as np
from jaxtyping import Float64, Real

from pgcjax._version import __version__
from pgcjax.errors import Progress
from pgcjax.io.checkpoint import Checkpoint
from pgcjax.stats import max_t, resample
from pgcjax.stats.tests import OfPairs, RunPairs

_STATE = "finished-blocks"


@dataclass
class Sweep:
    """Resamples of one test, counted block by block; more can be added.

    Arguments are those of `procedures.run`.

    Attributes:
        exact: whether all sign flips are enumerated.
        family: of "max-t".
        reach: of tests whose resamples have one statistic, the largest of all pairs:
            what it must be, of each pair.
        done: resamples so far; no whole block can follow a part of one.
        total: counts of pairs, or the one statistic of each resample.
    """

    scores: resample.WholeScores
    pairs: RunPairs
    test: str
    exact: bool
    family: max_t.Family | None
    reach: OfPairs | None
    seed: int
    memory: int
    progress: Progress | None = None
    journal: str | os.PathLike | None = None
    save_every: float = 5.0
    done: int = field(default=0, init=False)
    total: Float64[np.ndarray, " pairs_or_resamples"] = field(init=False)

    def __post_init__(self):
        """Open the checkpoint, if there is a folder for it."""
        self.total = np.zeros(len(self.pairs[0]) if self.reach is None else 0)
        self._saved = time.monotonic()
        self._checkpoint = None
        if self.journal is not None:
            arrays = (self.scores.values, *map(np.asarray, self.pairs))
            data = b"".join(np.ascontiguousarray(a).tobytes() for a in arrays)
            job = {"version": __version__, "test": self.test, "seed": self.seed}
            job |= {"exact": self.exact, "scores": sha256(data).hexdigest()}
            self._checkpoint = Checkpoint(self.journal, job)

    def extend(self, resamples: int) -> None:
        """Go on until there are so many resamples."""
        if self._checkpoint and not self.done:
            state = self._checkpoint.load(_STATE)
            if state and int(state["done"]) <= resamples:
                self.done, self.total = int(state["done"]), state["total"]
        first = self.done // resample.BLOCK
        for size, part in resample.block_results(self._work, first, resamples):
            if self.reach is not None:
                self.total = np.concatenate([self.total, part])
            else:
                self.total = self.total + part
            self.done += size
            late = time.monotonic() - self._saved >= self.save_every
            whole = size == resample.BLOCK
            if self._checkpoint and whole and (late or self.done == resamples):
                done = np.array(self.done)
                self._checkpoint.save(_STATE, done=done, total=self.total)
                self._saved = time.monotonic()
            if self.progress:
                self.progress("resampling", self.done, resamples)

    def counts(self) -> Real[np.ndarray, " pairs"]:
        """Count, per pair, the resamples at least as extreme as what was observed."""
        if self.reach is None:
            return self.total
        return self.done - np.searchsorted(np.sort(self.total), self.reach)

    def _work(self, block: int, size: int, device: Any) -> np.ndarray:
        values, seed = self.scores.values, self.seed
        if self.test == "tukey":
            return resample.largest_ranges(values, seed, block, size)
        queries = values.shape[1]
        if self.exact:
            weights = resample.all_signs(block, size, queries)
        elif self.test == "permutation":
            weights = resample.signs(seed, block, size, queries)
        else:
            drawn = resample.indices(seed, block, size, queries)
            weights = resample.multiplicities(drawn)
        share = self.memory // (2 * resample.workers())
        if self.family:
            return max_t.largest(self.family, weights, device=device, budget=share)
        return resample.count(
            self.test, self.scores, self.pairs, weights, device=device, budget=share
        )
