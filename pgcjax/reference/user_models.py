"""Gain per document of users who go on by what they see, in plain Python.

A model is a function that returns the probability to go on past a rank: of the rank,
the gain of its document, the sum of gains down to it, and the parameters.
"""

from collections.abc import Callable, Mapping
from math import log2
from typing import Any

Parameters = Mapping[str, Any]
Model = Callable[[int, float, float, Parameters], float]


def scaled(grade: float, q: Parameters, highest: float) -> float:
    """Map grades from gmin to gmax to gains from 0 to 1."""
    over, under = grade - q["gmin"], highest - q["gmin"]
    return over / under if over > 0 else 0.0


def expected_gain(run: list[float], q: Parameters, go_on: Model) -> float:
    """Compute the expected gain per document looked at [Moffat et al. 2017]."""
    last = min(q.get("k") or q["depth"], q["depth"])
    gains = (run + [0.0] * last)[:last]
    looked, gained = 1.0, 0.0
    over, under = 0.0, 0.0
    for rank, gain in enumerate(gains, start=1):
        gained += gain
        over, under = over + looked * gain, under + looked
        looked *= go_on(rank, gain, gained, q)
    return over / under


def until_gained(rank: int, gain: float, gained: float, q: Parameters) -> float:
    """Go on until T is gained, to 1e-9 [Zhang et al. 2017]."""
    return 1.0 if gained < q["T"] - 1e-9 else 0.0


def discounting(rank: int, gain: float, gained: float, q: Parameters) -> float:
    """Go on as DCG discounts ranks."""
    return log2(rank + 1) / log2(rank + 2)


def squaring(rank: int, gain: float, gained: float, q: Parameters) -> float:
    """Go on more likely at lower ranks [Moffat, Scholer and Thomas 2012]."""
    return ((rank + 2 * q["T"] - 1) / (rank + 2 * q["T"])) ** 2


def adapting(rank: int, gain: float, gained: float, q: Parameters) -> float:
    """Go on more likely, the less of T is gained [Bailey et al. 2015]."""
    wanted = q["T"] + (q["T"] - gained)
    return ((rank + wanted - 1) / (rank + wanted)) ** 2


def unsatisfied(rank: int, gain: float, gained: float, q: Parameters) -> float:
    """Go on if a document does not satisfy [Azzopardi et al. 2021, equation 8]."""
    return 1 - gain


def tiring(rank: int, gain: float, gained: float, q: Parameters) -> float:
    """Go on likewise, but less likely at early ranks [equation 9]."""
    return rank / (rank + 1) * (1 - gain)


def patient(rank: int, gain: float, gained: float, q: Parameters) -> float:
    """Go on likewise, with persistence p [equation 10]."""
    return q["p"] * (1 - gain)


def aiming(rank: int, gain: float, gained: float, q: Parameters) -> float:
    """Go on likewise, as INSQ [equation 11]."""
    return squaring(rank, gain, gained, q) * (1 - gain)
