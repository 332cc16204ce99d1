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
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks.studies.gpu_launches import Code, Launch, launches_of

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
_ALU = set("LOP3 SHF ISETP IADD3 SEL VIMNMX VIMNMX3 VIADD VIADDMNMX LEA PRMT".split())
_ALU |= set("IMNMX FSETP FSEL FMNMX PLOP3 MOV CS2R P2R R2P SGXT BMSK IABS".split())
_HEAVY, _XU = {"IMAD"}, {"MUFU", "I2F", "F2I", "I2FP", "F2F", "POPC", "FLO", "BREV"}
_MEMORY = set("LDG STG LD ST LDS STS LDC SHFL ATOM ATOMG RED LDL STL".split())


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
    return launches_of(text, codes, grids, trips)


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
    target = re.search(r"\.target (\w+)", path.read_text(encoding="utf-8"))
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
