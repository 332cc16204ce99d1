"""Pure functions on padded arrays: one query, one run; no batch axis, no jit.

The last axis is the documents of a query (the vertices of its graph) in ascending
document id. `where` is True for valid documents; padding follows them.

Ranks of vertices (`peel`, `rbo`, `image`) are 0-based, and a document that a run did
not retrieve has rank `ABSENT`. Ranks in a `ranked_list.RankedList` are 1-based, as in
the formulas of measures; there 0 is padding, which has no weight.

Kernels take the data of a query as a NamedTuple. It has numpy arrays when it is packed
and JAX arrays inside a program; so its fields are annotated as `Any` with a shape.
"""

ABSENT = 2**30
"""Rank of a document that was not retrieved: above every rank, with room above it."""
