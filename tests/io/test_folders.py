"""Folders of runs: what is no run is left out and named, and nothing else is."""

import gzip
from pathlib import Path

import pandas as pd
import pytest
from helpers.builders import run_table

from pgcjax.cli import main
from pgcjax.errors import DataError, DataWarning
from pgcjax.io.folders import is_document, is_no_run
from pgcjax.io.graded import read_qrels
from pgcjax.io.runs import read_runs

RUN = "q1 Q0 d1 1 2 {0}\nq1 Q0 d2 2 1 {0}\n"
QRELS = "q1 0 d1 1\nq1 0 d2 0\n"

NO_RUNS = {
    "README.md": "q Q0 d 1 2 t\n",  # by its name, whatever is in it
    "readme": "These are runs.\n",
    "LICENSE-DATA.txt": "of 2021\n",
    "paper.pdf": "%PDF-1.7\n\0",
    "old.tar.gz": b"\x1f\x8b",
    "_SUCCESS": "",
    "bm25.eval": "map all 0.3\n",
    "topics.xml": "<topics>\n",
    "qrels": QRELS,
    "judged.gz": gzip.compress(QRELS.encode()),
    "dl.qrels.txt": "q1 0 d1 0.5\nq1 0 d2 100\n",
    "clarke": "q1 11 12 11\n",
    "jelsas": "q1 d1 d2 -1\nq1 NA d2 2\n",
    "luo": "q1 d1 d2\n",
    "topics": "301\tInternational organized crime\n302\tPoliomyelitis and post-polio\n",
    "notes.txt": "What we ran\n\nAll of it was run twice, on one machine.\n",
    "meta.json": '{\n  "team": "a",\n  "runs": 3\n}\n',
    "qrels.csv": "query_id,doc_id,relevance\nq,d,1\n",
    "prefs.tsv": "qid\twinner\tloser\nq\td\te\n",
    "prefs.jsonl": '{"query_id": "q", "doc_id": "d", "other_doc_id": "e"}\n',
    "about.csv": "team,model\na,b\n",
    "scores.csv": '# pgcjax {"version": "1"}\nrun_id,query_id,measure,value\n',
    "scores.tsv": "run_id\tquery_id\tmeasure\tvalue\nr\tq\tP\t1\n",
    "bm25.txt": "runid\tall\tbm25\nmap\tall\t0.3\n",
}
# Each may be a run, whole or damaged: whoever reads it says what is wrong with it.
RUNS = {
    "plain": RUN,
    "three": "q d 1.5\n",
    "short": "q Q0 d\n",
    "word.run": "q\n",
    "cut": "2082",
    "empty": "",
    "comments": "# q Q0 d 1 2 t\n",
    "no-tag": "q Q0 d 1 2.5\nq Q0 e 2 2.25\n",
    "no-score-no-tag": "".join(f"q Q0 d{i} {i}\n" for i in range(1, 20)),
    "no-q0": "q d 1 2.5\n",
    "tag of two words": "q Q0 d 1 2.5 my tag\n",
    "comma": "q Q0 d 1 2,5 t\n",
    "log above": "".join("INFO reading the index\n" for _ in range(30)) + RUN,
    "garbage": b"\xff\xfe garbage\n" + RUN.encode(),
    "zeros": b"\0" * 99 + RUN.encode(),
    "broken.gz": gzip.compress(RUN.encode())[:-9],
    "headless.csv": "q,d,1.5\n",
    "other-score.csv": "query_id,doc_id,points\nq,d,1\n",
    "with-label.csv": "query_id,doc_id,score,label\nq,d,1,0\n",
    "record.jsonl": '{"qid": "q", "docno": "d", "points": 1}\n',
    "broken.jsonl": '{"qid": "q", "label": 1\n',
    "broken.parquet": b"PAR1" + b"\1" * 50 + b"PAR1",
    "license.run": RUN,
    "qrels-expansion": RUN,
}


@pytest.mark.parametrize("name", [*NO_RUNS, *RUNS])
def test_what_is_no_run(put, name):
    assert is_no_run(put(name, {**NO_RUNS, **RUNS}[name])) == (name in NO_RUNS)


def test_tables_in_parquet(tmp_path):
    for column, other in (("relevance", True), ("score", False)):
        path = tmp_path / column
        pd.DataFrame({"qid": ["q"], "docno": ["d"], column: [1.0]}).to_parquet(path)
        assert is_no_run(path) == other
    assert not is_document(Path("some.txt"))


def test_a_folder_of_runs_and_more(put, tmp_path, capsys):
    put("runs/a", RUN.format("A"))
    put("runs/README.md", "The runs\n")
    put("runs/qrels.txt", QRELS)
    put("runs/.DS_Store", b"\0")
    here = tmp_path / "runs"
    message = f"2 files are left out (no run): {here}/README.md, {here}/qrels.txt"
    with pytest.warns(DataWarning) as said:
        runs = run_table(here)
    assert [str(w.message) for w in said] == [message]
    assert runs["run_id"].unique().tolist() == ["A"]
    # On the command line it is one line, and a file that is named is asked for.
    arguments = ["evaluate", "--qrels", f"{here}/qrels.txt", "-m", "P@5"]
    with pytest.raises(SystemExit) as done:
        main([*arguments, str(here)])
    out, err = capsys.readouterr()
    assert done.value.code == 0 and out.splitlines()[1:] == ["P@5\tall\t0.2000"]
    assert [line for line in err.splitlines() if "left out" in line] == [
        f"pgcjax: warning: {message}"
    ]
    with pytest.raises(SystemExit) as done:
        main([*arguments, str(here / "a"), str(here / "README.md")])
    assert done.value.code == 2
    assert f"error: {here}/README.md:1: expected 'query Q0" in capsys.readouterr().err


def test_a_folder_of_judgments_and_documents(put, tmp_path):
    put("qrels/a.txt", QRELS)
    put("qrels/README", "These are qrels.")
    with pytest.warns(
        DataWarning, match=r"^1 file is left out \(no data\): \S+README$"
    ):
        assert len(read_qrels(tmp_path / "qrels")) == 2


def test_a_folder_without_runs(put, tmp_path):
    put("runs/README.md", "")
    put("runs/qrels", QRELS)
    with pytest.raises(DataError) as error:
        read_runs(tmp_path / "runs")
    assert str(error.value) == (
        f"{tmp_path}/runs: is a folder that holds no run. No run: README.md, qrels."
    )
