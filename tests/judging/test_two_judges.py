"""Two judges: against other functions and plain loops, and on made-up judges."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import pgcjax
from pgcjax.errors import DataError, UsageError
from pgcjax.judging.contingency import both_ways, contingency, kappa
from pgcjax.judgments import compare, judge_agreement

PAIR = ["query_id", "doc_id", "other_doc_id"]


def votes(
    seed: int, queries: int = 14, *, noise: float = 0.2, first: float = 0.0
) -> pd.DataFrame:
    """Votes on 15 pairs of a query, in both orders, by a judge who goes with place."""
    truth, rng = np.random.default_rng(1), np.random.default_rng(seed)
    rows = []
    for query in range(queries):
        better = truth.permutation(6)
        for a in range(6):
            for b in range(a):
                for x, y in ((a, b), (b, a)):
                    sign = np.sign(better[x] - better[y])
                    sign = 1 if rng.random() < first else sign
                    sign = -sign if rng.random() < noise else sign
                    rows.append((f"q{query:02}", f"d{x}", f"d{y}", sign, f"d{x}"))
    return pd.DataFrame(rows, columns=[*PAIR, "preference", "first"])


@pytest.fixture(scope="module")
def compared():
    return compare(votes(2, first=0.6), votes(3), names=("model", "people"))


def row(found, statistic: str) -> pd.Series:
    return found.table.set_index("statistic").loc[statistic]


def decided(table: pd.DataFrame) -> pd.Series:
    """The sum of votes on a pair, by its low document."""
    low = table["doc_id"] < table["other_doc_id"]
    key = table[["doc_id", "other_doc_id"]].to_numpy(str)
    key = np.sort(key, axis=1)
    signed = table["preference"] * np.where(low, 1, -1)
    of = [table["query_id"], key[:, 0], key[:, 1]]
    return np.sign(signed.groupby(of).sum()).astype(int)


def test_agreement_is_that_of_other_functions_with_intervals_over_queries(compared):
    a, b = decided(votes(2, first=0.6)), decided(votes(3))
    names = dict(enumerate(PAIR))
    both = [
        signs.rename("preference").reset_index().rename(columns=lambda c: c)
        for signs in (a, b)
    ]
    both = [
        t.set_axis([*names.values(), "preference"], axis=1).assign(judge=judge)
        for t, judge in zip(both, "ab", strict=True)
    ]
    pairwise = judge_agreement(pd.concat(both), grouping="sign").judges.iloc[0]
    share, beyond = row(compared, "agreement"), row(compared, "kappa")
    assert share["count"] == beyond["count"] == pairwise["pairs"] == 14 * 15
    assert share["estimate"] == pytest.approx(pairwise["agreement"])
    assert beyond["estimate"] == pytest.approx(pairwise["kappa"])
    # A plain jackknife over queries, on the scale of log(1 - kappa).
    queries = a.index.get_level_values(0)
    without = np.array(
        [
            kappa(both_ways(contingency(*(s[queries != q].to_numpy() for s in (a, b)))))
            for q in queries.unique()
        ]
    )
    n, value = len(without), beyond["estimate"]
    error = np.sqrt((n - 1) * without.var()) / (1 - value)
    wide = np.exp(stats.t.isf(0.025, n - 1) * error)
    ends = [1 - (1 - value) * wide, 1 - (1 - value) / wide]
    assert beyond[["low", "high"]].tolist() == pytest.approx(ends)
    assert share["low"] < share["estimate"] < share["high"]
    counts = compared.answers.to_numpy()
    assert counts.sum() == 2 * 210 and (counts == counts[::-1, ::-1]).all()
    assert np.trace(counts) / 420 == pytest.approx(share["estimate"])


def test_where_judges_differ_and_how_they_order_documents(compared):
    a, b = decided(votes(2, first=0.6)), decided(votes(3))
    opposite = (a * b < 0).groupby(level=0).sum()
    queries = compared.queries.set_index("query_id")
    assert queries["opposite"].to_dict() == opposite.to_dict()
    assert queries["opposite"].is_monotonic_decreasing
    pairs = compared.pairs
    assert (
        len(pairs) == opposite.sum() and pairs["query_id"].iloc[0] == queries.index[0]
    )
    for query, doc, other in pairs.itertuples(index=False):
        sign = 1 if doc < other else -1
        assert a[query, min(doc, other), max(doc, other)] == sign
        assert b[query, min(doc, other), max(doc, other)] == -sign
    # The ids are of 14 queries: systems, which have one order.
    table = compared.documents
    assert "query_id" not in table and sorted(table["doc_id"]) == [
        f"d{i}" for i in range(6)
    ]
    board = pgcjax.judgments.fit(
        a.rename("preference").rename_axis(PAIR).reset_index().assign(query_id="all"),
        prior=2.5,
    ).table.set_index("doc_id")
    ranks = table.set_index("doc_id")["rank_a"]
    assert ranks.sort_index().tolist() == board["rank"].sort_index().tolist()
    tau = stats.kendalltau(table["strength_a"], table["strength_b"]).statistic
    assert row(compared, "tau")["estimate"] == pytest.approx(tau)


def test_documents_of_one_query_each_have_an_order_by_query():
    tables = [votes(seed) for seed in (2, 3)]
    tables = [
        t.assign(
            **{c: t["query_id"] + t[c] for c in ("doc_id", "other_doc_id", "first")}
        )
        for t in tables
    ]
    found = compare(*tables)
    taus = [
        stats.kendalltau(t["strength_a"], t["strength_b"]).statistic
        for _, t in found.documents.groupby("query_id")
    ]
    tau, interval = (
        row(found, "tau"),
        stats.t.interval(0.95, 13, np.mean(taus), stats.sem(taus)),
    )
    assert tau[["estimate", "low", "high"]].tolist() == pytest.approx(
        [np.mean(taus), *interval]
    )
    assert found.queries.sort_values("query_id")["tau"].tolist() == pytest.approx(taus)


def test_the_judge_that_goes_with_place_is_found_from_either_side(compared):
    alone = [
        pgcjax.judgments.audit(t).table.set_index("probe")["estimate"]["first"]
        for t in (votes(2, first=0.6), votes(3))
    ]
    first, flips = row(compared, "first"), row(compared, "flips")
    assert first[["a", "b"]].tolist() == pytest.approx(alone)
    assert first["estimate"] == pytest.approx(alone[0] / alone[1])
    assert first["verdict"] == "model prefers the first more" and first["p"] < 0.01
    assert flips["verdict"] == "model flips more"
    assert flips["estimate"] == pytest.approx(flips["a"] - flips["b"])
    assert row(compared, "longer")["verdict"].startswith(
        "not asked: model: some lengths"
    )
    turned = compare(votes(3), votes(2, first=0.6), names=("people", "model"))
    assert row(turned, "first")["verdict"] == "people prefers the first less"
    for statistic in ("agreement", "kappa", "tau"):
        mine, other = row(compared, statistic), row(turned, statistic)
        assert mine["estimate"] == pytest.approx(other["estimate"], nan_ok=True)
    ends = row(turned, "first")[["low", "high"]].astype(float)
    assert [first["low"], first["high"]] == pytest.approx((1 / ends).tolist()[::-1])


def test_a_judge_that_prefers_longer_ones_is_found():
    lengths = {f"d{i}": 100 * (i + 1) for i in range(6)}
    fond = votes(4)
    longer = fond["doc_id"].map(lengths) > fond["other_doc_id"].map(lengths)
    sways = np.random.default_rng(5).random(len(fond)) < 0.4
    fond.loc[sways, "preference"] = np.where(longer[sways], 1, -1)
    table = pd.DataFrame(lengths.items(), columns=["doc_id", "length"])
    found = row(compare(fond, votes(6), lengths=table), "longer")
    assert found["verdict"] == "A prefers longer ones more" and found["low"] > 1


@pytest.mark.parametrize(
    "noise, verdict",
    [(0.45, "agrees less than before"), (0.1, "no change seen")],
)
def test_drift_is_a_paired_change_of_agreement(noise, verdict):
    now, people, before = (
        votes(7, noise=noise),
        votes(8, noise=0.1),
        votes(9, noise=0.1),
    )
    before = before[before["query_id"] != "q00"]
    drift = row(compare(now, people, before=before), "drift")
    a, b, c = (decided(t) for t in (now, people, before))
    a, b = a.reindex(c.index), b.reindex(c.index)
    change = (a == b) * 1.0 - (c == b)
    assert drift["count"] == 13 * 15
    assert drift["a"] == pytest.approx((a == b).mean())
    # Queries are of as many pairs: p is that of a paired t test of their means.
    means = change.groupby(level=0).mean()
    test = stats.ttest_1samp(means, 0)
    assert drift["estimate"] == pytest.approx(means.mean())
    assert drift["p"] == pytest.approx(test.pvalue)
    ends = test.confidence_interval()
    assert drift[["low", "high"]].tolist() == pytest.approx([*ends])
    changed = int((a != c).sum())
    assert drift["verdict"] == f"{verdict}; {changed} of 195 answers changed"


def test_tables_without_queries_are_clustered_by_pair():
    rng = np.random.default_rng(3)
    models = [f"m{i}" for i in range(9)]
    rows = [
        (a, b, rng.choice(["model_a", "model_b"]))
        for a in models
        for b in models
        if a < b
    ]
    tables = [
        pd.DataFrame(rows, columns=["model_a", "model_b", "winner"]) for _ in "ab"
    ]
    tables[1].loc[:8, "winner"] = "tie"
    with pytest.warns(pgcjax.errors.DataWarning, match="one set of comparisons"):
        found = compare(*tables)
    share = row(found, "agreement")
    interval = stats.binomtest(27, 36).proportion_ci(method="wilson")
    assert share[["low", "high"]].tolist() == pytest.approx([*interval])
    assert row(found, "ties")["estimate"] == -0.25 and len(found.documents) == 9


NAMED = votes(2).assign(judge="a")
THREE = pd.concat([NAMED, NAMED.assign(judge="b"), NAMED.assign(judge="c")])
OTHER = votes(2).assign(query_id="other")
NAME_TWO = "name two (--judge A --judge B), or give the votes of each in a file"


@pytest.mark.parametrize(
    "call, message",
    [
        ({"a": THREE}, f"expected two judges, found 3 (a, b, c): {NAME_TWO}"),
        ({"a": OTHER}, f"expected two judges, found 0 (no row names one): {NAME_TWO}"),
        ({"a": THREE, "judges": "ax"}, "no judge 'x'; there are a, b, c"),
        (
            {"a": THREE, "judges": "aa"},
            "names: expected two different ones, found ['a', 'a']",
        ),
        (
            {"a": votes(2), "b": OTHER},
            "judgments: A and B have no judged pair in common. Compare judges of the "
            "same pairs; query and document ids have to be the same in both files.",
        ),
    ],
)
def test_calls_that_cannot_be_meant(call, message):
    with pytest.raises((UsageError, DataError)) as caught:
        compare(**call)
    assert str(caught.value) == message
