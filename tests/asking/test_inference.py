"""What answers imply: against networkx' closure, and what ties and bad add."""

import networkx
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pgcjax.asking.inference import Clear, Closure

DOCS = "abcdefgh"
answers = st.lists(
    st.tuples(
        st.sampled_from(DOCS), st.sampled_from(DOCS), st.sampled_from((-1, 0, 1))
    ).filter(lambda said: said[0] != said[1]),
    max_size=30,
)


@settings(max_examples=60)
@given(said=answers)
def test_chains_are_those_of_the_closure(said):
    """Answers in any order, some of which take earlier ones back."""
    closure, last = Closure(), {}
    for one, other, sign in said:
        closure.answer(one, other, sign)
        pair, turn = ((one, other), 1) if one < other else ((other, one), -1)
        last[pair] = turn * sign
    edges = np.zeros((len(DOCS), len(DOCS)), bool)
    for (one, other), sign in last.items():
        i, j = DOCS.index(one), DOCS.index(other)
        edges[i, j], edges[j, i] = sign > 0, sign < 0
    graph = networkx.from_numpy_array(edges, create_using=networkx.DiGraph)
    leads = networkx.to_numpy_array(networkx.transitive_closure(graph)) > 0
    for i, one in enumerate(DOCS):
        for j, other in enumerate(DOCS[i + 1 :], i + 1):
            if (one, other) in last:
                expected = Clear(last[one, other], "answered")
            elif leads[i, j] != leads[j, i]:
                expected = Clear(1 if leads[i, j] else -1, "transitive")
            else:
                expected = None
            assert closure.clear(one, other) == expected
            turned = expected and Clear(-expected.sign, expected.rule)
            assert closure.clear(other, one) == turned
    against = [(DOCS[i], DOCS[j]) for i, j in np.argwhere(edges & leads.T).tolist()]
    assert sorted(closure.contradictions()) == against


def test_bad_documents():
    """All beat what is bad; two that are bad tie; answers go before both."""
    closure = Closure("de")
    for better, worse in ("ab", "bc", "de"):
        closure.answer(better, worse, 1)
    assert closure.clear("a", "d") == Clear(1, "bad")
    assert closure.clear("d", "a") == Clear(-1, "bad")
    assert closure.clear("d", "e") == Clear(1, "answered")
    assert closure.clear("a", "c") == Clear(1, "transitive")
    assert closure.clear("a", "f") is None
    closure.find_bad("f")
    assert closure.clear("f", "e") == Clear(0, "bad")
    assert closure.contradictions() == []
    closure.find_bad("a")  # which was said to be better than b
    assert closure.contradictions() == [("a", "b")]
