"""Measures as data: parameters with ranges, and strings that parse and print back."""

import difflib
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pgcjax.errors import UsageError
from pgcjax.io.choices import MEANS, SUMMED
from pgcjax.measures.other_names import explained
from pgcjax.reference.case import Case as Case
from pgcjax.tensors.judgments import Judgments

Value = float | int | bool | str
CUTOFF = "k"  # what `@10` is among the parameters: 10, or None without a cutoff
NAME = r"[^()@\s]+"  # what the name of a measure is made of
WHOLE, DECIMAL = r"[1-9][0-9]{0,6}", r"[0-9]*\.?[0-9]+"
PLACES = {"{k}": WHOLE, "{x}": DECIMAL}  # in names of trec_eval: their numbers


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
            # Python reads 1_0 as 10, and digits of any script.
            plain = text.isascii() and "_" not in text
            return type(self.default)(text) if plain else None
        except ValueError:
            return None


MEAN = Parameter(
    "mean",
    MEANS[0],
    "over queries, one of arithmetic, geometric (of scores raised to 0.00001), sum",
    allowed=MEANS,
)
"""A parameter of all measures: it changes no score of a query."""


def usual_mean(name: str) -> str:
    """Return the mean of a measure if nothing else is asked for."""
    return MEANS[-1] if name in SUMMED else MEANS[0]


@dataclass(frozen=True)
class Definition:
    """What a measure is: name, meaning, parameters, and where it comes from.

    Attributes:
        name: as `pgcjax measures` lists it.
        meaning: one line.
        parameters: in canonical order.
        source: papers and equations.
        needs: gives the kinds of judgments that parameters ask for, such as `qrels`.
        tensors: gives what scoring batches, one of `tensors.judgments.Tensors`.
        twin: scores one `Case` plainly, by `reference` alone; a measure of two
            rankings takes the cases of both.
        formula: in plain text.
        differs: how it differs from other tools and papers, or "".
        cutoff: `no`, `may` or `must`: whether `@k` follows the name; or `level`, if a
            share of the relevant documents, from 0 to 1, must follow in its place.
        aliases: other names, such as `ndcg_cut_{k}`, and the measures they mean; `{x}`
            is a decimal number.
    """

    name: str
    meaning: str
    parameters: tuple[Parameter, ...]
    source: str
    needs: Callable[[Mapping[str, Any]], frozenset[str]]
    tensors: Callable[[Mapping[str, Any], Judgments], Any]
    twin: Callable[..., Any]
    formula: str = ""
    differs: str = ""
    cutoff: str = "no"
    aliases: Mapping[str, str] = field(default_factory=dict)


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
    k: float | None = None
    mean: str = MEANS[0]

    @property
    def parameters(self) -> dict[str, Any]:
        """All parameters, given or by default; `k` if it may have a cutoff."""
        values: dict[str, Any] = dict(self.values)
        if self.definition.cutoff != "no":
            values[CUTOFF] = self.k
        return values

    def __str__(self) -> str:
        return self._spell([(k, v) for k, v in self.values if k in self.given])

    def in_full(self) -> str:
        """Print the measure with all its parameters, and an unusual mean."""
        return self._spell(self.values)

    def _spell(self, values: Iterable[tuple[str, Value]]) -> str:
        unusual = self.mean != usual_mean(self.name)
        mean = [(MEAN.name, self.mean)] if unusual else []
        return spell(self.name, [*values, *mean], self.k)


def spell(
    name: str, values: Iterable[tuple[str, Value]], k: float | None = None
) -> str:
    """Write a measure with these parameters as `parse` reads it."""
    inside = ",".join(f"{name}={written(value)}" for name, value in values)
    cutoff = "" if k is None else f"@{k}"
    return (f"{name}({inside})" if inside else name) + cutoff


def written(value: Value) -> str:
    """Write a value as measures print it, and parse it: `true`, and `1` for 1.0."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        value = int(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def parse(
    text: str, catalogue: Mapping[str, Definition], *, complete: bool = True
) -> Measure:
    """Read a measure such as `PGC(p=0.8, graph=derived)` or `nDCG@10`.

    Args:
        text: the measure.
        catalogue: definitions by name.
        complete: whether a cutoff that the measure must have has to be there.

    Raises:
        UsageError: this is no text, the name or a parameter is unknown, or a value is
            out of range.
    """
    if not isinstance(text, str):
        raise UsageError(
            "expected a measure as text, such as 'PGC' or 'RBP(p=0.8)@10', found "
            + shown(text)
        )
    form = re.fullmatch(
        rf"\s*({NAME})\s*(?:\((.*)\))?\s*(?:@\s*(\S+)\s*)?", text, re.DOTALL
    )
    if not form:
        raise UsageError(f"{text!r} is not a measure such as PGC, PGC(p=0.95), nDCG@10")
    definition, meant = _look_up(form[1], catalogue)
    if meant and not form[2] and not form[3]:
        return parse(meant, catalogue, complete=complete)
    if meant and meant != definition.name:
        raise UsageError(f"{text!r}: {form[1]} is {meant}: write that, and change it")
    parameters = {p.name: p for p in (*definition.parameters, MEAN)}
    given: dict[str, Value] = {}
    for part in (form[2] or "").split(","):
        if not part.strip():
            continue
        name, equals, value = (x.strip() for x in part.partition("="))
        if not equals or name not in parameters:
            has = f"it has {', '.join(parameters)}"
            hint = _hint(name, parameters)
            raise UsageError(
                f"{definition.name} has no parameter {name!r}{hint}; {has}"
            )
        if name in given:
            raise UsageError(f"{text!r} gives {name} twice")
        given[name] = parameters[name].read(value)
    values = tuple(
        (p.name, given.get(p.name, p.default)) for p in definition.parameters
    )
    k = _cutoff(definition, form[3], text.strip(), complete)
    mean = str(given.pop(MEAN.name, usual_mean(definition.name)))
    return Measure(definition, definition.name, values, tuple(given), k, mean)


def _cutoff(
    definition: Definition, given: str | None, text: str, complete: bool
) -> float | None:
    name = definition.name
    if given is None:
        if definition.cutoff == "must" and complete:
            raise UsageError(f"{text} needs a cutoff: such as {text}@10")
        if definition.cutoff == "level" and complete:
            raise UsageError(f"{text} needs a level of recall: such as {text}@0.1")
        return None
    if definition.cutoff == "no":
        raise UsageError(f"{text}: {name} has no cutoff: write it without @{given}")
    if definition.cutoff == "level":
        if re.fullmatch(DECIMAL, given) and 0 <= (level := float(given)) <= 1:
            return level
        raise UsageError(
            f"{text}: expected a level of recall from 0 to 1, found {given!r}"
        )
    if not re.fullmatch(WHOLE, given):
        raise UsageError(
            f"{text}: expected a whole number from 1 to 9999999 as cutoff, "
            f"found {given!r}"
        )
    return int(given)


def find(
    name: str, catalogue: Mapping[str, Definition]
) -> tuple[Definition | None, str | None]:
    """Find a definition by its name, or by an alias: then the measure that is meant."""
    if name in catalogue:
        return catalogue[name], None
    by_lower = {defined.lower(): defined for defined in catalogue}
    if name.lower() in by_lower:
        return catalogue[by_lower[name.lower()]], None
    for definition in catalogue.values():
        for alias, meant in definition.aliases.items():
            pattern = re.escape(alias)
            for place, number in PLACES.items():
                pattern = pattern.replace(re.escape(place), f"({number})")
            # trec_eval prints ndcg_cut_10, and is asked for ndcg_cut.10.
            pattern = pattern.replace("_(", "[_.](")
            if match := re.fullmatch(pattern, name, re.IGNORECASE):
                return definition, filled(meant, *match.groups())
    return None, None


def filled(text: str, *number: str) -> str:
    """Write a number where an alias, or the measure that it means, has a place."""
    for place in PLACES:
        text = text.replace(place, "".join(number))
    return text


def shown(value: Any) -> str:
    """Show what is no measure in one short line, with its type."""
    kind = f"{type(value).__module__}.{type(value).__name__}"
    return f"{textwrap.shorten(repr(value), 60)} ({kind.removeprefix('builtins.')})"


def _look_up(
    name: str, catalogue: Mapping[str, Definition]
) -> tuple[Definition, str | None]:
    definition, meant = find(name, catalogue)
    if definition:
        return definition, meant
    if meaning := explained(name):
        raise UsageError(
            f"no measure is called {name!r}: it is {meaning}. `pgcjax measures` lists "
            "them"
        )
    aliases = [a for d in catalogue.values() for a in d.aliases if "{" not in a]
    raise UsageError(
        f"no measure is called {name!r}{_hint(name, [*catalogue, *aliases])}; "
        "`pgcjax measures` lists them"
    )


def _hint(word: str, names: Iterable[str]) -> str:
    """Suggest the names that a mistyped word was likely meant to be."""
    by_lower: dict[str, str] = {}
    for name in names:  # measures stand before their aliases
        by_lower.setdefault(name.lower(), name)
    near = difflib.get_close_matches(word.lower(), by_lower, n=3)
    anagrams = [k for k in by_lower if sorted(k) == sorted(word.lower())]
    if anagrams:  # letters that changed places, as in PCG, are the likeliest slip
        near = anagrams[:1]
    return f": did you mean {' or '.join(by_lower[k] for k in near)}?" if near else ""
