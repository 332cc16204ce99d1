"""`pgcjax judgments fit --model`, as users call it."""

import numpy as np
import pandas as pd

import pgcjax as package

TEXT = """query_id,model_a,model_b,winner,judge,length_a,length_b
q101,bm25,dense,model_a,gpt,9,5
q101,dense,bm25,model_b,gpt,5,9
q101,bm25,hybrid,model_a,gpt,9,7
q101,hybrid,bm25,model_a,ann,7,9
q101,dense,hybrid,tie,ann,5,7
q101,hybrid,dense,model_b,ann,7,5
q102,x,y,model_a,ann,1,2
"""
LINE = ["judgments", "fit", "--prefs", "votes.csv", "--model"]


def test_strengths_are_printed_and_written(pgcjax, here):
    (here / "votes.csv").write_text(TEXT)
    done = pgcjax(*LINE, "bt", "--prior", "2.5", "-o", "strengths.csv")
    assert (done.code, done.err) == (0, "pgcjax: wrote 5 rows to strengths.csv\n")
    assert done.out.splitlines() == [
        "query q101",
        "  doc_id  strength   error      low    high  rank   votes",
        "  bm25      0.6438  0.7006  -0.7294  2.0169     1  4.0000",
        "  dense    -0.3219  0.6658  -1.6269  0.9831     2  4.0000",
        "  hybrid   -0.3219  0.6658  -1.6269  0.9831     2  4.0000",
        "query q102",
        "  doc_id  strength   error      low    high  rank   votes",
        "  x         0.8947  1.1107  -1.2822  3.0716     1  1.0000",
        "  y        -0.8947  1.1107  -3.0716  1.2822     2  1.0000",
        "",
        "in 1 of 2 sets of documents, wins do not link all both ways: distances "
        "between different sets (both_ways) come from the prior, whose standard "
        "deviation is 2.5",
        "for 2 of 2 queries, ranges of ranks and tiers are empty: errors need 20 votes "
        "on a query",
    ]
    written = pd.read_csv("strengths.csv", comment="#")
    pd.testing.assert_frame_equal(
        written, package.judgments.fit("votes.csv", prior=2.5).table, check_dtype=False
    )
    how = ["--reliability", "--remove", "first", "--remove", "longer", "--prior", "1"]
    to = ["-o", "all.jsonl", "--judges-output", "judges.csv", "--quiet"]
    done = pgcjax(*LINE, "davidson", *how, *to)
    assert (done.code, done.err) == (0, "")
    titles = [line for line in done.out.splitlines() if line and line[0] in "EJ"]
    assert titles == ["Effects", "Judges"]
    asked = {"reliability": True, "remove": ["first", "longer"], "prior": 1.0}
    found = package.judgments.fit("votes.csv", "davidson", **asked)
    judges = pd.read_csv("judges.csv", comment="#")
    assert judges["judge"].tolist() == ["ann", "gpt"]
    np.testing.assert_array_equal(judges["reliability"], found.judges["reliability"])
    done = pgcjax(*LINE, "borda", "--judge", "ann")
    assert done.out.splitlines()[2:5] == [
        "  dense     0.7500     1  2.0000",
        "  hybrid    0.5000     2  3.0000",
        "  bm25      0.0000     3  1.0000",
    ]


MISTAKES = {
    ("--model", "bt", "--judges-output", "j.csv"): (
        "--judges-output needs --reliability"
    ),
    ("--model", "bt", "--prior", "0"): (
        "prior is a standard deviation above 0, not 0.0"
    ),
    ("--model", "bt", "--prior", "inf"): (
        "preferences: query q102: wins do not lead both ways between documents x "
        "and y: only a prior compares them. Give a finite prior, such as 2.5."
    ),
}


def test_mistakes_are_one_line(pgcjax, here):
    (here / "votes.csv").write_text(TEXT)
    for given, message in MISTAKES.items():
        done = pgcjax("judgments", "fit", "--prefs", "votes.csv", *given)
        assert done.code == 2 and not done.out
        assert done.err.splitlines()[-1].endswith(message), given


def test_systems_are_ranked_by_few_votes_of_people(pgcjax, here):
    """People and the model agree in three of four comparisons; a wins most."""
    random = np.random.default_rng(0)
    first = random.integers(0, 3, 900)
    second = (first + random.integers(1, 3, 900)) % 3
    won = random.random(900) < 0.5 + 0.2 * (second - first)
    said = np.where(random.random(900) < 0.75, won, ~won)
    for name, x in (("model.csv", said), ("people.csv", won)):
        table = {
            "query_id": np.arange(900),
            "model_a": [*map("abc".__getitem__, first)],
        }
        table |= {"model_b": [*map("abc".__getitem__, second)]}
        table["winner"] = np.where(x, "model_a", "model_b")
        rows = 900 if name == "model.csv" else 200
        pd.DataFrame(table)[:rows].to_csv(name, index=False)
    line = [*LINE[:3], "model.csv", "--people", "people.csv"]
    done = pgcjax(*line, "-o", "ranks.csv")
    assert done.code == 0 and "people judged 200 of 900 comparisons" in done.err
    ranks = package.judgments.rank_sets("model.csv", people="people.csv").table
    assert (
        pd.read_csv("ranks.csv", comment="#")["high"].tolist() == ranks["high"].tolist()
    )
    assert done.out.splitlines()[1].startswith("a\t") and ranks["low"].tolist()[0] == 1
    done = pgcjax(*line, "--model", "davidson")
    assert done.code == 2 and "--model does not go with --people" in done.err
