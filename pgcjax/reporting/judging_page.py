"""A page on which a person judges pairs of documents, and saves the answers."""

import os
from pathlib import Path

import pandas as pd

from pgcjax.io.write import written_beside
from pgcjax.reporting.interactive import content_policy
from pgcjax.reporting.page import source, template

_TEXTS = ("query_text", "doc_text", "other_doc_text")


def write_page(
    requests: pd.DataFrame, path: str | os.PathLike, judge: str = ""
) -> Path:
    """Write an HTML file that shows pairs, and saves `answers.csv` for `ask add`.

    Args:
        requests: Table from `Tournament.requests`, with texts or without.
        path: An .html file.
        judge: Name of the judge; by default the page asks for it.

    Raises:
        DataError: the file cannot be written.
    """
    page = template("judging.html.jinja")
    style, script = (
        source(page, f"judging/{name}") for name in ("style.css", "main.js")
    )
    rows = requests.reindex(columns=["query_id", "doc_id", "other_doc_id", *_TEXTS])
    rows = rows.astype(object).where(rows.notna(), None).to_dict("records")
    ids = requests[["query_id", "doc_id", "other_doc_id"]].to_numpy().tolist()
    text = page.render(
        policy=content_policy(style, script),
        style=style,
        script=script,
        rows=rows,
        requests=ids,
        judge=judge,
    )
    with written_beside(path) as beside:
        beside.write_text(text, encoding="utf-8", newline="\n")
    return Path(path)
