"""A score depends on the data alone: bit-equal whatever is done around it."""

import numpy as np
import pandas as pd
import pytest
from helpers.collections import assert_same_bits, collection, values
from hypothesis import given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning")


seeds = st.integers(0, 10**6)
few = settings(max_examples=8)


@few
@given(seeds, st.sampled_from(["trec", "clarke", "rank"]))
def test_lines_of_any_input_permuted(seed, order):
    tables = collection(seed)
    shuffled = [t.sample(frac=1, random_state=seed) for t in tables]
    assert_same_bits(values(*tables, order=order), values(*shuffled, order=order))


@few
@given(seeds, st.sampled_from(["trec", "clarke"]))
def test_documents_renamed_in_an_order_preserving_way(seed, order):
    tables = collection(seed)
    renamed = []
    for table in tables:
        table = table.copy()
        for column in ("doc_id", "other_doc_id"):
            if column in table:
                # Longer, non-ASCII, and the order of code points is kept.
                table[column] = table[column].str.replace("d", "doc-é.", regex=False)
        renamed.append(table)
    assert_same_bits(values(*tables, order=order), values(*renamed, order=order))


@settings(max_examples=3)  # … of four runs and five queries apart
@given(seeds)
def test_runs_and_queries_alone_or_together(seed):
    prefs, qrels, runs = collection(seed)
    together = values(prefs, qrels, runs)
    apart = [values(prefs, qrels, rows) for _, rows in runs.groupby("run_id")]
    assert_same_bits(together, pd.concat(apart).sort_index())
    apart = [
        values(*(t[t.query_id == query] for t in (prefs, qrels, runs)))
        for query in prefs.query_id.unique()
    ]
    assert_same_bits(together, pd.concat(apart).sort_index())


@few
@given(seeds)
def test_one_preference_turned_around_is_the_same_judgment(seed):
    prefs, qrels, runs = collection(seed)
    turned = prefs.rename(
        columns={"doc_id": "other_doc_id", "other_doc_id": "doc_id"}
    ).assign(preference=-prefs.preference)
    assert_same_bits(values(prefs, qrels, runs), values(turned, qrels, runs))


@few
@given(seeds)
def test_a_weight_is_that_many_rows(seed):
    prefs, qrels, runs = collection(seed)
    weights = np.random.default_rng(seed).integers(1, 4, len(prefs))
    repeated = prefs.loc[prefs.index.repeat(weights)]
    assert_same_bits(
        values(prefs.assign(weight=weights), qrels, runs),
        values(repeated, qrels, runs),
    )


def test_calling_twice_gives_the_same_and_changes_no_input():
    tables = collection(5)
    before = [t.copy(deep=True) for t in tables]
    first = values(*tables)
    assert_same_bits(first, values(*tables))
    for table, copy in zip(tables, before, strict=True):
        pd.testing.assert_frame_equal(table, copy)


def test_the_configuration_of_the_program_stays_as_it_is():
    import jax

    values(*collection(6))
    assert jax.numpy.arange(2.0).dtype == "float32"
