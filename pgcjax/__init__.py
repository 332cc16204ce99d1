"""Score search runs against pairwise preferences: Greedy PGC and compatibility.

Names are loaded when they are first used: `import pgcjax` imports neither JAX nor
pandas.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from pgcjax.errors import DataError, DataWarning, PgcjaxError, UsageError
    from pgcjax.evaluation import evaluate
    from pgcjax.scores import Scores, read_scores
    from pgcjax.stats.agreement import agree, agree_measures
    from pgcjax.stats.compare import compare
    from pgcjax.stats.correlation import correlate
    from pgcjax.stats.discrimination import discriminate, intuitiveness, sensitivity
    from pgcjax.stats.required import required_difference
    from pgcjax.tables.pack import pack
    from pgcjax.tables.preferences import read_preferences
    from pgcjax.tables.qrels import read_qrels
    from pgcjax.tables.runs import read_runs

__all__ = [
    "DataError",
    "DataWarning",
    "PgcjaxError",
    "Scores",
    "UsageError",
    "agree",
    "agree_measures",
    "compare",
    "correlate",
    "discriminate",
    "evaluate",
    "intuitiveness",
    "pack",
    "read_preferences",
    "read_qrels",
    "read_runs",
    "read_scores",
    "required_difference",
    "sensitivity",
]

_HOME = {
    "DataError": "errors",
    "DataWarning": "errors",
    "PgcjaxError": "errors",
    "Scores": "scores",
    "UsageError": "errors",
    "agree": "stats.agreement",
    "agree_measures": "stats.agreement",
    "compare": "stats.compare",
    "correlate": "stats.correlation",
    "discriminate": "stats.discrimination",
    "evaluate": "evaluation",
    "intuitiveness": "stats.discrimination",
    "pack": "tables.pack",
    "read_preferences": "tables.preferences",
    "read_qrels": "tables.qrels",
    "read_runs": "tables.runs",
    "read_scores": "scores",
    "required_difference": "stats.required",
    "sensitivity": "stats.discrimination",
}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'pgcjax' has no attribute {name!r}")
    return getattr(import_module(f"pgcjax.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
