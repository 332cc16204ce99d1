"""Tables of votes as they come: each is read as meant, or refused with the mend."""

import gzip
import importlib.util
import json
import re
import sys
import tomllib
import warnings
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest
from helpers.vote_lines import NAMES, lines

from pgcjax.errors import DataError, DataWarning, PgcjaxError, UsageError
from pgcjax.files import read_preferences
from pgcjax.io.file_kinds import sort_by_kind
from pgcjax.io.reading import reading
from pgcjax.io.write import write_table

CASES = tomllib.loads((Path(__file__).parent / "vote_layouts.toml").read_text())
OPTIONS = re.compile(r"--(columns|answers) ('[^']*'|[^\s;)]+)").findall


def read(path, **how):
    with warnings.catch_warnings(), reading(**how):
        warnings.simplefilter("ignore")
        return read_preferences(path)


def refusals(path, how):
    """Messages, the options that each names being added for the next one."""
    messages = []
    for _ in range(4):
        try:
            read(path, **how)
            break
        except PgcjaxError as error:
            messages.append(str(error).replace(f"{path.parent}/", ""))
        if not (options := OPTIONS(messages[-1])):
            break
        how |= {n: x.strip("'").rstrip(",.") for n, x in options[:1]}
    return messages


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_table_is_read_as_it_is_meant_or_refused(put, case):
    path = put(case.get("file", "a.csv"), case["text"])
    how = {name: case[name] for name in ("columns", "answers") if name in case}
    if "error" in case:
        messages = refusals(path, {} if "rows" in case else {**how})
        assert messages[0] == case["error"] and "\n" not in messages[0]
        # Options that a message names can be pasted, and lead on.
        assert "=…" not in messages[0].replace("format=…", "")
        assert len(set(messages)) == len(messages)
    if "rows" not in case:
        return
    with warnings.catch_warnings(record=True) as told, reading(**how):
        warnings.simplefilter("always")
        table = read_preferences(path)
        # What was read is canonical, and is read again as it is, in any way.
        pd.testing.assert_frame_equal(read_preferences(table), table)
    pd.testing.assert_frame_equal(read_preferences(table), table)
    assert lines(table) == case["rows"]
    messages = [str(w.message).replace(f"{path.parent}/", "") for w in told]
    assert messages == ([case["warning"]] if "warning" in case else [])
    counted = {name: count for name, count in table.attrs.items() if count}
    assert counted == case.get("counted", {})


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"columns": "winner"}, "columns 'winner': expected ROLE=COLUMN,… such as "),
        ({"columns": "victor=a"}, "columns 'victor=a': expected ROLE=COLUMN,… such "),
        ({"columns": "a=x,a=y"}, "columns 'a=x,a=y': expected ROLE=COLUMN,… such as "),
        ({"answers": "a"}, "answers 'a': expected a=…,b=…,tie=…,none=…, with | "),
        ({"answers": "a=1,b=1"}, "answers 'a=1,b=1': '1' means two things"),
        ({"unread": 5}, "unread: expected a share from 0 to 1, found 5"),
        ({"flips": "toss"}, "flips is one of keep, tie, drop, half, not 'toss'"),
    ],
)
def test_wrong_ways_of_reading(how, message):
    with pytest.raises(UsageError) as refused, reading(**how):
        pass
    assert str(refused.value).startswith(message)


def test_roles_that_go_together(put):
    path = put("a.csv", "qid,a,b,winner\nq,x,y,a\n")
    with pytest.raises(UsageError) as refused, reading(columns="a=b"):
        read_preferences(path)
    assert str(refused.value) == "columns: a=… and b=… go together"
    aspects = put("b.csv", "qid,a,b,winner,aspect\nq,x,y,a,depth\nq,x,y,b,style\n")
    with reading(aspects="style"):
        assert read_preferences(aspects)["preference"].tolist() == [-1]
    with pytest.raises(PgcjaxError) as refused, reading(aspects=["length"]):
        read_preferences(aspects)
    assert str(refused.value) == (
        "preferences: has no aspect 'length'; there are depth, style. Name one that is "
        "there, or give a column aspect."
    )


def test_lists_in_memory_and_files_of_votes_are_found(put):
    """As of HuggingFace datasets: columns of lists, which a parquet file has, too."""
    rows = [{"a": "x", "b": "y", "vote": ["A", "B"], "worker": ["v", "w"]}]
    with reading(columns="query_id=-"):
        table = read_preferences(rows)
        path = put("a.parquet", b"")
        pd.DataFrame(rows).to_parquet(path)
        pd.testing.assert_frame_equal(read_preferences(path), table)
    assert table["preference"].tolist() == [1, -1]
    votes = put("b.csv", "qid,a,b,label\nq,x,y,a\n")
    qrels = put("c.csv", "qid,docno,label\nq,x,1\n")
    kinds = sort_by_kind([votes, qrels])
    assert kinds["prefs"] == [votes] and kinds["qrels"] == [qrels]


@pytest.mark.filterwarnings("ignore:.*votes are read, and not")
def test_crowd_votes_as_published(data):
    """47,320 votes of CRAGC-25: 16,514 for a, 17,441 for b, 13,365 for neither."""
    path = data / "cragc25/ratings.jsonl.gz"
    votes = read_preferences(path)
    assert Counter(votes["preference"]) == {1: 16514, -1: 17441, 0: 13365}
    assert votes["judge"].nunique() == 420 and votes["aspect"].nunique() == 7
    assert (votes["first"] == votes["doc_id"]).all()
    with gzip.open(path, "rt") as file:
        gold = [json.loads(row)["quality_overall_gold"] for row in file]
    with reading(columns="winner=gold", aspects="quality_overall"):
        read = read_preferences(path)["preference"]
    assert read.map({1.0: "a", 0.0: "n", -1.0: "b"}).tolist() == gold


def test_sides_are_guessed_where_only_an_answer_is_named(put):
    path = put("a.csv", "query_id,one,two,label\n1,x,y,x\n1,z,x,x\n")
    with pytest.raises(DataError) as refused:
        read(path, columns="winner=label")
    assert "such as --columns winner=label,a=one,b=two (" in str(refused.value)
    votes = read(path, columns="winner=label,a=one,b=two")
    assert lines(votes) == ["1 x y 1 first=x", "1 z x -1 first=z"]


def test_shared_layouts_are_read_right_or_refused(data, monkeypatch, capsys):
    """Layouts of public tools: none is read otherwise than it is meant."""
    folder = data.parent / "golden" / "votes"
    if not (folder / "check_votes.py").exists():
        pytest.skip("not there")
    with warnings.catch_warnings():
        spec = importlib.util.spec_from_file_location("c", folder / "check_votes.py")
        check = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(check)
        monkeypatch.setattr(sys, "argv", ["check_votes.py", str(folder), "--quiet"])
        assert check.main() == 0, capsys.readouterr().out
    with_options = capsys.readouterr().out.rpartition("with options: ")[2]
    assert "refused" not in with_options


MARK = "\ufeff"
HEADER = "query_id,a,b,winner\n"


@pytest.mark.parametrize(
    ("name", "text", "rows"),
    [
        (
            "a.csv",
            f"{MARK}{HEADER}1,x,y,a\n{MARK}{HEADER}2,x,z,b\n",
            "1 x y 1|2 x z -1",
        ),
        (
            "a.txt",
            f"1 x y x\n{MARK}2 z y z\n{MARK}2 u y y\n",
            "1 x y 1|2 z y 1|2 u y -1",
        ),
        (
            "a.tsv",
            'query_id\ta\tb\twinner\tnote\n1\tx\ty\ta\t"open\n1\tx\tz\tb\tshut"\n',
            "1 x y 1|1 x z -1",
        ),
        (
            "a.tsv",
            'query_id\ta\tb\twinner\n1\tx\ty\t"a"\n1\t"x"\tz\tb\n',
            "1 x y 1|1 x z -1",
        ),
        (
            "a.json",
            '[{"query_id": "1", "a": "x", "b": "y", "winner": "a"},\n'
            ' {"query_id": "1", "a": "x", "b": "z", "winner": "b"}]',
            "1 x y 1|1 x z -1",
        ),
        ("a.json", '{"rows": [{"qid": 1, "winner": 2, "loser": 3}]}', "1 2 3 1"),
    ],
)
def test_files_that_were_put_together_or_wrapped(put, name, text, rows):
    table = read(put(name, text)).drop(columns="first", errors="ignore")
    assert lines(table) == rows.split("|")


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        (
            "a.csv",
            "query_id,winner,loser\n1,x,y\nquery_id,loser,winner\n1,z,u\n",
            ":3: expected a vote, found the names of columns",
        ),
        ("a.txt", "1 x y\ntopic winner loser\n", ":2: expected tabs or commas between"),
        (
            "a.csv",
            'query_id,a,b,winner,note\n1,x,y,a,"open\n1,x,z,b,shut"\n',
            ":2: expected fields separated by ',': a quote spans lines that each "
            "have all",
        ),
        ("a.json", "[1, 2]", ":1: expected preferences, found"),
    ],
)
def test_what_is_no_vote_is_refused(put, name, text, problem):
    path = put(name, text)
    with pytest.raises(DataError) as refused:
        read_preferences(path)
    assert str(refused.value).startswith(f"{path}{problem}")


def test_cells_that_no_rule_reads(put):
    """Up to a share they are no answer, and said; codes and other ids never are."""
    rows = "1,x,y,A\n" * 19
    path = put("a.csv", f"{HEADER}{rows}1,x,z,they are both hard to judge\n")
    with pytest.warns(DataWarning, match="1 of 20 cells of winner match no rule"):
        assert read_preferences(path).attrs["refused"] == {"": 1}
    few = put("b.csv", f"{HEADER}1,x,y,A\n1,x,y,A\n1,x,z,they are hard to judge\n")
    with pytest.raises(DataError) as refused:
        read_preferences(few)
    assert "--answers 'none=they are hard to judge'" in str(refused.value)
    assert "--unread 0.34" in str(refused.value)
    for how in ({"unread": 0.34}, {"answers": "none=they are hard to judge"}):
        assert len(read(few, **how)) == 2
    for odd in ("3", "C", "x2", "1", "left"):
        code = put("c.csv", f"{HEADER}{rows * 3}1,x,z,{odd}\n1,x2,z,B\n")
        with pytest.raises(DataError, match="expected which of 'x' and 'z' is better"):
            read_preferences(code)


def test_options_are_obeyed_or_said_to_be_of_no_use(put):
    path = put("a.csv", "query_id,winner,loser\n1,x,y\n")
    with pytest.raises(DataError, match="answers define words, but no column"):
        read(path, answers="a=1,b=2")
    text = put("a.txt", "1 x y x\n")
    told = pytest.warns(DataWarning, match="has no header, so answers do not apply")
    with told, reading(answers="a=1,b=2"):
        assert len(read_preferences(text)) == 1
    sides = put("b.csv", "query_id,doc_a,doc_b,winner\n1,x,y,doc_a\n")
    turned = read(sides, columns="a=doc_b,b=doc_a")
    assert lines(turned) == ["1 y x -1"]


def test_a_winner_that_is_named_as_a_side_was_not_shown_first(put):
    path = put("a.csv", "query_id,winner,loser,margin\n1,x,y,2\n1,z,x,-1\n")
    votes = read(path, columns="a=winner,b=loser,preference=margin")
    assert "first" not in votes or votes["first"].isna().all()


def test_requests_come_back_with_a_winner(put):
    """The columns that `ask requests` writes, whose ids may be numbers."""
    names = "query_id,doc_id,other_doc_id,first,round,number,judge,winner\n"
    path = put("a.csv", f"{names}1,101,102,101,1,1,,102\n1,103,101,103,1,1,,103\n")
    votes = read(path)
    rows = [" ".join(line.split()[:5]) for line in lines(votes)]
    assert rows == ["1 101 102 -1 first=101", "1 103 101 1 first=103"]


def test_tables_of_pgcjax_say_so_themselves(put, tmp_path):
    frame = pd.DataFrame([("1", "x", "y", 2.0)], columns=NAMES)
    write_table(frame, tmp_path / "a.csv", {"of": "a test"})
    write_table(frame, tmp_path / "a.parquet", {"of": "a test"})
    for source in ("a.csv", "a.parquet"):
        assert read_preferences(tmp_path / source)["preference"].tolist() == [2]
    votes = read_preferences(frame)
    assert read_preferences(votes)["preference"].tolist() == [2]
    with pytest.raises(DataError, match="may be a place, a probability or a strength"):
        read_preferences(put("b.csv", frame.to_csv(index=False)))
