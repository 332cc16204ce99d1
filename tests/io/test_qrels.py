"""Graded judgments in every form; grades may have decimals, no document has two."""

import numpy as np
import pandas as pd
import pytest

from pgcjax.errors import DataError
from pgcjax.io.graded import read_intent_qrels, read_qrels

DICT = {"q1": {"a": 2, "b": 0.5}, "q2": {"a": -1}}
EXPECTED = [("q1", "a", 2.0), ("q1", "b", 0.5), ("q2", "a", -1.0)]


def rows(qrels):
    return list(qrels.itertuples(index=False, name=None))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.qrels", "q1 0 a 2\nq1\tQ0\tb\t0.5\n q2  0 a  -1e0\n"),
        ("a.csv", "query_id,doc_id,relevance\nq1,a,2\nq1,b,0.5\nq2,a,-1\n"),
        ("a.txt", "qid\tdocno\tlabel\nq1\ta\t2\nq1\tb\t.5\nq2\ta\t-1\n"),
        (
            "a.jsonl",
            '{"qid":"q1","docno":"a","rel":2}\n{"qid":"q1","docno":"b","rel":0.5}\n{"qid":"q2","docno":"a","rel":"-1"}\n',
        ),
    ],
)
def test_files(put, name, text):
    qrels = read_qrels(put(name, text))
    assert list(qrels.columns) == ["query_id", "doc_id", "relevance"]
    assert qrels["relevance"].dtype == np.float64
    assert rows(qrels) == EXPECTED


def test_parquet_frames_and_dicts(tmp_path):
    frame = pd.DataFrame(EXPECTED, columns=["topic", "did", "grade"])
    frame.to_parquet(tmp_path / "a.parquet")
    for source in (tmp_path / "a.parquet", frame, DICT, read_qrels(DICT)):
        assert rows(read_qrels(source)) == EXPECTED
    whole = pd.DataFrame({"qid": [1], "docno": [2], "label": np.array([3], np.int8)})
    assert rows(read_qrels(whole)) == [("1", "2", 3.0)]


def test_repeats_are_counted_once(put, tmp_path):
    put("qrels/a", "# note\nq a x 1\nq a x 1\nq a y 0\n")
    put("qrels/b", "q b x 1.0\nq b z 2\n")
    qrels = read_qrels(tmp_path / "qrels")
    assert rows(qrels) == [("q", "x", 1.0), ("q", "y", 0.0), ("q", "z", 2.0)]
    assert qrels.attrs == {"comments": 1, "repeats": 2}
    assert qrels.index.tolist() == [0, 1, 2]
    assert len(read_qrels(read_qrels(tmp_path / "qrels"))) == 3


def test_two_grades_in_two_files(put):
    one, two = put("a", "q 0 x 1\nq 0 y 2\n"), put("b", "# note\nq 0 z 1\nq 0 x 0.5\n")
    with pytest.raises(
        DataError,
        match=r"^\S+/b:3: document 'x' of query 'q' has two grades: 1 \(\S+/a:1\) and "
        r"0\.5\. Keep one of the two\.$",
    ):
        read_qrels([one, two])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "q 0 a 1\nq 0 b 1\nq 0 a 2\n",
            r":3: document 'a' of query 'q' has two grades: 1 \(\S+/a\.qrels:1\) and "
            r"2\. Keep one of the two\.",
        ),
        (
            "q 1 a 1\nq 2 a 0\n",
            r":2: document 'a' .*: 1 \(.*\) and 0\. Grades per intent or judge \(the "
            r"second column\) are not plain qrels\.",
        ),
        (
            "q 0 a 1\nq a 1\n",
            r":2: expected 'query iteration doc grade', found 3 fields: 'q a 1'\. "
            r"Qrels have 4 columns, or a header; runs go without an option\.",
        ),
        (
            "q Q0 a 1 2.5 t\n",
            r":1: .*, found 6 fields: 'q Q0 a 1 2\.5 t'\. Qrels have .*",
        ),
        (
            "q a b a\n",
            r":1: expected a finite number as grade, found 'a'\. Every row needs one; "
            r"preferences go with preferences= \(--prefs on the command line\)\.",
        ),
        ("q 0 a nan\n", r":1: expected a finite number as grade, found 'nan'\. .*"),
        ("q 0 a inf\n", r":1: expected a finite number as grade, found 'inf'\. .*"),
        (
            "qid,docno,score\nq,a,1\n",
            r": missing columns \['relevance'\] \(found \['qid', 'docno', "
            r"'score'\]\)\. Needed: query_id, doc_id, relevance\.",
        ),
        (
            "qid,docno,rel\nq,a,\n",
            r":2: expected a finite number as grade, found nothing.*",
        ),
    ],
)
def test_malformed_files(put, text, message):
    with pytest.raises(DataError, match=rf"^\S*/a\.qrels{message}$"):
        read_qrels(put("a.qrels", text))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({}, r"qrels: holds no rows\. Add rows\."),
        ({"q": 1}, r"qrels: expected a dict of grades for query 'q'\. Pass .*"),
        (
            {"q": {"a": {"b": 1}}},
            r"qrels, entry 1: expected a finite .* \{'b': 1\}\. .*",
        ),
        (
            {"q": {"a": 1, "b": "x"}},
            r"qrels, entry 2: expected a finite .* found 'x'\. .*",
        ),
        (
            pd.DataFrame({"qid": "q", "docno": ["a", "a"], "rel": [0, 1]}),
            r"qrels, row 2: document 'a' of query 'q' has two grades: 0 \(qrels, row "
            r"1\) and 1\. Keep one of the two\.",
        ),
        (
            pd.DataFrame({"qid": [1.0], "docno": ["a"], "rel": [0]}),
            r"qrels, row 1: expected query_id, found 1\.0\. Ids are text or .*",
        ),
    ],
)
def test_malformed_tables_and_dicts(source, message):
    with pytest.raises(DataError, match=f"^{message}$"):
        read_qrels(source)


def test_public_qrels(data):
    """Sizes as their README and `wc` give them; a # in an id is no comment."""
    folder = data / "oracles/trec_eval"
    for name, comments in (("qrels.test", 0), ("qrels.test.with-comments", 3)):
        qrels = read_qrels(folder / name)
        assert qrels.groupby("query_id").size().to_dict() == {
            "301": 1708, "302": 1061, "303": 912
        }  # fmt: skip
        assert qrels.attrs == {"comments": comments, "repeats": 0}
    assert "CR#93E-1860" in set(qrels["doc_id"])
    assert len(read_qrels(folder / "qrels.comment.test.gz")) == 5890
    unjudged = read_qrels(folder / "qrels.rel_level")["relevance"] == -1
    assert unjudged.sum() == 304
    cast = read_qrels(data / "cast2019/qrels/2019qrels.txt.gz")
    assert len(cast) == 29350 and cast["query_id"].nunique() == 173
    assert len(read_qrels(data / "dl21/qrels.dl21-passage.txt.gz")) == 10828


def test_public_files_of_several_grades(data):
    """Grades of three judges, and of several intents."""
    judges = data / "oracles/trec_eval/qrels.123"
    intents = data / "web-diversity/qrels/2012.diversity.qrels.gz"
    for path, line in ((judges, 3686), (intents, 167)):
        message = rf"^\S+:{line}: document .* has two grades: .* per intent or judge"
        with pytest.raises(DataError, match=message):
            read_qrels(path)


@pytest.mark.parametrize(
    ("text", "line", "found"),
    [
        ("q a b -1\nq b c 1\n", 2, "q b c 1"),
        ("q 7187158 2 -1\nq 2 7187158 0\n", 1, "q 7187158 2 -1"),
        ("q a b 1\nq d NA -2\n", 2, "q d NA -2"),
        ("q\ta  b 1\nq NA d 2\n", 2, "q NA d 2"),
    ],
)
def test_preferences_are_no_grades(put, text, line, found):
    path = put("a.txt", text)
    for read, second in ((read_qrels, "iteration"), (read_intent_qrels, "intent")):
        with pytest.raises(DataError) as error:
            read(path)
        assert str(error.value) == (
            f"{path}:{line}: expected 'query {second} doc grade', found preferences of "
            f"Jelsas: '{found}'. Preferences go with preferences= (--prefs on the "
            "command line)."
        )


@pytest.mark.parametrize(
    "text",
    [
        "q 0 1 1\nq 1 0 0\n",  # iterations and documents that are numbers
        "q a b -1\nq a c 1\n",  # a judge called a
        "q a b -1\np b c 1\n",  # b is a document of another query
        "q a b 2\nq b c 1\n",  # only NA has 2 in Jelsas' format
        "q NA b 2\nq NA c 2\n",
        "q a NA -2\nq a b 0\n",
        "q a b -1\nq b c 3\n",
    ],
)
def test_grades_that_look_like_preferences(put, text):
    assert len(read_qrels(put("a.txt", text))) == 2
