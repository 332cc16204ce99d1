"""Every measure, by name: all definitions in the files of this folder."""

import pkgutil
from collections.abc import Iterable
from functools import cache
from importlib import import_module

from pgcjax import measures
from pgcjax.measures import spec


@cache
def catalogue() -> dict[str, spec.Definition]:
    """Collect the definitions of all files here, in the order of files and of lines.

    Raises:
        ValueError: two definitions have one name.
    """
    found: dict[str, spec.Definition] = {}
    for module in sorted(m.name for m in pkgutil.iter_modules(measures.__path__)):
        contents = vars(import_module(f"{measures.__name__}.{module}")).values()
        for value in contents:
            several = value if isinstance(value, tuple) else (value,)
            for definition in several:
                if not isinstance(definition, spec.Definition):
                    continue
                if found.setdefault(definition.name, definition) is not definition:
                    raise ValueError(f"two measures are called {definition.name}")
    return found


def parse(text: str, *, complete: bool = True) -> spec.Measure:
    """Read a measure such as `PGC(p=0.8)` by the catalogue; see `spec.parse`."""
    return spec.parse(text, catalogue(), complete=complete)


def parse_all(texts: str | Iterable[str]) -> list[spec.Measure]:
    """Read measures; one that is asked for twice is kept as first written."""
    texts = [texts] if isinstance(texts, str) else texts
    return list(dict.fromkeys(parse(text) for text in texts))
