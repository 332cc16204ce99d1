"""Introduction to a page about scores, for people who have not seen one before."""

from collections.abc import Sequence

import pandas as pd

from pgcjax.errors import UsageError, counted, listed
from pgcjax.reporting.score_findings import Findings
from pgcjax.stats.procedures import FAMILY

_NAMES = 5  # most judges to name


def introduction(findings: Findings, judging: str = "") -> list[str]:
    """Describe the content of the page, its judgments, and statistical significance.

    Args:
        findings: Findings that the page shows.
        judging: Result of `judging_in_words`; "" for a page without judgments.

    Returns:
        One paragraph per item.
    """
    runs, queries = len(findings.runs), len(findings.queries)
    shown = (
        f"This page compares {counted(runs, 'run')} on {counted(queries, 'query')}. A "
        "run is the output of one system: a ranking of documents for each query. "
        f"Each ranking is scored by {counted(len(findings.scores), 'measure')}, and "
        "runs are ordered by their mean score over queries."
    )
    without = (
        "The page was made of scores alone: it does not show the judgments behind them."
    )
    paragraphs = [shown, judging or without, *structure_in_words(findings)]
    return [*paragraphs, _significance(findings), _intervals(findings)]


def structure_in_words(findings: Findings) -> list[str]:
    """Describe clusters, systems or collections, and their figures."""
    about = next(iter(findings.compared.values())).metadata
    if "clusters" in about:
        return [
            f"Queries come in {counted(about['clusters'], 'cluster')}, such as "
            "conversations: whole clusters are drawn, and tests speak of other "
            "clusters."
        ]
    if "repeats" in about:
        return [
            f"Each row is a system; these have {counted(about['repeats'], 'run')} "
            "together. A score is the mean over the runs of a system, and other runs "
            "are drawn as other queries are."
        ]
    if "collections" in about:
        return [
            f"Queries come from {counted(about['collections'], 'test collection')}: a "
            "mean is that over collections of their means, and other queries are drawn "
            "of each. Nothing is claimed of other collections."
        ]
    return []


def meanings(findings: Findings) -> list[tuple[str, str]]:
    """List measures of the page with their meanings; "" for those of other tools."""
    from pgcjax.measures.catalogue import parse

    rows = []
    for name in findings.scores:
        try:
            rows.append((name, f"{parse(name).meaning}."))
        except UsageError:
            rows.append((name, "not a measure of this package."))
    return rows


def judging_in_words(
    preferences: pd.DataFrame | None,
    qrels: pd.DataFrame | None,
    queries: Sequence[str],
) -> str:
    """Describe the judgments of queries that have scores, and their use.

    Args:
        preferences: Canonical preferences.
        qrels: Canonical qrels.
        queries: Queries that have scores.
    """
    sentences = []
    if preferences is not None:
        table = preferences[preferences["query_id"].isin(queries)]
        count = counted(len(table), "judgment")
        sentences.append(
            f"Judges compared documents in pairs: {count} on "
            f"{counted(table['query_id'].nunique(), 'query')}{_judges(table)}. They "
            "yield an ideal ranking for each query and run: preferred documents come "
            "first, and the run decides any order that the judgments leave open. A "
            "measure of preferences tells how close the run is to that ranking; the "
            "top counts most."
        )
    if qrels is not None:
        table = qrels[qrels["query_id"].isin(queries)]
        grades = table["relevance"]
        count = counted(len(table), "document")
        sentences.append(
            f"Documents have grades: {count} of "
            f"{counted(table['query_id'].nunique(), 'query')}, from {grades.min():g} "
            f"to {grades.max():g}; higher grades are better."
            if len(table)
            else "No query with scores has grades."
        )
    return " ".join(sentences)


def _judges(table: pd.DataFrame) -> str:
    if "judge" not in table or table["judge"].isna().all():
        return ""
    names = sorted(map(str, table["judge"].dropna().unique()))
    return f" by {counted(len(names), 'judge')} ({listed(names, _NAMES)})"


def _significance(findings: Findings) -> str:
    how, comparison = findings.how, next(iter(findings.compared.values()))
    alpha = f"{100 * how['alpha']:g} %"
    correction = comparison.metadata["correction"]
    if how["test"] in FAMILY or correction == "holm":
        risk = (
            "if no two runs differed, the probability of calling any pair "
            f"different would be at most {alpha}"
        )
    elif correction == "bh":
        risk = f"of the pairs called different, {alpha} are expected not to be"
    else:
        risk = (
            f"about {alpha} of the pairs that do not differ are called different, "
            "because each pair is tested by itself"
        )
    return (
        "Other queries would have given other means. A difference is called "
        f"significant if chance in the choice of queries hardly explains it: {risk} "
        f"({comparison.tested}). Significance does not show the size of a difference, "
        "and pairs that are not called different need not be equal."
    )


def _intervals(findings: Findings) -> str:
    text = (
        "Runs that share a letter do not differ significantly. The interval of a "
        "mean says how far it may be from that over all such queries, at "
        f"{100 * (1 - findings.how['alpha']):g} % (Student's t). The test of a pair, "
        "not the intervals of its runs, shows whether the two differ."
    )
    if findings.uncertainty:
        text += (
            " A second interval, tiers and ranks show the uncertainty from the "
            f"judgments: {findings.uncertainty.resampling} (centred)."
        )
    return text
