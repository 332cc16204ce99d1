"""Campaigns of attacks: a sample of each, and a fault planted for each to find."""

import os
import signal
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers import processes

from pgcjax.asking import log
from scripts.campaigns import __main__ as driver
from scripts.campaigns import (
    concurrency,
    corruptions,
    graphs,
    independent,
    misuse,
    places,
    tournaments,
    workers,
)
from scripts.campaigns.campaign import Campaign, Outcome, controls, strike
from scripts.campaigns.catalogue import CAMPAIGNS
from scripts.campaigns.child import Done, forked, snapshot
from scripts.campaigns.corruptible import Target
from scripts.campaigns.kills import halves
from scripts.campaigns.workers import Worker, outcomes

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow

# Attacks of each campaign that forks, those that take least.
SAMPLE = {
    "misuse": range(5),
    "kills": (2,),
    "places": (2, 3),
    "hostile": (1,),
    "concurrency": (3,),
    "tournaments": (2,),
}


def test_the_second_scorer_gives_what_is_in_print():
    edges = [("A", "B"), ("A", "F"), ("A", "G"), ("H", "B"), ("B", "C"), ("C", "B")]
    graph = independent.Edges([*edges, ("B", "D")])
    run = list("BAxDGyz")
    ideal = independent.peeled(graph, set("ABCDFGH"), run)
    assert ideal == list("AHBCDGF")  # Luo 2021, Figure 3.5
    score = independent.compared(run, ideal, 0.95, 7, "one-minus-p")
    assert score == pytest.approx(0.146, abs=5e-4)
    a, b = [["a"], ["b", "c"], ["d"], ["e"]], [["b"], ["a", "c"], ["f"]]
    flat = [[[doc] for doc in docs] for docs in ("abcde", "bcaf")]
    values = [independent.rbo(*flat, 0.9, v, "a") for v in ("ext", "min", "max")]
    values += [independent.rbo(a, b, 0.9, "ext", ties) for ties in "wab"]
    assert values == pytest.approx(  # docs/rbo.md
        [0.6728, 0.3775, 0.8237, 0.7178, 0.6840, 0.7028], abs=5e-5
    )
    source = Path(independent.__file__).read_text(encoding="utf-8")
    assert "import pgcjax" not in source and "from pgcjax" not in source


def scored(i: int, folder: Path) -> str | None:
    rng = np.random.default_rng(i)
    folder.mkdir()
    return graphs.attack(rng, folder, Counter(), queries=40)


def test_graphs(tmp_path, monkeypatch):
    monkeypatch.setattr(graphs, "TILES", graphs.TILES[:1])
    assert [scored(i, tmp_path / f"{i}") for i in range(4)] == [None] * 4
    right = independent.peeled

    def slip(edges, vertices, run):
        """Take of several sources the one that the run has last."""
        return right(edges, vertices, run[::-1])

    monkeypatch.setattr(independent, "peeled", slip)
    assert "scores are off" in str(scored(1, tmp_path / "slip"))


def test_corruptions(tmp_path, monkeypatch):
    attacks = [strike(CAMPAIGNS["corruptions"], 0, i) for i in range(30)]
    assert [a.problem for a in attacks if a.problem] == []

    def forgiving(source):
        """Read what can be read, and leave the rest out."""
        if not isinstance(source, Path):  # the second reader's table
            return {(row[0], row[1]): 4 for row in source.to_numpy()}
        lines = source.read_text(errors="replace").splitlines()
        rows = (line.split() for line in lines)
        return {(row[0], row[1]): len(row) for row in rows if len(row) > 1}

    rows = (b"q%d a%d b a%d\n" % (i, i, i) for i in range(9))
    data = b"# pgcjax {}\n" + b"".join(rows)  # marked as a file of pgcjax
    columns = "query_id", "doc_id", "other_doc_id", "best"
    text = Target(".txt", data, forgiving, columns)
    for sealed in (False, True):
        planted = {"runs packed": replace(text, sealed=sealed)}
        monkeypatch.setattr(corruptions, "targets", lambda planted=planted: planted)
        monkeypatch.setattr(corruptions, "_intact", {})
        monkeypatch.setattr(corruptions, "_checkpoint", lambda *_: None)
        attacks = [strike(CAMPAIGNS["corruptions"], 0, i) for i in range(100)]
        found = [a.problem for a in attacks if "(runs packed" in str(a.problem)]
        assert len(found) > 10


def accepts(rng, folder, kinds):
    return misuse.called(lambda: None, folder).refused()


def raises(rng, folder, kinds):
    return misuse.called(lambda: [][1], folder).refused()


def writes_in_place(rng, folder, kinds):
    """Be killed in the middle of a file that has its final name."""

    def work():
        with open("out.csv", "w", encoding="utf-8") as file:
            file.write("half")
            file.flush()
            time.sleep(60)

    done = forked(work, folder, kill=(0.5, signal.SIGKILL))
    assert done.signal == signal.SIGKILL
    expected = {"out.csv": b"half and half"}
    return halves({}, snapshot(folder), expected, "out.csv")


def mixes_up(rng, folder, kinds):
    done = forked(lambda: concurrency.check({1: 0.5}, {1: 0.25}, "it"), folder)
    return done.refused()


def forgets(rng, folder, kinds):
    """Play a tournament whose log keeps nothing."""
    kept = log.Appender.append
    log.Appender.append = lambda self, records: None
    try:
        return tournaments.attack(np.random.default_rng(2), folder, kinds)
    finally:
        log.Appender.append = kept


def hangs(rng, folder, kinds):
    time.sleep(100)


def dies(rng, folder, kinds):
    os._exit(7)


def test_those_that_fork(tmp_path, monkeypatch):
    """All in one process, as importing the libraries takes longest."""
    loaded = processes.context()
    monkeypatch.setattr(workers.multiprocessing, "get_context", lambda _: loaded)
    worker = Worker(str(tmp_path))

    def made(campaign: Campaign, i: int) -> Outcome:
        worker.begin(campaign, 0, i)
        return worker.outcome()

    try:
        for name, sample in SAMPLE.items():
            problems = [made(CAMPAIGNS[name], i).problem for i in sample]
            assert problems == [None] * len(problems)
        for attack, said in (
            (accepts, "exit status 0"),
            (raises, "IndexError"),
            (writes_in_place, "out.csv is neither what it was nor whole"),
            (mixes_up, "AssertionError: it has other numbers"),
            (forgets, "a call that ended well lost answers"),
            (dies, "the process of the attack died, exit status 7"),
        ):
            assert said in str(made(Campaign("planted", "", 1, attack), 0).problem)
    finally:
        worker.stop()


def test_what_hangs_is_ended():
    campaign = Campaign("planted", "", 1, hangs, limit=0.1)
    until = time.monotonic() + 60
    ((i, outcome),) = outcomes(campaign, 0, iter([5]), jobs=1, until=until)
    assert (i, outcome.problem) == (5, "does not end within 0.1 s")


def test_litter_and_refusals_are_told(tmp_path):
    (tmp_path / "out.csv").write_text("new")
    before, expected = {"a": b"1"}, {"a": b"1", "out.csv": b"new"}
    fine = Done(0, 0, "", "", 0.1, 0)
    assert places.judged(fine, before, tmp_path, expected) == "a is gone"
    (tmp_path / "a").write_text("1")
    assert places.judged(fine, before, tmp_path, expected) is None
    (tmp_path / ".out.csv.x").mkdir()
    assert places.judged(fine, before, tmp_path, expected) == ".out.csv.x is new"
    refused = replace(fine, code=2, err="pgcjax: error: no\n")
    assert places.judged(refused, before, tmp_path, expected) == ".out.csv.x is new"
    assert "exit status 2" in str(replace(refused, err="no").refused())
    assert controls("a\tb\nc") is None and "x1b" in str(controls("\x1b[2J"))


def test_the_table(monkeypatch, capsys, tmp_path):
    told = [Outcome(None, Counter(cut=2), 1.0), Outcome("it broke", Counter(), 1.0)]

    def canned(campaign, seed, indices, **how):
        yield from zip(indices, told, strict=False)
        if campaign.name == "kills":
            raise KeyboardInterrupt

    monkeypatch.setattr(driver, "outcomes", canned)
    table = tmp_path / "table.md"

    def run(*args: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as done:
            driver.main([*args, "--seed", "7", "-o", str(table)])
        out, err = capsys.readouterr()
        assert table.read_text() == out
        assert isinstance(done.value.code, int)
        return done.value.code, out, err

    code, out, err = run("--only", "graphs", "--only", "misuse", "--first", "3")
    assert code == 1 and "| 4,000 | 1 | 0 |\n" in out and ": cut 2 | 2 | 1 | 0 |" in out
    assert "`scripts/torture --seed 7`, pgcjax " in out
    assert err == "".join(
        f"pgcjax: failed: it broke [scripts/torture --seed 7 --only {name} --first 4 "
        "--count 1]\n"
        for name in ("graphs", "misuse")
    )
    code, out, _ = run("--only", "kills", "--only", "places")
    assert code == 130 and "| kills |" in out and "places" not in out
    del told[1]
    assert run("--minutes", "1")[0] == 130
    assert run("--only", "places")[0] == 0


def test_the_docs_say_what_each_campaign_does():
    page = (ROOT / "docs/reliability.md").read_text()
    for name, campaign in CAMPAIGNS.items():
        count = f"{campaign.full * campaign.each:,}"
        assert f"\n| `{name}` | {count} | " in page
