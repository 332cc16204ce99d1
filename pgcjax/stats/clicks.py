"""Scores of runs from clicks, and correlations of measures over queries."""

import warnings
from collections.abc import Sequence
from itertools import combinations
from math import nan
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from jaxtyping import Bool

from pgcjax.errors import DataError, DataWarning, UsageError, check_choice, counted
from pgcjax.io.choices import ORDERS
from pgcjax.io.order import ranked
from pgcjax.io.runs import open_runs
from pgcjax.io.schema import Origin, canonical, keyed, numbers, refuse, seconds
from pgcjax.stats.choices import COEFFICIENTS
from pgcjax.stats.correlation import correlated
from pgcjax.stats.matrix import NAMES, frame_of, long_table

GAINS = ("exponential", "linear")
_COUNTS = ("shown", "clicks", "satisfied")
_KEY = ["query_id", "doc_id"]


def click_counts(log: pd.DataFrame, satisfied: float = 30.0) -> pd.DataFrame:
    """Count how often documents were shown, clicked, and clicked with satisfaction.

    Args:
        log: A row for each time that a document was shown: query_id, doc_id, clicked (0
            or 1) and seconds (time on the page; empty if unknown).
        satisfied: Least seconds on the page of a satisfied click.

    Returns:
        query_id, doc_id, shown, clicks, satisfied; a row for each query and document.

    Source: Golbus et al. 2014, 5.2.1, footnote 3.

    Raises:
        DataError: a column is missing, or a cell is not usable.
    """
    origin = Origin("log")
    table = keyed(log, origin, _KEY, ("clicked", "seconds"))
    times, clicked = seconds(table["seconds"], origin), table["clicked"]
    if clicked.dtype == bool:
        clicked = clicked.astype("int64")
    clicks = numbers(clicked, "clicked", origin)
    hit = clicks == 1
    _demand(hit | (clicks == 0), "clicked is 0 or 1", origin)
    counts = {"shown": 1, "clicks": hit, "satisfied": hit & (times >= satisfied)}
    sums = table[_KEY].assign(**counts).groupby(_KEY, sort=True)[list(_COUNTS)].sum()
    return sums.astype("int64").reset_index()


def click_labels(counts: pd.DataFrame) -> pd.DataFrame:
    """Label documents by their clicks: 2 satisfied, 1 clicked, 0 none; as qrels.

    Args:
        counts: Counts in the form of `click_counts`.

    Returns:
        query_id, doc_id, relevance: qrels for `evaluate`.

    Source: Golbus et al. 2014, 5.2.1.

    Raises:
        DataError: a column is missing, a cell is not usable, or a document is there
            twice in a query.
    """
    table = _checked(counts)
    label = (table["clicks"] > 0).astype(float) + (table["satisfied"] > 0)
    return table[_KEY].assign(relevance=label)


def click_scores(
    counts: pd.DataFrame,
    runs: Any,
    *,
    depth: int = 5,
    gain: str = "exponential",
    order: str = "trec",
) -> pd.DataFrame:
    """Score runs by clicks: mean click-through rate, and nDCG of labels from clicks.

    CTR@k is the mean of satisfied / shown over those of the first k documents that were
    ever shown; a query without such documents has no CTR. click-nDCG@k takes gains from
    the labels of `click_labels`: Σ gain / log2(rank + 1), divided by the same sum for
    the best order of all documents with counts; 0 if no document was clicked.

    Args:
        counts: Counts in the form of `click_counts`, from the logs of all rankings.
        runs: Runs in a form that `read_runs` takes; queries without counts are left
            out.
        depth: Number of documents, k.
        gain: `exponential` (2^label - 1) or `linear` (the label).
        order: Order of documents in the runs, as in `evaluate`.

    Returns:
        Score table: run_id, query_id, measure (`CTR@5`, `click-nDCG@5`), value.

    Source: Golbus et al. 2014, 5.2.1, with equation 2.

    Raises:
        UsageError: a bad argument.
        DataError: counts or runs are malformed, or share no query.
    """
    if depth < 1:
        raise UsageError(f"the depth is 1 or more, not {depth}")
    check_choice("gain", gain, GAINS)
    check_choice("order", order, ORDERS)
    table = _checked(counts)
    label = click_labels(counts)["relevance"].to_numpy()
    table["gain"] = 2.0**label - 1 if gain == "exponential" else label
    shown = table["shown"].to_numpy(np.float64)
    rate = np.divide(table["satisfied"], shown, where=shown > 0, out=shown * nan)
    table = table.assign(rate=rate).set_index("doc_id")
    clicked = dict(list(table.groupby("query_id")))
    table, position, groups, lengths = ranked(
        pl.concat(open_runs(runs).tables()), order
    )
    docs = table["doc_id"].to_numpy()
    rows, start = [], 0
    for (run, query), length in zip(groups, lengths.tolist(), strict=True):
        here = slice(start, start := start + length)
        if query in clicked:
            top = docs[here][np.argsort(position[here])][:depth]
            of_run = _scores_by_clicks(clicked[query], top, depth)
            rows += [(run, query, name, value) for name, value in of_run.items()]
    if not rows:
        raise DataError("runs and clicks share no query", where="clicks")
    scores = pd.DataFrame(rows, columns=["run_id", "query_id", "measure", "value"])
    return scores.sort_values(["run_id", "query_id", "measure"], ignore_index=True)


def _scores_by_clicks(
    clicked: pd.DataFrame, top: np.ndarray, depth: int
) -> dict[str, float]:
    """Score the first documents of a run by the gains and rates of counted ones."""
    discount = 1 / np.log2(np.arange(2, depth + 2))
    best = np.sort(clicked["gain"].to_numpy())[::-1][:depth]
    ideal = float(best @ discount[: len(best)])
    shown = clicked.reindex(top)
    value = float(shown["gain"].fillna(0.0).to_numpy() @ discount[: len(top)])
    scores = {f"click-nDCG@{depth}": value / ideal if ideal else 0.0}
    if shown["rate"].notna().any():
        scores[f"CTR@{depth}"] = float(shown["rate"].mean())
    return scores


def correlate_queries(
    scores: Any,
    measures: Sequence[str] | None = None,
    coefficients: Sequence[str] = ("tau", "spearman"),
    missing: str = "error",
) -> pd.DataFrame:
    """Correlate the orders in which measures put the queries, run by run.

    Args:
        scores: A score table: `Scores`, a file, or a DataFrame of run_id, query_id,
            measure and value, such as results of `click_scores` and `evaluate`.
        measures: Names of measures; None takes all.
        coefficients: Names of coefficients, as in `correlation`.
        missing: Treatment of a query that one of two measures lacks: `error` or `drop`.

    Returns:
        A row for each run, two measures and coefficient: run_id, measure_a, measure_b,
        coefficient, value, queries (that both have), undefined (why value is NaN).
        `attrs["notes"]` and a DataWarning count the queries that are left out.

    Source: Golbus et al. 2014, 5.2.1, Figures 4 and 5.

    Raises:
        UsageError: fewer than two measures, or an unknown one, coefficient or policy.
        DataError: a score is missing, there twice, or no number.
    """
    for name in coefficients:
        check_choice("coefficient", name, COEFFICIENTS)
    check_choice("missing", missing, ("error", "drop"))
    table = _score_table(scores, measures)
    wanted = table["measure"].unique() if measures is None else measures
    rows, left_out = [], 0
    for run, of_run in table.groupby("run_id"):
        wide = of_run.pivot(index="query_id", columns="measure", values="value")
        for a, b in combinations(wanted, 2):
            two = wide.reindex(columns=[a, b])
            lacking = two.isna().any(axis=1)
            if lacking.any() and missing == "error":
                raise DataError(
                    f"run {run!r} has no score by {a!r} or {b!r} for query "
                    f"{lacking.idxmax()!r}",
                    where="scores",
                    mend="Complete them, or leave such queries out (missing='drop').",
                )
            left_out += int(lacking.sum())
            x, y = two[~lacking].to_numpy(np.float64).T
            for name in coefficients:
                value, count, why = correlated(x, y, name)
                if why:
                    why = f"{name} is undefined: {why}".replace(" runs", " queries")
                rows.append((run, a, b, name, value, count, why))
    columns = ["run_id", "measure_a", "measure_b", "coefficient", "value"]
    correlations = pd.DataFrame(rows, columns=[*columns, "queries", "undefined"])
    correlations.attrs["notes"] = []
    if left_out:
        lack = "left out because one of two measures lacks its score for a run"
        note = f"{counted(left_out, 'query')} {lack}"
        correlations.attrs["notes"] = [note]
        warnings.warn(note, DataWarning, stacklevel=2)
    return correlations


def _score_table(scores: Any, measures: Sequence[str] | None) -> pd.DataFrame:
    """Read the scores of two measures or more."""
    origin = Origin("scores")
    table = canonical(frame_of(scores), origin, [*NAMES])
    table = long_table(table, {n: n for n in NAMES}, origin, measures=measures)
    if (count := table["measure"].nunique()) < 2:
        raise UsageError(f"compare two measures or more, not {count}")
    return table


def _checked(counts: pd.DataFrame) -> pd.DataFrame:
    origin = Origin("clicks")
    table = keyed(counts, origin, _KEY, _COUNTS)
    for name in _COUNTS:
        values = numbers(table[name], name, origin)
        _demand((values >= 0) & (values % 1 == 0), f"{name} is a count", origin)
        table[name] = values
    nested = table["clicks"].between(table["satisfied"], table["shown"]).to_numpy()
    _demand(nested, "satisfied ≤ clicks ≤ shown", origin)

    def twice(i: int) -> str:
        document, query = table.doc_id[i], table.query_id[i]
        return f"document {document!r} of query {query!r} is there twice"

    refuse(table.duplicated(_KEY).to_numpy(), twice, origin, "Add its counts up.")
    return table


def _demand(good: Bool[np.ndarray, " rows"], rule: str, origin: Origin) -> None:
    refuse(~good, lambda _: f"expected that {rule}", origin, "")
