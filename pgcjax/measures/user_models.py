"""Gain per document of users who go on by what they see: C/W/L measures of cwl_eval."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import inf
from typing import Any

import numpy as np

from pgcjax.errors import DataError
from pgcjax.io.schema import lenient_number
from pgcjax.kernels import graded
from pgcjax.kernels import user_models as kernels
from pgcjax.measures.gains import GMAX, Gains, Parameters, by_log, define, given_or
from pgcjax.measures.spec import Definition, Parameter
from pgcjax.reference import user_models as twins

Chances = Callable[[Parameters], np.ndarray]

GMIN = Parameter(
    "gmin",
    0.0,
    "highest grade that gains nothing, a number from 0 up, below gmax",
    valid=lambda gmin: 0 <= gmin < inf,
)
T = Parameter(
    "T",
    1.0,
    "gain that users want, a number from 0.5 up",
    valid=lambda t: 0.5 <= t < inf,
)
P = Parameter(
    "p", 0.9, "persistence, a number above 0, up to 1", valid=lambda p: 0 < p <= 1
)
DEPTH = Parameter(
    "depth",
    1000,
    "last rank that users may look at, a whole number from 1 to 100000",
    valid=lambda depth: 1 <= depth <= 100_000,
)


def _scaled(grades: np.ndarray, q: Parameters, highest: float) -> np.ndarray:
    """Map grades from gmin to gmax to gains from 0 to 1.

    Raises:
        DataError: gmin is not below a given gmax, or a grade is above it.
    """
    most, least = given_or(q, highest, grades), q["gmin"]
    if lenient_number(q["gmax"]) <= least:
        raise DataError(
            f"gmin={least:g} is not below gmax={q['gmax']}",
            where="qrels",
            mend="Give a lower gmin, or a higher gmax.",
        )
    if most <= least:
        return np.zeros(grades.shape)
    return np.maximum(grades - least, 0) / (most - least)


def _last(q: Parameters) -> int:
    return min(q.get("k") or q["depth"], q["depth"])


def _chances(q: Parameters) -> np.ndarray:
    """Return the chance to look at each rank of users who want T: INSQ."""
    return (2 * q["T"] / (np.arange(1, _last(q) + 1) + 2 * q["T"] - 1)) ** 2


def _table(chances: np.ndarray, depth: int) -> np.ndarray:
    """Make a table of weights of ranks 0 to `depth`."""
    weights = np.zeros(max(depth, len(chances)) + 1)
    weights[1 : len(chances) + 1] = chances
    return weights[: depth + 1]


def by_share(chances: Chances, q: Parameters, depth: int) -> np.ndarray:
    """Weight ranks by their chances, which add up to 1."""
    each = chances(q)
    return _table(each / each.sum(), depth)


def _model(kernel: Callable[..., Any], model: Any, **more: Any) -> Gains:
    """Make a measure of users of a model; `model` is that of the twin."""
    return Gains(
        gains=_scaled,
        kernel=kernel,
        twin=lambda run, pool, q: twins.expected_gain(run, q, model),
        twin_gain=twins.scaled,
        depth=_last,
        **more,
    )


def _static(chances: Chances, model: Any) -> Gains:
    """Make a measure of users who go on by the rank alone."""
    return _model(
        lambda gain, ranked, ideal, q: graded.discounted(gain, ranked),
        model,
        by_rank=partial(by_share, chances),
    )


def _until_satisfied(chances: Chances, model: Any) -> Gains:
    """Make a measure of users who stop at a document with the chance of its gain."""
    return _model(
        lambda gain, ranked, sums, q: kernels.until_satisfied(
            gain, ranked, sums, _last(q)
        ),
        model,
        ideal=lambda gains, q: np.cumsum(chances(q)),
        by_rank=lambda q, depth: _table(chances(q), depth),
    )


def _define(
    name: str, meaning: str, measure: Gains, *own: Parameter, **texts: Any
) -> Definition:
    parameters = (*own, GMIN, GMAX, DEPTH)
    texts = {"differs": f"as ir_measures' {name}, which is cwl_eval's; {_CLIP}"} | texts
    measure = replace(measure, parameters=parameters)
    return define(name, meaning, parameters, measure, **texts)


_CLIP = "there, grades above max_rel (gmax) count as that"
_MEAN = "sum of g(r) V(r) over r <= d, divided by that of V(r), V(r) = product of C(i) "
_MEAN += "over i < r, d = min(k, depth), "
_NERR = "Azzopardi, Mackenzie and Moffat, ERR is not C/W/L, ICTIR 2021, equation "

BPM = _define(
    "BPM",
    "Gain per document of users who stop when they have gained T, or at rank k",
    _model(
        lambda gain, ranked, last, q: kernels.until_gained(gain, ranked, last, q["T"]),
        twins.until_gained,
        ideal=lambda gains, q: float(_last(q)),
    ),
    T,
    source="Zhang et al., Evaluating web search with a bejeweled player model, SIGIR "
    "2017, static, as in cwl_eval",
    formula="gains down to rank s, divided by s, the first rank where they are T or "
    "more (to 1e-9), or min(k, depth)",
    differs="as ir_measures' BPM, which is cwl_eval's, but where T is above 1: it goes "
    f"on for a document more where decimals that add up to T miss it by 1e-16; {_CLIP}",
    cutoff="must",
)
SDCG = _define(
    "SDCG",
    "Scaled DCG: DCG, divided by that of a list of documents of the highest grade",
    _static(lambda q: by_log({}, _last(q))[1:], twins.discounting),
    source="Järvelin and Kekäläinen 2002, as in cwl_eval",
    formula="sum over r <= d of g(r) / log2(1 + r), over that of 1 / log2(1 + r), "
    "d = min(k, depth)",
    cutoff="must",
)
INSQ = _define(
    "INSQ",
    "Gain per document of users who want T, and look at ranks the less, the lower",
    _static(_chances, twins.squaring),
    T,
    source="Moffat, Scholer and Thomas, Models and metrics, ADCS 2012",
    formula=f"{_MEAN}C(i) = ((i + 2 T - 1) / (i + 2 T))^2",
    cutoff="no",
)
INST = _define(
    "INST",
    "Gain per document of users who go on the more, the less of T they have gained",
    _model(
        lambda gain, ranked, ranks, q: kernels.while_wanting(
            gain, ranked, ranks, q["T"]
        ),
        twins.adapting,
        ideal=lambda gains, q: np.arange(1.0, _last(q) + 1),
    ),
    T,
    source="Bailey, Moffat, Scholer and Thomas, User variability and IR system "
    "evaluation, SIGIR 2015",
    formula=f"{_MEAN}C(i) = (n / (n + 1))^2, n = i + 2 T - 1 - cg(i), cg: gains down "
    "to rank i",
    cutoff="no",
)
NERR8 = _define(
    "NERR8",
    "Gain per document of users who stop at a document by its gain, or at rank k",
    _until_satisfied(lambda q: np.ones(_last(q)), twins.unsatisfied),
    source=f"{_NERR}8",
    formula=f"{_MEAN}C(i) = 1 - g(i)",
    cutoff="must",
)
NERR9 = _define(
    "NERR9",
    "Gain per document of users who stop by gain, or tire early, or at rank k",
    _until_satisfied(lambda q: 1 / np.arange(1.0, _last(q) + 1), twins.tiring),
    source=f"{_NERR}9",
    formula=f"{_MEAN}C(i) = i / (i + 1) (1 - g(i))",
    cutoff="must",
)
NERR10 = _define(
    "NERR10",
    "Gain per document of users who stop by gain, and go on with chance p else",
    _until_satisfied(lambda q: q["p"] ** np.arange(_last(q)), twins.patient),
    P,
    source=f"{_NERR}10",
    formula=f"{_MEAN}C(i) = p (1 - g(i))",
    cutoff="no",
)
NERR11 = _define(
    "NERR11",
    "Gain per document of users who stop by gain, and go on as those of INSQ else",
    _until_satisfied(_chances, twins.aiming),
    T,
    source=f"{_NERR}11",
    formula=f"{_MEAN}C(i) = ((i + 2 T - 1) / (i + 2 T))^2 (1 - g(i))",
    cutoff="no",
)
