"""What is foreseen of a job is what happens."""

from pathlib import Path

import pytest

import pgcjax
from pgcjax.datasets.files import demo_folder
from pgcjax.engine import cost
from pgcjax.engine.estimate import estimate
from pgcjax.engine.plan import MemoryLimits
from pgcjax.io.memory import memory_limit

pytestmark = pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning")
DEMO = demo_folder()
JUDGED = {"preferences": DEMO / "preferences.csv", "qrels": DEMO / "qrels.txt"}
MEASURES = ["PGC", "PGC(graph=combined)", "Compat"]


@pytest.mark.parametrize("packed", [False, True])
def test_calls_and_chunks_are_as_foreseen(tmp_path, packed, caplog):
    runs = DEMO / "runs"
    if packed:
        pgcjax.files.pack(runs, tmp_path / "runs.parquet", **JUDGED)
        runs = tmp_path / "runs.parquet"
    foreseen = estimate(runs, **JUDGED, measures=MEASURES)
    assert foreseen.runs == 8
    assert foreseen.scores == 8 * 20 * 3
    with caplog.at_level("DEBUG", logger="pgcjax"):
        scores = pgcjax.evaluate(runs, **JUDGED, measures=MEASURES)
    assert len(scores.table) == foreseen.scores
    assert made(caplog, "engine.job") == len(list(foreseen.chunks()))
    assert made(caplog, "runtime.loop") == calls_of(foreseen)


def made(caplog, module: str) -> int:
    """Count the chunks, or calls, that a module made."""
    return sum(record.name == f"pgcjax.{module}" for record in caplog.records)


def calls_of(foreseen: cost.Estimate) -> int:
    calls = sum(
        number for runs in foreseen.chunks() for *_, number in foreseen.tiles(runs)
    )
    assert foreseen.calls == calls
    return calls


def test_measures_of_lists_share_calls(caplog):
    """The first run stands for all: here all have lists of one padded length."""
    measures = ["nDCG@10", "nDCG@20", "ERR@20", "P@10"]
    foreseen = estimate(DEMO / "runs", **JUDGED, measures=measures)
    with caplog.at_level("DEBUG", logger="pgcjax.runtime.loop"):
        scores = pgcjax.evaluate(DEMO / "runs", **JUDGED, measures=measures)
    assert len(scores.table) == foreseen.scores
    assert made(caplog, "runtime.loop") == calls_of(foreseen) < len(measures)


def test_grids_are_foreseen(caplog):
    grids = pgcjax.files.read_grids(DEMO / "grid.csv")
    judged = {"preferences": DEMO / "judgments.txt"}
    measures = ["ImagePGC", "PWP"]
    foreseen = estimate(grids, **judged, measures=measures)
    with caplog.at_level("DEBUG", logger="pgcjax.runtime.loop"):
        scores = pgcjax.evaluate(grids, **judged, measures=measures)
    assert len(scores.table) == foreseen.scores
    assert made(caplog, "runtime.loop") == calls_of(foreseen)


def test_text_is_counted_by_its_size():
    foreseen = estimate(DEMO / "runs", **JUDGED)
    lines = sum(p.read_text().count("\n") for p in (DEMO / "runs").iterdir())
    assert foreseen.lines == pytest.approx(lines, rel=0.2)


def a_job(runs: int, queries: int, memory: str, found: float = 100.0) -> cost.Estimate:
    sizes = 192, queries, 170 * queries
    group = cost.CostGroup("PGC", "packed", *sizes, 4 * 192**2, 48 * 192)
    return cost.Estimate(
        runs=runs,
        units=runs,
        lines=0.0,
        found=found * queries,
        groups=[group],
        limits=MemoryLimits(memory_limit(memory)),
    )


@pytest.mark.parametrize("queries", [1, 173, 10_000])
@pytest.mark.parametrize("memory", ["64MiB", "2GiB", "1TB"])
def test_memory_is_kept_and_all_runs_are_in_a_chunk(queries, memory):
    made = a_job(1000, queries, memory)
    assert sum(made.chunks()) == 1000
    sizes = made.bytes()
    one = 16 * made.found
    assert sizes["judged documents of two chunks"] <= made.limits.memory / 2 + 4 * one


def test_the_documents_tables_are_what_is_simulated():
    scaling = pytest.importorskip(
        "benchmarks.studies.scaling", reason="not in a checkout"
    )
    text = (Path(pgcjax.__file__).parents[1] / "docs/scaling.md").read_text()
    assert "\n".join(scaling.lines()) in text


def test_dry_run_computes_nothing(caplog):
    with caplog.at_level("DEBUG", logger="pgcjax"):
        estimate(DEMO / "runs", **JUDGED, measures=MEASURES)
    assert not caplog.records
