"""Several processes, each with its own devices, at one job."""

import io
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import jax
import numpy as np
from jax.experimental import multihost_utils

from pgcjax.engine.chunk import Chunk, together
from pgcjax.errors import DataError, PgcjaxError, UsageError, VerificationError

_ERRORS = {kind.__name__: kind for kind in (DataError, UsageError, VerificationError)}


def start(how: str) -> tuple[int, int]:
    """Join the processes of a job, before JAX is used.

    Args:
        how: `auto`, where JAX finds the others by itself (SLURM, Open MPI, Kubernetes,
            Cloud TPU), or `I/N@HOST:PORT`: this is the I-th of N (from 1), and the
            first one listens at HOST:PORT.

    Returns:
        Number of this process, from 0, and number of processes.

    Raises:
        UsageError: `how` is neither, or the others are not there.
    """
    match = re.fullmatch(r"(\d+)/(\d+)@(\S+:\d+)", how)
    if how != "auto" and not match:
        raise UsageError(
            f"--distributed {how}: expected auto, or I/N@HOST:PORT such as "
            "1/4@node0:8476"
        )
    options: dict[str, Any] = {}
    if match:
        i, n = int(match[1]), int(match[2])
        if not 1 <= i <= n:
            raise UsageError(f"--distributed {how}: expected 1 <= I <= N")
        options = dict(coordinator_address=match[3], num_processes=n, process_id=i - 1)
    try:
        jax.distributed.initialize(**options)
    except (RuntimeError, ValueError) as error:
        line = str(error).strip().splitlines()[0]
        raise UsageError(f"--distributed {how}: {line}") from None
    return jax.process_index(), jax.process_count()


def gather(work: Callable[[], Chunk]) -> Chunk:
    """Do this process's share, and give every process the whole.

    Raises:
        PgcjaxError: a share failed: in every process, with the message of the first.
    """
    return together([_loaded(part) for part in _all(lambda: _saved(work()))])


def total(work: Callable[[], int]) -> int:
    """Count something in every process, and give all of them the sum.

    Raises:
        PgcjaxError: a count failed: in every process, with the message of the first.
    """
    return sum(int(count) for count in _all(lambda: str(work()).encode()))


def _all(work: Callable[[], bytes]) -> Sequence[bytes]:
    """Give every process what each of them made."""
    error = b""
    try:
        own = work()
    except PgcjaxError as failed:
        own, error = b"", f"{type(failed).__name__}:{failed}".encode()
    for text in _exchange(error):
        if text:
            kind, _, message = text.decode().partition(":")
            raise _ERRORS.get(kind, PgcjaxError)(message)
    return _exchange(own)


@contextmanager
def _quiet() -> Iterator[None]:
    """Send what libraries print on stdout to stderr: stdout is for results."""
    sys.stdout.flush()
    stdout = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        os.dup2(stdout, 1)
        os.close(stdout)


@_quiet()  # Gloo says there who is connected
def _exchange(own: bytes) -> list[bytes]:
    lengths = multihost_utils.process_allgather(np.array([len(own)], np.int32))
    lengths = np.asarray(lengths).ravel()
    padded = np.zeros(max(1, lengths.max()), np.uint8)
    padded[: len(own)] = np.frombuffer(own, np.uint8)
    everyone = np.asarray(multihost_utils.process_allgather(padded))
    everyone = everyone.reshape(len(lengths), -1)
    return [row[:n].tobytes() for row, n in zip(everyone, lengths, strict=True)]


def _saved(chunk: Chunk) -> bytes:
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **chunk.arrays())
    return file.getvalue()


def _loaded(data: bytes) -> Chunk:
    with np.load(io.BytesIO(data)) as arrays:
        return Chunk.of(dict(arrays))
