"""Measures of image grids: PGC by orders of examination, and agreement with pairs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from pgcjax.errors import DataError
from pgcjax.judging.majority import TIE_BREAKS, majority
from pgcjax.kernels import ABSENT
from pgcjax.kernels.rbo import rank_weights
from pgcjax.later import pd
from pgcjax.measures.compatibility import DEPTH, NORMALIZATION, P, finished
from pgcjax.measures.spec import Case, Definition, Parameter
from pgcjax.reference import image as twins
from pgcjax.tensors.examination import ORDERS, Cells
from pgcjax.tensors.graphs import preference_graphs
from pgcjax.tensors.grids import Pairs, pairs
from pgcjax.tensors.judgments import Judgments
from pgcjax.tensors.measure_tensors import GridTensors
from pgcjax.tensors.padding import weights_padded

Parameters = Mapping[str, Any]
XIE = "Xie et al. 2020"


class _Order(Parameter):
    """The name of an order: also of one that a user added to `ORDERS` at any time."""

    def _parse(self, text: str) -> str | None:
        return text if text in ORDERS else None


_BUILT_IN = tuple(ORDERS)

ORDER = _Order(
    "order",
    "default",
    "one of " + ", ".join(_BUILT_IN) + ": in which order images are looked at",
    allowed=_BUILT_IN,
)
IDEAL = Parameter(
    "ideal",
    "own",
    "one of own (nearest to the grid, as Algorithms 5-7), shared (one for all systems, "
    "as the published numbers)",
    allowed=("own", "shared"),
)
SPLIT = Parameter(
    "split",
    "tie",
    "one of tie, left, drop: what equally many votes for several answers are; left "
    "is the first of left, tie, right: a vote for the left and a tie are left, a tie "
    "and a vote for the right are a tie",
    allowed=TIE_BREAKS,
)
FIRST_RANK = Parameter(
    "first_rank",
    1,
    "0 (the published code) or 1 (the paper): rank of the first image in variant W",
    valid=lambda rank: rank in (0, 1),
)
VARIANT = Parameter(
    "variant",
    "N",
    "one of D (all pairs, by reading), W (weighted by rank), M (from the middle of "
    "rows), N (at most 2 rows and columns apart)",
    allowed=("D", "W", "M", "N"),
)
GAMMA = Parameter("gamma", 0.1, "a number from 0 to 1", valid=lambda g: 0 <= g <= 1)
WEIGHT = Parameter(
    "lambda",
    0.7,
    "a number from 0 to 1, of PMR against WR",
    valid=lambda w: 0 <= w <= 1,
)


def _needs(q: Parameters) -> frozenset[str]:
    return frozenset({"preferences", "grids"})


def _pgc_tensors(q: Parameters, judgments: Judgments) -> GridTensors:
    graphs = judgments.once(preference_graphs, "preferences")
    return GridTensors(
        {query: graph.doc_ids for query, graph in graphs.items()},
        partial(finished, q),
        order=q["order"],
        graphs=graphs,
        weights=weights_padded(rank_weights(q["p"], q["depth"])),
        shared=q["ideal"] == "shared",
    )


def _pgc_twin(case: Case) -> float:
    name = case.parameters["order"]
    if name in _BUILT_IN:
        return twins.image_pgc_of(case, name)
    distance = ORDERS[name].distance  # a user's own: there is no other formula

    def order(places: twins.GridPlaces) -> list[float]:
        cells = Cells(**{k: np.array(v, np.int64) for k, v in vars(places).items()})
        return np.asarray(distance(cells), np.float64).tolist()

    return twins.image_pgc_of(case, order)


IMAGE_PGC = Definition(
    name="ImagePGC",
    meaning="Greedy PGC of an image grid: distance in the grid in place of rank",
    parameters=(P, DEPTH, ORDER, NORMALIZATION, IDEAL),
    formula="RBO of the ideal ranking with the grid as a list by distance, equal "
    "distances in the order of the ideal",
    source="Luo 2021, Algorithms 5-7",
    differs="Equal distances in the peel, arbitrary there, follow the order of "
    "reading; the published numbers have one ideal for both systems (ideal=shared)",
    needs=_needs,
    tensors=_pgc_tensors,
    twin=_pgc_twin,
)


def _majority_pairs(preferences: pd.DataFrame, split: str) -> dict[str, Pairs]:
    decided = majority(preferences, split=split)
    if decided.empty:
        if preferences["other_doc_id"].isna().all():
            raise DataError("no two documents are compared", where="preferences")
        raise DataError(
            "no pair is left: on each, several answers have equally many votes",
            where="preferences",
            mend="Choose split=tie or split=left.",
        )
    return pairs(decided)


def _pair_tensors(
    finish: Callable[[Parameters, Any], np.ndarray], q: Parameters, judgments: Judgments
) -> GridTensors:
    majorities = judgments.once(_majority_pairs, "preferences", split=q["split"])
    middle = q.get("variant") == "M"
    return GridTensors(
        {query: p.doc_ids for query, p in majorities.items()},
        partial(finish, q),
        order="middle-rows" if middle else "default",
        pairs=majorities,
    )


def _pmr(q: Parameters, counts: Any) -> np.ndarray:
    agreed, judged = counts.agreed, counts.pairs
    if q["variant"] == "N":
        agreed, judged = counts.near_agreed, counts.near_pairs
    if q["variant"] != "W":
        return _ratio(agreed.sum(2), judged.sum(2))
    # Nothing is before the first image: its weight plays no part.
    rank = np.where(counts.first < ABSENT, counts.first, 0)
    weight = 1 / np.log2(np.maximum(rank + q["first_rank"] + 1, 2))
    return _ratio(*((part * weight).cumsum(2)[..., -1] for part in (agreed, judged)))


def _wr(q: Parameters, counts: Any) -> np.ndarray:
    return _ratio(counts.won, counts.met)


def _pb(q: Parameters, counts: Any) -> np.ndarray:
    return q["gamma"] ** counts.bad.astype(np.float64)


def _pwp(q: Parameters, counts: Any) -> np.ndarray:
    share = q["lambda"]
    inside = share * _pmr(q, counts) + (1 - share) * _wr(q, counts)
    return inside * _pb(q, counts)


def _ratio(over: np.ndarray, under: np.ndarray) -> np.ndarray:
    return np.where(under > 0, over / np.where(under > 0, under, 1), 0.0)


def _of_pairs(
    parameters: tuple[Parameter, ...],
    finish: Callable[[Parameters, Any], np.ndarray],
    twin: Callable[..., float],
    **texts: Any,
) -> Definition:
    return Definition(
        parameters=(*parameters, SPLIT),
        needs=_needs,
        tensors=partial(_pair_tensors, finish),
        twin=partial(twins.of_pairs, twin),
        **texts,
    )


PMR = _of_pairs(
    (VARIANT, FIRST_RANK),
    _pmr,
    lambda grid, other, won, q: twins.matching_rate(
        grid, won, q["variant"], q["first_rank"]
    ),
    name="PMR",
    meaning="Preference matching rate: share of pairs in a grid whose order agrees "
    "with people",
    formula="agreeing pairs / judged pairs; a tie agrees; W weighs 1 / log2(1 + rank "
    "of the later image)",
    source=f"{XIE}, equations 2 and 3",
    differs="The published numbers of W count ranks from 0 (first_rank=0), and take "
    "split votes as left (split=left)",
)
WR = _of_pairs(
    (),
    _wr,
    lambda grid, other, won, q: twins.winning_rate(grid, other, won),
    name="WR",
    meaning="Winning rate: share of pairs with images of the other systems that are "
    "won",
    formula="won pairs / judged pairs between the grid and the others",
    source=f"{XIE}, equation 4",
)
PB = _of_pairs(
    (GAMMA,),
    _pb,
    lambda grid, other, won, q: twins.penalty(grid, other, won, q["gamma"]),
    name="PB",
    meaning="Penalty of bad cases: images to which all images of the others are "
    "preferred",
    formula="gamma^(number of bad cases)",
    source=f"{XIE}, equation 5",
)
PWP = _of_pairs(
    (WEIGHT, GAMMA, VARIANT, FIRST_RANK),
    _pwp,
    lambda grid, other, won, q: twins.pwp(
        grid, other, won, q["lambda"], q["gamma"], q["variant"], q["first_rank"]
    ),
    name="PWP",
    meaning="Preference-winning-penalty: PMR and WR, blended, times PB",
    formula="(lambda PMR + (1 - lambda) WR) PB",
    source=f"{XIE}, equation 6",
)
