"""What a campaign is: attacks that can be made again, one by one."""

import time
import traceback
import unicodedata
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from zlib import crc32

import numpy as np

Attack = Callable[[np.random.Generator, Path, Counter], str | None]
"""Is given random numbers, an empty folder and a counter for what kinds of attack it
makes; returns what went wrong, in a line, or None."""


@dataclass(frozen=True)
class Campaign:
    """Attacks of one kind.

    Attributes:
        name: of the campaign; the random numbers of its attacks follow from it.
        meaning: what is attacked.
        full: number of attacks until the campaign is complete.
        attack: makes one.
        each: how many the table counts for an attack.
        limit: seconds after which an attack hangs.
    """

    name: str
    meaning: str
    full: int
    attack: Attack
    each: int = 1
    limit: float = 300.0


@dataclass(frozen=True)
class Outcome:
    """What became of an attack.

    Attributes:
        problem: what went wrong, in a line; None if nothing did.
        kinds: how often each kind of attack was made.
        seconds: that it took.
    """

    problem: str | None
    kinds: Counter = field(default_factory=Counter)
    seconds: float = 0.0


def strike(campaign: Campaign, seed: int, i: int, base: str | None = None) -> Outcome:
    """Make the i-th attack of a campaign, which a seed decides in full.

    Its folder, inside of `base`, is removed afterwards. An exception that leaves the
    attack is a problem like others.
    """
    rng = np.random.default_rng([seed, crc32(campaign.name.encode()), i])
    kinds: Counter = Counter()
    began = time.monotonic()
    with TemporaryDirectory(dir=base, ignore_cleanup_errors=True) as folder:
        try:
            problem = campaign.attack(rng, Path(folder), kinds) or None
        except Exception as error:
            problem = told(error)
    return Outcome(problem, kinds, time.monotonic() - began)


def told(error: BaseException) -> str:
    """Say in a line what an exception is and where it came from."""
    frames = traceback.extract_tb(error.__traceback__)
    where = " < ".join(f"{Path(f.filename).name}:{f.lineno}" for f in frames[:-5:-1])
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:300]} [{where}]"


def pick(rng: np.random.Generator, choices):
    """Choose one of a list, whatever its elements are."""
    return choices[int(rng.integers(len(choices)))]


def controls(text: str) -> str | None:
    """Say which line of text has a control character, which a terminal would obey."""
    for line in text.split("\n"):
        if any(unicodedata.category(c) == "Cc" for c in line if c != "\t"):
            return f"prints a control character: {line[:200]!r}"
    return None
