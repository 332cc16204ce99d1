"""The main job on real runs and judgments, as a user types it."""

import re

import pandas as pd
import pytest

import pgcjax
from pgcjax.cli import main

pytestmark = pytest.mark.slow


def evaluate(capsys, *args) -> tuple[list[list[str]], str]:
    """Run the command line; give the fields of its lines, and what it said."""
    with pytest.raises(SystemExit) as done:
        main(["evaluate", *map(str, args)])
    out, err = capsys.readouterr()
    assert done.value.code == 0, err
    lines = out.splitlines()
    assert lines[0].startswith('# pgcjax {"version": ')
    return [line.split("\t") for line in lines[1:]], err


def test_dl21_human_preferences(capsys, data):
    rows, err = evaluate(
        capsys, "--prefs", data / "dl21/judgments.txt.gz", data / "dl21/runs", "-q"
    )
    assert len({row[0] for row in rows}) == 63
    assert len({row[2] for row in rows}) == 50 + 1  # topics and "all"
    assert len(rows) == 63 * 51
    assert all(0 <= float(row[3]) <= 1 for row in rows)
    assert "PGC: 63 runs, 50 judged queries" in err


def test_dl21_preferences_of_a_language_model(capsys, data):
    rows, err = evaluate(
        capsys,
        *("--prefs", data / "dl21/gpt4o/judge.*", data / "dl21/runs"),
        *("--verify", "0.02"),
    )
    assert len(rows) == 63
    assert "PGC: 63 runs, 53 judged queries" in err
    assert re.search(r"[4-9]\d of 3339 scores recomputed: equal", err)


def test_cast2019(capsys, data, tmp_path):
    out = tmp_path / "scores.parquet"
    cast = data / "cast2019"
    rows, err = evaluate(
        capsys,
        *("--prefs", cast / "clarke-prefs/TREC-CAsT-2019.pref.gz"),
        *("--qrels", cast / "qrels/2019qrels.txt.gz"),
        *("-m", "PGC(p=0.8)", "-m", "PGC(p=0.8,graph=combined)", "-m", "Compat"),
        *("--name-by", "file", cast / "runs", "-o", out, "--verify", "0.002"),
    )
    assert len(rows) == 26 * 3
    assert "PGC(p=0.8): 26 runs, 171 judged queries" in err
    two = "PGC(p=0.8,graph=combined), Compat"
    assert f"{two}: 26 runs, 173 judged queries" in err
    scores = pgcjax.files.read_scores(out)
    assert len(scores.table) == 26 * (171 + 173 + 173)
    printed = {(run, m): value for run, m, _, value in rows}
    for measure, column in scores.mean().items():
        for run, value in column.items():
            assert printed[run, measure] == f"{value:.4f}"


def test_cast2019_runs_share_a_tag(capsys, data):
    with pytest.raises(SystemExit) as done:
        main(
            [
                "evaluate",
                *("--qrels", str(data / "cast2019/qrels/2019qrels.txt.gz")),
                str(data / "cast2019/runs"),
            ]
        )
    assert done.value.code == 2
    assert "claims the run name 'BERT-base'" in (err := capsys.readouterr().err)
    assert "name_by=file (--name-by on the command line)" in err


@pytest.fixture(scope="module")
def some_of_dl21(data) -> dict[str, pd.DataFrame]:
    """Judgments of every eighth query of DL 2021."""
    dl21 = data / "dl21"
    preferences = pgcjax.files.read_preferences(dl21 / "judgments.txt.gz")
    qrels = pgcjax.files.read_qrels(dl21 / "qrels.dl21-passage.txt.gz")
    queries = sorted(preferences["query_id"].unique())[::8]
    judgments = {"preferences": preferences, "qrels": qrels}
    return {k: t[t["query_id"].isin(queries)] for k, t in judgments.items()}


@pytest.mark.filterwarnings("ignore:.*too many orders that contradict the fewest")
@pytest.mark.parametrize(
    "measure",
    ["PGC", "PGC(graph=combined)", "ExactPGC", "Compat", "nDCG@10", "ERR", "RBP", "AP"],
)
def test_parts_of_scores_sum_to_them(measure, data, some_of_dl21):
    run = data / "dl21/runs/NLE_P_v1.gz"
    scores = pgcjax.evaluate(run, measures=measure, **some_of_dl21).table
    scores = scores.set_index("query_id")["value"]
    assert len(scores) == 7
    for query in scores.index:
        explained = pgcjax.explain(run, query, measure=measure, **some_of_dl21)
        assert explained.score == scores[query]
        assert abs(explained.table["adds"].sum() - scores[query]) < 1e-12
        assert abs(explained.depths["adds"].sum() - scores[query]) < 1e-12
