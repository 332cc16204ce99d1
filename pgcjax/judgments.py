"""Judgments and judges: check, audit, fit, agreement, and which to make next."""

from pgcjax.asking.chance import DrawnAnswers, next_by_chance
from pgcjax.asking.utility import NextAnswers, next_by_utility
from pgcjax.engine.enough import enough
from pgcjax.engine.judges import compare_judges as compare_orders
from pgcjax.engine.next_judgments import NextJudgments
from pgcjax.engine.next_judgments import next_judgments as next
from pgcjax.engine.rectify import rectify
from pgcjax.engine.win_rates import rank_sets
from pgcjax.judging.agreement import (
    compare_agreement,
    grade_agreement,
    judge_agreement,
    preferences_from_grades,
    share_ties,
)
from pgcjax.judging.aspects import (
    aspect_correlation,
    aspect_coverage,
    aspect_distribution,
    aspect_prediction,
    aspect_table,
    grade_changes,
)
from pgcjax.judging.audit import Audit, audit
from pgcjax.judging.contradictions import Contradictions, contradictions
from pgcjax.judging.fit import Fit, fit
from pgcjax.judging.majority import majority
from pgcjax.judging.panels import Panel, panel
from pgcjax.judging.prediction import predict_context
from pgcjax.judging.strength import judgment_strength as strength
from pgcjax.judging.strength import judgment_times as times
from pgcjax.judging.transitivity import transitivity
from pgcjax.judging.two_judges import JudgeComparison, compare
from pgcjax.judging.variants import resample_judgments as resample
from pgcjax.judging.variants import subsample_judgments as subsample
from pgcjax.reporting.arena_page import report
from pgcjax.stats.anytime import StoppingDecision
from pgcjax.stats.circularity import Circularity, circular
from pgcjax.stats.judge_orders import JudgeOrders
from pgcjax.stats.left_out import LeftOut
from pgcjax.stats.stability import Stability
from pgcjax.stats.standings import Standings, standings
from pgcjax.stats.uncertainty import Uncertainty

__all__ = [
    "Audit",
    "Circularity",
    "Contradictions",
    "DrawnAnswers",
    "Fit",
    "JudgeComparison",
    "JudgeOrders",
    "LeftOut",
    "NextAnswers",
    "NextJudgments",
    "Panel",
    "Stability",
    "Standings",
    "StoppingDecision",
    "Uncertainty",
    "aspect_correlation",
    "aspect_coverage",
    "aspect_distribution",
    "aspect_prediction",
    "aspect_table",
    "audit",
    "circular",
    "compare",
    "compare_agreement",
    "compare_orders",
    "contradictions",
    "enough",
    "fit",
    "grade_agreement",
    "grade_changes",
    "judge_agreement",
    "majority",
    "next",
    "next_by_chance",
    "next_by_utility",
    "panel",
    "predict_context",
    "preferences_from_grades",
    "rank_sets",
    "rectify",
    "report",
    "resample",
    "share_ties",
    "standings",
    "strength",
    "subsample",
    "times",
    "transitivity",
]
