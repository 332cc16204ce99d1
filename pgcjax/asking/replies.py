"""Answers of programs: lines of JSON."""

import json
import math
from typing import Any


class Unreadable(Exception):
    """A line is no answer."""


def fields_of(line: str) -> dict[str, Any]:
    """Read the fields of an answer."""
    try:
        fields = json.loads(line)
    except ValueError:
        fields = None
    if not isinstance(fields, dict):
        raise Unreadable("expected an object in JSON")
    return fields


def has_sign(fields: dict[str, Any]) -> bool:
    """Return whether an answer compares its two documents."""
    return bool(fields.keys() & {"preference", "winner"})


def sign_of(fields: dict[str, Any], two: tuple[str, str]) -> int:
    """Read which of the two documents is better: 1, -1, or 0 for neither."""
    if "preference" in fields:
        value = fields["preference"]
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            if math.isfinite(value):
                return (value > 0) - (value < 0)
        raise Unreadable(f"expected a number as preference, found {value!r}")
    winner = fields.get("winner")
    if winner in two:
        return 1 if winner == two[0] else -1
    if winner == "tie":
        return 0
    raise Unreadable(f"expected preference, or a document or tie as winner: {winner!r}")


def numbers_of(fields: dict[str, Any]) -> dict[str, float]:
    """Read what else an answer may say."""
    numbers = {}
    for name in ("cost", "probability", "seconds", "time"):
        value = fields.get(name)
        if value is None:
            continue
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        most = {"probability": 1.0}.get(name, math.inf)
        least = -math.inf if name == "time" else 0.0
        if not number or not math.isfinite(value) or not least <= value <= most:
            raise Unreadable(f"expected a number as {name}, found {value!r}")
        numbers[name] = float(value)
    return numbers
