"""Scores and differences explained: by documents, queries, and judgments.

All scores here, also of parts and of runs with a document moved, are those of the
engine's batches; that the parts sum to the score is checked each time.
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
        runs: what `read_runs` takes or returns.
        query: the query; all, and what each loses, if None.
        run_id: the run; it may be left out where there is one.
        other: a run that it is compared with: its name, or what `read_runs` takes.
        preferences: of judges; these and the other judgments are as of `evaluate`.
        qrels: grades.
        intent_qrels: grades per intent.
        intents: as of `evaluate`.
        context: likewise.
        measure: by default PGC, or Compat of grades alone; `RBO` compares two runs.
        order: of documents in a run: `trec`, `clarke` or `rank`.
        float32: as of `evaluate`.
        topics: what queries ask, as of `read_topics`, for a column of the table.
        texts: what documents say, as of `read_texts`.
        progress: called with `(stage, done, total)`.

    Returns:
        An `Explanation`, or a `Difference` where another run is named.

    Raises:
        UsageError: there is no such run or query, or the measure cannot be taken apart.
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
    """Add what the query asks as a note, and what documents say as a column."""
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
        UsageError: some are missing. DataError: they are not those that were scored.
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
    """Refuse runs that are not those which were scored.

    Raises:
        DataError: what is explained is not in the scores.
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
    """Take RBO of two rankings apart, the other one in the place of an ideal one.

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
    """Read runs, and name the one that is asked for and the other one, if any.

    Args:
        read: reads a source of runs, and returns their names.
        runs: the first source.
        run_id: the run; None if it is the only one.
        other: a run of this source, by its name, or the source of another one.
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
        UsageError: there are several, or none.
    """
    if len(names) != 1:
        raise UsageError(f"name one of {len(names)} runs: {listed(names, 8)}")
    return names[0]
