"""Whole numbers that float64 cannot tell apart are counted, once for each reading."""

import pandas as pd
import pytest
from helpers.builders import run_table

from pgcjax.errors import DataWarning
from pgcjax.files import read_preferences
from pgcjax.io.graded import read_qrels

LARGE = 2**53
SAID = (
    "{} are different whole numbers of 2^53 or more that float64 cannot tell apart: "
    "they count as equal"
)
ROWS = [("q", "a", LARGE), ("q", "b", LARGE + 1), ("q", "c", 3), ("p", "a", 1)]
FRAME = pd.DataFrame(ROWS, columns=["qid", "docno", "score"])
TEXT = "".join(f"{q} Q0 {d} 1 {score} t\n" for q, d, score in ROWS)


def warned(recwarn) -> list[str]:
    """What was warned of, and forget it."""
    messages = [str(w.message) for w in recwarn.list if w.category is DataWarning]
    recwarn.clear()
    return messages


def test_scores(put, recwarn, tmp_path):
    one = put("runs/a.txt", TEXT)
    two = put("runs/b.csv", FRAME.astype({"score": str}).to_csv(index=False))
    json = put("runs/c.jsonl", FRAME.to_json(orient="records", lines=True))
    FRAME.to_parquet(tmp_path / "d.parquet")
    nested = {q: g.set_index("docno").score.to_dict() for q, g in FRAME.groupby("qid")}
    sources = (one, two, json, tmp_path / "d.parquet", FRAME, nested)
    for source in sources:
        assert len(run_table(source)) == 4
        assert warned(recwarn) == [SAID.format("2 scores of runs")]
    run_table(tmp_path / "runs")
    assert warned(recwarn) == [SAID.format("6 scores of runs")]
    ranks = FRAME.rename(columns={"score": "rank"})
    run_table(ranks)
    assert warned(recwarn) == [SAID.format("2 scores of runs")]


@pytest.mark.parametrize(
    "rows",
    [
        [("q", "a", LARGE), ("p", "a", LARGE + 1)],  # of two queries
        [("q", "a", LARGE), ("q", "b", f"{LARGE}.0"), ("q", "c", "9007199254740992e0")],
        [("q", "a", LARGE), ("q", "b", LARGE + 2), ("q", "c", -LARGE)],
        [("q", "a", LARGE - 1), ("q", "b", LARGE - 2)],
        [("q", "a", "1e300"), ("q", "b", "1e300")],
    ],
)
def test_scores_that_lose_nothing(put, recwarn, rows):
    text = "".join(f"{q} Q0 {d} 1 {score} t\n" for q, d, score in rows)
    found = run_table(put("a.txt", text))
    assert found["score"].tolist() == [float(score) for *_, score in rows]
    assert warned(recwarn) == []
    run_table(FRAME.astype({"score": float}))
    assert warned(recwarn) == []


def test_grades(put, recwarn):
    path = put("a.txt", "".join(f"{q} 0 {d} {grade}\n" for q, d, grade in ROWS))
    for source, name in ((path, path), (FRAME.set_axis([*QRELS], axis=1), "qrels")):
        assert len(read_qrels(source)) == 4
        assert warned(recwarn) == [SAID.format(f"2 grades of {name}")]


def test_levels(put, recwarn):
    levels = ("q g s a {}\n", "q g s b {}\n", "q g t c {}\n", "q g s d 0\n")
    text = "".join(levels).format(LARGE, LARGE + 1, LARGE + 1)
    path = put("a.txt", text)
    found = read_preferences(path)
    assert warned(recwarn) == [SAID.format(f"2 levels of {path}")]
    pairs = found[["doc_id", "other_doc_id", "preference"]]
    assert pairs.values.tolist() == [["a", "d", 1.0], ["b", "d", 1.0]]


QRELS = ("qid", "docno", "grade")
