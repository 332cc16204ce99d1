"""What is in a file decides how it is opened, not what it is called."""

import bz2
import gzip
import lzma
import random
import struct
import zlib
from pathlib import Path

import pytest
import zstandard
from helpers.builders import run_table

from pgcjax.errors import DataError
from pgcjax.io.bytes import read_bytes
from pgcjax.io.reading import machine_memory

LINES = [b"q%d Q0 d%d %d %d tag\n" % (i // 9, i, i % 9, -i) for i in range(900)]
RUN = b"".join(LINES)
HALVES = b"".join(LINES[:450]), b"".join(LINES[450:])
SKIPPABLE = b"\x50\x2a\x4d\x18\x04\x00\x00\x00abcd"  # a frame of pzstd without data
COMPRESS = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstandard.compress,
}
FORMS = {
    "plain": RUN,
    **{kind: pack(RUN) for kind, pack in COMPRESS.items()},
    **{f"two {k}": b"".join(map(pack, HALVES)) for k, pack in COMPRESS.items()},
    "unsized zst": zstandard.ZstdCompressor(write_content_size=False).compress(RUN),
    "pzstd": SKIPPABLE + zstandard.compress(HALVES[0])
    + zstandard.compress(HALVES[1]) + SKIPPABLE,
}  # fmt: skip


@pytest.mark.parametrize("name", ["a.run", "a.gz", "a.bz2", "a.xz", "a.txt.zst"])
@pytest.mark.parametrize("form", FORMS)
def test_any_compression_under_any_name(put, form, name):
    runs = run_table(put(name, FORMS[form]))
    assert len(runs) == 900
    assert runs["doc_id"].tolist() == [f"d{i}" for i in range(900)]


def member(flags: int, fields: bytes = b"") -> bytes:
    """Compress the run as a member with optional fields in its header."""
    head = b"\x1f\x8b\x08" + bytes([flags]) + b"\0\0\0\0\0\xff" + fields
    packer = zlib.compressobj(wbits=-15)
    body = packer.compress(RUN) + packer.flush()
    return head + body + struct.pack("<II", zlib.crc32(RUN), len(RUN))


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1]) + data[at:][1:]


HEADER = zlib.crc32(member(2)[:10])
ONE, TWO = gzip.compress(RUN), gzip.compress(RUN) + gzip.compress(HALVES[0])
WHOLE = {
    "one": ONE,
    "two": TWO,
    "many": b"".join(map(gzip.compress, LINES)),
    "an empty one before": gzip.compress(b"") + ONE,
    "an empty one after": ONE + gzip.compress(b""),
    "nothing": gzip.compress(b""),
    "stored": gzip.compress(RUN, 0),
    "zeros after": ONE + bytes(511),
    "zeros between": ONE + bytes(7) + ONE,
    "a name": member(8, b"a.run\0"),
    "a long name": member(8, b"a" * 100_000 + b"\0"),
    "a comment": member(16, b"made by\0"),
    "extra fields": member(4, b"\3\0abc"),
    "text": member(1),
    "all": member(1 | 4 | 8 | 16, b"\3\0abca.run\0made by\0"),
    "a checksum of the header": member(2, struct.pack("<H", HEADER & 0xFFFF)),
    "unknown flags": member(32),
}
BROKEN = {
    **{f"{len(ONE) - n} bytes less": ONE[:n] for n in range(2, 20)},
    **{f"{n} bytes less": ONE[:-n] for n in (1, 4, 7, 8, 9, 20, 99)},
    **{f"{n} bytes of a second": ONE + ONE[:n] for n in (*range(1, 20), 99)},
    **{f"{n} bytes less of a second": ONE + ONE[:-n] for n in (1, 8, 9)},
    **{f"rest {rest!r}": ONE + rest for rest in (b"x", b"\n", b"text", b"\0\0x", RUN)},
    **{f"byte {n} changed": flipped(ONE, n) for n in (2, -8, -5, -4, -1)},
    "a name without end": member(0)[:3] + b"\x08\0\0\0\0\0\xffname",
    "an extra field without end": member(0)[:3] + b"\x04\0\0\0\0\0\xff\xff\xffab",
    "two, the first changed": flipped(TWO, len(ONE) - 6),
}


def outcome(unpack, *args) -> bytes | str:
    try:
        return unpack(*args)
    except (OSError, EOFError, zlib.error, DataError) as error:
        return str(error)


@pytest.mark.parametrize("form", WHOLE | BROKEN)
def test_gz_is_read_and_refused_as_the_standard_library_does(put, form):
    """A faster library reads it."""
    data = (WHOLE | BROKEN)[form]
    expected = outcome(gzip.decompress, data)
    assert isinstance(expected, bytes) == (form in WHOLE)
    path = put("a.run", data)
    found = outcome(read_bytes, path)
    if isinstance(expected, bytes):
        assert found == expected
    else:
        assert found.startswith(f"{path}: cannot decompress it as gz: "), found
        assert found.endswith(". It may be cut off: fetch it again.")


def test_gz_changed_anywhere(put):
    draw = random.Random(0)
    for _ in range(500):
        data = bytearray(draw.choice((ONE, TWO)))
        for _ in range(draw.randint(1, 3)):
            data[draw.randrange(2, len(data))] = draw.randrange(256)
        data = bytes(data[: draw.choice((len(data), draw.randrange(2, len(data))))])
        expected = outcome(gzip.decompress, data)
        found = outcome(read_bytes, put("a.run", data))
        # It also checks a checksum of the header, which the standard library skips.
        assert found == expected or "cannot decompress it as gz: " in found


def test_text_may_begin_as_compressed_data_does(put):
    runs = run_table(put("a.run", "BZhang Q0 d1 1 2 tag\n"))
    assert runs["query_id"].tolist() == ["BZhang"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_of_all_systems(put, end, last, mark):
    lines = ["# a comment", "", "q1 Q0 d1 1 2.5 tag", " \t", "q1 Q0 d2 2 1.5 tag"]
    text = mark + end.join(lines) + (end if last else "")
    runs = run_table(put("a.run", text))
    assert runs["doc_id"].tolist() == ["d1", "d2"]
    assert runs["run_id"].tolist() == ["tag", "tag"]
    assert runs.attrs == {"comments": 1}


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (b"d\xff", "expected UTF-8 text, found byte 0xff"),
        (b"d\xe9t\xe9", "expected UTF-8 text, found byte 0xe9"),
        (b"d\x00", "expected text, found a NUL character"),
    ],
)
def test_what_is_not_utf8_is_refused_with_its_line(put, end, mark, wrong, message):
    data = mark + end.join([b"q Q0 d1 1 2 t", b"", b"q Q0 " + wrong + b" 2 1 t"])
    with pytest.raises(DataError, match=rf"a\.run:3: {message}\. "):
        run_table(put("a.run", data))


@pytest.mark.parametrize(
    "nothing", [b"", b"\n \r\n\t", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n"]
)
@pytest.mark.parametrize("name", ["a.run", "a.csv", "a.jsonl"])
def test_empty_files(put, nothing, name):
    for data in (nothing, gzip.compress(nothing)):
        with pytest.raises(DataError, match=r": is empty\. Expected lines of data\.$"):
            run_table(put(name, data))


def test_files_that_cannot_be_opened(tmp_path, monkeypatch):
    def denied(path, *_, **how):
        raise PermissionError(13, "Permission denied")

    (tmp_path / "a.run").write_text("q d 1")
    machine_memory()  # it reads files, once
    monkeypatch.setattr(Path, "open", denied)
    with pytest.raises(
        DataError, match=r"a\.run: cannot read it: Permission denied\. "
    ):
        run_table(tmp_path)
    monkeypatch.setattr(Path, "iterdir", denied)
    with pytest.raises(DataError, match=r": cannot read it: Permission denied\. "):
        run_table(tmp_path)
