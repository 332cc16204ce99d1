"""Parser of JSON that refuses repeated keys, as one of two values would be lost."""

import json
import re
from typing import Any

from pgcjax.errors import DataError
from pgcjax.io.schema import shorten

_TOKEN = re.compile(r'("(?:[^"\\]|\\.)*")(\s*:)?|[{}]')


class NoJson(Exception):
    """Text is no JSON; has the reason, and the line in the text (from 1)."""

    def __init__(self, reason: str, line: int):
        self.reason, self.line = reason, line
        super().__init__(reason)


class _Repeat(Exception):
    """An object has a key twice."""


def read_json(text: str, name: str, first: int = 1) -> Any:
    """Read JSON that begins in line `first` of the file `name`.

    Raises:
        NoJson: the text is no JSON, or is nested too deeply.
        DataError: an object has a key twice.
    """
    try:
        return _DECODER.decode(text)
    except _Repeat:
        key, place = _repeat(text)
        line = first + text.count("\n", 0, place)
        raise DataError(
            f"the key {key} is twice in one object",
            where=f"{name}:{line}",
            mend="Keep one of the two.",
        ) from None
    except RecursionError:
        raise NoJson("it is nested too deeply", 1) from None
    except ValueError as error:  # also for a number with thousands of digits
        reason = getattr(error, "msg", str(error))
        raise NoJson(reason, getattr(error, "lineno", 1)) from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise _Repeat
    return record


_DECODER = json.JSONDecoder(object_pairs_hook=_once)  # made once, not for each line


def _repeat(text: str) -> tuple[str, int]:
    """Find the first key that an object repeats, and its place in the text."""
    objects: list[set[str]] = []
    for token in _TOKEN.finditer(text):
        if token[0] == "{":
            objects.append(set())
        elif token[0] == "}":
            objects.pop()
        elif token[2]:
            key = json.loads(token[1])
            if key in objects[-1]:
                return shorten(key), token.start()
            objects[-1].add(key)
    raise AssertionError("no object repeats a key")
