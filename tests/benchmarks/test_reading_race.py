"""The race of readers: each reads the same ranks, on one core and on more."""

import io
import json

import numpy as np
import pytest

texts = pytest.importorskip("benchmarks.texts", reason="not in a checkout")
from benchmarks import reading  # noqa: E402
from benchmarks.harness import Report  # noqa: E402


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    texts.write(folder, 2, queries=3, depth=200)
    return folder


@pytest.mark.parametrize("kind", ["plain", "gz"])
def test_each_process_tells_its_ranks_and_times(folder, kind, monkeypatch, capsys):
    ranks = set()
    for way in ("pandas", "pgcjax"):
        monkeypatch.setattr("sys.stdin", io.StringIO("\n\n"))
        reading._serve(way, folder, kind)
        said, *times = capsys.readouterr().out.splitlines()
        ranks.add(said)
        assert [len(json.loads(line)) for line in times] == [2, 2]
    assert len(ranks) == 1
    text = folder / "plain/system00001.run"
    first, _, rest = text.read_text().partition("\n")
    text.write_text(rest)
    reading._serve("pgcjax", folder, "plain")
    text.write_text(f"{first}\n{rest}")
    assert capsys.readouterr().out.strip() not in ranks


def test_files_that_were_listed_are_scored_the_same(capsys):
    report = Report(rounds=1)
    reading.lists(report, 2, queries=3, depth=20)
    (race,) = report.races
    assert [f["name"] for f in race["figures"]] == ["files", "read_runs(files)"]
    assert [*race["figures"][1]["ratios"]] == ["files"]


def test_processes_apart_share_the_files(folder, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO())
    ranks = []
    for share in ("0/1", "0/2", "1/2"):
        reading._serve("pgcjax", folder, "plain", share)
        ranks.append(json.loads(capsys.readouterr().out))
    every, first, second = ranks
    assert first | second == every
    assert ([*first], [*second]) == (["system00000.run"], ["system00001.run"])


def test_ratios_are_of_the_same_round():
    ways = [("pandas", 1), ("pgcjax", 1), ("pgcjax", 2), ("apart", 2)]
    clock = np.array(
        [[10.0, 4.0, 2.0, 1.0], [20.0, 8.0, 4.0, 4.0], [60.0, 6.0, 5.0, 2.0]]
    )
    rows = list(reading._rows(ways, np.stack([clock, clock + 1], axis=-1)))
    assert rows == [
        ["pandas, 1 core", 20.0, 10.0, 60.0, 21.0, 1.0, 1.0],
        ["pgcjax, 1 core", 6.0, 4.0, 8.0, 7.0, 1.0, 2.5],
        ["pgcjax, 2 cores", 4.0, 2.0, 5.0, 5.0, 2.0, 5.0],
        ["pgcjax, processes apart, 2 cores", 2.0, 1.0, 4.0, 3.0, 3.0, 10.0],
    ]
