"""pgcjax rankings prefer, as users call it."""

import json

import pandas as pd
import pytest

import pgcjax as package
from pgcjax.datasets.files import demo_folder

pytestmark = [
    pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning"),
]
RUNS, QRELS = str(demo_folder() / "runs"), str(demo_folder() / "qrels.txt")
PREFS = str(demo_folder() / "preferences.csv")
CALL = ["rankings", "prefer", RUNS, "--qrels", QRELS]


def rows(text: str) -> list[list[str]]:
    return [line.split("\t") for line in text.splitlines()]


@pytest.fixture(scope="module")
def found() -> package.rankings.Preferences:
    return package.rankings.prefer(RUNS, qrels=QRELS, per_query=True)


def test_all_pairs_and_a_file_at_full_precision(pgcjax, here, found):
    done = pgcjax(*CALL, "-o", "pairs.csv")
    assert done.code == 0, done.err
    head, *pairs = rows(done.out)
    assert head == list(found.table) and len(pairs) == 3 * 28
    assert pairs == [
        [*row[:3], f"{row.preference:.4f}", *map(str, row[4:])]
        for row in found.table.itertuples(index=False)
    ]
    assert "RPP, lexiprecision, lexirecall: 20 queries\n" in done.err
    assert "8 runs, 28 pairs of them\n" in done.err
    assert "(oak), 1 query in all: as if it had found nothing\n" in done.err
    table = pd.read_csv(here / "pairs.csv", comment="#")
    pd.testing.assert_frame_equal(
        table, found.table, check_dtype=False, check_exact=True
    )
    first = (here / "pairs.csv").read_text().splitlines()[0]
    about = json.loads(first.removeprefix("# pgcjax "))
    assert len(about.pop("crc32")) == 8 and about == found.metadata | {"show": "pairs"}


def test_queries_stand_before_the_mean(pgcjax, found):
    done = pgcjax(*CALL, "-m", "lexirecall", "--show", "queries")
    assert done.code == 0, done.err
    head, *values = rows(done.out)
    assert head == ["run_a", "run_b", "measure", "query_id", "preference"]
    assert [v[3] for v in values[:21]] == [*(f"q{i}" for i in range(101, 121)), "all"]
    first = found.table[found.table.measure == "lexirecall"].iloc[0]
    assert float(values[20][4]) == pytest.approx(first.preference, abs=5e-5)
    assert len(values) == 28 * 21


def test_what_is_shown(pgcjax, found):
    def printed(*line: str) -> list[list[str]]:
        done = pgcjax(*CALL, *line)
        assert done.code == 0, done.err
        return rows(done.out)

    head, *order = printed("--show", "mc4", "--resamples", "50")
    expected = found.order(by="mc4", resamples=50)
    assert head == ["measure", *expected]
    assert [row[1] for row in order[:8]] == expected.run_id.tolist()
    assert {row[0] for row in order} == {"RPP", "lexiprecision", "lexirecall"}
    head, *tests = printed("--show", "tests", "--test", "t", "--correction", "holm")
    tested = found.compare("RPP", test="t", correction="holm")
    assert [float(row[8]) for row in tests[:28]] == pytest.approx(
        tested.p_adjusted.tolist(), abs=5e-5
    )
    for show, square in (("matrix", found.matrix()), ("wins", found.win_rate())):
        head, *square_rows = printed("-m", "RPP", "--show", show)
        assert head == ["run_a", *square]
        assert square_rows[0][1:] == [f"{x:.4f}" for x in square.iloc[0]]


def test_preferences_of_people_beside_each_other(pgcjax):
    line = [
        "rankings",
        "prefer",
        RUNS,
        "--prefs",
        PREFS,
        "--show",
        "beside",
        "--format",
        "json",
    ]
    done = pgcjax(*line)
    assert done.code == 0, done.err
    table = pd.DataFrame(json.loads(done.out)["rows"])
    assert list(table) == ["run_a", "run_b", "PGC", "wpref", "ppref"]
    means = package.evaluate(RUNS, preferences=PREFS, measures=["PGC", "wpref"]).mean()
    for name in ("PGC", "wpref"):
        differences = [
            means.loc[row.run_a, name] - means.loc[row.run_b, name]
            for row in table.itertuples()
        ]
        assert table[name].tolist() == pytest.approx(differences)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", "no judgments: give qrels=…, preferences=… or intent_qrels=…; --qrels"),
        ("--qrels qrels.txt --show wins", "--show wins takes one measure: name one"),
        ("--qrels qrels.txt --show x", "Invalid value for '--show': 'x' is not one of"),
        ("--qrels qrels.txt -m RPP(weight=1)", "weight=1: expected one of uniform"),
        ("--qrels none.txt", "none.txt: no such file or folder. Check the path."),
        ("--qrels qrels.txt -o x.trec", "x.trec: the suffix of an output file is one"),
        (
            "--qrels qrels.txt --show tests --alpha 2",
            "alpha=2.0: expected a level betw",
        ),
        (
            "--qrels qrels.txt -m RPP(subtopics=mean)",
            "RPP(subtopics=mean) needs intent_qrels: give intent_qrels=…, or --inte",
        ),
    ],
)
def test_mistakes(pgcjax, here, line, said):
    done = pgcjax("rankings", "prefer", "run.txt", "two.txt", *line.split())
    assert (done.code, done.out) == (2, "")
    errors = [x for x in done.err.splitlines() if x.startswith("pgcjax: error: ")]
    assert len(errors) == 1 and errors[0].startswith(f"pgcjax: error: {said}"), done.err


def test_a_measure_of_two_rankings_is_explained(pgcjax):
    done = pgcjax("measures", "RPP(rel=2)")
    assert done.code == 0, done.err
    first, *rest = done.out.splitlines()
    assert first == "RPP(weight=uniform,rel=2,subtopics=none,probabilities=given)"
    assert "Verb: pgcjax rankings prefer, of two rankings." in rest
    done = pgcjax("evaluate", "run.txt", "--qrels", "qrels.txt", "-m", "lexirecall")
    assert done.code == 2
    assert done.err == (
        "pgcjax: error: lexirecall compares two rankings, and scores none: pgcjax "
        "prefer, or pgcjax.rankings.prefer in Python, takes it\n"
    )
