"""Twins of image measures, on the data of Xie et al. 2020: the published scores.

Scores by the kernels, tables and figures are held against print by
`tests/reproduction/test_image_chapters.py`.
"""

import pandas as pd
import pytest
from helpers.image_driver import image_pgc

from pgcjax.io.grids import read_grids
from pgcjax.io.xie import read_xie_votes
from pgcjax.judging.majority import majority
from pgcjax.reference import image
from pgcjax.reference.pgc import greedy_ideal
from pgcjax.reference.rbo import rbo

EXACT, ENGINES = 1e-12, ["sogou", "baidu"]
# Names of orders in the expected values, and ours: one has a bug in its name here.
PUBLISHED = {"weighted": "weight-as-distance"} | {
    name: name for name in ("default", "middle", "reverse", "manhattan", "euclidean")
}


@pytest.fixture(scope="module")
def folder(data):
    return data / "xie2020"


@pytest.fixture(scope="module")
def grids(folder):
    return read_grids(folder / "Image_position.json")


@pytest.fixture(scope="module")
def votes(folder):
    return read_xie_votes(folder)


@pytest.fixture(scope="module")
def xie(golden):
    return golden("xie")


@pytest.fixture(scope="module")
def places(grids) -> dict[str, dict[str, image.Grid]]:
    """Grids of each query as the twins take them."""
    out: dict = {}
    for row in grids.itertuples():
        grid = out.setdefault(row.query_id, {}).setdefault(row.run_id, {})
        grid[row.doc_id] = row.row, row.column
    return out


def test_twin_of_image_pgc(golden, places, folder):
    expected = golden("image_pgc")
    edges: dict[str, list] = {query: [] for query in expected["queries"]}
    dropped = read_xie_votes(folder, drop_decimal=True)
    for query, left, right, vote in dropped.iloc[:, :4].itertuples(index=False):
        if vote:
            edges[query].append((left, right) if vote > 0 else (right, left))
    for i, query in enumerate(expected["queries"]):
        both = places[query]
        for name, order in PUBLISHED.items():
            ideal = greedy_ideal(edges[query], image.visits(both, order))
            for k, engine in enumerate(ENGINES):
                shown = image.image_list(both[engine], order, ideal)
                known = expected["scores"][name][i][k]
                assert rbo(shown, ideal) == pytest.approx(known, abs=EXACT)


def test_twins_of_xie(places, votes, xie):
    known = xie["per_query"]
    judged: dict = {}
    one_each = majority(votes, split="left")
    for query, left, right, vote in one_each.itertuples(index=False):
        won = judged.setdefault(query, {})
        won[left, right], won[right, left] = vote, -vote
    for i, query in enumerate(xie["queries"]):
        won = judged[query]
        for k, engine in enumerate(ENGINES):
            grid, other = places[query][engine], places[query][ENGINES[1 - k]]
            for variant in "DWMN":
                twin = image.matching_rate(grid, won, variant)
                assert twin == pytest.approx(known[f"PMR_{variant}"][i][k], abs=EXACT)
            for name, twin in (
                ("WR", image.winning_rate(grid, other, won)),
                ("bad", image.bad_cases(grid, other, won)),
                ("PB_0.1", image.penalty(grid, other, won)),
                ("PWP_0.7_0.1", image.pwp(grid, other, won)),
            ):
                assert twin == pytest.approx(known[name][i][k], abs=EXACT)


def test_worked_example(golden):
    case = golden("worked_examples")["image_5_4"]
    edges = [tuple(edge) for edge in case["edges"]]
    grid = {doc: tuple(cell) for doc, cell in case["grid"].items()}
    visits = image.visits({"": grid}, case["key"])
    ideal = greedy_ideal(edges, visits)
    assert ideal == case["ideal"]
    shown = image.image_list(grid, case["key"], ideal)
    judged = [doc for doc in shown if doc not in "xyz"]
    assert judged == [doc for doc in case["actual"] if doc not in "xyz"]
    # x and z, y and F are as far: whom nobody judged comes last.
    assert [shown.index(doc) for doc in "CABDF"] == [0, 1, 2, 5, 6]
    rows = [("q", "s", doc, *cell) for doc, cell in grid.items()]
    names = ["query_id", "run_id", "doc_id", "row", "column"]
    table = read_grids(pd.DataFrame(rows, columns=names))
    votes = pd.DataFrame(edges, columns=["doc_id", "other_doc_id"])
    votes = votes.assign(query_id="q", preference=1.0)
    for depth, how, key in (
        (7, "one-minus-p", "rbo_infinite"),
        (1000, "weights", "rbo_depth1000"),
    ):
        p = case["p"]
        twin = image.image_pgc(edges, grid, case["key"], p, depth, how)
        assert twin == pytest.approx(case[key], abs=EXACT)
        ours = image_pgc(table, votes, [case["key"]], p=p, depth=depth)["value"].item()
        ours *= 1 - p**depth if how == "one-minus-p" else 1
        assert ours == pytest.approx(case[key], abs=EXACT)
    assert (
        round(image.image_pgc(edges, grid, "euclidean", 0.95, 7, "one-minus-p"), 3)
        == (case["printed"]["rbo"])
    )
