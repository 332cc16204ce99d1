"""From run files to the ranks of judged documents: ir_measures, pandas, ours."""

import gzip
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks import inputs, ours, texts
from benchmarks.harness import Contender, NotEqualError, Report

PER = "1000 lines"
Judged = dict[str, np.ndarray]


def run(report: Report, data: Path | None, *, queries: int = 173) -> None:
    """Race on DL 2021's runs and on a made-up run of depth 1000, .gz and plain."""
    with TemporaryDirectory(prefix="pgcjax-bench-") as name:
        folder = Path(name)
        if data and (data / "dl21").is_dir():
            judged = _judged(data / "dl21/qrels.dl21-passage.txt.gz")
            packed = sorted((data / "dl21/runs").iterdir())
            (folder / "dl21").mkdir()
            plain = [folder / "dl21" / path.stem for path in packed]
            for source, target in zip(packed, plain, strict=True):
                target.write_bytes(gzip.decompress(source.read_bytes()))
            race(report, f"DL 2021, {len(packed)} runs, .gz", packed, judged)
            race(report, f"DL 2021, {len(plain)} runs, plain", plain, judged)
        made_up = texts.write(folder, 2, queries=queries)
        judged = _judged(made_up.qrels)
        title = f"2 made-up runs × {queries} queries × depth 1000"
        race(report, f"{title}, .gz", made_up.gz, judged)
        race(report, f"{title}, plain", made_up.plain, judged)


def _judged(qrels: Path) -> Judged:
    grades = inputs.plain_grades(qrels)
    return {q: np.array(sorted(docs), object) for q, docs in sorted(grades.items())}


def race(report: Report, title: str, paths: list[Path], judged: Judged) -> None:
    """Race on some files: to the ranks of judged documents, but for ir_measures."""
    lines = sum(len(inputs.lines_of(path)) for path in paths)
    rankings = Contender(
        "pgcjax",
        partial(ours.rankings_of, paths, judged),
        lines / 1000,
        ours=True,
        values=partial(_ours, judged),
    )
    reading = Contender(
        "its reading part",
        partial(ours.read, paths),
        lines / 1000,
        ours=True,
        values=None,
    )
    places = _places(judged)
    pandas = Contender(
        "pandas",
        partial(with_pandas, paths, places),
        lines / 1000,
        values=partial(_pandas, len(places)),
    )
    contenders = [*ir_measures(report, paths, lines), pandas, rankings, reading]
    report.race(f"reading, {title}", contenders, per=PER, units=lines / 1000)


def _places(judged: Judged):
    """List judged documents, each with its place among all."""
    import pandas as pd

    pairs = [(query, doc) for query, docs in judged.items() for doc in docs]
    table = pd.DataFrame(pairs, columns=["query", "doc"], dtype="str")
    return table.assign(place=np.arange(len(table)))


def with_pandas(paths: list[Path], judged) -> dict[str, Any]:
    """Read with pandas as one does: parse, sort as trec_eval, rank, join."""
    import pandas as pd

    found = {}
    for path in paths:
        run = pd.read_csv(
            path,
            sep=r"\s+",
            header=None,
            names=["query", "Q0", "doc", "rank", "score", "tag"],
            usecols=["query", "doc", "score"],
            dtype={"query": "str", "doc": "str", "score": "float64"},
            engine="c",
            quoting=3,
            na_filter=False,
        )
        run = run.sort_values(["query", "score", "doc"], ascending=[True, False, False])
        run["rank"] = run.groupby("query", sort=False).cumcount()
        found[path.name.split(".")[0]] = run.merge(judged, on=["query", "doc"])
    return found


def _pandas(places: int, found: dict[str, Any]) -> np.ndarray:
    ranks = np.full((len(found), places), ours.ABSENT)
    for row, (_, run) in zip(ranks, sorted(found.items()), strict=True):
        row[run["place"]] = run["rank"]
    return ranks


def _ours(judged: Judged, rankings: Any) -> np.ndarray:
    parts = [ours.dense_ranks(rankings, query, docs) for query, docs in judged.items()]
    return np.concatenate(parts, axis=1)


def ir_measures(report: Report, paths: list[Path], lines: int) -> list[Contender]:
    """The reader of ir_measures into a list, if it is installed."""
    try:
        from ir_measures import read_trec_run
    except ImportError as error:
        report.say(f"left out: ir_measures ({error})")
        return []
    import pgcjax

    table = pgcjax.read_runs(paths[0], name_by="file")
    columns = ["query_id", "doc_id", "score"]
    mine = set(table[columns].itertuples(index=False, name=None))
    read = list(read_trec_run(str(paths[0])))
    if mine != set(map(tuple, read)) or len(read) != len(table):
        raise NotEqualError(f"{paths[0]}: ir_measures and pgcjax read other rows")

    def call() -> None:
        for path in paths:
            list(read_trec_run(str(path)))

    return [Contender("ir_measures, read only", call, lines / 1000, values=None)]
