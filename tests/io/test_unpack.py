"""Compressed files of one stream or several: whole to the last byte, or refused."""

import bz2
import contextlib
import gzip
import lzma
import os
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from helpers.builders import run_table

from pgcjax.errors import DataError
from pgcjax.io.bytes import TooLargeError, read_bytes
from pgcjax.io.reading import reading

PACK = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstandard.ZstdCompressor(write_checksum=True).compress,
}
TEXTS = [b"".join(b"q%d Q0 d%d 1 2 t\n" % (i, j) for j in range(20)) for i in range(3)]
ZEROS = {"gz": (1, 3, 4, 512), "xz": (4, 8, 512), "bz2": (), "zst": ()}
AGAIN = "It may be cut off: fetch it again."


@pytest.fixture(params=PACK)
def kind(request):
    return request.param


@pytest.fixture
def streams(kind):
    return [PACK[kind](text) for text in TEXTS]


@pytest.fixture
def unpacked(put):
    """Read bytes as a file: its content, or what is said against it."""

    def read(data: bytes) -> bytes | str:
        try:
            return read_bytes(put("a.run", data))
        except DataError as error:
            assert str(error).count("a.run: ") == 1
            return str(error).partition("a.run: ")[2]

    return read


def refused(said: bytes | str, kind: str) -> bool:
    start = f"cannot decompress it as {kind}: "
    return isinstance(said, str) and said.startswith(start) and said.endswith(AGAIN)


def test_several_streams(kind, streams, unpacked):
    assert unpacked(streams[0]) == TEXTS[0]
    assert unpacked(b"".join(streams)) == b"".join(TEXTS)
    empty = PACK[kind](b"")
    assert unpacked(empty + streams[0] + empty) == TEXTS[0]
    assert unpacked(streams[0] * 500) == TEXTS[0] * 500


def test_cut_anywhere(kind, streams, unpacked):
    whole = b"".join(streams)
    edges = len(streams[0]), len(whole) - len(streams[2])
    for end in range(10, len(whole)):
        said = unpacked(whole[:end])
        assert end in edges or refused(said, kind), (end, said)


def test_changed_anywhere(kind, streams, unpacked):
    """A bit that says when a file was made may change: nothing else."""
    whole, text = b"".join(streams), b"".join(TEXTS)
    for place in range(10, len(whole)):
        data = bytearray(whole)
        data[place] ^= 1 << place % 8
        said = unpacked(bytes(data))
        assert said == text or refused(said, kind), place


@pytest.mark.parametrize("rest", [b"x", b"\n", b"text\n" * 9, TEXTS[0], b"\0\0\0\0x"])
def test_other_data_after_or_between_streams(kind, streams, unpacked, rest):
    for data in (streams[0] + rest, streams[0] + rest + streams[1]):
        assert refused(unpacked(data), kind)


def test_zeros_after_and_between_streams(kind, streams, unpacked):
    """The xz format has fours of them, and the gzip tool any number, as of a tape."""
    for count in (1, 2, 3, 4, 5, 8, 512):
        zeros = bytes(count)
        after = unpacked(streams[0] + zeros)
        between = unpacked(streams[0] + zeros + streams[1] + zeros)
        if count in ZEROS[kind] or kind == "gz":
            assert (after, between) == (TEXTS[0], TEXTS[0] + TEXTS[1])
        else:
            assert refused(after, kind) and refused(between, kind)


def test_no_more_is_unpacked_than_memory_allows(put, kind):
    """Half a GiB of blanks in a few KiB, of one stream or many: what is allowed."""
    part = b" " * 2**24
    bombs = [PACK[kind](part) * 32]
    if kind == "zst":
        made = zstandard.ZstdCompressor(write_content_size=False).compressobj()
        bombs.append(b"".join(made.compress(part) for _ in range(32)) + made.flush())
    for bomb in bombs:
        path = put("a.run", bomb)
        tracemalloc.start()
        with reading(memory="64MiB"), pytest.raises(TooLargeError) as error:
            read_bytes(path)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 2**28
        assert str(error.value) == (
            f"{path}: has more than 64 MiB when decompressed, the limit of memory "
            "for a file. Allow more: pgcjax.files.reading(memory=SIZE), --memory "
            "SIZE "
            "on the command line."
        )


def test_tables_whose_cells_are_stored_once(tmp_path):
    path = tmp_path / "a.parquet"
    rows = pa.table({"score": pa.array(np.zeros(10**7, np.int8))})
    pq.write_table(rows, path)
    assert path.stat().st_size < 10**5
    with reading(memory="64MiB"), pytest.raises(TooLargeError) as error:
        run_table(path)
    assert str(error.value).startswith(
        f"{path}: has more than 64 MiB when decompressed, "
    )


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes")
def test_endless_pipes(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)

    def fill() -> None:
        with contextlib.suppress(BrokenPipeError), path.open("wb") as pipe:
            while True:
                pipe.write(b"q1 d1 1\n" * 2**17)

    with ThreadPoolExecutor(1) as pool:
        pool.submit(fill)
        with reading(memory="64MiB"), pytest.raises(TooLargeError):
            run_table(path)
