"""Chapters on image search: every verdict, and ours against the expected values."""

import csv
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("scripts.reproduction", reason="not in a checkout")
from pgcjax.reporting import canvas  # noqa: E402
from pgcjax.reporting.page import Picture  # noqa: E402
from scripts.reproduction import luo_images, xie  # noqa: E402
from scripts.reproduction.data import Data  # noqa: E402
from scripts.reproduction.images import ENGINES, Images  # noqa: E402
from scripts.reproduction.published import papers  # noqa: E402
from scripts.reproduction.verdicts import (  # noqa: E402
    EXACT,
    HOLDS,
    IRREPRODUCIBLE,
    NOT_HERE,
    NOT_PUBLIC,
    ROUNDED,
)

pytestmark = pytest.mark.usefixtures("shapes_of_users")
COMMITTED = Path(__file__).parents[2] / "docs/reproduction/verdicts.csv"
SCORE, STATISTIC = 1e-12, 1e-9
ROWS = ("Sogou better", "Baidu better", "tie")
NAMES = {  # of each published table, what the expected values call it
    "fig-5-6-a": "WR",
    "fig-5-6-b": "PB_0.1",
    "fig-5-6-c": "PMR_N",
    "fig-5-6-d": "PWP_0.7_0.1",
    "fig-5-8-a": "PGC_default",
    "fig-5-8-b": "PGC_weighted",
    "fig-5-8-c": "PGC_middle",
    "fig-5-8-d": "PGC_reverse",
    "fig-5-8-e": "PGC_manhattan",
    "fig-5-8-f": "PGC_euclidean",
    "fig-5-10-a": "NDCG@10_xie",
    "fig-5-10-b": "NDCG@10_combined_xie",
}
TAUS = {
    "fig-5-7": ["WR", "PB_0.1", "PMR_N", "PWP_0.7_0.1"],
    "fig-5-9": [name for table, name in NAMES.items() if table.startswith("fig-5-8")],
    "fig-5-11": [
        "NDCG@10_xie",
        "NDCG@10_combined_xie",
        "compat_thesis_stringsort",
        "best_thesis_stringsort",
    ],
}


@pytest.fixture(scope="module")
def images(data) -> Images:
    return Images(Data(data))


@pytest.fixture(scope="module")
def image_pgc(images):
    """Scores by image PGC under each switch, as the chapter has them: kept for all."""
    return cache(partial(luo_images.image_pgc, images))


@pytest.fixture(scope="module")
def chapters(images, image_pgc):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(luo_images, "image_pgc", lambda _, **how: image_pgc(**how))
        return {
            "xie": xie.chapter(images.data, images),
            "luo": luo_images.chapter(images.data, images),
        }


@pytest.fixture(scope="module")
def cells(chapters):
    found = [cell for chapter in chapters.values() for cell in chapter.cells]
    assert len({cell.key for cell in found}) == len(found)
    return {cell.key: cell for cell in found}


@pytest.fixture(scope="module")
def summary(golden):
    return golden("image_summary")


def test_every_verdict(cells):
    """All but these are exact: none merely differs."""
    found = {key: c.verdict for key, c in cells.items() if c.verdict != EXACT}
    study = tuple(f"xie2020/{name}/" for name in xie._STUDY)
    private = {key for key in found if key.startswith(study)}
    assert {found.pop(key) for key in private} == {NOT_PUBLIC} and len(private) == 19
    claims = {key for key, cell in cells.items() if cell.printed == ["yes"]}
    false = "xie2020/gain/the best relevance metric is NDCG@15"
    assert {found.pop(key) for key in claims - {false}} == {HOLDS} and len(claims) == 13
    chance = {f"luo2021/fig-5-9/{row}" for row in papers()["luo2021"]["fig-5-9"].rows}
    assert found == {
        false: IRREPRODUCIBLE,
        "xie2020/dataset/Sogou wins, tie, Baidu wins": IRREPRODUCIBLE,
        "xie2020/kappa-public/Fleiss' kappa, Weak (3), 41,538 pairs": IRREPRODUCIBLE,
        "luo2021/images/SERP preferences: Sogou, tie, Baidu": IRREPRODUCIBLE,
        "luo2021/images/images of a query and engine: least, most": IRREPRODUCIBLE,
        "luo2021/fig-5-8-a/binomial p": ROUNDED,
        "luo2021/fig-5-8-c/binomial p": ROUNDED,
    } | dict.fromkeys(chance, IRREPRODUCIBLE)
    assert all(cells[key].why for key in found)


def test_verdicts_are_those_of_the_docs(cells):
    with COMMITTED.open(encoding="utf-8", newline="") as file:
        committed = {row["cell"]: row for row in csv.DictReader(file)}
    for key, cell in cells.items():
        row = committed[key]
        said = [cell.published, cell.verdict, cell.switch]
        assert said == [row["published"], row["verdict"], row["needs"]], key


def test_every_row_of_the_tables_has_a_cell(cells):
    luo = {
        n: b for n, b in papers()["luo2021"].items() if n.startswith(("fig-5", "im"))
    }
    xie_2020 = [b for n, b in papers()["xie2020"].items() if n != "arithmetic"]
    for block in [*xie_2020, *luo.values()]:
        for row in block.rows:
            key = f"{block.key}/{row}"
            assert key in cells or f"{key}/{block.columns[0]}" in cells


def test_numbers_that_others_found_exact(cells, golden):
    """What is called exact there is exact here, of the same printed numbers."""
    rows = {(r["source"], r["quantity"]): r for r in golden("reproduction")}
    tables: dict[str, tuple[str, str, str | None]] = {
        "fig-5-6-a": ("Thesis 5.6/5.7", "WR", "fig-5-7/τ of WR"),
        "fig-5-6-b": ("Thesis 5.6/5.7", "PB", "fig-5-7/τ of PB"),
        "fig-5-6-c": ("Thesis 5.6/5.7", "PMR_N", "fig-5-7/τ of PMR_N"),
        "fig-5-6-d": ("Thesis 5.6/5.7", "PWP", "fig-5-7/τ of PWP"),
        "fig-5-10-a": (
            "Thesis 5.10/5.11",
            "NDCG@10 original",
            "fig-5-11/(a) τ of original NDCG@10",
        ),
        "fig-5-10-b": (
            "Thesis 5.10/5.11",
            "NDCG@10 combined",
            "fig-5-11/(b) τ of combined NDCG@10",
        ),
    }
    for table, name in NAMES.items():
        if table.startswith("fig-5-8"):
            how = name.removeprefix("PGC_")
            tables[table] = ("Thesis 5.8/5.9", f"PGC {how}", None)
    for table, (source, quantity, tau) in tables.items():
        row = rows.pop((source, quantity))
        assert "exact" in row["status"]
        published = row["published"]
        keys = {
            f"{table}/{r}": t for r, t in zip(ROWS, published["table"], strict=False)
        }
        keys[f"{table}/χ²"] = [published["chi2"]]
        if tau:
            keys |= {
                tau: [published["tau"]],
                f"{table}/binomial p": [published["binom"]],
            }
        for key, numbers in keys.items():
            cell = cells[f"luo2021/{key}"]
            assert [*map(float, cell.printed)] == numbers, key
            assert cell.verdict == EXACT, key
    for variant in xie.VARIANTS:
        row = rows.pop(("Xie Table 7", f"{variant} Pearson/Spearman"))
        assert row["status"] == "exact"
        for name, number in zip(("Pearson", "Spearman"), row["published"], strict=True):
            cell = cells[f"xie2020/table-7/{name} r/{variant}"]
            assert float(cell.printed[0]) == number and cell.verdict == EXACT
    # The rest: words, what needs a switch, and other chapters.
    others = ("Xie Fig 4", "Xie text", "Thesis 2", "Thesis 3", "Thesis 4", "Thesis 5.3")
    left = {key for key in rows if not key[0].startswith(others)}
    assert left == {
        ("Thesis 5.11", "compatibility tau"),
        ("Thesis 5.11", "best possible tau"),
    }


def by_engine(scores, queries) -> np.ndarray:
    wide = scores.pivot(index="query_id", columns="run_id", values="value")
    return wide.loc[queries, ENGINES].to_numpy()


def test_scores(images, golden):
    known = golden("xie")
    text, number = (images.by_sorted_grades[sort] for sort in ("text", "number"))
    ours = {name: images.xie[name] for name in (*xie.VARIANTS, "WR")}
    ours |= {"PB_0.1": images.xie["PB"], "PWP_0.7_0.1": images.xie["PWP"]}
    ours |= {f"NDCG@{k}_xie": images.graded[f"NDCG@{k}"] for k in (10, 15)}
    ours |= {f"RBP_0.{p}_unit": images.graded[f"RBP (.{p})"] for p in (99, 8)}
    ours["NDCG@10_combined_xie"] = images.graded["combined NDCG@10"]
    ours["compat_maxsim"] = images.graded["compatibility"]
    ours["compat_thesis_stringsort"] = text["compatibility"]
    ours["best_thesis_stringsort"] = text["best possible"]
    ours["compat_numeric_fileties"] = number["compatibility"]
    ours["best_numeric_fileties"] = number["best possible"]
    for name, scores in ours.items():
        wrong = by_engine(scores, known["queries"]) - known["per_query"][name]
        assert np.abs(wrong).max() <= SCORE, name


def test_scores_of_image_pgc(image_pgc, golden):
    known = golden("image_pgc")
    for how, suffix in (({"dropped": True}, ""), ({}, "_allvotes")):
        scores = image_pgc(**how, shared=True)
        for order, _ in luo_images.PANELS.values():
            name = luo_images.RIGHT.get(order, order) + suffix
            wrong = by_engine(scores[order], known["queries"]) - known["scores"][name]
            assert np.abs(wrong).max() <= SCORE, name


def test_tables_and_tests(cells, summary):
    for table, name in NAMES.items():
        known = summary["summary"][name]
        rows = dict(zip(ROWS, known["table"], strict=True))
        for row in papers()["luo2021"][table].rows:
            cell = cells[f"luo2021/{table}/{row}"]
            if row in ROWS:
                assert cell.ours == rows.pop(row), cell.key
                continue
            column = {
                "χ²": "chi2",
                "p of χ²": "chi2_p",
                "binomial p": "binom_normal_cc",
            }
            if row in column:
                assert cell.ours == [pytest.approx(known[column[row]], rel=STATISTIC)]
            if row == "binomial p" and cell.switch == "side_p_normal":
                exact = known["binom_exact"]
                assert cell.right == [pytest.approx(exact, rel=STATISTIC)]
        # A row that is not printed is empty.
        assert all(not any(counts) for counts in rows.values())


def test_taus(cells, summary):
    for table, names in TAUS.items():
        block = papers()["luo2021"][table]
        for row, name in zip(block.rows, names, strict=True):
            known = summary["summary"][name]["tau_b"]
            assert cells[f"{block.key}/{row}"].ours == [
                pytest.approx(known, abs=STATISTIC)
            ]


def test_curves(images, summary):
    mixed = images.mixed.set_index(["variant", "λ"])["Pearson r"]
    for variant, known in summary["fig4_pearson_by_lambda_0_to_1"].items():
        assert mixed[f"PMR_{variant}"].to_numpy() == pytest.approx(known, abs=STATISTIC)
    found = images.penalised.set_index(["measure", "γ"])["Pearson r"]
    for gamma, known in summary["fig5_pearson_by_gamma"].items():
        for measure, value in known.items():
            ours = found[measure, float(gamma)]
            assert np.isnan(ours) if value is None else ours == pytest.approx(value)
    for variant in xie.VARIANTS:
        known = summary["summary"][variant]
        for of, name in (
            (images.pearson, "pearson_f"),
            (images.spearman, "spearman_f"),
        ):
            ours = of(images.xie[variant])
            assert ours == pytest.approx(known[name], abs=STATISTIC), (variant, name)


def test_switches_and_the_values_without(cells, images, summary):
    """A switch stands where the printed number needs it, the right value beside it."""
    found = {cell.switch for cell in cells.values()}
    lost = "drop_decimal, ideal=shared"
    bug = f"{lost}, order=weight-as-distance"
    normal = "side_p_normal"
    both = {f"{lost}, {normal}", f"{bug}, {normal}"}
    named = {'sort="text"', "first_rank=0", "split=left"}
    assert found == {"", lost, bug, normal, *both, *named}
    for cell in cells.values():
        assert bool(cell.switch) == bool(cell.right), cell.key
    for row, name in (
        ("(c) τ of compatibility", "compat_maxsim"),
        ("(d) τ of the best possible", "best_numeric_fileties"),
    ):
        cell, known = (
            cells[f"luo2021/fig-5-11/{row}"],
            summary["summary"][name]["tau_b"],
        )
        assert cell.switch == 'sort="text"'
        assert cell.right == [pytest.approx(known, abs=STATISTIC)]
        assert abs(cell.right[0] - float(cell.printed[0])) > 2e-3
    # A weight as a distance is the reverse order; the right order is the default one.
    a, b, _, d, *_ = (cells[c.key] for c in cells.values() if "fig-5-9/" in c.key)
    assert b.ours == d.ours != a.ours and b.right == a.right
    weighted = cells["xie2020/table-7/Pearson r/PMR_W"]
    assert weighted.right == [images.pearson(images.ours["PMR_W"])] != weighted.ours


def test_chance_of_equal_distances(images, image_pgc):
    """τ of Figure 5.9 depends on which engine comes first where images are as far."""
    lost = {"dropped": True, "shared": True}
    here, there = image_pgc(**lost), image_pgc(**lost, swapped=True)
    for order, _ in luo_images.PANELS.values():
        apart = abs(images.tau(here[order]) - images.tau(there[order]))
        assert 0 < apart < 0.01


def test_figures(chapters):
    pictures = [p for c in chapters.values() for p in c.parts if isinstance(p, Picture)]
    assert [p.name for p in pictures] == [
        "xie-figure-4",
        "xie-figure-5",
        "luo-figure-5-7",
        "luo-figure-5-9",
        "luo-figure-5-9-right",
        "luo-figure-5-11",
    ]
    panels = [len(p.figure.axes) for p in pictures]
    assert panels == [1, 1, 4, 6, 6, 6]
    assert all(p.caption and canvas.svg(p.figure) for p in pictures)


@pytest.mark.parametrize("chapter", [xie.chapter, luo_images.chapter])
def test_without_the_data(tmp_path, chapter):
    cells = chapter(Data(tmp_path)).cells
    verdicts = {cell.verdict for cell in cells}
    assert NOT_HERE in verdicts and verdicts <= {NOT_HERE, NOT_PUBLIC}
    assert len({cell.key for cell in cells}) == len(cells)
