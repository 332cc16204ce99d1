"""Compare rankings with each other: rank-biased overlap, and preferences of pairs."""

from pgcjax.engine.preference_result import Preferences as Preferences
from pgcjax.engine.preferring import prefer as prefer
from pgcjax.engine.similarity import rbo as rbo

__all__ = ["Preferences", "prefer", "rbo"]
