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
    from pgcjax.similarity.rbo import rbo
    from pgcjax.stats.agreement import agree, agree_measures
    from pgcjax.stats.compare import compare
    from pgcjax.stats.correlation import correlate
    from pgcjax.stats.discrimination import discriminate, intuitiveness, sensitivity
    from pgcjax.stats.inferred import grade_agreement
    from pgcjax.stats.judgments import judge_agreement
    from pgcjax.stats.prediction import predict_context
    from pgcjax.stats.required import required_difference
    from pgcjax.stats.strength import judgment_strength, judgment_times
    from pgcjax.stats.transitivity import transitivity
    from pgcjax.tables.context import read_context
    from pgcjax.tables.grids import read_grids
    from pgcjax.tables.intents import read_intent_qrels, read_intents
    from pgcjax.tables.pack import pack
    from pgcjax.tables.preferences import read_preferences
    from pgcjax.tables.qrels import read_qrels
    from pgcjax.tables.runs import read_runs
    from pgcjax.tables.xie import read_xie_votes

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
    "grade_agreement",
    "intuitiveness",
    "judge_agreement",
    "judgment_strength",
    "judgment_times",
    "pack",
    "predict_context",
    "rbo",
    "read_context",
    "read_grids",
    "read_intent_qrels",
    "read_intents",
    "read_preferences",
    "read_qrels",
    "read_runs",
    "read_scores",
    "read_xie_votes",
    "required_difference",
    "sensitivity",
    "transitivity",
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
    "grade_agreement": "stats.inferred",
    "intuitiveness": "stats.discrimination",
    "judge_agreement": "stats.judgments",
    "judgment_strength": "stats.strength",
    "judgment_times": "stats.strength",
    "pack": "tables.pack",
    "predict_context": "stats.prediction",
    "rbo": "similarity.rbo",
    "read_context": "tables.context",
    "read_grids": "tables.grids",
    "read_intent_qrels": "tables.intents",
    "read_intents": "tables.intents",
    "read_preferences": "tables.preferences",
    "read_qrels": "tables.qrels",
    "read_runs": "tables.runs",
    "read_scores": "scores",
    "read_xie_votes": "tables.xie",
    "required_difference": "stats.required",
    "sensitivity": "stats.discrimination",
    "transitivity": "stats.transitivity",
}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'pgcjax' has no attribute {name!r}")
    return getattr(import_module(f"pgcjax.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
