"""Lifts of runs by their judge: against a plain regression, and on made-up scores."""

import json
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import pgcjax
from pgcjax.errors import DataError, UsageError
from pgcjax.judgments import circular
from pgcjax.stats.circularity import above_line

RUNS = [f"r{i:02}" for i in range(20)]


def made(lifts: dict[str, float], seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Scores by a judge and by people of 20 runs, 40 queries, wide."""
    rng = np.random.default_rng(seed)
    quality = rng.normal(0.4, 0.08, (20, 1)) + rng.normal(0, 0.1, 40)
    people = quality + rng.normal(0, 0.05, (20, 40))
    judge = 0.1 + 0.8 * people + rng.normal(0, 0.01, (20, 1))
    judge += rng.normal(0, 0.05, (20, 40))
    for run, lift in lifts.items():
        judge[RUNS.index(run)] += lift
    names = {"index": RUNS, "columns": [f"q{i}" for i in range(40)]}
    tables = [pd.DataFrame(x, **names).rename_axis("run_id") for x in (judge, people)]
    return tables[0].reset_index(), tables[1].reset_index()


def test_a_lift_is_the_distance_from_the_line_of_the_others():
    judge, people = made({"r03": 0.1})
    found = circular(judge, people, ["r03"])
    y, x = (t.set_index("run_id").mean(axis=1) for t in (judge, people))
    rest = [run for run in RUNS if run != "r03"]
    # The same as a dummy of the run in a regression of all.
    design = np.column_stack([np.ones(20), x, np.array(RUNS) == "r03"]).astype(float)
    beta, (square,), *_ = np.linalg.lstsq(design, y.to_numpy(), rcond=None)
    error = np.sqrt(square / 17 * np.linalg.inv(design.T @ design)[2, 2])
    row = found.table.iloc[0]
    assert row["lift"] == pytest.approx(beta[2])
    assert row["p_runs"] == pytest.approx(stats.t.sf(beta[2] / error, 17))
    difference = (y - x)["r03"] - (y - x)[rest].mean()
    assert row["difference"] == pytest.approx(difference)
    assert row["lifted"] and row["low"] < row["lift"] < row["high"]
    assert row["low"] < 0.1 < row["high"]
    assert found.notes == (
        "of 1 run made with the judge, lifted: r03 (40 queries, α = 0.05 for all "
        "together)",
    )
    runs = found.runs.set_index("run_id")
    assert runs.loc["r03", "corrected"] == pytest.approx(y["r03"] - beta[2])
    assert (runs["corrected"] == runs["judge"]).drop("r03").all()
    rank = y.rank(method="min", ascending=False).astype(int)
    assert runs["rank_judge"].to_dict() == rank.to_dict()
    assert runs.loc["r03", "rank_corrected"] > runs.loc["r03", "rank_judge"]


def test_of_several_runs_those_are_found_that_are_lifted():
    judge, people = made({"r03": 0.1, "r07": 0.1})
    found = circular(judge, people, ["r03", "r07", "r11"]).table.set_index("run_id")
    assert found["lifted"].to_dict() == {
        "r03": True, "r07": True, "r11": False, "all named runs": True
    }  # fmt: skip
    assert found["lift"].iloc[-1] == pytest.approx(found["lift"].iloc[:-1].mean())
    lowered = circular(*made({"r03": -0.2}), ["r03"]).table.iloc[0]
    assert lowered["high"] < 0 and not lowered["lifted"]


def test_queries_of_one_side_are_left_out_and_order_means_nothing():
    judge, people = made({"r03": 0.1})
    some = people.drop(columns=["q0", "q1"]).sample(frac=1, random_state=1)
    found = circular(judge, some, "r03")
    assert found.metadata["queries"] == 38
    assert found.notes[0] == (
        "left out: 2 queries with scores by the judge or people alone"
    )
    fewer = [table.drop(columns=["q0", "q1"]) for table in (judge, people)]
    again = circular(*fewer, "r03")
    pd.testing.assert_frame_equal(found.table, again.table)


JUDGE, PEOPLE = made({})


def test_a_lift_above_a_line_without_noise_is_sure():
    lifted = PEOPLE.copy()
    lifted.loc[lifted["run_id"] == "r03", "q0":] += 0.01
    assert circular(lifted, PEOPLE, "r03").table["lifted"].tolist() == [True]
    assert circular(PEOPLE, PEOPLE, "r03").table["lifted"].tolist() == [False]


@pytest.mark.parametrize(
    "call, message",
    [
        (
            (JUDGE, PEOPLE, []),
            "judge_runs: name the runs that were made with the judge",
        ),
        (
            (JUDGE, PEOPLE, ["x"]),
            f"no run 'x'; there are {', '.join(RUNS[:8])}, …",
        ),
        (
            (JUDGE, PEOPLE, RUNS[:16]),
            "scores: 4 runs beside those made with the judge. At least 5 others are "
            "needed, to compare with.",
        ),
        (
            (JUDGE, PEOPLE.iloc[1:], ["r03"]),
            "run 'r00' has scores by the judge alone. Score it by the other, too, or "
            "leave it out of both.",
        ),
        (
            (JUDGE, PEOPLE.rename(columns=lambda c: c.replace("q", "z")), ["r03"]),
            "the judge and people have scores of 0 same queries. Score both on the "
            "same queries: at least 2, better 50.",
        ),
        (
            (JUDGE, PEOPLE.assign(**dict.fromkeys(PEOPLE.columns[1:], 0.1)), ["r03"]),
            "the other runs have equal means by people. Name fewer runs, or give "
            "scores by people that tell the others apart.",
        ),
    ],
)
def test_calls_that_cannot_be_meant(call, message):
    with pytest.raises((UsageError, DataError)) as caught:
        circular(*call)
    assert str(caught.value) == message


def test_the_verb_is_the_function(tmp_path, capsys):
    from pgcjax.cli import main

    files = [str(tmp_path / name) for name in ("judge.csv", "people.csv")]
    for table, file in zip((JUDGE, PEOPLE), files, strict=True):
        table.to_csv(file, index=False)
    found = circular(*files, ["r03", "r04"])
    named = ["--judge-runs", "r03", "--judge-runs", "r04", "--format", "json"]
    for show, table in {"lifts": found.table, "runs": found.runs}.items():
        with pytest.raises(SystemExit) as done:
            main(["judgments", "circular", *files, *named, "--show", show])
        assert done.value.code == 0
        rows = pd.DataFrame(json.loads(capsys.readouterr().out)["rows"])
        pd.testing.assert_frame_equal(rows, table, check_dtype=False)
    assert isinstance(found, pgcjax.judgments.Circularity)


def test_of_all_families_of_honest_runs_one_in_twenty_is_accused_at_most():
    """By Holm alone all families with one of two runs far off the line would be."""
    x, rng = np.linspace(0.2, 0.6, 30), np.random.default_rng(5)
    y = x + rng.normal(0, 0.01, 30)
    y[[7, 20]] += 0.05, 0.04
    alone = [above_line(x, y, np.array([run]), 0)[1][0] for run in (7, 20)]
    assert max(alone) < 0.05 / 3
    families = [np.array(pair) for pair in combinations(range(30), 2)]
    accused = [above_line(x, y, pair, 0)[1].min() < 0.05 for pair in families]
    assert 0 < np.mean(accused) < 0.05
