"""prefs_avgjg_Rnonrel and _ret: their twins, trec_eval's mistakes by hand, refusals."""

import pandas as pd
import pytest
from helpers.builders import run_of
from helpers.preference_cases import BALANCED

import pgcjax
from pgcjax.errors import UsageError
from pgcjax.files import read_preferences

pytestmark = pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning")
RNONREL, RETRIEVED = BALANCED


@pytest.fixture
def scored(tmp_path):
    def score(text: str, run: str, **how) -> list[float]:
        """Score a run by both, of groups such as 'judge subgroup levels of a, b…'."""
        lines = [
            f"q {judge} {subgroup} {doc} {level}\n"
            for judge, subgroup, levels in map(str.split, text.split(","))
            for doc, level in zip("abcdefgh", levels, strict=False)
            if level != "-"
        ]
        path = tmp_path / "a.prefs"
        path.write_text("".join(lines))
        prefs = read_preferences(path, format="trec-prefs")
        how = {"measures": BALANCED, "order": "clarke", "verify": 1.0} | how
        return (
            pgcjax.evaluate(run_of(run), preferences=prefs, **how)
            .table["value"]
            .tolist()
        )

    return score


@pytest.mark.parametrize(
    ("text", "run", "expected"),
    [
        # R = 1 of 3 others: a > b, and b, c, d > b: none of these holds.
        ("j s 1000", "abcd", [1 / 4, 1 / 4]),
        # In two subgroups they are not compared: a > b alone.
        ("j s 1000, j t 10--", "abcd", [1, 1]),
        # R = 2 of 3: a, b > c, d; and c > d is one of 6 pairs of their like.
        ("j s 11000", "abcde", [(4 + 1) / (4 + 6), (4 + 1) / (4 + 6)]),
        # c and d were retrieved, and a: with _ret, R = 1 of 2.
        ("j s 11000", "dac", [(1 + 1) / (4 + 6), 0 / (1 + 2)]),
        # R = 3 of 4, of which none was retrieved: no pair of their like is in order.
        ("j s 1110000", "a", [3 / (9 + 12), (0 + 1) / (0 + 3)]),
        # R = 2 of 1: 2 preferences are added, one of them fulfilled.
        ("j s 110", "ca", [(0 + 1) / (2 + 2), 0 / 1]),
        # With _ret, R = 2 of 0: 4 are added, of three relevant documents 6.
        ("j s 1110", "ab", [(2 + 4) / (3 + 6), 4 / 6]),
        # A judge who finds nothing relevant makes the score of the query 0.
        ("j s 10, k s 00", "ab", [0, 0]),
        ("j s 10, k s 10", "ab", [1, 1]),
    ],
)
def test_by_hand(scored, text, run, expected):
    assert scored(text, run) == pytest.approx(expected, abs=1e-12)


def test_preferences_without_levels_are_refused():
    table = pd.DataFrame(
        [("q", "a", "b", 1.0)],
        columns=["query_id", "doc_id", "other_doc_id", "preference"],
    )
    for verb in (pgcjax.evaluate, pgcjax.rankings.prefer):
        with pytest.raises(UsageError) as refused:
            verb(
                {"r": run_of("ab"), "s": run_of("ba")},
                preferences=table,
                measures=RETRIEVED,
            )
        assert str(refused.value) == (
            f"{RETRIEVED} needs levels: the levels of documents, which preferences in "
            "the formats trec-prefs and trec-qrels-prefs have"
        )
