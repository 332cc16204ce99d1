"""docs/migration.md: each name, verb and option of before the redesign has a place."""

import importlib
import inspect
import json
import re
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import pgcjax
from pgcjax import _aliases
from pgcjax.cli.commands import HELP, cli

PAGE = Path(__file__).parents[1] / "docs" / "migration.md"
BEFORE = json.loads((Path(__file__).parent / "surface_before.json").read_text())


def rows(key: str, cell: str) -> dict[str, str]:
    """Rows of the page whose two cells match."""
    pattern = rf"^\| `pgcjax{key}` \| ({cell}.+) \|$"
    return dict(re.findall(pattern, PAGE.read_text(), re.MULTILINE))


NAMES = rows(r"\.(\w+)", "`pgcjax")
VERBS = rows(" ([^`]+)", "`pgcjax ")
OPTIONS = rows(" ([^`]+)", "`-")


def is_there(path: str) -> bool:
    """Whether a Python name like `pgcjax.judgments.fit` is there."""
    *modules, name = path.split(".")
    return hasattr(importlib.import_module(".".join(modules)), name)


def verb(words: list[str]) -> click.Command | None:
    """The command of these words, such as `judgments fit`."""
    command: click.Command = cli
    for word in words:
        if not isinstance(command, click.Group):
            return None
        following = command.get_command(click.Context(command), word)
        if following is None:
            return None
        command = following
    return command


def has(words: list[str], option: str) -> bool:
    command = verb(words)
    if command is None:
        return False
    return any(
        option in p.opts for p in command.get_params(click.Context(command, **HELP))
    )


def verbs_in(cell: str) -> list[list[str]]:
    """Verbs of a cell: `pgcjax judgments audit`, `agree` are two of one group."""
    first, *others = re.findall(r"`(?:pgcjax )?([^`]+)`", cell)
    group = first.split()[:-1]
    return [first.split(), *([*group, other] for other in others)]


@pytest.mark.parametrize("name", BEFORE["names"])
def test_a_name_is_at_its_place_and_names_it_elsewhere(name):
    place = NAMES[name].strip("`")
    assert is_there(place)
    if place != f"pgcjax.{name}":
        assert f"pgcjax.{_aliases.NAMES[name]}" == place
        line = re.escape(f"pgcjax.{name} is {place} now")
        door, new = place.rsplit(".", 1)
        with pytest.warns(DeprecationWarning, match=line):
            old = getattr(pgcjax, name)
        assert old is getattr(importlib.import_module(door), new)


@pytest.mark.parametrize("name", BEFORE["verbs"])
def test_a_verb_and_its_options_are_at_one_of_their_places(name):
    places = verbs_in(VERBS[name])
    for words in places:
        assert verb(words), words
    stated = re.findall(r"`(-[^`]+)`(?: \(`pgcjax ([^`]+)`\))?", OPTIONS[name])
    assert [option for option, _ in stated] == BEFORE["verbs"][name]
    for option, place in stated:
        *words, last = place.split() or [""]
        renamed = last.startswith("--")  # or the option is a verb now
        new = [words if renamed else place.split()] if place else places
        there = any(has(w, last if renamed else option) for w in new)
        there = there or option.strip("-") == last or has(name.split(), option)
        assert there or (place, option) in _aliases.OPTIONS, option


def test_the_page_has_nothing_else():
    assert set(VERBS) == set(OPTIONS) == set(BEFORE["verbs"])
    assert sorted(NAMES) == sorted(BEFORE["names"])


@pytest.mark.parametrize(("place", "new"), _aliases.OPTIONS.items())
def test_a_removed_option_names_its_place(place, new):
    words, option = place[0].split(), place[1]
    assert verb(words) and not has(words, option)
    there = new.split(" --")[0].split()[1:] if new.startswith("pgcjax ") else words
    assert verb(there) or verb(there[:-1])  # or the name of a measure is the last
    assert all(has(there, named) for named in re.findall(r"--?[a-z][-a-z]*(?= )", new))
    done = CliRunner().invoke(cli, [*words, "runs", option, "judges"])
    assert done.exit_code == 2
    assert f"{place[0]} has no {option}: {new}" in done.output


@pytest.mark.parametrize(("name", "new"), _aliases.ARGUMENTS.items())
def test_a_removed_argument_names_its_place(name, new):
    with pytest.raises(pgcjax.errors.UsageError) as error:
        pgcjax.evaluate("runs", **{name: None})
    assert str(error.value) == f"evaluate takes no {name}=…: {new}"
    place = pgcjax.Job if "Job" in new else pgcjax.uncertainty
    assert re.findall(r"(\w+)=…", new)[-1] in inspect.signature(place).parameters


def test_evaluate_has_few_arguments():
    assert len(inspect.signature(pgcjax.evaluate).parameters) <= 14  # **others is one
