"""Kept programs in a process that has not imported JAX: jaxlib alone runs them.

It is the machine code that JAX would run, so results have the same bits. What is asked
of jaxlib here is not a part of JAX's public interface: `surroundings.ABLE` lists the
versions of jaxlib that tests ran with, and other versions get JAX.
"""

import pickle
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from pgcjax.runtime import trees
from pgcjax.runtime.surroundings import ABLE, jaxlib_version


class _Body(NamedTuple):
    """What is kept of a program.

    Attributes:
        code: what XLA serialised.
        used: numbers of the arguments that the program takes: of the leaves of all.
        results: shape and type of each result.
        tree: of the results: their numbers in the place of each.
    """

    code: bytes
    used: tuple[int, ...]
    results: tuple[tuple[tuple[int, ...], str], ...]
    tree: Any


def serialized(compiled: Any) -> bytes | None:
    """Give what `Direct` needs of a program.

    Args:
        compiled: what `lower(...).compile()` gives, for one device.

    Returns:
        None if the program needs more than that.
    """
    if jaxlib_version not in ABLE:
        return None
    mesh = compiled._executable
    executable = compiled.runtime_executable()
    used = tuple(sorted(mesh._kept_var_idx))
    takes = len(executable.get_parameter_layouts())
    # Constants may be arguments, too, before all others.
    if compiled._params.const_args or takes != len(used):
        return None
    results = tuple((x.shape, x.dtype.str) for x in mesh.out_avals)
    tree = compiled.out_tree.unflatten(range(len(results)))
    return pickle.dumps(_Body(executable.serialize(), used, results, tree))


class Direct:
    """A program that was loaded; called as the function that it was compiled from."""

    def __init__(self, data: bytes):
        """Load a program.

        Args:
            data: what `serialized` gave, from the user's own cache.
        """
        body: _Body = pickle.loads(data)
        device, devices, sharding = _place()
        self._used, self._device, self._sharding = body.used, device, sharding
        self._run = device.client.deserialize_executable(body.code, devices, None)
        self._results = [*_handlers(body.results)]
        self._numbers, self._tree = trees.flatten(body.tree)

    def __call__(self, *arguments: Any) -> Any:
        """Run the program for arrays in the host's memory, and wait for the results."""
        from jaxlib._jax import batched_device_put as put

        leaves, device = trees.flatten(arguments)[0], [self._device]
        given = []
        for number in self._used:
            array = np.asarray(leaves[number])
            kind = _Kind(array.shape, array.dtype)
            given.append(put(kind, self._sharding, [array], device, enable_x64=True))
        made = self._run.execute_sharded(given).consume_with_handlers(self._results)
        made = [np.asarray(result) for result in made]
        return self._tree.unflatten([made[number] for number in self._numbers])


class _Kind(NamedTuple):
    """The type of an array, as jaxlib asks for it."""

    shape: tuple[int, ...]
    dtype: np.dtype
    weak_type: bool = False


def _handlers(results: tuple[tuple[tuple[int, ...], str], ...]) -> Iterator[Any]:
    from jaxlib._jax import array_result_handler

    sharding = _place()[2]
    for shape, dtype in results:
        yield array_result_handler(_Kind(shape, np.dtype(dtype)), sharding, True, True)


@cache
def _place() -> tuple[Any, Any, Any]:
    """Start XLA on the CPU: its device, a list of it, and arrays' place there."""
    from jaxlib import xla_client
    from jaxlib._jax import DeviceList, SingleDeviceSharding

    class OnDevice(SingleDeviceSharding):
        """All of an array on one device, as jaxlib asks for it."""

        memory_kind = "device"

        def _to_xla_hlo_sharding(self, axes: int) -> Any:
            return xla_client.HloSharding.replicate()

    (device,) = xla_client.make_cpu_client().local_devices()
    return device, DeviceList((device,)), OnDevice(device)
