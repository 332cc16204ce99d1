"""Calls of compiled programs: their threads, their devices, and which are new."""

import os
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

Progress = Callable[[str, int, int], None]
THREADS = min(4, os.cpu_count() or 1)
_seen: set[Hashable] = set()  # shapes of calls of this process: they are compiled


@cache
def pool() -> ThreadPoolExecutor:
    """Give the threads that make calls while others lay out what comes next."""
    # Kept for the next call, which may be so short that starting threads is felt.
    return ThreadPoolExecutor(THREADS, "pgcjax")


def start(
    key: Hashable,
    call: Callable[[], Any],
    progress: Progress | None,
    *,
    apart: bool = True,
) -> Callable[[], Any]:
    """Begin a call; what is returned waits for its result.

    Args:
        key: what is compiled: its form, shapes and devices.
        call: makes the call; its first of a key compiles.
        progress: called with `("compiling", done, total)` when there is a new one.
        apart: in a thread of its own; else here, and JAX computes while we go on.
    """
    if key not in _seen:
        _seen.add(key)
        if progress:
            progress("compiling", len(_seen) - 1, len(_seen))
        result = call()
        if progress:
            progress("compiling", len(_seen), len(_seen))
        return lambda: result
    if not apart:
        result = call()
        return lambda: result
    return pool().submit(lambda: jax.tree.map(np.asarray, call())).result


def place(arrays: Any) -> Any:
    """Cut arrays along their first axis, the queries, over all devices."""
    if jax.local_device_count() == 1:
        return arrays  # the call brings them there, sooner
    with jax.enable_x64(True):
        return jax.device_put(arrays, NamedSharding(mesh(), PartitionSpec("query")))


def everywhere(arrays: Any) -> Any:
    """Bring arrays to all devices, once for several calls."""
    if jax.default_backend() == "cpu" and jax.local_device_count() == 1:
        return arrays  # they are there
    with jax.enable_x64(True):
        return jax.device_put(arrays, NamedSharding(mesh(), PartitionSpec()))


def mesh() -> Mesh:
    """Give the local devices, along queries."""
    return Mesh(np.array(jax.local_devices()), ("query",))


def over_devices(program: Callable, devices: int, *, shared: int = 1) -> Callable:
    """Compile a program of queries, cut over all devices.

    Args:
        program: takes arrays whose first axis is queries, then shared ones.
        devices: how many.
        shared: number of its last arguments, of which every device has all.
    """
    if devices == 1:
        return jax.jit(program)
    query, everywhere = PartitionSpec("query"), PartitionSpec()
    arguments = program.__code__.co_argcount - shared
    return jax.jit(
        jax.shard_map(
            program,
            mesh=mesh(),
            in_specs=(query,) * arguments + (everywhere,) * shared,
            out_specs=query,
            check_vma=False,
        )
    )
