"""Several evaluations at once, and evaluations that are interrupted.

Threads, asyncio and other processes get the numbers of one call after the other, or one
line that says why not; nothing hangs. After an interrupt, the next call gets them, too,
and no thread is left.
"""

import asyncio
import multiprocessing
import os
import signal
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import pgcjax
from pgcjax.engine import plan
from pgcjax.errors import DataWarning, PgcjaxError
from scripts.campaigns.campaign import Campaign, pick
from scripts.campaigns.child import forked
from scripts.campaigns.corruptible import tables

Numbers = dict[Any, float]
SECONDS = 90.0
CALLS = ("PGC", "PGC(p=0.8)", "Compat", "nDCG@5", "rbo", "compare", "files")


def attack(rng: np.random.Generator, folder: Path, kinds: Counter) -> str | None:
    """Compute in a process of its own, in a way that things may get mixed up."""
    # Starting Python takes seconds: others are tried more often.
    often = [kind for kind in KINDS if kind not in ("spawn", "forkserver")]
    kind = pick(rng, [*KINDS, *often * 3])
    kinds[kind] += 1
    names = [pick(rng, CALLS) for _ in range(int(rng.integers(2, 7)))]
    for name, table in tables().items():
        if name in ("runs", "qrels", "preferences"):
            table.to_csv(folder / f"{name}.csv", index=False)
    moment = float(rng.uniform(0.001, 0.6))
    done = forked(lambda: KINDS[kind](names, moment), folder, seconds=SECONDS)
    if done.code == 0:
        return None
    last = (done.err.strip() or "no word").split("\n")[-1][:300]
    what = "hangs" if done.late else f"exit status {done.code}, signal {done.signal}"
    return f"{what}: {last} ({kind} of {', '.join(names)}, {moment:.3f} s)"


def compute(name: str) -> Numbers:
    """Make a call that takes part of a second."""
    kinds = "runs", "qrels", "preferences"
    inputs: dict[str, Any] = {kind: tables()[kind] for kind in kinds}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        if name == "rbo":
            table = pgcjax.rankings.rbo(inputs["runs"]).table
            return dict(enumerate(table["value"]))
        if name == "compare":
            scores = pgcjax.evaluate(inputs.pop("runs"), measures="PGC", **inputs)
            found = pgcjax.compare(scores, test="bootstrap", resamples=2000)
            return dict(enumerate(found.table["p_value"]))
        if name == "files":
            inputs = {k: f"{k}.csv" for k in inputs}
            name = "PGC"
        scores = pgcjax.evaluate(inputs.pop("runs"), measures=name, **inputs)
    return dict(enumerate(scores.table["value"]))


def check(expected: Numbers, found: Numbers, what: str) -> None:
    """Raise where two calls do not agree to the last bit."""
    if found != expected:
        raise AssertionError(f"{what} has other numbers")


def _threads(names: list[str], moment: float) -> None:
    expected = {name: compute(name) for name in names} if moment < 0.3 else {}
    with ThreadPoolExecutor(len(names)) as pool:  # some compile for the first time
        for name, found in zip(names, pool.map(compute, names), strict=True):
            check(expected.get(name) or compute(name), found, f"{name} in a thread")


def _asyncio(names: list[str], moment: float) -> None:
    async def together() -> list[Numbers]:
        return await asyncio.gather(*(asyncio.to_thread(compute, n) for n in names))

    for name, found in zip(names, asyncio.run(together()), strict=True):
        check(compute(name), found, f"{name} in asyncio")


def _processes(method: str) -> Callable[[list[str], float], None]:
    def run(names: list[str], moment: float) -> None:
        expected = compute(names[0])
        with multiprocessing.get_context(method).Pool(2) as pool:
            for found in pool.map(compute, [names[0]] * 2):
                check(expected, found, f"{names[0]} by {method}")

    return run


def _fork(names: list[str], moment: float) -> None:
    """Fork after a first call, or while one is running in a thread."""
    expected = compute(names[0])
    if moment > 0.3:
        threading.Thread(target=compute, args=(names[-1],), daemon=True).start()
        time.sleep(moment / 10)
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            code = 0 if compute(names[0]) == expected else 3
        except PgcjaxError as error:
            code = 0 if "\n" not in str(error) else 4
        finally:
            os._exit(code)
    end = time.monotonic() + 20
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            if code := os.waitstatus_to_exitcode(status):
                raise AssertionError(f"a forked child ends with status {code}")
            return
        time.sleep(0.05)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    raise AssertionError("a child that was forked after a first call hangs")


def _interrupted(names: list[str], moment: float) -> None:
    """Interrupt calls, as Ctrl-C does, and make them again."""
    expected = {name: compute(name) for name in names}
    before = {*threading.enumerate()}

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGALRM, interrupt)
    for i, name in enumerate(names):
        signal.setitimer(signal.ITIMER_REAL, moment / 5 * (i + 1) / len(names))
        try:
            try:
                compute(name)
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt:
            pass
        check(expected[name], compute(name), f"{name} after an interrupt")
    end = time.monotonic() + 10
    while _started(before) and time.monotonic() < end:
        time.sleep(0.05)
    if left := _started(before):
        raise AssertionError(f"threads of interrupted calls are left: {left}")


def _started(before: set[threading.Thread]) -> list[str]:
    """Name threads that are new, but for those that `runtime.loop` keeps for later."""
    new = {*threading.enumerate()} - before
    return sorted(t.name for t in new if not t.name.startswith("pgcjax_"))


def _resumed(names: list[str], moment: float) -> None:
    """Interrupt a job that keeps its work, and go on with it."""
    expected = compute("files")
    rows = tables()["runs"]
    Path("runs").mkdir()
    for name, own in rows.groupby("run_id"):
        own.to_csv(f"runs/{name}.csv", index=False)
    inputs: dict[str, Any] = {k: f"{k}.csv" for k in ("qrels", "preferences")}

    def job() -> Numbers:
        with plan.using(chunk=1, seconds=0.0, rows=1), warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            scores = pgcjax.evaluate(
                "runs", measures="PGC", job=pgcjax.Job(journal="kept"), **inputs
            )
        return dict(enumerate(scores.table["value"]))

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, moment / 5)
    try:
        try:
            job()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        pass
    check(expected, job(), "a job that goes on after an interrupt")


KINDS: dict[str, Callable[[list[str], float], None]] = {
    "threads": _threads,
    "asyncio": _asyncio,
    "fork": _fork,
    "spawn": _processes("spawn"),
    "forkserver": _processes("forkserver"),
    "interrupts": _interrupted,
    "interrupt and resume": _resumed,
}
CONCURRENCY = Campaign(
    "concurrency", "several at once, and interrupts", 300, attack, limit=SECONDS + 60
)
