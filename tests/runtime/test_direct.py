"""Processes that find their programs on disk do without JAX, and compute the same."""

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest
from helpers.made_up import made_up

from pgcjax.runtime import direct, own_cache, programs, surroundings
from pgcjax.runtime.programs import Kept
from pgcjax.runtime.surroundings import ABLE, Said, jaxlib_version

pytestmark = pytest.mark.skipif(jaxlib_version not in ABLE, reason="not tried with it")

# What a process computes, and after what it has imported JAX.
WORK = """
import hashlib, json, sys, warnings
warnings.simplefilter("ignore")
import pgcjax
from pgcjax.datasets.files import demo_folder
demo = demo_folder()
judged = {"preferences": demo / "preferences.csv", "qrels": demo / "qrels.txt"}
def evaluate(*measures, **how):
    return pgcjax.evaluate(demo / "runs", **judged, measures=list(measures), **how)
scores = evaluate("PGC")
steps = {
    "peel": lambda: evaluate("PGC", "PGC(graph=combined)", "Compat"),
    "lists": lambda: evaluate("nDCG@10", "AP", "ERR", "wpref"),
    "exact": lambda: evaluate("PGC(ideal=exact)"),
    "ties": lambda: evaluate("PGC(ties=mean,n=5)"),
    "replicates": lambda: evaluate("PGC", replicates=4),
    "similarity": lambda: pgcjax.rbo(demo / "runs"),
    "preferences": lambda: pgcjax.prefer(demo / "runs", qrels=judged["qrels"]),
    "tukey": lambda: pgcjax.compare(scores, test="tukey", resamples=100),
    "bootstrap": lambda: pgcjax.compare(scores, test="bootstrap", resamples=600),
    "permutation": lambda: pgcjax.compare(scores, test="permutation", resamples=600),
    "strengths": lambda: pgcjax.fit(judged["preferences"], prior=2.5),
}
said = {}
for name in sys.argv[1:] or steps:
    if name == "jax":
        import jax
        said[name] = float(jax.numpy.arange(4.0).sum()), True
        continue
    bits = hashlib.sha256(steps[name]().table.to_csv().encode()).hexdigest()
    said[name] = bits, "jax" in sys.modules
print(json.dumps(said))
"""


def work(folder: Path, *steps: str) -> dict[str, list]:
    environment = {**os.environ, "PGCJAX_PROGRAMS": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", WORK, *steps],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Give a folder of programs, and what the process that kept them computed."""
    folder = tmp_path_factory.mktemp("programs")
    return folder, work(folder)


def test_all_that_computes_does_without_jax(folder):
    place, first = folder
    assert all(jax for _, jax in first.values())
    assert work(place) == {name: [bits, False] for name, (bits, _) in first.items()}


def test_jax_may_be_imported_between(folder):
    place, first = folder
    said = work(place, "peel", "jax", "peel", "bootstrap")
    assert said["peel"] == [first["peel"][0], True]  # the second time
    assert said["bootstrap"] == [first["bootstrap"][0], True]
    assert said["jax"] == [6.0, True]


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Keep a program, and give its result, and what another process would find."""
    monkeypatch.setenv(own_cache.FOLDER, str(tmp_path))
    text = "def program(x, unused, y):\n    return {'sum': x.sum() + y, 'of': (x, 1)}\n"
    function = made_up(text)["program"]
    given = np.arange(6.0).reshape(2, 3), np.ones(2), np.float64(0.1)
    kept = Kept(function, lambda: jax.jit(function))
    result, key = kept(*given), kept.key(*given)
    return result, lambda: programs._found_alone(tmp_path, str(key), given)


def test_a_program_gives_the_same_bits(program):
    result, find = program
    made, found = find()
    again = made(np.ones((2, 3)), np.ones(2), np.float64(1))
    assert again["sum"] == 7 and again["of"][0].tolist() == [[1.0] * 3] * 2
    leaves = jax.tree.leaves(found)
    for a, b in zip(leaves, jax.tree.leaves(result), strict=True):
        assert type(a) is np.ndarray and a.dtype == b.dtype
        assert a.tobytes() == np.asarray(b).tobytes()
    assert jax.tree.structure(found) == jax.tree.structure(result)
    with pytest.raises(ValueError):
        leaves[0][...] = 0  # as of JAX


@pytest.mark.parametrize("dtype", ["f4", "i8", "?"])
def test_arrays_may_lie_in_memory_in_any_way(tmp_path, monkeypatch, dtype):
    monkeypatch.setenv(own_cache.FOLDER, str(tmp_path))
    function = made_up("def program(x):\n    return x, x.sum(-1), x[..., :1]\n")[
        "program"
    ]
    whole = (np.arange(24) % 7).astype(dtype).reshape(4, 6)
    odd = np.frombuffer(b"x" + whole.tobytes(), np.uint8)[1:].view(dtype)
    alike = [whole, np.asfortranarray(whole), odd.reshape(4, 6)]
    others = [whole[::-1, ::2], np.broadcast_to(whole[0], (3, 6)), whole[:0]]
    for x in (*alike, *others):
        kept = Kept(function, lambda: jax.jit(function))
        expected, key = kept(x), str(kept.key(x))
        _, found = programs._found_alone(tmp_path, key, (x,)) or pytest.fail("lost")
        for a, b in zip(found, expected, strict=True):
            assert a.dtype == b.dtype and a.tobytes() == np.asarray(b).tobytes()


def test_what_is_damaged_or_missing_jax_compiles(program, tmp_path):
    _, find = program
    (path,) = tmp_path.glob(f"*{programs._DIRECT}*")
    data = path.read_bytes()
    for damaged in (data[:-1], data[:-1] + bytes([data[-1] ^ 1]), b""):
        path.write_bytes(damaged)
        assert find() is None
    name = path.name.removesuffix(".kept")
    for kept in (b"", b"no pickle", pickle.dumps(direct._Body(b"none", (), (), ()))):
        own_cache.save(tmp_path, name, kept)  # XLA or JAX cannot take it
        assert find() is None
    path.unlink()
    assert find() is None


def test_a_program_that_only_jax_can_run(monkeypatch, tmp_path):
    """It is not compiled again each time."""
    monkeypatch.setenv(own_cache.FOLDER, str(tmp_path))
    monkeypatch.setattr(surroundings, "_imported", [surroundings._set()])
    monkeypatch.setattr(programs, "serialized", lambda _: None)
    function = made_up("def program(x):\n    return x + 1\n")["program"]
    for jit in (jax.jit, None):
        made = Kept(function, lambda jit=jit: jit(function))
        assert made(np.arange(3.0)).tolist() == [1, 2, 3]
    (path,) = tmp_path.glob(f"*{programs._DIRECT}*")
    assert own_cache.load(tmp_path, path.name.removesuffix(".kept")) == b""


def test_other_processes_ask_jax(monkeypatch, tmp_path):
    """What it would say has a name of all that it looks at."""
    names = [surroundings._name()]

    def add() -> None:
        surroundings._machine.cache_clear()
        names.append(surroundings._name())

    for variable in ("JAX_PLATFORMS", "XLA_FLAGS", "JAX_DISABLE_JIT"):
        with monkeypatch.context() as patch:
            patch.setenv(variable, "other")
            add()
    for module, name in ((surroundings, "jaxlib_version"), (np, "__version__")):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, "0.0.1")
            add()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path))  # no program's
    monkeypatch.setenv("PYTHONHASHSEED", "1")
    add()
    assert names[-1] == names[0]  # an empty folder installs nothing
    for package in ("fast_chip-1.0.dist-info", "fast_chip.pth", "jax_plugins"):
        (tmp_path / package).mkdir()
        add()
    assert len(set(names)) == len(names) - 1
    assert not surroundings._is_plain()  # jax_plugins is there: JAX is always asked


def test_settings_that_were_changed_are_not_kept(tmp_path, monkeypatch):
    monkeypatch.setenv(own_cache.FOLDER, str(tmp_path))
    monkeypatch.setattr(surroundings, "_imported", [])  # another has imported JAX
    assert not surroundings.keep()
    monkeypatch.setattr(surroundings, "_imported", ["other settings"])
    assert not surroundings.keep()
    monkeypatch.setattr(surroundings, "_imported", [surroundings._set()])
    assert surroundings.keep() and len([*tmp_path.iterdir()]) == 1
    said = surroundings._kept(str(tmp_path))
    assert said == Said(surroundings._device(), surroundings._set())
    assert surroundings.without_jax() is None  # it is imported here


def test_another_version_of_jaxlib_gets_jax(monkeypatch):
    monkeypatch.setattr(surroundings, "_imported", [surroundings._set()])
    monkeypatch.setattr(surroundings, "ABLE", ())
    assert not surroundings.keep()
    monkeypatch.setattr(direct, "ABLE", ())
    assert direct.serialized(None) is None
