"""What is in a file decides how it is opened, not what it is called."""

import bz2
import gzip
import lzma
from pathlib import Path

import pytest
import zstandard
from helpers.builders import run_table

from pgcjax.errors import DataError
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
