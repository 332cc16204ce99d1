"""Graded judgments of every kind, in every form: alone, per intent, after another."""

import gzip
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from pgcjax.errors import DataError
from pgcjax.io.graded import read_context, read_intent_qrels, read_qrels


@dataclass(frozen=True)
class Kind:
    """Grades of a kind.

    Attributes:
        read: reads them.
        names: other names of the columns of a file.
        cells: of each line of a file.
        columns: places of the columns of a table in a line.
        twice: what is said of two grades in two files.
    """

    read: Callable
    names: tuple[str, ...]
    cells: list[tuple]
    columns: tuple[int, ...]
    twice: str

    @property
    def rows(self) -> list[tuple]:
        return [tuple(line[i] for i in self.columns) for line in self.cells]


KINDS = {
    "qrels": Kind(
        read_qrels,
        ("topic", "iter", "did", "label"),
        [("q1", "0", "a", 2.0), ("q1", "0", "b", 0.5), ("q2", "0", "a", -1.0)],
        (0, 2, 3),
        "document 'a' of query 'q1' has two grades",
    ),
    "intent qrels": Kind(
        read_intent_qrels,
        ("qid", "subtopic", "docno", "grade"),
        [("q1", "1", "a", 2.0), ("q1", "2", "a", 0.5), ("q2", "1", "a", -2.0)],
        (0, 2, 1, 3),
        "document 'a' has two grades for intent '1' of query 'q1'",
    ),
    "context": Kind(
        read_context,
        ("query", "docid", "previous", "rel"),
        [("q1", "a", "b", 2.0), ("q1", "b", "a", 0.5), ("q2", "a", "b", -1.0)],
        (0, 1, 2, 3),
        "document 'a' after 'b', of query 'q1', has two grades",
    ),
}


@pytest.fixture(params=KINDS)
def kind(request):
    return KINDS[request.param]


def rows(table):
    return list(table.itertuples(index=False, name=None))


def lines(cells, separator=" ") -> str:
    return "".join(separator.join(map(str, line)) + "\n" for line in cells)


def test_every_form(put, tmp_path, kind):
    frame = pd.DataFrame(kind.cells, columns=list(kind.names))
    frame.to_parquet(tmp_path / "a.parquet")
    text = lines(kind.cells)
    one, two, three = text.splitlines()
    odd = f"{one}\n{two}\n".replace("\n", "\t\n") + f" {three.replace(' ', '  ')}e0\n"
    records = frame.assign(**{kind.names[3]: ["2", 0.5, kind.cells[2][3]]})
    records = records.to_json(orient="records", lines=True)
    table = kind.read(put("a.txt", text))
    for source in (
        put("a.qrels", odd),
        put("a.txt.gz", gzip.compress(text.encode())),
        put("a.csv", frame.to_csv(index=False)),
        put("tabs.txt", frame.to_csv(index=False, sep="\t")),
        put("a.jsonl", records),
        tmp_path / "a.parquet",
        frame,
        table,
    ):
        pd.testing.assert_frame_equal(kind.read(source), table)
    assert rows(table) == kind.rows and table["relevance"].dtype == np.float64
    whole = pd.DataFrame([[1, 2, 3, np.int8(4)]], columns=list(kind.names))
    ids = [str(i + 1) for i in kind.columns[:-1]]
    assert rows(kind.read(whole)) == [(*ids, 4.0)]


def test_repeats_are_counted_once(put, tmp_path, kind):
    one, two, three = (lines([line]) for line in kind.cells)
    put("folder/a", f"# note\n{one}{one}{two}")
    put("folder/b", one.replace("2.0", "2") + three)
    table = kind.read(tmp_path / "folder")
    assert rows(table) == kind.rows
    assert table.attrs == {"comments": 1, "repeats": 2}
    assert table.index.tolist() == [0, 1, 2]
    assert len(kind.read(table)) == 3


def test_two_grades_in_two_files(put, kind):
    _, second, *_ = first = kind.cells[0]
    one = put("a", lines(kind.cells))
    two = put("b", "# note\n" + lines([("q3", second, "x", 1), (*first[:3], 0.25)]))
    with pytest.raises(DataError) as error:
        kind.read([one, two])
    assert str(error.value) == (
        f"{two}:3: {kind.twice}: 2 ({one}:1) and 0.25. Keep one of the two."
    )


NUMBER = ":1: expected a finite number as grade, found"
MALFORMED = {
    "qrels": [
        (
            "q 0 a 1\nq a 1\n",
            r":2: expected 'query iteration doc grade', found 3 fields: 'q a 1'\. "
            r"Qrels have 4 columns, or a header; runs go without an option\.",
        ),
        ("q 0 a nan\n", rf"{NUMBER} 'nan'\. .*"),
        ("q 0 a inf\n", rf"{NUMBER} 'inf'\. .*"),
        (
            "qid,docno,score\nq,a,1\n",
            r": missing columns \['relevance'\] \(found \['qid', 'docno', "
            r"'score'\]\)\. Needed: query_id, doc_id, relevance\.",
        ),
        (
            "qid,docno,rel\nq,a,\n",
            r":2: expected a finite number as grade, found nothing.*",
        ),
        ("# nothing\n", r": holds comments only.*"),
    ],
    "intent qrels": [
        ("q 1 a b\n", rf"{NUMBER} 'b'\. Every row needs one\."),
        (
            "qid,docno,label\nq,a,1\n",
            r": missing columns \['intent_id'\] \(found \['qid', 'docno', 'label'\]\)"
            r"\. Needed: query_id, doc_id, intent_id, relevance\.",
        ),
        (
            "qid,docno,intent,rel\nq,a,,1\n",
            r":2: expected intent_id, found nothing\. .*",
        ),
    ],
    "context": [
        ("q a  b 1\nq c c 2\n", r":2: document 'c' of query 'q' is graded after .*"),
        (
            "q a b 1\n\nq b a 1\nq a b 2\n",
            r":4: document 'a' after 'b', of query 'q', has two grades: 1 \(\S+a\.txt:1"
            r"\) and 2\. Keep one of the two\.",
        ),
        (
            "qid,docno,previous,grade\nq,a,,1\n",
            r":2: expected previous_doc_id, found nothing\. .*",
        ),
    ],
}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [(name, *case) for name, cases in MALFORMED.items() for case in cases],
)
def test_malformed_files(put, name, text, message):
    with pytest.raises(DataError, match=rf"^\S*/a\.txt{message}$"):
        KINDS[name].read(put("a.txt", text))


@pytest.mark.parametrize(
    ("name", "source", "message"),
    [
        ("qrels", {}, r"qrels: holds no rows\. Add rows\."),
        (
            "qrels",
            {"q": 1},
            r"qrels: expected a dict of grades for query 'q'\. Pass .*",
        ),
        (
            "qrels",
            {"q": {"a": {"b": 1}}},
            r"qrels, entry 1: expected a finite .* \{'b': 1\}\. .*",
        ),
        (
            "qrels",
            {"q": {"a": 1, "b": "x"}},
            r"qrels, entry 2: expected a finite .* found 'x'\. .*",
        ),
        (
            "qrels",
            pd.DataFrame({"qid": "q", "docno": ["a", "a"], "rel": [0, 1]}),
            r"qrels, row 2: document 'a' of query 'q' has two grades: 0 \(qrels, row "
            r"1\) and 1\. Keep one of the two\.",
        ),
        (
            "qrels",
            pd.DataFrame({"qid": [1.0], "docno": ["a"], "rel": [0]}),
            r"qrels, row 1: expected query_id, found 1\.0\. Ids are text or .*",
        ),
        (
            "context",
            pd.DataFrame({"qid": ["q"], "docno": "a", "previous": "a", "rel": 1}),
            r"context, row 1: document 'a' of query 'q' is graded after itself\. .*",
        ),
    ],
)
def test_malformed_tables_and_dicts(name, source, message):
    with pytest.raises(DataError, match=f"^{message}$"):
        KINDS[name].read(source)


def test_dicts_and_pairs_that_have_an_order(put):
    """g(a|b) and g(b|a) are two grades, and of another query they are others."""
    grades = {"q1": {"a": 2, "b": 0.5}, "q2": {"a": -1}}
    assert rows(read_qrels(grades)) == KINDS["qrels"].rows
    assert len(read_context(put("a", "q a b 1\nq b a 2\nr a b 3\n"))) == 3


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
