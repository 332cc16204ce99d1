"""Every measure, by name."""

from collections.abc import Iterable

from pgcjax.measures import compatibility, spec

CATALOGUE = {d.name: d for d in (compatibility.PGC, compatibility.COMPAT)}


def parse(text: str) -> spec.Measure:
    """Read a measure such as `PGC(p=0.8)` by the catalogue; see `spec.parse`."""
    return spec.parse(text, CATALOGUE)


def parse_all(texts: str | Iterable[str]) -> list[spec.Measure]:
    """Read measures; one that is asked for twice is kept as first written."""
    texts = [texts] if isinstance(texts, str) else texts
    return list(dict.fromkeys(parse(text) for text in texts))
