"""Why runs have scores: explanations of some of them, beside a page about scores."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pgcjax.errors import DataError, DataWarning, Progress, UsageError, counted
from pgcjax.io.choices import EXPLAINED
from pgcjax.reporting.score_findings import Findings

if TYPE_CHECKING:
    from pgcjax.io.runs import Runs

_ROWS = 200_000  # documents of all explanations: some 5 MB
_NEAR = 1e-6  # a score that differs by more is of other judgments, runs or parameters


@dataclass(frozen=True)
class Reasons:
    """Explanations of some scores, and how to ask for the others.

    Attributes:
        cells: an `Explanation` each, by measure, run and query.
        notes: why there are none of a measure, or fewer than were asked for.
        command: that explains a score, without the run, the query and the measure.
    """

    cells: Mapping[tuple[str, str, str], Any] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)
    command: str = "pgcjax explain --prefs judgments.txt runs/"


def explain_scores(
    findings: Findings,
    explainer_of: Callable[[str], Any],
    open_runs: "Callable[[], Runs]",
    *,
    cells: int = EXPLAINED,
    command: str = Reasons.command,
    progress: Progress | None = None,
) -> Reasons:
    """Explain the scores of the best runs, on the queries where they differ most.

    Args:
        findings: whose scores are explained, by each measure that can be.
        explainer_of: returns an `Explainer` by a measure, which has read no runs.
        open_runs: opens the runs; called for each measure.
        cells: how many scores of each measure, a run and a query each.
        command: see `Reasons`.
        progress: called with `("reading", …)` and `("explaining", done, total)`.

    Raises:
        UsageError: `cells` is below 0.
    """
    if cells < 0:
        raise UsageError(f"{cells} scores to explain: expected 0 or more")
    made: dict[tuple[str, str, str], Any] = {}
    notes: dict[str, str] = {}
    for name in findings.scores if cells else ():
        try:
            with warnings.catch_warnings():  # which evaluate gave with the scores
                warnings.simplefilter("ignore", DataWarning)
                explainer = explainer_of(name)
            best = _best_runs(findings, name, cells)
            explainer.read(open_runs(), progress, only=best)
        except (UsageError, DataError) as error:
            notes[name] = str(error)
            continue
        chosen = choose(findings, name, explainer, cells)
        if note := _explain(findings, name, explainer, chosen, made, progress):
            notes[name] = note
    return Reasons(made, notes, command)


def choose(
    findings: Findings, measure: str, explainer: Any, cells: int
) -> list[tuple[str, str]]:
    """Choose about as many runs as queries: the best, and those that decide.

    Queries decide where the scores of these runs differ most: by standard deviation.

    Returns:
        Pairs of run and query, the best run first.
    """
    matrix = findings.scores[measure]
    read = {*explainer.run_ids}
    best = [run for run in _best_runs(findings, measure, cells) if run in read]
    judged = [query for query in matrix.query_ids if query in {*explainer.query_ids}]
    if not best or not judged:
        return []
    side = min(len(best), max(1, round(cells**0.5)))
    queries = max(1, min(len(judged), cells // side))
    best = best[: max(1, cells // queries)]
    rows = [matrix.run_ids.index(run) for run in best]
    columns = [matrix.query_ids.index(query) for query in judged]
    spread = matrix.values[np.ix_(rows, columns)].std(axis=0)
    decide = np.argsort(-spread, kind="stable")[:queries]
    return [(run, judged[i]) for run in best for i in decide]


def _best_runs(findings: Findings, measure: str, most: int) -> list[str]:
    mean = findings.compared[measure].runs["mean"].to_numpy()
    return [findings.runs[i] for i in np.argsort(-mean, kind="stable")[:most]]


def _explain(
    findings: Findings,
    measure: str,
    explainer: Any,
    chosen: Sequence[tuple[str, str]],
    made: dict[tuple[str, str, str], Any],
    progress: Progress | None,
) -> str:
    """Explain chosen scores as far as there is room; return what there is to say."""
    matrix = findings.scores[measure]
    rows = sum(len(one.ideal) for one in made.values())
    every = zip(chosen, explainer.explain_each(chosen), strict=True)
    for done, ((run, query), explanation) in enumerate(every, 1):
        at = matrix.run_ids.index(run), matrix.query_ids.index(query)
        score = float(matrix.values[at])
        if not abs(explanation.score - score) <= _NEAR:
            return (
                f"these judgments and runs give {run} {explanation.score:.4f} on query "
                f"{query}, and the scores say {score:.4f}: they are of other "
                "judgments, runs or parameters, and were not explained"
            )
        rows += len(explanation.ideal)
        if rows > _ROWS:
            return f"{counted(done - 1, 'score')} explained: there is room for no more"
        made[measure, run, query] = explanation
        if progress:
            progress("explaining", done, len(chosen))
    return ""


def columns_of(reasons: Reasons, findings: Findings) -> dict[str, Any]:
    """Lay explanations out by columns, end to end.

    Returns:
        cells (measure, run, query and rows of each, as numbers of the findings), score
        and best (that of the ideal ranking) of each; docs,
        and of each row doc, rank and ideal (0: none), rule and by (numbers of `rules`
        and `deciders`), candidates; values, and of each row adds, ideal_adds and moved
        as their numbers.
    """
    measures = list(findings.scores)
    place = {name: i for i, name in enumerate(findings.queries)}
    number = {name: i for i, name in enumerate(findings.runs)}
    deciders = ["", "alone", "run", "doc id"]
    cells, tables = [], []
    for (measure, run, query), explanation in reasons.cells.items():
        table, steps = explanation.table, explanation.steps
        ranked = table["ideal_rank"].notna()
        table = table[ranked | (table["adds"] != 0) | (table["moved"] != 0)]
        cells.append((measures.index(measure), number[run], place[query], len(table)))
        decided = dict(zip(steps["doc_id"], steps["decided_by"], strict=True))
        among = dict(zip(steps["doc_id"], map(len, steps["candidates"]), strict=True))
        docs = table["doc_id"].tolist()
        by = [deciders.index(decided.get(doc, "")) for doc in docs]
        tables.append(table.assign(by=by, candidates=[among.get(d, 0) for d in docs]))
    rows = pd.concat(tables, ignore_index=True) if tables else _no_rows()
    docs, names = pd.factorize(rows["doc_id"])
    rules = ["", *sorted({*rows["rule"]} - {""})]
    parts = ("adds", "ideal_adds", "moved")
    values, which = np.unique(rows[[*parts]].to_numpy(float), return_inverse=True)
    which = which.reshape(len(rows), len(parts)).T
    return {
        "cells": np.array(cells, np.int32).reshape(-1, 4),
        "docs": list(names),
        "doc": docs,
        "rank": rows["rank"].fillna(0).to_numpy(np.int64),
        "ideal": rows["ideal_rank"].fillna(0).to_numpy(np.int64),
        "rule": np.array([rules.index(rule) for rule in rows["rule"]], np.int64),
        "by": rows["by"].to_numpy(np.int64),
        "candidates": rows["candidates"].to_numpy(np.int64),
        "values": values,
        **dict(zip(parts, which, strict=True)),
        "score": np.array([one.score for one in reasons.cells.values()]),
        "best": np.array(
            [one.table["ideal_adds"].sum() for one in reasons.cells.values()]
        ),
        "rules": rules,
        "deciders": deciders,
    }


def _no_rows() -> pd.DataFrame:
    names = ["doc_id", "rank", "ideal_rank", "rule", "by", "candidates"]
    return pd.DataFrame(columns=[*names, "adds", "ideal_adds", "moved"])
