"""The package and its commands without what Windows lacks, on a system that has it."""

import os
import subprocess
import sys

import pytest

from pgcjax.asking import program
from pgcjax.datasets.files import demo_folder

SCRIPT = """
import importlib, os, pkgutil, shutil, signal, sys
from pathlib import Path

MODULES = "crypt curses fcntl grp posix pty pwd readline resource syslog termios tty"
OS = "fork forkpty geteuid getegid getuid getgid getpgid getloadavg kill killpg lchown"
OS += " chown mkfifo pread preadv pwrite sched_getaffinity setsid statvfs sysconf uname"
SIGNAL = "SIGALRM SIGHUP SIGKILL SIGPIPE SIGUSR1 SIGUSR2 alarm pthread_kill setitimer"


def import_all():
    import pgcjax

    names = (m.name for m in pkgutil.walk_packages(pgcjax.__path__, "pgcjax."))
    modules = [name for name in names if not name.endswith("__main__")]
    return [importlib.import_module(name) for name in modules]


def is_open(path):
    # What is open or mapped, which Windows neither removes nor replaces.
    if not os.path.isdir("/proc/self/fd"):
        return False
    path = os.path.realpath(path)
    links = ("/proc/self/fd/" + fd for fd in os.listdir("/proc/self/fd"))
    files = [os.readlink(link) for link in links if os.path.lexists(link)]
    return path in files or f" {path}\\n" in Path("/proc/self/maps").read_text()


def refused(function, paths):
    def called(*arguments, **options):
        for path in arguments[:paths]:
            if is_open(path):
                raise PermissionError(13, f"used by another process: {path}")
        return function(*arguments, **options)

    return called


def open_binary(path, flags, *arguments, real=os.open, **options):
    if sys._getframe(1).f_globals["__name__"].startswith("pgcjax"):
        if os.path.isdir(path):
            raise PermissionError(13, "a folder")
        assert flags & os.O_BINARY, f"{path} is opened as text"
    return real(path, flags & ~getattr(os, "O_BINARY", 0), *arguments, **options)


count = len(import_all())  # and with it libraries, which know both systems
for name in [name for name in sys.modules if name.partition(".")[0] == "pgcjax"]:
    del sys.modules[name]
sys.modules.update(dict.fromkeys(MODULES.split()))
for module, names in ((os, OS), (signal, SIGNAL)):
    for name in names.split():
        vars(module).pop(name, None)
shutil._use_fd_functions = False
os.O_BINARY = 1 << 40
os.open = open_binary
os.remove = os.unlink = refused(os.unlink, 1)
os.replace, os.rename = refused(os.replace, 2), refused(os.rename, 2)
assert len(import_all()) == count > 200
from pgcjax.cli import main

for line in Path(sys.argv[1]).read_text(encoding="utf-8").splitlines():
    try:
        main(line.split("\\t"))
    except SystemExit as end:
        assert not end.code, line
"""

JUDGE = """
import json, sys

for line in sys.stdin:
    asked = json.loads(line)
    winner = max(asked["doc_id"], asked["other_doc_id"])
    print(json.dumps({"id": asked["id"], "winner": winner}), flush=True)
"""


@pytest.mark.slow
def test_every_module_and_commands_run_without_what_windows_lacks(tmp_path):
    python = f'"{sys.executable}"'
    of_collection = ["--prefs", str(demo_folder() / "preferences.csv"), "-m", "PGC"]
    runs = str(demo_folder() / "runs")
    lines = [
        ["demo", "-o", "demo.csv"],
        *(
            ["evaluate", *of_collection, "-o", f"scores{suffix}", runs]
            for suffix in (".csv", ".csv", ".parquet")  # one is replaced
        ),
        ["compare", "scores.parquet", "-m", "PGC"],
        ["report", "demo.csv", "-o", "page.html"],
        ["ask", "start", "qrels.txt", "--k", "1", "-o", "state"],
        ["ask", "judge", "state", f"{python} judge.py"],
        ["ask", "finish", "state", "-o", "grades.csv"],
    ]
    (tmp_path / "lines").write_text("\n".join(map("\t".join, lines)), encoding="utf-8")
    (tmp_path / "judge.py").write_text(JUDGE, encoding="utf-8")
    (tmp_path / "qrels.txt").write_text("q 0 a 1\nq 0 b 1\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, "lines"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {
        *("lines", "judge.py", "qrels.txt", "state", "grades.csv"),
        *("demo.csv", "scores.csv", "scores.parquet", "page.html"),
    }
    assert b"\r" not in (tmp_path / "state" / "log.jsonl").read_bytes()


@pytest.mark.parametrize(
    "windows, words",
    [(False, ["C:py.exe", "a b.py"]), (True, '"C:\\py.exe" "a b.py"')],
)
def test_windows_splits_the_command_of_a_judge(monkeypatch, windows, words):
    given = []

    def started(command, **how):
        given.append(command)
        raise OSError(2, "not there")

    monkeypatch.setattr(program, "_WINDOWS", windows)
    monkeypatch.setattr(program.subprocess, "Popen", started)
    with pytest.raises(program.DataError, match="not there"):
        program.Process('C:\\py.exe "a b.py"' if not windows else f" {words}")
    assert given == [words]
