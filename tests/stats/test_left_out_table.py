"""Runs that have no mean once judgments are left out."""

import numpy as np

from pgcjax.stats.left_out import LeftOut, LeftOutScores


def test_a_run_without_a_mean_is_below_all_others():
    answered = np.array([[True, True], [True, True], [True, False]])
    scores = np.array([[0.5, 0.25], [0.25, 0.5], [1.0, 0.0]])
    without = np.array([scores, [[0.0, 0.25], [0.0, 0.5], [0.0, 0.0]]])
    present = np.array([[True, True], [False, True]])
    of = LeftOutScores(["q1", "q2"], answered, scores, without, present)
    used = {"leave_out": "runs", "pool_depth": 3, "missing": "skip"}
    counts = np.array([0, 7])
    found = LeftOut(
        used,
        left_out=["a", "c"],
        judgments=counts,
        documents=counts,
        run_ids=["a", "b", "c"],
        scores={"PGC": of},
    )
    table = found.changes().set_index("left_out")
    a, c = table.loc["a"], table.loc["c"]
    assert (a["judgments"], a["documents"], a["queries"], a["run"]) == (0, 0, 2, "")
    assert (a["rank"], a["rank_without"], a["largest_change"]) == (2, 2, 0.0)
    assert (c["judgments"], c["documents"], c["queries"], c["run"]) == (7, 7, 1, "a")
    assert (c["score"], c["rank"], c["rank_without"]) == (1.0, 1, 3)
    assert np.isnan(c["score_without"]) and np.isnan(c["mean_change"])
    assert c["largest_change"] == -0.125
    assert not found.changes()[["gained", "lost"]].to_numpy().any()
    rest = found.matrix("c").fillna(-1)
    assert rest.to_dict() == {"q2": {"a": 0.25, "b": 0.5, "c": -1}}
