"""Pure functions on padded arrays: one query, one run; no batch axis, no jit.

Throughout, the last axis is the documents of a query (the vertices of its graph) in
ascending document id. `where` is True for valid documents; padding follows them.

Ranks of vertices (`peel`, `rbo`, `image`) are 0-based, and a document that a run did
not retrieve has rank `ABSENT`. Ranks in a `ranked_list.RankedList` are 1-based, as in
the formulas of measures; there 0 is padding, and weighs nothing.

What a kernel needs of a query comes as a NamedTuple, of numpy's arrays where it is laid
out and of JAX's inside a program: hence `Any` of a shape.
"""

ABSENT = 2**30
"""Rank of a document that was not retrieved: above every rank, with room above it."""
