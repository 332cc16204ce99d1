"""Preferences between two runs: by relevant documents, or by scores."""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool

from pgcjax._version import __version__
from pgcjax.engine import plan, preference_tiles
from pgcjax.engine.evaluate import evaluate
from pgcjax.engine.job import Job
from pgcjax.engine.preference_result import Preferences
from pgcjax.engine.preference_tally import PreferenceTally, bytes_of
from pgcjax.engine.request import check_needs, runs_of
from pgcjax.engine.verify_pairs import PairSample
from pgcjax.errors import (
    DataError,
    DataWarning,
    Progress,
    UsageError,
    check_choice,
    counted,
    listed,
    outside,
    shared,
)
from pgcjax.io.check import check_common_queries, fingerprint
from pgcjax.io.choices import MISSING, ORDERS
from pgcjax.io.judged import JudgedDocuments
from pgcjax.io.judgments import by_kind, read_judgments
from pgcjax.io.reading import memory_limit, reading
from pgcjax.io.runs import Runs
from pgcjax.measures.between_rankings import BetweenRankings, PairTensors, parse
from pgcjax.measures.catalogue import tell_merged
from pgcjax.measures.measure import Measure
from pgcjax.stats.rounding import slack
from pgcjax.stats.scores import Scores
from pgcjax.stats.tests import all_pairs
from pgcjax.tensors.judgments import Judgments
from pgcjax.tensors.rankings import Rankings, read_rankings

DEFAULTS = {
    "qrels": ("RPP", "lexiprecision", "lexirecall"),
    "intent_qrels": ("RPP(subtopics=covered)", "RPP(subtopics=mean)"),
    "preferences": ("PGC", "wpref", "ppref"),
}
"""Measures that are taken where none is named, by kinds of judgments."""


def prefer(
    runs: Any,
    *,
    qrels: Any = None,
    preferences: Any = None,
    intent_qrels: Any = None,
    intents: Any = None,
    context: Any = None,
    measures: str | Iterable[str] | None = None,
    order: str = "trec",
    missing: str = "zero",
    per_query: bool = False,
    verify: float = 0.0,
    memory: str | int | None = None,
    progress: Progress | None = None,
) -> Preferences:
    """Find which run of each pair is preferred, query by query.

    Args:
        runs: Input or result of `read_runs`.
        qrels: Grades; see `evaluate` for these and the other judgments.
        preferences: Judgments of pairs of documents.
        intent_qrels: Grades per intent, for `subtopics=`.
        intents: Probabilities of the intents.
        context: Grades of documents after other documents.
        measures: Measures of two rankings: `RPP`, `lexiprecision`, `rrlexiprecision`,
            `lexirecall`; any measure of `evaluate` prefers the run of the higher score,
            by the difference. By default those of `DEFAULTS`.
        order: Order of documents in a run: `trec`, `clarke` or `rank`.
        missing: Queries that a run lacks count as if it retrieved nothing (`zero`), are
            left out of its pairs (`skip`), or are an `error`.
        per_query: whether to keep preferences by query, for tests and MC4.
        verify: Share of preferences that twins recompute, with scores; see `evaluate`.
        memory: Bytes that work may take, or a size such as `2GB`.
        progress: called with `(stage, done, total)`.

    Raises:
        DataError: the data cannot be compared. UsageError: an argument is wrong.
    """
    check_choice("order", order, ORDERS)
    check_choice("missing", missing, MISSING)
    kinds = {"qrels": qrels, "preferences": preferences, "context": context}
    sources = by_kind({**kinds, "intent_qrels": intent_qrels, "intents": intents})
    names = _asked(measures, sources)
    chosen = list(dict.fromkeys(map(parse, names)))
    check_needs(chosen, {*sources, "levels"})  # evaluate looks for these
    job, sample = Job(memory=memory, progress=progress), PairSample(verify, order)
    settings: dict[str, Any] = {"order": order, "missing": missing, "verify": verify}
    with reading(memory=memory):
        runs = runs_of(runs)
        ranked = ComparedRankings.read(runs, chosen, sources, sample, job, **settings)
        sources |= ranked.tables if ranked else {}
        others = [m for m in chosen if not isinstance(m, BetweenRankings)]
        settings |= {"measures": others, "job": job}
        scores = evaluate(runs, **sources, **settings) if others else None
    run_ids, tallies = _compare(chosen, ranked, scores, missing, per_query, job)
    about: dict[str, Any] = {"version": __version__, "order": order}
    about |= {"missing": missing, "measures": [m.in_full() for m in chosen]}
    notes = [*runs.notes, *tell_merged(names, parse)]
    return _result(about, notes, run_ids, tallies, ranked, scores, sample)


def _compare(
    measures: Sequence[Measure],
    ranked: "ComparedRankings | None",
    scores: Scores | None,
    missing: str,
    per_query: bool,
    job: Job,
) -> tuple[list[str], dict[str, PreferenceTally]]:
    """Compare all pairs of runs by each measure."""
    limits = plan.MemoryLimits(memory_limit(job.memory))
    run_ids = ranked.run_ids if ranked else scores.runs if scores else []
    if len(run_ids) == 1:
        raise DataError(
            f"run {run_ids[0]!r} is the only one",
            mend="Give another run to compare it with.",
        )
    pairs = all_pairs(len(run_ids))
    names = list(map(str, measures))
    tallies = {m: PreferenceTally(pairs, len(run_ids), per_query) for m in names}
    _check_memory(len(pairs[0]), ranked, scores, per_query, limits.memory)
    if ranked:
        ranked.compare(tallies, missing, limits.tile, progress=job.progress)
    for name in names:
        if scores and not (ranked and name in ranked.tensors):
            _add_differences(tallies[name], scores.matrix(name).loc[run_ids])
    return run_ids, tallies


def _result(
    about: dict[str, Any],
    notes: list[str],
    run_ids: list[str],
    tallies: dict[str, PreferenceTally],
    ranked: "ComparedRankings | None",
    scores: Scores | None,
    sample: PairSample,
) -> Preferences:
    """Put preferences, notes and metadata together, and verify the table."""
    about["judgments"] = {}
    if ranked:
        about["judgments"] |= {k: fingerprint(ranked.tables[k]) for k in ranked.tables}
        notes += ranked.notes
    if scores:
        about["judgments"] |= scores.metadata["judgments"]
        notes += scores.notes
    notes = [*dict.fromkeys(notes)]
    verified = ranked is not None and ranked.check is not None
    if ranked and verified:
        count = sum(sum(tallies[name].counted) for name in ranked.tensors)
        notes.append(f"{sample.count} of {count} preferences recomputed: equal")
    pairs = len(run_ids) * (len(run_ids) - 1) // 2
    notes.append(f"{counted(len(run_ids), 'run')}, {counted(pairs, 'pair')} of them")
    preferences = Preferences(about, tuple(notes), run_ids=run_ids, tallies=tallies)
    if verified:
        sample.check_table(preferences.table)
    return preferences


def _asked(
    measures: str | Iterable[str] | None, sources: Mapping[str, Any]
) -> list[str]:
    if measures is None:
        measures = [m for k, names in DEFAULTS.items() if k in sources for m in names]
        if not measures:
            raise UsageError(
                "no judgments: give qrels=…, preferences=… or intent_qrels=…; --qrels "
                "FILE, --prefs FILE, --intent-qrels FILE on the command line"
            )
    several = isinstance(measures, Iterable) and not isinstance(measures, str)
    given: list[Any] = [*measures] if several else [measures]
    if not given:
        raise UsageError("no measure was asked for")
    return given


def _kinds(measures: Sequence[Measure], sources: Mapping[str, Any]) -> set[str]:
    """List the kinds of judgments that measures of two rankings take."""
    needs = {n for m in measures for n in m.needs}
    return needs | ({"intents"} & set(sources) if "intent_qrels" in needs else set())


@dataclass(frozen=True)
class ComparedRankings:
    """Data that measures of two rankings compare.

    Attributes:
        tensors: Tensors of each measure, by name.
        rankings: Rankings of the documents that the measures need.
        runs: Places of the runs in the rankings, ascending by name.
        run_ids: Names of the runs.
        tables: Judgments.
        check: Function that compares the preferences by a measure with its twin.
        notes: Notes on queries.
    """

    tensors: dict[str, PairTensors]
    rankings: Rankings
    runs: np.ndarray
    run_ids: list[str]
    tables: Mapping[str, pd.DataFrame]
    check: Callable[..., None] | None = None
    notes: tuple[str, ...] = ()

    @classmethod
    def read(
        cls,
        runs: Runs,
        measures: Sequence[Measure],
        sources: Mapping[str, Any],
        sample: PairSample,
        job: Job,
        *,
        order: str,
        missing: str,
        verify: float,
    ) -> "ComparedRankings | None":
        """Read judgments, and runs for them, for measures of two rankings, if any."""
        between = {str(m): m for m in measures if isinstance(m, BetweenRankings)}
        if not between:
            return None
        kinds = _kinds([*between.values()], sources)
        tables = read_judgments({kind: sources[kind] for kind in kinds})
        judgments = Judgments(tables)
        tensors = {name: m.prepare(judgments) for name, m in between.items()}
        docs = {id(t.levels.docs): t.levels.docs for t in tensors.values()}
        judged = JudgedDocuments(*docs.values())
        settings: dict[str, Any] = {"documents": plan.settings.rows}
        settings["progress"] = job.progress
        if verify:
            settings["seen"] = partial(sample.take, judged=judged.docs)
        rankings = read_rankings(runs, judged, order, **settings)
        names = rankings.run_ids
        by = sorted(range(len(names)), key=names.__getitem__)
        check = sample.checker(between, tables, missing) if verify else None
        run_ids = [names[i] for i in by]
        ranked = cls(tensors, rankings, np.array(by), run_ids, tables, check)
        return replace(ranked, notes=tuple(ranked.told(missing)))

    @property
    def queries(self) -> dict[str, list[str]]:
        """The queries that each measure can compare, ascending, by its name."""
        every = {name: t.levels.of_query for name, t in self.tensors.items()}
        return {name: [q for q in of if of[q]] for name, of in every.items()}

    def has(self, queries: list[str]) -> Bool[np.ndarray, "runs queries"]:
        """Find which run has which query."""
        return self.rankings.answered(queries)[self.runs]

    def told(self, missing: str) -> list[str]:
        """Warn of queries that runs lack, or refuse them; note queries without targets.

        Raises:
            DataError: runs and judgments have no query in common, or a run lacks one
                and `missing` is `error`.
        """
        warned, notes = [], []
        for name, queries in self.queries.items():
            judged = self.tensors[name].levels.of_query
            check_common_queries(judged, self.rankings.query_ids)
            has = self.has(queries)
            if missing == "error" and not has.all():
                run, query = np.argwhere(~has)[0]
                raise DataError(
                    f"run {self.run_ids[run]!r} lacks query {queries[query]!r}, which "
                    f"is judged for {name}",
                    mend="Complete it, or choose missing zero or skip.",
                )
            if not has.all():
                lacking = [self.run_ids[i] for i in np.flatnonzero(~has.all(axis=1))]
                effect = "as if it had found nothing"
                if missing == "skip":
                    effect = "left out of its pairs"
                lack = f"judged queries are missing in {counted(len(lacking), 'run')}"
                how_many = counted(int((~has).sum()), "query")
                lack += f" ({listed(lacking)}), {how_many} in all: {effect}"
                warned.append((name, lack))
            note = counted(len(queries), "query")
            if void := len(judged) - len(queries):
                note += f"; nothing to find for {counted(void, 'query')}: left out"
            notes.append((name, note))
        for line in shared(warned):
            warnings.warn(line, DataWarning, stacklevel=outside())
        return shared(notes)

    def compare(
        self,
        tallies: Mapping[str, PreferenceTally],
        missing: str,
        budget: int,
        *,
        progress: Progress | None = None,
    ) -> None:
        """Compare all pairs of runs, pass the results to `check`, and add them up."""
        names, tensors = list(self.tensors), list(self.tensors.values())
        settings: dict[str, Any] = {"budget": budget, "progress": progress}
        counted_pairs = preference_tiles.compare(
            tensors, self.rankings, self.runs, **settings
        )
        for query, measure, values in counted_pairs:
            if self.check:
                self.check(names[measure], query, self.run_ids, values)
            has = self.has([query])[:, 0] if missing == "skip" else None
            tallies[names[measure]].add(query, values, has)


def _check_memory(
    pairs: int,
    ranked: ComparedRankings | None,
    scores: Scores | None,
    per_query: bool,
    memory: int,
) -> None:
    """Refuse results that memory cannot hold, before they are computed."""
    queries = [len(q) for q in ranked.queries.values()] if ranked else []
    if scores:
        queries += [scores.matrix(m).shape[1] for m in scores.measures]
    size = bytes_of(pairs, queries, per_query)
    if size > memory:
        raise UsageError(
            f"{counted(pairs, 'pair')} of runs by {counted(len(queries), 'measure')} "
            f"take {size >> 20:,} MiB, and {memory >> 20:,} MiB are allowed: allow "
            "more by memory= (--memory), or take fewer runs or measures"
            + (", or no values of queries" if per_query else "")
        )


def _add_differences(tally: PreferenceTally, scores: pd.DataFrame) -> None:
    """Add the differences of scores as preferences, for each query of a matrix."""
    first, second = tally.pairs
    values = np.ascontiguousarray(scores.to_numpy(np.float64).T)
    for query, of_query in zip(map(str, scores.columns), values, strict=True):
        has = ~np.isnan(of_query)
        a, b = (np.where(has, of_query, 0.0)[side] for side in (first, second))
        tally.add(query, a - b, None if has.all() else has, slack(a, b))
