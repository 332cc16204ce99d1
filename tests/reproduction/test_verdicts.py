"""What a published number is worth, and the tables of published numbers."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("scripts.reproduction", reason="not in a checkout")
from scripts.reproduction.chapter import Chapter, cell_table, counts  # noqa: E402
from scripts.reproduction.published import papers  # noqa: E402
from scripts.reproduction.verdicts import (  # noqa: E402
    DIFFERS,
    EXACT,
    HOLDS,
    IRREPRODUCIBLE,
    NOT_HERE,
    NOT_PUBLIC,
    ROUNDED,
    Cell,
    unit,
    verdict,
)

small = st.floats(-1, 1)
decimals = st.integers(1, 5)


@given(small, decimals)
def test_a_rounded_number_is_exact(x, n):
    assert verdict(f"{x:.{n}f}", x) == EXACT


@given(small, decimals)
def test_a_number_cut_off_is_within_rounding(x, n):
    cut = math.trunc(x * 10**n) / 10**n
    assert verdict(f"{cut:.{n}f}", x) in (EXACT, ROUNDED)


@given(small, decimals, st.sampled_from([-1, 1]), st.floats(1.01, 100))
def test_more_than_a_unit_differs(x, n, sign, units):
    printed = f"{x:.{n}f}"
    assert verdict(printed, float(printed) + sign * units * 10**-n) == DIFFERS


@given(small, decimals, st.floats(0.51, 0.99))
def test_between_half_a_unit_and_one(x, n, units):
    printed = f"{x:.{n}f}"
    assert verdict(printed, float(printed) + units * 10**-n) == ROUNDED


@given(st.integers(-1000, 1000), st.integers(-1000, 1000))
def test_counts_are_equal_or_differ(printed, ours):
    known = EXACT if printed == ours else DIFFERS
    assert verdict(str(printed), ours) == known


def test_a_mean_beside_a_whole_number():
    assert verdict("5552", 5552.38) == EXACT
    assert verdict("5637", 5636.4) == ROUNDED
    assert verdict("83", 84.24) == DIFFERS


@pytest.mark.parametrize("ours", [math.nan, math.inf, -math.inf])
def test_no_number_differs(ours):
    assert verdict("0.5", ours) == DIFFERS
    assert cell(["0.5"], [ours]).shown([ours]) == "—"


@pytest.mark.parametrize(
    "printed, known", [("12", 1), ("0.5", 0.1), (".74", 0.01), ("-0.4052", 1e-4)]
)
def test_unit_of_the_last_digit(printed, known):
    assert unit(printed) == pytest.approx(known, rel=1e-15)


def cell(printed, ours=(), **more) -> Cell:
    return Cell("paper/table/row", "Paper, Table", "row", printed, ours, **more)


@pytest.mark.parametrize(
    "made, known",
    [
        (cell(["0.25", "3"], [0.251, 3]), EXACT),
        (cell(["0.25", "3"], [0.257, 3]), ROUNDED),
        (cell(["0.25", "3"], [0.257, 4]), DIFFERS),
        (cell(["3"], [4], why="a misprint"), IRREPRODUCIBLE),
        (cell(["3"], [3], why="a remark"), EXACT),
        (cell(["0.3"], [0.3], chance=True), IRREPRODUCIBLE),
        (cell(["3"]), NOT_PUBLIC),
        (cell(["3"], sure=NOT_HERE), NOT_HERE),
        (cell(["3.2"], [4], sure=ROUNDED), ROUNDED),
        (cell(["yes"], [1.0]), HOLDS),
        (cell(["yes"], [0.0]), DIFFERS),
        (cell(["no"], [0.0]), HOLDS),
    ],
)
def test_verdict_of_a_cell(made, known):
    assert made.verdict == known


def test_a_switch_is_named_only_where_it_is_needed():
    ours = cell(["0.25"], [0.251])
    needed = ours.needing("bug=on", [0.27], "why")
    assert (needed.switch, needed.ours, needed.right) == ("bug=on", [0.251], [0.27])
    plain = ours.needing("bug=on", [0.249], "why")
    assert (plain.switch, plain.ours, plain.right, plain.why) == ("", [0.249], (), "")


def test_numbers_are_shown_with_one_digit_more():
    made = cell(["0.25", "7", "12", "yes", "0.000001"])
    assert made.shown([0.251, 7.0, 12.38, 0.0, 4e-7]) == "0.251 7 12.4 no 0.0000004"
    assert cell(["0.5"]).shown([0.001]) == "0.001"


def test_tables_of_cells():
    cells = [cell(["0.5"], [0.5]), cell(["3"], [4]), cell(["3"])]
    table = cell_table(cells, "caption")
    assert table.columns == ["where", "what", "published", "pgcjax", "verdict"]
    assert [row[-1] for row in table.rows] == [EXACT, DIFFERS, NOT_PUBLIC]
    assert list(table.tones) == ["good", "bad", ""]
    summed = counts(cells)
    assert summed.columns == ["paper", EXACT, DIFFERS, NOT_PUBLIC, "all"]
    assert list(map(list, summed.rows)) == [["paper", "1", "1", "1", "3"]]
    chapter = Chapter("Title")
    chapter.published(cells)
    assert chapter.cells == cells and len(chapter.section.parts) == 1


BLOCKS = [block for paper in papers().values() for block in paper.values()]
# Sakai prints several numbers in a cell: `.74/.80`, `.597/.995 (236)`.
NUMBER = re.compile(r"-?\d*\.?\d+(/-?\d*\.?\d+)*( \(\d+\))?")


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.key)
def test_published_numbers_can_be_read(block):
    assert block.where and block.rows
    for printed in block.rows.values():
        assert printed
        assert not block.columns or len(printed) == len(block.columns)
        for text in filter(None, printed):
            assert text == "yes" or NUMBER.fullmatch(text), text


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.key)
def test_rows_that_cannot_be_computed(block):
    unknown, absent = block.unknown("secret"), block.absent("folder")
    assert len(unknown) == len(absent) == len(block.rows)
    assert {c.verdict for c in unknown} == {NOT_PUBLIC}
    assert {c.verdict for c in absent} == {NOT_HERE}
    assert {c.why for c in absent} == {"no folder folder"}


def test_numbers_of_a_row_beside_ours():
    block = papers()["xie2020"]["table-7"]
    one, *others = block.each("Pearson r", [0.255, 0, 0, 0], why="")
    assert (one.key, one.verdict) == ("xie2020/table-7/Pearson r/PMR_D", EXACT)
    assert [c.what for c in others][-1] == "Pearson r, PMR_N"
    row = block.cell("Pearson r", [0.255, 0.25, 0.244, 0.26])
    assert row.verdict == EXACT and row.published == "0.255 0.250 0.244 0.260"
