"""The edges of graphs of several sizes, end to end: one set of arrays for all."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int32, Int64

from pgcjax.kernels import peel_packed
from pgcjax.tensors.graphs import Graph
from pgcjax.tensors.padding import blank


class PaddedGroup(NamedTuple):
    """Graphs of one padded size, which follow each other, and so do their places.

    Attributes:
        size: padded number of vertices.
        graphs: which graphs.
        places: which places; behind those of graphs may be more.
    """

    size: int
    graphs: slice
    places: slice


class EdgePlaces(NamedTuple):
    """Where the vertices and the matrices of graphs are: one graph after another.

    Attributes:
        groups: of each size.
        which: place of each graph.
        sizes: padded number of vertices of each place, ...
        vertices: ... number of vertices, 0 where there is no graph, ...
        first: ... and the first vertex.
        row: of each vertex, the cell where its row begins, less `first`.
    """

    groups: list[PaddedGroup]
    which: Int64[np.ndarray, " graphs"]
    sizes: Int64[np.ndarray, " places"]
    vertices: Int32[np.ndarray, " places"]
    first: Int64[np.ndarray, " places"]
    row: Int64[np.ndarray, " vertices"]

    @classmethod
    def of(
        cls,
        graphs: Sequence[Graph],
        sizes: Sequence[int],
    ) -> "EdgePlaces":
        """Return each graph a place.

        Args:
            graphs: of all sizes.
            sizes: padded number of vertices of each, equal ones together.
        """
        groups, which, low, end = [], np.arange(len(graphs)), 0, 0
        for size, number in Counter(sizes).items():
            rows, places = slice(low, low + number), end + number
            which[rows] += end - low
            groups.append(PaddedGroup(size, rows, slice(end, places)))
            low, end = rows.stop, places
        counts = [g.places.stop - g.places.start for g in groups]
        every = np.repeat([g.size for g in groups], counts)
        vertices = blank((end,))
        vertices[which] = [len(graph.doc_ids) for graph in graphs]
        first = np.cumsum(every) - every
        width = np.repeat(every, every)
        row = np.cumsum(width) - width - np.repeat(first, every)
        return cls(groups, which, every, vertices, first, row)

    @property
    def cells(self) -> int:
        """Number of cells of all matrices."""
        return int((self.sizes**2).sum())

    def where(self) -> Bool[np.ndarray, " vertices"]:
        """Tell vertices, True, from padding."""
        first, vertices = (
            np.repeat(x, self.sizes) for x in (self.first, self.vertices)
        )
        where = blank(first.shape, None, bool)
        return np.less(np.arange(len(first)) - first, vertices, out=where)

    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the vertices that each cell of the matrices is about."""
        width = np.repeat(self.sizes, self.sizes)
        better = np.repeat(np.arange(len(width)), width)
        return better, np.arange(len(better)) - self.row[better]

    def vertices_of(self, place: int) -> slice:
        """Find which vertices are those of the graph at a place."""
        first = int(self.first[place])
        return slice(first, first + int(self.vertices[place]))

    def matrix(self, cells: np.ndarray, place: int) -> np.ndarray:
        """Return the cells of the matrix of the graph at a place."""
        first, size, n = (
            int(x[place]) for x in (self.first, self.sizes, self.vertices)
        )
        begin = int(self.row[first]) + first
        return cells[begin : begin + size * size].reshape(size, size)[:n, :n]


class Edges(NamedTuple):
    """The edges of graphs.

    Attributes:
        places: of the graphs.
        better: the vertex that is preferred, among those of all graphs, ...
        worse: ... the other one, ...
        judgments: ... and how many judgments say so.
        graded: the graphs that have grades, which add edges, by place.
    """

    places: EdgePlaces
    better: Int64[np.ndarray, " edges"]
    worse: Int64[np.ndarray, " edges"]
    judgments: Int64[np.ndarray, " edges"]
    graded: dict[int, Graph]

    @classmethod
    def of(cls, graphs: Sequence[Graph], places: EdgePlaces) -> "Edges":
        """Lay the edges of graphs out."""
        wins = [graph.wins for graph in graphs]
        better, worse, judgments = np.ascontiguousarray(np.concatenate(wins).T)
        start = np.repeat(places.first[places.which], [*map(len, wins)])
        better += start
        worse += start
        pairs = zip(places.which.tolist(), graphs, strict=True)
        graded = {place: graph for place, graph in pairs if graph.levels is not None}
        return cls(places, better, worse, judgments, graded)

    def degrees(
        self,
    ) -> tuple[Int64[np.ndarray, " vertices"], Int64[np.ndarray, " vertices"]]:
        """Count the judgments that prefer each vertex, and those against it."""
        cells, judgments = len(self.places.row), self.judgments.astype(np.float64)
        out, into = (
            np.bincount(vertex, judgments, cells).astype(np.int64)
            for vertex in (self.better, self.worse)
        )
        for place, graph in self.graded.items():
            below, above = graph.graded_degrees()
            here = self.places.vertices_of(place)
            out[here] += below
            into[here] += above
        return out, into

    def rows(self) -> Int32[np.ndarray, " cells"]:
        """Describe what removing each vertex takes from every other word."""
        rows = blank((self.places.cells,))
        judgments = self.judgments.astype(np.int32)
        # A vertex takes from those that are preferred to it, and from the others.
        for vertex, other, bits in (
            (self.worse, self.better, peel_packed.OUT),
            (self.better, self.worse, peel_packed.IN),
        ):
            cell = self.places.row[vertex]
            cell += other
            np.add.at(rows, cell, judgments << bits)
        for place, graph in self.graded.items():
            if graph.unit < peel_packed.MOST_DEGREE:  # else it has another form
                part, above = self.places.matrix(rows, place), graph.above()
                part += above.T * np.int32(graph.unit << peel_packed.OUT)
                part += above * np.int32(graph.unit << peel_packed.IN)
        return rows

    def beats(self) -> Bool[np.ndarray, " cells"]:
        """Find which others any judgment prefers each vertex to."""
        beats = np.zeros(self.places.cells, bool)
        beats[self.places.row[self.better] + self.worse] = True
        for place, graph in self.graded.items():
            matrix = self.places.matrix(beats, place)
            matrix |= graph.above()
        return beats
