"""PGC by people's votes on some pairs, with the help of a model's votes on all.

Missing votes of people are drawn, with probabilities of a model that is fitted to the
pairs that people judged. The ranks of documents in runs are among its features: draws
without them would bring all runs nearer to chance, as errors in votes do.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float64, Int, Int8
from scipy.special import expit
from scipy.stats import norm, t

from pgcjax.engine.enough import check_preferences
from pgcjax.engine.evaluate import ScoringTask, scoring_task
from pgcjax.engine.job import Job
from pgcjax.engine.uncertainty import check_replicates
from pgcjax.engine.variant_batch import VariantGraphs, VariantScores
from pgcjax.errors import DataError, Progress, check_whole, counted
from pgcjax.io.reading import reading
from pgcjax.io.schema import PREFERENCES
from pgcjax.io.votes.read import read_preferences
from pgcjax.judging.logistic import likeliest
from pgcjax.judging.majority import majority
from pgcjax.judging.pairs import UNORDERED, by_pair
from pgcjax.judging.variants import QueryVotes, Variants, drawn_queries
from pgcjax.stats.scores import Scores
from pgcjax.stats.uncertainty import Uncertainty
from pgcjax.tensors.rankings import Rankings, read_rankings

FEWEST = 50
"""Pairs that people have to judge: the share of ties and three slopes are learnt."""

LEAST = 0.125
"""Share of the pairs that people have to judge: of fewer there is no simulation."""

NOT_BY_LOT = 0.001
"""p below which the pairs that people judged are no random share of all."""

COMPONENTS = 2
"""Ways in which runs differ that may tell what people prefer."""

_PRIOR = 2.0  # standard deviation of a slope, for features of mean square 1


class SampledPairs(NamedTuple):
    """Pairs of documents that a model judged, and people in part.

    Attributes:
        table: query_id, low and high of each pair, ascending.
        query: Number of the query of each pair.
        people: 1 if people prefer the low document, -1 if the high one, 0 for a tie.
        judged: whether people judged the pair; if not, `people` is 0.
        answer: Mean of the model's votes on the pair, from -1 to 1.
        strength: Log-odds that the low, and the high, document wins a vote of the
            model.
    """

    table: pd.DataFrame
    query: Int[np.ndarray, " pairs"]
    people: Int8[np.ndarray, " pairs"]
    judged: Bool[np.ndarray, " pairs"]
    answer: Float64[np.ndarray, " pairs"]
    strength: Float64[np.ndarray, "2 pairs"]


def rectify(
    runs: Any,
    *,
    people: Any,
    model: Any,
    measure: str = "PGC",
    draws: int = 100,
    replicates: int = 1000,
    seed: int = 0,
    order: str = "trec",
    memory: str | int | None = None,
    progress: Progress | None = None,
) -> Uncertainty:
    """Estimate the scores by people's votes on all pairs that a model judged.

    People judged a random sample of the pairs of each query. Their votes on the other
    pairs are drawn from a logistic regression on the model's vote on the pair, on how
    often either document wins by the model, and on how high runs rank it; ties are as
    frequent as people's. If people voted several times on a pair, the most frequent
    vote counts. A replicate averages a draw over resampled queries, so intervals also
    cover other queries of the same kind.

    Args:
        runs: Input or result of `read_runs`.
        people: Votes of people, on pairs that the model judged, too.
        model: Votes of the model; several on a pair, as in both orders, are averaged.
        measure: PGC of preferences.
        draws: Number of draws of people's missing votes.
        replicates: Number of replicates of the means.
        seed: Seed of the draws and of the replicates.
        order: Order of documents in a run: `trec`, `clarke` or `rank`.
        memory: Bytes that runs in work, or a file, may take.
        progress: called with `(stage, done, total)`.

    Raises:
        DataError: people judged too few pairs, no random sample, or pairs without a
            vote of the model; or a file is malformed. UsageError: an argument is wrong.
    """
    check_whole("draws", draws, 2)
    check_replicates(replicates, seed)
    pairs = judged_pairs(people, model)
    note = _told(pairs, check_sample(pairs))
    job = Job(memory=memory, progress=progress)
    both = {"preferences": both_ways(pairs)}
    task = scoring_task(runs, both, [measure], order, False, "zero", job)
    check_preferences(task.request)
    with reading(memory=memory):
        ranked = read_rankings(task.runs, task.request.judged, order, progress=progress)
    signs = draw_votes(pairs, heights(task, ranked, pairs), draws, seed)
    ascending = np.argsort(ranked.run_ids)
    values = score_votes(task, ranked, signs, progress)[:, ascending]
    about = {"measures": [measure], "draws": draws, "order": order, "missing": "zero"}
    run_ids, queries = sorted(ranked.run_ids), task.request.members[0].tensors.docs
    return Uncertainty(
        {"replicates": replicates, "resample": "both", "seed": seed},
        run_ids=run_ids,
        mean={measure: values.mean((0, 2))},
        replicates={measure: replicate_means(values, replicates, seed)},
        observed=_as_scores(values.mean(0), run_ids, queries, about, note),
    )


def _told(pairs: SampledPairs, chance: float) -> str:
    n, every = int(pairs.judged.sum()), counted(len(pairs.judged), "pair")
    share = "as a random share, by the model's votes"
    return f"people judged {n} of {every}; {share}: p = {chance:.3g}"


def _as_scores(
    values: Float64[np.ndarray, "runs queries"],
    run_ids: list[str],
    query_ids: Iterable[str],
    about: dict[str, Any],
    note: str,
) -> Scores:
    """Lay scores out as rows."""
    names = ["run_id", "query_id"]
    index = pd.MultiIndex.from_product([run_ids, query_ids], names=names)
    table = index.to_frame(index=False).assign(measure=about["measures"][0])
    return Scores(table.assign(value=values.ravel()), about, (note,))


def judged_pairs(people: Any, model: Any) -> SampledPairs:
    """Read both judges' votes; for arguments and errors see `rectify`."""
    given, votes = majority(read_preferences(people)), read_preferences(model)
    votes = by_pair(votes[votes["other_doc_id"].notna()])
    answers = votes.groupby(UNORDERED)["sign"].mean()
    asked = by_pair(given).set_index(UNORDERED)["sign"]
    if len(absent := asked.index.difference(answers.index)):
        query, low, high = absent[0]
        raise DataError(
            f"people judged {low!r} and {high!r} of query {query!r}, but the model "
            f"did not: {counted(len(absent), 'pair')} in all",
            mend="Let the model judge all pairs.",
        )
    judged = answers.index.isin(asked.index)
    table = answers.index.to_frame(index=False)
    number = pd.factorize(table["query_id"])[0]
    signs = asked.reindex(answers.index, fill_value=0).to_numpy(np.int8)
    sides = [
        votes[["query_id", d]].set_axis(["query_id", "doc_id"], axis=1).assign(won=won)
        for d, won in (("low", 1 + votes["sign"]), ("high", 1 - votes["sign"]))
    ]
    won = pd.concat(sides).groupby(["query_id", "doc_id"])["won"].agg(["sum", "count"])
    won["sum"] /= 2  # a tie is half a win
    odds = np.log((won["sum"] + 1) / (won["count"] - won["sum"] + 1))
    strength = [
        odds.reindex(pd.MultiIndex.from_frame(table[["query_id", d]])).to_numpy()
        for d in UNORDERED[1:]
    ]
    return SampledPairs(
        *(table, number, signs, judged, answers.to_numpy(), np.array(strength))
    )


def both_ways(pairs: SampledPairs) -> pd.DataFrame:
    """Return a vote for the low document of each pair, then one for each high one."""
    ways = [pairs.table, pairs.table[["query_id", "high", "low"]]]
    both = [way.set_axis(PREFERENCES[:3], axis=1) for way in ways]
    return pd.concat(both, ignore_index=True).assign(preference=1.0)


def check_sample(pairs: SampledPairs) -> float:
    """Test whether the pairs that people judged are a random share of each query's.

    Returns:
        p value: the least of three tests, corrected by Bonferroni: of the model's
        certainty, and of the difference and the sum of the documents' strengths. Each
        approximates the sum over a sample without replacement from each query as
        normal.

    Raises:
        DataError: the pairs are no random share, or too few, or a query has none.
    """
    size, chosen = (np.bincount(pairs.query, w) for w in (None, pairs.judged))
    if (none := chosen == 0).any():
        query = pairs.table["query_id"].to_numpy()[none[pairs.query]][0]
        raise DataError(
            f"people judged no pair of query {query!r}, which the model judged: "
            f"{counted(int(none.sum()), 'query')} in all",
            mend="Let people judge some random pairs of each query.",
        )
    n, every = int(chosen.sum()), len(pairs.judged)
    if n < max(FEWEST, LEAST * every) or n == every:
        raise DataError(
            f"people judged {n} of {counted(every, 'pair')} of the model",
            mend=(
                f"At least {FEWEST} and an eighth of the pairs are needed, but not all."
            ),
        )
    low, high = pairs.strength
    looks = np.abs(pairs.answer), np.abs(low - high), low + high
    least = 1.0
    for look in looks:
        mean = np.bincount(pairs.query, look) / size
        centred = look - mean[pairs.query]
        spread = np.bincount(pairs.query, centred**2) / np.maximum(1, size - 1)
        variance = float((chosen * (1 - chosen / size) * spread).sum())
        if variance > 1e-12:
            z = float(centred[pairs.judged].sum()) / variance**0.5
            least = min(least, 2 * len(looks) * float(norm.sf(abs(z))))
    if least < NOT_BY_LOT:
        raise DataError(
            "the pairs that people judged are no random share of each query's, by the "
            f"model's votes (p = {least:.2g})",
            mend="Draw them at random: not those that are hard, close or at the top.",
        )
    return least


def heights(
    task: ScoringTask, rankings: Rankings, pairs: SampledPairs
) -> Float64[np.ndarray, "pairs components"]:
    """Compute how much higher runs rank the low document of each pair.

    Heights are weights of ranks: their mean over the runs, and the `COMPONENTS`
    principal components of the runs' deviations from it.
    """
    tensors = task.request.members[0].tensors
    retrieved = rankings.retrieved(tensors.docs)
    runs, parts = len(rankings.run_ids), []
    for query, docs in tensors.docs.items():
        near, weight = retrieved[query], np.zeros((len(docs), runs))
        rank = np.minimum(near.rank, len(tensors.weights) - 1)
        run = np.repeat(np.arange(runs), near.count)
        weight[near.vertex, run] = tensors.weights[rank] / tensors.weights[0]
        parts.append(weight - weight.mean(0))
    height = np.concatenate(parts)
    mean = height.mean(1, keepdims=True)
    left, size, _ = np.linalg.svd(height - mean, full_matrices=False)
    height = np.concatenate([mean, (left * size)[:, :COMPONENTS]], axis=1)
    names = [(query, doc) for query, docs in tensors.docs.items() for doc in docs]
    place = pd.MultiIndex.from_tuples(names)
    low, high = (
        place.get_indexer(pd.MultiIndex.from_frame(pairs.table[["query_id", d]]))
        for d in UNORDERED[1:]
    )
    return height[low] - height[high]


def draw_votes(
    pairs: SampledPairs,
    height: Float64[np.ndarray, "pairs components"],
    draws: int,
    seed: int,
) -> Int8[np.ndarray, "draws pairs"]:
    """Draw people's votes on all pairs; votes that they gave stay as they are."""
    features = np.column_stack(
        [pairs.answer, pairs.strength[0] - pairs.strength[1], height]
    )
    scale = np.sqrt((features**2).mean(0))
    features = features / np.where(scale > 1e-9, scale, 1.0)
    decided = pairs.judged & (pairs.people != 0)
    won = pairs.people[decided] > 0
    slopes, information = likeliest(features[decided], won, _PRIOR)
    spread = np.linalg.inv(information)
    random = np.random.Generator(np.random.Philox(seed))
    slopes = random.multivariate_normal(slopes, spread, draws, method="cholesky")
    n, ties = int(pairs.judged.sum()), int((pairs.judged & ~decided).sum())
    tie = random.beta(ties + 0.5, n - ties + 0.5, (draws, 1)) if ties else 0.0
    shape = draws, len(features)
    prefers = np.where(random.random(shape) < expit(slopes @ features.T), 1, -1)
    signs = np.where(random.random(shape) < tie, 0, prefers)
    return np.where(pairs.judged, pairs.people, signs).astype(np.int8)


def score_votes(
    task: ScoringTask,
    rankings: Rankings,
    signs: Int8[np.ndarray, "variants pairs"],
    progress: Progress | None = None,
) -> Float64[np.ndarray, "variants runs queries"]:
    """Score runs by votes on pairs; the task has a preference in each direction.

    A query without any preference scores 0.
    """
    votes = QueryVotes(task.request.tables["preferences"])
    counts = np.concatenate([signs > 0, signs < 0], axis=1).astype(np.int64)

    def of_query(query: str, part: slice) -> np.ndarray:
        return counts[part][:, votes.rows[query]]

    graphs = VariantGraphs(task.request.members[0], votes)
    batch = VariantScores(graphs, Variants(range(len(signs)), of_query), "votes")
    return np.nan_to_num(batch.score(rankings, progress)[:, 0])


def replicate_means(
    values: Float64[np.ndarray, "draws runs queries"], number: int, seed: int
) -> Float64[np.ndarray, "replicates runs"]:
    """Average draws, one after the other, over resampled queries.

    Deviations of replicates from their mean are scaled up, so that intervals from few
    queries are as wide as Student's t: by the ratio of the population's deviation to
    that of n queries, and by the ratio of the quantiles of t and normal.
    """
    draws, runs, queries = values.shape
    often = drawn_queries(seed, number, queries)
    means = np.empty((number, runs))
    for k in range(draws):
        means[k::draws] = often[k::draws] @ values[k].T / queries
    centre = values.mean((0, 2))
    wider = t.isf(0.025, queries - 1) / norm.isf(0.025)
    return centre + (means - centre) * wider * (queries / (queries - 1)) ** 0.5
