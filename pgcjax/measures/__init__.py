"""Measures as classes: parameters, kernel, twin and citation.

These names are for measures of other packages, which `pgcjax.register` takes.
`pgcjax.measures()` lists the measures: this package can be called.
"""

import sys
from types import ModuleType
from typing import TYPE_CHECKING

from pgcjax.measures.gains import Graded
from pgcjax.measures.measure import Case, Measure, Parameter

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Case", "Graded", "Measure", "Parameter"]


class _Listing(ModuleType):
    """A package that can be called, because a function could not have the same name."""

    def __call__(self) -> "pd.DataFrame":
        """List the measures; see `catalogue.listing`."""
        from pgcjax.measures.catalogue import listing

        return listing()


sys.modules[__name__].__class__ = _Listing
