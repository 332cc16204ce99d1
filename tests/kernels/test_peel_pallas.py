"""The peel in one launch: the bits of `peel_packed`, and one kernel for CUDA."""

from contextlib import nullcontext

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.builders import as_form, flat_of, form_sum, graph_of
from helpers.compiled import mosaic
from helpers.kernel_weights import telling_weights
from helpers.strategies import cases
from hypothesis import given, settings
from hypothesis import strategies as st
from jax.sharding import AbstractDevice, AbstractMesh, use_abstract_mesh

from pgcjax.engine.peel_programs import kernel
from pgcjax.kernels import ABSENT
from pgcjax.kernels.peel_packed import MOST_DEGREE
from pgcjax.reference.pgc import greedy_ideal
from pgcjax.tensors.flat_runs import Documents, Where, by_place
from pgcjax.tensors.padding import lengthened, padded_size

pytestmark = pytest.mark.usefixtures("shapes_of_users")


def over_queries(
    rows,
    words,
    where,
    order,
    inverse,
    ranks,
    steps,
    weights,
    program="triton",
    **options,
):
    """All queries; for each of them, one call computes all runs."""

    def one(rows, words, where, order, inverse, ranks, steps):
        return kernel(program).peeled_overlap(
            rows, words, order, inverse, ranks, steps, weights, where=where, **options
        )

    return jax.vmap(one)(rows, words, where, order, inverse, ranks, steps)


STATIC = ("program", "interpret", "block", "num_warps")
launched = jax.jit(over_queries, static_argnames=STATIC)
placed = jax.jit(jax.vmap(by_place, (None, 0, None)), static_argnums=2)


def tile_of(graphs, ranks, form: str, size: int):
    """Queries as the engine lays them out; `ranks` is `[runs, n]` for each query."""
    width = max(rank.shape[1] for rank in ranks)
    every = [
        np.pad(rank, [(0, 0), (0, width - rank.shape[1])], constant_values=ABSENT)
        for rank in ranks
    ]
    flat = flat_of(np.array(every))
    room = padded_size(flat.count.size * size)  # as of runs that retrieved something
    documents = Documents(*(lengthened(x, room) for x in flat.documents))
    moving = placed(documents, Where(flat.first, flat.count), size)
    vertices = np.array([len(graph) for graph in graphs], np.int32)
    return as_form(form, graphs, size), moving, vertices


def launched_sums(tile, weights, *, more: int = 0, **options):
    (fixed, moving, steps), interpret = tile, jax.default_backend() == "cpu"
    args = (*fixed, *moving, steps + np.int32(more), weights)
    with jax.enable_x64(True):
        sums = launched(*args, interpret=interpret, **options)
    assert sums.dtype == np.int64
    return np.asarray(sums)


def check(graphs, ranks, weights, size: int, **options) -> np.ndarray:
    tile = tile_of(graphs, ranks, "packed", size)
    sums = launched_sums(tile, weights, **options)
    for form in ("packed", "wide"):
        each = [
            [form_sum(graph, row, weights, form) for row in of_graph]
            for graph, of_graph in zip(graphs, ranks, strict=True)
        ]
        assert (sums == np.array(each)).all()
    return sums


def judged(rng, n: int, density: float, most: int = 3):
    """Conflicting judgments of the same pairs, some of them several times."""
    counts = rng.integers(1, most + 1, (n, n)) * (rng.random((n, n)) < density)
    np.fill_diagonal(counts, 0)
    return graph_of(counts)


def ranked(rng, runs: int, n: int, share: float = 0.6) -> np.ndarray:
    """Ranks of some of n documents, in runs that rank others as well."""
    ranks = np.array([rng.permutation(2 * n)[:n] for _ in range(runs)], np.int32)
    return np.where(rng.random((runs, n)) < share, ranks.reshape(runs, n), ABSENT)


@settings(max_examples=60)
@given(cases(), st.integers(0, 10**6))
def test_equals_the_peels_and_the_twin(case, seed):
    weights, ranks = telling_weights(seed), case.ranks
    [[total]] = check([graph_of(case.counts)], [ranks[None]], weights, 16)
    twin = greedy_ideal(case.edges, case.run, tuple(case.docs))
    ideal = np.array([twin.index(doc) for doc in case.docs])
    assert total == weights[np.minimum(np.maximum(ranks, ideal), 40)].sum()


@pytest.mark.parametrize(
    ("size", "vertices", "runs"),
    [
        (16, (16, 0, 1, 7), 11),  # a block of 8 runs, and three more
        (32, (32, 17, 20), 3),  # fewer than a block
        (192, (150,), 5),  # no power of two
    ],
)
@pytest.mark.parametrize("density", [0.1, 0.6])
def test_many_queries_and_runs(size, vertices, runs, density):
    """Each query takes the steps that it needs, none if it has no vertex."""
    rng = np.random.default_rng(size)
    graphs = [judged(rng, n, density) for n in vertices]
    ranks = [ranked(rng, runs, n) for n in vertices]
    sums = check(graphs, ranks, telling_weights(size, 3 * size // 2), size)
    assert (sums.any(1) == (np.array(vertices) > 0)).all()


@pytest.mark.parametrize(("block", "num_warps"), [(1, 1), (4, 1), (16, 4)])
def test_blocks_warps_and_steps_change_nothing(block, num_warps):
    rng = np.random.default_rng(5)
    graphs, ranks = [judged(rng, 16, 0.4)], [ranked(rng, 6, 16, 1.0)]
    tile, weights = tile_of(graphs, ranks, "packed", 16), telling_weights(5)
    plain = launched_sums(tile, weights)
    options = {"block": block, "num_warps": num_warps}
    assert (launched_sums(tile, weights, more=9, **options) == plain).all()


def test_degrees_at_the_limit():
    """What is gone falls by all that it had, and is never chosen or left again."""
    most = MOST_DEGREE - 1
    cycle = most * np.roll(np.eye(3, dtype=int), 1, axis=1)
    source = np.roll(np.eye(4, dtype=int), 1, axis=1)
    source[0], source[3] = (0, most - 2, 1, 1), (0, 1, 0, 0)
    lopsided = np.array([[0, most - 1, 1], [1, 0, 0], [0, 1, 0]])
    graphs = [graph_of(counts) for counts in (cycle, source, lopsided)]
    for graph in graphs:
        assert max(*graph.edges().sum(0), *graph.edges().sum(1)) == most
    rng = np.random.default_rng(1)
    ranks = [ranked(rng, 20, len(graph), 0.8) for graph in graphs]
    check(graphs, ranks, telling_weights(1), 16)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "vertices", "runs", "options"),
    [
        (16, (5, 0), 3, {"block": 2}),  # a block that repeats the last run
        (192, (6,), 1, {"more": 9}),  # no whole warpgroups of words, and more steps
    ],
)
def test_mosaic_gives_the_same_bits(size, vertices, runs, options):
    mosaic(interpreted=True)
    rng = np.random.default_rng(size)
    graphs = [judged(rng, n, 0.6) for n in vertices]
    ranks = [ranked(rng, runs, n) for n in vertices]
    options = {"program": "mosaic", **options}
    sums = check(graphs, ranks, telling_weights(size), size, **options)
    assert (sums.any(1) == (np.array(vertices) > 0)).all()


SIZES = (16, 32, 64, 128, 192, 256, 384, 512, 768, 1024)


def abstract_gpu():
    """A GPU to lower for: JAX 0.12 asks Triton's kernels for one, JAX 0.10 does not."""
    about = {"device_kind": "NVIDIA A100", "num_cores": 108, "platform": "gpu"}
    if AbstractDevice.__dataclass_fields__.keys() != about.keys():
        return nullcontext()
    device = AbstractDevice(**about)
    return use_abstract_mesh(AbstractMesh((), (), abstract_device=device))


def lowered_text(n: int, **options) -> str:
    """Lower 173 queries × 1,000 runs for CUDA, without a GPU."""
    assert padded_size(n) == n
    q, runs, depth = 173, 1000, 1000

    def of(*shape, dtype=jnp.int32):
        return jax.ShapeDtypeStruct(shape, dtype)

    with jax.enable_x64(True), abstract_gpu():
        traced = launched.trace(
            *(of(q, n, n), of(q, n), of(q, n, dtype=jnp.bool_)),
            *[of(q, runs, n)] * 3,
            *(of(q), of(depth + 1, dtype=jnp.int64)),
            **options,
        )
        text = traced.lower(lowering_platforms=("cuda",)).as_text()
    assert text.count("stablehlo.custom_call") == 1
    assert "stablehlo.while" not in text
    assert f"tensor<{q}x{runs}xi64>" in text
    return text


@pytest.mark.parametrize(
    ("n", "block", "warps"),
    [(n, None, 1) for n in SIZES] + [(192, 32, 8)],  # each warp has runs of its own
)
def test_lowers_to_one_triton_call(n, block, warps):
    """Every size that a word can name; rows are completed by XLA."""
    text = lowered_text(n, block=block, num_warps=warps)
    assert text.count("xla.gpu.triton") == 1
    assert f"num_stages = 1 : i32, num_warps = {warps} : i32" in text


@pytest.mark.parametrize("n", SIZES)
def test_lowers_to_one_mosaic_call(n):
    mosaic()
    text = lowered_text(n, program="mosaic")
    assert text.count("@mosaic_gpu_v2") == 1
