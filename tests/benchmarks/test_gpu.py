"""The benchmark for a GPU, on a CPU: what it needs, and that it checks what it does."""

import dataclasses
import json
import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import jax
import numpy as np
import pytest

import pgcjax

harness = pytest.importorskip("benchmarks.harness", reason="not in a checkout")
from benchmarks import gpu, gpu_bench, gpu_checks, gpu_kernels, gpu_rows, inputs  # noqa: E402  # noqa: E402

PALLAS = ["Pallas, its own choice", "Pallas, block=8, num_warps=1"]
ROOT = Path(pgcjax.__file__).parents[1]
# Whatever is installed here, this process finds what jax brings along, and no more.
ALONE = """
import sys
from importlib.metadata import packages_distributions
KNOWN = {"jax", "jaxlib", "numpy", "scipy", "ml_dtypes", "opt_einsum"}
OTHERS = set(packages_distributions()) - KNOWN - {"benchmarks", "pgcjax"}
class Nothing:
    def find_spec(self, name, *_):
        if name.split(".")[0] in OTHERS:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Nothing())
assert "rich" in OTHERS
from benchmarks import gpu
gpu.stand_in()
import jax
update = jax.config.update  # programs of an earlier run of the tests may be found
kept = "jax_enable_compilation_cache"
jax.config.update = lambda name, value: name == kept or update(name, value)
from benchmarks import gpu_kernels
every = gpu_kernels.every
gpu_kernels.every = lambda *shape: {"lists": every(*shape)["lists"]}
sys.exit(gpu.main())
"""


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr(gpu_bench, "SAMPLE", 4)
    monkeypatch.setattr(gpu_bench, "BLOCKS", (8,))
    monkeypatch.setattr(gpu_bench, "WARPS", (1,))


@pytest.fixture
def bench():
    """A bench that takes the paths of a GPU."""
    report = harness.Report(rounds=1)
    report.console.quiet = True
    return gpu_bench.Bench(report, "gpu")


@pytest.mark.slow
def test_it_needs_jax_and_numpy_alone(tmp_path):
    out = tmp_path / "out.json"
    shape = "--queries 2 --runs 3 --n 9 --sizes 9 --rounds 1"
    done = subprocess.run(
        [sys.executable, "-c", ALONE, "-o", str(out), *shape.split()],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "This is no GPU" in done.stdout
    found = json.loads(out.read_text())
    assert list(found) == ["command", "when", "machine", "versions", "races", "tables"]
    assert f" -o {out.name} " in found["command"]
    assert found["versions"]["uncommitted"] is not None
    assert not re.search(r"(?<![\w.])/(tmp|home|work|root|usr)/", json.dumps(found))
    first = found["tables"][0]
    assert first["columns"] == ["kernel", "cases", "equal"]
    equal = {name: (cases, equal) for name, cases, equal in first["rows"]}
    assert equal["triton"] == equal["XLA"] == (55, "yes")
    assert found["machine"]["gpu"]["kind"] == "cpu"
    peel, derived, lists = found["races"]
    rows = [figure["name"] for figure in peel["figures"]]
    assert rows == [
        *("textbook JAX", "XLA, one word", "pgcjax's tiles", "Pallas, interpreted")
    ]
    assert [figure["name"] for figure in lists["figures"]] == ["lists"]
    assert "levels" in [figure["name"] for figure in derived["figures"]]
    assert "N = 9: 2 queries × 3 runs" in peel["title"]


PLAIN = {"XLA": 55, "levels": 44, "engine, XLA": 154, "triton": 55}


def test_the_first_act_compares_every_kernel(bench, monkeypatch):
    """With plain Python; Mosaic GPU where JAX can interpret it: seconds for a run."""
    bench.backend = "cpu"
    names = [name for name, _ in gpu_checks.checks("gpu")]
    assert names[:3] == ["XLA", "levels", "engine, XLA"]
    assert names[3:7] == ["triton", "engine, triton", "mosaic", "engine, mosaic"]
    others = gpu_kernels.every(3, 7, 11, "gpu")
    assert names[7:] == [*others]
    make = {"permutation": others["permutation"]}
    monkeypatch.setattr(gpu_kernels, "every", lambda *_: make)
    monkeypatch.setattr(gpu_checks, "FEW", ())
    assert gpu_checks.check(bench)
    rows = {row[0]: row[1:] for row in bench.report.tables[-1]["rows"]}
    assert rows.pop("mosaic")
    assert rows == {k: [n, "yes"] for k, n in {**PLAIN, "permutation": 12}.items()}


@pytest.mark.parametrize(
    ("fails", "said"),
    [
        (lambda _: 1, "triton: 55 of 55 differ"),
        (lambda _: 1 / 0, "triton: ZeroDivisionError: division by zero"),
    ],
)
def test_nothing_is_timed_after_a_kernel_that_differs(monkeypatch, capsys, fails, said):
    right = gpu_rows.pallas

    def wrong(*arguments, **options):
        row = right(*arguments, **options)
        return dataclasses.replace(row, sums=lambda: row.sums() + fails(row))

    monkeypatch.setattr(jax.config, "update", lambda *_: None)  # of this process
    monkeypatch.setattr(gpu_rows, "pallas", wrong)
    every = gpu_checks.checks
    only = lambda *shape: [x for x in every(*shape) if x[0] == "triton"]  # noqa: E731
    monkeypatch.setattr(gpu_checks, "checks", only)
    monkeypatch.setattr(gpu, "_measure", lambda *_: pytest.fail("something is timed"))
    assert gpu.main([]) == 1
    assert said in capsys.readouterr().out


def test_what_is_measured_at_which_size(monkeypatch):
    """All at the shape that was asked for; other sizes of the peel, with fewer runs."""
    told = []

    def tell(kind):
        def telling(self, case, *_):
            told.append((kind, case if kind == "work" else case.title))

        return telling

    monkeypatch.setattr(jax.config, "update", lambda *_: None)  # of this process
    for kind in ("peel", "levels", "work"):
        monkeypatch.setattr(gpu_bench.Bench, kind, tell(kind))
    monkeypatch.setattr(gpu_bench.Bench, "copy", lambda self: told.append("copy"))
    monkeypatch.setattr(gpu_kernels, "every", lambda *_: {"lists": None})
    monkeypatch.setattr(gpu_checks, "check", lambda _: told.append("check") or True)
    assert gpu.main("--queries 2 --runs 300 --n 64 --sizes 7 64 512".split()) == 0
    assert told == [
        *(
            "check",
            "copy",
            ("peel", "made-up cyclic graphs, N = 64: 2 queries × 300 runs"),
        ),
        *(
            ("levels", "made-up grades, N = 64: 2 queries × 300 runs"),
            ("work", "lists"),
        ),
        ("peel", "made-up cyclic graphs, N = 7: 2 queries × 300 runs"),
        ("peel", "made-up cyclic graphs, N = 512: 2 queries × 75 runs"),
    ]


def test_the_paths_of_a_gpu_agree(bench, monkeypatch, capsys):
    if gpu_rows.has_pallas():
        monkeypatch.setattr(
            gpu_rows, "pallas", partial(gpu_rows.pallas, interpret=True)
        )
    best = bench.peel(inputs.cyclic(3, 4, 9))
    bench.levels(inputs.graded(3, 4, 9))
    printed = capsys.readouterr().out
    assert not bench.wrong
    assert "textbook JAX ÷ it" in best
    assert "the CPU's sums: the same bits, 12 pairs" in printed
    rows = [figure["name"] for figure in bench.report.races[0]["figures"]]
    if gpu_rows.has_pallas():
        assert rows[3:] == PALLAS
    else:
        assert "left out: Pallas" in printed


def test_kernels_of_a_gpu_are_those_of_plain_python(bench):
    """Programs as on a GPU, where replicates take as many steps as there are places."""
    every = gpu_kernels.every(9, 5, 11, "gpu")
    last = every.popitem()
    assert last[0] == "replicates, N = 11"  # the program of N = 16, in another shape

    def checked(work):
        with jax.enable_x64(True):
            traced = work.program.trace(*work.arguments)
        text = traced.lower(lowering_platforms=("cuda",)).as_text()
        assert "stablehlo" in text and "custom_call" not in text

        def differs(found):
            assert work.differs(jax.tree.map(lambda x: x + 1, found)) >= 0.9
            return work.differs(found)

        return work._replace(differs=differs)

    for name, make in every.items():
        bench.work(name, lambda make=make: checked(make()))
    assert not bench.wrong and not bench.left_out
    assert len(bench.report.races) == len(every) == 6
    work = every["permutation"]()
    bench.work("a", lambda: work._replace(differs=lambda found: 1e-11))
    bench.work("b", lambda: 1 / 0)
    assert bench.wrong == ["a: differs by 1e-11 from plain Python"]
    assert bench.left_out == ["b (ZeroDivisionError: division by zero)"]
    assert len(bench.report.races) == 6


def test_nothing_begins_after_the_time(bench, capsys):
    late = gpu_bench.Bench(bench.report, "gpu", seconds=-1.0)
    late.peel(inputs.cyclic(3, 4, 9))
    (race,) = late.report.races
    assert [figure["name"] for figure in race["figures"]] == ["XLA, one word"]
    assert not late.begins("lists")
    assert late.left_out == [
        f"{name} (for the time)"
        for name in ("textbook JAX", "pgcjax's tiles", *PALLAS, "lists")
    ]


def test_what_was_predicted_stands_beside(bench):
    bench.report.races.append(
        {
            "title": "peel, N = 16: 2 queries × 3 runs",
            "units": 6,
            "figures": [{"name": "lists", "microseconds": {"median": 1000.0}}],
        }
    )
    bench.beside({("lists", 6, "16"): (2e-3, 3e-3), ("lists", 6, "17"): (1.0, 1.0)})
    title, row = bench.report.races[-1]["title"], bench.report.tables[-1]["rows"]
    assert row == [[title, "lists", 6.0, 2.0, 3.0, 2.0]]


def test_what_is_wrong_or_fails_is_not_timed(bench, monkeypatch, capsys):
    right = gpu_rows.textbook

    def wrong(*arguments):
        row = right(*arguments)
        return dataclasses.replace(row, sums=lambda: row.sums() + np.int64(1))

    def fails(*_):
        raise RuntimeError("out of memory")

    monkeypatch.setattr(gpu_rows, "textbook", wrong)
    monkeypatch.setattr(gpu_rows, "shipped", fails)
    bench.levels(inputs.graded(3, 4, 9))
    bench.end()
    assert bench.wrong == ["textbook JAX: 12 of 12 sums differ"]
    printed = capsys.readouterr().out
    assert "left out: pgcjax's tiles (RuntimeError: out of memory)" in printed
    last = {table["title"]: table["rows"] for table in bench.report.tables[-2:]}
    assert last["WRONG"] == [bench.wrong]
    assert ["pgcjax's tiles (RuntimeError: out of memory)"] in last["left out"]
    (race,) = bench.report.races
    assert [figure["name"] for figure in race["figures"]] == ["levels"]


def test_plain_python_is_compared_bit_by_bit(bench):
    case = inputs.cyclic(3, 4, 9)
    weights = gpu_bench.rank_weights(case.p, case.depth)
    arrays = gpu_rows.lay_out(case, weights, "packed").on(bench.device)
    truth = gpu_rows.one_word(arrays, "cpu").sums()
    bench._published(case, truth)
    assert not bench.wrong
    bench._published(case, truth + 1)
    assert len(bench.wrong) == 1 and "4 of 4 sums differ" in bench.wrong[0]


def test_queries_are_left_out_for_the_memory(bench, capsys):
    assert bench.fit(173, 1000, 170) == (98, 1000, 170)
    assert "left out: 75 of 173 queries at N = 170" in capsys.readouterr().out
    assert bench.fit(8, 32, 512) == (8, 32, 512)
