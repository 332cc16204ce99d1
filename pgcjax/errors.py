"""Messages to users: errors in one line, warnings, progress. Imports none of ours."""

import inspect
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

Progress = Callable[[str, int, int], None]
"""Receives the progress of a job: stage, steps done, and all steps."""

_began: list[int] = []  # id of the process that began work, this one or its parent


def counted(n: int, noun: str) -> str:
    """Count things in a message: `1 run`, `2 runs`, `3 queries`."""
    if n == 1:
        return f"1 {noun}"
    return f"{n} {noun[:-1]}ies" if noun.endswith("ry") else f"{n} {noun}s"


def listed(names: Sequence[str], most: int = 3) -> str:
    """List names in a message, the first few of many: `a, b, c, …`."""
    return ", ".join([*names[:most], *["…"] * (len(names) > most)])


def shared(messages: Iterable[tuple[str, str]]) -> list[str]:
    """Write a note once for all names that share it: `PGC, AP: 8 runs, 20 queries`."""
    names: dict[str, list[str]] = {}
    for name, text in messages:
        names.setdefault(text, []).append(name)
    return [f"{_several(of)}: {text}" for text, of in names.items()]


def _several(names: Sequence[str], most: int = 4) -> str:
    """List names; if there are many, the first ones and the number of the rest."""
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[: most - 1])} and {len(names) - most + 1} others"


# These move a cursor, hide or reverse letters, break lines, or are illegal in XML.
_CONTROL = re.compile(
    "[\0-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


def printable(text: str, keep: str = "") -> str:
    r"""Write control characters, except those in `keep`, as escapes such as `\x1b`.

    Names are stored unchanged, and shown to people in this form.
    """

    def escaped(match: re.Match[str]) -> str:
        return match[0] if match[0] in keep else repr(match[0])[1:-1]

    return _CONTROL.sub(escaped, text)


def one_line(message: str) -> str:
    """Put a message on one line, without control characters."""
    return " ".join(printable(message, keep="\t\n\r\f\v").split())


class PgcjaxError(Exception):
    """Base of every error that pgcjax raises on purpose; its message is one line."""

    def __init__(self, message: str = ""):
        super().__init__(one_line(message))


class DataError(PgcjaxError, ValueError):
    """Wrong data: the problem, its place, and its remedy, on one line.

    Args:
        problem: What was expected and what was found instead.
        where: `file:line`, `file` or the name of a table; may be empty.
        mend: Advice to the user; may be empty.
    """

    def __init__(self, problem: str, *, where: str = "", mend: str = ""):
        self.problem, self.where, self.mend = problem, where, mend
        text = f"{printable(where)}: {problem}" if where else problem
        if mend:
            text = f"{text.rstrip('.')}. {mend}"
        super().__init__(text)


class UsageError(PgcjaxError, ValueError):
    """A wrong argument, such as an unknown measure or a parameter out of its range."""


class VerificationError(PgcjaxError):
    """A score differs from its reference implementation: a defect of pgcjax."""


class DataWarning(UserWarning):
    """Data that can be scored, but that its owner should check."""

    def __init__(self, message: str = ""):
        super().__init__(one_line(message))


def check_choice(name: str, value: object, allowed: Iterable[str]) -> None:
    """Raise a UsageError if an argument is none of the allowed values."""
    allowed = tuple(allowed)
    if value not in allowed:
        raise UsageError(f"{name} is one of {', '.join(allowed)}, not {value!r}")


def check_whole(name: str, value: object, least: int) -> None:
    """Raise a UsageError if an argument is no whole number of at least `least`."""
    if type(value) is not int or value < least:
        raise UsageError(f"{name}={value!r}: expected a whole number, {least} or more")


def outside() -> int:
    """Stack level of the nearest caller outside this package, for a warning."""
    frame, level = inspect.currentframe(), 0
    while frame and frame.f_globals.get("__name__", "").split(".")[0] == "pgcjax":
        frame, level = frame.f_back, level + 1
    return level


def refuse_arguments(
    function: str, others: Mapping[str, object], instead: Mapping[str, str]
) -> None:
    """Refuse arguments that a function does not have.

    Args:
        function: Name of the function.
        others: The unexpected arguments.
        instead: Advice for likely names of such arguments.

    Raises:
        UsageError: an argument has such a name. TypeError: it has another name.
    """
    for name in others:
        if name in instead:
            raise UsageError(f"{function} takes no {name}=…: {instead[name]}")
        raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")


def refuse_forked() -> None:
    """Refuse to work in a process that was forked after work had begun.

    The threads of polars and JAX do not survive a fork, and the child process would
    wait for them for ever. Functions that use these libraries call this one first.

    Raises:
        UsageError: this is such a child process.
    """
    if not _began:
        _began.append(os.getpid())
    elif _began[0] != os.getpid():
        raise UsageError(
            "this process was forked from one in which pgcjax had read or computed "
            "before, and lacks its threads. Start processes by "
            "multiprocessing.get_context('spawn') or 'forkserver', or threads"
        )
