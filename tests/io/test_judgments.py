"""Judgments of every kind by name."""

import pandas as pd
import polars as pl
import pytest

import pgcjax
from pgcjax.errors import DataError, UsageError
from pgcjax.io.check import fingerprint
from pgcjax.io.fast_columns import PlainTable
from pgcjax.io.judgments import KINDS, by_kind, read_as_they_come, read_judgments
from pgcjax.tensors.judgments import Judgments

GRADES = pd.DataFrame([("q", "a", 1.0)], columns=["query_id", "doc_id", "relevance"])


def test_qrels_with_intents_are_intent_qrels():
    assert set(by_kind({"qrels": GRADES, "preferences": None})) == {"qrels"}
    with_intents = GRADES.assign(intent_id="i")
    assert set(by_kind({"qrels": with_intents})) == {"intent_qrels"}


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_has_its_reader(name):
    with pytest.raises(DataError, match=r"^none: no such file or folder\."):
        read_judgments({name: "none"})


def test_regular_files_are_tables_of_pandas_when_asked(tmp_path):
    """Else, and beside a file of another kind, they are from the first."""
    write = {
        "plain.txt": "# one\nq1 0 b 1\nq1 0 a 2\nq2 0 é 0\n",
        "more.txt": "q3 0 c 1\n",
        "table.csv": "qid,docno,rel\nq4,d,1\n",
        "prefs.txt": "q1 a b a\nq2 c d d\n",
        "jelsas.txt": "q1 a b -1\nq1 c NA -2\n",
        "named.csv": "qid,winner,loser\nq3,e,f\n",
    }
    files = {name: tmp_path / name for name in write}
    for name, text in write.items():
        files[name].write_text(text)
    qrels = [files["plain.txt"], files["more.txt"]]
    prefs = [files["prefs.txt"], files["jelsas.txt"]]
    plain = read_as_they_come({"qrels": qrels, "preferences": prefs})
    assert {type(table) for table in plain.values()} == {PlainTable}
    found = read_judgments({"qrels": qrels, "preferences": prefs})
    mixed = read_as_they_come(
        {
            "qrels": [*qrels, files["table.csv"]],
            "preferences": [*prefs, files["named.csv"]],
        }
    )
    judgments = Judgments(plain)
    for kind, frame in found.items():
        whole = mixed[kind]
        assert isinstance(whole, pd.DataFrame)
        table, rest = whole.iloc[:-1], whole.iloc[-1:]
        pd.testing.assert_frame_equal(frame, table)
        assert frame.attrs == table.attrs
        assert judgments[kind].equals(frame) and judgments[kind] is judgments[kind]
        assert judgments[kind].attrs == frame.attrs
        assert isinstance(judgments.columns(kind), pl.DataFrame)
        assert fingerprint(judgments.columns(kind)) == fingerprint(frame)
        assert len(rest) == 1 and Judgments(mixed).columns(kind) is whole
    assert found["qrels"].attrs == {"comments": 1, "repeats": 0}
    assert found["preferences"]["other_doc_id"].isna().tolist() == [0, 0, 0, 1]


def test_no_such_kind(tmp_path):
    with pytest.raises(UsageError, match="grades is none of preferences, qrels, in"):
        pgcjax.files.pack({"q": {"a": 1.0}}, tmp_path / "x.parquet", grades=GRADES)
