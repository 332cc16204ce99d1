"""Pytrees: `jax.tree`, in a process that has not imported JAX too."""

import os
from collections.abc import Callable
from functools import cache
from typing import Any

from pgcjax.later import jax
from pgcjax.runtime.surroundings import without_jax


def flatten(tree: Any) -> tuple[list[Any], Any]:
    """Take a pytree apart: its leaves, and its structure."""
    return _registry().flatten(tree) if without_jax() else jax.tree.flatten(tree)


def tree_map(function: Callable[..., Any], *trees: Any) -> Any:
    """Make a pytree of what a function gives of the leaves of pytrees like it."""
    (leaves, *others), (structure, *same) = zip(*map(flatten, trees), strict=True)
    if any(each != structure for each in same):
        raise ValueError(f"expected pytrees of one structure, found {same}")
    return structure.unflatten(map(function, leaves, *others))


@cache
def _registry() -> Any:
    """Give the kinds of containers that JAX takes apart, as jaxlib knows them."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")  # as JAX does, before jaxlib
    from jaxlib._jax import pytree

    return pytree.default_registry()
