"""Programs that JAX compiles: in 64 bits, over all devices, or in one piece."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

from pgcjax.later import jax
from pgcjax.runtime.devices import mesh


class Program:
    """A function that JAX compiles for the shapes and types of its arguments.

    It computes in 64 bits if its arguments have 64 bits: JAX's x64 mode is on only
    during its calls, never for the program that imports pgcjax.
    """

    def __init__(self, function: Callable[..., Any], devices: int = 1):
        """Compile nothing yet.

        Args:
            function: Pure function; its result depends on its arguments alone.
            devices: Number of devices. If several, they share `function(cut, shared)`:
                the arrays in `cut` and the result are cut along their first axis, the
                queries, and each device has the whole of `shared`.
        """
        self._function, self._devices = function, devices

    def __call__(self, *arguments: Any) -> Any:
        """Call the program; JAX compiles it for new shapes and types of arguments."""
        with jax.enable_x64(True):
            config: Any = jax.config  # types do not declare its settings
            if config.jax_disable_jit:  # then nothing else converts them to JAX arrays
                arguments = jax.tree.map(jax.numpy.asarray, arguments)
            return self._jitted(*arguments)

    def trace(self, *arguments: Any) -> Any:
        """Trace the program, as a function of `jax.jit` does."""
        with jax.enable_x64(True):
            return self._jitted.trace(*arguments)

    def lower(self, *arguments: Any) -> Any:
        """Lower the program, as a function of `jax.jit` does."""
        with jax.enable_x64(True):
            return self._jitted.lower(*arguments)

    @cached_property
    def _jitted(self) -> Any:
        if self._devices == 1:
            return jax.jit(self._function)
        part = jax.sharding.PartitionSpec
        over_all = jax.shard_map(
            self._function,
            mesh=mesh(),
            in_specs=(part("query"), part()),
            out_specs=part("query"),
            check_vma=False,
        )
        return jax.jit(over_all)


def in_one_piece(function: Callable[..., Any]) -> Callable[..., Any]:
    """Have XLA compile a function for CPUs as one function of machine code.

    Otherwise XLA makes a function of each operation in a step of a loop, except for
    very small loops, and calling them takes about a microsecond per step: as long as
    peeling 64 words of 28 runs. A function in one piece runs on one thread.

    Args:
        function: Takes and returns arrays, uses all its arguments, and does not
            scatter, sort or call libraries. XLA ends the process if it cannot compile
            the function in one piece, or if its simplification makes an argument
            unused: so kernels whose parameters select branches are not allowed.
    """

    def whole(*arguments: Any) -> Any:
        from jax.experimental.xla_metadata import set_xla_metadata

        tags = {"xla_cpu_small_call": "true", "inlineable": "false"}
        return set_xla_metadata(jax.jit(function)(*arguments), **tags)

    return whole
