"""Choice of the program that peels packed graphs, by device and version of JAX.

| program  | devices                                   | JAX              | launches |
|----------|-------------------------------------------|------------------|----------|
| `triton` | NVIDIA, compute capability 8.0 (Ampere) on | while it has it  | 1        |
| `mosaic` | NVIDIA, compute capability 9.0 (Hopper) on | 0.10 on          | 1        |
| `xla`    | all                                       | all              | many     |

The first that all local devices can run, and that compiles, is taken: each gives the
same bits. PGCJAX_PEEL names another one.
"""

import os
import warnings
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import NamedTuple

import numpy as np

from pgcjax.errors import DataWarning, UsageError, outside
from pgcjax.kernels.peel_packed import IN, OUT
from pgcjax.later import Array, jax

VARIABLE = "PGCJAX_PEEL"


class PeelProgram(NamedTuple):
    """A peel in one launch: where it runs.

    Attributes:
        name: as PGCJAX_PEEL takes it.
        module: of the kernel, whose `peeled_overlap` it is.
        capability: least compute capability of an NVIDIA GPU.
        version: least version of JAX.
    """

    name: str
    module: str
    capability: tuple[int, int]
    version: tuple[int, int]


# On an H100, Triton's took 3.2 ms where Mosaic's took 9.7: docs/gpu.md.
PROGRAMS = (
    PeelProgram("triton", "pgcjax.kernels.peel_pallas", (8, 0), (0, 8)),
    PeelProgram("mosaic", "pgcjax.kernels.peel_mosaic", (9, 0), (0, 10)),
)
CHOICES = ("auto", "xla", *(program.name for program in PROGRAMS))
_FAILED: dict[tuple[str, int], str] = {}  # in calls of this process: program and size


class Choice(NamedTuple):
    """Program that peels.

    Attributes:
        name: `triton`, `mosaic` or `xla`.
        reasons: of each program before it in the table, why not; or who asked for it.
    """

    name: str
    reasons: tuple[str, ...]


def peel_choice(size: int = 16) -> Choice:
    """Choose the program that peels packed graphs of a padded size.

    A program that should run here but does not compile is left out with a warning.

    Raises:
        UsageError: PGCJAX_PEEL is none of the choices, or asks for a program that
            these devices or this JAX cannot run.
    """
    wanted = os.environ.get(VARIABLE, "auto")
    if wanted not in CHOICES:
        raise UsageError(f"{VARIABLE}={wanted}: expected one of {', '.join(CHOICES)}")
    if wanted == "xla":
        return Choice("xla", (f"{VARIABLE}=xla",))
    reasons, fits = [], wanted == "auto"
    for program in PROGRAMS:
        if wanted not in ("auto", program.name):
            continue
        why_not = misfit(program)
        if not why_not:
            fits = True
            if not (why_not := _failure(program, size)):
                return Choice(program.name, tuple(reasons))
            _warn_once(f"peels are not computed by {program.name} here: {why_not}")
        reasons.append(f"not {program.name}: {why_not}")
    if not fits:
        raise UsageError(f"{VARIABLE}={wanted}: {'; '.join(reasons)}")
    return Choice("xla", tuple(reasons))


def leave_out(name: str, size: int, error: Exception) -> None:
    """Have `peel_choice` leave out a program whose call for a padded size failed.

    Raises:
        Exception: the error, if it is of XLA, after which there is no other program.
    """
    if name == "xla":
        raise error
    _FAILED[name, size] = _in_a_line(error)


def kernel(name: str) -> ModuleType:
    """Import the kernel of a program in one launch; Pallas takes a moment."""
    return import_module(next(x.module for x in PROGRAMS if x.name == name))


def is_interpreted() -> bool:
    """Whether kernels for GPUs are interpreted, to test them on CPUs."""
    return jax.devices()[0].platform == "cpu"


def misfit(program: PeelProgram) -> str:
    """Name what a program needs and the devices or JAX lack; '' if nothing."""
    least = ".".join(map(str, program.capability))
    for device in jax.local_devices():
        cuda = device.platform in ("gpu", "cuda")
        cuda = cuda and "cuda" in str(device.client.platform_version).lower()
        text = str(getattr(device, "compute_capability", "0.0")) if cuda else "0.0"
        if tuple(map(int, text.split("."))) < program.capability:
            return f"needs an NVIDIA GPU of compute capability {least} or more"
    if tuple(map(int, jax.__version__.split(".")[:2])) < program.version:
        return f"needs JAX {'.'.join(map(str, program.version))} or later"
    return ""


@cache
def _warn_once(line: str) -> None:
    warnings.warn(line, DataWarning, stacklevel=outside())


def _failure(program: PeelProgram, size: int) -> str:
    """Return in a line why a kernel does not peel here; '' if it does."""
    if (program.name, size) in _FAILED:
        return _FAILED[program.name, size]
    try:
        total, right = _chain_sums(kernel(program.name), size)
    except Exception as error:  # whatever a compiler raises: another one can do it
        return _in_a_line(error)
    return "" if total == right else f"a wrong sum: {total}, not {right}"


def _in_a_line(error: Exception) -> str:
    text = str(error).strip().split("\n")[0]
    return f"{type(error).__name__}: {text[:200]}"


@cache
def _chain_sums(module: ModuleType, size: int) -> tuple[int, int]:
    """Return the kernel's and the right sum of 4 vertices, each preferred to the next.

    They are ranked from the worst to the best.
    """
    count, place = 4, np.arange(size, dtype=np.int32)
    edges = np.zeros((size, size), np.int32)
    edges[place[: count - 1], place[1:count]] = 1
    words = (edges.sum(1) << OUT) + (edges.sum(0) << IN)
    rows = (edges.T << OUT) + (edges << IN)
    order = np.where(place < count, count - 1 - place, place)
    weights = np.array([5 << 40, 3 << 30, 2 << 20, 7, 0])

    def peel(where: Array, *arrays: Array) -> Array:
        options = {"where": where, "interpret": is_interpreted()}
        return module.peeled_overlap(*arrays, **options)

    with jax.enable_x64(True):
        arrays = rows, words, order[None], order[None], place[None], np.array(count)
        arrays = [x.astype(np.int32) for x in arrays]
        [total] = jax.jit(peel)(place < count, *arrays, weights)
    return int(total), int(weights[np.maximum(place, order)[:count]].sum())
