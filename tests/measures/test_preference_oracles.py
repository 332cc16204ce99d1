"""Preference measures against the outputs of other tools, and what explains the rest.

jelsas' pairwise_pref_eval.py, on its own two examples; trec_eval's prefs_*, on its own.
"""

from collections import defaultdict
from itertools import product

import pandas as pd
import pytest
from helpers.preference_cases import (
    BALANCED,
    COLUMNS,
    COUNTS,
    SHARES,
    with_options,
)

import pgcjax
from pgcjax.engine import plan
from pgcjax.files import read_preferences
from pgcjax.reference.preference import Prefs, counted
from pgcjax.tensors.padding import at_least

pytestmark = pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning")


@pytest.fixture(scope="module", autouse=True)
def same_shapes():
    """Lay all examples out in the same shapes, so that they share programs."""
    with plan.using(runs=4, queries=1), at_least(axis=384, width=64, ranks=1023):
        yield


# What its output calls them, and the largest cutoff that it prints.
JELSAS = {
    "ppref": ("ppref", 50),
    "rpref": ("rpref", 50),
    "fpref": ("fpref", 10),
    "wpref": ("wpref(weight=tool,normalize=false)", 10),
    "nwpref": ("wpref(weight=tool)", 10),
}


def asked(**options) -> dict[str, str]:
    """Measures by the names of jelsas' tool."""
    found = {"mrprefMax": "rpref", "mAPpref": "APpref", "mnum_pref_total": COUNTS[0]}
    for name, (measure, most) in JELSAS.items():
        found |= {
            f"m{name}{k}": f"{measure}@{k}" for k in (1, 5, 10, 25, 50) if k <= most
        }
    given = with_options(list(found.values()), **options) if options else found.values()
    return dict(zip(found, given, strict=True))


class Jelsas:
    """An example of jelsas' tool: its files, and its means."""

    def __init__(self, folder, size: str):
        self.prefs = folder / f"{size}preferences.txt"
        self.run = folder / f"{size}results.txt"
        lines = (folder / f"{size}expected_results.txt").read_text().splitlines()
        self.means = {name: mean for name, _, mean in map(str.split, lines)}
        self.rows = defaultdict(list)
        for line in self.prefs.read_text().splitlines():
            query, *row = line.split()
            self.rows[query].append(row)
        self.docs = defaultdict(list)
        for line in self.run.read_text().splitlines():
            query, _, doc, rank, *_ = line.split()
            self.docs[query].append(doc)
            assert len(self.docs[query]) == int(rank)  # the tool orders by score

    def scores(self, preferences, **options) -> pd.DataFrame:
        """Our scores: queries by the tool's names of measures."""
        names = asked(**options)
        table = pgcjax.evaluate(
            self.run,
            preferences=preferences,
            measures=list(names.values()),
            order="rank",
            verify=1.0,
        ).table
        wide = table.pivot(index="query_id", columns="measure", values="value")
        return wide[list(names.values())].set_axis(list(names), axis=1)

    def differing(self, scores: pd.DataFrame) -> set[str]:
        """Names of measures whose mean is not the tool's, as printed."""
        means = scores.mean()
        return {
            name for name in means.index if f"{means[name]:.4f}" != self.means[name]
        }

    def ours(self, query: str) -> Prefs:
        rows = [
            (a, None if label == "-2" else b, 1.0, 1)
            for a, b, label in self.rows[query]
        ]
        return counted(rows, bad=True, closure=True)

    def theirs(self, query: str) -> Prefs:
        """The preferences that the tool counts.

        A preference once; then what chains imply; and of documents that are bad, that
        those which are preferred to any are preferred to them: if they were retrieved,
        or neither of the two was.
        """
        edges = {(a, b) for a, b, label in self.rows[query] if label == "-1"}
        bad = {a for a, _, label in self.rows[query] if label == "-2"}
        chains = counted([(a, b, 1.0, 1) for a, b in edges], bad=True, closure=True)
        ranked, preferred = set(self.docs[query]), {f for f, _ in chains}
        return chains + Prefs(
            (f, t) for f, t in product(preferred, bad) if f in ranked or t not in ranked
        )


def explicit(prefs: dict[str, Prefs]) -> pd.DataFrame:
    rows = [(q, f, t, 1.0, n) for q, p in prefs.items() for (f, t), n in p.items()]
    return pd.DataFrame(rows, columns=[*COLUMNS, "weight"])


@pytest.fixture(params=["small_", ""], ids=["small", "large"])
def example(request, data) -> Jelsas:
    return Jelsas(data / "oracles/jelsas-pref", request.param)


def test_all_values_of_jelsas_tool(example):
    """With the preferences that it makes of its input, all that it prints."""
    table = explicit({query: example.theirs(query) for query in example.docs})
    scores = example.scores(table)
    assert len(scores) == int(example.means["num_q"])
    assert example.differing(scores) == set()


def test_what_jelsas_tool_leaves_out(example):
    """One of its five known defects shows, in the one query with bad documents."""
    assert all(
        label in ("-1", "-2") for rows in example.rows.values() for *_, label in rows
    )
    ours = example.scores(read_preferences(example.prefs), closure=True)
    theirs = example.scores(
        explicit({query: example.theirs(query) for query in example.docs})
    )
    for query, rows in example.rows.items():
        mine, its = example.ours(query), example.theirs(query)
        bad = {a for a, _, label in rows if label == "-2"}
        preferred = {a for a, _, label in rows if label == "-1"}
        only_ours = set(mine) - set(its)
        # A document that is preferred to none is not preferred to a bad one, there.
        docs = {doc for *pair, label in rows if label == "-1" for doc in pair}
        assert only_ours == set(product(docs - preferred, bad))
        assert set(its) < set(mine) if bad else its == mine
        assert ours.loc[query].equals(theirs.loc[query]) == (not bad)
        # Others that its input could show: a bad document that was retrieved or is
        # preferred to another, a repeated judgment.
        assert not bad & {*example.docs[query], *docs}
        assert len({*map(tuple, rows)}) == len(rows)
    assert example.differing(ours) >= {"mppref5", "mrpref5", "mwpref5", "mAPpref"}


def test_the_hand_values_of_the_small_example(data):
    """And ours: with 2 > 4 there are six preferences, five of them in order."""
    example = Jelsas(data / "oracles/jelsas-pref", "small_")
    said = [(pair[0], pair[1]) for pair in "12 13 32 14 34".split()]
    assert example.theirs("0") == Prefs(said)
    table = explicit({"0": example.theirs("0")})
    theirs = example.scores(table).iloc[0].to_dict()
    expected = {"mppref5": 0.8, "mrpref1": 0.6, "mwpref5": 3.3869, "mnwpref5": 0.8714}
    for name, value in {**expected, "mAPpref": 0.9}.items():
        assert theirs[name] == pytest.approx(value, abs=5e-5)
    table = read_preferences(example.prefs)
    ours = example.scores(table, closure=True).iloc[0].to_dict()
    assert ours["mppref5"] == ours["mrpref5"] == 5 / 6
    assert ours["mAPpref"] == pytest.approx((1 + 4 / 5 + 5 / 6) / 3, abs=1e-12)


@pytest.mark.parametrize(
    ("out", "prefs", "run", "format", "alone"),
    [
        (
            "out.test.prefs",
            "prefs.test",
            "prefs.results.test",
            "trec-prefs",
            {"7.EC.no", "17.PA=7"},
        ),
        (
            "out.test.qrels_prefs",
            "qrels.test",
            "results.test",
            "trec-qrels-prefs",
            set(),
        ),
    ],
)
def test_all_values_of_trec_eval(data, out, prefs, run, format, alone):
    """In every query, and in the mean if queries of one document count 0."""
    folder = data / "oracles/trec_eval"
    measures = [*SHARES, *COUNTS, *BALANCED]
    lines = map(str.split, (folder / out).read_text().splitlines())
    expected = {
        (name, query): value for name, query, value in lines if name in measures
    }
    queries = {query for _, query in expected} - {"all"}
    # One run; queries of many pairs each.
    with plan.using(runs=1), at_least(axis=128, width=64, ranks=1023):
        found = pgcjax.evaluate(
            folder / run,
            preferences=read_preferences(folder / prefs, format=format),
            measures=measures,
            order="clarke",
        )
    table = found.table
    assert set(table["query_id"]) == queries - alone

    def printed(value: float, like: str) -> str:
        return f"{value:.4f}" if "." in like else f"{value:.0f}"

    scores = table.set_index(["measure", "query_id"])["value"]
    for (name, query), value in expected.items():
        if query in alone:  # no two documents of it were compared
            assert float(value) == (name in BALANCED)
        elif query != "all":
            assert printed(scores[name, query], value) == value, (name, query)
    for name in measures:
        total = scores[name].sum() + len(alone) * (name in BALANCED)
        total /= 1 if name in COUNTS else len(queries)
        value = expected[name, "all"]
        assert printed(total, value) == value, name
    lines = [line.split("\t") for line in found.lines(True) if line[0] != "#"]
    texts = {(name, query): text for name, query, text in lines}
    for (name, query), value in expected.items():
        if query not in alone and (name in COUNTS or query != "all" or not alone):
            assert texts[name, query] == value, (name, query)


def test_rank20_is_the_ranking_of_every_query(data):
    """prefs.results.test repeats prefs.rank20, so that scores differ by judgments."""
    folder = data / "oracles/trec_eval"
    rank20 = [
        line.split() for line in (folder / "prefs.rank20").read_text().splitlines()
    ]
    rows = defaultdict(list)
    for line in (folder / "prefs.results.test").read_text().splitlines():
        query, *row = line.split()
        rows[query].append(row)
    assert len(rows) == 24 and all(row == rank20 for row in rows.values())


@pytest.mark.slow
@pytest.mark.parametrize("source", ["gpt4o", "human"])
def test_real_preferences_equal_the_twins(data, source):
    folder = data / "dl21"
    files = {
        "gpt4o": sorted((folder / "gpt4o").glob("judge.*")),
        "human": [folder / "judgments.txt.gz"],
    }
    prefs = read_preferences(files[source])
    assert len(prefs) == {"gpt4o": 43939, "human": 11681}[source]
    measures = ["ppref@10", "rpref", "fpref@10", "wpref@10", "wpref(weight=upper)"]
    measures += ["wpref(weight=tool)", "APpref", "prefs_pair", "prefs_avgjg_ret"]
    measures += ["Delta-nDCG@10", "Delta-ERR", "ppref(closure=true)"]
    runs = sorted((folder / "runs").iterdir())[::4]
    # Both sources in the shapes of the larger one.
    with plan.using(queries=8), at_least(axis=2048, width=256, ranks=1023):
        scores = pgcjax.evaluate(
            runs, preferences=prefs, measures=measures, verify=0.012
        )
    assert scores.notes[-1].endswith("scores recomputed: equal")
    assert scores.table["value"].between(0, 1).all()
    # Judgments of these, all by one judge, repeat and conflict.
    means = scores.table.groupby("measure")["value"].mean()
    assert 0.3 < means["ppref@10"] < 0.7 and 0.3 < means["wpref@10"] < 0.7
