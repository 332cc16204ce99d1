"""Scores in Parquet, runs at a time: the table, bit for bit, or a refusal."""

import json
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pandas.testing import assert_frame_equal

from pgcjax import Scores, compare
from pgcjax.errors import DataError, UsageError
from pgcjax.files import read_scores
from pgcjax.io import seal
from pgcjax.io.scores import source as score_source
from pgcjax.io.scores.parts import part_path
from pgcjax.io.scores.source import merged_order
from pgcjax.reporting.leaderboard import leaderboard
from pgcjax.stats.aligned import align
from pgcjax.stats.correlation import correlate
from pgcjax.stats.merging import merge

MEASURES = ["nDCG@10", "AP(mean=geometric)", "NumRet"]
ABOUT = {"version": "0", "measures": MEASURES, "note": 'é "quoted"'}


@pytest.fixture(autouse=True)
def few_rows(monkeypatch):
    """Blocks of two runs."""
    monkeypatch.setattr(score_source, "ROWS", 30)


def made(runs: int = 7, queries: int = 5, gaps: float = 0.0, seed: int = 0) -> Scores:
    """Make scores up; some queries of a run and measure may be absent."""
    rng = np.random.default_rng(seed)
    axes = [f"run {i}" for i in range(runs)], [f"q{i}" for i in range(queries)]
    index = pd.MultiIndex.from_product([*axes, MEASURES])
    table = index.to_frame(index=False, name=["run_id", "query_id", "measure"])
    table = table.astype("str").assign(value=rng.random(len(table)) ** 9)
    table = table[rng.random(len(table)) >= gaps].reset_index(drop=True)
    return Scores(table, dict(ABOUT))


def same(read: Scores, scores: Scores) -> None:
    """Compare all that scores can be asked."""
    assert read.stored
    assert_frame_equal(read.mean(), scores.mean(), check_exact=True)
    assert (read.runs, read.measures) == (scores.runs, scores.measures)
    for measure in scores.measures:
        ours, theirs = read.matrix(measure), scores.matrix(measure)
        assert_frame_equal(ours, theirs, check_exact=True)
    assert list(read.lines(True, None)) == list(scores.lines(True, None))
    ours, theirs = leaderboard(read), leaderboard(scores)
    assert_frame_equal(ours.table, theirs.table, check_exact=True)
    assert "table" not in vars(read)  # nobody needed all rows
    assert_frame_equal(read.table, scores.table, check_exact=True)
    assert read.count == len(scores.table) and read.metadata == scores.metadata


@pytest.mark.parametrize("gaps", [0.0, 0.5])
def test_a_file_gives_back_what_a_table_has(tmp_path, gaps):
    scores = made(gaps=gaps)
    path = scores.save(tmp_path / "s.parquet")
    assert pq.read_metadata(path).num_row_groups == 4
    same(read_scores(path), scores)
    assert_frame_equal(pd.read_parquet(path), scores.table, check_exact=True)
    again = read_scores(path).save(tmp_path / "again.parquet")
    assert again.read_bytes() == path.read_bytes()
    for name in ("s.csv", "s.jsonl", "s.trec"):
        text = scores.save(tmp_path / name).read_bytes()
        assert read_scores(path).save(tmp_path / name).read_bytes() == text


def test_a_table_in_another_order_is_kept_so(tmp_path):
    table = made().table.iloc[::-1].reset_index(drop=True)
    scores = Scores(table, dict(ABOUT))
    read = read_scores(scores.save(tmp_path / "s.parquet"))
    assert not read.stored
    assert_frame_equal(read.table, table, check_exact=True)


def parts(folder, count: int, gaps: float = 0.0) -> Scores:
    """Write every n-th run as a part of its own; give all of it."""
    folder.mkdir()
    whole = made(gaps=gaps)
    runs = whole.runs
    for i in range(count):
        own = whole.table["run_id"].isin(runs[i::count])
        about = {**ABOUT, "part": [i + 1, count]}
        table = whole.table[own].reset_index(drop=True)
        Scores(table, about).save(part_path(folder, i + 1, count))
    return whole


@pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning")
@pytest.mark.parametrize("gaps", [0.0, 0.3])
def test_a_folder_of_parts_is_the_whole(tmp_path, gaps):
    whole = parts(tmp_path / "set", 3, gaps)
    same(read_scores(tmp_path / "set"), whole)
    merged = merge([tmp_path / "set"])
    one = whole.save(tmp_path / "one.parquet")
    assert merged.save(tmp_path / "m.parquet").read_bytes() == one.read_bytes()
    assert_frame_equal(  # of one measure at a time
        correlate(tmp_path / "set", missing="zero"), correlate(whole, missing="zero")
    )
    for name in (tmp_path / "set", read_scores(tmp_path / "set")):
        how: Any = {"measure": "NumRet", "missing": "zero", "test": "t"}
        assert_frame_equal(compare(name, **how).table, compare(whole, **how).table)
    ours, theirs = (align(s, missing="zero") for s in (tmp_path / "set", whole))
    assert np.array_equal(ours.values, theirs.values) and ours.notes == theirs.notes


def test_parts_that_are_not_whole(tmp_path):
    folder = tmp_path / "set"
    parts(folder, 3)

    def refused() -> str:
        with pytest.raises(DataError) as error:
            read_scores(folder)
        return str(error.value).replace(f"{folder}/", "")

    second = (folder / "2-of-3.parquet").read_bytes()
    (folder / "2-of-3.parquet").unlink()
    assert refused() == "parts are missing: 2/3. Add them."
    (folder / "2-of-3.parquet").write_bytes((folder / "1-of-3.parquet").read_bytes())
    assert refused() == "2-of-3.parquet: is part 1/3, as 1-of-3.parquet is"
    other = made(1)
    other.metadata.update(part=[2, 3], order="clarke")
    other.save(folder / "2-of-3.parquet")
    assert refused() == (
        "2-of-3.parquet: belongs to another job than 1-of-3.parquet: it differs in "
        "order"
    )
    del other.metadata["order"]
    other.save(folder / "2-of-3.parquet")
    assert refused() == "2-of-3.parquet: scores run 'run 0', as 1-of-3.parquet does"
    (folder / "2-of-3.parquet").write_bytes(second)
    (folder / "notes.txt").write_text("")
    assert refused() == (
        "notes.txt: is no part of a job in a folder of such parts. Move it away."
    )


def test_content_that_the_metadata_do_not_tell_of(tmp_path):
    """Files with a checksum that fits, by someone who wants a wrong number."""
    path = made(2).save(tmp_path / "s.parquet")
    table, metadata = pq.read_table(path), pq.read_metadata(path).metadata or {}
    axes = json.loads(metadata[b"pgcjax-scores"])
    head = metadata[b"pgcjax"].decode().split('", ', 1)[1]
    twice = table.take([0, *range(len(table))])
    infinite = table.set_column(3, "value", pa.array(np.full(len(table), np.inf)))
    for rows, queries in (
        (table, axes["queries"][1:]),
        (twice, None),
        (infinite, None),
    ):
        said = json.dumps(axes | ({"queries": queries} if queries else {}))
        with pq.ParquetWriter(path, rows.schema) as writer:
            writer.write_table(rows)
            about = '# pgcjax {"crc32": "00000000", ' + head
            writer.add_key_value_metadata({"pgcjax-scores": said, "pgcjax": about})
        seal.seal(path)
        for ask in (
            lambda s: s.matrix("NumRet"),
            lambda s: s.mean(),
            lambda s: s.table,
        ):
            with pytest.raises(DataError) as error:
                ask(read_scores(path))
            assert str(error.value) == (
                f"{path}: does not hold the scores that its metadata describe. Make or "
                "copy it again; if it was changed on purpose, leave 'pgcjax' out of "
                "its metadata."
            )


def test_a_file_that_is_replaced_or_gone(tmp_path):
    path = made(3).save(tmp_path / "s.parquet")
    read = read_scores(path)
    made(3, seed=1).save(path)
    with pytest.raises(DataError) as error:
        read.matrix("NumRet")
    assert str(error.value) == f"{path}: changed while it was read"
    read = read_scores(path)
    path.unlink()
    with pytest.raises(DataError, match="does not hold the scores"):
        read.mean()
    with pytest.raises(UsageError, match="no scores of 'P@5'; there are nDCG@10, AP"):
        read.matrix("P@5")


def test_a_score_that_is_not_finite_is_not_written(tmp_path):
    scores = made(3)
    read: Any = read_scores(scores.save(tmp_path / "s.parquet"))
    blocks = list(read.source.blocks())
    blocks[1].values[0, 0, 0] = np.nan
    read.source.blocks = lambda _: iter(blocks)
    with pytest.raises(DataError) as error:
        read.save(tmp_path / "t.parquet")
    assert str(error.value) == (
        f"{tmp_path}/t.parquet, row 1: expected a finite number as value, found nan. "
        "Every row needs one."
    )
    assert sorted(p.name for p in tmp_path.iterdir()) == ["s.parquet"]


def test_measures_of_parts_that_lack_some():
    assert merged_order([["b", "d"], ["a", "b", "c"], ["e"]]) == [
        *("e", "a", "b", "c", "d")
    ]


@pytest.mark.parametrize("stored", [False, True])
def test_parts_with_measures_in_another_order(tmp_path, stored):
    """Each score stays that of its measure, and of its query."""
    whole = made(4, gaps=0.2)
    parts = []
    for i, names in enumerate((MEASURES, MEASURES[::-1])):
        rows = whole.table[whole.table["run_id"].isin(whole.runs[i::2])]
        rows = rows.sort_values(
            ["run_id", "query_id", "measure"],
            key=lambda column, names=names: (
                column.map(names.index) if column.name == "measure" else column
            ),
            ignore_index=True,
        )
        part = Scores(rows, {"measures": MEASURES, "part": [i + 1, 2]})
        parts.append(part.save(tmp_path / f"{i}.parquet") if stored else part)
    merged = merge(parts)
    for measure in MEASURES:
        ours, theirs = merged.matrix(measure), whole.matrix(measure)
        assert_frame_equal(ours, theirs, check_exact=True)
    means = merged.mean()[whole.measures]
    assert_frame_equal(means, whole.mean(), check_exact=True)


def test_a_score_that_is_there_twice_is_refused():
    table = made(2).table
    scores = Scores(pd.concat([table, table.tail(1)], ignore_index=True))
    for ask in (scores.mean, lambda: scores.matrix("NumRet"), lambda: scores.runs):
        with pytest.raises(DataError) as error:
            ask()
        assert str(error.value) == (
            "scores: scores run 'run 1', query 'q4' by NumRet twice. Keep one."
        )
