"""Scores by several orders of documents that a run lacks: all orders tried, any cut."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from helpers.builders import preferences_of, run_of
from helpers.collections import assert_same_bits, collection
from helpers.queries import runs_of, scores_of, tables

import pgcjax
from pgcjax.engine import plan, tie_batch
from pgcjax.engine.tied_orders import first_rung, still_known
from pgcjax.errors import UsageError
from pgcjax.reference.pgc import chance, drawn_orders, drawn_pgc, tied_pgc
from pgcjax.tensors.padding import at_least

pytestmark = [
    pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning"),
]
EXACT = 1e-12
SENSITIVE = (1, 3, 20, 24, 27, 29)  # seeds of graphs whose scores move
# a and b are alike: c, which lets y go, is first of the three in a third of all orders.
TWINS = [pair.split(">") for pair in "a>x b>x c>y y>v v>w w>x x>w".split()], ["y", "x"]


def named(n: int, more: str = "") -> list[str]:
    """The measures, by n orders if these are drawn: least, mean, greatest."""
    return [f"PGC({more}ties={ties},n={n})" for ties in ("min", "mean", "max")]


def cases(count: int) -> list[tuple[list, list[str]]]:
    """Random graphs of 6 documents with cycles, and runs of 1 to 5 of these."""
    made = []
    for i, seed in enumerate([*SENSITIVE, *range(count)]):
        rng = np.random.default_rng(seed)
        docs = [f"d{i}" for i in range(6)]
        edges = [(a, b) for a in docs for b in docs if a != b and rng.random() < 0.5]
        run = rng.permutation(docs).tolist()
        made.append((edges, run[: 2 if i < len(SENSITIVE) else 1 + i % 5]))
    return [*made, TWINS]


def scored(measures, made) -> np.ndarray:
    runs = runs_of(run=[run for _, run in made])
    preferences = tables(preferences_of(edges) for edges, _ in made)
    return scores_of(measures, runs, preferences=preferences).to_numpy()


def test_all_orders_of_what_a_run_lacks_give_mean_and_extremes():
    """Plain enumeration, the plain twin and the engine have the same numbers."""
    made, wide = cases(18), 0
    found = scored(["PGC", *named(2), "PGC(ties=error)"], made)
    for (edges, run), row in zip(made, found.tolist(), strict=True):
        lacks = sorted({doc for edge in edges for doc in edge} - {*run})
        every = drawn_pgc(edges, run, permutations(lacks))
        expected = min(every), np.mean(every), max(every)
        mean, least, greatest = tied_pgc(edges, run)
        assert (least, mean, greatest) == pytest.approx(expected, abs=EXACT)
        assert row == pytest.approx([row[0], *expected, 0], abs=EXACT)
        assert row[1] <= row[2] <= row[3]
        if max(every) == min(every):
            assert row[0] == row[1] == row[2] == row[3]
        wide += max(every) - min(every) > 0.001
    assert wide >= len(SENSITIVE)


@pytest.mark.parametrize("documents", [12, 14])
def test_ties_after_ties_are_as_probable_as_the_plain_twin_has_them(documents):
    """Runs lack all but 2: too many orders to list, and they bear on each other."""
    made, moved = [], 0
    for seed in range(24):
        rng = np.random.default_rng(seed)
        docs = [f"d{i:02}" for i in range(documents)]
        edges = [(a, b) for a in docs for b in docs if a != b and rng.random() < 0.2]
        made.append((edges, rng.permutation(docs).tolist()[:2]))
    measures = [*named(2), "PGC(ties=error)"]
    for (edges, run), row in zip(made, scored(measures, made).tolist(), strict=True):
        mean, least, greatest = tied_pgc(edges, run)
        if row[3] == 0:
            expected = least, mean, greatest
            assert row[:3] == pytest.approx(expected, abs=EXACT)
            moved += greatest > least
    assert moved > 2


def test_chances_of_the_next_are_those_of_all_orders():
    """Ties of random documents, each of which may know of the others before it."""
    longest = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        known, alive, constraints, p = (), np.ones(8, bool), frozenset(), 1.0
        for _ in range(3):
            left = np.flatnonzero(alive)
            tied = rng.choice(left, rng.integers(2, 4), replace=False).tolist()
            chances = first_rung(known, tied, list(range(8)))
            assert sum(chances.values()) == pytest.approx(1, abs=EXACT)
            longest = max(longest, len(chances))
            doc = tied[0]
            constraints |= {(str(doc), frozenset(map(str, tied[1:])))}
            ways = {then: q for (d, then), q in chances.items() if d == doc}
            known = max(ways, key=lambda then: ways[then])
            p *= sum(ways.values())
            if len(ways) > 1:
                break  # a way is a part of what the constraints say
            assert p == pytest.approx(chance(constraints), abs=EXACT)
            alive[doc] = False
            known = still_known(known, alive)
    assert longest > 3


def test_too_many_states_have_drawn_orders_and_their_error(monkeypatch):
    """The orders are those of the twin, and the first are those of few."""
    monkeypatch.setattr(tie_batch, "STATES", 0)
    made = cases(6)
    measures = [*named(130), "PGC(ties=error,n=130)"]
    found = scored(measures, made)
    for i, ((edges, run), row) in enumerate(zip(made, found.tolist(), strict=True)):
        docs = sorted({doc for edge in edges for doc in edge})
        scores = drawn_pgc(edges, run, drawn_orders(docs, 130, 0, f"q{i:02}"))
        error = np.std(scores, ddof=1) / 130**0.5
        expected = min(scores), np.mean(scores), max(scores), error
        assert row == pytest.approx(expected, abs=EXACT)
    assert (found[:, 3] > 0).sum() >= len(SENSITIVE)
    assert (
        drawn_orders(["a", "b", "c"], 7, 3, "é")
        == (drawn_orders(["a", "b", "c"], 130, 3, "é")[:7])
    )
    scores = pgcjax.evaluate(
        runs_of(run=[run for _, run in made]),
        preferences=tables(preferences_of(edges) for edges, _ in made),
        measures="PGC(ties=mean)",
        verify=1,
    )
    assert any("scores average 100 drawn orders" in note for note in scores.notes)


def values(tables, measures, **changes) -> pd.Series:
    prefs, qrels, runs = tables
    given = {"preferences": prefs, "qrels": qrels, "measures": measures}
    scores = pgcjax.evaluate(runs, **{**given, **changes})
    keys = ["run_id", "query_id", "measure"]
    return scores.table.set_index(keys)["value"].sort_index()


def test_any_cut_padding_and_order_of_lines_give_the_same_bits():
    measures = ["PGC", *named(150), *named(9, "p=0.8,graph=combined,")]
    measures += ["PGC(normalization=ideal,ties=mean,n=9,seed=1)"]
    given = collection(4, queries=3, runs=6, most_docs=30)
    whole = values(given, measures, verify=0.1)
    table = whole.unstack()
    for least, mean, greatest in (measures[1:4], measures[4:7]):
        assert (table[least] <= table[mean]).all()
        assert (table[mean] <= table[greatest]).all()
    assert (table[measures[1]] < table[measures[3]]).sum() > 2
    assert_same_bits(whole, values(given, measures[::-1]))
    shuffled = [t.sample(frac=1, random_state=0) for t in given]
    with plan.using(rows=0, chunk=0):  # each run is a chunk
        assert_same_bits(whole, values(shuffled, measures))
    alone = given[2][given[2].run_id == "r2"]
    with plan.using(words=64, together=2, runs=4), at_least(documents=96):
        assert_same_bits(whole, values(given, measures))
        own = values((*given[:2], alone), measures)
        assert_same_bits(whole.loc[["r2"]], own)


def test_grades_alone_leave_nothing_to_such_orders():
    given = collection(5, queries=2)
    measures = ["PGC(graph=derived)", *named(50, "graph=derived,")]
    plain, *tied = values(given, measures).unstack()[measures].to_numpy().T
    assert all((own == plain).all() for own in tied)


def test_what_makes_no_sense_is_refused():
    given: dict = {"preferences": preferences_of([("a", "b")])}
    for measure, message in (
        (
            "PGC(n=7)",
            "PGC(n=7,seed=0): n and seed work only with ties=mean, min, max or error",
        ),
        (
            "PGC(ties=mean,n=1)",
            "n=1: expected how many orders are drawn for ties=mean, min, max and error "
            "where all would take too long, a whole number from 2 to 100000",
        ),
        (
            "PGC(ties=some)",
            "ties=some: expected one of doc_id (documents that were not retrieved "
            "follow the run in ascending doc id), mean, min, max (of the scores by all "
            "orders of these documents), error (standard error of the mean: 0 where it "
            "is exact)",
        ),
        (
            "PGC(ties=mean,seed=-1)",
            "seed=-1: expected of the orders that are drawn, a whole number from 0",
        ),
    ):
        with pytest.raises(UsageError) as error:
            pgcjax.evaluate(run_of(["a"]), measures=measure, **given)
        assert str(error.value) == message
    for measure in ("PGC(ties=mean)", "ExactPGC"):
        with pytest.raises(UsageError) as error:
            pgcjax.uncertainty(run_of(["a"]), measures=measure, **given)
        assert str(error.value) == (
            f"{measure}: resample='judgments' works with PGC of preferences alone; "
            "resample='queries' works with every measure (--resample on the command "
            "line)"
        )
