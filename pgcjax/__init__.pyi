import typing

from ._version import __version__ as __version__
from .asking.program import Judged as Judged
from .asking.result import Finished as Finished
from .asking.session import Added as Added
from .asking.session import Tournament as Tournament
from .asking.simulate import SimulatedAsking as SimulatedAsking
from .asking.simulate import simulate_asking as simulate_asking
from .asking.stopping_draws import DrawnAnswers as DrawnAnswers
from .asking.stopping_draws import next_by_chance as next_by_chance
from .asking.utility import NextAnswers as NextAnswers
from .asking.utility import next_by_utility as next_by_utility
from .engine.enough import enough as enough
from .engine.evaluate import evaluate as evaluate
from .engine.job import Job as Job
from .engine.judges import compare_judges as compare_judges
from .engine.next_judgments import NextJudgments as NextJudgments
from .engine.next_judgments import next_judgments as next_judgments
from .engine.preference_result import Preferences as Preferences
from .engine.preferring import prefer as prefer
from .engine.similarity import rbo as rbo
from .engine.uncertainty import uncertainty as uncertainty
from .errors import DataError as DataError
from .errors import DataWarning as DataWarning
from .errors import PgcjaxError as PgcjaxError
from .errors import UsageError as UsageError
from .io.context import read_context as read_context
from .io.grids import read_grids as read_grids
from .io.intents import read_intent_qrels as read_intent_qrels
from .io.intents import read_intents as read_intents
from .io.qrels import read_qrels as read_qrels
from .io.reading import reading as reading
from .io.runs import read_runs as read_runs
from .io.runs.pack import pack as pack
from .io.votes.read import read_preferences as read_preferences
from .io.xie import read_xie_votes as read_xie_votes
from .judging.aspect_prediction import aspect_prediction as aspect_prediction
from .judging.aspects import aspect_correlation as aspect_correlation
from .judging.aspects import aspect_coverage as aspect_coverage
from .judging.aspects import aspect_distribution as aspect_distribution
from .judging.aspects import aspect_table as aspect_table
from .judging.aspects import grade_changes as grade_changes
from .judging.audit import Audit as Audit
from .judging.audit import audit as audit
from .judging.contradictions import Contradictions as Contradictions
from .judging.contradictions import contradictions as contradictions
from .judging.fit import Fit as Fit
from .judging.fit import fit as fit
from .judging.grade_agreement import grade_agreement as grade_agreement
from .judging.grade_agreement import preferences_from_grades as preferences_from_grades
from .judging.judge_agreement import compare_agreement as compare_agreement
from .judging.judge_agreement import judge_agreement as judge_agreement
from .judging.judge_agreement import share_ties as share_ties
from .judging.majority import majority as majority
from .judging.prediction import predict_context as predict_context
from .judging.strength import judgment_strength as judgment_strength
from .judging.strength import judgment_times as judgment_times
from .judging.transitivity import transitivity as transitivity
from .judging.variants import resample_judgments as resample_judgments
from .judging.variants import subsample_judgments as subsample_judgments
from .measures.catalogue import register as register
from .stats.agreement import agree as agree
from .stats.agreement import agree_measures as agree_measures
from .stats.clicks import click_counts as click_counts
from .stats.clicks import click_labels as click_labels
from .stats.clicks import click_scores as click_scores
from .stats.clicks import correlate_queries as correlate_queries
from .stats.compare import compare as compare
from .stats.correlation import correlate as correlate
from .stats.discrimination import discriminate as discriminate
from .stats.discrimination import intuitiveness as intuitiveness
from .stats.discrimination import sensitivity as sensitivity
from .stats.judge_orders import JudgeOrders as JudgeOrders
from .stats.judge_orders import read_judge_orders as read_judge_orders
from .stats.leaderboards import correlate_leaderboards as correlate_leaderboards
from .stats.left_out import LeftOut as LeftOut
from .stats.merging import merge as merge
from .stats.required import required_difference as required_difference
from .stats.scores import Scores as Scores
from .stats.scores import read_scores as read_scores
from .stats.stability import Stability as Stability
from .stats.uncertainty import Uncertainty as Uncertainty
from .stats.uncertainty import read_uncertainty as read_uncertainty

# A package that can be called: the program, which takes the names from here, reads the
# import, and type checkers, for which no module can be called, the class.
if not typing.TYPE_CHECKING:
    from . import measures as measures
else:
    import types

    import pandas as pd

    import pgcjax.measures.gains as _gains
    import pgcjax.measures.spec as _spec

    class _Measures(types.ModuleType):
        Case = _spec.Case
        Definition = _spec.Definition
        Gains = _gains.Gains
        Parameter = _spec.Parameter
        define = staticmethod(_gains.define)
        def __call__(self) -> pd.DataFrame: ...

    measures: _Measures
