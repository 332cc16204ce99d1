"""What the machine code of kernels says: how it is read, and what follows from it."""

import json
from collections import Counter
from pathlib import Path

import pytest

import pgcjax

pytest.importorskip("benchmarks.harness", reason="not in a checkout")
from benchmarks.studies import gpu_bounds, gpu_bytes, gpu_compiled  # noqa: E402
from benchmarks.studies.gpu_launches import (  # noqa: E402
    Code,
    Launch,
    launches_of,
)

DOCS = Path(pgcjax.__file__).parents[1] / "docs"
SASS = """
Function : _peel
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/                   LDG.E.128 R4, desc[UR4][R2.64] ;
        /*0020*/              @!P0 IADD3 R5, R4, R1, RZ ;
        /*0030*/                   IMAD R5, R4, R1, RZ ;
        /*0040*/               @P0 BRA 0x10 ;
        /*0050*/              @!P1 EXIT ;
        /*0060*/                   EXIT ;
        /*0070*/                   WARPSYNC 0x1 ;
        /*0080*/                   BRA 0x10 ;
        /*0090*/                   BRA 0x90;
"""
HLO = """HloModule jit_one, is_scheduled=true

%fused (param_0.5: s32[4,8], param_1.2: s32[9,8]) -> s32[4,8] {
  %param_0.5 = s32[4,8]{1,0} parameter(0)
  %param_1.2 = s32[9,8]{1,0} parameter(1)
  %gather.1 = s32[4,8]{1,0} gather(%param_1.2, %param_0.5)
  ROOT %add.1 = s32[4,8]{1,0} add(%param_0.5, %gather.1)
}

%product (param_0.1: f64[6,5], param_1.1: f64[5,2]) -> f64[6,2] {
  %param_0.1 = f64[6,5]{1,0} parameter(0)
  %param_1.1 = f64[5,2]{1,0} parameter(1)
  ROOT %dot.1 = f64[6,2] dot(%param_0.1, %param_1.1), lhs_contracting_dims={1}
}

%body (state: (s32[4,8], s32[9,8])) -> (s32[4,8], s32[9,8]) {
  %state = (s32[4,8]{1,0}, s32[9,8]{1,0}) parameter(0)
  %x = s32[4,8]{1,0} get-tuple-element(%state), index=0
  %y = s32[9,8]{1,0} get-tuple-element(%state), index=1
  %loop_add_fusion.2 = s32[4,8]{1,0} fusion(%x, %y), kind=kLoop, calls=%fused
  ROOT %tuple = (s32[4,8]{1,0}, s32[9,8]{1,0}) tuple(%loop_add_fusion.2, %y)
}

ENTRY %main (a: s32[4,8], b: s32[9,8], m: f64[6,5], k: f64[5,2]) -> s32[4,8] {
  %a = s32[4,8]{1,0} parameter(0)
  %b = s32[9,8]{1,0} parameter(1)
  %m = f64[6,5]{1,0} parameter(2)
  %k = f64[5,2]{1,0} parameter(3)
  %gemm_fusion = f64[6,2]{1,0} fusion(%m, %k), kind=kCustom, calls=%product
  %pair = (s32[4,8]{1,0}, s32[9,8]{1,0}) tuple(%a, %b)
  %while.1 = (s32[4,8], s32[9,8]) while(%pair), condition=%no, body=%body, TRIPS
  ROOT %out = s32[4,8]{1,0} get-tuple-element(%while.1), index=0
}
"""
KNOWN = 'backend_config={"known_trip_count":{"n":"7"}}'


def test_instructions_inside_and_outside_of_the_loop():
    """What follows the last exit, with its jumps, is no part of it."""
    once, loop = gpu_compiled.instructions(SASS)
    assert once == Counter({"LDC": 1, "EXIT": 2})
    assert loop == Counter({"LDG.E.128": 1, "IADD3": 1, "IMAD": 1, "BRA": 1})
    assert gpu_compiled.cycles(loop) == {
        **{"issue": 4, "memory unit": 4, "integers": 2, "products": 2}
    }
    floats = Counter({"DFMA": 2, "FADD": 3, "MUFU.RCP": 1})
    assert gpu_compiled.cycles(floats) == {"issue": 6, "float64": 4, "special": 8}


@pytest.mark.parametrize(("trips", "turns"), [(KNOWN, 7), ("", 3)])
def test_launches_of_a_program(trips, turns):
    """A gather reads what it takes; a loop has its turns, or those that are given."""
    text = HLO.replace("TRIPS", trips)
    code = Code(8, 0, Counter(), Counter())
    grids = {"loop_add_fusion_2": (5, 64)}
    launches = launches_of(text, {"loop_add_fusion_2": code}, grids, 3)
    assert launches == [
        Launch("gemm_fusion", 1, 0, 0, *[8 * (30 + 10 + 12)] * 2, 2.0 * 12 * 5, None),
        Launch("loop_add_fusion_2", turns, 5, 64, 4 * 32 * 3, 4 * 32 * 3, 0.0, code),
    ]


def test_a_gather_reads_what_it_takes_and_of_memory_an_array_once():
    text = HLO.replace("TRIPS", "").replace("s32[9,8]", "s32[6]")
    *_, launch = launches_of(text, {}, {})
    assert (launch.bytes, launch.cached) == (256 + 24, 256 + 128)


def peeled(registers: int = 80, threads: int = 32) -> Launch:
    loop = Counter({"LDG.E.128": 6, "LDG.E.64": 1, "LDG.E": 2, "LOP3": 66})
    code = Code(registers, 0, Counter({"STG.E": 1}), loop)
    return Launch("_peel", 1, 13_200, threads, *[335_000_000] * 2, 0.0, code)


def test_an_update_in_place_writes_its_slices():
    text = """
%put (param_0.1: s32[90,8], param_1.1: s32[2,8], param_2: s32[]) -> s32[90,8] {
  %param_0.1 = s32[90,8]{1,0} parameter(0)
  %param_1.1 = s32[2,8]{1,0} parameter(1)
  %param_2 = s32[] parameter(2)
  %one = s32[90,8]{1,0} dynamic-update-slice(%param_0.1, %param_1.1, %param_2)
  ROOT %two = s32[90,8]{1,0} dynamic-update-slice(%one, %param_1.1, %param_2)
}

ENTRY %main (a: s32[90,8], b: s32[2,8], c: s32[]) -> s32[90,8] {
  %a = s32[90,8]{1,0} parameter(0)
  %b = s32[2,8]{1,0} parameter(1)
  %c = s32[] parameter(2)
  ROOT %fusion = s32[90,8]{1,0} fusion(%a, %b, %c), kind=kLoop, calls=%put
}
"""
    [put] = launches_of(text, {}, {})
    assert put.bytes == put.cached == 2 * 64 + 64 + 4  # two slices of one, and where


def test_how_many_warps_fit():
    assert [gpu_compiled.resident(peeled(n)) for n in (16, 80, 81, 255)] == [
        *(32, 24, 20, 8)
    ]
    assert gpu_compiled.resident(peeled(80, 256)) == 24
    assert gpu_compiled.resident(peeled(32, 1024)) == 64


def test_the_longest_bound_is_taken():
    row = gpu_bounds.Compiled("peel", "", 1, [peeled()], turns=100, runs=4)
    found = gpu_bounds.bound(row, gpu_bounds.BEST)
    beyond = 335_000_000 + 13_200 * 100 * (6 * 512 + 3 * 4 * 32)
    assert found.cache == beyond and found.memory == 335_000_000
    assert found.integers == 16 * 13_200 * 100 * 132
    assert found.times["memory"] == pytest.approx(1e-4)
    assert found.times["L2"] == pytest.approx(beyond / 5.5e12)
    assert found.times["integers"] == pytest.approx(13_200 * 13_200 / 528 / 1.98e9)
    assert found.times["latency"] == pytest.approx(5 * 100 * 300 / 1.98e9)
    assert found.total == max(found.times.values()) == found.times["L2"]
    assert next(iter(found.times)) == "L2"
    worst = gpu_bounds.bound(row, gpu_bounds.WORST)
    assert worst.total == pytest.approx(2 * found.total)


def test_loops_whose_arrays_fit_read_the_cache():
    step = peeled()._replace(times=10, code=None)
    small = step._replace(bytes=30_000_000)
    one, two = (
        gpu_bounds.bound(gpu_bounds.Compiled("peel", "", 1, launches), gpu_bounds.BEST)
        for launches in ([small], [small, small])
    )
    assert one.memory == 0 and one.times["launches"] == pytest.approx(15e-6)
    assert two.memory == 6e8


def test_the_pages_say_what_was_kept():
    assert "\n".join(gpu_bounds.lines()) in (DOCS / "gpu.md").read_text()
    kept = json.loads(gpu_bounds.KEPT.read_text())
    assert kept["what"] == "a prediction from compiled code; no GPU was run"
    assert kept["best"] == gpu_bounds.BEST._asdict()
    assert kept["worst"] == gpu_bounds.WORST._asdict()


def test_what_was_measured_stands_beside(tmp_path):
    """By the name of the row, the number of pairs and that of documents."""
    figure = {"name": "lists", "microseconds": {"median": 2.0}}
    race = {"title": "lists, N = 17: 3 queries", "units": 6, "figures": [figure]}
    path = tmp_path / "measured.json"
    path.write_text(json.dumps({"races": [race]}))
    assert gpu_bounds.measured(path) == {("lists", 6, "17"): 0.012}
    assert gpu_bounds.measured().keys() & gpu_bounds.foretold().keys()


@pytest.mark.usefixtures("shapes_of_users")
def test_what_a_job_sends():
    """Graphs once for both chunks of runs; and the page has what is counted."""
    count = gpu_bytes.sent(3, 12, 11, chunk=7)
    assert count["chunks"] == 2 and count["calls"] == 2
    assert count["lists"] == 2 * 3 * 2**16  # the least room: a vertex below 256, a rank
    of_graphs = 4 * (16 * (16 + 1) + 4)  # counts, masks and sizes
    assert count["graphs"] == of_graphs + 2 * 8 * 1001
    assert gpu_bytes.row(*gpu_bytes.JOBS[1]) in (DOCS / "gpu.md").read_text()


def test_compiling_needs_packages(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(gpu_compiled, "missing", lambda: "jax[cuda12]")
    out = tmp_path / "out.json"
    assert gpu_bounds.main(["--compile", "-o", str(out)]) == 2
    assert capsys.readouterr().err == "not installed: jax[cuda12]\n"
    assert not out.exists()
