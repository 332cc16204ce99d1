"""Measures of image grids: PGC by orders of examination, and agreement on pairs."""

from typing import Annotated, Any

import numpy as np

from pgcjax.errors import DataError
from pgcjax.judging.majority import TIE_BREAKS, majority
from pgcjax.kernels import ABSENT
from pgcjax.later import pd
from pgcjax.measures.compatibility import Depth, Normalization, P, peel_tensors
from pgcjax.measures.measure import Case, Measure, Parameter
from pgcjax.reference import image as twins
from pgcjax.tensors.examination import ORDERS, Cells
from pgcjax.tensors.graphs import preference_graphs
from pgcjax.tensors.grids import Pairs, pairs
from pgcjax.tensors.judgments import Judgments
from pgcjax.tensors.measure_tensors import GridTensors

XIE = "Xie et al. 2020"
_BUILT_IN = tuple(ORDERS)
_NEEDS = frozenset({"preferences", "grids"})


class _OrderName(Parameter):
    """The name of an order, which a user may have added to `ORDERS`."""

    def _parse(self, text: str) -> str | None:
        return text if text in ORDERS else None


class ImagePGC(Measure):
    """Greedy PGC of an image grid: distance in the grid in place of rank."""

    name = "ImagePGC"
    formula = (
        "RBO of the ideal ranking with the grid as a list by distance, equal distances "
        "in the order of the ideal"
    )
    source = "Luo 2021, Algorithms 5-7"
    differs = (
        "Equal distances in the peel, arbitrary there, follow the order of reading; "
        "the published numbers have one ideal for both systems (ideal=shared)"
    )
    needs = _NEEDS

    p: P = 0.95
    depth: Depth = 1000
    order: Annotated[
        str,
        _OrderName(
            "one of " + ", ".join(_BUILT_IN) + ": in which order images are looked at",
            allowed=_BUILT_IN,
        ),
    ] = "default"
    normalization: Normalization = "weights"
    ideal: Annotated[
        str,
        Parameter(
            "one of own (nearest to the grid, as Algorithms 5-7), shared (one for all "
            "systems, as the published numbers)",
            allowed=("own", "shared"),
        ),
    ] = "own"

    def prepare(self, judgments: Judgments) -> GridTensors:
        """Build the graphs of all judged images."""
        graphs = judgments.once(preference_graphs, "preferences", soft="sign")
        peel = peel_tensors(graphs, self.p, self.depth, self.normalization)
        return GridTensors(
            peel.docs,
            peel.finish,
            order=self.order,
            graphs=graphs,
            weights=peel.weights,
            shared=self.ideal == "shared",
        )

    def twin(self, case: Case) -> float:
        """Score a case plainly."""
        if self.order in _BUILT_IN:
            return twins.image_pgc_of(case, self.order)
        distance = ORDERS[self.order].distance  # a user's order has no other formula

        def order(places: twins.GridPlaces) -> list[float]:
            cells = Cells(**{k: np.array(v, np.int64) for k, v in vars(places).items()})
            return np.asarray(distance(cells), np.float64).tolist()

        return twins.image_pgc_of(case, order)


def _majority_pairs(preferences: "pd.DataFrame", split: str) -> dict[str, Pairs]:
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


Split = Annotated[
    str,
    Parameter(
        "one of tie, left, drop: what equally many votes for several answers are; "
        "left is the first of left, tie, right: a vote for the left and a tie are "
        "left, a tie and a vote for the right are a tie",
        allowed=TIE_BREAKS,
    ),
]
Variant = Annotated[
    str,
    Parameter(
        "one of D (all pairs, by reading), W (weighted by rank), M (from the middle of "
        "rows), N (at most 2 rows and columns apart)",
        allowed=("D", "W", "M", "N"),
    ),
]
FirstRank = Annotated[
    int,
    Parameter(
        "0 (the published code) or 1 (the paper): rank of the first image in variant W",
        valid=lambda rank: rank in (0, 1),
    ),
]
Gamma = Annotated[float, Parameter("a number from 0 to 1", valid=lambda g: 0 <= g <= 1)]


class OfImagePairs(Measure):
    """A measure of the pairs of images of which most people prefer one."""

    needs = _NEEDS

    def prepare(self, judgments: Judgments) -> GridTensors:
        """Find the majority on each pair."""
        split = self.parameters["split"]
        majorities = judgments.once(_majority_pairs, "preferences", split=split)
        middle = self.parameters.get("variant") == "M"
        return GridTensors(
            {query: p.doc_ids for query, p in majorities.items()},
            self.finish,
            order="middle-rows" if middle else "default",
            pairs=majorities,
        )

    def finish(self, counts: Any) -> np.ndarray:
        """Compute scores from counts of pairs, `engine.grid_batch.Counts`."""
        raise NotImplementedError

    def plain(self, grid: Any, other: Any, won: Any) -> float:
        """Score a grid plainly."""
        raise NotImplementedError

    def twin(self, case: Case) -> float:
        """Score a case plainly."""
        return twins.of_pairs(self.plain, case)


class PMR(OfImagePairs):
    """Preference matching rate: share of pairs in a grid whose order agrees with
    people.
    """

    name = "PMR"
    formula = (
        "agreeing pairs / judged pairs; a tie agrees; W weighs 1 / log2(1 + rank of "
        "the later image)"
    )
    source = f"{XIE}, equations 2 and 3"
    differs = (
        "The published numbers of W count ranks from 0 (first_rank=0), and take split "
        "votes as left (split=left)"
    )

    variant: Variant = "N"
    first_rank: FirstRank = 1
    split: Split = "tie"

    def finish(self, counts):
        return _matching_rate(self, counts)

    def plain(self, grid, other, won):
        return twins.matching_rate(grid, won, self.variant, self.first_rank)


class WR(OfImagePairs):
    """Winning rate: share of pairs with images of the other systems that are won."""

    name = "WR"
    formula = "won pairs / judged pairs between the grid and the others"
    source = f"{XIE}, equation 4"

    split: Split = "tie"

    def finish(self, counts):
        return _ratio(counts.won, counts.met)

    def plain(self, grid, other, won):
        return twins.winning_rate(grid, other, won)


class PB(OfImagePairs):
    """Penalty of bad cases: images to which all images of the others are preferred."""

    name = "PB"
    formula = "gamma^(number of bad cases)"
    source = f"{XIE}, equation 5"

    gamma: Gamma = 0.1
    split: Split = "tie"

    def finish(self, counts):
        return self.gamma ** counts.bad.astype(np.float64)

    def plain(self, grid, other, won):
        return twins.penalty(grid, other, won, self.gamma)


class PWP(OfImagePairs):
    """Preference-winning-penalty: PMR and WR, blended, times PB."""

    name = "PWP"
    formula = "(lambda PMR + (1 - lambda) WR) PB"
    source = f"{XIE}, equation 6"

    lambda_: Annotated[
        float,
        Parameter(
            "a number from 0 to 1, of PMR against WR", valid=lambda w: 0 <= w <= 1
        ),
    ] = 0.7
    gamma: Gamma = 0.1
    variant: Variant = "N"
    first_rank: FirstRank = 1
    split: Split = "tie"

    def finish(self, counts):
        share, wins = self.lambda_, _ratio(counts.won, counts.met)
        inside = share * _matching_rate(self, counts) + (1 - share) * wins
        return inside * self.gamma ** counts.bad.astype(np.float64)

    def plain(self, grid, other, won):
        shares = self.lambda_, self.gamma, self.variant, self.first_rank
        return twins.pwp(grid, other, won, *shares)


def _matching_rate(measure: PMR | PWP, counts: Any) -> np.ndarray:
    agreed, judged = counts.agreed, counts.pairs
    if measure.variant == "N":
        agreed, judged = counts.near_agreed, counts.near_pairs
    if measure.variant != "W":
        return _ratio(agreed.sum(2), judged.sum(2))
    # No image precedes the first one, so its weight has no effect.
    rank = np.where(counts.first < ABSENT, counts.first, 0)
    weight = 1 / np.log2(np.maximum(rank + measure.first_rank + 1, 2))
    return _ratio(*((part * weight).cumsum(2)[..., -1] for part in (agreed, judged)))


def _ratio(over: np.ndarray, under: np.ndarray) -> np.ndarray:
    return np.where(under > 0, over / np.where(under > 0, under, 1), 0.0)


MEASURES = ImagePGC(), PMR(), WR(), PB(), PWP()
