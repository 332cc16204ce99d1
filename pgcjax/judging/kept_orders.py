"""Optimal orders on disk: another process finds those of the same judgments."""

import os
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path

import numpy as np
import scipy
from jaxtyping import Int64

from pgcjax.errors import DataError
from pgcjax.io.checkpoint import Checkpoint
from pgcjax.judging.optimal_orders import OptimalOrders, optimal_orders
from pgcjax.runtime.private_folder import private_folder

FOLDER = "PGCJAX_CACHE_DIR"
"""The variable that names the folder; nothing is kept without it, or if it is empty."""

_JOB = {"holds": "optimal orders", "format": 1}  # another search counts on


def kept_orders(
    counts: Int64[np.ndarray, "n n"], *, states: int, seconds: float
) -> OptimalOrders | None:
    """Find optimal orders as `optimal_orders` does, once for all processes.

    A damaged file is found by its checksum and made anew. Where nothing can be kept,
    the orders are searched for each time; so they are within a limit of seconds, for
    what is found then depends on the machine.
    """
    place = os.environ.get(FOLDER)
    # Only this user may write there: it decides what scores are.
    private = private_folder(os.path.join(place, "optimal-orders")) if place else None
    folder = _opened(private) if private and not seconds else None
    if folder is None:
        return optimal_orders(counts, states=states, seconds=seconds)
    # How far the limit goes depends on SciPy's solver of linear programmes.
    job = f"{scipy.__version__} {counts.shape} {counts.dtype} {states} "
    digest = sha256(job.encode() + counts.tobytes()).hexdigest()
    # Pieces of finished work are named by two numbers.
    name = f"{int(digest[:16], 16)}-{int(digest[16:32], 16)}"
    arrays = folder.load(name)
    if arrays is None:
        orders = optimal_orders(counts, states=states)
        with suppress(DataError, OSError):
            folder.save(name, **_arrays(orders))
        return orders
    if "minimum" not in arrays:
        return None
    n = len(counts)
    sets = np.unpackbits(arrays["sets"], axis=1, count=n).astype(bool)
    return OptimalOrders(int(arrays["minimum"]), sets, arrays["steps"], arrays["kinds"])


def _arrays(orders: OptimalOrders | None) -> dict[str, np.ndarray]:
    """Lay orders out; nothing where there are too many."""
    if orders is None:
        return {}
    return {
        "minimum": np.array(orders.minimum),
        "sets": np.packbits(orders.sets, axis=1),
        "steps": orders.steps,
        "kinds": orders.kinds,
    }


@cache
def _opened(folder: Path) -> Checkpoint | None:
    try:
        return Checkpoint(folder, _JOB)
    except (DataError, OSError):
        return None
