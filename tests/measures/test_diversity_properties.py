"""Measures of diversity: twins, bounds, relatives, and no dependence on what is around.

Made-up collections are heavy in ties; see `diverse`.
"""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from helpers.diverse import collection
from helpers.queries import joined
from hypothesis import given
from hypothesis import strategies as st

import pgcjax
from pgcjax.io.graded import read_intent_qrels
from pgcjax.io.intents import read_intents
from pgcjax.measures.catalogue import catalogue, parse
from pgcjax.measures.derived_measures import BINARY, GRADED
from pgcjax.tensors.intents import greedy_gains

pytestmark = [
    pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning"),
]


def every() -> list[str]:
    """All measures of judgments per intent, one cutoff each."""
    return [
        f"{name}@7" if measure.cutoff != "no" else name
        for name, measure in catalogue().items()
        if "intent_qrels" in measure.needs
    ]


SOME = [
    "alpha_nDCG@5",
    "alpha_nDCG(alpha=0.3)",
    "NRBP(alpha=0.1,beta=0.8)",
    "I-rec@3",
    "EfP@5",
    "nDCG-IA@5",
    "ERR-IA(gmax=topic)",
    "ERR-IA(form=ndeval)@20",
    "Q-IA(probabilities=decreasing)",
    "RBP-IA(gain=linear,p=0.8)",
    "D-nDCG(gain=exp)@10",
    "D#-Q(gamma=0.3,beta=2.0)",
    "DIN-nDCG(probabilities=uniform)@5",
    "DIN-ERR",
    "DIN#-P+(probabilities=decreasing)@10",
    "P+Q@5",
    "P+Q#",
]


def values(qrels, intents, runs, measures=SOME, **options) -> pd.Series:
    scores = pgcjax.evaluate(
        runs, intent_qrels=qrels, intents=intents, measures=measures, **options
    )
    keys = ["run_id", "query_id", "measure"]
    return scores.table.set_index(keys)["value"].sort_index()


def same_bits(a: pd.Series, b: pd.Series) -> bool:
    assert a.index.equals(b.index)
    return a.to_numpy().tobytes() == b.to_numpy().tobytes()


@cache
def drawn(seeds=(0, 1, 2, 3), **sizes: int) -> list[pd.DataFrame]:
    """Judgments per intent, intents and runs of several made-up collections."""
    return joined(collection, seeds, **sizes)


def twelve(*seeds: int) -> list[pd.DataFrame]:
    """Twelve queries and four runs: all tests of `every` share its program."""
    return drawn(seeds, queries=6, runs=4)


@cache
def scored(*seeds: int) -> pd.DataFrame:
    """Scores of every measure, a column for each."""
    return values(*twelve(*seeds), every()).unstack()


PAIRS_OF_SEEDS = (0, 1), (2, 3), (4, 5)


def test_every_measure_equals_its_twin():
    qrels, intents, runs = twelve(0, 1)
    scores = pgcjax.evaluate(
        runs, intent_qrels=qrels, intents=intents, measures=every(), verify=1.0
    )
    count = 2 * 24 * len(every())
    assert scores.notes[-1] == f"{count} of {count} scores recomputed: equal"
    means = scores.table.groupby("measure")["value"].mean()
    assert (means > 0.01).all()


@pytest.mark.parametrize("order", ["trec", "clarke", "rank"])
def test_parameters_equal_their_twins(order):
    values(*drawn(), order=order, verify=1.0)


def test_bounds():
    """All but gains that are not normalized lie between 0 and 1."""
    open_ended = {"alpha_DCG", "CG-IA", "DCG-IA", "D-CG", "D-DCG", "DIN-CG", "DIN-DCG"}
    names = [name for name in every() if name.partition("@")[0] not in open_ended]
    assert len(every()) - len(names) == len(open_ended)
    for seeds in PAIRS_OF_SEEDS:
        found = scored(*seeds)[names]
        assert found.min(axis=None) == 0 and 0.9 < found.max(axis=None) <= 1 + 1e-12


def test_navigational_intents_never_add():
    for seeds in PAIRS_OF_SEEDS:
        found = scored(*seeds)
        for name in ("CG", "DCG", "nDCG", "ERR"):
            assert (found[f"DIN-{name}@7"] <= found[f"D-{name}@7"] + 1e-12).all()


def test_intent_recall_grows_with_depth():
    names = [f"I-rec@{k}" for k in range(1, 12)] + ["I-rec"]
    found = values(*drawn(), names).unstack()[names].to_numpy()
    assert (np.diff(found, axis=1) >= 0).all()
    assert set(np.unique(found)) > {0.0, 1.0} and len(np.unique(found)) > 2


def relatives(families=("{}-IA", "D-{}", "DIN-{}")) -> list[tuple[str, str]]:
    """Pairs of a measure of intents and the graded one that it is made of."""
    names = [of.name for of in (*GRADED, *BINARY)]
    return [
        (family.format(name), name)
        for family in families
        for name in names
        if family.format(name) in catalogue()
    ]


def test_of_one_intent_they_are_the_measures_they_are_made_of():
    pairs = relatives()
    assert len(pairs) == 14 + 10 + 10
    qrels, intents, runs = twelve(0, 1)
    one = qrels.drop_duplicates(["query_id", "doc_id"]).assign(intent_id="1")
    intents = intents.drop_duplicates("query_id")
    intents = intents.assign(intent_id="1", probability=1.0, kind="inf")
    several = values(one, intents, runs, every()).unstack()
    plain = pgcjax.evaluate(
        runs,
        qrels=one.drop(columns="intent_id"),
        measures=sorted({f"{base}@7" for _, base in pairs}),
    ).matrix
    for name, base in pairs:
        expected = plain(f"{base}@7").stack().reindex(several.index).to_numpy()
        assert (several[f"{name}@7"].to_numpy() == expected).all(), name
        assert expected.max() > 0.1


def test_without_navigational_intents_din_is_d():
    """To the last bit, as probabilities are ratios of whole numbers here."""
    graded = [of.name for of in GRADED]
    qrels, intents, runs = twelve(0, 1)
    of_kind = {kind: intents.assign(kind=kind) for kind in ("inf", "nav")}
    found = values(qrels, of_kind["inf"], runs, every()).unstack()
    for n in graded:
        assert (found[f"D-{n}@7"] == found[f"DIN-{n}@7"]).all()
    assert (found["P+Q@7"] == found["Q-IA@7"]).all()
    names = ["P+Q#", "Q-IA", "I-rec"]
    deep = values(qrels, of_kind["inf"], runs, names).unstack()
    mixed = 0.5 * deep["I-rec"] + 0.5 * deep["Q-IA"]
    assert deep["P+Q#"].tolist() == pytest.approx(mixed.tolist(), abs=1e-15)
    found = values(qrels, of_kind["nav"], runs, every()).unstack()
    assert (found["P+Q@7"] == found["P+-IA@7"]).all()


def test_intents_renamed_in_any_way():
    """Only decreasing probabilities know of their order."""
    names = [str(parse(name)) for name in SOME if "decreasing" not in name]
    qrels, intents, runs = drawn()
    before = values(qrels, intents, runs).unstack()[names]
    name = dict(zip(["1", "2", "3", "10", "11", "20"], "bdface", strict=True))
    qrels, intents = (
        table.assign(intent_id=table["intent_id"].map(name))
        for table in (qrels, intents)
    )
    after = values(qrels, intents, runs).unstack()[names]
    assert (before - after).abs().max(axis=None) < 1e-14


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.25, 0.3, 0.5, 0.9, 1.0]))
def test_the_ideal_list_is_greedy(seed, alpha):
    """No other document would be worth more after those above it."""
    rng = np.random.default_rng(seed)
    hit = rng.random((rng.integers(1, 5), rng.integers(1, 9))) < 0.4
    fade = np.cumprod(np.append(1.0, np.full(hit.shape[1], 1 - alpha)))
    gains = greedy_gains(hit, fade)
    assert len(gains) == hit.shape[1]
    seen, left = np.zeros(len(hit), int), list(range(hit.shape[1]))
    for gain in gains:
        worth = {d: float(sum(sorted(fade[seen[hit[:, d]]]))) for d in left}
        assert gain == max(worth.values())
        best = max(d for d in left if worth[d] == gain)
        seen += hit[:, best]
        left.remove(best)
    assert greedy_gains(hit, fade, 2) == gains[:2]


def test_the_real_data_equal_their_twins(data):
    """A topic of each year; grades -2 to 3, up to 8 intents."""
    folder, years = data / "web-diversity", range(2009, 2013)
    qrels, intents, runs = [], [], []
    for year in years:
        judged = read_intent_qrels(folder / f"qrels/{year}.diversity.qrels.gz")
        some = sorted(judged["query_id"].unique())[::50]
        qrels.append(judged[judged["query_id"].isin(some)])
        intents.append(read_intents(folder / f"topics/wt{year}.topics.xml.gz"))
        runs.append(folder / f"runs/dssa_wt{year}.run.gz")
    scores = pgcjax.evaluate(
        pgcjax.files.read_runs(runs, name_by="file").table,
        intent_qrels=pd.concat(qrels),
        intents=pd.concat(intents),
        measures=[name.replace("@7", "@20") for name in every()],
        missing="skip",
        verify=1.0,
    )
    count = len(years) * len(every())
    assert scores.notes[-1].startswith(f"{count} of {count} scores")
    assert 0.1 < scores.matrix("alpha_nDCG@20").mean(axis=None) < 0.9
