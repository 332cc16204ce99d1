"""Compatibility (Compat), in plain Python."""

from pgcjax.reference import case as rows
from pgcjax.reference.case import Case
from pgcjax.reference.rbo import rbo


def compat_ideal(values: dict[str, float], run: list[str]) -> list[str]:
    """List documents of positive value by value; ties as the run has them."""
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
    """Score a run by RBO with the nearest ranking that its judgments call ideal.

    Args:
        values: preference value or grade of each judged document.
        run: the documents that the system returned, best first.
        p: persistence, 0 < p < 1.
        depth: the last depth that counts.
        normalize: divide by what the ideal ranking itself would get.

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
