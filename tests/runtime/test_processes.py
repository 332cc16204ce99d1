"""Processes of a job: what they exchange, and how each learns that one is gone."""

import socket
import time
from concurrent.futures import ThreadPoolExecutor
from queue import Queue

import pytest
from helpers.processes import free_port

from pgcjax.engine.distributed import start
from pgcjax.errors import DataError, PgcjaxError, UsageError
from pgcjax.runtime.processes import Peer, Processes

GONE = (
    "process {} before the job was done. Restart all of them, with --resume "
    "(journal= in Python) to continue from their finished work"
)


def together(count, work, timeout=20.0) -> list:
    """Let as many threads as there are processes join and work: results, or errors."""
    port = free_port()

    def one(i):
        try:
            with start(f"{i + 1}/{count}@localhost:{port}", timeout) as processes:
                return work(processes)
        except PgcjaxError as error:
            return error

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(one, reversed(range(count))))[::-1]


def test_everyone_gets_what_all_have():
    def work(processes):
        parts = [bytes([i]) * size for i, size in enumerate((0, 5, 3_000_000))]
        first = processes.exchange(parts[processes.number])
        return first == parts, processes.exchange(str(processes.number).encode())

    assert together(3, work) == [(True, [b"0", b"1", b"2"])] * 3
    assert together(1, lambda processes: processes.exchange(b"a")) == [[b"a"]]


@pytest.mark.parametrize("failing", [0, 2])
def test_the_error_of_one_is_that_of_all(failing):
    """Also of those that are at work, and look only now and then."""

    def work(processes):
        if processes.number == failing:
            raise DataError("is wrong", where="a.run:3")
        if processes.number == 1:
            end = time.monotonic() + 20
            while time.monotonic() < end:
                processes.check()
                time.sleep(0.01)
        processes.exchange(b"")

    found = together(3, work)
    assert {(type(error), str(error)) for error in found} == {
        (DataError, "a.run:3: is wrong")
    }


def test_what_ends_or_is_silent_is_given_up():
    """A connection that ends is noticed at once, silence after the time limit."""
    found = {}
    for name in ("ended", "was silent for 0.2 s"):
        ours, theirs = socket.socketpair()
        if name == "ended":
            theirs.close()
        with pytest.raises(PgcjaxError) as error:
            with Processes(0, 2, [Peer(1, ours)], 0.2) as processes:
                processes.exchange(b"")
        found[name] = str(error.value)
        theirs.close()
    assert found == {name: GONE.format(f"2 of 2 {name}") for name in found}


def test_work_that_waits_for_ever_is_ended():
    """As that of a process that reads a pipe: nobody asks whether a peer is gone."""
    ours, theirs = socket.socketpair()
    with Processes(1, 2, [Peer(0, ours)], 0.1) as processes:
        told: Queue[PgcjaxError] = Queue()
        processes.insist = told.put
        theirs.close()
        assert str(told.get(timeout=20)) == GONE.format("1 of 2 ended")


def test_whoever_does_not_come_ends_the_wait_of_all():
    port, said = free_port(), {}

    def one(how):
        with pytest.raises(UsageError) as error:
            start(how, 0.5)
        return str(error.value).removeprefix(f"--distributed {how}: ")

    here = f"@localhost:{port}"
    with ThreadPoolExecutor(2) as pool:
        said = list(pool.map(one, (f"1/3{here}", f"2/3{here}")))
    late = "process 3 of 3 did not join"
    assert said[0] == f"{late} within 0.5 s (HOW,SECONDS)"
    assert said[1] in (
        late,
        "not all of 3 processes joined within 0.5 s (HOW,SECONDS)",
    )
    assert one(f"2/2@127.0.0.1:{port}") == (
        f"process 1 of 2 did not answer at 127.0.0.1:{port} within 0.5 s (HOW,SECONDS)"
    )


def test_strangers_are_sent_away():
    """What is no process of this job does not end it, nor count as one of it."""
    port = free_port()

    def stranger(hello: bytes) -> bytes:
        with socket.create_connection(("localhost", port)) as connection:
            connection.sendall(hello)
            connection.shutdown(socket.SHUT_WR)
            return connection.recv(1000)

    def first():
        with start(f"1/2@localhost:{port}", 20) as processes:
            return processes.exchange(b"1")

    with ThreadPoolExecutor(1) as pool:
        job = pool.submit(first)
        for _ in range(100):
            try:
                assert stranger(b"GET / HTTP/1.1\r\n\r\n") == b""
                break
            except ConnectionRefusedError:
                time.sleep(0.05)
        with pytest.raises(UsageError, match="the first is 'pgcjax .* 1/2', this one"):
            start(f"3/3@localhost:{port}", 20)
        with start(f"2/2@localhost:{port}", 20) as processes:
            assert processes.exchange(b"2") == [b"1", b"2"]
        assert job.result() == [b"1", b"2"]


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("2", "expected auto, or I/N@HOST:PORT such as 1/4@node0:8476"),
        ("1/2@host", "expected auto, or I/N@HOST:PORT such as 1/4@node0:8476"),
        ("3/2@localhost:1", "expected 1 <= I <= N"),
        ("1/2@h:99999999", "expected a port from 1 to 65535, found 99999999"),
        ("2/2@localhost:0", "expected a port from 1 to 65535, found 0"),
        ("2/2@no-such.invalid:8476", "there is no host 'no-such.invalid': "),
        (f"1/2@{'h' * 300}:8476", f"there is no host '{'h' * 300}': "),
        ("auto", "SLURM_STEP_NODELIST is not set: start it by srun, or give I/N@"),
    ],
)
def test_mistakes(how, said):
    began = time.monotonic()
    with pytest.raises(UsageError) as error:
        start(how)
    assert str(error.value).startswith(f"--distributed {how}: {said}")
    assert time.monotonic() - began < 20  # nobody was waited for
    with pytest.raises(
        UsageError, match=r"timeout=-1 \(--distributed HOW,SECONDS on the"
    ):
        start("1/1@localhost:1", -1)


def test_a_port_that_is_taken():
    with socket.create_server(("localhost", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UsageError) as error:
            start(f"1/2@localhost:{port}")
    where = f"localhost:{port}"
    assert str(error.value) == (
        f"--distributed 1/2@{where}: cannot listen at {where}: Address already in use"
    )


@pytest.mark.parametrize(
    ("nodes", "host"),
    [
        ("localhost", "localhost"),
        ("localhost,node2", "localhost"),
        ("127.0.0.[1-2,5],node2", "127.0.0.1"),
    ],
)
def test_tasks_of_slurm_meet_at_the_first_node(monkeypatch, nodes, host):
    tells = {"STEP_NODELIST": nodes, "JOB_ID": "4103", "PROCID": "1", "NTASKS": "2"}
    for name, value in tells.items():
        monkeypatch.setenv(f"SLURM_{name}", value)
    with pytest.raises(UsageError) as error:
        start("auto", 0.2)
    assert str(error.value) == (
        f"--distributed auto: process 1 of 2 did not answer at {host}:61447 within "
        "0.2 s (HOW,SECONDS)"
    )
