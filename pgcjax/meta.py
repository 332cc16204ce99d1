"""Evaluate measures: agreement with people and with each other, and sensitivity."""

from pgcjax.stats.agreement import agree as agree
from pgcjax.stats.agreement import agree_measures as agree_measures
from pgcjax.stats.clicks import click_counts as click_counts
from pgcjax.stats.clicks import click_labels as click_labels
from pgcjax.stats.clicks import click_scores as click_scores
from pgcjax.stats.clicks import correlate_queries as correlate_queries
from pgcjax.stats.discrimination import discriminate as discriminate
from pgcjax.stats.discrimination import intuitiveness as intuitiveness
from pgcjax.stats.discrimination import sensitivity as sensitivity
from pgcjax.stats.leaderboards import correlate_leaderboards as correlate_leaderboards
from pgcjax.stats.required import required_difference as required_difference

__all__ = [
    "agree",
    "agree_measures",
    "click_counts",
    "click_labels",
    "click_scores",
    "correlate_leaderboards",
    "correlate_queries",
    "discriminate",
    "intuitiveness",
    "required_difference",
    "sensitivity",
]
