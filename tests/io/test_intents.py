"""Tables of intents: every form, and what is wrong in one."""

import pandas as pd
import pytest

from pgcjax.errors import DataError
from pgcjax.io.graded import read_intent_qrels
from pgcjax.io.intents import check_intents, read_intents

JUDGED = [
    ("q1", "a", "1", 2.0),
    ("q1", "a", "2", 0.5),
    ("q1", "b", "2", -2.0),
    ("q2", "a", "1", 0.0),
]
INTENTS = [("q1", "1", 0.25, "inf"), ("q1", "2", 0.75, "nav"), ("q2", "x", 1.0, "inf")]
TOPICS = """<?xml version="1.0"?>
<!DOCTYPE webtrack [ <!ELEMENT webtrack (topic)*>
  <!ATTLIST subtopic number CDATA #REQUIRED type (nav|inf) "inf"> ]>
<webtrack>
<!-- two kinds are misspelt, as in 2011 -->
<topic number="7" type="faceted"><query>a &amp; b</query>
  <subtopic number="1" type="nav">one</subtopic>
  <subtopic number="2">by default</subtopic>
  <subtopic number="3" type="inv">two</subtopic>
  <subtopic number="4" type="inav">three</subtopic>
</topic>
<topic number="8" type="single"><query>none</query></topic>
</webtrack>
"""


def rows(table):
    return list(table.itertuples(index=False, name=None))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "a.csv",
            "query_id,intent_id,probability,kind\nq1,1,.25,inf\nq1,2,.75,nav\nq2,x,1,inf\n",
        ),
        (
            "a.tsv",
            "kind\tprob\tintent\ttopic\ninf\t.25\t1\tq1\nnav\t.75\t2\tq1\ninf\t1\tx\tq2\n",
        ),
        (
            "a.jsonl",
            '{"qid":"q1","intent":1,"probability":0.25,"type":"inf"}\n'
            '{"qid":"q1","intent":2,"probability":"0.75","type":"nav"}\n'
            '{"qid":"q2","intent":"x","probability":1,"type":"inf"}\n',
        ),
    ],
)
def test_files_of_intents(put, name, text):
    intents = read_intents(put(name, text))
    assert list(intents.columns) == ["query_id", "intent_id", "probability", "kind"]
    assert rows(intents) == INTENTS


def test_intents_in_parquet_and_frames(tmp_path):
    frame = pd.DataFrame(INTENTS, columns=["qid", "subtopic", "probability", "kind"])
    frame.to_parquet(tmp_path / "a.parquet")
    for source in (tmp_path / "a.parquet", frame, read_intents(frame)):
        assert rows(read_intents(source)) == INTENTS


def test_intents_without_probabilities_or_kinds(put):
    some = put("some.csv", "query_id,intent_id\nq,1\nq,2\nr,1\n")
    assert rows(read_intents(some)) == [
        ("q", "1", 0.5, "inf"),
        ("q", "2", 0.5, "inf"),
        ("r", "1", 1.0, "inf"),
    ]
    more = put("more.csv", "query_id,intent_id,probability\ns,1,.3\ns,2,.7\n")
    both = read_intents([some, more])
    assert both["probability"].tolist() == [0.5, 0.5, 1.0, 0.3, 0.7]
    more = put("more.csv", "query_id,intent_id,probability\nq,3,1\n")
    with pytest.raises(
        DataError,
        match=r"some\.csv:2: query 'q' has probabilities for some intents only: none "
        r"for '1'\. Give all or none\.$",
    ):
        read_intents([some, more])


def test_topics(put):
    kinds = ["nav", "inf", "inf", "nav"]
    expected = [("7", str(i), 0.25, kind) for i, kind in enumerate(kinds, 1)]
    assert rows(read_intents(put("t.xml", TOPICS))) == expected
    assert rows(read_intents(put("t", "\ufeff" + TOPICS.replace("\n", "\r\n")))) == (
        expected
    )


HEAD = "query_id,intent_id,probability,kind\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD + "q,1,.5,inav\nq,2,.5,nav\n", r":2: expected a kind, .* 'inav'\. .*"),
        (HEAD + "q,1,.5,\nq,2,.5,nav\n", r":2: expected a kind, .* found ''\. .*"),
        (
            HEAD + "q,1,half,inf\n",
            r":2: expected a finite number as probability, found 'half'\. .*",
        ),
        (HEAD + "q,1,,inf\n", r":2: expected a finite .* found nothing\. .*"),
        (
            HEAD + "q,1,.5,inf\nr,1,1,inf\nq,2,.49,inf\n",
            r":4: expected probabilities of query 'q' that add up to 1, found 0\.99 "
            r"over 2 intents\. Divide them by their sum\.",
        ),
        (
            HEAD + "q,1,.5,inf\nr,1,1,inf\nq,1,.5,inf\n",
            r":4: intent '1' of query 'q' is twice: first at \S+:2\. Keep one .*",
        ),
        (
            "q 1 .5 inf\n",
            r":1: expected a header with the columns query_id, intent_id, "
            r"probability, kind, or TREC topics in XML, found 'q 1 \.5 inf'\. .*",
        ),
        (
            TOPICS.replace('type="nav"', 'type="navy"'),
            r":7: expected a kind, inf or nav, found 'navy'\. .*",
        ),
        (
            TOPICS.replace('<subtopic number="2"', "<subtopic"),
            r":8: expected a number of this subtopic\. .*",
        ),
        (
            TOPICS.replace('<subtopic number="2"', '<subtopic number="1"'),
            r":8: intent '1' of query '7' is twice: first at \S+:7\. .*",
        ),
        (
            TOPICS.replace("</query>", "", 1),
            r":11: expected TREC topics in XML: mismatched tag\. .*",
        ),
        (TOPICS.replace("subtopic", "part"), r": holds no subtopics\. .*"),
        ("<", r":1: expected TREC topics in XML: .*"),
    ],
)
def test_malformed_intents(put, text, message):
    name = "a.txt" if text.startswith(("q ", "<")) else "a.csv"
    with pytest.raises(DataError, match=rf"^\S*/{name}{message}$"):
        read_intents(put(name, text))


def test_probabilities_may_be_off_by_a_millionth():
    def frame(last):
        return pd.DataFrame(
            {"query_id": "q", "intent_id": [1, 2], "probability": [0.5, last]}
        )

    assert len(read_intents(frame(0.5 + 9e-7))) == 2
    with pytest.raises(DataError, match="add up to 1, found 1.0000011 over 2"):
        read_intents(frame(0.5 + 1.1e-6))


def test_an_intent_that_nobody_knows():
    intents = read_intents(pd.DataFrame(INTENTS, columns=list("qipk")).set_axis(
        ["query_id", "intent_id", "probability", "kind"], axis=1
    ))  # fmt: skip
    judged = pd.DataFrame(JUDGED, columns=["qid", "doc", "intent", "rel"])
    # Of q2, intent 1 is not known, but nothing is relevant to it.
    check_intents(read_intent_qrels(judged), intents)
    judged.loc[3, "rel"] = 1
    with pytest.raises(
        DataError,
        match=r"^intent qrels: document 'a' of query 'q2' is relevant to intent '1', "
        r"which is not among the intents: the query has x\. .*$",
    ):
        check_intents(read_intent_qrels(judged), intents)
    judged.loc[3, "qid"] = "q3"
    with pytest.raises(DataError, match="intent '1', .* the query is not there"):
        check_intents(read_intent_qrels(judged), intents)


def test_public_topics_and_judgments(data):
    """Counts as `grep` and `wc` give them; 2009 names intent 0 of unrelevant pages."""
    folder = data / "web-diversity"
    for year, judged, kinds in (
        (2009, 27964, {"inf": 177, "nav": 66}),
        (2010, 9006, {"inf": 143, "nav": 75}),
        (2011, 64868, {"inf": 129 + 1, "nav": 37 + 1}),
        (2012, 62394, {"inf": 147, "nav": 48}),
    ):
        qrels = read_intent_qrels(folder / f"qrels/{year}.diversity.qrels.gz")
        intents = read_intents(folder / f"topics/wt{year}.topics.xml.gz")
        assert len(qrels) == judged and qrels.attrs["repeats"] == 0
        assert intents["kind"].value_counts().to_dict() == kinds
        check_intents(qrels, intents)
    assert len(read_intents(folder / "topics")) == 243 + 218 + 168 + 195
