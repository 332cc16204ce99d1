"""Files as other tools write them: each is read as meant, or refused with the mend."""

import tomllib
import warnings
from pathlib import Path

import pytest
from helpers.vote_lines import lines

from pgcjax.errors import PgcjaxError
from pgcjax.files import read_preferences, read_qrels, read_runs
from pgcjax.io.plugin_readers import readers
from pgcjax.io.reading import reading

FILES = Path(__file__).parents[1] / "data" / "readers"
CASES = tomllib.loads((FILES / "cases.toml").read_text())


@pytest.mark.parametrize("name", CASES)
def test_a_file_of_another_tool_is_read_or_refused(name):
    case = CASES[name]
    path = FILES / case.get("file", name)
    options = "columns", "answers", "named"
    how = {option: case[option] for option in options if option in case}
    how |= {"reader": how.pop("named")} if "named" in how else {}
    if "error" in case:
        with pytest.raises(PgcjaxError) as refused:
            read_runs(path).table if case.get("runs") else read_preferences(path)
        message = str(refused.value).replace(f"{FILES}/", "")
        assert message == case["error"]
    if "rows" not in case:
        return
    with warnings.catch_warnings(), reading(**how):
        warnings.simplefilter("error")
        if case.get("runs"):
            columns = ["run_id", "query_id", "doc_id", "score"]
            rows = read_runs(path).table[columns].itertuples(index=False)
            assert [" ".join(map(str, row)) for row in rows] == case["rows"]
            return
        if case.get("qrels"):
            rows = read_qrels(path).itertuples(index=False)
            assert [" ".join(map(str, row)) for row in rows] == case["rows"]
            return
        table = read_preferences(path)
    assert lines(table) == case["rows"]
    assert table.attrs.get("refused", {}) == case.get("refused", {})


def test_every_file_and_every_reader_has_a_case():
    files = {case.get("file", name) for name, case in CASES.items()}
    assert {path.name for path in FILES.iterdir()} == {*files, "cases.toml"}
    claimed = {case.get("reader") for case in CASES.values()}
    assert claimed - {None} == {*readers()}
