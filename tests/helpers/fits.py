"""Fits of strengths that share their programs."""

import pytest

from pgcjax.judging import joint, models


@pytest.fixture(scope="module", autouse=True)
def fits_alike():
    """Lay votes of few documents out in the same shapes, to be compiled once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(joint, "_ROWS", 128)
        patch.setattr(models, "_SETS", 4)
        yield
