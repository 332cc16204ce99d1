"""Votes → strengths of items, covariates and reliabilities of judges, jointly.

On the device, each set of items leaves out its own strengths; what sets share is added
up over sets, and solved, on the host. The spread of strengths is fitted, too, unless it
is given (empirical Bayes).
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float64, Int
from scipy.optimize import minimize

from pgcjax.errors import DataError, Progress, UsageError
from pgcjax.judging.comparisons import Comparisons
from pgcjax.judging.models import Sets, batches, called, mapped, padded
from pgcjax.kernels.votes import Parameters, Parts, Point, VoteRows, parts
from pgcjax.runtime.devices import local_device_count, place
from pgcjax.runtime.loop import Call, results

_CHUNK = 1024  # rows
_ROWS = 8  # that a set has room for
_CELLS = 2**19  # of arrays of a call


class FitSetting(NamedTuple):
    """Fitted parameters.

    Attributes:
        ties: whether ties are answers (Davidson); else half a vote for either.
        judged: whether each judge's reliability is fitted.
        precision: 1/σ² of the normal priors of what sways, and of τ.
        spread: σ of the normal prior of strengths; None: it is fitted.
    """

    ties: bool
    judged: bool
    precision: float
    spread: float | None = None

    @property
    def fits(self) -> Parameters:
        """Find which parameters there are."""
        return Parameters(self.ties, self.spread is None, self.judged)

    def each(self, data: Comparisons) -> int:
        """Count what the sets of a group share: sway, τ and σ, in this order."""
        return data.swayed.shape[1] + self.ties + (self.spread is None)


class SetBlock(NamedTuple):
    """Sets that a call computes.

    Attributes:
        rows: votes, on the device.
        items: items of each set.
        where: which of them there are.
        shared: number of what each set shares, of all that is shared; the last: none.
    """

    rows: VoteRows
    items: Int[np.ndarray, "sets n"]
    where: Bool[np.ndarray, "sets n"]
    shared: Int[np.ndarray, "sets g"]


def blocks(data: Comparisons, setting: FitSetting) -> Iterator[SetBlock]:
    """Lay out sets of like shape together: items, rows and judges.

    What a set shares is numbered: what its group does, then its judges; padding has the
    number of all.
    """
    sets, of_row = Sets(data.linked), data.linked[data.first]
    order = np.argsort(of_row, kind="stable")
    ends = np.cumsum(np.bincount(of_row, minlength=len(sets.sizes)))[:-1]
    rows = np.split(order, ends)
    judges = [np.unique(data.judge[of_set]) for of_set in rows]
    if not setting.judged:
        judges = [names[:0] for names in judges]
    sizes = zip(sets.sizes.tolist(), map(len, rows), map(len, judges), strict=True)
    rooms = [(padded(n), _room(max(r, _ROWS)), j and _room(j)) for n, r, j in sizes]
    shapes = np.array(rooms)
    each, sways = setting.each(data), data.swayed.shape[1]
    fixed = each * data.groups
    none = fixed + (len(data.judges) if setting.judged else 0)
    columns = sets.position[data.first], sets.position[data.second], data.judge
    counts = data.won, data.lost, data.tied
    for shape in np.unique(shapes, axis=0).tolist():
        size, length, many = shape
        most = _CELLS // ((size + many) * (size + many + length))
        same = np.flatnonzero((shapes == shape).all(axis=1))
        for batch, room in batches(same, most):
            whole = np.zeros((3, room, length), np.int32)
            votes, swayed = np.zeros((3, room, length)), np.zeros((room, length, sways))
            shared = np.full((len(batch), each + many), none)
            for i, s in enumerate(batch.tolist()):
                of_set, who = rows[s], judges[s]
                end, group = len(of_set), data.group[data.first[of_set[0]]]
                shared[i, :each] = each * group + np.arange(each)
                shared[i, each : each + len(who)] = fixed + who
                whole[:, i, :end] = [column[of_set] for column in columns]
                whole[2, i, :end] = np.searchsorted(who, whole[2, i, :end])
                votes[:, i, :end] = [side[of_set] / data.unit for side in counts]
                swayed[i, :end] = data.swayed[of_set]
            chunks = room, -(-length // _CHUNK), min(length, _CHUNK)
            swayed = swayed.reshape(*chunks, sways)
            first, second, judge = whole.reshape(3, *chunks)
            won, lost, tied = votes.reshape(3, *chunks)
            laid = place(VoteRows(first, second, judge, won, lost, tied, swayed))
            yield SetBlock(laid, *sets.items(batch, size), shared)


def _room(n: int) -> int:
    """Round a number of rows, or of judges, up to one of few."""
    size = 8
    while size < min(n, _CHUNK):
        size *= 4
    return min(size, _CHUNK) if n <= _CHUNK else -(-n // _CHUNK) * _CHUNK


LOOKS = (1.0, 1.0)
"""Prior votes of each judge, attentive ones and guesses: any reliability is equally
likely, so that a judge who guesses is not taken for an attentive one."""

MOST_STEPS = 1000
"""Iterations of the search for shared parameters; some twenty are usual."""

MOST_SHARED = 4000
"""Parameters that sets may share, above all those of judges."""

SPREAD = 2.5
"""Mode of the prior of a spread σ that is fitted, σ · exp(-σ / SPREAD): with
few votes, the spread stays near it, and it is never 0 [Chung et al. 2013]."""

STARTS = (1.386, 0.0)
"""Log-odds of reliability of all judges from which a search starts, and one more from
how often each agrees with most of the others: there may be several maxima."""

_SLOPE = 1e-6  # where it ends, of the logarithm of the likelihood
_ENDLESS = 10.0  # log-odds that, without a prior, have no end
_MOVE = 1e-3  # of a parameter, to see how slopes change
_EQUAL = 1e-6  # values of maxima that differ by no more are equal
_CLIMB = 1e-2  # of the logarithm of the likelihood, twice what is left of it
_FLAT = 1e-9  # of the curvature, by that of each parameter alone: there is no peak


class Joint(NamedTuple):
    """Estimates and their standard errors.

    Attributes:
        strength: of items.
        strength_error: likewise.
        sway: coefficients of what sways judges and, where ties are answers, τ; of each
            group.
        sway_error: likewise.
        spread: σ of the strengths of each group, fitted or given.
        looks: log-odds of reliability of judges, if it is fitted.
        looks_error: likewise.
        certain: whether errors are known: not where the likelihood has no peak at
            what was found, and all errors are NaN.
    """

    strength: Float64[np.ndarray, " items"]
    strength_error: Float64[np.ndarray, " items"]
    sway: Float64[np.ndarray, "groups c"]
    sway_error: Float64[np.ndarray, "groups c"]
    spread: Float64[np.ndarray, " groups"]
    looks: Float64[np.ndarray, " judges"]
    looks_error: Float64[np.ndarray, " judges"]
    certain: bool


class _Evaluation(NamedTuple):
    """Estimates of the parameters that sets share.

    Attributes:
        value: log-likelihood, strengths integrated out, with priors.
        score: its slope.
        strength: the most likely ones.
        brought: of each block, what its sets say.
    """

    value: float
    score: Float64[np.ndarray, " g"]
    strength: Float64[np.ndarray, " items"]
    brought: list[tuple[SetBlock, Parts]]


def fit_jointly(
    data: Comparisons, setting: FitSetting, progress: Progress | None = None
) -> Joint:
    """Find the most likely sway and reliabilities, and strengths by these.

    Raises:
        DataError: there is no maximum, as without a prior.
        UsageError: judges are too many for one table of all pairs of them.
    """
    model = _Model(data, setting)
    if model.shared > MOST_SHARED:
        raise UsageError(
            f"reliability is fitted for {MOST_SHARED} judges at most, anew in each "
            f"aspect, not for {model.shared - model.fixed}: name those that count"
        )
    starts, done = model.starts(data), 0

    def count_step() -> None:
        nonlocal done
        done += 1
        if progress:
            progress("fitting", min(done, MOST_STEPS - 1), MOST_STEPS)

    # Changed so that all directions are as steep, as far as can be seen from the first
    # start.
    at_rest = model.evaluate(starts[0], np.zeros(model.items))
    value, vector = np.linalg.eigh(model.curved(starts[0], at_rest)[0])
    root = vector / np.sqrt(np.maximum(np.abs(value), 1e-3))
    peaks = [_climb(model, start, root, count_step) for start in starts]
    # Of equal maxima the first: what is found depends on the data alone.
    best = max(of.value for _, of in peaks)
    shared, top = next(x for x in peaks if x[1].value >= best - _EQUAL)
    if progress:
        progress("fitting", MOST_STEPS, MOST_STEPS)
    endless = not setting.precision and np.abs(shared).max(initial=0) > _ENDLESS
    if endless or not np.isfinite(top.value):
        raise DataError(
            "the likelihood of the votes has no maximum",
            where="preferences",
            mend="Give a smaller prior.",
        )
    return model.joint(shared, top)


def _climb(
    model: "_Model",
    start: Float64[np.ndarray, " g"],
    root: Float64[np.ndarray, "g g"],
    count_step: Callable[[], None],
) -> tuple[Float64[np.ndarray, " g"], _Evaluation]:
    """Find the maximum that a start leads to."""
    current = model.evaluate(start, np.zeros(model.items))

    def loss(x: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal current
        current = model.evaluate(start + root @ x, current.strength)
        count_step()
        return -current.value, -(root.T @ current.score)

    options: Any = {"maxiter": MOST_STEPS, "gtol": _SLOPE, "ftol": 0.0, "maxcor": 30}
    result = minimize(loss, 0 * start, jac=True, method="L-BFGS-B", options=options)
    shared = start + root @ result.x
    return shared, model.evaluate(shared, current.strength)


class _Model:
    """The model of some votes, laid out.

    Attributes:
        fixed: coefficients of what sways, and τ, of all groups.
        shared: these, and judges.
    """

    def __init__(self, data: Comparisons, setting: FitSetting):
        self._setting, self.items = setting, len(data.items)
        self._each = setting.each(data)
        self.fixed, self._groups = self._each * data.groups, data.groups
        self.shared = self.fixed + (len(data.judges) if setting.judged else 0)
        self._spreads = np.zeros(self.shared, bool)
        if setting.spread is None:
            self._spreads[self._each - 1 : self.fixed : self._each] = True
        self._blocks = list(blocks(data, setting))

    def starts(self, data: Comparisons) -> list[Float64[np.ndarray, " g"]]:
        """List starting points: several, if reliabilities are fitted."""
        start = np.where(self._spreads, np.log(SPREAD), 0.0)
        if not self._setting.judged:
            return [start]
        looks = [np.full(len(data.judges), x) for x in STARTS]
        return [np.r_[start[: self.fixed], x] for x in (*looks, _agreed(data))]

    def joint(self, shared: Float64[np.ndarray, " g"], peak: _Evaluation) -> Joint:
        """Return estimates and standard errors."""
        size = len(shared) + 1
        wide, variance = np.zeros((size, size)), np.zeros(self.items)
        curvature, turns = self.curved(shared, peak)
        scale = np.sqrt(np.abs(np.diag(curvature)))
        scaled = curvature / np.where(scale > 0, np.outer(scale, scale), 1.0)
        certain = bool(np.linalg.eigvalsh(scaled).min(initial=1.0) > _FLAT)
        if certain:
            wide[:-1, :-1] = np.linalg.inv(curvature)
            # A search that ended on a slope would have more to climb.
            certain = float(peak.score @ wide[:-1, :-1] @ peak.score) < _CLIMB
        for (block, part), turn in zip(peak.brought, turns, strict=True):
            place = block.shared
            around = wide[place[:, :, None], place[:, None, :]]
            more = ((turn @ around) * turn).sum(axis=2)
            variance[block.items[block.where]] = (part.variance + more)[block.where]
        both = variance, np.diag(wide)[:-1]
        error, of = (np.sqrt(x if certain else np.nan * x) for x in both)
        spread = np.full(self._groups, self._setting.spread or 0.0)
        if self._spreads.any():
            spread = np.exp(shared[self._spreads])
        sways = ~self._spreads[: self.fixed]
        sway, sway_error = (
            x[: self.fixed][sways].reshape(self._groups, -1) for x in (shared, of)
        )
        looks, looks_error = shared[self.fixed :], of[self.fixed :]
        fixed = sway, sway_error, spread
        return Joint(peak.strength, error, *fixed, looks, looks_error, certain)

    def evaluate(
        self,
        shared: Float64[np.ndarray, " g"],
        strength: Float64[np.ndarray, " items"],
    ) -> _Evaluation:
        """Add up what all sets say.

        Args:
            shared: what sets share.
            strength: to begin with.
        """
        size = self.shared + 1  # the last place takes what padding brings
        value, score = 0.0, np.zeros(size)
        strength, brought = strength.copy(), self._brought(shared, strength)
        for block, part in brought:
            value += float(part.value.sum())
            score += np.bincount(block.shared.ravel(), part.score.ravel(), size)
            strength[block.items[block.where]] = part.strength[block.where]
        score = score[:-1].copy()
        value += self._prior(shared, score)
        return _Evaluation(value, score, strength, brought)

    def curved(
        self, shared: Float64[np.ndarray, " g"], peak: _Evaluation
    ) -> tuple[Float64[np.ndarray, "g g"], list[Float64[np.ndarray, "sets n g"]]]:
        """Find the curvature, as strengths follow, and how strengths do.

        By differences of slopes, of all sets at once: the first of what each shares is
        moved, then the second, and so on.
        """
        blocks = [block for block, _ in peak.brought]
        widths = [block.shared.shape[1] for block in blocks]
        bends = [np.zeros((*b.shared.shape, b.shared.shape[1])) for b in blocks]
        turns = [np.zeros((*b.where.shape, b.shared.shape[1])) for b in blocks]
        for at in range(max(widths, default=0)):
            ends = [
                self._brought(shared, peak.strength, (at, move))
                for move in (_MOVE, -_MOVE)
            ]
            for i, (up, down) in enumerate(zip(*ends, strict=True)):
                if at < widths[i]:
                    bends[i][:, at] = (up[1].score - down[1].score) / (2 * _MOVE)
                    turn = (up[1].strength - down[1].strength) / (2 * _MOVE)
                    turns[i][:, :, at] = turn
        size = self.shared + 1
        curve = np.zeros(size * size)
        for block, bend in zip(blocks, bends, strict=True):
            place, both = block.shared, (bend + bend.transpose(0, 2, 1)) / 2
            cell = (place[:, :, None] * size + place[:, None, :]).ravel()
            np.add.at(curve, cell, -both.ravel())
        curve = curve.reshape(size, size)[:-1, :-1].copy()
        slopes = []
        for move in (_MOVE, -_MOVE):
            slopes.append(np.zeros(self.shared))
            self._prior(shared + move, slopes[-1])
        curve[np.diag_indices(len(curve))] -= (slopes[0] - slopes[1]) / (2 * _MOVE)
        return curve, turns

    def _brought(
        self,
        shared: Float64[np.ndarray, " g"],
        strength: Float64[np.ndarray, " items"],
        moved: tuple[int, float] | None = None,
    ) -> list[tuple[SetBlock, Parts]]:
        """Find what each set says, of whose shared parameters one may be moved."""
        calls = self._calls(shared, strength, moved)
        return [
            (block, Parts._make(np.asarray(x)[: len(block.items)] for x in out))
            for block, out in results(calls)
        ]

    def _prior(self, shared: np.ndarray, score: np.ndarray) -> float:
        """Add priors of what sets share to slopes; give their logs."""
        looks = shared[self.fixed :]
        spreads, normal = self._spreads, ~self._spreads
        normal[self.fixed :] = False
        precision, (seen, unseen) = self._setting.precision, LOOKS
        wide = np.exp(shared[spreads]) / SPREAD
        score[normal] -= precision * shared[normal]
        score[spreads] += 1 - wide
        score[self.fixed :] += seen - (seen + unseen) / (1 + np.exp(-looks))
        logs = seen * np.logaddexp(0, -looks) + unseen * np.logaddexp(0, looks)
        squares = shared[normal] @ shared[normal]
        far = (shared[spreads] - wide).sum()
        return float(far - precision / 2 * squares - logs.sum())

    def _calls(
        self, of_all: np.ndarray, strengths: np.ndarray, moved: tuple[int, float] | None
    ) -> Iterator[Call]:
        setting, each = self._setting, self._each
        program = mapped(parts, local_device_count(), fits=setting.fits)
        sways = each - setting.ties - (setting.spread is None)
        values = np.append(of_all, 0.0)
        for block in self._blocks:
            rows, items, where, shared = block
            room, (sets, n) = len(rows.first), where.shape
            strength, there = np.zeros((room, n)), np.zeros((room, n), bool)
            strength[:sets] = np.where(where, strengths[items], 0.0)
            there[:sets] = where
            of_sets = np.zeros((room, shared.shape[1]))
            of_sets[:sets] = values[shared]
            if moved and moved[0] < shared.shape[1]:
                of_sets[:, moved[0]] += moved[1]
            tie = of_sets[:, sways] if setting.ties else np.zeros(room)
            spread = of_sets[:, each - 1]
            if setting.spread is not None:  # infinite: its precision is 0
                spread = np.full(room, np.log(setting.spread))
            sway, looks = of_sets[:, :sways], of_sets[:, each:]
            point = Point(strength, sway, tie, spread, looks)
            shapes = rows.swayed.shape, n, shared.shape[1]
            make = partial(called, program, (rows, point, there), ())
            yield Call(block, make, ("votes", setting.fits, shapes))


def _agreed(data: Comparisons) -> Float64[np.ndarray, " judges"]:
    """Start from how often each judge agrees with most of the others, as log-odds."""
    pair = np.unique(np.stack([data.first, data.second]), axis=1, return_inverse=True)[
        1
    ].reshape(-1)
    lead = (data.won - data.lost).astype(np.float64)
    others = np.sign(np.bincount(pair, lead)[pair] - lead)
    votes = (data.won + data.lost) * (others != 0)
    agreed = np.where(others > 0, data.won, data.lost) * (others != 0)
    count = len(data.judges)
    share = (np.bincount(data.judge, agreed, count) + data.unit) / (
        np.bincount(data.judge, votes, count) + 2 * data.unit
    )
    looks = np.clip(2 * share - 1, 0.05, 0.95)
    return np.log(looks / (1 - looks))
