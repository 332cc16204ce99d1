"""What each measure is: name, parameters, tensors it needs, kernel, citation.

These names are for measures of other packages; `pgcjax.register` takes what they make.
`pgcjax.measures()` lists the measures: this package can be called.
"""

import sys
from types import ModuleType
from typing import TYPE_CHECKING

from pgcjax.measures.gains import Gains, define
from pgcjax.measures.spec import Case, Definition, Parameter

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Case", "Definition", "Gains", "Parameter", "define"]


class _Listing(ModuleType):
    """A package that lists what is in it: a function could not have its name, too."""

    def __call__(self) -> "pd.DataFrame":
        """List the measures; see `catalogue.listing`."""
        from pgcjax.measures.catalogue import listing

        return listing()


sys.modules[__name__].__class__ = _Listing
