"""What a job takes: chunks, calls, bytes and time, without doing it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from pgcjax.engine import plan
from pgcjax.io.prefetch import MOST_THREADS, cores

MiB, GiB = 2**20, 2**30


@dataclass(frozen=True)
class Machine:
    """What a machine does in a second of one core or device; docs/scaling.md.

    Attributes:
        cores: of the host, for all processes together.
        devices: that compute; 0 if the cores do.
        line: seconds of a core to read a line of text and look its document up.
        inflate: seconds of a core more for a line of .gz.
        packed: seconds of a core to read a judged document of packed runs.
        lay_out: seconds of a core to lay out a judged document for a measure.
        pair: seconds of a core for each run and query.
        peel: seconds of a core or device for a place in a step of the peel.
        step: seconds of a core or device for a step of the peel itself.
        level: seconds of a core or device for a judged document on the level path.
        query: seconds of a core to lay out a graph, per square of its places.
        judgment: seconds of a core to read a judgment, and to make a graph of it.
        score: seconds of a core to put a score into a file, and to average it.
        parts: processes of the job, each of which writes its own scores, and reads
            its own text.
    """

    cores: int
    devices: int
    line: float
    inflate: float
    packed: float
    lay_out: float
    pair: float
    peel: float
    step: float
    level: float
    query: float
    judgment: float
    score: float
    parts: int = 1


CORE = Machine(
    cores=1,
    devices=0,
    line=0.23e-6,
    inflate=0.077e-6,
    packed=15e-9,
    lay_out=4e-9,
    pair=0.07e-6,
    peel=0.25e-9,
    step=19e-9,
    level=6e-9,
    query=4.7e-9,
    judgment=2e-6,
    score=0.05e-6,
)
"""One core of a Xeon, by `python -m benchmarks costs`; `score` by `… scores`.

`level` is of an EPYC, after its kernel changed, on which the other constants are
0.6 to 1.1 times as large, but for `pair`, 0.1 times.
"""


ONE_AT_A_TIME = 0.23
"""Share of reading text during which the other cores of a process wait.

Of two cores, which read 1.63 times as fast as one: `python -m benchmarks.reading`.
What it says of more is extrapolated.
"""


def reading_cores(machine: Machine) -> float:
    """Tell how many times as fast as one core a process reads text."""
    own = min(MOST_THREADS, max(1, machine.cores // machine.parts))
    return own / (1 + ONE_AT_A_TIME * (own - 1))


def this_machine() -> Machine:
    """Take this machine's cores as those that were measured."""
    return replace(CORE, cores=cores())


@dataclass(frozen=True)
class Group:
    """Queries that a batch computes alike.

    Attributes:
        measure: what is computed: the names of measures, or how many there are.
        form: `levels`, `packed`, `wide`, `lists`, `grids` or `grid pairs`.
        size: padded number of places.
        queries: how many.
        vertices: documents of all of them.
        found: judged documents that a run retrieves for them, about.
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
    found: float
    per_query: int
    per_pair: int
    measures: int = 1
    orders: int = 1

    @property
    def tiled(self) -> bool:
        """Whether a call computes one tile of runs; grids are computed for all runs."""
        return not self.form.startswith("grid")


@dataclass(frozen=True)
class Job:
    """A job: what there is to read and to compute.

    Attributes:
        runs: number of runs, about.
        units: files, or blocks of packed runs.
        lines: documents to read as text.
        compressed: how many of them are compressed.
        packed: judged documents to read from packed runs.
        found: judged documents of a run, about.
        groups: of queries.
        limits: of memory.
        judgments: to read.
        cpu: whether a CPU computes.
    """

    runs: int
    units: int
    lines: float
    compressed: float
    packed: float
    found: float
    groups: Sequence[Group]
    limits: plan.Limits
    judgments: int = 0
    cpu: bool = True

    @cached_property
    def per_chunk(self) -> int:
        """Runs in a chunk, about: enough for a tile if they fit, and at least one."""
        each = max(1, round(plan.FOUND * self.found))
        enough = max(plan.settings.runs, self.limits.enough // each + 1)
        return max(1, min(self.runs, enough, self.limits.found // each + 1))

    def chunks(self) -> Iterator[int]:
        """Give the number of runs in each chunk."""
        for low in range(0, self.runs, self.per_chunk):
            yield min(self.per_chunk, self.runs - low)

    def tiles(
        self, runs: int, devices: int = 1
    ) -> Iterator[tuple[Group, int, int, int]]:
        """Give the calls for a chunk: group, its queries and runs in one, how many."""
        for group in self.groups:
            in_blocks = group.form in ("packed", "wide")
            block = plan.block(group.size) if in_blocks else group.queries
            whole, rest = divmod(group.queries, block)
            for many, count in ((block, whole), (rest, bool(rest))):
                queries, runs_at_once = plan.tile(
                    many,
                    max(runs, self.per_chunk) if group.tiled else 1,
                    per_query=group.per_query,
                    per_pair=group.per_pair,
                    devices=devices,
                    budget=self.limits.tile,
                    near=self.cpu and in_blocks,
                )
                runs_at_once = runs_at_once if group.tiled else runs
                calls = count * -(-many // queries) * -(-runs // runs_at_once)
                if calls:
                    yield group, queries, runs_at_once, calls

    @property
    def scores(self) -> int:
        """How many scores there will be."""
        return self.runs * sum(g.queries * g.measures for g in self.groups)

    @property
    def padding(self) -> float:
        """Share of the places of all tiles where no document stands."""
        places = used = 0
        for runs, count in Counter(self.chunks()).items():
            for group, queries, runs_at_once, calls in self.tiles(runs):
                places += count * calls * queries * runs_at_once * group.size
                used += count * runs * group.vertices
        return 1 - used / places if places else 0.0

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
        found = round(plan.FOUND * self.found * self.per_chunk)
        return {
            "judged documents of two chunks": 4 * found,
            "tiles in work": 4 * tile,
            "scores": 64 * self.scores,
        }

    def seconds(self, machine: Machine) -> dict[str, float]:
        """Estimate the time of each part, where each has the machine to itself."""
        text = self.lines * machine.line + self.compressed * machine.inflate
        text /= machine.parts * reading_cores(machine)
        packed = self.packed * machine.packed / machine.cores
        judge = self.judgments * machine.judgment  # on one core
        laid = compute = 0.0
        workers = machine.devices or machine.cores
        graphs = sum(4 * g.queries * g.size**2 for g in self.groups)
        again = graphs > self.limits.kept  # then each chunk lays them out
        for runs, count in Counter(self.chunks()).items():
            for group in self.groups:
                laid_out = count if again else 1
                laid += laid_out * group.queries * machine.query * group.size**2
                pairs = count * runs * group.queries
                laid += pairs * machine.pair
                laid += count * runs * group.found * machine.lay_out
                if group.form not in ("packed", "wide"):
                    compute += count * runs * group.found * machine.level
                else:
                    steps = group.size * group.vertices * machine.peel
                    steps += group.vertices * machine.step
                    compute += count * runs * steps * group.orders
        return {
            "reading": judge + text + packed,
            "laying out": laid / machine.cores,
            "computing": compute / workers,
            "writing": self.scores * machine.score / machine.parts,
        }

    def total(self, machine: Machine) -> float:
        """Estimate the time of it all: devices work while cores read."""
        parts = self.seconds(machine)
        if not machine.devices:
            return sum(parts.values())
        return (
            max(parts["reading"] + parts["laying out"], parts["computing"])
            + (parts["writing"])
        )
