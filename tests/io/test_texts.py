"""Topics and texts of documents: each form that is read, and what is refused."""

import gzip
import os
import threading

import pandas as pd
import polars as pl
import pytest

import pgcjax
from pgcjax.errors import DataError, DataWarning, UsageError
from pgcjax.files import read_texts, read_topics
from pgcjax.io import texts
from pgcjax.io.texts import short

# As TREC 1, TREC 8 (no closing tags), the Web Track and clinical trials.
TOPICS = {
    "trec1": """<top>
<head> Tipster Topic Description
<num> Number: 51
<dom> Domain: International Economics
<title> Topic: Airbus
 <i
>Subsidies</i>
<desc> Description:
Document will discuss <em>aid</em>.
</top>
<top><num>Number: 52<title>Topic: South African Sanctions</top>""",
    "unclosed": "<top>\n<num> Number: 51\n<title>Airbus Subsidies\n<desc> aid\n"
    "<top>\n<num> 52 <title> South African Sanctions <narr> x",
    "web": """<?xml version="1.0"?>
<!DOCTYPE webtrack [ <!ELEMENT topic (query, description)> ]>
<webtrack><!-- <topic number="9"> -->
<topic number="51" type="faceted"><query>Airbus Subsidies</query>
<description>aid</description><subtopic number="1">x</subtopic></topic>
<topic number='52' type="faceted"><query><![CDATA[South African Sanctions]]></query>
</topic></webtrack>""",
    "trials": '<topics>\n<topic number="51"> Airbus\n Subsidies </topic>\n'
    '<topic number="52">South African Sanctions</topic></topics>',
    "no_title": "<top><num> 51 <desc> Description:\nAirbus Subsidies</top>"
    "<top><num> 52 <title> <desc> South African Sanctions</top>",
    "msmarco": "51\tAirbus Subsidies\n52\tSouth African Sanctions\n",
    "tsv": "# mine\nqid\tquery\n51\tAirbus Subsidies\n52\tSouth African Sanctions",
    "beir": '{"_id": "51", "text": "Airbus Subsidies", "metadata": {}}\n\n'
    '{"_id": "52", "text": "South African Sanctions"}\n',
    "ir_datasets": '{"query_id": 51, "title": "Airbus Subsidies", "narrative": ""}\n'
    '{"query_id": 52, "title": "South African Sanctions", "narrative": ""}',
}
ASKED = {"51": "Airbus Subsidies", "52": "South African Sanctions"}


@pytest.mark.parametrize("form", TOPICS)
def test_topics_of_each_form(tmp_path, form):
    path = tmp_path / "topics.txt"
    path.write_text(TOPICS[form])
    assert read_topics(path) == ASKED
    with gzip.open(tmp_path / "t.gz", "wt") as file:
        file.write("\ufeff" + TOPICS[form])
    assert read_topics([tmp_path / "t.gz"], only=["52"]) == {"52": ASKED["52"]}


def test_marks_and_quotes_in_topics_are_text(tmp_path):
    path = tmp_path / "topics"
    path.write_text('<top><num>1</num><title>AT&amp;T < "5" > 3</title></top>')
    assert read_topics(path) == {"1": 'AT&T < "5" > 3'}
    path.write_text('1\t"quoted" or "not"\n2\t"all"\n')  # MS MARCO quotes nothing
    assert read_topics(path) == {"1": '"quoted" or "not"', "2": '"all"'}
    path.write_text('qid\tquery\n1\t"say ""x"""\n2\t"quoted" or not\n')
    assert read_topics(path) == {"1": 'say "x"', "2": '"quoted" or not'}


SAYING = {"d1": "Cats\nA cat, and\nanother.", "d2": "A dog", "d3": ""}
FRAME = pd.DataFrame(
    {
        "doc_id": [*SAYING],
        "title": ["Cats", "", None],
        "text": ["A cat, and\nanother.", "A dog", None],
    }
)


def test_a_corpus_of_beir(tmp_path):
    records = FRAME.rename(columns={"doc_id": "_id"})
    records.to_json(tmp_path / "corpus.jsonl", orient="records", lines=True)
    assert read_texts(tmp_path / "corpus.jsonl") == SAYING
    assert read_texts(tmp_path, only={"d2"}) == {"d2": "A dog"}  # the folder


def test_a_folder_of_texts(tmp_path):
    (tmp_path / "d1.txt").write_text(SAYING["d1"] + "\n")
    (tmp_path / "d3.txt").write_text("\n")
    (tmp_path / ".hidden.txt").write_text("x")
    with gzip.open(tmp_path / "d2.txt.gz", "wt") as file:
        file.write(SAYING["d2"])
    assert read_texts(tmp_path) == SAYING
    (tmp_path.parent / "secret.txt").write_text("x")
    with pytest.warns(DataWarning, match=r"no text of 1 document, \.\./secret$"):
        assert [*read_texts(tmp_path, only=["d1", "../secret"])] == ["d1"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes")
def test_a_pipe_is_read_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    write = threading.Thread(target=(tmp_path / "pipe").write_text, args=["d1\tx\n"])
    write.start()
    assert read_texts(tmp_path / "pipe") == {"d1": "x"}
    write.join()


def test_texts_in_memory():
    assert read_texts(SAYING) == read_texts(SAYING.get, only=SAYING) == SAYING
    for frame in (FRAME, pl.DataFrame(FRAME), FRAME.to_dict("records")):
        assert read_texts(frame) == SAYING
    beir = {"d1": {"title": "Cats", "text": "A cat"}, "d2": {"text": "A dog"}}
    assert read_texts(beir, only=["d1"]) == {"d1": "Cats\nA cat"}
    with pytest.warns(DataWarning, match="^texts of documents: has no text of 2 docum"):
        assert read_texts(SAYING.__getitem__, only=["x", "y", "d2"]) == {"d2": "A dog"}
    with pytest.raises(UsageError, match="^a function of doc_id needs only=: for whi"):
        read_texts(SAYING.get)
    assert read_texts(SAYING, only=[]) == {}


def test_pieces_are_one_text(tmp_path, monkeypatch):
    """Lines are counted on from piece to piece, and told how far."""
    monkeypatch.setattr(texts, "_PIECE", 16)
    path = tmp_path / "c.tsv"
    path.write_text("".join(f"d{i}\ttext {i}\r\n" for i in range(50)), newline="")
    told = []
    texts_ = read_texts(path, progress=lambda *of: told.append(of))
    assert texts_ == {f"d{i}": f"text {i}" for i in range(50)}
    size = path.stat().st_size
    assert told[-1] == ("texts of documents", size, size) and len(told) > 20
    path.write_bytes(path.read_bytes() + b"x\xff\ty\n")
    with pytest.raises(DataError, match="c.tsv:51: expected UTF-8 text, found byte 0x"):
        read_texts(path)
    with pgcjax.files.reading(encoding="latin-1"):
        assert read_texts(path, only=["xÿ"]) == {"xÿ": "y"}


def test_named_columns_of_documents_of_ms_marco(tmp_path):
    row = "d1\thttps://x\tCats\tA cat, and more.\n"
    (tmp_path / "docs.tsv").write_text("doc_id\turl\ttitle\tbody\n" + row)
    assert read_texts(tmp_path / "docs.tsv") == {"d1": "Cats\nA cat, and more."}


WRONG = [
    (
        "d1\tx\nd2\ty\tz\n",
        "2: expected 'doc_id\\ttext', found 3 fields: 'd2\\ty\\tz'. Name more columns "
        "in a first line: doc_id, title, text, …. Write texts with tabs or lines as ",
    ),
    ("d1\tx\n\ty\n", "2: expected doc_id, found ''. Ids are whole numbers, or text "),
    ("d1\tx\nd1\ty\n", "2: document 'd1' has two texts. Keep one of the two."),
    ("docno\turl\nd1\tx\n", "1: missing columns ['text'] (found ['docno', 'url']). Ne"),
    ("id\ttext\ttext\nd1\tx\ty\n", "1: two 'text' (found ['id', 'text', 'text']). Nee"),
    ('{"_id": "d1", "text": "x"}\n{"_id"', "2: expected one JSON object a line, foun"),
    ('{"_id": "d1", "_id": "x"}', "1: the key '_id' is twice in one object. Keep on"),
    ('{"_id": 1.5, "text": "x"}', "1: expected doc_id, found 1.5. Ids are whole numb"),
    ('{"_id": "d1", "text": 3}', "1: expected text of document 'd1', found 3. Put it"),
    ("d1 x\n", "1: expected lines of id<TAB>text, JSON objects in lines, or a folde"),
    (
        "id,text\n1,x\n",
        "1: expected lines of id<TAB>text, JSON objects in lines, or a ",
    ),
    ('[{"id": "1", "text": "x"}]', "1: expected lines of id<TAB>text, JSON objects in"),
    ("<DOC><DOCNO>d1", "1: expected lines of id<TAB>text, JSON objects in lines, or a"),
    ("# x\n\n", " is empty. Expected lines of id<TAB>text, JSON objects in lines, or"),
    ("d1\tx\0\n", "1: expected text, found a NUL character. Is this a text file in "),
]


@pytest.mark.parametrize(("content", "message"), WRONG)
def test_wrong_texts_are_refused(tmp_path, monkeypatch, content, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t").write_text(content)
    with pytest.raises(DataError) as error:
        read_texts("t")
    assert str(error.value).startswith(f"t:{message}")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "<top>\n<num>1<title>x</top>\n<top>\n<num>2<title>y",
            "3: expected </top> of",
        ),
        ("<top>\n</top>", "1: expected a number and a title of this topic. Such as <t"),
        ('\n\n<topic number="1"></topic>', "3: expected a title of this topic. Such a"),
        ("<top><num>1<title>x<top><num>1<title>y", "1: query '1' has two texts. Keep "),
        (
            "<DOC>",
            " holds no topics: <top> or <topic>. Expected TREC topics, lines of ",
        ),
        ("1 x", "1: expected TREC topics, lines of id<TAB>query, or JSON objects in l"),
    ],
)
def test_wrong_topics_are_refused(tmp_path, monkeypatch, content, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t").write_text(content)
    with pytest.raises(DataError) as error:
        read_topics("t")
    assert str(error.value).startswith(f"t:{message}")


def test_texts_of_another_collection_are_refused(tmp_path):
    path = tmp_path / "t.tsv"
    path.write_text("051\tx\n")
    with pytest.raises(DataError) as error:
        read_topics(str(path), only=["51", "52"])
    assert str(error.value) == (
        f"{path}: has no text of 2 queries, 51, 52. Is it of another collection?"
    )
    with pytest.raises(UsageError, match="^expected files or a table, found 3"):
        read_topics(3)


def test_short_is_one_printable_line():
    assert short("a\n\tb \x1b[1m") == r"a b \x1b[1m"
    assert short("word " * 9, 12) == "word word w…" and len(short("x" * 99)) == 80
