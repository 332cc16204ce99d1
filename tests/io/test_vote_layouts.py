"""Tables of votes as they come: each read right, or refused with the mend."""

import gzip
import json
import tomllib
import warnings
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

from pgcjax.errors import PgcjaxError, UsageError
from pgcjax.files import read_preferences
from pgcjax.io.file_kinds import sort_by_kind
from pgcjax.io.reading import reading

SHAPES = tomllib.loads((Path(__file__).parent / "vote_shapes.toml").read_text())
FIXED = ["query_id", "doc_id", "other_doc_id", "preference"]


def line(row: dict) -> str:
    """A row as text: the four columns, and what else is known of it."""
    *ids, sign = (row.pop(name) for name in FIXED)
    more = [
        f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in sorted(row.items())
        if value is not None and value == value
    ]
    return " ".join([*ids, f"{sign:g}", *more])


def test_there_are_enough_shapes():
    assert len(SHAPES["shape"]) >= 60
    assert len({shape["name"] for shape in SHAPES["shape"]}) == len(SHAPES["shape"])


@pytest.mark.parametrize("shape", SHAPES["shape"], ids=lambda shape: shape["name"])
def test_a_table_of_votes_is_read_right_or_refused(put, shape):
    path = put(shape["file"], shape["table"])
    folder = f"{path.parent}/"
    how = {name: shape[name] for name in ("columns", "answers") if name in shape}
    with warnings.catch_warnings(record=True) as told, reading(**how):
        warnings.simplefilter("always")
        if "error" in shape:
            with pytest.raises(PgcjaxError) as refused:
                read_preferences(path)
            assert str(refused.value).replace(folder, "") == shape["error"]
            return
        table = read_preferences(path)
        # What was read is canonical, and is read again as it is, in any way.
        pd.testing.assert_frame_equal(read_preferences(table), table)
    assert list(map(line, table.to_dict("records"))) == shape["rows"]
    said = [str(w.message).replace(folder, "") for w in told]
    assert said == ([shape["warning"]] if "warning" in shape else [])
    counted = {name: count for name, count in table.attrs.items() if count}
    assert counted == shape.get("counted", {})
    pd.testing.assert_frame_equal(read_preferences(table), table)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"columns": "winner"}, "columns 'winner': expected ROLE=COLUMN,… such as "),
        ({"columns": "victor=a"}, "columns 'victor=a': expected ROLE=COLUMN,… such "),
        ({"columns": "a=x,a=y"}, "columns 'a=x,a=y': expected ROLE=COLUMN,… such as "),
        ({"answers": "a"}, "answers 'a': expected a=…,b=…,tie=…,none=…, with | "),
        ({"answers": "a=1,b=1"}, "answers 'a=1,b=1': '1' means two things"),
        ({"unread": 5}, "unread: expected a share from 0 to 1, found 5"),
        ({"flips": "toss"}, "flips is one of keep, tie, drop, half, not 'toss'"),
    ],
)
def test_wrong_ways_of_reading(how, message):
    with pytest.raises(UsageError) as refused, reading(**how):
        pass
    assert str(refused.value).startswith(message)


def test_roles_that_go_together(put):
    path = put("a.csv", "qid,a,b,winner\nq,x,y,a\n")
    with pytest.raises(UsageError) as refused, reading(columns="a=b"):
        read_preferences(path)
    assert str(refused.value) == "columns: a=… and b=… go together"
    aspects = put("b.csv", "qid,a,b,winner,aspect\nq,x,y,a,depth\nq,x,y,b,style\n")
    with reading(aspects="style"):
        assert read_preferences(aspects)["preference"].tolist() == [-1]
    with pytest.raises(PgcjaxError) as refused, reading(aspects=["length"]):
        read_preferences(aspects)
    assert str(refused.value) == (
        "preferences: has no aspect 'length'; there are depth, style. Name one that is "
        "there, or give a column aspect."
    )


def test_lists_in_memory_and_files_of_votes_are_found(put):
    """As of HuggingFace datasets: columns of lists, which a parquet file has, too."""
    rows = [{"a": "x", "b": "y", "vote": ["A", "B"], "worker": ["v", "w"]}]
    with reading(columns="query_id=-"):
        table = read_preferences(rows)
        path = put("a.parquet", b"")
        pd.DataFrame(rows).to_parquet(path)
        pd.testing.assert_frame_equal(read_preferences(path), table)
    assert table["preference"].tolist() == [1, -1]
    votes = put("b.csv", "qid,a,b,label\nq,x,y,a\n")
    qrels = put("c.csv", "qid,docno,label\nq,x,1\n")
    kinds = sort_by_kind([votes, qrels])
    assert kinds["prefs"] == [votes] and kinds["qrels"] == [qrels]


@pytest.mark.filterwarnings("ignore:.*votes are read, and not")
def test_crowd_votes_as_published(data):
    """47,320 votes of CRAGC-25: 16,514 for a, 17,441 for b, 13,365 for neither."""
    path = data / "cragc25/ratings.jsonl.gz"
    votes = read_preferences(path)
    assert Counter(votes["preference"]) == {1: 16514, -1: 17441, 0: 13365}
    assert votes["judge"].nunique() == 420 and votes["aspect"].nunique() == 7
    assert (votes["first"] == votes["doc_id"]).all()
    with gzip.open(path, "rt") as file:
        gold = [json.loads(row)["quality_overall_gold"] for row in file]
    with reading(columns="winner=gold", aspects="quality_overall"):
        read = read_preferences(path)["preference"]
    assert read.map({1.0: "a", 0.0: "n", -1.0: "b"}).tolist() == gold
