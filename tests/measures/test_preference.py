"""Preference measures: their twins, bounds, identities, and what implies what."""

import numpy as np
import pandas as pd
import pytest
from helpers import queries
from helpers.builders import preferences_of, run_of
from helpers.preference_cases import (
    ALL,
    COLUMNS,
    COUNTS,
    PLAIN,
    SHARES,
    judged_collection,
    judgments,
    rankings,
    scores_of,
    with_options,
)
from helpers.queries import by_query, runs_of, several, tables
from hypothesis import example, given, settings
from hypothesis import strategies as st

import pgcjax
from pgcjax.engine import list_batch
from pgcjax.engine.batch import BatchSetting, Member
from pgcjax.errors import UsageError
from pgcjax.files import read_preferences
from pgcjax.measures.catalogue import parse_all
from pgcjax.reference import preference as twins
from pgcjax.tensors.judgments import Judgments
from pgcjax.tensors.padding import at_least

pytestmark = [
    pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning"),
    pytest.mark.usefixtures("few_pairs"),
]
EXACT = 1e-12
calls = settings(max_examples=4)  # … of ten queries each
RATIOS = [m for m in [*PLAIN, *SHARES] if "normalize=false" not in m]
LONGEST = (
    pd.DataFrame(
        [("q", "d0", "d6", 1.0, None, 1)], columns=[*COLUMNS, "judge", "weight"]
    ),
    [*(f"x{i}" for i in range(3)), *(f"d{i}" for i in range(7))],
)
cases = several(st.tuples(judgments(), rankings()), LONGEST)


@pytest.fixture(scope="module")
def few_pairs():
    """Lay pairs of documents, documents and judges out in arrays of one length."""
    with at_least(documents=128, axis=384, width=64, ranks=63, queries=16):
        yield


BY_HAND = ["ppref", "rpref", "ppref@2", "rpref@2", "fpref@2", "wpref"]
BY_HAND += ["wpref(weight=upper)@2", "wpref(weight=tool,normalize=false)"]
BY_HAND += ["wpref(weight=tool,normalize=false)@2", "APpref", "APpref@2"]
BY_HAND += ["prefs_simp", "prefs_simp_ret", "prefs_pair", "prefs_pair_ret"]
BY_HAND += ["prefs_num_prefs_ful", "prefs_num_prefs_ful_ret", "Delta-nDCG"]
BY_HAND += ["Delta-ERR", "Delta-nDCG@1", "prefs_avgjg", COUNTS[0]]


EVERY = [
    *dict.fromkeys([*ALL, "ppref@50", "APpref@50", "wpref(weight=tool)", *BY_HAND])
]


def by_hand(run, preferences) -> dict[str, float]:
    """Score a list of documents by all that any test asks for: one program."""
    return scores_of(EVERY, run, preferences)


def score_every(judged, runs, bad=True, closure=False, **options) -> pd.DataFrame:
    """Score a list of documents for each query; all tests share its program."""
    measures = with_options(EVERY, bad=bad, closure=closure)
    judged, runs = tables(judged), runs_of(run=runs)
    scores = queries.scores_of(measures, runs, preferences=judged, **options)
    return scores.set_axis(EVERY, axis=1)


@pytest.mark.parametrize("closure", [False, True])
@pytest.mark.parametrize("bad", [False, True])
@settings(max_examples=2)
@given(cases)
def test_equal_to_the_twins_and_within_bounds(bad, closure, cases):
    scores = score_every(*zip(*cases, strict=True), bad, closure, verify=1.0)
    assert scores.min(axis=None) >= 0 and scores[RATIOS].max(axis=None) <= 1
    possible, fulfilled, retrieved = (scores[m] for m in COUNTS)
    assert (possible >= fulfilled).all() and (fulfilled >= retrieved).all()


@pytest.mark.parametrize("graph", ["real", "derived", "combined"])
def test_equal_to_the_twins_on_collections(graph):
    prefs, qrels, runs = judged_collection(5, queries=4, runs=3, most_docs=25)
    measures = with_options(PLAIN, graph=graph)
    measures += with_options(PLAIN[:3], graph=graph, closure=True, bad=False)
    measures += with_options(SHARES, closure=True) if graph == "real" else []
    scores = pgcjax.evaluate(
        runs, preferences=prefs, qrels=qrels, measures=measures, verify=1.0
    )
    n = 4 * 3 * len(measures)
    assert scores.notes[-1] == f"{n} of {n} scores recomputed: equal"
    means = scores.table.groupby("measure")["value"].mean()
    assert (means[~means.index.str.contains("@")] > 0).all()


def test_what_a_derived_graph_is():
    """A preference for each pair of documents with different grades."""
    grades = {"a": 2.0, "b": 1.0, "c": 1.0, "d": 0.0, "e": -1.0}
    edges = [(a, b) for a in grades for b in grades if grades[a] > grades[b]]
    runs = runs_of(run=["abcde", "edcba", "xceya", "x"])
    qrels = by_query([grades] * 4)
    measures = with_options(PLAIN, graph="derived")
    derived = queries.scores_of(measures, runs, qrels=qrels)
    real = tables([preferences_of(edges)] * 4)
    real = queries.scores_of(PLAIN, runs, preferences=real)
    assert (derived.to_numpy() == real.to_numpy()).all()


def test_hand_values():
    """Preferences a>b twice, b>a once, a>c, c>d; the run has x, b, a, c, not d."""
    edges = [("a", "b"), ("a", "b"), ("b", "a"), ("a", "c"), ("c", "d")]
    expected = {
        "ppref": 3 / 5,  # b>a, a>c, c>d
        "rpref": 3 / 5,
        "ppref@2": 1 / 3,  # of the three of a and b, b>a
        "rpref@2": 1 / 5,
        "fpref@2": 1 / 4,
        # Rank 3 is the lower one of a and b, rank 4 of a and c; d has none.
        "wpref": (1 / 2 + 1 / np.log2(5)) / (3 / 2 + 1 / np.log2(5)),
        "wpref(weight=upper)@2": 1 / 3,
        "wpref(weight=tool,normalize=false)": sum(
            1 / (1 + np.log2(r)) for r in (2, 3, 4)
        ),
        "wpref(weight=tool,normalize=false)@2": 1 / 2,
        # Preferred: b at rank 2, a at 3, c at 4: ppref 1/3, 2/4, 3/5.
        "APpref": (1 / 3 + 1 / 2 + 3 / 5) / 3,
        # Preferred beyond rank 2: a and c, which count rpref@2.
        "APpref@2": (1 / 3 + 1 / 5 + 1 / 5) / 3,
        "prefs_simp": 3 / 5,
        "prefs_simp_ret": 2 / 4,
        "prefs_pair": (1 / 3 + 1 + 1) / 3,
        "prefs_pair_ret": (1 / 3 + 1) / 2,
        "prefs_num_prefs_ful": 3,
        "prefs_num_prefs_ful_ret": 2,
        # Wins - losses: a 2, b -1, c 0, d -1; shifted: a 3, b 0, c 1, d 0.
        "Delta-nDCG": (3 / 2 + 1 / np.log2(5)) / (3 + 1 / np.log2(3)),
        "Delta-ERR": (3 / 4) / 3 + (1 / 4) * (1 / 4) / 4,
    }
    scores = by_hand(["x", "b", "a", "c"], preferences_of(edges))
    found = {measure: scores[measure] for measure in expected}
    assert found == pytest.approx(expected, abs=EXACT)


def test_judges_count_alike():
    table = pd.DataFrame(
        [
            ("q", "a", "b", 1.0, "u"),
            ("q", "a", "c", 1.0, "u"),
            ("q", "b", "c", 1.0, "u"),
            ("q", "b", "a", 1.0, "v"),
            ("q", "a", "b", 0.0, "w"),
        ],
        columns=[*COLUMNS, "judge"],
    )
    scores = by_hand("acb", table)
    # u: 2 of 3; v: 0 of 1; w has no preference, and counts 0.
    assert scores["prefs_avgjg"] == pytest.approx(2 / 9, abs=EXACT)
    assert scores["prefs_simp"] == 2 / 4
    assert scores["prefs_pair"] == pytest.approx((1 / 2 + 1 + 0) / 3, abs=EXACT)
    nameless = by_hand("acb", table.drop(columns="judge"))
    assert nameless["prefs_avgjg"] == nameless["prefs_simp"]


@calls
@given(cases)
def test_identities(cases):
    judged, runs = zip(*cases, strict=True)
    scores = score_every(judged, runs)
    assert scores["prefs_simp"].equals(scores["rpref"])
    assert scores["prefs_simp_imp"].equals(scores["ppref"])
    assert scores["ppref@50"].equals(scores["ppref"])
    assert scores["APpref@50"].equals(scores["APpref"])
    possible, fulfilled, _ = (scores[m] for m in COUNTS)
    assert scores["rpref"].equals(fulfilled / possible)
    p, r = scores["ppref"], scores["rpref"]
    mean = (2 * p * r / (p + r)).fillna(0)
    assert (scores["fpref"] - mean).abs().max() <= EXACT
    once = [table.drop(columns=["judge", "weight"]) for table in judged]
    alone = score_every(once, runs)
    for variant in ("", "_imp", "_ret"):  # all judgments are of one judge
        assert alone["prefs_avgjg" + variant].equals(alone["prefs_simp" + variant])


@calls
@given(cases)
def test_cut_at_k_is_the_run_cut(cases):
    # But for nDCG, which cuts the ideal list, too.
    at_3 = [m for m in PLAIN if m.endswith("@3") and "nDCG" not in m]
    judged, runs = zip(*cases, strict=True)
    whole = score_every(judged, runs)
    cut = score_every(judged, [LONGEST[1], *(run[:3] for run in runs[1:])])
    for measure in at_3:
        assert whole[measure][1:].equals(cut[measure.removesuffix("@3")][1:])


def decided(table: pd.DataFrame) -> list[tuple[str, str]]:
    """Pairs of which the first is preferred more often than the second."""
    prefs = twins.Prefs()
    for row in table.dropna(subset="other_doc_id").to_dict("records"):
        pair = row["doc_id"], row["other_doc_id"]
        if row["preference"]:
            prefs[pair if row["preference"] > 0 else pair[::-1]] += row["weight"]
    return [(f, t) for f, t in prefs if prefs[f, t] > prefs[t, f]]


@calls
@given(
    several(
        st.tuples(judgments().filter(decided), rankings(), *[st.integers(0, 99)] * 2),
        (*LONGEST, 0, 9),
    )
)
def test_swapping_neighbours_in_their_order_never_helps(cases):
    """Neighbours: else the documents between them may gain."""
    judged, before, after = [], [], []
    for table, run, pair, place in cases:
        pairs = decided(table)
        f, t = pairs[pair % len(pairs)]
        rest = [doc for doc in run if doc not in (f, t)]
        i = place % (len(rest) + 1)
        judged.append(table)
        before.append([*rest[:i], f, t, *rest[i:]])
        after.append([*rest[:i], t, f, *rest[i:]])
    measures = ["ppref", "rpref", "fpref", "prefs_simp_ret", "prefs_pair"]
    worse, better = (score_every(judged, runs, bad=False) for runs in (after, before))
    assert (worse[measures] < better[measures]).all(axis=None)


@calls
@given(cases, st.permutations(range(7)))
def test_renaming_documents(cases, order):
    """Whatever they are called: ranks alone decide."""
    new = {f"d{i}": f"r{order[i]}" for i in range(7)}
    judged, runs = zip(*cases, strict=True)
    renamed = [
        table.assign(
            doc_id=table["doc_id"].map(new),
            other_doc_id=table["other_doc_id"].map(new, na_action="ignore"),
        )
        for table in judged
    ]
    before = score_every(judged, runs)[ALL]
    after = score_every(renamed, [[new.get(d, d) for d in run] for run in runs])[ALL]
    assert (after - before).abs().max(axis=None) <= EXACT
    exact = ["ppref", "rpref", "fpref", "prefs_simp_ret", "Delta-ERR", *COUNTS]
    assert after[exact].equals(before[exact])


@settings(max_examples=30)
@given(judgments(), st.booleans())
@example(  # a chain through a tie, and a cycle that implies nothing
    pd.DataFrame(
        [("q", *pair, x, None, 1) for *pair, x in ("ab1", "bc0", "cd1", "ef1", "fe1")],
        columns=[*COLUMNS, "judge", "weight"],
    ).astype({"preference": float}),
    True,
)
def test_closure_is_idempotent_and_only_adds(table, bad):
    rows = [
        (r["doc_id"], r["other_doc_id"], r["preference"], r["weight"])
        for r in table.astype(object).where(table.notna(), None).to_dict("records")
    ]
    plain, once = twins.counted(rows, bad, False), twins.counted(rows, bad, True)
    assert once >= plain
    assert all(once[pair] == plain[pair] for pair in plain)
    assert all(n == 1 for pair, n in (once - plain).items())
    ties = [row for row in rows if row[2] == 0 and row[1]]
    again: list[twins.Judgment] = [(f, t, 1.0, n) for (f, t), n in once.items()]
    assert twins.counted(again + ties, bad, True) == once


def test_what_closure_implies():
    def closed(said):
        rows: list[twins.Judgment]
        rows = [(a, b, float(x != "="), 1) for a, x, b in said.split()]
        found = twins.counted(rows, True, True) - twins.counted(rows, True, False)
        return sorted(a + b for a, b in found)

    assert closed("a>b b>c") == ["ac"]
    assert closed("a>b b>c a>c") == []
    assert closed("a>b b=c") == ["ac"]
    assert closed("a=b b=c") == []
    assert closed("a>b b>a") == []
    assert closed("a>b b>a b>c") == ["ac"]
    assert closed("a>b b>c c>a") == []  # each leads to each
    assert closed("a>b b>c c>a c>d") == ["ad", "bd"]
    assert closed("a>b b=c c>a d>a") == ["db", "dc"]


def test_judges_are_closed_apart():
    table = pd.DataFrame(
        [("q", "a", "b", 1.0, "u"), ("q", "b", "c", 1.0, "v")],
        columns=[*COLUMNS, "judge"],
    )
    for rows, count in ((table, 2), (table.drop(columns="judge"), 3)):
        measure = "prefs_num_prefs_poss(closure=true)"
        assert scores_of([measure], "a", rows) == {measure: count}


def test_bad_documents():
    """All that the judge saw are preferred to one, but those compared with it."""
    table = pd.DataFrame(
        [
            ("q", "a", "b", 1.0, "u"),
            ("q", "z", None, -1.0, "u"),
            ("q", "z", None, -2.0, "u"),  # found bad twice
            ("q", "y", None, -1.0, "u"),
            ("q", "y", "b", 1.0, "u"),  # and yet preferred
            ("q", "c", "a", 0.0, "u"),  # only tied
            ("q", "d", "a", 1.0, "v"),  # another judge
        ],
        columns=[*COLUMNS, "judge"],
    )
    rows = [
        (r["doc_id"], r["other_doc_id"], r["preference"], 1)
        for r in table[table["judge"] == "u"].to_dict("records")
    ]
    rows = [(a, b if isinstance(b, str) else None, x, n) for a, b, x, n in rows]
    said = {("a", "b"): 1, ("y", "b"): 1}
    implied = {(x, "z"): 2 for x in "abc"} | {(x, "y"): 1 for x in "ac"}
    assert twins.counted(rows, True, False) == said | implied
    assert twins.counted(rows, False, False) == said
    name = "prefs_num_prefs_poss"
    measures = [name, f"{name}(bad=false)"]
    scores = scores_of(measures, "a", table, verify=1.0)
    assert list(scores.values()) == [2 + 6 + 2 + 1, 3]


def test_delta_gains_order_the_best_run():
    edges = [("a", "b"), ("a", "c"), ("b", "c"), ("c", "d"), ("a", "d")]
    prefs = preferences_of(edges)
    for run, best in (("abcd", True), ("bacd", False)):
        scores = by_hand(run, prefs)
        assert (scores["Delta-nDCG"] == 1) is best
        assert (scores["Delta-nDCG@1"] == 1) is best
    assert twins.delta_gains(twins.Prefs(edges)) == {"a": 5, "b": 2, "c": 1, "d": 0}


def test_a_cycle_has_no_delta():
    """And so no gain, though it has preferences."""
    prefs = preferences_of([("a", "b"), ("b", "c"), ("c", "a")])
    scores = by_hand("abc", prefs)
    assert [scores[m] for m in ("Delta-nDCG", "Delta-ERR", "rpref")] == [0, 0, 2 / 3]


def test_a_weight_is_as_many_judgments():
    many = preferences_of([("a", "b")]).assign(weight=2**30)
    one = preferences_of([("b", "a"), ("c", "a")])
    table = pd.concat([many, one.assign(weight=1)])
    scores = by_hand("bac", table)
    assert scores["rpref"] == 1 / (2**30 + 2)
    assert scores[COUNTS[0]] == 2**30 + 2


def test_needs_what_its_graph_is_made_of():
    prefs = preferences_of([("a", "b")])
    with pytest.raises(UsageError, match=r"ppref\(graph=derived\) needs qrels: give"):
        scores_of(["ppref(graph=derived)"], "ab", prefs)
    with pytest.raises(
        UsageError, match=r"prefs_simp needs preferences: give .*--prefs"
    ):
        pgcjax.evaluate(run_of("ab"), qrels={"q": {"a": 1}}, measures="prefs_simp")
    with pytest.raises(UsageError, match=r"prefs_simp has no cutoff"):
        scores_of(["prefs_simp@5"], "ab", prefs)


def test_queries_without_preferences_score_0():
    """Beside others, so that they share the program of the properties."""
    table, run = LONGEST
    judged = [("q", "a", "b", 0.0, None, 1), ("q", "a", None, -1.0, None, 1)]
    judged = [pd.DataFrame([row], columns=table.columns) for row in judged]
    with pytest.warns(pgcjax.errors.DataWarning, match=r"ppref.*: .* 2 judged queries"):
        scores = score_every([table] * 9 + judged, [run] * 9 + ["ab", "ab"], verify=1.0)
    total = scores.sum(axis=1).to_numpy()
    assert (total[:9] > 0).all() and (total[9:] == 0).all()


def test_measures_of_the_same_pairs_share_a_call():
    prefs, *_ = judged_collection(1)
    judgments = Judgments({"preferences": read_preferences(prefs)})
    chosen = parse_all(["ppref", "APpref", "prefs_avgjg", "Delta-ERR", "wpref"])
    tensors = [m.prepare(judgments) for m in chosen]
    members = list(map(Member, range(5), chosen, tensors))
    (batch,) = list_batch.batches(members, BatchSetting())
    assert [member.place for member in batch.members] == [0, 1, 2, 3, 4]
    again = [m.prepare(judgments) for m in chosen]
    for one, other in zip(tensors, again, strict=True):  # or each call compiles anew
        assert one.kernel is other.kernel
