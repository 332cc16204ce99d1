"""A measure is one file: that of CONTRIBUTING.md, put into the folder of measures."""

import re
from pathlib import Path

import pytest
from helpers.collections import collection

import pgcjax
from pgcjax import measures
from pgcjax.measures.catalogue import catalogue

CONTRIBUTING = Path(__file__).parents[2] / "CONTRIBUTING.md"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder whose files are measures, too."""
    monkeypatch.setattr(measures, "__path__", [*measures.__path__, str(tmp_path)])
    catalogue.cache_clear()
    yield tmp_path
    catalogue.cache_clear()


def example() -> str:
    found = re.search(r"```python\n(.*?)```", CONTRIBUTING.read_text(), re.DOTALL)
    assert found
    return found[1]


def test_the_file_is_all_it_takes(folder):
    (folder / "made_for_a_test.py").write_text(example())
    _, qrels, runs = collection(3, queries=4, runs=3, most_docs=20)
    scores = pgcjax.evaluate(runs, qrels=qrels, measures=["success@1"], verify=1.0)
    assert scores.notes[-1] == "12 of 12 scores recomputed: equal"
    assert set(scores.table.measure) == {"Success@1"}
    assert set(scores.table.value) == {0.0, 1.0}
    assert "Success" in catalogue()


def test_two_measures_of_one_name(folder):
    (folder / "made_for_another_test.py").write_text(
        example().replace('"Success"', '"nDCG"')
    )
    with pytest.raises(ValueError, match="two measures are called nDCG"):
        catalogue()
