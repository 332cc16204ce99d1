"""What a vote on a pair of documents can say, and which options are one."""

from collections.abc import Callable, Mapping
from math import isnan, nan

import numpy as np

from pgcjax.errors import UsageError

BOTH_BAD = "A,B bad"
TIE = "A=B"
Grouping = str | Mapping[float, str]
_MOST = 100


def label(value: float) -> str:
    """Name a preference as Carterette et al. do: A>>B is a definite one; NaN: bad."""
    if isnan(value):
        return BOTH_BAD
    if value == 0:
        return TIE
    sign, strength = ">" if value > 0 else "<", abs(value)
    known = strength in (1, 2)
    return f"A{sign * int(strength)}B" if known else f"A{sign}B {strength:g}"


GROUPINGS: dict[str, Callable[[float], str | None]] = {
    "all": label,
    "sign": lambda value: label(float(np.sign(value))),
    "strict": lambda value: label(float(np.sign(value))) if value else None,
    "tied": lambda value: "A<>B" if value else TIE,
}


def encode(
    values: np.ndarray, grouping: Grouping, sides: str
) -> tuple[tuple[str, ...], np.ndarray, np.ndarray]:
    """Turn preferences into options.

    Args:
        values: preferences [votes], NaN for two bad documents.
        grouping: one of `GROUPINGS`, or a name for each preference.
        sides: if `any`, each option has to have one that mirrors it.

    Returns:
        Names of the options, from the strongest for B to the strongest for A; the
        option that mirrors each (itself if none does) [options]; and the option of
        each vote [votes], -1 where it has none.

    Raises:
        UsageError: an unknown grouping, or one that is not the same both ways round.
    """
    name_of = _naming(grouping)
    distinct, where = np.unique(values, return_inverse=True)  # NaN is last, and one
    both_ways = [float(v) for v in np.unique(np.concatenate([distinct, -distinct]))]
    known = both_ways if sides == "any" else [float(v) for v in distinct]
    names = {nan if isnan(v) else v: name_of(v) for v in known}
    options = tuple(dict.fromkeys(n for n in names.values() if n is not None))
    if len(options) > _MOST:
        raise UsageError(
            f"preferences say {len(options)} different things, too many for options: "
            "group them, by sign for instance"
        )
    place = {name: i for i, name in enumerate(options)}
    mirrored = np.arange(len(options))
    if sides == "any":
        turned = {(n, name_of(-v)) for v, n in names.items() if n is not None}
        if len(turned) > len(options) or any(other is None for _, other in turned):
            raise UsageError(
                f"the grouping is not the same both ways round: {sorted(options)}; "
                "give each preference and its negative, or use sides given"
            )
        for one, other in turned:
            mirrored[place[one]] = place[str(other)]
    code = np.array([place.get(name_of(float(v)) or "", -1) for v in distinct])
    return options, mirrored, code[where] if len(values) else np.zeros(0, np.int64)


def _naming(grouping: Grouping) -> Callable[[float], str | None]:
    if isinstance(grouping, Mapping):
        return lambda value: BOTH_BAD if isnan(value) else grouping.get(value)
    if grouping not in GROUPINGS:
        raise UsageError(f"no grouping {grouping!r}; there are {', '.join(GROUPINGS)}")
    naming = GROUPINGS[grouping]
    return lambda value: BOTH_BAD if isnan(value) else naming(value)
