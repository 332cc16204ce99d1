"""Preferences in every form, and which of them `auto` takes a file for."""

import gzip
import json
from collections import Counter

import pandas as pd
import pytest

from pgcjax.errors import DataError, UsageError
from pgcjax.files import read_preferences
from pgcjax.io.check import summarise_preferences

NAMES = ["query_id", "doc_id", "other_doc_id", "preference"]


def rows(prefs):
    """Rows as (query, document, other, preference); None for no other."""
    table = prefs[NAMES].astype(object)
    return [tuple(r) for r in table.where(table.notna(), None).to_numpy().tolist()]


CLARKE = "q1 a b a\nq1\ta  c\tc\nq2 x y x\n"
CLARKE_ROWS = [("q1", "a", "b", 1.0), ("q1", "a", "c", -1.0), ("q2", "x", "y", 1.0)]
LUO = "q1 a b\nq1 c a\nq2 x y\n"
LUO_ROWS = [("q1", "a", "b", 1.0), ("q1", "c", "a", 1.0), ("q2", "x", "y", 1.0)]
JELSAS = "0 1 2 -1\n0 1 3 1\n0 3 2 0\n0 4 NA -2\n0 NA 5 2\n"
JELSAS_ROWS = [
    ("0", "1", "2", 1.0),
    ("0", "1", "3", -1.0),
    ("0", "3", "2", 0.0),
    ("0", "4", None, -1.0),
    ("0", "5", None, -1.0),
]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("clarke", CLARKE, CLARKE_ROWS),
        ("luo", LUO, LUO_ROWS),
        ("jelsas", JELSAS, JELSAS_ROWS),
    ],
)
def test_pair_formats(put, name, text, expected):
    path = put("a.txt", text)
    for source, format in ((path, "auto"), (path, name), (put("a.csv", text), name)):
        prefs = read_preferences(source, format=format)
        assert list(prefs.columns) == NAMES
        assert rows(prefs) == expected
    packed = put("a.txt.gz", gzip.compress(text.encode()))
    assert rows(read_preferences([packed])) == expected
    assert rows(read_preferences(read_preferences(path))) == expected


TABLE = [("q", "a", "b", 1.5), ("q", "NA", "007", -2.0), ("q", "a", "c", 0.0)]


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet", "frame"])
@pytest.mark.parametrize("format", ["auto", "named"])
def test_tables(put, tmp_path, kind, format):
    frame = pd.DataFrame(TABLE, columns=["qid", "docno", "other_docno", "pref"])
    path = tmp_path / f"a.{kind}"
    if kind == "parquet":
        frame.to_parquet(path)
    elif kind == "jsonl":
        path.write_text("\n".join(map(json.dumps, frame.to_dict("records"))))
    else:
        frame.to_csv(path, index=False, sep="\t" if kind == "tsv" else ",")
    source = frame if kind == "frame" else path
    format = kind if format == "named" and kind != "frame" else "auto"
    assert rows(read_preferences(source, format=format)) == TABLE


def test_winner_and_loser(put):
    path = put("a.csv", "topic,winner,loser,worker,weight\nq,a,b,w1,2\nq,b,a,w2,1\n")
    prefs = read_preferences(path)
    assert rows(prefs) == [("q", "a", "b", 1.0), ("q", "b", "a", 1.0)]
    assert prefs["judge"].tolist() == ["w1", "w2"]
    assert prefs["weight"].tolist() == [2.0, 1.0]


def test_bad_documents_in_tables(put):
    text = "qid,docno,other_docno,pref\nq,a,b,1\nq,c,,-1\n"
    expected = [("q", "a", "b", 1.0), ("q", "c", None, -1.0)]
    assert rows(read_preferences(put("a.csv", text))) == expected
    records = [
        {"qid": "q", "docno": "a", "other_docno": "b", "pref": 1},
        {"qid": "q", "docno": "c", "pref": -1},
    ]
    text = "\n".join(map(json.dumps, records))
    assert rows(read_preferences(put("a.jsonl", text))) == expected
    whole = pd.DataFrame({"qid": [1, 1], "docno": [2, 3], "pref": [1, -1]})
    whole["other"] = pd.array([2**60 + 1, None], "Int64")
    assert rows(read_preferences(whole))[0][2] == "1152921504606846977"


def test_files_of_several_formats(put, tmp_path):
    """Judges and weights that only some files have are missing, or 1, in others."""
    put("prefs/a", CLARKE)
    put("prefs/b", "q g1 s x 1\nq g1 s y 0\n")
    put("prefs/c.csv", "qid,winner,loser,weight\nq,x,y,3\n")
    prefs = read_preferences(tmp_path / "prefs")
    assert rows(prefs)[:3] == CLARKE_ROWS and len(prefs) == 5
    assert prefs["judge"].isna().tolist() == [True, True, True, False, True]
    assert prefs["weight"].tolist() == [1, 1, 1, 1, 3]
    again = read_preferences(prefs)
    assert rows(again) == rows(prefs) and again["judge"].notna().sum() == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "q 0 d1 1\nq 0 d2 3\n",
            r": fits trec-qrels-prefs \('query group doc level'\), but its second "
            r"column is always '0', as in qrels\. If it holds preferences, "
            r"name their format: --prefs-format trec-qrels-prefs \(format= in "
            r"Python\)\.",
        ),
        (
            "q 0 d1 1\nq 0 d2 0\n",
            r": fits jelsas \('query doc doc -2\.\.2'\) and trec-qrels-prefs \(.*\), "
            r"but its second column is always '0', as in qrels\. If it "
            r"holds preferences, name their format: --prefs-format jelsas or "
            r"trec-qrels-prefs \(format= in Python\)\.",
        ),
        (
            "q a b 1\nq b c 0\n",
            r": fits jelsas \('query doc doc -2\.\.2'\) and trec-qrels-prefs \('query "
            r"group doc level'\)\. If it holds preferences, name their format: .*",
        ),
        (
            "q 0 1 1\nq 1 2 2\n",
            r": fits clarke \('query doc doc best'\) and trec-qrels-prefs \(.*\)\. If "
            r".*",
        ),
        (
            "q d1 2\nq d2 1\n",
            r": fits luo \('query winner loser'\), but its third column holds numbers, "
            r"as a run's scores\. If it holds preferences, name their format: "
            r"--prefs-format luo \(format= in Python\)\.",
        ),
        (
            "q 31 -0.5\nq 31 1e-3\n",
            r": fits luo .*, but its third column holds numbers.*",
        ),
        (
            "q Q0 d1 1 2.5 bm25\n",
            r":1: expected preferences, found 6 fields as in a run, which goes without "
            r"an option: 'q Q0 d1 1 2\.5 bm25'\. Formats: clarke 'query doc doc best'; "
            r"luo 'query winner loser'; .*; or a table with a header\.",
        ),
        ("q a\n", r":1: expected preferences, found 2 fields: 'q a'\. Formats: .*"),
        (
            "q a b a\nq a c x\nq a d a\n",
            r":2: 'q a c x' fits no format of 4 columns: not clarke \(line 2: the "
            r"fourth is neither the second nor the third\); not jelsas \(line 1: the "
            r"fourth is not -2, -1, 0, 1 or 2\); not trec-qrels-prefs \(line 1: the "
            r"last is not a level of 0 or more\)\. Mend the line, or name the format: "
            r"format=… \(--prefs-format on the command line\)\.",
        ),
        (
            "q a b a\n31_1 A B\nq a c a\n",
            r":2: expected 'query doc doc best', found 3 fields: '31_1 A B'\. Read as "
            r"clarke; if that is wrong, name the format\.",
        ),
        (
            "q g s a -1\n",
            r":1: 'q g s a -1' fits no format of 5 columns: not trec-prefs .*",
        ),
        ("q g s a nan\n", r":1: 'q g s a nan' fits no format of 5 columns: .*"),
    ],
)
def test_auto_decides_only_where_the_content_leaves_no_doubt(put, text, message):
    with pytest.raises(DataError, match=rf"^\S*/a\.txt{message}$"):
        read_preferences(put("a.txt", text))


def test_auto_takes_ids_that_look_like_numbers(put):
    """Passage ids are numbers; a score does not look like another passage."""
    assert rows(read_preferences(put("a.txt", "1 123 7\n1 9 123\n"))) == [
        ("1", "123", "7", 1.0),
        ("1", "9", "123", 1.0),
    ]
    assert len(read_preferences(put("a.txt", "1 a 007\n"))) == 1
    # As in MS MARCO: the fourth repeats now the second, now the third.
    assert rows(read_preferences(put("a.txt", "1 123 7 7\n1 9 123 9\n"))) == [
        ("1", "123", "7", -1.0),
        ("1", "9", "123", 1.0),
    ]
    # 7 may be a level, if all that is known is one line.
    path = put("a.txt", "1 123 7 7\n")
    with pytest.raises(DataError, match="fits clarke .* and trec-qrels-prefs"):
        read_preferences(path)
    assert len(read_preferences(path, format="clarke")) == 1


def test_a_named_format_ends_the_doubt(put):
    path = put("a.txt", "q 0 1 1\nq 1 2 2\n")
    assert rows(read_preferences(path, format="clarke")) == [
        ("q", "0", "1", -1.0),
        ("q", "1", "2", -1.0),
    ]
    path = put("a.txt", "q a b 1\nq b c 0\n")
    assert rows(read_preferences(path, format="jelsas")) == [
        ("q", "a", "b", -1.0),
        ("q", "b", "c", 0.0),
    ]
    path = put("a.txt", "q d1 2\nq d2 1\n")
    assert len(read_preferences(path, format="luo")) == 2


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "clarke",
            "q a b a\nq a c b\n",
            r":2: expected 'query doc doc best', found 'q a c b': the fourth is "
            r"neither the second nor the third\. Read as clarke; if that is wrong, "
            r"name the format\.",
        ),
        (
            "luo",
            "q a b\nq a\n",
            r":2: expected 'query winner loser', found 2 fields: .*",
        ),
        (
            "jelsas",
            "q a b 2\n",
            r":1: .* NA and ±2 go together: 'doc NA -2' or 'NA doc 2' .*",
        ),
        ("jelsas", "q NA a -2\n", r":1: .*: NA and ±2 go together.*"),
        ("jelsas", "q a NA -1\n", r":1: .*: NA and ±2 go together.*"),
        ("jelsas", "q NA NA 2\n", r":1: .*: NA and ±2 go together.*"),
        ("luo", "q a a\n", r":1: document 'a' is compared with itself\. Remove .*"),
        (
            "jelsas",
            "q a a 0\n",
            r":1: document 'a' is compared with itself\. Remove .*",
        ),
        (
            "csv",
            "qid,docno,other,pref\nq,a,b,1\nq,a,b,much\n",
            r":3: expected a finite number as preference, found 'much'\. Every row .*",
        ),
        (
            "csv",
            "qid,docno,other,pref\nq,a,b,inf\n",
            r":2: expected a finite number .*",
        ),
        (
            "csv",
            "qid,winner,loser,weight\nq,a,b,0\n",
            r":2: .* weight above 0, found 0\. .*",
        ),
        ("csv", "qid,winner,loser,weight\nq,a,b,1e300\n", r":2: .* 2\^30 at most, .*"),
    ],
)
def test_malformed(put, name, text, message):
    with pytest.raises(DataError, match=rf"^\S*/a\.txt{message}$"):
        read_preferences(put("a.txt", text), format=name)


def test_wrong_arguments(put):
    with pytest.raises(
        UsageError, match=r"^format is one of auto, clarke, luo, jelsas, tr"
    ):
        read_preferences("x", format="trec")
    with pytest.raises(UsageError, match=r"^expected files or a table, found \{'q': "):
        read_preferences({"q": {"a": 1}})  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"^preferences: holds no rows\. Add rows\.$"):
        read_preferences(pd.DataFrame(columns=NAMES))


def test_public_preferences(data):
    """Sizes of the public files, and what each judgment says."""
    clarke = read_preferences(data / "dl21/judgments.txt.gz")
    assert len(clarke) == 11681 and clarke["query_id"].nunique() == 50
    assert "967 conflicting pairs" in summarise_preferences(clarke)[1]
    with gzip.open(data / "dl21/judgments.txt.gz", "rt") as file:
        best = [line.split()[3] for line in file]
    assert (
        clarke["doc_id"].where(clarke.preference > 0, clarke.other_doc_id).tolist()
        == best
    )
    folder = data / "cast2019/clarke-prefs"
    assert len(read_preferences(folder / "TREC-CAsT-2019.pref.gz")) == 14573
    luo = read_preferences(sorted((data / "dl21/gpt4o").glob("judge.0*")))
    assert len(luo) == 43939 and luo["query_id"].nunique() == 53
    assert (luo["preference"] == 1).all()
    with pytest.raises(DataError, match=r"second column is always 'Q0', as in qrels"):
        read_preferences(data / "dl21/gpt4o/prefs.dl21.qrels.gz")


def test_public_jelsas_files(data):
    folder = data / "oracles/jelsas-pref"
    assert rows(read_preferences(folder / "small_preferences.txt")) == [
        ("0", "1", "2", 1.0),
        ("0", "1", "3", 1.0),
        ("0", "3", "2", 1.0),
        ("0", "4", None, -1.0),
    ]
    prefs = read_preferences(folder / "preferences.txt")
    assert prefs["other_doc_id"].isna().sum() == 4
    pairs = Counter(prefs["preference"][prefs["other_doc_id"].notna()])
    assert pairs == {1.0: 116}


@pytest.mark.parametrize(
    ("columns", "fine", "sign", "wrong", "said"),
    [
        (
            "qid,docno,other,winner,loser",
            "q,1,2,2,1",
            -1,
            "q,1,2,2,2",
            "loser is '2', but the rest of the row says '1'",
        ),
        (
            "qid,docno,other,winner,loser",
            "q,1,2,1,2",
            1,
            "q,1,2,3,2",
            "winner is '3', but the rest of the row says '1'",
        ),
        (
            "qid,docno,other,winner,pref",
            "q,1,2,1,2",
            2,
            "q,1,2,1,-1",
            "winner is '1', but the rest of the row says '2'",
        ),
        (
            "qid,docno,other,winner,loser,pref",
            "q,1,2,,,0",
            0,
            "q,1,2,,1,0",
            "loser is '1', but the rest of the row says a tie",
        ),
        (
            "qid,winner,loser,pref",
            "q,1,2,2",
            2,
            "q,1,2,-1",
            "winner is '1', but the rest of the row says '2'",
        ),
    ],
)
def test_a_row_that_says_two_different_things(put, columns, fine, sign, wrong, said):
    rows = put("a.csv", f"{columns}\n{fine}\n")
    assert read_preferences(rows)["preference"].tolist() == [sign]
    with pytest.raises(DataError) as error:
        read_preferences(put("a.csv", f"{columns}\n{fine}\n{wrong}\n"))
    mend = "Mend the row, or rename a column that means something else."
    assert str(error.value) == f"{rows}:3: {said}. {mend}"
