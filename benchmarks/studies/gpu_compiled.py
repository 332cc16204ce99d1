"""What compilers make of programs for an H100, on a machine without a GPU.

XLA compiles for a description of the device, and writes down its kernels; NVIDIA's
assembler makes machine code of them, and its disassembler lists the instructions.
Nothing is run. Needs the extra cuda12 (or cuda13), which brings XLA's compiler and
`ptxas`, and the package nvidia-cuda-cuobjdump.
"""

import atexit
import math
import os
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

TARGET = """
gpu_device_info {
  threads_per_block_limit: 1024 threads_per_warp: 32 threads_per_core_limit: 2048
  shared_memory_per_block: 49152 shared_memory_per_core: 233472
  shared_memory_per_block_optin: 232448
  core_count: 132 fpus_per_core: 128 clock_rate_ghz: 1.98
  block_dim_limit_x: 2147483647 block_dim_limit_y: 65535 block_dim_limit_z: 65535
  memory_bandwidth: 3352320000000 device_memory_size: 84978434048
  l2_cache_size: 52428800
  cuda_compute_capability { major: 9 minor: 0 }
  registers_per_core_limit: 65536 registers_per_block_limit: 65536
}
platform_name: "CUDA"
dnn_version_info { major: 9 }
device_description_str: "NVIDIA H100 80GB HBM3"
"""
PACKAGES = ("jax", "jaxlib", "jax-cuda12-pjrt", "jax-cuda13-pjrt")
PACKAGES += ("nvidia-cuda-nvcc-cu12", "nvidia-cuda-nvcc", "nvidia-cuda-cuobjdump")
_BYTES = {"pred": 1, "s8": 1, "u8": 1, "s16": 2, "u16": 2, "s32": 4, "u32": 4}
_BYTES |= {"f32": 4, "f64": 8, "s64": 8, "u64": 8, "f16": 2, "bf16": 2}
_NOTHING = {"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "iota"}
_ALU = set("LOP3 SHF ISETP IADD3 SEL VIMNMX VIMNMX3 VIADD VIADDMNMX LEA PRMT".split())
_ALU |= set("IMNMX FSETP FSEL FMNMX PLOP3 MOV CS2R P2R R2P SGXT BMSK IABS".split())
_HEAVY, _XU = {"IMAD"}, {"MUFU", "I2F", "F2I", "I2FP", "F2F", "POPC", "FLO", "BREV"}
_MEMORY = set("LDG STG LD ST LDS STS LDC SHFL ATOM ATOMG RED LDL STL".split())


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
        bytes: that a launch reads and writes, by its shapes; of a gather, what it
            takes.
        operations: of a product of matrices.
        code: machine code; None of a library's.
    """

    name: str
    times: float
    blocks: int
    threads: int
    bytes: int
    operations: float
    code: Code | None

    @property
    def warps(self) -> int:
        """Number of warps of a launch."""
        return self.blocks * -(-self.threads // 32)


def missing() -> str:
    """Say in a line what is not installed; nothing if all is there."""
    lacks = []
    if not any(map(_version, ("jax-cuda12-pjrt", "jax-cuda13-pjrt"))):
        lacks.append("jax[cuda12]")
    lacks += [f"{name} (of {package})" for name, package in _TOOLS if not _tool(name)]
    return ", ".join(lacks)


def versions() -> dict[str, str]:
    """Give the versions of what compiles."""
    return {name: found for name in PACKAGES if (found := _version(name))}


def compiled(program: Any, arguments: Any, trips: int = 1) -> list[Launch]:
    """Compile a program, and list what it starts.

    Args:
        program: by `jax.jit`.
        arguments: arrays, or their shapes and types.
        trips: turns of loops whose number depends on the data.
    """
    import jax

    where = _sharding()
    shapes = jax.tree.map(
        lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=where), arguments
    )
    before = set(_folder().iterdir())
    with jax.enable_x64(True):
        text = program.lower(*shapes).compile().as_text()
    new = sorted(set(_folder().iterdir()) - before)
    codes: dict[str, Code] = {}
    grids: dict[str, tuple[int, int]] = {}
    for path in new:
        if path.suffix == ".ptx" and ".entry" in path.read_text():
            codes |= _assembled(path)
        if path.name.endswith("thunk_sequence.txt"):
            grids |= _grids(path.read_text())
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


@cache
def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="pgcjax-compiled-"))
    flags = os.environ.get("XLA_FLAGS", "")  # read when the first program is compiled
    os.environ["XLA_FLAGS"] = f"{flags} --xla_dump_to={folder}"
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@cache
def _sharding() -> Any:
    """Describe the device to XLA."""
    _folder()
    import numpy as np
    from jax.experimental import topologies
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    topology = topologies.get_topology_desc(
        topology_name="h100", platform="cuda", target_config=TARGET, topology="1x1x1"
    )
    mesh = Mesh(np.array(topology.devices), ("device",))
    return NamedSharding(mesh, PartitionSpec())


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
        yield Launch(kernel, times, blocks, threads, moved, operations, code)


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
) -> int:
    """Count the bytes that an instruction reads and writes."""
    total = _size(each.type)
    inner = re.search(r"calls=%([\w.-]+)", each.rest)
    for i, operand in enumerate(each.operands):
        whole = _size(types.get(operand, ""))
        if inner and each.op == "fusion":
            whole = min(whole, _read(every[inner[1]], i, whole))
        total += whole
    return total


def _read(inside: list[_Instruction], number: int, whole: int) -> int:
    """Count what a fusion reads of an argument: of what it gathers from, the taken."""
    starts = f"param_{number}.", f"param_{number}_"
    named = (x.name for x in inside if x.op == "parameter")
    own = next((x for x in named if f"{x}.".startswith(starts)), None)
    if own is None:
        return whole
    users = [x for x in inside if own in x.operands]
    taking = ("gather", "dynamic-slice")
    if users and all(x.op in taking and x.operands[0] == own for x in users):
        return sum(_size(x.type) for x in users)
    return whole


def _grids(text: str) -> dict[str, tuple[int, int]]:
    """Read how many blocks and threads each kernel has."""
    pattern = r"(\w+) grid: \[(\d+), (\d+), (\d+)\] threads: \[(\d+), (\d+), (\d+)\]"
    return {
        name: (math.prod(map(int, x[:3])), math.prod(map(int, x[3:])))
        for name, *x in re.findall(pattern, text)
    }


def _assembled(path: Path) -> dict[str, Code]:
    """Make machine code of a file of PTX, and read it."""
    cubin = path.with_suffix(".cubin")
    target = re.search(r"\.target (\w+)", path.read_text())
    assert target
    options = [f"-arch={target[1]}", "-v", str(path), "-o", str(cubin)]
    said = _run(_tool("ptxas"), *options)
    found: dict[str, tuple[int, int]] = {}
    for name, about in re.findall(
        r"Compiling entry function '(\w+)'(.*?)(?=Compiling entry|\Z)", said, re.DOTALL
    ):
        registers = re.search(r"Used (\d+) registers", about)
        spills = re.findall(r"(\d+) bytes spill", about)
        found[name] = int(registers[1]) if registers else 0, sum(map(int, spills))
    listing = _run(_tool("cuobjdump"), "-sass", str(cubin))
    parts = re.split(r"Function : (\w+)", listing)[1:]
    return {
        name: Code(found[name][0], found[name][1], *instructions(body))
        for name, body in zip(parts[::2], parts[1::2], strict=True)
    }


def instructions(listing: str) -> tuple[Counter, Counter]:
    """Count the instructions of a kernel outside and inside of its longest loop.

    What follows the last exit is the slow way of what hardly ever happens.
    """
    pattern = r"/\*([0-9a-f]{4,5})\*/ +(?:@!?U?P\w+ +)?([A-Z][\w.]*)([^;]*);"
    lines = [(int(at, 16), op, rest) for at, op, rest in re.findall(pattern, listing)]
    exits = [at for at, op, rest in lines if op == "EXIT"]
    lines = [line for line in lines if line[0] <= max(exits, default=0)]
    jumps = [
        (int(to[1], 16), at)
        for at, op, rest in lines
        if op == "BRA" and (to := re.search(r"0x([0-9a-f]+)", rest))
    ]
    loops = [(to, at) for to, at in jumps if to < at]
    low, high = max(loops, key=lambda x: x[1] - x[0], default=(1, 0))
    once = Counter(op for at, op, _ in lines if not low <= at <= high)
    return once, Counter(op for at, op, _ in lines if low <= at <= high)


def cycles(counts: Counter) -> dict[str, float]:
    """Sum up how long each part of a quarter of a processor works for a warp.

    Whole numbers: 16 lanes, as have products of them, and float64; 32 lanes issue, and
    do float32; one unit for memory serves all four quarters.
    """
    by_kind: Counter[str] = Counter()
    for name, number in counts.items():
        kind = name.split(".")[0]
        by_kind["issue"] += number
        if kind in _ALU:
            by_kind["integers"] += 2 * number
        elif kind in _HEAVY:
            by_kind["products"] += 2 * number
        elif kind[0] == "D" and kind in ("DADD", "DMUL", "DFMA", "DSETP", "DMNMX"):
            by_kind["float64"] += 2 * number
        elif kind in _XU:
            by_kind["special"] += 8 * number
        elif kind in _MEMORY:
            by_kind["memory unit"] += 4 * number
    return dict(by_kind)


def resident(launch: Launch) -> int:
    """Tell how many warps of a kernel a processor holds, by registers and threads."""
    assert launch.code
    warps = -(-launch.threads // 32)
    registers = 32 * -(-launch.code.registers // 8) * 8
    return warps * min(32, 64 // warps, 4 * (16384 // registers) // warps)


_TOOLS = (("ptxas", "jax[cuda12]"), ("cuobjdump", "nvidia-cuda-cuobjdump"))


@cache
def _tool(name: str) -> str:
    """Find a program of NVIDIA's: on the path, or in an installed package."""
    for package in metadata.distributions():
        if (package.metadata["Name"] or "").startswith("nvidia"):
            for file in package.files or ():
                if file.name == name and "bin" in file.parts:
                    path = Path(str(package.locate_file(file)))
                    path.chmod(path.stat().st_mode | 0o100)
                    return str(path)
    return shutil.which(name) or ""


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout + done.stderr
