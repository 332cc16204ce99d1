"""Gates hold, fail or stay open as bounds have it, and let few worse runs pass."""

import json
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import pgcjax
from pgcjax.cli import main
from pgcjax.errors import DataError, UsageError
from pgcjax.stats import gates

CLAIMS = ("not-worse", "better", "equivalent")


def table(*differences: float, queries: int = 40, spread: float = 0.05) -> pd.DataFrame:
    """Scores of `old` and `new`, by a measure for each mean difference."""
    random, rows = np.random.default_rng(0), []
    for k, difference in enumerate(differences):
        noise = random.normal(0, spread, queries)
        old = 0.5 + random.normal(0, 0.1, queries)
        new = old + difference + noise - noise.mean()
        for run, values in (("old", old), ("new", new)):
            ids = {"run_id": run, "query_id": [f"q{i}" for i in range(queries)]}
            rows.append(pd.DataFrame(ids | {"measure": f"m{k}", "value": values}))
    return pd.concat(rows, ignore_index=True)


@pytest.mark.parametrize("claim", CLAIMS)
@pytest.mark.parametrize("difference", [-0.1, -0.02, 0.0, 0.02, 0.1])
def test_bounds_p_and_outcome_agree(claim, difference):
    scores = table(difference)
    row = pgcjax.gate(scores, "new", "old", margin=0.02, claim=claim).table.iloc[0]
    wide = scores.pivot_table("value", "query_id", "run_id")
    d = (wide["new"] - wide["old"]).to_numpy()
    error = np.sqrt(d.var(ddof=1) / 40 + (2 * 0.02) ** 2 / 40)  # of the prototype
    half = stats.t.isf(0.05, 39) * error
    assert row[["low", "high"]].tolist() == pytest.approx(
        [d.mean() - half, d.mean() + half]
    )
    border = {"not-worse": -0.02, "better": 0.0, "equivalent": -0.02}[claim]
    holds = row.low > border and (claim != "equivalent" or row.high < 0.02)
    assert (row.outcome == "holds") == holds == (row.p_value <= 0.05)
    p = stats.t.sf((d.mean() - border) / error, 39)
    if claim != "equivalent" or difference < 0:
        assert row.p_value == pytest.approx(p)
        doubled = 2 if claim == "equivalent" else 1
        assert row.p_against == pytest.approx(doubled * (1 - p))
    assert (row.more_queries > 0) == (row.outcome == "open")


@pytest.mark.parametrize(
    ("differences", "outcome"),
    [((0.1, 0.1), "holds"), ((0.1, -0.01), "open"), ((0.1, -0.01, -0.1), "fails")],
)
def test_all_measures_have_to_hold(differences, outcome):
    found = pgcjax.gate(table(*differences), "new", "old", margin=0.01)
    assert found.outcome == outcome and found.why.startswith(f"{outcome}: ")
    each = ["holds" if d > 0 else "open" if d > -0.1 else "fails" for d in differences]
    assert found.table["outcome"].tolist() == each
    alone = pgcjax.gate(table(*differences), "new", "old", margin=0.01, measures=["m0"])
    assert alone.outcome == "holds" and len(alone.table) == 1


def test_of_several_measures_the_contrary_is_shown_at_a_share_of_alpha():
    differences = [-0.02] * 8
    one, all_ = (
        pgcjax.gate(table(*differences[:n], spread=0.03), "new", "old", margin=0.01)
        for n in (1, 8)
    )
    assert one.table["p_against"][0] == all_.table["p_against"][0]
    assert 0.05 / 8 < one.table["p_against"][0] < 0.05
    assert one.outcome == "fails" and all_.table["outcome"][0] == "open"


def test_of_several_measures_each_claim_is_shown_at_alpha():
    found = pgcjax.gate(table(0.004, 0.004), "new", "old", margin=0.01)
    assert ((found.table.p_value > 0.025) & (found.table.p_value < 0.05)).all()
    assert found.outcome == "holds"


@pytest.mark.parametrize("claim", CLAIMS)
@pytest.mark.parametrize(("mean", "deviation"), [(0.01, 0.1), (-0.06, 0.1), (0.0, 0.3)])
def test_the_estimated_number_of_queries_has_the_power(claim, mean, deviation):
    if claim == "better" and not mean:
        return  # of equal runs no number tells
    power = partial(gates.settled, mean, deviation, 0.02, claim, (0.05, 0.05))
    total = 10 + gates.more_queries(power, 10)
    random = np.random.default_rng(1)
    means = random.normal(mean, deviation / total**0.5, 20_000)
    spread = deviation * np.sqrt(random.chisquare(total - 1, 20_000) / (total - 1))
    p, against, _ = gates.evidence(means, spread, total, 0.02, claim)
    assert ((p <= 0.05) | (against <= 0.05)).mean() == pytest.approx(0.8, abs=0.02)
    assert gates.more_queries(lambda n: 0.5, 10) == gates.MOST_QUERIES


def test_rare_large_drops_pass_a_gate_less_often_than_a_t_test():
    random = np.random.default_rng(2)
    drops = -0.1 * (random.random((20_000, 50)) < 0.05)
    d = drops + 0.005 - 0.02  # on average worse by the margin, 0.02
    mean, deviation = d.mean(1), d.std(1, ddof=1)
    p, _, _ = gates.evidence(mean, deviation, 50, 0.02, "not-worse")
    with np.errstate(divide="ignore"):
        t = (mean + 0.02) / deviation * 50**0.5
    passed = (p <= 0.05).mean(), (stats.t.sf(t, 49) <= 0.05).mean()
    assert passed[0] < 0.05 and passed[1] > 0.075


def test_a_gate_that_cannot_see_rare_drops_says_so():
    found = pgcjax.gate(table(0.1), "new", "old", margin=0.01)
    assert any(
        "40 queries have no such drop with probability" in n for n in found.notes
    )
    large = pgcjax.gate(table(0.1, queries=600), "new", "old", margin=0.01)
    assert large.outcome == "holds" and not large.notes


def test_queries_that_other_runs_lack_are_kept():
    scores = table(0.1)
    other = scores[scores["run_id"] == "old"].head(3).assign(run_id="third")
    found = pgcjax.gate(pd.concat([scores, other]), "new", "old", margin=0.01)
    assert found.table["queries"].tolist() == [40]


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"margin": 0.0}, UsageError, "expected a margin above 0 and two runs"),
        ({"against": "new"}, UsageError, "expected a margin above 0 and two runs"),
        ({"claim": "nicer"}, UsageError, "claim"),
        ({"alpha": 1.0}, UsageError, "alpha=1.0"),
        ({"new": "x"}, UsageError, "no scores of run 'x'; there are new, old"),
        ({"measures": ["x"]}, UsageError, "no scores of 'x'"),
        ({"scores": table(0.1).iloc[1:]}, DataError, "has no score for query 'q0'"),
    ],
)
def test_wrong_arguments_are_named(given, error, message):
    call = {"scores": table(0.1), "new": "new", "against": "old", "margin": 0.01}
    with pytest.raises(error, match=message):
        pgcjax.gate(**call | given)


@pytest.mark.parametrize(
    ("difference", "code", "outcome"),
    [(0.1, 0, "holds"), (-0.1, 4, "fails"), (-0.01, 5, "open")],
)
def test_the_exit_status_says_what_was_decided(
    difference, code, outcome, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    table(difference).to_csv("scores.csv", index=False)
    line = ["gate", "scores.csv", "--run", "new", "--against", "old"]
    with pytest.raises(SystemExit) as done:
        main([*line, "--margin", "0.01", "-o", "gate.json"])
    assert done.value.code == code
    found, (out, err) = (
        json.loads((tmp_path / "gate.json").read_text()),
        capsys.readouterr(),
    )
    assert found["pgcjax"]["outcome"] == found["rows"][0]["outcome"] == outcome
    assert f"pgcjax: {found['pgcjax']['why']}\n" in err and out.startswith("measure\t")
