"""Several processes, each with its own devices, at one job."""

import io
import os
import re
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from pgcjax._version import __version__
from pgcjax.engine.chunk import Chunk, KeptChunk, together
from pgcjax.engine.tally import RunTally
from pgcjax.errors import PgcjaxError, UsageError
from pgcjax.runtime.processes import DATA, FAILED, Peer, Processes

_HELLO = 64  # bytes with which a process says who it is


def start(launcher: str, timeout: float = 30.0) -> Processes:
    """Join the processes of a job, before JAX is used.

    Args:
        launcher: `auto` for tasks of SLURM, or `I/N@HOST:PORT`: this is process I of N
            (from 1), and the first process listens at HOST:PORT.
        timeout: Seconds to wait for the other processes, and seconds of silence after
            which a process counts as gone.

    Returns:
        `processes` of `Job`: a context manager, which leaves the job at its end.

    Raises:
        UsageError: an argument is wrong, or a process does not join in time.
    """
    if not 0 < timeout < float("inf"):
        raise UsageError(
            f"timeout={timeout:g} (--distributed HOW,SECONDS on the command line): "
            "expected seconds above 0"
        )
    try:
        host, port, number, count = (
            _of_slurm() if launcher == "auto" else _said(launcher)
        )
        end = time.monotonic() + timeout
        if count == 1:
            peers = []
        elif number == 0:
            peers = _listen(host, port, count, end)
        else:
            peers = [_connect(host, port, number, count, end)]
    except UsageError as error:
        raise UsageError(f"--distributed {launcher}: {error}") from None
    except TimeoutError as error:
        raise UsageError(
            f"--distributed {launcher}: {error} within {timeout:g} s (HOW,SECONDS)"
        ) from None
    return Processes(number, count, peers, timeout)


def gather(
    processes: Processes | None,
    work: Callable[[], Sequence[Chunk | KeptChunk]],
    tally: RunTally,
    apart: bool,
) -> tuple[Sequence[Chunk | KeptChunk], RunTally]:
    """Compute this process's share, and return the whole in every process.

    Args:
        processes: Processes of the job; None if there is only one.
        work: Function that returns the chunks of the share.
        tally: Tally that `work` fills.
        apart: whether chunks stay with their process; else all are loaded into memory.

    Returns:
        All chunks, or those of the share if `apart`; and the tally of all runs.

    Raises:
        PgcjaxError: a share failed, in every process, or a process is gone.
    """
    if processes is None:
        chunks = work()
        return (chunks if apart else [chunk.loaded() for chunk in chunks]), tally
    chunks: Sequence[Chunk | KeptChunk] = ()

    def counted() -> bytes:
        nonlocal chunks
        chunks = work()
        return tally.packed()

    every = tally.nothing()
    for share in _all(processes, counted):
        every.add_packed(share)
    if apart:
        return chunks, every
    here = together([chunk.open() for chunk in chunks])
    whole = together([_loaded(part) for part in _all(processes, lambda: _saved(here))])
    return [whole], every


def total(processes: Processes | None, work: Callable[[], int]) -> int:
    """Count something in every process, and return the sum in all of them.

    Raises:
        PgcjaxError: a count failed, in every process, or a process is gone.
    """
    if processes is None:
        return work()
    return sum(map(int, _all(processes, lambda: str(work()).encode())))


def _all(processes: Processes, work: Callable[[], bytes]) -> Sequence[bytes]:
    """Return the results of all processes to each; report a failure at once."""
    try:
        here = work()
    except PgcjaxError as error:
        processes.fail(error)
        raise
    return processes.exchange(here)


def _saved(chunk: Chunk) -> bytes:
    file = io.BytesIO()
    np.savez(file, **dict[str, Any](chunk.arrays()))
    return file.getvalue()


def _loaded(data: bytes) -> Chunk:
    with np.load(io.BytesIO(data)) as arrays:
        return Chunk.of(dict(arrays))


def _said(launcher: str) -> tuple[str, int, int, int]:
    """Read `2/4@node0:8476`: host, port, number from 0, and how many there are."""
    match = re.fullmatch(r"(\d+)/(\d+)@(\S+):(\d+)", launcher, re.ASCII)
    if not match:
        raise UsageError("expected auto, or I/N@HOST:PORT such as 1/4@node0:8476")
    i, n, host, port = int(match[1]), int(match[2]), match[3], int(match[4])
    if not 1 <= i <= n:
        raise UsageError("expected 1 <= I <= N")
    return _checked(host, port, i - 1, n)


def _of_slurm() -> tuple[str, int, int, int]:
    """Read the first node of a SLURM step, a port by its job, and the task's number."""
    names = ("SLURM_STEP_NODELIST", "SLURM_JOB_ID", "SLURM_PROCID", "SLURM_NTASKS")
    if absent := [name for name in names if name not in os.environ]:
        raise UsageError(
            f"{absent[0]} is not set: start it by srun, or give I/N@HOST:PORT"
        )
    nodes, *numbers = (os.environ[name] for name in names)
    first = re.match(r"([^,[]+)(?:\[(\d+))?", nodes)  # node1,node2 or node[1-2]
    job, number, count = map(int, numbers)
    host = "".join(filter(None, first.groups())) if first else nodes
    return _checked(host, 2**16 - 2**12 + job % 2**12, number, count)


def _checked(
    host: str, port: int, number: int, count: int
) -> tuple[str, int, int, int]:
    if not 1 <= port <= 65535:
        raise UsageError(f"expected a port from 1 to 65535, found {port}")
    host = host.removeprefix("[").removesuffix("]")
    try:
        socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageError(f"there is no host {host!r}: {why}") from None
    return host, port, number, count


def _hello(number: int, count: int) -> bytes:
    return f"pgcjax {__version__} {number + 1}/{count}".encode().ljust(_HELLO)


def _listen(host: str, port: int, count: int, end: float) -> list[Peer]:
    """Wait for all others, as the first process."""
    there: dict[int, Peer] = {}
    with _server(host, port) as server:
        while len(there) < count - 1:
            absent = [str(i + 1) for i in range(1, count) if i not in there]
            try:
                server.settimeout(max(0.01, end - time.monotonic()))
                connection, _ = server.accept()
            except TimeoutError:
                text = f"process {', '.join(absent)} of {count} did not join"
                for peer in there.values():
                    peer.send(FAILED, text.encode())
                    peer.socket.close()
                raise TimeoutError(text) from None
            # Connections that are not from this job are refused.
            connection.settimeout(1.0)
            hello = b""
            with suppress(OSError):
                while len(hello) < _HELLO and (part := connection.recv(_HELLO)):
                    hello += part
            number = next((i for i in range(1, count) if hello == _hello(i, count)), 0)
            connection.settimeout(None)
            if number and number not in there:
                there[number] = Peer(number, connection)
                continue
            greeting = hello.decode(errors="replace").strip()
            if greeting.startswith("pgcjax"):
                expected = _hello(0, count).decode().strip()
                Peer(0, connection).send(
                    FAILED, f"the first is {expected!r}, this one {greeting!r}".encode()
                )
            connection.close()
    for peer in there.values():
        peer.send(DATA)
    return list(there.values())


def _server(host: str, port: int) -> socket.socket:
    """Listen on this machine alone if all processes are on it, else on every network.

    The address of a machine's own name may be unreachable for other machines.
    """
    try:
        if host in ("localhost", "127.0.0.1", "::1"):
            (family, *_, address), *_ = socket.getaddrinfo(host, port)
            return socket.create_server(address[:2], family=family)
        if socket.has_dualstack_ipv6():
            address_family = {"family": socket.AF_INET6, "dualstack_ipv6": True}
            return socket.create_server(("", port), **address_family)
        return socket.create_server(("", port))
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else error
        raise UsageError(f"cannot listen at {host}:{port}: {why}") from None


def _connect(host: str, port: int, number: int, count: int, end: float) -> Peer:
    """Find the first process, and wait until it has found all."""
    while (left := end - time.monotonic()) > 0:
        try:
            connection = socket.create_connection((host, port), timeout=left)
        except OSError:  # it does not listen yet
            time.sleep(min(0.2, left))
            continue
        first = Peer(0, connection)
        try:
            return _welcomed(first, number, count, end)
        except BaseException:
            connection.close()
            raise
    raise TimeoutError(f"process 1 of {count} did not answer at {host}:{port}")


def _welcomed(first: Peer, number: int, count: int, end: float) -> Peer:
    """Report this process to the first one, and wait until all are there."""
    first.socket.settimeout(None)
    try:
        first.socket.sendall(_hello(number, count))
        kind, message = first.receive(max(0.01, end - time.monotonic()))
    except TimeoutError:
        raise TimeoutError(f"not all of {count} processes joined") from None
    except OSError:
        raise UsageError("process 1 ended, or something else listens there") from None
    if kind == FAILED:
        raise UsageError(message.decode(errors="replace"))
    return first
