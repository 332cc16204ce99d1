"""Judgments of every kind by name."""

from importlib import import_module

import pandas as pd
import pytest

import pgcjax
from pgcjax.errors import UsageError
from pgcjax.io.judgments import KINDS, by_kind, read_judgments

GRADES = pd.DataFrame([("q", "a", 1.0)], columns=["query_id", "doc_id", "relevance"])


def test_qrels_with_intents_are_intent_qrels():
    assert set(by_kind({"qrels": GRADES, "preferences": None})) == {"qrels"}
    with_intents = GRADES.assign(intent_id="i")
    assert set(by_kind({"qrels": with_intents})) == {"intent_qrels"}


def test_every_kind_has_its_reader():
    assert read_judgments({"qrels": GRADES})["qrels"].equals(GRADES)
    for name, kind in KINDS.items():
        module = import_module(f"pgcjax.io.{kind.module}")
        assert callable(getattr(module, f"read_{name}"))


def test_no_such_kind(tmp_path):
    with pytest.raises(UsageError, match="grades is none of preferences, qrels, in"):
        pgcjax.pack({"q": {"a": 1.0}}, tmp_path / "x.parquet", grades=GRADES)
