"""Graphs × rankings → mean, least and greatest score over orders of what a run lacks.

Documents that a run did not retrieve are tied below it. The peel of a run stops where
their order decides, and goes on once for each document that may be first. Peels that
reach the same state are merged, so a score is exact, however many orders there are. If
the ties of a query and run lead to more than `STATES` states, orders are drawn instead.
"""

from collections.abc import Iterator, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Float64

from pgcjax.engine import plan
from pgcjax.engine.batch import Batch, BatchSetting, Member
from pgcjax.engine.peel_batch import PeelGraphs, PeelTiles
from pgcjax.engine.tied_orders import Known, drawn, first_rung, still_known
from pgcjax.engine.tiles import TileBatch
from pgcjax.errors import Progress
from pgcjax.kernels import ABSENT, peel_ties
from pgcjax.kernels.peel_ties import CLOSE, ORDERED, PeelState, Stop
from pgcjax.later import jax
from pgcjax.reference.pgc import tied_pgc_of
from pgcjax.runtime.programs import Program
from pgcjax.tensors.graphs import Graph, dense
from pgcjax.tensors.padding import padded_size

if TYPE_CHECKING:
    from pgcjax.measures.measure import Case
    from pgcjax.tensors.rankings import Rankings

STATES = 100
"""Most documents among which ties of a query and run leave to choose, over all peels
that they lead to; with more, orders are drawn."""

_LANES = 256  # peels of a call, padded: a program is compiled for each size of graphs


class Peels(NamedTuple):
    """Peels that go on from where ties decided, by number.

    Attributes:
        pair: Number of the query and run.
        state: Documents that are left.
        within: whether a peel covers only one phase of sources.
        known: Knowledge of the order from earlier ties.
    """

    pair: np.ndarray
    state: PeelState
    within: np.ndarray
    known: list[Known]


class Links(NamedTuple):
    """Links from peels to the peels that they lead to, from which values follow.

    Attributes:
        parent: Number of the peel that stopped.
        child: Number of the peel that goes on from there.
        chance: Probability of the child among alternatives. 0 if it goes on after a
            phase of sources, whatever the order within the phase.
    """

    parent: np.ndarray
    child: np.ndarray
    chance: np.ndarray


class Spread(NamedTuple):
    """Sums of RBO weights over orders, for `[runs, queries]`.

    Attributes:
        mean: Mean of the sums.
        min: Least sum.
        max: Greatest sum.
        error: Standard error of the mean; 0 if it is exact.
        drawn: whether orders were drawn.
    """

    mean: np.ndarray
    min: np.ndarray
    max: np.ndarray
    error: np.ndarray
    drawn: np.ndarray


class TieBatch(Batch):
    """Measures of the same graphs, weights and orders: mean, least, greatest score.

    Attributes:
        cyclic: Queries whose graphs have cycles: in other graphs, ties decide nothing.
    """

    def __init__(self, members: Sequence[Member], setting: BatchSetting):
        """Group the graphs.

        Args:
            members: the measures.
            setting: Resources.
        """
        self.members, self._tensors = members, members[0].tensors
        self.docs, self._budget = self._tensors.docs, setting.budget
        graphs = self._tensors.graphs
        self._graphs = PeelGraphs(graphs, keep=setting.keep, budget=setting.budget)
        squares = sum(len(graph) ** 2 for graph in graphs.values())
        seconds = plan.PER_WORD * squares * self._tensors.n  # of a run
        self.most_runs = max(16, int(plan.settings.seconds / max(seconds, 1e-9)))
        self._groups = [*_groups(graphs, setting.budget)]
        self.cyclic = [column for columns, _ in self._groups for column in columns]
        self._drawn: set[tuple[str, str]] = set()

    def score(
        self, rankings: "Rankings", progress: Progress | None = None
    ) -> Float64[np.ndarray, "measures runs queries"]:
        """Add up RBO weights over orders, and normalise what the measures ask for."""
        spread = self._spread(rankings, progress)
        sizes = np.array([len(docs) for docs in self.docs.values()])
        names = [*self.docs]
        for run, query in zip(*np.nonzero(spread.drawn), strict=True):
            self._drawn.add((rankings.run_ids[run], names[query]))
        scores = np.zeros((len(self.members), *spread.mean.shape))
        for place, member in enumerate(self.members):
            tensors = member.tensors
            scores[place] = tensors.finish(getattr(spread, tensors.ties), sizes)
            errors = tensors.finish(spread.error, sizes)[spread.drawn]
            tensors.errors.extend(errors.tolist())
        return scores

    def tiles(self, rankings: "Rankings") -> list[TileBatch]:
        """The peel of all graphs by one order: how many states follow is not known."""
        return [PeelTiles(self._graphs, rankings, self._tensors.weights)]

    def recompute(self, place: int, case: "Case") -> float:
        """Score one run and query again, by drawn orders if there were too many."""
        return tied_pgc_of(case, drawn=(case.run_id, case.query_id) in self._drawn)

    def _spread(self, rankings: "Rankings", progress: Progress | None) -> Spread:
        """Explore all peels of each group of queries."""
        sums = self._graphs.overlaps(rankings, self._tensors.weights, progress)
        zero = np.zeros(sums.shape)
        spread = Spread(
            sums.astype(float), sums.copy(), sums.copy(), zero, zero.astype(bool)
        )
        retrieved = rankings.retrieved(self.docs)
        for done, (columns, size) in enumerate(self._groups, 1):
            graphs = [self._graphs.graphs[column] for column in columns]
            ranks = np.full((len(columns), len(sums), size), ABSENT, np.int32)
            for row, graph in zip(ranks, graphs, strict=True):
                own = retrieved[graph.query_id]
                row[own.run, own.vertex] = own.rank
            tree = _Tree(graphs, ranks, self._tensors)
            for whole, part in zip(spread, tree.spread(), strict=True):
                whole[:, columns] = part.T
            if progress:
                progress("ties", done, len(self._groups))
        return spread


def batches(members: Sequence[Member], setting: BatchSetting) -> list[Batch]:
    """Make a batch of the measures that ask for the same sums."""
    groups: dict[tuple, list[Member]] = {}
    for member in members:
        t = member.tensors
        key = id(t.graphs), t.weights.tobytes(), t.n, t.seed
        groups.setdefault(key, []).append(member)
    keep = setting.keep // max(1, len(groups))
    return [TieBatch(group, setting._replace(keep=keep)) for group in groups.values()]


def _groups(graphs: Any, budget: int) -> Iterator[tuple[list[int], int]]:
    """Cut the queries whose graphs have cycles: others have no ties that decide."""
    of_size: dict[int, list[int]] = {}
    for column, graph in enumerate(graphs.values()):
        if has_cycles(graph):
            of_size.setdefault(padded_size(len(graph)), []).append(column)
    for size, columns in sorted(of_size.items()):
        most = max(1, budget // (16 * size * size))
        for first in range(0, len(columns), most):
            yield columns[first : first + most], size


def has_cycles(graph: Graph) -> bool:
    """Return whether repeated removal of documents that beat none leaves some."""
    if not len(graph.wins):
        return False
    edges = graph.edges() > 0
    left = np.ones(len(graph), bool)
    while (sinks := left & ~edges[:, left].any(1)).any():
        left &= ~sinks
    return bool(left.any())


def kinds_of(edges: np.ndarray) -> list[int]:
    """Number the documents so that those with equal rows and columns are of a kind."""
    rows = np.concatenate([edges, edges.T], axis=1)
    return np.unique(rows, axis=0, return_inverse=True)[1].ravel().tolist()


class _Tree:
    """All peels of some queries and runs, one tie after another."""

    def __init__(self, graphs: Sequence[Graph], ranks: np.ndarray, tensors: Any):
        """Lay graphs out.

        Args:
            graphs: Graphs of some queries, of about one size.
            ranks: Ranks of their documents in each run: `[queries, runs, size]`.
            tensors: weights, and how many orders are drawn if there are many.
        """
        self._graphs, self._tensors = graphs, tensors
        self._queries, self._runs, self._size = ranks.shape
        self._ranks = ranks.reshape(-1, self._size)
        edges = dense(graphs, self._size)
        self._kinds = [kinds_of(matrix) for matrix in edges]
        self._rows = peel_ties.removals(edges)
        with jax.enable_x64(True):  # once for many calls
            self._on_device = jax.device_put((self._rows, tensors.weights))
        sizes = np.array([len(graph) for graph in graphs], np.int32)
        self._last = np.repeat(sizes - 1, self._runs)
        degrees, alive = self._rows.sum(1), np.arange(self._size) < sizes[:, None]
        self._degrees, self._alive = (
            np.repeat(x, self._runs, axis=0) for x in (degrees, alive)
        )

    def spread(self) -> Spread:
        """Return a `Spread` for `[queries, runs]`."""
        count = len(self._ranks)
        self.states = states = np.ones(count, np.int64)
        pairs, within = np.arange(count), np.zeros(count, bool)
        peels = Peels(pairs, self._start(pairs), within, [()] * count)
        gains, levels = [], []
        while len(peels.pair):
            mode = np.zeros(len(peels.pair), np.int32)
            stop = self._advance(peels.pair, peels.state, mode)
            gains.append(stop.gain)
            peels, links = self._beyond(peels, stop, states)
            levels.append(links)
        mean, least, greatest = _values(gains, levels)
        many = states > STATES
        error, n = np.zeros(count), self._tensors.n
        if many.any():
            sums = self._by_drawn_orders(np.flatnonzero(many))
            mean[many], error[many] = sums.mean(1), sums.std(1, ddof=1) / np.sqrt(n)
            least[many], greatest[many] = sums.min(1), sums.max(1)
        mean = np.clip(mean, least, greatest)
        shape = self._queries, self._runs
        return Spread(*(x.reshape(shape) for x in (mean, least, greatest, error, many)))

    def _start(self, pair: np.ndarray) -> PeelState:
        front = np.zeros(len(pair), np.int32)
        return PeelState(
            self._degrees[pair], self._alive[pair], front, self._last[pair]
        )

    def _by_drawn_orders(self, pairs: np.ndarray) -> np.ndarray:
        """Return the sums of some queries and runs by each drawn order."""
        n, seed = self._tensors.n, self._tensors.seed
        sums = np.zeros((len(pairs), n), np.int64)
        query = pairs // self._runs
        for here in (np.flatnonzero(query == i) for i in np.unique(query)):
            graph = self._graphs[query[here[0]]]
            order = np.tile(np.arange(self._size, dtype=np.int32), (n, 1))
            order[:, : len(graph)] = drawn(graph.query_id, len(graph), n, seed=seed)
            pair, order = np.repeat(pairs[here], n), np.tile(order, (len(here), 1))
            mode = np.full(len(pair), ORDERED, np.int32)
            stop = self._advance(pair, self._start(pair), mode, order)
            sums[here] = stop.gain.reshape(len(here), n)
        return sums

    def _advance(
        self,
        pair: np.ndarray,
        state: PeelState,
        mode: np.ndarray,
        order: np.ndarray | None = None,
    ) -> Stop:
        """Peel on, some hundred peels at a time."""
        if order is None:
            order = np.broadcast_to(
                np.arange(self._size, dtype=np.int32), (len(pair), self._size)
            )
        query = (pair // self._runs).astype(np.int32)
        of_peel = query, self._ranks[pair], order, mode, state
        rows, weights = self._on_device
        parts = []
        for first in range(0, max(1, len(pair)), _LANES):
            here = slice(first, first + _LANES)
            count = len(pair[here])
            part = jax.tree.map(partial(_padded, here=here, lanes=_LANES), of_peel)
            stop = jax.device_get(advance_program()(rows, *part, weights))
            parts.append(jax.tree.map(partial(_padded, here=slice(count)), stop))
        return jax.tree.map(lambda *x: np.concatenate(x), *parts)

    def _beyond(
        self, peels: Peels, stop: Stop, states: np.ndarray
    ) -> tuple[Peels, Links]:
        """List the peels that go on from where others stopped.

        A phase of sources ends in the same state whatever their order. So one peel goes
        on from its end, and others go through the phase, for only its documents.
        """
        width = stop.tied.sum(1)
        np.add.at(states, peels.pair, width)
        tied = (width > 0) & (states[peels.pair] <= STATES)
        phase = np.flatnonzero(tied & stop.sources & ~peels.within)
        mode = np.full(len(phase), CLOSE, np.int32)
        before = PeelState(*(x[phase] for x in stop.state))
        after = self._advance(peels.pair[phase], before, mode).state
        alive, within = stop.state.alive.copy(), peels.within.copy()
        alive[phase] &= ~after.alive
        within[phase] = True
        retrieved = self._ranks[peels.pair] < ABSENT
        parent, doc, chance, known = self._first(
            np.flatnonzero(tied & (alive & retrieved).any(1)), peels, alive, stop.tied
        )
        left, rows = alive[parent], self._rows[peels.pair[parent] // self._runs, doc]
        left[np.arange(len(doc)), doc] = False
        went = PeelState(
            stop.state.degrees[parent] - rows,
            left,
            stop.state.front[parent] + 1,
            stop.state.back[parent],
        )
        origin = np.concatenate([phase, parent])
        known = [peels.known[i] for i in phase] + known
        state = PeelState(*(np.concatenate(x) for x in zip(after, went, strict=True)))
        known = [still_known(*x) for x in zip(known, state.alive, strict=True)]
        peeled = Peels(
            peels.pair[origin], state, np.arange(len(origin)) >= len(phase), known
        )
        peeled.within[len(phase) :] = within[parent]
        chance = np.concatenate([np.zeros(len(phase)), chance])
        peeled, child = _merged(peeled)
        return peeled, Links(origin, child, chance)

    def _first(
        self, at: np.ndarray, peels: Peels, alive: np.ndarray, tied: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[Known]]:
        """List the documents that may be first: of which peel, how probably."""
        parents: list[int] = []
        docs: list[int] = []
        chances: list[float] = []
        then: list[Known] = []
        for parent in at.tolist():
            kinds = self._kinds[peels.pair[parent] // self._runs]
            known = still_known(peels.known[parent], alive[parent])
            several = np.flatnonzero(tied[parent]).tolist()
            for (doc, after), p in first_rung(known, several, kinds).items():
                parents.append(parent)
                docs.append(doc)
                chances.append(p)
                then.append(after)
        parent, doc = (np.array(x, np.int64) for x in (parents, docs))
        return parent, doc, np.array(chances), then


def _merged(peels: Peels) -> tuple[Peels, np.ndarray]:
    """Make peels of the same state one; and number, for each, the one that it is."""
    numbers: dict[tuple, int] = {}
    one = [
        numbers.setdefault((*key, bits.tobytes(), known), len(numbers))
        for *key, bits, known in zip(
            peels.pair.tolist(),
            peels.within.tolist(),
            peels.state.front.tolist(),
            np.packbits(peels.state.alive, axis=1),
            peels.known,
            strict=True,
        )
    ]
    of = np.array(one, np.int64)
    first = np.unique(of, return_index=True)[1]
    state = PeelState(*(x[first] for x in peels.state))
    known = [peels.known[i] for i in first]
    return Peels(peels.pair[first], state, peels.within[first], known), of


def _values(gains: list[np.ndarray], levels: list[Links]) -> list[np.ndarray]:
    """Follow links back: mean, least and greatest value of the first peels."""
    ways = (np.add, 0.0), (np.minimum, np.iinfo(np.int64).max), (np.maximum, -1)
    values = [np.zeros(0, np.asarray(start).dtype) for _, start in ways]
    for gain, (parent, child, chance) in zip(gains[::-1], levels[::-1], strict=True):
        tied = chance > 0
        for i, (way, start) in enumerate(ways):
            of_child, value = values[i][child], gain.astype(values[i].dtype)
            np.add.at(value, parent[~tied], of_child[~tied])
            of_child = of_child[tied] * (chance[tied] if way is np.add else 1)
            chosen = np.full_like(value, start)
            way.at(chosen, parent[tied], of_child)
            value[parent[tied]] += chosen[parent[tied]]
            values[i] = value
    return values


def _padded(x: np.ndarray, here: slice, lanes: int = 0) -> np.ndarray:
    """Take some peels, and add peels that have no documents left."""
    x = x[here]
    return np.pad(x, [(0, max(0, lanes - len(x))), *[(0, 0)] * (x.ndim - 1)])


@cache
def advance_program() -> Program:
    """Program of many peels, of several queries."""
    return Program(jax.vmap(peel_ties.advance, in_axes=(None, *[0] * 5, None)))
