"""The table of mutants: which text of the package is replaced, and what shows it."""

import tomllib
from pathlib import Path
from typing import NamedTuple

import pgcjax

PACKAGE = Path(pgcjax.__file__).parent


class Mutant(NamedTuple):
    """One seeded mistake.

    Attributes:
        path: file in the package.
        name: what the mistake is.
        old: text that stands in the file exactly once.
        new: what takes its place.
        call: measures whose scores change, the order of runs if it is not trec, and
            skip where queries that a run lacks are to be left out of its mean; or tests
            that fail, as pytest takes them.
    """

    path: str
    name: str
    old: str
    new: str
    call: str

    @property
    def module(self) -> str:
        """The module of the file."""
        return "pgcjax." + self.path.removesuffix(".py").replace("/", ".")

    def source(self) -> str:
        """Give the file with the mistake.

        Raises:
            ValueError: the old text does not stand in the file exactly once.
        """
        file = PACKAGE / self.path
        text = file.read_text() if file.exists() else ""
        if (count := text.count(self.old)) != 1:
            raise ValueError(f"{self.path} has {count} times {self.old!r}: {self.name}")
        return text.replace(self.old, self.new)


def mutants() -> list[Mutant]:
    """Read the table."""
    text = Path(__file__).with_name("mutants.toml").read_text()
    files = tomllib.loads(text)["file"]
    return [Mutant(file["path"], *row) for file in files for row in file["mutants"]]


def stale() -> list[str]:
    """Say which mutants do not fit the package, or have a name twice."""
    problems, names = [], set()
    for mutant in mutants():
        try:
            mutant.source()
        except ValueError as error:
            problems.append(str(error))
        if mutant.name in names:
            problems.append(f"two mutants are called {mutant.name!r}")
        names.add(mutant.name)
    return problems
