"""Parser of JSON that refuses repeated keys, as one of two values would be lost."""

import json
from typing import Any

from pgcjax.errors import DataError
from pgcjax.io.schema import shorten


class NoJson(Exception):
    """Text is no JSON; has the reason, and the line in the text (from 1)."""

    def __init__(self, reason: str, line: int):
        self.reason, self.line = reason, line
        super().__init__(reason)


class _Repeat(Exception):
    """An object has a key twice; the first argument is the key."""


def read_json(text: str, name: str, first: int = 1) -> Any:
    """Read JSON that begins in line `first` of the file `name`.

    Raises:
        NoJson: the text is no JSON, or is nested too deeply.
        DataError: an object has a key twice; the message names the line of a text of
            one line, else the file.
    """
    try:
        return _DECODER.decode(text)
    except _Repeat as repeat:
        raise DataError(
            f"the key {shorten(repeat.args[0])} is twice in one object",
            where=name if "\n" in text.strip() else f"{name}:{first}",
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
        names = [name for name, _ in pairs]
        raise _Repeat(next(name for name in names if names.count(name) > 1))
    return record


_DECODER = json.JSONDecoder(object_pairs_hook=_once)  # made once, not for each line
