"""Compat, RBO, RR and P beside tools that test_graded_tools.py does not ask for them.

pip install ir_measures cwl-eval; and --no-deps rbo, which asks for an old numpy.
"""

import numpy as np
import pytest
from test_graded_tools import (
    beside,
    by_ir_measures,
    collection,
    compare,
    some_of,
    sorted_as_trec,
)

import pgcjax
from pgcjax.measures.catalogue import parse

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning"),
]
KEYS = ["run_id", "query_id"]


def above_0(runs):
    """Let scores differ and be above 0: for tools that take 0 for not retrieved."""
    runs = sorted_as_trec(runs)
    return runs.assign(score=runs["score"] + 10_000)


@pytest.mark.parametrize(("n", "least"), [(100, 700), (20, 150)])
def test_compat_of_ir_measures(data, n, least):
    """It has no depth: it looks as deep as the longer list is, ideal or run."""
    measures = pytest.importorskip("ir_measures")
    qrels, runs = collection(data, "cast2019")
    runs = above_0(some_of(runs)).groupby(KEYS).head(n)
    assert (runs.groupby(KEYS).size() == n).all()
    relevant = qrels[qrels["relevance"] > 0].groupby("query_id").size()
    few = set(relevant[relevant <= n].index)
    qrels, runs = (t[t["query_id"].isin(few)] for t in (qrels, runs))
    chosen = [measures.Compat(p=0.5), measures.Compat(p=0.9, normalize=False)]
    chosen += [measures.Compat(p=0.95)]
    theirs = by_ir_measures(measures, "compat", chosen, qrels, runs)
    names = ["Compat(p=0.5)", "Compat(p=0.9,normalize=false)", "Compat(p=0.95)"]
    cut = [name.replace(")", f",depth={n})") for name in names]
    ours = dict(zip(map(str, chosen), cut, strict=True))
    deep = dict(zip((f"{name} deep" for name in ours), names, strict=True))
    again = [(run, query, f"{name} deep", value) for run, query, name, value in theirs]
    both = beside(ours | deep, theirs + again, qrels, runs)
    assert len(both) == 2 * len(theirs) > 6 * least
    gap = both.groupby("measure")["gap"].max()
    for name, whole in zip(cut, names, strict=True):
        assert gap[str(parse(name))] <= 1e-12
        if n == 100 and "0.5" in whole:  # nothing is left to see below
            assert gap[str(parse(whole))] <= 1e-12
        else:
            assert gap[str(parse(whole))] > 1e-9


def test_compat_of_ir_measures_with_scores_below_0(data):
    """Among equal grades, what was not retrieved stands before scores below 0."""
    measures = pytest.importorskip("ir_measures")
    run = {"q": {"b": -1.0, "a": -2.0}}
    qrels = {"q": {"a": 1, "b": 1, "c": 1, "d": 1}}
    provider = measures.providers.registry["compat"]
    chosen = [measures.Compat(p=0.5)]
    (theirs,) = provider.iter_calc(chosen, qrels, run)
    up = {"q": {doc: score + 3 for doc, score in run["q"].items()}}
    (moved,) = provider.iter_calc(chosen, qrels, up)
    assert moved.value > theirs.value + 0.5  # though the order is the same
    ours = [
        pgcjax.evaluate(r, qrels=qrels, measures="Compat(p=0.5)").table["value"].item()
        for r in (run, up)
    ]
    assert ours[0] == ours[1] == pytest.approx(moved.value, abs=0.05)


@pytest.mark.parametrize("name", ["web2009-2012"])
def test_cwl_eval(data, name):
    """Its AP divides by relevant documents that the run has, not by all there are."""
    measures = pytest.importorskip("ir_measures")
    pytest.importorskip("cwl")
    qrels, runs = collection(data, name)
    runs = sorted_as_trec(some_of(runs))
    chosen = [measures.RR, measures.P @ 10, measures.P(rel=2) @ 100]
    theirs = by_ir_measures(measures, "cwl_eval", chosen, qrels, runs)
    same = {str(m): str(m) for m in chosen}
    assert compare(same, theirs, qrels, runs, 1e-6) == len(theirs) > 3 * 150
    # AP takes it as long as all others of ten runs.
    runs = runs[runs["run_id"] == runs["run_id"].min()]
    theirs = by_ir_measures(measures, "cwl_eval", [measures.AP], qrels, runs)
    scores = pgcjax.evaluate(runs, qrels=qrels, measures=["AP", "R"], missing="skip")
    wide = scores.table.pivot(index=KEYS, columns="measure", values="value")
    other = {row[:2]: row[3] for row in theirs}
    found = np.array([other[key] for key in wide.index])
    assert len(wide) == len(theirs) > 40
    np.testing.assert_allclose(found * wide["R"], wide["AP"], rtol=0, atol=1e-6)
    assert np.abs(found - wide["AP"]).max() > 0.5


def test_rbo_of_the_package_rbo():
    """Its rbo_ext is ext of lists without ties, of any lengths."""
    package = pytest.importorskip("rbo")
    rng = np.random.default_rng(0)
    for p in (0.5, 0.9, 0.98):
        pairs = [
            [rng.permutation(30)[: rng.integers(1, 25)].tolist() for _ in range(2)]
            for _ in range(100)
        ]
        a, b = (
            {
                f"q{i:03}": {f"d{doc}": -float(r) for r, doc in enumerate(pair[side])}
                for i, pair in enumerate(pairs)
            }
            for side in (0, 1)
        )
        found = pgcjax.rankings.rbo({"a": a, "b": b}, p=p, variant="ext", ties="broken")
        theirs = [package.RankingSimilarity(*pair).rbo_ext(p) for pair in pairs]
        ours = found.table.set_index("query_id")["value"]
        ours = ours[[*a]].to_numpy()
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)
        assert len({*theirs}) > 50 and max(theirs) > 0.3
