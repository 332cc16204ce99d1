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
"""Settings that a job states as they were asked for."""
_UNITS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}
_LEAST = 64 * 2**20  # bytes with which a job can work


@dataclass(frozen=True)
class Reading:
    """Settings of reading.

    Attributes:
        memory: bytes that a file may have, decompressed, to be read at once.
        encoding: of text, by its name in Python.
        score_format: of scores in lines without a header: one of `SCORE_FORMATS`, or
            `auto` to find it.
        columns: of tables of votes: the column of each role that is named.
        answers: in such tables: the sign of each word that is named.
        unread: in such tables: the share of cells that no rule may read.
        aspects: of preferences: those that are taken; all if there are none.
        flips: what becomes of double votes that do not agree; one of `FLIPS`.
        reader: that reads all files of its kind; by default one is found where none of
            our own reads a file.
        asked: what was asked of files, as arguments of `reading`.
        covariates: of votes: more columns that are read, as `roles.covariates` says.
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
        """Describe how judgments and runs are read, where that is not by default."""
        settings = {"aspects": list(self.aspects), "flips": self.flips}
        settings["reading"] = dict(self.asked)
        return {k: v for k, v in settings.items() if v and v != FLIPS[0]}


_chosen: ContextVar[Reading | None] = ContextVar("reading", default=None)


def chosen() -> Reading:
    """Return what `reading` chose for this context, or what is chosen by default."""
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
    """Choose how files are read inside of the block; None leaves a choice as it is.

        with pgcjax.files.reading(encoding="latin-1"):
            scores = pgcjax.evaluate("runs/", qrels="qrels.txt")

    Args:
        memory: bytes that a file may have, decompressed, to be read at once, or a size
            such as `2GB`; by default a quarter of the machine's.
        encoding: of text files, such as `latin-1`; by default UTF-8.
        score_format: of files of scores without a header, such as `tot`; by default
            `auto`: it is found, or the file is refused.
        columns: of tables of votes: `winner=label,query_id=-`.
        answers: of the words in such tables: `a=0,b=1,tie=2|3`.
        unread: of the cells of a column of answers: up to this share (by default .05)
            may be what no rule reads, which is no answer.
        aspects: of preferences: only these.
        flips: what becomes of a judge's two votes on a pair in both orders: `keep`,
            `tie`, `drop` or `half`, as `votes.double.settle` says.
        reader: of files of another tool, such as `inspect`; by default it is found.
        covariates: of votes: more columns, such as `style` for `style_a`, `style_b`.

    Raises:
        UsageError: there is no such encoding or format, or `memory` is no size.
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
    """Check the choice of a setting, and bring it into the form that readers take."""
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
        "x".encode(encoding)  # of text, which hex is not, for instance
        return codecs.lookup(encoding).name
    except (LookupError, TypeError, ValueError):
        pass
    raise UsageError(
        f"encoding {encoding!r}: expected the name of an encoding, such as latin-1 or "
        "cp1252"
    )


def memory_limit(memory: str | int | None) -> int:
    """Read a size such as `2GB` or `500MiB` as bytes; None: a quarter of the machine's.

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
        sizes.append(8 * 2**30)  # where a machine does not tell
    for limit in ("memory.max", "memory/memory.limit_in_bytes"):  # of a container
        try:
            sizes.append(int(Path("/sys/fs/cgroup", limit).read_text(encoding="utf-8")))
        except (OSError, ValueError):
            continue
    return min(*sizes, address_space() or sizes[0])


def address_space() -> int | None:
    """Return the bytes of addresses that this process may have, as of `ulimit -v`."""
    if resource:
        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY:
            return limit
    return None
