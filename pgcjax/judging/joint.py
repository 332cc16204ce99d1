"""Votes → strengths of items, what sways judges, and how reliable they are, together.

Newton's steps for all at once: on the device, each set of items leaves out its own
strengths; what sets share is added up over sets, and solved, on the host.
"""

from collections.abc import Iterator
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float64, Int
from scipy.optimize import minimize

from pgcjax.errors import DataError, Progress, UsageError
from pgcjax.judging.comparisons import Comparisons
from pgcjax.judging.models import Sets, at_once, batches, padded
from pgcjax.kernels.votes import Parts, Point, Rows, parts
from pgcjax.runtime.devices import over_devices, place
from pgcjax.runtime.loop import Call, results
from pgcjax.runtime.surroundings import local_device_count

LOOKS = (4.0, 1.0)
"""Votes that a judge is taken to have given looking, and not, before all others."""

MOST_STEPS = 1000
"""Of the search for what sets share; some twenty are usual."""

MOST_SHARED = 4000
"""What sets may share: judges, above all."""

_SLOPE = 1e-6  # where it ends, of the logarithm of the likelihood
_ENDLESS = 10.0  # log-odds that, without a prior, have no end
_CHUNK = 1024  # rows
_CELLS = 2**19  # of arrays of a call


class Setting(NamedTuple):
    """What is fitted.

    Attributes:
        ties: whether ties are answers (Davidson); else half a vote for either.
        judged: whether each judge's reliability is fitted.
        precision: 1/σ² of the normal priors of strengths, of what sways, and of τ.
    """

    ties: bool
    judged: bool
    precision: float


class Joint(NamedTuple):
    """What was fitted, and the standard errors.

    Attributes:
        strength: of items.
        strength_error: likewise.
        sway: coefficients of what sways judges and, where ties are answers, τ; of each
            group.
        sway_error: likewise.
        looks: log-odds of reliability of judges, if it is fitted.
        looks_error: likewise.
    """

    strength: Float64[np.ndarray, " items"]
    strength_error: Float64[np.ndarray, " items"]
    sway: Float64[np.ndarray, "groups c"]
    sway_error: Float64[np.ndarray, "groups c"]
    looks: Float64[np.ndarray, " judges"]
    looks_error: Float64[np.ndarray, " judges"]


class _Block(NamedTuple):
    """Sets that a call computes.

    Attributes:
        rows: votes, on the device.
        items: items of each set.
        where: which of them there are.
        shared: number of what each set shares, of all that is shared; the last: none.
    """

    rows: Rows
    items: Int[np.ndarray, "sets n"]
    where: Bool[np.ndarray, "sets n"]
    shared: Int[np.ndarray, "sets g"]


class _Found(NamedTuple):
    """What is known of what sets share.

    Attributes:
        value: log-likelihood, with priors.
        score: its slope.
        curvature: likewise.
        strength: the most likely ones.
        brought: of each block, what its sets say.
    """

    value: float
    score: Float64[np.ndarray, " g"]
    curvature: Float64[np.ndarray, "g g"]
    strength: Float64[np.ndarray, " items"]
    brought: list[tuple[_Block, Parts]]


def fit_jointly(
    data: Comparisons, setting: Setting, progress: Progress | None = None
) -> Joint:
    """Find the most likely sway and reliabilities, and strengths by these.

    Raises:
        DataError: there is no maximum, as without a prior.
        UsageError: judges are too many for one table of all pairs of them.
    """
    model = _Model(data, setting)
    if model.shared > MOST_SHARED:
        raise UsageError(
            f"reliability is fitted of {MOST_SHARED} judges at most, in each aspect "
            f"again, not of {model.shared - model.fixed}: name those that count"
        )
    start = np.zeros(model.shared)
    start[model.fixed :] = np.log(LOOKS[0] / LOOKS[1])
    found, done = model.found(start, np.zeros(len(data.items))), 0
    # Changed so that all directions are as steep, as far as can be seen from the start.
    root = _root(found.curvature)

    def loss(x: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal found, done
        found = model.found(start + root @ x, found.strength, curved=False)
        done += 1
        if progress:
            progress("fitting", done, MOST_STEPS)
        return -found.value, -(root.T @ found.score)

    how: Any = {"maxiter": MOST_STEPS, "gtol": _SLOPE, "ftol": 0.0, "maxcor": 30}
    result = minimize(loss, 0 * start, jac=True, method="L-BFGS-B", options=how)
    shared = start + root @ result.x
    found = model.found(shared, found.strength)
    if progress:
        progress("fitting", MOST_STEPS, MOST_STEPS)
    endless = not setting.precision and np.abs(shared).max(initial=0) > _ENDLESS
    if endless or not np.isfinite(found.value):
        raise DataError(
            "votes have no most likely model",
            where="preferences",
            mend="Give a smaller prior.",
        )
    return model.joint(shared, found)


def _root(curvature: Float64[np.ndarray, "g g"]) -> Float64[np.ndarray, "g g"]:
    """Give a root of the inverse of a curvature, or of one like it with a maximum."""
    value, vector = np.linalg.eigh(curvature)
    return vector / np.sqrt(np.maximum(np.abs(value), 1e-3))


class _Model:
    """The model of some votes, laid out.

    Attributes:
        fixed: coefficients of what sways, and τ, of all groups.
        shared: these, and judges.
    """

    def __init__(self, data: Comparisons, setting: Setting):
        self._setting, self._items = setting, len(data.items)
        self._each = data.swayed.shape[1] + setting.ties
        self.fixed = self._each * data.groups
        self.shared = self.fixed + (len(data.judges) if setting.judged else 0)
        self._blocks = list(_blocks(data, setting))

    def joint(self, shared: Float64[np.ndarray, " g"], found: _Found) -> Joint:
        """Give what was found, and standard errors."""
        size = len(shared) + 1
        wide, variance = np.zeros((size, size)), np.zeros(self._items)
        wide[:-1, :-1] = np.linalg.pinv(found.curvature, hermitian=True)
        for block, own in found.brought:
            place = block.shared
            around = wide[place[:, :, None], place[:, None, :]]
            more = ((own.turn @ around) * own.turn).sum(axis=2)
            variance[block.items[block.where]] = (own.variance + more)[block.where]
        both = variance, np.diag(wide)[:-1]
        error, of = (np.sqrt(np.where(x > 0, x, np.nan)) for x in both)
        (sway, looks), (sway_error, looks_error) = (
            np.split(x, [self.fixed]) for x in (shared, of)
        )
        shape = -1, max(1, self._each)
        sways = (sway.reshape(shape), sway_error.reshape(shape))
        return Joint(found.strength, error, *sways, looks, looks_error)

    def found(
        self,
        shared: Float64[np.ndarray, " g"],
        strength: Float64[np.ndarray, " items"],
        *,
        curved: bool = True,
    ) -> _Found:
        """Add up what all sets say; the curvature, which is large, only if asked."""
        size = self.shared + 1  # the last place takes what padding brings
        value, score = 0.0, np.zeros(size)
        curve = np.zeros(size * size if curved else 0)
        strength, brought = strength.copy(), []
        for block, out in results(self._calls(shared, strength.copy())):
            own = Parts._make(np.asarray(x)[: len(block.items)] for x in out)
            brought.append((block, own))
            value += float(own.value.sum())
            place = block.shared
            score += np.bincount(place.ravel(), own.score.ravel(), size)
            if curved:
                cell = (place[:, :, None] * size + place[:, None, :]).ravel()
                np.add.at(curve, cell, own.curvature.ravel())
            strength[block.items[block.where]] = own.strength[block.where]
        score, curve = score[:-1], curve.reshape(-1, size)[:-1, :-1].copy()
        value += self._prior(shared, score, curve)
        return _Found(value, score, curve, strength, brought)

    def _prior(self, shared: np.ndarray, score: np.ndarray, curve: np.ndarray) -> float:
        """Add priors of what sets share to slopes and curvature; give their logs."""
        own, looks = np.split(shared, [self.fixed])
        precision, (seen, unseen) = self._setting.precision, LOOKS
        chance = 1 / (1 + np.exp(-looks))
        score += np.r_[-precision * own, seen - (seen + unseen) * chance]
        alone = (seen + unseen) * chance * (1 - chance)
        if len(curve):
            both = np.r_[np.full(len(own), precision), alone]
            curve[np.diag_indices(len(curve))] += both
        logs = seen * np.logaddexp(0, -looks) + unseen * np.logaddexp(0, looks)
        return float(-precision / 2 * (own @ own) - logs.sum())

    def _calls(self, of_all: np.ndarray, strengths: np.ndarray) -> Iterator[Call]:
        ties, each = self._setting.ties, self._each
        program = ties, self._setting.judged, local_device_count()
        values, precision = np.append(of_all, 0.0), self._setting.precision
        for rows, items, where, shared in self._blocks:
            room, (sets, n) = len(rows.first), where.shape
            strength, there = np.zeros((room, n)), np.zeros((room, n), bool)
            strength[:sets] = np.where(where, strengths[items], 0.0)
            there[:sets] = where
            of_sets = np.zeros((room, shared.shape[1]))
            of_sets[:sets] = values[shared]
            tie = of_sets[:, each - 1] if ties else np.zeros(room)
            point = Point(strength, of_sets[:, : each - ties], tie, of_sets[:, each:])
            shapes = rows.swayed.shape, n, shared.shape[1]
            make = partial(_parts, program, (rows, point, there), precision)
            block = _Block(rows, items, where, shared)
            yield Call(block, make, ("votes", program, shapes))


def _blocks(data: Comparisons, setting: Setting) -> Iterator[_Block]:
    """Lay out sets of like shape together: items, rows and judges."""
    sets, of_row = Sets(data.linked), data.linked[data.first]
    order = np.argsort(of_row, kind="stable")
    ends = np.cumsum(np.bincount(of_row, minlength=len(sets.sizes)))[:-1]
    rows = np.split(order, ends)
    judges = [np.unique(data.judge[own]) for own in rows]
    if not setting.judged:
        judges = [own[:0] for own in judges]
    shapes = np.array(
        [
            (padded(n), _room(len(own)), _room(len(who)) if setting.judged else 0)
            for n, own, who in zip(sets.sizes.tolist(), rows, judges, strict=True)
        ]
    )
    for shape in np.unique(shapes, axis=0).tolist():
        size, length, many = shape
        most = _CELLS // ((size + many) * (size + many + length))
        same = np.flatnonzero((shapes == shape).all(axis=1))
        for own, room in batches(same, most):
            who = [judges[s] for s in own.tolist()]
            of_sets = [rows[s] for s in own.tolist()]
            yield _Block(
                place(_table(data, sets.position, of_sets, who, (room, length))),
                *sets.items(own, size),
                _shared(data, setting, of_sets, who, many),
            )


def _room(n: int) -> int:
    """Round a number of rows, or of judges, up to one of few."""
    size = 8
    while size < min(n, _CHUNK):
        size *= 4
    return min(size, _CHUNK) if n <= _CHUNK else -(-n // _CHUNK) * _CHUNK


def _shared(
    data: Comparisons,
    setting: Setting,
    of_sets: list[np.ndarray],
    judges: list[np.ndarray],
    many: int,
) -> Int[np.ndarray, "sets g"]:
    """Number what each set shares; padding: by the number of all."""
    each = data.swayed.shape[1] + setting.ties
    fixed = each * data.groups
    none = fixed + (len(data.judges) if setting.judged else 0)
    shared = np.full((len(judges), each + many), none)
    for row, own, who in zip(shared, of_sets, judges, strict=True):
        row[:each] = each * data.group[data.first[own[0]]] + np.arange(each)
        row[each : each + len(who)] = fixed + who
    return shared


def _table(
    data: Comparisons,
    position: np.ndarray,
    of_sets: list[np.ndarray],
    judges: list[np.ndarray],
    shape: tuple[int, int],
) -> Rows:
    """Lay out the rows of sets, in chunks."""
    whole, votes = np.zeros((3, *shape), np.int32), np.zeros((3, *shape))
    swayed = np.zeros((*shape, data.swayed.shape[1]))
    for i, (own, who) in enumerate(zip(of_sets, judges, strict=True)):
        at = i, slice(len(own))
        whole[0][at], whole[1][at] = (
            position[data.first[own]],
            position[data.second[own]],
        )
        whole[2][at] = np.searchsorted(who, data.judge[own]) if len(who) else 0
        for side, counts in zip(votes, (data.won, data.lost, data.tied), strict=True):
            side[at] = counts[own] / data.unit
        swayed[at] = data.swayed[own]
    chunks = (shape[0], -(-shape[1] // _CHUNK), min(shape[1], _CHUNK))
    first, second, judge = (x.reshape(chunks) for x in whole)
    won, lost, tied = (x.reshape(chunks) for x in votes)
    swayed = swayed.reshape(*chunks, data.swayed.shape[1])
    return Rows(first, second, judge, won, lost, tied, swayed)


def _parts(program: tuple[bool, bool, int], cut: Any, precision: float) -> Any:
    rows, *moving = cut
    cut = (rows, *place(tuple(moving)))
    return _program(*program)(cut, np.float64(precision))


@cache
def _program(ties: bool, judged: bool, devices: int) -> Any:
    """Map parts of a step over sets."""

    def program(cut, precision):
        def one(own):
            rows, point, where = own
            how = {"ties": ties, "judged": judged, "where": where}
            return parts(rows, point, precision, **how)

        return at_once(one, cut)

    return over_devices(program, devices)
