"""What is in a file decides how it is opened, not what it is called."""

import bz2
import gzip
import lzma

import pytest
import zstandard

from pgcjax.errors import DataError
from pgcjax.tables import content
from pgcjax.tables.runs import read_runs

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
    runs = read_runs(put(name, FORMS[form]))
    assert len(runs) == 900
    assert runs["doc_id"].tolist() == [f"d{i}" for i in range(900)]


@pytest.mark.parametrize("kind", COMPRESS)
def test_cut_off_and_damaged_files_are_refused(put, kind):
    whole = COMPRESS[kind](RUN)
    middle = len(whole) // 2
    damaged = whole[:middle] + bytes(b ^ 0x5A for b in whole[middle:])
    for data in (whole[:-20], whole[:middle], damaged, FORMS[f"two {kind}"][:-9]):
        message = rf"a\.run: cannot decompress it as {kind}: .+\. It may be cut off: "
        with pytest.raises(DataError, match=message):
            read_runs(put("a.run", data))


def test_text_may_begin_as_compressed_data_does(put):
    runs = read_runs(put("a.run", "BZhang Q0 d1 1 2 tag\n"))
    assert runs["query_id"].tolist() == ["BZhang"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_of_all_systems(put, end, last, mark):
    lines = ["# a comment", "", "q1 Q0 d1 1 2.5 tag", " \t", "q1 Q0 d2 2 1.5 tag"]
    text = mark + end.join(lines) + (end if last else "")
    runs = read_runs(put("a.run", text))
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
        read_runs(put("a.run", data))


@pytest.mark.parametrize(
    "nothing", [b"", b"\n \r\n\t", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n"]
)
@pytest.mark.parametrize("name", ["a.run", "a.csv", "a.jsonl"])
def test_empty_files(put, nothing, name):
    for data in (nothing, gzip.compress(nothing)):
        with pytest.raises(DataError, match=r": is empty\. Expected lines of data\.$"):
            read_runs(put(name, data))


def test_files_that_cannot_be_opened(tmp_path, monkeypatch):
    def denied(path):
        raise PermissionError(13, "Permission denied")

    (tmp_path / "a.run").write_text("q d 1")
    monkeypatch.setattr(content.Path, "read_bytes", denied)
    with pytest.raises(
        DataError, match=r"a\.run: cannot read it: Permission denied\. "
    ):
        read_runs(tmp_path)
    monkeypatch.setattr(content.Path, "iterdir", denied)
    with pytest.raises(DataError, match=r": cannot read it: Permission denied\. "):
        read_runs(tmp_path)
