"""Read, pack and merge files: runs, judgments, scores and findings."""

from pgcjax.io.graded import read_context as read_context
from pgcjax.io.graded import read_intent_qrels as read_intent_qrels
from pgcjax.io.graded import read_qrels as read_qrels
from pgcjax.io.grids import read_grids as read_grids
from pgcjax.io.intents import read_intents as read_intents
from pgcjax.io.plugin_readers import Content as Content
from pgcjax.io.plugin_readers import Reader as Reader
from pgcjax.io.plugin_readers import text_id as text_id
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
    "Content",
    "Reader",
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
    "text_id",
]
