"""`pgcjax files check FILE...` finds what each file is, or asks."""

from pathlib import Path

import pytest

from pgcjax.errors import DataError
from pgcjax.io.choices import FILE_KINDS
from pgcjax.io.file_kinds import sort_by_kind

KINDS = {
    "runs": [
        "q Q0 d 1 2 t\n",
        "qid,docno,score\nq,d,1\n",
        "qid\tdocno\trank\nq\td\t1\n",
        '{"qid": 1, "docno": 2, "score": 3}\n',
    ],
    "prefs": [
        "q a b\n",
        "q a b a\nq 1 2 1\n",
        "1 12 34 34\n1 56 12 12\n",
        "q g s a 1\n",
        "qid,winner,loser\nq,a,b\n",
        "qid,docno,other,pref\nq,a,b,1\n",
    ],
    "qrels": ["q 0 a 1\nq 0 b 0\n", "q Q0 a 0.5\n", "qid,docno,label\nq,d,1\n"],
}


@pytest.mark.parametrize(
    ("kind", "text"), [(k, text) for k, texts in KINDS.items() for text in texts]
)
def test_found_from_content(put, kind, text):
    path = put("a.txt", text)
    assert sort_by_kind([path]) == {**dict.fromkeys(FILE_KINDS, []), kind: [path]}


@pytest.mark.parametrize(
    ("kind", "name"),
    [("prefs", "inspect.eval"), ("prefs", "langsmith.jsonl"), ("runs", "mteb.json")],
)
def test_files_of_other_tools_are_found_by_their_readers(kind, name):
    path = Path(__file__).parents[1] / "data" / "readers" / name
    assert sort_by_kind([path])[kind] == [path]


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("q a 1\n", "may be any of runs and prefs"),
        ("q a b 1\nq b c 0\n", "may be any of prefs and qrels"),
        ("qid,docno,label,score\nq,a,1,2\n", "may be any of qrels and runs"),
        ("q a\n", "is not a known kind of file"),
        ("qid,docno\nq,a\n", "is not a known kind of file"),
    ],
)
def test_doubt(put, text, fits):
    message = (
        rf"^\S+/a\.txt: {fits}\. Say which: --as runs, --as prefs or --as qrels\.$"
    )
    with pytest.raises(DataError, match=message):
        sort_by_kind([put("a.txt", text)])
    path = put("a.txt", text)
    assert sort_by_kind([path], "prefs")["prefs"] == [path]
