"""The papers' worked examples, as the report has them."""

import pytest

chapters = pytest.importorskip("scripts.reproduction.examples", reason="no checkout")
from scripts.reproduction.verdicts import (  # noqa: E402
    EXACT,
    IRREPRODUCIBLE,
    ROUNDED,
)

CLOSE = 1e-12


@pytest.fixture(scope="module")
def cells():
    made = chapters.chapter().cells
    assert len({cell.key for cell in made}) == len(made) == 18
    return {cell.key: cell for cell in made}


def test_every_verdict(cells):
    found = {key: c.verdict for key, c in cells.items() if c.verdict != EXACT}
    assert found == {
        "luo2021/example-dcg-terms/ranking": ROUNDED,
        "luo2021/example-rbo-1/sum": ROUNDED,
        "luo2021/example-pgc/sum": ROUNDED,
        "sakai2012/figure-1/EfP": IRREPRODUCIBLE,
    }
    assert all(cells[key].why for key in found)


def test_a_misprint_has_a_switch_and_the_right_value(cells, golden):
    known = golden("worked_examples")["rbo_2_4"]
    for row, name in (("sum", "sum"), ("RBO, ideal 2", "rbo")):
        cell = cells[f"luo2021/example-rbo-2/{row}"]
        assert cell.switch == "p=0.80"
        assert cell.ours == [pytest.approx(known["p=0.80"][name], abs=CLOSE)]
        assert cell.right == [pytest.approx(known["p=0.95"][name], abs=CLOSE)]
    assert {c.switch for c in cells.values()} == {"", "p=0.80"}


def test_values_of_an_independent_implementation(cells, golden):
    known = golden("worked_examples")
    ndcg, rbo = known["ndcg_2_1"], known["rbo_2_3"]
    pgc, image, fas = known["pgc_3_5"], known["image_5_4"], known["greedy_fas_3_2"]
    for key, value in {
        "ndcg/DCG": ndcg["dcg"],
        "ndcg/ideal DCG": ndcg["idcg"],
        "ndcg/nDCG": ndcg["ndcg"],
        "rbo-1/sum": rbo["sum"],
        "rbo-1/RBO, ideal 1": rbo["rbo"],
        "fas/vertex sequences": fas["n_sequences"],
        "fas/backward arcs of each": fas["backward_arcs"],
        "pgc/sum": pgc["sum"],
        "pgc/PGC": pgc["rbo_infinite"],
        "image/sum": image["sum"],
        "image/image PGC": image["rbo_infinite"],
    }.items():
        ours = cells[f"luo2021/example-{key}"].ours
        assert ours == [pytest.approx(value, abs=CLOSE)], key


def test_a_remark_needs_the_numbers_of_the_paper():
    """Rounded terms explain a difference only if they do lead to what was printed."""
    explained = chapters._by_hand(["2.5"], [2.4], [2.5], "rounded")
    assert explained == {"sure": ROUNDED, "why": "rounded"}
    assert chapters._by_hand(["2.5"], [2.4], [2.7], "rounded") == {}
    assert chapters._by_hand(["2.5"], [2.5], [2.5], "rounded") == {}
