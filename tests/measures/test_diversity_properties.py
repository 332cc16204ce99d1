"""Measures of diversity: twins, bounds, relatives, and no dependence on what is around.

Made-up collections are heavy in ties; see `diverse`.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from builders import rankings_of
from diverse import collection
from hypothesis import given, settings
from hypothesis import strategies as st

import pgcjax
from pgcjax import listwise, plan
from pgcjax.measures.catalogue import catalogue, parse_all
from pgcjax.measures.relatives import BINARY, GRADED
from pgcjax.tables.intents import read_intent_qrels, read_intents
from pgcjax.tensors.intents import greedy_gains
from pgcjax.tensors.judgments import Judgments

pytestmark = pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning")
seeds = st.integers(0, 10**6)
few = settings(max_examples=4)


def every() -> list[str]:
    """All measures of judgments per intent, one cutoff each."""
    return [
        f"{name}@7" if definition.cutoff != "no" else name
        for name, definition in catalogue().items()
        if "intent_qrels"
        in definition.needs({p.name: p.default for p in definition.parameters})
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


@pytest.mark.parametrize("seed", range(2))
def test_every_measure_equals_its_twin(seed):
    qrels, intents, runs = collection(seed, queries=6, runs=4)
    scores = pgcjax.evaluate(
        runs, intent_qrels=qrels, intents=intents, measures=every(), verify=1.0
    )
    count = 24 * len(every())
    assert scores.notes[-1] == f"{count} of {count} scores recomputed: equal"
    means = scores.table.groupby("measure")["value"].mean()
    assert (means > 0.01).all()


@few
@given(seeds, st.sampled_from(["trec", "clarke", "rank"]))
def test_parameters_equal_their_twins(seed, order):
    values(*collection(seed), order=order, verify=1.0)


def test_bounds():
    """All but gains that are not normalized lie between 0 and 1."""
    open_ended = {"alpha_DCG", "CG-IA", "DCG-IA", "D-CG", "D-DCG", "DIN-CG", "DIN-DCG"}
    names = [name for name in every() if name.partition("@")[0] not in open_ended]
    assert len(every()) - len(names) == len(open_ended)
    for seed in range(2):
        found = values(*collection(seed, queries=12, runs=6), names)
        assert found.min() == 0 and 0.9 < found.max() <= 1 + 1e-12


@few
@given(seeds)
def test_navigational_intents_never_add(seed):
    names = ["CG", "DCG", "nDCG", "ERR"]
    found = values(
        *collection(seed),
        [f"{family}-{name}@9" for name in names for family in ("D", "DIN")],
    ).unstack()
    for name in names:
        assert (found[f"DIN-{name}@9"] <= found[f"D-{name}@9"] + 1e-12).all()


@few
@given(seeds)
def test_intent_recall_grows_with_depth(seed):
    names = [f"I-rec@{k}" for k in range(1, 12)] + ["I-rec"]
    found = values(*collection(seed), names).unstack()[names].to_numpy()
    assert (np.diff(found, axis=1) >= 0).all()
    assert set(np.unique(found)) > {0.0, 1.0} and len(np.unique(found)) > 2


def relatives(families=("{}-IA", "D-{}", "DIN-{}")) -> list[tuple[str, str]]:
    """Pairs of a measure of intents and the graded one that it is made of."""
    names = [base.name for base in (*GRADED, *BINARY)]
    return [
        (family.format(name), name)
        for family in families
        for name in names
        if family.format(name) in catalogue()
    ]


def test_of_one_intent_they_are_the_measures_they_are_made_of():
    pairs = relatives()
    assert len(pairs) == 14 + 10 + 10
    for seed in range(2):
        qrels, intents, runs = collection(seed, queries=5, runs=4)
        one = qrels.drop_duplicates(["query_id", "doc_id"]).assign(intent_id="1")
        intents = intents.drop_duplicates("query_id")
        intents = intents.assign(intent_id="1", probability=1.0, kind="inf")
        several = values(one, intents, runs, [f"{name}@6" for name, _ in pairs])
        plain = pgcjax.evaluate(
            runs,
            qrels=one.drop(columns="intent_id"),
            measures=sorted({f"{base}@6" for _, base in pairs}),
        ).matrix
        several = several.unstack()
        for name, base in pairs:
            expected = plain(f"{base}@6").stack()
            expected = expected.reindex(several.index).to_numpy()
            assert (several[f"{name}@6"].to_numpy() == expected).all(), name
            assert expected.max() > 0.1


def test_without_navigational_intents_din_is_d():
    """To the last bit, as probabilities are ratios of whole numbers here."""
    graded = [base.name for base in GRADED]
    for seed in range(2):
        qrels, intents, runs = collection(seed, queries=5, runs=4)
        names = [f"{family}-{n}@8" for n in graded for family in ("D", "DIN")]
        names += ["P+Q@8", "Q-IA@8", "EfP@8", "P+Q#", "Q-IA", "I-rec"]
        found = values(qrels, intents.assign(kind="inf"), runs, names).unstack()
        for n in graded:
            assert (found[f"D-{n}@8"] == found[f"DIN-{n}@8"]).all()
        assert (found["P+Q@8"] == found["Q-IA@8"]).all()
        mixed = 0.5 * found["I-rec"] + 0.5 * found["Q-IA"]
        assert found["P+Q#"].tolist() == pytest.approx(mixed.tolist(), abs=1e-15)
        found = values(qrels, intents.assign(kind="nav"), runs, ["P+Q@8", "P+-IA@8"])
        assert (found.unstack()["P+Q@8"] == found.unstack()["P+-IA@8"]).all()


@few
@given(seeds)
def test_lines_of_any_input_permuted(seed):
    tables = collection(seed)
    shuffled = [t.sample(frac=1, random_state=seed) for t in tables]
    assert same_bits(values(*tables), values(*shuffled))


@few
@given(seeds)
def test_documents_and_intents_renamed_in_an_order_preserving_way(seed):
    qrels, intents, runs = collection(seed)
    before = values(qrels, intents, runs)
    for table in (qrels, runs):
        table["doc_id"] = table["doc_id"].str.replace("d", "doc-é.", regex=False)
    for table in (qrels, intents):
        table["intent_id"] = [f"{int(i):05}/é" for i in table["intent_id"]]
    assert same_bits(before, values(qrels, intents, runs))


@few
@given(seeds)
def test_intents_renamed_in_any_way(seed):
    """Only decreasing probabilities know of their order."""
    names = [name for name in SOME if "decreasing" not in name]
    qrels, intents, runs = collection(seed)
    before = values(qrels, intents, runs, names)
    name = dict(zip(["1", "2", "3", "10", "11", "20"], "bdface", strict=True))
    for table in (qrels, intents):
        table["intent_id"] = table["intent_id"].map(name)
    after = values(qrels, intents, runs, names)
    assert (before - after).abs().max() < 1e-14


@settings(max_examples=2)
@given(seeds)
def test_runs_and_queries_alone_or_together(seed):
    """With a query that has the highest grade: ERR asks for that of the collection."""
    qrels, intents, runs = collection(seed, queries=3)
    top = pd.DataFrame({"query_id": ["z"], "doc_id": "z", "intent_id": "z"})
    top = top.assign(relevance=3.0, probability=1.0, kind="inf")

    def some(rows, query=None) -> pd.Series:
        tables = [
            t if query is None else t[t.query_id == query] for t in (qrels, intents)
        ]
        judged = [pd.concat([t, top[t.columns]]) for t in tables]
        found = values(*judged, rows)
        return found[found.index.get_level_values("query_id") != "z"]

    together = some(runs)
    apart = [some(rows) for _, rows in runs.groupby("run_id")]
    assert same_bits(together, pd.concat(apart).sort_index())
    apart = [some(rows, query) for query, rows in runs.groupby("query_id")]
    assert same_bits(together, pd.concat(apart).sort_index())


def scored(tables, measures=SOME, **options) -> list[np.ndarray]:
    qrels, intents, runs = tables
    chosen = parse_all(measures)
    judged = {
        "intent_qrels": read_intent_qrels(qrels),
        "intents": read_intents(intents),
    }
    judgments = Judgments(judged)
    tensors = [m.definition.tensors(m.parameters, judgments) for m in chosen]
    assert all(tensor.docs is tensors[0].docs for tensor in tensors)
    rankings = rankings_of(runs, tensors[0].docs)
    out: dict[int, np.ndarray] = {}
    for group in listwise.groups(chosen, tensors):
        parts = listwise.scores(group, rankings, **options)
        out.update(zip(group.places, parts, strict=True))
    return [out[i] for i in range(len(chosen))]


def same(some: list[np.ndarray], others: list[np.ndarray]) -> bool:
    return all((a == b).all() for a, b in zip(some, others, strict=True))


def test_cut_into_tiles_of_any_size():
    tables = collection(7, queries=6, runs=5, most_docs=70)
    whole = scored(tables)
    assert all(0 < part.mean() < 1 for part in whole)
    for budget in (1, 20_000, 200_000):
        assert same(scored(tables, budget=budget), whole)


def test_padding_changes_no_bit(monkeypatch):
    tables = collection(8, queries=6, runs=9, most_docs=70)
    whole = scored(tables)
    monkeypatch.setattr(listwise, "_width", lambda n: 300)
    monkeypatch.setattr(listwise, "_axis", lambda n: n + 37)
    assert same(scored(tables), whole)


def test_alone_or_among_others():
    tables = collection(9, queries=6, runs=9, most_docs=70)
    whole = scored(tables)
    for i, measure in enumerate(SOME):
        assert same(scored(tables, [measure]), [whole[i]])


def test_one_run_at_a_time(monkeypatch):
    tables = collection(10, queries=6, runs=9, most_docs=70)
    whole = scored(tables)
    monkeypatch.setattr(plan, "RUNS", 1)
    monkeypatch.setattr(plan, "QUERIES", 1)
    assert same(scored(tables), whole)


CHILD = """
import sys, warnings
import jax
jax.config.update("jax_num_cpu_devices", int(sys.argv[1]))
warnings.simplefilter("ignore")
from diverse import collection
from test_diversity_properties import values
assert len(jax.local_devices()) == int(sys.argv[1])
sys.stdout.buffer.write(values(*collection(3, queries=11)).to_numpy().tobytes())
"""


@pytest.mark.slow
def test_one_or_eight_devices():
    here = Path(__file__).parent
    path = [here, here.parent, Path(pgcjax.__file__).parents[1]]
    outputs = [
        subprocess.run(
            [sys.executable, "-c", CHILD, str(devices)],
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(map(str, path)),
                "JAX_PLATFORMS": "cpu",
            },
            capture_output=True,
            check=True,
        ).stdout
        for devices in (1, 8)
    ]
    assert len(outputs[0]) == 8 * 11 * 3 * len(SOME)
    assert outputs[0] == outputs[1]


@given(seeds, st.sampled_from([0.0, 0.25, 0.3, 0.5, 0.9, 1.0]))
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
    """Two topics of each year; grades -2 to 3, up to 8 intents."""
    folder = data / "web-diversity"
    for year in range(2009, 2013):
        qrels = read_intent_qrels(folder / f"qrels/{year}.diversity.qrels.gz")
        some = sorted(qrels["query_id"].unique())[::25]
        scores = pgcjax.evaluate(
            folder / f"runs/dssa_wt{year}.run.gz",
            intent_qrels=qrels[qrels["query_id"].isin(some)],
            intents=folder / f"topics/wt{year}.topics.xml.gz",
            measures=[name.replace("@7", "@20") for name in every()],
            verify=1.0,
        )
        count = len(some) * len(every())
        assert scores.notes[-1].startswith(f"{count} of {count} scores")
        assert 0.1 < scores.mean().loc[:, "alpha_nDCG@20"].iloc[0] < 0.9
