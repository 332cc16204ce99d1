"""Runs and judgments that are read once, to take many scores apart."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from pgcjax._version import __version__
from pgcjax.engine.batch import Member
from pgcjax.engine.explanation import Difference, Explanation
from pgcjax.engine.request import ScoringRequest, read_request
from pgcjax.engine.score_parts import (
    ScoreParts,
    ideal_adds,
    ideal_lists,
    laid_out,
    of_queries,
    parts_of,
    ranks_in,
    scores_of,
)
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
from pgcjax.io.runs import Runs
from pgcjax.judging.tally import PAIR, TALLY, directed, tally_votes
from pgcjax.judging.variants import turned
from pgcjax.kernels import ABSENT
from pgcjax.later import pd
from pgcjax.measures.measure import Measure
from pgcjax.reference.order import ordered
from pgcjax.tensors.measure_tensors import ListTensors, PeelTensors, TiedTensors
from pgcjax.tensors.rankings import read_rankings

SCORED = "Give the runs and judgments that were scored."
# What stands for documents that packed runs do not name: no judged one is called so.
UNNAMED = "\N{WHITE SQUARE}\N{BLACK SQUARE}"
_AT_ONCE = 2**24  # documents of the rankings of a batch, of the order of


class Explainer:
    """Runs and judgments that are read once, to explain many scores.

    Attributes:
        measure: by which runs are scored.
        order: Order of documents in a run.
        query_ids: the judged queries, ascending.
        request: the judgments, and the measure.
        member: the measure, with its tensors.
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
            order: Order of documents in a run: `trec`, `clarke` or `rank`.

        Raises:
            UsageError: the measure cannot be taken apart. DataError: judgments are
                malformed.
        """
        if measure is None:
            real = judgments.get("preferences") is not None
            measure = "PGC" if real else "Compat"
        self.request = read_request(judgments, measure, order)
        self.request.check_means("explanations are")
        self.member = _explained(self.request)
        self.measure, self.order = str(self.member.measure), order
        self.query_ids = list(self.member.tensors.docs)
        self._rankings: dict[str, dict[str, list[str]]] = {}

    def check_judgments(self, expected: Mapping[str, str]) -> None:
        """Compare judgments with those by which scores were made.

        Args:
            expected: fingerprints, as in the metadata of scores.

        Raises:
            DataError: some differ.
        """
        tables = self.request.columns_of_judgments
        differ = [
            name
            for name, digest in expected.items()
            if name in tables and fingerprint(tables[name]) != digest
        ]
        if differ:
            raise DataError(
                "they differ from those by which the scores were made",
                where=", ".join(differ),
                mend=SCORED,
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
        judged = self.request.judged
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
        refuse_twice(read.keys() & self._rankings.keys())
        self._rankings |= read
        return sorted(read)

    def with_preferences(self, table: pd.DataFrame) -> Explainer:
        """Return the same runs, explained by other preferences."""
        judgments = {"preferences": table, "qrels": self.request.tables.get("qrels")}
        explainer = Explainer(
            judgments=judgments, measure=self.member.measure, order=self.order
        )
        explainer._rankings = self._rankings
        return explainer

    def means(self) -> pd.Series:
        """Return the mean score of each run."""
        runs = self.run_ids
        lists = {q: [self.ranking(run, q) for run in runs] for q in self.query_ids}
        scores = scores_of(self.request, self.member, lists)
        return pd.Series(np.mean([*scores.values()], axis=0), runs)

    def differences(self, run_id: str, other: str) -> pd.Series:
        """Return the difference of two runs by query, queries ascending."""
        return self._both(run_id, other).set_index("query_id")["difference"]

    def result(
        self, run_id: str, other: str | None, query_id: str | None
    ) -> Explanation | Difference:
        """Explain a run, or its difference from another one if that is named."""
        if other is None:
            return self.explain(run_id, query_id)
        return self.difference(run_id, other, query_id)

    def explain(self, run_id: str, query_id: str | None = None) -> Explanation:
        """Take the score of a run for a query apart; its mean by queries if None.

        Raises:
            UsageError: there is no such run, or no such query is judged.
        """
        if query_id is not None:
            return next(self.explain_each([(run_id, query_id)]))
        self._check(run_id, None)
        table = self._losses(run_id)
        mean = float(table["score"].mean())
        parts = ScoreParts([], [], steps=pd.DataFrame(), score=mean)
        return self._explanation(run_id, None, parts, table)

    def explain_each(self, cells: Iterable[tuple[str, str]]) -> Iterator[Explanation]:
        """Take the scores of pairs of a run and a query apart, many in one batch.

        Raises:
            UsageError: as of `explain`.
        """
        waiting: list[tuple[str, str]] = []
        size = 0
        for run_id, query_id in cells:
            self._check(run_id, query_id)
            docs = len(self.member.tensors.docs[query_id])
            size += (len(self.ranking(run_id, query_id)) + docs) ** 2
            waiting.append((run_id, query_id))
            if size > _AT_ONCE:
                yield from self._explanations(waiting)
                waiting, size = [], 0
        yield from self._explanations(waiting)

    def _explanations(
        self, cells: list[tuple[str, str]], moving: bool = True
    ) -> Iterator[Explanation]:
        for cell, parts in zip(cells, self._parts(cells, moving), strict=True):
            yield self._explanation(*cell, parts, document_rows(parts))

    def _explanation(
        self, run_id: str, query_id: str | None, parts: ScoreParts, table: pd.DataFrame
    ) -> Explanation:
        about = self.about(run_id, query_id) | {"score": parts.score}
        note = (
            f"{run_id}, {query_id or 'all queries'}: {self.measure} {parts.score:.4f}"
        )
        if query_id is not None:
            note += f" of {parts.best:.4f} for the ideal ranking"
            note += "" if parts.run else "; the run lacks the query"
        return Explanation(
            table,
            about,
            (note,),
            measure=self.measure,
            run_id=run_id,
            query_id=query_id or "",
            score=parts.score,
            ideal=parts.ideal,
            steps=parts.steps,
            depths=parts.depths,
            count=partial(self._votes, query_id, parts.ideal),
            turn=partial(self.judgments, run_id, query_id=query_id),
        )

    def difference(
        self, run_id: str, other: str, query_id: str | None = None
    ) -> Difference:
        """Find the documents, or queries if none is named, that make a difference.

        Raises:
            UsageError: there is no such run, or no such query is judged.
        """
        self._check(run_id, query_id, other)
        if query_id is not None:
            cells = [(run_id, query_id), (other, query_id)]
            return self.difference_of(*self._explanations(cells, moving=False))
        table = self._both(run_id, other)
        difference, decisive = float(table["difference"].mean()), _decisive(table)
        return self._difference(run_id, other, None, table, difference, decisive)

    def difference_of(self, one: Explanation, other: Explanation) -> Difference:
        """Find the documents that make two explained runs differ on a query."""
        table, runs = _documents(one.table, other.table), (one.run_id, other.run_id)
        return self._difference(*runs, one.query_id, table, one.score - other.score)

    def _difference(
        self,
        run_id: str,
        other: str,
        query_id: str | None,
        table: pd.DataFrame,
        difference: float,
        decisive: Sequence[str] = (),
    ) -> Difference:
        notes = [f"{run_id} - {other}: {difference:.4f} by {self.measure}"]
        if decisive:
            notes.append(
                f"without {counted(len(decisive), 'query')} of {len(table)} the order "
                f"is reversed: {listed(decisive, 10)}"
            )
        return Difference(
            table,
            self.about(run_id, query_id) | {"other": other},
            tuple(notes),
            measure=self.measure,
            run_id=run_id,
            other=other,
            query_id=query_id or "",
            difference=difference,
            decisive=[*decisive],
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
        """Compute the effect of reversing each judgment.

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
        check_variants(self.member, "turning judgments round")
        self._check(run_id, query_id, other)
        queries = self.query_ids if query_id is None else [query_id]
        runs = [run_id] if other is None else [run_id, other]
        member = of_queries(self.member, queries)
        lists = {query: [self.ranking(run, query) for run in runs] for query in queries}
        table = self.request.tables["preferences"]
        table = table[table["query_id"].isin(queries)].reset_index(drop=True)
        votes, variants, rows = turned(table)
        before = scores_of(self.request, member, lists)
        batch = VariantScores(VariantGraphs(member, votes), variants, "judgments")
        after = batch.score(laid_out(member, lists), progress)[:, 0]
        change = after - np.transpose([*before.values()])
        change = change[:, 0] - (0 if other is None else change[:, 1])
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
        turns = turns[[*PAIR, "change"]].merge(
            tally_votes(table)[TALLY], on=PAIR, how="left"
        )
        return _largest_first(turns, "change", *PAIR)[[*TALLY, "change"]]

    def _check(
        self, run_id: str, query_id: str | None, other: str | None = None
    ) -> None:
        for name in (run_id,) if other is None else (run_id, other):
            if name not in self._rankings:
                raise no_run(name, self.run_ids)
        if run_id == other:
            raise UsageError(
                f"a difference needs two different runs, and both are {run_id!r}"
            )
        if query_id is not None and query_id not in self.member.tensors.docs:
            raise UsageError(
                f"query {query_id!r} is not judged; there are "
                f"{listed(self.query_ids, 8)}"
            )

    def ranking(self, run_id: str, query_id: str) -> list[str]:
        """Return the documents of a run for a query, best first."""
        return self._rankings[run_id].get(query_id, [])

    def about(self, run_id: str, query_id: str | None) -> dict[str, Any]:
        """Return the metadata of findings about a run."""
        about = {"version": __version__, "measure": self.member.measure.in_full()}
        about |= {"run_id": run_id, "order": self.order}
        return about if query_id is None else about | {"query_id": query_id}

    def _parts(
        self, cells: Sequence[tuple[str, str]], moving: bool = False
    ) -> list[ScoreParts]:
        """Take scores apart, and check that the parts sum to them."""
        lists = [(query, self.ranking(run, query)) for run, query in cells]
        every = parts_of(self.request, self.member, lists, moving=moving)
        for (run_id, query_id), parts in zip(cells, every, strict=True):
            total = sum(parts.adds.values())
            if not abs(total - parts.score) <= TOLERANCE:
                raise VerificationError(
                    f"run {run_id!r}, query {query_id!r}: {self.measure} is "
                    f"{parts.score!r}, its parts sum to {total!r}. This is a defect of "
                    "pgcjax: please report it with the data"
                )
        return every

    def _losses(self, run_id: str) -> pd.DataFrame:
        """List what each query loses against its ideal ranking."""
        known, tensors = (self.request, self.member), self.member.tensors
        runs = {query: self.ranking(run_id, query) for query in self.query_ids}
        if isinstance(tensors, PeelTensors):
            scores = scores_of(*known, {query: [run] for query, run in runs.items()})
            best = [sum(ideal_adds(tensors, len(x))) for x in tensors.docs.values()]
        else:
            ideals = dict(zip(runs, ideal_lists(*known, runs.items()), strict=True))
            scores = scores_of(*known, {q: [runs[q], ideals[q]] for q in runs})
            best = [x[1] if ideals[q] else np.nan for q, x in scores.items()]
        columns = {"query_id": self.query_ids, "score": [x[0] for x in scores.values()]}
        table = pd.DataFrame(columns | {"ideal_score": best})
        table["loss"] = table["ideal_score"] - table["score"]
        by, ascending = ["loss", "score", "query_id"], [False, True, True]
        return table.sort_values(by, ascending=ascending, ignore_index=True)

    def _both(self, run_id: str, other: str) -> pd.DataFrame:
        """List the scores of two runs by query, the largest differences first."""
        runs = run_id, other
        lists = {q: [self.ranking(run, q) for run in runs] for q in self.query_ids}
        scores = [*scores_of(self.request, self.member, lists).values()]
        table = pd.DataFrame(scores, columns=["score", "other_score"])
        table.insert(0, "query_id", self.query_ids)
        table["difference"] = table["score"] - table["other_score"]
        return _largest_first(table, "difference", "query_id")

    def _votes(self, query_id: str | None, ideal: Sequence[str]) -> pd.DataFrame:
        """Count the votes on pairs of documents of a query."""
        if query_id is None:
            return pd.DataFrame()
        votes = no_votes()
        if "preferences" in self.member.measure.needs:
            table = self.request.tables["preferences"]
            votes = tally_votes(table[table["query_id"] == query_id])
        place = {doc: i for i, doc in enumerate(ideal)}
        above, below = (votes[name].map(place) for name in PAIR[1:])
        return votes.drop(columns="query_id").assign(kept=above < below)


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
            f"{member.measure}: ties={member.tensors.ties} averages over many ideal "
            "rankings; explain PGC without ties"
        )
    if not issubclass(kind, (PeelTensors, ListTensors)):
        raise UsageError(
            f"{member.measure}: explain takes measures of ranked lists, not of grids"
        )
    return member


def no_votes() -> pd.DataFrame:
    """Return the table of votes where there are none."""
    return pd.DataFrame({name: pd.Series(dtype=object) for name in TALLY})


def refuse_twice(names: Collection[str]) -> None:
    """Refuse runs that are in two sources, by a DataError."""
    if names:
        problem = f"run {min(names)!r} is in both sources"
        raise DataError(problem, where="runs", mend="Rename one of them.")


def no_run(name: str, names: Sequence[str]) -> UsageError:
    """Make the error of a run that is not there."""
    return UsageError(f"there is no run {name!r}; there are {listed(names, 8)}")


def document_rows(parts: ScoreParts) -> pd.DataFrame:
    """List documents by rank, those that a run lacks behind, with what they add.

    Those whose names packed runs do not have are left out.
    """
    every = dict.fromkeys([*parts.run, *parts.ideal])
    docs = [doc for doc in every if not doc.startswith(UNNAMED)]
    columns: dict[str, Any] = {"doc_id": pd.Series(docs, dtype="str")}
    for name, ranking in (("rank", parts.run), ("ideal_rank", parts.ideal)):
        ranks = ranks_in(ranking, docs)
        columns[name] = pd.arrays.IntegerArray(ranks + 1, ranks == ABSENT)
    rules = parts.rules
    columns["rule"] = pd.Series([rules.get(doc, "") for doc in docs], dtype="str")
    by_doc = {"adds": parts.adds, "ideal_adds": parts.ideal_adds, "moved": parts.moved}
    for name, values in by_doc.items():
        columns[name] = [float(values.get(doc, 0.0)) for doc in docs]
    return pd.DataFrame(columns)


def _documents(one: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame:
    """List the documents of two explanations by what they make of the difference."""
    names = ["rank", "ideal_rank", "adds"]
    first, second = (table.set_index("doc_id")[names] for table in (one, other))
    table = first.join(second.add_prefix("other_"), how="outer")
    table = table.fillna({"adds": 0.0, "other_adds": 0.0})
    table["difference"] = table["adds"] - table["other_adds"]
    names = ["rank", "other_rank", "ideal_rank", "other_ideal_rank", "adds"]
    table = table[[*names, "other_adds", "difference"]].reset_index()
    return _largest_first(table, "difference", "doc_id")


def _largest_first(table: pd.DataFrame, column: str, *names: str) -> pd.DataFrame:
    """Sort rows by the size of a number, the largest first, and by names."""
    table = table.assign(size=-table[column].abs())
    table = table.sort_values(["size", *names], kind="stable", ignore_index=True)
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
