"""Ids are text: whatever they look like, they come out as they went in."""

import csv
import io
import json
import sys

import numpy as np
import pandas as pd
import pytest
from helpers.builders import run_table

from pgcjax.errors import DataError
from pgcjax.files import read_preferences
from pgcjax.io.graded import read_qrels
from pgcjax.io.schema import Origin, ids

PLAIN = [
    "007", "1e5", "1_000", "31_1", "9007199254740993", "1.0", "-0", "inf", "nan", "NaN",
    "NA", "None", "null", "True", "N/A", "<NA>", "d#1", "a.b", "a,b", "a;b", "it's",
    'say"so"', '"quoted"', "a\\b", "[1]", "{x}", "%", "日本", "a\u00a0b", "a\u2028b",
    "a\u3000b", "a\x0bb", "a\x85b", "e\u0301", "🙂",
]  # fmt: skip
BLANK = ["two words", "a  b", "# no comment", ""]
WRITTEN = ("trec", "three", "csv", "tsv", "jsonl", "parquet", "frame", "dict")


def run_in(form: str, query: str, doc: str, put):
    """A run with one document, in one of the forms that `read_runs` takes."""
    names, cells = ["qid", "docno", "score"], [query, doc, "1.5"]
    frame = pd.DataFrame([cells], columns=names).astype({"score": float})
    if form == "trec":
        return put("a.run", f"{query}\tQ0\t{doc} 1 1.5  tag\n")
    if form == "three":
        return put("a.run", f"{query} {doc} 1.5\n")
    if form in ("csv", "tsv"):
        out = io.StringIO()
        separator = "," if form == "csv" else "\t"
        csv.writer(out, delimiter=separator).writerows([names, cells])
        return put(f"a.{form}", out.getvalue())
    if form == "jsonl":
        return put("a.jsonl", json.dumps(dict(zip(names, cells, strict=True))))
    if form == "parquet":
        path = put("a.parquet", "")
        frame.to_parquet(path)
        return path
    return frame if form == "frame" else {query: {doc: 1.5}}


@pytest.mark.parametrize("form", WRITTEN)
@pytest.mark.parametrize("odd", PLAIN)
def test_odd_ids(put, form, odd):
    runs = run_table(run_in(form, odd, odd, put))
    assert runs[["query_id", "doc_id"]].to_numpy().tolist() == [[odd, odd]]


@pytest.mark.parametrize("form", WRITTEN[2:])
@pytest.mark.parametrize("odd", BLANK[:3])
def test_ids_with_blanks_in_tables(put, form, odd):
    assert run_table(run_in(form, "q", odd, put))["doc_id"].tolist() == [odd]


@pytest.mark.parametrize("form", WRITTEN[2:])
@pytest.mark.parametrize(
    "wrong", ["", " x", "x ", "\u00a0x", "a\tb", "a\nb", "a\rb", "a\0b"]
)
def test_ids_that_could_not_be_written_again(put, form, wrong):
    """Refused in all forms: two ids that differ by a blank would look the same."""
    if "\0" in wrong and form in ("csv", "tsv"):
        return  # refused with the file
    with pytest.raises(DataError, match=r"expected doc_id, found ('|nothing)"):
        run_table(run_in(form, "q", wrong, put))


def test_blanks_are_what_python_takes_for_blanks():
    """A column is checked at once; of any character, the outcome is the same."""
    for character in map(chr, range(sys.maxunicode)):
        if character.isspace() or character < " " or character in "\x7f\xad\u200b":
            for wrong in (character, "a" + character, character + "a"):
                column, refused = pd.Series(["a", wrong], name="doc_id"), False
                try:
                    assert ids(column, Origin("x")).tolist() == ["a", wrong]
                except DataError:
                    refused = True
                assert refused == (wrong != wrong.strip() or character == "\0"), wrong
            inner = pd.Series(["a", f"a{character}a"], name="doc_id")
            if character not in "\t\n\r\0":
                assert ids(inner, Origin("x")).equals(inner)


@pytest.mark.parametrize("odd", PLAIN)
def test_odd_ids_in_judgments(put, odd):
    qrels = read_qrels(put("a.qrels", f"{odd} 0 {odd} 1\n"))
    assert qrels[["query_id", "doc_id"]].to_numpy().tolist() == [[odd, odd]]
    for name, text in (
        ("clarke", f"{odd} x {odd} {odd}\n"),
        ("luo", f"{odd} {odd} x\n"),
        ("trec-prefs", f"{odd} g s {odd} 1\n{odd} g s x 0\n"),
    ):
        prefs = read_preferences(put("a.txt", text), format=name)
        winner = np.where(prefs.preference > 0, prefs.doc_id, prefs.other_doc_id)
        assert [*prefs["query_id"], *winner] == [odd, odd]


def test_whole_numbers_keep_every_digit(put):
    """Also beyond 2^53, where floats lose digits, and beyond 64 bits."""
    for big in (2**53 + 1, 2**63 - 1, 2**64 - 1, 10**30):
        record = json.dumps({"qid": 7, "docno": big, "score": 1})
        for source in (
            put("a.jsonl", record),
            pd.DataFrame({"qid": [7], "docno": [big], "score": [1]}),
            pd.DataFrame({"qid": [7], "docno": np.array([big], object), "score": [1]}),
            {7: {big: 1}},
        ):
            runs = run_table(source)
            assert runs["query_id"].tolist() == ["7"]
            assert runs["doc_id"].tolist() == [str(big)]
    frame = pd.DataFrame({"qid": pd.array([1, 2], "Int64"), "docno": ["a", "b"]})
    runs = run_table(frame.assign(score=1))
    assert runs["query_id"].tolist() == ["1", "2"]


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (
            [1.0, 2.0],
            r"found 1\.0\. Ids are text or whole numbers; a missing value",
        ),
        (["a", np.nan], r"row 2: .* found nan\. Every row needs one; pandas\.read_csv"),
        (["a", None], r"row 2: expected doc_id, found n"),
        (pd.array([1, None], "Int64"), r"row 2: expected doc_id, found nothing\. "),
        ([True, False], r"row 1: expected doc_id, found True\. "),
        ([b"a", b"b"], r"row 1: expected doc_id, found b'a'\. "),
        ([("a", 1), "b"], r"row 1: expected doc_id, found \('a', 1\)\. "),
        ([np.arange(3), "b"], r"row 1: expected doc_id, found array\(\[0, 1, 2\]\)\. "),
    ],
)
def test_other_types_are_no_ids(column, message):
    frame = pd.DataFrame({"qid": "q", "docno": column, "score": 1.0})
    with pytest.raises(DataError, match=r"^runs, row \d: expected doc_id, ") as caught:
        run_table(frame)
    caught.match(message)


def test_half_a_character_is_no_text(put):
    """JSON can write one half of a surrogate pair, which no file in UTF-8 can."""
    record = '{"qid": "q", "docno": "a\\ud83d", "score": 1}'
    message = r"^\S+/a\.jsonl:1: expected doc_id, found 'a\\ud83d'\. Ids are whole "
    with pytest.raises(DataError, match=message):
        run_table(put("a.jsonl", record))
    record = '{"qid": "\\ude00", "docno": "a", "rel": 1}'
    with pytest.raises(DataError, match=r":1: expected query_id, found '\\ude00'\. "):
        read_qrels(put("a.jsonl", record))


@pytest.mark.parametrize(
    "kind", ["object", "str", "string", "category", "string[pyarrow]", "string[python]"]
)
def test_every_kind_of_text_column(kind):
    frame = pd.DataFrame({"qid": ["NA", "007"], "docno": ["a", "b"]}).astype(kind)
    runs = run_table(frame.assign(score=[1, 2]))
    assert runs["query_id"].tolist() == ["NA", "007"]
    assert {runs[c].dtype for c in ("run_id", "query_id", "doc_id")} == {
        pd.Series(["a"], dtype="str").dtype
    }


def test_comments_begin_a_line(put):
    """# inside an id, or beginning a later field, is part of it."""
    text = "# comment\n#q Q0 d 1 2 t\n  # comment\nq Q0 #d 1 2 t\nq Q0 d#1 2 1 #t\n"
    runs = run_table(put("a.run", text.replace("2 t", "2 #t")))
    assert runs["doc_id"].tolist() == ["#d", "d#1"]
    assert runs["run_id"].tolist() == ["#t", "#t"]
    assert runs.attrs == {"comments": 3}


def test_comments_in_a_table_stand_above_its_header(put):
    text = "# comment\nqid,docno,score\n#q,d,1\n# no comment,#d,2\n"
    runs = run_table(put("a.csv", text))
    assert runs["query_id"].tolist() == ["#q", "# no comment"]
    assert runs.attrs == {"comments": 1}
