"""Sets of items that comparisons link, laid out in arrays: items, votes and judges."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int

from pgcjax.judging.comparisons import Comparisons
from pgcjax.judging.models import Sets, batches, padded
from pgcjax.kernels.votes import Parameters, VoteRows
from pgcjax.runtime.devices import place

_CHUNK = 1024  # rows
_CELLS = 2**19  # of arrays of a call


class FitSetting(NamedTuple):
    """What is fitted.

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


def each_of(data: Comparisons, setting: FitSetting) -> int:
    """Count what the sets of a group share: sway, τ and σ, in this order."""
    return data.swayed.shape[1] + setting.ties + (setting.spread is None)


def blocks(data: Comparisons, setting: FitSetting) -> Iterator[SetBlock]:
    """Lay out sets of like shape together: items, rows and judges."""
    sets, of_row = Sets(data.linked), data.linked[data.first]
    order = np.argsort(of_row, kind="stable")
    ends = np.cumsum(np.bincount(of_row, minlength=len(sets.sizes)))[:-1]
    rows = np.split(order, ends)
    judges = [np.unique(data.judge[of_set]) for of_set in rows]
    if not setting.judged:
        judges = [names[:0] for names in judges]
    shapes = np.array(
        [
            (padded(n), _room(len(of_set)), _room(len(who)) if setting.judged else 0)
            for n, of_set, who in zip(sets.sizes.tolist(), rows, judges, strict=True)
        ]
    )
    for shape in np.unique(shapes, axis=0).tolist():
        size, length, many = shape
        most = _CELLS // ((size + many) * (size + many + length))
        same = np.flatnonzero((shapes == shape).all(axis=1))
        for batch, room in batches(same, most):
            who = [judges[s] for s in batch.tolist()]
            of_sets = [rows[s] for s in batch.tolist()]
            yield SetBlock(
                place(_table(data, sets.position, of_sets, who, (room, length))),
                *sets.items(batch, size),
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
    setting: FitSetting,
    of_sets: list[np.ndarray],
    judges: list[np.ndarray],
    many: int,
) -> Int[np.ndarray, "sets g"]:
    """Number what each set shares; padding: by the number of all."""
    each = each_of(data, setting)
    fixed = each * data.groups
    none = fixed + (len(data.judges) if setting.judged else 0)
    shared = np.full((len(judges), each + many), none)
    for row, rows, who in zip(shared, of_sets, judges, strict=True):
        row[:each] = each * data.group[data.first[rows[0]]] + np.arange(each)
        row[each : each + len(who)] = fixed + who
    return shared


def _table(
    data: Comparisons,
    position: np.ndarray,
    of_sets: list[np.ndarray],
    judges: list[np.ndarray],
    shape: tuple[int, int],
) -> VoteRows:
    """Lay out the rows of sets, in chunks."""
    whole, votes = np.zeros((3, *shape), np.int32), np.zeros((3, *shape))
    swayed = np.zeros((*shape, data.swayed.shape[1]))
    for i, (rows, who) in enumerate(zip(of_sets, judges, strict=True)):
        at = i, slice(len(rows))
        whole[0][at], whole[1][at] = (
            position[data.first[rows]],
            position[data.second[rows]],
        )
        whole[2][at] = np.searchsorted(who, data.judge[rows]) if len(who) else 0
        for side, counts in zip(votes, (data.won, data.lost, data.tied), strict=True):
            side[at] = counts[rows] / data.unit
        swayed[at] = data.swayed[rows]
    chunks = (shape[0], -(-shape[1] // _CHUNK), min(shape[1], _CHUNK))
    first, second, judge = (x.reshape(chunks) for x in whole)
    won, lost, tied = (x.reshape(chunks) for x in votes)
    swayed = swayed.reshape(*chunks, data.swayed.shape[1])
    return VoteRows(first, second, judge, won, lost, tied, swayed)
