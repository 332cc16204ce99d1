"""Explanations of some scores, beside a page about scores."""

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

_ROWS = 200_000  # most documents of all explanations: some 5 MB
_NEAR = 1e-6  # a larger difference of scores means other judgments, runs or parameters

DECIDERS = ["", "alone", "run", "doc id"]


@dataclass(frozen=True)
class Reasons:
    """Explanations of some scores, and the command that explains others.

    Attributes:
        cells: `Explanation` of each score, by measure, run and query.
        notes: Reasons why a measure has no explanations, or fewer than requested.
        command: Command that explains a score, without run, query and measure.
        differences: `Difference` between the best run and another one, by measure,
            query and that run.
    """

    cells: Mapping[tuple[str, str, str], Any] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)
    command: str = "pgcjax explain --prefs judgments.txt runs/"
    differences: Mapping[tuple[str, str, str], Any] = field(default_factory=dict)


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
        findings: Findings whose scores are explained, for measures that allow it.
        explainer_of: Function that returns an `Explainer` for a measure, before it has
            read runs.
        open_runs: Function that opens the runs; called for each measure.
        cells: Number of scores, each of one run and query, for each measure.
        command: See `Reasons`.
        progress: Called with `("reading", …)` and `("explaining", done, total)`.

    Raises:
        UsageError: `cells` is below 0.
    """
    if cells < 0:
        raise UsageError(f"{cells} scores to explain: expected 0 or more")
    made: dict[tuple[str, str, str], Any] = {}
    notes: dict[str, str] = {}
    differences: dict[tuple[str, str, str], Any] = {}
    for name in findings.scores if cells else ():
        try:
            with warnings.catch_warnings():  # evaluate has shown them with the scores
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
        for run, query in chosen:
            of_best, one = (made.get((name, r, query)) for r in (chosen[0][0], run))
            if of_best and one and one is not of_best:
                differences[name, query, run] = explainer.difference_of(of_best, one)
    return Reasons(made, notes, command, differences)


def choose(
    findings: Findings, measure: str, explainer: Any, cells: int
) -> list[tuple[str, str]]:
    """Choose about as many runs as queries: the best runs, and the deciding queries.

    Deciding queries have the largest standard deviation of the scores of these runs.

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
    """Explain chosen scores as far as there is room; return a note, or ""."""
    matrix = findings.scores[measure]
    rows = sum(len(one.ideal) for one in made.values())
    every = zip(chosen, explainer.explain_each(chosen), strict=True)
    for done, ((run, query), explanation) in enumerate(every, 1):
        at = matrix.run_ids.index(run), matrix.query_ids.index(query)
        score = float(matrix.values[at])
        if not abs(explanation.score - score) <= _NEAR:
            return (
                f"these judgments and runs give {run} {explanation.score:.4f} on "
                f"query {query}, and the scores say {score:.4f}: they were made with "
                "other judgments, runs or parameters, and are not explained"
            )
        rows += len(explanation.ideal)
        if rows > _ROWS:
            return (
                f"{counted(done - 1, 'score')} explained: the page has no room for more"
            )
        made[measure, run, query] = explanation
        if progress:
            progress("explaining", done, len(chosen))
    return ""


def columns_of(reasons: Reasons, findings: Findings) -> dict[str, Any]:
    """Lay explanations out as concatenated columns.

    Returns:
        For each explanation: cells (measure, run, query, as numbers of the findings,
        and number of rows), score, and best (score of the ideal ranking). For each row:
        doc (number in `docs`), rank and ideal (0: none), rule and by (numbers in
        `rules` and `deciders`), candidates; adds, ideal_adds and moved (in `values`).
        For each difference: pairs (measure, run, the other run, query and number of
        rows) and gap (of their scores); for each document of it pair_doc, pair_rank,
        pair_other_rank, pair_adds, pair_other_adds and pair_difference.
    """
    measures = list(findings.scores)
    place = {name: i for i, name in enumerate(findings.queries)}
    number = {name: i for i, name in enumerate(findings.runs)}
    cells, rows = _cells(reasons, measures, number, place)
    pairs, gaps = _pairs(reasons, measures, number, place)
    docs, names = pd.factorize(pd.concat([rows["doc_id"], gaps["doc_id"]]))
    rules = ["", *sorted({*rows["rule"]} - {""})]
    parts = ("adds", "ideal_adds", "moved")
    shares = gaps[["adds", "other_adds", "difference"]].to_numpy(float)
    numbers = np.concatenate([rows[[*parts]].to_numpy(float), shares])
    values, which = np.unique(numbers, return_inverse=True)
    which = which.reshape(numbers.shape)
    of_pairs = ("pair_adds", "pair_other_adds", "pair_difference")
    return {
        "cells": cells,
        "docs": list(names),
        "doc": docs[: len(rows)],
        "rank": rows["rank"].fillna(0).to_numpy(np.int64),
        "ideal": rows["ideal_rank"].fillna(0).to_numpy(np.int64),
        "rule": np.array([rules.index(rule) for rule in rows["rule"]], np.int64),
        "by": rows["by"].to_numpy(np.int64),
        "candidates": rows["candidates"].to_numpy(np.int64),
        "values": values,
        **dict(zip(parts, which[: len(rows)].T, strict=True)),
        "pairs": pairs,
        "gap": np.array([one.difference for one in reasons.differences.values()]),
        "pair_doc": docs[len(rows) :],
        "pair_rank": gaps["rank"].fillna(0).to_numpy(np.int64),
        "pair_other_rank": gaps["other_rank"].fillna(0).to_numpy(np.int64),
        **dict(zip(of_pairs, which[len(rows) :].T, strict=True)),
        "score": np.array([one.score for one in reasons.cells.values()]),
        "best": np.array(
            [one.table["ideal_adds"].sum() for one in reasons.cells.values()]
        ),
        "rules": rules,
        "deciders": DECIDERS,
    }


def _cells(
    reasons: Reasons,
    measures: Sequence[str],
    number: Mapping[str, int],
    place: Mapping[str, int],
) -> tuple[np.ndarray, pd.DataFrame]:
    """Tabulate the explanations, and their documents."""
    cells, tables = [], []
    for (measure, run, query), explanation in reasons.cells.items():
        table, steps = explanation.table, explanation.steps
        ranked = table["ideal_rank"].notna()
        table = table[ranked | (table["adds"] != 0) | (table["moved"] != 0)]
        cells.append((measures.index(measure), number[run], place[query], len(table)))
        decided = dict(zip(steps["doc_id"], steps["decided_by"], strict=True))
        among = dict(zip(steps["doc_id"], map(len, steps["candidates"]), strict=True))
        docs = table["doc_id"].tolist()
        by = [DECIDERS.index(decided.get(doc, "")) for doc in docs]
        tables.append(table.assign(by=by, candidates=[among.get(d, 0) for d in docs]))
    rows = pd.concat(tables, ignore_index=True) if tables else _no_rows()
    return np.array(cells, np.int32).reshape(-1, 4), rows


def _pairs(
    reasons: Reasons,
    measures: Sequence[str],
    number: Mapping[str, int],
    place: Mapping[str, int],
) -> tuple[np.ndarray, pd.DataFrame]:
    """Tabulate the differences, and their documents."""
    pairs, tables = [], [_no_rows()]
    for (measure, query, run), one in reasons.differences.items():
        tables.append(one.table[one.table["difference"] != 0])
        at = measures.index(measure), number[one.run_id], number[run], place[query]
        pairs.append((*at, len(tables[-1])))
    # Empty tables have no types, and would change those of the other tables.
    tables = [table for table in tables if len(table)] or tables[:1]
    return np.array(pairs, np.int32).reshape(-1, 5), pd.concat(tables)


def _no_rows() -> pd.DataFrame:
    names = ["doc_id", "rank", "ideal_rank", "rule", "by", "candidates", "other_rank"]
    names += ["adds", "ideal_adds", "moved", "other_adds", "difference"]
    return pd.DataFrame(columns=names)
