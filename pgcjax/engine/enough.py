"""The order of runs by shares of the judgments: how many judgments are enough."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any

from pgcjax.engine.evaluate import score, scoring_task
from pgcjax.engine.job import Job
from pgcjax.engine.request import ScoringRequest
from pgcjax.engine.uncertainty import check_replicates, observed_means
from pgcjax.engine.variant_batch import VariantGraphs, VariantMeans, is_of_votes
from pgcjax.errors import Progress, UsageError, check_whole
from pgcjax.judging.variants import QueryVotes, check_share, kept_judgments
from pgcjax.judging.variants import shares as drawn_shares
from pgcjax.stats.choices import SHARES
from pgcjax.stats.stability import Stability, stability


def enough(
    runs: Any,
    *,
    preferences: Any,
    qrels: Any = None,
    measures: str | Iterable[str] = "PGC",
    shares: Iterable[float] = SHARES,
    replicates: int = 200,
    seed: int = 0,
    top: int = 5,
    order: str = "trec",
    missing: str = "zero",
    memory: str | int | None = None,
    journal: str | os.PathLike | None = None,
    progress: Progress | None = None,
) -> Stability:
    """Compute how well fewer judgments preserve the order of the runs.

    Each share of the judgments of every query is drawn repeatedly, without replacement;
    each draw gives another mean of each run.

    Args:
        runs: Input or result of `read_runs`.
        preferences: Judgments to draw from.
        qrels: Grades, which are not drawn, for `PGC(graph=combined)`.
        measures: PGC of preferences, with one or several settings.
        shares: Shares of the judgments, above 0 and below 1.
        replicates: Number of draws of each share.
        seed: Seed of the draws, 0 or more.
        top: Number of best runs, for the overlap.
        order: Order of documents in a run: `trec`, `clarke` or `rank`.
        missing: see `evaluate`.
        memory: Bytes that runs in work, or a file, may take, or a size such as `2GB`.
        journal: Folder for finished work, from which the same call resumes.
        progress: called with `(stage, done, total)`.

    Raises:
        DataError: the data cannot be scored. UsageError: an argument is wrong.
    """
    chosen = _checked(shares, top)
    replicates = check_replicates(replicates, seed, 200)
    judgments = {"preferences": preferences, "qrels": qrels}
    job = Job(memory=memory, journal=journal, progress=progress)
    task = scoring_task(runs, judgments, measures, order, False, missing, job)
    request = task.request
    check_preferences(request)
    votes = QueryVotes(request.tables["preferences"])
    drawn = [drawn_shares(votes, share, replicates, seed) for share in chosen]
    graphs = [VariantGraphs(member, votes) for member in request.members]
    batches = [VariantMeans(of, each, missing) for of in graphs for each in drawn]
    metadata = {"shares": chosen, "replicates": replicates, "seed": seed}
    scored = score(task, metadata, more=batches, whole=True)
    parts = iter([part[:, 0, :, 0] for part in scored.more])
    means = observed_means(scored, missing)
    by_share = {name: [next(parts) for _ in chosen] for name in means}
    counts = [_count_judgments(votes, share) for share in [*chosen, 1.0]]
    about = scored.scores.metadata | {"top": top}
    findings = stability(scored.run_ids, means, by_share, chosen, counts, top, about)
    return replace(findings, notes=(*scored.scores.notes, *findings.notes))


def _count_judgments(votes: QueryVotes, share: float) -> int:
    """Count the judgments that a share keeps, over all queries."""
    return sum(kept_judgments(votes, share, query) for query in votes.rows)


def check_preferences(request: ScoringRequest) -> None:
    """Refuse a measure that peels no graph of preferences, by a UsageError."""
    for member in request.members:
        if not is_of_votes(member):
            raise UsageError(
                f"{member.measure}: expected PGC of preferences, whose judgments can "
                "be subsampled: graph=real or graph=combined, and ideal=greedy"
            )


def _checked(shares: Any, top: int) -> Sequence[float]:
    """Check the arguments; return each share once, ascending."""
    given: list[Any] = [shares] if isinstance(shares, (Real, str)) else list(shares)
    for share in given:
        check_share(share)
    chosen = sorted({*given})
    if not chosen or chosen[-1] == 1:
        raise UsageError(
            "shares: expected numbers above 0 and below 1; the share of all "
            "judgments is always included"
        )
    check_whole("top", top, 1)
    return [float(share) for share in chosen]
