"""What the page to explore holds: the numbers that were found, bit for bit."""

import json
import re
from base64 import b64decode, b64encode
from hashlib import sha256
from html import unescape
from zlib import decompress

import numpy as np
import pandas as pd
import pytest

import pgcjax
from pgcjax.errors import DataError, DataWarning, UsageError
from pgcjax.io.runs import read_runs
from pgcjax.io.text_tables import cell_of
from pgcjax.reporting import interactive, judged_queries
from pgcjax.reporting.introduction import introduction, judging_in_words, meanings
from pgcjax.reporting.judged_queries import JudgedQueries
from pgcjax.reporting.score_findings import find
from pgcjax.stats.uncertainty import Uncertainty
from pgcjax.tensors.graphs import Graph


def made(runs, queries, measures=("PGC", "Compat")):
    rng = np.random.default_rng(0)
    names = [f"run{r:03}" for r in range(runs)], [f"q{q}" for q in range(queries)]
    index = pd.MultiIndex.from_product([measures, *names])
    index.names = ["measure", "run_id", "query_id"]
    return pd.DataFrame({"value": rng.random(len(index))}, index).reset_index()


def unpacked(packed):
    raw = decompress(b64decode(packed["zip"]))
    if packed["kind"] == "text":
        return raw.decode().split("\n")
    kind = np.dtype(packed["kind"]).newbyteorder("<")
    columns = np.frombuffer(raw, np.uint8).reshape(kind.itemsize, -1)
    return np.ascontiguousarray(columns.T).view(kind)[:, 0]


def embedded(path):
    text = path.read_text("utf-8")
    (data,) = re.findall(
        r'<script type="application/json" id="data">(.*)</script>', text
    )
    return text, json.loads(data)


@pytest.mark.parametrize(
    ("test", "resamples", "runs", "queries"),
    [("tukey", 100, 4, 6), ("t", None, 63, 50)],
)
def test_what_was_found_is_there(tmp_path, test, resamples, runs, queries):
    findings = find(made(runs, queries), test=test, resamples=resamples)
    path = interactive.write(findings, tmp_path / "page.html", title="Mine")
    text, data = embedded(path)
    assert len(text) < 500_000
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    assert data["runs"] == findings.runs and data["queries"] == findings.queries
    for measure, name in zip(data["measures"], ("PGC", "Compat"), strict=True):
        found = findings.compared[name]
        assert measure["name"] == name
        values = unpacked(measure["values"]).reshape(runs, queries)
        np.testing.assert_array_equal(values, findings.scores[name].values)
        for column in ("mean", "low", "high"):
            np.testing.assert_array_equal(unpacked(measure[column]), found.runs[column])
        bits = np.unpackbits(unpacked(measure["significant"]), count=len(found.table))
        np.testing.assert_array_equal(bits, found.table["significant"])
        low = found.table["difference"] - unpacked(measure["below"])
        np.testing.assert_allclose(low, found.table["low"], atol=1e-15)
        np.testing.assert_array_equal(unpacked(measure["p"]), found.table["p_adjusted"])
        assert measure["resamples"] == resamples
        assert measure["found"] == found.table["significant"].sum()
        assert measure["tested"] == found.tested and measure["queries"] is None
    tau = findings.correlations.set_index("coefficient")["value"]["tau"]
    cell = f'<td class="number">{cell_of(tau)}</td>'
    assert f'<td>PGC</td><td class="number">—</td>{cell}</tr>' in text
    assert data["judged"] is None and 'id="judgments"' not in text
    alone = "The page was made of scores alone: it does not show the judgments"
    assert f"<p>{alone} behind them.</p>" in text
    before = path.read_bytes()
    assert interactive.write(findings, path, title="Mine").read_bytes() == before


def replicated(table, names, shift=0.0):
    """Replicates of the means of a table by two runs or more."""
    rng = np.random.default_rng(1)
    means = table.groupby(["measure", "run_id"])["value"].mean() + shift
    mean = {name: means[name].to_numpy() for name in names}
    drawn = {n: m + 0.1 * rng.standard_normal((50, len(m))) for n, m in mean.items()}
    used = {"replicates": 50, "resample": "both", "seed": 0}
    return Uncertainty(
        used, run_ids=sorted(set(table["run_id"])), mean=mean, replicates=drawn
    )


def test_replicates_of_judgments_are_there(tmp_path):
    scores = made(5, 6)
    found = replicated(scores, ["PGC"])
    findings = find(scores, test="t", alpha=0.1, uncertainty=found)
    text, data = embedded(interactive.write(findings, tmp_path / "page.html"))
    one, other = (measure["judged"] for measure in data["measures"])
    assert other is None
    assert one["what"] == "queries and judgments drawn again 50 times"
    means, ranks = found.means(alpha=0.1), found.ranks(alpha=0.1)
    ranks = ranks.sort_values("run_id")
    for end in ("low", "high"):
        np.testing.assert_array_equal(unpacked(one[end]), means[end])
        assert one[f"rank_{end}"] == ranks[end].tolist()
    assert one["tier"] == ranks["tier"].tolist()
    assert "<dt>replicates, resample</dt><dd>both</dd>" in text
    mend = "Make both by one call of uncertainty."
    lacking = " Queries that a measure lacks are left out for all: name one measure."
    mean = scores.groupby(["measure", "run_id"])["value"].mean()["PGC", "run000"]
    for other, message in (
        (
            replicated(scores.assign(measure="AP"), ["AP"]),
            f"replicates: are by AP, but scores are by PGC, Compat. {mend}",
        ),
        (
            replicated(made(6, 6), ["PGC"]),
            "replicates: run 'run005' is in one of replicates and scores alone. "
            f"{mend}",
        ),
        (
            replicated(scores, ["PGC"], shift=0.5),
            f"replicates: the mean of 'run000' by PGC is {mean + 0.5:.6f}, and that of "
            f"the scores {mean:.6f}. {mend}{lacking}",
        ),
    ):
        with pytest.raises(DataError) as error:
            find(scores, test="t", uncertainty=other)
        assert str(error.value) == message


def test_the_policy_allows_its_own_style_and_script_alone(tmp_path):
    findings = find(made(3, 4, ["PGC"]), test="t")
    text, data = embedded(interactive.write(findings, tmp_path / "page.html"))
    (policy,) = re.findall(r'Content-Security-Policy" content="(.*?)"', text)
    allowed = dict(part.split(" ", 1) for part in unescape(policy).split("; "))
    assert allowed.pop("default-src") == "'none'" == allowed.pop("base-uri")
    assert allowed.pop("form-action") == "'none'" and allowed.pop("img-src") == "data:"
    for kind, tag in (("style-src", "style"), ("script-src", "script")):
        (inside,) = re.findall(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        digest = b64encode(sha256(inside.encode()).digest()).decode()
        assert allowed.pop(kind) == f"'sha256-{digest}'"
    assert not allowed and data["judged"] is None and "Kendall's τ" not in text
    assert not re.search(r"https?://(?!www\.w3\.org/)|@import|url\(", text)
    assert text.startswith("<!DOCTYPE html>")


def test_judgments_and_runs_beside_scores(tmp_path):
    scores = made(3, 3, ["PGC"])
    rows = [
        ("q0", "b", "a", 1, "j"),
        ("q0", "a", "b", 1, "k"),
        ("q0", "b", "a", 2, "k"),
    ]
    rows += [
        ("q0", "c", "a", -1, "j"),
        ("q2", "x", "y", 0, "j"),
        ("q2", "x", "z", 1, "j"),
    ]
    columns = ["query_id", "doc_id", "other_doc_id", "preference", "judge"]
    preferences = pgcjax.files.read_preferences(pd.DataFrame(rows, columns=columns))
    qrels = pgcjax.files.read_qrels({"q0": {"a": 2, "d": 1}, "q2": {"z": 0.5}})
    runs = {"run002": {"q0": {"n": 9, "c": 8, "b": 7}}, "run000": {"q2": {"z": 1}}}
    runs["other"] = runs["run000"]
    findings = find(scores, test="t")
    asked = findings.queries, findings.runs
    read = judged_queries.read(*asked, preferences, qrels, read_runs(runs))
    assert [len(graph) for graph in read.graphs] == [3, 0, 2]
    assert read.edges.tolist() == [[0, 1, 1], [0, 2, 1], [1, 0, 2], [3, 4, 1]]
    assert read.counts() == {
        "documents": [3, 0, 2],
        "judgments": [4, 0, 1],
        "pairs": [2, 0, 1],
        "conflicts": [1, 0, 0],
        "in cycles": [2, 0, 0],
        "largest part": [2, 0, 0],
    }
    parts = read.parts
    assert parts[0] == parts[1] and len({*parts.tolist()}) == 4
    np.testing.assert_array_equal(read.grades, [2, np.nan, np.nan, np.nan, 0.5])
    assert read.run_ids == ["run000", "run002"]
    shown = [at.tolist() for at in read.ranks]
    assert shown == [[[0, 0, 0], [0, 3, 2]], [[], []], [[0, 1], [0, 0]]]
    assert read.notes == (
        "1 run with scores not among the runs that were read: run001",
    )
    path = interactive.write(findings, tmp_path / "page.html", judged=read)
    text, data = embedded(path)
    judged = data["judged"]
    assert unpacked(judged["docs"]) == ["a", "b", "c", "x", "z"]
    assert judged["runs"] == [0, 2] and judged["of"] == "preferences"
    assert unpacked(judged["ranks"]).tolist() == [0, 0, 0, 0, 3, 2, 0, 1, 0, 0]
    assert "<h3>Agreement of judges</h3>" in text and 'id="judgments"' in text
    assert "6 judgments on 2 queries by 2 judges (j, k). They yield" in text
    read = judged_queries.read(*asked, None, qrels)
    judged = embedded(interactive.write(findings, path, judged=read))[1]["judged"]
    assert judged["of"] == "grades" and judged["runs"] == []
    assert unpacked(judged["levels"]).tolist() == [1, 0, 0]
    with pytest.raises(DataError) as error:
        judged_queries.read(["q7"], findings.runs, preferences)
    assert str(error.value) == (
        "judgments: are for queries q0, q2; scores are for q7. Give the judgments of "
        "these queries."
    )
    with pytest.raises(DataError) as error:
        judged_queries.read(findings.queries, ["a"], preferences, None, read_runs(runs))
    assert str(error.value) == (
        "runs: are called other, run000, run002; scores are for a. Name them as in the "
        "scores (name_by, --name-by)."
    )


@pytest.mark.parametrize(
    ("test", "correction", "risk"),
    [
        ("t", None, "any pair different would be at most 10 %"),
        ("tukey", None, "any pair different would be at most 10 %"),
        ("t", "bh", "of the pairs called different, 10 % are expected not to be"),
        (
            "t",
            "none",
            "about 10 % of the pairs that do not differ are called different",
        ),
    ],
)
def test_it_says_in_words_what_significance_means(test, correction, risk):
    how = {"test": test, "correction": correction, "resamples": 50, "alpha": 0.1}
    findings = find(made(3, 4, ("PGC", "of mine")), **how)
    shown, judging, significance, intervals = introduction(findings, "By ann.")
    assert shown.startswith("This page compares 3 runs on 4 queries. ")
    assert judging == "By ann." and "at 90 % (Student's t)" in intervals
    assert risk in significance and findings.compared["PGC"].tested in significance
    (name, meaning), other = meanings(findings)
    assert name == "PGC" and meaning.startswith("Greedy preference graph compat")
    assert other == ("of mine", "not a measure of this package.")


def test_it_says_in_words_who_judged():
    columns = ["query_id", "doc_id", "other_doc_id", "preference", "judge"]
    rows = [("q1", "a", "b", 1.0, "bob"), ("q1", "a", "c", 1.0, "ann")]
    table = pd.DataFrame([*rows, ("q9", "x", "y", 1.0, "eve")], columns=columns)
    qrels = pd.DataFrame({"query_id": ["q1"], "doc_id": ["a"], "relevance": [1.5]})
    text = judging_in_words(table, qrels, ["q1", "q2"])
    assert "2 judgments on 1 query by 2 judges (ann, bob). " in text
    assert text.endswith(
        "have grades: 1 document of 1 query, from 1.5 to 1.5; higher grades are better."
    )
    none = judging_in_words(None, qrels, ["q2"])
    assert none == "No query with scores has grades."


def test_of_very_many_only_what_has_room_is_kept():
    findings = find(made(640, 2, ["PGC"]), test="t", alpha=1e-9)  # a single group
    graph = Graph("q0", np.array([f"d{i}" for i in range(6300)]), np.zeros((0, 3), int))
    none = Graph("", np.array([], object), np.zeros((0, 3), int))
    ranks = [np.zeros((640, 6300), np.uint32), np.zeros((640, 0), np.uint32)]
    ranks[0][:, 0] = 2**16  # of more documents than two bytes count
    read = JudgedQueries([graph, none], np.full(6300, np.nan), findings.runs, ranks)
    data = interactive.data_of(findings, read)
    (measure,) = data["measures"]
    assert measure["p"]["kind"] == "f8" and measure["below"] is None
    best = findings.compared["PGC"].runs["mean"].to_numpy().argsort()[::-1][:634]
    assert {*data["judged"]["runs"]} == {*best.tolist()}
    assert data["judged"]["all"] == 640 and data["judged"]["ranks"]["kind"] == "u4"


def test_what_is_refused(tmp_path):
    findings = find(made(3, 4, ["PGC"]), test="t")
    with pytest.raises(UsageError, match="suffix of an output file is one of .html"):
        interactive.write(findings, tmp_path / "page.pdf")
    assert not [*tmp_path.iterdir()]


def test_each_measure_is_shown_on_its_own_queries(tmp_path):
    """As compare shows it; and the page opens on the measure asked for first."""
    scores = made(5, 8, ("Compat", "PGC"))
    lacking = (scores["measure"] == "PGC") & scores["query_id"].isin(["q1", "q4"])
    scores = scores[~lacking]
    findings = find(scores, ["PGC", "Compat"], resamples=200)
    text, data = embedded(interactive.write(findings, tmp_path / "page.html"))
    assert [one["name"] for one in data["measures"]] == ["PGC", "Compat"]
    assert data["queries"] == [f"q{i}" for i in range(8)]
    for one, queries in zip(data["measures"], (6, 8), strict=True):
        found = pgcjax.compare(scores, measure=one["name"], resamples=200)
        np.testing.assert_array_equal(unpacked(one["mean"]), found.runs["mean"])
        assert one["tested"] == found.tested and f"{queries} queries" in found.tested
        assert found.notes[0] in one["notes"]
        values = unpacked(one["values"]).reshape(5, 8)
        there = [0, 2, 3, 5, 6, 7] if queries == 6 else list(range(8))
        assert one["queries"] == (there if queries == 6 else None)
        assert np.isfinite(values).all(axis=0).nonzero()[0].tolist() == there
    assert "<dt>queries</dt><dd>PGC 6; Compat 8</dd>" in text
    own = "measures have different queries: PGC 6; Compat 8"
    assert f"<dt>lacking</dt><dd>{own}" in text
    assert "two measures put the runs, by the 6 queries that all measures have" in text
    with pytest.warns(DataWarning, match="2 of 8 queries left out"):
        shared = find(scores, ["PGC", "Compat"], test="t", missing="shared")
    assert {len(one.query_ids) for one in shared.scores.values()} == {6}


def test_the_script_makes_no_p_of_its_own():
    """p of a page is that of the table: the script has none of the functions."""
    for name in interactive.SCRIPTS:
        page = interactive.template("report.html.jinja").environment
        text = page.loader.get_source(page, f"report/{name}.js")[0]
        assert not re.search(r"\berf|gamma|lbeta|ttest|wilcoxon|binom", text, re.I), (
            name
        )
