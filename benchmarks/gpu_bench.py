"""Checking, timing and printing on one device, in milliseconds; for `gpu.py`."""

import math
import time
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks import baselines, gpu_rows
from benchmarks.gpu_kernels import Work
from benchmarks.gpu_rows import Arrays, Row
from benchmarks.harness import (
    TOLERANCE,
    Contender,
    Report,
    Spread,
    number,
    spread,
    without_folders,
)
from benchmarks.inputs import Case
from pgcjax.kernels.rbo import rank_weights

VERTEX = 128  # bytes that a vertex takes for each query and run, in all rows together
SWEEP = 50.0  # seconds after which no more settings of the Pallas kernel are tried
BLOCKS, WARPS = (1, 2, 4, 8, 16, 32, 64), (1, 4, 8)  # runs of a program, its warps
WORDS = 4, 64  # vertices that a thread may hold: beyond, its registers spill
SAMPLE, QUERIES = 24, 6  # pairs in plain Python, of so many queries
SLICE = 4  # queries whose sums a CPU computes, too


class Bench:
    """The measurements on one device."""

    def __init__(self, report: Report, backend: str, seconds: float = math.inf):
        """Measure for a report, and begin nothing after some seconds."""
        self.report, self.backend = report, backend
        self.keep: Callable[[], None] = lambda: None  # called after each table
        self._ends = time.perf_counter() + seconds
        self.device = jax.local_devices()[0]
        self.wrong: list[str] = []
        self.left_out: list[str] = []
        self._swept = 0.0

    def fit(self, queries: int, runs: int, n: int) -> tuple[int, int, int]:
        """Leave out queries that would not fit in half of the device's memory."""
        stats = self.device.memory_stats() or {}
        room = stats.get("bytes_limit", 2**32) // 2
        fewer = max(1, min(queries, room // (VERTEX * runs * n)))
        if fewer < queries:
            what = f"{queries - fewer} of {queries} queries at N = {n}"
            self._leave_out(what, "for the device's memory")
        return fewer, runs, n

    def copy(self) -> None:
        """Measure what the memory gives at best: reading and writing an array."""
        x = jnp.zeros(2**22 if self.backend == "cpu" else 2**27, jnp.int32)
        call = jax.jit(lambda x: x + 1)
        ms = self._milliseconds(lambda: jax.block_until_ready(call(x)))
        rate = 2e-6 * x.nbytes / ms.median
        row = [f"{x.nbytes >> 20} MiB + 1", ms.median, ms.low, ms.high, rate]
        columns = ["", "ms", "lowest", "highest", "GB/s"]
        self.table("memory: read an array, write another", columns, [row])

    def end(self) -> None:
        """Say how much memory was in use at most, what is not there, what is wrong."""
        stats = self.device.memory_stats() or {}
        names = [x for x in ("peak_bytes_in_use", "bytes_limit") if x in stats]
        if names:
            rows = [[name, stats[name] / 2**20] for name in names]
            self.table("memory of the device, all of this run", ["", "MiB"], rows)
        else:
            self._leave_out("peak memory", "this device does not tell")
        for title, problems in (("left out", self.left_out), ("WRONG", self.wrong)):
            if problems:
                self.table(title, [""], [[problem] for problem in problems])

    def _leave_out(self, what: str, why: str) -> None:
        if (problem := f"{what} ({why})") not in self.left_out:
            self.left_out.append(problem)
            print(f"left out: {problem}", flush=True)

    def beside(
        self, foretold: dict[tuple[str, float, str], tuple[float, float]]
    ) -> None:
        """Put what was predicted of rows beside what was measured."""
        rows = []
        for race in self.report.races:
            for figure in race["figures"]:
                n = race["title"].partition("N = ")[2].partition(":")[0]
                if found := foretold.get((figure["name"], race["units"], n)):
                    low, high = (1e3 * x for x in found)
                    ms = figure["microseconds"]["median"] * race["units"] / 1e3
                    rows.append(
                        [race["title"], figure["name"], ms, low, high, ms / high]
                    )
        columns = ["", "row", "ms", "predicted from", "to", "÷ to"]
        self.table("beside the prediction of docs/gpu.md", columns, rows)

    def begins(self, name: str) -> bool:
        """Say whether there is time for something; if not, leave it out."""
        if time.perf_counter() > self._ends:
            self._leave_out(name, "for the time")
            return False
        return True

    def work(self, name: str, make: Callable[[], Work]) -> None:
        """Time a program, if a sample of its results is right."""
        rows: list[Row] = []
        try:
            work = make()
            rows = [gpu_rows.of_work(work, self.device)]
            with jax.enable_x64(True):
                far = work.differs(jax.tree.map(np.asarray, rows[0].call()))
        except Exception as error:
            self._failed(name, error)
            return
        print(f"\n{work.title}")
        if far > TOLERANCE:
            self.wrong.append(f"{name}: differs by {far:.3g} from plain Python")
            print(f"WRONG, and not timed: {self.wrong[-1]}")
            return
        print(f"a sample in plain Python or numpy: differs by {far:.3g}")
        self._race(work.title, work.units, rows, work.per)

    def peel(self, case: Case) -> str:
        """Race on cyclic graphs; say in a line what was best."""
        jax.clear_caches()  # or what another case compiled would take no time here
        weights = rank_weights(case.p, case.depth)
        host = gpu_rows.lay_out(case, weights, "packed")
        arrays = host.on(self.device)
        word = gpu_rows.one_word(arrays, self.backend)
        title = f"peel + RBO on the device, {case.title}"
        truth = self._truth(title, case, word, host)
        rows = self._others(case, weights, word, truth)
        rows += self._pallas(title, arrays, truth)
        return self._race(title, case.pairs, rows)

    def levels(self, case: Case) -> None:
        """Race on graphs derived from grades, which need no peel."""
        jax.clear_caches()
        weights = rank_weights(case.p, case.depth)
        arrays = gpu_rows.lay_out(case, weights, "levels").on(self.device)
        level = gpu_rows.levels(arrays, self.backend)
        title = f"derived graphs on the device, {case.title}"
        truth = self._truth(title, case, level)
        self._race(title, case.pairs, self._others(case, weights, level, truth))

    def _others(
        self, case: Case, weights: np.ndarray, row: Row, truth: np.ndarray
    ) -> list[Row]:
        """Add a row's rivals: the textbook before it, pgcjax's tiles after it."""
        textbook = partial(gpu_rows.textbook, case, weights)
        shipped = partial(gpu_rows.shipped, case, weights, row.moved)
        return [
            *self._attempt("textbook JAX", truth, textbook),
            row,
            *self._attempt("pgcjax's tiles", truth, shipped),
        ]

    def _pallas(self, title: str, arrays: Arrays, truth: np.ndarray) -> list[Row]:
        """Try settings of the kernel; give its own choice and the best."""
        if not gpu_rows.has_pallas():
            self._leave_out("Pallas", "this version has no pgcjax.kernels.peel_pallas")
            return []
        if self.backend == "cpu":  # the same sums, and a time that says nothing
            name = "Pallas, interpreted"
            make = partial(gpu_rows.pallas, arrays, name, interpret=True)
            return self._attempt(name, truth, make)
        if self.backend != "gpu":
            self._leave_out("Pallas", f"a kernel for GPUs; this is a {self.backend}")
            return []
        name = gpu_rows.OWN_CHOICE
        own = self._attempt(name, truth, partial(gpu_rows.pallas, arrays, name))
        own += self._mosaic(title, arrays, truth)
        tried: list[tuple[Spread, Row]] = []
        for block, warps in product(BLOCKS, WARPS):
            if not WORDS[0] <= block * arrays.width / (32 * warps) <= WORDS[1]:
                continue
            name = f"Pallas, block={block}, num_warps={warps}"
            if self._swept > SWEEP:
                self._leave_out(f"{name}, and what follows", "for the time")
                break
            start = time.perf_counter()
            make = partial(gpu_rows.pallas, arrays, name, block=block, num_warps=warps)
            for row in self._attempt(name, truth, make):
                tried.append((self._milliseconds(row.call), row))
            self._swept += time.perf_counter() - start
        columns = ["", "ms", "lowest", "highest", "compile s"]
        rows = [[r.name, x.median, x.low, x.high, r.compile] for x, r in tried]
        self.table(f"settings of the Pallas kernel, {title}", columns, rows)
        return own + [r for _, r in sorted(tried, key=lambda x: x[0].median)[:1]]

    def _mosaic(self, title: str, arrays: Arrays, truth: np.ndarray) -> list[Row]:
        """Try runs per warpgroup of the kernel by Mosaic GPU; give the fastest."""
        if jax.default_backend() == "cpu":  # a test; the interpreter takes minutes
            return []
        if not gpu_rows.has_pallas("peel_mosaic"):
            self._leave_out("Mosaic", "this version has no pgcjax.kernels.peel_mosaic")
            return []
        tried: list[tuple[Spread, Row]] = []
        for block in (1, 2, 4, 8):
            name = f"Mosaic, block={block}"
            options = {"module": "peel_mosaic", "block": block}
            make = partial(gpu_rows.pallas, arrays, name, **options)
            for row in self._attempt(name, truth, make):
                tried.append((self._milliseconds(row.call), row))
        columns = ["", "ms", "lowest", "highest", "compile s"]
        rows = [[r.name, x.median, x.low, x.high, r.compile] for x, r in tried]
        self.table(f"settings of the kernel by Mosaic GPU, {title}", columns, rows)
        return [r for _, r in sorted(tried, key=lambda x: x[0].median)[:1]]

    def _attempt(
        self, name: str, truth: np.ndarray, make: Callable[[], Row]
    ) -> list[Row]:
        """Make a row and compare its bits; give none that fails or is wrong.

        One that fails must not take the others along: a machine with a GPU is lent.
        """
        if not self.begins(name):
            return []
        try:
            row = make()
            sums = row.sums()
        except Exception as error:
            self._failed(name, error)
            return []
        return [row] if self._same(name, sums, truth) else []

    def _failed(self, name: str, error: Exception) -> None:
        self._leave_out(name, in_a_line(error))

    def _same(self, name: str, sums: np.ndarray, truth: np.ndarray) -> bool:
        if sums.shape == truth.shape and sums.dtype == truth.dtype:
            different = int((sums != truth).sum())
            if not different:
                return True
            problem = f"{different} of {truth.size} sums differ"
        else:
            problem = f"{sums.dtype} {sums.shape} for {truth.dtype} {truth.shape}"
        self.wrong.append(f"{name}: {problem}")
        print(f"WRONG, and not timed: {self.wrong[-1]}")
        return False

    def _truth(
        self, title: str, case: Case, row: Row, host: Arrays | None = None
    ) -> np.ndarray:
        """Compute sums, and compare some with plain Python's and with a CPU's."""
        print(f"\n{title}", flush=True)
        truth = row.sums()
        count = self._published(case, truth)
        print(f"published algorithm in plain Python: compared on {count} random pairs")
        if host and self.backend != "cpu":
            try:
                cpu = jax.devices("cpu")[0]
            except RuntimeError as error:
                self._leave_out("comparison with a CPU", str(error))
                return truth
            some = gpu_rows.one_word(host.on(cpu, slice(SLICE)), "cpu").sums()
            if self._same(f"{title}, on the CPU", some, truth[:SLICE]):
                print(f"the CPU's sums: the same bits, {some.size} pairs")
        return truth

    def _published(self, case: Case, truth: np.ndarray) -> int:
        """Compare with Luo's algorithms: the same bits, and RBO to 1e-12."""
        weights = rank_weights(case.p, case.depth)
        rng = np.random.default_rng(0)
        queries = rng.permutation(len(case.graphs))[:QUERIES].tolist()
        names, runs = list(case.graphs), list(case.rankings.run_ids)
        graphs = {q: baselines.Graph(case.edges(names[q])) for q in queries}
        sums, mine, far = [], [], 0.0
        for i in range(SAMPLE):
            q, r = queries[i % len(queries)], int(rng.integers(len(runs)))
            docs = case.run(runs[r], names[q])
            ideal = baselines.greedy_ideal(graphs[q], docs)
            rank = {doc: place for place, doc in enumerate(docs)}
            lower = [max(rank.get(d, case.depth), j) for j, d in enumerate(ideal)]
            sums.append(weights[np.minimum(lower, case.depth)].sum())
            mine.append(truth[q, r])
            rbo = baselines.rbo(docs, ideal, case.p, case.depth)
            far = max(far, abs(rbo - mine[-1] / weights.sum()))
        name = f"{case.title}, against plain Python"
        self._same(name, np.array(mine), np.array(sums))
        if far > TOLERANCE:
            self.wrong.append(f"{name}: RBO differs by up to {far:.3g}")
        return SAMPLE

    def _milliseconds(self, call: Callable[[], Any]) -> Spread:
        times = []
        for _ in range(1 + self.report.rounds):
            start = time.perf_counter()
            call()
            times.append((time.perf_counter() - start) * 1e3)
        return Spread.of(times[1:])

    def _race(
        self, title: str, units: int, rows: list[Row], per: str = "(query, run)"
    ) -> str:
        """Time rows whose sums agreed, in turn; say in a line what was best."""
        contenders = [
            Contender(r.name, r.call, units, r.ours, values=None, note=r.note)
            for r in rows
        ]
        found = self.report.race(title, contenders, per=per, units=units)
        table, best = [], (float("inf"), "nothing")
        base = found.get("textbook JAX")
        for row in rows:
            figure = found[row.name]
            ms = Spread.of([x * units / 1e3 for x in figure.rounds])
            ratio = None
            if base:
                pairs = zip(base.rounds, figure.rounds, strict=True)
                ratio = Spread.of([a / b for a, b in pairs])
            rate = row.moved / ms.median / 1e6
            scratch = None if row.scratch is None else row.scratch / 2**20
            times = ratio.median if ratio else None
            table.append([row.name, ms.median, ms.low, ms.high, times, row.compile])
            table[-1] += [scratch, row.moved / 1e9, rate]
            if row.ours:
                line = f"{row.name}, {spread(ms)} ms"
                line += f", textbook JAX ÷ it {spread(ratio, 'x')}" if ratio else ""
                best = min(best, (ms.median, line))
        columns = ["", "ms", "lowest", "highest", "textbook ÷", "compile s"]
        columns += ["scratch MiB", "GB at least", "GB/s"]
        self.table(title, columns, table)
        for row in rows:
            if row.note:
                print(f"{row.name}: {row.note}")
        return best[1]

    def table(self, title: str, columns: list[str], rows: list[list[Any]]) -> None:
        """Print and keep a table."""
        self.report.tables.append({"title": title, "columns": columns, "rows": rows})
        print(f"\n{title}")
        lines = [columns, *([_cell(x) for x in row] for row in rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        for first, *rest in lines:
            cells = [x.rjust(w) for x, w in zip(rest, widths[1:], strict=True)]
            print("  ".join([first.ljust(widths[0]), *cells]).rstrip(), flush=True)
        self.keep()


def in_a_line(error: Exception) -> str:
    """Return an error's name and first line, without folders of the machine."""
    first = (str(error).strip() or type(error).__name__).splitlines()[0]
    return without_folders(f"{type(error).__name__}: {first[:200]}")


def _cell(x: Any) -> str:
    if x is None:
        return "-"
    return number(x) if isinstance(x, float) else str(x)
