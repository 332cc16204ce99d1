"""Base class of measures: a frozen class whose fields are its parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Self,
    cast,
    dataclass_transform,
    get_type_hints,
)

from pgcjax.errors import UsageError
from pgcjax.io.choices import MEANS, SUMMED
from pgcjax.reference.case import Case as Case

if TYPE_CHECKING:
    from pgcjax.tensors.judgments import Judgments

Value = float | int | bool | str
CUTOFF = "k"  # the parameter that `@10` sets: 10, or None without a cutoff


@dataclass(frozen=True)
class Parameter:
    """Meaning and allowed values of a parameter of a measure.

    It annotates a field of a measure: `rel: Annotated[float, Parameter("…")] = 1.0`.

    Attributes:
        meaning: Meaning in one line, with the range.
        allowed: Allowed words, for parameters that are words.
        valid: Function that returns whether a number is in range.
        inherited: Whether derived measures have the parameter, too.
        name: Name as users write it, from the field.
        default: Default value, from the field; its type is the parameter's type.
    """

    meaning: str
    allowed: tuple[str, ...] = ()
    valid: Callable[[Any], bool] = field(default=lambda value: True, repr=False)
    inherited: bool = True
    name: str = ""
    default: Value = ""

    def read(self, text: str) -> Value:
        """Parse and check a value.

        Raises:
            UsageError: the text is not a value of this parameter.
        """
        value = self._parse(text.strip())
        if value is None or not self.valid(value):
            raise self._refusal(text)
        return value

    def check(self, value: Any) -> Value:
        """Return a value of the parameter's type, or raise a UsageError."""
        given = value
        kind = type(self.default)
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if isinstance(value, str) and kind is str:
            value = self._parse(value)
        if value is None or type(value) is not kind or not self.valid(value):
            raise self._refusal(written(given))
        return value

    def _refusal(self, text: str) -> UsageError:
        return UsageError(f"{self.name}={text}: expected {self.meaning}")

    def _parse(self, text: str) -> Value | None:
        if self.allowed:
            return text if text in self.allowed else None
        if isinstance(self.default, bool):
            return {"true": True, "false": False}.get(text.lower())
        try:
            # Python would read 1_0 as 10, and digits of any script.
            plain = text.isascii() and "_" not in text
            return type(self.default)(text) if plain else None
        except ValueError:
            return None


MEAN = Parameter(
    "over queries, one of arithmetic, geometric (of scores raised to 0.00001), sum",
    allowed=MEANS,
    name="mean",
    default=MEANS[0],
)
"""A parameter of all measures, which changes no score of a query."""


@dataclass_transform(kw_only_default=True, frozen_default=True)
@dataclass(frozen=True, kw_only=True)
class Measure:
    """A measure with its parameters: `nDCG(gain="exp", k=10)`.

    A subclass is a frozen dataclass of its parameters, each annotated by a `Parameter`;
    its docstring is the meaning. Two measures are equal if all their parameters are.

    Attributes:
        name: Name in `pgcjax measures`.
        source: Papers and equations.
        formula: Formula in plain text.
        differs: Differences from other tools and papers, or "".
        cutoff: Whether `@k` follows the name: `no`, `may` or `must`; or `level`, if a
            share of the relevant documents, from 0 to 1, must follow instead.
        aliases: Other names, such as `ndcg_cut_{k}`, and the measures they mean; `{x}`
            is a decimal number.
        needs: Kinds of judgments from which it is computed, such as `qrels`.
        k: Cutoff, or level of recall; None without one.
        mean: Mean over queries; by default that of `usual_mean`.
        given: Parameters that were given, and are printed; None prints those that
            are not the default.
    """

    name: ClassVar[str]
    source: ClassVar[str]
    formula: ClassVar[str] = ""
    differs: ClassVar[str] = ""
    cutoff: ClassVar[str] = "no"
    aliases: ClassVar[Mapping[str, str]] = {}
    needs: ClassVar[frozenset[str]] = frozenset({"qrels"})

    k: Any = None
    mean: str = ""
    given: tuple[str, ...] | None = field(default=None, compare=False, repr=False)

    def __init_subclass__(cls):
        """Make a dataclass of each subclass."""
        dataclass(frozen=True, kw_only=True)(cls)

    def __post_init__(self):
        """Check parameters, and convert whole numbers to decimal ones."""
        for name, parameter in _own_parameters(type(self)).items():
            value = parameter.check(getattr(self, name))
            object.__setattr__(self, name, value)
        if self.k is not None and not self._is_cutoff(self.k):
            raise UsageError(f"{self.name}: k={self.k} is no cutoff of it")
        mean = self.mean or usual_mean(self.name)
        object.__setattr__(self, "mean", MEAN.check(mean))

    def _is_cutoff(self, k: float) -> bool:
        if self.cutoff == "level":
            return isinstance(k, int | float) and 0 <= k <= 1
        return self.cutoff != "no" and isinstance(k, int) and 0 < k < 10**7

    def prepare(self, judgments: Judgments) -> Any:
        """Lay judgments out as the input of a batch: see `tensors.measure_tensors`."""
        raise NotImplementedError

    def twin(self, case: Case) -> float:
        """Score one run and query with `reference` alone."""
        raise NotImplementedError

    @property
    def meaning(self) -> str:
        """Meaning of the measure in one line: the first paragraph of the docstring."""
        text = (inspect.getdoc(type(self)) or "").partition("\n\n")[0]
        return " ".join(text.split()).removesuffix(".")

    def described(self) -> dict[str, tuple[Parameter, Value]]:
        """Return each parameter and its value, by name, in canonical order."""
        return {
            parameter.name: (parameter, getattr(self, name))
            for name, parameter in _own_parameters(type(self)).items()
        }

    @property
    def parameters(self) -> dict[str, Any]:
        """All parameters, given or default; with `k` if a cutoff is possible."""
        values: dict[str, Any] = {
            n: value for n, (_, value) in self.described().items()
        }
        if self.cutoff != "no":
            values[CUTOFF] = self.k
        return values

    def replace(self, **values: Any) -> Self:
        """Return the measure with other parameters, by their names."""
        names = {p.name: n for n, p in _own_parameters(type(self)).items()}
        return replace(self, **{names.get(n, n): value for n, value in values.items()})

    def __str__(self) -> str:
        described = self.described().items()
        given = self.given
        if given is None:
            given = [n for n, (p, value) in described if value != p.default]
        return self._spell([(n, value) for n, (_, value) in described if n in given])

    def in_full(self) -> str:
        """Print the measure with all its parameters, and an unusual mean."""
        return self._spell([(n, value) for n, (_, value) in self.described().items()])

    def _spell(self, values: Iterable[tuple[str, Value]]) -> str:
        unusual = self.mean != usual_mean(self.name)
        mean = [(MEAN.name, self.mean)] if unusual else []
        return spell(self.name, [*values, *mean], self.k)


@cache
def _own_parameters(measure: type[Measure]) -> dict[str, Parameter]:
    """Return the parameters of a class by field; `lambda_` is called `lambda`."""
    parameters, hints = {}, get_type_hints(measure, include_extras=True)
    for each in fields(measure):
        for note in getattr(hints[each.name], "__metadata__", ()):
            if isinstance(note, Parameter):
                name = each.name.removesuffix("_")
                parameters[each.name] = replace(note, name=name, default=each.default)
    return parameters


class OfMeasure(Measure):
    """A measure made of another one, `of`, with its cutoff.

    In its name, source, formula and meaning, {M} stands for the name of the other one.
    """

    of: Measure

    def __post_init__(self):
        """Pass the cutoff on, and fill the name of the other measure in."""
        object.__setattr__(self, "of", self.of.replace(k=self.k))
        for text in ("name", "source", "formula"):
            if "{M}" in (form := getattr(self, text)):
                object.__setattr__(self, text, form.replace("{M}", self.of.name))
        super().__post_init__()

    @property
    def meaning(self) -> str:
        """Meaning in one line, as of `Measure`."""
        return super().meaning.replace("{M}", self.of.name)


class Derived(OfMeasure):
    """A measure derived from another one, with its parameters, too."""

    def described(self) -> dict[str, tuple[Parameter, Value]]:
        """Return the parameters of the other measure, and then its own."""
        inner = self.of.described()
        inherited = {n: each for n, each in inner.items() if each[0].inherited}
        return inherited | super().described()

    def replace(self, **values: Any) -> Self:
        """Return the measure with other parameters, its own or those of `of`."""
        names = self.of.described().keys() - super().described().keys()
        inner = {name: values.pop(name) for name in names & values.keys()}
        return super().replace(of=self.of.replace(**inner), **values)


# A kernel gets its measure in two parts: numbers are traced, so that one program serves
# all of them; words, and whether there is a cutoff, are static.

Outline = tuple[type[Measure], tuple[tuple[str, Any], ...]]
_TRACED = object()


def outlined(measure: Measure) -> tuple[Outline, list[float]]:
    """Split a measure into its class with fields except numbers, and the numbers."""
    shape: list[tuple[str, Any]] = []
    numbers: list[float] = []
    for name in (each.name for each in fields(measure)):
        value = getattr(measure, name)
        if name in ("mean", "given"):
            continue
        if isinstance(value, Measure):
            value, inner = outlined(value)
            numbers += inner
        elif isinstance(value, int | float) and not isinstance(value, bool):
            numbers.append(float(value))
            value = _TRACED
        shape.append((name, value))
    return (type(measure), tuple(shape)), numbers


def rebuilt(shape: Outline, values: Iterator[Any]) -> Measure:
    """Make a measure from its outline and numbers, which are arrays in a kernel."""
    kind, parts = shape
    measure = cast(Any, object.__new__(kind))
    for name, value in parts:
        if isinstance(value, tuple):
            value = rebuilt(value, values)
        elif value is _TRACED:
            value = next(values)
        object.__setattr__(measure, name, value)
    return measure


def read_through(measure: Measure, values: Mapping[str, Any]) -> Any:
    """Return a view of the measure whose parameters are read from `values`.

    `values` records the reads, so that `Judgments.once_for` shares results between
    measures that differ only in unread parameters.
    """
    seen = object.__new__(_seen_through(type(measure)))
    object.__setattr__(seen, "_values", values)
    return seen


@cache
def _seen_through(kind: type[Measure]) -> type[Measure]:
    names = {n: p.name for n, p in _own_parameters(kind).items()} | {CUTOFF: CUTOFF}
    looks = {
        field: property(lambda seen, name=name: seen._values.get(name))
        for field, name in names.items()
    }
    return type(kind.__name__, (kind,), looks)


def usual_mean(name: str) -> str:
    """Return the default mean of a measure."""
    return MEANS[-1] if name in SUMMED else MEANS[0]


def spell(
    name: str, values: Iterable[tuple[str, Value]], k: float | None = None
) -> str:
    """Write a measure with these parameters as `parse` reads it."""
    inside = ",".join(f"{name}={written(value)}" for name, value in values)
    cutoff = "" if k is None else f"@{k}"
    return (f"{name}({inside})" if inside else name) + cutoff


def written(value: Any) -> str:
    """Write a value as measures print and parse it: `true`, and `1` for 1.0."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        value = int(value)
    return str(value).lower() if isinstance(value, bool) else str(value)
