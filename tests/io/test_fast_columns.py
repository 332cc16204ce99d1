"""The fast reader gives what the exact one gives, or nothing."""

from pathlib import Path
from unittest import mock

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from pgcjax.errors import DataError
from pgcjax.io import fast_columns
from pgcjax.io.bytes import read_bytes
from pgcjax.io.runs import RunTable, read_runs, text

SIX = b"q1 Q0 d1 1 2.5 tag\nq1 Q0 d2 2 -1e-3 tag\nq2 Q0 d1 1 7 tag\n"
THREE = b"q1\td1\t2.5\nq1\td2\t-1e-3\n"


def parsed(data: bytes, ranks=True) -> pl.DataFrame | None:
    """The table of a run that is read as it is; None if it is left."""
    table = text.read_regular([Path("a.run")], [data], "tag", ranks)
    return table and table.frame


def read_fast(data: bytes, ranks=True) -> RunTable | None:
    """The table of a run that is read as it is, or tidied; None if it is left."""
    with mock.patch.object(text, "split", side_effect=DataError("is left")):
        try:
            return text.read_text(Path("a.run"), data, "tag", ranks)
        except DataError:
            return None


def outcome(path, exactly=False):
    """The table that a file holds, or what is said against it."""
    try:
        if not exactly:
            return next(read_runs(path).tables())
        with mock.patch.object(text, "read_regular", return_value=None):
            return next(read_runs(path).tables())
    except DataError as error:
        return str(error)


def assert_same(one, other):
    assert type(one) is type(other), (one, other)
    if isinstance(one, str):
        assert one == other
        return
    assert_frame_equal(one, other, check_exact=True)
    for name in ("score", "rank"):  # the sign of 0 too
        a, b = (x[name].to_numpy().view(np.int64) for x in (one, other))
        np.testing.assert_array_equal(a, b)


def test_regular_files():
    frame = parsed(SIX)
    assert frame is not None
    assert frame.rows() == [
        ("tag", "q1", "d1", 2.5, 1.0),
        ("tag", "q1", "d2", -0.001, 2.0),
        ("tag", "q2", "d1", 7.0, 1.0),
    ]
    frame = parsed(THREE)
    assert frame is not None
    assert frame.drop("rank").rows() == [
        ("a", "q1", "d1", 2.5),
        ("a", "q1", "d2", -0.001),
    ]
    assert frame["rank"].is_nan().all()
    for data in (SIX, THREE):
        for form in (data[:-1], data.replace(b"d1", "d日é".encode())):
            assert parsed(form) is not None


@pytest.mark.parametrize("size", range(1, 40))
def test_large_files_are_looked_at_in_pieces(monkeypatch, size):
    monkeypatch.setattr(fast_columns, "CHUNK", size)
    assert fast_columns.table(SIX, text.LAYOUTS) is not None
    assert fast_columns.table(SIX.replace(b"Q0 d2", b" d2"), text.LAYOUTS) is None


UNUSUAL = {
    "empty": b"",
    "a blank first": b" " + SIX,
    "a blank last": SIX[:-1] + b" \n",
    "a blank at the very end": SIX[:-1] + b" ",
    "two blanks": SIX.replace(b"d2 ", b"d2  "),
    "a tab": SIX.replace(b"d2 ", b"d2\t"),
    "an empty line": SIX + b"\n",
    "an empty line first": b"\n" + SIX,
    "a return": SIX.replace(b"\n", b"\r\n"),
    "a mark": b"\xef\xbb\xbf" + SIX,
    "a comment": b"# a b c d e\n" + SIX,
    "a comment of one field": b"#\n" + SIX,
    "a comment within": SIX + b"#q Q0 d 1 2 t\n",
}
WRONG = {
    "a short line": SIX.replace(b"7 tag", b"7"),
    "a long line": SIX.replace(b"7 tag", b"7 my tag"),
    "a short and a long line": SIX.replace(b"7 tag", b"7").replace(b"2.5", b"2 5"),
    "a short line and a blank too many": SIX.replace(b"7 tag", b"7").replace(
        b"d2", b"d\x1f2"
    ),
    "nothing for the first query": SIX[2:],
    "nothing for Q0": SIX.replace(b"Q0 d2", b" d2"),
    "two lines in one": SIX.replace(b"2.5 tag\n", b"2.5 tag "),
    "four columns": SIX.replace(b"Q0 ", b"").replace(b" tag", b""),
    "a header": b"query iter doc rank score tag\n" + SIX,
    "NUL": SIX.replace(b"d2", b"d\0"),
    "a separator of fields": SIX.replace(b"d1 1", b"d1\x1f1"),
    "no UTF-8": SIX.replace(b"Q0 d2", b"Q\xff d2"),
    "a letter of Latin-1": SIX.replace(b"d2", b"d\xe9"),
    "a comment without UTF-8": b"# \xff\n" + SIX,
    "a comment with NUL": b"# \0\n" + SIX,
    "a surrogate": SIX.replace(b"d2", b"\xed\xa0\x80"),
    "a blank around an id": SIX.replace(b"d2", "\u3000d2".encode()),
    "a control character around an id": SIX.replace(b"d2", b"d2\x1c"),
    "a next line around a tag": SIX.replace(b"7 tag", "7 tag\x85".encode()),
    "a document twice": SIX + b"q1 Q0 d2 3 1 tag\n",
    "Arabic numbers": SIX.replace(b"2.5", "٢".encode()),
    "a blank around a number": SIX.replace(b"2.5", "\u00a02.5".encode()),
    **{s: SIX.replace(b"2.5", s.encode()) for s in ("nan", "-inf", "1e999", "1_0", "x")}
}  # fmt: skip
ODD = {
    "junk ranks": SIX.replace(b" 1 ", b" - "),
    "a control character in an id": SIX.replace(b"d2", b"d\x0b2"),
}


@pytest.mark.parametrize("name", UNUSUAL | WRONG | ODD)
def test_what_is_unusual_is_left(put, name):
    data = (UNUSUAL | WRONG | ODD)[name]
    path = put("a.run", data)
    assert parsed(data) is None
    assert_same(outcome(path), outcome(path, exactly=True))
    assert isinstance(outcome(path), str) == (name in WRONG or name == "empty")
    # Of these, tidying leaves the same rows.
    assert (read_fast(data) is not None) == (name in UNUSUAL and name != "empty")


def test_ranks_that_nobody_wants_may_be_anything():
    """A file is read as it would be with other ranks, and refused as it would be."""
    for name, data in (UNUSUAL | WRONG | ODD).items():
        read = read_fast(data, ranks=False)
        assert (read is not None) == (
            name in UNUSUAL and name != "empty" or name == "junk ranks"
        )
        if read:
            expected = parsed(SIX, ranks=False)
            assert expected is not None
            assert_frame_equal(read.frame, expected)
    frame = parsed(SIX)
    assert frame is not None
    for data in (SIX, SIX.replace(b" 1 ", b" - "), SIX.replace(b" 1 ", b" nan ")):
        unranked = parsed(data, ranks=False)
        assert unranked is not None
        assert_frame_equal(unranked.drop("rank"), frame.drop("rank"))
    for data in (SIX.replace(b" 1 ", b"  "), SIX.replace(b" 1 ", b" ")):
        assert read_fast(data, ranks=False) is None


@pytest.mark.parametrize("data", [SIX, THREE])
def test_tidied_files(put, data):
    """Any blanks between fields, any line ends, and comments, which are counted."""
    for blank in (b" ", b"\t", b" \t", b" " * 99):
        for end in (b"\n", b"\r\n", b"\r", b" \t\n", b"\n \n\n"):
            mixed = data.replace(b" ", blank).replace(b"\n", end + b" # no data" + end)
            read = read_fast(b"\xef\xbb\xbf# one\n" + mixed + b"#")
            assert read is not None
            assert_frame_equal(read.frame, parsed(data))
            assert read.comments == 2 + data.count(b"\n")
            path = put("a.run", mixed)
            assert_same(outcome(path), outcome(path, exactly=True))


PIECES = [
    *" \t\n\r#\0.-+_,;e0'\"\\", "  ", " \n", "\r\n", "\n\n", "# ", "\n#", "\ufeff",
    "\x0b", "\x0c", "\x1c", "\x1f", "\x7f", "\x85", "\u00a0", "\u2028", "\u3000", "é",
    "🙂", "٣", "nan", "inf", "NA", "null", "1e999", "1_0", "Q0", "tag", "doc_id",
    "\nq1 Q0 d1 1 2.5 tag", "q\td\t1\n", "query_id doc_id score\n",
]  # fmt: skip
RAW = [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\x1f\x8b", b"BZh"]
ID = st.sampled_from(["q", "d", "7", "007", "31_1", "NA", "null", "é", '"x', "a,b"])
NUMBER = st.one_of(st.integers(-9, 9).map(str), st.floats(width=32).map(repr))


@st.composite
def nasty_files(draw):
    """A regular run, cut and mended in up to four places."""
    separator = draw(st.sampled_from(" \t"))
    lines = st.tuples(ID, st.just("Q0"), ID, NUMBER, NUMBER, st.sampled_from("tu"))
    if draw(st.booleans()):
        lines = st.tuples(ID, ID, NUMBER)
    lines = draw(st.lists(lines, min_size=1, max_size=5))
    data = "".join(separator.join(line) + "\n" for line in lines).encode()
    pieces = st.sampled_from([piece.encode() for piece in PIECES] + RAW)
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(data)))
        cut = draw(st.integers(0, 2))
        data = data[:at] + draw(st.one_of(pieces, st.just(b""))) + data[at + cut :]
    return data


@settings(max_examples=100)
@given(data=nasty_files())
def test_any_file_is_read_as_the_exact_reader_reads_it(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "a.run"
    path.write_bytes(data)
    exact = outcome(path, exactly=True)
    assert_same(outcome(path), exact)
    unranked = read_fast(data, ranks=False)
    assert unranked or not read_fast(data)
    if unranked:
        assert isinstance(exact, pl.DataFrame)
        assert_frame_equal(unranked.frame.drop("rank"), exact.drop("rank"))
    frame = parsed(data)
    if frame is not None:
        assert isinstance(exact, pl.DataFrame)
        assert_same(frame, exact)


FORMATS = ["{!r}", "{:f}", "{:e}", "{:.25g}", "{:+.3f}", "{:.0f}.", "{:.40E}", "{:g}"]


@given(
    st.lists(
        st.tuples(
            st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(FORMATS)
        ),
        min_size=1,
    )
)
def test_scores_have_the_bits_that_python_gives_them(tmp_path_factory, scores):
    texts = [format.format(score) for score, format in scores]
    lines = [f"q Q0 d{i} {i} {text} t\n" for i, text in enumerate(texts)]
    path = tmp_path_factory.getbasetemp() / "scores.run"
    path.write_text("".join(lines))
    frame = outcome(path)
    expected = np.array([float(text) for text in texts])
    if not np.isfinite(expected).all():  # 1.8e308, rounded up
        assert isinstance(frame, str)
        return
    assert isinstance(frame, pl.DataFrame)
    bits = frame["score"].to_numpy().view(np.int64)
    np.testing.assert_array_equal(bits, expected.view(np.int64))


@pytest.mark.parametrize(
    "number",
    [
        "1e23", "8.5e22", "9007199254740993", "2.2250738585072011e-308", "5e-324",
        "2.4703282292062327e-324", "2.4703282292062328e-324", "1.7976931348623157e308",
        "6631236846766476e-316", "0." + "0" * 400 + "1", "9" * 300, "-0", "00.10", ".5",
        "0.1000000000000000055511151231257827021181583404541015625",
        "1.00000000000000011102230246251565404236316680908203125",
        "1.00000000000000011102230246251565404236316680908203126",
        "1.00000000000000011102230246251565404236316680908203124" + "9" * 800,
    ],
)  # fmt: skip
def test_hard_scores(put, number):
    frame = outcome(put("a.run", f"q d {number}\n"))
    assert isinstance(frame, pl.DataFrame)
    assert frame["score"][0].hex() == float(number).hex()


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["dl21", "cast2019", "web-diversity"])
def test_public_runs(data, folder):
    """All are read fast; every third, and what is unusual, in the other ways too."""
    for i, path in enumerate(sorted((data / folder / "runs").iterdir())):
        content = read_bytes(path)
        # Four have the line ends of Windows.
        assert (parsed(content) is None) == (b"\r" in content)
        if i % 3 and b"\r" not in content:
            continue
        assert_same(outcome(path), outcome(path, exactly=True))
        unranked = read_fast(content, ranks=False)
        ranked = read_fast(content)
        assert unranked and ranked and unranked.comments == ranked.comments
        assert_frame_equal(unranked.frame.drop("rank"), ranked.frame.drop("rank"))
