"""Libraries that take long to import, and that many calls do not need.

`from pgcjax.later import jnp` replaces `import jax.numpy as jnp`: JAX is imported when
one of its names is first used, such as when a kernel is traced. `Array`, for
annotations, is JAX's if JAX was imported before. Modules whose annotations use names of
other libraries leave annotations unevaluated.

Some methods of results are implemented in rooms above; these rooms are imported in the
same way, and the last line here names them all.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any


class Later:
    """A library that is not imported yet.

    Attributes:
        module: Name of the library.
    """

    def __init__(self, module: str):
        """Import nothing."""
        self.module = module
        self._imported: ModuleType | None = None

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the library."""
        return getattr(self._imported or self._import(), name)

    def _import(self) -> ModuleType:
        # `import_module` waits for another thread that is importing the library.
        self._imported = import_module(self.module)
        return self._imported


if TYPE_CHECKING:
    import jax
    import jax.numpy as jnp
    import pandas as pd
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq
    from jax import Array, lax
    from scipy import integrate, stats
else:
    jax, jnp, lax = Later("jax"), Later("jax.numpy"), Later("jax.lax")
    Array = sys.modules["jax"].Array if "jax" in sys.modules else Any
    pd, pa = Later("pandas"), Later("pyarrow")
    pc, pq = Later("pyarrow.compute"), Later("pyarrow.parquet")
    stats, integrate = Later("scipy.stats"), Later("scipy.integrate")

# `Result.plot` and `Scores.explain` are methods of classes in rooms below.
figures, explaining = Later("pgcjax.reporting.figures"), Later("pgcjax.engine.explain")
