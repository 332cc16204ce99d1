"""Names that arguments of the engine may have. Imports nothing.

The command line shows them in its help, for which it loads no library.
"""

VARIANTS = ("ext", "min", "max", "res")
"""Of RBO: what is assumed of the documents below those that were retrieved."""

TIES = ("w", "a", "b", "broken")
"""Of RBO: what documents with equal scores share; `broken` by the order of the run."""
