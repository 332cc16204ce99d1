"""Values of other tools are kept for the tables that they are of, and for no others."""

import pandas as pd
import pytest
from helpers.tool_values import kept

CALLS = []


@kept("pandas", "a package that is not installed")
def tool(name: str, table: pd.DataFrame, least: float = 0.0) -> list[tuple]:
    CALLS.append(name)
    return [(name, doc, "value", x / 3) for doc, x in table.itertuples(index=False)]


def test_equal_tables_have_the_values_that_were_computed(tmp_path, monkeypatch):
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path / "compiled"))
    table = pd.DataFrame({"doc_id": ["a", "b"], "relevance": [1.0, float("nan")]})
    rows = tool("run", table)
    again = tool("run", table.copy())
    assert repr(again) == repr(rows) and CALLS == ["run"]  # to the last bit
    for other in (
        table.assign(relevance=[1.0, 2.0]),
        table.astype({"relevance": "f4"}),
        table.rename(columns={"doc_id": "other_doc_id"}),
        table[::-1],
    ):
        tool("run", other)
    tool("other", table)
    tool("run", table, least=1.0)
    assert CALLS == ["run"] * 5 + ["other", "run"]
    assert len([*(tmp_path / "tools").iterdir()]) == 7


@pytest.fixture(autouse=True)
def none_called():
    CALLS.clear()
