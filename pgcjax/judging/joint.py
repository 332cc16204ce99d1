"""A joint fit of votes: strengths of items, covariates, and reliabilities of judges.

The device integrates the strengths of each set of items out of its likelihood. The host
adds these likelihoods up, and maximises the sum by the parameters that sets share. The
spread of strengths is one of these parameters unless it is given (empirical Bayes).
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

_CHUNK = 1024  # rows in a chunk
_CELLS = 2**19  # cells in the arrays of a call


class FitSetting(NamedTuple):
    """Choice of the fitted parameters, and their priors.

    Attributes:
        ties: Whether ties are answers (Davidson); else half a vote for either item.
        judged: Whether each judge's reliability is fitted.
        precision: 1 / variance of the normal priors of covariates' coefficients and τ.
        spread: σ of the normal prior of strengths; None if it is fitted.
    """

    ties: bool
    judged: bool
    precision: float
    spread: float | None = None

    @property
    def fits(self) -> Parameters:
        """Return the parameters of the model."""
        return Parameters(self.ties, self.spread is None, self.judged)

    def each(self, data: Comparisons) -> int:
        """Count the shared parameters of a group, in this order: coefficients, τ, σ."""
        return data.swayed.shape[1] + self.ties + (self.spread is None)


class SetBlock(NamedTuple):
    """Sets of one call.

    Attributes:
        rows: Votes, on the device.
        items: Numbers of the items of each set.
        where: True for items, False for padding.
        shared: Numbers of the shared parameters of each set; padding has the number
            after the last.
    """

    rows: VoteRows
    items: Int[np.ndarray, "sets n"]
    where: Bool[np.ndarray, "sets n"]
    shared: Int[np.ndarray, "sets g"]


def blocks(data: Comparisons, setting: FitSetting) -> Iterator[SetBlock]:
    """Lay out sets with equal padded numbers of items, rows and judges together.

    Shared parameters are numbered group by group, and then judge by judge.
    """
    sets, set_of_row = Sets(data.linked), data.linked[data.first]
    order = np.argsort(set_of_row, kind="stable")
    ends = np.cumsum(np.bincount(set_of_row, minlength=len(sets.sizes)))[:-1]
    rows = np.split(order, ends)
    judges = [np.unique(data.judge[of_set]) for of_set in rows]
    if not setting.judged:
        judges = [names[:0] for names in judges]
    sizes = zip(sets.sizes.tolist(), map(len, rows), map(len, judges), strict=True)
    shapes = np.array([(padded(n), _room(r), j and _room(j)) for n, r, j in sizes])
    per_group, sways = setting.each(data), data.swayed.shape[1]
    fixed = per_group * data.groups
    padding = fixed + (len(data.judges) if setting.judged else 0)
    columns = sets.position[data.first], sets.position[data.second], data.judge
    counts = data.won, data.lost, data.tied
    for shape in np.unique(shapes, axis=0).tolist():
        size, length, width = shape  # padded numbers of items, rows and judges
        most = _CELLS // ((size + width) * (size + width + length))
        same = np.flatnonzero((shapes == shape).all(axis=1))
        for batch, room in batches(same, most):
            numbers = np.zeros((3, room, length), np.int32)
            votes, swayed = np.zeros((3, room, length)), np.zeros((room, length, sways))
            shared = np.full((len(batch), per_group + width), padding)
            for i, s in enumerate(batch.tolist()):
                of_set, judge = rows[s], judges[s]
                end, group = len(of_set), data.group[data.first[of_set[0]]]
                shared[i, :per_group] = per_group * group + np.arange(per_group)
                shared[i, per_group : per_group + len(judge)] = fixed + judge
                numbers[:, i, :end] = [column[of_set] for column in columns]
                numbers[2, i, :end] = np.searchsorted(judge, numbers[2, i, :end])
                votes[:, i, :end] = [side[of_set] / data.unit for side in counts]
                swayed[i, :end] = data.swayed[of_set]
            chunks = room, -(-length // _CHUNK), min(length, _CHUNK)
            swayed = swayed.reshape(*chunks, sways)
            first, second, judge = numbers.reshape(3, *chunks)
            won, lost, tied = votes.reshape(3, *chunks)
            placed = place(VoteRows(first, second, judge, won, lost, tied, swayed))
            yield SetBlock(placed, *sets.items(batch, size), shared)


def _room(n: int) -> int:
    """Round a number of rows, or of judges, up to one of few sizes."""
    size = 8
    while size < min(n, _CHUNK):
        size *= 4
    return min(size, _CHUNK) if n <= _CHUNK else -(-n // _CHUNK) * _CHUNK


LOOKS = (1.0, 1.0)
"""Prior votes of each judge: attentive ones, and guesses. One of each makes all
reliabilities equally likely, so a judge who guesses does not count as attentive."""

MOST_STEPS = 1000
"""Most iterations of the search for shared parameters; about twenty are usual."""

MOST_SHARED = 4000
"""Most parameters that sets may share; nearly all are reliabilities of judges."""

SPREAD = 2.5
"""Mode of the prior of a fitted spread σ, whose density is σ · exp(-σ / SPREAD). With
few votes, σ stays near the mode, and it is never 0 [Chung et al. 2013]."""

STARTS = (1.386, 0.0)
"""Log-odds of reliability, the same for all judges, from which searches start. Another
search starts from `_agreed`. There may be several maxima."""

_SLOPE = 1e-6  # gradient of the log-likelihood at which a search ends
_ENDLESS = 10.0  # log-odds beyond which, without a prior, there is no maximum
_MOVE = 1e-3  # step of parameters for differences of gradients
_EQUAL = 1e-6  # log-likelihoods of maxima that differ by no more are equal
_CLIMB = 1e-2  # twice the log-likelihood that one more Newton step may gain
_FLAT = 1e-9  # eigenvalue of the scaled curvature at which there is no peak


class Joint(NamedTuple):
    """Estimates and their standard errors.

    Attributes:
        strength: Strengths of items.
        strength_error: Their standard errors.
        sway: Coefficients of covariates and, if ties are answers, τ, for each group.
        sway_error: Their standard errors.
        spread: σ of the strengths of each group, fitted or given.
        looks: Log-odds of reliability of judges; empty if it is not fitted.
        looks_error: Their standard errors.
        certain: Whether errors are known. They are all NaN if the likelihood has no
            peak at the estimates.
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
    """Likelihood of the parameters that sets share.

    Attributes:
        value: Log-likelihood with priors; strengths are integrated out.
        score: Gradient of `value`.
        strength: The most likely strengths, given the shared parameters.
        by_block: Each block, with the likelihoods of its sets.
    """

    value: float
    score: Float64[np.ndarray, " g"]
    strength: Float64[np.ndarray, " items"]
    by_block: list[tuple[SetBlock, Parts]]


def fit_jointly(
    data: Comparisons, setting: FitSetting, progress: Progress | None = None
) -> Joint:
    """Find the most likely shared parameters, and the most likely strengths given them.

    Raises:
        DataError: the likelihood has no maximum, which may happen without a prior.
        UsageError: there are too many judges for a table of all pairs of parameters.
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

    # Searches use a basis in which the first start has the same curvature in all
    # directions.
    evaluation = model.evaluate(starts[0], np.zeros(model.items))
    value, vector = np.linalg.eigh(model.curved(starts[0], evaluation)[0])
    basis = vector / np.sqrt(np.maximum(np.abs(value), 1e-3))
    peaks = [_climb(model, start, basis, count_step) for start in starts]
    # The first of equal maxima is taken, so that rounding has no effect.
    best = max(peak.value for _, peak in peaks)
    shared, peak = next(x for x in peaks if x[1].value >= best - _EQUAL)
    if progress:
        progress("fitting", MOST_STEPS, MOST_STEPS)
    endless = not setting.precision and np.abs(shared).max(initial=0) > _ENDLESS
    if endless or not np.isfinite(peak.value):
        raise DataError(
            "the likelihood of the votes has no maximum",
            where="preferences",
            mend="Give a smaller prior.",
        )
    return model.joint(shared, peak)


def _climb(
    model: "_Model",
    start: Float64[np.ndarray, " g"],
    basis: Float64[np.ndarray, "g g"],
    count_step: Callable[[], None],
) -> tuple[Float64[np.ndarray, " g"], _Evaluation]:
    """Find the maximum that a search from `start` reaches."""
    current = model.evaluate(start, np.zeros(model.items))

    def loss(x: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal current
        current = model.evaluate(start + basis @ x, current.strength)
        count_step()
        return -current.value, -(basis.T @ current.score)

    options: Any = {"maxiter": MOST_STEPS, "gtol": _SLOPE, "ftol": 0.0, "maxcor": 30}
    result = minimize(loss, 0 * start, jac=True, method="L-BFGS-B", options=options)
    shared = start + basis @ result.x
    return shared, model.evaluate(shared, current.strength)


class _Model:
    """The likelihood of votes.

    Attributes:
        items: Number of items.
        fixed: Number of coefficients, τ and σ of all groups.
        shared: Number of all shared parameters: these, and reliabilities of judges.
    """

    def __init__(self, data: Comparisons, setting: FitSetting):
        self._setting, self.items = setting, len(data.items)
        self._per_group = setting.each(data)
        self.fixed, self._groups = self._per_group * data.groups, data.groups
        self.shared = self.fixed + (len(data.judges) if setting.judged else 0)
        self._spreads = np.zeros(self.shared, bool)
        if setting.spread is None:
            self._spreads[self._per_group - 1 : self.fixed : self._per_group] = True
        self._blocks = list(blocks(data, setting))

    def starts(self, data: Comparisons) -> list[Float64[np.ndarray, " g"]]:
        """List starting points: several, if reliabilities are fitted."""
        start = np.where(self._spreads, np.log(SPREAD), 0.0)
        if not self._setting.judged:
            return [start]
        looks = [np.full(len(data.judges), x) for x in STARTS]
        return [np.r_[start[: self.fixed], x] for x in (*looks, _agreed(data))]

    def joint(self, shared: Float64[np.ndarray, " g"], peak: _Evaluation) -> Joint:
        """Compute standard errors of the estimates at a peak."""
        size = len(shared) + 1  # the last place is for padding
        covariance, variance = np.zeros((size, size)), np.zeros(self.items)
        curvature, by_shared = self.curved(shared, peak)
        scale = np.sqrt(np.abs(np.diag(curvature)))
        scaled = curvature / np.where(scale > 0, np.outer(scale, scale), 1.0)
        certain = bool(np.linalg.eigvalsh(scaled).min(initial=1.0) > _FLAT)
        if certain:
            covariance[:-1, :-1] = np.linalg.inv(curvature)
            # If the search ended before the peak, a Newton step would gain more.
            certain = float(peak.score @ covariance[:-1, :-1] @ peak.score) < _CLIMB
        for (block, part), slope in zip(peak.by_block, by_shared, strict=True):
            number = block.shared
            of_sets = covariance[number[:, :, None], number[:, None, :]]
            more = ((slope @ of_sets) * slope).sum(axis=2)
            variance[block.items[block.where]] = (part.variance + more)[block.where]
        variances = variance, np.diag(covariance)[:-1]
        error, shared_error = (np.sqrt(x if certain else np.nan * x) for x in variances)
        spread = np.full(self._groups, self._setting.spread or 0.0)
        if self._spreads.any():
            spread = np.exp(shared[self._spreads])
        sways = ~self._spreads[: self.fixed]
        sway, sway_error = (
            x[: self.fixed][sways].reshape(self._groups, -1)
            for x in (shared, shared_error)
        )
        looks, looks_error = shared[self.fixed :], shared_error[self.fixed :]
        fixed = sway, sway_error, spread
        return Joint(peak.strength, error, *fixed, looks, looks_error, certain)

    def evaluate(
        self,
        shared: Float64[np.ndarray, " g"],
        strength: Float64[np.ndarray, " items"],
    ) -> _Evaluation:
        """Add up log-likelihoods and gradients of all sets, and those of the priors.

        Args:
            shared: Shared parameters.
            strength: Strengths from which the search for the likeliest ones starts.
        """
        size = self.shared + 1  # the last place is for padding
        value, score = 0.0, np.zeros(size)
        strength, by_block = strength.copy(), self._by_block(shared, strength)
        for block, part in by_block:
            value += float(part.value.sum())
            score += np.bincount(block.shared.ravel(), part.score.ravel(), size)
            strength[block.items[block.where]] = part.strength[block.where]
        score = score[:-1].copy()
        value += self._add_prior(shared, score)
        return _Evaluation(value, score, strength, by_block)

    def curved(
        self, shared: Float64[np.ndarray, " g"], peak: _Evaluation
    ) -> tuple[Float64[np.ndarray, "g g"], list[Float64[np.ndarray, "sets n g"]]]:
        """Compute the negative Hessian of `value`, and derivatives of strengths.

        Strengths follow the shared parameters. Derivatives are central differences: in
        all sets at once, the first shared parameter is moved, then the second, etc.

        Returns:
            The negative Hessian by the shared parameters; and for each block, the
            derivatives of strengths by the shared parameters of the set.
        """
        blocks = [block for block, _ in peak.by_block]
        widths = [block.shared.shape[1] for block in blocks]
        hessians = [np.zeros((*b.shared.shape, b.shared.shape[1])) for b in blocks]
        by_shared = [np.zeros((*b.where.shape, b.shared.shape[1])) for b in blocks]
        for at in range(max(widths, default=0)):
            ends = [
                self._by_block(shared, peak.strength, (at, move))
                for move in (_MOVE, -_MOVE)
            ]
            for i, ((_, up), (_, down)) in enumerate(zip(*ends, strict=True)):
                if at < widths[i]:
                    hessians[i][:, at] = (up.score - down.score) / (2 * _MOVE)
                    slope = (up.strength - down.strength) / (2 * _MOVE)
                    by_shared[i][:, :, at] = slope
        size = self.shared + 1  # the last place is for padding
        curvature = np.zeros(size * size)
        for block, hessian in zip(blocks, hessians, strict=True):
            number = block.shared
            symmetric = (hessian + hessian.transpose(0, 2, 1)) / 2
            cell = (number[:, :, None] * size + number[:, None, :]).ravel()
            np.add.at(curvature, cell, -symmetric.ravel())
        curvature = curvature.reshape(size, size)[:-1, :-1].copy()
        up, down = np.zeros(self.shared), np.zeros(self.shared)
        self._add_prior(shared + _MOVE, up)
        self._add_prior(shared - _MOVE, down)
        curvature[np.diag_indices(len(curvature))] -= (up - down) / (2 * _MOVE)
        return curvature, by_shared

    def _by_block(
        self,
        shared: Float64[np.ndarray, " g"],
        strength: Float64[np.ndarray, " items"],
        moved: tuple[int, float] | None = None,
    ) -> list[tuple[SetBlock, Parts]]:
        """Compute the likelihood of each set, block by block.

        Args:
            shared: Shared parameters.
            strength: Strengths from which the search for the likeliest ones starts.
            moved: Place of a parameter among those of each set, and how far it moves.
        """
        calls = self._calls(shared, strength, moved)
        return [
            (block, Parts._make(np.asarray(x)[: len(block.items)] for x in out))
            for block, out in results(calls)
        ]

    def _add_prior(self, shared: np.ndarray, score: np.ndarray) -> float:
        """Return the log prior of shared parameters; add its gradient to `score`."""
        looks = shared[self.fixed :]
        spreads, normal = self._spreads, ~self._spreads
        normal[self.fixed :] = False
        precision, (seen, unseen) = self._setting.precision, LOOKS
        ratio = np.exp(shared[spreads]) / SPREAD
        score[normal] -= precision * shared[normal]
        score[spreads] += 1 - ratio
        score[self.fixed :] += seen - (seen + unseen) / (1 + np.exp(-looks))
        logs = seen * np.logaddexp(0, -looks) + unseen * np.logaddexp(0, looks)
        squares = shared[normal] @ shared[normal]
        of_spreads = (shared[spreads] - ratio).sum()
        return float(of_spreads - precision / 2 * squares - logs.sum())

    def _calls(
        self,
        parameters: np.ndarray,
        strengths: np.ndarray,
        moved: tuple[int, float] | None,
    ) -> Iterator[Call]:
        """Prepare the calls of `_by_block`."""
        setting, per_group = self._setting, self._per_group
        program = mapped(parts, local_device_count(), fits=setting.fits)
        sways = per_group - setting.ties - (setting.spread is None)
        values = np.append(parameters, 0.0)  # padding has the last
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
            spread = of_sets[:, per_group - 1]
            if setting.spread is not None:  # infinite without a prior
                spread = np.full(room, np.log(setting.spread))
            sway, looks = of_sets[:, :sways], of_sets[:, per_group:]
            point = Point(strength, sway, tie, spread, looks)
            shapes = rows.swayed.shape, n, shared.shape[1]
            make = partial(called, program, (rows, point, there), ())
            yield Call(block, make, ("votes", setting.fits, shapes))


def _agreed(data: Comparisons) -> Float64[np.ndarray, " judges"]:
    """Estimate reliabilities from each judge's agreement with most of the others.

    Returns:
        Log-odds of the reliabilities.
    """
    pairs = np.stack([data.first, data.second])
    pair = np.unique(pairs, axis=1, return_inverse=True)[1].reshape(-1)
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
