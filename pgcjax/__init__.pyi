import typing

from . import ask as ask
from . import errors as errors
from . import files as files
from . import judgments as judgments
from . import meta as meta
from . import rankings as rankings
from ._version import __version__ as __version__
from .engine.evaluate import evaluate as evaluate
from .engine.explain import explain as explain
from .engine.fragile import fragile as fragile
from .engine.job import Job as Job
from .engine.uncertainty import uncertainty as uncertainty
from .measures.catalogue import register as register
from .stats.compare import compare as compare
from .stats.correlation import correlate as correlate
from .stats.gates import gate as gate
from .stats.power import power as power
from .stats.rank_sets import rank_sets as rank_sets
from .stats.scores import Scores as Scores

# A package that can be called: the program, which takes the names from here, reads the
# import, and type checkers, for which no module can be called, the class.
if not typing.TYPE_CHECKING:
    from . import measures as measures
else:
    import types

    import pandas as pd

    import pgcjax.measures.gains as _gains
    import pgcjax.measures.measure as _measure

    class _Measures(types.ModuleType):
        Case = _measure.Case
        Graded = _gains.Graded
        Measure = _measure.Measure
        Parameter = _measure.Parameter
        def __call__(self) -> pd.DataFrame: ...

    measures: _Measures
