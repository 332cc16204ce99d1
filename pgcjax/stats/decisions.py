"""Which pairs differ: p of a test, corrected for how many there are, and a level."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from jaxtyping import Bool

from pgcjax.errors import UsageError, check_choice
from pgcjax.stats import procedures, tests
from pgcjax.stats.choices import CORRECTIONS, RESAMPLES, TESTS
from pgcjax.stats.procedures import Outcome
from pgcjax.stats.rounding import exact
from pgcjax.stats.tests import OfPairs, RunPairs, Values

MOST_RESAMPLES = 500_000
"""How many are made at most that nobody asked for."""

_BEYOND = 2  # times as many as the least, if nobody says how many
_ENUMERATED = 16  # queries up to which all sign flips are made


@dataclass(frozen=True)
class Decision:
    """P-values of pairs, what they are once corrected, and which are significant.

    Attributes:
        test: one of `choices.TESTS`.
        correction: `none` where there is nothing to correct.
        outcome: of the test.
        adjusted: p, corrected; below alpha, a pair is significant.
        significant: of each pair.
        level: of each interval: 0 is outside exactly where p, uncorrected, is below.
            It is alpha; with `holm` alpha / pairs (Bonferroni), so that all intervals
            hold together, while Holm finds what they show and sometimes more; with
            `bh` alpha · significant / pairs, where 0 is outside exactly of significant
            pairs [Benjamini and Yekutieli 2005].
        simultaneous: whether all intervals hold together with chance 1 - alpha.
        least: the smallest p, corrected, that so many queries allow; 0 if there is no
            such limit.
    """

    test: str
    correction: str
    outcome: Outcome
    adjusted: OfPairs
    significant: Bool[np.ndarray, " pairs"]
    level: Fraction
    simultaneous: bool
    least: Fraction = Fraction(0)


def check(
    values: Values,
    pairs: int,
    test: str,
    *,
    correction: str | None,
    alpha: float,
    resamples: int | None,
    seed: int,
) -> int | None:
    """Choose the number of resamples, or refuse what can find nothing.

    Args:
        values: scores.
        pairs: how many there are.
        test: one of `choices.TESTS`.
        correction: as of `compare`.
        alpha: level.
        resamples: as of `compare`.
        seed: of the random numbers.

    Returns:
        The number of resamples, if the test makes any.

    Raises:
        UsageError: an argument is wrong, or no p of so many resamples can be
            significant once it is corrected.
    """
    check_choice("test", test, TESTS)
    check_choice("correction", correction or "none", CORRECTIONS)
    tests.check_alpha(alpha)
    if test in procedures.FAMILY and correction not in (None, "none"):
        raise UsageError(f"test {test!r} is for all pairs at once: correct it by none")
    if test not in RESAMPLES:
        return None
    wanted = RESAMPLES[test] if resamples is None else resamples
    procedures.check_resampling(wanted, seed)
    chosen = _correction(test, pairs, correction)
    many = 1 if chosen == "none" else pairs
    least = math.floor(many / exact(alpha))  # many / (1 + least) is below alpha
    if resamples is None and many > 1:
        wanted = max(wanted, _BEYOND * least)
    enumerated = test == "permutation" and values.shape[1] <= _ENUMERATED
    too_many = resamples is None and wanted > MOST_RESAMPLES
    if not enumerated and (too_many or wanted < least):
        subject = f"test {test!r}" if too_many else f"resamples={wanted}"
        if many == 1:
            raise UsageError(
                f"{subject}: no p can be below {alpha}; at least {least} are needed"
            )
        raise UsageError(
            f"{subject}: of {pairs} pairs no p, corrected by {chosen}, can be below "
            f"{alpha} by fewer than resamples={least}; test 'max-t' needs few, and "
            "'t' none"
        )
    return wanted


def _correction(test: str, pairs: int, correction: str | None) -> str:
    """Choose the correction of p: none of one pair, or of tests for all pairs."""
    if test in procedures.FAMILY or pairs == 1:
        return "none"
    return correction or "holm"


def decide(
    values: Values,
    pairs: RunPairs,
    test: str,
    *,
    correction: str | None = None,
    alpha: float = 0.05,
    resamples: int | None = None,
    seed: int = 0,
    **settings: Any,
) -> Decision:
    """Test pairs of runs, and decide which differ.

    Args:
        values: scores.
        pairs: to test.
        test: one of `choices.TESTS`.
        correction: as of `compare`.
        alpha: level.
        resamples: as of `compare`.
        seed: of the random numbers.
        settings: the rest, as of `procedures.run`.

    Raises:
        UsageError: as of `check`, or another argument is wrong.
    """
    count, queries = len(pairs[0]), values.shape[1]
    given: dict[str, Any] = {"correction": correction, "alpha": alpha}
    wanted = check(values, count, test, **given, resamples=resamples, seed=seed)
    outcome = procedures.run(
        values, pairs, test, resamples=wanted, seed=seed, **settings
    )
    limited = test == "wilcoxon" or (test == "permutation" and outcome.exact)
    least = Fraction(2, 2**queries) if limited else Fraction(0)
    return of_p(outcome, test, correction, alpha, least)


def of_p(
    outcome: Outcome | OfPairs,
    test: str,
    correction: str | None,
    alpha: float,
    least: Fraction = Fraction(0),
) -> Decision:
    """Correct p-values, and decide which pairs differ.

    Args:
        outcome: of the test, or p that are exact.
        test: one of `choices.TESTS`.
        correction: as of `compare`.
        alpha: level.
        least: the smallest p that there can be, uncorrected.
    """
    if not isinstance(outcome, Outcome):
        outcome = Outcome(outcome, np.zeros(len(outcome)))
    count, family = len(outcome.p_value), test in procedures.FAMILY
    chosen = _correction(test, count, correction)
    adjusted = tests.adjust(outcome.p_value, chosen)
    significant = adjusted < alpha
    level = exact(alpha)
    if chosen == "holm":
        level /= count
    elif chosen == "bh":
        level *= Fraction(max(1, int(significant.sum())), count)
    together = family or chosen == "holm" or count == 1
    least = least * (1 if chosen == "none" else count)
    return Decision(
        test,
        chosen,
        outcome,
        adjusted,
        significant,
        level,
        together,
        least,
    )
