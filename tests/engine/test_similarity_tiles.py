"""A value depends on its two rankings alone: the same bits however pairs are cut."""

import pandas as pd
import pytest
from helpers.collections import assert_same_bits
from helpers.tied import collection

import pgcjax
from pgcjax.engine import plan
from pgcjax.engine.similarity_tiles import side_of_tile

pytestmark = pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning")


def values(runs: pd.DataFrame, **options) -> pd.Series:
    keys = ["run_a", "run_b", "query_id", "measure"]
    return (
        pgcjax.rankings.rbo(runs, **options).table.set_index(keys)["value"].sort_index()
    )


@pytest.fixture(scope="module", autouse=True)
def small_tiles():
    """Cut pairs as `test_similarity` does, whose programs these tests share."""
    with plan.using(lists=4):
        yield


CUTS = ((1, 1, 1), (2, 4, 8), (4, 64, 2), (8, 32, 3))


@pytest.mark.parametrize(
    ("ties", "cuts"),
    # Each cut compiles anew; ways of ties take one of them each.
    [("broken", CUTS), ("w", CUTS[:1]), ("a", CUTS[1:2]), ("b", CUTS[3:])],
)
def test_cut_into_tiles_of_any_size(ties, cuts):
    runs = collection(4, runs=9, queries=2)
    whole = values(runs, ties=ties)
    for most, pairs, square in cuts:
        with plan.using(lists=most, pairs=pairs, square=square):
            assert_same_bits(values(runs, ties=ties), whole)


def test_less_memory_makes_smaller_tiles():
    with plan.using(lists=64):
        assert side_of_tile(64, 1024, 2**28) == 64 > side_of_tile(64, 1024, 2**20) >= 1
        assert side_of_tile(9, 32, 2**14) == 1


@pytest.mark.parametrize("ties", ["w", "a", "b", "broken"])
def test_padded_by_longer_rankings_of_others(ties):
    runs = collection(6)
    long = [
        ("r9", f"q{q}", f"x{i}", float(-i), i) for q in range(4) for i in range(200)
    ]
    more = pd.concat([runs, pd.DataFrame(long, columns=list(runs))])
    together = values(more, ties=ties)
    some = together[together.index.get_level_values("run_b") < "r9"]
    assert_same_bits(some, values(runs, ties=ties))


def test_lines_permuted_runs_apart_and_documents_renamed():
    runs = collection(7)
    whole = values(runs)
    assert_same_bits(values(runs.sample(frac=1, random_state=1)), whole)
    assert_same_bits(values(runs.assign(doc_id="é" + runs.doc_id.str[::-1])), whole)
    pairs = [(f"r{i}", f"r{j}") for i in range(5) for j in range(i + 1, 5)]
    apart = [values(runs[runs.run_id.isin(pair)]) for pair in pairs]
    assert_same_bits(pd.concat(apart).sort_index(), whole)


def test_means_do_not_depend_on_queries_of_others():
    runs = collection(8)
    extra = runs[runs.run_id == "r4"].assign(run_id="r5")
    extra = extra.assign(query_id="p" + extra.query_id)
    both = pgcjax.rankings.rbo(pd.concat([runs, extra])).mean()
    both = both[both.run_b < "r5"].reset_index(drop=True)
    pd.testing.assert_frame_equal(
        both, pgcjax.rankings.rbo(runs).mean(), check_exact=True
    )


def test_small_batches_of_files_number_documents_alike(tmp_path):
    runs = collection(9)
    for name, mine in runs.groupby("run_id"):
        mine.to_csv(tmp_path / f"{name}.csv", index=False)
    whole = values(runs)
    with plan.using(rows=1):
        assert_same_bits(values(tmp_path), whole)
