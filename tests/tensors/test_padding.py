"""Padding."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgcjax.engine import plan
from pgcjax.tensors import padding

pytestmark = pytest.mark.usefixtures("shapes_of_users")


def test_few_sizes_without_a_largest():
    sizes = {padding.padded_size(n) for n in range(5000)}
    assert len(sizes) < 20
    assert all(padding.padded_size(n) >= n for n in range(5000))
    assert padding.padded_size(10**6) >= 10**6


def test_a_long_list_that_is_sent_has_little_padding():
    rooms = {padding.list_room(n, 170, sent=True) for n in range(2**21, 2**22, 9999)}
    assert len(rooms) <= 9 and all(room % 2**17 == 0 for room in rooms)
    for n in (2**20, 2**21 + 1, 3 * 2**21):
        room = padding.list_room(n, 170, sent=True)
        assert n + 1024 <= room <= (n + 1024) * 9 / 8 <= padding.list_room(n, 170)
    for n in (0, 5, 2**19):
        assert padding.list_room(n, 170, sent=True) == padding.list_room(n, 170)


def test_stack_pads_at_the_end():
    out = padding.stack([np.array([[1, 2]]), np.zeros((0, 0), int)], (3, 2, 3), 9)
    assert out.tolist() == [[[1, 2, 9], [9] * 3], [[9] * 3] * 2, [[9] * 3] * 2]


def test_blank_arrays_begin_where_xla_takes_them():
    for shape, fill, dtype in (
        ((3, 5), 0, np.int32),
        ((7,), 9, np.int64),
        ((), 1, bool),
    ):
        array = padding.blank(shape, fill, dtype)
        assert array.ctypes.data % 64 == 0
        assert array.shape == shape and array.dtype == dtype
        assert (array == np.full(shape, fill, dtype)).all()


@given(
    st.integers(1, 3000),
    st.integers(1, 3000),
    st.sampled_from([64, 4 * 128**2, 4 * 4096**2]),
    st.sampled_from([48, 48 * 128, 48 * 4096]),
    st.sampled_from([1, 8]),
    st.sampled_from([1, 2**20, 2**28]),
    st.sampled_from([1, 2**18, 2**28]),
    st.booleans(),
)
def test_tiles_fit_the_budget_or_are_as_small_as_can_be(
    queries, runs, per_query, per_pair, devices, budget, most, on_gpu
):
    q, r = plan.tile(
        queries,
        runs,
        per_query=per_query,
        per_pair=per_pair,
        devices=devices,
        budget=budget,
        most=most,
        on_gpu=on_gpu,
    )
    more_queries, more_runs = plan.ON_GPU if on_gpu else (1, 1)
    assert r % 4 == 0 and r <= 64 * more_runs and (r < runs + 4 or r == 4)
    each = q // devices
    assert q == each * devices and each & (each - 1) == 0
    assert each <= 32 * more_queries and each < 2 * -(-queries // devices)
    assert q * (per_query + r * per_pair) <= budget or q == devices
    assert each * per_query <= most or each == 1


@given(
    st.sampled_from([1, 2, 4, 8, 32]), st.integers(1, 16), st.sampled_from([16, 1024])
)
def test_what_is_side_by_side_divides_the_tile(queries, fours, size):
    together, some = plan.side_by_side(queries, 4 * fours, size)
    assert queries % together == 0 and 4 * fours % some == 0
    assert together == 1 or some == 4 * fours
    assert together * some <= max(plan.settings.words // size, plan.settings.together)
