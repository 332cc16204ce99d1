"""Columns of answers as signs: which of the two documents of its row each cell names.

The cells of a column have one domain: ids of the documents of their rows, or words for
the two sides. Ids are compared as text, before words are normalised. If both fit and
contradict each other, the column is refused as ambiguous.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from math import ceil
from typing import NamedTuple

import numpy as np

from pgcjax.errors import DataError, DataWarning, listed
from pgcjax.io.reading import chosen
from pgcjax.io.schema import (
    GENERAL,
    Origin,
    expect,
    ids,
    lenient_numbers,
    numbers_or_nan,
    refuse,
    shorten,
)
from pgcjax.io.votes.layouts import WON
from pgcjax.io.votes.words import (
    NEUTRAL,
    NONE,
    OTHERS,
    TIE,
    TRUTH,
    WINS,
    A,
    B,
    Words,
    guess_answers,
    is_code,
    normal,
    plain,
    sides,
)
from pgcjax.later import pd

_OPTION = "(answers= in Python)"
_BOTH = "(columns= and answers= in Python)."
_WORDS = 100  # so many distinct cells are ids or text, and no codes to be explained
_NEAR = 1e-3  # tolerance of the sum 1 of rounded probabilities


class Answers(NamedTuple):
    """Content of a column of answers.

    Attributes:
        sign: Sign of each row, ±2 for a definite preference; or `NONE`.
        ids: Whether cells are ids of documents.
    """

    sign: np.ndarray
    ids: bool


def decode(
    cells: Sequence[object],
    docs: tuple[Sequence[str], Sequence[str]],
    words: Words,
    name: str,
    origin: Origin,
    verb: str = "is better",
) -> Answers:
    """Read which of two documents each cell is for.

    Unreadable cells count as no answer, up to the share that `reading` allows, with a
    warning.

    Args:
        cells: The answers.
        docs: Ids of the two documents of each row.
        words: Words for the sides.
        name: Name of the column, for messages.
        origin: Origin of the rows.
        verb: Predicate for the document that a cell names, for messages.

    Raises:
        DataError: cells have no domain, or two, or too many are unreadable.
    """
    column = _AnswerColumn(cells, docs, words, name, origin)
    sign, is_id = column.one_domain()
    unread = np.isnan(sign)
    if OTHERS in words.meant:
        sign[unread] = words.meant[OTHERS]
    elif unread.any():
        column.leave_unread(unread, verb)
        sign[unread] = NONE
    return Answers(sign, is_id)


class _AnswerColumn:
    """A column of answers, compared with ids and words.

    Attributes:
        by_word: Sign of each row from the words for sides; NaN if no word fits.
        by_id: Sign of each row from the ids of its documents; NaN if no id fits.
        neutral: Mask of rows whose word is a tie or no answer.
    """

    def __init__(
        self,
        cells: Sequence[object],
        docs: tuple[Sequence[str], Sequence[str]],
        words: Words,
        name: str,
        origin: Origin,
    ):
        self.docs, self.words, self.name, self.origin = docs, words, name, origin
        self.text = np.array([*map(plain, cells), ""], object)[:-1]
        self.code, distinct = pd.factorize(self.text)
        first, second = (np.array([*side, ""], object)[:-1] for side in docs)
        self.by_id = np.where(
            self.text == first, A, np.where(self.text == second, B, np.nan)
        )
        self.distinct = [*map(normal, distinct)]
        self.by_word = self.of_word(words.sign, float)
        if words.given:
            self.by_id[:] = np.nan
        marks = self.of_word(lambda word: word in NEUTRAL) | words.given
        self.neutral = np.isin(self.by_word, (TIE, NONE)) & marks

    def of_word(self, function, dtype: type = bool) -> np.ndarray:
        """Apply a function of words to all rows."""
        return np.array([*map(function, self.distinct), 0], dtype)[:-1][self.code]

    def one_domain(self) -> tuple[np.ndarray, bool]:
        """Choose ids or words for the whole column; return signs, and whether ids.

        Raises:
            DataError: a cell may be both, or the column has some of each.
        """
        by_word, by_id, neutral = self.by_word, self.by_id, self.neutral
        self._refuse_clash(neutral & ~np.isnan(by_id))
        is_word, is_id = ~np.isnan(by_word) & ~neutral, ~np.isnan(by_id)
        words_only, ids_only = is_word & ~is_id, is_id & ~is_word
        both = is_word & is_id
        if words_only.any() and ids_only.any():
            few = words_only if words_only.sum() <= ids_only.sum() else ids_only
            domain = "ids of documents" if few is words_only else "words for sides"
            refuse(
                few,
                lambda i: (
                    f"found {self.distinct[self.code[i]]!r} in a column of {domain}"
                ),
                self.origin,
                "Write all answers in one way: ids, or words for sides.",
            )
        if ids_only.any() or both.any() and not words_only.any():
            # Words of other families have no meaning here, but make ids ambiguous.
            rows = is_id & ~neutral
            clash = np.zeros(len(rows), bool)
            for family in {family for word in self.distinct for family in sides(word)}:
                signs = self.of_word(lambda w, f=family: sides(w).get(f, np.nan), float)
                if not np.isnan(signs[rows]).any():
                    clash |= rows & (signs != by_id)
            self._refuse_clash(clash)  # the first row of any family
            return np.where(neutral, by_word, by_id), bool(ids_only.any())
        self._refuse_clash(both & (np.sign(by_word) != by_id))
        return by_word.copy(), False

    def _refuse_clash(self, bad: np.ndarray) -> None:
        """Refuse cells whose ids and words contradict each other."""
        mend, distinct = "Rename the ids.", self.distinct
        if len(distinct) < _WORDS:
            active = {distinct[k] for k in self.code[~self.neutral].tolist()}
            if guess := guess_answers(sorted(active)):
                mend = f"If they are words, say so: {guess} {_OPTION}; else rename the "
                mend += "ids."

        def problem(i: int) -> str:
            word = "for a tie or no answer" if self.neutral[i] else "for a side"
            return (
                f"{self.name} {self.text[i]!r} is the id of a document of the row, and "
                f"a word {word}"
            )

        refuse(bad, problem, self.origin, mend)

    def leave_unread(self, unread: np.ndarray, verb: str) -> None:
        """Warn of unreadable cells, or refuse them.

        Raises:
            DataError: a cell may be a code or an id of another row, or they are many.
        """
        everyone = {*self.docs[0], *self.docs[1]}
        doubt = self.of_word(is_code) | np.array([x in everyone for x in self.text])
        odd = sorted({self.distinct[k] for k in self.code[unread].tolist()})
        active = sorted({word for word in self.distinct if word not in NEUTRAL})
        mend = (
            f"Say what the words mean, such as {guess_answers(active, odd)} {_OPTION}"
        )

        def problem(i: int) -> str:
            one, other = self.docs[0][i], self.docs[1][i]
            return (
                f"expected which of {one!r} and {other!r} {verb} as {self.name}, found "
                + shorten(self.text[i])
            )

        refuse(unread & doubt, problem, self.origin, f"{mend}.")
        share = unread.mean()
        if share > chosen().unread:
            first = int(unread.argmax())
            line = f"--unread {ceil(share * 100) / 100:g}"
            raise DataError(
                f"{problem(first)}; {unread.sum()} of {len(unread)} cells match no "
                "rule",
                where=self.origin.at(first),
                mend=f"{mend}; {line} (unread= in Python) counts them as no answer.",
            )
        texts = [shorten(self.text[i], 60) for i in np.flatnonzero(unread)[:3]]
        warnings.warn(
            f"{self.origin.name}: {unread.sum()} of {len(unread)} cells of "
            f"{self.name} match no rule, and are no answer: {listed(texts, 2)}",
            DataWarning,
            stacklevel=7,
        )


def check_signs(sign: np.ndarray, name: str, at: Origin) -> None:
    """Refuse numbers that may be places or probabilities.

    Raises:
        DataError: no number is below 0, and not all are 0 or 1.
    """
    if (sign < 0).any() or np.isin(sign, (0.0, 1.0)).all():
        return
    more = f"--columns probability={name} (that the first is better)"
    if (sign > 1).any():
        more = guess_answers([f"{value:g}" for value in np.unique(sign)])
    raise DataError(
        f"{name} is never below 0, and not always 0 or 1: it may be a place, a "
        "probability or a strength",
        where=at.name,
        mend=f"Say what it is: {more + '; or ' if more else ''}--columns preference="
        f"{name} (above 0, the first is better; its size changes no score) {_BOTH}",
    )


def outcome(column: pd.Series, of: Mapping[str, str], at: Origin) -> np.ndarray:
    """Read whether the named winner of a row won, or the row is a tie.

    Raises:
        DataError: a cell says neither.
    """
    words = [normal(plain(cell)) for cell in column]
    sign = np.array([1.0 if w in WINS else NEUTRAL.get(w, np.nan) for w in words])
    a, b, name = of["a"], of["b"], of["outcome"]
    odd = sorted({*words} - {*NEUTRAL} - WINS)
    refuse(
        ~np.isfinite(sign),
        lambda i: f"{name} {column.tolist()[i]!r} may change which of {a} and {b} won",
        at,
        f"If {a} won in all rows, say --columns winner={a},loser={b}; else what the "
        f"words mean, --columns a={a},b={b},winner={name} "
        f"{guess_answers(sorted({*words}), odd)} {_BOTH}",
    )
    return sign


def tied(column: pd.Series, sign: np.ndarray, name: str, at: Origin) -> np.ndarray:
    """Make ties of the rows whose flag is set.

    Raises:
        DataError: a cell is no flag, or contradicts a tie.
    """
    words = [normal(plain(cell)) for cell in column]
    flag = np.array([TRUTH.get(word, np.nan) for word in words])
    mend = f"If it says nothing of ties, say --columns tie=- {_BOTH}"
    expect(~np.isnan(flag), f"true or false as {name}", column, at, mend)
    refuse(
        (sign == TIE) & (flag == 0) & np.array([word != "" for word in words]),
        lambda i: f"the row is a tie, but {name} says that it is none",
        at,
        "Mend the row.",
    )
    return np.where(flag == 1, TIE, sign)


def check_sides(
    kind: str,
    cells: Mapping[str, pd.Series],
    of: Mapping[str, str],
    docs: Sequence[pd.Series],
    sign: np.ndarray,
    at: Origin,
) -> None:
    """Refuse a winner or loser that contradicts the rest of the row.

    Raises:
        DataError: there is one.
    """
    if kind == WON:
        cells = {"winner": cells["a"], "loser": cells["b"], **cells}
        of = {**of, "winner": of["a"], "loser": of["b"]}
    signs = pd.Series(sign)
    for role, (won, lost) in (("winner", docs), ("loser", docs[::-1])):
        if role not in cells:
            continue
        column = ids(cells[role], at, empty="preference" in cells)
        expected = won.where(signs > 0, lost).where(signs != 0)

        def problem(i: int, role=role, column=column, expected=expected) -> str:
            other = "a tie" if sign[i] == TIE else repr(expected[i])
            return f"{of[role]} is {column[i]!r}, but the rest of the row says {other}"

        refuse(
            (column.notna() & ~(column == expected).fillna(False)).to_numpy(bool),
            problem,
            at,
            "Mend the row, or rename a column that means something else.",
        )


def probability(
    cells: Mapping[str, pd.Series], of: Mapping[str, str], sign: np.ndarray, at: Origin
) -> np.ndarray | None:
    """Read the probability that the first document is better, a tie being half.

    Raises:
        DataError: probabilities do not add up to 1.
    """
    roles = ("p_a", "p_tie", "p_b", "probability", "confidence")
    given = {r: lenient_numbers(cells[r]) for r in roles if r in cells}
    for role, values in given.items():
        expected = f"a probability from 0 to 1 as {of[role]}"
        mend = "Mend it, or name another column (--columns)."
        expect((values >= 0) & (values <= 1), expected, cells[role], at, mend)
    if "p_b" in given and "p_a" in given:
        total = sum(given[r] for r in ("p_a", "p_tie", "p_b") if r in given)
        refuse(
            np.abs(total - 1) > _NEAR,
            lambda i: (
                "expected probabilities that add up to 1, found "
                + " + ".join(f"{given[r][i]:g}" for r in roles if r in given)
            ),
            at,
            "If ties have one, name its column p_tie.",
        )
        p = np.clip(0.5 + (given["p_a"] - given["p_b"]) / 2, 0, 1)
    elif "p_a" in given:
        p = given["p_a"] + given.get("p_tie", 0.0) / 2
    elif "probability" in given:
        p = given["probability"]
    elif "confidence" in given:
        side = np.clip(np.nan_to_num(sign, posinf=0), -1, 1)
        p = 0.5 + side * (given["confidence"] - 0.5)
    else:
        return None
    return p


def check_probability(table: pd.DataFrame, origin: Origin) -> None:
    """Read probabilities, NaN if missing; refuse those that contradict the winner."""
    expected, mend = "a probability from 0 to 1", "Leave unknown ones empty."
    p = numbers_or_nan(table["probability"], expected, origin, mend, least=0)
    expect(~(p > 1), expected, p, origin, mend, GENERAL)
    table["probability"] = p
    sign = np.sign(table["preference"].to_numpy())
    refuse(
        ~np.isnan(p) & (np.sign(p - 0.5) * sign < 0),
        lambda i: (
            f"preference is {table.preference[i]:g}, but probability {p[i]:g}: of the "
            "two, it says that the other one wins"
        ),
        origin,
        "It is that doc_id is better; one that the winner is better has the role "
        "confidence (--columns, in Python columns=).",
    )
