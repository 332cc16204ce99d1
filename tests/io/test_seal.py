"""Whatever bit changes in a file of pgcjax, it is found when the file is read."""

import json
import re
from io import BytesIO

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import pgcjax
from pgcjax import Scores
from pgcjax.errors import DataError
from pgcjax.files import read_scores
from pgcjax.io import seal
from pgcjax.io.checkpoint import Checkpoint
from pgcjax.io.runs import Options
from pgcjax.io.runs.packed import MARK, PackedRuns
from pgcjax.io.scores.door import read_any_scores

RUNS = {
    "r1": {"q1": {"a": 3.0, "x": 2.0, "b": 1.0}, "q2": {"y": 1.0}},
    "r2": {"q1": {"b": 1.0, "a": 1.0}},
}
QRELS = {"q1": {"a": 2, "b": 1, "c": 1}, "q2": {"z": 1}}


def scores() -> Scores:
    table = pd.DataFrame(
        {
            "run_id": ["a", "a", "b", "b"],
            "query_id": ["1", "2"] * 2,
            "measure": ["PGC"] * 4,
            "value": [0.1, 0.25, 1 / 3, 1.0],
        }
    )
    return Scores(table.astype({"run_id": "str"}), {"version": "0.1.0", "n": [1]})


def flipped(data: bytes, step: int = 1):
    """Give the bytes with a bit flipped, for every place or some."""
    for i in range(0, len(data), step):
        yield i, data[:i] + bytes([data[i] ^ 1 << i // step % 8]) + data[i + 1 :]


@pytest.mark.parametrize("suffix", [".trec", ".tsv", ".csv", ".jsonl", ".parquet"])
def test_scores(tmp_path, suffix):
    path = scores().save(tmp_path / f"s{suffix}")
    whole = path.read_bytes()
    for i, data in flipped(whole, step=7 if suffix == ".parquet" else 1):
        path.write_bytes(data)
        for read in (read_scores, read_any_scores):
            with pytest.raises(DataError):
                print(i, read(path))
    path.write_bytes(whole.replace(b"0.25", b"0.26") + b"\n" * (suffix != ".parquet"))
    if suffix == ".parquet":
        table = pq.read_table(path)
        metadata = table.schema.metadata
        pq.write_table(table.slice(1).replace_schema_metadata(metadata), path)
        mend = "leave 'pgcjax' out of its metadata"
    else:
        mend = """write "crc32": "" in its first line"""
    with pytest.raises(DataError) as error:
        read_scores(path)
    assert str(error.value) == (
        f"{path}: is damaged: its checksum does not fit. Make or copy it again; if it "
        f"was changed on purpose, {mend}."
    )


@pytest.mark.parametrize("seal", [b'"crc32": "", ', b""])
@pytest.mark.parametrize("suffix", [".trec", ".csv", ".jsonl"])
def test_files_that_people_edit_and_older_files(tmp_path, suffix, seal):
    path = scores().save(tmp_path / f"s{suffix}")
    data = re.sub(rb'"crc32": "[0-9a-f]{8}", ', seal, path.read_bytes())
    path.write_bytes(data.replace(b"0.25", b"0.5"))
    read = read_scores(path)
    assert read.table["value"].tolist() == [0.1, 0.5, 1 / 3, 1.0]
    assert read.metadata == scores().metadata


def everything(path) -> str:
    """All that is ever read from packed runs."""
    packed = PackedRuns(path, Options())
    frame = packed.whole_runs(0).frame
    found = [packed.docs.rows(), frame.rows()]
    for order in ("trec", "clarke"):
        for ids in (frame["doc_id"].unique().sort(), None):
            block = packed.judged_runs(0, order, ids)
            arrays = block.run, block.query, block.length, block.count, block.position
            found += [block.run_ids, block.query_ids, *map(np.ndarray.tolist, arrays)]
            found += [None if block.judged is None else block.judged.tolist()]
    return repr(found)


def test_packed_runs(tmp_path):
    path = tmp_path / "runs.parquet"
    pgcjax.files.pack(RUNS, path, qrels=QRELS)
    whole, expected = path.read_bytes(), everything(path)
    rows = pq.read_metadata(path)
    # What nothing is ever read of: these columns of these kinds of row groups.
    unread = {0: "run_id judged position clarke rank length judged_length"}
    unread |= {1: "doc_id judged position clarke", 2: "length judged_length"}
    unread |= {3: "judged length judged_length"}
    start, _ = seal.metadata(BytesIO(whole))
    idle = {*range(start)}  # as between columns, where pyarrow 17 repeats metadata
    for group in range(rows.num_row_groups):
        for column, name in enumerate(rows.schema.names):
            if name not in unread.get(group, "").split():
                idle -= {*range(*seal._column_span(rows, group, column))}
    harmless = set()
    for i, data in flipped(whole, step=5):
        path.write_bytes(data)
        try:
            assert everything(path) == expected
            harmless.add(i)
        except DataError:
            pass
    assert harmless <= idle
    path.write_bytes(b"p" + whole[1:])
    with pytest.raises(DataError, match="runs.parquet"):
        pgcjax.evaluate(path, qrels=QRELS)
    first = whole.index(b"r1")
    path.write_bytes(whole[:first] + b"r3" + whole[first + 2 :])
    with pytest.raises(DataError) as error:
        pgcjax.evaluate(path, qrels=QRELS)
    assert str(error.value) == (
        f"{path}: is damaged: its checksum does not fit. Pack the runs again."
    )


def test_packed_runs_without_checksums(tmp_path):
    path = tmp_path / "runs.parquet"
    pgcjax.files.pack(RUNS, path, qrels=QRELS)
    with pq.ParquetFile(path) as file:
        about = json.loads(file.metadata.metadata[MARK.encode()])
        groups = [file.read_row_group(i) for i in range(file.num_row_groups)]
    del about["crc32"], about["crcs"]
    with pq.ParquetWriter(path, groups[0].schema) as writer:
        for group in groups:
            writer.write_table(group)
        writer.add_key_value_metadata({MARK: json.dumps(about)})
    with pytest.raises(DataError, match="is damaged: its checksum does not fit"):
        PackedRuns(path, Options())


def test_finished_work(tmp_path):
    folder, job = tmp_path / "kept", {"version": "0.1.0", "order": "trec"}
    arrays = {"units": np.array("x"), "part0": np.arange(6.0).reshape(2, 3)}
    Checkpoint(folder, job).save("0-1", **arrays)
    kept = Checkpoint(folder, job)
    loaded = kept.load("0-1")
    assert loaded and str(loaded) == str(arrays)
    piece = folder / "0-1.npz"
    whole = piece.read_bytes()
    for _, data in flipped(whole):
        piece.write_bytes(data)
        assert kept.load("0-1") is None
    piece.write_bytes(whole)
    (folder / "job.json").unlink()  # as if another job had kept the piece here
    assert Checkpoint(folder, job | {"order": "rank"}).load("0-1") is None
    kept.save("1-2", **arrays)
    about = folder / "job.json"
    for _, data in flipped(about.read_bytes()):
        about.write_bytes(data)
        with pytest.raises(DataError, match="damaged"):
            Checkpoint(folder, job)
