"""Tables of votes in other words: each is read as it is meant, or refused."""

import re
import tomllib
import warnings
from collections import Counter
from pathlib import Path

import pytest

from pgcjax.errors import DataError, UsageError
from pgcjax.io.preferences import read_preferences
from pgcjax.io.reading import reading

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
    else:
        assert "votes" in case, said(table)
        assert said(table) == meant(case["votes"])
        assert sum(table.attrs.get("refused", {}).values()) == case.get("refused", 0)
        if "first" in case:
            assert "first" not in table or table["first"].isna().all()
    if "with" in case:
        how = {name: case[name] for name in ("columns", "answers") if name in case}
        assert said(read(path, **how)) == meant(case["with"])
