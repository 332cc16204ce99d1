"""Expected values from independent implementations, on the papers' and public data."""

import json
from collections import Counter

import pandas as pd
import pytest
from helpers.builders import ideal_of, ideals_of, preferences_of, run_of

import pgcjax
from pgcjax.reference.compatibility import compat
from pgcjax.reference.pgc import derived_edges, greedy_ideal, greedy_pgc
from pgcjax.reference.rbo import rbo

EXACT = 1e-12

# Some cases retrieve nothing that is judged, or lack a positive grade: no surprise.
pytestmark = pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning")


def score(measure, **judgments) -> float:
    run = judgments.pop("run")
    table = pgcjax.evaluate(run, measures=measure, **judgments).table
    return table["value"].item()


def test_worked_examples(golden):
    expected = golden("worked_examples")
    for name, key in (("rbo_2_3", "rbo"),):
        case = expected[name]
        args = case["a"], case["b"], case["p"], case["depth"], "one-minus-p"
        assert rbo(*args) == pytest.approx(case[key], abs=EXACT)
    case = expected["rbo_2_4"]
    for p in (0.95, 0.80):
        value = rbo(case["a"], case["b"], p, 7, "one-minus-p")
        assert value == pytest.approx(case[f"p={p:.2f}"]["rbo"], abs=EXACT)
        # Compat of a run against a strict order of grades is RBO of the two lists.
        grades = {"q": {doc: 7 - i for i, doc in enumerate(case["b"])}}
        measure = f"PGC(p={p},depth=7,graph=derived,normalization=one-minus-p)"
        ours = score(measure, run=run_of(case["a"]), qrels=grades)
        assert ours == pytest.approx(value, abs=EXACT)
    case = expected["pgc_3_5"]
    edges = [tuple(edge) for edge in case["edges"]]
    assert greedy_ideal(edges, case["run"]) == case["ideal"]
    assert ideal_of(edges, case["run"]) == case["ideal"]
    for depth, how, key in (
        (7, "one-minus-p", "rbo_infinite"),
        (1000, "weights", "rbo_depth1000"),
    ):
        measure = f"PGC(p=0.95,depth={depth},normalization={how})"
        value = score(
            measure, run=run_of(case["run"]), preferences=preferences_of(edges)
        )
        assert value == pytest.approx(case[key], abs=EXACT)
        twin = greedy_pgc(edges, case["run"], 0.95, depth, how)
        assert twin == pytest.approx(case[key], abs=EXACT)


def test_greedy_fas_reaches_all_orders_of_the_example(golden):
    """Runs over all vertices drive the peel through each of the 24 sequences."""
    case = golden("worked_examples")["greedy_fas_3_2"]
    edges = [tuple(edge) for edge in case["edges"]]
    ideals = ideals_of([(edges, list(order)) for order in case["sequences"]])
    found = {"".join(ideal) for ideal in ideals}
    assert found == set(case["sequences"])
    assert len(found) == case["n_sequences"] == 24


@pytest.fixture(scope="module")
def small_graphs(golden):
    return golden("small_graphs")


def test_small_graphs_ideals(small_graphs):
    cases = [([tuple(e) for e in case["edges"]], case["run"]) for case in small_graphs]
    expected = [case["ideal"] for case in small_graphs]
    assert [greedy_ideal(*case) for case in cases] == expected
    assert ideals_of(cases) == expected


def test_small_graphs_scores(small_graphs):
    """All graphs in one batch: graph i is a query of its own."""
    prefs, run = [], {}
    for i, case in enumerate(small_graphs):
        prefs.append(preferences_of(case["edges"], f"q{i}"))
        run |= run_of(case["run"], f"q{i}")
    measures = {p: f"PGC(p={p})" for p in ("0.5", "0.8", "0.95")}
    scores = pgcjax.evaluate(
        run, preferences=pd.concat(prefs), measures=measures.values()
    )
    for p, measure in measures.items():
        ours = scores.matrix(measure).loc["run"]
        for i, case in enumerate(small_graphs):
            assert ours[f"q{i}"] == pytest.approx(case["pgc"][p], abs=EXACT)
            twin = greedy_pgc(case["edges"], case["run"], float(p))
            assert twin == pytest.approx(case["pgc"][p], abs=EXACT)


def test_preorder(golden):
    """PGC of a derived graph is unnormalised compatibility over all levels.

    Case i is query i of one table, and of another with each grade 1 higher.
    """
    cases = {f"q{i:02}": case for i, case in enumerate(golden("preorder"))}
    run = {q: run_of(case["run"], q)[q] for q, case in cases.items()}
    grades = {q: case["grades"] for q, case in cases.items()}
    shifted = {q: {doc: g + 1 for doc, g in of.items()} for q, of in grades.items()}
    (p,) = {case["p"] for case in cases.values()}
    pgc, plain = f"PGC(p={p},graph=derived)", f"Compat(p={p},normalize=false)"
    ours = pgcjax.evaluate(run, qrels=grades, measures=[pgc, plain])
    raised = pgcjax.evaluate(run, qrels=shifted, measures=plain)
    for key, found in {
        "pgc_derived": ours.matrix(pgc),
        "compat_all_levels": raised.matrix(plain),
        "compat_positive_only": ours.matrix(plain),
    }.items():
        expected = {query: case[key] for query, case in cases.items()}
        assert found.loc["run"].to_dict() == pytest.approx(expected, abs=EXACT), key
    for query, case in cases.items():
        of = grades[query]
        twin = greedy_pgc(derived_edges(of), case["run"], p, vertices=tuple(of))
        assert twin == pytest.approx(case["pgc_derived"], abs=EXACT)
        twin = compat(of, case["run"], p, normalize=False)
        assert twin == pytest.approx(case["compat_positive_only"], abs=EXACT)


def test_cast(golden, data):
    """Real, derived and combined graphs of CAsT 2019: sizes, ideals and scores."""
    expected = golden("cast_pgc")
    prefs = pgcjax.files.read_preferences(
        data / "cast2019/clarke-prefs/TREC-CAsT-2019.pref.gz"
    )
    qrels = pgcjax.files.read_qrels(data / "cast2019/qrels/2019qrels.txt.gz")
    runs = {}
    for i, case in enumerate(expected["cases"]):
        runs[f"r{i:02}"] = run_of(case["run"], case["topic"])
    measures = [
        f"PGC(p={p},graph={graph})"
        for graph in ("real", "derived", "combined")
        for p in (0.8, 0.95)
    ]
    compats = ["Compat(p=0.8,normalize=false)", "Compat(p=0.8)"]
    scores = pgcjax.evaluate(
        runs,
        preferences=prefs,
        qrels=qrels,
        measures=measures + compats,
        missing="skip",
    )
    value = scores.table.set_index(["run_id", "measure"])["value"]
    graphs, ideals = [], []
    for i, case in enumerate(expected["cases"]):
        mine = value[f"r{i:02}"]
        for graph in ("real", "derived", "combined"):
            for p, wanted in case[f"pgc_{graph}"].items():
                measure = f"PGC(p={p},graph={graph})"
                if measure in mine:
                    assert mine[measure] == pytest.approx(wanted, abs=EXACT)
                else:
                    assert wanted is None
        for measure, key in zip(
            compats,
            ("compat_pos_unnormalized_0.8", "compat_pos_normalized_0.8"),
            strict=True,
        ):
            assert mine[measure] == pytest.approx(case[key], abs=EXACT)
        judged = prefs[prefs.query_id == case["topic"]]
        edges = [
            (a, b) if x > 0 else (b, a)
            for a, b, x in zip(
                judged.doc_id, judged.other_doc_id, judged.preference, strict=True
            )
        ]
        if edges:
            graphs.append((edges, case["run"]))
            ideals.append(case["ideal_real"])
    assert len(ideals) > 20 and ideals_of(graphs) == ideals


def test_cast_graph_sizes(golden, data):
    from pgcjax.tensors.graphs import combined_graphs, grade_graphs, preference_graphs

    stats = golden("cast_pgc")["stats"]
    prefs = pgcjax.files.read_preferences(
        data / "cast2019/clarke-prefs/TREC-CAsT-2019.pref.gz"
    )
    qrels = pgcjax.files.read_qrels(data / "cast2019/qrels/2019qrels.txt.gz")
    edges = Counter()
    for name, graphs in (
        ("real", preference_graphs(prefs)),
        ("derived", grade_graphs(qrels)),
        ("combined", combined_graphs(prefs, qrels)),
    ):
        edges[name] = sum(int(graph.edges().sum()) for graph in graphs.values())
        if name in stats:
            assert edges[name] == stats[name]["edges"]
            assert len(graphs) == stats[name]["topics"]
    assert edges["combined"] / 173 == pytest.approx(stats["combined_mean_173"])


@pytest.mark.parametrize(
    ("published", "qrels"),
    [
        ("dl21.original.compatibility.gz", "qrels.dl21-passage.txt.gz"),
        ("dl21.preferences.compatibility.gz", "gpt4o/prefs.dl21.qrels.gz"),
    ],
)
def test_published_compatibility(data, published, qrels):
    """Every published value of Clarke's own script: 2 x 63 runs x 53 topics."""
    expected = pd.read_csv(data / "dl21/published" / published, dtype=str)
    expected = expected[expected.topic != "topic"]  # the header, repeated for each run
    expected["compatibility"] = expected["compatibility"].astype(float)
    average = expected[expected.topic == "average"].set_index("runid")["compatibility"]
    each = expected[expected.topic != "average"]
    each = each.set_index(["runid", "topic"])["compatibility"]
    assert len(each) == 63 * 53
    scores = pgcjax.evaluate(
        data / "dl21/runs",
        qrels=data / "dl21" / qrels,
        measures="Compat(p=0.9)",
        order="clarke",
    )
    ours = scores.table.set_index(["run_id", "query_id"])["value"]
    assert len(ours) == len(each)
    difference = (ours - each.rename_axis(["run_id", "query_id"])).abs()
    assert difference.notna().all() and difference.max() <= EXACT
    means = scores.mean()["Compat(p=0.9)"]
    assert (means - average.rename_axis("run_id")).abs().max() <= EXACT


def test_golden_files_are_read_whole(golden):
    """The cases above cover the files: a shorter file would pass unnoticed."""
    assert len(golden("small_graphs")) == 200
    assert len(golden("preorder")) == 58
    assert len(golden("cast_pgc")["cases"]) == 27
    assert json.dumps(golden("worked_examples")).count("printed") == 6
