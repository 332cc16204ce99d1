"""judgments next --by utility and chance, and ask simulate, as users call them."""

import io

import pandas as pd
import pytest

import pgcjax as package

TWO = ("runs/reed.txt", "runs/rose.txt")


def test_pairs_by_utility_are_those_of_python(pgcjax, demo):
    line = ("judgments", "next", "--by", "utility", *TWO, "--documents", "8", "--infer")
    line = (*line, "--prefs", "preferences.csv", "--query", "q101", "--query", "q102")
    files = ("--rows", "3", "--format", "csv", "-o", "pairs.csv", "--bounds", "two.csv")
    done = pgcjax(*line, *files)
    found = package.judgments.next_by_utility(
        [demo / name for name in TWO],
        preferences=demo / "preferences.csv",
        documents=8,
        infer=True,
        queries=["q101", "q102"],
    )
    low, high = found.comparisons[["low", "high"]].to_numpy()[0]
    assert found.notes[1] == (
        f"ppref of reed - rose will be from {low:.4f} to {high:.4f}: open"
    )
    assert found.notes[0].startswith("2 runs, 2 queries, ")
    told = "".join(f"pgcjax: {note}\n" for note in found.notes)
    assert (count := len(found.table)) > 3
    assert done.err.endswith(
        f"{told}pgcjax: wrote {count} pairs to pairs.csv\n"
        "pgcjax: wrote 1 rows to two.csv\n"
    )
    for table, expected in (
        (pd.read_csv(demo / "pairs.csv", comment="#"), found.table),
        (
            pd.read_csv(demo / "two.csv", comment="#", keep_default_na=False),
            found.comparisons,
        ),
        (pd.read_csv(io.StringIO(done.out), comment="#"), found.table.head(3)),
    ):
        pd.testing.assert_frame_equal(table, expected, check_dtype=False)
    used = {"documents": 8, "infer": True, "may_tie": False}
    assert used.items() <= found.metadata.items()


def test_draws_are_those_of_python(pgcjax, demo):
    line = (
        "judgments",
        "next",
        "--by",
        "chance",
        *TWO,
        "--documents",
        "4",
        "--alpha",
        "0.1",
    )
    done = pgcjax(*line, "--rows", "5", "--seed", "2", "-m", "wpref")
    found = package.judgments.next_by_chance(
        [demo / name for name in TWO],
        measure="wpref",
        documents=4,
        alpha=0.1,
        seed=2,
        requests=5,
    )
    assert done.err.endswith(f"pgcjax: {found.notes[0]}\n")
    table = pd.read_csv(io.StringIO(done.out), sep="\t")
    pd.testing.assert_frame_equal(table, found.table, check_dtype=False)


def test_designs_are_compared(pgcjax, here):
    line = ("ask", "simulate", "--documents", "4", "--documents", "6", "--queries", "3")
    line = (*line, "--design", "all pairs", "--design", "utility, stop", "--k", "2")
    done = pgcjax(
        *line, "--errors", "error=0.1", "--format", "json", "-o", "designs.csv"
    )
    found = package.ask.simulate(
        documents=[4, 6],
        queries=3,
        designs=["all pairs", "utility, stop"],
        k=2,
        error=0.1,
    )
    assert done.err.endswith("pgcjax: wrote 4 rows to designs.csv\n")
    table = pd.read_csv(here / "designs.csv", comment="#")
    pd.testing.assert_frame_equal(table, found.table, check_dtype=False)
    assert list(table) == [
        *("documents", "design", "queries", "judgments"),
        *("top", "tau", "right", "wrong"),
    ]
    assert '"error": 0.1' in (here / "designs.csv").read_text().splitlines()[0]
    drawn = pgcjax(*line, "-o", "designs.svg")
    assert drawn.err.endswith("pgcjax: wrote designs.svg\n")
    assert "utility, stop" in (here / "designs.svg").read_text()


def test_grades_and_votes_of_files(pgcjax, demo):
    for source in ("--qrels", "--votes"):
        files = {"--qrels": "qrels.txt", "--votes": "preferences.csv"}
        line = ("ask", "simulate", source, files[source], *TWO, "--over", "mean")
        done = pgcjax(*line, "--documents", "5", "--design", "utility, stop")
        rows = pd.read_csv(io.StringIO(done.out), sep="\t")
        assert rows[["documents", "queries"]].to_numpy().tolist() == [[5, 20]]
        assert 0 < rows["judgments"][0] <= 10 and rows["wrong"][0] in (0, "nan")


@pytest.mark.parametrize(
    "line, said",
    [
        ("judgments next runs", "Missing option '--prefs'."),
        (
            "judgments next --by utility --alpha 0.1 runs",
            "--alpha works only with --by chance",
        ),
        (
            "judgments next --by chance --replicates 9 runs",
            "--replicates works only with --by effect",
        ),
        (
            "judgments next --prefs preferences.csv --infer runs",
            "--infer works only with --by utility",
        ),
        (
            "judgments next --by utility --seed 1 runs",
            "--seed works only with --by effect or chance",
        ),
        (
            "judgments next --by utility -m nDCG@10 runs",
            "nDCG@10: expected ppref, rpref, fpref, wpref or PGC",
        ),
        (
            "judgments next --by utility -m PGC --may-tie runs",
            "may_tie: no bound of PGC is known if answers may be ties",
        ),
        (
            "judgments next --by utility --query nothing runs",
            "no run has query 'nothing'. Leave it out.",
        ),
        (
            "judgments next --by utility runs/reed.txt",
            "expected two runs or more to compare, found 1",
        ),
        (
            "judgments next --by utility --documents 1 runs",
            "documents=1: expected a whole number, 2 or more",
        ),
        (
            "ask simulate runs",
            "expected runs with votes or with qrels, or none of the three",
        ),
    ],
)
def test_what_is_refused(pgcjax, demo, line, said):
    done = pgcjax(*line.split())
    assert (done.code, done.out, done.err) == (2, "", f"pgcjax: error: {said}\n")
