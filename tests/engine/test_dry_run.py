"""What is foreseen of a job is what happens."""

from pathlib import Path

import pytest

import pgcjax
from pgcjax.datasets.files import demo_folder
from pgcjax.engine.dry_run import Estimate, estimate
from pgcjax.engine.plan import MemoryLimits
from pgcjax.io.reading import memory_limit

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
    assert made(caplog, "engine.job") == foreseen.chunks
    assert made(caplog, "runtime.loop") == foreseen.calls


def made(caplog, module: str) -> int:
    """Count the chunks, or calls, that a module made."""
    return sum(record.name == f"pgcjax.{module}" for record in caplog.records)


def test_measures_of_lists_share_calls(caplog):
    """The first run stands for all: here all have lists of one padded length."""
    measures = ["nDCG@10", "nDCG@20", "ERR@20", "P@10"]
    foreseen = estimate(DEMO / "runs", **JUDGED, measures=measures)
    with caplog.at_level("DEBUG", logger="pgcjax.runtime.loop"):
        scores = pgcjax.evaluate(DEMO / "runs", **JUDGED, measures=measures)
    assert len(scores.table) == foreseen.scores
    assert made(caplog, "runtime.loop") == foreseen.calls < len(measures)


def test_grids_are_foreseen(caplog):
    grids = pgcjax.files.read_grids(DEMO / "grid.csv")
    judged = {"preferences": DEMO / "judgments.txt"}
    measures = ["ImagePGC", "PWP"]
    foreseen = estimate(grids, **judged, measures=measures)
    with caplog.at_level("DEBUG", logger="pgcjax.runtime.loop"):
        scores = pgcjax.evaluate(grids, **judged, measures=measures)
    assert len(scores.table) == foreseen.scores
    assert made(caplog, "runtime.loop") == foreseen.calls


@pytest.mark.parametrize("queries", [1, 173, 10_000])
@pytest.mark.parametrize("memory", ["64MiB", "2GiB", "1TB"])
def test_memory_is_kept(queries, memory):
    limits = MemoryLimits(memory_limit(memory))
    job = Estimate(1000, 1000, 100.0 * queries, queries, [], limits)
    most = limits.memory / 2 + 64 * job.found
    assert job.bytes()["judged documents of two chunks"] <= most
    assert job.chunks * job.per_chunk >= 1000


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
