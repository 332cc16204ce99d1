"""Rankings: explanations of scores, rank-biased overlap, and preferences of pairs."""

from pgcjax.engine.explainer import Explainer as Explainer
from pgcjax.engine.explanation import Difference as Difference
from pgcjax.engine.explanation import Explanation as Explanation
from pgcjax.engine.preference_result import Preferences as Preferences
from pgcjax.engine.preferring import prefer as prefer
from pgcjax.engine.similarity import rbo as rbo

__all__ = ["Difference", "Explainer", "Explanation", "Preferences", "prefer", "rbo"]
