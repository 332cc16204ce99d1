"""Replicates of the judgments × rankings → means: graphs rebuilt and peeled on devices.

Runs are laid out once. For each replicate only counts move: how often each judgment of
a query was drawn. Scores of single replicates are averaged over queries as they come.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float64, Int, Int64

from pgcjax.engine import plan
from pgcjax.engine.batch import Batch, Member
from pgcjax.engine.cost import Group
from pgcjax.engine.replicate_programs import replicate_program
from pgcjax.engine.replicate_tiles import (
    Query,
    QueryGroup,
    Soft,
    Tile,
    groups,
    queries_of,
    tiles,
)
from pgcjax.engine.replicates import Resampling
from pgcjax.errors import DataError, Progress, UsageError
from pgcjax.judging.resampled import BLOCK, Counts, Draws, topics
from pgcjax.kernels import peel_packed
from pgcjax.runtime.devices import default_backend, local_device_count
from pgcjax.runtime.loop import Call, results
from pgcjax.stats.score_intervals import Percentiles
from pgcjax.stats.uncertainty import weighted_means
from pgcjax.tensors.measure_tensors import PeelTensors
from pgcjax.tensors.padding import blank

if TYPE_CHECKING:
    import pandas as pd

    from pgcjax.tensors.rankings import Rankings


class Block(NamedTuple):
    """Scores of several replicates and runs.

    Attributes:
        first: number of the first replicate.
        runs: which runs.
        scores: of every query.
        present: whether any judgment of a query was drawn: else nobody judged it.
    """

    first: int
    runs: slice
    scores: Float64[np.ndarray, "replicates runs queries"]
    present: Bool[np.ndarray, "replicates queries"]


class ReplicateBatch(Batch):
    """The means of a measure of graphs over queries, by each replicate."""

    def __init__(
        self,
        member: Member,
        preferences: "pd.DataFrame",
        draws: Draws,
        how: Resampling,
        missing: str,
        like: "ReplicateBatch | None" = None,
    ):
        """Lay out what replicates share.

        Args:
            member: PGC of preferences; see `check_resamplable`.
            preferences: canonical, of which its graphs were made.
            draws: of these preferences.
            how: what is drawn.
            missing: as of `evaluate`.
            like: of the same member and preferences, whose layout is taken.

        Raises:
            DataError: a query has more judgments than int32 degrees hold.
        """
        soft = str(member.measure.parameters.get("soft", "sign"))
        self._soft = Soft.of(preferences, soft)
        self.members, self._tensors = [member], member.tensors
        self.docs = self._tensors.docs
        self._draws, self._how, self._missing = draws, how, missing
        if like is None:
            given = self._tensors.graphs, preferences, draws, self._soft
            queries = queries_of(*given)
            self._groups = groups(queries)
        else:
            self._groups = like._groups
        steps = sum(group.size**2 * len(group.queries) for group in self._groups)
        seconds = plan.PER_WORD * steps * how.replicates  # of a run
        self.most_runs = max(16, int(plan.settings.seconds / max(seconds, 1e-9)))

    def score(
        self, rankings: "Rankings", progress: Progress | None = None
    ) -> Float64[np.ndarray, "replicates 1 runs 1"]:
        """Average the scores of each replicate and run; see `weighted_means`."""
        count = self._how.replicates
        means = np.zeros((count, len(rankings.run_ids)))
        answered = rankings.answered(list(self.docs))
        drawn = None
        if self._how.resample == "both":
            drawn = topics(self._how.seed, count, len(self.docs))
        for block in self.blocks(rankings, progress):
            rows = slice(block.first, block.first + len(block.scores))
            weight = block.present * (1 if drawn is None else drawn[rows])
            means[rows, block.runs] = weighted_means(
                block.scores, answered[block.runs], weight, self._missing
            )
        return means[:, None, :, None]

    def blocks(
        self, rankings: "Rankings", progress: Progress | None = None
    ) -> Iterator[Block]:
        """Score blocks of replicates, for a part of the runs after the other."""
        runs = len(rankings.run_ids)
        names = [query.name for group in self._groups for query in group.queries]
        docs = {name: self.docs[name] for name in names}
        retrieved = rankings.retrieved(docs) if docs else {}
        most = _most_runs(runs, self._groups, len(self.docs))
        sizes = _sizes(self._how.replicates)
        done, total = 0, runs * len(names) * len(sizes)
        for low in range(0, runs, most):
            part = slice(low, min(low + most, runs))
            ready = [
                tile
                for group in self._groups
                for tile in tiles(group, retrieved, part, plan.runs_at_once(most))
            ]
            calls = (
                self._call(tile, block, size)
                for block, size in enumerate(sizes)
                for tile in ready
            )
            made = results(calls, progress=progress)
            for block, size in enumerate(sizes):
                shape = size, part.stop - part.start, len(self.docs)
                sums = np.zeros(shape, np.int64)
                vertices = np.zeros((size, 1, shape[2]), np.int64)
                present = np.zeros((size, shape[2]), bool)
                for _ in ready:
                    columns, (own, count, drawn) = next(made)
                    own = own[: len(columns), :size, : shape[1]]
                    sums[:, :, columns] = own.transpose(1, 2, 0)
                    vertices[:, 0, columns] = count[: len(columns), :size].T
                    present[:, columns] = drawn.T
                    done += len(columns) * shape[1]
                    if progress:
                        progress("resampling", done, total)
                for column, name in enumerate(self.docs):
                    if not len(self.docs[name]):  # ties alone, in each replicate
                        present[:, column] = self._present(name, block, size)
                scores = self._tensors.finish(sums, vertices)
                yield Block(block * BLOCK, part, scores, present)

    def foresee(self, sample: "Rankings") -> list[Group]:
        """Name nothing: a plan is of scores, not of their replicates."""
        return []

    def _present(self, name: str, block: int, size: int) -> np.ndarray:
        if name not in self._draws.rows:
            return np.ones(size, bool)  # judged by grades
        return np.any(self._draws.counts(name, block, size), axis=1)

    def _amounts(
        self, query: Query, drawn: Counts
    ) -> Int64[np.ndarray, "replicates edges"]:
        """Say how much each edge of a query counts in replicates."""
        if self._soft is None:
            return drawn[:, query.drawn]
        rows = self._draws.rows[query.name]
        return self._soft.amounts(query, rows, self._draws.weights(query.name, drawn))

    def _call(self, tile: Tile, block: int, size: int) -> Call:
        padded = min(BLOCK, max(8, 1 << (self._how.replicates - 1).bit_length()))

        def make():
            counts = blank((len(tile.cells), padded, tile.cells.shape[1]))
            present = np.ones((len(tile.queries), size), bool)
            for i, query in enumerate(tile.queries):
                if query.name in self._draws.rows:
                    drawn = self._draws.counts(query.name, block, size)
                    if not query.graded:
                        present[i] = drawn.any(1)
                    amounts = self._amounts(query, drawn)
                    counts[i, :size, : len(query.drawn)] = amounts
            form = "packed" if _fits(tile, counts) else "wide"
            cut = tile.fixed, tile.kept, tile.cells, counts, tile.ranks
            program = replicate_program(form, local_device_count(), default_backend())
            return *program(cut, (self._tensors.weights,)), present

        columns = [query.column for query in tile.queries]
        shapes = tile.cells.shape, tile.fixed.shape, tile.ranks.order.shape
        weights = self._tensors.weights.shape
        return Call(columns, make, ("replicates", shapes, padded, weights))


class LeaveOutBatch(ReplicateBatch):
    """The scores of a measure of graphs without the judgments of each owner."""

    def __init__(self, *shared: Any, memory: int):
        """Take what `ReplicateBatch` does, and the bytes that scores may take."""
        super().__init__(*shared)
        self._memory, self._runs = memory, 0

    def score(
        self, rankings: "Rankings", progress: Progress | None = None
    ) -> Float64[np.ndarray, "replicates 1 runs queries"]:
        """Score each run and query; NaN where no judgment of a query is left.

        Raises:
            DataError: the scores of all runs so far take more memory than they may.
        """
        shape = self._how.replicates, len(rankings.run_ids), len(self.docs)
        self._runs += shape[1]
        taken = 8 * shape[0] * self._runs * shape[2]
        if taken > self._memory:
            raise DataError(
                f"scores of {self._runs} runs without each of {shape[0]} judges or "
                f"runs take {taken} bytes, of {self._memory}",
                mend="Give more memory, or fewer runs.",
            )
        scores = np.empty(shape)
        for block in self.blocks(rankings, progress):
            rows = slice(block.first, block.first + len(block.scores))
            here = np.where(block.present[:, None], block.scores, np.nan)
            scores[rows, block.runs] = here
        return scores[:, None]


class ScoreIntervalBatch(ReplicateBatch):
    """Percentiles and means of single scores over replicates, which it makes again."""

    def score(
        self, rankings: "Rankings", progress: Progress | None = None
    ) -> Float64[np.ndarray, "3 1 runs queries"]:
        """Give what `Percentiles.found` says of each run and query."""
        count, queries = self._how.replicates, len(self.docs)
        made = np.zeros((3, len(rankings.run_ids), queries))
        kept = Percentiles(count, 0, queries)
        for block in self.blocks(rankings, progress):
            if not block.first:  # some runs after others
                kept = Percentiles(count, block.scores.shape[1], queries)
            kept.add(block.scores, block.present)
            if block.first + len(block.scores) == count:
                made[:, block.runs] = kept.found
        return made[:, None]


def is_resamplable(member: Member) -> bool:
    """Say whether a measure peels graphs of preferences, which can be drawn."""
    needs = member.measure.definition.needs(member.measure.parameters)
    graphs = type(member.tensors) is PeelTensors and "preferences" in needs
    return graphs and not _not_peeled(member)


def _not_peeled(member: Member) -> bool:
    measure = member.measure
    return measure.name == "PGC" and measure.parameters["ideal"] != "greedy"


def check_resamplable(member: Member, asked: str, instead: str) -> None:
    """Refuse a measure that has no preferences to draw, or to leave out.

    Args:
        member: the measure.
        asked: what is asked, such as `resample='judges'`.
        instead: what can be asked of it.

    Raises:
        UsageError: it has none.
    """
    if not is_resamplable(member):
        what = "PGC of preferences alone"
        if _not_peeled(member):
            what = "ideal=greedy: what is kept of the judgments is peeled"
        raise UsageError(f"{member.measure}: {asked} is of {what}{instead}")


def _sizes(replicates: int) -> list[int]:
    """Cut replicates into the blocks in which they are drawn."""
    return [min(BLOCK, replicates - low) for low in range(0, replicates, BLOCK)]


def _most_runs(runs: int, all_groups: list[QueryGroup], queries: int) -> int:
    """Choose how many runs are laid out at once, and their scores kept."""
    tables = sum(12 * group.size * len(group.queries) for group in all_groups)
    scores = 3 * 8 * BLOCK * queries
    most = plan.runs_at_once(runs)
    return max(4, min(most, plan.BUDGET // 2 // max(1, tables + scores) // 4 * 4))


def _fits(tile: Tile, counts: Int[np.ndarray, "queries replicates rows"]) -> bool:
    """Say whether words hold the degrees of all graphs of a tile."""
    size = tile.fixed.shape[-1]
    if size > peel_packed.MOST_VERTICES:
        return False
    if tile.most < peel_packed.MOST_DEGREE:
        return True
    for i, query in enumerate(tile.queries):
        for axis in (0, 1):
            degree = np.zeros((size, counts.shape[1]), np.int64)
            drawn = counts[i, :, : len(query.drawn)].T
            np.add.at(degree, query.pairs[:, axis], drawn)
            degree += tile.fixed[i].sum(1 - axis)[:, None]
            if degree.max(initial=0) >= peel_packed.MOST_DEGREE:
                return False
    return True
