"""What the cell of a vote says: one side, the other, neither, or no answer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan

import numpy as np

from pgcjax.errors import UsageError
from pgcjax.io.schema import Origin, refuse, shorten
from pgcjax.later import pd

_ANY = "*"  # of the words that a user names: all others
A, TIE, B, NONE = 1.0, 0.0, -1.0, np.inf
"""Signs of a vote, as of a preference; `NONE` is a judge who gave no answer."""

_TIES = "tie tied ties draw equal same neither n both = a=b b=a a~b no-preference"
BOTH_BAD = "both-bad bothbad both-are-bad tie-bothbad tie-both-bad neither-is-good"
_BOTH_GOOD = "both-good bothgood both-are-good tie-bothgood tie-both-good"
_NO_ANSWER = "invalid error refused refusal unknown n/a na nan abstain abstained skip"
_NO_ANSWER += " skipped no-answer unparsable unparseable"
_TIED = {*_TIES.split(), *BOTH_BAD.split(), *_BOTH_GOOD.split()}
_BAD, _UNANSWERED = {*BOTH_BAD.split()}, {*_NO_ANSWER.split(), ""}
_STRONG = {"a>>b": 2.0, "b<<a": 2.0, "a<<b": -2.0, "b>>a": -2.0}
_WORDS = {"a": A, "a>b": A, "b<a": A, "b": B, "b>a": B, "a<b": B, **_STRONG}
_WORDS |= dict.fromkeys(_TIED, TIE) | dict.fromkeys(_UNANSWERED, NONE)
_OF_ENDS: Mapping[tuple[str, str], Mapping[str, float]] = {
    ("left", "right"): {"l": A, "r": B},
    ("first", "second"): {"1": A, "2": B, "1st": A, "2nd": B},
}


@dataclass(frozen=True)
class Words:
    """The words for the two sides of a pair, and for neither.

    Attributes:
        sign: of each word, as `normal` writes it.
        given: whether the user named the words: then no others count, nor do ids.
    """

    sign: Mapping[str, float]
    given: bool = False

    @classmethod
    def of(cls, sides: Sequence[str], ends: tuple[str, str]) -> Words:
        """List the words for two columns, of whose names these are the ends."""
        own = dict(zip(map(normal, (*sides, *ends)), (A, B) * 2, strict=True))
        return cls({**_WORDS, **own, **_OF_ENDS.get(ends, {})})


def positions() -> Words:
    """List the words for what was shown first, and for what was shown second."""
    ends = {"first": A, "second": B, "left": A, "right": B, "1": A, "2": B}
    rest = {word: sign for word, sign in _WORDS.items() if sign in (TIE, NONE)}
    return Words({**rest, **ends, "1st": A, "2nd": B})


def normal(cell: object) -> str:
    """Write a cell as a word: `[[A>B]]` as `a>b`, `Both bad` as `both-bad`."""
    if cell is None or cell is pd.NA or (isinstance(cell, float) and isnan(cell)):
        return ""
    if isinstance(cell, (float, np.floating)) and cell == int(cell):
        cell = int(cell)
    text = str(cell).strip().lower()
    if re.fullmatch(r"[-+]?\d+(\.0*)?", text, re.ASCII):
        return str(int(float(text)))
    if match := re.fullmatch(r"\[\[(.+)\]\]", text):  # as judges of MT-Bench say it
        text = "tie" if match[1] == "c" else match[1]
    return re.sub(r"[\s_()-]+", "-", text.replace("≈", "=")).strip("-")


def parse_answers(text: str) -> dict[str, str]:
    """Read `a=0,b=1,tie=2|3` as the meaning of each word.

    Raises:
        UsageError: it is no such list.
    """
    meant: dict[str, str] = {}
    for part in text.split(","):
        name, equal, words = part.partition("=")
        name = name.strip().lower()
        if not equal or name not in ("a", "b", "tie", "none") or not words.strip():
            raise UsageError(
                f"answers {text!r}: expected a=…,b=…,tie=…,none=…, with | between "
                "words and * for all others, such as a=0,b=1,tie=2|3,none=*"
            )
        for word in map(normal, words.split("|")):
            if meant.setdefault(word, name) != name:
                raise UsageError(f"answers {text!r}: {word!r} means two things")
    return meant


def named_words(meant: Mapping[str, str]) -> Words:
    """Make words of what `parse_answers` read; an empty cell still is no answer."""
    signs = {"a": A, "b": B, "tie": TIE, "none": NONE}
    return Words({"": NONE, **{word: signs[m] for word, m in meant.items()}}, True)


def decode(
    cells: Sequence[object],
    docs: tuple[Sequence[str], Sequence[str]],
    words: Words,
    name: str,
    origin: Origin,
    what: str = "is better",
) -> tuple[np.ndarray, int]:
    """Say of each vote which of two documents it is for.

    A cell is a word for a side, or the id of a document of the row; whichever reads all
    cells. An id that is a word for the other side leaves that open.

    Args:
        cells: the votes.
        docs: ids of the two documents of each.
        words: for the sides.
        name: of their column, for messages.
        origin: of the rows.
        what: a cell says of a document.

    Returns:
        Signs, or `NONE`, of each vote, ±2 where it is a definite one; and how many
        ties say that both are bad.

    Raises:
        DataError: a vote can be read in no way, or in two.
    """
    code, distinct = pd.factorize(
        pd.Series(list(cells), dtype=object), use_na_sentinel=False
    )
    words_said = [normal(cell) for cell in distinct]
    other = words.sign.get(_ANY, np.nan)
    by_word = np.array([words.sign.get(word, other) for word in words_said])[code]
    exact = np.array(
        [w and _id(c) for w, c in zip(words_said, distinct, strict=True)], object
    )[code]
    said = np.array(words_said, object)[code]
    first, second = (np.array(list(side), object) for side in docs)
    by_id = np.where(exact == first, A, np.where(exact == second, B, np.nan))
    if words.given:
        by_id = np.full(len(code), np.nan)
    neither = np.isin(by_word, (TIE, NONE))
    ids = np.where(np.isnan(by_id) & neither, by_word, by_id)
    whole_words, whole_ids = not np.isnan(by_word).any(), not np.isnan(ids).any()
    if whole_words and whole_ids:
        clash = np.clip(by_word, -1, 2) != np.clip(ids, -1, 2)
        clash &= ~((by_word > 0) & (ids > 0) & np.isfinite(by_word + ids))
        refuse(
            clash,
            lambda i: (
                f"{name} {cells[i]!r} is a word for a side, and the id of the other "
                "document"
            ),
            origin,
            "Say what the words mean: --answers a=…,b=…,tie=… (answers= in Python).",
        )
    elif not whole_words and not whole_ids:
        unread = np.isnan(by_word) & np.isnan(ids)
        unread = unread if unread.any() else np.isnan(ids)
        odd = sorted({shorten(cells[i], 30) for i in np.flatnonzero(unread)[:10000]})
        refuse(
            unread,
            lambda i: (
                f"expected which of {first[i]!r} and {second[i]!r} {what} as "
                f"{name}, found {shorten(cells[i])}"
            ),
            origin,
            f"Say what the words mean, such as --answers {_guess(odd)} "
            "(answers= in Python).",
        )
    sign = by_word if whole_words else ids
    bad = sum(word in _BAD for word, s in zip(said, sign, strict=True) if s == TIE)
    return sign, bad


def _id(cell: object) -> str:
    return str(cell) if isinstance(cell, (str, int, np.integer)) else ""


def _guess(odd: list[str]) -> str:
    """Guess what words mean that are not known."""
    bare = [word.strip("'\"") for word in odd]
    numbers = {"0", "1", "-1", "2", "-2", "0.0", "1.0", "-1.0"} >= set(bare)
    if numbers and any(word.startswith("-") for word in bare):
        return "a=1,tie=0,b=-1"
    if numbers and "2" not in bare:
        return "a=0,b=1 or a=1,b=0"
    if numbers:
        return "a=1,b=2,tie=0"
    return "a=…,b=…,tie=…,none=*"
