"""What each measure is: name, parameters, tensors it needs, kernel, citation.

These names are for measures of other packages; `pgcjax.register` takes what they make.
"""

from pgcjax.measures.gains import Gains, define
from pgcjax.measures.spec import Case, Definition, Parameter

__all__ = ["Case", "Definition", "Gains", "Parameter", "define"]
