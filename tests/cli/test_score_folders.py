"""Folders of parts, scores that stay on disk, and means alone, as users call them."""

import json
import re
import shutil
from concurrent.futures import ThreadPoolExecutor

import pandas as pd
import pytest
from helpers.processes import free_port
from pandas.testing import assert_frame_equal

import pgcjax as package
from pgcjax.cli.targets import PartFolder
from pgcjax.datasets.files import demo_folder
from pgcjax.engine import plan
from pgcjax.engine.distributed import start

JUDGED = ("--prefs", "judgments.txt", "--qrels", "qrels.txt")
MEASURES = ("-m", "PGC,AP(mean=geometric),NumRelRet")
pytestmark = pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning")


@pytest.fixture
def small_chunks(caplog):
    """Chunks of a run each; the log has a record for each that is scored."""
    with (
        plan.using(seconds=0.0, rows=0),
        caplog.at_level("DEBUG", logger="pgcjax.engine.job"),
    ):
        yield caplog


@pytest.mark.parametrize("missing", ["zero", "skip"])
def test_parts_in_a_folder_are_the_whole(pgcjax, demo, small_chunks, missing):
    job = ("evaluate", *JUDGED, *MEASURES, "--missing", missing, "runs")
    whole = pgcjax(*job, "-o", "one.parquet")
    assert whole.code == 0 and len(small_chunks.records) == 8
    for i in (3, 1, 2):
        done = pgcjax(*job, "--part", f"{i}/3", "-o", "set/")
        count = len(pd.read_parquet(demo / "set" / f"{i}-of-3.parquet"))
        assert done.err.endswith(f"pgcjax: wrote {count} scores to set/\n"), done.err
    names = sorted(path.name for path in (demo / "set").iterdir())
    assert names == ["1-of-3.parquet", "2-of-3.parquet", "3-of-3.parquet"]
    merged = pgcjax("files", "merge", "set/", "-o", "merged.parquet")
    assert merged.out == whole.out and merged.code == 0
    one = (demo / "one.parquet").read_bytes()
    assert (demo / "merged.parquet").read_bytes() == one
    read = package.files.read_scores("set")
    assert read.stored
    table = package.files.read_scores(pgcjax(*job, "-o", "s.csv") and "s.csv").table
    assert_frame_equal(read.table, table, check_exact=True)
    assert_frame_equal(pd.read_parquet("one.parquet"), table, check_exact=True)
    for verb in ("correlate", "compare", "discriminate"):
        line = [verb, *MEASURES, "--missing", "zero"]
        line += ["--test", "t"] if verb != "correlate" else []
        line += ["--format", "csv"]
        assert pgcjax(*line, "set/")[:2] == pgcjax(*line, "s.csv")[:2]


def test_a_folder_for_other_parts(pgcjax, demo):
    job = ("evaluate", *JUDGED, "runs", "-o", "set/")
    assert pgcjax(*job).code == 0
    before = (demo / "set" / "1-of-1.parquet").read_bytes()
    done = pgcjax(*job, "--part", "1/2")
    assert (done.code, done.err) == (
        2,
        "pgcjax: error: set/: has '1-of-1.parquet': this call writes one of 2 parts "
        "there. Name a new folder, or one that has scores of this job alone.\n",
    )
    for option, said in (
        (
            ("--score-format", "tot"),
            "--score-format works with files, not with folders",
        ),
        (("-o", "judgments.txt/"), "judgments.txt/: is no folder"),
        (("-o", "set"), "set: is a folder; name a file, or set/ for a folder of parts"),
        (("-o", "runs/"), "runs/: would overwrite runs/alder.txt, which this call "),
    ):
        done = pgcjax(*job, *option)
        assert done.code == 2 and said in done.err, done.err
    again = pgcjax(*job)  # the same part may be made again
    assert again.code == 0 and [*(demo / "set").iterdir()] == [
        demo / "set" / "1-of-1.parquet"
    ]
    assert (demo / "set" / "1-of-1.parquet").read_bytes() == before


def test_a_full_disk_and_resume(pgcjax, demo, small_chunks, monkeypatch):
    """What was scored before writing failed is kept, and not scored again."""
    job = ("evaluate", *JUDGED, "runs", "-o", "set/")
    assert pgcjax(*job).code == 0
    whole = (demo / "set" / "1-of-1.parquet").read_bytes()
    shutil.rmtree(demo / "set")
    small_chunks.clear()

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("pyarrow.parquet.ParquetWriter.write_table", full)
        done = pgcjax(*job)
    assert (done.code, done.out) == (2, "") and done.err.endswith(
        "pgcjax: error: set/1-of-1.parquet: cannot write there: No space left on "
        "device. An existing file there is unchanged.\n"
    )
    assert [path.name for path in (demo / "set").iterdir()] == [
        ".1-of-1.parquet.partial"
    ]
    assert len(small_chunks.records) == 8
    small_chunks.clear()
    assert pgcjax(*job, "--resume").code == 0
    assert not small_chunks.records
    assert (demo / "set" / "1-of-1.parquet").read_bytes() == whole
    assert pgcjax(*job).code == 0
    assert len([*(demo / "set").iterdir()]) == 1


def test_processes_write_side_by_side(tmp_path, monkeypatch):
    """More processes than runs: one of them writes a part without scores."""
    monkeypatch.chdir(tmp_path)
    folder = demo_folder()
    judged = {"preferences": folder / "preferences.csv", "measures": ["PGC", "P@5"]}
    judged |= {"qrels": folder / "qrels.txt"}
    runs = sorted((folder / "runs").iterdir())[:2]
    alone = package.evaluate(runs, **judged)
    port = free_port()

    def one(i: int) -> package.Scores:
        with start(f"{i}/3@localhost:{port}") as processes:
            part = PartFolder.of("set/", None, processes)
            assert part
            job = package.Job(processes=processes)
            scores = package.evaluate(runs, **judged, verify=0.1, job=job)
            return part.save(scores, lambda *_: None)

    with plan.using(apart=True), ThreadPoolExecutor(3) as pool:
        found = list(pool.map(one, (1, 2, 3)))
    assert [scores.count for scores in found] == [80, 40, 0]
    for scores in (found[0], package.files.read_scores("set/")):
        assert_frame_equal(scores.table, alone.table, check_exact=True)
        assert_frame_equal(scores.mean(), alone.mean(), check_exact=True)
    assert found[0].notes[:-1] == alone.notes
    assert re.fullmatch(r"\d+ of 80 scores recomputed: equal", found[0].notes[-1])
    assert package.files.read_scores("set/").metadata == alone.metadata


@pytest.mark.parametrize("missing", ["zero", "skip"])
def test_means_alone(pgcjax, demo, small_chunks, missing):
    job = ("evaluate", *JUDGED, *MEASURES, "--missing", missing, "runs")
    whole = pgcjax(*job, "-o", "s.parquet")
    done = pgcjax(*job, "--means-only", "-o", "m.parquet")
    head = done.out.splitlines()[0]
    assert done.out.splitlines()[1:] == whole.out.splitlines()[1:]
    assert '"means_only": true' in head
    assert done.err.endswith("pgcjax: wrote 24 scores to m.parquet\n")
    means, scores = (package.files.read_scores(f"{n}.parquet") for n in ("m", "s"))
    assert_frame_equal(means.mean(), scores.mean(), check_exact=True)
    assert set(pd.read_parquet("m.parquet")["query_id"]) == {"all"}
    names = []
    for i in (1, 2):
        names.append(f"m{i}.parquet")
        part = ("--means-only", "--part", f"{i}/2", "-o", names[-1])
        assert pgcjax(*job, *part).code == 0
    assert pgcjax("files", "merge", *names, "-o", "m3.parquet").code == 0
    assert (demo / "m3.parquet").read_bytes() == (demo / "m.parquet").read_bytes()
    truth = ("correlate", "--truth", "m.parquet", "--truth-measure", "PGC", "-m", "PGC")
    truth += ("--missing", "drop", "--interval", "none", "s.parquet")
    assert "\tPGC\ttau\t" in pgcjax(*truth).out
    done = pgcjax("compare", "m.parquet", "-m", "PGC")
    assert (done.code, done.err) == (
        2,
        "pgcjax: error: m.parquet: holds means alone (topic 'all'), no scores of "
        "queries. Let the tool write queries, too (trec_eval -q); correlate --truth "
        "takes means.\n",
    )


def test_means_alone_as_other_files(pgcjax, demo):
    job = ("evaluate", *JUDGED, "runs", "--means-only")
    printed = pgcjax(*job).out.splitlines()[1:]
    for name in ("m.trec", "m.csv", "m.jsonl"):
        assert pgcjax(*job, "-o", name).code == 0
    lines = (demo / "m.trec").read_text().splitlines()[1:]
    cells = [line.rsplit("\t", 1) for line in lines]
    assert [f"{names}\t{float(value):.4f}" for names, value in cells] == printed
    assert pgcjax(*job, "-o", "m.txt", "--score-format", "tot").code == 0
    assert (demo / "m.txt").read_text().splitlines() == lines
    for option in (["-q"], ["--verify", "0.1"]):
        done = pgcjax(*job, *option)
        assert done.code == 2 and done.err.endswith(
            "--means-only keeps and prints only means: leave out -q and --verify\n"
        )
    means = (
        package.files.read_scores("m.csv").mean()["PGC"].sort_values(ascending=False)
    )
    best = [
        {"rank": i + 1, "run_id": run, "PGC": float(mean)}
        for i, (run, mean) in enumerate(means.items())
    ]
    rows = json.loads(pgcjax(*job, "-m", "PGC", "--format", "json").out)["rows"]
    assert rows == best
    lines = pgcjax(*job, "-m", "PGC", "--format", "csv", "--top", "2").out.splitlines()
    assert lines[1:3] == ["rank,run_id,PGC", f"1,{means.index[0]},{means.iloc[0]}"]
    assert len(lines) == 4


def test_means_alone_go_on_where_they_were(pgcjax, demo, small_chunks, monkeypatch):
    job = ("evaluate", *JUDGED, "runs", "--means-only", "-o", "m.parquet")
    whole = pgcjax(*job)
    data = (demo / "m.parquet").read_bytes()

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("pyarrow.parquet.ParquetWriter.write_table", full)
        assert pgcjax(*job).code == 2
    small_chunks.clear()
    done = pgcjax(*job, "--resume")
    assert not small_chunks.records and done.out == whole.out
    assert (demo / "m.parquet").read_bytes() == data
