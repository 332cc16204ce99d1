"""A process that reads requests and writes answers, a line each."""

import json
import queue
import shlex
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from pgcjax.errors import DataError

_GRACE = 5.0  # seconds that a process has to end


class Process:
    """A process that reads lines and writes lines, neither of which makes us wait.

    Attributes:
        lines: what it has written, a line each; None after the last.
    """

    def __init__(self, command: str):
        try:
            if not (words := shlex.split(command)):
                raise ValueError("it names no program")
            self._process = subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,  # an interrupt is ours: we stop it
            )
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise DataError(
                f"cannot be started: {reason}",
                where=command,
                mend="Give a program and its arguments: 'python judge.py'.",
            ) from None
        self.lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._requests: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        threading.Thread(target=self._write, daemon=True).start()

    def send(self, request: dict[str, Any]) -> None:
        """Write a line, once the process reads it."""
        line = json.dumps(request, ensure_ascii=False) + "\n"
        self._requests.put(line.encode(errors="backslashreplace"))

    def wait(self) -> int | str:
        """Return the status that it ended with."""
        with suppress(subprocess.TimeoutExpired):
            return self._process.wait(_GRACE)
        return "unknown"

    def stop(self, gently: bool) -> Iterator[bytes]:
        """End it, and give what it has still written.

        Args:
            gently: whether it gets the time to end by itself.
        """
        self._requests.put(None)
        if gently:
            self.wait()
        for end in (self._process.terminate, self._process.kill):
            if self._process.poll() is None:
                end()
                self.wait()
        self._reader.join(_GRACE)  # longer, if something else holds the output open
        while not self.lines.empty():
            if (line := self.lines.get()) is not None:
                yield line

    def _read(self) -> None:
        assert self._process.stdout
        with self._process.stdout as output:
            for line in output:
                self.lines.put(line)
        self.lines.put(None)

    def _write(self) -> None:
        assert self._process.stdin
        with suppress(OSError):  # it has ended, which its output tells
            while (line := self._requests.get()) is not None:
                self._process.stdin.write(line)
                self._process.stdin.flush()
        with suppress(OSError):
            self._process.stdin.close()
