"""Scores are read back as they were written, or they are not written."""

import itertools
import math

import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pgcjax import Scores
from pgcjax.errors import DataError, UsageError
from pgcjax.files import read_scores
from pgcjax.io.choices import SCORE_FORMATS, SCORE_SUFFIXES

NAMES = [
    *("#bm25", "#", "# pgcjax {}", "all", "runid", "num", "run_id", "value", "NA"),
    *("a b", '"', 'a,"b', "'", "{", '{"crc32": "12345678"', "1e5", "007", "true", "-"),
    *("x\u2028y", "x\x85y", "x\x1cy", "\ufeffx", "x\x0b\x0cy", "e\u0301", "nan"),
]
NO_IDS = ["", " ", " x", "x ", "\u00a0", "a\tb", "a\nb", "a\rb", "\0"]
name = st.one_of(st.text(max_size=5), st.sampled_from(NAMES + NO_IDS))
value = st.one_of(st.floats(), st.sampled_from([0.0, -0.0, 5e-324, 1 / 3]))
rows = st.lists(
    st.tuples(name, name, name, value),
    min_size=1,
    max_size=5,
    unique_by=lambda r: r[:3],
)


def scores_of(rows) -> Scores:
    columns = ["run_id", "query_id", "measure"]
    table = pd.DataFrame(rows, columns=[*columns, "value"])
    return Scores(table.astype(dict.fromkeys(columns, "str")), {"version": "0"})


@pytest.mark.parametrize("suffix", SCORE_SUFFIXES)
@given(rows=rows)
@example([("#bm25", "q", "m", 1.0), ("b", "q", "m", 0.0)])
@example([("b", "q", "#m", 1.0)])
@example([("b", "all", "m", 1.0)])
@example([("all", "runid", "all", 1.0), ("runid", "q", "all", 0.5)])
@example([("a", "q", "runid", 1.0)])
def test_what_is_written_is_read_back(tmp_path_factory, suffix, rows):
    check_written(tmp_path_factory.mktemp("scores"), suffix, None, rows)


@pytest.mark.parametrize("form", SCORE_FORMATS)
@settings(max_examples=12)
@given(rows=rows)
def test_what_is_written_in_a_format_is_read_back(tmp_path_factory, form, rows):
    suffix = ".jsonl" if form == "jsonl" else ".txt"
    check_written(tmp_path_factory.mktemp("scores"), suffix, form, rows)


def check_written(folder, suffix, form, rows) -> None:
    """Write scores, and read the same, unless they are refused, and nothing written."""
    scores = scores_of(rows)
    try:
        path = scores.save(folder / f"them{suffix}", score_format=form)
    except (DataError, UsageError) as error:
        assert not list(folder.iterdir()) and "\n" not in str(error)
        return
    read = read_scores(path)
    found, expected = (s.table.to_numpy().tolist() for s in (read, scores))
    if suffix == ".trec" or form:  # by run, where there are several
        found, expected = sorted(found), sorted(expected)
    assert repr(found) == repr(expected)  # -0.0 is not 0.0
    assert read.metadata == ({} if form else scores.metadata)


@pytest.mark.parametrize("suffix", SCORE_SUFFIXES)
def test_names_that_ids_may_have_are_written(tmp_path, suffix):
    """All but those that mean something else in a .trec file."""
    lost = {"#bm25", "#", "# pgcjax {}"} if suffix == ".trec" else set()
    runs = [name for name in NAMES if name not in lost]
    queries = ["q 1", "runid"] if suffix == ".trec" else ["all", "#"]
    rows = list(itertools.product(runs, queries, ["m", "runid", "#m"], [0.5]))
    read = read_scores(scores_of(rows).save(tmp_path / f"s{suffix}"))
    assert sorted(map(tuple, read.table.to_numpy().tolist())) == sorted(rows)


@pytest.mark.parametrize(
    ("row", "suffix", "said"),
    [
        (
            ("#bm25", "q", "m", 1.0),
            ".trec",
            ": a .trec file would make a comment of run '#bm25'. Name a .tsv, .csv, "
            ".jsonl or .parquet file.",
        ),
        (
            ("b", "all", "m", 1.0),
            ".trec",
            ": a .trec file would make a mean of query 'all'. Name a .tsv, .csv, "
            ".jsonl or .parquet file.",
        ),
        (
            ("b", "q", "m", math.nan),
            ".csv",
            ", row 2: expected a finite number as value, found nan. Every row needs "
            "one.",
        ),
        (
            ("b", " q", "m", 1.0),
            ".jsonl",
            ", row 2: expected query_id, found ' q'. Ids are whole numbers, or text "
            "without tabs and without blanks at its ends.",
        ),
    ],
)
def test_what_could_not_be_read_back(tmp_path, row, suffix, said):
    path = tmp_path / f"out{suffix}"
    with pytest.raises(DataError) as error:
        scores_of([("a", "q", "m", 1.0), row]).save(path)
    assert str(error.value) == f"{path}{said}"
    assert not list(tmp_path.iterdir())
