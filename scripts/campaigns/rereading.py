"""Files read a second time, strictly: what damaged ones say, if they say anything.

It shares no code with pgcjax. Whatever is not plainly what the format says is None: a
damaged file that pgcjax accepts has to be plain to this reader, too.
"""

import bz2
import gzip
import io
import json
import lzma
import re
import zlib

import pandas as pd
import zstandard

MAGIC = {
    b"\x1f\x8b": "gz",
    b"BZh": "bz2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zst",
}
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)
_UNQUOTED = {separator: re.compile(f"[^{separator}\n]*") for separator in ",\t"}
_WRONG = (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError)


def unpacked(data: bytes) -> bytes | None:
    """Decompress a file to its very last byte; None if any of it is damaged."""
    kind = next((k for magic, k in MAGIC.items() if data.startswith(magic)), None)
    try:
        if kind == "gz":
            return gzip.decompress(data)
        if kind == "bz2":
            return _streams(data, bz2.BZ2Decompressor, b"")
        if kind == "xz":
            return _streams(data, lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ), b"\0")
        if kind == "zst":
            return _streams(data, lambda: zstandard.ZstdDecompressor().decompressobj())
    except (*_WRONG, zstandard.ZstdError):
        return None
    return data


def _streams(data: bytes, make, padding: bytes = b"") -> bytes | None:
    parts = []
    while data:
        if padding and not data.strip(padding):
            return b"".join(parts) if len(data) % 4 == 0 else None
        stream = make()
        parts.append(stream.decompress(data))
        if not stream.eof:
            return None
        data = stream.unused_data
        while padding and data[:4] == padding * 4:
            data = data[4:]
    return b"".join(parts)


def _text(data: bytes) -> str | None:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    if "\0" in text:
        return None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def reread(
    data: bytes, form: str, columns: tuple[str, ...], numeric: frozenset[str]
) -> pd.DataFrame | None:
    """Read a file as a table of text; None if it is not plainly that.

    Args:
        data: the file.
        form: columns, csv, tsv, jsonl or parquet.
        columns: of `columns`, those that lines have; of the other forms, those that a
            header needs.
        numeric: columns of finite numbers.
    """
    plain = unpacked(data)
    if plain is None:
        return None
    if form == "parquet":
        try:
            return pd.read_parquet(io.BytesIO(plain))
        except Exception:
            return None
    text = _text(plain)
    if text is None:
        return None
    rows = _rows(text, form, columns)
    if not rows or {len(row) for row in rows} != {len(rows[0])}:
        return None
    header, *cells = rows
    if not cells or len(set(header)) < len(header) or not {*columns} <= {*header}:
        return None
    frame = pd.DataFrame(cells, columns=header, dtype=object)
    for name in numeric & {*header}:
        cells = frame[name].tolist()
        values = [v.strip() if isinstance(v, str) else repr(v) for v in cells]
        if not all(map(_NUMBER.fullmatch, values)):
            return None
        frame[name] = [float(value) for value in values]
    return frame


def _rows(text: str, form: str, columns: tuple[str, ...]) -> list[list] | None:
    """Split text into rows, the header first."""
    lines = text.split("\n")
    if form == "columns":
        split = (re.findall(r"[^ \t]+", line) for line in lines)
        return [[*columns], *(row for row in split if row and row[0][0] != "#")]
    if form == "jsonl":
        try:
            records = [
                json.loads(line, object_pairs_hook=_once)
                for line in lines
                if line.strip()
            ]
        except (ValueError, RecursionError):
            return None
        names = list(dict.fromkeys(name for record in records for name in record))
        return [names, *([record.get(n) for n in names] for record in records)]
    while lines and (not lines[0].strip() or lines[0].startswith("#")):
        del lines[0]
    rows = _delimited("\n".join(lines), "," if form == "csv" else "\t")
    return [[name.strip() for name in rows[0]], *rows[1:]] if rows else None


def _delimited(text: str, separator: str) -> list[list[str]] | None:
    """Split text into fields, of any length; a quote that is not closed is None."""
    rows: list[list[str]] = [[]]
    i = 0
    while i < len(text):
        if text[i] == '"':
            field, i = "", i + 1
            while True:
                end = text.find('"', i)
                if end < 0:
                    return None
                field, i = field + text[i:end], end + 1
                if text[i : i + 1] != '"':
                    break
                field, i = field + '"', i + 1
            if text[i : i + 1] not in (separator, "\n", ""):
                return None
        else:
            match = _UNQUOTED[separator].match(text, i)
            field, i = match[0], match.end()  # type: ignore[index]
        rows[-1].append(field)
        if text[i : i + 1] == separator and i + 1 == len(text):
            rows[-1].append("")
        if text[i : i + 1] == "\n":
            rows.append([])
        i += 1
    return [row for row in rows if len(row) > 1 or "".join(row).strip()]


def _once(pairs: list) -> dict:
    """Refuse a key that stands twice in an object."""
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key is there twice")
    return dict(pairs)
