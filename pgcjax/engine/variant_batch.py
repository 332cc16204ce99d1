"""Variants of the judgments × rankings → scores, and means over queries.

A variant of the judgments has the same votes with other counts: the device makes a
graph from the counts of votes, and peels it. Runs are laid out once. Votes with equal
counts in all variants of a block are laid out with the grades.
"""

import math
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace
from functools import cache, partial
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float64, Int, Int32, Int64

from pgcjax.engine import plan, tiles
from pgcjax.engine.batch import Batch, Member
from pgcjax.engine.score_parts import of_queries
from pgcjax.engine.tiles import Pace, PackedQueries, QueryProgram, TileBatch
from pgcjax.errors import DataError, Progress, UsageError
from pgcjax.io.weights import UNIT, by_sides, in_parts
from pgcjax.judging.variants import BLOCK, Counts, QueryVotes, Variants, drawn_queries
from pgcjax.kernels import peel, peel_packed
from pgcjax.later import Array, jax, jnp
from pgcjax.runtime.devices import default_backend, everywhere, is_host
from pgcjax.stats.score_intervals import Percentiles
from pgcjax.stats.uncertainty import weighted_means
from pgcjax.tensors.flat_runs import FlatRuns, by_place, by_vertex
from pgcjax.tensors.graphs import MOST_DEGREE, Graph
from pgcjax.tensors.measure_tensors import PeelTensors
from pgcjax.tensors.padding import list_width, padded_size, stack

if TYPE_CHECKING:
    from pgcjax.tensors.rankings import Rankings

Amounts = Int64[np.ndarray, "variants edges"]


class VoteEdges(NamedTuple):
    """Edges of a query's graph that its votes make, and those that need no vote.

    Attributes:
        vote: Number of the vote that makes each edge.
        pairs: Better and worse vertex of each edge.
        likely: Number of leading edges that prefer the likelier document of their vote;
            the edges after them prefer the other one, if a vote counts for both.
        fixed: Edges of grades.
        graded: Vertices that exist without a vote.
    """

    vote: Int[np.ndarray, " edges"]
    pairs: Int[np.ndarray, "edges 2"]
    likely: int
    fixed: Int32[np.ndarray, "n n"]
    graded: Bool[np.ndarray, " n"]

    def most_degree(self, amounts: Amounts) -> int:
        """Largest degree of any vertex in any variant, or a bound of a small one."""
        fixed = [self.fixed.sum(1 - axis, dtype=np.int64) for axis in (0, 1)]
        bound = int(np.max(fixed) + amounts.sum(1).max(initial=0))
        if bound < peel_packed.MOST_DEGREE or not len(self.pairs):
            return bound
        most = int(np.max(fixed))
        for axis, degrees in enumerate(fixed):
            order = np.argsort(self.pairs[:, axis])
            vertex, start = np.unique(self.pairs[order, axis], return_index=True)
            summed = np.add.reduceat(amounts[:, order], start, axis=1)
            most = max(most, int((summed + degrees[vertex]).max(initial=0)))
        return most


class VariantGraphs:
    """Graphs of a measure whose votes may count differently.

    Attributes:
        member: PGC of preferences; see `check_variants`.
        votes: Votes from which its graphs were made.
        edges: Edges of each query; None for queries without vertices.
    """

    def __init__(self, member: Member, votes: QueryVotes):
        """Find the vertices of each vote."""
        self.member, self.votes = member, votes
        table, soft = votes.table, str(member.measure.parameters.get("soft", "sign"))
        sign = np.sign(table["preference"].to_numpy(np.float64))
        p = np.full(len(table), np.nan)
        if "probability" in table:
            p = table["probability"].to_numpy(np.float64)
        self._in_parts = by_sides(sign, votes.weight, p, soft).unit != 1
        p = np.where(np.isnan(p) | (soft == "sign"), 0.5 + sign / 2, p)
        self._soft = "both" if soft == "both" else "margin"
        self._most = np.maximum(p, 1 - p)  # of the likelier document
        docs = np.array([table["doc_id"], table["other_doc_id"]], object)
        better = np.where(p > 0.5, docs, docs[::-1])
        prefers = table["other_doc_id"].notna().to_numpy() & (p != 0.5)
        self.edges = [
            self._edges(query, graph, better, prefers) if len(graph) else None
            for query, graph in member.tensors.graphs.items()
        ]

    def _edges(
        self,
        query: str,
        graph: Graph,
        better: np.ndarray,
        prefers: Bool[np.ndarray, " rows"],
    ) -> VoteEdges:
        """Find the vertices of the votes of a query.

        Args:
            query: Name of the query.
            graph: Graph of all votes of the query.
            better: Better and worse document of each row of the table.
            prefers: Whether each row prefers a document.
        """
        rows = self.votes.rows.get(query, np.zeros(0, np.int64))
        vote = np.flatnonzero(prefers[rows])
        if self._in_parts:  # what rounds to nothing has no vertex
            vote = vote[np.isin(better[:, rows[vote]], graph.doc_ids).all(0)]
        pairs = np.searchsorted(graph.doc_ids, better[:, rows[vote]]).T
        likely = len(vote)
        if self._soft == "both":
            other = self._most[rows[vote]] < 1
            pairs = np.concatenate([pairs, pairs[other][:, ::-1]])
            vote = np.concatenate([vote, vote[other]])
        unit = UNIT if self._in_parts else 1
        alone = replace(graph, wins=np.zeros((0, 3), np.int64), unit=unit)
        none = np.zeros(len(graph), bool)
        graded = none if graph.levels is None else graph.levels >= 0
        return VoteEdges(vote, pairs, likely, alone.edges(), graded)

    def of_query(self, query: str) -> "VariantGraphs":
        """Keep the graph of one query."""
        one, docs = copy(self), self.member.tensors.docs
        one.member = of_queries(self.member, [query])
        one.edges = [self.edges[[*docs].index(query)]]
        return one

    def amounts(self, query: str, edges: VoteEdges, counts: Counts) -> Amounts:
        """Compute the count of each edge in some variants.

        Args:
            query: Name of the query.
            edges: Edges of the query.
            counts: Count of each vote of the query.
        """
        if not self._in_parts:
            return counts[:, edges.vote]
        most = self._most[self.votes.rows[query]]
        weights = self.votes.weights(query, counts)
        won, lost = in_parts(weights, most, self._soft)
        parts = won[:, edges.vote[: edges.likely]], lost[:, edges.vote[edges.likely :]]
        amounts = np.concatenate(parts, axis=1)
        if not edges.fixed.any():  # smaller counts: faster, with equal results
            amounts //= max(1, int(np.gcd.reduce(amounts, axis=None)))
        return amounts

    def check(self, query: str, degree: int) -> None:
        """Refuse degrees that int32 does not hold, by a DataError."""
        if degree < MOST_DEGREE:
            return
        reason = f"query {query!r} may have a replicate with 2^30 judgments or more"
        if self._in_parts:
            reason = (
                f"query {query!r} has a replicate with a document in "
                f"{MOST_DEGREE // UNIT} judgments or more, and some count in part"
            )
        raise DataError(reason, mend="Lower the weights.")


class Block(NamedTuple):
    """Scores of several variants and runs.

    Attributes:
        first: Number of the first variant.
        runs: Runs that are scored.
        scores: Scores of every query.
        present: Whether a vote or grade of a query counts: else it is unjudged.
    """

    first: int
    runs: slice
    scores: Float64[np.ndarray, "variants runs queries"]
    present: Bool[np.ndarray, "variants queries"]


class VariantBatch(Batch):
    """The scores of a measure by each variant of the judgments."""

    def __init__(
        self, graphs: VariantGraphs, variants: Variants, stage: str = "resampling"
    ):
        """Take graphs, variants of their votes, and the stage for progress."""
        self.graphs, self.variants, self._stage = graphs, variants, stage
        self.members, self.docs = [graphs.member], graphs.member.tensors.docs
        self._room = 0
        words = [padded_size(len(docs)) ** 2 for docs in self.docs.values()]
        seconds = plan.PER_WORD * sum(words) * len(variants.names)  # of a run
        self.most_runs = max(16, int(plan.settings.seconds / max(seconds, 1e-9)))

    def blocks(
        self, rankings: "Rankings", progress: Progress | None = None
    ) -> Iterator[Block]:
        """Score blocks of variants, for a part of the runs after the other."""
        runs = rankings.flat(self.docs, room=self._room, narrow=not is_host())
        self._room = runs.room
        shared = everywhere((runs.documents, self.graphs.member.tensors.weights))
        columns, number = len(rankings.run_ids), len(self.variants.names)
        most = plan.runs_at_once(columns)
        scores = 3 * 8 * BLOCK * max(1, len(self.docs))  # and their copies
        most = max(4, min(most, plan.BUDGET // 2 // scores // 4 * 4))
        work = [*product(_parts(columns, most), _parts(number, BLOCK))]
        for done, (part, weights) in enumerate(work):
            batch = VariantTiles(
                self.graphs, self.variants, weights, runs, part, shared
            )
            batch.most_columns = most

            def update(stage: str, here: int, total: int, before: int = done) -> None:
                if progress and stage == "scoring":
                    progress(self._stage, before * total + here, len(work) * total)
                elif progress:
                    progress(stage, here, total)

            made = tiles.score(batch, update).transpose(2, 1, 0)
            size = weights.stop - weights.start
            made = np.ascontiguousarray(made[:size])
            yield Block(weights.start, part, made, batch.present[:size])


class Size(NamedTuple):
    """Form of graphs, padded numbers of vertices and of edges whose amounts vary."""

    form: str
    vertices: int
    width: int


class VariantTiles(TileBatch):
    """A block of variants × some runs: scores `[queries, runs, variants]`.

    Attributes:
        present: `[variants, queries]`; see `Block`.
    """

    def __init__(
        self,
        graphs: VariantGraphs,
        variants: Variants,
        part: slice,
        runs: FlatRuns,
        columns: slice,
        shared: Any,
    ):
        """Take a block.

        Args:
            graphs: Graphs of all queries.
            variants: Variants of their votes.
            part: Variants of the block.
            runs: All runs.
            columns: Runs that are scored.
            shared: Documents of the runs and weights of ranks, on the devices.
        """
        self._graphs, self._variants, self._part = graphs, variants, part
        self._runs, self._first, self.shared = runs, columns.start, shared
        self._names = list(graphs.member.tensors.docs)
        self.rows, self.columns = len(self._names), columns.stop - columns.start
        self.most_columns, number = self.columns, len(variants.names)
        # One padded number for all blocks, so that the last one has the same programs.
        self._padded = min(BLOCK, max(8, 1 << (number - 1).bit_length()))
        self.shape, self.rounds = (self._padded,), self._padded
        self.present = np.ones((self._padded, self.rows), bool)
        for query, name in enumerate(self._names):
            if graphs.edges[query] is None and name in graphs.votes.rows:  # ties alone
                self._judged(query, variants.counts(name, part))

    def _judged(self, query: int, counts: Counts) -> None:
        self.present[: len(counts), query] = counts.any(1)

    def size(self, query: int) -> Size | None:
        """Padded numbers of vertices and edges, before degrees are known."""
        if (edges := self._graphs.edges[query]) is None:
            return None
        return Size("", padded_size(len(edges.graded)), list_width(len(edges.vote)))

    def nbytes(self, size: Size) -> tuple[int, int]:
        """Bytes of a matrix and of amounts, and of the sums of all variants."""
        per_pair = 24 * self._padded + 48 * size.vertices
        return 4 * (size.vertices**2 + self._padded * size.width), per_pair

    def pace(self, size: Size) -> Pace:
        """One query after another: each is work enough for a device."""
        del size
        return Pace(in_turn=True)

    def pack_queries(self, queries: Sequence[int], size: Size) -> list[PackedQueries]:
        """Draw the votes of queries, and lay out their counts."""
        groups: dict[Size, list[tuple]] = {}
        for query in queries:
            if (drawn := self._drawn(query, size)) is not None:
                actual, *arrays = drawn
                groups.setdefault(actual, []).append((query, *arrays))
        return [
            PackedQueries(size, queries, self._stacked(size, arrays))
            for size, (queries, *arrays) in (
                (size, zip(*rows, strict=True)) for size, rows in groups.items()
            )
        ]

    def _drawn(self, query: int, size: Size) -> tuple | None:
        """Size, fixed edges, graded vertices, and pairs and amounts of those that vary.

        It is None for a query without variants in this block.
        """
        name, edges = self._names[query], self._graphs.edges[query]
        assert edges is not None
        amounts = np.zeros((1, 0), np.int64)  # of a query that has grades alone
        if name in self._graphs.votes.rows:
            counts = self._variants.counts(name, self._part)
            if not len(counts):
                return None
            if not edges.graded.any():
                self._judged(query, counts)
            amounts = self._graphs.amounts(name, edges, counts)
        degree = edges.most_degree(amounts)
        self._graphs.check(name, degree)
        fixed, pairs, vary = edges.fixed, edges.pairs, (amounts != amounts[0]).any(0)
        width = list_width(max(int(vary.sum()), BLOCK))  # of one vote more in each
        if width < size.width:
            fixed = fixed.copy()
            np.add.at(fixed, tuple(pairs[~vary].T), amounts[0, ~vary].astype(np.int32))
            pairs, amounts = pairs[vary], amounts[:, vary]
        n, most = len(fixed), peel_packed.MOST_DEGREE
        form = "packed" if n <= peel_packed.MOST_VERTICES and degree < most else "wide"
        actual = Size(form, size.vertices, min(width, size.width))
        return actual, fixed, edges.graded, pairs, amounts

    def _stacked(self, size: Size, arrays: Sequence[Any]) -> Any:
        fixed, graded, pairs, amounts = arrays
        q, n = len(fixed), size.vertices
        cells = [(x[:, 0] * n + x[:, 1]).astype(np.int32) for x in pairs]
        amounts = [x.astype(np.int32) for x in amounts]
        return (
            stack(fixed, (q, n, n), 0),
            stack(graded, (q, n), False),
            stack(cells, (q, size.width), n * n),
            stack(amounts, (q, self._padded, size.width), 0),
        )

    def pack_runs(self, queries: Sequence[int], runs: slice, size: Size) -> Any:
        """Places of lists."""
        del size
        where = slice(self._first + runs.start, self._first + runs.stop)
        return self._runs.where(queries, where)

    def program(self, size: Size) -> QueryProgram:
        """Make graphs, and peel them."""
        together, at_once = self._padded, plan.runs_at_once(self.most_columns)
        if cpu := default_backend() == "cpu":
            together, at_once = plan.side_by_side(together, at_once, size.vertices)
        return variant_program(size.form, size.vertices, together, at_once, cpu)

    def finish(self, queries: Sequence[int], runs: slice, result: Any) -> np.ndarray:
        """Normalise sums of weights, by the documents of each variant."""
        del queries, runs
        sums, sizes = (x.transpose(2, 1, 0) for x in result)
        tensors: PeelTensors = self._graphs.member.tensors
        return tensors.finish(sums, sizes).transpose(2, 1, 0)


@cache
def variant_program(
    form: str, n: int, together: int, at_once: int, cpu: bool
) -> QueryProgram:
    """Program that makes graphs from counts of votes, and adds up weights of ranks.

    Args:
        form: `packed` or `wide`; see `peel_batch`.
        n: padded number of vertices.
        together: Number of variants in a step; a divisor of their number.
        at_once: Number of runs in a step; if fewer than all, a step has one variant.
        cpu: whether the number of steps may depend on the data: the largest number of
            vertices, for which a GPU would have to wait at each step.
    """

    def packed(graph: Any, run: Any, steps: Any, weights: Any) -> Array:
        edges, out, into, where = graph
        words = (out << peel_packed.OUT) + (into << peel_packed.IN)
        rows = (edges.T << peel_packed.OUT) + (edges << peel_packed.IN)
        arrays = rows, words, run.order, run.inverse, run.ranks, steps, weights
        return peel_packed.peeled_overlap(*arrays, where=where)

    def wide(graph: Any, ranks: Any, steps: Any, weights: Any) -> Array:
        del steps
        return peel.peeled_overlap(graph[0], ranks, weights, where=graph[-1])

    kernel, placed = (packed, by_place) if form == "packed" else (wide, by_vertex)
    over_runs = jax.vmap(kernel, in_axes=(None, 0, None, None))
    over_variants = jax.vmap(over_runs, in_axes=(0, None, None, None))

    def program(query: Any, where: Any, shared: Any) -> tuple[Array, Array]:
        (fixed, graded, cells, amounts), (documents, weights) = query, shared
        runs, number = placed(documents, where, n), len(where.first)

        def few(amounts: Any) -> tuple[Array, Array]:
            start = jnp.broadcast_to(fixed.reshape(-1), (together, n * n))
            edges = start.at[:, cells].add(amounts, mode="drop").reshape(-1, n, n)
            out, into = edges.sum(2, dtype=jnp.int32), edges.sum(1, dtype=jnp.int32)
            there = (out + into > 0) | graded[None, :]
            sizes = there.sum(-1, dtype=jnp.int32)
            steps = sizes.max() if cpu else n
            graphs = edges, out, into, there
            if at_once >= number:
                return over_variants(graphs, runs, steps, weights), sizes
            graph = jax.tree.map(lambda x: x[0], graphs)
            one = partial(kernel, graph, steps=steps, weights=weights)
            return jax.lax.map(one, runs, batch_size=at_once)[None], sizes

        parts = amounts.reshape(-1, together, amounts.shape[-1])
        made = jax.lax.map(few, parts)
        sums, sizes = (x.reshape(len(amounts), -1).T for x in made)
        return sums, jnp.broadcast_to(sizes, sums.shape)

    return program


class VariantMeans(VariantBatch):
    """The means of a measure over queries, by each variant."""

    def __init__(
        self,
        graphs: VariantGraphs,
        variants: Variants,
        missing: str,
        queries_by: int | None = None,
    ):
        """Take the graphs and variants whose scores are averaged.

        Args:
            graphs: Graphs of a measure.
            variants: Variants of their votes.
            missing: see `evaluate`.
            queries_by: Seed for resampling the queries, too.
        """
        super().__init__(graphs, variants)
        self._missing, self._queries_by = missing, queries_by

    def score(
        self, rankings: "Rankings", progress: Progress | None = None
    ) -> Float64[np.ndarray, "variants 1 runs 1"]:
        """Average the scores of each variant and run; see `weighted_means`."""
        count, answered = len(self.variants.names), rankings.answered(list(self.docs))
        means = np.zeros((count, len(rankings.run_ids)))
        often = np.ones((count, 1), np.int64)
        if self._queries_by is not None:
            often = drawn_queries(self._queries_by, count, len(self.docs))
        for block in self.blocks(rankings, progress):
            rows = slice(block.first, block.first + len(block.scores))
            weight = block.present * often[rows]
            means[rows, block.runs] = weighted_means(
                block.scores, answered[block.runs], weight, self._missing
            )
        return means[:, None, :, None]


class VariantScores(VariantBatch):
    """All scores of a measure by each variant."""

    def __init__(
        self,
        graphs: VariantGraphs,
        variants: Variants,
        stage: str = "resampling",
        memory: float = math.inf,
    ):
        """Take the bytes that scores may take, and the arguments of `VariantBatch`."""
        super().__init__(graphs, variants, stage)
        self._memory, self._runs = memory, 0

    def score(
        self, rankings: "Rankings", progress: Progress | None = None
    ) -> Float64[np.ndarray, "variants 1 runs queries"]:
        """Score each run and query; NaN where no judgment of a query is left.

        Raises:
            DataError: the scores of all runs so far take more memory than they may.
        """
        shape = len(self.variants.names), len(rankings.run_ids), len(self.docs)
        self._runs += shape[1]
        taken = 8 * shape[0] * self._runs * shape[2]
        if taken > self._memory:
            raise DataError(
                f"scores of {self._runs} runs without each of {shape[0]} judges or "
                f"runs take {taken} bytes, of {self._memory}",
                mend="Give more memory, or fewer runs.",
            )
        scores = np.empty(shape)
        for block in self.blocks(rankings, progress):
            rows = slice(block.first, block.first + len(block.scores))
            here = np.where(block.present[:, None], block.scores, np.nan)
            scores[rows, block.runs] = here
        return scores[:, None]


class VariantPercentiles(VariantBatch):
    """Percentiles and means of single scores over variants."""

    def score(
        self, rankings: "Rankings", progress: Progress | None = None
    ) -> Float64[np.ndarray, "3 1 runs queries"]:
        """Compute `Percentiles.percentiles_and_mean` for each run and query."""
        count, queries = len(self.variants.names), len(self.docs)
        made = np.zeros((3, len(rankings.run_ids), queries))
        spread = Percentiles(count, 0, queries)
        for block in self.blocks(rankings, progress):
            if not block.first:  # other runs
                spread = Percentiles(count, block.scores.shape[1], queries)
            spread.add(block.scores, block.present)
            if block.first + len(block.scores) == count:
                made[:, block.runs] = spread.percentiles_and_mean
        return made[:, None]


def _parts(count: int, step: int) -> list[slice]:
    return [slice(low, min(low + step, count)) for low in range(0, count, step)]


def is_of_votes(member: Member) -> bool:
    """Whether a measure peels graphs of preferences, whose votes can vary."""
    needs = member.measure.needs
    graphs = type(member.tensors) is PeelTensors and "preferences" in needs
    return graphs and not _has_other_ideal(member)


def _has_other_ideal(member: Member) -> bool:
    measure = member.measure
    return measure.name == "PGC" and measure.parameters["ideal"] != "greedy"


def check_variants(member: Member, purpose: str, instead: str = "") -> None:
    """Refuse a measure that has no votes to draw, or to leave out.

    Args:
        member: Measure.
        purpose: Argument that needs votes, such as `resample='judges'`.
        instead: Argument that the measure supports.

    Raises:
        UsageError: the measure has no votes.
    """
    if not is_of_votes(member):
        of = "PGC of preferences alone"
        if _has_other_ideal(member):
            of = "ideal=greedy: the remaining judgments are peeled"
        raise UsageError(f"{member.measure}: {purpose} works with {of}{instead}")
