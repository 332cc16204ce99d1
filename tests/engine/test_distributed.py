"""One job by several processes or parts, on any number of devices: the same bytes."""

import os
import shutil
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from helpers.processes import Ended, Started, call, free_port, spoil

import pgcjax
from pgcjax.cli import main
from pgcjax.datasets.files import demo_folder
from pgcjax.engine.distributed import start
from pgcjax.errors import UsageError

DEMO = demo_folder()
JUDGED = ("--prefs", DEMO / "preferences.csv", "--qrels", DEMO / "qrels.txt")


COUNT = 4


def begun(folder: Path, *arguments) -> list[Started]:
    """Start four processes of two devices each."""
    where = f"localhost:{free_port()}"
    return [
        call(folder, *arguments, "--distributed", f"{i}/{COUNT}@{where}", devices=2)
        for i in range(1, COUNT + 1)
    ]


def together(folder: Path, *arguments) -> list[Ended]:
    """What four processes of two devices each printed, and their exit codes."""
    return [process.end() for process in begun(folder, *arguments)]


@pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning")
def test_shares_of_evaluate_are_the_whole(tmp_path):
    """Processes in threads, more than there are runs; scores are verified, too."""
    judged = {"preferences": DEMO / "preferences.csv", "qrels": DEMO / "qrels.txt"}
    runs = sorted((DEMO / "runs").iterdir())[:2]
    alone = pgcjax.evaluate(runs, **judged)
    port = free_port()

    def one(i: int) -> pgcjax.Scores:
        with start(f"{i}/3@localhost:{port}") as processes:
            job = pgcjax.Job(journal=tmp_path / f"{i}", processes=processes)
            return pgcjax.evaluate(runs, **judged, verify=0.1, job=job)

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
        pgcjax.evaluate(DEMO / "runs", job=pgcjax.Job(processes="1/2@localhost:8476"))
    assert str(error.value) == (
        "processes='1/2@localhost:8476': expected what "
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
def test_what_is_wrong_in_one_share_stops_all(tmp_path):
    (tmp_path / "a.run").write_text("1 Q0 a 1 2.0 a\n")
    (tmp_path / "b.run").write_text("1 Q0 a 1 2.0 b\n1 Q0 a x\n")
    done = together(tmp_path, "evaluate", *JUDGED, "a.run", "b.run", "-o", "out.csv")
    for code, out, err in done:
        assert (code, out) == (2, "")
        assert "pgcjax: error: b.run:2: expected 'query Q0 doc rank" in err
        assert "Traceback" not in err
    assert not (tmp_path / "out.csv").exists()


PIPES = pytest.mark.skipif(
    not hasattr(os, "mkfifo"), reason="no pipes to wait for here"
)


@pytest.mark.slow
@PIPES
def test_a_process_that_dies_ends_the_others_and_resume_goes_on(tmp_path, here):
    """The second one waits for a pipe and is killed: the others end at once.

    Four processes of two devices each give the bytes of one with one device.
    """
    names = ("oak", "last", "reed", "sage")
    texts = [
        (DEMO / "runs" / f"{name.replace('last', 'oak')}.txt").read_text()
        for name in names
    ]
    texts[1] = texts[1].replace("oak", "last")
    for name, text in zip(names, texts, strict=True):
        (tmp_path / f"{name}.run").write_text(text)
    runs = [f"{name}.run" for name in names]
    job = ("evaluate", *JUDGED, *runs, "-o")
    alone = here(*job, "one.csv")
    (tmp_path / "last.run").unlink()
    os.mkfifo(tmp_path / "last.run")
    first, second, *others = begun(tmp_path, *job, "four.csv")
    while len([*tmp_path.glob("four.csv.partial.?-of-4/*.npz")]) < 3:
        assert first.process.is_alive()
        time.sleep(0.05)  # then three have done their shares, and wait
    second.process.kill()
    began = time.monotonic()
    ended = [process.end(60) for process in (first, *others)]
    assert time.monotonic() - began < 20  # far from the 100 s of JAX itself
    said = (
        "pgcjax: error: process 2 of 4 ended before the job was done. Restart all "
        "of them, with --resume (journal= in Python) to continue from their "
        "finished work"
    )
    for code, out, err in ended:
        assert (code, out, err.splitlines()[-1]) == (2, "", said)
        assert "Traceback" not in err and err.count("error: ") == 1
    assert second.end().code == -signal.SIGKILL
    assert not (tmp_path / "four.csv").exists()
    (tmp_path / "last.run").unlink()
    (tmp_path / "last.run").write_text(texts[1])
    for name in ("oak", "reed", "sage"):  # were kept, and are not read again
        spoil(tmp_path / f"{name}.run")
    done = together(tmp_path, *job, "four.csv", "--resume")
    printed = [(0, text) for text in (alone, "", "", "")]
    assert [process[:2] for process in done] == printed, done
    assert (tmp_path / "four.csv").read_bytes() == (tmp_path / "one.csv").read_bytes()
    assert len([*tmp_path.glob("*.partial*")]) == 4  # the same call reads no run again


@pytest.mark.slow
@PIPES
def test_a_part_that_dies_goes_on(tmp_path, here):
    """Four parts, as of an array of jobs; one is killed while it waits for a pipe.

    Parts by one and by eight devices give the bytes of one job by one device.
    """
    shutil.copytree(DEMO / "runs", tmp_path / "runs")
    runs = sorted((tmp_path / "runs").iterdir())
    job = ("evaluate", *JUDGED, *runs, "--resume", "-o")
    alone = here(*job, "one.parquet")
    waits = runs[6]
    text = waits.read_bytes()
    waits.unlink()
    os.mkfifo(waits)
    parts = {
        i: call(
            *(tmp_path, *job, f"{i}.parquet", "--part", f"{i}/4"),
            devices=8 if i == 2 else 1,
            settings={"seconds": 0.0, "rows": 1},
        )
        for i in range(1, 5)
    }
    while not [*(tmp_path / "3.parquet.partial").glob("*.npz")]:
        assert parts[3].process.is_alive()
        time.sleep(0.05)
    parts[3].process.kill()
    codes = [parts[i].end().code for i in range(1, 5)]
    assert codes == [0, 0, -signal.SIGKILL, 0]
    assert not (tmp_path / "3.parquet").exists()
    waits.unlink()
    waits.write_bytes(text)
    spoil(runs[2])  # was kept, and is not read again
    here(*job, "3.parquet", "--part", "3/4")
    names = [f"{i}.parquet" for i in range(1, 5)]
    assert here("files", "merge", *names, "-o", "merged.parquet") == alone
    files = (tmp_path / f"{name}.parquet" for name in ("one", "merged"))
    assert len({file.read_bytes() for file in files}) == 1
