"""Processes of one job, which exchange bytes, and end together.

The first process listens, and the others connect to it. All of them send signs of life,
so the job of all ends when one process, or its machine, dies.
"""

import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field

from pgcjax.errors import DataError, PgcjaxError, UsageError, VerificationError

_ERRORS = {kind.__name__: kind for kind in (DataError, UsageError, VerificationError)}
# A message consists of its kind, the number of bytes that follow, and these bytes.
THERE, DATA, FAILED, DONE = b".", b"=", b"!", b","
_HEAD = 9


@dataclass
class Peer:
    """Another process, and the connection to it.

    Attributes:
        number: Number of the process, from 0.
        socket: The connection.
        arrived: Received data that was not taken yet.
        done: Whether the process has announced that it needs nothing more.
    """

    number: int
    socket: socket.socket
    arrived: deque[bytes] = field(default_factory=deque)
    done: bool = False
    _sending: threading.Lock = field(default_factory=threading.Lock)

    def send(self, kind: bytes, data: bytes = b"") -> None:
        """Send a message; a lost connection is ignored."""
        with self._sending, suppress(OSError):
            self.socket.sendall(kind + len(data).to_bytes(_HEAD - 1, "big"))
            self.socket.sendall(data)

    def receive(self, limit: float) -> tuple[bytes, bytes]:
        """Wait for a message.

        Raises:
            TimeoutError: nothing arrived for `limit` seconds.
            OSError: the connection ended.
        """
        head = self._exactly(_HEAD, limit)
        return head[:1], self._exactly(int.from_bytes(head[1:], "big"), limit)

    def _exactly(self, size: int, limit: float) -> bytes:
        data = bytearray()
        # A timeout of the socket would also limit the time of sending.
        with selectors.DefaultSelector() as selector:
            selector.register(self.socket, selectors.EVENT_READ)
            while len(data) < size:
                if not selector.select(limit):
                    raise TimeoutError
                part = self.socket.recv(min(size - len(data), 2**20))
                if not part:
                    raise OSError("ended")
                data += part
        return bytes(data)

    def cut(self) -> None:
        """End the connection, also for threads that wait for it."""
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)

    def close_sending(self) -> None:
        """Signal the other end that nothing more comes."""
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_WR)


class Processes:
    """All processes of a job, as one of them sees them; a context manager.

    Attributes:
        number: Number of this process, from 0.
        count: Number of all processes.
        limit: Seconds of silence after which a process counts as dead.
        insist: Called with the error of the job if work does not stop within the
            limit, for instance because it waits for a pipe.
    """

    insist: Callable[[PgcjaxError], None] | None = None

    def __init__(self, number: int, count: int, peers: Iterable[Peer], limit: float):
        """Begin to listen: the first process to all others, and these to the first."""
        self.number, self.count, self.limit = number, count, limit
        self._peers = sorted(peers, key=lambda peer: peer.number)
        self._change, self._over = threading.Condition(), threading.Event()
        self._parting = threading.Lock()
        self._error: PgcjaxError | None = None
        self._readers = [
            threading.Thread(target=self._listen, args=(peer,), daemon=True)
            for peer in self._peers
        ]
        for thread in (
            *self._readers,
            threading.Thread(target=self._beat, daemon=True),
        ):
            thread.start()

    def __enter__(self) -> "Processes":
        return self

    def __exit__(self, kind: type | None, error: object, trace: object) -> None:
        if isinstance(error, PgcjaxError):
            self.fail(error)
        elif kind is not None:
            self.fail(self._gone(self.number, "was stopped"))
        self.close()

    def check(self) -> None:
        """Raise the error that ended the job in another process, if there is one."""
        if self._error:
            raise self._error

    def exchange(self, here: bytes) -> list[bytes]:
        """Send bytes to all processes, and return those of each process.

        Raises:
            PgcjaxError: a process failed, or is gone.
        """
        if self.number == 0:
            everyone = [here, *map(self._take, self._peers)]
            sizes = b"".join(len(part).to_bytes(8, "big") for part in everyone)
            whole = sizes + b"".join(everyone)
            for peer in self._peers:
                peer.send(DATA, whole)
            return everyone
        (first,) = self._peers
        first.send(DATA, here)
        whole, everyone, at = self._take(first), [], 8 * self.count
        for i in range(0, at, 8):
            size = int.from_bytes(whole[i : i + 8], "big")
            everyone.append(whole[at : at + size])
            at += size
        return everyone

    def fail(self, error: PgcjaxError) -> None:
        """End the job of all processes with an error; the first error counts."""
        with self._parting:
            if self._error or self._over.is_set():
                return
            for peer in self._peers:
                peer.send(FAILED, f"{type(error).__name__}:{error}".encode())
                peer.close_sending()
            with self._change:  # all others are informed before this process stops
                self._error = error
                self._change.notify_all()
        threading.Thread(target=self._end, args=(error,), daemon=True).start()

    def close(self) -> None:
        """Disconnect from the other processes, after they have read all messages."""
        with self._parting:
            self._over.set()
            for peer in self._peers:
                peer.send(DONE)
                peer.close_sending()
        end = time.monotonic() + self.limit
        for thread in self._readers:
            thread.join(max(0.0, end - time.monotonic()))
        for peer in self._peers:
            peer.socket.close()

    def _take(self, peer: Peer) -> bytes:
        with self._change:
            self._change.wait_for(lambda: peer.arrived or self._error or peer.done)
            self.check()
            if not peer.arrived:
                raise self._gone(peer.number, "ended")
            return peer.arrived.popleft()

    def _beat(self) -> None:
        while not self._over.wait(self.limit / 4):
            for peer in self._peers:
                peer.send(THERE)

    def _end(self, error: PgcjaxError) -> None:
        if not self._over.wait(self.limit) and self.insist:
            self.insist(error)

    def _listen(self, peer: Peer) -> None:
        try:
            while True:
                kind, data = peer.receive(self.limit)
                with self._change:
                    if kind == DATA:
                        peer.arrived.append(data)
                    peer.done |= kind == DONE
                    self._change.notify_all()
                if kind == FAILED:
                    name, _, message = data.decode().partition(":")
                    self.fail(_ERRORS.get(name, PgcjaxError)(message))
        except TimeoutError:
            peer.cut()
            self.fail(self._gone(peer.number, f"was silent for {self.limit:g} s"))
        except OSError:
            if not peer.done:
                self.fail(self._gone(peer.number, "ended"))

    def _gone(self, number: int, problem: str) -> PgcjaxError:
        return PgcjaxError(
            f"process {number + 1} of {self.count} {problem} before the job was done. "
            "Restart all of them, with --resume (journal= in Python) to continue "
            "from their finished work"
        )
