"""The study of looks at any time stops where the functions of pgcjax do."""

from math import log

import numpy as np
import pytest

pytest.importorskip("benchmarks.harness", reason="not in a checkout")
from benchmarks.studies import anytime as study  # noqa: E402
from pgcjax.stats.anytime import ANSWERS, log_capital  # noqa: E402


def test_wins_that_refute_are_those_of_the_capital():
    random = np.random.default_rng(1)
    x = random.choice(ANSWERS, (40, 150), p=(0.25, 0.15, 0.6))
    counts = np.cumsum(x[..., None] == ANSWERS, axis=1, dtype=np.float64)
    refuted = log_capital(counts, 0.5) >= -log(study.ALPHA)
    first = np.where(refuted.any(1), refuted.argmax(1) + 1, 151)
    assert (np.minimum(*study.mixture_stops(x)) == first).all()
    assert 30 < np.median(first) < 150
    assert np.median(np.minimum(*study.former_stops(x))) < 150


def test_a_question_is_settled_early_or_by_the_last_query():
    x = study.made_up("spread", (50, 4, 60), [1])
    played = study.Played()
    played.add(x, 1, np.arange(1.0, 61) * np.ones((50, 1)))
    (stop,), (wrong,), (share,) = played.stop, played.wrong, played.share
    assert stop.max() <= 1 and stop.min() < 0.9 and not wrong.any()
    assert (share <= stop).all() and (share[stop < 1] < stop[stop < 1]).all()
