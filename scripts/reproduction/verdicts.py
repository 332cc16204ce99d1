"""What a published number is worth: exact, rounded, not to be had, or wrong."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite

EXACT = "exact"
CONSISTENT = "consistent in print"
ROUNDED = "within print rounding"
HOLDS = "holds"
IRREPRODUCIBLE = "not reproducible"
NOT_PUBLIC = "data not public"
NOT_HERE = "data not found here"
DIFFERS = "differs"

VERDICTS = (
    EXACT,
    CONSISTENT,
    ROUNDED,
    HOLDS,
    IRREPRODUCIBLE,
    NOT_PUBLIC,
    NOT_HERE,
    DIFFERS,
)
"""All of them; `differs` is the one that nobody can explain."""

CLAIMS = ("yes", "no")
"""What stands for the numbers of a row that says something in words."""

_TINY = 1e-9  # of a unit: half of it has no exact double


def unit(printed: str) -> float:
    """Give the value of the last digit that was printed: .0001 of `-0.4052`."""
    _, point, decimals = printed.partition(".")
    return 10.0 ** -len(decimals) if point else 1.0


def verdict(printed: str, ours: float) -> str:
    """Compare a number of ours with a printed one.

    Returns:
        `exact` if ours, rounded to the printed digits, is what was printed; `within
        print rounding` if it is at most one unit of the last digit away, as where the
        paper cut digits off or added rounded terms up; else `differs`. Whole numbers
        are counts: nothing was rounded, and one more or less differs.
    """
    apart = abs(ours - float(printed)) / unit(printed)
    if not isfinite(apart) or apart > 1 + _TINY:
        return DIFFERS
    if apart <= 0.5 + _TINY:
        return EXACT
    count = "." not in printed and float(ours).is_integer()
    return DIFFERS if count else ROUNDED


@dataclass(frozen=True)
class Cell:
    """Numbers that were printed, and ours.

    Attributes:
        key: of the table, as `published` has it, with the row: `luo2021/fig-5-7/…`.
        where: paper and place.
        what: the row.
        printed: as printed; of a claim in words, `yes` or `no`.
        ours: as many; none if they cannot be computed. Of a claim, whether it is so.
        why: what keeps them from being equal, or what they need; may be empty.
        switch: the conventions, in names of pgcjax, that the printed numbers need.
        right: ours without that switch.
        chance: whether the printed numbers depend on chance: equal, or not.
        sure: what the verdict is, where it does not follow from the numbers.
        in_print: whether ours is made of other printed numbers: it is no reproduction.
    """

    key: str
    where: str
    what: str
    printed: Sequence[str]
    ours: Sequence[float] = ()
    why: str = ""
    switch: str = ""
    right: Sequence[float] = ()
    chance: bool = False
    sure: str = ""
    in_print: bool = False

    def needing(self, switch: str, right: Sequence[float], why: str = "") -> "Cell":
        """Say what ours needs and is without it; nothing, if that is exact as well."""
        plain = replace(self, ours=right)
        if plain.verdict == EXACT:
            return plain
        return replace(self, switch=switch, right=right, why=why)

    @property
    def verdict(self) -> str:
        """The worst of the verdicts on the numbers."""
        if self.sure:
            return self.sure
        if not self.ours:
            return NOT_PUBLIC
        pairs = zip(self.printed, self.ours, strict=True)
        each = [_claim(p, x) if p in CLAIMS else verdict(p, x) for p, x in pairs]
        worst = max(each, key=VERDICTS.index)
        if self.chance or (worst == DIFFERS and self.why):
            return IRREPRODUCIBLE
        return CONSISTENT if worst == EXACT and self.in_print else worst

    @property
    def published(self) -> str:
        """The printed numbers, as text."""
        return " ".join(self.printed)

    def shown(self, numbers: Sequence[float]) -> str:
        """Print numbers of ours with one digit more than was printed."""
        if not numbers:
            return ""
        return " ".join(
            _number(x, p) for x, p in zip(numbers, self.printed, strict=True)
        )


def _claim(printed: str, ours: float) -> str:
    return HOLDS if bool(ours) == (printed == "yes") else DIFFERS


def _number(value: float, printed: str) -> str:
    if printed in CLAIMS:
        return "yes" if value else "no"
    if not isfinite(value):
        return "—"
    if value == round(value) and "." not in printed:
        return str(round(value))
    decimals = len(printed.partition(".")[2]) + 1
    if value and abs(value) < 10.0**-decimals:
        return f"{value:.2g}"
    return f"{value:.{decimals}f}"
