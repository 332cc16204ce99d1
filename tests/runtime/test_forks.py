"""Children and threads of a process that has scored: refused at once, or the same."""

import asyncio
import os
import select
import signal
import warnings
from concurrent.futures import ThreadPoolExecutor

import pandas as pd
import pytest

import pgcjax
from pgcjax.datasets.files import demo_folder
from pgcjax.errors import PgcjaxError

pytestmark = pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning")
DEMO = demo_folder()
SAID = (
    "UsageError: this process was forked from one in which pgcjax had read or computed "
    "before, and lacks its threads. Start processes by multiprocessing.get_context("
    "'spawn') or 'forkserver', or threads"
)


def score() -> pd.DataFrame:
    judged = {"preferences": DEMO / "preferences.csv", "qrels": DEMO / "qrels.txt"}
    return pgcjax.evaluate(DEMO / "runs", **judged).table


def in_a_child(work, seconds: float = 20.0) -> str:
    """Work in a child of a real fork; `hangs` if it says nothing in time."""
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of Python and JAX about forks
        child = os.fork()
    if not child:
        said = b"it lives"
        try:
            work()
        except PgcjaxError as error:
            said = f"{type(error).__name__}: {error}".encode()
        finally:
            os.write(write, said)
            os._exit(0)
    os.close(write)
    ready, *_ = select.select([read], [], [], seconds)
    said = os.read(read, 1000).decode() if ready else "hangs"
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(read)
    return said


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_says_so_at_once():
    scores = score()
    for work in (
        score,
        lambda: pgcjax.rankings.rbo(DEMO / "runs"),
        lambda: pgcjax.files.read_runs(pd.DataFrame()).table,
        lambda: pgcjax.files.read_preferences(DEMO / "preferences.csv"),
        lambda: pgcjax.compare(scores, measure="PGC", test="bootstrap"),
    ):
        assert in_a_child(work) == SAID
    votes = pgcjax.files.read_preferences(DEMO / "preferences.csv")
    for work in (  # they need no threads
        lambda: pgcjax.compare(scores, measure="PGC", test="t"),
        lambda: pgcjax.judgments.majority(votes),
    ):
        assert in_a_child(work) == "it lives"


def test_threads_give_the_same_scores():
    alone = score()
    with ThreadPoolExecutor(4) as pool:
        for table in pool.map(lambda _: score(), range(4)):
            pd.testing.assert_frame_equal(table, alone, check_exact=True)

    async def several() -> list[pd.DataFrame]:
        return await asyncio.gather(*(asyncio.to_thread(score) for _ in range(2)))

    for table in asyncio.run(several()):
        pd.testing.assert_frame_equal(table, alone, check_exact=True)
