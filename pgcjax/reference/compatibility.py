"""Compatibility (Compat), in plain Python."""

from pgcjax.reference import case as rows
from pgcjax.reference.case import Case
from pgcjax.reference.rbo import rbo


def compat_ideal(values: dict[str, float], run: list[str]) -> list[str]:
    """List documents of positive value by value; the run's order breaks ties."""
    rank = {doc: r for r, doc in enumerate(run)}
    wanted = [doc for doc in values if values[doc] > 0]
    return sorted(wanted, key=lambda d: (-values[d], rank.get(d, float("inf")), d))


def compat(
    values: dict[str, float],
    run: list[str],
    p: float = 0.95,
    depth: int = 1000,
    normalize: bool = True,
) -> float:
    """Score a run by RBO with the nearest of the ideal rankings of its judgments.

    Args:
        values: Preference value or grade of each judged document.
        run: Retrieved documents, best first.
        p: Persistence, 0 < p < 1.
        depth: Last depth that counts.
        normalize: Whether to divide by the score of the ideal ranking itself.

    Source: Clarke, Smucker and Vtyurina, Offline evaluation by maximum similarity to
    an ideal ranking, CIKM 2020.
    """
    divisor = "ideal" if normalize else "weights"
    return rbo(run, compat_ideal(values, run), p, depth, divisor)


def compat_of(case: Case) -> float:
    """Score a case by compatibility."""
    q = case.parameters
    parameters = q["p"], q["depth"], q["normalize"]
    return compat(rows.grades(case), case.run, *parameters)
