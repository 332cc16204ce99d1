"""What may be damaged: every kind of file that pgcjax reads, and what it scores."""

import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

import pgcjax
from pgcjax.asking import log
from pgcjax.datasets.settings import CollectionSettings
from pgcjax.datasets.simulator import simulate
from pgcjax.engine import plan
from pgcjax.errors import DataWarning
from pgcjax.io.choices import SCORE_SUFFIXES
from scripts.campaigns.forms import FILES, encoded, lines

Values = dict[Any, float]
Job = Callable[[Any], Values]
NUMERIC = frozenset("score relevance preference row column probability value".split())


@dataclass(frozen=True)
class Target:
    """A file, and what it is for.

    Attributes:
        suffix: of its name.
        data: the intact file.
        job: scores with it, from a path or a DataFrame.
        columns: that its lines, or its header, have; () where no second reader knows
            the format.
        form: as of `rereading.reread`.
        table: makes the table that `job` takes of the columns of a file without header;
            None if they say nothing plain.
        sealed: whether pgcjax wrote it, with what finds every damage.
    """

    suffix: str
    data: bytes
    job: Job
    columns: tuple[str, ...] = ()
    form: str = "columns"
    table: Callable[[pd.DataFrame], pd.DataFrame | None] | None = None
    sealed: bool = False


@cache
def tables() -> dict[str, pd.DataFrame]:
    """Make the intact inputs, of which one is damaged."""
    made = simulate(
        CollectionSettings(queries=4, documents=8, runs=2, depth=8, intents=2)
    )
    graded = made.qrels
    pairs = graded.merge(graded, on="query_id", suffixes=("", "_before"))
    pairs = pairs[pairs["doc_id"] != pairs["doc_id_before"]][::3]
    renamed = {"doc_id_before": "previous_doc_id"}
    context = pairs.rename(columns=renamed).drop(columns="relevance_before")
    return {
        "runs": made.runs[["run_id", "query_id", "doc_id", "score"]],
        "qrels": graded,
        "preferences": made.preferences.drop(columns="judge"),
        "intent_qrels": made.intent_qrels,
        "intents": made.intents,
        "context": context,
        "grids": made.grid,
    }


def _judgments() -> dict[str, Any]:
    return {kind: tables()[kind] for kind in ("preferences", "qrels")}


def _values(scores: pgcjax.Scores) -> Values:
    rows = scores.table.itertuples(index=False, name=None)
    return {(run, query, measure): value for run, query, measure, value in rows}


_NEEDS = {
    "runs": (["PGC", "Compat", "nDCG@5"], ("preferences", "qrels")),
    "qrels": (["Compat", "nDCG@5"], ()),
    "preferences": (["PGC", "ppref@5"], ()),
    "intent_qrels": (["alpha_nDCG@5"], ("intents",)),
    "intents": (["alpha_nDCG@5", "P+Q@5"], ("intent_qrels",)),
    "context": (["CCG@5"], ("qrels",)),
    "grids": (["WR", "PB"], ("preferences", "qrels")),
}


def _job(kind: str, how: dict[str, Any] | None = None) -> Job:
    """Make a job in which a file takes the place of one input."""
    measures, others = _NEEDS[kind]

    def job(source: Any) -> Values:
        given: dict[str, Any] = {name: tables()[name] for name in ("runs", *others)}
        if kind == "preferences" and not isinstance(source, pd.DataFrame):
            source = pgcjax.files.read_preferences(source, **(how or {}))
        if kind == "grids":
            given["runs"] = pgcjax.files.read_grids(source)
        else:
            given[kind] = source
        return _values(pgcjax.evaluate(given.pop("runs"), measures=measures, **given))

    return job


def _named(kind: str, columns: tuple[str, ...]) -> dict[str, Target]:
    """Give the files of a table with a header."""
    rows = [*tables()[kind].itertuples(index=False, name=None)]
    names = [*map(str, tables()[kind])]
    return {
        f"{kind} {form}": Target(
            f".{form}", encoded(rows, names, form), _job(kind), columns, form
        )
        for form in FILES
    }


def _of(kind: str, *columns: str) -> list[tuple]:
    """Give the rows of an input, by these columns."""
    return [*tables()[kind][[*columns]].itertuples(index=False, name=None)]


def _columns(
    kind: str, rows: list[tuple], columns: tuple[str, ...], **more: Any
) -> Target:
    return Target(".txt", lines(rows), _job(kind), columns, **more)


@cache
def targets() -> dict[str, Target]:
    """Make all files that may be damaged, by name."""
    return {
        **_named("runs", ("query_id", "doc_id", "score")),
        **_named("qrels", ("query_id", "doc_id", "relevance")),
        **_named("preferences", ("query_id", "doc_id", "other_doc_id", "preference")),
        **_named("intents", ("query_id", "intent_id")),
        **_named("intent_qrels", ("query_id", "intent_id", "doc_id", "relevance")),
        **_named("context", ("query_id", "doc_id", "previous_doc_id", "relevance")),
        **_named("grids", ("query_id", "run_id", "doc_id", "row", "column")),
        **_without_header(),
        **_formats_of_preferences(),
        **_sealed(),
    }


def _without_header() -> dict[str, Target]:
    runs = [
        (q, "Q0", d, i, s, r)
        for i, (r, q, d, s) in enumerate(
            _of("runs", "run_id", "query_id", "doc_id", "score")
        )
    ]
    qrels = [
        (q, 0, d, g) for q, d, g in _of("qrels", "query_id", "doc_id", "relevance")
    ]
    diverse = _of("intent_qrels", "query_id", "intent_id", "doc_id", "relevance")
    context = _of("context", "query_id", "doc_id", "previous_doc_id", "relevance")
    topics = "".join(
        f'<topic number="{q}"><subtopic number="{i}" type="{k}"/></topic>\n'
        for q, i, k in _of("intents", "query_id", "intent_id", "kind")
    )
    xml = f"<topics>\n{topics}</topics>\n".encode()
    places: dict[str, Any] = {}
    for query in dict.fromkeys(q for (q,) in _of("grids", "query_id")):
        shown = {f"i{k}": [k // 3, k % 3, 3] for k in range(6)}
        places[query] = {"0": shown, "1": dict(reversed(shown.items()))}
    return {
        "runs columns": _columns(
            "runs",
            runs,
            ("query_id", "Q0", "doc_id", "rank", "score", "run_id"),
            table=lambda f: f[["query_id", "doc_id", "score", "run_id"]],
        ),
        "qrels columns": _columns(
            "qrels",
            qrels,
            ("query_id", "zero", "doc_id", "relevance"),
            table=lambda f: f[["query_id", "doc_id", "relevance"]],
        ),
        "intent_qrels columns": _columns(
            "intent_qrels", diverse, ("query_id", "intent_id", "doc_id", "relevance")
        ),
        "context columns": _columns(
            "context", context, ("query_id", "doc_id", "previous_doc_id", "relevance")
        ),
        "intents xml": Target(".xml", xml, _job("intents")),
        "grids json": Target(".json", json.dumps(places).encode(), _positions),
    }


def _positions(source: Path) -> Values:
    """Read positions as Xie et al. publish them: no more than what is read."""
    grids = pgcjax.files.read_grids(source)
    rows = grids.itertuples(index=False, name=None)
    return {(q, r, d): 1000.0 * row + column for q, r, d, row, column in rows}


def _formats_of_preferences() -> dict[str, Target]:
    rows = _of("preferences", "query_id", "doc_id", "other_doc_id", "preference")
    strict = [row for row in rows if row[3]]
    levels = _of("qrels", "query_id", "doc_id", "relevance")
    cells: dict[str, tuple[list[tuple], tuple[str, ...], Any]] = {
        "clarke": (
            [(q, a, b, a if x > 0 else b) for q, a, b, x in strict],
            ("query_id", "doc_id", "other_doc_id", "best"),
            _clarke,
        ),
        "luo": (
            [(q, a, b) if x > 0 else (q, b, a) for q, a, b, x in strict],
            ("query_id", "doc_id", "other_doc_id"),
            lambda f: f.assign(preference=1.0),
        ),
        "jelsas": (
            [(q, a, b, -x) for q, a, b, x in rows],
            ("query_id", "doc_id", "other_doc_id", "preference"),
            lambda f: (
                f.assign(preference=-f["preference"])
                if f["preference"].isin([-1, 0, 1]).all()
                else None
            ),
        ),
        # Nobody reads levels a second time here: `graphs` compares their scores.
        "trec-prefs": ([(q, "g", "s", d, g) for q, d, g in levels], (), None),
        "trec-qrels-prefs": ([(q, "g", d, g) for q, d, g in levels], (), None),
    }
    return {
        f"preferences {name}": Target(
            ".txt", lines(own), _job("preferences", {"format": name}), columns, table=t
        )
        for name, (own, columns, t) in cells.items()
    }


def _clarke(frame: pd.DataFrame) -> pd.DataFrame | None:
    first = frame["best"] == frame["doc_id"]
    if not (first | (frame["best"] == frame["other_doc_id"])).all():
        return None
    return frame.assign(preference=first.map({True: 1.0, False: -1.0}))


def _sealed() -> dict[str, Target]:
    """Give what pgcjax writes and reads again: scores in every form, packed runs."""
    judgments = _judgments()
    with TemporaryDirectory() as folder:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            scores = pgcjax.evaluate(
                tables()["runs"], measures=["PGC", "Compat"], **judgments
            )
        packed = Path(folder, "runs.parquet")
        pgcjax.files.pack(tables()["runs"], packed, **judgments)
        made = {"runs packed": Target(".parquet", packed.read_bytes(), _job("runs"))}
        made["runs packed"] = replace(made["runs packed"], sealed=True)
        for suffix in SCORE_SUFFIXES:
            data = scores.save(Path(folder, f"scores{suffix}")).read_bytes()
            name = f"scores {suffix[1:]}"
            made[name] = Target(suffix, data, _read_scores, sealed=True)
    return made


def _read_scores(source: Path) -> Values:
    return _values(pgcjax.files.read_scores(source))


@cache
def asked_log() -> bytes:
    """Make the log of a tournament that somebody has answered."""
    with TemporaryDirectory() as folder:
        state = Path(folder, "state")
        tournament = pgcjax.ask.Tournament.start(state, tables()["qrels"], k=2)
        requests = tournament.requests()
        pair = requests[["doc_id", "other_doc_id"]]
        tournament.add(requests.assign(winner=pair.min(axis=1), judge="me"))
        return (state / log.NAME).read_bytes()


def checkpoint(folder: Path) -> Job:
    """Keep the work of a job in a folder, and give the job that goes on with it."""
    runs = tables()["runs"]
    (folder / "runs").mkdir(parents=True)
    for name, rows in runs.groupby("run_id"):
        rows.to_csv(folder / "runs" / f"{name}.csv", index=False)

    def job(source: Path) -> Values:
        with plan.using(chunk=1, seconds=0.0, rows=1):
            made = pgcjax.evaluate(
                folder / "runs", job=pgcjax.Job(journal=source), **_judgments()
            )
            return _values(made)

    return job
