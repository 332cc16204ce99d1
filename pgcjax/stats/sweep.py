"""Resamples of one test, block by block: with progress, and to be gone on with."""

import os
import time
from hashlib import sha256
from typing import Any

import numpy as np

from pgcjax._version import __version__
from pgcjax.errors import Progress
from pgcjax.io.checkpoint import Checkpoint
from pgcjax.stats import resample
from pgcjax.stats.tests import Pairs

EVERY = 5.0  # seconds between two states on disk
_STATE = "finished-blocks"


class Sweep:
    """Resamples of one test, counted block by block; more can be added to.

    Attributes:
        done: resamples so far; after `extend` by no whole block, final.
        total: counts `[pairs]`, or of "tukey" the largest range of each resample.
    """

    def __init__(
        self,
        scores: Any,
        pairs: Pairs,
        test: str,
        seed: int,
        exact: bool,
        memory: int,
        progress: Progress | None,
        journal: str | os.PathLike | None,
    ):
        self._scores, self._pairs, self._test = scores, pairs, test
        self._seed, self._exact, self._progress = seed, exact, progress
        self._memory, self._saved = memory, time.monotonic()
        self.done = 0
        self.total = np.zeros(0 if test == "tukey" else len(pairs[0]))
        self._checkpoint = None
        if journal is not None:
            marks = (scores.x, np.asarray(pairs[0]), np.asarray(pairs[1]))
            data = b"".join(np.ascontiguousarray(m).tobytes() for m in marks)
            job = {"version": __version__, "test": test, "seed": seed}
            job |= {"exact": exact, "scores": sha256(data).hexdigest()}
            self._checkpoint = Checkpoint(journal, job)

    def extend(self, resamples: int) -> None:
        """Go on until there are so many."""
        if self._checkpoint and not self.done:
            state = self._checkpoint.load(_STATE)
            if state and int(state["done"]) <= resamples:
                self.done, self.total = int(state["done"]), state["total"]
        first = self.done // resample.BLOCK
        for size, part in resample.in_order(self._work, first, resamples):
            if self._test == "tukey":
                self.total = np.concatenate([self.total, part])
            else:
                self.total = self.total + part
            self.done += size
            if self._checkpoint and size == resample.BLOCK:
                self._keep(last=self.done == resamples)
            if self._progress:
                self._progress("resampling", self.done, resamples)

    def _keep(self, *, last: bool) -> None:
        """Keep the state, unless it was kept just before."""
        assert self._checkpoint is not None
        if last or time.monotonic() - self._saved >= EVERY:
            done = np.array(self.done)
            self._checkpoint.save(_STATE, done=done, total=self.total)
            self._saved = time.monotonic()

    def counts(self) -> np.ndarray:
        """Count, per pair, the resamples at least as extreme as what was observed."""
        if self._test != "tukey":
            return self.total
        sums, (first, second) = self._scores.x.sum(1), self._pairs
        reach = np.abs(sums[first] - sums[second]) - self._scores.slack
        return self.done - np.searchsorted(np.sort(self.total), reach)

    def _work(self, block: int, size: int, device: Any) -> np.ndarray:
        queries, seed = self._scores.x.shape[1], self._seed
        share = self._memory // (2 * resample.workers())
        if self._test == "tukey":
            return resample.largest_ranges(self._scores.x, seed, block, size)
        if self._exact:
            weights = resample.all_signs(block, size, queries)
        elif self._test == "permutation":
            weights = resample.signs(seed, block, size, queries)
        else:
            drawn = resample.indices(seed, block, size, queries)
            weights = resample.multiplicities(drawn)
        return resample.count(
            self._test, self._scores, self._pairs, weights, device=device, budget=share
        )
