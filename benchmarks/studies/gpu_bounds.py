"""What bounds each kernel on an H100, from its machine code; behind docs/gpu.md.

`python -m benchmarks.studies.gpu_bounds` prints the table of docs/gpu.md from the
figures that were kept; `--compile` first compiles every kernel for an H100, which needs
no GPU but the packages that `gpu_compiled` names, and keeps the figures. They are of
the code, not of a measurement: bytes, instructions, registers, and launches. Each of
them gives a time by what NVIDIA states of the device, and the longest is the bound.
"""

import argparse
import json
import math
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.gpu_rows import ONE_WORD, OWN_CHOICE
from benchmarks.harness import ROOT, facts, write_sections
from benchmarks.studies import gpu_compiled
from benchmarks.studies.gpu_launches import Code, Launch
from benchmarks.studies.gpu_programs import TRITON, XLA, Row, rows

KEPT = ROOT / "benchmarks/results/gpu-prediction-h100.json"
MEASURED = ROOT / "benchmarks/results/gpu-h100.json"


class Device(NamedTuple):
    """What a device does in a second, as its maker states; and what is assumed.

    Attributes:
        processors: of four quarters each.
        clock: ticks a second.
        memory: bytes a second from its memory.
        cache: bytes a second from the cache that all processors share.
        near: bytes of that cache.
        link: bytes a second from the host.
        products: operations of float64 products of matrices.
        launch: seconds until the next kernel of a program begins.
        latency: ticks of a step of the peel, in which nothing else can be done.
        share: of all these rates that a program gets.
    """

    processors: int = 132
    clock: float = 1.98e9
    memory: float = 3.35e12
    cache: float = 5.5e12
    near: float = 40e6
    link: float = 55e9
    products: float = 67e12
    launch: float = 1.5e-6
    latency: float = 300
    share: float = 1.0


BEST = Device()
WORST = Device(clock=1.755e9, link=12e9, launch=5e-6, latency=1000, share=0.5)


class Compiled(NamedTuple):
    """A program of a row, and what a call of it does.

    Attributes:
        row: what `benchmarks.gpu` calls it.
        shape: of its call.
        pairs: of queries and runs, or what else is counted.
        launches: what it starts.
        turns: of the loop of its heaviest kernel, if that has one.
        runs: of a warp, of the peel by Triton.
    """

    row: str
    shape: str
    pairs: int
    launches: list[Launch]
    turns: int = 1
    runs: int = 0


class Bound(NamedTuple):
    """What a row takes.

    Attributes:
        times: seconds, if nothing but this took time: of each bound, the longest first.
        total: seconds, of each launch by the longest of its bounds.
        memory: bytes that come from or go to the device's memory.
        cache: bytes that come from or go to the cache of all processors.
        integers: operations on whole numbers, but for products.
    """

    times: dict[str, float]
    total: float
    memory: float
    cache: float
    integers: float


def bound(compiled: Compiled, device: Device) -> Bound:
    """Sum up the launches of a program."""
    together: Counter[float] = (
        Counter()
    )  # bytes of a turn of each loop: does the cache hold them?
    for launch in compiled.launches:
        together[launch.times] += launch.bytes
    times: Counter[Any] = Counter()
    total = memory = cache = integers = 0.0
    for launch in compiled.launches:
        far = launch.times == 1 or together[launch.times] > device.near
        own, beyond = {"launches": device.launch}, launch.cached
        ticks: Counter[Any] = Counter()
        if launch.code:
            ticks.update(gpu_compiled.cycles(launch.code.once))
            if launch.code.loop:
                turns = compiled.turns
                for kind, number in gpu_compiled.cycles(launch.code.loop).items():
                    ticks[kind] += number * turns
                beyond += launch.warps * turns * _loaded(launch, compiled.runs)
                waves = math.ceil(
                    launch.warps / (device.processors * gpu_compiled.resident(launch))
                )
                own["latency"] = waves * turns * device.latency / device.clock
            rate = 4 * device.processors * device.clock * device.share
            own |= {kind: launch.warps * n / rate for kind, n in ticks.items()}
        own["float64 products"] = launch.operations / (device.products * device.share)
        own["memory"] = launch.bytes * far / (device.memory * device.share)
        own["L2"] = beyond / (device.cache * device.share)
        for kind, seconds in own.items():
            times[kind] += launch.times * seconds
        total += launch.times * max(own.values())
        memory += launch.times * launch.bytes * far
        cache += launch.times * beyond
        integers += launch.times * 16 * launch.warps * ticks["integers"]
    return Bound(dict(times.most_common()), total, memory, cache, integers)


def _loaded(launch: Launch, runs: int) -> int:
    """Count the bytes that a turn of a loop of a warp takes from L2.

    A load of 16 bytes by each thread is of rows; of another one, threads of a run load
    the same word: 32 bytes come.
    """
    assert launch.code
    loads = {op: n for op, n in launch.code.loop.items() if op.startswith("LDG")}
    wide = sum(n for op, n in loads.items() if "128" in op)
    return 512 * wide + 32 * max(1, runs) * (sum(loads.values()) - wide)


def compile_all() -> dict[str, list[dict[str, Any]]]:
    """Compile every row for an H100."""
    return {"kernels": [_as_json(_compiled(row)) for row in rows()]}


def _compiled(row: Row) -> Compiled:
    print(f"compiles {row.row}: {row.shape}", file=sys.stderr, flush=True)
    program, arguments = row.make()
    launches = gpu_compiled.compiled(program, arguments, row.turns)
    return Compiled(*row[:3], launches, row.turns, row.runs)


def _as_json(compiled: Compiled) -> dict[str, Any]:
    found = compiled._asdict()
    found["launches"] = [
        launch._asdict() | {"code": launch.code and launch.code._asdict()}
        for launch in compiled.launches
    ]
    return found


def read(path: Path = KEPT) -> list[Compiled]:
    """Read the figures of kernels that were kept."""
    kept = json.loads(path.read_text(encoding="utf-8"))
    return [_from_json(row) for row in kept["kernels"]]


def _from_json(row: dict[str, Any]) -> Compiled:
    launches = []
    for launch in row["launches"]:
        if code := launch["code"]:
            counted = {k: Counter(code[k]) for k in ("once", "loop")}
            code = Code(**{**code, **counted})
        launches.append(Launch(**{**launch, "code": code}))
    return Compiled(**{**row, "launches": launches})


def predicted(compiled: Compiled) -> tuple[float, float]:
    """Give the seconds that a call takes: at every peak, and at half of them."""
    return bound(compiled, BEST).total, bound(compiled, WORST).total


def foretold() -> dict[tuple[str, float, str], tuple[float, float]]:
    """Give the seconds of a call by row of `benchmarks.gpu`, what it counts, and N."""
    return {_key(row): predicted(row) for row in read()}


def _key(row: Compiled) -> tuple[str, float, str]:
    name = {TRITON: OWN_CHOICE, XLA: ONE_WORD}.get(row.row, row.row)
    return name, row.pairs, documents(row.shape)


def measured(path: Path = MEASURED) -> dict[tuple[str, float, str], float]:
    """Read what `benchmarks.gpu` measured: milliseconds, by the keys of `foretold`."""
    return {
        (figure["name"], race["units"], documents(race["title"])): figure[
            "microseconds"
        ]["median"]
        * race["units"]
        / 1e3
        for race in json.loads(path.read_text(encoding="utf-8"))["races"]
        for figure in race["figures"]
    }


def documents(title: str) -> str:
    """Find the number of documents in a title; nothing if it has none."""
    return title.partition("N = ")[2].partition(":")[0]


def heaviest(compiled: Compiled) -> Launch:
    """Give the kernel that takes most of the time."""

    def seconds(launch: Launch) -> float:
        alone = compiled._replace(launches=[launch])
        return bound(alone, BEST).total

    return max(compiled.launches, key=seconds)


def lines(path: Path = KEPT) -> Iterator[str]:
    """Give the table as Markdown."""
    columns = "kernel | queries × runs | launches | memory | L2 | registers, warps"
    yield f"| {columns} | bounds, at peak | predicted, ms | measured, ms |"
    yield "|---" * 9 + "|"
    times = measured()
    for row in read(path):
        found, heavy = bound(row, BEST), heaviest(row)
        of = "–"
        if code := heavy.code:
            spills = " (spills)" if code.spilled else ""
            of = f"{code.registers}{spills}, {gpu_compiled.resident(heavy)}"
        first = list(found.times.items())[:2]
        cells = [
            row.row,
            row.shape,
            f"{sum(x.times for x in row.launches):,.0f}",
            _bytes(found.memory),
            _bytes(found.cache),
            of,
            ", ".join(f"{kind} {_number(1e3 * x)} ms" for kind, x in first),
            _range([1e3 * x for x in predicted(row)]),
            _number(times[key]) if (key := _key(row)) in times else "–",
        ]
        yield f"| {' | '.join(cells)} |"


def _range(both: list[float]) -> str:
    return f"{_number(both[0])} – {_number(both[1])}"


def _number(x: float) -> str:
    return f"{x:.2g}" if x < 10 else f"{x:,.0f}"


def _bytes(number: float) -> str:
    return f"{number / 1e9:.3g} GB" if number >= 1e8 else f"{number / 1e6:.3g} MB"


def main(words: Sequence[str] | None = None) -> int:
    """Compile if asked, and print."""
    parser = argparse.ArgumentParser(prog="gpu_bounds", description=__doc__)
    parser.add_argument("--compile", action="store_true", help="for an H100, anew")
    parser.add_argument("-o", "--output", type=Path, default=KEPT, metavar="FILE.json")
    options = parser.parse_args(words)
    if options.compile:
        if lacks := gpu_compiled.missing():
            print(f"not installed: {lacks}", file=sys.stderr)
            return 2
        found = compile_all()
        about = facts(["python", "-m", "benchmarks.studies.gpu_bounds", "--compile"])
        about = {
            "what": "a prediction from compiled code; no GPU was run",
            "device": gpu_compiled.TARGET.split('"')[-2],
            "best": BEST._asdict(),
            "worst": WORST._asdict(),
            "command": about["command"],
            "when": about["when"],
            "versions": about["versions"] | gpu_compiled.versions(),
        }
        write_sections(options.output, about, found)
    print("\n".join(lines(options.output)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
