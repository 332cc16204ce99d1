"""Replicates of the judgments in a job: what is asked, its batches, what they say."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pgcjax.engine.batch import Batch, Member
from pgcjax.engine.request import Request
from pgcjax.errors import UsageError, check_choice
from pgcjax.judging.choices import RESAMPLED

if TYPE_CHECKING:
    from pgcjax.stats.uncertainty import Uncertainty

_MOST = 10**6
_QUERIES = "; resample='queries' is of every measure (--resample on the command line)"


class Resampling(NamedTuple):
    """What is drawn again.

    Attributes:
        replicates: how often.
        resample: one of `judging.choices.RESAMPLED`.
        seed: of the random numbers.
        score_intervals: whether single scores get intervals, too.
    """

    replicates: int
    resample: str
    seed: int
    score_intervals: bool = False

    @classmethod
    def of(
        cls, replicates: int, resample: str, seed: int, score_intervals: bool = False
    ) -> "Resampling | None":
        """Check what is asked; None if there are to be no replicates.

        Raises:
            UsageError: an argument is wrong.
        """
        check_choice("resample", resample, RESAMPLED)
        for name, number in (("replicates", replicates), ("seed", seed)):
            if type(number) is not int or number < 0:
                raise UsageError(
                    f"{name}={number!r}: expected a whole number, 0 or more"
                )
        if replicates == 1 or replicates > _MOST:
            raise UsageError(
                f"replicates={replicates}: expected 2 to {_MOST}; 1000 are usual"
            )
        if score_intervals and (resample == "queries" or not replicates):
            raise UsageError(
                "score_intervals: single scores move with the judgments alone: give "
                "replicates, and resample='judgments', 'judges' or 'both' "
                "(--replicates and --resample on the command line)"
            )
        return cls(replicates, resample, seed, score_intervals) if replicates else None

    @property
    def drawn(self) -> dict[str, Any]:
        """What replicates depend on, by name."""
        single = self.score_intervals
        return {
            k: v for k, v in self._asdict().items() if k != "score_intervals" or single
        }


def batches(request: Request, how: Resampling) -> list[Batch]:
    """Make batches of the replicates of each measure; none if only queries are drawn.

    Those of means come first, and then, if they are asked for, those of single scores.

    Raises:
        UsageError: a measure has no judgments to draw. DataError: judgments name no
            judge, and judges are to be drawn; or there are too many.
    """
    request.check_means("replicates are")
    if how.resample == "queries":
        return []
    from pgcjax.engine.replicate_batches import (
        ReplicateBatch,
        ScoreIntervalBatch,
        check_resamplable,
    )
    from pgcjax.judging.resampled import Draws

    for member in request.members:
        check_resamplable(member, f"resample={how.resample!r}", _QUERIES)
    preferences = request.tables["preferences"]
    draws = Draws(preferences, how.resample, how.seed)
    given = preferences, draws, how, request.missing
    means = [ReplicateBatch(member, *given) for member in request.members]
    if not how.score_intervals:
        return [*means]
    single = zip(request.members, means, strict=True)
    return [*means, *(ScoreIntervalBatch(m, *given, like) for m, like in single)]


def uncertainty(
    run_ids: list[str],
    how: Resampling,
    missing: str,
    scored: Sequence[tuple[Member, np.ndarray, np.ndarray]],
    parts: Sequence[np.ndarray],
) -> "Uncertainty":
    """Put the means of all measures together, and the intervals of single scores.

    Args:
        run_ids: the runs.
        how: what was drawn.
        missing: as of `evaluate`.
        scored: what `scored.by_measure` gives.
        parts: what the batches of replicates gave; of drawn queries, nothing.
    """
    from pgcjax.judging.resampled import topics
    from pgcjax.stats.score_intervals import ScoreIntervals
    from pgcjax.stats.uncertainty import Uncertainty, query_means

    observed, drawn, single = {}, {}, {}
    means, spreads = iter(parts), iter(parts[len(scored) :])
    for member, has, scores in scored:
        name, queries = str(member.measure), has.shape[1]
        once = np.ones((1, queries))
        observed[name] = query_means(scores, has, once, missing)[0]
        if how.resample == "queries":
            weight = topics(how.seed, how.replicates, queries)
            drawn[name] = query_means(scores, has, weight, missing)
        else:
            drawn[name] = next(means)[:, 0, :, 0]
        if how.score_intervals:
            kept = has if missing == "skip" else np.ones_like(has)
            names = list(member.tensors.docs)
            spread = np.where(has, next(spreads)[:, 0], 0.0)  # what a run lacks is 0
            single[name] = ScoreIntervals(names, scores, kept, spread)
    return Uncertainty(
        how.drawn, run_ids=run_ids, mean=observed, replicates=drawn, single=single
    )
