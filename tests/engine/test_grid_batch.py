"""Image grids through evaluate: as the twins, and whatever else is scored."""

import numpy as np
import pandas as pd
import pytest

import pgcjax
from pgcjax.engine import plan
from pgcjax.errors import DataError, UsageError
from pgcjax.tensors.examination import ORDERS, ExaminationOrder

MEASURES = [
    *(f"ImagePGC(order={order})" for order in ORDERS),
    "ImagePGC(p=0.8,order=manhattan,normalization=ideal,ideal=shared)",
    *(f"PMR(variant={variant})" for variant in "DWMN"),
    "PMR(variant=W,first_rank=0,split=left)",
    "WR(split=drop)",
    "PB(gamma=0.5)",
    "PWP",
]


def pages(seed: int, queries: int = 3, systems: int = 3):
    """Ragged grids of several systems, some images in several; votes with ties."""
    rng = np.random.default_rng(seed)
    cells, votes = [], []
    for q in range(queries):
        images = [f"i{k:02}" for k in range(int(rng.integers(5, 40)))]
        for s in range(systems):
            shown = rng.permutation(images)[: int(rng.integers(2, len(images)))]
            row = column = 0
            for image in shown:
                cells.append((f"q{q}", f"s{s}", image, row, column))
                row, column = (row + 1, 0) if rng.random() < 0.3 else (row, column + 1)
        for _ in range(80):
            a, b = rng.choice(images, 2, replace=False)
            vote = float(rng.integers(-1, 2))
            votes.append((f"q{q}", a, b, vote, f"j{rng.integers(3)}"))
    names = ["query_id", "run_id", "doc_id", "row", "column"]
    known = ["query_id", "doc_id", "other_doc_id", "preference", "judge"]
    return pd.DataFrame(cells, columns=names), pd.DataFrame(votes, columns=known)


def values(grids, votes, measures=MEASURES, **options) -> pd.Series:
    scores = pgcjax.evaluate(grids, preferences=votes, measures=measures, **options)
    return scores.table.set_index(["run_id", "query_id", "measure"])["value"]


@pytest.mark.parametrize("seed", range(3))
def test_equals_the_twins(seed):
    grids, votes = pages(seed)
    scores = pgcjax.evaluate(grids, preferences=votes, measures=MEASURES, verify=1.0)
    count = 9 * len(MEASURES)
    assert scores.notes[-1] == f"{count} of {count} scores recomputed: equal"
    assert scores.table.value.between(0, 1).all()


@pytest.mark.parametrize(
    ("votes", "said"),
    [
        (
            [("q", "a", "b", 1.0, "u"), ("q", "a", "b", -1.0, "v")],
            "preferences: no pair is left: on each, several answers have equally many "
            "votes. Choose split=tie or split=left.",
        ),
        (
            [("q", "a", None, -2.0, "u")],
            "preferences: no two documents are compared",
        ),
    ],
)
def test_no_pair_is_left(votes, said):
    cells = [("q", "s", "a", 0, 0), ("q", "s", "b", 0, 1)]
    grids = pd.DataFrame(cells, columns=pages(0)[0].columns)
    with pytest.raises(DataError) as error:
        values(
            grids, pd.DataFrame(votes, columns=pages(0)[1].columns), "WR(split=drop)"
        )
    assert str(error.value) == said


def test_no_cut_changes_a_bit():
    grids, votes = pages(5, queries=6)
    whole = values(grids, votes)
    with plan.using(queries=1, chunk=0, rows=0):
        assert (values(grids, votes, job=pgcjax.Job(memory="64MiB")) == whole).all()
    shuffled = (
        grids.sample(frac=1, random_state=0),
        votes.sample(frac=1, random_state=1),
    )
    own = [m for m in MEASURES if "left" not in m]  # left is what the first vote says
    cells = whole[whole.index.get_level_values("measure").isin(own)]
    assert (values(*shuffled, own).sort_index() == cells.sort_index()).all()


def test_its_own_ideal_is_of_the_system_alone():
    grids, votes = pages(6)
    own = [m for m in MEASURES if m.startswith("ImagePGC") and "shared" not in m]
    both = values(grids, votes, own)
    for system in ("s0", "s1", "s2"):
        alone = values(grids[grids.run_id == system], votes, own)
        assert (alone == both.loc[[system]]).all()


def test_beside_measures_of_lists():
    """A grid is a run, as it is read."""
    grids, votes = pages(7)
    found = values(grids, votes, ["PGC", "ImagePGC", "ImagePGC(order=weighted)"])
    by_measure = found.unstack("measure")
    # In the order of reading no distances are equal.
    assert (by_measure["PGC"] == by_measure["ImagePGC"]).all()
    assert (by_measure["PGC"] == by_measure["ImagePGC(order=weighted)"]).all()


def test_a_query_that_a_system_lacks():
    grids, votes = pages(8)
    some = grids[(grids.run_id != "s1") | (grids.query_id != "q1")]
    with pytest.warns(pgcjax.errors.DataWarning, match=r"missing in 1 run \(s1\)"):
        found = values(some, votes, ["PB"])
    assert found["s1", "q1", "PB"] == 0
    with pytest.warns(pgcjax.errors.DataWarning), pytest.raises(KeyError):
        _ = values(some, votes, ["PB"], missing="skip")["s1", "q1", "PB"]


def test_an_order_of_ones_own(monkeypatch):
    """It may come when measures are known already, and scores can be verified."""
    grids, votes = pages(10)
    with pytest.raises(UsageError, match="order=mine: expected one of default, rev"):
        values(grids, votes, ["ImagePGC(order=mine)"])
    for name, same in (("mine", "manhattan"), ("by_rows", "default")):
        meant = ORDERS[same]
        order = ExaminationOrder(
            lambda c, meant=meant: 2.0 * meant.distance(c), name, "this test"
        )
        monkeypatch.setitem(ORDERS, name, order)
        for ideal in ("own", "shared"):
            found, known = (
                values(grids, votes, [f"ImagePGC(order={o},ideal={ideal})"], verify=1.0)
                for o in (name, same)
            )
            assert (found.to_numpy() == known.to_numpy()).all()


def test_runs_are_no_grids():
    _, votes = pages(9)
    run = {"q0": {"i00": 1.0}}
    with pytest.raises(UsageError, match="PWP needs grids: runs with row and column"):
        pgcjax.evaluate(run, preferences=votes, measures="PWP")
