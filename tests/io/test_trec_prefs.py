"""trec_eval's `prefs` and `qrels_prefs`, by its own examples, counts and errors."""

from collections import Counter, defaultdict
from itertools import combinations

import pytest

from pgcjax.errors import DataError
from pgcjax.files import read_preferences
from pgcjax.io.check import summarise_preferences

# (group, subgroup, document, level), as in the comment of trec_eval's get_prefs.c.
EXAMPLES = {
    "one complete ranking": (
        "1 1 1 3, 1 1 2 2, 1 1 3 0, 1 1 4 6, 1 1 5 0, 1 1 6 2",
        "4>1 4>2 4>3 4>5 4>6 1>2 1>3 1>5 1>6 2>3 2>5 6>3 6>5",
    ),
    # The comment leaves out 4>3, which follows; see formats._trec_prefs.
    "two subgroups of one group": (
        "1 1 1 3, 1 1 2 2, 1 1 3 1, 1 2 1 2, 1 2 2 1, 1 2 4 3",
        "1>2 1>3 2>3 4>1 4>2 4>3",
    ),
    "two users": (
        "1 1 1 3, 1 1 2 2, 2 1 1 0, 2 1 3 6, 2 1 4 2, 2 2 1 0, 2 2 2 8",
        "1>2 3>1 4>1 3>4 2>1",
    ),
    "transitive over subgroups": (
        "1 1 1 3, 1 1 2 2, 1 1 3 1, 1 2 2 5, 1 2 4 4",
        "1>2 1>3 2>3 2>4 1>4",
    ),
    "a pair of two groups counts twice": (
        "1 1 1 2, 1 1 2 1, 2 1 1 2, 2 1 2 1",
        "1>2 1>2",
    ),
    "a pair of two subgroups counts once": (
        "1 1 1 2, 1 1 2 1, 1 2 1 9, 1 2 2 3",
        "1>2",
    ),
    "a line repeated": ("1 1 1 2, 1 1 2 1, 1 1 1 2", "1>2"),
    "levels are numbers": ("1 1 1 10, 1 1 2 9.5, 1 1 3 9.50", "1>2 1>3"),
}


def text_of(rows: str) -> str:
    return "".join(f"q  {row.strip()}\n" for row in rows.split(","))


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("order", [1, -1])
def test_examples(put, name, order):
    rows, expected = EXAMPLES[name]
    lines = text_of(rows).splitlines(keepends=True)[::order]
    for format in ("auto", "trec-prefs"):
        prefs = read_preferences(put("a.prefs", "".join(lines)), format=format)
        found = Counter(
            f"{a}>{b}" for a, b in zip(prefs.doc_id, prefs.other_doc_id, strict=True)
        )
        assert found == Counter(expected.split())
        assert (prefs["preference"] == 1).all()


def test_groups_are_judges(put):
    prefs = read_preferences(put("a.prefs", text_of(EXAMPLES["two users"][0])))
    assert prefs["judge"].tolist() == ["1", "2", "2", "2", "2"]


def test_qrels_prefs(put):
    """Without subgroups; levels of different groups do not compare."""
    text = "q g1 a 2\nq g1 b 0\nq g1 c 2\nq g2 b 1\nq g2 d 0.5\n"
    prefs = read_preferences(put("a.txt", text), format="trec-qrels-prefs")
    assert list(zip(prefs.doc_id, prefs.other_doc_id, prefs.judge, strict=True)) == [
        ("a", "b", "g1"),
        ("c", "b", "g1"),
        ("b", "d", "g2"),
    ]


def test_a_group_that_prefers_nothing_is_kept_as_ties(put):
    """One document to the next; a group that prefers anything needs no ties."""
    rows = "q g s c 1,q g s a 1,q g s b 1,q h s a 2,q h s b 2,q h s c 1,r g s a 0"
    rows += ",r g s b 0,r g t a 0,r g t b 0,r g t d 0,s g s a 1,t g s a 1,t h s b 0"
    prefs = read_preferences(put("a.prefs", rows.replace(",", "\n")))
    names = ["query_id", "judge", "doc_id", "other_doc_id"]
    said = ["".join(row) for row in prefs[names].to_numpy()]
    assert list(zip(said, prefs["preference"], strict=True)) == [
        ("qgab", 0),
        ("qgbc", 0),
        ("qhac", 1),
        ("qhbc", 1),
        ("rgab", 0),
        ("rgbd", 0),
    ]
    assert prefs.attrs["silent"] == 2  # of s and t, no two documents were compared
    again = read_preferences(prefs)
    assert again.equals(prefs)


def test_queries_that_compare_nothing_are_counted(put):
    path = put("a.prefs", "q g s a 1\nq g s b 0\nr g s a 1\nr h s b 1\ns g s a 1\n")
    prefs = read_preferences(path)
    assert set(prefs["query_id"]) == {"q"}
    assert "2 queries without any preference: left out" in summarise_preferences(prefs)
    for text in ("q g s a 1\nq g s b 1\n", "q g s a 1\n"):
        with pytest.raises(
            DataError,
            match=r"^\S+/b\.prefs: prefers no document to another: all levels of a "
            r"subgroup are equal\. Read as trec-prefs; if that is wrong, name the "
            r"format\.$",
        ):
            read_preferences(put("b.prefs", text))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            "g s a 1, g s b 2, g t b 1, g t a 2",
            r":4: group 'g' of query 'q' prefers 'a' to 'b', and also says otherwise "
            r"\(line 4, line 3\)\. Judgments that conflict belong to different "
            r"groups\.",
        ),
        (
            "g s a 1, g s b 2, g t a 3, g t b 3",
            r":4: group 'g' of query 'q' prefers 'b' to 'a', and also says otherwise "
            r".*",
        ),
        (
            "g s a 2, g s b 1, g t b 2, g t c 1, g u c 2, g u a 1",
            r":6: group 'g' of query 'q' prefers 'a' to 'b', and also says otherwise "
            r".*",
        ),
        (
            "g s a 1, g s b 0, g s a 2",
            r":3: document 'a' has level 1 \(line 1\) and level 2 \(line 3\) in one "
            r"subgroup\. Keep one of the two\.",
        ),
        (
            "g s a 1, g s b 2, g t a 0, g t c 2",
            r":3: document 'a' has level 1 \(line 1\) and level 0 \(line 3\) in one "
            r"group\. Level 0 says not relevant, for all subgroups of a group\.",
        ),
        (
            "g s a 1, g s b -1",
            r":2: expected .*: the last is not a level of 0 or more\. .*",
        ),
        (
            "g s a 1, g s b inf",
            r":2: expected .*: the last is not a level of 0 or more\. .*",
        ),
        (
            "g s a 1, g s b x",
            r":2: expected .*: the last is not a level of 0 or more\. .*",
        ),
    ],
)
def test_contradictions(put, rows, message):
    with pytest.raises(DataError, match=rf"^\S*/a\.prefs{message}$"):
        read_preferences(put("a.prefs", text_of(rows)), format="trec-prefs")


def counts(path):
    """Query to number of possible preferences, from trec_eval's own output."""
    lines = (line.split() for line in path.read_text().splitlines())
    return {q: int(n) for name, q, n in lines if name == "prefs_num_prefs_poss"}


def test_counts_as_trec_eval_does(data):
    folder = data / "oracles/trec_eval"
    for format, file, out in (
        ("trec-prefs", "prefs.test", "out.test.prefs"),
        ("trec-qrels-prefs", "qrels.test", "out.test.qrels_prefs"),
    ):
        expected = counts(folder / out)
        prefs = read_preferences(folder / file, format=format)
        preferred = prefs[prefs["preference"] > 0]
        assert len(preferred) == expected.pop("all")
        found = Counter(preferred["query_id"])
        assert {q: found[q] for q in expected} == expected
    expected = counts(folder / "out.test.prefs")
    prefs = read_preferences(folder / "prefs.test")  # by its content
    assert (prefs["preference"] > 0).sum() == expected["all"] == 326
    # Two of the six queries without a preference have one document, and no tie either.
    alone = {"7.EC.no", "17.PA=7"}
    assert set(expected) - set(prefs["query_id"]) == {*alone, "all"}
    assert prefs.attrs == {"comments": 0, "silent": len(alone)}


def test_comments_of_trec_eval_files(data):
    folder = data / "oracles/trec_eval"
    prefs = read_preferences(folder / "prefs.comment.test")
    assert (prefs["preference"] > 0).sum() == 326 and prefs.attrs["comments"] == 3
    assert "CR93E-10505#37" in set(prefs["other_doc_id"])


def test_three_judges_of_trec_eval(data, put):
    """qrels.123 has three groups a query; -1 in it is no level."""
    path = data / "oracles/trec_eval/qrels.123"
    with pytest.raises(
        DataError, match=r"qrels\.123:2770: .* '303 0 CR93E-10279 -1': the "
    ):
        read_preferences(path, format="trec-qrels-prefs")
    lines = [line for line in path.read_text().splitlines() if not line.endswith("-1")]
    levels = defaultdict(Counter)
    for line in lines:
        query, group, _, level = line.split()
        levels[query, group][level] += 1
    expected = {
        key: sum(m * n for m, n in combinations(count.values(), 2))
        for key, count in levels.items()
    }
    prefs = read_preferences(put("a", "\n".join(lines)), format="trec-qrels-prefs")
    found = prefs.value_counts(["query_id", "judge"]).to_dict()
    assert found == {key: count for key, count in expected.items() if count}
    assert len(expected) == 9
