"""Conditional grades in every form; no document after itself, no pair with two."""

import numpy as np
import pandas as pd
import pytest

from pgcjax.errors import DataError
from pgcjax.io.graded import read_context

COLUMNS = ["query_id", "doc_id", "previous_doc_id", "relevance"]
EXPECTED = [("q1", "a", "b", 2.0), ("q1", "b", "a", 0.5), ("q2", "a", "c", -1.0)]


def rows(context):
    return list(context.itertuples(index=False, name=None))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.txt", "q1 a b 2\nq1 b a 0.5\nq2 a c -1\n"),  # regular: read fast
        ("a.ctx", "q1 a b 2\nq1\tb\ta\t0.5\n q2  a c  -1e0\n"),
        ("a.csv", "query_id,previous_doc_id,doc_id,relevance\n"
                  "q1,b,a,2\nq1,a,b,0.5\nq2,c,a,-1\n"),
        ("a.txt", "qid\tdocno\tprevious\tgrade\nq1\ta\tb\t2\nq1\tb\ta\t.5\n"
                  "q2\ta\tc\t-1\n"),
        ("a.jsonl", '{"qid":"q1","docno":"a","previous_docno":"b","rel":2}\n'
                    '{"qid":"q1","docno":"b","previous_docno":"a","rel":0.5}\n'
                    '{"qid":"q2","docno":"a","previous_docno":"c","rel":"-1"}\n'),
    ],
)  # fmt: skip
def test_files(put, name, text):
    context = read_context(put(name, text))
    assert list(context.columns) == COLUMNS
    assert context["relevance"].dtype == np.float64
    assert rows(context) == EXPECTED


def test_compressed_parquet_and_frames(put, tmp_path):
    import gzip

    text = b"".join(b"%s %s %s %g\n" % (q.encode(), a.encode(), b.encode(), g)
                    for q, a, b, g in EXPECTED)  # fmt: skip
    frame = pd.DataFrame(EXPECTED, columns=["topic", "did", "previous_doc", "label"])
    frame.to_parquet(tmp_path / "a.parquet")
    packed = put("a.txt.gz", gzip.compress(text))
    for source in (packed, tmp_path / "a.parquet", frame, read_context(frame)):
        assert rows(read_context(source)) == EXPECTED
    whole = pd.DataFrame([[1, 2, 3, 4]], columns=COLUMNS)
    assert rows(read_context(whole)) == [("1", "2", "3", 4.0)]


def test_repeats_are_counted_once(put, tmp_path):
    put("c/a", "# note\nq x y 1\nq x y 1\nq y x 0\n")
    put("c/b", "q x y 1.0\nq x z 2\n")
    context = read_context(tmp_path / "c")
    assert rows(context) == [
        ("q", "x", "y", 1.0),
        ("q", "y", "x", 0.0),
        ("q", "x", "z", 2.0),
    ]
    assert context.attrs == {"comments": 1, "repeats": 2}
    assert context.index.tolist() == [0, 1, 2]


def test_the_pair_has_an_order(put):
    """g(a|b) and g(b|a) are two grades, and of another query they are others."""
    context = read_context(put("a", "q a b 1\nq b a 2\nr a b 3\n"))
    assert len(context) == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "q a b 1\nq c c 2\n",
            r":2: document 'c' of query 'q' is graded after itself\. Name the document "
            r"before it; grades without one go into qrels\.",
        ),
        (
            "q a b 1\n\nq b a 1\nq a b 2\n",
            r":4: document 'a' after 'b', of query 'q', has two grades: 1 \(\S+a\.ctx:1"
            r"\) and 2\. Keep one of the two\.",
        ),
        (
            "q a b 1\nq a 1\n",
            r":2: expected 'query doc previous-doc grade', found 3 fields: 'q a 1'\. "
            r"Conditional grades have 4 columns, or a header\.",
        ),
        (
            "q a b c\n",
            r":1: expected a finite number as grade, found 'c'\. Every row needs one\.",
        ),
        (
            "q a b 0\nq b a nan\n",
            r":2: expected a finite number as grade, found 'nan'\. .*",
        ),
        (
            "qid,docno,grade\nq,a,1\n",
            r": missing columns \['previous_doc_id'\] \(found \['qid', 'docno', "
            r"'grade'\]\)\. Needed: query_id, doc_id, previous_doc_id, relevance\.",
        ),
        (
            "qid,docno,previous,grade\nq,a,,1\n",
            r":2: expected previous_doc_id, found nothing\. .*",
        ),
        ("# nothing\n", r": holds comments only.*"),
    ],
)
def test_malformed_files(put, text, message):
    with pytest.raises(DataError, match=rf"^\S*/a\.ctx{message}$"):
        read_context(put("a.ctx", text))


def test_two_grades_in_two_files(put):
    one, two = put("a", "q x y 1\nq y x 2\n"), put("b", "# note\nq z x 1\nq x y 0.5\n")
    message = r"^\S+/b:3: document 'x' after 'y', .* 1 \(\S+/a:1\) and 0\.5\. .*$"
    with pytest.raises(DataError, match=message):
        read_context([one, two])


def test_malformed_tables():
    frame = pd.DataFrame([["q", "a", "a", 1]], columns=COLUMNS)
    with pytest.raises(DataError, match=r"^context, row 1: document 'a' of query 'q'"):
        read_context(frame)
    with pytest.raises(DataError, match=r"^context: holds no rows\. Add rows\.$"):
        read_context(frame[:0])
    with pytest.raises(DataError, match="no such file"):
        read_context("nowhere")
