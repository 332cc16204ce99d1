"""Settings of reading: limits of memory, the encoding of text, and others."""

import codecs
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from pgcjax.errors import UsageError, check_choice
from pgcjax.io.choices import FLIPS, SCORE_FORMATS

try:
    import resource
except ImportError:  # not on Windows
    resource = None

UTF8 = "utf-8"

_ALLOWED = {"score_format": ("auto", *SCORE_FORMATS), "flips": FLIPS}
_ASKED = ("encoding", "columns", "answers", "unread", "reader")
"""Settings that a job states as the user gave them."""
_UNITS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}
_LEAST = 64 * 2**20  # bytes that a job needs at least


@dataclass(frozen=True)
class Reading:
    """Settings of reading.

    Attributes:
        memory: Most bytes that a file may have, decompressed, to be read at once.
        encoding: Encoding of text, by its name in Python.
        score_format: Format of scores in lines without a header: one of
            `SCORE_FORMATS`, or `auto` to find it.
        columns: Column of each named role, in tables of votes.
        answers: Sign of each named word, in tables of votes.
        unread: Share of answers in tables of votes that may be unreadable.
        aspects: Aspects of preferences that are taken; empty for all.
        flips: Treatment of double votes that do not agree; one of `FLIPS`.
        reader: Reader of all files of its kind; by default, files that the built-in
            formats do not fit are read by the reader that claims them.
        asked: The settings about files, as arguments of `reading`.
        covariates: More columns that are read from votes, as in `roles.covariates`.
    """

    memory: int
    encoding: str = UTF8
    score_format: str = "auto"
    columns: Mapping[str, str] = field(default_factory=dict)
    answers: Mapping[str, float] = field(default_factory=dict)
    unread: float = 0.05
    aspects: tuple[str, ...] = ()
    flips: str = FLIPS[0]
    reader: str = ""
    asked: dict[str, object] = field(default_factory=dict)
    covariates: tuple[str, ...] = ()

    def described(self) -> dict[str, object]:
        """Describe the settings of reading that are not the default."""
        settings = {"aspects": list(self.aspects), "flips": self.flips}
        settings["reading"] = dict(self.asked)
        return {k: v for k, v in settings.items() if v and v != FLIPS[0]}


_chosen: ContextVar[Reading | None] = ContextVar("reading", default=None)


def chosen() -> Reading:
    """Return the settings that `reading` chose for this context, or the defaults."""
    return _chosen.get() or Reading(memory_limit(None))


@contextmanager
def reading(
    *,
    memory: str | int | None = None,
    encoding: str | None = None,
    score_format: str | None = None,
    columns: str | None = None,
    answers: str | None = None,
    unread: float | None = None,
    aspects: str | Iterable[str] | None = None,
    flips: str | None = None,
    reader: str | None = None,
    covariates: Iterable[str] | None = None,
) -> Iterator[None]:
    """Choose how files are read inside the block; None leaves a setting as it is.

        with pgcjax.files.reading(encoding="latin-1"):
            scores = pgcjax.evaluate("runs/", qrels="qrels.txt")

    Args:
        memory: Most bytes that a file may have, decompressed, to be read at once, or a
            size such as `2GB`; by default a quarter of the machine's memory.
        encoding: Encoding of text files, such as `latin-1`; by default UTF-8.
        score_format: Format of files of scores without a header, such as `tot`; by
            default `auto`: it is found, or the file is refused.
        columns: Roles of columns in tables of votes: `winner=label,query_id=-`.
        answers: Words of answers in tables of votes: `a=0,b=1,tie=2|3`.
        unread: Largest share of unreadable cells in a column of answers (by default
            .05); they count as no answer.
        aspects: Aspects of preferences to read; by default all.
        flips: Treatment of a judge's two votes on a pair in both orders: `keep`,
            `tie`, `drop` or `half`, as in `votes.double.settle`.
        reader: Reader of another tool's files, such as `inspect`; by default it is
            found.
        covariates: More columns of votes, such as `style` for `style_a`, `style_b`.

    Raises:
        UsageError: an encoding or format is unknown, or `memory` is no size.
    """
    given = {name: value for name, value in locals().items() if value is not None}
    changes = {name: _parsed(name, value) for name, value in given.items()}
    asked = {name: given[name] for name in _ASKED if name in given}
    changes["asked"] = chosen().asked | asked
    token = _chosen.set(replace(chosen(), **changes))
    try:
        yield
    finally:
        _chosen.reset(token)


def _parsed(name: str, value: Any) -> Any:
    """Check a setting, and convert it to the form that readers take."""
    if name in _ALLOWED:
        check_choice(name, value, _ALLOWED[name])
    elif name == "unread" and not 0 <= value <= 1:
        raise UsageError(f"unread: expected a share from 0 to 1, found {value:g}")
    elif name == "memory":
        return memory_limit(value)
    elif name == "encoding":
        return _known(value)
    elif name in ("aspects", "covariates"):
        return (value,) if isinstance(value, str) else tuple(value)
    elif name in ("columns", "answers"):
        from pgcjax.io.votes import words  # many rules, for few calls

        parse = words.parse_columns if name == "columns" else words.parse_answers
        return parse(value)
    return value


def _known(encoding: str) -> str:
    try:
        "x".encode(encoding)  # an encoding of text, unlike hex
        return codecs.lookup(encoding).name
    except (LookupError, TypeError, ValueError):
        pass
    raise UsageError(
        f"encoding {encoding!r}: expected the name of an encoding, such as latin-1 or "
        "cp1252"
    )


def memory_limit(memory: str | int | None) -> int:
    """Read a size such as `2GB` in bytes; None is a quarter of the machine's memory.

    Raises:
        UsageError: `memory` is no size, or too small to work with.
    """
    if memory is None:
        return max(_LEAST, machine_memory() // 4)
    match = re.fullmatch(
        r"([0-9]{1,18}(?:\.[0-9]+)?)\s*([KMGT]?)(i?)B?",
        str(memory).strip(),
        re.IGNORECASE | re.ASCII,
    )
    if not match:
        raise UsageError(f"memory {memory!r}: expected a size such as 2GB or 500MB")
    number, unit, binary = match.groups()
    size = int(float(number) * (1024 if binary else 1000) ** _UNITS[unit.upper()])
    if size < _LEAST:
        raise UsageError(f"memory {memory!r}: at least 64MiB are needed")
    return size


@cache
def machine_memory() -> int:
    """Return the bytes of memory that this process may use in all."""
    sizes = []
    try:
        sizes.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        sizes.append(8 * 2**30)  # where the system does not report it
    for limit in ("memory.max", "memory/memory.limit_in_bytes"):  # of a container
        try:
            sizes.append(int(Path("/sys/fs/cgroup", limit).read_text(encoding="utf-8")))
        except (OSError, ValueError):
            continue
    return min(*sizes, address_space() or sizes[0])


def address_space() -> int | None:
    """Return the limit of this process's address space, in bytes (`ulimit -v`)."""
    if resource:
        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY:
            return limit
    return None
