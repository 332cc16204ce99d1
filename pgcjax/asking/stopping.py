"""When answers of noisy judges are enough: confidence sequences by betting.

An interval of such a sequence may be looked at after every answer: the chance that any
of them, however many, misses the mean is at most `alpha`.

Source: Waudby-Smith and Ramdas, Estimating means of bounded random variables by
betting, JRSS B 86, 2024: the hedged capital of theorem 3, with the predictable bets of
their equation 26.
"""

from math import log

import numpy as np
from jaxtyping import Float64

_BOLD = 0.5  # share of the capital that a bet may lose at most
_STEPS = 60  # halvings of an interval of width 1


def log_capital(
    x: Float64[np.ndarray, "*sequences t"], mean: float, *, alpha: float, up: bool
) -> Float64[np.ndarray, "*sequences t"]:
    """Return the log of the capital of who bets that the mean is not `mean`.

    It begins with 1. If the mean is as bet against, the capital is a martingale that
    never falls below 0, so it ever reaches c with a chance of 1 / c at most [Ville].

    Args:
        x: observations of 0 to 1, in order, each with this mean given those before.
        mean: 0 to 1.
        alpha: chance of error for which bets are laid.
        up: bet that the mean is greater; else that it is less.
    """
    most = _BOLD / max(mean if up else 1 - mean, 1e-300)
    bet = np.minimum(_bets(x, alpha), most)
    return np.cumsum(np.log1p((bet if up else -bet) * (x - mean)), axis=-1)


def _bets(
    x: Float64[np.ndarray, "*sequences t"], alpha: float
) -> Float64[np.ndarray, "*sequences t"]:
    """Bet by the variance of the observations before each, their equation 26."""
    t = np.arange(1, x.shape[-1] + 1)
    mean = (0.5 + np.cumsum(x, axis=-1)) / (t + 1)
    variance = (0.25 + np.cumsum((x - mean) ** 2, axis=-1)) / (t + 1)
    before = np.concatenate(
        [np.full_like(x[..., :1], 0.25), variance[..., :-1]], axis=-1
    )
    return np.sqrt(2 * log(2 / alpha) / (before * t * np.log(t + 1)))


def confidence_interval(
    x: Float64[np.ndarray, " t"], alpha: float = 0.05
) -> tuple[float, float]:
    """Bound the mean of observations of 0 to 1, at whatever time they are looked at.

    It is the intersection of the intervals after each observation. 0 and 1 if there
    are none.
    """
    if not len(x):
        return 0.0, 1.0

    def refuted(mean: float, up: bool) -> bool:
        capital = log_capital(x, mean, alpha=alpha, up=up)
        return bool(capital.max() >= log(2 / alpha))  # half the money on each side

    ends = []
    for up in (True, False):
        # A capital falls with the mean that is bet against, seen from its side.
        refused, accepted = (0.0, 1.0) if up else (1.0, 0.0)
        if not refuted(refused, up):
            ends.append(refused)
            continue
        for _ in range(_STEPS):
            middle = (refused + accepted) / 2
            refused, accepted = (
                (middle, accepted) if refuted(middle, up) else (refused, middle)
            )
        ends.append(refused)
    return ends[0], ends[1]
