"""Lengths of documents."""

import pytest

from pgcjax.errors import DataError
from pgcjax.io.lengths import read_lengths


def test_lengths(put):
    path = put("lengths.csv", "docno,length\na,3\nb,4.5\n")
    assert read_lengths(path).to_numpy().tolist() == [["a", 3], ["b", 4.5]]
    path = put("lengths.csv", "qid,docno,length\nq,a,3\nr,a,4\n")
    assert read_lengths(path)["query_id"].tolist() == ["q", "r"]
    for text, message in (
        ("docno,length\na,3\na,4\n", "x.csv:3: document 'a' has two lengths. Keep one, "
         "or give a column query_id."),
        ("docno,length\na,-3\n", "x.csv:2: expected a length, 0 or more, found -3. "
         "Mend the row."),
    ):  # fmt: skip
        path = put("x.csv", text)
        with pytest.raises(DataError) as refused:
            read_lengths(path)
        assert str(refused.value).replace(f"{path.parent}/", "") == message
    with pytest.raises(DataError, match="expected a header with the columns doc_id, l"):
        read_lengths(put("x.txt", "a 3\n"))
