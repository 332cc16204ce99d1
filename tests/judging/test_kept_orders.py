"""Optimal orders that another process has kept are those of a search."""

import stat

import numpy as np
import pytest

from pgcjax.judging import optimal_orders as kept
from pgcjax.judging.optimal_orders import optimal_orders

CYCLE = np.array([[0, 2, 0, 1], [1, 0, 3, 0], [2, 0, 0, 1], [0, 1, 1, 0]])
SAME = {"states": 100, "seconds": 0.0}


@pytest.fixture
def searched(monkeypatch, tmp_path):
    """The folder of the cache, and the matrices that were searched."""
    calls = []

    def search(counts, **limits):
        calls.append(counts)
        return optimal_orders(counts, **limits)

    monkeypatch.setenv(kept.FOLDER, str(tmp_path / "cache"))
    monkeypatch.setattr(kept, "optimal_orders", search)
    kept._opened.cache_clear()
    yield tmp_path / "cache/optimal-orders", calls
    kept._opened.cache_clear()


def equal(one, other) -> bool:
    if one is None or other is None:
        return one is other
    names = ("minimum", "sets", "steps", "kinds")
    pairs = [[np.asarray(getattr(x, name)) for x in (one, other)] for name in names]
    return all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in pairs)


def test_each_is_searched_once(searched):
    folder, calls = searched
    nine = np.kron(np.eye(9, dtype=int), 1)[::-1] * 3  # sets of more than one byte
    for counts in (CYCLE, nine, np.zeros((1, 1), int), np.zeros((0, 0), int)):
        fresh = optimal_orders(counts, states=100)
        for _ in range(2):
            kept._opened.cache_clear()  # as a process that starts
            assert equal(kept.kept_orders(counts, **SAME), fresh)
        assert len(calls) == 1 and calls.pop() is counts
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert sorted(path.suffix for path in folder.iterdir()) == [".json"] + [".npz"] * 4


def test_other_judgments_or_limits_are_others(searched):
    _, calls = searched
    assert kept.kept_orders(CYCLE, states=2, seconds=0.0) is None
    assert kept.kept_orders(CYCLE, states=2, seconds=0.0) is None
    assert len(calls) == 1
    assert equal(kept.kept_orders(CYCLE, **SAME), optimal_orders(CYCLE, states=100))
    kept.kept_orders(CYCLE.T.copy(), **SAME)
    assert len(calls) == 3
    for _ in range(2):  # within a limit of time, nothing is kept
        kept.kept_orders(CYCLE, states=100, seconds=9.0)
    assert len(calls) == 5


def test_damage_is_found_and_a_folder_that_cannot_be_used_costs_nothing(
    searched, monkeypatch
):
    folder, calls = searched
    fresh = kept.kept_orders(CYCLE, **SAME)
    (piece,) = folder.glob("*.npz")
    whole = piece.read_bytes()
    for place in range(0, len(whole), 37):
        flipped = bytes([whole[place] ^ 4])
        piece.write_bytes(whole[:place] + flipped + whole[place + 1 :])
        assert equal(kept.kept_orders(CYCLE, **SAME), fresh)
    assert len(calls) == 1 + len(range(0, len(whole), 37))
    assert equal(kept.kept_orders(CYCLE, **SAME), fresh)
    (folder / "notes.txt").write_text("of someone else")
    for place in ("", str(folder / "notes.txt"), str(folder.parent)):
        calls.clear()
        monkeypatch.setenv(kept.FOLDER, place)
        kept._opened.cache_clear()
        assert equal(kept.kept_orders(CYCLE, **SAME), fresh) and len(calls) == 1
