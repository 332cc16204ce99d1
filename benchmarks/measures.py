"""Graded and preference measures: ranx on those that both have, and ours, all of them.

Both begin with runs and judgments in memory, in the form that each of them reads them
into. Documents of a run have distinct scores, so that nobody's ties matter.
"""

import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import inputs, ours
from benchmarks.harness import Contender, Report

BOTH = {
    "nDCG@10": "ndcg@10",
    "nDCG(gain=exp)@10": "ndcg_burges@10",
    "DCG@10": "dcg@10",
    "AP": "map",
    "RR": "mrr",
    "P@10": "precision@10",
    "R@100": "recall@100",
}
"""Measures that mean the same in ranx, and their names there."""

Grades = Mapping[str, Mapping[str, float]]
Runs = Mapping[str, Mapping[str, list[str]]]


def run(report: Report, data: Path | None, *, runs: int = 1000) -> None:
    """Race on DL 2021's runs, and on made-up ones."""
    if data and (data / "dl21").is_dir():
        folder = data / "dl21"
        grades = inputs.plain_grades(folder / "qrels.dl21-passage.txt.gz")
        found = {
            path.name.split(".")[0]: inputs.plain_run(path)
            for path in sorted((folder / "runs").iterdir())
        }
        some = {
            name: {q: docs for q, docs in ranked.items() if q in grades}
            for name, ranked in found.items()
        }
        preferences = sorted((folder / "gpt4o").glob("judge.0*"))
        shape = f"{len(found)} runs × {len(grades)} queries"
        race(report, f"DL 2021, {shape}", some, grades, preferences)
    grades, made_up, preferences = _made_up(runs)
    title = f"{runs} made-up runs × {len(grades)} queries × depth 100"
    race(report, title, made_up, grades, preferences, most=50)


def race(
    report: Report,
    title: str,
    runs: Runs,
    grades: Grades,
    preferences: Any,
    *,
    most: int | None = None,
) -> None:
    """Race on the measures of both, then time each of ours.

    Args:
        report: where it goes.
        title: of the tables.
        runs: documents of each run and query, best first.
        grades: of documents of each query.
        preferences: what `read_preferences` takes.
        most: runs that ranx scores; all if None.
    """
    tables = ours.canonical_runs(runs)
    judgments = {"qrels": {q: dict(docs) for q, docs in grades.items()}}
    pairs = len(runs) * len(grades)
    names = list(BOTH)
    few = dict(list(sorted(runs.items()))[:most])
    mine = np.arange(len(runs) * len(grades) * len(names)).reshape(len(runs), -1)
    job = ours.MeasuresJob(names, judgments)
    contenders = [
        Contender("pgcjax", partial(job, tables), pairs, ours=True),
        Contender(
            "evaluate, from a DataFrame",
            partial(ours.evaluated, ours.frame_of(runs), judgments, names),
            pairs,
            ours=True,
            values=None,
        ),
    ]
    try:
        theirs = partial(with_ranx, *_in_ranx(few, grades))
    except ImportError as error:
        report.say(f"left out: ranx ({error})")
    else:
        note = f"{len(few)} of {len(runs)} runs" if most else ""
        part = {"of": mine[: len(few)].ravel(), "note": note}
        contenders.insert(0, Contender("ranx", theirs, len(few) * len(grades), **part))
    per = f"run and query, {len(names)} measures"
    report.race(f"measures of both, {title}", contenders, per=per, units=pairs)
    _each(report, title, tables, judgments | {"preferences": preferences}, pairs)


def _each(report: Report, title: str, tables: Any, judgments: Any, pairs: int) -> None:
    """Time every graded and preference measure, and all of them together."""
    names = ours.names_of("graded", "binary", "preference")
    job = ours.MeasuresJob(names, judgments)
    rankings = job.look_up(tables)
    jobs = [
        (name, partial(ours.MeasuresJob([name], judgments).score, rankings))
        for name in names
    ]
    jobs.append((f"all {len(names)} together", partial(job.score, rankings)))
    jobs.append(
        ("look-up of the judged documents of all", partial(job.look_up, tables))
    )
    rows = []
    for label, call in jobs:
        call()
        samples = []
        for _ in range(report.rounds):
            start = time.perf_counter()
            call()
            samples.append(time.perf_counter() - start)
        took = float(np.median(samples))
        rows.append([label, 1e3 * took, 1e6 * took / pairs])
    columns = ["measure", "ms", "µs per run and query"]
    report.table(f"time per measure, {title}", columns, rows)


def _in_ranx(runs: Runs, grades: Grades) -> tuple[Any, list[Any]]:
    from ranx import Qrels, Run

    whole = {q: {d: int(g) for d, g in docs.items()} for q, docs in grades.items()}
    qrels = Qrels(whole)
    scored = [
        Run(
            {
                query: {doc: float(len(docs) - i) for i, doc in enumerate(docs)}
                for query, docs in ranked.items()
            }
        )
        for _, ranked in sorted(runs.items())
    ]
    return qrels, scored


def with_ranx(qrels: Any, runs: list[Any]) -> np.ndarray:
    """Score runs with ranx: `[runs, queries, measures]`, flat."""
    from ranx import evaluate

    metrics = list(BOTH.values())
    out = []
    for one in runs:
        found = evaluate(qrels, one, metrics, return_mean=False, make_comparable=True)
        out.append(np.stack([found[m] for m in metrics], axis=-1))
    return np.array(out).ravel()


def _made_up(runs: int) -> tuple[Grades, Runs, Any]:
    """Make up 53 queries of 200 judged documents, runs of them, and preferences."""
    import pandas as pd

    rng = np.random.default_rng(0)
    grades, ranked, rows = {}, {f"r{i:04}": {} for i in range(runs)}, []
    for q in range(53):
        query = f"q{q:02}"
        docs = [f"d{q:02}-{i:03}" for i in range(300)]
        levels = rng.choice(4, 200, p=[0.4, 0.3, 0.2, 0.1]).astype(float)
        grades[query] = dict(zip(docs, levels.tolist(), strict=False))
        worth = np.append(levels, np.zeros(100))
        for name in ranked:
            order = np.argsort(-(worth + rng.normal(0, 1.5, 300)))[:100]
            ranked[name][query] = [docs[i] for i in order]
        a, b = rng.integers(0, 200, (2, 800))
        keep = (levels[a] != levels[b]) & (a != b)
        rows += [
            (query, docs[i], docs[j], 1.0 if levels[i] > levels[j] else -1.0)
            for i, j in zip(a[keep].tolist(), b[keep].tolist(), strict=True)
        ]
    columns = ["query_id", "doc_id", "other_doc_id", "preference"]
    return grades, ranked, pd.DataFrame(rows, columns=columns)
