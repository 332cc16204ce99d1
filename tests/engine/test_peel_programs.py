"""Which program peels: by devices, JAX, what is asked for, and what compiles."""

import sys
import warnings
from types import ModuleType, SimpleNamespace

import jax
import pytest
from test_peel_batch import job

from pgcjax.engine import peel_programs
from pgcjax.engine.peel_batch import overlap_sums
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
    whole = overlap_sums(graphs, rankings, weights)
    on_a_gpu(monkeypatch, "mosaic", "triton")
    stand_in(monkeypatch, **kernels)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        assert (overlap_sums(graphs, rankings, weights) == whole).all()
        assert peel_choice().name == program
    warned = [str(x.message) for x in warned if issubclass(x.category, DataWarning)]
    assert len(warned) == len(lines)
    for line, text in zip(lines, warned, strict=True):
        assert line in text and "\n" not in text


@pytest.mark.parametrize(
    ("wanted", "program"),
    [("auto", "triton"), ("pallas", "triton"), ("mosaic", "mosaic"), ("xla", "xla")],
)
def test_the_peel_that_is_asked_for(machine, monkeypatch, wanted, program):
    machine()
    monkeypatch.setenv(VARIABLE, wanted)
    assert peel_choice().name == program


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ("mosaic", "PGCJAX_PEEL=mosaic: not mosaic: needs an NVIDIA GPU of compute"),
        ("pallas", "not triton: needs an NVIDIA GPU of compute capability 8.0 or more"),
        ("cuda", "PGCJAX_PEEL=cuda: expected one of auto, xla, pallas, triton, mosaic"),
    ],
)
def test_what_cannot_be_is_an_error(monkeypatch, wanted, message):
    monkeypatch.setenv(VARIABLE, wanted)
    with pytest.raises(UsageError, match=message):
        peel_choice()


def test_triton_in_the_engine(monkeypatch):
    """The whole way, with a kernel that JAX interprets."""
    graphs, rankings, weights = job()
    whole = overlap_sums(graphs, rankings, weights)
    on_a_gpu(monkeypatch, "triton")
    assert peel_choice().name == "triton"
    assert (overlap_sums(graphs, rankings, weights) == whole).all()
