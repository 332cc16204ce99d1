"""What is too large, or for what memory does not suffice, ends in one line."""

import errno
import gzip
import subprocess
import sys

import numpy as np
import pytest
from polars.exceptions import PanicException

from pgcjax.cli.commands import cli

OUT_OF_MEMORY = (
    "pgcjax: error: out of memory. Work on less at once (--memory SIZE, --part I/N, "
    "fewer files), or use a machine with more memory.\n"
)
TOO_LARGE = (
    "pgcjax: error: large.gz: has more than 64 MiB when decompressed, the limit of "
    "memory for a file. Allow more: pgcjax.files.reading(memory=SIZE), --memory SIZE "
    "on the command line.\n"
)
LONG = "expected lines of at most 64 MiB, found a longer one. Is this a text file?\n"


@pytest.fixture
def failing():
    """A verb that raises what it is told to."""
    told = []

    @cli.command("fail")
    def fail() -> None:
        raise told.pop()

    yield told
    del cli.commands["fail"]


def of_numpy() -> MemoryError:
    try:
        np.empty(2**56)
    except MemoryError as error:
        return error
    raise AssertionError


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        of_numpy(),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
        RuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 9 bytes."),  # of XLA
        RuntimeError("can't start new thread"),
    ],
)
def test_out_of_memory(pgcjax, failing, error):
    failing.append(error)
    assert pgcjax("fail") == (3, "", OUT_OF_MEMORY)


def test_panics_of_polars_and_defects(pgcjax, failing):
    failing.append(PanicException("no room\nfor it"))
    said = "pgcjax: error: polars failed to read a table: no room for it\n"
    assert pgcjax("fail") == (2, "", said)
    failing.append(RuntimeError("a defect"))
    with pytest.raises(RuntimeError, match="a defect"):
        pgcjax("fail")


@pytest.mark.parametrize(
    "line",
    [
        "evaluate run.txt --qrels large.gz",
        "evaluate run.txt --prefs large.gz --dry-run",
        "files check large.gz",
        "files pack large.gz -o new.parquet",
        "judgments agree --prefs large.gz",
        "judgments predict --qrels qrels.txt --context large.gz",
        "rankings rbo large.gz run.txt",
        "correlate large.gz qrels.txt",
        "compare large.gz",
        "files merge large.gz -o new.csv",
    ],
)
def test_a_file_that_memory_does_not_allow(pgcjax, here, line):
    (here / "large.gz").write_bytes(gzip.compress(b"q1 Q0 d1 1 2 run\n" * 2**16) * 61)
    assert pgcjax(*line.split(), "--memory", "64MiB") == (2, "", TOO_LARGE)


@pytest.mark.parametrize("memory", ["64MiB", "2GiB"])
def test_a_line_without_end(pgcjax, here, memory):
    """The file is read in pieces, or whole."""
    parts = [b"q1 Q0 a 1 3 t\n\nq1 Q0 a", *[b"a" * 2**24] * 5]
    (here / "long.txt").write_bytes(b"".join(map(gzip.compress, parts)))
    done = pgcjax("evaluate", "long.txt", "--qrels", "qrels.txt", "--memory", memory)
    assert done == (2, "", f"pgcjax: error: long.txt:3: {LONG}")


@pytest.mark.parametrize("name", ["/dev/zero", "/dev/null"])
def test_devices(pgcjax, name):
    said = f"pgcjax: error: {name}: is a device. Expected a file or a pipe.\n"
    for line in (f"{name} --qrels qrels.txt", f"run.txt --qrels {name}"):
        assert pgcjax("evaluate", *line.split()) == (2, "", said)


def test_text_of_another_encoding(pgcjax, here):
    line = ["evaluate", "run.txt", "--qrels", "qrels.txt", "-o", "scores.csv"]
    plain = pgcjax(*line)
    for name in ("run.txt", "qrels.txt"):
        text = (here / name).read_text().replace(" a ", " à ")
        (here / name).write_bytes(text.encode("latin-1"))
    assert ":1: expected UTF-8 text, found byte 0xe0. Name its" in pgcjax(*line).err
    done = pgcjax(*line, "--encoding", "latin-1")
    assert done.out.splitlines()[1:] == plain.out.splitlines()[1:]
    assert (done.code, done.err) == (0, plain.err)
    assert (
        "1 run, 2 queries"
        in pgcjax("files", "check", "run.txt", "--encoding", "cp1252").out
    )
    for name in ("latin-11", "hex", ""):
        said = (
            f"pgcjax: error: encoding {name!r}: expected the name of an encoding, such "
            "as latin-1 or cp1252\n"
        )
        assert pgcjax("files", "check", "run.txt", "--encoding", name) == (2, "", said)


def limited(size: int, *line: str) -> subprocess.CompletedProcess:
    pytest.importorskip("resource")
    code = (
        f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({size}, {size}))\n"
        f"from pgcjax.cli import main; main({list(line)})"
    )
    python = [sys.executable, "-c", code]
    return subprocess.run(python, capture_output=True, text=True)


def test_too_few_addresses():
    done = limited(2**30, "measures")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == (
        "pgcjax: error: out of memory: a limit (ulimit -v) leaves 1,024 MiB of "
        "addresses, and libraries need 1,280 MiB. Raise it.\n"
    )
    assert limited(2**30, "--help").returncode == 0


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="of addresses on Linux")
def test_few_addresses(here):
    line = ["evaluate", str(here / "run.txt"), "--qrels", str(here / "qrels.txt")]
    done = limited(2**31, *line)
    assert done.returncode == 0
    two = "PGC(graph=derived), Compat"
    assert done.stderr == f"pgcjax: {two}: 1 run, 2 judged queries\n"
