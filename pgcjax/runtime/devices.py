"""Devices: their number, and each one's part of the arrays of a call."""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from pgcjax.errors import UsageError
from pgcjax.later import jax

Answer = TypeVar("Answer")


def local_device_count() -> int:
    """Count the devices of this process."""
    return _ask(jax.local_device_count)


def default_backend() -> str:
    """Name the platform that programs run on: cpu, gpu or tpu."""
    return _ask(jax.default_backend)


def _ask(of_devices: Callable[[], Answer]) -> Answer:
    """Ask JAX for devices.

    Raises:
        UsageError: the platforms in JAX's setting have no device.
    """
    try:
        return of_devices()
    except (RuntimeError, AssertionError) as error:
        config: Any = jax.config  # types do not declare its settings
        if not config.jax_platforms:
            raise
        why = f": {error}" if str(error) else ""
        raise UsageError(
            f"JAX finds no device of JAX_PLATFORMS={config.jax_platforms}, set by the "
            f"environment or the program: unset it, or name one that is here{why}"
        ) from None


def mesh() -> Any:
    """Return the mesh of local devices, whose axis is queries."""
    return jax.sharding.Mesh(np.array(jax.local_devices()), ("query",))


def is_host() -> bool:
    """Whether the only device is a CPU, which shares its arrays with numpy."""
    return default_backend() == "cpu" and local_device_count() == 1


def place(arrays: Any, *, several: bool = False) -> Any:
    """Cut arrays along their first axis, the queries, over all devices.

    Args:
        arrays: A pytree.
        several: Whether more than one call takes them.
    """
    if local_device_count() == 1:
        # If only one call takes them, the call itself moves them faster.
        return at(arrays) if several else arrays
    return _put(arrays, _along("query"))


def everywhere(arrays: Any) -> Any:
    """Copy arrays to all devices, once for several calls.

    There, unsigned integers of 8 and 16 bits, which are faster to send, become int32.
    """
    if is_host():
        return arrays
    short = np.uint8, np.uint16
    return jax.tree.map(
        lambda x: x.astype(np.int32) if x.dtype in short else x, _put(arrays, _along())
    )


def at(arrays: Any, device: Any = None) -> Any:
    """Copy arrays to one device, once for several calls."""
    return arrays if is_host() else _put(arrays, device)


def _put(arrays: Any, where: Any) -> Any:
    with jax.enable_x64(True):
        return jax.device_put(arrays, where)


def _along(*axes: str) -> Any:
    """Return the sharding that cuts arrays along axes of the devices."""
    return jax.sharding.NamedSharding(mesh(), jax.sharding.PartitionSpec(*axes))
