"""Read, pack and merge files: runs, judgments, scores and findings."""

from pgcjax.io.context import read_context as read_context
from pgcjax.io.grids import read_grids as read_grids
from pgcjax.io.intents import read_intent_qrels as read_intent_qrels
from pgcjax.io.intents import read_intents as read_intents
from pgcjax.io.qrels import read_qrels as read_qrels
from pgcjax.io.reading import reading as reading
from pgcjax.io.runs import read_runs as read_runs
from pgcjax.io.runs.pack import pack as pack
from pgcjax.io.texts import read_texts as read_texts
from pgcjax.io.texts import read_topics as read_topics
from pgcjax.io.votes.read import read_preferences as read_preferences
from pgcjax.io.xie import read_xie_votes as read_xie_votes
from pgcjax.stats.judge_orders import read_judge_orders as read_judge_orders
from pgcjax.stats.merging import merge as merge
from pgcjax.stats.scores import read_scores as read_scores
from pgcjax.stats.uncertainty import read_uncertainty as read_uncertainty

__all__ = [
    "merge",
    "pack",
    "read_context",
    "read_grids",
    "read_intent_qrels",
    "read_intents",
    "read_judge_orders",
    "read_preferences",
    "read_qrels",
    "read_runs",
    "read_scores",
    "read_texts",
    "read_topics",
    "read_uncertainty",
    "read_xie_votes",
    "reading",
]
