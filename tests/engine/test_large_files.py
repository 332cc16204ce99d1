"""A run file that is too large for memory is scored in pieces, to the same bits."""

import numpy as np
import pandas as pd
import pytest

from pgcjax import Job, evaluate
from pgcjax.errors import DataError

MEMORY = "64MiB"  # of which a run file has 8 MiB
QUERIES, DEPTH = 100, 1000


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Two runs in one large file, by query and not by run, and another one."""
    folder, rng = tmp_path_factory.mktemp("runs"), np.random.default_rng(0)
    rows, other = [], []
    for query in range(QUERIES):
        scores = rng.integers(0, 999, (3, DEPTH))
        for run in (0, 1) if query != 7 else (0,):
            rows += [
                f"q{query} Q0 document-of-some-length-{d} 1 {s} run{run}"
                for d, s in enumerate(scores[run])
            ]
        other += [f"q{query} Q0 document-of-some-length-{d} 1 {d} z" for d in range(9)]
    (folder / "large.run").write_text("\n".join(rows))
    (folder / "small.run").write_text("\n".join(other))
    docs = [f"document-of-some-length-{d}" for d in range(60)]
    grades = rng.integers(0, 3, QUERIES * len(docs))
    qrels = pd.DataFrame(
        [(f"q{q}", d) for q in range(QUERIES) for d in docs],
        columns=["query_id", "doc_id"],
    )
    return folder, qrels.assign(relevance=grades)


@pytest.mark.filterwarnings("ignore:.* missing in 1 run")
def test_the_scores_are_the_same(files, tmp_path):
    folder, qrels = files
    how = {"qrels": qrels, "measures": ["nDCG@10"], "missing": "skip"}
    whole = evaluate(folder, **how)
    kept = tmp_path / "kept"
    few = {"verify": 0.05, "job": Job(memory=MEMORY, journal=kept)}
    pieces = evaluate(folder, **how, **few)
    pd.testing.assert_frame_equal(pieces.table, whole.table, check_exact=True)
    assert pieces.notes[:-1] == whole.notes
    again = evaluate(folder, **how, **few)
    pd.testing.assert_frame_equal(again.table, whole.table, check_exact=True)
    with pytest.raises(DataError, match="^run 'run1' lacks .*'q7'"):
        evaluate(folder, **how | {"missing": "error"}, job=Job(memory=MEMORY))
