"""Which program peels: by devices, JAX, what is asked for, and what compiles."""

import sys
import warnings
from types import ModuleType, SimpleNamespace

import jax
import pytest
from helpers.collections import assert_same_bits, collection
from helpers.compiled import mosaic
from helpers.kernel_weights import telling_weights
from test_peel_batch import job

import pgcjax
from pgcjax.engine import peel_batch, peel_programs
from pgcjax.engine.peel_batch import PeelGraphs
from pgcjax.engine.peel_programs import PROGRAMS, VARIABLE, peel_choice
from pgcjax.errors import DataWarning, UsageError
from pgcjax.kernels import peel_packed


def peel(rows, words, order, inverse, ranks, steps, weights, *, where, interpret):
    """Peel by XLA, in the place of a kernel."""
    del interpret

    def of_run(order, inverse, ranks):
        arrays = rows, words, order, inverse, ranks, steps, weights
        return peel_packed.peeled_overlap(*arrays, where=where)

    return jax.vmap(of_run)(order, inverse, ranks)


def wrong(*arrays, **options):
    return peel(*arrays, **options) + 1


def failing(*arrays, **options):
    raise NotImplementedError("no such layout\nand more lines")


@pytest.fixture
def machine(monkeypatch):
    """Set the device that JAX seems to have; XLA peels in the place of all kernels."""

    def is_of(capability="9.0", platform="gpu", version="cuda 12090"):
        client = SimpleNamespace(platform_version=version)
        device = SimpleNamespace(
            platform=platform, client=client, compute_capability=capability
        )
        monkeypatch.setattr(jax, "local_devices", lambda: [device])

    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(jax, "__version__", "0.10.2")  # of which all programs are
    stand_in(monkeypatch)
    return is_of


def stand_in(monkeypatch, **kernels):
    """Put functions in the place of kernels; None: the module is not there."""
    for program in PROGRAMS:
        module = ModuleType(program.module)
        vars(module)["peeled_overlap"] = function = kernels.get(program.name, peel)
        there = module if function else None
        monkeypatch.setitem(sys.modules, program.module, there)


def on_a_gpu(monkeypatch, *names):
    """Have a job choose among programs as on a GPU that suits those of these names."""
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    lacking = {program: program.name not in names for program in PROGRAMS}
    monkeypatch.setattr(peel_programs, "misfit", lambda x: "no" if lacking[x] else "")


@pytest.mark.parametrize(
    ("capability", "jax_version", "program"),
    [
        ("10.0", "0.12.0.1", "triton"),
        ("9.0", "0.10.2", "triton"),
        ("8.0", "0.9.9", "triton"),
        ("7.5", "0.10.2", "xla"),
    ],
)
def test_the_table(machine, monkeypatch, capability, jax_version, program):
    machine(capability)
    monkeypatch.setattr(jax, "__version__", jax_version)
    assert peel_choice().name == program
    assert len(peel_choice().reasons) == ["triton", "mosaic", "xla"].index(program)


@pytest.mark.parametrize(
    "device", [{"platform": "tpu"}, {"version": "rocm 60200"}, {"platform": "cpu"}]
)
def test_other_devices_run_xla(machine, device):
    machine(**device)
    assert peel_choice().name == "xla"


@pytest.mark.parametrize(
    ("kernels", "program", "lines"),
    [
        ({"triton": None}, "mosaic", ["triton here: ModuleNotFoundError: import of"]),
        ({"triton": wrong}, "mosaic", ["triton here: a wrong sum: "]),
        (
            {"mosaic": failing, "triton": failing},
            "xla",
            [
                "triton here: NotImplementedError: no such layout",
                "mosaic here: NotImplementedError: no such layout",
            ],
        ),
    ],
)
def test_what_fails_is_left_out_with_one_line(monkeypatch, kernels, program, lines):
    """A job goes on by the next program, with the same bits."""
    graphs, rankings, weights = job()
    whole = PeelGraphs(graphs).overlaps(rankings, weights)
    on_a_gpu(monkeypatch, "mosaic", "triton")
    stand_in(monkeypatch, **kernels)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        assert (PeelGraphs(graphs).overlaps(rankings, weights) == whole).all()
        assert peel_choice().name == program
    warned = [str(x.message) for x in warned if issubclass(x.category, DataWarning)]
    assert len(warned) == len(lines)
    for line, text in zip(lines, warned, strict=True):
        assert line in text and "\n" not in text


@pytest.mark.parametrize(
    ("wanted", "program"),
    [("auto", "triton"), ("triton", "triton"), ("mosaic", "mosaic"), ("xla", "xla")],
)
def test_the_peel_that_is_asked_for(machine, monkeypatch, wanted, program):
    machine()
    monkeypatch.setenv(VARIABLE, wanted)
    assert peel_choice().name == program


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ("mosaic", "PGCJAX_PEEL=mosaic: not mosaic: needs an NVIDIA GPU of compute"),
        ("triton", "not triton: needs an NVIDIA GPU of compute capability 8.0 or more"),
        ("cuda", "PGCJAX_PEEL=cuda: expected one of auto, xla, triton, mosaic"),
    ],
)
def test_what_cannot_be_is_an_error(monkeypatch, wanted, message):
    monkeypatch.setenv(VARIABLE, wanted)
    with pytest.raises(UsageError, match=message):
        peel_choice()


def scored():
    """Score a small collection by PGC, and each score by its twin, too."""
    prefs, _, runs = collection(3, queries=2, runs=2, most_docs=9)
    scores = pgcjax.evaluate(runs, preferences=prefs, measures="PGC", verify=1.0)
    return scores.table.set_index(["run_id", "query_id"])["value"]


def failing_at_many_runs(rows, words, order, *arrays, **options):
    """Fail as a kernel does that has no room, but for the first small peel."""
    if order.shape[0] > 1:
        raise NotImplementedError("no room for so many\nand more lines")
    return peel(rows, words, order, *arrays, **options)


def test_a_job_goes_on_where_a_program_fails(monkeypatch):
    """In the middle of a job: a line for each program, and the same bits."""
    whole = scored()
    on_a_gpu(monkeypatch, "mosaic", "triton")
    monkeypatch.setattr(peel_programs, "_FAILED", {})
    for told_or_compiled in (peel_programs._warn_once, peel_batch.peel_program):
        told_or_compiled.cache_clear()
    failing = "triton", "mosaic"
    stand_in(monkeypatch, **dict.fromkeys(failing, failing_at_many_runs))
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        assert_same_bits(scored(), whole)
    warned = [str(x.message) for x in warned if "peels" in str(x.message)]
    text = "{} here: NotImplementedError: no room for so many"
    lines = [f"peels are not computed by {text.format(name)}" for name in failing]
    assert warned == lines


def test_what_xla_cannot_do_is_an_error(monkeypatch):
    def failing(*_, where):
        raise MemoryError("no room")

    monkeypatch.setattr(peel_packed, "peeled_overlap", failing)
    on_a_gpu(monkeypatch)
    graphs, rankings, weights = job(runs=3)
    with pytest.raises(MemoryError, match="no room"):
        PeelGraphs(graphs).overlaps(rankings, telling_weights(0, 43))


@pytest.mark.parametrize(
    "program", ["triton", pytest.param("mosaic", marks=pytest.mark.slow)]
)
def test_kernels_through_evaluate(monkeypatch, program):
    """The whole way, with a kernel that JAX interprets."""
    if program == "mosaic":
        mosaic(interpreted=True)
    whole = scored()
    on_a_gpu(monkeypatch, program)
    monkeypatch.setenv(VARIABLE, program)
    before = jax.config.jax_enable_x64
    try:  # of all threads: the interpreter computes in those of its own
        jax.config.update("jax_enable_x64", True)
        assert peel_choice().name == program
        assert_same_bits(scored(), whole)
    finally:
        jax.config.update("jax_enable_x64", before)
