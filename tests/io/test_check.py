"""Summaries count what does not make a score wrong; the rest is refused."""

import pandas as pd
import pytest
from helpers.builders import run_table

from pgcjax.errors import DataError
from pgcjax.files import read_preferences
from pgcjax.io import check
from pgcjax.io.graded import read_qrels


def test_runs(put):
    text = (
        "# note\nq Q0 a 1 2 x\nq Q0 b - 2 x\nq Q0 c 3 1 x\nr Q0 a 1 2 x\nq Q0 a 1 2 y\n"
    )
    assert check.summarise_runs(run_table(put("a.run", text))) == [
        "2 runs, 2 queries, 5 rows; 1-3 documents a query",
        "score ties in 1 of 3 rankings (33%): their order follows --order",
        "1 run without a query that another run has",
        "1 row without a usable rank (--order rank needs one)",
        "1 comment line (beginning with #) skipped",
    ]
    assert len(check.summarise_runs(run_table({"q": {"a": 1, "b": 2}}))) == 3


def test_qrels(put):
    text = "q 0 a 1\nq 0 a 1\nq 0 b 0.5\nr 0 a 0\n"
    assert check.summarise_qrels(read_qrels(put("a.qrels", text))) == [
        "2 queries, 3 grades",
        "grade: judgments = 0: 1, 0.5: 1, 1: 1",
        "1 query without a grade above 0",
        "1 judgment repeated, counted once",
    ]
    many = check.summarise_qrels(read_qrels({"q": {f"d{i}": i for i in range(20)}}))
    assert many[1].endswith("11: 1, and 8 more grades")


def test_preferences(put):
    text = "q a b -1\nq b a 1\nq a b 1\nq b c 0\nq d NA -2\nr a b -1\n"
    prefs = read_preferences(put("a.txt", text))
    assert check.summarise_preferences(prefs) == [
        "2 queries, 6 judgments of 6 documents",
        "1 repeated judgment, 1 conflicting pair: all count",
        "1 tie: no edge",
        "1 bad document: no edge",
    ]
    prefs = read_preferences(pd.DataFrame(
        {"qid": "q", "winner": ["a", "a"], "loser": "b", "judge": ["x", "y"]}
    ))  # fmt: skip
    assert check.summarise_preferences(prefs)[-1] == "2 judges"


def test_overlap():
    runs = run_table({"q1": {"a": 1, "b": 2}, "q2": {"a": 1}})
    prefs = read_preferences(
        pd.DataFrame({"qid": ["q1", "q3"], "winner": "a", "loser": "c"})
    )
    qrels = read_qrels({"q2": {"a": 1}})
    assert check.summarise_overlap({"preferences": prefs, "qrels": qrels}) == []
    tables = {"preferences": prefs, "qrels": qrels, "runs": runs}
    assert check.summarise_overlap(tables) == [
        "preferences and runs: 1 common query, of 2 judged and 2 in runs; 1 of 4 "
        "judged documents retrieved",
        "qrels and runs: 1 common query, of 1 judged and 2 in runs; 1 of 1 judged "
        "document retrieved",
    ]


ROWS = [("q", "a", "b", 1.0), ("q", "c", None, -1.0), ("r", "a", "b", 0.1)]
NAMES = ["query_id", "doc_id", "other_doc_id", "preference"]


def judged(rows, **more):
    return read_preferences(pd.DataFrame(rows, columns=NAMES).assign(**more))


def test_fingerprints_name_the_content():
    """The same in any order and of any type, and with any version of a library."""
    table = judged(ROWS)
    assert check.fingerprint(table) == "fd4add5a6b2d4680"
    for same in (
        judged(ROWS[::-1]),
        table[NAMES[::-1]],
        *(table.astype(dict.fromkeys(NAMES[:3], t)) for t in ("object", "category")),
        table.set_index(pd.Index([7, 7, 7])),
    ):
        assert check.fingerprint(same) == "fd4add5a6b2d4680"
    floats = judged([("q", "a", "b", 1), ("q", "b", "a", 0)])
    whole = floats.astype({"preference": int})
    assert check.fingerprint(whole) == check.fingerprint(floats)
    floats["preference"] *= [1, -1]
    assert check.fingerprint(whole) == check.fingerprint(floats)


def test_fingerprints_differ_wherever_content_does():
    tables = [judged(ROWS), judged(ROWS[:2]), judged(ROWS + ROWS[:1])]
    for i, name in enumerate(NAMES):
        for j in range(len(ROWS)):
            for other in ("b", "x") if i < 3 else (2.0, 1 + 2**-52):
                changed = judged(ROWS)
                changed.loc[j, name] = other
                if not changed.equals(tables[0]):
                    tables.append(changed)
    tables += [
        judged([("q", "ab", "c", 1)]),
        judged([("q", "a", "bc", 1)]),
        judged([("qa", "b", "c", 1)]),
        judged(ROWS, weight=1),
        *(judged(ROWS, judge=["x", None, of]) for of in ("x", None, "None", "nan")),
        read_qrels({"q": {"a": 1}}),
    ]
    assert len({check.fingerprint(table) for table in tables}) == len(tables) > 30


def test_no_common_query():
    with pytest.raises(
        DataError,
        match=r"^judgments and runs have no query in common: judged are '1', '2', '3', "
        r"…; runs have 'q1', 'q2'\. Do both name queries in the same way\?$",
    ):
        check.check_common_queries("4321", ["q2", "q1"])
