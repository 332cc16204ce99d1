"""One job by several processes or parts, on any number of devices: the same bytes."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import pgcjax
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


def together(folder: Path, *arguments) -> list[tuple[int, str, str]]:
    """Two processes of two devices each: exit code, stdout and stderr of each."""
    with socket.socket() as found:
        found.bind(("localhost", 0))
        port = found.getsockname()[1]
    processes = [
        call(
            folder,
            *arguments,
            *("--distributed", f"{i}/2@localhost:{port}"),
            devices=2,
        )
        for i in (1, 2)
    ]
    outputs = [process.communicate(timeout=300) for process in processes]
    return [(p.returncode, *o) for p, o in zip(processes, outputs, strict=True)]


@pytest.mark.slow
def test_devices_processes_and_parts_give_the_same_bytes(tmp_path):
    job = ("evaluate", *JUDGED, DEMO / "runs", "-o")
    alone = call(tmp_path, *job, "one.parquet").communicate()
    eight = call(tmp_path, *job, "eight.parquet", devices=8).communicate()
    assert alone[0] == eight[0]
    (code, out, err), (other_code, other_out, _) = together(
        tmp_path, *job, "two.parquet", "--verify", "0.1"
    )
    assert (code, other_code, other_out) == (0, 0, "")
    assert out == alone[0]
    assert "scores recomputed: equal" in err
    for i in (1, 2, 3):
        part = call(tmp_path, *job, f"{i}.csv", "--part", f"{i}/3", devices=i)
        part.communicate()
        assert part.returncode == 0
    merge = call(tmp_path, "merge", "2.csv", "1.csv", "3.csv", "-o", "merged.parquet")
    assert merge.communicate()[0] == alone[0]
    names = ("one", "eight", "two", "merged")
    assert len({(tmp_path / f"{n}.parquet").read_bytes() for n in names}) == 1
    assert not list(tmp_path.glob("*.partial*"))


@pytest.mark.slow
def test_more_processes_than_runs(tmp_path):
    (run,) = (path for path in (DEMO / "runs").iterdir() if path.stem == "reed")
    job = ("evaluate", *JUDGED, run, "-o")
    (code, out, err), other = together(tmp_path, *job, "two.csv")
    assert (code, *other[:2]) == (0, 0, ""), err
    assert call(tmp_path, *job, "one.csv").communicate()[0] == out
    outputs = [(tmp_path / f"{name}.csv").read_bytes() for name in ("one", "two")]
    assert outputs[0] == outputs[1]


@pytest.mark.slow
def test_what_is_wrong_in_one_share_stops_all(tmp_path):
    (tmp_path / "a.run").write_text("1 Q0 a 1 2.0 a\n")
    (tmp_path / "b.run").write_text("1 Q0 a 1 2.0 b\n1 Q0 a x\n")
    done = together(tmp_path, "evaluate", *JUDGED, "a.run", "b.run", "-o", "out.csv")
    for code, out, err in done:
        assert (code, out) == (2, "")
        assert "pgcjax: error: b.run:2: expected 'query Q0 doc rank" in err
        assert "Traceback" not in err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.run", "b.run"]


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("2", "expected auto, or I/N@HOST:PORT such as 1/4@node0:8476"),
        ("1/2@host", "expected auto, or I/N@HOST:PORT such as 1/4@node0:8476"),
        ("3/2@host:1", "expected 1 <= I <= N"),
    ],
)
def test_mistakes(how, said):
    with pytest.raises(UsageError) as error:
        start(how)
    assert str(error.value) == f"--distributed {how}: {said}"
