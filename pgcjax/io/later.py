"""Libraries that take long to import, for modules that most calls do without them.

`from pgcjax.io.later import pd` stands for `import pandas as pd`: pandas is imported
when a name of it is first asked for. Modules with it leave annotations unevaluated.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any


class _Later:
    """A library that is not imported yet."""

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, name: str) -> Any:
        # `import_module` waits for another thread that imports the library just now.
        return getattr(import_module(self._name), name)


if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq
else:
    pd, pa = _Later("pandas"), _Later("pyarrow")
    pc, pq = _Later("pyarrow.compute"), _Later("pyarrow.parquet")
