"""A kind of batch that the engine does not know: it gets all that the others have."""

import json
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import pytest

import pgcjax
from pgcjax.datasets.files import demo_folder
from pgcjax.engine import plan
from pgcjax.engine.batch import Batch
from pgcjax.engine.dry_run import estimate
from pgcjax.errors import VerificationError
from pgcjax.io.checkpoint import Checkpoint
from pgcjax.io.runs import read_runs
from pgcjax.measures import Measure
from pgcjax.measures.catalogue import catalogue

DEMO = demo_folder()
JUDGED = {"qrels": DEMO / "qrels.txt"}
# One run lacks a query: it scores 0, and there is nothing to recompute.
pytestmark = pytest.mark.filterwarnings("ignore::pgcjax.errors.DataWarning")


# A kind of batch ----------------------------------------------------------------------
class LengthBatch(Batch):
    """How many documents a run retrieved."""

    def __init__(self, members):
        self.members, self.docs = members, members[0].tensors.docs

    def score(self, rankings, progress=None):
        one = np.stack([rankings.lengths(query) for query in self.docs], axis=1)
        return np.repeat(one[None].astype(float), len(self.members), axis=0)


@dataclass
class LengthTensors:
    docs: dict
    void: list = field(default_factory=list)

    @staticmethod
    def batches(members, setting):
        return [LengthBatch(members)]


class Length(Measure):
    """Number of documents that a run retrieved."""

    name = "Length"
    source = "this test"

    def prepare(self, judgments):
        queries = sorted(judgments["qrels"]["query_id"].unique())
        return LengthTensors({query: np.array([], object) for query in queries})

    def twin(self, case):
        return float(len(case.run))


# --------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setitem(catalogue(), "Length", Length())


def score(runs=DEMO / "runs", **options):
    return pgcjax.evaluate(runs, **JUDGED, measures=["Length", "nDCG@5"], **options)


def test_it_is_scored_beside_others_and_verified():
    scores = score(verify=1.0)
    assert scores.notes[-1] == "318 of 320 scores recomputed: equal"
    lengths = scores.matrix("Length").loc["reed"]
    lines = (DEMO / "runs/reed.txt").read_text().splitlines()
    assert lengths.sum() == len(lines)


def test_it_is_resumed(tmp_path, caplog):
    whole, kept = score(), tmp_path / "kept"

    def stop(stage, done, total):
        if stage == "reading" and done == 5:
            raise KeyboardInterrupt

    with plan.using(rows=0, seconds=0.0):
        with pytest.raises(KeyboardInterrupt):
            score(job=pgcjax.Job(journal=kept, progress=stop))
        with caplog.at_level("DEBUG", logger="pgcjax.engine.job"):
            again = score(job=pgcjax.Job(journal=kept), verify=1.0)
    assert 0 < len(caplog.messages) < 8
    assert again.table.equals(whole.table)
    # Scores of kept chunks are verified as well.
    assert again.notes[-1] == "318 of 320 scores recomputed: equal"


def test_wrong_scores_of_a_kept_chunk_are_found(tmp_path):
    """Whoever computed them: here, a checkpoint whose scores were changed."""
    kept = tmp_path / "kept"
    with plan.using(rows=0, seconds=0.0):
        score(job=pgcjax.Job(journal=kept))
        job = json.loads((kept / "job.json").read_text())
        del job["crc32"]
        checkpoint = Checkpoint(kept, job)
        changed = checkpoint.load("2-3")
        checkpoint.save("2-3", **changed | {"part0": changed["part0"] + 1.0})
        with pytest.raises(VerificationError, match="Length is"):
            score(job=pgcjax.Job(journal=kept), verify=1.0)


def test_it_is_scored_in_parts():
    runs = read_runs(DEMO / "runs")
    parts = [score(runs.part(i, 3)).table for i in (1, 2, 3)]
    by = ["run_id", "query_id"]
    table = pd.concat(parts).sort_values(by, kind="stable", ignore_index=True)
    assert table.equals(score().table)


def test_it_is_foreseen():
    foreseen = estimate(DEMO / "runs", **JUDGED, measures=["Length", "nDCG@5"])
    assert foreseen.scores == 320
