"""One job by several processes or parts, on any number of devices: the same bytes."""

import os
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import pgcjax
from pgcjax.cli import main
from pgcjax.datasets.files import demo_folder
from pgcjax.engine.distributed import start
from pgcjax.errors import UsageError

DEMO = demo_folder()
JUDGED = ("--prefs", DEMO / "preferences.csv", "--qrels", DEMO / "qrels.txt")


def call(folder: Path, *arguments, devices: int = 1) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "pgcjax", *map(str, arguments)],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": str(Path(pgcjax.__file__).parents[1]),
            "JAX_PLATFORMS": "cpu",
            "JAX_NUM_CPU_DEVICES": str(devices),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("localhost", 0))
        return found.getsockname()[1]


def begun(folder: Path, *arguments) -> list[subprocess.Popen]:
    """Start two processes of two devices each."""
    where = f"localhost:{free_port()}"
    return [
        call(folder, *arguments, "--distributed", f"{i}/2@{where}", devices=2)
        for i in (1, 2)
    ]


def together(folder: Path, *arguments) -> list[tuple[int, str, str]]:
    """Two processes of two devices each: exit code, stdout and stderr of each."""
    processes = begun(folder, *arguments)
    outputs = [process.communicate(timeout=300) for process in processes]
    return [(p.returncode, *o) for p, o in zip(processes, outputs, strict=True)]


@pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning")
def test_shares_of_evaluate_are_the_whole(tmp_path):
    """Processes in threads, more than there are runs; scores are verified, too."""
    judged = {"preferences": DEMO / "preferences.csv", "qrels": DEMO / "qrels.txt"}
    runs = sorted((DEMO / "runs").iterdir())[:2]
    alone = pgcjax.evaluate(runs, **judged)
    port = free_port()

    def one(i: int) -> pgcjax.Scores:
        with start(f"{i}/3@localhost:{port}") as processes:
            how = {
                "distributed": processes,
                "verify": 0.1,
                "journal": tmp_path / f"{i}",
            }
            return pgcjax.evaluate(runs, **judged, **how)

    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(one, (1, 2, 3)))
    for scores in found:
        assert scores.table.equals(alone.table) and scores.metadata == alone.metadata
        assert scores.notes[-1].endswith("scores recomputed: equal")
    # Each keeps all that it did, for others may fail after it.
    kept = [
        sorted(p.name for p in (tmp_path / f"{i}").glob("*.npz")) for i in (1, 2, 3)
    ]
    assert kept == [["0-1.npz"], ["0-1.npz"], []]


def test_processes_are_joined_first():
    with pytest.raises(UsageError) as error:
        pgcjax.evaluate(DEMO / "runs", distributed="1/2@localhost:8476")
    assert str(error.value) == (
        "distributed='1/2@localhost:8476': expected what "
        "pgcjax.engine.distributed.start('I/N@HOST:PORT') returns"
    )


@pytest.fixture
def here(tmp_path, monkeypatch, capsys):
    """Call the command in this process, which has one device; give what it prints."""
    monkeypatch.chdir(tmp_path)

    def called(*arguments) -> str:
        with pytest.raises(SystemExit) as done:
            main([*map(str, arguments)])
        out, err = capsys.readouterr()
        assert done.value.code == 0, err
        return out

    return called


@pytest.mark.slow
def test_devices_processes_and_parts_give_the_same_bytes(tmp_path, here):
    """One device, two in each of two processes, and parts by one and by eight."""
    job = ("evaluate", *JUDGED, DEMO / "runs", "-o")
    alone = here(*job, "one.parquet")
    (code, out, err), (other_code, other_out, _) = together(
        tmp_path, *job, "two.parquet", "--verify", "0.1"
    )
    assert (code, other_code, other_out) == (0, 0, ""), err
    assert out == alone
    assert "scores recomputed: equal" in err
    part = call(tmp_path, *job, "2.csv", "--part", "2/3", devices=8)
    part.communicate()
    assert part.returncode == 0
    for i in (1, 3):
        here(*job, f"{i}.csv", "--part", f"{i}/3")
    merged = here("merge", "2.csv", "1.csv", "3.csv", "-o", "merged.parquet")
    assert merged == alone
    names = ("one", "two", "merged")
    assert len({(tmp_path / f"{n}.parquet").read_bytes() for n in names}) == 1
    assert not list(tmp_path.glob("*.partial*"))


@pytest.mark.slow
def test_what_is_wrong_in_one_share_stops_all(tmp_path):
    (tmp_path / "a.run").write_text("1 Q0 a 1 2.0 a\n")
    (tmp_path / "b.run").write_text("1 Q0 a 1 2.0 b\n1 Q0 a x\n")
    done = together(tmp_path, "evaluate", *JUDGED, "a.run", "b.run", "-o", "out.csv")
    for code, out, err in done:
        assert (code, out) == (2, "")
        assert "pgcjax: error: b.run:2: expected 'query Q0 doc rank" in err
        assert "Traceback" not in err
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes to wait for here")
def test_a_process_that_dies_ends_the_others_and_resume_goes_on(tmp_path, here):
    """The second one waits for a pipe and is killed: the first one ends at once."""
    names = ("oak", "reed", "sage", "last")
    texts = [(DEMO / "runs" / f"{name}.txt").read_text() for name in names[:3]]
    texts.append(texts[0].replace("oak", "last"))
    for name, text in zip(names, texts, strict=True):
        (tmp_path / f"{name}.run").write_text(text)
    runs = [f"{name}.run" for name in names]
    job = ("evaluate", *JUDGED, *runs, "-o")
    alone = here(*job, "one.csv")
    (tmp_path / "last.run").unlink()
    os.mkfifo(tmp_path / "last.run")
    first, second = begun(tmp_path, *job, "two.csv")
    kept = tmp_path / "two.csv.partial.1-of-2"
    while not list(kept.glob("*.npz")) and first.poll() is None:
        time.sleep(0.05)  # then it has done its share, and waits
    second.kill()
    began = time.monotonic()
    out, err = first.communicate(timeout=60)
    assert time.monotonic() - began < 20  # far from the 100 s of JAX itself
    second.communicate()
    assert (first.returncode, out, err.splitlines()[-1]) == (
        2,
        "",
        "pgcjax: error: process 2 of 2 ended before the job was done. Start all of "
        "them again, with --resume (journal= in Python) to go on with what they kept",
    )
    assert "Traceback" not in err and not (tmp_path / "two.csv").exists()
    (tmp_path / "last.run").unlink()
    (tmp_path / "last.run").write_text(texts[-1])
    for name in ("oak", "sage"):  # were kept, and are not read again
        path, before = tmp_path / f"{name}.run", (tmp_path / f"{name}.run").stat()
        path.write_text("x" * before.st_size)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    done = together(tmp_path, *job, "two.csv", "--resume")
    assert [code for code, *_ in done] == [0, 0], done
    assert done[0][1] == alone
    assert (tmp_path / "two.csv").read_bytes() == (tmp_path / "one.csv").read_bytes()
    assert not list(tmp_path.glob("*.partial*"))
