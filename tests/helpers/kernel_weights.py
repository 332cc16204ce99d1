"""Weights that tell two ideal rankings apart."""

import numpy as np


def telling_weights(seed: int, depth: int = 40) -> np.ndarray:
    """Random int64 weights: sums over different ideal rankings hardly ever agree."""
    return np.append(np.random.default_rng(seed).integers(0, 2**50, depth), 0)
