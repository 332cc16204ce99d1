"""Measures and judgments of a request, read and laid out for the engine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pgcjax.engine.batch import Batch, BatchSetting, Member
from pgcjax.errors import UsageError, check_choice
from pgcjax.io.choices import LEVELS, MEANS, MISSING, ORDERS, SHARED
from pgcjax.io.judged import JudgedDocuments
from pgcjax.io.judgments import KINDS, by_kind, read_as_they_come
from pgcjax.io.runs import Options, Runs, open_runs
from pgcjax.later import pd
from pgcjax.measures.catalogue import parse_all, tell_merged
from pgcjax.measures.exact import ExactTensors
from pgcjax.measures.ir_names import warn_of_other_numbers
from pgcjax.measures.measure import Measure
from pgcjax.tensors.examination import as_runs
from pgcjax.tensors.judgments import Judgments
from pgcjax.tensors.measure_tensors import (
    GridTensors,
    ListTensors,
    PeelTensors,
    TiedTensors,
)

if TYPE_CHECKING:
    import polars as pl

_BATCHES = {
    PeelTensors: "peel_batch",
    TiedTensors: "tie_batch",
    ExactTensors: "exact_batch",
    ListTensors: "list_batch",
    GridTensors: "grid_batch",
}
"""Modules that score tensors of a kind; a job imports those that it needs."""


@dataclass(frozen=True)
class ScoringRequest:
    """Measures, and all their data except runs.

    Attributes:
        members: Measures in the requested order, with their tensors.
        tables: Canonical judgments, by kind; and `grids`, if runs are image grids. They
            hold objects that measures made, so twins share a model's predictions.
        judged: All documents that any measure needs.
        order: Order of documents in a run.
        missing: Policy for judged queries that a run lacks; one of `choices.MISSING`.
        notes: Notes for users on the measures.
    """

    members: list[Member]
    tables: Judgments
    judged: JudgedDocuments
    order: str
    missing: str
    notes: tuple[str, ...] = ()

    @property
    def measures(self) -> list[Measure]:
        """The measures, as they were asked for."""
        return [member.measure for member in self.members]

    @property
    def columns_of_judgments(self) -> dict[str, pd.DataFrame | pl.DataFrame]:
        """The tables of judgments, of pandas or polars."""
        kinds = (kind for kind in self.tables if kind != "grids")
        return {kind: self.tables.columns(kind) for kind in kinds}

    def columns(self, member: Member) -> list[int]:
        """Number the queries of a measure among all that were judged."""
        return [self.judged.number[query] for query in member.tensors.docs]

    def check_means(self, noun: str) -> None:
        """Refuse measures whose mean over queries is not arithmetic.

        Raises:
            UsageError: there is such a measure; `noun` names the means in the message.
        """
        for measure in self.measures:
            if measure.mean != MEANS[0]:
                raise UsageError(
                    f"{measure}: {noun} of arithmetic means, not of mean={measure.mean}"
                )

    def batches(self, *, budget: int, keep: int) -> list[Batch]:
        """Put measures together that are computed together.

        Tensors of a kind unknown to the engine have their own function `batches`.

        Args:
            budget: Bytes of a tile.
            keep: Bytes of laid out graphs to keep for the next chunk of runs.
        """
        setting = BatchSetting(budget, keep, self.tables.get("grids"))
        kinds: dict[type, list[Member]] = {}
        for member in self.members:
            kinds.setdefault(type(member.tensors), []).append(member)
        made: list[Batch] = []
        for kind, members in kinds.items():
            module: Any = kind
            if kind in _BATCHES:
                module = import_module(f"pgcjax.engine.{_BATCHES[kind]}")
            made += module.batches(members, setting)
        return made


def runs_of(source: Any, order: str = "trec", options: Options | None = None) -> Runs:
    """Open runs, or image grids as runs in the order of reading.

    Args:
        source: Input or result of `read_runs`, or result of `read_grids`.
        order: Order of documents.
        options: Options of reading.

    Raises:
        UsageError: `float32` is set, and scores do not order documents.
    """
    runs = open_runs(source, options, in_order=as_runs)
    grid = runs.grids is not None
    if options and options.float32 and (grid or order == "rank"):
        reason = "image grids have none" if grid else "order=rank takes none"
        raise UsageError(f"float32 rounds scores, and {reason}: leave it out")
    return runs


def read_request(
    sources: Mapping[str, Any],
    measures: str | Measure | Iterable[str | Measure] | None,
    order: str,
    missing: str = "zero",
    *,
    grids: pd.DataFrame | None = None,
) -> ScoringRequest:
    """Read judgments for measures.

    Args:
        sources: Judgments by the names of `io.judgments.KINDS`; None means absent.
        measures: see `evaluate`.
        order: Order of documents in a run.
        missing: see `evaluate`.
        grids: Canonical grids, if runs are image grids.

    Raises:
        DataError: judgments cannot be read. UsageError: a measure lacks judgments, or
            an argument is wrong.
    """
    if missing == "shared":
        raise UsageError(f"missing is one of {', '.join(MISSING)}: {SHARED}")
    check_choice("missing", missing, MISSING)
    check_choice("order", order, ORDERS)
    sources = by_kind(sources)
    given = set(sources)
    if measures is not None and not isinstance(measures, str):
        measures = [*measures] if isinstance(measures, Iterable) else [measures]
    given |= set() if grids is None else {"grids"}
    named = _defaults(set(sources)) if measures is None else measures
    named = [named] if isinstance(named, str) else named
    chosen, notes = parse_all(named, given), tuple(tell_merged(named))
    check_needs(chosen, given | {"levels"})
    tables: dict[str, Any] = read_as_they_come(sources)
    needs = {n for m in chosen for n in m.needs}
    if "levels" in needs and not _has_levels(tables):
        check_needs(chosen, given)
    if grids is not None:
        tables = tables | {"grids": grids}
    judgments = Judgments(tables)
    members = [Member(i, m, m.prepare(judgments)) for i, m in enumerate(chosen)]
    warn_of_other_numbers(measures)
    # Documents that measures share are taken once.
    docs = {id(m.tensors.docs): m.tensors.docs for m in members}
    judged = JudgedDocuments(*docs.values())
    return ScoringRequest(members, judgments, judged, order, missing, notes)


def _defaults(given: set[str]) -> list[str]:
    if not given & {"preferences", "qrels"}:
        if not given:
            raise UsageError(
                "no judgments: give preferences=…, qrels=… or both; --prefs FILE, "
                "--qrels FILE on the command line"
            )
        raise UsageError(
            f"no measure was asked for, and {' and '.join(sorted(given))} suggest "
            "none: name measures, such as alpha_nDCG@20; `pgcjax measures` lists them"
        )
    if "preferences" not in given:
        return ["PGC(graph=derived)", "Compat"]
    return ["PGC", "Compat"] if "qrels" in given else ["PGC"]


def check_needs(measures: list[Measure], given: set[str]) -> None:
    """Refuse measures that lack judgments, by a UsageError that says which."""
    for measure in measures:
        for need in sorted(measure.needs - given):
            raise UsageError(f"{measure} needs {need}: {_how(need)}")
    if not measures:
        raise UsageError("no measure was asked for")


def _has_levels(tables: Mapping[str, Any]) -> bool:
    """Return whether all preferences come from the levels of a TREC format."""
    table = tables.get("preferences")
    columns = ["other_doc_id", *LEVELS]
    if not isinstance(table, pd.DataFrame) or not {*columns} <= {*table}:
        return False
    return bool(table[columns].notna().all(axis=None))


def _how(need: str) -> str:
    if need == "levels":
        return (
            "the levels of documents, which preferences in the formats trec-prefs and "
            "trec-qrels-prefs have"
        )
    if need == "grids":
        return "runs with row and column, and --run-format grids on the command line"
    other = "a table of them as " if need == "intents" else ""
    option = KINDS[need].option
    return f"give {need}=…, or {other}{option} FILE on the command line"
