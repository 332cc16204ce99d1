"""What a program starts: read from what XLA makes of it, the text of its HLO."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

_BYTES = {"pred": 1, "s8": 1, "u8": 1, "s16": 2, "u16": 2, "s32": 4, "u32": 4}
_BYTES |= {"f32": 4, "f64": 8, "s64": 8, "u64": 8, "f16": 2, "bf16": 2}
_UPDATE = "dynamic-update-slice"  # in place, as the first operand is not read again
_NOTHING = {"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "iota"}


class Code(NamedTuple):
    """Machine code of a kernel.

    Attributes:
        registers: of a thread.
        spilled: bytes that a thread stores and loads for want of registers.
        once: instructions of a thread, by name, outside of the longest loop.
        loop: those of a turn of it.
    """

    registers: int
    spilled: int
    once: Counter
    loop: Counter


class Launch(NamedTuple):
    """A kernel that a program starts.

    Attributes:
        name: of the kernel; or of the library's that XLA calls.
        times: how often.
        blocks: how many.
        threads: of a block.
        bytes: that a launch reads and writes, by its shapes; an array from which it
            gathers counts once at most.
        cached: the same, but each slice that is gathered counts.
        operations: of a product of matrices.
        code: machine code; None of a library's.
    """

    name: str
    times: float
    blocks: int
    threads: int
    bytes: int
    cached: int
    operations: float
    code: Code | None

    @property
    def warps(self) -> int:
        """Number of warps of a launch."""
        return self.blocks * -(-self.threads // 32)


def launches_of(
    text: str,
    codes: Mapping[str, Code],
    grids: Mapping[str, tuple[int, int]],
    trips: int = 1,
) -> list[Launch]:
    """List what a program starts.

    Args:
        text: of its HLO.
        codes: machine code of each kernel.
        grids: blocks, and threads of each, of each kernel.
        trips: turns of loops whose number depends on the data.
    """
    found = list(_launches(_computations(text), codes, grids, trips))
    return [_alike(launch, found) for launch in found]


def _alike(launch: Launch, others: list[Launch]) -> Launch:
    """Find the kernel of a launch that shares that of another: XLA makes it once."""
    if launch.code or "fusion" not in launch.name:
        return launch
    stem = re.sub(r"_\d+$", "", launch.name)
    for other in others:
        same = other.code and other.bytes == launch.bytes
        if same and re.sub(r"_\d+$", "", other.name) == stem:
            return launch._replace(
                blocks=other.blocks, threads=other.threads, code=other.code
            )
    return launch


class _Instruction(NamedTuple):
    name: str
    type: str
    op: str
    operands: list[str]
    rest: str


def _computations(text: str) -> dict[str, list[_Instruction]]:
    """Read the computations of an HLO module, the entry as `ENTRY`."""
    found, own = {}, []
    for line in text.splitlines():
        if line.endswith("{") and (head := re.match(r"(ENTRY )?%([\w.-]+) \(", line)):
            own = found["ENTRY" if head[1] else head[2]] = []
        elif x := re.match(r"  (?:ROOT )?%([\w.-]+) = (.+?) ([\w-]+)\((.*)$", line):
            inside, _, rest = x[4].partition(")")
            own.append(
                _Instruction(x[1], x[2], x[3], re.findall(r"%([\w.-]+)", inside), rest)
            )
    return found


def _launches(
    every: Mapping[str, list[_Instruction]],
    codes: Mapping[str, Code],
    grids: Mapping[str, tuple[int, int]],
    trips: int,
    name: str = "ENTRY",
    times: float = 1,
) -> Iterator[Launch]:
    """Walk through a computation, and those that it calls."""
    types = {each.name: each.type for each in every[name]}
    for each in every[name]:
        if each.op in _NOTHING:
            continue
        if inner := re.search(r"(?:body|to_apply)=%([\w.-]+)", each.rest):
            if each.op in ("while", "call"):
                known = re.search(r'known_trip_count":\{"n":"(\d+)"', each.rest)
                turns = int(known[1]) if known else trips
                turns = turns if each.op == "while" else 1
                yield from _launches(
                    every, codes, grids, trips, inner[1], times * turns
                )
                continue
        kernel = re.sub(r"[.-]", "_", each.name)
        called = re.search(r'custom_call_target="([^"]+)"', each.rest)
        kernel = re.sub(r"[.-]", "_", each.name)
        if called and "triton" in called[1]:
            kernel = next((x for x in codes if x.startswith("_")), kernel)
        blocks, threads = grids.get(kernel, (0, 0))
        operations = sum(
            _products(x, every[of])
            for of in re.findall(r"calls=%([\w.-]+)", each.rest)
            for x in every[of]
        )
        moved, code = _moved(each, types, every), codes.get(kernel)
        yield Launch(kernel, times, blocks, threads, *moved, operations, code)


def _products(each: _Instruction, own: list[_Instruction]) -> float:
    """Count the operations of a product of matrices: one to multiply, one to add."""
    if each.op != "dot":
        return 0.0
    axis = re.search(r"lhs_contracting_dims=\{(\d+)\}", each.rest)
    left = next(x.type for x in own if x.name == each.operands[0])
    dims = re.search(r"\[([\d,]+)\]", left)
    assert axis and dims
    return 2.0 * _sizes(each.type)[0] * int(dims[1].split(",")[int(axis[1])])


def _sizes(type: str) -> list[int]:
    """Give the number of elements of each array of a type."""
    return [
        math.prod(map(int, dims.split(","))) if dims else 1
        for _, dims in re.findall(r"(\w+)\[([\d,]*)\]", type)
    ]


def _size(type: str) -> int:
    """Give the bytes of all arrays of a type."""
    kinds = [kind for kind, _ in re.findall(r"(\w+)\[([\d,]*)\]", type)]
    return sum(
        _BYTES.get(kind, 0) * n for kind, n in zip(kinds, _sizes(type), strict=True)
    )


def _moved(
    each: _Instruction, types: Mapping[str, str], every: Mapping[str, list]
) -> tuple[int, int]:
    """Count the bytes that an instruction reads and writes: of memory, and of L2."""
    inner = re.search(r"calls=%([\w.-]+)", each.rest)
    memory = cache = _written(each, every[inner[1]] if inner else [])
    for i, operand in enumerate(each.operands):
        whole = taken = _size(types.get(operand, ""))
        if inner and each.op == "fusion":
            taken = _taken(every[inner[1]], i, whole)
        memory, cache = memory + min(whole, taken), cache + taken
    return memory, cache


def _written(each: _Instruction, inside: list[_Instruction]) -> int:
    """Count what an instruction writes: of an array updated in place, the slices."""
    updates = [x for x in inside if x.op == _UPDATE]
    if not any(x.type == each.type for x in updates):
        return _size(each.type)
    types = {x.name: x.type for x in inside}
    return sum(_size(types[x.operands[1]]) for x in updates)


def _taken(inside: list[_Instruction], number: int, whole: int) -> int:
    """Count what a fusion reads of an argument: of a gather, what it takes."""
    starts = f"param_{number}.", f"param_{number}_"
    named = (x.name for x in inside if x.op == "parameter")
    own = next((x for x in named if f"{x}.".startswith(starts)), None)
    users = [x for x in inside if own in x.operands]
    if users and all(x.op == _UPDATE and x.operands[0] == own for x in users):
        return 0
    if not users or any(
        x.op not in ("gather", "dynamic-slice") or x.operands[0] != own for x in users
    ):
        return whole
    return sum(_size(user.type) for user in users)
