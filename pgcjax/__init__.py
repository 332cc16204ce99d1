"""Score search runs against pairwise preferences: Greedy PGC and compatibility.

The names are in `__init__.pyi`. Each is loaded when it is first used: `import pgcjax`
imports neither JAX nor pandas.
"""

import lazy_loader

from pgcjax._version import __version__ as __version__

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
