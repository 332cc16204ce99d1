"""Command lines of studies: what they print and write, and where they go on."""

import json

import click
import pytest
from click.testing import CliRunner

harness = pytest.importorskip("benchmarks.harness", reason="not in a checkout")
from benchmarks.studies.commands import reported, study  # noqa: E402


def called(command: click.Command, *words: object) -> str:
    done = CliRunner().invoke(command, [*map(str, words)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def lines(found):
    return (f"{name} {row['n']}: {row['x']}" for name in found for row in found[name])


def test_a_study_writes_what_it_prints_and_prints_such_a_file(tmp_path):
    @study(lines, draw=lambda found, path: path.write_text(str(found)), level=0.99)
    @click.option("--runs", type=int, default=2)
    def main(runs):
        return {"rows": [{"n": n, "x": n * n} for n in range(runs)]}

    out, figure = tmp_path / "out.json", tmp_path / "figure.svg"
    printed = called(main, "--runs", 3, "-o", out, "--figure", figure)
    assert printed == "rows 0: 0\nrows 1: 1\nrows 2: 4\n"
    written = json.loads(out.read_text())
    assert written["level"] == 0.99 and len(written["rows"]) == 3
    assert "benchmarks.studies.test_study_commands" in written["command"]
    assert figure.read_text() == str({"rows": written["rows"]})
    assert called(main, "--tables", out) == printed


def test_a_study_of_parts_goes_on_where_it_stopped(tmp_path):
    made, stop = [], [2]

    @study(lines, resume=True)
    def main():
        def rows(n):
            if n in stop:
                raise RuntimeError
            made.append(n)
            return [{"n": n, "x": x} for x in "ab"]

        for n in range(4):
            yield "odd" if n % 2 else "even", {"n": n}, lambda n=n: rows(n)

    out = tmp_path / "out.json"
    with pytest.raises(RuntimeError):
        called(main, "-o", out)
    assert made == [0, 1] and len(json.loads(out.read_text())["odd"]) == 2
    stop.clear()
    printed = called(main, "-o", out)
    assert made == [0, 1, 2, 3]
    assert printed.splitlines()[-2:] == ["odd 3: a", "odd 3: b"]
    assert called(main, "-o", out) == printed and made == [0, 1, 2, 3]


def test_a_report_is_written(tmp_path):
    @reported
    @click.option("--seed", type=int, default=0)
    def main(report, seed):
        report.table("title", ["seed"], [[seed]])

    called(main, "--seed", 5, "-o", tmp_path / "out.json")
    (table,) = json.loads((tmp_path / "out.json").read_text())["tables"]
    assert table == {"title": "title", "columns": ["seed"], "rows": [[5]]}
