"""Programs that JAX compiles: in 64 bits, over all devices, or in one piece."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

from pgcjax.later import jax
from pgcjax.runtime.devices import mesh


class Program:
    """A function that JAX compiles for the shapes and types of its arguments.

    It computes in 64 bits where its arguments have them: JAX's x64 mode is switched on
    around its calls alone, never for the program that imports pgcjax.
    """

    def __init__(self, function: Callable[..., Any], devices: int = 1):
        """Compile nothing yet.

        Args:
            function: pure; its result depends on its arguments alone.
            devices: over which `function(cut, shared)` is spread: `cut` holds arrays
                whose first axis is queries, of which each device has its part; of
                `shared` each device has all. The result is cut, too.
        """
        self._function, self._devices = function, devices

    def __call__(self, *arguments: Any) -> Any:
        """Call the program; the first time for such arguments, JAX compiles it."""
        with jax.enable_x64(True):
            config: Any = jax.config  # its settings are no attributes that types know
            if config.jax_disable_jit:  # then nothing else brings them to JAX
                arguments = jax.tree.map(jax.numpy.asarray, arguments)
            return self._jitted(*arguments)

    def trace(self, *arguments: Any) -> Any:
        """Trace the program, as what `jax.jit` gives."""
        with jax.enable_x64(True):
            return self._jitted.trace(*arguments)

    def lower(self, *arguments: Any) -> Any:
        """Lower the program, likewise."""
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

    Otherwise each operation of each step of a loop is a function of its own, but for
    loops over next to nothing, and to call these takes about a microsecond a step: as
    long as to peel 64 words of 28 runs. What is in one piece is on one thread.

    Args:
        function: takes and returns arrays, needs all that it takes, and does not
            scatter, sort or call libraries. XLA ends the process where it cannot
            compile a function in one piece, or finds an argument of no use when it
            simplifies it: no kernel may be given that has branches by parameters.
    """

    def whole(*arguments: Any) -> Any:
        from jax.experimental.xla_metadata import set_xla_metadata

        tags = {"xla_cpu_small_call": "true", "inlineable": "false"}
        return set_xla_metadata(jax.jit(function)(*arguments), **tags)

    return whole
