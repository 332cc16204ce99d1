"""Names that arguments of the engine may have. Imports nothing.

The command line shows them in its help, for which it loads no library.
"""

VARIANTS = ("ext", "min", "max", "res")
"""Variants of RBO, by the assumption on documents below those retrieved."""

TIES = ("w", "a", "b", "broken")
"""Treatments of equal scores in RBO; `broken` takes the order of the run."""
