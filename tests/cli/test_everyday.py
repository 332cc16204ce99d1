"""What every verb has: an example, quiet, completion; and ends that are said."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

import pgcjax as package
from pgcjax.cli import cli, main
from pgcjax.cli.commands import HELP
from pgcjax.cli.examples import EXAMPLES
from pgcjax.datasets.files import demo_folder

DEMO = demo_folder()
ROOT = Path(__file__).parents[2]


def called(*line: str) -> int:
    with pytest.raises(SystemExit) as end:
        main([*line])
    return int(end.value.code or 0)


def commands(of: click.Group = cli, name: str = "") -> dict[str, click.Command]:
    """List verbs, and those of verbs that have their own, by what a user types."""
    found: dict[str, click.Command] = {}
    context = click.Context(of)
    for verb in of.list_commands(context):
        command = of.get_command(context, verb)
        assert command
        found[f"{name}{verb}"] = command
        if isinstance(command, click.Group):
            found |= commands(command, f"{name}{verb} ")
    return found


@pytest.mark.parametrize("verb", sorted(commands()))
def test_every_verb_shows_an_example_that_it_understands(verb, capsys):
    assert called(*verb.split(), "--help") == 0
    printed = capsys.readouterr().out
    example = f"pgcjax {verb} {EXAMPLES[verb]}".strip()
    assert f"\nExample:\n  {example}\n" in printed
    program, *line = shlex.split(example.partition(" >")[0])
    names = verb.split()
    assert (program, line[: len(names)]) == ("pgcjax", names)
    command, line = commands()[verb], line[len(names) :]
    with click.Context(command, **HELP) as context:
        command.parse_args(context, line)  # or an error


def test_examples_are_of_verbs():
    assert EXAMPLES.keys() == commands().keys()


def test_quiet(tmp_path, capsys):
    """Warnings stay; the next call is not quiet."""
    line = ["demo", "-o", str(tmp_path / "scores.csv")]
    said = []
    for more in (["--quiet"], []):
        assert called(*line, *more) == 0
        said.append(capsys.readouterr())
    quiet, usual = said
    warned = [line for line in usual.err.splitlines() if ": warning: " in line]
    assert quiet.err.splitlines() == warned != []
    assert len(usual.err.splitlines()) > len(warned)
    assert quiet.out == usual.out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell, capsys, monkeypatch):
    assert called("completion", shell) == 0
    source = capsys.readouterr().out
    assert f"_PGCJAX_COMPLETE={shell}_complete" in source
    monkeypatch.setenv("_PGCJAX_COMPLETE", f"{shell}_complete")
    monkeypatch.setenv("COMP_WORDS", "pgcjax compare --te")
    monkeypatch.setenv("COMP_CWORD", "--te" if shell == "fish" else "2")
    assert called() == 0
    assert "--test" in capsys.readouterr().out


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no full device here")
def test_what_cannot_be_printed_is_said():
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(
            [sys.executable, "-m", "pgcjax", "measures"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert (done.returncode, done.stderr) == (
        2,
        "pgcjax: error: cannot print: No space left on device\n",
    )


def test_without_zstandard(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "zstandard", None)
    path = tmp_path / "run.txt.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd" + bytes(20))
    prefs = str(DEMO / "preferences.csv")
    assert called("evaluate", "--prefs", prefs, str(path)) == 2
    assert capsys.readouterr().err == (
        "pgcjax: error: reading .zst files needs zstandard: pip install 'pgcjax[zst]'\n"
    )


def test_help_of_the_demo_needs_no_environment():
    script = ROOT / "scripts/demo"
    if not script.exists():
        pytest.skip("not in a checkout")
    done = subprocess.run([script, "--help"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Score the embedded demo collection")
    assert re.search(r"^  scripts/demo -o FILE ", done.stdout, re.MULTILINE)


@pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning")
def test_intents_and_grades_of_intents_are_told_apart(pgcjax, demo):
    """One option takes both, in any order; an intent's table has no documents."""
    line = ("evaluate", "runs", "-m", "DIN-nDCG@5", "--format", "json")
    given = ("--intent-qrels", "diversity.qrels.txt", "--intent-qrels", "intents.csv")
    done = pgcjax(*line, *given)
    turned = pgcjax(*line, *given[2:], *given[:2])
    assert done.code == turned.code == 0, done.err
    judged = {"intent_qrels": "diversity.qrels.txt", "intents": "intents.csv"}
    scores = package.evaluate("runs", **judged, measures="DIN-nDCG@5").mean()
    rows = {row["run_id"]: row["DIN-nDCG@5"] for row in json.loads(done.out)["rows"]}
    assert rows == scores["DIN-nDCG@5"].to_dict()
    assert json.loads(turned.out)["rows"] == json.loads(done.out)["rows"]
    assert "needs intents: give " in pgcjax(*line, *given[:2]).err


def test_a_part_is_described_once(pgcjax, demo):
    line = ("evaluate", "runs", "--prefs", "preferences.csv", "--dry-run", "-o", "s/")
    done = pgcjax(*line, "--part", "1/4")
    assert done.out.startswith("runs: about 2 in 2 units"), done.out
