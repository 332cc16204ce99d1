"""Parts as tasks of Dask: a worker dies, and its part goes on."""

import os
import pickle
import re
import shutil
import signal
import time
from pathlib import Path

import pytest
from helpers.processes import context, spoil

import pgcjax
from pgcjax.datasets.files import demo_folder
from pgcjax.engine.plan import using

PAGE = Path(__file__).parents[2] / "docs" / "cluster.md"
COUNT = 4
DIES = 3
pytestmark = pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning")


def mortal(runs, *, preferences, part, journal) -> pgcjax.Scores:
    """Score a part; the first worker at one of them dies when half of it is kept."""

    def progress(stage: str, done: int, total: int) -> None:
        if part[0] != DIES or Path("died").exists() or (stage, done) != ("reading", 2):
            return
        while not [*Path(journal).glob("0-1.npz")]:
            time.sleep(0.01)
        spoil(sorted(Path(runs).iterdir())[DIES - 1])  # is not to be read again
        Path("died").touch()
        os.kill(os.getpid(), signal.SIGKILL)

    job = pgcjax.Job(part=part, journal=journal, progress=progress)
    with using(seconds=0.0, rows=0):
        return pgcjax.evaluate(runs, preferences=preferences, job=job)


@pytest.mark.slow
def test_tasks_of_dask(tmp_path, monkeypatch):
    """What docs/cluster.md says to type, with a cluster of this machine."""
    distributed = pytest.importorskip("distributed", reason="no Dask")
    import dask

    shutil.copytree(demo_folder() / "runs", tmp_path / "runs")
    (tmp_path / "work").mkdir()
    shutil.copy(demo_folder() / "preferences.csv", tmp_path / "judgments.txt")
    monkeypatch.chdir(tmp_path)
    whole = pgcjax.evaluate("runs/", preferences="judgments.txt").save("whole.parquet")
    (block,) = re.findall(
        r'```python title="tasks.py"\n(.*?)```', PAGE.read_text(), re.S
    )
    block = block.replace('"tcp://node0:8786"', "cluster")
    assert "Client(cluster)" in block and "PARTS = 4" in block
    block = block.replace("pgcjax.evaluate(", "mortal(")
    own = {"distributed.worker.multiprocessing-method": "forkserver"}
    context()
    with (
        dask.config.set(own),
        distributed.LocalCluster(
            n_workers=COUNT, threads_per_worker=1, dashboard_address=None
        ) as cluster,
    ):
        exec(block, {"cluster": cluster, "mortal": mortal})
    assert Path("died").exists()
    assert Path("scores.parquet").read_bytes() == whole.read_bytes()


@pytest.mark.parametrize(
    ("part", "said"),
    [
        (3, "part=3: expected (i, n) such as (3, 16), 1 <= i <= n"),
        ((0, 2), "part=(0, 2): expected (i, n) such as (3, 16), 1 <= i <= n"),
        ((True, 2), "part=(True, 2): expected (i, n) such as (3, 16), 1 <= i <= n"),
        ((1, 2), "part 1/2: these runs make at most 1 part"),
    ],
)
def test_parts_that_are_none(tmp_path, part, said):
    run = tmp_path / "a.run"
    run.write_text("1 Q0 a 1 2.0 a\n")
    with pytest.raises(pgcjax.errors.UsageError) as error:
        pgcjax.evaluate(run, qrels={"1": {"a": 1}}, job=pgcjax.Job(part=part))
    assert str(error.value) == said


def test_what_parts_return_is_merged(tmp_path):
    """It comes from other processes, and in any order."""
    judged = {"qrels": {"1": {"a": 1}, "2": {"b": 1}}}
    for name, order in (("x", "ab"), ("y", "ba"), ("z", "cb")):
        scores = [(query, doc) for query in (1, 2) for doc in order]
        lines = (f"{q} Q0 {d} 0 {-i} {name}\n" for i, (q, d) in enumerate(scores))
        (tmp_path / f"{name}.run").write_text("".join(lines))
    whole = pgcjax.evaluate(tmp_path, **judged)
    parts = [
        pgcjax.evaluate(tmp_path, **judged, job=pgcjax.Job(part=(i, 3)))
        for i in (3, 1, 2)
    ]
    assert [part.metadata["part"] for part in parts] == [[3, 3], [1, 3], [2, 3]]
    merged = pgcjax.files.merge(pickle.loads(pickle.dumps(part)) for part in parts)
    assert merged.table.equals(whole.table) and merged.metadata == whole.metadata


def test_nothing_is_drawn_of_a_part_and_nothing_merged_of_none():
    with pytest.raises(pgcjax.errors.UsageError) as error:
        pgcjax.uncertainty(
            "a.run", qrels={"1": {"a": 1}}, job=pgcjax.Job(part=(1, 2)), replicates=9
        )
    assert str(error.value) == (
        "part=(1, 2): replicates and leave_out need all runs: leave it out"
    )
    with pytest.raises(pgcjax.errors.DataError) as error:
        pgcjax.files.merge([])
    assert str(error.value) == "no part was given. Name files, or give what was scored."
    run = {"1": {"a": 1.0}}
    scores = pgcjax.evaluate({"x": run, "y": run}, qrels={"1": {"a": 1}})
    scores.metadata["part"] = [1, 2]
    with pytest.raises(pgcjax.errors.DataError) as error:
        pgcjax.files.merge([scores, scores])
    assert str(error.value) == "parts[1]: is part 1/2, as parts[0] is"
