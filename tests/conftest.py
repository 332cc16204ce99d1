"""Shared fixtures: the public data beside the repository, and its expected values."""

import atexit
import gc
import json
import os
import sys
from pathlib import Path

import pytest
from helpers.compiled import forget_old_programs, keep_compiled
from hypothesis import settings
from threadpoolctl import threadpool_limits

keep_compiled()
# Threads of NumPy's BLAS spin while they wait for each other, which takes CPU seconds
# from the workers of the tests, who share the cores.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # of processes that are started
threadpool_limits(1, "blas")  # of this one, where jaxtyping has loaded NumPy
# Before pgcjax, so that annotations of kernels, which tests check, have JAX's arrays.
import jax  # noqa: E402, F401

# A worker keeps a million objects, and looks through all of them less often so.
gc.set_threshold(100_000, 50, 100)

# Compiling a padded size for the first time can take seconds: no deadline.
# So many examples that the whole suite takes less than 8 minutes on two cores;
# scripts/torture tries more.
settings.register_profile("pgcjax", deadline=None, derandomize=True, max_examples=40)
settings.load_profile("pgcjax")

_MAPPINGS = 36_000  # of memory, 50 a program; Linux gives a process 65,530

SHARED = Path(
    os.environ.get("PGCJAX_SHARED", Path(__file__).parents[2] / "shared")
).resolve()


def pytest_sessionstart(session: pytest.Session) -> None:
    """Bound the folder of compiled programs; workers leave that to their parent."""
    if not hasattr(session.config, "workerinput"):
        forget_old_programs()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with files that have slow tests: none is left to one worker at the end."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Let workers end at once: libraries take seconds to take themselves apart.

    And pytest looks through a worker's million objects, though nobody hears of what it
    finds there: results were sent before.
    """
    if hasattr(config, "workerinput"):
        gc.freeze()
        atexit.register(os._exit, 0)


@pytest.fixture(scope="session")
def data() -> Path:
    """Folder of public runs and judgments, which the repository does not contain."""
    if not (SHARED / "data").is_dir():
        pytest.skip(f"no public data in {SHARED / 'data'} (set PGCJAX_SHARED)")
    return SHARED / "data"


@pytest.fixture(scope="session")
def golden():
    """Load expected values by name, from an independent implementation."""
    if not (SHARED / "golden").is_dir():
        pytest.skip(f"no expected values in {SHARED / 'golden'} (set PGCJAX_SHARED)")
    return lambda name: json.loads((SHARED / "golden" / f"{name}.json").read_text())


@pytest.fixture(autouse=True)
def nothing_said():
    """Let each test hear what a process says once."""
    if names := sys.modules.get("pgcjax.measures.ir_names"):
        names.SAID.clear()


@pytest.fixture(autouse=True, scope="module")
def forget_compiled():
    """Drop what was compiled before mappings of memory run out, and XLA crashes.

    No user comes near: tests compile thousands of shapes in one process.
    """
    yield
    maps = Path("/proc/self/maps")
    if "jax" in sys.modules and maps.exists():
        if maps.read_bytes().count(b"\n") > _MAPPINGS:
            sys.modules["jax"].clear_caches()


@pytest.fixture(autouse=True, scope="module")
def settings_stay():
    """Hold modules to JAX's settings: with others, programs are compiled again."""
    before = dict(jax.config.values)
    yield
    # Pallas, where it is imported, may bring more.
    assert {name: jax.config.values[name] for name in before} == before


@pytest.fixture(scope="session", autouse=True)
def few_shapes():
    """Lay small cases of all sizes out in the same shapes, to be compiled once."""
    from pgcjax.tensors.padding import at_least

    lengths = {"documents": 64, "axis": 8, "width": 64, "ranks": 63, "weights": 1001}
    with at_least(**lengths, runs=8, queries=4):
        yield


@pytest.fixture(scope="module")
def shapes_of_users(few_shapes):
    """Lay cases out as users have them, where tests are about shapes."""
    from pgcjax.tensors.padding import Least, at_least

    with at_least(**vars(Least())):
        yield
