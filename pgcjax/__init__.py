"""Score search runs against pairwise preferences: Greedy PGC and compatibility.

Most scripts need only the names here (`__init__.pyi` lists them); the others are in
`pgcjax.files`, `judgments`, `rankings`, `ask`, `meta` and `errors`. Each is loaded when
it is first used: `import pgcjax` imports neither JAX nor pandas.
"""

import warnings
from typing import Any

import lazy_loader

from pgcjax._aliases import NAMES
from pgcjax._version import __version__ as __version__

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    """Load a name; a name from before the redesign, with a warning."""
    if name not in NAMES:
        return _load(name)
    door, _, new = NAMES[name].partition(".")
    text = f"pgcjax.{name} is pgcjax.{NAMES[name]} now"
    warnings.warn(text, DeprecationWarning, stacklevel=2)
    return getattr(_load(door), new)
