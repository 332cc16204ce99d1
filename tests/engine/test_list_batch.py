"""Measures of ranked lists: the same bits however a job is cut, and as the twins."""

import numpy as np
from helpers.builders import list_scores, rankings_of
from helpers.collections import collection

from pgcjax.engine import list_batch, plan
from pgcjax.engine.batch import BatchSetting, Member
from pgcjax.io.graded import read_qrels
from pgcjax.measures.catalogue import parse_all
from pgcjax.tensors.judgments import Judgments

MEASURES = ["nDCG@5", "nDCG", "nDCG(gain=exp)@40"]


def scored(tables, measures=MEASURES, **options) -> list[np.ndarray]:
    _, qrels, runs = tables
    chosen = parse_all(measures)
    judgments = Judgments({"qrels": read_qrels(qrels)})
    tensors = [m.prepare(judgments) for m in chosen]
    rankings = rankings_of(runs, tensors[0].docs)
    return list_scores(chosen, tensors, rankings, **options)


def same(some: list[np.ndarray], others: list[np.ndarray]) -> bool:
    return all((a == b).all() for a, b in zip(some, others, strict=True))


def test_measures_of_a_depth_share_a_call():
    tables = collection(5, queries=2, runs=2, most_docs=9)
    chosen = parse_all(["nDCG@5", "nDCG@20", "nDCG", "nDCG(gain=exp)@100"])
    judgments = Judgments({"qrels": read_qrels(tables[1])})
    tensors = [m.prepare(judgments) for m in chosen]
    members = list(map(Member, range(4), chosen, tensors))
    batches = list_batch.batches(members, BatchSetting())
    places = [[m.place for m in batch.members] for batch in batches]
    assert places == [[0, 1], [2], [3]]


def test_measures_share_arrays_by_what_they_read_of_parameters():
    """And not by contents, so that all judgments have one program."""
    _, qrels, _ = collection(5, queries=2, runs=2, most_docs=9)
    names = ["nDCG@5", "DCG(discount=original)@3", "nDCG(gain=exp)@5", "P(rel=2)@5"]
    chosen, layouts = parse_all([*names, "P(rel=2)@3", "P@5"]), []
    for grades in (qrels["relevance"], 1):
        judgments = Judgments({"qrels": read_qrels(qrels.assign(relevance=grades))})
        tensors = [m.prepare(judgments) for m in chosen]
        members = list(map(Member, range(len(chosen)), chosen, tensors))
        (batch,) = list_batch.batches(members, BatchSetting())
        layouts.append([which for _, which in batch.arrays.layouts])
    # Gains, and a number of each measure but DCG: of the ideal list, or of documents.
    assert layouts == [[(0, 1), (0,), (2, 3), (4, 5), (4, 6), (7, 8)]] * 2


def test_cut_into_tiles_of_any_size():
    tables = collection(7, queries=6, runs=5, most_docs=70)
    whole = scored(tables)
    assert all(0 < part.mean() < 1 for part in whole)
    for budget in (1, 20_000, 200_000):
        assert same(scored(tables, budget=budget), whole)
    with plan.using(runs=1, queries=1):
        assert same(scored(tables), whole)
