"""All measures of the catalogue at once: as their twins, and the same bits always.

However they are laid out, and whatever settings of JAX a host program, or a shell, has.
"""

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import jax
import numpy as np
import pandas as pd
import pytest
from engine.test_grid_batch import MEASURES as OF_GRIDS
from engine.test_grid_batch import pages
from helpers import processes, tied
from helpers.collections import MEASURES, assert_same_bits, collection
from helpers.collections import values as some_measures
from helpers.preference_cases import with_levels

import pgcjax
from pgcjax.engine import plan
from pgcjax.measures.catalogue import catalogue, parse
from pgcjax.stats import procedures
from pgcjax.tensors.padding import at_least

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning"),
]
VARIANTS = (
    # grades
    ["CG(gain=exp)", "DCG(discount=original)@20", "MSnDCG@40"]
    + ["ERR(stop=linear,gmax=topic)@20", "Q(gain=exp,beta=0.3)@5", "P+(gain=exp)@10"]
    + ["RBP(gain=exp,p=0.8)@40", "RBP(value=residual)", "RR(rel=2)@5", "R(rel=2)@20"]
    + ["AP(rel=2,relevant=reachable)@3"]
    # preferences
    + ["wpref(weight=upper)@3", "wpref(weight=tool,normalize=false)"]
    + ["APpref(closure=true)", "prefs_avgjg_ret(closure=true)"]
    + ["ppref(graph=combined,bad=false)@5", "Delta-nDCG(graph=combined)"]
    + ["PGC(p=0.5,graph=combined)", "PGC(normalization=ideal)"]
    + ["PGC(ties=mean,n=7)", "PGC(ties=max,n=7)", "ExactPGC(ideal=farthest,p=0.8)"]
    + ["PGC(ideal=exact,depth=9)", "PGC(ideal=borda)", "PGC(ideal=copeland,soft=both)"]
    + ["PGC(ideal=bt,graph=combined)", "PGC(ideal=rank-centrality,p=0.7)"]
    # intents
    + ["alpha_nDCG(alpha=0.3)", "NRBP(alpha=0.1,beta=0.8)", "ERR-IA(gmax=topic)"]
    + ["ERR-IA(form=ndeval)@20", "Q-IA(probabilities=decreasing)"]
    + ["RBP-IA(gain=linear,p=0.8)", "D-nDCG(gain=exp)@10", "D#-Q(gamma=0.3,beta=2)"]
    + ["DIN-nDCG(probabilities=uniform)@5", "DIN#-P+(probabilities=decreasing)@10"]
    # context
    + ["CG(context=1)", "DCG(gain=exp,context=0.3)", "CCG(form=single,context=1)@7"]
    + ["ERR(gmax=topic,context=0.7,missing=first)", "CCG(missing=first)@10"]
    + ["CCG(missing=predicted)@10", "ERR(context=0.5,missing=predicted)@10"]
)

ONE_TILE = {"documents": 64, "axis": 64, "width": 64, "ranks": 63, "queries": 1}
STRICT = {"jax_numpy_rank_promotion": "raise", "jax_numpy_dtype_promotion": "strict"}


def names() -> list[str]:
    """Every measure of lists, whole and with a cutoff, and some with parameters."""
    whole = [
        name + {"no": "", "may": "", "must": "@10", "level": "@0.3"}[known.cutoff]
        for name, known in catalogue().items()
    ]
    cut = [f"{n}@5" for n, d in catalogue().items() if d.cutoff == "may"]
    found = [(name, parse(name)) for name in [*whole, *cut, *VARIANTS]]
    return [n for n, m in found if "grids" not in m.needs]


def some_names(share: bool) -> list[str]:
    """A sixth of the measures, or the others; cutoffs are those of variants."""
    every = [name for name in names() if not name.endswith("@5") or name in VARIANTS]
    return [name for i, name in enumerate(every) if (i % 6 == 0) == share]


def everything(seed: int, queries: int = 4, runs: int = 5) -> dict:
    """Runs, and judgments of every kind: ties, conflicts, decimals, no order of lines.

    Query q0 is small and has the highest grade, of documents and of intents.
    """
    rng = np.random.default_rng(seed)
    prefs, qrels, ranked = collection(seed, queries, runs, most_docs=25)
    top = qrels["query_id"].ne("q0") | qrels.duplicated("query_id")
    # Of decimals, sums depend on the order of the summands.
    grades = rng.choice([-2, 0, 0.1, 0.3, 0.7, 1, 1.1, 3], len(qrels))
    qrels = qrels.assign(relevance=np.where(top, grades, 3.0))
    judged = []
    for name in ("2", "10", "11"):
        part = qrels.assign(intent_id=name)
        part["relevance"] = rng.integers(-1, 4, len(part)).astype(float)
        part.loc[~top, "relevance"] = 3.0
        judged.append(part[~top.to_numpy() | (rng.random(len(part)) < 0.7)])
    rows = [
        (query, intent, share, "nav" if rng.random() < 0.5 else "inf")
        for query in sorted(set(qrels["query_id"]))
        for intent, share in (("2", 0.55), ("10", 0.25), ("11", 0.2))
    ]
    first = ["query_id", "doc_id"]
    context = prefs.drop_duplicates([*first, "other_doc_id"])
    context = context.rename(columns={"other_doc_id": "previous_doc_id"})
    context = context.assign(relevance=rng.integers(0, 4, len(context)).astype(float))
    columns = ["query_id", "intent_id", "probability", "kind"]
    return {
        "runs": ranked,
        "preferences": with_levels(
            prefs.assign(
                judge=rng.choice(["u", "v"], len(prefs)), weight=rng.integers(1, 3)
            )
        ),
        "qrels": qrels,
        "intent_qrels": pd.concat(judged),
        "intents": pd.DataFrame(rows, columns=columns),
        "context": context[[*first, "previous_doc_id", "relevance"]],
    }


def values(tables: dict, measures: list[str] | None = None) -> pd.Series:
    return indexed(pgcjax.evaluate(**tables, measures=measures or names()))


def indexed(scores: pgcjax.Scores) -> pd.Series:
    keys = ["run_id", "query_id", "measure"]
    return scores.table.set_index(keys)["value"].sort_index()


@pytest.fixture(scope="module", autouse=True)
def one_tile():
    """Give every call the shapes of one tile, so that they share programs."""
    with plan.using(runs=4, queries=2), at_least(**ONE_TILE):
        yield


@contextmanager
def other_tiles():
    """Give every call other shapes: tiles of a run, and less padding."""
    lengths = {"documents": 30, "axis": 20, "width": 70, "ranks": 1}
    with plan.using(runs=1, queries=1), at_least(**lengths, runs=1, queries=1):
        yield


@contextmanager
def settings(values: dict):
    """Have these settings of JAX, as a host program may."""
    before = {name: jax.config.values[name] for name in values}
    for name, value in values.items():
        jax.config.update(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            jax.config.update(name, value)


@pytest.fixture(scope="module")
def tables() -> dict:
    pytest.importorskip("sklearn", reason="pip install 'pgcjax[context]'")
    return everything(21)


@pytest.fixture(scope="module")
def whole(tables) -> pd.Series:
    """All scores, each as its twin has it."""
    scores = pgcjax.evaluate(**tables, measures=names(), verify=1.0)
    count = len(scores.table)
    assert scores.notes[-1] == f"{count} of {count} scores recomputed: equal"
    return indexed(scores)


def test_as_the_twins(whole):
    assert len(whole) == 20 * len(names()) and np.isfinite(whole).all()
    assert whole.abs().groupby("measure").max().gt(0).all()


def test_tiles_and_padding_and_strict_promotion(tables, whole):
    """Of all but the sixth that eight devices have so."""
    with settings(STRICT), other_tiles():
        found = values(tables, some_names(share=False))
    assert len(found) == 20 * len(some_names(share=False))
    differs = found.index[(found != whole[found.index]).to_numpy()]
    assert not len(differs), sorted(set(differs.get_level_values("measure")))


def test_lines_permuted_and_documents_renamed(tables, whole):
    changed = {}
    for kind, table in tables.items():
        table = table.sample(frac=1, random_state=1)
        for column in ("doc_id", "other_doc_id", "previous_doc_id"):
            if column in table:  # the order of code points is kept
                table[column] = table[column].str.replace("d", "doc-é.", regex=False)
        changed[kind] = table
    assert_same_bits(whole, values(changed))


def test_a_run_and_a_query_alone(tables, whole):
    """With the query that has the highest grade, as ERR asks for the collection's."""
    some = [n for n in names() if "predicted" not in n]  # they learn from all queries
    mine = {**tables, "runs": tables["runs"].query("run_id == 'r2'")}
    alone = values(mine)
    assert len(alone) == 4 * len(names())
    assert_same_bits(whole[whole.index.isin(alone.index)], alone)
    kept = ["q0", "q3"]
    mine = {k: t[t["query_id"].isin(kept)] for k, t in tables.items()}
    alone = values(mine)
    alone = alone[alone.index.isin([str(parse(n)) for n in some], level="measure")]
    assert len(alone) == 5 * 2 * len(some)
    assert_same_bits(whole[whole.index.isin(alone.index)], alone)


def test_alone_or_among_other_measures(tables, whole):
    for name in names()[::29]:
        alone = values(tables, [name])
        assert_same_bits(whole[whole.index.isin(alone.index)], alone)


UNCOMPILED = ["PGC", "Compat", "nDCG", "wpref", "P+Q", "CCG@10"]


def uncompiled(folder: Path, told: dict[str, str]) -> None:
    """Score two runs on a query; alone in a process, where no call is checked."""
    processes.prepare(folder, told)
    few = {k: table.query("query_id == 'q0'") for k, table in everything(21).items()}
    few["runs"] = few["runs"].query("run_id in ('r0', 'r1')")
    small = {"documents": 16, "axis": 16, "width": 16, "ranks": 15}
    with settings({"jax_disable_jit": True}), at_least(**small, queries=1):
        values(few, UNCOMPILED).to_pickle("scores")


def test_without_compilation(tmp_path, whole):
    """Of each kind of kernel a measure: one operation after another takes long."""
    how = tmp_path, dict(os.environ)
    process = processes.context().Process(target=uncompiled, args=how)
    process.start()
    process.join()
    alone = pd.read_pickle(tmp_path / "scores")
    assert len(alone) == 2 * len(UNCOMPILED)
    assert_same_bits(whole[whole.index.isin(alone.index)], alone)


CHILD = """
import sys, warnings
import jax
jax.config.update("jax_num_cpu_devices", 8)
warnings.simplefilter("ignore")
from test_every_measure import ONE_TILE, at_least, everything
from test_every_measure import other_tiles, others, some_names, values
assert len(jax.local_devices()) == 8
with other_tiles():
    found = values(everything(21), some_names(share=True))
sys.stdout.buffer.write(found.to_numpy().tobytes())
with at_least(**ONE_TILE):
    sys.stdout.buffer.write(others())
"""


def others() -> bytes:
    """Tiles of peeled graphs and grids, pairs of rankings, tests, draws, and models."""
    tables = collection(3, queries=11)
    found = [some_measures(*tables)]
    for ties in ("w", "b", "broken"):
        table = pgcjax.rankings.rbo(tied.collection(11, runs=11), ties=ties).table
        keys = ["run_a", "run_b", "query_id", "measure"]
        found.append(table.set_index(keys)["value"].sort_index())
    grades = {f"q{q}": {f"d{d:02}": d % 4 for d in range(0, 30, 1 + q)} for q in (0, 2)}
    with plan.using(lists=4):
        runs, between = tied.collection(12, runs=11), ["RPP(weight=dcg)", "lexirecall"]
        how = {"measures": between, "per_query": True}
        table = pgcjax.rankings.prefer(runs, qrels=grades, **how).per_query()
        found.append(table["preference"])
    assert len(found[0]) == 11 * 4 * len(MEASURES)
    assert all(len(values) > 100 for values in found[1:])
    scores = np.random.default_rng(0).random((12, 30)).round(2)
    for test in ("bootstrap", "permutation", "tukey"):
        p = procedures.p_values(scores, test, resamples=2345)
        assert p.shape == (66,)
        found.append(pd.Series(p))
    prefs, _, runs = tables
    drawn = pgcjax.uncertainty(runs, preferences=prefs, measures="PGC", replicates=8)
    found.append(pd.Series(drawn.replicates["PGC"].ravel()))
    orders = ["PGC(ties=min,n=9)", "PGC(ties=mean,n=9)", "PGC(ties=max,n=9)"]
    scores = pgcjax.evaluate(runs, preferences=prefs, measures=orders)
    found += [scores.matrix(name).stack() for name in orders]
    grids, votes = pages(3, queries=2, systems=2)
    page = pgcjax.evaluate(grids, preferences=votes, measures=OF_GRIDS)
    few = prefs.groupby("query_id").head(4)  # so that all sets have one size
    fitted = pgcjax.judgments.fit(few)
    found += [indexed(page), fitted.table["strength"]]
    return b"".join(values.to_numpy().tobytes() for values in found)


def test_eight_devices(whole):
    """A sixth of the measures, in other tiles and settings: each device has queries.

    One process computes whatever is laid out over devices, as starting it and
    compiling for eight devices takes longest.
    """
    here = Path(__file__).parent
    paths = map(str, [here, here.parent, Path(pgcjax.__file__).parents[1]])
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "JAX_PLATFORMS": "cpu"}
    env |= {name.upper(): value for name, value in STRICT.items()}
    run = subprocess.run(
        [sys.executable, "-c", CHILD], env=env, capture_output=True, check=True
    )
    sixth = [str(parse(name)) for name in some_names(share=True)]
    expected = whole[whole.index.isin(sixth, level="measure")].to_numpy().tobytes()
    assert len(jax.local_devices()) < 8
    assert run.stdout[: len(expected)] == expected
    assert run.stdout[len(expected) :] == others()
