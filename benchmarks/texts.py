"""Made-up collections as files: runs as text, plain and .gz, and their judgments."""

import gzip
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

GRADED = 170  # documents with a grade, per query
PREFERRED = 16  # of those, documents in preferences
POOL = 1.3  # documents that runs retrieve from, per rank of a run


@dataclass(frozen=True)
class Collection:
    """Files of a made-up collection.

    Attributes:
        plain: the run files, as text.
        gz: the same, as .gz.
        prefs: preferences `query a b best`.
        qrels: grades `query 0 doc grade`.
        lines: of a run.
    """

    plain: list[Path]
    gz: list[Path]
    prefs: Path
    qrels: Path
    lines: int


def write(folder: Path, runs: int, queries: int = 173, depth: int = 1000) -> Collection:
    """Write runs of some depth for CAsT's number of queries, with ids as CAsT has."""
    rng = np.random.default_rng(0)
    pool = max(GRADED, round(POOL * depth))
    names = [f"{31 + q // 8}_{1 + q % 8}" for q in range(queries)]
    docs = [_ids(rng, pool) for _ in names]
    prefs, qrels = folder / "judgments.pref", folder / "judgments.qrels"
    with prefs.open("w") as pref_file, qrels.open("w") as qrel_file:
        for name, ids in zip(names, docs, strict=True):
            grades = rng.choice(5, size=GRADED, p=[0.5, 0.2, 0.15, 0.1, 0.05])
            for doc, grade in zip(ids, grades, strict=False):
                qrel_file.write(f"{name} 0 {doc} {grade}\n")
            for _ in range(85):
                a, b = rng.choice(PREFERRED, 2, replace=False)
                best = a if grades[a] + rng.normal() > grades[b] else b
                pref_file.write(f"{name} {ids[a]} {ids[b]} {ids[best]}\n")
    # All but the score is the same in every run: lines are put together from parts.
    left = [
        [f"{name} Q0 {doc} " for doc in ids]
        for name, ids in zip(names, docs, strict=True)
    ]

    def write_run(run: int) -> tuple[Path, Path]:
        tag = f"system{run:05}"
        own = np.random.default_rng([1, run])
        parts = []
        for query in left:
            order = own.permutation(pool)[:depth].tolist()
            scores = np.sort(own.random(depth) * 20).round(5)[::-1].tolist()
            parts += [
                f"{query[doc]}{rank} {score:.6f} {tag}"
                for rank, (doc, score) in enumerate(zip(order, scores, strict=True), 1)
            ]
        data = "\n".join([*parts, ""]).encode()
        plain, packed = folder / f"plain/{tag}.run", folder / f"gz/{tag}.run.gz"
        plain.write_bytes(data)
        packed.write_bytes(gzip.compress(data, 6))
        return plain, packed

    (folder / "plain").mkdir()
    (folder / "gz").mkdir()
    with ThreadPoolExecutor(2) as pool_of_threads:  # compressing frees the lock
        paths = list(pool_of_threads.map(write_run, range(runs)))
    plain, packed = (list(x) for x in zip(*paths, strict=True))
    return Collection(plain, packed, prefs, qrels, queries * depth)


def _ids(rng: np.random.Generator, count: int) -> list[str]:
    """Draw ids as CAsT has them: numbers of MS MARCO, hashes of CAR; judged first."""
    numbers = rng.choice(8_800_000, size=count, replace=False)
    hashes = [rng.bytes(20).hex() for _ in range(count)]
    car = rng.random(count) < 0.4
    return [
        f"CAR_{h}" if is_car else f"MARCO_{n}"
        for h, n, is_car in zip(hashes, numbers, car, strict=True)
    ]
