"""Jobs in chunks: the same scores however they are cut, stopped and gone on with."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import pgcjax
from pgcjax.cli import main
from pgcjax.datasets.files import demo_folder
from pgcjax.engine import plan
from pgcjax.errors import DataError, UsageError
from pgcjax.io import checkpoint
from pgcjax.io.reading import machine_memory, memory_limit
from pgcjax.io.runs import ahead

pytestmark = pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning")
DEMO = demo_folder()
JUDGED = {"preferences": DEMO / "preferences.csv", "qrels": DEMO / "qrels.txt"}


@pytest.fixture
def small_chunks(caplog):
    """Chunks of one table each; the log has a record for each that is scored."""
    with (
        plan.using(seconds=0.0, rows=0),
        caplog.at_level("DEBUG", logger="pgcjax.engine.job"),
    ):
        yield caplog


@pytest.fixture
def runs(tmp_path):
    """Copies of the demo's runs, which tests may spoil."""
    folder = tmp_path / "runs"
    folder.mkdir()
    for path in (DEMO / "runs").iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    return folder


def test_any_cut_gives_the_same_scores():
    whole = pgcjax.evaluate(DEMO / "runs", **JUDGED)
    for most in (0, 30_000, 60_000):
        with plan.using(rows=0, chunk=most):
            assert pgcjax.evaluate(DEMO / "runs", **JUDGED).table.equals(whole.table)


def stopped_after(count, seen):
    """Progress that stops the job at its n-th table."""

    def progress(stage, done, total):
        if stage == "reading" and len(seen.records) >= count:
            raise KeyboardInterrupt

    return progress


def test_a_stopped_job_goes_on_where_it_was(runs, tmp_path, small_chunks):
    folder = tmp_path / "kept"
    whole = pgcjax.evaluate(runs, **JUDGED)
    assert (
        len(small_chunks.records) == 1 and not folder.exists()
    )  # nothing asks for chunks
    small_chunks.clear()
    with pytest.raises(KeyboardInterrupt):
        stop = stopped_after(5, small_chunks)
        pgcjax.evaluate(runs, **JUDGED, job=pgcjax.Job(journal=folder, progress=stop))
    done = len(small_chunks.records)
    small_chunks.clear()
    again = pgcjax.evaluate(runs, **JUDGED, job=pgcjax.Job(journal=folder))
    assert again.table.equals(whole.table) and again.notes == whole.notes
    assert 8 - done <= len(small_chunks.records) < 8
    small_chunks.clear()
    assert pgcjax.evaluate(runs, **JUDGED, job=pgcjax.Job(journal=folder)).table.equals(
        whole.table
    )
    assert not small_chunks.records  # a finished job reads no run again
    assert checkpoint.remove(folder) and not folder.exists()


def test_a_finished_job_reads_no_run_again(runs, tmp_path, monkeypatch):
    folder = tmp_path / "kept"
    whole = pgcjax.evaluate(runs, **JUDGED, job=pgcjax.Job(journal=folder))
    monkeypatch.setattr("pgcjax.io.runs.files.FileRuns.read", lambda *_: 1 / 0)
    again = pgcjax.evaluate(runs, **JUDGED, job=pgcjax.Job(journal=folder))
    assert again.table.equals(whole.table) and again.notes == whole.notes


def test_what_was_read_for_some_seconds_is_kept(runs, tmp_path, monkeypatch):
    """Also if no chunk is full by then: reading takes longer than computing."""
    clock = iter(range(0, 1000, 3))
    monkeypatch.setattr("pgcjax.engine.job.time.monotonic", lambda: next(clock))

    def stop(stage, done, total):
        if stage == "reading" and done == 6:
            raise KeyboardInterrupt

    with plan.using(rows=0), pytest.raises(KeyboardInterrupt):
        pgcjax.evaluate(
            runs, **JUDGED, job=pgcjax.Job(journal=tmp_path / "kept", progress=stop)
        )
    assert sorted(path.name for path in (tmp_path / "kept").glob("*.npz")) == [
        "0-2.npz",
        "2-4.npz",
    ]


def test_a_job_of_files_read_together_goes_on_where_it_was(
    runs, tmp_path, small_chunks, monkeypatch
):
    """Other files share a table when it goes on: no score depends on it."""
    whole = pgcjax.evaluate(runs, **JUDGED)
    sizes = [path.stat().st_size for path in runs.iterdir()]
    monkeypatch.setattr(ahead, "_THREADS", 1)
    monkeypatch.setattr(ahead, "_LEAST", 3 * max(sizes))
    monkeypatch.setattr(ahead, "_MOST", 0)
    small_chunks.clear()
    with plan.using(rows=1):
        with pytest.raises(KeyboardInterrupt):
            stop = stopped_after(1, small_chunks)
            pgcjax.evaluate(
                runs, **JUDGED, job=pgcjax.Job(journal=tmp_path / "kept", progress=stop)
            )
        kept = sorted(path.stem for path in (tmp_path / "kept").glob("*.npz"))
        assert kept and all(name not in kept for name in ("0-1", "0-8"))
        monkeypatch.setattr(ahead, "_LEAST", 2 * max(sizes))
        again = pgcjax.evaluate(
            runs, **JUDGED, job=pgcjax.Job(journal=tmp_path / "kept")
        )
    assert again.table.equals(whole.table) and again.notes == whole.notes


def test_what_has_changed_is_computed_again(runs, tmp_path, small_chunks):
    folder = tmp_path / "kept"
    pgcjax.evaluate(runs, **JUDGED, job=pgcjax.Job(journal=folder))
    small_chunks.clear()
    names = sorted(runs.iterdir())
    lines = names[4].read_text().splitlines(keepends=True)
    names[4].write_text("".join(lines[1:]))
    whole = pgcjax.evaluate(runs, **JUDGED)
    small_chunks.clear()
    again = pgcjax.evaluate(runs, **JUDGED, job=pgcjax.Job(journal=folder))
    assert again.table.equals(whole.table)
    assert len(small_chunks.records) == 4  # it and all after it
    (folder / "2-3.npz").write_bytes(b"cut off")
    small_chunks.clear()
    assert pgcjax.evaluate(runs, **JUDGED, job=pgcjax.Job(journal=folder)).table.equals(
        whole.table
    )
    assert len(small_chunks.records) == 6


def test_the_work_of_another_job_is_refused(runs, tmp_path, small_chunks):
    folder = tmp_path / "kept"
    pgcjax.evaluate(runs, **JUDGED, job=pgcjax.Job(journal=folder))
    for other, what in (
        ({"order": "clarke"}, "order"),
        ({"measures": "PGC"}, "measures"),
        ({"qrels": {"1": {"a": 1}}}, "judgments"),
    ):
        with pytest.raises(DataError) as error:
            pgcjax.evaluate(runs, **{**JUDGED, **other}, job=pgcjax.Job(journal=folder))
        assert str(error.value) == (
            f"{folder}: holds finished work of another job: it differs in {what}. "
            "Remove "
            "the folder, or name another journal; on the command line, start without "
            "--resume."
        )


def test_work_cannot_be_kept_in_a_file(runs, tmp_path, small_chunks):
    (tmp_path / "kept").write_text("")
    with pytest.raises(DataError, match="kept: finished work cannot be stored there: "):
        pgcjax.evaluate(runs, **JUDGED, job=pgcjax.Job(journal=tmp_path / "kept"))


CHILD = """
import logging, sys, time
from pgcjax.cli import main
from pgcjax.engine import plan
class Slow(logging.Handler):
    def emit(self, record):
        print("chunk", file=sys.stderr, flush=True)
        time.sleep(0.2)
log = logging.getLogger("pgcjax.engine.job")
log.setLevel("DEBUG")
log.addHandler(Slow())
with plan.using(seconds=0.0, rows=0):
    main(sys.argv[1:])
"""


@pytest.mark.slow
def test_killed_at_any_moment(runs, tmp_path, small_chunks, monkeypatch):
    """The output is the same bytes as without, and nothing else is left."""
    monkeypatch.chdir(tmp_path)
    judged = ["--prefs", str(JUDGED["preferences"]), "--qrels", str(JUDGED["qrels"])]
    path = str(Path(pgcjax.__file__).parents[1])
    compiled = {
        k: v for k, v in os.environ.items() if k.startswith(("JAX_", "PGCJAX_"))
    }

    def start(output):
        return subprocess.Popen(
            [sys.executable, "-c", CHILD, "evaluate", *judged, "runs", "-o", output],
            cwd=tmp_path,
            env={"PYTHONPATH": path, "PATH": "", "HOME": str(tmp_path), **compiled},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def chunks(output, *options) -> int:
        """Do all of a job, in this process; say in how many chunks."""
        small_chunks.clear()
        with pytest.raises(SystemExit) as done:
            main(["evaluate", *judged, "runs", "-o", output, *options])
        assert not done.value.code
        return len(small_chunks.records)

    assert chunks("whole.csv") == 8
    for kind in (signal.SIGKILL, signal.SIGINT):
        out, kept = tmp_path / "out.csv", tmp_path / "out.csv.partial"
        first = start("out.csv")
        deadline = time.monotonic() + 60
        while len(list(kept.glob("*-*.npz"))) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        first.send_signal(kind)
        said = first.communicate()[1]
        if kind == signal.SIGINT:
            assert first.returncode == 130
            assert [line for line in said.splitlines() if line][-2:] == [
                "pgcjax: finished work is in out.csv.partial: --resume continues it",
                "pgcjax: error: stopped",
            ]
        assert not out.exists() and kept.exists()
        assert chunks("out.csv", "--resume") <= 6
        assert out.read_bytes() == (tmp_path / "whole.csv").read_bytes()
        again = out.read_bytes()
        assert chunks("out.csv", "--resume") == 0 and out.read_bytes() == again
        out.unlink()
        checkpoint.remove(kept)
        left = {path.name for path in tmp_path.iterdir() if path.name[0] != "."}
        assert left == {"runs", "whole.csv"}


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("2GB", 2 * 10**9),
        ("500 MiB", 500 * 2**20),
        ("1.5gib", 3 * 2**29),
        ("100000000", 10**8),
        (10**8, 10**8),
        ("1T", 10**12),
    ],
)
def test_sizes(text, size):
    assert memory_limit(text) == size


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("lots", "memory 'lots': expected a size such as 2GB or 500MB"),
        ("-1GB", "memory '-1GB': expected a size such as 2GB or 500MB"),
        ("1MB", "memory '1MB': at least 64MiB are needed"),
    ],
)
def test_sizes_that_are_none(text, said):
    with pytest.raises(UsageError) as error:
        memory_limit(text)
    assert str(error.value) == said


def test_by_default_a_part_of_the_machine():
    most = machine_memory()
    assert 2**28 < most < 2**50
    assert memory_limit(None) <= most // 4
    assert plan.MemoryLimits(memory_limit("8GB")).found == 10**9
