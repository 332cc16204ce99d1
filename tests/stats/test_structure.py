"""Queries that belong together are drawn together; means stay those of the queries."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import pgcjax
from pgcjax.cli import main
from pgcjax.errors import DataError, UsageError
from pgcjax.stats.matrix import Matrix
from pgcjax.stats.structure import (
    borda,
    clustered,
    collected,
    variance_components,
)

SIZES = [1, 2, 5, 3, 3, 4, 2, 6, 1, 3, 2, 4, 5, 2, 3, 1]


def scores(sizes: list[int], share: float = 0.5) -> pd.DataFrame:
    """Three runs, whose effects are those of topics in part."""
    random = np.random.default_rng(0)
    of = np.repeat(np.arange(len(sizes)), sizes)
    topic = random.normal(0, 1, (3, len(sizes)))[:, of]
    x = share**0.5 * topic + (1 - share) ** 0.5 * random.normal(0, 1, (3, len(of)))
    turn = np.concatenate([np.arange(size) for size in sizes])
    names = [f"{c}_{t}" for c, t in zip(of, turn, strict=True)]
    return pd.DataFrame(x, ["a", "b", "c"], names).rename_axis("run_id").reset_index()


def matrix(sizes: list[int]) -> Matrix:
    wide = scores(sizes).set_index("run_id")
    return Matrix(list(wide.index), list(wide.columns), wide.to_numpy())


def test_mean_is_that_of_queries_and_error_that_of_the_jackknife():
    given = matrix(SIZES)
    made = clustered(given, "_").values
    count, of = len(SIZES), np.repeat(np.arange(len(SIZES)), SIZES)
    names = np.array([name.split("_")[0] for name in given.query_ids])
    assert sorted(names) == sorted(map(str, of))
    assert made.mean(1) == pytest.approx(given.values.mean(1))
    d = given.values[0] - given.values[1]
    without = np.array([d[names != name].mean() for name in set(names)])
    variance = (count - 1) / count * np.square(without - without.mean()).sum()
    assert (made[0] - made[1]).var(ddof=1) / count == pytest.approx(variance)


@pytest.mark.parametrize("size", [1, 4])
def test_clusters_of_equal_size_have_their_means(size):
    given = matrix([size] * 20)
    made = clustered(given, "_")
    names = pd.Series(given.query_ids).str.partition("_")[0]
    means = pd.DataFrame(given.values.T).groupby(names.to_numpy()).mean()
    assert made.query_ids == list(means.index)
    assert made.values == pytest.approx(means.to_numpy().T)


def test_compare_draws_clusters_and_keeps_means():
    table = scores(SIZES)
    plain, made = pgcjax.compare(table), pgcjax.compare(table, cluster="_")
    assert made.runs["mean"].tolist() == pytest.approx(plain.runs["mean"].tolist())
    assert "47 queries in 16 clusters" in made.notes[0]
    assert (made.metadata["queries"], made.metadata["clusters"]) == (47, 16)
    width = (made.table["high"] - made.table["low"]).sum()
    assert width > 1.2 * (plain.table["high"] - plain.table["low"]).sum()
    names = table.columns[1:]
    groups = dict(zip(names, (name.split("_")[0] for name in names), strict=True))
    for given in (groups, pd.DataFrame(groups.items(), columns=["qid", "cluster"])):
        same = pgcjax.compare(table, cluster=given)
        pd.testing.assert_frame_equal(same.table, made.table)


def test_a_file_of_clusters_with_and_without_a_header(tmp_path):
    table = scores(SIZES)
    rows = [f"{name} {name.split('_')[0]}" for name in table.columns[1:]]
    expected = pgcjax.compare(table, cluster="_").table
    for name, head, mark in (("c.csv", ["qid cluster"], ","), ("c.txt", [], " ")):
        path = tmp_path / name
        path.write_text("\n".join(head + rows).replace(" ", mark) + "\n")
        found = pgcjax.compare(table, cluster=path).table
        pd.testing.assert_frame_equal(found, expected)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (
            {"cluster": ":"},
            UsageError,
            "cluster=':': no query_id has it; there are 0_0",
        ),
        ({"cluster": {"0_0": "x"}}, DataError, "no cluster of 10_0"),
        ({"cluster": dict.fromkeys(scores(SIZES).columns, "x")}, DataError, "one clus"),
        (
            {"cluster": "_", "test": "tukey"},
            UsageError,
            "cluster goes with test 'max-t' alone, not",
        ),
        ({"cluster": "_", "rectify": 1}, UsageError, "rectify does not go with clu"),
        ({"cluster": "nowhere.csv"}, DataError, "nowhere.csv"),
    ],
)
def test_wrong_clusters_are_named(given, error, message):
    with pytest.raises(error, match=message):
        pgcjax.compare(scores(SIZES), **given)


def test_a_query_is_in_one_cluster(tmp_path):
    path = tmp_path / "clusters.csv"
    path.write_text("query_id,cluster\n0_0,a\n1_0,a\n0_0,b\n")
    with pytest.raises(DataError, match=r"clusters\.csv:4: has '0_0' twice"):
        pgcjax.compare(scores(SIZES), cluster=path)


def repeated(runs: dict[str, int], seed_sd: float = 0.0, queries: int = 30) -> Matrix:
    """Systems of so many runs, whose means differ by `seed_sd`."""
    random = np.random.default_rng(1)
    names = [f"{system}-{k}" for system, count in runs.items() for k in range(count)]
    x = random.normal(0, 1, queries) + random.normal(0, 0.5, (len(names), queries))
    x += random.normal(0, seed_sd, (len(names), 1))
    return Matrix(names, [f"q{i}" for i in range(queries)], x)


def test_systems_are_tested_by_queries_and_repeats():
    given = repeated({"one": 3, "other": 4}, seed_sd=0.3)
    found = pgcjax.compare(given, system="-")
    row, runs = found.table.iloc[0], found.runs
    x, y = given.values[:3], given.values[3:]
    d = x.mean(0) - y.mean(0)
    parts = [d.var(ddof=1) / 30, x.mean(1).var(ddof=1) / 3, y.mean(1).var(ddof=1) / 4]
    freedom = sum(parts) ** 2 / sum(
        v**2 / k for v, k in zip(parts, (29, 2, 3), strict=True)
    )
    t = d.mean() / sum(parts) ** 0.5
    assert row.difference == pytest.approx(d.mean())
    assert row.p_value == pytest.approx(2 * stats.t.sf(abs(t), freedom))
    half = stats.t.isf(0.025, freedom) * sum(parts) ** 0.5
    assert (row.low, row.high) == pytest.approx((d.mean() - half, d.mean() + half))
    assert runs["repeats"].tolist() == [3, 4] and runs["run_id"].tolist() == [
        "one",
        "other",
    ]
    assert runs["repeat_sd"][0] == pytest.approx(x.mean(1).std(ddof=1))
    assert "30 queries, 7 runs of the systems" in found.notes[0]


def test_variance_components_are_those_of_mean_squares():
    """Of equal numbers of runs, by their expectations."""
    given = repeated({"a": 4, "b": 4, "c": 4}, seed_sd=0.3)
    x = given.values.reshape(3, 4, 30)
    mean = {axes: x.mean(axes, keepdims=True) for axes in (0, 1, 2, (0, 1), (1, 2))}
    of_run, of_system, of_both = mean[2], mean[1, 2], mean[1]
    left = ((x - of_run - of_both + of_system) ** 2).sum() / (3 * 3 * 29)
    run = 30 * ((of_run - of_system) ** 2).sum() / (3 * 3)
    together = of_both - of_system - mean[0, 1] + x.mean()
    both = 4 * (together**2).sum() / (2 * 29)
    system = 4 * 30 * ((of_system - x.mean()) ** 2).sum() / 2
    query = 4 * 3 * ((mean[0, 1] - x.mean()) ** 2).sum() / 29
    expected = {
        "system": (system - both - run + left) / 120,
        "query": (query - both) / 12,
        "system × query": (both - left) / 4,
        "run within system": (run - left) / 30,
        "residual": left,
    }
    found = pgcjax.compare(given, system="-")
    variances = found.components.set_index("component")["variance"]
    assert variances.to_dict() == pytest.approx(expected)
    assert found.metadata["variance_components"] == pytest.approx(expected)
    parts = [max(0.0, value) ** 0.5 for value in expected.values()]
    assert found.components["deviation"].tolist() == pytest.approx(parts)
    assert (
        f"run within system {parts[3]:.4f}, residual {parts[4]:.4f}" in found.notes[-1]
    )


def test_variance_components_of_unequal_and_of_deterministic_systems():
    """Those of runs are of repeated systems alone; all are right on average."""
    sd, draws = np.array([0.2, 0.3, 0.1, 0.15, 0.25]), []
    runs, random = {"a": 1, "b": 3, "c": 6, "d": 3}, np.random.default_rng(2)
    given, of = repeated(runs, queries=12), np.repeat(range(4), [*runs.values()])
    shapes = (4, 1), 12, (4, 12), (13, 1), (13, 12)
    for _ in range(300):
        z = [random.normal(0, s, n) for s, n in zip(sd, shapes, strict=True)]
        x = z[1] + (z[0] + z[2])[of] + (of > 0)[:, None] * (z[3] + z[4])
        draws.append(variance_components(replace(given, values=x), "-")["variance"])
    error = np.std(draws, 0) / len(draws) ** 0.5
    assert np.abs((np.mean(draws, 0) - sd**2) / error).max() < 3.5
    single = variance_components(repeated({"a": 1, "b": 1}), "-")
    assert single["component"].tolist() == ["system", "query", "system × query"]


def test_systems_of_one_run_each_are_tested_as_runs():
    given = repeated({"a": 1, "b": 1, "c": 1})
    found, plain = pgcjax.compare(given, system="-"), pgcjax.compare(given, test="t")
    columns = ["difference", "low", "high", "p_value", "p_adjusted"]
    pd.testing.assert_frame_equal(found.table[columns], plain.table[columns])
    assert any(
        n.startswith("with one run, and so treated as deterministic: a, b")
        for n in found.notes
    )


def test_what_was_not_simulated_of_systems_is_refused():
    with pytest.raises(DataError, match="all runs belong to one system"):
        pgcjax.compare(repeated({"a": 3}), system="-")
    with pytest.raises(DataError, match="2 runs of b.*Give 3 or more"):
        pgcjax.compare(repeated({"a": 3, "b": 2}), system="-")
    with pytest.raises(
        UsageError, match="system goes with test 't' alone, not 'max-t'"
    ):
        pgcjax.compare(repeated({"a": 3, "b": 3}), system="-", test="max-t")
    with pytest.raises(UsageError, match="cluster goes with test 'max-t' alone"):
        pgcjax.compare(repeated({"a": 3, "b": 3}), system="-", cluster="q")


@pytest.mark.parametrize(
    ("option", "value"), [("cluster", "_"), ("system", "systems.csv")]
)
def test_the_verb_takes_clusters_and_systems(
    option, value, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    scores(SIZES).to_csv("scores.csv", index=False)
    systems = pd.Series({"a": "x", "b": "y", "c": "z"}, name="system")
    systems.rename_axis("run_id").to_csv("systems.csv")
    line = ["compare", "scores.csv", f"--{option}", value, "-o", "pairs.csv"]
    with pytest.raises(SystemExit) as done:
        main(line)
    assert not done.value.code, capsys.readouterr().err
    made = pgcjax.compare(scores(SIZES), **{option: value})
    found = pd.read_csv("pairs.csv", comment="#")
    pd.testing.assert_frame_equal(found, made.table, check_dtype=False)


def test_means_are_over_collections_and_errors_of_a_stratified_sample():
    given = matrix([30, 6, 12])
    made, means = collected(given, "_")
    parts = np.split(given.values, [30, 36], axis=1)
    assert means.T == pytest.approx(np.array([part.mean(1) for part in parts]))
    assert made.values.mean(1) == pytest.approx(means.mean(1))
    d = [part[0] - part[1] for part in parts]
    variance = sum(part.var(ddof=1) / len(part) for part in d) / 9
    assert made.notes[0].startswith("1, 2: far fewer queries than the largest")
    error = (made.values[0] - made.values[1]).var() / made.values.shape[1]
    assert error == pytest.approx(variance)


def test_borda_counts_who_is_ahead_on_each_collection():
    means = np.array([[0.9, 0.1], [0.5, 0.5], [0.1, 0.5]])
    assert borda(means) == pytest.approx([0.5, 0.625, 0.375])


def by_collection(lacking: str | None = None) -> dict[str, pd.DataFrame]:
    """Scores of two collections whose queries have the same ids."""
    parts = {}
    for name, sizes in (("old", [20]), ("new", [12])):
        rows = scores(sizes).melt("run_id", var_name="query_id")
        parts[name] = rows[(rows["run_id"] != lacking) | (name == "old")]
    return parts


def test_several_collections_are_compared_by_their_mean(tmp_path, monkeypatch, capsys):
    parts = by_collection()
    found = pgcjax.compare(parts, collections=True)
    means = [part.groupby("run_id")["value"].mean() for part in parts.values()]
    runs = found.runs.set_index("run_id")
    assert runs["mean"].tolist() == pytest.approx(list((means[0] + means[1]) / 2))
    assert "32 queries of 2 collections" in found.notes[0]
    assert "the results do not extend to other collections" in found.notes[1]
    rows = [part.assign(query_id=n + "/" + part.query_id) for n, part in parts.items()]
    one = pgcjax.compare(pd.concat(rows), collections="/")
    pd.testing.assert_frame_equal(one.table, found.table)
    monkeypatch.chdir(tmp_path)
    for name, part in parts.items():
        part.to_csv(f"{name}.csv", index=False)
    with pytest.raises(SystemExit) as done:
        main(["compare", "old.csv", "new.csv", "-o", "pairs.csv"])
    assert not done.value.code, capsys.readouterr().err
    pairs = pd.read_csv("pairs.csv", comment="#")
    pd.testing.assert_frame_equal(pairs, found.table, check_dtype=False)


def test_a_collection_that_is_given_twice_is_refused():
    parts = by_collection()
    with pytest.raises(DataError, match="copy: the same scores as old. Give each"):
        pgcjax.compare(parts | {"copy": parts["old"]}, collections=True)


def test_a_run_that_lacks_a_collection():
    parts = by_collection(lacking="c")
    with pytest.raises(DataError, match="new: run 'c' has no scores; 1 run without"):
        pgcjax.compare(parts, collections=True)
    left = pgcjax.compare(parts, collections=True, missing="drop")
    assert left.runs["run_id"].tolist() == ["a", "b"]
    assert any("left out: c" in note for note in left.notes)
    zero = pgcjax.compare(parts, collections=True, missing="zero")
    whole = pgcjax.compare(by_collection(), collections=True)
    assert zero.runs["mean"][:2].tolist() == whole.runs["mean"][:2].tolist()
    half = parts["old"].query("run_id == 'c'")["value"].mean() / 2
    assert zero.runs["mean"][2] == pytest.approx(half)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"collections": {n: n for n in scores(SIZES).columns}}, "1 query of 0_0"),
        ({"collections": "_", "cluster": "_"}, "cluster does not go with collections"),
        ({"collections": "_", "test": "t"}, "collections goes with test 'max-t' alone"),
    ],
)
def test_wrong_collections_are_named(given, message):
    with pytest.raises((DataError, UsageError), match=message):
        pgcjax.compare(scores(SIZES), **given)


def test_a_gate_draws_clusters():
    asked = {"new": "a", "against": "b", "margin": 0.05}
    given = {"x": scores(SIZES)}
    found = pgcjax.gate(given, **asked, cluster="_").table.iloc[0]
    plain = pgcjax.gate(given, **asked).table.iloc[0]
    made = clustered(matrix(SIZES), "_").values
    d = made[0] - made[1]
    error = np.sqrt((d.var(ddof=1) + 4 * 0.05**2) / len(d))
    assert found["difference"] == pytest.approx(plain["difference"])
    assert (found["queries"], plain["queries"]) == (16, 47)
    assert found["low"] == pytest.approx(d.mean() - stats.t.isf(0.05, 15) * error)
    assert found["low"] < plain["low"]


@pytest.mark.parametrize(
    ("structure", "note"),
    [
        ({"cluster": "_"}, "3 runs, 16 clusters; ranks of all hold"),
        ({"collections": "_"}, "queries drawn again 300 times, of each collection"),
    ],
)
def test_rank_sets_draw_what_belongs_together(structure, note):
    given = matrix(SIZES if "cluster" in structure else [20, 12])
    given = replace(given, values=given.values + 0.6 * np.arange(3)[:, None])
    options = {"resamples": 300, **structure}
    found = pgcjax.rank_sets(given, **options)
    same = pgcjax.compare(given, ranks="windows", **options).runs
    ranks = found.table.set_index("run_id")[["low", "high", "tier"]]
    names = ["rank_low", "rank_high", "tier"]
    expected = same.set_index("run_id").loc[ranks.index, names]
    assert ranks.to_numpy().tolist() == expected.to_numpy().tolist()
    assert note in found.notes[-1]


def test_rank_sets_of_systems_are_by_all_pairs_with_repeats():
    given = repeated({"a": 3, "b": 4, "c": 1, "d": 3}, seed_sd=0.05)
    apart = np.repeat([0, 0.1, 0.5, 1], [3, 4, 1, 3])[:, None]
    given = replace(given, values=given.values + apart)
    found = pgcjax.rank_sets(given, system="-")
    runs = pgcjax.compare(given, system="-").runs.set_index("run_id")
    ranks = found.table.set_index("run_id")
    for name, column in (("rank_low", "low"), ("rank_high", "high"), ("tier", "tier")):
        assert runs[name].to_dict() == ranks[column].to_dict()
    assert ranks["low"].nunique() > 1
    assert found.notes[-1].startswith("4 systems, 30 queries; ranks of all hold")
    with pytest.raises(UsageError, match="cluster does not go with system"):
        pgcjax.rank_sets(given, cluster="q", system="-")
