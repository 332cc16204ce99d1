"""Scores and differences explained: by documents, queries, and judgments.

All scores here, also of parts and of runs with a document moved, are those of the
engine's batches; that the parts sum to the score is checked each time.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from pgcjax._version import __version__
from pgcjax.engine.batch import Member
from pgcjax.engine.explanation import Difference, Explanation
from pgcjax.engine.request import ScoringRequest, read_request, runs_of
from pgcjax.engine.score_parts import (
    ScoreParts,
    ideal_list,
    moved,
    of_queries,
    of_rbo,
    parts_of,
    ranked,
    ranks_in,
    score,
    scores_of,
)
from pgcjax.engine.similarity import rbo
from pgcjax.engine.variant_batch import VariantGraphs, VariantScores, check_variants
from pgcjax.engine.verify import TOLERANCE, each_ranking
from pgcjax.errors import (
    DataError,
    Progress,
    UsageError,
    VerificationError,
    counted,
    listed,
)
from pgcjax.io.check import fingerprint
from pgcjax.io.reading import reading
from pgcjax.io.remote import is_remote
from pgcjax.io.runs import Options, Runs, RunTable
from pgcjax.io.texts import read_topics, with_texts
from pgcjax.judging.variants import turned
from pgcjax.judging.votes import PAIR, TALLY, directed, tally_votes
from pgcjax.kernels import ABSENT
from pgcjax.later import pd
from pgcjax.measures.measure import Measure
from pgcjax.reference.order import ordered
from pgcjax.stats.scores import Scores
from pgcjax.tensors.measure_tensors import ListTensors, PeelTensors, TiedTensors
from pgcjax.tensors.rankings import read_rankings

_SCORED = "Give the runs and judgments that were scored."
# What stands for documents that packed runs do not name: no judged one is called so.
UNNAMED = "\N{WHITE SQUARE}\N{BLACK SQUARE}"


def explain(  # noqa: D417 - a line for each argument would be one too many
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
    """Take a score, or the difference of two runs, apart.

    Args:
        runs: what `read_runs` takes or returns.
        query: the query; all, and what each loses, if None.
        run_id: the run; it may be left out where there is one.
        other: a run that it is compared with: its name, or what `read_runs` takes.
        preferences: of judges; these and the other judgments are as of `evaluate`.
        qrels: grades.
        intent_qrels: grades per intent.
        intents: as of `evaluate`.
        context: as of `evaluate`.
        measure: one; PGC of preferences, Compat of grades alone, if None. `RBO` or
            `RBO(p=0.9)` compares with the other run, and takes no judgments.
        order: of documents in a run: `trec`, `clarke` or `rank`.
        float32: as of `evaluate`.
        topics: what queries ask, as of `read_topics`, for a column of the table ...
        texts: ... and what documents say, as of `read_texts`.
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
    question = opened, runs, query, run_id, other
    if isinstance(measure, str) and measure.strip().partition("(")[0] == "RBO":
        result = _explain_rbo(*question, measure, order)
    else:
        result = _explain(*question, measure, order, judgments, progress)
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


def _explain(
    opened: Callable[[Any], Runs],
    runs: Any,
    query: str | None,
    run_id: str | None,
    other: Any,
    measure: str | Measure | None,
    order: str,
    judgments: Mapping[str, Any],
    progress: Progress | None,
) -> Explanation | Difference:
    """Explain by judgments; arguments are as of `explain`."""
    explainer = Explainer(judgments=judgments, measure=measure, order=order)

    def read(source: Any) -> list[str]:
        return explainer.read(opened(source), progress)

    run_id, other = _chosen(read, runs, run_id, other)
    if other is None:
        return explainer.explain(run_id, query)
    return explainer.difference(run_id, other, query)


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
        raise _no_run(unknown[0], scores.runs)
    order, explainers = about.get("order", "trec"), vars(scores)["explainers"]
    with reading(aspects=about.get("aspects"), flips=about.get("flips")):
        if measure not in explainers:
            explainer = Explainer(judgments=given, measure=measure, order=order)
            explainer.check_judgments(about.get("judgments", {}))
            explainers[measure] = explainer
        explainer = explainers[measure]
        if new := [name for name in names if name not in explainer.run_ids]:
            options = Options(float32=bool(about.get("float32")))
            explainer.read(runs_of(runs, order, options), progress, only=new)
    if other is None:
        result = explainer.explain(run_id, query)
    else:
        result = explainer.difference(run_id, other, query)
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
            mend=_SCORED,
        )


class Explainer:
    """Runs and judgments that are read once, to explain many scores.

    Attributes:
        measure: by which runs are scored.
        order: of documents in a run.
        query_ids: the judged queries, ascending.
    """

    def __init__(
        self,
        *,
        judgments: Mapping[str, Any],
        measure: str | Measure | None = None,
        order: str = "trec",
    ):
        """Read judgments for a measure.

        Args:
            judgments: by the names that `evaluate` gives them; None is nothing.
            measure: one; PGC of preferences, Compat of grades alone, if None.
            order: of documents in a run: `trec`, `clarke` or `rank`.

        Raises:
            UsageError: the measure cannot be taken apart. DataError: judgments are
                malformed.
        """
        if measure is None:
            real = judgments.get("preferences") is not None
            measure = "PGC" if real else "Compat"
        self._request = read_request(judgments, measure, order)
        self._request.check_means("what is explained is")
        self._member = _explained(self._request)
        self.measure, self.order = str(self._member.measure), order
        self.query_ids = list(self._member.tensors.docs)
        self._rankings: dict[str, dict[str, list[str]]] = {}
        self._tallies: dict[str, pd.DataFrame] = {}

    def check_judgments(self, expected: Mapping[str, str]) -> None:
        """Compare judgments with those by which scores were made.

        Args:
            expected: fingerprints, as in the metadata of scores.

        Raises:
            DataError: some differ.
        """
        tables = self._request.columns_of_judgments
        differ = [
            name
            for name, digest in expected.items()
            if name in tables and fingerprint(tables[name]) != digest
        ]
        if differ:
            raise DataError(
                "they are not those by which the scores were made",
                where=", ".join(differ),
                mend=_SCORED,
            )

    @property
    def run_ids(self) -> list[str]:
        """The runs that were read, ascending."""
        return sorted(self._rankings)

    def read(
        self,
        runs: Runs,
        progress: Progress | None = None,
        only: Collection[str] | None = None,
    ) -> list[str]:
        """Read the rankings of judged queries.

        Args:
            runs: the runs.
            progress: called with `("reading", done, total)`.
            only: names of those to keep; all if None.

        Returns:
            The runs that were kept, ascending.

        Raises:
            DataError: a run is malformed, or was read before.
        """
        judged = self._request.judged
        read: dict[str, dict[str, list[str]]] = {}

        def keep(table: Any) -> None:
            for run, query, rows in each_ranking(table):
                if only is not None and run not in only:
                    continue
                of_run = read.setdefault(run, {})
                if query in judged.number:
                    docs = ordered(rows(), self.order)
                    of_run[query] = [doc.replace("\0", UNNAMED) for doc in docs]

        read_rankings(runs, judged, self.order, seen=keep, progress=progress)
        _refuse_twice(read.keys() & self._rankings.keys())
        self._rankings |= read
        return sorted(read)

    def explain(self, run_id: str, query_id: str | None = None) -> Explanation:
        """Take the score of a run for a query apart; its mean by queries if None.

        Raises:
            UsageError: there is no such run, or no such query is judged.
        """
        self._check(run_id, query_id)
        if query_id is None:
            table = self._losses(run_id)
            mean = float(table["score"].mean())
            parts = ScoreParts([], {}, {}, pd.DataFrame(), pd.DataFrame())
            votes = pd.DataFrame()
        else:
            run = self._list(run_id, query_id)
            parts = parts_of(self._request, self._member, query_id, run)
            others = [moved(run, doc, rank) for rank, doc in enumerate(parts.ideal)]
            mean, *scores = self._scores(run_id, query_id, parts, others)
            change = dict(zip(parts.ideal, np.subtract(scores, mean), strict=True))
            table, votes = _rows(run, parts, change), self._votes(query_id)
            place = {doc: i for i, doc in enumerate(parts.ideal)}
            above, below = (votes[name].map(place) for name in PAIR[1:])
            votes = votes.drop(columns="query_id").assign(kept=above < below)
        about = self._about(run_id, query_id) | {"score": mean}
        note = f"{run_id}, {query_id or 'all queries'}: {self.measure} {mean:.4f}"
        if query_id is not None:
            note += f" of {sum(parts.ideal_adds.values()):.4f} for the ideal ranking"
            if not self._list(run_id, query_id):
                note += "; the run lacks the query"
        return Explanation(
            table,
            about,
            (note,),
            measure=self.measure,
            run_id=run_id,
            query_id=query_id or "",
            score=mean,
            ideal=parts.ideal,
            steps=parts.steps,
            votes=votes,
            depths=parts.depths,
            turn=partial(self.judgments, run_id, query_id=query_id),
        )

    def difference(
        self, run_id: str, other: str, query_id: str | None = None
    ) -> Difference:
        """Tell which documents, or which queries if None is named, make a difference.

        Raises:
            UsageError: there is no such run, or no such query is judged.
        """
        self._check(run_id, query_id, other)
        decisive: list[str] = []
        if query_id is None:
            table = self._both(run_id, other)
            difference = float(table["difference"].mean())
            decisive = _decisive(table)
        else:
            parts = [self._part(run, query_id) for run in (run_id, other)]
            table = _documents(*parts)
            difference = parts[0].score - parts[1].score
        notes = [f"{run_id} - {other}: {difference:.4f} by {self.measure}"]
        if decisive:
            notes.append(
                f"without {counted(len(decisive), 'query')} of {len(table)} the order "
                f"is the other one: {listed(decisive, 10)}"
            )
        return Difference(
            table,
            self._about(run_id, query_id) | {"other": other},
            tuple(notes),
            measure=self.measure,
            run_id=run_id,
            other=other,
            query_id=query_id or "",
            difference=difference,
            decisive=decisive,
            turn=partial(self.judgments, run_id, other, query_id=query_id),
        )

    def judgments(
        self,
        run_id: str,
        other: str | None = None,
        *,
        query_id: str | None = None,
        progress: Progress | None = None,
    ) -> pd.DataFrame:
        """Compute what each judgment would change if it were the other way.

        Args:
            run_id: whose score, or mean score, would change ...
            other: ... or its difference to that of this run.
            query_id: the query; all if None.
            progress: called with `("judgments", done, total)`.

        Returns:
            See `Explanation.judgments`; the largest change first.

        Raises:
            UsageError: the measure is not PGC of preferences.
        """
        check_variants(self._member, "turning judgments round")
        self._check(run_id, query_id, other)
        queries = self.query_ids if query_id is None else [query_id]
        runs = [run_id] if other is None else [run_id, other]
        member = of_queries(self._member, queries)
        lists = {run: {q: self._list(run, q) for q in queries} for run in runs}
        table = self._request.tables["preferences"]
        table = table[table["query_id"].isin(queries)].reset_index(drop=True)
        votes, variants, rows = turned(table)
        change = np.zeros((len(variants.names), len(queries)))
        if any(docs for of_run in lists.values() for docs in of_run.values()):
            before = score(self._request, member, lists)
            batch = VariantScores(VariantGraphs(member, votes), variants, "judgments")
            rankings = ranked(member, lists)
            after = batch.score(rankings, progress)[:, 0]
            for place, run in enumerate(rankings.run_ids):
                sign = 1 if run == run_id else -1
                change += sign * (after[:, place] - before[runs.index(run)])
        turns = pd.concat(
            [
                table.iloc[rows[query]].assign(change=of_query[: len(rows[query])])
                for query, of_query in zip(
                    member.tensors.docs, change.T / len(queries), strict=True
                )
                if query in rows
            ]
            or [table.assign(change=0.0)[:0]]
        )
        turns = directed(turns).drop_duplicates([*PAIR, "change"])
        turns = turns[[*PAIR, "change"]].merge(tally_votes(table), on=PAIR, how="left")
        turns["size"] = -turns["change"].abs()
        turns = turns.sort_values(["size", *PAIR], kind="stable", ignore_index=True)
        return turns[[*TALLY, "change"]]

    def _check(
        self, run_id: str, query_id: str | None, other: str | None = None
    ) -> None:
        for name in (run_id,) if other is None else (run_id, other):
            if name not in self._rankings:
                raise _no_run(name, self.run_ids)
        if run_id == other:
            raise UsageError(f"a difference is of two runs, and both are {run_id!r}")
        if query_id is not None and query_id not in self._member.tensors.docs:
            raise UsageError(
                f"query {query_id!r} is not judged; there are "
                f"{listed(self.query_ids, 8)}"
            )

    def _list(self, run_id: str, query_id: str) -> list[str]:
        return self._rankings[run_id].get(query_id, [])

    def _about(self, run_id: str, query_id: str | None) -> dict[str, Any]:
        about = {"version": __version__, "measure": self._member.measure.in_full()}
        about |= {"run_id": run_id, "order": self.order}
        return about if query_id is None else about | {"query_id": query_id}

    def _part(self, run_id: str, query_id: str) -> _Part:
        run = self._list(run_id, query_id)
        parts = parts_of(self._request, self._member, query_id, run)
        (value,) = self._scores(run_id, query_id, parts)
        return _Part(run, parts, value)

    def _scores(
        self,
        run_id: str,
        query_id: str,
        parts: ScoreParts,
        others: Sequence[Sequence[str]] = (),
    ) -> list[float]:
        """Score a run, which the parts must sum to, and other rankings of the query."""
        lists = [self._list(run_id, query_id), *others]
        values = scores_of(self._request, self._member, query_id, lists).tolist()
        total = sum(parts.adds.values())
        if not abs(total - values[0]) <= TOLERANCE:
            raise VerificationError(
                f"run {run_id!r}, query {query_id!r}: {self.measure} is {values[0]!r}, "
                f"its parts sum to {total!r}. This is a defect of pgcjax: please "
                "report it with the data"
            )
        return values

    def _losses(self, run_id: str) -> pd.DataFrame:
        """List what each query loses against its ideal ranking."""
        rows = []
        for query in self.query_ids:
            if isinstance(self._member.tensors, PeelTensors):
                part = self._part(run_id, query)
                value, best = part.score, sum(part.parts.ideal_adds.values())
            else:
                run, known = self._list(run_id, query), (self._request, self._member)
                ideal = ideal_list(*known, query, run)
                value, best = scores_of(*known, query, [run, ideal]).tolist()
                best = best if ideal else np.nan  # it has none
            rows.append((query, value, best, best - value))
        table = pd.DataFrame(rows, columns=["query_id", "score", "ideal_score", "loss"])
        by, ascending = ["loss", "score", "query_id"], [False, True, True]
        return table.sort_values(by, ascending=ascending, ignore_index=True)

    def _both(self, run_id: str, other: str) -> pd.DataFrame:
        """List the scores of two runs by query, the largest differences first."""
        lists = {
            run: {query: self._list(run, query) for query in self.query_ids}
            for run in (run_id, other)
        }
        scores = score(self._request, of_queries(self._member, self.query_ids), lists)
        columns = {"query_id": self.query_ids, "score": scores[0]}
        table = pd.DataFrame(columns | {"other_score": scores[1]})
        table["difference"] = table["score"] - table["other_score"]
        return _largest_first(table, "query_id")

    def _votes(self, query_id: str) -> pd.DataFrame:
        """Count the votes on pairs of documents of a query."""
        if "preferences" not in self._member.measure.needs:
            return no_votes()
        if query_id not in self._tallies:
            table = self._request.tables["preferences"]
            self._tallies[query_id] = tally_votes(table[table["query_id"] == query_id])
        return self._tallies[query_id]


class _Part(NamedTuple):
    """A run, and what its documents add to its score."""

    run: list[str]
    parts: ScoreParts
    score: float


def _explained(request: ScoringRequest) -> Member:
    """Return the one measure; refuse one that cannot be taken apart.

    Raises:
        UsageError: there are several, or it is none of overlap or of lists.
    """
    if len(request.members) != 1:
        raise UsageError(f"explain takes one measure, not {len(request.members)}")
    (member,) = request.members
    kind = type(member.tensors)
    if kind is TiedTensors:
        raise UsageError(
            f"{member.measure}: ties={member.tensors.ties} is of many ideal rankings; "
            "explain PGC without ties"
        )
    if not issubclass(kind, (PeelTensors, ListTensors)):
        raise UsageError(
            f"{member.measure}: explain takes measures of ranked lists, not of grids"
        )
    return member


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
        _refuse_twice(of_source.keys() & rankings.keys())
        rankings.update(of_source)
        return sorted(of_source)

    run_id, other = _chosen(read, runs, run_id, other)
    if run_id not in rankings:
        raise _no_run(run_id, sorted(rankings))
    run, ideal = rankings[run_id], rankings[other]
    parts = of_rbo(run, ideal, p)
    value = rbo(run, ideal, p=p, ties="broken")
    before = sum(parts.adds.values())
    change = {
        doc: sum(of_rbo(moved(run, doc, rank), ideal, p).adds.values()) - before
        for rank, doc in enumerate(ideal)
    }
    name = f"RBO(p={p:g})"
    about = {"version": __version__, "measure": name, "run_id": run_id}
    return Explanation(
        _rows(run, parts, change),
        about | {"other": other, "query_id": query, "order": order},
        (f"{run_id}, {query}: {name} with {other} {value:.4f}",),
        measure=name,
        run_id=run_id,
        query_id=query,
        score=value,
        ideal=ideal,
        steps=parts.steps,
        votes=no_votes(),
        depths=parts.depths,
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


def no_votes() -> pd.DataFrame:
    """Return the table of votes where there are none."""
    return pd.DataFrame({name: pd.Series(dtype=object) for name in TALLY})


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
    if isinstance(other, str) and other not in names and not _is_path(other):
        raise _no_run(other, names)
    if other is not None and not (isinstance(other, str) and other in names):
        other = _only(read(other))
    if run_id is None:
        run_id = _only([name for name in names if name != other])
    return run_id, other


def _refuse_twice(names: Collection[str]) -> None:
    """Refuse runs that are in two sources, by a DataError."""
    if names:
        problem = f"run {min(names)!r} is in both sources"
        raise DataError(problem, where="runs", mend="Rename one of them.")


def _is_path(text: str) -> bool:
    return is_remote(text) or glob.has_magic(text) or os.path.exists(text)


def _no_run(name: str, names: Sequence[str]) -> UsageError:
    return UsageError(f"there is no run {name!r}; there are {listed(names, 8)}")


def _only(names: Sequence[str]) -> str:
    """Return the name of the one run.

    Raises:
        UsageError: there are several, or none.
    """
    if len(names) != 1:
        raise UsageError(f"name one of {len(names)} runs: {listed(names, 8)}")
    return names[0]


def _ranks(run: Sequence[str], parts: ScoreParts) -> pd.DataFrame:
    """List documents by rank, those that a run lacks behind: doc_id, rank, ideal_rank.

    Those whose names packed runs do not have are left out.
    """
    docs = [
        doc
        for doc in dict.fromkeys([*run, *parts.ideal])
        if not doc.startswith(UNNAMED)
    ]
    columns: dict[str, Any] = {"doc_id": pd.Series(docs, dtype="str")}
    for name, ranking in (("rank", run), ("ideal_rank", parts.ideal)):
        ranks = pd.array(ranks_in(ranking, docs) + 1, dtype="Int64")
        ranks[np.asarray(ranks) > ABSENT] = pd.NA
        columns[name] = ranks
    return pd.DataFrame(columns)


def _rows(
    run: Sequence[str], parts: ScoreParts, change: Mapping[str, float]
) -> pd.DataFrame:
    """List documents by rank, with what they add, and what moving them changes."""
    table, rules = _ranks(run, parts), parts.rules
    docs = table["doc_id"].tolist()
    table["rule"] = pd.Series([rules.get(doc, "") for doc in docs], dtype="str")
    by_doc = {"adds": parts.adds, "ideal_adds": parts.ideal_adds, "moved": change}
    for name, values in by_doc.items():
        table[name] = [float(values.get(doc, 0.0)) for doc in docs]
    return table


def _documents(one: _Part, other: _Part) -> pd.DataFrame:
    """List the documents of two runs by what they make of the difference."""
    tables = []
    for part in (one, other):
        table = _ranks(part.run, part.parts)
        adds = [part.parts.adds.get(doc, 0.0) for doc in table["doc_id"]]
        tables.append(table.assign(adds=adds).set_index("doc_id"))
    first, second = tables
    second.columns = [f"other_{name}" for name in second]
    table = first.join(second, how="outer").fillna({"adds": 0.0, "other_adds": 0.0})
    table["difference"] = table["adds"] - table["other_adds"]
    names = ["rank", "other_rank", "ideal_rank", "other_ideal_rank", "adds"]
    table = table[[*names, "other_adds", "difference"]].reset_index()
    return _largest_first(table, "doc_id")


def _largest_first(table: pd.DataFrame, name: str) -> pd.DataFrame:
    size = -table["difference"].abs()
    table = table.assign(size=size).sort_values(["size", name], ignore_index=True)
    return table.drop(columns="size")


def _decisive(table: pd.DataFrame) -> list[str]:
    """List the fewest queries without which the sum of differences has another sign."""
    total = table["difference"].sum()
    against = table[np.sign(table["difference"]) == np.sign(total)]
    left = total - against["difference"].cumsum()
    turned_round = np.flatnonzero(np.sign(left) == -np.sign(total))
    if not total or not len(turned_round):
        return []
    return against["query_id"].head(int(turned_round[0]) + 1).tolist()
