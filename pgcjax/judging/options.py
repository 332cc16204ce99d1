"""What a vote on a pair of documents can say, and which options are one."""

from collections.abc import Callable, Mapping
from math import isnan, nan

import numpy as np
from jaxtyping import Float, Int

from pgcjax.errors import UsageError, check_choice

BOTH_BAD = "A,B bad"
TIE = "A=B"
Grouping = str | Mapping[float, str]
MOST_OPTIONS = 100


def label(value: float) -> str:
    """Name a preference as Carterette et al. do: A>>B is a definite one; NaN: bad."""
    if isnan(value):
        return BOTH_BAD
    if value == 0:
        return TIE
    sign, strength = ">" if value > 0 else "<", abs(value)
    if strength in (1, 2):
        return f"A{sign * int(strength)}B"
    return f"A{sign}B {strength:g}"


GROUPINGS: dict[str, Callable[[float], str | None]] = {
    "all": label,
    "sign": lambda value: label(float(np.sign(value))),
    "strict": lambda value: label(float(np.sign(value))) if value else None,
    "tied": lambda value: "A<>B" if value else TIE,
}


def encode(
    values: Float[np.ndarray, " votes"], grouping: Grouping, sides: str
) -> tuple[tuple[str, ...], Int[np.ndarray, " options"], Int[np.ndarray, " votes"]]:
    """Turn preferences into options.

    Args:
        values: preferences, NaN for two bad documents.
        grouping: one of `GROUPINGS`, or a name for each preference.
        sides: if `any`, each option has to have one that mirrors it.

    Returns:
        Names of the options, from the strongest for B to the strongest for A; the
        option that mirrors each (itself if none does); and the option of each vote,
        -1 where it has none.

    Raises:
        UsageError: an unknown grouping, or one that is not the same both ways round.
    """
    name_of = _naming(grouping)
    distinct, where = np.unique(values, return_inverse=True)  # NaN is last, and one
    turned = [-distinct] if sides == "any" else []
    occurring = np.unique(np.concatenate([distinct, *turned])).tolist()
    names = {nan if isnan(v) else v: name_of(v) for v in occurring}
    options = tuple(dict.fromkeys(n for n in names.values() if n is not None))
    if len(options) > MOST_OPTIONS:
        raise UsageError(
            f"preferences say {len(options)} different things, too many for options: "
            "group them, by sign for instance"
        )
    place = {name: i for i, name in enumerate(options)}
    mirrored = np.arange(len(options))
    if sides == "any":
        both = {(n, name_of(-v)) for v, n in names.items() if n is not None}
        if len(both) > len(options) or any(other is None for _, other in both):
            raise UsageError(
                f"the grouping is not the same both ways round: {sorted(options)}; "
                "give each preference and its negative, or use sides given"
            )
        for one, other in both:
            mirrored[place[one]] = place[str(other)]
    code = np.array([place.get(name_of(float(v)) or "", -1) for v in distinct])
    return options, mirrored, code[where] if len(values) else np.zeros(0, np.int64)


def _naming(grouping: Grouping) -> Callable[[float], str | None]:
    if isinstance(grouping, Mapping):
        return lambda value: BOTH_BAD if isnan(value) else grouping.get(value)
    check_choice("grouping", grouping, GROUPINGS)
    naming = GROUPINGS[grouping]
    return lambda value: BOTH_BAD if isnan(value) else naming(value)
