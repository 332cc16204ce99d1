"""Kinds of damage that a file may suffer, in its bytes or in its lines."""

from collections.abc import Callable

import numpy as np

from scripts.campaigns.campaign import pick

Damage = Callable[[np.random.Generator, bytes], bytes]


def _flip(rng: np.random.Generator, data: bytes, count: int = 1) -> bytes:
    out = bytearray(data)
    for place in rng.integers(8 * len(data), size=count).tolist():
        out[place // 8] ^= 1 << place % 8
    return bytes(out)


def _flips(rng: np.random.Generator, data: bytes) -> bytes:
    return _flip(rng, data, int(rng.integers(2, 20)))


def _span(rng: np.random.Generator, data: bytes) -> tuple[int, int]:
    first = int(rng.integers(len(data)))
    return first, min(len(data), first + int(pick(rng, (1, 4, 16, 64, 512))))


def _cut(rng: np.random.Generator, data: bytes) -> bytes:
    return data[: int(rng.integers(len(data)))]


def _cut_last(rng: np.random.Generator, data: bytes) -> bytes:
    return data[: -int(rng.integers(1, 10))]


def _cut_head(rng: np.random.Generator, data: bytes) -> bytes:
    return data[int(rng.integers(1, len(data))) :]


def _hole(rng: np.random.Generator, data: bytes) -> bytes:
    first, end = _span(rng, data)
    return data[:first] + data[end:]


def _zeros(rng: np.random.Generator, data: bytes) -> bytes:
    first, end = _span(rng, data)
    return data[:first] + bytes(end - first) + data[end:]


def _noise(rng: np.random.Generator, data: bytes) -> bytes:
    first, end = _span(rng, data)
    return data[:first] + rng.bytes(end - first) + data[end:]


def _doubled(rng: np.random.Generator, data: bytes) -> bytes:
    first, end = _span(rng, data)
    return data[:end] + data[first:end] + data[end:]


def _twice(rng: np.random.Generator, data: bytes) -> bytes:
    return data + data


def _appended(rng: np.random.Generator, data: bytes) -> bytes:
    return data + pick(
        rng, (b"\0" * 4, b"\0", b"\n", b"garbage", rng.bytes(20), data[:9])
    )


def _lines(rng: np.random.Generator, data: bytes) -> tuple[list[bytes], int]:
    lines = data.splitlines(keepends=True)
    return lines, int(rng.integers(len(lines)))


def _line_doubled(rng: np.random.Generator, data: bytes) -> bytes:
    lines, i = _lines(rng, data)
    return b"".join(lines[: i + 1] + lines[i:])


def _line_dropped(rng: np.random.Generator, data: bytes) -> bytes:
    lines, i = _lines(rng, data)
    return b"".join(lines[:i] + lines[i + 1 :])


def _lines_swapped(rng: np.random.Generator, data: bytes) -> bytes:
    lines, i = _lines(rng, data)
    j = int(rng.integers(len(lines)))
    lines[i], lines[j] = lines[j], lines[i]
    return b"".join(lines)


def _lines_joined(rng: np.random.Generator, data: bytes) -> bytes:
    lines, i = _lines(rng, data)
    lines[i] = lines[i].rstrip(b"\r\n") + pick(rng, (b"", b" ", b",", b"\t"))
    return b"".join(lines)


def _in_fields(lines: list[bytes], i: int, change: Callable[..., bool]) -> bytes:
    """Change a line by the first separator with which that can be done."""
    for separator in (b"\t", b",", b" "):
        fields = lines[i].rstrip(b"\n").split(separator)
        if len(fields) > 1 and change(fields, separator):
            lines[i] = separator.join(fields) + b"\n"
            break
    return b"".join(lines)


def _fields_mixed(rng: np.random.Generator, data: bytes) -> bytes:
    def mix(fields: list[bytes], _: bytes) -> bool:
        a, b = rng.integers(len(fields), size=2).tolist()
        fields[a], fields[b] = fields[b], fields[a]
        return True

    return _in_fields(*_lines(rng, data), mix)


def _field_added(rng: np.random.Generator, data: bytes) -> bytes:
    """Give a line a second field of a kind, as another line has it."""
    lines, i = _lines(rng, data)
    others = lines[int(rng.integers(len(lines)))].rstrip(b"\n")

    def add(fields: list[bytes], separator: bytes) -> bool:
        other = others.split(separator)
        if len(fields) != len(other):
            return False
        place = int(rng.integers(len(fields)))
        fields.insert(place + 1, other[place].strip(b"{}"))
        return True

    return _in_fields(lines, i, add)


def _field_gone(rng: np.random.Generator, data: bytes) -> bytes:
    def drop(fields: list[bytes], _: bytes) -> bool:
        del fields[int(rng.integers(len(fields)))]
        return True

    return _in_fields(*_lines(rng, data), drop)


HOSTILE = (
    *(b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xc0\x80", b"\xe9"),
    *(b"1e999", b"-1e308", b"1e308", b"9" * 5000, b"0x10", b"1_000", b"nan", b"inf"),
    *(
        "１２".encode(),
        "٣".encode(),
        "−1".encode(),
        "\u00a0".encode(),
        b"\x0c",
        b"\x1c",
    ),
    *(
        "\u202e".encode(),
        "\u2028".encode(),
        "e\u0301".encode(),
        b"\x85",
        b"\r",
        b"\x0b",
    ),
    *(
        b'"',
        b"'",
        b"\\",
        b"#",
        b"{",
        b"]",
        b",,,,",
        b"\t\t",
        b"%n",
        b"=cmd|' /C calc'!A0",
    ),
    *(
        b"[" * 100_000,
        b'{"a":' * 5000,
        b"x" * 1_000_000,
        b"\n" * 10_000,
        b" " * 100_000,
    ),
    *(b"__import__('os')", b"!!python/object", b"<!ENTITY a 'b'>", b"cos\nsystem\n"),
)


def _hostile(rng: np.random.Generator, data: bytes) -> bytes:
    """Put something hostile in the place of a field, or anywhere."""
    what = pick(rng, HOSTILE)
    first, end = _span(rng, data)
    if rng.random() < 0.5:
        breaks = [i for i, byte in enumerate(data) if byte in b' ,\t\n":'] or [0]
        first = breaks[int(rng.integers(len(breaks)))]
        end = next((i for i in breaks if i > first), len(data))
        return data[: first + 1] + what + data[end:]
    return data[:first] + what + data[first if rng.random() < 0.5 else end :]


BYTES: dict[str, Damage] = {
    "bit flipped": _flip,
    "bits flipped": _flips,
    "cut": _cut,
    "last bytes cut": _cut_last,
    "head cut": _cut_head,
    "bytes lost": _hole,
    "bytes zeroed": _zeros,
    "bytes overwritten": _noise,
    "bytes doubled": _doubled,
    "file doubled": _twice,
    "bytes appended": _appended,
}
"""Of any file."""

LINES: dict[str, Damage] = {
    "line doubled": _line_doubled,
    "line dropped": _line_dropped,
    "lines swapped": _lines_swapped,
    "lines joined": _lines_joined,
    "fields mixed": _fields_mixed,
    "field lost": _field_gone,
    "field added": _field_added,
    "hostile": _hostile,
}
"""Of text, before it is compressed."""
