"""Scores by several orders of documents that a run lacks: all orders tried, any cut."""

from itertools import permutations
from math import factorial

import numpy as np
import pandas as pd
import pytest
from helpers.builders import preferences_of, run_of
from helpers.collections import assert_same_bits, collection
from helpers.queries import runs_of, scores_of, tables

import pgcjax
from pgcjax.engine import plan, tie_batch, tied_orders
from pgcjax.errors import UsageError
from pgcjax.reference.pgc import drawn_orders, greedy_ideal
from pgcjax.reference.rbo import rbo
from pgcjax.tensors.padding import at_least

pytestmark = [
    pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning"),
]
EXACT = 1e-12
SENSITIVE = (1, 3, 20, 24, 27, 29)  # seeds of graphs whose scores move


def named(n: int, more: str = "") -> list[str]:
    """The measures by n orders: least, mean, greatest."""
    return [f"PGC({more}ties={ties},n={n})" for ties in ("min", "mean", "max")]


def by_every_order(edges, run) -> list[float]:
    """Scores by each order of the documents that the run lacks."""
    lacks = sorted({doc for edge in edges for doc in edge} - {*run})
    return [
        rbo(run, greedy_ideal(edges, [*run, *order])) for order in permutations(lacks)
    ]


def test_all_orders_are_tried_where_n_covers_them_and_drawn_ones_are_of_them():
    """Of 6 documents in cycles, runs have none to all; of SENSITIVE graphs, two."""
    drawn = []
    for i, seed in enumerate([*SENSITIVE, *range(18)]):
        rng = np.random.default_rng(seed)
        docs = [f"d{i}" for i in range(6)]
        edges = [(a, b) for a in docs for b in docs if a != b and rng.random() < 0.5]
        run = rng.permutation(docs).tolist()
        drawn.append((edges, run[: 2 if i < len(SENSITIVE) else i % 7]))
    measures = ["PGC", *named(720), *named(5)]
    scores = scores_of(
        measures,
        runs_of(run=[run for _, run in drawn]),
        preferences=tables(preferences_of(edges) for edges, _ in drawn),
    )
    counts, wide = set(), 0
    for case, own in zip(drawn, scores.to_numpy().tolist(), strict=True):
        plain, least, mean, greatest, *few = own
        every = by_every_order(*case)
        assert least == pytest.approx(min(every), abs=EXACT)
        assert mean == pytest.approx(np.mean(every), abs=EXACT)
        assert greatest == pytest.approx(max(every), abs=EXACT)
        assert least <= plain <= greatest
        assert least <= few[0] <= few[1] <= few[2] <= greatest
        if len(every) == 1:
            assert {least, mean, greatest, *few} == {plain}
        if len(every) <= 5:
            assert few == [least, mean, greatest]
        counts.add(len(every))
        wide += greatest - least > 0.001
    assert wide >= len(SENSITIVE) and counts == {1, 2, 6, 24, 120, 720}


def test_orders_are_those_of_the_twin_and_the_first_are_those_of_few():
    docs = [f"d{i:02}" for i in range(9)]
    expected = drawn_orders(docs, 130, 3, "query é")
    found = [
        [docs[i] for i in row if i < len(docs)]
        for block in tied_orders.blocks(130)
        for row in tied_orders.drawn("query é", 9, 16, seed=3, block=block).document
    ]
    assert found[:130] == expected and len({*map(tuple, expected)}) == 130
    assert drawn_orders(docs, 7, 3, "query é") == expected[:7]
    assert drawn_orders(docs, 7, 4, "query é") != expected[:7]
    for n, most in ((1, 1), (2, 2), (5, 2), (6, 3), (719, 5), (720, 6)):
        own = [tied_orders.listed(n, block) for block in tied_orders.blocks(n)]
        assert own[0].number.tolist() == [*map(factorial, range(most + 1)), n]
        document = np.concatenate([part.orders.document for part in own])
        rows = document[: factorial(most), most]
        assert rows.tolist() == [list(x) for x in permutations(range(most))]


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
    few = values(given, ["PGC(ties=max,n=9)"])
    assert (few.to_numpy() <= table[measures[3]].to_numpy()).all()


def test_large_graphs_and_large_degrees_are_peeled_without_words():
    prefs, qrels, runs = collection(4, queries=2, runs=4, most_docs=12)
    measures = named(3)
    whole = values((prefs, qrels, runs), measures)
    many = prefs.assign(weight=1000)
    with at_least(documents=768):
        assert_same_bits(whole, values((prefs, qrels, runs), measures))
    assert_same_bits(whole, values((many, qrels, runs), measures))


def test_grades_alone_leave_nothing_to_such_orders():
    given = collection(5, queries=2)
    measures = ["PGC(graph=derived)", *named(50, "graph=derived,")]
    plain, *tied = values(given, measures).unstack()[measures].to_numpy().T
    assert all((own == plain).all() for own in tied)


def test_a_gpu_takes_as_many_steps_as_there_are_places(monkeypatch):
    """Graphs have fewer vertices than that, and other numbers of them."""
    given = collection(3, queries=2, runs=3)
    here = values(given, named(9))
    monkeypatch.setattr(tie_batch, "default_backend", lambda: "gpu")
    assert_same_bits(here, values(given, named(9)))


def test_a_job_goes_on_where_it_was_stopped(tmp_path):
    prefs, _, runs = collection(4, queries=2, runs=3, most_docs=20)
    paths = []
    for name, rows in runs.groupby("run_id"):
        paths.append(tmp_path / f"{name}.csv")
        rows.to_csv(paths[-1], index=False)
    given: dict = {"preferences": prefs, "measures": named(9)}
    whole = pgcjax.evaluate(paths, **given)
    ended, again = [], []

    def stop(stage, done, total):
        """Stop in the second chunk: a run each."""
        ended.append(stage == "scoring" and done == total)
        if sum(ended) == 2:
            raise KeyboardInterrupt

    journal = tmp_path / "kept"
    with plan.using(seconds=0.0, rows=0):
        with pytest.raises(KeyboardInterrupt):
            pgcjax.evaluate(
                paths, job=pgcjax.Job(journal=journal, progress=stop), **given
            )
        job = pgcjax.Job(journal=journal, progress=lambda *said: again.append(said))
        rest = pgcjax.evaluate(paths, job=job, **given)
    assert sum(stage == "scoring" and done == of for stage, done, of in again) == 2
    assert rest.table.equals(whole.table)


def test_what_makes_no_sense_is_refused():
    given: dict = {"preferences": preferences_of([("a", "b")])}
    for measure, message in (
        (
            "PGC(n=7)",
            "PGC(n=7,seed=0): n and seed are of ties=mean, min or max",
        ),
        (
            "PGC(ties=mean,n=0)",
            "n=0: expected how many orders ties=mean, min and max are of, a whole "
            "number from 1 to 100000: drawn at random or, where there are no more, all "
            "of them",
        ),
        (
            "PGC(ties=some)",
            "ties=some: expected one of doc_id (documents that were not retrieved "
            "follow the run in ascending doc id), mean, min, max (of the scores by n "
            "orders of these documents)",
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
            f"{measure}: resample='judgments' is of PGC of preferences alone; "
            "resample='queries' is of every measure (--resample on the command line)"
        )
