"""Pure functions on padded arrays: one query, one run; no batch axis, no jit.

Throughout, the last axis is the documents of a query (the vertices of its graph) in
ascending document id. `where` is True for valid documents; padding follows them. Ranks
are 0-based; a document that a run did not retrieve has rank `ABSENT`.
"""

ABSENT = 2**30
"""Rank of a document that was not retrieved: above every rank, with room above it."""
