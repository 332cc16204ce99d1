"""Packed runs: what is read from them is what runs have, in every order."""

import math
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest
from helpers.builders import run_table
from hypothesis import given, settings
from hypothesis import strategies as st

import pgcjax
from pgcjax.errors import DataError, UsageError
from pgcjax.io.choices import ORDERS
from pgcjax.io.judged import JudgedDocuments
from pgcjax.io.order import in_order, ranked
from pgcjax.io.runs import Options, read_runs
from pgcjax.io.runs import pack as packing
from pgcjax.io.runs.packed import MARK, PackedRuns, is_packed
from pgcjax.tensors.rankings import Rankings, find, joined, merged

pytestmark = pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning")
DOCS = [f"d{i}" for i in range(9)] + ["ü", "Z"]
row = st.tuples(
    st.sampled_from(["A", "b", "run 3"]),
    st.sampled_from(["q1", "q2", "10"]),
    st.sampled_from(DOCS),
    st.sampled_from([-1.0, 0.0, 0.5, 2.0]),
    st.sampled_from([1.0, 2.0, 3.0, 7.5, float("nan")]),
)
tables = st.lists(row, min_size=1, max_size=60, unique_by=lambda r: r[:3])
judged = st.dictionaries(
    st.sampled_from(["q1", "q2", "q3"]), st.sets(st.sampled_from(DOCS), min_size=1)
)


def table_of(rows) -> pd.DataFrame:
    names = ["run_id", "query_id", "doc_id", "score", "rank"]
    return pd.DataFrame(rows, columns=names)


def qrels_of(docs) -> pd.DataFrame:
    rows = [(query, doc, 1.0) for query, some in docs.items() for doc in sorted(some)]
    return pd.DataFrame(rows, columns=["query_id", "doc_id", "relevance"])


def rankings(source, docs, order) -> list:
    """All that scoring sees of runs, by name; or what is said against them."""
    known = JudgedDocuments(
        {q: np.array(sorted(some), object) for q, some in docs.items()}
    )
    try:
        read = read_runs(source).read(
            known, order, partial(find, judged=known, order=order)
        )
        whole = ((joined([*unit.parts]), unit.units) for unit in read)
        parts = [part for part, _ in merged(whole, 8)]
        found = Rankings(known, parts)
    except DataError:
        return ["refused"]
    answered = found.answered(list(known.docs))
    has = {run: answered[i].tolist() for i, run in enumerate(found.run_ids)}
    seen: list = [sorted(has.items()), sorted(found.query_ids)]
    for got in found.retrieved(known.docs).values():
        assert (np.diff(got.run) >= 0).all()
        names = [found.run_ids[i] for i in got.run]
        rows = zip(names, got.rank.tolist(), got.vertex.tolist(), strict=True)
        seen.append(sorted(rows))
        ranks = pd.Series(got.rank).groupby(got.run)
        assert ranks.is_monotonic_increasing.all()
    return seen


def packed(frame, path, docs, rows=packing.ROWS) -> int:
    """Pack runs, a table each, for the judged documents of queries, in small blocks."""
    tables = pl.from_pandas(frame, nan_to_null=False).partition_by("run_id")
    judged = packing._judged([qrels_of(docs)])
    return packing._write(iter(tables), path, judged, whole=True, rows=rows)


@settings(max_examples=20)  # each compares four times
@given(tables, judged, judged, st.sampled_from(ORDERS), st.integers(1, 60))
def test_packed_for_these_judgments_or_others(
    tmp_path_factory, rows, docs, others, order, block
):
    frame = table_of(rows)
    path = tmp_path_factory.mktemp("packed") / "runs.parquet"
    assert packed(frame, path, docs, block) == frame["run_id"].nunique()
    for some in (docs, others, dict(list(docs.items())[:1])):
        assert rankings(path, some, order) == rankings(frame, some, order)
    # And so it is as a table.
    assert rankings(run_table(path), others, order) == rankings(frame, others, order)


PEAK = """
import resource, sys
import polars as pl
from pathlib import Path
from pgcjax.io.runs import Options
from pgcjax.io.runs.packed import PackedRuns
packed = PackedRuns(Path("runs.parquet"), Options())
packed.judged_runs(0, "trec")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
block = packed.judged_runs(0, "trec", pl.Series(["d0", "d7"]))
assert len(block.position) == 4000, len(block.position)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="counts KiB")
def test_other_judgments_take_little_memory(tmp_path):
    """A block of two million documents takes 16 MB for each number of a document."""
    runs, docs = 2000, pl.Series("doc_id", [f"d{i}" for i in range(1000)])
    run = pl.Series("run_id", [f"r{i}" for i in range(runs)])
    frame = run.to_frame().join(docs.to_frame(), how="cross")
    score = -(pl.int_range(pl.len()) % 1000).cast(pl.Float64)
    frame = frame.select(
        "run_id", pl.lit("q").alias("query_id"), "doc_id", score=score, rank=math.nan
    )
    known = packing._judged([qrels_of({"q": {"d1"}})])
    packing._write(iter([frame]), tmp_path / "runs.parquet", known, whole=True)
    done = subprocess.run(
        [sys.executable, "-c", PEAK],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(Path(pgcjax.__file__).parents[1])},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 80_000  # KiB; decoded at once, 120 MB


def test_packed_for_queries_that_are_not_judged_now(tmp_path):
    """Blocks that are put together have no documents of theirs."""
    docs = {"q1": {"d1", "d2"}, "q2": {"d1", "d2"}}
    frame = table_of([(r, q, d, 1.0, 1.0) for r in "ab" for q in docs for d in docs[q]])
    packed(frame, tmp_path / "runs.parquet", docs, rows=1)
    for some in ({"q2": {"d1"}}, {"q1": {"d1"}}, {}):
        found = rankings(tmp_path / "runs.parquet", some, "trec")
        assert found == rankings(frame, some, "trec")


def test_documents_that_were_not_judged_stand_in_several_row_groups(
    tmp_path, monkeypatch
):
    """Each has names of its own; rankings may begin in one and end in the next."""
    monkeypatch.setattr(packing, "SEARCHED", 3)
    rng = np.random.default_rng(0)
    frame = table_of(
        [
            (run, query, f"d{doc}", float(-place), place + 1.0)
            for run in "abc"
            for query in ("q1", "q2", "q3")
            for place, doc in enumerate(rng.permutation(9)[: rng.integers(1, 9)])
        ]
    )
    path = tmp_path / "runs.parquet"
    packed(frame, path, {"q1": {"d1", "d2"}, "q3": {"d5"}})
    assert pq.read_metadata(path).num_row_groups > 6
    for docs in ({"q1": {"d1"}}, {"q2": {"d3", "d7"}, "q3": {"d0", "d5"}}):
        for order in ("trec", "clarke"):
            assert rankings(path, docs, order) == rankings(frame, docs, order)


@given(tables)
def test_every_order_of_sorted_runs(rows):
    frame = pl.from_pandas(table_of(rows), nan_to_null=False)
    found = in_order(frame)
    keys = ["run_id", "query_id"]
    for order in ("trec", "clarke"):
        table, position, groups, lengths = ranked(frame, order)
        run, query = zip(*groups, strict=True)
        expected = pl.DataFrame(
            {
                "run_id": np.repeat(np.array(run, object), lengths).tolist(),
                "query_id": np.repeat(np.array(query, object), lengths).tolist(),
                "doc_id": table["doc_id"],
                "place": position,
            }
        )
        column = pl.col("position")
        if order == "clarke":
            column = pl.col("clarke").fill_null(column)
        mine = found.select(*keys, "doc_id", place=column)
        by = [*keys, "place"]
        assert mine.sort(by).rows() == expected.sort(by).rows()
    sorted_within = found.group_by(keys, maintain_order=True).agg("position")
    for places in sorted_within["position"]:
        assert places.to_list() == list(range(len(places)))


RUNS = {
    "r1": {"q1": {"a": 3.0, "x": 2.0, "b": 1.0}, "q2": {"y": 1.0}},
    "r2": {"q1": {"b": 1.0, "a": 1.0}},
}
QRELS = {"q1": {"a": 2, "b": 1, "c": 1}, "q2": {"z": 1}}


def test_scores_are_the_same_bit_for_bit(tmp_path):
    path = tmp_path / "runs.parquet"
    assert pgcjax.files.pack(RUNS, path, qrels=QRELS) == 2
    assert is_packed(path) and not is_packed(tmp_path)
    for order in ("trec", "clarke"):
        one, other = (
            pgcjax.evaluate(source, qrels=QRELS, order=order, verify=1.0)
            for source in (RUNS, path)
        )
        pd.testing.assert_frame_equal(one.table, other.table, check_exact=True)
        assert one.metadata == other.metadata
        assert one.notes == other.notes


def test_other_judgments(tmp_path):
    everything, judged = tmp_path / "all.parquet", tmp_path / "judged.parquet"
    pgcjax.files.pack(RUNS, everything, qrels=QRELS)
    pgcjax.files.pack(RUNS, judged, qrels=QRELS, only_judged=True)
    assert judged.stat().st_size < everything.stat().st_size
    other = {**QRELS, "q1": {"a": 1, "x": 2, "new": 1}}
    one = pgcjax.evaluate(RUNS, qrels=other, verify=1.0)
    again = pgcjax.evaluate(everything, qrels=other, verify=1.0)
    pd.testing.assert_frame_equal(one.table, again.table, check_exact=True)
    assert again.notes[0] == (
        f"{everything}: packed for other judgments, which lack 2 judged documents: all "
        "of it is read"
    )
    with pytest.raises(DataError) as error:
        pgcjax.evaluate(judged, qrels=other)
    assert str(error.value) == (
        f"{judged}: was packed for other judgments: 2 judged documents, such as 'new' "
        "of query 'q1', may be missing. Pack the runs with these judgments, or without "
        "only_judged (--only-judged on the command line)."
    )
    fewer = {"q1": {"b": 1}}
    one = pgcjax.evaluate(RUNS, qrels=fewer)
    assert one.table.equals(pgcjax.evaluate(judged, qrels=fewer, verify=1.0).table)


def test_several_sources_of_runs(tmp_path):
    pgcjax.files.pack({"r1": RUNS["r1"]}, tmp_path / "1.parquet", qrels=QRELS)
    (tmp_path / "2.run").write_text("q1 Q0 b 1 1.0 r2\nq1 Q0 a 2 1.0 r2\n")
    both = pgcjax.evaluate(tmp_path, qrels=QRELS)
    assert both.table.equals(pgcjax.evaluate(RUNS, qrels=QRELS).table)
    pgcjax.files.pack(RUNS, tmp_path / "3.parquet")
    with pytest.raises(DataError, match=r"3\.parquet: claims the run name 'r1', as "):
        pgcjax.evaluate(tmp_path, qrels=QRELS)


def test_ranks_that_order_nothing_are_said_when_they_are_wanted(tmp_path):
    path = tmp_path / "runs.parquet"
    frame = table_of([("r", "q", "a", 1.0, 1.0), ("r", "q", "b", 2.0, 1.0)])
    pgcjax.files.pack(frame, path)
    assert len(pgcjax.evaluate(path, qrels={"q": {"a": 1}}).table) == 2
    for judged in ("a", "z"):  # also where no document is judged
        with pytest.raises(DataError) as error:
            pgcjax.evaluate(path, qrels={"q": {judged: 1}}, order="rank")
        pgcjax.files.pack(frame, path, qrels={"q": {"z": 1}})
    assert str(error.value) == (
        f"{path}: run 'r' had no usable ranks for query 'q' when it was packed. Order "
        "runs by score: order=trec or clarke (--order on the command line)."
    )


def test_mistakes(tmp_path):
    path = tmp_path / "runs.parquet"
    with pytest.raises(UsageError, match=r"runs\.csv: packed runs are a \.parquet"):
        pgcjax.files.pack(RUNS, tmp_path / "runs.csv")
    with pytest.raises(UsageError, match="only_judged needs judgments"):
        pgcjax.files.pack(RUNS, path, only_judged=True)
    frame = pl.from_pandas(run_table({"r": RUNS["r1"]}), nan_to_null=False)
    with pytest.raises(DataError, match="run 'r' comes twice"):
        known = packing._judged([])
        packing._write(iter([frame, frame]), path, known, whole=True, rows=1)
    assert list(tmp_path.iterdir()) == []


def test_files_that_cannot_be_read(tmp_path):
    path = tmp_path / "runs.parquet"
    pgcjax.files.pack(RUNS, path, qrels=QRELS)
    whole = path.read_bytes()
    path.write_bytes(whole[:-9])
    with pytest.raises(DataError, match="cannot read it as Parquet"):
        pgcjax.evaluate(path, qrels=QRELS)


def test_a_million_judged_documents_are_one_row_group(tmp_path):
    """By itself Parquet begins a new one after 2^20 rows."""
    number = pl.int_range(2**20 + 1, dtype=pl.Int32, eager=True)
    docs = pl.DataFrame({"doc_id": number.cast(pl.String), "judged": number})
    docs = docs.select(pl.lit("q").alias("query_id"), "doc_id", "judged")
    frames = [pl.from_pandas(run_table({"q": {"0": 1.0}}), nan_to_null=False)]
    path = tmp_path / "runs.parquet"
    packing._write(iter(frames), path, docs, whole=True)
    assert len(PackedRuns(path, Options()).docs) == 2**20 + 1


DAMAGED = "is damaged: its checksum does not fit. Pack the runs again."
OF_VERSION = (
    "has version {} of packed runs; this pgcjax reads version 4. Pack the runs again."
)
WRONG = {
    b"{": DAMAGED,
    b"\xff": DAMAGED,
    b"[" * 9999: DAMAGED,
    b"[3, true]": DAMAGED,
    b'{"a": 1}': DAMAGED,
    b'{"version": 4, "whole": 1, "runs": [2], "groups": [[-3, -2, -1]]}': DAMAGED,
    b'{"version": 5}': OF_VERSION.format(5),
    b'{"version": "4"}': OF_VERSION.format("'4'"),
    b'{"version": 3,\n"version": 3}': (
        "the key 'version' is twice in one object. Keep one of the two."
    ),
}


def test_metadata_that_are_wrong(tmp_path):
    path, copy = tmp_path / "runs.parquet", tmp_path / "copy.parquet"
    pgcjax.files.pack(RUNS, path, qrels=QRELS)
    file = pq.ParquetFile(path)
    for text, said in WRONG.items():
        with pq.ParquetWriter(copy, packing.SCHEMA) as writer:
            for i in range(file.num_row_groups):
                writer.write_table(file.read_row_group(i))
            writer.add_key_value_metadata({MARK: text})
        with pytest.raises(DataError) as error:
            pgcjax.evaluate(copy, qrels=QRELS)
        assert str(error.value) == f"{copy}: {said}"
