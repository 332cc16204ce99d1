"""Which peel a GPU runs: XLA's, or one launch by Pallas, whichever proved faster."""

import os
import time
from collections.abc import Callable, Hashable
from typing import Any

from pgcjax.errors import UsageError
from pgcjax.later import jax

VARIABLE, CHOICES = "PGCJAX_PEEL", ("auto", "xla", "pallas")
_FORMS = {"xla": "packed", "pallas": "pallas"}
_proved: dict[Hashable, str] = {}


def choose(shape: Hashable, run: Callable[[str], Any]) -> str:
    """Choose the form in which packed graphs are peeled: `packed` or `pallas`.

    Both give the same bits. On NVIDIA GPUs that Triton compiles for, each is timed on
    the first tile of a shape, and the faster one is taken from then on. PGCJAX_PEEL =
    xla or pallas decides instead; elsewhere there is nothing to choose.

    Args:
        shape: of the tile.
        run: starts to compute it in a form.

    Raises:
        UsageError: PGCJAX_PEEL is none of the choices, or asks for pallas where it
            cannot be.
    """
    wanted = os.environ.get(VARIABLE, "auto")
    if wanted not in CHOICES:
        raise UsageError(f"{VARIABLE}={wanted}: expected one of {', '.join(CHOICES)}")
    if wanted == "pallas" and not can_launch():
        raise UsageError(
            f"{VARIABLE}=pallas needs an NVIDIA GPU of compute capability 8.0 or more"
        )
    if wanted != "auto":
        return _FORMS[wanted]
    if not can_launch():
        return "packed"
    if shape not in _proved:
        _proved[shape] = min(_FORMS.values(), key=lambda form: _seconds(run, form))
    return _proved[shape]


def can_launch() -> bool:
    """Return whether all local devices are GPUs that Triton compiles for."""
    devices = jax.local_devices()
    return all(
        device.platform in ("gpu", "cuda")
        and "cuda" in str(device.client.platform_version).lower()
        and float(getattr(device, "compute_capability", 0)) >= 8.0
        for device in devices
    )


def _seconds(run: Callable[[str], Any], form: str) -> float:
    """Time a form, once it is compiled; one that fails takes for ever."""
    try:
        jax.block_until_ready(run(form))
        start = time.perf_counter()
        jax.block_until_ready(run(form))
        return time.perf_counter() - start
    except Exception:  # whatever a compiler or driver says: the other form is there
        if form == "packed":
            raise
        return float("inf")
