"""Judgments read fast are what the exact reader gives, to the place of each row."""

from unittest import mock

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pgcjax.errors import DataError
from pgcjax.files import read_preferences
from pgcjax.io import fast_columns
from pgcjax.io.graded import read_qrels

FORMATS = ("auto", "clarke", "luo", "jelsas", "trec-prefs", "trec-qrels-prefs")
QRELS = "q 0 a 1\nq 0 b 0.5\nr 0 a -1\n"
CLARKE = "q a b a\nq b c c\nr a b b\n"
LUO = "q a b\nq b c\nr b a\n"
JELSAS = "q a b -1\nq b c 0\nq NA c 2\nr d NA -2\nr d a 1\n"


def outcome(read, *args, **options):
    """The table, or what is said against it."""
    try:
        return read(*args, **options)
    except DataError as error:
        return str(error)


def assert_same(read, *args, **options):
    """Compare both readers, where the fast one reads at all; give what they give."""
    tidied, read_fast = fast_columns.tidied, []

    def spied(data, parse):
        read_fast.append(tidied(data, parse))
        return read_fast[-1]

    with mock.patch.object(fast_columns, "tidied", spied):
        found = outcome(read, *args, **options)
    if not any(table is not None for table in read_fast):
        return found  # by the exact reader
    with mock.patch.object(fast_columns, "tidied", lambda data, parse: None):
        exact = outcome(read, *args, **options)
    assert type(found) is type(exact), (found, exact)
    if isinstance(found, str):
        assert found == exact
    else:
        pd.testing.assert_frame_equal(found, exact, check_exact=True)
        assert found.attrs == exact.attrs
        assert type(found.index) is type(exact.index)
        for name in found.select_dtypes("number"):  # the sign of 0 too
            signs = [np.signbit(table[name].to_numpy()) for table in (found, exact)]
            assert np.array_equal(*signs)
    return found


@pytest.mark.parametrize(
    ("format", "text"), [("clarke", CLARKE), ("luo", LUO), ("jelsas", JELSAS)]
)
def test_regular_preferences(put, format, text):
    for form in (text, text[:-1], text.replace(" ", "\t"), text.replace("a", "日本")):
        path = put("a.txt", form)
        for name in FORMATS:
            found = assert_same(read_preferences, path, format=name)
            assert isinstance(found, str) == (name not in ("auto", format))


@pytest.mark.parametrize(
    "text",
    [
        "q a b a\nq a c a\n",  # the first is always best
        "q 1 2 1\nq 1 2 2\nq 3 2 3\n",  # as in MS MARCO
        "q a 007\n",
        "q 1 2\nq 3 007\n",
        "q 1 2\nq 2 3\n",
        "q 1 2\nq 2 nan\nq 2 x\n",
        "q a b -1\n",
    ],
)
def test_beyond_doubt(put, text):
    assert len(assert_same(read_preferences, put("a.txt", text))) > 0


DOUBTFUL = [
    "q 1 7 7\n",
    "q 1 7 7\nq 1 1 1\nq 2 3 2\n",
    "q 0 1 1\nq 1 2 2\n",
    "q 0 a 1\nq 0 b 0\n",
    "q a b 1\nq b c 0\n",
    "q 0 a -1\nq 0 b 0\n",
    "q a -1 -1\nq 2 -1 2\n",
    "q a -1 -1\nq -1 b -1\n",
    "q 1 2.5\nq 2 3\n",
    "q a 1\n",
    "topic winner loser\nq a b\n",
    "query doc other doc\n",
]


@pytest.mark.parametrize("text", DOUBTFUL)
@pytest.mark.parametrize("format", FORMATS)
def test_doubt_is_the_same_however_lines_are_split(put, text, format):
    assert_same(read_preferences, put("a.txt", text), format=format)


WRONG = [
    "q a b a\nq a c b\n",
    "q a a a\nq a b b\n",
    "q a b a\nq a b\n",
    "q a b\nq a a\n",
    "q a b 2\nq NA b 2\n",
    "q NA NA 2\n",
    "q a NA -1\n",
    "q a a -1\nq NA b 2\n",
    "q a\u00a0 b a\nq a b a\n",
]


@pytest.mark.parametrize("text", WRONG)
@pytest.mark.parametrize("before", ["", "# a comment\n\n \n", "\ufeff#\r\n"])
@pytest.mark.parametrize("format", FORMATS[:4])
def test_messages_name_the_same_line(put, text, before, format):
    assert_same(read_preferences, put("a.txt", before + text), format=format)


def test_regular_qrels(put):
    for form in (QRELS, QRELS[:-1], QRELS.replace(" ", "\t"), QRELS.replace("a", "é")):
        with mock.patch("pgcjax.io.fast_columns.split"):  # nothing is left to it
            assert len(read_qrels(put("a", form))) == 3
        assert_same(read_qrels, put("a", form))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_tidied_files_keep_their_lines(put, end, mark):
    lines = ["# one", "", "q  0 a 1", " \t ", "  #two", "\tq 0 b 2 ", "#", "q 0 c 3"]
    first = put("a", mark + end.join(lines))
    for last in ("q 0 c 4", "q 0 a 1", "q 0 a 0"):
        second = put("b", end.join([*lines[:5], last, ""]))
        found = assert_same(read_qrels, [first, second])
        if not last.endswith("1"):
            place = "8" if "c" in last else "3"
            assert f"/b:6: document '{last[4]}' of query 'q' has two" in found
            assert f"/a:{place}) and {last[-1]}. " in found


def test_lines_without_an_end_in_common(put):
    """As many rows as Unix lines, but others."""
    found = assert_same(read_qrels, put("a", "\nq 0 a 1\rq 0 a 2"))
    assert "/a:3: document 'a' of query 'q' has two grades: 1 (" in found


def test_repeats_in_several_files(put):
    a, b = put("a", QRELS), put("b", QRELS.replace(" 0 ", " 1 ") + "s 0 a 1\n")
    assert assert_same(read_qrels, [a, b]).attrs == {"comments": 0, "repeats": 3}
    csv = put("c.csv", "qid,docno,label\nq,a,1\nq,c,2\n")
    assert len(assert_same(read_qrels, [a, csv, b])) == 5


@pytest.mark.parametrize(
    "grade", ["nan", "inf", "1e999", "1_0", "x", "٢", "\u00a01", "-0", "1e-3", ".5"]
)
def test_grades_of_any_spelling(put, grade):
    assert_same(read_qrels, put("a", QRELS.replace("0.5", grade)))


PIECES = [
    *" \t\n\r#\0.-_,", "  ", " \n", "\r\n", "\n\n", "# ", "\n#", "\ufeff", "\x0b",
    "\x1c", "\x1f", "\x85", "\u00a0", "\u3000", "é", "NA", "-2", "2", "1", "nan", "1_0",
    "\nq a b a", "\nq a b", "\nq 0 a 1", "a", "query_id doc_id other_doc_id\n",
]  # fmt: skip
RAW = [b"\xff", b"\xed\xa0\x80", b"\x1f\x8b"]
ID = st.sampled_from(["a", "b", "c", "1", "2", "7", "007", "NA", "é", "-1"])
LABEL = st.sampled_from(["-2", "-1", "0", "1", "2", "0.5", "3", "a", "b", "7"])


@st.composite
def judgment_files(draw):
    """A file of a few judgments, cut and mended in up to three places."""
    query, separator = st.sampled_from(["q", "r", "1"]), draw(st.sampled_from(" \t"))
    kind = draw(st.sampled_from(["clarke", "luo", "jelsas", "qrels", "any"]))
    lines = []
    for _ in range(draw(st.integers(1, 5))):
        a, b = draw(ID), draw(ID)
        line = [draw(query), a, b]
        if kind == "clarke":
            line.append(draw(st.sampled_from([a, b])))
        elif kind == "jelsas":
            label = draw(LABEL)
            line[1] = "NA" if label == "2" else a
            line[2] = "NA" if label == "-2" else b
            line.append(label)
        elif kind == "qrels":
            line[1:] = "0", a, draw(LABEL)
        elif kind == "any":
            line.append(draw(LABEL))
        lines.append(separator.join(line) + "\n")
    data = "".join(lines).encode()
    pieces = st.sampled_from([piece.encode() for piece in PIECES] + RAW)
    for _ in range(draw(st.integers(0, 3))):
        at, cut = draw(st.integers(0, len(data))), draw(st.integers(0, 2))
        data = data[:at] + draw(st.one_of(pieces, st.just(b""))) + data[at + cut :]
    return data


@settings(max_examples=150)
@given(data=judgment_files(), more=judgment_files(), format=st.sampled_from(FORMATS))
@example(b"q -2 2 2\nq 2 -2 -2\n", b"q -1 1 1\n", "auto")
@example(b"q NA NA NA\n", b"q NA a 2\n", "jelsas")
def test_any_file_is_read_as_the_exact_reader_reads_it(
    tmp_path_factory, data, more, format
):
    path, other = (tmp_path_factory.getbasetemp() / f"{i}.txt" for i in (1, 2))
    path.write_bytes(data)
    other.write_bytes(more)
    assert_same(read_preferences, path, format=format)
    assert_same(read_preferences, [path, other], format=format)
    assert_same(read_qrels, path)
    assert_same(read_qrels, [other, path])


@pytest.mark.slow
def test_public_judgments(data):
    """All files of judgments beside the repository, whatever they turn out to be."""
    found = [
        *(data / "dl21").glob("*.txt.gz"),
        *(data / "dl21/gpt4o").glob("*"),
        *(data / "cast2019/clarke-prefs").glob("*"),
        *(data / "cast2019/qrels").glob("*"),
        *(data / "web-diversity/qrels").glob("*"),
        *(data / "oracles/jelsas-pref").glob("*.txt"),
        *(data / "oracles/trec_eval").glob("*prefs*"),
        *(data / "oracles/trec_eval").glob("qrels*"),
    ]
    fit = 0
    for path in filter(lambda path: path.is_file(), found):
        fit += not isinstance(assert_same(read_qrels, path), str)
        if ".ndeval." not in path.name:  # 2 million pairs, by the exact reader alone
            fit += not isinstance(assert_same(read_preferences, path), str)
    assert fit > 20
