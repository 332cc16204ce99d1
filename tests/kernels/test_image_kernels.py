"""Kernels of image grids: equal to their twins on grids full of ties and gaps."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from helpers.image_driver import image_pgc, list_ranks, overlaps, xie_measures
from helpers.kernel_weights import telling_weights
from hypothesis import given, settings
from hypothesis import strategies as st

from pgcjax.files import read_preferences
from pgcjax.kernels import ABSENT
from pgcjax.kernels.rbo import rank_weights
from pgcjax.reference import image, pgc
from pgcjax.tensors.examination import ORDERS

# Grids may lack queries, and have no judged image.
pytestmark = pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning")
DOCS = [f"d{i}" for i in range(8)]
JUDGED = DOCS[:6]  # the other two hold places in grids only


@dataclass(frozen=True)
class Page:
    """Votes on the images of one query, and the grids of two systems."""

    votes: list[tuple[str, str, int]]
    grids: dict[str, image.Grid]

    @property
    def edges(self) -> list[tuple[str, str]]:
        return [(a, b) if v > 0 else (b, a) for a, b, v in self.votes if v]

    @property
    def won(self) -> image.Won:
        signs: dict[tuple[str, str], list[int]] = {}
        for a, b, vote in self.votes:
            signs.setdefault((a, b), []).append(vote)
        out = {}
        for (a, b), votes in signs.items():
            sign = image.most_frequent(votes) or 0
            out[a, b], out[b, a] = sign, -sign
        return out

    def tables(self, query="q") -> tuple[pd.DataFrame, pd.DataFrame]:
        cells = [
            (query, run, doc, *cell)
            for run, grid in self.grids.items()
            for doc, cell in grid.items()
        ]
        grids = ["query_id", "run_id", "doc_id", "row", "column"]
        votes = ["query_id", "doc_id", "other_doc_id", "preference"]
        judged = [(query, a, b, float(vote)) for a, b, vote in self.votes]
        return (
            pd.DataFrame(cells, columns=grids),
            read_preferences(pd.DataFrame(judged, columns=votes)),
        )


def joined(pages: list[Page]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The tables of pages that are the queries q0, q1, … of one call."""
    tables = [page.tables(f"q{i}") for i, page in enumerate(pages)]
    grids, votes = (pd.concat(part) for part in zip(*tables, strict=True))
    return grids, votes


@st.composite
def pages(draw) -> Page:
    """Few places, so that distances tie; rows may be ragged, and have gaps."""
    pair = st.lists(st.sampled_from(JUDGED), min_size=2, max_size=2, unique=True)
    vote = st.tuples(pair.map(lambda p: tuple(sorted(p))), st.integers(-1, 1))
    votes = draw(st.lists(vote, min_size=1, max_size=25))
    place = st.tuples(st.integers(0, 2), st.integers(0, 3))
    grids = {
        run: {
            doc: cell
            for cell, doc in draw(
                st.dictionaries(place, st.sampled_from(DOCS), min_size=1, max_size=8)
            ).items()
        }
        for run in ("s", "t")
    }
    return Page([(a, b, v) for (a, b), v in votes], grids)


compared = pages().filter(lambda page: page.edges)


def several(pages: st.SearchStrategy[Page], count: int = 8):
    """Draw the queries of one call: reading its tables takes longer than a score."""
    return st.lists(pages, min_size=count, max_size=count)


@settings(max_examples=20)  # … of two runs, in four layouts each
@given(compared, st.sampled_from(sorted(ORDERS)), st.booleans(), st.integers(0, 99))
def test_image_pgc_equals_the_twin_exactly(page, order, shared, seed):
    grids, votes = page.tables()
    weights = telling_weights(seed)
    expected = []
    for run in ("s", "t"):
        grid = page.grids[run]
        visits = image.visits(page.grids if shared else {run: grid}, order)
        ideal = pgc.greedy_ideal(page.edges, visits)
        listed = image.image_list(grid, order, ideal)
        place = {doc: rank for rank, doc in enumerate(listed)}
        expected.append(
            sum(
                int(weights[max(place[doc], rank)])
                for rank, doc in enumerate(ideal)
                if doc in place
            )
        )
    for form, size in (("packed", 0), ("packed", 128), ("wide", 0)):
        options = {"shared": shared, "form": form, "size": size}
        sums, runs, _ = overlaps(grids, votes, [order], weights, **options)
        assert runs == ["s", "t"]
        assert sums[0, :, 0].tolist() == expected


@settings(max_examples=5)  # … of eight queries each
@given(several(compared), st.sampled_from(["default", "manhattan", "middle-rows"]))
def test_scores_equal_the_twin(pages, order):
    table = image_pgc(*joined(pages), [order])
    assert len(table) == 2 * len(pages)
    for row in table.itertuples():
        page = pages[int(str(row.query_id)[1:])]
        twin = image.image_pgc(page.edges, page.grids[str(row.run_id)], order)
        assert row.value == pytest.approx(twin, abs=1e-14)


@pytest.mark.parametrize("first_rank", [0, 1])
@settings(max_examples=3)  # … of eight queries each
@given(pages=several(pages()))
def test_measures_of_xie_equal_their_twins(pages, first_rank):
    table = xie_measures(*joined(pages), first_rank=first_rank)
    values = table.set_index(["query_id", "measure", "run_id"])["value"]
    for query, page in enumerate(pages):
        value = values[f"q{query}"]
        for run, other in (("s", "t"), ("t", "s")):
            grid, theirs = page.grids[run], page.grids[other]
            for variant in "DWMN":
                twin = image.matching_rate(grid, page.won, variant, first_rank)
                assert value[f"PMR_{variant}", run] == pytest.approx(twin, abs=1e-14)
            assert value["WR", run] == image.winning_rate(grid, theirs, page.won)
            assert value["bad", run] == image.bad_cases(grid, theirs, page.won)
            twin = image.penalty(grid, theirs, page.won)
            assert value["PB", run] == pytest.approx(twin, rel=1e-15)
            twin = image.pwp(grid, theirs, page.won, first_rank=first_rank)
            assert value["PWP", run] == pytest.approx(twin, abs=1e-15)


@settings(max_examples=10)  # … of three queries in three orders each
@given(several(compared, 3), st.permutations(sorted(ORDERS)))
def test_a_batch_equals_single_calls(pages, orders):
    """Queries of several sizes, systems and orders at once, and each alone."""
    weights, orders = rank_weights(0.9, 20), orders[:3]
    sums, runs, queries = overlaps(*joined(pages), orders, weights)
    assert (runs, queries) == (["s", "t"], ["q0", "q1", "q2"])
    for i, page in enumerate(pages):
        for k, order in enumerate(orders):
            grids, votes = page.tables()
            alone, _, _ = overlaps(grids, votes, [order], weights)
            assert sums[k, :, i].tolist() == alone[0, :, 0].tolist()


def test_a_list_with_ties_follows_the_ideal():
    first = np.array([1, 1, 0, 1, ABSENT, 4], np.int32)
    ideal = np.array([3, 0, 4, 2, 1, 5], np.int32)
    ranks = list_ranks(first, ideal)
    assert ranks[:4] == [3, 1, 0, 2] and ranks[5] == 4
    assert ranks[4] >= ABSENT


def test_a_grid_without_ties_is_a_run():
    """Under `default` image PGC is PGC of the images as they are read."""
    rng = np.random.default_rng(0)
    cells = [(r, c) for r in range(5) for c in range(6)]
    docs = [f"d{i:02}" for i in range(30)]
    counts = (rng.random((30, 30)) < 0.2) * rng.integers(1, 4, (30, 30))
    np.fill_diagonal(counts, 0)
    votes = [
        (docs[u], docs[v], 1)
        for u, v in np.argwhere(counts)
        for _ in range(counts[u, v])
    ]
    shown = rng.permutation(30)[:20]
    grid = {docs[d]: cells[i] for i, d in enumerate(shown)}
    page = Page(votes, {"s": grid})
    value = image_pgc(*page.tables(), ["default"])["value"].item()
    run = [docs[d] for d in shown]
    assert value == pytest.approx(pgc.greedy_pgc(page.edges, run), abs=1e-14)


@pytest.mark.parametrize("order", ["euclidean", "manhattan"])
def test_larger_grids(order):
    rng = np.random.default_rng(1)
    docs = [f"d{i:03}" for i in range(90)]
    counts = (rng.random((90, 90)) < 0.3).astype(int)
    np.fill_diagonal(counts, 0)
    votes = [(docs[u], docs[v], 1) for u, v in np.argwhere(counts)]
    grid = {docs[d]: divmod(i, 9) for i, d in enumerate(rng.permutation(90)[:70])}
    page = Page(votes, {"s": grid})
    twin, weights = image.image_pgc(page.edges, grid, order), rank_weights(0.95, 1000)
    for form in ("packed", "wide"):
        sums, _, _ = overlaps(*page.tables(), [order], weights, form=form)
        assert sums.item() / weights.sum() == pytest.approx(twin, abs=1e-14)


def test_a_page_without_a_rival():
    """The other system shows nothing for this query: nothing is won, nothing is bad."""
    page = Page([("d0", "d1", 1)], {"s": {"d0": (0, 0), "d1": (0, 1)}, "t": {}})
    rival = Page([("d0", "d1", 1)], {"t": {"d1": (0, 0)}, "s": {"d0": (0, 0)}})
    found = xie_measures(*joined([page, rival])).pivot(
        index=["query_id", "run_id"], columns="measure", values="value"
    )
    # Of q0 s and t, of q1 s and t.
    assert found["PMR_D"].tolist() == [1, 0, 0, 0]
    assert found["WR"].tolist() == [0, 0, 1, 0]
    assert found["bad"].tolist() == [0, 0, 0, 1]
    assert found["PB"].tolist() == [1, 0, 1, 0.1]  # t lacks q0
