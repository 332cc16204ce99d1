"""Meaning of the cell of a vote: a side, neither, no answer, or unreadable."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from math import isfinite, isnan
from shlex import quote

import numpy as np

from pgcjax.errors import UsageError
from pgcjax.io.votes.layouts import FILL, NOUNS, ROLES, TIES, tokens

A, TIE, B, NONE = 1.0, 0.0, -1.0, np.inf
"""Signs of votes, like those of preferences; `NONE` means that there is no answer."""
_SHORT_TIE = 4  # most words of a tie; a longer text is a judge's reasons
OTHERS = "*"
"""Wildcard for all words that the user does not name."""


def _listed(text: str) -> set[str]:
    return {*text.split(", ")}


_TIES = _listed(
    "both bad, bothbad, both are bad, tie bothbad, tie both bad, neither is good, "
    "neither good, both poor, equally bad, "
    "tie, tied, ties, a tie, it is a tie, it s a tie, its a tie, a draw, "
    "it is a draw, it s a draw, draw, drawn, equal, equally, about equal, "
    "roughly equal, both equal, same, the same, about the same, similar, even, "
    "neither, neither is better, tie inconsistent, n, both, indifferent, "
    "no preference, no difference, no winner, "
    "equivalent, equally good, equally relevant, both equally good, both good, "
    "bothgood, both are good, tie bothgood, tie both good, =, ==, ~, ≈"
)
_UNANSWERED = {""} | _listed(
    "-, --, ---, —, ?, ..., invalid, error, parse error, refused, refusal, unknown, "
    "n/a, na, n.a, nan, none, null, nil, undefined, abstain, abstained, skip, skipped, "
    "no answer, no vote, not answered, missing, timeout, failed, failure, unparsed, "
    "unparsable, unparseable, unsure, not sure, undecided, i don t know, don t know, "
    "idk, cannot tell, cannot decide, cannot judge"
)
NEUTRAL = dict.fromkeys(_TIES, TIE) | dict.fromkeys(_UNANSWERED, NONE)
TRUTH = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0, "yes": 1.0, "no": 0.0, "": 0.0}
WINS = {*("win", "won", "wins", "winner", "w")}
_FAMILIES = {
    "letters": ("a", "b"),
    "numbers": ("1", "2"),
    "zeros": ("0", "1"),
    "hands": ("left", "right"),
    "order": ("first", "second"),
}
_SHORT = {"l": "left", "r": "right", "1st": "first", "2nd": "second"}
ACCEPTED = {
    ("a", "b"): ("letters",),
    ("1", "2"): ("numbers",),
    ("0", "1"): ("zeros",),
    ("left", "right"): ("hands",),
    ("first", "second"): ("order", "numbers"),
}
"""Families of words for two sides, by the words in which their columns differ."""
POSITIONS = ("numbers", "hands", "order")
"""Families of words for the document shown first, and for the one shown second."""

_NOUN = "|".join(sorted(NOUNS | {"choice"}, key=len, reverse=True))
_END = "a|b|0|1|2|left|right|first|second|1st|2nd|l|r"
_SIDE = rf"(?:the )?(?:(?:{_NOUN})s?:? ?)?#?(?P<end>{_END})(?: (?:{_NOUN}|one))?"
_HOW = "much|far|slightly|a bit|a little|marginally|clearly|strongly|significantly"
_RESULT = re.compile(
    r"(?:i )?(?:prefer |choose |(?:my )?(?:final )?"
    r"(?:winner|verdict|answer|choice|decision)(?: is)?:? )?"
    rf"{_SIDE}(?: (?:is )?(?:the )?(?:(?:{_HOW}) )?(?P<result>better|wins|won|winner|"
    r"preferred|best|more relevant|more helpful|more useful|worse|loses|lost))?"
    rf"(?: than {_SIDE.replace('?P<end>', '?P<other>')})?"
)
_VERSUS = re.compile(
    rf"{_SIDE} ?(?P<mark>>>|>|<<|<|≻|≺|==|=|~|≈) ?"
    + _SIDE.replace("?P<end>", "?P<other>")
)
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.ASCII)


def plain(cell: object) -> str:
    """Write a cell as text, a whole number without decimals; "" if it is empty."""
    if cell is None or (isinstance(cell, (float, np.floating)) and isnan(cell)):
        return ""
    if isinstance(cell, (float, np.floating)) and isfinite(cell) and cell == int(cell):
        return str(int(cell))
    text = str(cell).strip()
    return "" if text == "<NA>" else text


@lru_cache(2**16)
def normal(text: str) -> str:
    """Write a cell as a word: `[[A>B]]` as `a>b`, `Both_bad` as `both bad`."""
    text = text.strip().lower()
    if re.fullmatch(r"[-+]?\d+(\.0*)?", text, re.ASCII):
        return str(int(float(text)))
    if text == "[[c]]":  # a tie in MT-Bench
        return "tie"
    bare = re.sub(r"[\[\](){}\"'*`]+", " ", text)
    bare = re.sub(r"(?<=[^\W_])[-_]+(?=[^\W_])", " ", bare)
    bare = re.sub(r"\s+", " ", bare).strip().rstrip(".:;,!").strip()
    return bare or text


@lru_cache(2**16)
def sides(word: str) -> Mapping[str, float]:
    """Read a normal word as a side, in each family of words that has it."""
    if match := _VERSUS.fullmatch(word):
        end, other = (_SHORT.get(match[n], match[n]) for n in ("end", "other"))
        mark = match["mark"]
        size = 2.0 if mark in (">>", "<<") else 0.0 if mark in "==~≈" else 1.0
        size = -size if mark in ("<", "<<", "≺") else size
    elif match := _RESULT.fullmatch(word):
        end, other = (_SHORT.get(match[n], match[n]) for n in ("end", "other"))
        size = -1.0 if match["result"] in ("worse", "loses", "lost") else 1.0
    else:
        return {}
    signs = {}
    for family, pair in _FAMILIES.items():
        if end in pair and (other is None or {end, other} == {*pair}):
            signs[family] = (size if end == pair[0] else -size) + 0.0
    return signs


@dataclass(frozen=True)
class Words:
    """The words for two sides.

    Attributes:
        families: Families of words, by their names in `sides`.
        columns: Names of the two columns, which are words, too.
        meant: Signs of words that the user named.
    """

    families: Sequence[str]
    columns: Sequence[str]
    meant: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def names(self) -> Mapping[str, float]:
        """The names of the two columns, with and without `_id`, as words."""
        full = [tokens(column) for column in self.columns]
        short = [tuple(word for word in name if word not in FILL) for name in full]
        return {
            "".join(name): sign
            for names in (short, full)
            for name, sign in zip(names, (A, B), strict=False)
            if name
        }

    @property
    def given(self) -> bool:
        """Whether the user named the words for sides; then others and ids are none."""
        return bool({A, B} & {*self.meant.values()})

    def sign(self, word: str) -> float:
        """Read a normal word; NaN if it is unknown."""
        if word in self.meant:
            return self.meant[word]
        if word == "":
            return NONE
        if self.given:
            return self.meant.get(OTHERS, NEUTRAL.get(word, np.nan))
        named = self.names.get(word.replace(" ", ""))
        if named is not None:
            return named
        read = sides(word)
        there = [read[family] for family in self.families if family in read]
        return there[0] if there else NEUTRAL.get(word, np.nan)


def is_code(word: str) -> bool:
    """Return whether a word may be a code without a known meaning: `3`, `c`, `true`.

    Such words never count as no answer.
    """
    bare = len(word) <= 2 or word in ("true", "false", "yes", "no")
    named = tokens(word)
    tied = len(named) <= _SHORT_TIE and {*named} & (TIES | {"same", "similar"})
    return bool(bare or sides(word) or tied or _NUMBER.fullmatch(word))


def parse_columns(text: str) -> dict[str, str]:
    """Read `winner=label,query_id=-` as the column of each role.

    Raises:
        UsageError: the text is no such list, or names an unknown role.
    """
    named: dict[str, str] = {}
    same = {"doc_id": "a", "other_doc_id": "b", "query": "query_id"}
    for part in text.split(","):
        role, equal, column = (x.strip() for x in part.partition("="))
        role = same.get(role.lower(), role.lower())
        if not equal or not column or role not in ROLES or role in named:
            raise UsageError(
                f"columns {text!r}: expected ROLE=COLUMN,… such as winner=label, each "
                f"once; roles are {', '.join(ROLES)}"
            )
        named[role] = column
    return named


def parse_answers(text: str) -> dict[str, float]:
    """Read `a=0,b=1,tie=2|3` as the sign of each word.

    Raises:
        UsageError: the text is no such list.
    """
    signs = {"a": A, "b": B, "tie": TIE, "none": NONE}
    meant: dict[str, float] = {}
    for part in text.split(","):
        name, equal, words = part.partition("=")
        name = name.strip().lower()
        if not equal or name not in signs or not words.strip():
            raise UsageError(
                f"answers {text!r}: expected a=…,b=…,tie=…,none=…, with | between "
                "words and * for all others, such as a=0,b=1,tie=2|3,none=*"
            )
        for word in (w.strip() for w in words.split("|")):
            word = word if word == OTHERS else normal(word)
            if meant.setdefault(word, signs[name]) != signs[name]:
                raise UsageError(f"answers {text!r}: {word!r} means two things")
    return meant


_MOST_ODD = 5  # words that an option may list
_MOST_POINTS = 11  # of a scale from one document to the other


def guess_answers(words: Sequence[str], odd: Sequence[str] = ()) -> str:
    """Write possible options for the meaning of words, most likely ones first.

    Args:
        words: All words that are not empty and no known ties.
        odd: The words with no known meaning.

    Returns:
        Options that can be pasted; "" if nothing is likely.
    """
    if 0 < len(words) <= _MOST_POINTS and all(map(_NUMBER.fullmatch, words)):
        return _by_number(words)
    if {*"".join(words)} & {*",|='"} or len(odd) > _MOST_ODD:
        return _option(none=[OTHERS]) if odd else ""
    signs = {word: {*sides(word).values()} for word in words}
    odd = [word for word in odd if len(signs[word]) != 1]
    one, other = ([w for w, x in signs.items() if x == {side}] for side in (A, B))
    one, other = one or _opposites(other, A), other or _opposites(one, B)
    if one and other and len({*one, *other, *odd}) >= len(words):
        if odd and not any(map(is_code, odd)):
            return _option(none=odd)
        return _option(a=one, b=other, tie=odd)
    if len(odd) < len(words):
        return _option(none=odd)
    one, other, tie = odd[:1], odd[1:2], odd[2:]
    option = _option(a=one, b=other, tie=tie)
    return option if tie else f"{option} or {_option(a=other, b=one)}"


def _by_number(words: Sequence[str]) -> str:
    """Write the option that reads a scale; both directions if either is likely."""
    points = sorted(words, key=float)
    if len(points) == 1:
        return f"{_option(a=points)} or {_option(b=points)}"
    low, high = float(points[0]), float(points[-1])
    middle = 0.0 if low < 0 else (low + high) / 2
    if {"0", "2"} <= {*points} <= {"0", "1", "2"}:
        return _option(a=["1"], b=["2"], tie=["0"])
    below, above, tie = (
        [w for w in points if np.sign(float(w) - middle) == side] for side in (-1, 1, 0)
    )
    option = _option(a=below, b=above, tie=tie)
    if low < 0 or high <= 1:
        option = f"{_option(a=above, b=below, tie=tie)} or {option}"
    return option


def _option(**meant: Sequence[str]) -> str:
    """Write the option with the words for a, b, a tie or no answer."""
    texts = [f"{name}={'|'.join(words)}" for name, words in meant.items() if words]
    return f"--answers {quote(','.join(texts))}" if texts else ""


def _opposites(words: Sequence[str], sign: float) -> list[str]:
    """Return the words for the other side: `b` for `a`."""
    return [
        pair[sign == B]
        for word in words
        for pair in _FAMILIES.values()
        if word == pair[sign == A]
    ]
