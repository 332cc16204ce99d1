"""Optimal orders × rankings → scores: the extreme overlap, over queries and runs."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float64

from pgcjax.engine import plan
from pgcjax.engine.batch import Batch, Member, Setting
from pgcjax.engine.cost import Group
from pgcjax.engine.peel_batches import PeelBatch, layout_sums
from pgcjax.engine.peel_tiles import Layout
from pgcjax.errors import Progress
from pgcjax.kernels import exact
from pgcjax.later import Array, jax
from pgcjax.reference.exact_pgc import exact_pgc_of
from pgcjax.reference.pgc import pgc_of
from pgcjax.runtime.devices import (
    default_backend,
    everywhere,
    local_device_count,
    place,
)
from pgcjax.runtime.loop import Call, results
from pgcjax.runtime.programs import Program
from pgcjax.tensors.lattices import (
    Lattice,
    batch_lattices,
    batch_ranks,
    by_kind,
    lay_out,
)

if TYPE_CHECKING:
    from pgcjax.measures.spec import Case
    from pgcjax.tensors.rankings import Rankings

_PLAIN = 12  # documents, of which the twin looks at all sets


class ExactBatch(Batch):
    """Exact PGC: by optimal orders or, of queries with too many, by the peel."""

    def __init__(self, member: Member, setting: Setting):
        """Remember the measure: orders are looked for when runs are there."""
        self.members, self._tensors = [member], member.tensors
        self.docs = self._tensors.docs
        self._setting = setting
        self._lattices: dict[str, Lattice] = {}
        self._peel: Layout | None = None

    def score(
        self, rankings: "Rankings", progress: Progress | None = None
    ) -> Float64[np.ndarray, "1 runs queries"]:
        """Add up RBO weights, and normalise the sums."""
        self._prepare(progress)
        assert self._peel is not None
        runs, columns = len(rankings.run_ids), {q: i for i, q in enumerate(self.docs)}
        weights = self._tensors.weights
        sums = np.zeros((runs, len(columns)), np.int64)
        peeled = [columns[query] for query in self._peel.graphs]
        sums[:, peeled] = layout_sums(self._peel, rankings, weights, progress)
        done, total = 0, runs * len(self._lattices)
        for (queries, of_runs), part in results(
            self._calls(rankings), progress=progress
        ):
            here = np.asarray(part)[: len(queries), : of_runs.stop - of_runs.start]
            sums[of_runs, [columns[query] for query in queries]] = here.T
            done += here.size
            if progress:
                progress("scoring", done, total)
        sizes = np.array([len(docs) for docs in self.docs.values()])
        return self._tensors.finish(sums, sizes)[None]

    def foresee(self, sample: "Rankings") -> list[Group]:
        """Group queries as if all were peeled, which takes about as long."""
        return PeelBatch(self.members[0], self._setting).foresee(sample)

    def recompute(self, place: int, case: "Case") -> float:
        """Score one run and query again: of many documents, along the optimal orders.

        Where there are too many sets of documents for plain Python to look at, those of
        the search are taken from it, and what they contradict is counted again.
        """
        orders = self._tensors.orders().get(case.query_id)
        docs = self.docs[case.query_id]
        if orders is None:
            return pgc_of(case) if len(docs) else 0.0
        if len(docs) <= _PLAIN:
            return exact_pgc_of(case)
        rank = {doc: i for i, doc in enumerate(case.run)}
        standing = np.array(
            [rank.get(doc, len(rank) + i) for i, doc in enumerate(docs)]
        )
        standing = -standing if self._tensors.farthest else standing
        own = np.empty(len(docs), object)  # of a kind, as they stand in the run
        own[np.argsort(orders.kinds, kind="stable")] = docs[
            np.lexsort((standing, orders.kinds))
        ]
        return exact_pgc_of(case, [own[chosen].tolist() for chosen in orders.sets])

    def _prepare(self, progress: Progress | None) -> None:
        """Lay out the optimal orders, and the graphs that are peeled instead."""
        if self._peel is not None:
            return
        graphs, orders = self._tensors.graphs, self._tensors.orders(progress)
        together = exact.FEW if default_backend() == "cpu" else exact.MANY
        for query, of_query in orders.items():
            if of_query is not None:
                steps = of_query.sets, of_query.steps
                self._lattices[query] = lay_out(*steps, together)
        rest = {query: graphs[query] for query in graphs if query not in self._lattices}
        keep, budget = self._setting.keep, self._setting.budget
        self._peel = Layout(rest, keep=keep, budget=budget)

    def _calls(self, rankings: "Rankings") -> Iterator[Call]:
        """Lay out tiles of lattices of one shape."""
        orders, farthest = self._tensors.orders(), self._tensors.farthest
        found = rankings.retrieved(
            {query: self.docs[query] for query in self._lattices}
        )
        retrieved = {
            query: by_kind(found[query], orders[query].kinds, farthest=farthest)
            for query in self._lattices
        }
        groups: dict[tuple[int, int, int], list[str]] = defaultdict(list)
        for query, lattice in self._lattices.items():
            groups[lattice.shape].append(query)
        runs, devices = len(rankings.run_ids), local_device_count()
        weights = everywhere(self._tensors.weights)
        for shape in sorted(groups, reverse=True):
            tile = self._tile(
                self._lattices[groups[shape][0]], len(groups[shape]), runs
            )
            for i in range(0, len(groups[shape]), tile[0]):
                queries = groups[shape][i : i + tile[0]]
                lattices = [self._lattices[query] for query in queries]
                ready = place(batch_lattices(lattices, tile[0]))
                for low in range(0, runs, tile[1]):
                    of_runs = slice(low, min(low + tile[1], runs))
                    own = [retrieved[query] for query in queries]
                    near = batch_ranks(own, of_runs, tile, shape[0])
                    yield Call(
                        (queries, of_runs),
                        partial(_sums, (ready, place(near)), weights, farthest),
                        ("exact", farthest, shape, tile, len(weights), devices),
                    )

    def _tile(self, lattice: Lattice, queries: int, runs: int) -> tuple[int, int]:
        words, sets, _ = lattice.shape
        return plan.tile(
            queries,
            runs,
            per_query=lattice.nbytes,
            per_pair=24 * sets + 8 * (32 * words + 1) * (words + 1),
            devices=local_device_count(),
            budget=self._setting.budget,
        )


def batches(members: Sequence[Member], setting: Setting) -> list[Batch]:
    """Make a batch of each measure of optimal orders."""
    keep = setting.keep // max(1, len(members))
    return [ExactBatch(member, setting._replace(keep=keep)) for member in members]


def _sums(cut: tuple, weights: np.ndarray, farthest: bool) -> Array:
    on_cpu = default_backend() == "cpu"
    return exact_program(local_device_count(), on_cpu, farthest)(cut, weights)


@cache
def exact_program(devices: int, on_cpu: bool, farthest: bool) -> Callable:
    """Map the kernel over queries: one after another on CPU, elsewhere at once."""

    def program(cut, weights):
        def of_query(query: Any) -> Array:
            lattice, near = query
            how = {"weights": weights, "farthest": farthest}
            return exact.extreme_overlap(*lattice, *near, **how)

        return jax.lax.map(of_query, cut) if on_cpu else jax.vmap(of_query)(cut)

    return Program(program, devices)
