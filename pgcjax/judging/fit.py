"""Models of judges: strengths of documents, covariates and reliabilities."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from pgcjax.errors import Progress, UsageError, check_choice, counted, listed
from pgcjax.io.result import Result
from pgcjax.io.weights import FINE
from pgcjax.judging.bradley_terry import CLUSTERS, compared_votes, fit_strengths
from pgcjax.judging.choices import BY, MODELS, SWAYS
from pgcjax.judging.comparisons import Comparisons, compared, links
from pgcjax.judging.covariates import Covariates, covariates_of, reading_covariates
from pgcjax.judging.joint import FitSetting, Joint, fit_jointly
from pgcjax.judging.models import PRIOR, check_prior, fitted, refuse_one_way
from pgcjax.judging.rank_ranges import rank_columns, significant_pairs
from pgcjax.judging.votes import read_judgments

_FITTED = ("bt", "davidson")  # models with a likelihood
_DIGITS = 6  # decimals of strengths; searches end at small, nonzero gradients
_RANKED = 50  # most queries that get ranges of ranks; a large one takes 0.1 s
_WIDE = 2.0  # standard deviation of strengths above which intervals are too narrow
_Z = 1.959963984540054  # normal quantile of 95 % intervals


@dataclass(frozen=True, kw_only=True)
class Fit(Result):
    """A model of judgments.

    Attributes:
        table: A row for each document: query_id, aspect (if aspects are fitted
            separately), doc_id, strength; for `bt` and `davidson` its standard error
            and 95 % interval (error, low, high); rank (in its query, 1 is best); for
            `bt` rank_low, rank_high and tier (as in `standings`, at 95 % for all
            documents of a query together; empty where a note says so); votes; linked
            and both_ways: numbers, within the query, of the document's set that
            comparisons link, and of its set that wins link both ways.
        effects: A row for each effect that sways judges, and for ties: aspect, effect
            (`first`, `longer`, `tie`, a covariate), log_odds, error, low, high; with
            covariates unit, the difference that changes the log-odds by log_odds.
        judges: A row for each judge, if reliability is fitted: aspect, judge,
            reliability, error, low, high, votes.
    """

    effects: pd.DataFrame
    judges: pd.DataFrame
    _sorted_by: ClassVar = {"query_id": True, "aspect": True, "rank": True}


def fit(
    preferences: Any,
    model: str = "bt",
    *,
    by: str = "query",
    reliability: bool = False,
    remove: Sequence[str] = (),
    covariates: Sequence[str] = (),
    families: Mapping[str, str] | None = None,
    lengths: Any = None,
    judges: Sequence[str] | None = None,
    prior: float | None = None,
    progress: Progress | None = None,
) -> Fit:
    """Fit strengths of documents to comparisons in pairs, query by query.

    Args:
        preferences: Judgments, as in `read_preferences`.
        model: A method of `strengths`, or `davidson`: `bt` with ties as answers.
        by: `query` fits all aspects of a query together; `aspect` fits each aspect
            separately, with separate judges; `all` fits one strength of each document
            over all queries, by `bt`.
        reliability: Whether to fit the probability that a judge looks, for each judge.
        remove: Effects to separate from strengths: `first`, the odds of preferring the
            document shown first, and `longer`, those of preferring one twice as long.
        covariates: Further effects to separate, as in `covariates_of`: columns such as
            `style` for `style_a` and `style_b`; `self_preference`.
        families: Families of judges and documents, by name, for `self_preference`.
        lengths: As in `read_lengths`; None takes the columns length and other_length.
        judges: Judges to count; None counts all.
        prior: Standard deviation of the normal priors, in log-odds; infinity means no
            prior. None fits that of strengths to the votes, for each aspect if `by`
            is `aspect`, and takes 2.5 for other parameters.
        progress: Called with `("fitting", done, total)`.

    Raises:
        UsageError: an unknown name, or an option that the model does not have.
        DataError: a row is malformed, or a model has no maximum without a prior.
    """
    _check(model, by, reliability, remove, covariates, prior)
    with reading_covariates(covariates):
        table = read_judgments(preferences, judges)
    settings = {"model": model, "by": by, "reliability": reliability, "prior": prior}
    settings |= {"remove": [*remove], "judges": judges and [*judges]}
    settings |= {"covariates": [*covariates]} if covariates else {}
    sways = (*(name for name in SWAYS if name in remove), *covariates)
    sources = {"lengths": lengths, "families": families}
    if by == "all":
        return _of_all(table, sways, prior or PRIOR, sources, settings)
    if by == "aspect" and ("aspect" not in table or table["aspect"].isna().all()):
        raise UsageError("no aspect is named: preferences have no column aspect")
    options = {"aspects": by == "aspect", "judges": reliability}
    data = compared(table, **options, sway=sways, **sources, unit=FINE)
    result = _by_query(data, settings, progress, table)
    if not covariates:
        return result
    units = dict(zip(data.sways.names, data.sways.unit, strict=True))
    effects = result.effects.assign(unit=result.effects["effect"].map(units))
    return replace(result, effects=effects)


def _by_query(
    data: Comparisons,
    settings: dict[str, Any],
    progress: Progress | None,
    table: pd.DataFrame,
) -> Fit:
    """Fit separate strengths of documents for each query."""
    model, prior = settings["model"], settings["prior"]
    reliability, sway = settings["reliability"], data.sways.names
    if model in _FITTED and (model != "bt" or sway or reliability or prior is None):
        if prior == np.inf:
            refuse_one_way(data)
        precision = (prior or PRIOR) ** -2.0
        setting = FitSetting(model == "davidson", reliability, precision, prior)
        joint = fit_jointly(data, setting, progress)
        strength, error = joint.strength, joint.strength_error
    else:
        joint = None
        strength, error = fitted(data, model, prior or PRIOR, progress)
    names = (*sway, *(["tie"] if model == "davidson" else []))
    ranks, notes = {}, []
    if model == "bt":
        spread = joint.spread if joint else np.full(data.groups, prior or PRIOR)
        simple = not (sway or reliability)
        ranks, notes = _rank_ranges(table, data, spread if simple else None)
    return Fit(
        _documents(data, strength, error, model, ranks),
        settings,
        (*_notes(data, model, prior, joint), *notes),
        effects=_effects(data, joint, names),
        judges=_judges(data, joint if reliability else None),
    )


def _rank_ranges(
    table: pd.DataFrame, data: Comparisons, spread: np.ndarray | None
) -> tuple[dict[str, pd.Series], list[str]]:
    """Compute ranges of ranks in each query, as if votes were independent.

    Args:
        table: Votes.
        data: Counts of these votes.
        spread: Prior standard deviation of the strengths of each group; None if
            strengths depend on parameters that queries share.
    """
    keys, n = _keys(data), len(data.items)
    queries = data.items.groupby(keys)
    empty = rank_columns(None, np.zeros(n))
    lacking = "ranges of ranks and tiers are empty: "
    if spread is None:
        return empty, [
            f"{lacking}strengths depend on effects that queries share; by all has them"
        ]
    if queries.ngroups > _RANKED:
        return empty, [
            f"{lacking}they are computed for {_RANKED} queries at most, or by all"
        ]
    columns, few = [], 0
    rows = table[table["other_doc_id"].notna()]
    rows = rows.assign(**{key: rows[key].fillna("") for key in keys}).groupby(keys)
    for key, items in queries:
        votes, different = compared_votes(rows.get_group(key)), None
        places = items.index.to_numpy()
        linked = data.linked[places]
        fit_of_query = fit_strengths(votes, float(spread[data.group[places[0]]]))
        if len(votes.won) >= CLUSTERS:
            different = significant_pairs(
                fit_of_query.strength,
                fit_of_query.covariance,
                linked,
                len(votes.won) - 1,
            )
        few += different is None
        of_query = rank_columns(different, fit_of_query.strength)
        columns.append(pd.DataFrame(of_query).set_axis(items.index))
    together = pd.concat(columns)
    ranges = {str(name): column for name, column in together.items()}
    if not few:
        return ranges, []
    where = f"for {few} of {counted(len(columns), 'query')}, "
    where = where if len(columns) > 1 else ""
    return ranges, [f"{where}{lacking}errors need {CLUSTERS} votes on a query"]


def _check(
    model: str,
    by: str,
    reliability: bool,
    remove: Sequence[str],
    covariates: Sequence[str],
    prior: float | None,
) -> None:
    sways = (*remove, *covariates)
    check_choice("model", model, MODELS)
    check_choice("by", by, BY)
    for name in remove:
        check_choice("remove", name, SWAYS)
    if prior is not None:
        check_prior(prior)
    if (reliability or sways) and model not in _FITTED:
        raise UsageError(
            f"reliability and remove work with bt and davidson, not {model}"
        )
    if by == "all":
        if model != "bt" or reliability:
            raise UsageError("by all works with bt, without reliability")
    elif prior == np.inf and (reliability or {*sways} - {"first"}):
        part = "reliability" if reliability else "remove longer"
        raise UsageError(f"{part} needs a finite prior, such as {PRIOR}")


def _of_all(
    table: pd.DataFrame,
    names: Sequence[str],
    prior: float,
    sources: Mapping[str, Any],
    settings: dict[str, Any],
) -> Fit:
    """Fit one strength of each document over all queries, with covariates."""
    table = table[table["other_doc_id"].notna()].reset_index(drop=True)
    votes = compared_votes(table)
    covariates = covariates_of(table, names, **sources)
    fitted_all = fit_strengths(votes, prior, covariates if names else None)
    if not fitted_all.converged:
        worst = covariates.names[int(np.abs(fitted_all.beta).argmax())]
        raise UsageError(f"covariate {worst!r} predicts every vote: leave it out")
    notes, clusters = [], int(votes.clusters.max()) + 1
    error = np.sqrt(np.maximum(fitted_all.covariance.diagonal(), 0))
    if clusters < CLUSTERS:
        error = np.full(len(error), np.nan)
        notes.append(
            f"errors, ranges of ranks and tiers need {CLUSTERS} queries, or as many "
            "votes on a single one: votes on a query may be dependent"
        )
    notes += _unknown(covariates)
    wins, n = votes.wins(), len(votes.names)
    first, second = np.nonzero(wins + wins.T)
    up, down = wins[first, second] > 0, wins[second, first] > 0
    linked, both_ways = links(first, second, up, down, n)
    z = float(stdtrit(max(1, clusters - 1), 0.975))
    strength = _interval("strength", fitted_all.strength, error[:n], z)
    items = pd.DataFrame({"doc_id": votes.names, **strength})
    items["rank"] = items["strength"].rank(method="min", ascending=False)
    items["rank"] = items["rank"].astype(np.int64)
    different = None
    if clusters >= CLUSTERS:
        errors = fitted_all.strength, fitted_all.covariance[:n, :n], linked
        different = significant_pairs(*errors, clusters - 1)
    items = items.assign(**rank_columns(different, fitted_all.strength))
    items["votes"] = np.round(wins.sum(0) + wins.sum(1), _DIGITS)
    items = items.assign(linked=linked + 1, both_ways=both_ways + 1)
    odds = _interval("log_odds", fitted_all.beta, error[n:], z)
    effects = pd.DataFrame({"aspect": "", "effect": covariates.names, **odds})
    effects["unit"] = covariates.unit
    items = items.sort_values(["rank", "doc_id"], ignore_index=True)
    return Fit(items, settings, (*notes,), effects=effects, judges=_judges(None, None))


def _unknown(covariates: Covariates) -> Iterator[str]:
    """Note the number of votes for which each covariate is unknown."""
    counts = np.isnan(covariates.towards).sum(axis=0).tolist()
    for name, n in zip(covariates.names, counts, strict=True):
        if n:
            unknown = counted(n, "judgment")
            yield f"{name} is unknown for {unknown}: it has no effect there"


def _keys(data: Comparisons) -> list[str]:
    """Return the columns that name a set of documents fitted separately."""
    return [c for c in ("query_id", "aspect") if c in data.items]


def _documents(
    data: Comparisons,
    strength: np.ndarray,
    error: np.ndarray,
    model: str,
    ranks: Mapping[str, pd.Series],
) -> pd.DataFrame:
    """List the documents of each query, as in `Fit.table`."""
    table, keys, n = data.items, _keys(data), len(data.items)
    votes = (data.won + data.lost + data.tied) / data.unit
    if model in _FITTED:
        table = table.assign(**_interval("strength", strength, error))
    else:
        table = table.assign(strength=strength)
    table["rank"] = table.groupby(keys)["strength"].rank("min", ascending=False)
    table["rank"] = table["rank"].astype(np.int64)
    table = table.assign(**ranks)
    table["votes"] = sum(np.bincount(i, votes, n) for i in (data.first, data.second))
    for name, number in (("linked", data.linked), ("both_ways", data.both_ways)):
        component = table.assign(number=number).groupby(keys)["number"]
        table[name] = component.rank("dense").astype(np.int64)
    return table


def _interval(
    name: str, value: np.ndarray, error: np.ndarray, z: float = _Z
) -> dict[str, np.ndarray]:
    """Return columns of a value, its error and its interval, rounded."""
    ends = {"low": value - z * error, "high": value + z * error}
    columns = {name: value, "error": error, **ends}
    return {c: np.round(x, _DIGITS) + 0.0 for c, x in columns.items()}


def _groups(data: Comparisons) -> list[str]:
    """Name the aspects that are fitted separately; "" for all aspects together."""
    return sorted(set(data.items["aspect"])) if "aspect" in data.items else [""]


def _effects(
    data: Comparisons, joint: Joint | None, names: tuple[str, ...]
) -> pd.DataFrame:
    """List the effects of each aspect, as in `Fit.effects`."""
    groups, value, error = [], np.zeros(0), np.zeros(0)
    if joint and names:
        groups, value, error = _groups(data), joint.sway, joint.sway_error
    columns = {"aspect": np.repeat(np.array(groups, object), len(names))}
    columns["effect"] = np.tile(np.array(names, object), len(groups))
    return pd.DataFrame(columns | _interval("log_odds", value.ravel(), error.ravel()))


def _judges(data: Comparisons | None, joint: Joint | None) -> pd.DataFrame:
    """List judges and reliabilities, as in `Fit.judges`; no row without a fit."""
    columns = ["aspect", "judge", "reliability", "error", "low", "high", "votes"]
    if joint is None or data is None:
        return pd.DataFrame(columns=columns)
    groups, probability = _groups(data), 1 / (1 + np.exp(-joint.looks))
    # The interval is one of probabilities, by the delta method: that of log-odds would
    # be unbounded for probabilities near 1.
    error = probability * (1 - probability) * joint.looks_error
    numbers = _interval("reliability", probability, error)
    row_votes = (data.won + data.lost + data.tied) / data.unit
    votes = np.bincount(data.judge, row_votes, len(data.judges))
    numbers["low"], numbers["high"] = (np.clip(numbers[c], 0, 1) for c in columns[4:6])
    rows = [(groups[group], name) for group, name in data.judges]
    return pd.DataFrame(rows, columns=columns[:2]).assign(**numbers, votes=votes)


def _notes(
    data: Comparisons,
    model: str,
    prior: float | None,
    joint: Joint | None,
) -> Iterator[str]:
    keys, unit = _keys(data), "query" if len(_keys(data)) == 1 else "query and aspect"
    sets = data.items.assign(linked=data.linked, both=data.both_ways)
    components = sets.groupby(keys)["linked"].nunique()
    if unlinked := int((components > 1).sum()):
        yield (
            f"in {unlinked} of {counted(len(components), unit)}, votes do not link all "
            "documents: those of different sets (linked) are not compared"
        )
    one_way = sets.groupby([*keys, "linked"])["both"].nunique()
    if model in _FITTED and (n := int((one_way > 1).sum())):
        sets_of = counted(len(one_way), "set")
        yield (
            f"in {n} of {sets_of} of documents, wins do not link all both ways: "
            "distances between different sets (both_ways) come from the prior"
            + (f", whose standard deviation is {prior:g}" if prior else "")
        )
    if joint and prior is None:
        groups = zip(_groups(data), joint.spread, strict=True)
        spreads = [f"{x:.3g}" + (f" ({name})" if name else "") for name, x in groups]
        yield (
            "standard deviation of strengths, fitted to the votes: "
            f"{listed(spreads, 8)}"
        )
        if joint.spread.max() > _WIDE:
            yield (
                "intervals of strengths are too narrow, because these are far apart: "
                "in simulation they cover 80 to 90 %"
            )
    if joint and not joint.certain:
        yield "errors are unknown: the likelihood has no clear maximum"
    yield from _unknown(data.sways)
    if model == "davidson" and not data.tied.any():
        yield "no judgment is a tie: the probability of ties comes from the prior"
    queries, documents = (sets[name].nunique() for name in ("query_id", "doc_id"))
    if len(keys) == 1 and queries > 2 and queries * documents < 2 * len(sets):
        yield (
            f"most queries have the same {documents} documents: --by all (by='all') "
            "fits one strength of each, over all queries"
        )
