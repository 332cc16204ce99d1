"""What a job takes: chunks, calls and bytes, without doing it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from pgcjax.engine import plan


@dataclass(frozen=True)
class CostGroup:
    """Queries that a batch computes alike.

    Attributes:
        measure: what is computed: the names of measures, or how many there are.
        form: `levels`, `packed`, `wide`, `lists`, `grids` or `grid pairs`.
        size: padded number of places.
        queries: how many.
        vertices: documents of all of them.
        per_query: bytes of what does not depend on the run, for a query.
        per_pair: bytes of a run and query.
        measures: number of measures that share the calls.
        orders: by how many orders of what a run lacks it is peeled.
    """

    measure: str
    form: str
    size: int
    queries: int
    vertices: int
    per_query: int
    per_pair: int
    measures: int = 1
    orders: int = 1


@dataclass(frozen=True)
class Estimate:
    """A job: what there is to read and to compute.

    Attributes:
        runs: number of runs, about.
        units: files, or blocks of packed runs.
        lines: documents to read as text.
        found: judged documents of a run, about.
        groups: of queries.
        limits: of memory.
        cpu: whether a CPU computes.
    """

    runs: int
    units: int
    lines: float
    found: float
    groups: Sequence[CostGroup]
    limits: plan.MemoryLimits
    cpu: bool = True

    @cached_property
    def per_chunk(self) -> int:
        """Runs in a chunk, about: enough for a tile if they fit, and at least one."""
        each = max(1, round(plan.FOUND * self.found))
        enough = max(plan.settings.runs, self.limits.enough // each + 1)
        return max(1, min(self.runs, enough, self.limits.found // each + 1))

    def chunks(self) -> Iterator[int]:
        """Return the number of runs in each chunk."""
        for low in range(0, self.runs, self.per_chunk):
            yield min(self.per_chunk, self.runs - low)

    def tiles(
        self, runs: int, devices: int = 1
    ) -> Iterator[tuple[CostGroup, int, int, int]]:
        """Return the calls of a chunk: group, its queries and runs in one, how many."""
        for group in self.groups:
            block = plan.block(group.per_query)
            queries, runs_at_once = plan.tile(
                min(group.queries, block),
                max(runs, self.per_chunk),
                per_query=group.per_query,
                per_pair=group.per_pair,
                devices=devices,
                budget=self.limits.tile,
                near=self.cpu and group.form in ("packed", "wide"),
            )
            whole, rest = divmod(group.queries, block)
            in_all = whole * -(-block // queries) + -(-rest // queries)
            if calls := in_all * -(-runs // runs_at_once):
                yield group, queries, runs_at_once, calls

    @property
    def calls(self) -> int:
        """How many calls of the device there will be, about."""
        return sum(
            chunks * calls
            for runs, chunks in Counter(self.chunks()).items()
            for *_, calls in self.tiles(runs)
        )

    @property
    def scores(self) -> int:
        """How many scores there will be."""
        return self.runs * sum(g.queries * g.measures for g in self.groups)

    @property
    def padding(self) -> float:
        """Share of the places of all tiles where no document stands."""
        places = filled = 0
        for runs, count in Counter(self.chunks()).items():
            for group, queries, runs_at_once, calls in self.tiles(runs):
                places += count * calls * queries * runs_at_once * group.size
                filled += count * runs * group.vertices
        return 1 - filled / places if places else 0.0

    def bytes(self, devices: int = 1) -> dict[str, int]:
        """Tell what is in memory at most, beyond libraries and judgments."""
        tile = max(
            (
                queries * (group.per_query + group.per_pair * runs_at_once)
                for group, queries, runs_at_once, _ in self.tiles(
                    self.per_chunk, devices
                )
            ),
            default=0,
        )
        results = round(plan.FOUND * self.found * self.per_chunk)
        return {
            "judged documents of two chunks": 4 * results,
            "tiles in work": 4 * tile,
            "scores": 64 * self.scores,
        }
