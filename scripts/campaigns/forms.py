"""Collections in every form that pgcjax reads: files of all kinds, tables, dicts."""

import bz2
import csv
import gzip
import io
import json
import lzma
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import zstandard

from scripts.campaigns.campaign import pick
from scripts.campaigns.collections import Collection

COMPRESS = {
    "": bytes,
    ".gz": lambda data: gzip.compress(data, 1, mtime=0),
    ".bz2": lambda data: bz2.compress(data, 1),
    ".xz": lambda data: lzma.compress(data, preset=0),
    # As the tool zstd does, and unlike this library alone: with a checksum.
    ".zst": lambda data: zstandard.ZstdCompressor(write_checksum=True).compress(data),
}
FILES = ("csv", "tsv", "jsonl", "parquet")
RUN_COLUMNS = ["run_id", "query_id", "doc_id", "score", "rank"]
PREFERENCE_COLUMNS = ["query_id", "doc_id", "other_doc_id", "preference", "weight"]
QREL_COLUMNS = ["query_id", "doc_id", "relevance"]


def encoded(rows: list[tuple], columns: list[str], form: str) -> bytes:
    """Write rows as a table: csv, tsv, jsonl or parquet; None is an empty cell."""
    if form == "parquet":
        buffer = io.BytesIO()
        pd.DataFrame(rows, columns=columns).to_parquet(buffer)
        return buffer.getvalue()
    if form == "jsonl":
        lines = (json.dumps(dict(zip(columns, r, strict=True))) + "\n" for r in rows)
        return "".join(lines).encode()
    text = io.StringIO()
    separator = "," if form == "csv" else "\t"
    writer = csv.writer(text, delimiter=separator, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([["" if cell is None else cell for cell in row] for row in rows])
    return text.getvalue().encode()


def lines(rows: list[tuple], separator: str = " ") -> bytes:
    """Write rows as lines of fields that blanks or tabs separate."""
    return "".join(separator.join(map(str, row)) + "\n" for row in rows).encode()


def _kept(
    data: bytes, folder: Path, stem: str, suffix: str, rng: np.random.Generator
) -> Path:
    packing = pick(rng, ["", "", *COMPRESS])
    path = folder / f"{stem}{suffix}{packing}"
    path.write_bytes(COMPRESS[packing](data))
    return path


def given_runs(
    made: Collection, form: str, folder: Path, rng: np.random.Generator
) -> Any:
    """Give runs as `trec` or `three` columns, a table, a `frame` or a `dict`."""
    scores = {
        run: {q: {d: s for d, s, _ in rows} for q, rows in of.items()}
        for run, of in made.runs.items()
    }
    if form == "dict":
        return scores
    rows = [
        (run, query, *row)
        for run, of in made.runs.items()
        for query, ranking in of.items()
        for row in ranking
    ]
    rows = [rows[i] for i in rng.permutation(len(rows))]
    if form == "frame":
        return pd.DataFrame(rows, columns=RUN_COLUMNS)
    (folder / "runs").mkdir()
    for i, name in enumerate(made.runs):
        own = [row for row in rows if row[0] == name]
        if form in FILES:
            data, suffix = encoded(own, RUN_COLUMNS, form), f".{form}"
        elif form == "trec":
            cells = [(q, "Q0", d, f"{k:.0f}", repr(s), r) for r, q, d, s, k in own]
            data, suffix = lines(cells, pick(rng, " \t")), ".txt"
        else:  # three columns: the file's name names the run
            data, suffix = lines([(q, d, repr(s)) for _, q, d, s, _ in own]), ".run"
        stem = f"run{i}" if form != "three" else f"three{i}"
        _kept(data, folder / "runs", stem, suffix, rng)
    return folder / "runs"


def given_preferences(
    made: Collection, form: str, folder: Path, rng: np.random.Generator
) -> tuple[Any, str]:
    """Give preferences, and the name of their format.

    Formats without weights repeat a row; those without ties or bad documents need a
    collection without them.
    """
    rows = [made.preferences[i] for i in rng.permutation(len(made.preferences))]
    if form == "frame" or form in FILES:
        if form == "frame":
            return pd.DataFrame(rows, columns=PREFERENCE_COLUMNS), "auto"
        data = encoded(rows, PREFERENCE_COLUMNS, form)
        return _kept(data, folder, "prefs", f".{form}", rng), "auto"
    if form == "trec-qrels-prefs":
        assert made.levels is not None
        return _kept(lines(made.levels), folder, "prefs", ".txt", rng), form
    repeated = [row for row in rows for _ in range(row[4])]
    if form == "jelsas":
        cells = [
            (q, a, "NA", -2) if b is None else (q, a, b, -sign)
            for q, a, b, sign, _ in repeated
        ]
    elif form == "clarke":
        cells = [(q, a, b, a if s > 0 else b) for q, a, b, s, _ in repeated]
    else:
        cells = [(q, a, b) if s > 0 else (q, b, a) for q, a, b, s, _ in repeated]
    return _kept(lines(cells), folder, "prefs", ".txt", rng), form


def given_qrels(
    made: Collection, form: str, folder: Path, rng: np.random.Generator
) -> Any:
    """Give grades as `trec` columns, a table, a `frame` or a `dict`."""
    if form == "dict":
        return made.grades
    rows = [(q, d, g) for q, grades in made.grades.items() for d, g in grades.items()]
    if form == "frame":
        return pd.DataFrame(rows, columns=QREL_COLUMNS)
    if form in FILES:
        data = encoded(rows, QREL_COLUMNS, form)
        return _kept(data, folder, "qrels", f".{form}", rng)
    data = lines([(q, 0, d, f"{g:g}") for q, d, g in rows])
    return _kept(data, folder, "qrels", ".txt", rng)
