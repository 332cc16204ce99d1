"""Judgments and judges: check, audit, fit, agreement, and which to make next."""

from pgcjax.asking.stopping_draws import DrawnAnswers as DrawnAnswers
from pgcjax.asking.stopping_draws import next_by_chance as next_by_chance
from pgcjax.asking.utility import NextAnswers as NextAnswers
from pgcjax.asking.utility import next_by_utility as next_by_utility
from pgcjax.engine.enough import enough as enough
from pgcjax.engine.judges import compare_judges as compare
from pgcjax.engine.next_judgments import NextJudgments as NextJudgments
from pgcjax.engine.next_judgments import next_judgments as next
from pgcjax.judging.agreement import compare_agreement as compare_agreement
from pgcjax.judging.agreement import grade_agreement as grade_agreement
from pgcjax.judging.agreement import judge_agreement as judge_agreement
from pgcjax.judging.agreement import (
    preferences_from_grades as preferences_from_grades,
)
from pgcjax.judging.agreement import share_ties as share_ties
from pgcjax.judging.aspects import aspect_correlation as aspect_correlation
from pgcjax.judging.aspects import aspect_coverage as aspect_coverage
from pgcjax.judging.aspects import aspect_distribution as aspect_distribution
from pgcjax.judging.aspects import aspect_prediction as aspect_prediction
from pgcjax.judging.aspects import aspect_table as aspect_table
from pgcjax.judging.aspects import grade_changes as grade_changes
from pgcjax.judging.audit import Audit as Audit
from pgcjax.judging.audit import audit as audit
from pgcjax.judging.contradictions import Contradictions as Contradictions
from pgcjax.judging.contradictions import contradictions as contradictions
from pgcjax.judging.fit import Fit as Fit
from pgcjax.judging.fit import fit as fit
from pgcjax.judging.majority import majority as majority
from pgcjax.judging.prediction import predict_context as predict_context
from pgcjax.judging.strength import judgment_strength as strength
from pgcjax.judging.strength import judgment_times as times
from pgcjax.judging.transitivity import transitivity as transitivity
from pgcjax.judging.variants import resample_judgments as resample
from pgcjax.judging.variants import subsample_judgments as subsample
from pgcjax.stats.judge_orders import JudgeOrders as JudgeOrders
from pgcjax.stats.left_out import LeftOut as LeftOut
from pgcjax.stats.stability import Stability as Stability
from pgcjax.stats.uncertainty import Uncertainty as Uncertainty

__all__ = [
    "Audit",
    "Contradictions",
    "DrawnAnswers",
    "Fit",
    "JudgeOrders",
    "LeftOut",
    "NextAnswers",
    "NextJudgments",
    "Stability",
    "Uncertainty",
    "aspect_correlation",
    "aspect_coverage",
    "aspect_distribution",
    "aspect_prediction",
    "aspect_table",
    "audit",
    "compare",
    "compare_agreement",
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
    "predict_context",
    "preferences_from_grades",
    "resample",
    "share_ties",
    "strength",
    "subsample",
    "times",
    "transitivity",
]
