"""What other libraries hold scores as our own files do, bit for bit.

pip install ir_measures datasets: none of them is imported by pgcjax. Objects of ranx,
which compiles for a minute, are in measures/test_graded_tools.py.
"""

import gzip

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import pgcjax
from pgcjax.errors import UsageError

NAMES = ("NLE_P_quick", "Fast_Forward_3")
MEASURES = ["nDCG@10", "RBP(p=0.8)", "Compat", "PGC(graph=derived)"]


def fields(path):
    with gzip.open(path, "rt") as file:
        return [line.split() for line in file]


@pytest.fixture(scope="module")
def qrels(data) -> pd.DataFrame:
    rows = fields(data / "dl21/qrels.dl21-passage.txt.gz")
    table = [(query, doc, int(grade)) for query, _, doc, grade in rows]
    return pd.DataFrame(table, columns=["qid", "docno", "label"])


@pytest.fixture(scope="module")
def runs(data) -> dict[str, pd.DataFrame]:
    """PyTerrier's frames of two runs of dl21."""
    frames = {}
    for name in NAMES:
        rows = fields(data / f"dl21/runs/{name}.gz")
        table = [
            (q, doc, float(score), int(rank)) for q, _, doc, rank, score, _ in rows
        ]
        frames[name] = pd.DataFrame(table, columns=["qid", "docno", "score", "rank"])
    return frames


@pytest.fixture(scope="module")
def ours(data):
    paths = [data / f"dl21/runs/{name}.gz" for name in NAMES]
    judged = data / "dl21/qrels.dl21-passage.txt.gz"
    table = pgcjax.evaluate(paths, qrels=judged, measures=MEASURES).table
    assert len(table) == 4 * 2 * 53 and table["value"].nunique() > 300
    return table


def nested(frame: pd.DataFrame, column: str) -> dict:
    """As BEIR, pytrec_eval and ranx have it."""
    return {
        query: dict(zip(rows["docno"], rows[column].tolist(), strict=True))
        for query, rows in frame.groupby("qid")
    }


def docs_of(run: pd.DataFrame) -> list:
    made = pytest.importorskip("ir_measures").ScoredDoc
    return [*map(made, run["qid"], run["docno"], run["score"])]


def judged_by(qrels: pd.DataFrame) -> list:
    made = pytest.importorskip("ir_measures").Qrel
    return [*map(made, qrels["qid"], qrels["docno"], qrels["label"])]


def long(runs) -> pd.DataFrame:
    return pd.concat([run.assign(name=name) for name, run in runs.items()])


def of_polars(runs, qrels):
    return pl.from_pandas(long(runs)).lazy(), pl.from_pandas(qrels)


def of_pyarrow(runs, qrels):
    return pa.table(long(runs)), pa.table(qrels)


def of_dicts(runs, qrels):
    return long(runs).to_dict("records"), qrels.to_dict("records")


def of_beir(runs, qrels):
    held = {name: nested(run, "score") for name, run in runs.items()}
    return held, nested(qrels, "label")


def of_ir_measures(runs, qrels):
    return {n: docs_of(run) for n, run in runs.items()}, iter(judged_by(qrels))


def of_pyterrier(runs, qrels):
    return runs, qrels


def of_datasets(runs, qrels):
    made = pytest.importorskip("datasets")
    tables = {name: made.Dataset.from_pandas(run) for name, run in runs.items()}
    # Rows that were chosen, and rows that come one by one.
    judged = made.Dataset.from_pandas(qrels).select(range(len(qrels)))
    return made.DatasetDict(tables), judged.to_iterable_dataset()


FORMS = [of_polars, of_pyarrow, of_dicts, of_beir, of_pyterrier, of_ir_measures]


@pytest.mark.parametrize("form", [*FORMS, of_datasets])
def test_scores_are_ours(form, runs, qrels, ours):
    held, judged = form(runs, qrels)
    table = pgcjax.evaluate(held, qrels=judged, measures=MEASURES).table
    assert len(table) == len(ours) and (table == ours).all(axis=None)


def test_measure_objects_of_ir_measures(runs, qrels, ours):
    """By name and parameters: printed, they lack what is the default there."""
    theirs = pytest.importorskip("ir_measures")
    asked = [theirs.nDCG @ 10, theirs.RBP(rel=1), "Compat"]
    table = pgcjax.evaluate(runs, qrels=qrels, measures=asked).table
    names = ["nDCG@10", "RBP(p=0.8,rel=1)", "Compat"]
    assert table["measure"].unique().tolist() == names
    same = ours[ours["measure"].isin(MEASURES[:3])]
    assert table["value"].tolist() == same["value"].tolist()
    one = pgcjax.evaluate(runs, qrels=qrels, measures=theirs.RBP(rel=1)).table
    assert one["value"].tolist() == table["value"][1::3].tolist()
    with pytest.raises(UsageError, match="^Compat of ir_measures looks as deep as the"):
        pgcjax.evaluate(runs, qrels=qrels, measures=theirs.Compat)


def test_scores_of_ir_measures_are_compared(runs, qrels):
    theirs = pytest.importorskip("ir_measures")
    judged, measures = judged_by(qrels), [theirs.nDCG @ 10, theirs.AP]
    metrics = {
        name: [*theirs.iter_calc(measures, judged, docs_of(run))]
        for name, run in runs.items()
    }
    rows = [
        (run, metric.query_id, metric.value)
        for run, found in metrics.items()
        for metric in found
        if metric.measure == theirs.AP
    ]
    table = pd.DataFrame(rows, columns=["run_id", "query_id", "value"])
    result = pgcjax.compare(metrics, measure="AP", test="t")
    assert result.table.equals(pgcjax.compare(table, test="t").table)
    assert pgcjax.files.read_scores(metrics).measures == ["AP", "nDCG@10"]
