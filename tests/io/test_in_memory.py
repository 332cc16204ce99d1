"""Tables in memory, of any library, are read as files are; what is none says why."""

from typing import NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import pgcjax
from pgcjax.errors import DataError, UsageError

ROWS = [("q1", "d1", 2.5), ("q1", "d2", 1e-3), ("q2", "d1", -4.0)]
FRAME = pd.DataFrame(ROWS, columns=["qid", "docno", "score"])
POLARS = pl.DataFrame(ROWS, schema=["qid", "docno", "score"], orient="row")
NESTED = {"q1": {"d1": 2.5, "d2": 1e-3}, "q2": {"d1": -4}}


class ScoredDoc(NamedTuple):
    """As that of ir_measures."""

    query_id: str
    doc_id: str
    score: float


class ToPandas:
    """A table of a library that is not imported here, as HuggingFace's."""

    def __init__(self, frame):
        self.frame = frame

    def to_pandas(self):
        return self.frame


class ArrowStream:
    """A table of a library that gives Arrow data, as DuckDB's."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


class RanxRun:
    """As Run of ranx, which measures/test_graded_tools.py has: it compiles for long."""

    __module__ = "ranx.data_structures.run"
    run = NESTED

    def __init__(self, name=None):
        self.name = name

    def to_dict(self):
        return self.run


DOCS = [ScoredDoc(*row) for row in ROWS]
DICTS = [dict(zip(FRAME, row, strict=True)) for row in ROWS]
TABLES = {
    "polars": POLARS,
    "lazy": POLARS.lazy(),
    "categories": POLARS.with_columns(pl.col("qid", "docno").cast(pl.Categorical)),
    "arrow": pa.table(FRAME),
    "batch": pa.record_batch(FRAME),
    "reader": pa.table(FRAME).to_reader(),
    "stream": ArrowStream(POLARS),
    "to_pandas": ToPandas(FRAME),
    "dicts": DICTS,
    "named tuples": DOCS,
    "iterator": iter(DOCS),
    "BEIR": NESTED,
    "ranx": RanxRun(),
    "PyTerrier": FRAME.assign(query="text", docid=[7, 8, 9], rank=[0, 1, 0]),
}


def rows(table):
    return [*table[["query_id", "doc_id", "score"]].itertuples(False, None)]


@pytest.mark.parametrize("kind", TABLES)
def test_runs(kind):
    runs = pgcjax.files.read_runs(TABLES[kind]).table
    assert rows(runs) == ROWS
    assert runs["run_id"].unique().tolist() == ["run"]


def test_runs_by_their_names():
    several = {"a": POLARS, 7: DOCS, "c": NESTED, "d": RanxRun(), "e": FRAME.copy()}
    several["e"]["tag"] = "x"  # the name in the dict counts
    runs = pgcjax.files.read_runs(several).table
    assert runs["run_id"].unique().tolist() == ["a", "7", "c", "d", "e"]
    for _, own in runs.groupby("run_id"):
        assert rows(own) == ROWS
    for ranx in (RanxRun("x"), [RanxRun("x")], {"x": RanxRun("y")}):
        assert pgcjax.files.read_runs(ranx).table["run_id"].unique().tolist() == ["x"]
    both = pgcjax.files.read_runs([RanxRun("x"), RanxRun("y")]).table
    assert both["run_id"].unique().tolist() == ["x", "y"]


def test_numbers_and_ids_are_as_they_were():
    """Whole numbers are text; float32 is widened, which changes no number."""
    big = 2**60 + 1
    frame = pl.DataFrame({"qid": [1, 2], "docno": [big, 5], "score": [0.1, 0.25]})
    table = frame.with_columns(
        pl.col("score").cast(pl.Float32), pl.col("qid").cast(pl.UInt8)
    )
    for source in (table, table.to_arrow(), table.to_dicts()):
        runs = pgcjax.files.read_runs(source).table
        assert rows(runs) == [("1", str(big), float(np.float32(0.1))), ("2", "5", 0.25)]


def test_judgments_of_every_kind():
    qrels = pl.DataFrame(
        {"qid": ["q"], "docno": ["d"], "label": [1], "iteration": ["1"]}
    )
    expected = [("q", "d", 1.0)]
    for source in (qrels, qrels.to_dicts(), [*qrels.to_pandas().itertuples()]):
        assert [*pgcjax.files.read_qrels(source).itertuples(False, None)] == expected
    intents = pgcjax.files.read_intent_qrels(qrels.to_arrow())
    assert [*intents.itertuples(False, None)] == [("q", "d", "1", 1.0)]
    table = pl.DataFrame({"qid": "q", "intent": "1", "probability": 1.0})
    assert len(pgcjax.files.read_intents(table)) == 1
    table = pl.DataFrame({"qid": "q", "winner": ["a", "b"], "loser": ["b", None]})
    with pytest.raises(DataError, match=r"^preferences, row 2: expected loser, found"):
        pgcjax.files.read_preferences(table)
    assert pgcjax.files.read_preferences(table[:1])["doc_id"].tolist() == ["a"]
    table = pl.DataFrame({"qid": "q", "docno": ["a"], "previous": ["b"], "rel": 1})
    assert len(pgcjax.files.read_context(table.lazy())) == 1
    grid = pl.DataFrame({"qid": "q", "docno": "a", "row": 0, "column": 1})
    assert pgcjax.files.read_grids(grid)["run_id"].tolist() == ["run"]
    # Grades of intents may be given as qrels, as in files.
    both = POLARS.select("qid", "docno", intent_id=pl.lit("1"), rel=1).lazy()
    scores = pgcjax.evaluate(POLARS.lazy(), qrels=both, measures="I-rec@5")
    assert scores.table["value"].tolist() == [1.0, 1.0]


def test_scores():
    long = pl.DataFrame(
        {
            "run": ["a", "a", "b", "b"],
            "query": ["1", "2"] * 2,
            "measure": "P",
            "value": [1.0, 0.5, 0.25, 0.0],
        }
    )
    first = pgcjax.compare(long.to_pandas(), test="t")
    by_run = {r: long.filter(run=r).drop("run") for r in "ab"}
    wide = long.pivot("run", index="query", values="value")
    for source in (long, long.to_arrow(), long.to_dicts(), iter(long.to_dicts())):
        assert pgcjax.compare(source, test="t").table.equals(first.table)
    assert pgcjax.compare(by_run, test="t").table.equals(first.table)
    assert pgcjax.compare(wide, test="t").table.equals(first.table)
    two = pl.concat([long, long.with_columns(measure=pl.lit("R"))])
    tau = pgcjax.correlate(iter(two.to_dicts()))
    assert tau.equals(pgcjax.correlate(two.to_pandas()))
    read = pgcjax.files.read_scores(long)
    assert read.table["value"].tolist() == [1.0, 0.5, 0.25, 0.0]
    assert pgcjax.files.read_scores(by_run).runs == ["a", "b"]
    for source in (5, {"a": 5}, {"a": long}):
        with pytest.raises(UsageError) as error:
            pgcjax.compare(source)
        assert str(error.value) == (
            "expected scores, a DataFrame or a file, found "
            f"{type(source).__name__}. Give a table of run_id, query_id and value, or "
            "{run: table of query_id and value}"
        )


TAKEN = (
    "Give files, or a table: a DataFrame of pandas or polars, an Arrow table, dicts or "
    "named tuples"
)
MANY = "Name tables of several runs, {'bm25': table}; put others into one"
IDS = "Ids are whole numbers, or text without tabs and without blanks at its ends."
JUDGMENTS = (
    "Needed: query_id, doc_id, score. A run has 6 or 3 columns, or a header; on the "
    "command line, judgments go with --prefs or --qrels, once for each file or as one "
    "quoted pattern."
)
REFUSED = [
    (5, f"expected files or a table, found 5. {TAKEN}"),
    (b"x", f"expected files or a table, found b'x'. {TAKEN}"),
    ([1], f"expected a file, found 1. {TAKEN}"),
    (FRAME["qid"], "q1: no such file or folder. Check the path."),
    (POLARS["score"], f"expected a file, found 2.5. {TAKEN}"),
    (ToPandas(FRAME["qid"]), "expected files or a table, found <test_in_memory…"),
    ([ToPandas(FRAME)], "expected a file, found <test_in_memory.ToPandas object at…"),
    (
        [pd.DataFrame()],
        "expected a file, found Empty DataFrame Columns: [] Index: []. " + MANY,
    ),
    (
        [("q", "d", 1.0)],
        "expected a file, found ('q', 'd', 1.0). Name the fields, as "
        "ir_measures.ScoredDoc does, or make a DataFrame",
    ),
    (
        [{"qid": "q"}, ("q",)],
        "runs, row 2: expected a dict as in row 1, found ('q',). Give rows of one "
        "kind.",
    ),
    (
        [DOCS[0], {"qid": "q"}],
        "runs, row 2: expected a named tuple of query_id, doc_id, score as in row 1, "
        "found {'qid': 'q'}. Give rows of one kind.",
    ),
    (
        [{"qid": "q", "docno": "d"}],
        f"runs: missing column score (or rank) (found ['qid', 'docno']). {JUDGMENTS}",
    ),
    (
        [{"qid": "q", "score": 1}, {"qid": "q", "docid": "d"}],
        f"runs, row 1: expected doc_id, found nothing. {IDS}",
    ),
    (
        [{f"q{i}": {"d": 1} for i in range(20)}],
        "runs: missing columns ['query_id', 'doc_id'] (found ['q0', 'q1', 'q2', 'q3', "
        "'q4', 'q5', 'q6', 'q7', 'q8', 'q9', 'q10', 'q11'] and 8 more). Needed: "
        "query_id, doc_id.",
    ),
    (
        FRAME.set_index("qid"),
        "runs: missing columns ['query_id'] (found ['docno', 'score']). The index has "
        "them: frame.reset_index() makes columns of it.",
    ),
    (
        pl.DataFrame({"qid": [1, None], "docno": "d", "score": 1.0}),
        f"runs, row 2: expected query_id, found nothing. {IDS}",
    ),
    (
        pl.DataFrame({"qid": ["q", None], "docno": "d", "score": 1.0}),
        "runs, row 2: expected query_id, found nan. Every row needs one; "
        "pandas.read_csv(…, dtype=str, keep_default_na=False) reads no id as missing.",
    ),
    (
        pl.DataFrame({"qid": ["q", "r"], "docno": "d", "score": [1.0, None]}),
        "runs, row 2: expected a finite number as score, found nan. Every row needs "
        "one.",
    ),
    (
        {"a": FRAME, "b": 5},
        "runs['b']: expected a dict of tables, found 5. Pass {query: {doc: score}}; "
        "for several runs {run: such a dict, or a table}.",
    ),
    (
        {"a": FRAME, "b": FRAME.assign(run=["x", "x", "y"])},
        "runs['b']: holds 2 runs, such as 'x' and 'y', which its name cannot tell "
        "apart. Pass the table itself, without a dict.",
    ),
    ({1: FRAME, "1": FRAME}, "runs: holds run '1' twice. Name one otherwise."),
    ({1.5: FRAME}, "runs, entry 1: expected run_id, found 1.5. Ids are text or whole…"),
    (
        {"a": FRAME, "b": FRAME.assign(score=[1, np.inf, 2])},
        "runs['b'], row 2: expected a finite number as score, found inf. Every row…",
    ),
    (
        [RanxRun("x"), RanxRun()],
        "expected runs of ranx with names that differ, found ['x', None]. Set run.name",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("source", "message"), REFUSED)
def test_what_is_refused_says_what_to_do(source, message):
    with pytest.raises((DataError, UsageError)) as error:
        pgcjax.files.read_runs(source)
    said = str(error.value)
    if message.endswith("…"):  # what follows is an address, or said elsewhere
        said = said[: len(message) - 1] + "…"
    assert said == message
