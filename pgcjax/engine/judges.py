"""Runs × the judgments of each judge → scores, in one reading of the runs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from pgcjax._version import __version__
from pgcjax.engine import job
from pgcjax.engine.batch import Member
from pgcjax.engine.chunk import Chunk, together
from pgcjax.engine.missing import tell
from pgcjax.engine.plan import MemoryLimits
from pgcjax.engine.request import ScoringRequest, check_needs, read_request, runs_of
from pgcjax.engine.scored import by_measure
from pgcjax.engine.tally import RunTally
from pgcjax.errors import DataError, Progress, UsageError, check_choice, listed
from pgcjax.io.check import fingerprint
from pgcjax.io.choices import FLIPS, MISSING
from pgcjax.io.graded import read_qrels
from pgcjax.io.judged import JudgedDocuments
from pgcjax.io.reading import chosen, memory_limit, reading
from pgcjax.io.runs import Options, Runs
from pgcjax.io.votes.double import FLIPPED, double_votes, settle
from pgcjax.io.votes.read import read_preferences
from pgcjax.measures.catalogue import parse_all
from pgcjax.measures.measure import Measure
from pgcjax.stats.judge_orders import Board, JudgeOrders

ABSENT = tuple(name for name in MISSING if name != "skip")


def compare_judges(
    runs: Any,
    preferences: Any = None,
    *,
    sources: Mapping[str, Any] | None = None,
    judges: Sequence[str] | None = None,
    measure: str = "PGC",
    qrels: Any = None,
    order: str = "trec",
    float32: bool = False,
    missing: str = "zero",
    memory: str | int | None = None,
    progress: Progress | None = None,
) -> JudgeOrders:
    """Score runs by the judgments of each judge alone, to compare their orders.

    Pairs that a judge judged in both orders count by the policy `reading(flips=…)`, and
    by each other policy, for `JudgeOrders.flips`. Only PGC and ExactPGC can count half
    votes.

    Args:
        runs: Input or result of `read_runs`.
        preferences: Input of `read_preferences`, with named judges.
        sources: Judgments of one judge each, by name; judges in their rows are ignored.
        judges: Judges to compare; all if None.
        measure: Measure of preferences.
        qrels: Grades, the same for all judges, for `PGC(graph=combined)`.
        order: Order of documents in a run: `trec`, `clarke` or `rank`.
        float32: see `evaluate`.
        missing: Score of a judged query that a run lacks: `zero`, or an `error`.
        memory: Bytes that runs in work, or a file, may take, or a size such as `2GB`.
        progress: called with `(stage, done, total)`.

    Raises:
        UsageError: an argument is wrong. DataError: the data cannot be compared.
    """
    check_choice("missing", missing, ABSENT)
    limits, flips = MemoryLimits(memory_limit(memory)), chosen().flips
    given = {"preferences"} | ({"qrels"} if qrels is not None else set())
    one = _measure(measure, given)
    with reading(memory=memory, flips=FLIPS[0]):
        runs = runs_of(runs, order, Options(float32=float32))
        tables = _tables(preferences, sources, judges)
        double = _double_votes(tables)
        boards = _scored_boards(one, tables, double, flips)
        grades = {} if qrels is None else {"qrels": read_qrels(qrels)}
        request = _joint_request(boards, tables, grades, one, order, missing)
        total, scored = _score(runs, request, limits, progress)
    by_judge: dict[str, dict[str, Board]] = {judge: {} for judge in tables}
    for (judge, policy), (member, _, scores) in zip(boards, scored, strict=True):
        by_judge[judge][policy] = Board([*member.tensors.docs], scores)
    by_flips = {j: s for (j, p), s in zip(boards, scored, strict=True) if p == flips}
    notes = _notes(total, by_flips, missing)
    settings = {"order": order, "missing": missing, "flips": flips}
    settings |= {"float32": True} if runs.options.float32 else {}
    about = _metadata(one, settings, tables, grades)
    notes = tuple([*dict.fromkeys(runs.notes), *notes])
    return JudgeOrders(
        about, notes, run_ids=total.run_ids, boards=by_judge, flipped=_flipped(double)
    )


def _metadata(
    measure: Measure,
    settings: dict[str, Any],
    tables: Mapping[str, pd.DataFrame],
    grades: Mapping[str, pd.DataFrame],
) -> dict[str, Any]:
    """Describe the measure, settings and judgments on which the orders depend."""
    judgments = {judge: fingerprint(table) for judge, table in tables.items()}
    return {
        "version": __version__,
        "measure": str(measure),
        "measures": [measure.in_full()],
        **settings,
        "judgments": judgments,
        **{name: fingerprint(table) for name, table in grades.items()},
    }


def _notes(
    total: Chunk, scored: Mapping[str, tuple[Member, Any, Any]], missing: str
) -> list[str]:
    """List notes on the scores by each judge."""
    members = [member for member, _, _ in scored.values()]
    tally = RunTally(members)
    counts = [(has, bool(scores.any())) for _, has, scores in scored.values()]
    tally.add(total.run_ids, total.query_ids, counts)
    return tell(members, tally, missing, [*scored])


def _double_votes(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """List the pairs that judges judged in both orders.

    Raises:
        DataError: there is only one judge, without such pairs.
    """
    double = {judge: double_votes(table) for judge, table in tables.items()}
    double = {judge: votes for judge, votes in double.items() if len(votes)}
    if len(tables) < 2 and not double:
        raise DataError(
            f"there is one judge alone, {next(iter(tables))!r}, and no pair that is "
            "known to be judged in both orders",
            where="preferences",
            mend="Give the judgments of another judge, too.",
        )
    return double


def _flipped(double: Mapping[str, pd.DataFrame]) -> dict[str, tuple[int, int]]:
    """Count the double votes of each judge, and those that follow the place."""
    return {
        judge: (len(votes), int((votes["kind"] == FLIPPED).sum()))
        for judge, votes in double.items()
    }


def _scored_boards(
    measure: Measure,
    tables: Mapping[str, Any],
    double: Mapping[str, Any],
    flips: str,
) -> list[tuple[str, str]]:
    """List each judge with the policies for pairs judged in both orders."""
    # Half votes are refused later, for measures that cannot count them.
    half = "soft" in measure.parameters or flips == "half"
    policies = [policy for policy in FLIPS if policy != "half" or half]
    return [
        (judge, policy)
        for judge in tables
        for policy in (policies if judge in double else [flips])
    ]


def _score(
    runs: Runs, request: ScoringRequest, limits: MemoryLimits, progress: Progress | None
) -> tuple[Chunk, list[tuple[Member, Any, Any]]]:
    """Score two runs or more by all members of a request."""
    batches = request.batches(budget=limits.tile, keep=limits.kept)
    chunks = job.run(runs, request, batches, limits=limits, progress=progress)
    total = together([chunk.open() for chunk in chunks])
    if len(names := total.run_ids) < 2:
        lack = f"there is one run alone, {names[0]!r}" if names else "there is no run"
        raise DataError(lack, where="runs", mend="At least 2 are needed for an order.")
    return total, [*by_measure(request, batches, total)]


def _measure(text: str, given: set[str]) -> Measure:
    """Read the measure.

    Raises:
        UsageError: the measure is unknown, or takes no preferences.
    """
    one, *others = parse_all([text] if isinstance(text, str) else text)
    if others:
        raise UsageError(
            f"judges are compared by one measure, not by {1 + len(others)}"
        )
    if "preferences" not in one.needs:
        raise UsageError(
            f"{one}: judges are compared by measures of preferences, such as PGC"
        )
    check_needs([one], given)
    return one


def _tables(
    preferences: Any, sources: Mapping[str, Any] | None, judges: Sequence[str] | None
) -> dict[str, pd.DataFrame]:
    """Read the judgments of each judge, ascending by name."""
    tables: dict[str, pd.DataFrame] = {}
    if preferences is not None:
        table = read_preferences(preferences)
        named = table.get("judge", pd.Series(None, table.index, dtype=object))
        if lacking := int(named.isna().sum()):
            raise DataError(
                f"{lacking} of {len(table)} judgments name no judge",
                where="preferences",
                mend="Give a column judge, or call all of a file one judge: "
                "--source NAME=FILE (sources= in Python).",
            )
        tables = {
            str(judge): votes for judge, votes in table.groupby("judge", sort=True)
        }
    for name, source in (sources or {}).items():
        if name in tables:
            raise UsageError(f"judge {name!r} is among the preferences, too: rename it")
        tables[name] = read_preferences(source)
    for judge in judges or ():
        if judge not in tables:
            raise UsageError(f"no judge {judge!r}; there are {listed([*tables], 8)}")
    judged = [judge for judge in sorted(tables) if judges is None or judge in judges]
    if not judged:
        raise UsageError(
            "no judgments: give preferences=… or sources=…; --prefs FILE or --source "
            "NAME=FILE on the command line"
        )
    return {judge: tables[judge].reset_index(drop=True) for judge in judged}


def _joint_request(
    boards: Sequence[tuple[str, str]],
    tables: Mapping[str, pd.DataFrame],
    grades: Mapping[str, pd.DataFrame],
    measure: Measure,
    order: str,
    missing: str,
) -> ScoringRequest:
    """Join the requests of all judges, with consecutive places of members."""
    requests = []
    for judge, policy in boards:
        judgments = {"preferences": settle(tables[judge], policy), **grades}
        requests.append(read_request(judgments, str(measure), order, missing))
    members = [member for request in requests for member in request.members]
    members = [member._replace(place=i) for i, member in enumerate(members)]
    judged = JudgedDocuments(*(member.tensors.docs for member in members))
    request = replace(requests[0], members=members, judged=judged)
    request.check_means("judges are compared by orders")
    return request
