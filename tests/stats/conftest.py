"""Score tables made up for tests of statistics."""

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def frame():
    """Make a score table of some runs, better and better, and queries."""

    def make(runs: int, queries: int, seed: int = 0) -> pd.DataFrame:
        random = np.random.default_rng(seed)
        return pd.DataFrame(
            [
                (f"r{r}", f"q{q:02}", "nDCG", random.random() * 0.5 + 0.06 * r)
                for r in range(runs)
                for q in range(queries)
            ],
            columns=["run_id", "query_id", "measure", "value"],
        )

    return make
