"""Files that unpack to gigabytes, endless devices, and names that do harm when printed.

Children may have 4 GiB of memory, so that nothing takes the machine. A hostile file is
refused in one line, with exit status 2 or, where memory ends, 3; a hostile name is
scored as any other or refused, and no control character is printed.
"""

import bz2
import gzip
import io
import lzma
import os
import resource
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

import pgcjax
from pgcjax.io.choices import SCORE_SUFFIXES
from scripts.campaigns.campaign import Campaign, controls, pick
from scripts.campaigns.child import Done, changed, command, forked, snapshot
from scripts.campaigns.verbs import workplace

LIMITS = {resource.RLIMIT_AS: 4 * 2**30}
SECONDS = 120.0
_PIECE = 32 * 2**20
_PACK = {
    ".gz": lambda data: gzip.compress(data, 9, mtime=0),
    ".bz2": bz2.compress,
    ".xz": lambda data: lzma.compress(data, preset=1),
    ".zst": zstandard.compress,
}
_FILLED = {
    "zeros": bytes(_PIECE),
    "one line": b"x" * _PIECE,
    "lines": b"q101 Q0 d 1 1 t\n" * (_PIECE // 16),
    "empty lines": b"\n" * _PIECE,
    "json": b'{"a":' * (_PIECE // 5),
}
# Where a file may stand.
_LINES = (
    "evaluate --qrels c/qrels.txt {}",
    "evaluate --qrels {} c/runs",
    "evaluate --prefs {} --prefs-format luo c/runs",
    "evaluate --intent-qrels c/diversity.qrels.txt --intent-qrels {} -m P+Q@5 c/runs",
    "check --as runs {}",
    "compare {} --test t",
    "merge {} part2.csv -o merged.csv",
    "rbo {}",
    "pack {} -o p.parquet",
)
_DEVICES = ("/dev/zero", "/dev/urandom", "/dev/null", "/proc/self/mem", "/proc/self/fd")
_NAMES = (
    *("all", "#bm25", "runid", "amean"),
    *(
        "a\x1b[2Jb",
        "a\x07b",
        "a\x7fb",
        "a\u202eb",
        "=cmd|' /C calc'!A0",
        "-x",
        "--help",
    ),
    *(
        "%s%n",
        "a'b\"c",
        "$(reboot)",
        "`id`",
        ";ls",
        "[x]*?",
        "..",
        "~",
        "a\u2028b",
        "x" * 200,
    ),
    *(
        "a b",
        "nul",
        "\ufeffa",
        "a\x9bb",
        "é" * 100,
        "#a",
        "\\x1b",
        "{0}",
        "a\rb",
        "a\nb",
        "a\tb",
    ),
)


def attack(rng: np.random.Generator, folder: Path, kinds: Counter) -> str | None:
    """Give a verb something hostile."""
    kind = pick(rng, [*KINDS])
    kinds[kind] += 1
    place = workplace(folder)
    problem = KINDS[kind](rng, place)
    return problem and f"{problem} ({kind})"


@cache
def _piece(packing: str, content: str) -> bytes:
    return _PACK[packing](_FILLED[content])


def _refused(line: str, path: str, place: Path) -> str | None:
    """Run a line with a hostile file, which must be refused."""
    before = snapshot(place)
    args = [part.format(path) for part in line.split()]
    done = command(args, place, limits=LIMITS, seconds=SECONDS)
    problem = done.refused(2, 3) or changed(before, snapshot(place))
    problem = problem or _printable(done)
    return problem and f"{problem}; {line.format(os.path.basename(path))}"


def _printable(done: Done) -> str | None:
    return controls(done.out + done.err)


def _bomb(rng: np.random.Generator, place: Path) -> str | None:
    packing, content = pick(rng, [*_PACK]), pick(rng, [*_FILLED])
    pieces = int(pick(rng, (64, 256)))  # 2 GiB, 8 GiB
    path = place.parent / f"bomb{pick(rng, ('.txt', '.csv', '.jsonl'))}{packing}"
    with path.open("wb") as file:
        for _ in range(pieces):
            file.write(_piece(packing, content))
    problem = _refused(pick(rng, _LINES), str(path), place)
    return problem and f"{problem}, {content}, {pieces * _PIECE >> 30} GiB"


def _bomb_of_rows(rng: np.random.Generator, place: Path) -> str | None:
    """Write a Parquet file of few bytes and many equal rows."""
    path = place.parent / "rows.parquet"
    path.write_bytes(_equal_rows())
    return _refused(pick(rng, _LINES), str(path), place)


@cache
def _equal_rows() -> bytes:
    rows = 2**20
    names = ("run_id", "query_id", "doc_id", "other_doc_id", "intent_id", "measure")
    same = pa.array(["q101"] * rows).dictionary_encode()
    ones = pa.array(np.ones(rows))
    numbers = ("score", "relevance", "preference", "value")
    table = pa.table({name: same for name in names} | {name: ones for name in numbers})
    buffer = io.BytesIO()
    with pq.ParquetWriter(buffer, table.schema, compression="zstd") as writer:
        for _ in range(60):
            writer.write_table(table)
    return buffer.getvalue()


def _entities(rng: np.random.Generator, place: Path) -> str | None:
    """Name entities of entities of entities in XML."""
    lines = ['<!ENTITY e0 "xxxxxxxxxx">']
    for i in range(1, 30):
        lines.append(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">')
    inside = '<topic number="1"><subtopic number="1">&e29;</subtopic></topic>'
    path = place.parent / "topics.xml"
    path.write_text(f"<!DOCTYPE t [{''.join(lines)}]><t>{inside}</t>")
    return _refused(_LINES[3], str(path), place)


def _outside(rng: np.random.Generator, place: Path) -> str | None:
    """Name files of the machine as entities in XML."""
    path = place.parent / "topics.xml"
    entity = '<!ENTITY x SYSTEM "file:///etc/passwd">'
    inside = '<topic number="1"><subtopic number="1">&x;</subtopic></topic>'
    path.write_text(f"<!DOCTYPE t [{entity}]><t>{inside}</t>")
    return _refused(_LINES[3], str(path), place)


def _device(rng: np.random.Generator, place: Path) -> str | None:
    return _refused(pick(rng, _LINES), pick(rng, _DEVICES), place)


def _name_of_file(rng: np.random.Generator, place: Path) -> str | None:
    """Score a run by the name of its file."""
    name = pick(rng, _NAMES).replace("/", "|")
    path = place / "own" / f"{name}.run"
    path.parent.mkdir()
    path.write_text("q101 d-101-04 2\nq101 d-101-05 1\n")
    line = ["evaluate", "--qrels", "c/qrels.txt", "-q", "--", "own"]
    return _scored(rng, line, place, name, "run_id")


def _name_of_run(rng: np.random.Generator, place: Path) -> str | None:
    """Score a run, a query and documents by the names that a table gives them."""
    name = pick(rng, _NAMES)
    quoted = '"' + name.replace('"', '""') + '"'
    header = "run_id,query_id,doc_id,score\n"
    rows = f"{quoted},{quoted},{quoted},2\n{quoted},{quoted},d,1\n"
    (place / "own.csv").write_text(header + rows, newline="")
    grades = f"query_id,doc_id,relevance\n{quoted},{quoted},1\n{quoted},d,0\n"
    (place / "grades.csv").write_text(grades, newline="")
    line = ["evaluate", "--qrels", "grades.csv", "-q", "own.csv"]
    return _scored(rng, line, place, name, "run_id", "query_id")


def _scored(
    rng: np.random.Generator, line: list[str], place: Path, name: str, *columns: str
) -> str | None:
    """Score a hostile name: it is read back as it was, or refused in one line."""
    output = f"o{pick(rng, SCORE_SUFFIXES)}"
    line = [*line[:1], "-o", output, *line[1:]]
    before = snapshot(place)
    done = command(line, place, limits=LIMITS, seconds=SECONDS)
    if problem := _printable(done):
        return problem
    if done.code != 0:
        return done.refused() or changed(before, snapshot(place))

    def read_back() -> None:
        table = pgcjax.files.read_scores(output).table
        for column in columns:
            if {*table[column]} != {name}:
                raise ValueError(f"{output} calls it {[*table[column]][:3]}")

    last = forked(read_back, place).err.strip().split("\n")[-1]
    return last and f"{name!r} is not read back: {last}"


def _name_of_output(rng: np.random.Generator, place: Path) -> str | None:
    name = f"{pick(rng, _NAMES).replace('/', '|')}.csv"
    line = ["correlate", "scores.parquet", f"--output=./{name}"]
    before = snapshot(place)
    done = command(line, place, limits=LIMITS, seconds=SECONDS)
    after = snapshot(place)
    if problem := _printable(done):
        return problem
    if done.code != 0:
        return done.refused() or changed(before, after)
    return None if name in after else f"{name!r} was not written"


KINDS: dict[str, Callable[[np.random.Generator, Path], str | None]] = {
    "bomb": _bomb,
    "Parquet bomb": _bomb_of_rows,
    "XML bomb": _entities,
    "XML from outside": _outside,
    "device": _device,
    "name of a file": _name_of_file,
    "name in a table": _name_of_run,
    "name of an output": _name_of_output,
}
HOSTILE = Campaign(
    "hostile", "bombs, devices and names", 300, attack, limit=SECONDS + 60
)
