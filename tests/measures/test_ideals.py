"""Other ideals of PGC: expected orders, ties, what agrees, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from helpers.builders import preferences_of, run_of

import pgcjax
from pgcjax.errors import UsageError
from pgcjax.judging.choices import STRENGTHS
from pgcjax.measures.ideals import levels
from pgcjax.reference.rbo import rbo

VOTES = {"ab": 1, "bc": 2, "cb": 3, "cd": 1, "da": 3, "db": 1}
# By hand, of the votes above. The peel: d leads by 3; then a is a source; c leads b.
# Least contradicted: only both votes for b before c. Copeland: 2, 1, 0, -3. Borda: 4/5,
# 4/6, 2/7, 1/4. Fits: test_models.py has their values from other libraries.
ORDERS = {"greedy": "dacb", "exact": "cdab", "copeland": "cdab", "borda": "dcba"}
ORDERS |= {"bt": "dcab", "rank-centrality": "cdba"}
MEASURES = [f"PGC(ideal={ideal})" for ideal in ORDERS]


def scored(edges, run, measures=MEASURES, **options) -> np.ndarray:
    given = {"preferences": preferences_of(edges), "verify": 1.0, **options}
    return pgcjax.evaluate(run_of(run), measures=measures, **given).mean().to_numpy()[0]


def test_each_ideal_orders_documents_its_own_way():
    """A run scores 1 if it is the ideal ranking, and by no other ideal."""
    edges = [pair for pair, count in VOTES.items() for _ in range(count)]
    runs = {order: run_of(order) for order in ORDERS.values()}
    names = [f"PGC(normalization=ideal,ideal={ideal})" for ideal in ORDERS]
    given = {"preferences": preferences_of(edges), "measures": names, "verify": 1.0}
    found = pgcjax.evaluate(runs, **given).mean()[names]
    assert len(found) == 5  # of exact and Copeland one order
    for name, order in zip(names, ORDERS.values(), strict=True):
        assert found.index[found[name] == 1].tolist() == [order]
        expected = [
            rbo(list(run), list(order), 0.95, 1000, "ideal") for run in found.index
        ]
        np.testing.assert_allclose(found[name], expected, rtol=0, atol=1e-12)


def test_equals_are_as_the_run_has_them():
    """Of a cycle, documents have nothing before each other; a long one is fitted."""
    names = [f"PGC(normalization=ideal,ideal={ideal})" for ideal in STRENGTHS]
    docs = [f"d{i}" for i in range(7)]
    edges = [*zip(docs, [*docs[1:], docs[0]], strict=True)]
    assert scored(edges, docs[::-1], names).tolist() == [1.0] * 4
    one, two = [0.5, -0.25, 0.5 + 1e-9, 0.5 - 3e-9], [0.1, 0.1, 0.1]
    assert levels(np.array(one)).tolist() == [2, 0, 2, 1]
    assert levels(np.array(two)).tolist() == [0, 0, 0]
    assert levels(np.array([])).tolist() == []


def test_documents_without_an_edge_are_in_the_middle():
    """Equal grades add none: e and f follow the winner, before the loser."""
    names = [f"PGC(normalization=ideal,graph=combined,ideal={i})" for i in STRENGTHS]
    qrels = {"q": {"e": 1, "f": 1}}
    assert scored(["ab"], "afeb", names, qrels=qrels).tolist() == [1.0] * 4


def test_one_order_that_all_judgments_follow_is_every_ideal():
    docs = list("bdaec")
    edges = [(x, y) for i, x in enumerate(docs) for y in docs[i + 1 :]]
    scores = scored(edges, "caxb")
    assert set(scores.tolist()) == {scores[0]}
    assert scores[0] == pytest.approx(rbo(list("caxb"), docs), abs=1e-12)


def test_exact_is_exact_pgc():
    rng = np.random.default_rng(0)
    pairs = [rng.permutation(list("abcdefgh"))[:2] for _ in range(40)]
    measures = ["PGC(p=0.8,ideal=exact)", "ExactPGC(p=0.8)"]
    one, two = scored(pairs, "hbxcae", measures)
    assert one == two
    found = pgcjax.evaluate(
        run_of("hbxcae"), preferences=preferences_of(pairs), measures="PGC(ideal=exact)"
    )
    assert found.table["measure"].unique().tolist() == ["PGC(ideal=exact)"]


def test_ties_and_bad_documents_add_no_edge():
    rows = [("a", "b", 1.0), ("c", "b", 1.0), ("a", "c", 0.0), ("b", None, -1.0)]
    table = pd.DataFrame(rows, columns=["doc_id", "other_doc_id", "preference"])
    tied = table.assign(query_id="q")
    without = tied.iloc[:2]
    for measure in MEASURES:
        given = {"measures": measure, "verify": 1.0}
        one, two = (
            pgcjax.evaluate(run_of("cab"), preferences=t, **given)
            .table["value"]
            .iloc[0]
            for t in (tied, without)
        )
        assert one == two == pytest.approx(rbo(list("cab"), list("cab")), abs=1e-12)


def test_what_is_refused():
    prefs = preferences_of(["ab"]).assign(judge="j")
    instead = (
        "; resample='queries' works with every measure (--resample on the command line)"
    )
    for measure, options, message in (
        (
            "PGC(ideal=best)",
            {},
            "ideal=best: expected one of greedy (the peel), exact (as ExactPGC has "
            "it), or the documents by their strengths: bt (Bradley-Terry), copeland, "
            "borda, rank-centrality",
        ),
        *(
            (
                f"PGC(ties=mean,ideal={ideal})",
                {},
                f"PGC(ties=mean,ideal={ideal}): ties work only with ideal=greedy: "
                "scores by other ideals do not depend on the order of documents "
                "that a run lacks",
            )
            for ideal in ("exact", "copeland")
        ),
        (
            "PGC(graph=derived,ideal=borda)",
            {"qrels": {"q": {"a": 1}}},
            "PGC(graph=derived,ideal=borda): grades are an order already: leave ideal "
            "out",
        ),
        *(
            (
                f"PGC(ideal={ideal})",
                {"replicates": 5},
                f"PGC(ideal={ideal}): resample='judgments' works with ideal=greedy: "
                "the "
                f"remaining judgments are peeled{instead}",
            )
            for ideal in ("bt", "exact")
        ),
        (
            "PGC(ideal=bt)",
            {"leave_out": "judges"},
            "PGC(ideal=bt): leave_out='judges' works with ideal=greedy: the remaining "
            "judgments are peeled",
        ),
    ):
        with pytest.raises(UsageError) as error:
            drawn = options.keys() - {"qrels"}
            score = pgcjax.uncertainty if drawn else pgcjax.evaluate
            score(run_of("ab"), preferences=prefs, measures=measure, **options)
        assert str(error.value) == message
    with pytest.raises(UsageError) as error:
        pgcjax.judgments.enough(
            run_of("ab"), preferences=prefs, measures="PGC(ideal=borda)"
        )
    assert str(error.value) == (
        "PGC(ideal=borda): expected PGC of preferences, whose judgments can be "
        "subsampled: graph=real or graph=combined, and ideal=greedy"
    )
