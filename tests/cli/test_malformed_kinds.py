"""Wrong judgments per intent, intents and grades in context, on the command line.

One line on stderr, exit code 2, nothing on stdout, nothing written.
"""

import shlex

import pytest

HEAD = "query_id,intent_id,probability,kind\n"
BOTH = "--intent-qrels {0} run.txt -m I-rec@5"
KINDS = "--intent-qrels iq.txt --intent-qrels {0} run.txt -m D-Q@5"
AFTER = "--qrels qrels.txt --context {0} run.txt -m CCG@5"

CASES = {
    (BOTH, "x.txt", "q1 i a 1\nq1 i b nan\n"): (
        "x.txt:2: expected a finite number as grade, found 'nan'. Every row needs one."
    ),
    (BOTH, "x.txt", "q1 i a 1\nq1 j a 2\nq1 i a 2\n"): (
        "x.txt:3: document 'a' has two grades for intent 'i' of query 'q1': 1 "
        "(x.txt:1) and 2. Keep one of the two."
    ),
    (BOTH, "x.txt", "q1 i a 1\nq1 i b\n"): (
        "x.txt:2: expected 'query intent doc grade', found 3 fields: 'q1 i b'. "
        "Judgments per intent have 4 columns, or a header."
    ),
    (BOTH, "x.txt", ""): "x.txt: is empty. Expected lines of data.",
    (BOTH, "x.csv", "query_id,intent_id,doc_id,relevance\n"): (
        "x.csv: holds a header only. Add rows."
    ),
    (BOTH, "x.txt", "q9 i a 1\n"): (
        "judgments and runs have no query in common: judged are 'q9'; runs have 'q1', "
        "'q2'. Do both name queries in the same way?"
    ),
    (KINDS, "x.csv", HEAD + "q1,i,.5,inf\nq1,j,.6,nav\n"): (
        "x.csv:3: expected probabilities of query 'q1' that add up to 1, found 1.1 "
        "over 2 intents. Divide them by their sum."
    ),
    (KINDS, "x.csv", HEAD + "q1,i,1.5,inf\nq1,j,-.5,nav\n"): (
        "x.csv:3: expected a probability of 0 or more, found -0.5. The probabilities "
        "of a query add up to 1."
    ),
    (KINDS, "x.csv", HEAD + "q1,i,nan,inf\n"): (
        "x.csv:2: expected a finite number as probability, found 'nan'. Every row "
        "needs one."
    ),
    (KINDS, "x.csv", HEAD + "q1,i,.5,inf\nq1,j,.5,navi\n"): (
        "x.csv:3: expected a kind, inf or nav, found 'navi'. inf is informational, nav "
        "is navigational."
    ),
    (KINDS, "x.csv", HEAD + "q1,i,.5,inf\nq1,i,.5,inf\n"): (
        "x.csv:3: intent 'i' of query 'q1' is twice: first at x.csv:2. Keep one of the "
        "two."
    ),
    (KINDS, "x.csv", HEAD + "q1,i,1,inf\n"): (
        "intent qrels: document 'b' of query 'q1' is relevant to intent 'j', which is "
        "not among the intents: the query has i. Add the intent to the table of "
        "intents, or leave that table out."
    ),
    (KINDS, "x.xml", "<topics>\n<topic number='1'>\n</topics>\n"): (
        "x.xml:3: expected TREC topics in XML: mismatched tag. Or give a table with a "
        "header."
    ),
    (AFTER, "x.txt", "q1 a b 1\nq1 a a 2\n"): (
        "x.txt:2: document 'a' of query 'q1' is graded after itself. Name the document "
        "before it; grades without one go into qrels."
    ),
    (AFTER, "x.txt", "q1 a b 1\nq1 a b 2\n"): (
        "x.txt:2: document 'a' after 'b', of query 'q1', has two grades: 1 (x.txt:1) "
        "and 2. Keep one of the two."
    ),
    (AFTER, "x.txt", "q1 a b high\n"): (
        "x.txt:1: expected a finite number as grade, found 'high'. Every row needs one."
    ),
    (AFTER, "x.txt", "q1 a b 1\nq1 a b\n"): (
        "x.txt:2: expected 'query doc previous-doc grade', found 3 fields: 'q1 a b'. "
        "Conditional grades have 4 columns, or a header."
    ),
    (AFTER, "x.txt", "q1 y z 1\nq9 a b 1\n"): (
        "context: the qrels grade no document that has a conditional grade. Do both "
        "name queries and documents in the same way?"
    ),
    (AFTER, "x.csv", "query_id,doc_id,relevance\nq1,a,2\n"): (
        "x.csv: missing columns ['previous_doc_id'] (found ['query_id', 'doc_id', "
        "'relevance']). Needed: query_id, doc_id, previous_doc_id, relevance."
    ),
    ("--qrels {0} run.txt -m 'ERR(gmax=2)'", "x.txt", "q1 0 a 3\n"): (
        "qrels: grade 3 is above gmax=2. Give the highest grade there is, or "
        "gmax=collection."
    ),
    ("--qrels {0} run.txt -m nDCG -m P+Q@5", "x.txt", "q1 0 a 3\n"): (
        "P+Q@5 needs intent_qrels: give intent_qrels=…, or --intent-qrels FILE on the "
        "command line"
    ),
    ("--intent-qrels {0} run.txt", "x.txt", "q1 i a 1\n"): (
        "no measure was asked for, and intent_qrels suggest none: name measures, "
        "such as alpha_nDCG@20; `pgcjax measures` lists them"
    ),
    ("--intent-qrels {0} run.txt -m P+Q@5", "x.txt", "q1 i a 1\n"): (
        "P+Q@5 needs intents: give intents=…, or a table of them as --intent-qrels "
        "FILE on the command line"
    ),
    ("--qrels {0} run.txt -m CCG@5", "x.txt", "q1 0 a 3\n"): (
        "CCG@5 needs context: give context=…, or --context FILE on the command line"
    ),
    ("--qrels {0} run.txt -m nDGC@5", "x.txt", "q1 0 a 3\n"): (
        "no measure is called 'nDGC': did you mean nDCG?; `pgcjax measures` lists them"
    ),
    ("--prefs {0} run.txt -m ppref", "x.csv", "qid,docno,other,pref\nq1,a,,1\n"): (
        "x.csv:2: document 'a' has no other, and is not judged bad. Give other_doc_id, "
        "or a preference below 0 for a bad document."
    ),
    ("--prefs {0} run.txt --prefs-format jelsas -m ppref", "x.txt", "q1 a b 3\n"): (
        "x.txt:1: expected 'query doc doc -2..2', found 'q1 a b 3': the fourth is not "
        "-2, -1, 0, 1 or 2. Read as jelsas; if that is wrong, name the format."
    ),
}  # fmt: skip


@pytest.mark.parametrize(("line", "name", "text"), CASES)
def test_malformed(pgcjax, here, line, name, text):
    (here / "iq.txt").write_text("q1 i a 2\nq1 j b 1\n")
    (here / name).write_text(text)
    before = sorted(here.iterdir())
    done = pgcjax("evaluate", *shlex.split(line.format(name)), "-o", "out.csv")
    assert done.err == f"pgcjax: error: {CASES[line, name, text]}\n"
    assert (done.code, done.out) == (2, "")
    assert sorted(here.iterdir()) == before


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--folds 1", "folds=1: expected at least 2"),
        ("-C 0", "C=0.0: expected a number above 0"),
        ("-o p.doc", "p.doc: the suffix of an output file is one of "),
        (
            "",
            "context: expected conditional grades of at least two queries to train "
            "on some and test on others, found 1. Collect more, or let groups be "
            "pair.",
        ),
    ],
)
def test_malformed_predict(pgcjax, here, options, said):
    pytest.importorskip("sklearn", reason="pip install 'pgcjax[context]'")
    (here / "c.txt").write_text("q1 a b 1\nq1 b a 1\n")
    files = ["--qrels", "qrels.txt", "--context", "c.txt"]
    done = pgcjax("judgments", "predict", *files, *options.split())
    assert done.err.startswith(f"pgcjax: error: {said}")
    assert done.err.count("\n") == 1 and (done.code, done.out) == (2, "")


def test_grades_below_0_count_as_0(pgcjax, here):
    """They are no error: spam is -2 in the qrels of the TREC Web Track."""
    (here / "zero.txt").write_text("q1 0 a 2\nq1 0 b 0\n")
    (here / "low.txt").write_text("q1 0 a 2\nq1 0 b -2\n")
    names = "nDCG ERR Q RBP AP".split()
    asked = [part for name in names for part in ("-m", name)]
    lines = [
        pgcjax("evaluate", "--qrels", path, "run.txt", *asked).out.splitlines()[1:]
        for path in ("zero.txt", "low.txt")
    ]
    assert lines[0] == lines[1] and len(lines[0]) == 5
