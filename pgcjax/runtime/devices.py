"""Devices: what each of them gets of a call's arrays, and of a program."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from pgcjax.later import jax
from pgcjax.runtime.programs import Kept
from pgcjax.runtime.surroundings import default_backend, local_device_count


def mesh() -> Any:
    """Give the local devices, along queries."""
    return jax.sharding.Mesh(np.array(jax.local_devices()), ("query",))


def is_host() -> bool:
    """Say whether one CPU is all: its arrays are where numpy has them."""
    return default_backend() == "cpu" and local_device_count() == 1


def place(arrays: Any) -> Any:
    """Cut arrays along their first axis, the queries, over all devices."""
    if local_device_count() == 1:
        return arrays  # the call brings them there, sooner
    with jax.enable_x64(True):
        return jax.device_put(arrays, _along("query"))


def everywhere(arrays: Any) -> Any:
    """Bring arrays to all devices, once for several calls."""
    if is_host():
        return arrays  # they are there
    with jax.enable_x64(True):
        return jax.device_put(arrays, _along())


def at(arrays: Any, device: Any = None) -> Any:
    """Bring arrays to one device, once for several calls."""
    if is_host():
        return arrays  # they are there
    with jax.enable_x64(True):
        return jax.device_put(arrays, device)


def over_devices(program: Callable[[Any, Any], Any], devices: int) -> Callable:
    """Compile `program(cut, shared)` for all devices, or load it where it is kept.

    Args:
        program: `cut` holds arrays whose first axis is queries, of which each device
            has its part; of `shared` each device has all. The result is cut, too.
        devices: how many.
    """
    return Kept(program, partial(_spread, program, devices), devices)


def _spread(program: Callable[[Any, Any], Any], devices: int) -> Callable:
    if devices == 1:
        return jax.jit(program)
    part = jax.sharding.PartitionSpec
    over_all = jax.shard_map(
        program,
        mesh=mesh(),
        in_specs=(part("query"), part()),
        out_specs=part("query"),
        check_vma=False,
    )
    return jax.jit(over_all)


def _along(*axes: str) -> Any:
    """Cut arrays along axes of the devices."""
    return jax.sharding.NamedSharding(mesh(), jax.sharding.PartitionSpec(*axes))


def in_one_piece(program: Callable[..., Any]) -> Callable[..., Any]:
    """Have XLA compile a program for CPUs as one function of machine code.

    Otherwise each operation of each step of a loop is a function of its own, but for
    loops over next to nothing, and to call these takes about a microsecond a step: as
    long as to peel 64 words of 28 runs. What is in one piece is on one thread.

    Args:
        program: takes and gives arrays, needs all that it takes, and does not scatter,
            sort or call libraries. XLA ends the process where it cannot compile a
            program in one piece, or finds an argument of no use when it simplifies it:
            so no kernel may be given that has branches by parameters.
    """

    def whole(*arguments: Any) -> Any:
        from jax.experimental.xla_metadata import set_xla_metadata

        tags = {"xla_cpu_small_call": "true", "inlineable": "false"}
        # A program is kept by what it closes over: functions, none of them compiled.
        return set_xla_metadata(jax.jit(program)(*arguments), **tags)

    return whole
