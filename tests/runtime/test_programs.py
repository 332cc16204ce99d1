"""Programs that are kept: the same bits, and never another program's."""

import logging
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from helpers.collections import collection
from helpers.made_up import made_up
from jax.experimental import serialize_executable

import pgcjax
from pgcjax.datasets.files import demo_folder
from pgcjax.engine import tiles
from pgcjax.runtime import programs, surroundings
from pgcjax.runtime.own_cache import CACHE, FOLDER
from pgcjax.runtime.programs import Kept, source_digest
from pgcjax.tensors.padding import at_least

TEXT = "def program(x, y):\n    return {'sum': x.sum() * %s + y, 'of': x}\n"
X = np.arange(6.0).reshape(2, 3)


class Refuses:
    """What `jax.jit` gives, where it should not be used."""

    def trace(self, *arguments):
        raise AssertionError("traced")

    lower = __call__ = trace


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(FOLDER, str(tmp_path / "programs"))
    return tmp_path / "programs"


@pytest.fixture
def said(caplog):
    caplog.set_level(logging.DEBUG, "pgcjax.runtime.programs")
    return lambda: [message.split(" ")[0] for message in caplog.messages]


def another(factor: object = 2) -> Kept:
    """Make the program as another process does."""
    program = made_up(TEXT % factor)["program"]
    return jitted(program)


def jitted(program: Callable[..., Any], devices: int = 1) -> Kept:
    return Kept(program, lambda: jax.jit(program), devices)


def refusing() -> Kept:
    """Make the program where nothing may be traced."""
    return Kept(made_up(TEXT % 2)["program"], Refuses)


def test_a_second_process_traces_nothing(folder, said):
    first = another()(X, X)
    again = refusing()
    second = again(X, X)
    assert again(X, X)["sum"].shape == (2, 3)
    assert said() == ["kept", "loaded"]
    for other in (X[:1], X.astype("f4"), np.asfortranarray(X)):
        with jax.enable_x64(True):
            assert_equal(another()(other, X), jax.jit(again._program)(other, X))
    assert said()[2:] == ["kept", "kept", "loaded"]  # the order in memory is none's
    assert_equal(first, second)
    assert first["sum"].dtype == np.float64  # though JAX's x64 mode is off
    assert not jax.config.jax_enable_x64


def test_what_calls_a_library_is_not_kept():
    """Another process would jump to a function of LAPACK that nobody prepared."""
    square = np.eye(3, dtype="f4")
    for function in (jax.numpy.linalg.cholesky, jax.numpy.linalg.eigh):
        text = jax.jit(function).lower(square).as_text()
        assert programs.calls_libraries(text), text
    assert not programs.calls_libraries(jax.jit(jax.numpy.dot).lower(X, X.T).as_text())


def assert_equal(a: dict, b: dict) -> None:
    assert a.keys() == b.keys()
    for name, values in a.items():
        assert values.dtype == b[name].dtype
        assert np.asarray(values).tobytes() == np.asarray(b[name]).tobytes()


def test_another_version_of_the_package_compiles_no_text_again(folder, said):
    """And of two programs with other text, each has its own."""
    another()(X, X)
    for factor in (
        "(lambda: 2)()",
        "(2 if x.ndim else 3)",
    ):  # other code, and the same text
        assert another(factor)(X, X)["sum"].item(0) == 30
    assert another("3")(X, X)["sum"].item(0) == 45
    swapped = made_up("def program(x, y):\n    return x\n")["program"]
    other = made_up("def program(x, y):\n    return y\n")["program"]
    for each, value in ((swapped, 0), (other, 1)):  # one text, but for what is unused
        assert jitted(each)(X * 0, X * 0 + 1).item(0) == value
    assert said() == ["kept", "loaded", "loaded", "kept", "kept", "kept"]
    outer = made_up("def outer(v):\n    return lambda x: (x * v).sum()")["outer"]
    for at in (4000, 4001, 4000):  # one of many numbers that a program has in it
        each = outer(np.eye(1, 5000, at)[0])
        assert jitted(each)(np.arange(5000.0)).item() == at
    assert said()[6:] == ["kept", "kept", "loaded"]
    for one, weak in (("1.0", True), ("x.dtype.type(1)", False)):  # one text, too
        each = made_up(f"def program(x):\n    return {one}\n")["program"]
        assert jitted(each)(X.astype("f4")).weak_type is weak
    assert said()[9:] == ["kept", "kept"]


@pytest.mark.parametrize("at", [0, 20, -1])
def test_a_damaged_file_is_never_unpickled(folder, monkeypatch, said, at):
    whole = another()(X, X)
    for path in folder.iterdir():
        data = bytearray(path.read_bytes())
        data[at] ^= 1
        path.write_bytes(data)
    load, loaded = pickle.loads, []
    monkeypatch.setattr(
        pickle, "loads", lambda data: loaded.append(load(data)) or loaded[-1]
    )
    assert_equal(another()(X, X), whole)
    assert not loaded
    assert_equal(refusing()(X, X), whole)
    assert len(loaded) == 1  # what was compiled again
    assert said() == ["kept", "kept", "loaded"]


def test_what_jax_cannot_load_is_compiled(folder, monkeypatch, said):
    whole = another()(X, X)

    def fails(*_):
        raise ValueError("no such version")

    monkeypatch.setattr(serialize_executable, "deserialize_and_load", fails)
    assert_equal(another()(X, X), whole)
    assert said() == ["kept", "not", "not", "kept"]  # by its key, by its text
    monkeypatch.setattr(serialize_executable, "serialize", fails)
    assert another("5")(X, X)["sum"].item(0) == 75
    assert said()[4:] == ["not"]


def test_what_fails_once_loaded_is_compiled(folder, monkeypatch, said):
    """As what was in JAX's own cache would: it lacks functions when it runs."""

    class Fails:
        in_tree = jax.tree.structure(((X, X), {}))

        def __call__(self, *_):
            raise RuntimeError("Function wrapped_add not found")

    whole = another()(X, X)
    with monkeypatch.context() as patch:
        load = "deserialize_and_load"
        patch.setattr(serialize_executable, load, lambda *_: Fails())
        assert_equal(another()(X, X), whole)
    assert said() == ["kept", "not", "not", "kept"]
    assert_equal(refusing()(X, X), whole)


@pytest.mark.parametrize("off", ["", None])
def test_nothing_is_kept_unless_a_folder_is_named(tmp_path, monkeypatch, off):
    monkeypatch.delenv(FOLDER)
    if off is not None:
        monkeypatch.setenv(FOLDER, off)
        monkeypatch.setenv(CACHE, str(tmp_path))
    assert another()(X, X)["sum"].item(0) == 30
    assert not [*tmp_path.iterdir()]
    monkeypatch.delenv(FOLDER, raising=False)
    monkeypatch.setenv(CACHE, str(tmp_path))
    assert another()(X, X)["sum"].item(0) == 30
    assert [path.name for path in tmp_path.iterdir()] == ["programs"]


def test_what_has_no_key_is_compiled_by_jax(folder, monkeypatch):
    def mine(x, y):
        return {"sum": x + y}

    two = made_up(TEXT % 2)["program"]
    assert jitted(two, devices=2).key(X, X) is None  # here is one
    own = jitted(mine)
    assert own.key(X, X) is None and own(X, X)["sum"].item(5) == 10
    assert another().key(X, 1.0) is None and another()(X, 1.0)["sum"].item(0) == 31
    traced = jax.jit(lambda x: another()(x, x)["sum"])
    assert traced(X)[0, 0] == 30
    with jax.disable_jit():
        assert another().key(X, X) is None
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert another().key(X, X) is None
    monkeypatch.undo()
    assert not folder.exists() or not [*folder.iterdir()]


def test_every_setting_has_keys_of_its_own(folder, monkeypatch):
    keys = [another().key(X, X), another().key(X, X[:1]), another("3").key(X, X)]
    keys += [another().key(x, x) for x in (X.astype("f4"), X[None], X.astype(">f8"))]
    keys += [
        another().key((X, X)),
        another().key([X, X]),
        another().key(jax.numpy.ones(2)),
    ]
    with jax.enable_x64(True):
        keys.append(another().key(X, X))
    with jax.default_matmul_precision("float32"):
        keys.append(another().key(X, X))
    with monkeypatch.context() as patch:
        patch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_math=true")
        keys.append(another().key(X, X))
    for module, name in ((surroundings, "jaxlib_version"), (np, "__version__")):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, "0.0.1")
            surroundings._machine.cache_clear()
            keys.append(another().key(X, X))
    with monkeypatch.context() as patch:  # the file of JAX that says its version
        patch.setattr(Path, "read_text", lambda _: "0.0.1")
        surroundings._machine.cache_clear()
        keys.append(another().key(X, X))
    surroundings._machine.cache_clear()
    assert None not in keys and len(set(keys)) == len(keys)
    assert another().key(X, X) == keys[0]


def test_the_digest_of_the_package_is_of_every_byte(tmp_path):
    after = 2.0**40
    assert source_digest(tmp_path, after) is None
    for room in programs.ROOMS:
        (tmp_path / room).mkdir()
        (tmp_path / room / "one.py").write_text(f"{room}\n")
    (tmp_path / "engine" / "inner").mkdir()
    (tmp_path / "engine" / "inner" / "two.py").write_text("")

    def digest() -> str | None:
        source_digest.cache_clear()
        return source_digest(tmp_path, after)

    seen = [digest()]
    for path in sorted(tmp_path.rglob("*.py")):
        data = path.read_bytes()
        for at in range(len(data)):
            path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
            seen.append(digest())
        path.write_bytes(data)
        path.rename(path.with_name("other.py"))
        seen.append(digest())
        path.with_name("other.py").rename(path)
    assert None not in seen and len(set(seen)) == len(seen)
    assert digest() == seen[0]
    source_digest.cache_clear()
    assert source_digest(tmp_path, began=programs.BEGAN) is None  # changed since
    source_digest.cache_clear()
    assert source_digest() is not None


def test_threads_make_a_program_once(folder, said):
    program = another()
    with ThreadPoolExecutor(8) as pool:
        found = [*pool.map(lambda i: program(X + i, X)["sum"].item(0), range(40))]
    assert found == [30 + 12 * i for i in range(40)]
    assert said() == ["kept"]


def test_programs_can_be_forgotten(folder, said):
    program = another()
    program(X, X)
    programs.forget_loaded()
    assert program(X, X)["sum"].item(0) == 30
    assert said() == ["kept", "loaded"]


def test_kernels_give_the_same_bits_loaded_and_compiled(monkeypatch):
    """Of the peel, of ties, of lists and of resampling; by JAX's cache, or by none.

    On eight devices `tests/engine/test_every_measure.py` asks for the bits of one.
    """
    calls, call = [], Kept.__call__

    def recorded(self, *arguments):
        calls.append((self, arguments, call(self, *arguments)))
        return calls[-1][-1]

    monkeypatch.setattr(Kept, "__call__", recorded)
    tiles.compiled.cache_clear()  # a test before may have switched keeping off
    prefs, qrels, runs = collection(5, 6, 6, most_docs=20)
    how = {"preferences": prefs, "qrels": qrels}
    names = ["PGC", "PGC(ties=mean,n=7)", "nDCG@10", "wpref"]
    for _ in range(2):  # what is compiled at first is loaded then
        programs.forget_loaded()
        calls.clear()
        with at_least(documents=64, axis=64, width=64):
            scores = pgcjax.evaluate(runs, measures=names, **how)
        pgcjax.compare(scores, measure="PGC", test="bootstrap", resamples=600)
    with jax.enable_x64(True):
        for program, arguments, loaded in {id(c[0]): c for c in calls}.values():
            assert program.key(*arguments)  # without which nothing is loaded
            compiled = program.lower(*arguments).compile()(*arguments)
            for a, b in zip(*map(jax.tree.leaves, (loaded, compiled)), strict=True):
                assert a.dtype == b.dtype
                assert np.asarray(a).tobytes() == np.asarray(b).tobytes()
    assert len({id(program) for program, *_ in calls}) >= 4


def test_platforms_that_are_not_here_are_said_in_one_line(tmp_path):
    demo = demo_folder()
    given = ["--qrels", str(demo / "qrels.txt"), str(demo / "runs/oak.txt")]
    for call in (["evaluate", *given], ["devices"]):
        done = subprocess.run(
            [sys.executable, "-m", "pgcjax", *call],
            env={**os.environ, "JAX_PLATFORMS": "nonsense"},
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.splitlines()[-1].startswith(
            "pgcjax: error: JAX finds no device of JAX_PLATFORMS=nonsense, set by the "
            "environment or the program: unset it, or name one that is here"
        )
        assert "Traceback" not in done.stderr
