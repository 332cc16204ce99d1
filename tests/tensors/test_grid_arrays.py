"""Orders of examination, and grids as arrays."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.builders import run_table
from hypothesis import given
from hypothesis import strategies as st

from pgcjax.errors import UsageError
from pgcjax.io.grids import read_grids
from pgcjax.kernels import ABSENT
from pgcjax.reference import image
from pgcjax.tensors import examination
from pgcjax.tensors import grids as g

GRID = {"C": (0, 0), "B": (0, 1), "y": (0, 2), "F": (0, 3)}
GRID |= {"A": (1, 0), "x": (1, 1), "D": (1, 2)}
PLACES = st.dictionaries(
    st.tuples(st.integers(0, 3), st.integers(0, 4)), st.integers(0, 1), min_size=1
)


def frame_of(grids, query="q") -> pd.DataFrame:
    """A table of grids, `{run: {doc: (row, column)}}`."""
    rows = [
        (query, run, doc, *cell)
        for run, grid in grids.items()
        for doc, cell in grid.items()
    ]
    return pd.DataFrame(rows, columns=["query_id", "run_id", "doc_id", "row", "column"])


def visited(order, grid=GRID) -> list[str]:
    """Images by distance, ties as they are read."""
    runs = examination.as_runs(frame_of({"s": grid}), order)
    return runs.sort_values("rank")["doc_id"].tolist()


VISITS = {
    "default": "CByFAxD",
    "reverse": "DxAFyBC",
    "weighted": "CByFAxD",
    "weight-as-distance": "DxAFyBC",
    "manhattan": "CBAyxFD",  # ties: BA, yx, FD
    "euclidean": "CBAxyDF",
    "middle": "yBFxCAD",  # the right one of two in the middle; ties: BFx, CAD
    "middle-rows": "ByCFxAD",  # ties: By, CF, AD
}


@pytest.mark.parametrize(("order", "visits"), VISITS.items())
def test_visits(order, visits):
    assert "".join(visited(order)) == visits


def test_every_order_is_documented_and_tested():
    assert set(VISITS) == set(examination.ORDERS)
    for order in examination.ORDERS.values():
        assert order.meaning and order.source and "\n" not in order.meaning


def test_pictures_of_the_docs():
    """Each order's picture: how many images are nearer, from 1."""
    text = Path(__file__).parents[2].joinpath("docs/images.md").read_text()
    drawn = {}
    for block in text.split("\n\n"):
        lines = [line[4:] for line in block.split("\n")]
        if set(lines[0].split()) <= set(examination.ORDERS) and len(lines) == 4:
            for i, order in enumerate(lines[0].split()):
                part = slice(20 * i, 20 * i + 20)
                drawn[order] = " ".join(line[part] for line in lines[1:]).split()
    assert set(drawn) == set(examination.ORDERS)
    grid = {f"d{i:02}": divmod(i, 4) for i in range(11)}
    docs = {"q": np.array(sorted(grid), object)}
    shown = g.Shown(frame_of({"s": grid}), docs)
    for order, numbers in drawn.items():
        first = shown.placed(order)["q"].first[0]
        assert [str(n + 1) for n in first] == numbers, order


@given(PLACES, st.sampled_from(sorted(examination.ORDERS)))
def test_distances_equal_the_twin(places, order):
    grids = {"s": {}, "t": {}}
    for i, (cell, run) in enumerate(places.items()):
        grids["st"[run]][f"d{i}"] = cell
    table = frame_of(grids)
    found = examination.distances(examination.cells(table), order)
    assert found.dtype == np.float64
    for run, grid in grids.items():
        mine = table["run_id"] == run
        twin = image.distances(grid, order)
        expected = [twin[doc] for doc in table["doc_id"][mine]]
        np.testing.assert_array_max_ulp(found[mine], np.array(expected, float), 1)
        # What counts is which are equal, and that is exact.
        ours = np.unique(found[mine], return_inverse=True)[1].tolist()
        assert ours == np.unique(expected, return_inverse=True)[1].tolist()


def test_a_user_adds_an_order_in_a_line(monkeypatch):
    snake = examination.ExaminationOrder(
        lambda c: (
            c.row * c.columns + np.where(c.row % 2, c.columns - 1 - c.column, c.column)
        ),
        "left to right, then right to left",
        "this test",
    )
    monkeypatch.setitem(examination.ORDERS, "snake", snake)
    assert "".join(visited("snake")) == "CByFDxA"


def test_orders_that_cannot_be(monkeypatch):
    with pytest.raises(UsageError, match="no order 'random'; there are default, rev"):
        visited("random")
    for value in (np.array(1.0), np.array([1.0, 2.0]), np.full(7, np.nan)):
        wrong = lambda c, value=value: value  # noqa: E731
        monkeypatch.setitem(
            examination.ORDERS, "wrong", examination.ExaminationOrder(wrong, "", "")
        )
        with pytest.raises(UsageError, match="'wrong' must give a finite number"):
            visited("wrong")


def test_sizes_come_from_the_data():
    cells = examination.cells(
        frame_of({"s": {"a": (2, 4), "b": (0, 1), "c": (2, 0)}, "t": GRID})
    )
    assert cells.width[:3].tolist() == [5, 2, 5]
    assert cells.rows[:3].tolist() == [3, 3, 3] and cells.rows[3:].tolist() == [2] * 7
    assert cells.columns.tolist() == [5] * 3 + [4] * 7
    assert cells.index[:3].tolist() == [2, 0, 1]  # gaps hold no image


DOCS = {"q": np.array(["A", "B", "C", "D", "F", "G", "H"], object)}


def test_places_and_ties():
    found = g.Shown(frame_of({"s": GRID}), DOCS).placed("manhattan")
    placed = found["q"]
    # C | B A | y x | F D: unjudged images hold places, too.
    first = [1, 1, 0, 5, 5, ABSENT, ABSENT]
    assert placed.first.tolist() == [first]
    assert placed.place.tolist() == [[2, 1, 0, 4, 3, 5, 6]]
    assert placed.row[0, :5].tolist() == [1, 0, 0, 1, 0]
    assert placed.column[0, :5].tolist() == [0, 1, 0, 2, 3]


def test_shared_places_are_those_of_the_nearest_grid():
    other = {"D": (0, 0), "H": (0, 1), "A": (3, 3)}
    shown = g.Shown(frame_of({"t": GRID, "s": other}), DOCS)
    found = shown.placed("manhattan", shared=True)
    placed = found["q"]
    assert shown.run_ids == ["s", "t"]
    # D of s and C of t are at 0; then H of s, B and A of t; then F of t. G is nowhere.
    assert placed.place.tolist() == [[4, 3, 1, 0, 5, 6, 2]] * 2
    assert placed.first[0].tolist() == [2, ABSENT, ABSENT, 0, ABSENT, ABSENT, 1]


def test_shared_places_in_rows_of_other_widths():
    """Columns from the middle count, whatever the width: 1 for A, 2 for B and H."""
    grids = {"s": {"A": (0, 0), "C": (0, 2)}, "t": {"B": (0, 2), "H": (0, 6)}}
    grids["t"]["z"] = (0, 8)
    placed = g.Shown(frame_of(grids), DOCS).placed("middle-rows", shared=True)["q"]
    assert np.argsort(placed.place[0])[:4].tolist() == [0, 2, 1, 6]
    apart = {run: image.distances(grid, "middle-rows") for run, grid in grids.items()}
    assert apart["s"]["A"] == 1 and apart["t"]["B"] == apart["t"]["H"] == 2


def test_queries_and_runs_may_be_missing():
    one = {"A": (0, 0)}
    others = [frame_of({"t": one}, "r"), frame_of({"t": one}, "a")]
    table = pd.concat([frame_of({"s": GRID}), *others])
    docs = {**DOCS, "none": np.array(["A"], object), "r": np.array([], object)}
    docs["a"] = np.array(["A"], object)
    shown = g.Shown(table, docs)
    found = shown.placed()
    assert shown.run_ids == ["s", "t"]
    assert (found["q"].first[1] == ABSENT).all()
    assert found["q"].place[1].tolist() == list(range(7))
    assert (found["none"].first == ABSENT).all()
    assert found["r"].first.shape == (2, 0)
    assert found["a"].first.tolist() == [[ABSENT], [0]]


@given(
    st.permutations(range(7)),
    st.booleans(),
    st.sampled_from(sorted(examination.ORDERS)),
)
def test_lines_may_stand_in_any_order(order, shared, name):
    table = frame_of({"s": GRID, "t": {"A": (0, 0), "H": (0, 1)}})
    moved = table.iloc[[*order, 7, 8]][::-1].reset_index(drop=True)
    for a, b in zip(
        g.Shown(table, DOCS).placed(name, shared=shared).values(),
        g.Shown(moved, DOCS).placed(name, shared=shared).values(),
        strict=True,
    ):
        for field in ("first", "place", "row", "column"):
            assert (getattr(a, field) == getattr(b, field)).all()


def test_rankings_are_runs():

    runs = examination.as_runs(read_grids(frame_of({"s": GRID})), "default")
    table = run_table(runs)
    assert table["rank"].tolist() == list(range(7))
    assert table["score"].tolist() == [-r for r in range(7)]


def test_pairs():
    judgments = pd.DataFrame(
        [("q", "b", "a", 1.0), ("q", "c", "a", -1.0), ("q", "b", "c", 0.0)],
        columns=["query_id", "doc_id", "other_doc_id", "preference"],
    )
    found = g.pairs(judgments)["q"]
    assert found.doc_ids.tolist() == ["a", "b", "c"]
    assert np.argwhere(found.wins).tolist() == [[0, 2], [1, 0]]
    assert found.judged.tolist() == (~np.eye(3, dtype=bool)).tolist()
