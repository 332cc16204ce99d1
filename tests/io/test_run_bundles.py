"""Small files read together: what each alone gives, and what is said of it."""

import gzip
import io
import warnings
from contextlib import closing
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgcjax.errors import DataError
from pgcjax.io.judged import JudgedDocuments
from pgcjax.io.runs import Need, Options, ahead, read_runs
from pgcjax.io.runs.files import FileRuns
from pgcjax.tensors.rankings import Rankings, find, joined

MIB = 2**20
JUDGED = {"q1": ["a", "b", "é"], "q2": ["a", "c"]}
ROWS = [("q1", "a", 3), ("q1", "é", 2), ("q1", "b", 2), ("q2", "c", 1), ("q9", "a", 1)]


def text_of(tag, rows=ROWS, separator=" ") -> bytes:
    lines = [separator.join((q, "Q0", d, "1", str(s), tag)) for q, d, s in rows]
    return "".join(f"{line}\n" for line in lines).encode()


def three(rows=ROWS) -> bytes:
    return "".join(f"{q} {d} {s}\n" for q, d, s in rows).encode()


REGULAR = {
    "six columns": text_of,
    "other rows": lambda tag: text_of(tag, ROWS[1:4]),
    "tied, not in order": lambda tag: text_of(tag, ROWS[::-1]),
    "compressed": lambda tag: gzip.compress(text_of(tag)),
    "without a last line end": lambda tag: text_of(tag)[:-1],
    "two runs": lambda tag: text_of(tag) + text_of(f"{tag}+", [("q3", "a", 1)]),
}
OTHER = {
    "three columns": lambda _: three(),
    "tabs": lambda tag: text_of(tag, separator="\t"),
    "a comment at the beginning": lambda tag: b"# q d 1 2 x\n" + text_of(tag),
    "a comment of six words": lambda tag: b"# Q0 d 1 2 x\n" + text_of(tag),
    "a mark": lambda tag: b"\xef\xbb\xbf" + text_of(tag),
    "lines of Windows": lambda tag: text_of(tag).replace(b"\n", b"\r\n"),
    "a line less at the end": lambda tag: text_of(tag) + b"\n",
    "a header": lambda tag: f"query_id,doc_id,score\nq1,{tag},2\n".encode(),
    "large numbers": lambda tag: text_of(
        tag, [("q1", "a", 2**53 + 1), ("q1", "b", 2**53)]
    ),
    "the tag of another": lambda _: text_of("again"),
    "a document twice": lambda tag: text_of(tag, [*ROWS, ROWS[0]]),
    "a ranking in two places": lambda tag: text_of(tag, [*ROWS, ("q1", "z", 1)]),
    "a short line": lambda tag: text_of(tag) + b"q3 Q0 a 1 2\n",
    "a long line": lambda tag: text_of(tag) + b"q3 Q0 a 1 2 3 4\n",
    "five and seven": lambda tag: b"q3 Q0 a 1 2\nq3 Q0 a 1 2 x y\n" + text_of(tag),
    "no number": lambda tag: text_of(tag, [*ROWS, ("q3", "a", "x")]),
    "infinite": lambda tag: text_of(tag, [*ROWS, ("q3", "a", "inf")]),
    "nothing": lambda _: b"",
    "nothing, compressed": lambda _: gzip.compress(b""),
    "no UTF-8": lambda tag: text_of(tag) + b"q3 Q0 \xff 1 2 x\n",
    "cut off": lambda tag: gzip.compress(text_of(tag))[:-9],
}


def parquet(change=lambda frame: frame):
    """Make a Parquet file of a tag: of ROWS, changed."""

    def made(tag) -> bytes:
        frame = pd.DataFrame(ROWS, columns=["query_id", "doc_id", "score"])
        frame = change(frame.assign(run_id=tag, score=frame["score"].astype(float)))
        frame.to_parquet(file := io.BytesIO(), index=False)
        return file.getvalue()

    return made


def with_cell(column, cell):
    def change(frame):
        cells = [*frame[column].astype(object)]
        return frame.assign(**{column: pd.Series([cell, *cells[1:]])})

    return parquet(change)


REGULAR_PARQUET = {
    "parquet": parquet(),
    "other names": parquet(lambda f: f.rename(columns={"doc_id": "docno"})),
    "numbers as ids": parquet(lambda f: f.assign(query_id=[1, 1, 1, 2, 3])),
    "float32": parquet(lambda f: f.assign(score=f["score"].astype("float32") / 3)),
    "whole numbers": parquet(lambda f: f.assign(score=f["score"].astype(int))),
    "categories": parquet(lambda f: f.assign(doc_id=f["doc_id"].astype("category"))),
    "more columns": parquet(lambda f: f.assign(text="x", rank=[3, 3, 3, 1, 1])),
    "runs in turn": parquet(
        lambda f: pd.concat([f, f.assign(run_id=f["run_id"] + "b")]).sort_values(
            ["query_id", "doc_id"]
        )
    ),
}
OTHER_PARQUET = {
    "no tags": parquet(lambda f: f.drop(columns="run_id")),
    "ranks alone": parquet(
        lambda f: f.drop(columns="score").assign(rank=[1, 2, 3, 1, 1])
    ),
    "no score": parquet(lambda f: f.drop(columns="score")),
    "no rows": parquet(lambda f: f[:0]),
    "not a number": with_cell("score", float("nan")),
    "infinite in parquet": with_cell("score", float("inf")),
    "no doc": with_cell("doc_id", None),
    "an empty doc": with_cell("doc_id", ""),
    "a blank at an end": with_cell("doc_id", " a"),
    "a control character": with_cell("doc_id", "a\x1f"),
    "a tab": with_cell("query_id", "q\t1"),
    "an odd query": with_cell("query_id", "#q"),
    "floats as ids": parquet(lambda f: f.assign(query_id=[1.5, 1.5, 1.5, 2, 3])),
    "large numbers in parquet": parquet(
        lambda f: f.assign(score=[2**53, 2**53 + 1, 1, 2, 3])
    ),
    "text as score": parquet(lambda f: f.assign(score=f["score"].astype(str))),
    "twice in parquet": with_cell("doc_id", "b"),
    "the run of another": parquet(lambda f: f.assign(run_id="again")),
    "cut parquet": lambda tag: parquet()(tag)[:-9],
    "text among parquet": text_of,
}
FILES = REGULAR | OTHER | REGULAR_PARQUET | OTHER_PARQUET


def outcome(source, **how) -> tuple[list[str], str]:
    """Say what scoring sees of each run, its progress and warnings; and an error."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        seen, error = _outcome(source, **how)
    return [*seen, *(str(warning.message) for warning in warned)], error


def _outcome(source, *, together, order="trec", **how) -> tuple[list[str], str]:
    judged, seen, queries = JudgedDocuments(JUDGED), [], set()
    look_up = partial(find, judged=judged, order=order)

    def progress(*step):
        seen.append(str(step))

    try:
        runs = read_runs(source, **how)
        read = runs.read(judged, order, look_up, together=together, progress=progress)
        with closing(read) as units:
            for unit in units:
                ranks = joined(unit.parts)
                for run in ranks.run_ids:
                    one = Rankings(judged, [ranks.only({run})])
                    found = one.retrieved(judged.docs).values()
                    rows = [(got.rank.tolist(), got.vertex.tolist()) for got in found]
                    has = one.answered(["q1", "q2"]).tolist()
                    seen.append(f"{run} {rows} {has}")
                queries |= ranks.query_ids
    except DataError as error:
        return sorted(seen), str(error)
    return [*sorted(seen), *sorted(queries)], ""


def put(folder, names) -> None:
    folder.mkdir(exist_ok=True)
    for path in folder.iterdir():
        path.unlink()
    for i, name in enumerate(names):
        (folder / f"{i:02}.run").write_bytes(FILES[name](f"tag{i}"))


TEXT = ["six columns", "the tag of another", "other rows"]
PARQUET = ["parquet", "the run of another", "float32"]


@pytest.mark.parametrize("name_by", ["tag", "file", "filename"])
@pytest.mark.parametrize(
    ("name", "around"),
    [
        *((name, TEXT) for name in [*OTHER, *REGULAR]),
        *((name, PARQUET) for name in [*OTHER_PARQUET, *REGULAR_PARQUET]),
    ],
)
def test_a_file_among_regular_ones(name, around, name_by, tmp_path):
    """It is read, or refused in its turn, as it is alone."""
    first, again, last = around
    put(tmp_path / "runs", [first, *[again] * (name == again), name, last])
    both = [
        outcome(tmp_path / "runs", together=together, name_by=name_by)
        for together in (True, False)
    ]
    assert both[0] == both[1]


@pytest.mark.parametrize("kinds", [REGULAR, REGULAR_PARQUET])
@pytest.mark.parametrize("name_by", ["tag", "file"])
def test_regular_files_are_one_table(kinds, name_by, tmp_path):
    several = ("two runs", "runs in turn")
    names = [n for n in kinds if n not in several or name_by == "tag"]
    put(tmp_path / "runs", names)
    judged = JudgedDocuments(JUDGED)
    runs = read_runs(tmp_path / "runs", name_by=name_by)
    (read,) = runs.read(judged, "trec", lambda table: table)
    (table,) = read.parts
    assert read.units == len(names) == len(table.by_unit)
    run_ids = [run for runs in table.by_unit for run in runs]
    assert run_ids == table.frame["run_id"].unique(maintain_order=True).to_list()
    alone = [*runs.read(judged, "trec", lambda table: table, together=False)]
    frames = [unit.parts[0].frame.drop("rank") for unit in alone]
    assert table.frame.drop("rank").equals(pl.concat(frames))
    assert table.frame["rank"].is_nan().all()


def tables_of(paths, memory=2**30) -> int:
    """How many tables are made of some files that are read as one task."""
    source = FileRuns(paths, Options())
    return len([*source.read(source.units(), Need(memory, JudgedDocuments(JUDGED)))])


def test_parquet_files_of_more_than_memory_are_read_alone(tmp_path):
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for path in paths:
        path.write_bytes(parquet()(path.stem))
    assert tables_of(paths) == tables_of(paths, 8 * 2 * 3000) == 1
    assert len(paths[0].read_bytes()) < 3000
    with paths[1].open("wb") as file:
        queries = [f"q{i // 5}" for i in range(5000)]
        docs = [f"d{i % 5}" for i in range(5000)]
        columns = {"query_id": queries, "doc_id": docs, "score": 1.0}
        pd.DataFrame(columns).to_parquet(file)
    assert len(paths[1].read_bytes()) < 12000  # of few different cells
    assert tables_of(paths, 8 * 2 * 12000) == 2


def test_a_suffix_tells_the_container(tmp_path):
    paths = [tmp_path / name for name in ("a.run", "b.csv", "c.run")]
    for path in paths:
        path.write_bytes(text_of(path.name))
    both = [outcome(paths, together=together) for together in (True, False)]
    assert both[0] == both[1] and "b.csv" in both[0][1]


def test_a_run_of_another_table_is_refused(tmp_path, monkeypatch):
    """The file is named, and the one that has the run already."""
    again = "the tag of another"
    put(tmp_path / "runs", ["six columns", again, "six columns", again])
    monkeypatch.setattr(ahead, "_LEAST", 2 * len(text_of("again")))
    monkeypatch.setattr(ahead, "_MOST", 0)
    judged = JudgedDocuments(JUDGED)
    runs = read_runs(tmp_path / "runs")
    read = runs.read(judged, "trec", lambda table: table.by_unit)
    first = next(read)
    assert first.units == 2 and first.parts == [(("tag0",), ("again",))]
    with pytest.raises(DataError, match=r"03\.run.*'again', as .*01\.run does"):
        next(read)
    read.close()


def test_ranks_are_read_where_they_count(tmp_path):
    for tag in ("a", "b"):
        text = f"q1 Q0 a 2 9 {tag}\nq1 Q0 b 1 8 {tag}\n"
        (tmp_path / tag).write_text(text)
    both = [outcome(tmp_path, together=x, order="rank") for x in (True, False)]
    assert both[0] == both[1] and not both[0][1]


@settings(max_examples=60)
@given(
    st.lists(st.sampled_from([*FILES, *REGULAR, *REGULAR]), min_size=1, max_size=9),
    st.sampled_from(["tag", "file"]),
    st.sampled_from(["trec", "clarke", "rank"]),
    st.booleans(),
    st.integers(1, 4),
    st.sampled_from([0, 300, MIB]),
)
def test_any_files(tmp_path_factory, names, name_by, order, float32, threads, least):
    folder = tmp_path_factory.mktemp("bundles")
    put(folder / "runs", names)
    how = {"name_by": name_by, "order": order, "float32": float32}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ahead, "_THREADS", threads)
        patch.setattr(ahead, "_LEAST", least)
        together = outcome(folder / "runs", together=True, **how)
    alone = outcome(folder / "runs", together=False, **how)
    assert together == alone or together[1] == alone[1] != ""


def together(paths, **how):
    """The table that small files are read as."""
    runs = read_runs(paths, **how)
    (read,) = runs.read(JudgedDocuments(JUDGED), "trec", lambda table: table)
    assert read.units == len(paths)
    return read.parts[0]


def test_files_of_three_columns_are_one_table(tmp_path):
    paths = [tmp_path / "a.run", tmp_path / "b.run"]
    for path in paths:
        path.write_bytes(three())
    bundle = together(paths)
    assert bundle.by_unit == (("a",), ("b",))
    starts = np.flatnonzero(bundle.outline.start)
    assert starts.tolist() == [0, 3, 4, 5, 8, 9]  # the second file begins a ranking


def test_rankings_begin_with_files_that_share_a_tag(tmp_path):
    paths = [tmp_path / "a.run", tmp_path / "b.run"]
    paths[0].write_bytes(text_of("same", ROWS[:3]))
    paths[1].write_bytes(text_of("same", [("q1", "c", 9)]))
    bundle = together(paths, name_by="file")
    assert np.flatnonzero(bundle.outline.start).tolist() == [0, 3]


@pytest.mark.parametrize(
    ("sizes", "threads", "bundles"),
    [
        ([], 2, []),
        ([5], 2, [1]),
        ([5, 5], 1, [2]),
        ([MIB] * 8, 2, [4, 4]),
        ([MIB] * 8, 8, [2, 2, 2, 2]),
        ([MIB] * 20, 1, [8, 8, 4]),
        ([5, 0, 5, 5, 0, 0, 5], 8, [1, 1, 2, 1, 1, 1]),
        ([0, 0], 1, [1, 1]),
        ([4 * MIB, 4 * MIB, 1, 2**30, 1, 1], 1, [2, 1, 1, 2]),
    ],
)
def test_which_are_read_together(sizes, threads, bundles, monkeypatch):
    """No more than a few MiB, no fewer tasks than threads, and all in order."""
    monkeypatch.setattr(ahead, "_THREADS", threads)
    units = [*range(len(sizes))]
    found = [*ahead.bundled(units, sizes)]
    assert [len(some) for some in found] == bundles
    assert [unit for some in found for unit in some] == units
