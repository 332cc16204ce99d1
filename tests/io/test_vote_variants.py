"""Tables of votes in other words: each is read as it is meant, or refused."""

import importlib.util
import re
import sys
import tomllib
import warnings
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

from pgcjax.errors import DataError, DataWarning, UsageError
from pgcjax.files import read_preferences
from pgcjax.io.reading import reading
from pgcjax.io.write import write_table

NAMES = ["query_id", "doc_id", "other_doc_id", "preference"]
TABLES = tomllib.loads((Path(__file__).parent / "vote_variants.toml").read_text())
_MEANT = re.compile(r"(\S+) (\S+?)([>=])(\S+)(?: x(\d+))?(?: p(\.\d+))?").fullmatch


def meant(lines):
    """What lines such as `q a>b x3` say: how often each."""
    votes = Counter()
    for line in lines:
        query, a, sign, b, weight, p = _MEANT(line).groups()
        pair = (a, b) if sign == ">" else tuple(sorted((a, b)))
        votes[query, *pair, sign, float(p or 1)] += float(weight or 1)
    return votes


def said(table):
    """The same of a table."""
    votes = Counter()
    for row in table.to_dict("records"):
        a, b, sign = row["doc_id"], row["other_doc_id"], row["preference"]
        p = row.get("probability", 1.0 if sign >= 0 else 0.0)
        a, b, p = (a, b, p) if sign >= 0 else (b, a, 1 - p)
        pair = (a, b) if sign else tuple(sorted((a, b)))
        mark = ">" if sign else "="
        votes[row["query_id"], *pair, mark, p] += row.get("weight", 1.0)
    return votes


def read(path, **how):
    with warnings.catch_warnings(), reading(**how):
        warnings.simplefilter("ignore")
        return read_preferences(path)


def test_there_are_enough_tables():
    names = [table["name"] for table in TABLES["table"]]
    assert len(names) >= 60 and len({*names}) == len(names)


@pytest.mark.parametrize("case", TABLES["table"], ids=lambda case: case["name"])
def test_a_table_is_read_as_it_is_meant(put, case):
    path = put(case.get("file", "a.csv"), case["text"].lstrip("\n"))
    try:
        table = read(path)
    except (DataError, UsageError) as error:
        assert "votes" not in case or case.get("may"), error
        assert "\n" not in str(error)
        assert "=…" not in str(error).replace("format=…", "")  # lines can be pasted
    else:
        assert "votes" in case, said(table)
        assert said(table) == meant(case["votes"])
        assert sum(table.attrs.get("refused", {}).values()) == case.get("refused", 0)
        if "first" in case:
            assert "first" not in table or table["first"].isna().all()
    if "with" in case:
        how = {name: case[name] for name in ("columns", "answers") if name in case}
        assert said(read(path, **how)) == meant(case["with"])


_LINES = re.compile(r"--(columns|answers) ('[^']*'|[^\s;)]+)").findall


@pytest.mark.parametrize("case", TABLES["table"], ids=lambda case: case["name"])
def test_lines_of_a_refusal_can_be_pasted(put, case):
    """The first options that a message names lead on: it is not met twice."""
    path = put(case.get("file", "a.csv"), case["text"].lstrip("\n"))
    how, messages = {}, []
    for _ in range(4):
        try:
            read(path, **how)
            break
        except (DataError, UsageError) as error:
            assert str(error) not in messages
            messages.append(str(error))
            how |= {n: x.strip("'").rstrip(",.") for n, x in _LINES(str(error))[:1]}
            if not _LINES(str(error)):
                break


def test_sides_are_guessed_where_only_an_answer_is_named(put):
    path = put("a.csv", "query_id,one,two,label\n1,x,y,x\n1,z,x,x\n")
    with pytest.raises(DataError) as refused:
        read(path, columns="winner=label")
    assert "such as --columns winner=label,a=one,b=two (" in str(refused.value)
    votes = read(path, columns="winner=label,a=one,b=two")
    assert said(votes) == meant(["1 x>y", "1 x>z"])


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
    ("name", "text", "lines"),
    [
        ("a.csv", f"{MARK}{HEADER}1,x,y,a\n{MARK}{HEADER}2,x,z,b\n", "1 x>y|2 z>x"),
        ("a.txt", f"1 x y x\n{MARK}2 z y z\n{MARK}2 u y y\n", "1 x>y|2 z>y|2 y>u"),
        (
            "a.tsv",
            'query_id\ta\tb\twinner\tnote\n1\tx\ty\ta\t"open\n1\tx\tz\tb\tshut"\n',
            "1 x>y|1 z>x",
        ),
        (
            "a.tsv",
            'query_id\ta\tb\twinner\n1\tx\ty\t"a"\n1\t"x"\tz\tb\n',
            "1 x>y|1 z>x",
        ),
        (
            "a.json",
            '[{"query_id": "1", "a": "x", "b": "y", "winner": "a"},\n'
            ' {"query_id": "1", "a": "x", "b": "z", "winner": "b"}]',
            "1 x>y|1 z>x",
        ),
        ("a.json", '{"rows": [{"qid": 1, "winner": 2, "loser": 3}]}', "1 2>3"),
    ],
)
def test_files_that_were_put_together_or_wrapped(put, name, text, lines):
    assert said(read(put(name, text))) == meant(lines.split("|"))


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
            ":2: expected fields separated by ',': a quote spans lines that have all",
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
    with pytest.warns(
        DataWarning, match="1 of 20 cells of winner say nothing that any"
    ):
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
    with pytest.raises(DataError, match="answers say what words mean, but no column"):
        read(path, answers="a=1,b=2")
    text = put("a.txt", "1 x y x\n")
    told = pytest.warns(DataWarning, match="has no header, so answers are not of it")
    with told, reading(answers="a=1,b=2"):
        assert len(read_preferences(text)) == 1
    sides = put("b.csv", "query_id,doc_a,doc_b,winner\n1,x,y,doc_a\n")
    turned = read(sides, columns="a=doc_b,b=doc_a")
    assert said(turned) == meant(["1 x>y"])


def test_a_winner_that_is_named_as_a_side_was_not_shown_first(put):
    path = put("a.csv", "query_id,winner,loser,margin\n1,x,y,2\n1,z,x,-1\n")
    votes = read(path, columns="a=winner,b=loser,preference=margin")
    assert "first" not in votes or votes["first"].isna().all()


def test_requests_come_back_with_a_winner(put):
    """The columns that `ask requests` writes, whose ids may be numbers."""
    names = "query_id,doc_id,other_doc_id,first,round,number,judge,winner\n"
    path = put("a.csv", f"{names}1,101,102,101,1,1,,102\n1,103,101,103,1,1,,103\n")
    votes = read(path)
    assert said(votes) == meant(["1 102>101", "1 103>101"])
    assert votes["first"].tolist() == ["101", "103"]


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
