"""pgcjax rankings rbo, as users call it."""

import json
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import pgcjax as package
from pgcjax.datasets.files import demo_folder

pytestmark = pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning")
RUNS = demo_folder() / "runs"
NAME = "RBO(p=0.9,variant=ext,ties=a)"
NAMED = "RBO(p=0.5,variant=min,ties=broken,depth=10)"


def rows(text: str) -> list[list[str]]:
    return [line.split("\t") for line in text.splitlines()]


def test_all_pairs_and_a_file_at_full_precision(pgcjax, here):
    done = pgcjax("rankings", "rbo", str(RUNS), "-o", "pairs.csv")
    assert done.code == 0, done.err
    head, *pairs = rows(done.out)
    assert head == ["run_a", "run_b", "measure", "mean"]
    found = package.rankings.rbo(RUNS)
    assert pairs == [
        [row.run_a, row.run_b, NAME, f"{row.mean:.4f}"]
        for row in found.mean().itertuples(index=False)
    ]
    assert len(pairs) == 28
    assert f"{NAME}: 28 pairs of runs, 20 queries\n" in done.err
    assert f"wrote {len(found.table)} values to pairs.csv\n" in done.err
    table = pd.read_csv(here / "pairs.csv", comment="#")
    pd.testing.assert_frame_equal(
        table, found.table, check_dtype=False, check_exact=True
    )
    first = (here / "pairs.csv").read_text().splitlines()[0]
    about = json.loads(first.removeprefix("# pgcjax "))
    assert len(about.pop("crc32")) == 8 and about == found.metadata


def test_queries_runs_against_others_and_conventions(pgcjax):
    one = str(next(RUNS.glob("reed*")))
    line = [
        "rankings",
        "rbo",
        one,
        "--against",
        str(RUNS),
        "-m",
        NAMED,
    ]
    done = pgcjax(*line, "--order", "clarke", "-q")
    assert done.code == 0, done.err
    head, *values = rows(done.out)
    assert head == ["run_a", "run_b", "measure", "query_id", "value"]
    options = {"p": 0.5, "ties": "broken", "variant": "min", "depth": 10}
    found = package.rankings.rbo(one, RUNS, order="clarke", **options)
    assert {v[2] for v in values} == {NAMED, found.measure}
    means = {v[1]: v[4] for v in values if v[3] == "all"}
    assert means == {m.run_b: f"{m.mean:.4f}" for m in found.mean().itertuples()}
    assert len(values) == len(found.table) + 8
    # The mean stands behind the values of its pair.
    assert [v[3] for v in values[:21]] == [*(f"q{i}" for i in range(101, 121)), "all"]


def test_missing_queries(pgcjax, here):
    (here / "two.txt").write_text("q1 Q0 a 1 3 two\nq1 Q0 c 2 2 two\n")
    values = {
        how: pgcjax("rankings", "rbo", "run.txt", "two.txt", "--missing", how)
        for how in ("zero", "skip", "error")
    }
    assert rows(values["zero"].out)[1][3] == "0.5000"
    assert "only one has a query: 1 value in all have the value 0" in values["zero"].err
    assert rows(values["skip"].out)[1][3] == "1.0000"
    assert values["error"].code == 2
    assert values["error"].err.startswith(
        "pgcjax: error: run 'two' lacks query 'q2', which another run has. Complete"
    )


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("rankings rbo", "Missing argument 'RUN...'."),
        (
            "rankings rbo run.txt",
            "run 'one' is the only one. Give another run to compare",
        ),
        (
            "rankings rbo run.txt two.txt -m RBO(p=1)",
            "p=1.0: expected a number above 0 and below 1",
        ),
        (
            "rankings rbo run.txt two.txt -m RBO(p=x)",
            "-m RBO(p=x): 'x' is not a valid float",
        ),
        (
            "rankings rbo run.txt two.txt -m RBO(variant=low)",
            "-m RBO(variant=low): 'low' is not one of",
        ),
        (
            "rankings rbo run.txt two.txt -m RBO(ties=c)",
            "-m RBO(ties=c): 'c' is not one of 'w'",
        ),
        (
            "rankings rbo run.txt two.txt -m RBO(depth=0)",
            "depth=0: expected a whole number from 1 up",
        ),
        (
            "rankings rbo run.txt two.txt -m RBO(q=1)",
            "RBO has no parameter 'q'; it has p, variant, ties, depth",
        ),
        (
            "rankings rbo run.txt two.txt -m AP",
            "-m AP: expected RBO, such as RBO(p=0.8,ties=b)",
        ),
        (
            "rankings rbo run.txt two.txt -o x.trec",
            "x.trec: the suffix of an output file is o",
        ),
        (
            "rankings rbo run.txt two.txt -o no/x.csv",
            "no/x.csv: cannot write there: No such file or directory. ",
        ),
        (
            "rankings rbo run.txt none.txt",
            "none.txt: no such file or folder. Check the path.",
        ),
        ("rankings rbo run.txt empty.txt", "empty.txt: "),
        (
            "rankings rbo run.txt qrels.txt",
            "qrels.txt:1: expected 'query Q0 doc rank score ",
        ),
        (
            "rankings rbo run.txt --against other.txt",
            "no two runs have the same query. Compar",
        ),
    ],
)
def test_mistakes(pgcjax, here, line, said):
    (here / "empty.txt").write_text("")
    (here / "other.txt").write_text("q9 Q0 a 1 3 other\n")
    done = pgcjax(*line.split())
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"pgcjax: error: {said}"), done.err
    assert len(done.err.splitlines()) == 1


@pytest.mark.parametrize("p", [0.5, np.float64(0.5), np.float32(0.5), Fraction(1, 2)])
def test_any_real_number_is_a_persistence(p):
    lists = ["a", "b", "c"], ["b", "a", "c"]
    assert package.rankings.rbo(*lists, p=p) == package.rankings.rbo(*lists, p=0.5)
    assert package.rankings.rbo(*lists, p=np.float32(0.9)) != package.rankings.rbo(
        *lists, p=0.9
    )
    with pytest.raises(
        package.errors.UsageError, match="^p=0.5: expected a number above 0"
    ):
        package.rankings.rbo(*lists, p="0.5")  # type: ignore[arg-type]
