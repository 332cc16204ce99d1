"""Requests, grades and votes in files that other programs read."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import pandas as pd

from pgcjax.errors import UsageError
from pgcjax.io.write import written_beside

_OTHER = "name a file .csv, .tsv, .jsonl or .parquet"


def write(
    table: pd.DataFrame, path: str, lines: Callable[[pd.DataFrame], list[str]]
) -> None:
    """Write a table as .csv, .tsv, .jsonl or .parquet by its suffix, else as lines.

    The file holds the rows alone, so that any reader of its format can read it.

    Raises:
        UsageError: the lines' format cannot hold it. DataError: the file cannot be
            written.
    """
    suffix = Path(path).suffix.lower()
    if suffix in (".csv", ".tsv"):
        separator = "," if suffix == ".csv" else "\t"
        text = table.to_csv(sep=separator, index=False, lineterminator="\n")
    elif suffix == ".jsonl":
        rows = (
            {name: cell for name, cell in row.items() if not pd.isna(cell)}
            for row in table.to_dict("records")
        )
        text = joined(json.dumps(row, ensure_ascii=False) for row in rows)
    elif suffix == ".parquet":
        text = None
    else:
        text = joined(lines(table))
    with written_beside(path) as beside:
        if text is None:
            table.to_parquet(beside, index=False)
        else:
            beside.write_text(text, encoding="utf-8", newline="\n")


def joined(lines: Iterable[str]) -> str:
    """Join lines, each with a line end."""
    return "".join(f"{line}\n" for line in lines)


def request_lines(requests: pd.DataFrame) -> list[str]:
    """Write `query a b`, a to be shown first."""
    return _lines(requests[["query_id", "doc_id", "other_doc_id"]].itertuples(False))


def qrels_lines(qrels: pd.DataFrame) -> list[str]:
    """Write `query Q0 doc grade`, as trec_eval reads; whole grades without decimals."""
    return _lines(
        (query, "Q0", doc, str(int(grade)) if grade == int(grade) else repr(grade))
        for query, doc, grade in qrels.itertuples(index=False)
    )


def vote_lines(votes: pd.DataFrame, form: str = "clarke") -> list[str]:
    """Write votes in a format of `VOTE_LINES`, as `read_preferences` describes them.

    Raises:
        UsageError: there are ties or bad documents, which only jelsas can express.
    """
    rows = votes[["query_id", "doc_id", "other_doc_id", "preference"]]
    bad = rows["other_doc_id"].isna()
    if form == "jelsas":
        return _lines(
            (query, doc, "NA", "-2") if bad else (query, doc, other, f"{0 - sign:.0f}")
            for (query, doc, other, sign), bad in zip(
                rows.itertuples(index=False), bad, strict=True
            )
        )
    if bad.any() or (rows["preference"] == 0).any():
        raise UsageError(
            f"votes hold ties or bad documents, which {form} cannot express: write "
            f"jelsas, or {_OTHER}"
        )
    luo = form == "luo"
    return _lines(
        ((query, doc, other) if sign > 0 else (query, other, doc))
        if luo
        else (query, doc, other, doc if sign > 0 else other)
        for query, doc, other, sign in rows.itertuples(index=False)
    )


def _lines(rows: Iterable[tuple[str, ...]]) -> list[str]:
    lines = []
    for row in rows:
        lines.append(" ".join(row))
        if lines[-1].split() != [*row] or row[0].startswith("#"):
            raise UsageError(
                f"{lines[-1]!r}: an id holds a blank, or begins a comment: {_OTHER}"
            )
    return lines
