"""One run and query with its judgments, and plain rows of their canonical tables."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Judgment = tuple[str, str | None, float, int]
"""Document, other document, preference (above 0 prefers the first, 0 is a tie), and
number of such votes; without another document, the first was judged bad."""


@dataclass(frozen=True)
class Case:
    """One run and query, as a plain twin takes them.

    Attributes:
        run_id: The run.
        query_id: The query.
        run: Retrieved documents, best first.
        parameters: Parameters of the measure; `k` is its cutoff.
        judged: Canonical judgments of this query, by kind: rows as dicts by column.
        tables: DataFrames of all queries, for measures that depend on the collection;
            and `grids` of all systems, if runs are grids.
    """

    run_id: str
    query_id: str
    run: list[str]
    parameters: Mapping[str, Any]
    judged: Mapping[str, list[dict[str, Any]]]
    tables: Mapping[str, Any]


def grades(case: Case) -> dict[str, float]:
    """Return the grade of each document in the qrels of the query."""
    return {row["doc_id"]: row["relevance"] for row in case.judged["qrels"]}


def highest(case: Case, *kinds: str) -> float:
    """Return the highest grade of all queries in some tables, at least 0."""
    return max(0.0, *(float(case.tables[kind]["relevance"].max()) for kind in kinds))


def judgments(case: Case) -> dict[str, list[Judgment]]:
    """List the judgments of each judge; judges without a name are one judge."""
    by_judge: dict[str, list[Judgment]] = defaultdict(list)
    for row in case.judged["preferences"]:
        judge, other, times = (
            row.get("judge"),
            row["other_doc_id"],
            row.get("weight", 1),
        )
        judge = judge if isinstance(judge, str) else ""
        other = other if isinstance(other, str) else None
        by_judge[judge].append((row["doc_id"], other, row["preference"], int(times)))
    return by_judge


def edges(case: Case) -> tuple[Counter[tuple[str, str]], int]:
    """Sum the weights of judgments by edge; return also the weight of one judgment.

    One judgment weighs 2^16. With a probability p that the document is better, the
    weight is scaled as the parameter `soft` says: by 2p - 1 for the likelier one
    (`margin`), or by p for it and 1 - p for the other (`both`), rounded. A tie and a
    bad document weigh nothing.
    """
    unit, soft = 2**16, case.parameters.get("soft", "sign")
    counts: Counter[tuple[str, str]] = Counter()
    for row in case.judged["preferences"]:
        doc, other, weight = row["doc_id"], row["other_doc_id"], row.get("weight", 1)
        p = row.get("probability")
        if p is None or p != p or soft == "sign":
            p = (1 + (row["preference"] > 0) - (row["preference"] < 0)) / 2
        if not isinstance(other, str) or p == 1 / 2:
            continue
        if p < 1 / 2:
            doc, other, p = other, doc, 1 - p
        if soft == "both":
            counts[doc, other] += round(weight * p * unit)
            counts[other, doc] += round(weight * unit) - round(weight * p * unit)
        else:
            counts[doc, other] += round(weight * (2 * p - 1) * unit)
    return +counts, unit


def grids(case: Case) -> dict[str, dict[str, tuple[int, int]]]:
    """Return row and column of each image, for each system that answered the query."""
    by_system: dict[str, dict[str, tuple[int, int]]] = {}
    for row in case.judged["grids"]:
        grid = by_system.setdefault(row["run_id"], {})
        grid[row["doc_id"]] = row["row"], row["column"]
    return by_system


def grades_by_intent(case: Case) -> dict[str, dict[str, float]]:
    """Return the relevant documents of each intent that has any, with their grades."""
    by_intent: dict[str, dict[str, float]] = {}
    for row in case.judged["intent_qrels"]:
        if row["relevance"] > 0:
            by_intent.setdefault(row["intent_id"], {})[row["doc_id"]] = row["relevance"]
    return by_intent


def grades_by_document(case: Case) -> dict[str, dict[str, float]]:
    """Return the grade of each relevant document for each intent that it serves."""
    by_document: dict[str, dict[str, float]] = {}
    for intent, grades in grades_by_intent(case).items():
        for doc, grade in grades.items():
            by_document.setdefault(doc, {})[intent] = grade
    return by_document


def navigational(case: Case) -> set[str]:
    """List the navigational intents of the query."""
    intents = case.judged["intents"]
    return {row["intent_id"] for row in intents if row["kind"] == "nav"}
