"""Processes that make attacks, and that one may kill when an attack hangs."""

import ctypes
import multiprocessing
import os
import signal
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection, wait
from tempfile import TemporaryDirectory

from scripts.campaigns.campaign import Campaign, Outcome, strike

_NEW_MOUNTS = 0x00020000  # CLONE_NEWNS


class Worker:
    """A process of its own, in a session of its own: Ctrl-C does not reach it."""

    def __init__(self, base: str):
        """Start it; attacks have their folders in `base`."""
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        # No daemon, which could have no children.
        self._process = context.Process(target=_serve, args=(theirs, base))
        self._process.start()
        theirs.close()
        self.began, self.index = 0.0, -1

    def begin(self, campaign: Campaign, seed: int, i: int) -> None:
        """Let it make an attack."""
        self.began, self.index = time.monotonic(), i
        self.pipe.send((campaign, seed, i))

    def outcome(self) -> Outcome:
        """Wait for what becomes of the attack; the worker's death is a problem, too."""
        try:
            return self.pipe.recv()
        except EOFError:
            self._process.join()
            code = self._process.exitcode
            return Outcome(f"the process of the attack died, exit status {code}")

    def stop(self) -> None:
        """Kill it and what it started."""
        if self._process.is_alive():
            try:
                os.killpg(self._process.pid or 0, signal.SIGKILL)
            except ProcessLookupError:  # it has no session yet
                self._process.kill()
        self._process.join()
        self.pipe.close()

    @property
    def alive(self) -> bool:
        """Whether it can make another attack."""
        return self._process.is_alive()


def _serve(pipe: Connection, base: str) -> None:
    os.setsid()
    _keep_mounts_private()
    while True:
        try:
            campaign, seed, i = pipe.recv()
        except EOFError:
            return
        pipe.send(strike(campaign, seed, i, base))


def _keep_mounts_private() -> None:
    """Let what is mounted here be seen here only, and end with this process."""
    libc = ctypes.CDLL(None, use_errno=True)
    if os.geteuid() == 0 and hasattr(libc, "unshare"):
        if libc.unshare(_NEW_MOUNTS) == 0:
            os.system("mount --make-rprivate / 2>/dev/null")


def outcomes(
    campaign: Campaign, seed: int, indices: Iterator[int], *, jobs: int, until: float
) -> Iterator[tuple[int, Outcome]]:
    """Make attacks in so many processes, until a moment of `time.monotonic`.

    Yields:
        The index and outcome of each, as they end. Attacks that have begun are made to
        their end.
    """
    idle: list[Worker] = []
    busy: dict[Connection, Worker] = {}
    with TemporaryDirectory(prefix="torture-", ignore_cleanup_errors=True) as base:
        try:
            while True:
                while len(busy) < jobs and time.monotonic() < until:
                    if (i := next(indices, None)) is None:
                        break
                    worker = idle.pop() if idle else Worker(base)
                    worker.begin(campaign, seed, i)
                    busy[worker.pipe] = worker
                if not busy:
                    return
                oldest = min(worker.began for worker in busy.values())
                patience = oldest + campaign.limit - time.monotonic()
                waited = wait([*busy], timeout=max(0.0, patience))
                ready = [pipe for pipe in busy if pipe in waited]
                late = [
                    pipe
                    for pipe, worker in busy.items()
                    if time.monotonic() - worker.began > campaign.limit
                ]
                for pipe in ready or late:
                    worker = busy.pop(pipe)
                    if pipe in ready:
                        yield worker.index, worker.outcome()
                    else:
                        hangs = f"does not end within {campaign.limit:g} s"
                        yield worker.index, Outcome(hangs, seconds=campaign.limit)
                    if pipe in ready and worker.alive:
                        idle.append(worker)
                    else:
                        worker.stop()
        finally:
            for worker in [*idle, *busy.values()]:
                worker.stop()
