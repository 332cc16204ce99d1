"""Printed numbers against other printed numbers."""

from dataclasses import replace

import pytest

arithmetic = pytest.importorskip(
    "scripts.reproduction.arithmetic", reason="no checkout"
)
from scripts.reproduction.published import papers  # noqa: E402
from scripts.reproduction.verdicts import (  # noqa: E402
    CONSISTENT,
    DIFFERS,
    HOLDS,
    IRREPRODUCIBLE,
    NOT_PUBLIC,
    ROUNDED,
)


@pytest.fixture(scope="module")
def cells():
    made = arithmetic.chapter().cells
    assert len({cell.key for cell in made}) == len(made)
    return {cell.key: cell for cell in made}


def test_every_verdict(cells):
    found = {key: c.verdict for key, c in cells.items() if c.verdict != CONSISTENT}
    shares = "shares, of so many disagreements"
    assert found == {
        "luo2021/sakai-zeng/sensitivity, as shares of 105 pairs": ROUNDED,
        "luo2021/cast-made/preference judgments, made by crowd workers": NOT_PUBLIC,
        "luo2021/cast-made/they are just over 50 % of the graded ones": HOLDS,
        "sakai2012/arithmetic/of 190 tests at α = .05, some error is more likely than "
        ".9999": HOLDS,
        "sakai2012/orders/DIN#-nDCG and P+Q# order the runs in the same "
        "way": IRREPRODUCIBLE,
        f"sakai2012/table-6a/{shares}": ROUNDED,
        "carterette2008/arithmetic/χ² of Tables 2 (a) and 2 (b)": ROUNDED,
    }
    assert all(cells[key].why for key, v in found.items() if v != HOLDS)


def test_numbers_by_hand(cells):
    for key, ours in {
        "luo2021/sakai-zeng-arithmetic/edges per query, Real: judgments / queries": [
            119_646 / 43
        ],
        "luo2021/sakai-zeng/agree + disagree": [894, 894],
        "xie2020/arithmetic/pairs of images": [12 * 66],
        "xie2020/arithmetic/of rows of 4, rank of (2, 2)": [6],
        "sakai2012/arithmetic/ranked list pairs of 24 topics": [24 * 190],
        "sakai2012/table-4/α-nDCG, added up": [100 * 43 / 190],
        "carterette2008/arithmetic/preferences among 15 documents": [105],
    }.items():
        assert cells[key].ours == pytest.approx(ours), key
    chi2 = cells["carterette2008/arithmetic/χ² of Tables 2 (a) and 2 (b)"]
    assert chi2.right[0] == pytest.approx(chi2.ours[0] / 2)


def test_a_slip_would_be_seen():
    """A wrong digit in a table differs from every share, or from the other table."""
    assert arithmetic.shares([".597", "58.1"], 236)[0] == 141 / 236
    sakai = dict(papers()["sakai2012"])
    table = sakai["table-4"]
    wrong = {**table.rows, "DIN#-nDCG": ["", "", "", "4/48/2"]}
    sakai["table-4"] = replace(table, rows=wrong)
    verdicts = {c.key: c.verdict for c in arithmetic._sakai(sakai)}
    assert verdicts["sakai2012/table-4/DIN#-nDCG, added up"] == DIFFERS
