"""Files elsewhere: the same numbers and bytes as here, and errors in one line."""

import importlib
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

import pgcjax as package
from pgcjax.datasets.files import demo_folder
from pgcjax.engine.plan import using
from pgcjax.io.bytes import text_pieces
from pgcjax.io.remote import arrow_file, find
from pgcjax.io.write import written_beside

fsspec = pytest.importorskip("fsspec")
MemoryFile = importlib.import_module("fsspec.implementations.memory").MemoryFile
pytestmark = pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning")
CHECK = "Check the address, the network and your credentials."
FILES = [p for p in sorted(demo_folder().rglob("*")) if p.is_file()]


@pytest.fixture
def credentials(monkeypatch):
    """No settings but those of the tests."""
    for key in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "DEFAULT_REGION"):
        monkeypatch.setenv(f"AWS_{key}", "us-east-1")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")  # each takes a while
    monkeypatch.setenv("NO_PROXY", "*")


@pytest.fixture
def s3(credentials, monkeypatch):
    """A server that speaks as S3 does, with an empty bucket `data`."""
    server = pytest.importorskip("moto.server", reason="no moto: a server of S3")
    s3fs = pytest.importorskip("s3fs")
    running = server.ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    running.start()
    host, port = running.get_host_and_port()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    monkeypatch.setattr(s3fs.S3FileSystem, "retries", 1)
    s3fs.S3FileSystem.clear_instance_cache()
    fs = s3fs.S3FileSystem()
    if fs.exists("data"):  # all servers of a process have the same buckets
        fs.rm("data", recursive=True)
    fs.mkdir("data")
    yield running
    running.stop()
    s3fs.S3FileSystem.clear_instance_cache()


@pytest.fixture
def memory():
    """The files in memory that fsspec has: the demo collection at first."""
    found = fsspec.filesystem("memory")
    laid_out(found)
    yield found
    found.store.clear()


def laid_out(fs) -> None:
    """Put the demo collection into a store, as `data`."""
    for path in FILES:
        fs.pipe(f"data/{path.relative_to(demo_folder())}", path.read_bytes())


def judged(where: str) -> list[str]:
    return ["--prefs", f"{where}/preferences.csv", "--qrels", f"{where}/qrels.txt"]


def test_a_store_gives_the_same_bytes_as_a_disk(pgcjax, demo, memory):
    fs, at = memory, "memory://data"
    job = ["evaluate", "--prefs", "preferences.csv", "--qrels", "qrels.txt"]
    here = pgcjax(*job, "runs", "-o", "whole.parquet")
    assert here.code == 0
    whole = (demo / "whole.parquet").read_bytes()
    # Of a folder, what is no run is left out, and said.
    fs.pipe({"data/runs/README.md": b"# Runs\n", "data/runs/x.txt": b"q1 0 a 1\n"})
    job = ["evaluate", *judged(at)]
    there = pgcjax(*job, f"{at}/runs/", "-o", f"{at}/whole.parquet")
    assert (there.code, there.out) == (0, here.out)
    assert "2 files are left out (no run): " in there.err
    assert there.err.endswith(f"pgcjax: wrote 320 scores to {at}/whole.parquet\n")
    assert fs.cat("data/whole.parquet") == whole
    # A pattern, packed; of that, parts; these put together by another pattern.
    runs = f"{at}/runs/[a-s]*.txt"
    assert (
        pgcjax("files", "pack", *judged(at), runs, "-o", f"{at}/packed.parquet").code
        == 0
    )
    for i in (1, 2):
        part = [runs, "--part", f"{i}/2", "-o", f"{at}/parts/{i}-of-2.parquet"]
        assert pgcjax(*job, *part, "--quiet").code == 0
    for last in (
        ["files", "merge", f"{at}/parts/?-of-2.parquet"],
        [*job, f"{at}/packed.parquet"],
        [*job, *(f"{at}/runs/{p.name}" for p in FILES if p.parent.name == "runs")],
    ):
        done = pgcjax(*last, "-o", f"{at}/again.parquet")
        assert (done.code, done.out) == (0, here.out), done.err
        assert fs.cat("data/again.parquet") == whole
        fs.rm("data/again.parquet")
    # Scores are read from there, too, and findings written.
    done = pgcjax("correlate", f"{at}/whole.parquet", "-o", f"{at}/c.csv")
    assert pgcjax("correlate", "whole.parquet", "-o", "c.csv").out == done.out
    assert fs.cat("data/c.csv") == (demo / "c.csv").read_bytes()
    expected = package.files.read_scores("whole.parquet")
    for name in ("whole.parquet", "parts/"):  # of the folder, one measure at a time
        scores = package.files.read_scores(f"{at}/{name}")
        assert scores.matrix("PGC").equals(expected.matrix("PGC"))
    assert scores.table.equals(expected.table)
    scores = package.files.read_scores(f"{at}/parts/")
    fs.pipe("data/parts/2-of-2.parquet", whole)
    with pytest.raises(package.errors.DataError) as error:
        scores.mean()
    said = "memory:///data/parts/2-of-2.parquet: changed while it was read"
    assert str(error.value) == said
    for change, said in (
        ({"x.csv": b"a"}, "x.csv: is no part of a job in a folder of such parts. Move "
         "it away."),
        ({"x.csv": None, "2-of-2.parquet": None}, None),
        ({"1-of-2.parquet": whole[:99] + b"?" + whole[100:]}, "1-of-2.parquet: is "
         "damaged: its checksum does not fit. Make or copy it again; if it was changed "
         "on purpose, leave 'pgcjax' out of its metadata."),
    ):  # fmt: skip
        for name, data in change.items():
            to = f"data/parts/{name}"
            fs.rm(to) if data is None else fs.pipe(to, data)
        with pytest.raises(package.errors.DataError) as error:
            package.files.read_scores(f"{at}/parts/")
        said = f"memory:///data/parts/{said}" if said else "parts are missing: 2/2. "
        assert str(error.value) == said + ("" if "/data" in said else "Add them.")
    named = package.files.read_runs(f"{at}/runs/oak.txt", name_by="filename").table
    assert named["run_id"].unique().tolist() == ["oak.txt"]
    assert not list(demo.glob("*.partial*"))


def test_what_is_kept_of_a_job_is_of_the_files_as_they_were(pgcjax, demo, memory):
    """A job that ends by a damaged run goes on with what is kept in this folder."""
    memory.pipe("/data/runs/zebra.run", b"q101 Q0 a x\n")
    line = ["evaluate", *judged("memory://data"), "memory://data/runs"]
    line += ["-o", "memory://data/o.parquet"]
    with using(seconds=0.0, rows=1):
        stopped = pgcjax(*line)
        assert stopped.code == 2 and "memory:///data/runs/zebra.run:1:" in stopped.err
        assert list((demo / "o.parquet.partial").glob("*.npz"))
        memory.rm("/data/runs/zebra.run")
        oak, alder = (memory.store[f"/data/runs/{n}.txt"] for n in ("oak", "alder"))
        text, changed = alder.getvalue(), oak.created
        memory.pipe("/data/runs/alder.txt", b"x" * len(text))
        memory.store["/data/runs/alder.txt"].created = alder.created
        done = pgcjax(*line, "--resume")  # of a kept run, nothing is read
        assert done.code == 0, done.err
        assert pgcjax(*line, "--resume").out == done.out
        expected = pgcjax("evaluate", *judged("."), "runs", "-o", "o.parquet")
        assert done.out == expected.out
        assert memory.cat("/data/o.parquet") == (demo / "o.parquet").read_bytes()
        memory.pipe("/data/runs/zebra.run", b"q101 Q0 a x\n")
        memory.pipe("/data/runs/alder.txt", text)
        assert pgcjax(*line).code == 2
        memory.rm("/data/runs/zebra.run")
        memory.pipe("/data/runs/oak.txt", oak.getvalue() + b"q101 Q0 a x\n")
        assert memory.store["/data/runs/oak.txt"].created > changed
        again = pgcjax(*line, "--resume")
        assert again.code == 2 and "memory:///data/runs/oak.txt:" in again.err


def test_mistakes(pgcjax, demo, memory, monkeypatch):
    """In one line, before any work; nothing is written."""
    before = set(memory.store)
    at, missing = "memory://data", "pip install s3fs, gcsfs or aiohttp for s3://, "
    missing += "gs:// or https://."
    elsewhere = (
        "is remote, but folders are written only on this machine: name a local one"
    )
    job = ["evaluate", *judged(at)]
    for line, said in (
        ([f"{at}/none.txt"], f"{at}/none.txt: no such file or folder. Check the path."),
        ([f"{at}/no*.txt"], f"{at}/no*.txt: no file matches. Check the path."),
        (["zz://a"], f"zz://a: cannot be reached: Protocol not known: zz. {CHECK}"),
        (["oci://a"], "oci://a: a library is missing: Install ocifs to access OCI "
         f"Object Storage. {missing}"),
        ([f"{at}/runs", "-o", f"{at}/a.txt"], f"{at}/a.txt: the suffix of an output "
         "file is one of .trec, .tsv, .csv, .jsonl, .parquet"),
        ([f"{at}/runs", "-o", "https://a/b.csv"], "https://a/b.csv: web "
         "addresses can only be read; name a file in a store, such as "
         "s3://bucket/scores.csv"),
        ([f"{at}/runs", "-o", f"{at}/scores/"], f"{at}/scores/: {elsewhere}"),
        ([f"{at}/runs", "-o", f"{at}/runs", "--score-format", "tot"],
         f"{at}/runs: is a folder; name a file"),
        (["memory:///data/runs", "-o", f"{at}/runs/oak.txt", "--score-format", "tot"],
         f"{at}/runs/oak.txt: would overwrite memory:///data/runs/oak.txt, which this "
         "call reads; name another file"),
    ):  # fmt: skip
        assert pgcjax(*job, *line) == (2, "", f"pgcjax: error: {said}\n"), line
    line = (f"{at}/runs", "-o", f"{at}/a.csv", "--pairs-output", "memory:///data/a.csv")
    said = f"{at}/a.csv and memory:///data/a.csv are one file: name two"
    done = pgcjax("uncertainty", *job[1:], *line)
    assert done == (2, "", f"pgcjax: error: {said}\n")
    for *verb, name in (
        ("files", "simulate", "n"),
        ("report", "s.csv", "n.md"),
        ("ask", "start", "qrels.txt", "n"),
    ):
        line = [*verb, "-o", f"{at}/{name}"]
        assert pgcjax(*line) == (2, "", f"pgcjax: error: {line[-1]}: {elsewhere}\n")
    for call in (
        lambda to: package.evaluate(
            "runs", qrels="qrels.txt", job=package.Job(journal=to)
        ),
        lambda to: package.ask.Tournament.start(to, "qrels.txt"),
        package.ask.Tournament,
    ):
        with pytest.raises(package.errors.UsageError) as error:
            call(f"{at}/work")
        assert str(error.value) == f"{at}/work: {elsewhere}"
    with pytest.raises(package.errors.DataError) as error:
        package.files.read_runs([f"{at}/runs/oak.txt", "memory:///data/runs/oak.txt"])
    said = "memory:///data/runs/oak.txt: is named twice. Name it once."
    assert str(error.value) == said
    assert set(memory.store) == before
    monkeypatch.setitem(sys.modules, "fsspec", None)
    said = f"{at}/runs: a remote file needs fsspec, which is not installed. "
    said += f"pip install 'pgcjax[remote]', and {missing.removeprefix('pip install ')}"
    assert pgcjax("files", "check", f"{at}/runs") == (2, "", f"pgcjax: error: {said}\n")


def test_s3(pgcjax, demo, s3):
    """Packed runs, whose parts are asked for, give the same bytes."""
    fs, at, job = fsspec.filesystem("s3"), "s3://data", ["evaluate", "-m", "PGC"]
    laid_out(fs)
    assert pgcjax(*job, *judged("."), "runs", "-o", "whole.parquet").code == 0
    runs = f"{at}/runs/*.txt"
    assert (
        pgcjax("files", "pack", *judged(at), runs, "-o", f"{at}/packed.parquet").code
        == 0
    )
    line = [*job, *judged(at), f"{at}/packed.parquet", "-o", f"{at}/again.parquet"]
    assert pgcjax(*line).code == 0
    assert fs.cat("data/again.parquet") == (demo / "whole.parquet").read_bytes()
    scores = package.files.read_scores(f"{at}/again.parquet")
    assert scores.table.equals(package.files.read_scores("whole.parquet").table)


def test_a_store_that_refuses(pgcjax, demo, s3, monkeypatch):
    """No bucket, no credentials, nobody there; what was there is as it was."""
    fs = fsspec.filesystem("s3")
    fs.pipe("data/scores.csv", b"old")
    job = ["evaluate", "--prefs", "preferences.csv", "-m", "PGC"]
    no_bucket = "The specified bucket does not exist"
    no_keys = "Unable to locate credentials"
    for line, said in (
        (["s3://none/a"], f"s3://none/a: cannot read it: {no_bucket}. {CHECK}"),
        (["s3://data/a"], "s3://data/a: no such file or folder. Check the path."),
        (["runs", "-o", "s3://none/a.csv"],
         f"s3://none/a.csv: cannot write there: {no_bucket}. {CHECK}"),
    ):  # fmt: skip
        assert pgcjax(*job, *line) == (2, "", f"pgcjax: error: {said}\n"), line
    with pytest.raises(ZeroDivisionError), written_beside("s3://data/scores.csv") as to:
        to.write_text("new")
        raise ZeroDivisionError
    assert fs.cat("data/scores.csv") == b"old" and not to.parent.exists()
    with pytest.raises(package.errors.DataError) as error:
        with written_beside("s3://data/scores.csv") as to:
            to.write_text("new")
            fs.rm("data", recursive=True)
    assert str(error.value) == (
        f"s3://data/scores.csv: cannot write there: {no_bucket}. {CHECK}"
    )
    assert not to.parent.exists()
    for key in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY"):
        monkeypatch.delenv(f"AWS_{key}")
    fs.clear_instance_cache()
    for line, said in (
        (["s3://data/a"], f"s3://data/a: cannot read it: {no_keys}. {CHECK}"),
        (["runs", "-o", "s3://data/a.csv"],
         f"s3://data/a.csv: cannot write there: {no_keys}. {CHECK}"),
    ):  # fmt: skip
        assert pgcjax(*job, *line) == (2, "", f"pgcjax: error: {said}\n"), line
    s3.stop()
    for key in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY"):
        monkeypatch.setenv(f"AWS_{key}", "again")
    fs.clear_instance_cache()
    done = pgcjax(*job, "s3://data/a")
    assert (done.code, done.out) == (2, "")
    start = "pgcjax: error: s3://data/a: cannot read it: Could not connect to the endp"
    assert done.err.startswith(start) and done.err.endswith(f". {CHECK}\n")
    assert done.err.count("\n") == 1


class Quiet(SimpleHTTPRequestHandler):
    """A server of files that knows of no parts of them."""

    def end_headers(self):
        self.send_header("Accept-Ranges", "none")
        super().end_headers()

    def log_message(self, *args):
        pass


def test_the_web_is_read(pgcjax, demo, credentials):
    pytest.importorskip("aiohttp", reason="no aiohttp, with which fsspec reads the web")
    job = ["evaluate", *judged("."), "-m", "PGC"]
    whole = pgcjax(*job, "runs")
    assert pgcjax("files", "pack", "runs", "-o", "packed.parquet").code == 0
    answer = partial(Quiet, directory=str(demo))
    with ThreadingHTTPServer(("127.0.0.1", 0), answer) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        at = f"http://127.0.0.1:{server.server_port}"
        job = ["evaluate", *judged(at), "-m", "PGC"]
        runs = [f"{at}/runs/{p.name}" for p in FILES if p.parent.name == "runs"]
        assert pgcjax(*job, *runs)[:2] == whole[:2]
        (run, *_), is_folder = find(f"{at}/runs/oak.txt?v=2")
        assert (run.name, is_folder) == ("oak.txt", False)
        assert run.size == (demo / "runs/oak.txt").stat().st_size
        done = pgcjax(*job, f"{at}/none.txt")
        said = f"{at}/none.txt: no such file or folder. Check the path."
        assert done == (2, "", f"pgcjax: error: {said}\n")
        # Of packed runs, parts are asked for, and this server gives none.
        done = pgcjax(*job, f"{at}/packed.parquet")
        said = f"{at}/packed.parquet: cannot read it: Cannot seek streaming HTTP file"
        assert done == (2, "", f"pgcjax: error: {said}. {CHECK}\n")
        server.shutdown()


def test_bytes_come_as_they_are_asked_for(memory, monkeypatch):
    text = b"".join(b"q%d Q0 d%d 1 %d run\n" % (i, i, i) for i in range(20_000))
    memory.pipe("/data/a.run", text)
    (file,), is_folder = find("memory://data/a.run")
    assert (file.size, file.suffix, is_folder) == (len(text), ".run", False)
    pieces = [*text_pieces(file, 10_000)]
    assert len(pieces) > 20 and b"".join(piece for piece, _ in pieces) == text
    assert pieces[-1][1] == len(text)
    read = []
    kept = MemoryFile.read
    monkeypatch.setattr(
        MemoryFile, "read", lambda *a: read.append(kept(*a)) or read[-1]
    )
    with file.open() as opened:  # the head of a file in a folder
        assert opened.read(9) == text[:9]
    assert len(b"".join(read)) == 2**16
    read.clear()
    with arrow_file(file) as opened:  # the end of packed runs, where their metadata are
        opened.seek(-9, 2)
        assert opened.read(9) == text[-9:] and opened.tell() == len(text)
    assert len(b"".join(read)) == 9
