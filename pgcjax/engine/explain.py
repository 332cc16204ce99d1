"""Scores and differences explained: by documents, queries, and judgments.

The engine's batches compute all scores here, also those of parts and of runs with a
moved document. Each time, a check confirms that the parts sum to the score.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from pgcjax._version import __version__
from pgcjax.engine.explainer import (
    SCORED,
    Explainer,
    document_rows,
    no_run,
    no_votes,
    refuse_twice,
)
from pgcjax.engine.explanation import Difference, Explanation
from pgcjax.engine.request import runs_of
from pgcjax.engine.score_parts import moved, of_rbo
from pgcjax.engine.similarity import rbo
from pgcjax.engine.verify import TOLERANCE, each_ranking
from pgcjax.errors import DataError, Progress, UsageError, listed
from pgcjax.io.reading import reading
from pgcjax.io.remote import is_remote
from pgcjax.io.runs import Options, Runs, RunTable
from pgcjax.io.texts import read_topics, with_texts
from pgcjax.later import pd
from pgcjax.measures.measure import Measure
from pgcjax.reference.order import ordered
from pgcjax.stats.scores import Scores


def explain(
    runs: Any,
    query: str | None = None,
    *,
    run_id: str | None = None,
    other: str | Any = None,
    preferences: Any = None,
    qrels: Any = None,
    intent_qrels: Any = None,
    intents: Any = None,
    context: Any = None,
    measure: str | Measure | None = None,
    order: str = "trec",
    float32: bool = False,
    topics: Any = None,
    texts: Any = None,
    progress: Progress | None = None,
) -> Explanation | Difference:
    """Explain a score, or the difference of two runs, by its parts.

    Args:
        runs: Input or result of `read_runs`.
        query: Query to explain; None explains the mean by the loss of each query.
        run_id: Run to explain; optional with a single run.
        other: Run to compare it with: its name, or input of `read_runs`.
        preferences: Preferences; see `evaluate` for these and the other judgments.
        qrels: Grades.
        intent_qrels: Grades per intent.
        intents: see `evaluate`.
        context: see `evaluate`.
        measure: PGC by default, or Compat with only grades; `RBO` compares two runs.
        order: Order of documents in a run: `trec`, `clarke` or `rank`.
        float32: see `evaluate`.
        topics: Texts of queries, for `read_topics`: a note, or a column of the table.
        texts: Texts of documents, for `read_texts`: a column of the table.
        progress: called with `(stage, done, total)`.

    Returns:
        An `Explanation`, or a `Difference` if another run is named.

    Raises:
        UsageError: the run or query is unknown, or the measure cannot be taken apart.
        DataError: data are malformed.
    """
    judgments = {"preferences": preferences, "qrels": qrels, "context": context}
    judgments |= {"intent_qrels": intent_qrels, "intents": intents}
    opened = partial(runs_of, order=order, options=Options(float32=float32))
    if isinstance(measure, str) and measure.strip().partition("(")[0] == "RBO":
        result = _explain_rbo(opened, runs, query, run_id, other, measure, order)
    else:
        explainer = Explainer(judgments=judgments, measure=measure, order=order)

        def read(source: Any) -> list[str]:
            return explainer.read(opened(source), progress)

        result = explainer.result(*_chosen(read, runs, run_id, other), query)
    return _worded(result, topics, texts, progress)


def _worded(
    result: Explanation | Difference,
    topics: Any,
    texts: Any,
    progress: Progress | None,
) -> Explanation | Difference:
    """Add the text of the query as a note, and texts of documents as a column."""
    if topics is not None and (query := result.query_id):
        asked = read_topics(topics, only=[query]).get(query, "")
        result = replace(result, notes=(*result.notes, f"{query}: {asked}"))
    return replace(result, table=with_texts(result.table, topics, texts, progress))


def explain_scores(
    scores: Scores,
    measure: str,
    run_id: str,
    query: str | None,
    other: str | None,
    topics: Any,
    texts: Any,
    progress: Progress | None,
) -> Explanation | Difference:
    """Explain scores by the runs and judgments that they remember: `Scores.explain`.

    Raises:
        UsageError: runs or judgments are missing. DataError: they have changed since.
    """
    given = scores.remembered()
    runs, about = given.pop("runs", None), scores.metadata
    if runs is None or not given:
        kinds = ["runs", *about.get("judgments", ["preferences"])]
        arguments = ", ".join(f"{kind}=…" for kind in kinds)
        raise UsageError(
            "the runs and judgments of these scores are not in this process: give "
            f"them, explain(…, {arguments})"
        )
    names = [run_id] if other is None else [run_id, other]
    if unknown := [name for name in names if name not in scores.runs]:
        raise no_run(unknown[0], scores.runs)
    order, explainers = about.get("order", "trec"), vars(scores)["explainers"]
    choices = {"aspects": about.get("aspects"), "flips": about.get("flips")}
    with reading(**choices, **about.get("reading", {})):
        if measure not in explainers:
            explainer = Explainer(judgments=given, measure=measure, order=order)
            explainer.check_judgments(about.get("judgments", {}))
            explainers[measure] = explainer
        explainer = explainers[measure]
        if new := [name for name in names if name not in explainer.run_ids]:
            options = Options(float32=bool(about.get("float32")))
            explainer.read(runs_of(runs, order, options), progress, only=new)
    result = explainer.result(run_id, other, query)
    _check_scores(result, scores.matrix(measure))
    return _worded(result, topics, texts, progress)


def _check_scores(result: Explanation | Difference, scores: pd.DataFrame) -> None:
    """Refuse runs that differ from the scored ones.

    Raises:
        DataError: an explained score is not among the scores.
    """
    expected = scores.loc[result.run_id]
    if isinstance(result, Difference):
        expected = expected - scores.loc[result.other]
        column, value = "difference", result.difference
    else:
        column, value = "score", result.score
    if result.query_id:
        explained = pd.Series({result.query_id: value})
    else:
        explained = result.table.set_index("query_id")[column]
    far = (expected.reindex(explained.index) - explained).abs() > TOLERANCE
    for query in far.index[far.to_numpy()].tolist()[:1]:
        raise DataError(
            f"the {column} of query {query!r} is {explained[query]:.6f} by these runs "
            f"and judgments, and {expected[query]:.6f} in the scores",
            where=f"run {result.run_id!r}",
            mend=SCORED,
        )


def _explain_rbo(
    opened: Callable[[Any], Runs],
    runs: Any,
    query: str | None,
    run_id: str | None,
    other: Any,
    measure: str,
    order: str,
) -> Explanation:
    """Take RBO of two rankings apart; the other run replaces the ideal ranking.

    Ties are broken by the order of the runs, and RBO is extrapolated.
    """
    form = re.fullmatch(r"\s*RBO(?:\(p=([0-9.]+)\))?\s*", measure)
    p = float(form[1] or 0.9) if form else 0.0
    if not 0 < p < 1:
        raise UsageError(f"{measure}: expected RBO or RBO(p=…), p above 0 and below 1")
    if query is None or other is None:
        raise UsageError("RBO compares two runs on a query: name query= and other=")
    rankings: dict[str, list[str]] = {}

    def read(source: Any) -> list[str]:
        of_source = _of_query(opened(source), query, order)
        refuse_twice(of_source.keys() & rankings.keys())
        rankings.update(of_source)
        return sorted(of_source)

    run_id, other = _chosen(read, runs, run_id, other)
    if run_id not in rankings:
        raise no_run(run_id, sorted(rankings))
    run, ideal = rankings[run_id], rankings[other]
    parts = of_rbo(run, ideal, p)
    value = rbo(run, ideal, p=p, ties="broken")
    before = sum(parts.adds.values())
    change = {
        doc: sum(of_rbo(moved(run, doc, rank), ideal, p).adds.values()) - before
        for rank, doc in enumerate(ideal)
    }
    parts = replace(parts, score=value, moved=change)
    name = f"RBO(p={p:g})"
    about = {"version": __version__, "measure": name, "run_id": run_id}
    return Explanation(
        document_rows(parts),
        about | {"other": other, "query_id": query, "order": order},
        (f"{run_id}, {query}: {name} with {other} {value:.4f}",),
        measure=name,
        run_id=run_id,
        query_id=query,
        score=value,
        ideal=ideal,
        steps=parts.steps,
        depths=parts.depths,
        count=no_votes,
        turn=no_votes,
    )


def _of_query(runs: Runs, query: str, order: str) -> dict[str, list[str]]:
    """Read the rankings of one query, by run."""
    return {
        run: ordered(rows(), order)
        for frame in runs.tables()
        for run, of, rows in each_ranking(RunTable(frame))
        if of == query
    }


def _chosen(
    read: Callable[[Any], list[str]], runs: Any, run_id: str | None, other: Any
) -> tuple[str, str | None]:
    """Read runs; return the names of the run to explain and of the other, if any.

    Args:
        read: Function that reads a source of runs and returns their names.
        runs: First source.
        run_id: Run to explain; None takes the only one.
        other: Name of a run of this source, or source of another run.
    """
    names = read(runs)
    if other is not None and not (isinstance(other, str) and other in names):
        if isinstance(other, str) and not _is_path(other):
            raise no_run(other, names)
        other = _only(read(other))
    if run_id is None:
        run_id = _only([name for name in names if name != other])
    return run_id, other


def _is_path(text: str) -> bool:
    return is_remote(text) or glob.has_magic(text) or os.path.exists(text)


def _only(names: Sequence[str]) -> str:
    """Return the name of the one run.

    Raises:
        UsageError: there are several runs, or none.
    """
    if len(names) != 1:
        raise UsageError(f"name one of {len(names)} runs: {listed(names, 8)}")
    return names[0]
