"""Grids in every form; a position that is no position is refused in one line."""

import gzip
import json

import numpy as np
import pandas as pd
import pytest

from pgcjax.errors import DataError, PgcjaxError
from pgcjax.io.grids import read_grids

ROWS = [
    ("q1", "s", "a", 0, 0),
    ("q1", "s", "b", 0, 1),
    ("q1", "s", "c", 1, 0),
    ("q1", "t", "c", 0, 0),
    ("q2", "s", "a", 0, 3),
]
NAMES = ["query_id", "run_id", "doc_id", "row", "column"]
CSV = "query,run,doc,row,column\n" + "".join(
    ",".join(map(str, row)) + "\n" for row in ROWS
)
LINES = "".join(json.dumps(dict(zip(NAMES, r, strict=True))) + "\n" for r in ROWS)
XIE = {"q": {"0": {"0": [0, 0, 2], "1": [0, 1, 2], "2": [1, 0, 1]}}}


def rows(grids) -> list[tuple]:
    return list(grids.itertuples(index=False, name=None))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("g.csv", CSV),
        ("g.tsv", CSV.replace(",", "\t")),
        ("g", "# note\n" + CSV.replace("column", "col")),
        ("g.jsonl", LINES),
        ("g.csv.gz", gzip.compress(CSV.encode(), mtime=0)),
    ],
)
def test_files(put, name, text):
    grids = read_grids(put(name, text))
    assert list(grids.columns) == NAMES
    assert grids["row"].dtype == grids["column"].dtype == np.int64
    assert rows(grids) == ROWS
    assert grids.attrs == {"comments": int(name == "g"), "origin": (0, 0)}


def test_parquet_and_frames(tmp_path):
    frame = pd.DataFrame(ROWS, columns=["qid", "system", "docno", "row", "col"])
    frame.to_parquet(tmp_path / "g.parquet")
    for source in (tmp_path / "g.parquet", frame, frame.assign(row=frame.row * 1.0)):
        assert rows(read_grids(source)) == ROWS
        assert rows(read_grids(read_grids(source))) == ROWS


def test_a_file_without_systems_is_one(put, tmp_path):
    text = "query_id,doc_id,row,column\nq,a,0,0\nq,b,0,1\n"
    for name in ("one", "two"):
        put(f"grids/{name}.csv", text)
    grids = read_grids(tmp_path / "grids")
    assert grids["run_id"].tolist() == ["one", "one", "two", "two"]


def test_the_origin_is_where_the_data_begin():
    """The same grids, counted from 1 and from somewhere else."""
    frame = pd.DataFrame(ROWS, columns=NAMES)
    for row, column in ((1, 1), (0, 7), (3, 0)):
        moved = frame.assign(row=frame.row + row, column=frame.column + column)
        grids = read_grids(moved)
        assert rows(grids) == ROWS
        assert grids.attrs["origin"] == (row, column)
        assert (moved["row"] == frame["row"] + row).all()  # what was given stays


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q,s,a,0\n", r"g\.csv:2: expected 5 fields as in the header, found 4"),
        ("q,s,a,0,0\nq,s,b,0,0\n", r"g\.csv:3: row 0, column 0 is taken twice, .*'b'"),
        (
            "q,s,a,0,0\nq,s,a,0,1\n",
            r"g\.csv:3: document 'a' is twice .*g\.csv:2\. Keep",
        ),
        ("q,s,a,0,0\nq,s,b,-1,0\n", r"g\.csv:3: expected a whole .* as row, found -1"),
        ("q,s,a,0,1.5\n", r"g\.csv:2: expected a whole .* as column, found 1\.5"),
        ("q,s,a,0,x\n", r"g\.csv:2: expected a finite number as column, found 'x'"),
        ("q,s,a,0,1e9\n", r"g\.csv:2: expected a whole number from 0 to 1048576"),
        ("q,s,a,,1\n", r"g\.csv:2: expected a finite number as row, found nothing"),
        ("q,s,,0,1\n", r"g\.csv:2: expected doc_id, found nothing"),
        ("", r"g\.csv: holds a header only"),
    ],
)
def test_one_line_says_what_is_wrong(put, text, message):
    path = put("g.csv", "query_id,run_id,doc_id,row,column\n" + text)
    with pytest.raises(DataError, match=message) as caught:
        read_grids(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("query_id,doc_id,row\nq,a,1\n", r"missing columns \['column'\]"),
        ("q1 Q0 d1 1 2 tag\n", r":1: expected a header with the columns query_id, run"),
        ("", "is empty"),
    ],
)
def test_files_that_are_no_grids(put, source, message):
    with pytest.raises(DataError, match=message):
        read_grids(put("g", source))
    with pytest.raises(DataError, match="holds no rows"):
        read_grids(pd.DataFrame(columns=NAMES))
    with pytest.raises(PgcjaxError, match="expected files or a table"):
        read_grids(3)  # type: ignore[arg-type]


def test_a_second_file_may_not_repeat_a_grid(put, tmp_path):
    head = "query_id,run_id,doc_id,row,column\n"
    put("grids/1.csv", head + "q,s,a,0,0\n")
    put("grids/2.csv", head + "\nq,s,b,0,0\n")
    with pytest.raises(DataError, match=r"2\.csv:3: row 0, .*first at \S*1\.csv:2"):
        read_grids(tmp_path / "grids")


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("name", ["Image_position.json", "positions"])
def test_json_of_xie(put, name, indent):
    grids = read_grids(put(name, json.dumps(XIE, indent=indent)))
    assert rows(grids) == [
        ("q", "sogou", "sogou/q_0.jpg", 0, 0),
        ("q", "sogou", "sogou/q_1.jpg", 0, 1),
        ("q", "sogou", "sogou/q_2.jpg", 1, 0),
    ]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"q": {"2": {}}}, r"query q, engine 2: holds no .* {query: {'0' or '1': {im"),
        ({"q": {"0": {"0": [0, 0]}}}, "query q, engine 0: holds no positions"),
        ({"q": {"0": {"0": [0, 0.5, 1]}}}, r"image q/0/0: expected a whole number"),
        ({"q": {"0": [1]}}, "query q, engine 0: holds no positions"),
        ({"q": {}}, "holds no images"),
        ({"q": {"0": {"0": [-1, 0, 1]}}}, r"image q/0/0: expected a whole number"),
    ],
)
def test_wrong_json_of_xie(put, value, message):
    with pytest.raises(DataError, match=message) as caught:
        read_grids(put("g.json", json.dumps(value)))
    assert "\n" not in str(caught.value)


def test_json_that_is_none(put):
    with pytest.raises(DataError, match=r"g\.json:1: expected one JSON object a line"):
        read_grids(put("g.json", '{\n"q": {},\n]'))
    twice = '{"q": {"0": {"0":\n[0, 0, 1],\n"\\u0030": [0, 0, 1]}}}'
    with pytest.raises(DataError, match=r"h\.json: the key '0' is twice in one object"):
        read_grids(put("h.json", twice))


def test_public_grids(data):
    """102 queries, two engines, 2,919 images, as Luo 2021, 5.4.1, says.

    "8 to 22" there are the last numbers of images from 0: 9 to 23 images in a grid.
    """
    grids = read_grids(data / "xie2020/Image_position.json")
    assert len(grids) == 2919 and grids["query_id"].nunique() == 102
    sizes = grids.groupby(["query_id", "run_id"]).size()
    assert (len(sizes), sizes.min(), sizes.max()) == (204, 9, 23)
    assert set(grids["run_id"]) == {"sogou", "baidu"}
    assert grids["row"].max() == 2
