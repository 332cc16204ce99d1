"""Measures × tables → scores: the only place with jit, vmap and shardings.

`evaluate` reads a request, `job` cuts runs into chunks, and batches (`peel_batches`,
`list_batch`, `grid_batches`) score each chunk.
"""
