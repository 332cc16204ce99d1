"""Resamples of one test, block by block: with progress, and to be gone on with."""

import os
import time
import zipfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

import pgcjax
from pgcjax.journal import begin, check_job
from pgcjax.plan import Limits
from pgcjax.stats import resample
from pgcjax.stats.tests import Pairs
from pgcjax.tables.write import written_beside

_EVERY = 5.0  # seconds between two states on disk

Progress = Callable[[str, int, int], None]


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
        limits: Limits,
        progress: Progress | None,
        journal: str | os.PathLike | None,
    ):
        self._scores, self._pairs, self._test = scores, pairs, test
        self._seed, self._exact, self._progress = seed, exact, progress
        self._memory = limits.memory
        self.done = 0
        self.total = np.zeros(0 if test == "tukey" else len(pairs[0]))
        self._ledger = None
        if journal is not None:
            marks = (scores.x, np.asarray(pairs[0]), np.asarray(pairs[1]))
            data = b"".join(np.ascontiguousarray(m).tobytes() for m in marks)
            job = {"version": pgcjax.__version__, "test": test, "seed": seed}
            job |= {"exact": exact, "scores": sha256(data).hexdigest()}
            self._ledger = Ledger(Path(journal), job)

    def extend(self, resamples: int) -> None:
        """Go on until there are so many."""
        if self._ledger and not self.done:
            done, total = self._ledger.load()
            if total is not None and done <= resamples:
                self.done, self.total = done, total
        first = self.done // resample.BLOCK
        for size, part in resample.in_order(self._work, first, resamples):
            if self._test == "tukey":
                self.total = np.concatenate([self.total, part])
            else:
                self.total = self.total + part
            self.done += size
            if self._ledger and size == resample.BLOCK:
                self._ledger.save(self.done, self.total, last=self.done == resamples)
            if self._progress:
                self._progress("resampling", self.done, resamples)

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


class Ledger:
    """A folder with the state of a sweep; `pgcjax.journal.remove` removes it."""

    def __init__(self, folder: Path, job: dict[str, Any]):
        self._folder, self._job, self._saved = folder, job, time.monotonic()
        check_job(folder, job)

    def load(self) -> tuple[int, np.ndarray | None]:
        """Give the resamples that are done, and their counts, if there are any."""
        try:
            with np.load(self._folder / "finished-blocks.npz") as state:
                return int(state["done"]), state["total"]
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return 0, None  # it is computed again

    def save(self, done: int, total: np.ndarray, *, last: bool) -> None:
        """Keep a state, whole or not at all, unless one was kept just before.

        Raises:
            DataError: the folder cannot be written.
        """
        if not last and time.monotonic() - self._saved < _EVERY:
            return
        begin(self._folder, self._job)
        with written_beside(self._folder / "finished-blocks.npz") as beside:
            np.savez(beside, done=done, total=total)
        self._saved = time.monotonic()
