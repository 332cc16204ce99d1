"""Columns of answers as signs: which of the two documents of its row each cell names.

The cells of a column have one domain: ids of the documents of their rows, or words for
the two sides. Ids are compared as text, before words are normalised. Where both fit and
say different things, nobody can know, and the column is refused.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil
from typing import NamedTuple

import numpy as np

from pgcjax.errors import DataError, DataWarning, listed
from pgcjax.io.reading import chosen
from pgcjax.io.schema import Origin, refuse, shorten
from pgcjax.io.votes.layouts import FILL, tokens
from pgcjax.io.votes.words import (
    BOTH_BAD,
    NEUTRAL,
    NONE,
    OTHERS,
    TIE,
    A,
    B,
    guess_answers,
    is_code,
    normal,
    plain,
    sides,
)
from pgcjax.later import pd

_OPTION = "(answers= in Python)"
_WORDS = 100  # from which distinct cells are ids or text, and no codes to be explained


class Answers(NamedTuple):
    """What a column of answers says.

    Attributes:
        sign: of each row, ±2 where it is a definite one; or `NONE`.
        ids: whether cells are ids of documents.
        both_bad: how many ties say that both are bad.
    """

    sign: np.ndarray
    ids: bool
    both_bad: int


@dataclass(frozen=True)
class Words:
    """The words for two sides.

    Attributes:
        families: of words, as `sides` names them.
        columns: names of the two columns, which are words, too.
        meant: what the user said of words.
    """

    families: Sequence[str]
    columns: Sequence[str]
    meant: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def names(self) -> Mapping[str, float]:
        """The names of the two columns, with and without `_id`, as words."""
        own = [tokens(column) for column in self.columns]
        short = [tuple(word for word in name if word not in FILL) for name in own]
        return {
            "".join(name): sign
            for names in (short, own)
            for name, sign in zip(names, (A, B), strict=False)
            if name
        }

    @property
    def given(self) -> bool:
        """Whether the user said which words are sides: then no others are, nor ids."""
        return bool({A, B} & {*self.meant.values()})

    def sign(self, word: str) -> float:
        """Read a normal word; NaN if it is none of these."""
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


def decode(
    cells: Sequence[object],
    docs: tuple[Sequence[str], Sequence[str]],
    words: Words,
    name: str,
    origin: Origin,
    what: str = "is better",
) -> Answers:
    """Read which of two documents each cell is for.

    Cells that no rule reads are no answer, up to the share that `reading` allows; they
    are warned of.

    Args:
        cells: the answers.
        docs: ids of the two documents of each row.
        words: for the sides.
        name: of the column, for messages.
        origin: of the rows.
        what: a cell says of a document.

    Raises:
        DataError: cells have no domain, or two, or too many are unread.
    """
    text = np.array([*map(plain, cells), ""], object)[:-1]
    code, distinct = pd.factorize(text)
    said = [normal(cell) for cell in distinct]
    by_word = np.array([words.sign(word) for word in said] + [0.0])[:-1][code]
    first, second = (np.array([*side, ""], object)[:-1] for side in docs)
    by_id = np.where(text == first, A, np.where(text == second, B, np.nan))
    if words.given:
        by_id = np.full(len(code), np.nan)
    marks = np.array([word in NEUTRAL for word in said] + [False])[:-1][code]
    neutral = np.isin(by_word, (TIE, NONE)) & (marks | words.given)

    def clash(i: int) -> str:
        return (
            f"{name} {text[i]!r} is the id of a document of the row, and a word for "
            + ("a tie or no answer" if neutral[i] else "a side")
        )

    mend = "Rename the ids."
    active = {said[k] for k in code[~neutral].tolist()} if len(said) < _WORDS else ()
    if guess := guess_answers(sorted(active)):
        mend = f"If they are words, say so: {guess} {_OPTION}; else rename the ids."
    refuse(neutral & ~np.isnan(by_id), clash, origin, mend)
    sign, is_id = _one_domain(by_word, by_id, neutral, said, code, clash, origin, mend)
    _leave_unread(sign, text, docs, words, said, code, name, origin, what)
    bad = sum(said[k] in BOTH_BAD for k in code[sign == TIE])
    return Answers(sign, is_id, bad)


def _one_domain(
    by_word: np.ndarray,
    by_id: np.ndarray,
    neutral: np.ndarray,
    said: list[str],
    code: np.ndarray,
    clash,
    origin: Origin,
    mend: str,
) -> tuple[np.ndarray, bool]:
    """Choose ids or words for the whole column, and say whether it is ids."""
    is_word, is_id = ~np.isnan(by_word) & ~neutral, ~np.isnan(by_id)
    words_only, ids_only = is_word & ~is_id, is_id & ~is_word
    both = is_word & is_id
    if words_only.any() and ids_only.any():
        few = words_only if words_only.sum() <= ids_only.sum() else ids_only
        refuse(
            few,
            lambda i: (
                f"found {said[code[i]]!r} in a column of "
                + ("ids of documents" if few is words_only else "words for sides")
            ),
            origin,
            "Write all answers in one way: ids, or words for sides.",
        )
    if ids_only.any() or both.any() and not words_only.any():
        # The words of other families are no words here, but leave open what is meant.
        rows = is_id & ~neutral
        read = [sides(word) for word in said]
        families = {family for signs in read for family in signs}
        for family in families:
            signs = np.array([r.get(family, np.nan) for r in read])[code]
            if not np.isnan(signs[rows]).any():
                refuse(rows & (signs != by_id), clash, origin, mend)
        return np.where(neutral, by_word, by_id), bool(not both.any() or ids_only.any())
    refuse(both & (np.sign(by_word) != by_id), clash, origin, mend)
    return by_word.copy(), False


def _leave_unread(
    sign: np.ndarray,
    text: np.ndarray,
    docs: tuple[Sequence[str], Sequence[str]],
    words: Words,
    said: list[str],
    code: np.ndarray,
    name: str,
    origin: Origin,
    what: str,
) -> None:
    """Make cells that no rule reads no answer, or refuse them."""
    unread = np.isnan(sign)
    if OTHERS in words.meant:
        sign[unread] = words.meant[OTHERS]
        return
    if not unread.any():
        return
    everyone = {*docs[0], *docs[1]}
    codes = [is_code(word) for word in said]
    doubt = unread & np.array(
        [codes[k] or cell in everyone for k, cell in zip(code, text, strict=True)]
    )
    share, most = unread.mean(), chosen().unread

    def problem(i: int) -> str:
        return (
            f"expected which of {docs[0][i]!r} and {docs[1][i]!r} {what} as {name}, "
            f"found {shorten(text[i])}"
        )

    odd = sorted({said[k] for k in code[unread].tolist()})
    active = sorted({word for word in said if word not in NEUTRAL})
    mend = f"Say what the words mean, such as {guess_answers(active, odd)} "
    refuse(doubt, problem, origin, f"{mend}{_OPTION}.")
    examples = listed([shorten(text[i], 60) for i in np.flatnonzero(unread)[:3]], 2)
    if share > most:
        first = int(unread.argmax())
        line = f"--unread {ceil(share * 100) / 100:g}"
        raise DataError(
            f"{problem(first)}; {unread.sum()} of {len(sign)} cells say nothing that "
            "any rule reads",
            where=origin.at(first),
            mend=f"{mend}{_OPTION}; {line} (unread= in Python) takes them for no "
            "answer.",
        )
    warnings.warn(
        f"{origin.name}: {unread.sum()} of {len(sign)} cells of {name} say nothing "
        f"that any rule reads, and are no answer: {examples}",
        DataWarning,
        stacklevel=7,
    )
    sign[unread] = NONE
