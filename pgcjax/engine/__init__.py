"""Measures × tables → scores: the only place with jit, vmap and shardings.

`evaluate` reads a request, `job` cuts runs into chunks, and batches score each chunk.
`tiles` is the one pipeline; `peel_batch`, `list_batch` and others say what it computes.
"""
