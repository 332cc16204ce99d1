"""Measures as data: parameters with ranges, and strings that parse and print back."""

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pgcjax.errors import UsageError

Value = float | int | bool | str


@dataclass(frozen=True)
class Parameter:
    """A parameter of a measure: its default, what it may be, what it means.

    Attributes:
        name: as users write it.
        default: its value where none is given; its type is the parameter's type.
        meaning: one line, with the range.
        allowed: the words it may be, for parameters of words.
        valid: says whether a number is in range.
    """

    name: str
    default: Value
    meaning: str
    allowed: tuple[str, ...] = ()
    valid: Callable[[Any], bool] = field(default=lambda value: True, repr=False)

    def read(self, text: str) -> Value:
        """Parse and check a value.

        Raises:
            UsageError: the text is not a value of this parameter.
        """
        value = self._parse(text.strip())
        if value is None or not self.valid(value):
            raise UsageError(f"{self.name}={text}: expected {self.meaning}")
        return value

    def _parse(self, text: str) -> Value | None:
        if self.allowed:
            return text if text in self.allowed else None
        if isinstance(self.default, bool):
            return {"true": True, "false": False}.get(text.lower())
        try:
            return type(self.default)(text) if "_" not in text else None
        except ValueError:
            return None


@dataclass(frozen=True)
class Definition:
    """What a measure is: name, meaning, parameters, and where it comes from.

    Attributes:
        name: as `pgcjax measures` lists it.
        meaning: one line.
        parameters: in canonical order.
        source: papers and equations.
        needs: gives the judgments that parameters ask for: `preferences`, `qrels`.
        tensors: gives what scoring batches; see `compatibility.Tensors`.
        finish: turns kernel sums into scores.
    """

    name: str
    meaning: str
    parameters: tuple[Parameter, ...]
    source: str
    needs: Callable[[Mapping[str, Any]], frozenset[str]]
    tensors: Callable[..., Any]
    finish: Callable[..., Any]


@dataclass(frozen=True)
class Measure:
    """A measure with its parameters, as a user asked for it.

    Two measures are equal if all their parameters are, given or by default: `PGC`
    equals `PGC(p=0.95)`, and each prints as it was given.
    """

    definition: Definition = field(compare=False, repr=False)
    name: str
    values: tuple[tuple[str, Value], ...]
    given: tuple[str, ...] = field(compare=False)

    @property
    def parameters(self) -> dict[str, Any]:
        """All parameters, given or by default."""
        return dict(self.values)

    def __str__(self) -> str:
        return _spell(self.name, [(k, v) for k, v in self.values if k in self.given])

    def in_full(self) -> str:
        """Print the measure with all its parameters."""
        return _spell(self.name, self.values)


def _spell(name: str, values: Iterable[tuple[str, Value]]) -> str:
    inside = ",".join(f"{k}={_word(v)}" for k, v in values)
    return f"{name}({inside})" if inside else name


def _word(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def parse(text: str, catalogue: Mapping[str, Definition]) -> Measure:
    """Read a measure such as `PGC(p=0.8, graph=derived)`.

    Raises:
        UsageError: the name or a parameter is unknown, or a value is out of range.
    """
    form = re.fullmatch(r"\s*([^()@\s]+)\s*(?:\((.*)\))?\s*", text)
    if not form:
        raise UsageError(f"{text!r} is not a measure such as PGC or PGC(p=0.95)")
    definition = _look_up(form[1], catalogue)
    known = {p.name: p for p in definition.parameters}
    given: dict[str, Value] = {}
    for part in (form[2] or "").split(","):
        if not part.strip():
            continue
        name, equals, value = (x.strip() for x in part.partition("="))
        if not equals or name not in known:
            raise UsageError(
                f"{definition.name} has no parameter {name!r}{_hint(name, known)}; "
                f"it has {', '.join(known)}"
            )
        if name in given:
            raise UsageError(f"{text!r} gives {name} twice")
        given[name] = known[name].read(value)
    values = tuple(
        (p.name, given.get(p.name, p.default)) for p in definition.parameters
    )
    return Measure(definition, definition.name, values, tuple(given))


def _look_up(name: str, catalogue: Mapping[str, Definition]) -> Definition:
    by_lower = {known.lower(): known for known in catalogue}
    if name.lower() in by_lower:
        return catalogue[by_lower[name.lower()]]
    raise UsageError(
        f"no measure is called {name!r}{_hint(name, catalogue)}; "
        "`pgcjax measures` lists them"
    )


def _hint(word: str, known: Iterable[str]) -> str:
    by_lower = {k.lower(): k for k in known}
    near = difflib.get_close_matches(word.lower(), by_lower, n=1)
    return f": did you mean {by_lower[near[0]]}?" if near else ""
